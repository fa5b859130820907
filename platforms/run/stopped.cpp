// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "hw/base/time.hpp"
#include "platforms/result/deadlock_json.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {
namespace {

using analysis::fabric_place;
using inbound_state = hw::dma_engine::inbound_state;

/// Something in flight at one place of the machine.
struct sighting {
  std::uint64_t section{}, place{};  ///< an order that does not depend on the order of the search
  abi::packet_header header;         ///< kind and ipcq alone where it is no packet
  std::string where;                 ///< engine of a half received message
  bool begins{};                     ///< see analysis::flight
  fabric_place within{};
  std::optional<inbound_state> begun;  ///< state of a message that its receiver takes in
  DIECAST_MEMBERS(section, place, header, where, begins, within, begun)
};

/// Messages and credits in flight, each once: a half received message is in packets, too.
class flight_list {
 public:
  void add(const sighting& s) {
    const abi::packet_header& h = s.header;
    const bool credit = h.kind == abi::packet_kind::ipcq_credit;
    if (s.begun) {
      add_begun(h.ipcq, s.where, *s.begun);
    } else if (credit || h.kind == abi::packet_kind::ipcq_data) {
      add(credit, h.ipcq, s.where, s.begins, s.within);
    } else {
      others.push_back({h, s.where, s.within});
    }
  }
  std::vector<analysis::flight> list;
  std::vector<analysis::other_packet> others;

 private:
  void add(bool credit, const abi::ipcq_fields& f, const std::string& where, bool begins,
           fabric_place within) {
    const std::size_t at = numbered(credit, f);
    const bool added = at == list.size();
    if (added) list.push_back({credit, f, where});
    list[at].begins |= begins;
    if (added || list[at].state == analysis::flight_state::part_arrived || within == fabric_place::held) {
      list[at].where = where;
      list[at].place = within;
    }
    if (list[at].state != analysis::flight_state::held_behind)
      list[at].state = analysis::flight_state::under_way;
  }
  /// A message that its receiver has partly received.
  void add_begun(const abi::ipcq_fields& f, const std::string& engine, inbound_state state) {
    using in = inbound_state;
    using analysis::flight_state;
    if (numbered(false, f) < list.size()) return;
    const auto add = [&](flight_state s, std::string where) {
      list.push_back({false, f, std::move(where), false, s});
    };
    switch (state) {
      case in::part_arrived: return add(flight_state::part_arrived, "half received by " + engine);
      case in::being_written: return add(flight_state::under_way, "being written by " + engine);
      case in::held_behind:
        return add(flight_state::held_behind,
                   "complete in " + engine + ", behind an earlier message that is half received");
    }
  }
  std::size_t numbered(bool credit, const abi::ipcq_fields& f) {
    return number_.try_emplace({credit, f.match_address, f.sequence}, list.size()).first->second;
  }
  std::map<std::tuple<bool, abi::address, std::uint32_t>, std::size_t> number_;
};

/// Collects what is in flight in the SIPs of this process.
class lookout {
 public:
  lookout(const prepared_run& run, netlist::pod& pod) : run_(run), pod_(pod) {}
  std::vector<sighting> all() {
    for (const auto& sip : pod_.sips()) look_at(*sip);
    for (const auto& fault : pod_.link_faults()) {
      const auto& links = run_.machine.topology.sip_links();
      const auto link = std::ranges::find(links, fault->link(), &fabric::sip_link::name);
      begin(3, link->index);
      fault->visit(
          [&](const hw::sip_message& m) { add(m.header, "held on " + fault->link(), fabric_place::held); });
    }
    return std::move(seen_);
  }

 private:
  void begin(std::uint64_t section, std::uint64_t place) { section_ = section, place_ = place; }
  void add(const abi::packet_header& h, std::string where, fabric_place within) {
    seen_.push_back({section_, place_, h, std::move(where), h.offset == 0, within, {}});
  }
  void add(bool credit, const abi::ipcq_fields& f, std::string where,
           std::optional<inbound_state> begun = {}) {
    abi::packet_header h;
    h.kind = credit ? abi::packet_kind::ipcq_credit : abi::packet_kind::ipcq_data;
    h.ipcq = f;
    seen_.push_back({section_, place_, h, std::move(where), false, fabric_place::outside, begun});
  }
  void look_at(hw::processing_element& pe) {
    const std::string path = pe_path(run_.machine.config.shape(), pe.ipcq.core().self());
    const std::string engine = "the DMA engine of " + path;
    pe.dma.visit_outbound([&](const abi::ipcq_fields& f) { add(false, f, "in " + engine); });
    pe.dma.visit_inbound(
        [&](const abi::ipcq_fields& f, inbound_state state) { add(false, f, engine, state); });
    pe.ipcq.visit_flights(
        [&](bool credit, const abi::ipcq_fields& f) { add(credit, f, "in the IPCQ engine of " + path); });
  }
  void look_at(netlist::sip& sip) {
    begin(0, sip.id().value);
    for (const auto& cube : sip.cubes())
      for (const auto& pe : cube->pes()) look_at(*pe);
    begin(1, sip.id().value);
    std::set<const hw::packet*> held;
    for (const auto& fault : sip.faults())
      fault->visit_held([&](const hw::packet& p) {
        if (held.insert(&p).second) add(p.header, "held on " + fault->place(), fabric_place::held);
      });
    begin(2, sip.id().value);
    std::vector<abi::packet_header> headers;  // a pool's own order depends on the times of arrival
    sip.pool().visit([&](const hw::packet& p) {
      if (!held.contains(&p)) headers.push_back(p.header);
    });
    std::ranges::sort(headers);
    for (const auto& h : headers)
      add(h, fmt::format("in the fabric of sip{}", h.source.sip), fabric_place::within);
    begin(4, sip.id().value);
    if (sip.io().staging() == nullptr) return;
    sip.io().staging()->visit([&](const hw::sip_message& m) {
      add(m.header, fmt::format("in host memory, on its way to {}", sip.basename()), fabric_place::outside);
    });
  }

