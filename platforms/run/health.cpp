// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <tuple>
#include <utility>

#include "models/abi/address.hpp"
#include "models/timing/link.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

/// Rows in the order of sections, and of ranks or SIPs within them, whichever process makes them.
class table {
 public:
  /// Rows from here on are of this rank or SIP.
  void begin(std::uint64_t section, std::uint64_t place) {
    std::tie(section_, place_) = std::pair(section, place);
  }
  void add(const char* measure, const std::string& where, double value, double expected, const char* unit) {
    rows_.push_back({measure, where, value, expected, unit, section_, place_});
  }
  /// The rows of all processes of `group`; null: there is no other.
  [[nodiscard]] std::vector<health_row> take(process_group* group) {
    rows_ = joined(group, std::move(rows_));
    std::ranges::stable_sort(rows_, {}, [](const health_row& r) { return std::pair(r.section, r.place); });
    return std::move(rows_);
  }

 private:
  std::uint64_t section_{}, place_{};
  std::vector<health_row> rows_;
};

/// What the sending end of a link has seen of it.
struct sending_end {
  std::uint64_t packets{};
  hw::link_monitor::counters seen;
};
template <class Adapter>
sending_end sending_end_of(const Adapter& a) {
  return {a.statistics().packets, a.sender().seen()};
}

/// Sending ends of all SIP links, by index of the link, those in other processes included.
std::map<std::uint32_t, sending_end> sending_ends(netlist::pod& pod, process_group* group) {
  std::map<std::uint32_t, sending_end> ends;
  for (const auto& sip : pod.sips())
    for (std::uint32_t l = 0; l < sip->ports().size(); ++l)
      if (sip->ports()[l]) ends[l] = sending_end_of(*sip->ports()[l]);
  if (group == nullptr) return ends;
  for (auto& part : gathered(*group, ends)) ends.merge(part);
  return ends;
}

void add_cores(const prepared_run& run, netlist::pod& pod, table& t) {
  for (std::size_t rank = 0; rank < run.members.members.size(); ++rank) {
    const pe_coord pe = run.members.members[rank];
    if (!pod.has(pe.sip)) continue;
    t.begin(0, rank);
    const auto& core = pod.pe(pe).core;
    if (core.busy_time().fs == 0) continue;
    t.add("core_clock", pe_path(run.machine.config.shape(), pe),
          static_cast<double>(core.busy_cycles()) / core.busy_time().ns(), run.machine.config.noc.clock_ghz,
          "GHz");
  }
}

/// Differences between the counts of both ends of a link.
void add_changes(const std::string& link, const hw::link_monitor::counters& left,
                 const hw::link_monitor::counters& came, table& t) {
  if (came.oldest_credit > left.oldest_credit)
    t.add("credit_arrival", link, came.oldest_credit.ns(), left.oldest_credit.ns(), "ns");
  const auto more = [&](const char* measure, std::uint64_t here, std::uint64_t there) {
    if (here > there) t.add(measure, link, static_cast<double>(here), static_cast<double>(there), "packets");
  };
  more("wrong_checksums", came.corrupted, left.corrupted);
  more("out_of_order", came.out_of_order, left.out_of_order);
}

/// The receiving end of the link that leaves elsewhere, from `sender`, and arrives at `adapter`.
template <class Adapter>
void add_rate(const prepared_run& run, const Adapter& adapter, std::uint32_t incoming, double configured,
              const sending_end& sender, table& t) {
  const auto& seen = adapter.receiver();
  const std::uint64_t left = sender.packets;
  if (seen.packets() != left)
    t.add("packets", run.machine.topology.links()[incoming].name, static_cast<double>(seen.packets()),
          static_cast<double>(left), "packets");
  add_changes(run.machine.topology.links()[incoming].name, sender.seen, seen.seen(), t);
  if (seen.measured_time().fs == 0) return;
  const double bytes = static_cast<double>(seen.measured_flits() * run.machine.config.noc.flit_bytes);
  t.add("link_rate", run.machine.topology.links()[incoming].name, bytes / seen.measured_time().ns(),
        configured, "GB/s");
}

void add_errors(const prepared_run& run, const hw::ucie_adapter& edge, const config::ucie_block& u,
                table& t) {
  const timing::line_counters& line = edge.sender().line_statistics();
  if (line.crc_errors == 0) return;
  const auto link = timing::ucie_timing_of(run.machine.config, u);
  const double expected = static_cast<double>(line.frames) *
                          timing::frame_error_rate(timing::ucie_ber(u), link.frame_wire_bytes * 8);
  t.add("crc_errors", run.machine.topology.links()[edge.link()].name, static_cast<double>(line.crc_errors),
        expected, "frames");
}

