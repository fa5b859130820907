// SPDX-License-Identifier: Apache-2.0
#include "models/comm/install_plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "models/abi/launch.hpp"
#include "models/abi/registers.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {

plan_options options_from(const config::machine_config& c, std::uint64_t tcm_reserved_bytes) {
  constexpr std::uint64_t kib = 1024;
  plan_options o;
  o.rings = c.ipcq.rings;
  o.n_slots = static_cast<std::uint32_t>(c.ipcq.n_slots);
  o.slot_bytes = static_cast<std::uint32_t>(c.ipcq.slot_bytes);
  o.queue_pairs = static_cast<std::uint32_t>(c.ipcq.queue_pairs);
  o.tcm_bytes = c.pe.tcm_kib * kib;
  o.tcm_reserved_bytes = tcm_reserved_bytes;
  o.sram_bytes = c.sram.kib * kib;
  o.hbm_port_bytes = c.hbm.port_mib * kib * kib;
  o.hbm_ports = static_cast<std::uint32_t>(c.hbm.ports);
  o.pes_per_cube = static_cast<std::uint32_t>(c.cube.pes);
  o.channels.emplace(c);
  return o;
}

std::vector<register_write> register_writes(const queue_pair_install& q) {
  const auto at = [&](abi::register_offset field) { return abi::qp_register(q.dir, field); };
  const std::uint64_t enable =
      (q.tx ? abi::qp_control_tx_enable : 0) | (q.rx ? abi::qp_control_rx_enable : 0);
  return {{at(abi::qp_n_slots), q.n_slots},     {at(abi::qp_slot_bytes), q.slot_bytes},
          {at(abi::qp_rx_base), q.rx_base},     {at(abi::qp_peer_rx_base), q.peer_rx_base},
          {at(abi::qp_peer_ipcq), q.peer_ipcq}, {at(abi::qp_peer_coord), abi::pack_peer(q.peer)},
          {at(abi::qp_control), enable}};
}

std::string to_text(const install_plan& plan, const direction_namer& names) {
  std::string text = fmt::format("{} queue pairs, {} slots of {} bytes\n", plan.queue_pairs.size(),
                                 plan.n_slots, plan.slot_bytes);
  text += fmt::format("{:<24} {:<12} {:<5} {:<24} {:<18} {:<18} {}\n", "owner", "direction", "half", "peer",
                      "rx_base", "peer_rx_base", "peer_ipcq");
  const auto base = [](bool present, abi::address a) {
    return present ? fmt::format("{:#018x}", a) : std::string("-");
  };
  for (const queue_pair_install& q : plan.queue_pairs) {
    text += fmt::format("{:<24} {:<12} {:<5} {:<24} {:<18} {:<18} {:#018x}\n", owner_name(q.owner),
                        names(q.owner, q.dir),
                        q.tx && q.rx ? "tx+rx"
                        : q.tx       ? "tx"
                                     : "rx",
                        owner_name(q.peer), base(q.rx, q.rx_base), base(q.tx, q.peer_rx_base), q.peer_ipcq);
  }
  return text;
}

message_install plan_messages(const config::machine_config& c, std::vector<pe_coord> pes,
                              std::uint64_t tcm_offset) {
  const config::tag_match_block& b = c.tag_match;
  message_install m{std::move(pes), tcm_offset, b.slot_bytes(), b.ring_messages, b.heap_kib * 1024};
  if (m.slots() > UINT16_MAX) {
    throw user_error(
        {"tag_match.ring_messages", "a PE has more message slots than the tag-matching unit can number",
         std::to_string(b.ring_messages) + " for each of " + std::to_string(m.pes.size()) + " PEs",
         "at most " + std::to_string(UINT16_MAX / m.pes.size()) + " for each"});
  }
  return m;
}

std::vector<register_write> register_writes(const message_install& m, pe_coord pe) {
  const abi::address ring = abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, m.tcm_offset});
  return {{abi::tm_ring_base, ring},
          {abi::tm_slot_bytes, m.slot_bytes},
          {abi::tm_slots, m.slots()},
          {abi::tm_peer_credits, m.peer_credits},
          {abi::tm_heap_base, ring + m.slots() * m.slot_bytes},
          {abi::tm_heap_bytes, m.heap_bytes}};
}