  const prepared_run& run_;
  netlist::pod& pod_;
  std::vector<sighting> seen_;
  std::uint64_t section_{}, place_{};
};

flight_list collect_flights(const prepared_run& run, netlist::pod& pod, process_group* group) {
  auto seen = joined(group, lookout(run, pod).all());
  std::ranges::stable_sort(seen, {}, [](const sighting& s) { return std::pair(s.section, s.place); });
  flight_list flights;
  for (const sighting& s : seen) flights.add(s);
  return flights;
}

/// Rows of all processes in the order of ranks.
template <class Row>
std::vector<Row> by_rank(const prepared_run& run, process_group* group, std::vector<Row> own) {
  std::map<pe_coord, std::size_t> rank;
  for (const pe_coord pe : run.members.members) rank.emplace(pe, rank.size());
  std::vector<Row> all = joined(group, std::move(own));
  std::ranges::stable_sort(all, {}, [&](const Row& row) { return rank.at(row.pe); });
  return all;
}

std::uint64_t word_at(netlist::pod& pod, abi::address at) {
  const auto where = abi::decode(at);
  if (!where) throw std::logic_error(fmt::format("{:#x}, which firmware watches, is no address", at));
  std::uint64_t word = 0;
  for (const auto& m : pod.at(where->sip).cubes()[where->cube.value]->memories()) {
    if (!m || m->kind != where->kind || m->unit != where->unit) continue;
    tlm::tlm_generic_payload look;
    look.set_command(tlm::TLM_READ_COMMAND);
    look.set_address(where->offset);
    look.set_data_ptr(reinterpret_cast<unsigned char*>(&word));
    look.set_data_length(sizeof word);
    look.set_streaming_width(sizeof word);
    if (m->block.socket->get_base_interface().transport_dbg(look) != sizeof word) break;
    return word;
  }
  throw std::logic_error(fmt::format("no memory answers at {:#x}, which firmware watches", at));
}

std::optional<analysis::cached_word> cached(netlist::pod& pod, pe_coord pe, abi::address at) {
  return analysis::word_in(pod.pe(pe).core.memory().cache(), at);
}

/// Fills in the copies of a word in the SIPs of this process.
void look_up(netlist::pod& pod, analysis::watched_word& w) {
  const pe_coord writer = w.wanted.expected_writer;
  if (pod.has(w.pe.sip)) w.own = cached(pod, w.pe, w.wanted.at);
  if (const auto at = abi::decode(w.wanted.at); !at || pod.has(at->sip)) w.memory = word_at(pod, w.wanted.at);
  if (!pod.has(writer.sip)) return;
  w.writer = cached(pod, writer, w.wanted.at);
  w.writer_waits = pod.pe(writer).core.watching();
}

/// The words that PEs wait for, and their copies in caches and memory. `history` may be null.
std::vector<analysis::watched_word> watched_words(const prepared_run& run, netlist::pod& pod,
                                                  analysis::line_history* history, process_group* group) {
  std::vector<analysis::watched_word> words;
  for (const pe_coord pe : run.members.members)
    if (pod.has(pe.sip))
      if (const auto& wanted = pod.pe(pe).core.watching()) words.push_back({pe, *wanted, {}, 0, {}, {}, {}});
  words = by_rank(run, group, std::move(words));
  for (analysis::watched_word& w : words) look_up(pod, w);
  if (group != nullptr) {
    const auto take = [](auto& to, const auto& from) { to = from ? from : to; };
    for (const auto& part : gathered(*group, words)) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        take(words[i].own, part[i].own);
        take(words[i].writer, part[i].writer);
        take(words[i].writer_waits, part[i].writer_waits);
        words[i].memory |= part[i].memory;  // 0 but of the process that has it
      }
    }
    if (history != nullptr) add_others(*group, *history, [] { return analysis::line_history(); });
  }
  for (analysis::watched_word& w : words)
    if (history != nullptr) w.history = history->of(w.wanted.at);
  return words;
}

}  // namespace

analysis::stopped_machine machine_now(const prepared_run& run, netlist::pod& pod, bool still,
                                      analysis::line_history* lines, process_group* group) {
  std::vector<analysis::pe_dump> dumps;
  for (const pe_coord pe : run.members.members) {
    if (!pod.has(pe.sip)) continue;
    auto& p = pod.pe(pe);
    dumps.push_back({pe, p.core.state(), p.ipcq.core().queue_pairs(), p.core.tasks(), p.ipcq.awaits_copy(),
                     p.core.polling(), p.core.watching(), p.core.awaiting()});
  }
  flight_list flights = collect_flights(run, pod, group);
  return {by_rank(run, group, std::move(dumps)), std::move(flights.list), still, std::move(flights.others),
          watched_words(run, pod, lines, group)};
}

void report_stop(const prepared_run& run, const analysis::stopped_machine& stopped, sim_time now,
                 run_status status, const std::string& why, run_outcome& o) {
  std::uint64_t unfinished = 0;
  for (const analysis::pe_dump& pe : stopped.pes) unfinished += pe.state != events::core_state::done ? 1 : 0;
  const run_names names = run.names();
  const auto report = analysis::explain_waits(run.machine.config.shape(), stopped, names.direction);
  o.status = status;
  o.message = fmt::format("at {:.3f} ns {} of {} PEs have not finished and {}\n{}", now.ns(), unfinished,
                          run.members.members.size(), why, report.summary);
  o.deadlock_json = deadlock_json(names, report, stopped, why);
}

}  // namespace diecast::platforms
