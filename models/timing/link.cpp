// SPDX-License-Identifier: Apache-2.0
#include "models/timing/link.hpp"

#include <boost/math/distributions/poisson.hpp>
#include <cmath>
#include <stdexcept>

#include "models/timing/shared_link.hpp"

namespace diecast::timing {

clock_domain noc_clock(const config::machine_config& c) { return clock_domain::from_ghz(c.noc.clock_ghz); }

noc_timing noc_timing_of(const config::machine_config& c) {
  const config::noc_block& n = c.noc;
  return {noc_clock(c),    n.ni_in_cycles,   n.hop_cycles,      n.link_cycles,
          n.ni_out_cycles, n.routing_cycles, n.vc_alloc_cycles, n.switch_alloc_cycles};
}

link_timing ucie_timing_of(const config::machine_config& c, const config::ucie_block& u) {
  const frame_format frame = frame_of(u.format);
  return {c.noc.flit_bytes, ucie_payload_gbytes_s(u), nanoseconds(u.latency_ns),
          noc_clock(c),     frame.payload_bytes,      frame.wire_bytes};
}

link_timing sip_link_timing_of(const config::machine_config& c, const config::sip_link_block& s) {
  return {c.noc.flit_bytes, s.gbytes_s * c.comm.direct_efficiency, nanoseconds(s.latency_ns), noc_clock(c)};
}

frame_format frame_of(config::flit_format f) {
  switch (f) {
    case config::flit_format::raw: return {};
    case config::flit_format::flit_68: return {64, 68};
    case config::flit_format::flit_256: return {236, 256};
  }
  throw std::logic_error("ucie.flit_format has no frame");
}

double ucie_raw_gbytes_s(const config::ucie_block& u) {
  return static_cast<double>(u.lanes) * u.gt_s / 8.0 * static_cast<double>(u.modules);
}

double ucie_payload_gbytes_s(const config::ucie_block& u) {
  const frame_format frame = frame_of(u.format);
  if (frame.wire_bytes == 0) return ucie_raw_gbytes_s(u);
  return ucie_raw_gbytes_s(u) * static_cast<double>(frame.payload_bytes) /
         static_cast<double>(frame.wire_bytes);
}

double ucie_ber(const config::ucie_block& u) {
  if (u.ber) return *u.ber;
  if (u.format == config::flit_format::raw) return 0.0;
  return u.gt_s <= 32.0 ? 1e-15 : 1e-12;
}

double ucie_pj_per_bit(const config::ucie_block& u) {
  if (u.pj_per_bit) return *u.pj_per_bit;
  using config::ucie_package;
  const bool standard =
      u.package == ucie_package::standard || (u.package == ucie_package::automatic && u.lanes <= 16);
  const bool slow = u.gt_s <= 16.0;
  if (standard) return slow ? 0.5 : 0.6;
  return slow ? 0.25 : 0.3;
}

std::uint32_t ucie_retry_frames(const config::machine_config& c, const config::ucie_block& u) {
  if (u.retry_flits) return static_cast<std::uint32_t>(*u.retry_flits);
  const link_timing t = ucie_timing_of(c, u);
  return t.framed() ? static_cast<std::uint32_t>(go_back_frames(t) - 1) : 0;
}

std::uint64_t go_back_frames(const link_timing& t) {
  const std::uint64_t frame = t.frame_time(1).fs;
  return 1 + (2 * t.latency.fs + frame - 1) / frame;
}

double frame_error_rate(double ber, std::uint64_t bits) {
  return -std::expm1(static_cast<double>(bits) * std::log1p(-ber));
}

std::uint64_t poisson_quantile(double mean, double tail) {
  if (mean <= 0.0) return 0;
  using in_double = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  const boost::math::poisson_distribution<double, in_double> errors(
      mean);  // long double fails under Valgrind
  std::uint64_t n = 0;
  while (cdf(complement(errors, static_cast<double>(n))) >= tail) ++n;
  return n;
}

double replay_share(double p, std::uint64_t w) { return (1 - p) / (1 - p + static_cast<double>(w) * p); }

double retry_share(const link_timing& t, std::uint32_t frames) {
  const double round_trip = 2 * t.latency.ns();
  return std::min(1.0, static_cast<double>(frames) * t.frame_time(1).ns() / round_trip);
}

sim_time retry_wait(const link_timing& t, std::uint32_t frames, std::uint64_t flits) {
  if (!t.framed() || frames + std::uint64_t{1} >= go_back_frames(t)) return {};
  const std::uint64_t waits = 1 + t.frames(flits) / frames;  // frames of the packet and the one before
  return (t.frame_time(1) + t.latency * 2) * waits;
}

sim_time credit_round_trip(const link_timing& t, std::uint32_t flits) {
  const sim_time first = t.crossing({}, flits);
  const sim_time last = first + t.receiver.cycles(flits - 1);
  const sim_time usable = sim_time{batch_usable(first.fs, last.fs, flits, t.serialization(1).fs)} + t.latency;
  return t.crossing(usable, flits) - first;
}

}  // namespace diecast::timing