namespace {

timing::noc_timing slowest_die(const fabric::topology& t, const config::machine_config& c) {
  timing::noc_timing noc = timing::noc_timing_of(c);
  noc.hop_cycles = t.most_hop_cycles(c.noc.hop_cycles);
  return noc;
}

/// The block of the die-to-die links, and of each link where overrides change some. Several
/// overrides may apply to one link, so its settings are those of the topology.
template <class Visit>
void for_each_die_link(const fabric::topology& t, const config::machine_config& c, Visit visit) {
  visit(c.ucie);
  if (c.overrides.empty()) return;
  for (const fabric::link& l : t.links()) {
    if (l.kind != fabric::link_kind::ucie) continue;
    visit(t.ucie(sip_id{l.sip}, cube_id{l.cube}, static_cast<fabric::side>(l.from)));
  }
}

/// One sender's stream of launch packets.
struct sender {
  sim_time next;  ///< earliest end of the work on its next packet
};

class dispatch {
 public:
  dispatch(const fabric::topology& t, const config::machine_config& c)
      : topology_(t),
        config_(c),
        clock_(timing::noc_clock(c)),
        flits_(launch_flits(c)),
        retry_wait_(longest_retry_wait()),
        spacing_(slowest_link(slowest_die(t, c))) {}

  /// When the packet of the SIP's next participant has arrived, counted from the launch call.
  sim_time next(pe_coord pe) {
    const abi::node_address io = io_cpu_node(topology_, pe.sip);
    const abi::node_address control = control_cpu_node(topology_, pe.sip, pe.cube);
    const abi::node_address end = topology_.locate(launch_mailbox(pe));
    const config::host_block& h = config_.host;
    const sim_time called = clock_.cycles(h.host_cycles + 1);  // the call may lie between clock edges
    const sim_time at_cube = crossing(work(io_cpus_[pe.sip], called, h.io_cpu_cycles), io, control);
    return crossing(work(control_cpus_[{pe.sip, pe.cube}], at_cube, h.control_cpu_cycles), control, end);
  }

 private:
  /// Time at which a CPU has forwarded a packet that arrives at `from`.
  sim_time work(sender& s, sim_time from, std::uint64_t cycles) const {
    const std::uint64_t per_packet = std::max(cycles, spacing_);
    const sim_time done = std::max(s.next, from + clock_.cycles(cycles));
    s.next = done + clock_.cycles(per_packet);
    return done;
  }

  /// Arrival at the far end of a packet given to the terminal at `start`.
  [[nodiscard]] sim_time crossing(sim_time start, abi::node_address from, abi::node_address to) const {
    const auto hops = topology_.trace(from, to);
    const auto links = static_cast<std::uint64_t>(hops.size());
    const auto die_links = static_cast<std::uint64_t>(std::ranges::count_if(
        hops, [&](const auto& h) { return topology_.links()[h.link].kind == fabric::link_kind::ucie; }));
    const sim_time idle =
        fabric::idle_latency(topology_, config_, from, to, abi::traffic_class::request, flits_);
    // The terminal sends one cycle after the request.
    return start + clock_.cycles(1) + idle + clock_.cycles(2 * links * (flits_ + 1)) +
           retry_wait_ * die_links;
  }

  [[nodiscard]] sim_time longest_retry_wait() const {
    sim_time longest;
    for_each_die_link(topology_, config_, [&](const config::ucie_block& u) {
      longest = std::max(longest, timing::retry_wait(timing::ucie_timing_of(config_, u),
                                                     timing::ucie_retry_frames(config_, u), flits_));
    });
    return longest;
  }

