// SPDX-License-Identifier: Apache-2.0
#include "hw/hbm/hbm_controller.hpp"

#include <algorithm>
#include <optional>

#include "models/config/check.hpp"

namespace diecast::hw {

hbm_controller::hbm_controller(sc_core::sc_module_name module_name, const config::hbm_block& hbm, bool strict,
                               fault_sink& faults)
    : memory_target(module_name, hbm.port_mib << 20, hbm.queue, strict, faults),
      parameters_(timing::make_dram_parameters(hbm)),
      map_(hbm),
      controller_(nanoseconds(hbm.controller_ns)) {}

void hbm_controller::start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) {
  if (open_.size() <= id) open_.resize(id + 1);
  const unsigned bits = map_.burst_bits();
  const std::uint64_t first = offset >> bits;
  const std::uint64_t last = (offset + bytes - 1) >> bits;
  open_[id] = {last - first + 1, 0};
  const timing::dram_tick arrived = present();
  for (std::uint64_t b = first; b <= last; ++b)
    scheduler().push({id, map_.decode(b << bits), write}, arrived);
  arm();
}

bool hbm_controller::has_room(bool write) {
  if (present() < ahead_) return false;  // reserved for the request that is held
  if (scheduler().has_room(write)) return true;
  scheduler().run(present(), served_);
  collect();
  return scheduler().has_room(write);
}

/// No request can arrive while one is held, so the time at which there is room for it is known.
void hbm_controller::on_held(bool write) {
  if (present() >= ahead_) {
    ahead_ = scheduler().run_until_room(write, served_);
    collect();
  }
  admit_at(parameters_.tick * ahead_);
}

void hbm_controller::advance() {
  if (armed_ > now()) return;  // an earlier wake-up has replaced this one
  armed_ = sim_time::never();
  scheduler().run(present(), served_);
  collect();
  arm();
}

/// A read is answered at least read_end after its command, unless from the data of a waiting write.
void hbm_controller::arm() {
  const timing::dram_tick next = scheduler().next_tick();
  if (next == timing::never_tick) return;
  const bool reads_only = scheduler().waiting_writes() == 0;
  const sim_time at = parameters_.tick * (next + (reads_only ? parameters_.read_end : 0)) + controller_;
  if (at >= armed_) return;
  armed_ = at;
  wake_at(at);
}

namespace {

/// What a channel that served nothing has done up to a time.
struct idle_channel {
  timing::dram_parameters parameters;
  timing::dram_tick until{};
  timing::dram_counters counters;
  timing::lost_time_report lost;
};

/// The last one computed is kept: most channels of a machine are alike.
const idle_channel& idle_until(const timing::dram_parameters& parameters, timing::dram_tick until) {
  thread_local std::optional<idle_channel> last;
  if (last && last->until == until && last->parameters == parameters) return *last;
  timing::dram_scheduler unused(parameters);
  std::vector<timing::served_burst> none;
  unused.run(until, none);
  return last.emplace(idle_channel{parameters, until, unused.counters(), unused.lost(until)});
}

}  // namespace

timing::lost_time_report hbm_controller::lost_time() {
  if (!scheduler_) {
    const idle_channel& idle = idle_until(parameters_, present());
    refreshes_ = idle.counters;
    return idle.lost;
  }
  if (present() >= ahead_) {
    scheduler_->run(present(), served_);
    collect();
  }
  return scheduler_->lost(present());
}

void hbm_controller::collect() {
  for (const timing::served_burst& s : served_) {
    const auto id = static_cast<request_id>(s.tag);
    open_request& r = open_[id];
    r.done = std::max(r.done, s.done);
    if (--r.bursts_left == 0) finish(id, parameters_.tick * r.done + controller_);
  }
  served_.clear();
}

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
