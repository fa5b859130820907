// SPDX-License-Identifier: Apache-2.0
#include "platforms/hbm/stack.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace diecast::hbm {
namespace {

/// Femtoseconds in which `bytes` cross at a share of `gbytes_s`.
double interval_fs(double bytes, double gbytes_s, double percent) {
  constexpr double fs_per_ns = 1e6;
  return bytes / (gbytes_s * percent / 100) * fs_per_ns;
}

hw::memory_pacing pacing_of(const study_point& point, const config::hbm_block& hbm) {
  using kind = hw::memory_pacing::kind;
  switch (point.speed.how) {
    case pace::kind::rate:
      if (point.replay) return {kind::recorded, 0, 0};
      return {kind::evenly, interval_fs(point.request_bytes, timing::port_gbytes_s(hbm), point.speed.percent),
              0};
    case pace::kind::saturate: return {kind::greedily, 0, 0};
    case pace::kind::closed: return {kind::closed, 0, point.speed.outstanding};
    case pace::kind::recorded: return {kind::recorded, 0, 0};
  }
  return {};
}

/// A channel's part of a trace; with a rate, its bytes arrive evenly at that share of the channel's peak.
std::vector<traffic::memory_request> recorded_requests(const study_point& point, const config::hbm_block& hbm,
                                                       std::size_t channel) {
  std::vector<traffic::memory_request> list = point.replay->channels[channel];
  if (point.speed.how != pace::kind::rate) return list;
  const double fs_per_byte = interval_fs(1, timing::port_gbytes_s(hbm), point.speed.percent);
  std::uint64_t before = 0;
  for (auto& r : list) {
    r.arrival = {static_cast<std::uint64_t>(static_cast<double>(before) * fs_per_byte + 0.5)};
    before += r.bytes;
  }
  return list;
}

traffic::pattern_setup setup_of(const study_point& point, const config::machine_config& config,
                                std::size_t channel) {
  const std::uint64_t ports = config.hbm.ports;
  return {point.pattern,
          point.stride_bytes,
          point.requests / ports + (channel < point.requests % ports ? 1 : 0),
          point.request_bytes,
          point.read_fraction,
          config.sim.seed,
          fmt::format("hbm.traffic{}", channel)};
}

}  // namespace

stack::stack(sc_core::sc_module_name module_name, const study_point& point,
             const config::machine_config& config, const netlist::memory_factory& make_memory,
             hw::fault_sink& faults)
    : sc_module(module_name) {
  const hw::memory_pacing pacing = pacing_of(point, config.hbm);
  for (std::size_t i = 0; i < config.hbm.ports; ++i) {
    auto c = std::make_unique<channel>();
    if (point.replay) {
      c->recorded = recorded_requests(point, config.hbm, i);
      c->source = std::make_unique<traffic::recorded_requests>(c->recorded);
    } else {
      c->source =
          std::make_unique<traffic::pattern_requests>(geometry_of(config.hbm), setup_of(point, config, i));
    }
    c->memory = make_memory(fmt::format("channel{}", i).c_str(), config, faults);
    c->initiator = std::make_unique<hw::memory_traffic>(fmt::format("traffic{}", i).c_str(), pacing,
                                                        *c->source, point.check_data, faults);
    c->initiator->socket.bind(*c->memory.socket);
    c->initiator->on_finished([this] {
      if (++channels_done_ == channels_.size()) read_lost_time();
    });
    channels_.push_back(std::move(c));
  }
}

std::vector<hw::hbm_controller*> stack::controllers() const {
  std::vector<hw::hbm_controller*> found;
  for (const auto& c : channels_)
    if (auto* const controller = c->memory.controller()) found.push_back(controller);
  return found;
}

void stack::read_lost_time() {
  for (const auto& c : channels_)
    if (auto* const controller = c->memory.controller()) c->lost = controller->lost_time();
}

std::uint64_t stack::answered() const {
  std::uint64_t sum = 0;
  for (const auto& c : channels_) {
    const auto& s = c->initiator->statistics();
    sum += s.reads.count() + s.writes.count();
  }
  return sum;
}

bool stack::finished() const {
  return std::ranges::all_of(channels_, [](const auto& c) { return c->initiator->finished(); });
}

}  // namespace diecast::hbm