  /// Cycles per packet that every link of the route sustains with room for a single packet: its length
  /// plus the round trip of its credits.
  [[nodiscard]] std::uint64_t slowest_link(const timing::noc_timing& noc) const {
    const std::uint64_t router = flits_ + noc.hop_cycles + config_.noc.credit_cycles;
    const std::uint64_t interface = flits_ + noc.head_cycles(0) + config_.noc.credit_cycles;
    const auto over = [&](const config::ucie_block& u) {
      const timing::link_timing ucie = timing::ucie_timing_of(config_, u);
      return ucie.usable(flits_) + ucie.latency * 2 + retry_wait_ + clock_.cycles(2 * interface);
    };
    sim_time die;
    for_each_die_link(topology_, config_, [&](const config::ucie_block& u) { die = std::max(die, over(u)); });
    return std::max({router, interface, clock_.cycles_covering(die)});
  }

  const fabric::topology& topology_;
  const config::machine_config& config_;
  clock_domain clock_;
  std::uint32_t flits_;
  sim_time retry_wait_;    ///< wait at a die-to-die link for room in its retry buffer
  std::uint64_t spacing_;  ///< cycles
  std::map<sip_id, sender> io_cpus_;
  std::map<std::pair<sip_id, cube_id>, sender> control_cpus_;
};

/// Time for the replays that the launch packets may meet on die-to-die links. Each of those frames that is
/// corrupted delays what follows it on its link by one go-back; all of them together delay no packet by
/// more than their sum. Allowed are so many that more come once in a million launches.
sim_time replay_allowance(const fabric::topology& t, const config::machine_config& c, std::size_t packets) {
  const machine_shape& s = t.shape();
  const std::uint64_t crossings = std::uint64_t{s.cube_columns} + s.cube_rows;
  double errors = 0.0;  // expected
  sim_time go_back;
  for_each_die_link(t, c, [&](const config::ucie_block& u) {
    const timing::link_timing link = timing::ucie_timing_of(c, u);
    if (!link.framed()) return;
    const double p = timing::frame_error_rate(timing::ucie_ber(u), link.frame_wire_bytes * 8);
    const std::uint64_t frames = link.frames(launch_flits(c)) * crossings * 2 * packets;
    errors = std::max(errors, p / (1 - p) * static_cast<double>(frames));
    go_back = std::max(go_back, link.frame_time(timing::go_back_frames(link)));
  });
  return go_back * timing::poisson_quantile(errors, 1e-6);
}

}  // namespace

abi::address launch_mailbox(pe_coord pe) {
  return abi::encode({pe.sip, pe.cube, abi::region::launch_mailbox, pe.pe.value, 0});
}

abi::node_address io_cpu_node(const fabric::topology& t, sip_id sip) {
  return t.locate(abi::encode({sip, t.io_cube(sip), abi::region::launch_mailbox, abi::io_cpu_unit, 0}));
}

abi::node_address control_cpu_node(const fabric::topology& t, sip_id sip, cube_id cube) {
  return t.locate(abi::encode({sip, cube, abi::region::launch_mailbox, abi::control_cpu_unit, 0}));
}

std::uint32_t launch_flits(const config::machine_config& config) {
  const auto bytes = static_cast<std::uint32_t>(abi::encode_launch({}).size());
  return abi::flits_of(bytes, static_cast<std::uint32_t>(config.noc.flit_bytes));
}

void check_launch_packet(const config::machine_config& config) {
  if (config.noc.flow == config::noc_flow::wormhole) return;  // a packet lies in several buffers at a time
  const std::uint32_t room = fabric::vc_buffer_flits(config);
  if (room >= launch_flits(config)) return;
  throw user_error(problem{"noc.vc_buffer_flits", "the NoC's buffers cannot hold a launch packet",
                           fmt::format("{}", room), fmt::format("{} or more", launch_flits(config))});
}

sim_time worst_dispatch(const fabric::topology& t, const config::machine_config& config,
                        std::span<const pe_coord> participants) {
  sim_time worst;
  if (config.host.launch == config::launch_kind::ideal) return worst;
  dispatch d(t, config);
  for (const pe_coord pe : participants) worst = std::max(worst, d.next(pe));
  return worst + replay_allowance(t, config, participants.size());
}

}  // namespace diecast::comm
