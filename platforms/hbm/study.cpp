// SPDX-License-Identifier: Apache-2.0
#include "platforms/hbm/study.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "hw/hbm/hbm_controller.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/hbm/stack.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/observe/timeline.hpp"
#include "platforms/observe/vcd_writer.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::hbm {
namespace {

using platforms::run_status;

struct latencies {
  analysis::latency_histogram reads, writes, reads_accepted, writes_accepted;
};

void collect_latencies(const latencies& l, study_outcome& o) {
  const bool of_writes = l.reads.count() == 0;
  const auto& arrival = of_writes ? l.writes : l.reads;
  const auto& acceptance = of_writes ? l.writes_accepted : l.reads_accepted;
  o.avg_latency_ns = arrival.mean_ns();
  o.avg_latency_from_acceptance_ns = acceptance.mean_ns();
  o.p50_latency_ns = arrival.quantile_ns(0.50);
  o.p99_latency_ns = arrival.quantile_ns(0.99);
  o.max_latency_ns = arrival.max().ns();
  if (l.writes.count() == 0) return;
  o.avg_write_latency_ns = l.writes.mean_ns();
  o.avg_write_latency_from_acceptance_ns = l.writes_accepted.mean_ns();
}

void collect_traffic(const stack& machine, bool checked, study_outcome& o) {
  latencies l;
  sim_time end;
  for (const auto& c : machine.channels()) {
    const auto& r = c->initiator->statistics();
    l.reads.add(r.reads);
    l.writes.add(r.writes);
    l.reads_accepted.add(r.reads_accepted);
    l.writes_accepted.add(r.writes_accepted);
    o.bytes += r.bytes;
    o.checked_reads += r.checked_reads;
    o.wrong_reads += r.wrong_reads;
    if (!r.first_wrong.empty() && o.message.empty()) o.message = r.first_wrong;
    end = std::max(end, r.last_response);
  }
  o.reads = l.reads.count();
  o.writes = l.writes.count();
  o.requests = o.reads + o.writes;
  o.time_ns = end.ns();
  if (end > sim_time{}) o.bandwidth_gbytes_s = static_cast<double>(o.bytes) / end.ns();
  collect_latencies(l, o);
  if (!checked) return;
  if (o.checked_reads == 0) {
    o.notes.emplace_back("no read covered a byte that the run had written: nothing was checked");
    return;
  }
  o.verified = o.wrong_reads == 0;
  if (o.wrong_reads != 0 && o.status == run_status::ok) o.status = run_status::wrong;
}

void collect_lost_time(stack& machine, study_outcome& o) {
  if (!machine.finished()) machine.read_lost_time();
  timing::lost_time_report all;
  for (const auto& c : machine.channels()) {
    if (!c->lost) return;
    all.total += c->lost->total;
    all.busy += c->lost->busy;
    for (std::size_t i = 0; i < timing::lost_causes; ++i) all.lost[i] += c->lost->lost[i];
  }
  o.bus_busy_percent = 100 * all.busy_share();
  for (std::size_t i = 0; i < timing::lost_causes; ++i) {
    const auto cause = static_cast<timing::lost_cause>(i);
    o.lost_time.emplace_back(timing::to_string(cause), 100 * all.share(cause));
  }
}

/// Only Diecast's own controller counts row hits and lost time.
void collect_banks(stack& machine, study_outcome& o) {
  std::uint64_t hits = 0, bursts = 0, forwarded = 0;
  for (const auto& c : machine.channels()) {
    const hw::hbm_controller* const controller = c->memory.controller();
    if (controller == nullptr) return;
    hits += controller->row_hits();
    bursts += controller->bursts();
    forwarded += controller->commands().forwarded;
  }
  o.forwarded_bursts = forwarded;
  if (bursts != 0) o.row_hit_rate = static_cast<double>(hits) / static_cast<double>(bursts);
  collect_lost_time(machine, o);
}

/// The files of a run's observers.
class watching {
 public:
  watching(const study_point& point, const config::machine_config& config, const stack& machine)
      : vcd_(waveform_of(point, config, machine)),
        timeline_(timeline_of(point, config, machine)),
        taps_(machine.controllers(), listeners()) {}

