// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/watchdog.hpp"

namespace diecast::platforms {
namespace {

template <class Visit>
void each_pe(netlist::pod& pod, Visit visit) {
  pod.visit_cubes([&](const auto& cube) {
    for (const auto& pe : cube.pes()) visit(*pe);
  });
}

}  // namespace

bool watchdog::watched() const {
  bool any = false;
  each_pe(pod_, [&any](hw::processing_element& pe) { any = any || pe.core.watching(); });
  return any;
}

bool watchdog::packets_move() const {
  bool any = false;
  each_pe(pod_, [&any](hw::processing_element& pe) { any = any || !pe.dma.serves_core_only(); });
  for (const auto& sip : pod_.sips())
    sip->pool().visit(
        [&any](const hw::packet& p) { any = any || (p.header.transaction & hw::core_access_bit) == 0; });
  return any;
}

std::uint64_t watchdog::moves(bool watched) const {
  std::uint64_t sum = 0;
  if (watched) {
    each_pe(pod_, [&sum](hw::processing_element& pe) {
      sum += pe.ipcq.moves() + pe.core.moves() + pe.tag_match.moves();
    });
    return sum;
  }
  each_pe(pod_, [&sum](hw::processing_element& pe) {
    const hw::terminal_port& terminal = pe.dma.terminal();
    sum += pe.ipcq.moves() + pe.core.moves() + pe.tag_match.moves() + terminal.packets_sent() +
           terminal.packets_received();
  });
  pod_.visit_cubes([&sum](auto& cube) {
    sum += cube.noc().statistics().wakeups;
    for (unsigned s = 0; s < fabric::sides; ++s) {
      const hw::ucie_adapter* const edge = cube.edge(static_cast<fabric::side>(s));
      if (edge != nullptr) sum += edge->statistics().evaluations;
    }
  });
  return sum;
}

sim_time watchdog::busy_until() const {
  sim_time latest;
  each_pe(pod_, [&latest](hw::processing_element& pe) { latest = std::max(latest, pe.core.busy_until()); });
  return latest;
}

bool watchdog::kernels_run() const {
  bool any = false;
  each_pe(pod_, [&any](hw::processing_element& pe) {
    const events::core_state s = pe.core.state();
    any = any || s == events::core_state::running || s == events::core_state::asleep;
  });
  return any;
}

/// With one process, omits values that starved() does not use: visiting all packets takes long.
movement watchdog::look() const {
  const bool several = join_ != nullptr, polled = watched();
  const auto moves_if = [&](bool is_polled) { return several || polled == is_polled ? moves(is_polled) : 0; };
  return {polled ? 1U : 0U,        (several || polled) && packets_move() ? 1U : 0U,
          kernels_run() ? 1U : 0U, moves_if(false),
          moves_if(true),          busy_until()};
}

bool watchdog::starved(sim_time now) {
  if (now < next_look_) return false;
  constexpr std::uint64_t looks_per_patience = 4;
  next_look_ = now + sim_time{patience_.fs / looks_per_patience};
  const movement own = look(), all = join_ ? join_(own) : own;
  const bool polled = all.watched != 0;
  const std::uint64_t moves_now = polled ? all.moves_watched : all.moves;
  if (moves_now != moves_ || all.kernels_run == 0 || (polled && all.packets_move != 0)) moved_at_ = now;
  moves_ = moves_now;
  moved_at_ = std::max(moved_at_, std::min(all.busy_until, now));
  return now - moved_at_ >= patience_;
}

}  // namespace diecast::platforms
