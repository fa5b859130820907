// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <utility>

#include "models/config/check.hpp"
#include "models/config/field.hpp"
#include "models/config/text.hpp"
#include "models/random/stream.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast::platforms {

namespace {

/// The largest delay that a draw gives a PE of the run, in ns.
double largest_delay_ns(const prepared_run& run, std::uint64_t draw) {
  sim_time largest;
  for (const pe_coord pe : run.members.members) largest = std::max(largest, jitter_delay(run, draw, pe));
  return largest.ns();
}

double median_of(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/// Largest less smallest, in percent of `median`.
double spread_percent(const std::vector<double>& sorted, double median) {
  return median > 0 ? 100 * (sorted.back() - sorted.front()) / median : 0;
}

}  // namespace

sim_time jitter_delay(const prepared_run& run, std::uint64_t draw, pe_coord pe) {
  if (draw == 0) return {};
  const config::machine_config& c = run.machine.config;
  const random::stream source(c.sim.seed, pe_path(c.shape(), pe), "jitter");
  return picoseconds(source.below(draw, run.point.jitter_ns * 1000 + 1));
}

jitter_times summary_of(std::vector<double> times_ns, std::vector<double> delays_ns) {
  jitter_times j;
  std::vector<double> sorted = times_ns, without;
  for (std::size_t i = 0; i < times_ns.size(); ++i) without.push_back(times_ns[i] - delays_ns[i]);
  std::ranges::sort(sorted);
  std::ranges::sort(without);
  j.median_ns = median_of(sorted);
  j.min_ns = sorted.front();
  j.max_ns = sorted.back();
  j.spread_percent = spread_percent(sorted, j.median_ns);
  j.spread_without_delay_percent = spread_percent(without, median_of(without));
  j.times_ns = std::move(times_ns);
  j.delays_ns = std::move(delays_ns);
  return j;
}

void add_jitter(const prepared_run& run, const simulator& simulate, run_outcome& o) {
  if (o.status != run_status::ok) return;
  std::vector<double> times{o.time_ns}, delays{0.0};
  for (std::uint64_t draw = 1; draw < run.point.jitter_runs; ++draw) {
    const run_outcome drawn = simulate(run, {}, draw);
    o.wall_s += drawn.wall_s;
    if (drawn.status != run_status::ok) {
      o.status = drawn.status;
      o.message = fmt::format("draw {} of --jitter: {}", draw, drawn.message);
      return;
    }
    if (drawn.data_fingerprint != o.data_fingerprint)
      o.notes.push_back(fmt::format(
          "the results of draw {} of --jitter differ from those of the run without delays", draw));
    times.push_back(drawn.time_ns);
    delays.push_back(largest_delay_ns(run, draw));
  }
  o.jitter = summary_of(std::move(times), std::move(delays));
  o.jitter->limit_ns = run.point.jitter_ns;
}

namespace {

using config::machine_config;

constexpr std::uint64_t many_slots = 64;  ///< slots of a ring that never runs full
constexpr std::uint64_t faster = 4;       ///< times

void set_least(machine_config& c, const config::field& f) {
  const bool real = f.type == config::field_type::real || f.type == config::field_type::real_or_auto;
  set_value(c, f.path(), real ? config::field_value(f.real_least) : config::field_value(f.least));
}

void set_faster(machine_config& c, const config::field& f) {
  const config::field_value now = f.get(c);
  if (const auto* const rate = std::get_if<double>(&now)) {
    set_value(c, f.path(), std::min(*rate * static_cast<double>(faster), f.real_most));
  } else {
    set_value(c, f.path(), std::min(std::get<std::uint64_t>(now) * faster, f.most));
  }
}

/// Slots for all bytes that can be in flight, and a memory with room for them in addition.
void set_slots(machine_config& c, const config::field& f) {
  const std::uint64_t more = many_slots * c.ipcq.slot_bytes * c.ipcq.queue_pairs >> 10;
  const config::field* const memory = config::find_field("pe.tcm_kib");
  set_value(c, memory->path(), std::min<std::uint64_t>(c.pe.tcm_kib + more, memory->most));
  set_value(c, f.path(), std::max<std::uint64_t>(many_slots, c.ipcq.n_slots));
}

/// No crossing of a die's edge may take less than a cycle; in whole picoseconds.
void set_cycle(machine_config& c, const config::field& f) {
  set_value(c, f.path(), std::ceil(1000 / c.noc.clock_ghz) / 1000);
}

void set_ideal(machine_config& c, const config::field& f) { set_value(c, f.path(), std::string("ideal")); }

struct change {
  const char* key;
  void (*apply)(machine_config&, const config::field&);
};
struct cause {
  const char* name;
  std::vector<change> changes;
};

const std::vector<cause>& all_causes() {
  static const std::vector<cause> causes{
      {"skew of the PEs' starts", {{"host.launch", set_ideal}}},
      {"firmware",
       {{"pe.register_cycles", set_least},
        {"pe.interrupt_cycles", set_least},
        {"pe.task_switch_cycles", set_least},
        {"ccl.kernel_call_cycles", set_least},
        {"tag_match.command_cycles", set_least}}},
      {"DMA start",
       {{"pe.dma_startup_cycles", set_least},
        {"pe.dma_issue_cycles", set_least},
        {"pe.dma_launch_cycles", set_least}}},
      {"vector unit", {{"pe.vector_startup_cycles", set_least}, {"pe.vector_lanes", set_faster}}},
      {"local memories",
       {{"pe.tcm_read_cycles", set_least}, {"pe.tcm_banks", set_faster}, {"hbm.controller_ns", set_least}}},
      {"waits for slots", {{"ipcq.n_slots", set_slots}}},
      {"latency of the fabric",
       {{"noc.hop_cycles", set_least},
        {"noc.ni_in_cycles", set_least},
        {"noc.ni_out_cycles", set_least},
        {"noc.credit_cycles", set_least},
        {"ucie.latency_ns", set_cycle},
        {"sip_link.latency_ns", set_cycle},
        {"ipcq.check_cycles", set_least},
        {"ipcq.match_cycles", set_least}}},
      {"packet headers", {{"noc.max_packet_bytes", set_faster}}},
      {"contention on links",
       {{"noc.flit_bytes", set_faster}, {"ucie.modules", set_faster}, {"sip_link.gbytes_s", set_faster}}}};
  return causes;
}

/// The last of all_causes(), which moves the bound of bandwidth.
const std::uint32_t faster_links = std::uint32_t{1} << (all_causes().size() - 1);

/// Applies a change unless the machine would break a rule with it; whether it did.
bool apply(machine_config& c, const change& what) {
  machine_config changed = c;
  const config::field& f = *config::find_field(what.key);
  what.apply(changed, f);
  if (to_text(f.get(changed)) == to_text(f.get(c)) || !config::check(changed).empty()) return false;
  c = std::move(changed);
  return true;
}

/// Runs of one point on machines without some causes.
class experiments {
 public:
  experiments(const prepared_run& run, const app::registries& tables, const simulator& simulate,
              run_outcome& o)
      : run_(run), tables_(tables), simulate_(simulate), outcome_(o) {
    runs_[0] = figures_of(o);
  }