void add_links(const prepared_run& run, netlist::pod& pod, process_group* group, table& t) {
  const fabric::topology& topology = run.machine.topology;
  const auto ends = sending_ends(pod, group);
  for (const auto& own : pod.sips()) {
    const auto& sip = *own;
    const std::uint32_t s = sip.id().value;
    t.begin(1, s);
    for (std::uint32_t c = 0; c < sip.cubes().size(); ++c) {
      for (unsigned side = 0; side < fabric::sides; ++side) {
        const auto edge = static_cast<fabric::side>(side);
        const auto* const adapter = sip.cubes()[c]->edge(edge);
        if (adapter == nullptr) continue;
        const cube_id far = *topology.neighbor(cube_id{c}, edge);
        const config::ucie_block& u = topology.ucie(sip_id{s}, far, fabric::opposite(edge));
        add_rate(run, *adapter, topology.ucie_link(sip_id{s}, far, fabric::opposite(edge)),
                 timing::ucie_payload_gbytes_s(u),
                 sending_end_of(*sip.cubes()[far.value]->edge(fabric::opposite(edge))), t);
        add_errors(run, *adapter, topology.ucie(sip_id{s}, cube_id{c}, edge), t);
      }
    }
    for (std::uint32_t l = 0; l < sip.ports().size(); ++l) {
      if (!sip.ports()[l]) continue;
      add_rate(run, *sip.ports()[l], topology.sip_link_id(l ^ 1U),
               timing::sip_link_timing_of(run.machine.config, topology.sip_link_settings(l ^ 1U)).gbytes_s,
               ends.at(l ^ 1U), t);
    }
  }
}

void add_inlets(const prepared_run& run, netlist::pod& pod, table& t) {
  const auto& shape = run.machine.config.shape();
  pod.visit_cubes([&](netlist::cube& cube) {
    std::map<std::uint32_t, std::uint64_t> left;
    cube.noc().visit_links([&](std::uint32_t link, const auto& usage) { left[link] = usage.packets; });
    for (const auto& pe : cube.pes()) {
      const pe_coord self = pe->ipcq.core().self();
      t.begin(2, self.sip.value);
      const hw::terminal_port& port = pe->dma.terminal();
      const auto link = run.machine.topology.eject_link(self.sip, self.cube, port.address().terminal);
      if (left[link] == port.packets_received()) continue;
      t.add("packets", pe_path(shape, self), static_cast<double>(port.packets_received()),
            static_cast<double>(left[link]), "packets");
    }
  });
}

abi::node_address node_of(const prepared_run& run, pe_coord pe) {
  return run.machine.topology.locate(abi::mailbox_of(pe));
}

/// The longest way of a credit to each PE, through an idle fabric. ns.
credit_latencies idle_credit_latencies(const prepared_run& run) {
  credit_latencies longest;
  for (const auto& qp : run.plan.queue_pairs) {
    if (!qp.tx) continue;
    const sim_time time =
        fabric::idle_latency(run.machine.topology, run.machine.config, node_of(run, qp.peer),
                             node_of(run, qp.owner), abi::traffic_class::sideband, 1);
    longest[qp.owner] = std::max(longest[qp.owner], time.ns());
  }
  return longest;
}

void add_credits(const prepared_run& run, netlist::pod& pod, table& t) {
  const auto& shape = run.machine.config.shape();
  const auto idle = idle_credit_latencies(run);
  for (std::size_t rank = 0; rank < run.members.members.size(); ++rank) {
    const pe_coord pe = run.members.members[rank];
    if (!pod.has(pe.sip)) continue;
    t.begin(3, rank);
    const double ns = pod.pe(pe).dma.slowest_credit().ns();
    if (ns > 0) t.add("credit_latency_max", pe_path(shape, pe), ns, expected_credit_ns(idle, pe), "ns");
  }
  for (const auto& qp : run.plan.queue_pairs) {
    if (!pod.has(qp.owner.sip)) continue;
    t.begin(4, qp.owner.sip.value);
    const std::uint64_t skipped = pod.pe(qp.owner).ipcq.credits_skipped(qp.dir);
    if (skipped == 0) continue;
    t.add("credits_skipped",
          fmt::format("{} {}", pe_path(shape, qp.owner), run.direction_name(qp.owner, qp.dir)),
          static_cast<double>(skipped), 0, "credits");
  }
}

}  // namespace

double expected_credit_ns(const credit_latencies& idle, pe_coord pe) {
  if (const auto found = idle.find(pe); found != idle.end()) return found->second;
  double longest = 0;
  for (const auto& [other, ns] : idle) longest = std::max(longest, ns);
  return longest;
}

std::vector<health_row> health_rows(const prepared_run& run, netlist::pod& pod, process_group* group) {
  table t;
  add_cores(run, pod, t);
  add_links(run, pod, group, t);
  add_inlets(run, pod, t);
  add_credits(run, pod, t);
  return t.take(group);
}

}  // namespace diecast::platforms
