// SPDX-License-Identifier: Apache-2.0
#include "hw/hbm/hbm_controller.hpp"

#include <algorithm>

namespace diecast::hw {

hbm_controller::hbm_controller(sc_core::sc_module_name module_name, const config::hbm_block& hbm, bool strict,
                               fault_sink& faults)
    : memory_target(module_name, hbm.port_mib << 20, hbm.queue, strict, faults),
      parameters_(timing::make_dram_parameters(hbm)),
      map_(hbm),
      controller_(nanoseconds(hbm.controller_ns)) {
  const auto depth = static_cast<std::uint32_t>(hbm.queue);
  channels_.reserve(hbm.pseudo_channels);
  for (std::uint64_t i = 0; i < hbm.pseudo_channels; ++i)
    channels_.push_back({timing::fr_fcfs{parameters_, depth}});
  SC_METHOD(schedule);
  sensitive << clocks_.due();
  dont_initialize();
}

void hbm_controller::start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) {
  if (open_.size() <= id) open_.resize(id + 1);
  const std::uint64_t burst_bytes = map_.burst_bytes();
  const std::uint64_t first = offset / burst_bytes;
  const std::uint64_t last = (offset + bytes - 1) / burst_bytes;
  open_[id] = {last - first + 1, 0};
  const timing::dram_clock from = now().fs / parameters_.tck.fs + 1;
  for (std::uint64_t b = first; b <= last; ++b) {
    const timing::dram_location l = map_.decode(b * burst_bytes);
    const std::uint32_t bank = l.bank_group * parameters_.banks_per_group + l.bank;
    channels_[l.pseudo_channel].scheduler.push({id, bank, l.row, write, from});
    arm(l.pseudo_channel, from);
  }
}

void hbm_controller::arm(std::uint32_t pseudo_channel, timing::dram_clock at) {
  channel& c = channels_[pseudo_channel];
  if (at >= c.armed) return;
  c.armed = at;
  clocks_.put(parameters_.tck * at, pseudo_channel);
}

void hbm_controller::schedule() {
  guarded(faults(), name(), [this] {
    const timing::dram_clock clock = now().fs / parameters_.tck.fs;
    std::uint64_t key = 0;
    while (clocks_.take(key)) {
      channel& c = channels_[key];
      if (c.armed != clock) continue;  // overtaken by an earlier wake-up
      c.armed = timing::never_clock;
      arm(static_cast<std::uint32_t>(key), c.scheduler.step(clock, served_));
    }
    collect();
  });
}

void hbm_controller::collect() {
  for (const timing::served_burst& s : served_) {
    const auto id = static_cast<request_id>(s.tag);
    open_request& r = open_[id];
    r.data_end = std::max(r.data_end, s.data_end);
    if (--r.bursts_left != 0) continue;
    finish(id, parameters_.tck * r.data_end + controller_);
    leave_queue(id);
  }
  served_.clear();
}

std::uint64_t hbm_controller::activates() const {
  std::uint64_t n = 0;
  for (const channel& c : channels_) n += c.scheduler.activates();
  return n;
}

std::uint64_t hbm_controller::row_hits() const {
  std::uint64_t n = 0;
  for (const channel& c : channels_) n += c.scheduler.row_hits();
  return n;
}

std::uint64_t hbm_controller::bursts() const {
  std::uint64_t n = 0;
  for (const channel& c : channels_) n += c.scheduler.columns();
  return n;
}

}  // namespace diecast::hw