  void catch_up() {
    if (!vcd_) return;
    taps_.catch_up();
    vcd_->flush_before(hw::now());
  }
  void finish(study_outcome& o) {
    taps_.catch_up();
    if (vcd_) platforms::finish_waveform(*vcd_, o);
    if (timeline_) platforms::finish_file(*timeline_, o);
  }

 private:
  /// Empty for a memory of an extension.
  static std::vector<std::string> names_of(const stack& machine) {
    std::vector<std::string> names;
    for (const hw::hbm_controller* c : machine.controllers()) names.emplace_back(c->name());
    return names;
  }
  static std::unique_ptr<observe::vcd_writer> waveform_of(const study_point& point,
                                                          const config::machine_config& config,
                                                          const stack& machine) {
    if (point.vcd.empty()) return {};
    const std::vector<std::string> paths = names_of(machine);
    observe::check_scopes(config.trace, {{}, {}, paths}, true, false);
    auto waveform = std::make_unique<observe::vcd_writer>(point.vcd, observe::only_cube(config), nullptr,
                                                          comm::install_plan{}, paths);
    waveform->begin({});
    return waveform;
  }
  static std::unique_ptr<observe::timeline> timeline_of(const study_point& point,
                                                        const config::machine_config& config,
                                                        const stack& machine) {
    if (point.timeline.empty()) return {};
    observe::check_scopes(config.trace, {{}, {}, names_of(machine)}, false, true);
    return std::make_unique<observe::timeline>(point.timeline, observe::only_cube(config), nullptr,
                                               comm::install_plan{}, comm::generic_names());
  }
  [[nodiscard]] std::vector<observe::dram_listener*> listeners() const {
    std::vector<observe::dram_listener*> all;
    if (vcd_) all.push_back(vcd_.get());
    if (timeline_) all.push_back(timeline_.get());
    return all;
  }
  std::unique_ptr<observe::vcd_writer> vcd_;
  std::unique_ptr<observe::timeline> timeline_;
  observe::dram_taps taps_;
};

/// At least 1.
std::uint64_t requests_of(const study_point& point) {
  std::uint64_t all = point.requests;
  if (point.replay) {
    all = 0;
    for (const auto& c : point.replay->channels) all += c.size();
  }
  return std::max<std::uint64_t>(all, 1);
}

}  // namespace

std::string to_string(const pace& p) {
  switch (p.how) {
    case pace::kind::rate: return fmt::format("{:.6g}%", p.percent);
    case pace::kind::saturate: return "max";
    case pace::kind::closed: return fmt::format("{} outstanding", p.outstanding);
    case pace::kind::recorded: return "recorded";
  }
  return "?";
}

std::string study_point::pattern_text() const {
  if (replay) return "replay:" + replay->file;
  if (pattern == traffic::memory_pattern::stride) return fmt::format("stride:{}", stride_bytes);
  return traffic::to_string(pattern);
}

registries builtin_registries() {
  return {"diecast-hbm",
          "an HBM stack with traffic generators or a recorded trace",
          "hbm_reference.json",
          {},
          netlist::make_hbm};
}

traffic::memory_geometry geometry_of(const config::hbm_block& hbm) {
  traffic::memory_geometry g;
  if (hbm.model == config::hbm_model::simple) {
    g.pseudo_channels = hbm.pseudo_channels;
    g.burst_bytes = hbm.burst_bytes;
    g.columns = (hbm.port_mib << 20) / (hbm.burst_bytes * hbm.pseudo_channels);
    g.address_of = [pcs = g.pseudo_channels, burst = g.burst_bytes](const traffic::burst_place& p) {
      return (p.column * pcs + p.pseudo_channel) * burst;
    };
    return g;
  }
  const timing::dram_address_map map(hbm);
  g.pseudo_channels = hbm.pseudo_channels;
  g.bank_groups = hbm.bank_groups;
  g.banks = hbm.banks_per_group;
  g.sids = hbm.sids;
  g.rows = map.rows();
  g.columns = map.columns();
  g.burst_bytes = hbm.burst_bytes;
  g.address_of = [map](const traffic::burst_place& p) {
    return map.encode({p.pseudo_channel, p.sid, p.bank_group, p.bank, p.row, p.column});
  };
  return g;
}

