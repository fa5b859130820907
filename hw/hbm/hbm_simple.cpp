// SPDX-License-Identifier: Apache-2.0
#include "hw/hbm/hbm_simple.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

const config::hbm_block& checked(const config::hbm_block& hbm) {
  std::vector<problem> problems;
  if (!std::has_single_bit(hbm.pseudo_channels)) {
    problems.push_back({"hbm.pseudo_channels", "is not a power of two",
                        fmt::format("{}", hbm.pseudo_channels), "1, 2, 4, ..."});
  }
  if (!std::has_single_bit(hbm.burst_bytes)) {
    problems.push_back(
        {"hbm.burst_bytes", "is not a power of two", fmt::format("{}", hbm.burst_bytes), "1, 2, 4, ..."});
  }
  if (!(hbm.simple_gbytes_s > 0) || !std::isfinite(hbm.simple_gbytes_s)) {
    problems.push_back(
        {"hbm.simple_gbytes_s", "is not positive", fmt::format("{}", hbm.simple_gbytes_s), "> 0"});
  }
  if (!(hbm.simple_latency_ns >= 0) || !std::isfinite(hbm.simple_latency_ns)) {
    problems.push_back(
        {"hbm.simple_latency_ns", "is negative", fmt::format("{}", hbm.simple_latency_ns), ">= 0"});
  }
  if (hbm.queue == 0) problems.push_back({"hbm.queue", "holds no transaction", "0", "1 or more"});
  if (!problems.empty()) throw user_error(problems);
  return hbm;
}

}  // namespace

hbm_simple::hbm_simple(sc_core::sc_module_name module_name, const config::hbm_block& hbm, bool strict,
                       fault_sink& faults)
    : memory_target(module_name, checked(hbm).port_mib << 20, hbm.queue, strict, faults),
      burst_bytes_(hbm.burst_bytes),
      latency_(nanoseconds(hbm.simple_latency_ns)),
      channels_(hbm.pseudo_channels, timing::rate_server{hbm.simple_gbytes_s}) {}

void hbm_simple::start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool) {
  sim_time last;
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t n = std::min(burst_bytes_ - at % burst_bytes_, end - at);
    last = std::max(last, channels_[at / burst_bytes_ & (channels_.size() - 1)].serve(now(), n));
    at += n;
  }
  finish(id, last + latency_);
}

}  // namespace diecast::hw