  /// Time above the bound without the causes of the mask; empty: that machine cannot run the job. The bound
  /// is the run's own, which counts latencies and firmware, or where links are faster, that of faster links
  /// alone.
  std::optional<double> excess(std::uint32_t removed) {
    const auto& own = run_without(removed);
    const auto& bounded = run_without(removed & faster_links);
    if (!own || !bounded) return std::nullopt;
    return std::max(0.0, own->time_ns - bounded->bound_ns);
  }
  [[nodiscard]] bool failed() const { return outcome_.status != run_status::ok; }

 private:
  struct figures {
    double time_ns{}, bound_ns{};
  };
  [[nodiscard]] static figures figures_of(const run_outcome& o) {
    return {o.jitter ? o.jitter->median_ns : o.time_ns, o.bound_ns};
  }

  const std::optional<figures>& run_without(std::uint32_t removed) {
    const auto known = runs_.find(removed);
    if (known != runs_.end()) return known->second;
    return runs_[removed] = measured(removed);
  }

  [[nodiscard]] std::optional<figures> measured(std::uint32_t removed) {
    if (failed()) return std::nullopt;
    machine_config c = run_.machine.config;
    for (std::size_t i = 0; i < all_causes().size(); ++i) {
      if ((removed >> i & 1) == 0) continue;
      for (const change& one : all_causes()[i].changes) apply(c, one);
    }
    try {
      const machine_model machine(c);
      return on(machine);
    } catch (const user_error&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::optional<figures> on(const machine_model& machine) {
    run_point p = run_.point;
    p.vcd.clear(), p.timeline.clear(), p.flight_file.clear();
    p.ccl_trace = p.report_faults = p.record = p.critical_path = p.waits = p.data = p.if_possible = false;
    p.progress = progress_mode::off;
    const auto other = prepare_point(machine, tables_, p);
    run_outcome o = simulate_(*other, {}, 0);
    if (p.jitter_runs > 0) add_jitter(*other, simulate_, o);
    if (o.status == run_status::ok) return figures_of(o);
    outcome_.status = o.status;
    outcome_.message = "--explain: " + o.message;
    return std::nullopt;
  }

  const prepared_run& run_;
  const app::registries& tables_;
  const simulator& simulate_;
  run_outcome& outcome_;
  std::map<std::uint32_t, std::optional<figures>> runs_;  ///< times by the set of removed causes
};

/// Adds half of what each removal saves, in this order. A cause whose removal saves nothing above the bound
/// stays.
void add_savings(experiments& runs, const std::vector<std::size_t>& order, std::vector<time_part>& parts) {
  double left = *runs.excess(0);
  std::uint32_t removed = 0;
  for (const std::size_t i : order) {
    const auto without = runs.excess(removed | std::uint32_t{1} << i);
    if (!without || *without >= left) continue;
    removed |= std::uint32_t{1} << i;
    parts[i].time_ns += (left - *without) / 2;
    left = *without;
  }
}

/// The least amount by which all savings must be lowered (none below zero) so that they do not add up to more
/// than `total`.
double overlap_of(std::vector<double> savings, double total) {
  std::sort(savings.rbegin(), savings.rend());
  double sum = 0, overlap = 0;
  for (std::size_t n = 0; n < savings.size() && savings[n] > overlap; ++n) {
    sum += savings[n];
    overlap = std::max(0.0, (sum - total) / static_cast<double>(n + 1));
  }
  return overlap;
}

/// Makes each share what the removal of its cause alone saves, less the same amount for all where these
/// overlap. What is then left goes to causes whose share in the two orders was larger. Returns the rest.
double weigh_alone(experiments& runs, std::vector<time_part>& parts) {
  const double total = *runs.excess(0);
  std::vector<double> alone(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto without = runs.excess(std::uint32_t{1} << i);
    alone[i] = std::max(0.0, total - without.value_or(total));
    parts[i].measured = without.has_value();
  }
  const double overlap = overlap_of(alone, total);
  double left = total, larger = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    alone[i] = std::max(0.0, alone[i] - overlap);
    left -= alone[i];
    larger += std::max(0.0, parts[i].time_ns - alone[i]);
  }
  left = std::max(0.0, left);
  const double factor = larger > left ? left / larger : 1;
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i].time_ns = alone[i] + factor * std::max(0.0, parts[i].time_ns - alone[i]);
  return std::max(0.0, left - factor * larger);
}

/// The links at which packets waited longest.
std::string most_contended(const run_outcome& o) {
  std::vector<const link_row*> links;
  for (const link_row& l : o.links)
    if (l.stall_ns > 0) links.push_back(&l);
  constexpr std::size_t named = 3;
  const auto last = links.begin() + static_cast<std::ptrdiff_t>(std::min(named, links.size()));
  std::ranges::partial_sort(links, last, std::greater{}, &link_row::stall_ns);
  std::vector<std::string> texts;
  for (auto l = links.begin(); l != last; ++l)
    texts.push_back(fmt::format("{} ({:.0f}% busy)", (*l)->link, 100 * (*l)->busy_fraction));
  return config::join(texts);
}

/// The keys of a cause that this machine allows to be changed.
std::vector<std::string> keys_of(const cause& what, machine_config c) {
  std::vector<std::string> keys;
  for (const change& one : what.changes)
    if (apply(c, one)) keys.emplace_back(one.key);
  return keys;
}

}  // namespace

void add_explanation(const prepared_run& run, const app::registries& tables, const simulator& simulate,
                     run_outcome& o) {
  if (o.status != run_status::ok) return;
  explanation e;
  for (const cause& c : all_causes())
    e.parts.push_back({c.name, "", keys_of(c, run.machine.config), 0, false});
  e.parts.back().detail = most_contended(o);
  experiments runs(run, tables, simulate, o);
  std::vector<std::size_t> order(e.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  add_savings(runs, order, e.parts);
  std::ranges::reverse(order);
  add_savings(runs, order, e.parts);
  e.rest_ns = weigh_alone(runs, e.parts);
  if (runs.failed()) return;
  e.time_ns = o.jitter ? o.jitter->median_ns : o.time_ns;
  e.bound_ns = std::min(o.bound_ns, e.time_ns);
  o.why = std::move(e);
}

}  // namespace diecast::platforms