std::optional<timing::dram_bound> bound_of(traffic::memory_pattern pattern, const config::hbm_block& hbm) {
  if (hbm.model == config::hbm_model::simple) return {};
  timing::dram_bound bound;
  switch (pattern) {
    case traffic::memory_pattern::seq: bound = timing::bus_bound(hbm); break;
    case traffic::memory_pattern::rand:
    case traffic::memory_pattern::page_stride: bound = timing::activation_bound(hbm); break;
    case traffic::memory_pattern::bank_conflict: bound = timing::row_cycle_bound(hbm); break;
    case traffic::memory_pattern::same_bank_hit: bound = timing::bank_group_bound(hbm); break;
    case traffic::memory_pattern::stride: return {};
  }
  bound.gbytes_s *= timing::refresh_share(hbm);
  return bound;
}

void describe(const study_point& point, const config::machine_config& config, study_outcome& o) {
  o.pattern = point.pattern_text();
  o.pace = to_string(point.speed);
  if (point.speed.how == pace::kind::rate) o.rate_percent = point.speed.percent;
  if (point.speed.how == pace::kind::closed) o.outstanding = point.speed.outstanding;
  if (!point.replay) {
    o.read_fraction = point.read_fraction;
    o.request_bytes = point.request_bytes;
  }
  const auto channels = static_cast<double>(config.hbm.ports);
  o.peak_gbytes_s = channels * timing::port_gbytes_s(config.hbm);
  // The closed forms are those of single bursts.
  if (point.replay || point.request_bytes > config.hbm.burst_bytes) return;
  const auto bound = bound_of(point.pattern, config.hbm);
  if (!bound) return;
  const double used = static_cast<double>(point.request_bytes) / static_cast<double>(config.hbm.burst_bytes);
  o.bound_gbytes_s = channels * used * bound->gbytes_s;
  o.bound_kind = bound->limit;
}

namespace {

/// A bound of the run that there was: with the refreshes that end within it, where describe() had those of a
/// long run.
void bound_run(const config::hbm_block& hbm, study_outcome& o) {
  if (!o.bound_gbytes_s || hbm.refresh != config::hbm_refresh::all_bank || o.time_ns <= 0) return;
  const double share = timing::refresh_share(hbm);
  const double ended = std::max(0.0, std::floor((o.time_ns - hbm.trfc_ns) / hbm.trefi_ns));
  *o.bound_gbytes_s *= (1 - ended * hbm.trefi_ns * (1 - share) / o.time_ns) / share;
}

}  // namespace

study_outcome simulate(const study_point& point, const config::machine_config& config,
                       const netlist::memory_factory& make_memory) {
  study_outcome o;
  describe(point, config, o);
  platforms::prepare_kernel();
  hw::fault_sink faults;
  // Never destroyed: the process ends after its run.
  auto& machine = *new stack("hbm", point, config, make_memory, faults);
  watching watch(point, config, machine);
  const platforms::stopwatch running;
  platforms::progress_bar bar(point.progress, point.progress_label);
  const auto how_far = [&]() -> platforms::run_progress {
    return {static_cast<double>(machine.answered()) / static_cast<double>(requests_of(point)), {}};
  };
  const auto end = platforms::run_slices(
      config.sim, [&machine] { return machine.finished(); }, faults, [] { return false; },
      [&] {
        watch.catch_up();
        bar.update(hw::now(), how_far);
      });
  o.wall_s = running.seconds();
  std::uint64_t waiting = 0;
  for (const auto& c : machine.channels()) waiting += c->initiator->in_flight();
  platforms::conclude(end, config.sim, faults, fmt::format("{} requests have no answer", waiting), o);
  collect_traffic(machine, point.check_data, o);
  bound_run(config.hbm, o);
  collect_banks(machine, o);
  watch.finish(o);
  o.peak_rss_mib = platforms::peak_rss_mib();
  return o;
}

}  // namespace diecast::hbm
