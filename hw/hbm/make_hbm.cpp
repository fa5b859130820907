// SPDX-License-Identifier: Apache-2.0
#include "hw/hbm/make_hbm.hpp"

#include <algorithm>

#include "hw/hbm/hbm_controller.hpp"
#include "models/config/check.hpp"

namespace diecast::hw {
namespace {

const config::hbm_block& checked(const config::hbm_block& hbm) {
  config::need_sound(hbm);
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

std::unique_ptr<memory_target> make_hbm(const char* name, const config::hbm_block& hbm, bool strict,
                                        fault_sink& faults) {
  if (hbm.model == config::hbm_model::simple) return std::make_unique<hbm_simple>(name, hbm, strict, faults);
  return std::make_unique<hbm_controller>(name, hbm, strict, faults);
}

}  // namespace diecast::hw
