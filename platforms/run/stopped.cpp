// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "hw/base/time.hpp"
#include "platforms/result/deadlock_json.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

/// Messages and credits under way, each once: a half received message is in packets, too.
class flight_list {
 public:
  void add(bool credit, const abi::ipcq_fields& f, const std::string& where, bool begins = false,
           bool in_fabric = false) {
    const std::size_t at = numbered(credit, f);
    const bool added = at == list.size();
    if (added) list.push_back({credit, f, where});
    list[at].begins |= begins;
    if (added || list[at].state == analysis::flight_state::part_arrived) {
      list[at].where = where;
      list[at].in_fabric = in_fabric;
    }
    if (list[at].state != analysis::flight_state::held_behind)
      list[at].state = analysis::flight_state::under_way;
  }
  /// A message that its receiver has begun to take in.
  void add_begun(const abi::ipcq_fields& f, const std::string& engine, hw::dma_engine::inbound_state state) {
    using in = hw::dma_engine::inbound_state;
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
  /// A packet in the fabric: of a message or credit, or another one.
  void add(const abi::packet_header& h, const std::string& where, bool in_fabric) {
    const bool credit = h.kind == abi::packet_kind::ipcq_credit;
    if (credit || h.kind == abi::packet_kind::ipcq_data) {
      add(credit, h.ipcq, where, h.offset == 0, in_fabric);
    } else {
      others.push_back({h, where, in_fabric});
    }
  }
  std::vector<analysis::flight> list;
  std::vector<analysis::other_packet> others;

 private:
  std::size_t numbered(bool credit, const abi::ipcq_fields& f) {
    return number_.try_emplace({credit, f.match_address, f.sequence}, list.size()).first->second;
  }
  std::map<std::tuple<bool, abi::address, std::uint32_t>, std::size_t> number_;
};

flight_list collect_flights(const prepared_run& run, netlist::pod& pod) {
  flight_list flights;
  const auto& shape = run.machine.config.shape();
  pod.visit_cubes([&](const netlist::cube& cube) {
    for (const auto& pe : cube.pes()) {
      const std::string path = pe_path(shape, pe->ipcq.core().self());
      const std::string engine = "the DMA engine of " + path;
      pe->dma.visit_outbound([&](const abi::ipcq_fields& f) { flights.add(false, f, "in " + engine); });
      pe->dma.visit_inbound(
          [&](const abi::ipcq_fields& f, auto state) { flights.add_begun(f, engine, state); });
      pe->ipcq.visit_flights([&](bool credit, const abi::ipcq_fields& f) {
        flights.add(credit, f, "in the IPCQ engine of " + path);
      });
    }
  });
  std::set<const hw::packet*> held;
  for (const auto& sip : pod.sips()) {
    for (const auto& fault : sip->faults())
      fault->visit_held([&](const hw::packet& p) {
        if (held.insert(&p).second) flights.add(p.header, "held on " + fault->place(), true);
      });
  }
  for (const auto& sip : pod.sips())
    sip->pool().visit([&](const hw::packet& p) {
      if (!held.contains(&p))
        flights.add(p.header, fmt::format("in the fabric of sip{}", p.header.source.sip), true);
    });
  for (const auto& fault : pod.link_faults())
    fault->visit([&](const hw::sip_message& m) { flights.add(m.header, "held on " + fault->link(), true); });
  for (const auto& sip : pod.sips()) {
    if (sip->io().staging() == nullptr) continue;
    sip->io().staging()->visit([&](const hw::sip_message& m) {
      flights.add(m.header, fmt::format("in host memory, on its way to {}", sip->basename()), false);
    });
  }
  return flights;
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
  const protocol::data_cache::line* const line = pod.pe(pe).core.memory().cache().find(at);
  if (line == nullptr) return std::nullopt;
  analysis::cached_word word{0, line->dirty};
  std::memcpy(&word.value, line->bytes.data() + (at - line->at), sizeof word.value);
  return word;
}

/// Who waits for which word, and what caches and memory hold of it. `history` may be null.
std::vector<analysis::watched_word> watched_words(netlist::pod& pod, const std::vector<pe_coord>& members,
                                                  const analysis::line_history* history) {
  std::vector<analysis::watched_word> words;
  for (const pe_coord pe : members) {
    const auto& wanted = pod.pe(pe).core.watching();
    if (!wanted) continue;
    analysis::watched_word w{pe,
                             *wanted,
                             cached(pod, pe, wanted->at),
                             word_at(pod, wanted->at),
                             cached(pod, wanted->expected_writer, wanted->at),
                             {},
                             pod.pe(wanted->expected_writer).core.watching()};
    if (history != nullptr) w.history = history->of(wanted->at);
    words.push_back(std::move(w));
  }
  return words;
}

}  // namespace

analysis::stopped_machine machine_now(const prepared_run& run, netlist::pod& pod, bool still) {
  flight_list flights = collect_flights(run, pod);
  analysis::stopped_machine now{{}, std::move(flights.list), still, std::move(flights.others)};
  for (const pe_coord pe : run.members.members) {
    auto& p = pod.pe(pe);
    now.pes.push_back({pe, p.core.state(), p.ipcq.core().queue_pairs(), p.core.tasks(), p.ipcq.awaits_copy(),
                       p.core.polling(), p.core.watching(), p.core.awaiting()});
  }
  return now;
}

void report_stop(const prepared_run& run, const analysis::stopped_machine& stopped,
                 const std::vector<analysis::watched_word>& watched, sim_time now, run_status status,
                 const std::string& why, run_outcome& o) {
  std::uint64_t unfinished = 0;
  for (const analysis::pe_dump& pe : stopped.pes) unfinished += pe.state != events::core_state::done ? 1 : 0;
  const run_names names = run.names();
  const auto& shape = run.machine.config.shape();
  const auto report = analysis::explain_waits(shape, stopped, names.direction);
  o.status = status;
  o.message =
      fmt::format("at {:.3f} ns {} of {} PEs have not finished and {}\n{}{}", now.ns(), unfinished,
                  run.members.members.size(), why, analysis::explain_words(shape, watched), report.summary);
  o.deadlock_json = deadlock_json(names, report, stopped, watched, why);
}

void report_stop(const prepared_run& run, netlist::pod& pod, run_status status, const std::string& why,
                 const analysis::line_history* lines, run_outcome& o) {
  report_stop(run, machine_now(run, pod, status == run_status::deadlock),
              watched_words(pod, run.members.members, lines), hw::now(), status, why, o);
}

}  // namespace diecast::platforms
