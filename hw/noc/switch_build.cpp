// SPDX-License-Identifier: Apache-2.0
// The setup of a switch_core.
#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <set>
#include <stdexcept>
#include <vector>

#include "hw/noc/switch_core.hpp"

namespace diecast::hw {
namespace {

/// Span of the calendar of due outputs, in cycles; an output that is due beyond it is evaluated at its end.
std::uint32_t calendar_span(const switch_core::parameters& p) {
  std::uint64_t longest = 5 * std::uint64_t{p.longest_packet};
  std::uint64_t stages = 0;
  for (const switch_core::port& port : p.ports) {
    stages = std::max<std::uint64_t>(stages, port.latency + port.head_delay + port.credit_cycles);
  }
  longest += stages;
  return static_cast<std::uint32_t>(std::bit_ceil(std::clamp<std::uint64_t>(2 * longest, 64, 4096)));
}

/// Ports of a router must be consecutive: the bit of a request is counted from the router's first input VC.
void check_neighbors(const std::vector<switch_core::port>& ports) {
  std::set<std::uint16_t> routers;
  for (std::size_t n = 0; n < ports.size(); ++n) {
    const bool next = n == 0 || ports[n].router != ports[n - 1].router;
    if (!next || routers.insert(ports[n].router).second) continue;
    throw std::logic_error(fmt::format(
        "port {} is of router {}, whose ports ended before it (expected: ports of one router are neighbors)",
        n, ports[n].router));
  }
}

/// Number of ports of the router with most ports.
std::uint32_t most_ports(const switch_core::parameters& p) {
  std::uint32_t most = 0, ports = 0;
  for (std::size_t n = 0; n < p.ports.size(); ++n) {
    ports = n > 0 && p.ports[n].router == p.ports[n - 1].router ? ports + 1 : 1;
    most = std::max(most, ports);
  }
  return most;
}

/// Index of `value` in a list without duplicates; appends it if it is missing.
template <class T>
std::uint32_t place_in(std::vector<T>& list, const T& value) {
  const auto at = std::find(list.begin(), list.end(), value);
  const auto place = static_cast<std::uint32_t>(at - list.begin());
  if (at == list.end()) list.push_back(value);
  return place;
}

}  // namespace

switch_core::switch_core(const parameters& p, environment& outside)
    : environment_(outside),
      vcs_(p.vcs),
      wormhole_(p.wormhole),
      overlap_(p.overlap),
      interleave_vcs_(p.interleave_vcs),
      port_per_vc_(p.interleave_vcs && p.port_per_vc),
      classes_(p.interleave_vcs ? 1 : p.classes),
      weights_(p.weights),
      ins_(p.ports.size()),
      outs_(p.ports.size()),
      out_vcs_(p.ports.size() * p.vcs),
      entry_delays_(p.ports.size()),
      on_in_(classes_ > 1 ? p.ports.size() * classes_ : 0),
      on_out_(on_in_.size()),
      rate_schedules_(on_in_.size()),
      progress_(on_in_.size()),
      choices_(most_ports(p)),
      all_vcs_(p.vcs == max_vcs ? ~std::uint64_t{0} : (std::uint64_t{1} << p.vcs) - 1),
      wheel_(static_cast<std::uint32_t>(p.ports.size()), calendar_span(p)) {
  check_neighbors(p.ports);
  std::size_t most_in_vcs = 1;  // input VCs with a buffer, at the router that has most
  in_vcs_.reserve(p.ports.size() * p.vcs);
  for (std::uint32_t n = 0; n < p.ports.size(); ++n) {
    add_in_vcs(p, n);
    add_port(p, n);
    most_in_vcs = std::max(most_in_vcs, in_vcs_.size() - outs_[n].first_in_vc);
  }
  in_vcs_.shrink_to_fit();
  more_words_ = static_cast<std::uint32_t>((most_in_vcs - 1) / 64);
  more_requests_.resize(p.ports.size() * more_words_);
  ready_.resize(most_in_vcs);
  asking_.resize(most_in_vcs);
  if (interleave_vcs_) set_lookahead();
  plain_ = is_plain();
  fetches_ahead_ = state_bytes() > p.fetch_ahead_from;
}

void switch_core::add_in_vcs(const parameters& p, std::uint32_t n) {
  const port& from = p.ports[n];
  ins_[n].first_in_vc = static_cast<std::uint32_t>(in_vcs_.size());
  const bool first = n == 0 || from.router != p.ports[n - 1].router;
  outs_[n].first_in_vc = first ? ins_[n].first_in_vc : outs_[n - 1].first_in_vc;
  std::array<std::uint8_t, max_vcs> places;
  places.fill(UINT8_MAX);
  for (std::uint8_t vc = 0; vc < vcs_; ++vc) {
    if (from.buffer[vc] == 0) continue;
    places[vc] = static_cast<std::uint8_t>(in_vcs_.size() - ins_[n].first_in_vc);
    in_vc& queue = in_vcs_.emplace_back();
    queue.port = n;
    queue.router = from.router;
    queue.reroute_delay = overlap_ ? 0 : from.head_delay;
    queue.vc = vc;
    queue.own_class = p.class_of_vc[vc];
    queue.capacity = from.buffer[vc];
  }
  ins_[n].places = static_cast<std::uint16_t>(place_in(in_places_, places));
}

void switch_core::add_port(const parameters& p, std::uint32_t n) {
  const port& from = p.ports[n];
  ins_[n].router = outs_[n].router = from.router;
  ins_[n].credit_cycles = from.credit_cycles;
  entry_delays_[n] = {from.head_delay, from.body_delay};
  outs_[n].vc_first = !overlap_ && !from.from_interface;
  outs_[n].by_turns = from.from_interface || p.vc_round_robin;
  outs_[n].alloc_cycles = outs_[n].vc_first ? from.alloc_cycles : 0;
  outs_[n].hop = from.hop && from.downstream != none;
  outs_[n].downstream = from.downstream;
  outs_[n].credits = place_in(initial_credits_, from.credits);
  for (unsigned vc = 0; vc < vcs_; ++vc) out_vcs_[vc_index(n, vc)].credits = from.credits[vc];
  if (from.downstream == none) return;
  ins_[from.downstream].upstream = n;
  outs_[n].next_hop_cycles[1] = from.latency + p.ports[from.downstream].head_delay;
  outs_[n].next_hop_cycles[0] = from.latency + p.ports[from.downstream].body_delay;
}

/// Least cycles from when a router learns of another head to the head's request. A router learns of a head at
/// its grant in the previous router, of one from outside the network when it has arrived.
void switch_core::set_lookahead() {
  for (const in_port& in : ins_) {
    if (occupancy_.size() <= in.router) occupancy_.resize(in.router + std::size_t{1}, {0, UINT32_MAX});
    std::uint32_t& lookahead = occupancy_[in.router].lookahead;
    lookahead = std::min(lookahead, in.upstream == none ? 1 : outs_[in.upstream].next_hop_cycles[1]);
  }
}

}  // namespace diecast::hw
