// SPDX-License-Identifier: Apache-2.0
#include "platforms/hbm/app.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <utility>

#include "models/timing/lost_time.hpp"
#include "models/types/error.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/result/result_table.hpp"
#include "platforms/run/child.hpp"

namespace diecast::hbm {

namespace {

struct removal {
  std::string name;
  config::machine_config config;
};

std::vector<removal> removals_of(const config::machine_config& config) {
  std::vector<removal> all;
  removal together{all_limits, config};
  for (const timing::removable_limit& limit : timing::removable_limits) {
    all.push_back({timing::to_string(limit.cause), config});
    limit.remove(all.back().config.hbm);
    limit.remove(together.config.hbm);
  }
  all.push_back(std::move(together));
  return all;
}

}  // namespace

void add_savings(const study_point& point, const config::machine_config& config, const point_runner& run,
                 study_outcome& o) {
  study_point again = point;
  again.check_data = false;
  for (const removal& r : removals_of(config)) {
    again.progress_label =
        fmt::format("{}{}without {}", point.progress_label, point.progress_label.empty() ? "" : " ", r.name);
    const study_outcome without = run(again, r.config);
    o.peak_rss_mib = std::max(o.peak_rss_mib, without.peak_rss_mib);
    if (without.status != platforms::run_status::ok) {
      o.status = without.status;
      o.message = fmt::format("without {}: {}", r.name, without.message);
      return;
    }
    o.time_saved.emplace_back(r.name, 100 * (1 - without.time_ns / o.time_ns));
  }
  if (point.speed.how == pace::kind::closed)
    o.notes.emplace_back(
        "without turnarounds reads have no latency (tCL) either, for which a closed loop waits each time");
}

namespace {

using app::print;
using platforms::run_status;

/// Properties of the memory that patterns need.
void check_pattern(const options& o, const config::hbm_block& hbm, const study_point& point) {
  const bool banks = o.pattern != traffic::memory_pattern::seq &&
                     o.pattern != traffic::memory_pattern::rand &&
                     o.pattern != traffic::memory_pattern::stride;
  if (hbm.model == config::hbm_model::simple && banks)
    throw user_error(problem{"--pattern", "needs banks, which hbm.model simple does not have",
                             point.pattern_text(), "seq, rand, stride:BYTES, or hbm.model bank"});
  const std::uint64_t capacity = geometry_of(hbm).bytes();
  if (point.request_bytes > capacity)
    throw user_error(problem{"--request-bytes", "is more than a channel holds",
                             std::to_string(point.request_bytes), fmt::format("at most {}", capacity)});
}

/// Refuses files of observers, which each run would overwrite, and a memory without banks and so limits.
void check_removable(const options& o, const config::hbm_block& hbm) {
  const std::string flag = "--without-limits";
  if (hbm.model == config::hbm_model::simple)
    throw user_error(problem{flag, "needs limits, which hbm.model simple does not have", "hbm.model simple",
                             "hbm.model bank"});
  if (o.vcd.empty() && o.timeline.empty()) return;
  throw user_error(problem{flag, "cannot be combined with --vcd or --timeline, which need a single run",
                           o.vcd.empty() ? o.timeline : o.vcd, "one of the two"});
}

std::vector<study_point> points_of(const options& o, const config::machine_config& config) {
  study_point point;
  point.pattern = o.pattern;
  point.stride_bytes = o.stride_bytes;
  point.check_data = o.check_data;
  point.watch_as(o);
  std::vector<pace> paces = o.paces;
  if (o.replay.empty()) {
    point.read_fraction = o.read_fraction.value_or(1.0);
    point.requests = o.requests.value_or(point.requests * config.hbm.ports);
    point.request_bytes = static_cast<std::uint32_t>(o.request_bytes.value_or(config.hbm.burst_bytes));
    check_pattern(o, config.hbm, point);
  } else {
    point.replay = std::make_shared<replay_trace>(read_replay(o.replay, config.hbm));
    if (point.replay->timed && !paces.empty())
      throw user_error(problem{"--rate or --outstanding", "does not apply to a trace with arrivals",
                               to_string(paces.front()), "a trace without the fourth column"});
    if (point.replay->timed) paces.push_back({pace::kind::recorded, 0, 0});
  }
  if (paces.empty()) paces.push_back({pace::kind::saturate, 0, 0});
  if (o.without_limits) check_removable(o, config.hbm);
  std::vector<study_point> points;
  for (const auto& p : paces) {
    point.speed = p;
    points.push_back(point);
  }
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].progress_label = app::progress_label(i, points.size());
  return points;
}

study_outcome outcome_of(const study_point& point, const config::machine_config& config,
                         const netlist::memory_factory& make_memory) {
  study_outcome o = platforms::run_in_child([&] { return simulate(point, config, make_memory); });
  if (o.pattern.empty()) describe(point, config, o);  // the run ended before it described its point
  return o;
}

/// Runs of a point: the run itself, and with --without-limits those without limits.
study_outcome measure(const options& o, const study_point& point, const config::machine_config& config,
                      const netlist::memory_factory& make_memory) {
  study_outcome outcome = outcome_of(point, config, make_memory);
  if (!o.without_limits || outcome.status != run_status::ok) return outcome;
  if (outcome.lost_time.empty()) {
    outcome.notes.emplace_back("this memory reports no limits: nothing was run without them");
    return outcome;
  }
  add_savings(
      point, config,
      [&make_memory](const study_point& p, const config::machine_config& c) {
        return outcome_of(p, c, make_memory);
      },
      outcome);
  return outcome;
}

/// Names of the study's channels as in stack.cpp; whether a memory shows them is known when it is built.
std::vector<std::string> channel_names(const config::hbm_block& hbm) {
  std::vector<std::string> names;
  names.reserve(hbm.ports);
  for (std::uint64_t i = 0; i < hbm.ports; ++i) names.push_back(fmt::format("hbm.channel{}", i));
  return names;
}

std::string table_rows(const study_outcome& o) {
  std::string text = table_row(o);
  for (const auto& note : o.notes) text += platforms::wrapped("  note: " + note, 8);
  return text;
}

/// --check-config: organization, peak and the closed-form limits of the patterns.
std::string memory_text(const config::hbm_block& hbm) {
  const auto g = geometry_of(hbm);
  std::string text = fmt::format(
      "{} channel(s) x {} pseudo-channels x {} SIDs x {} bank groups x {} banks x {} rows x {} bursts of {} "
      "B\n",
      hbm.ports, g.pseudo_channels, g.sids, g.bank_groups, g.banks, g.rows, g.columns, g.burst_bytes);
  text +=
      fmt::format("capacity {} MiB, peak {:.1f} GB/s ({:.1f} per channel)\n", hbm.ports * hbm.port_mib,
                  static_cast<double>(hbm.ports) * timing::port_gbytes_s(hbm), timing::port_gbytes_s(hbm));
  if (hbm.model == config::hbm_model::simple)
    return text + fmt::format("model simple: {} GB/s per pseudo-channel, {} ns; no banks, no refresh\n",
                              hbm.simple_gbytes_s, hbm.simple_latency_ns);
  text += fmt::format("refresh leaves {:.1f}% of the time; address map {} above the burst{}\n",
                      100 * timing::refresh_share(hbm), hbm.address_map,
                      hbm.bank_hash == config::hbm_bank_hash::none ? "" : ", rows XORed into banks");
  text += "\nMost that one channel can reach with reads of a burst each:\n";
  for (const auto p : traffic::all_memory_patterns) {
    const auto bound = bound_of(p, hbm);
    if (!bound) continue;
    text += fmt::format("  {:<14} {:>8.3f} GB/s  {:>5.1f}% of peak  {}\n", traffic::to_string(p),
                        bound->gbytes_s, 100 * bound->gbytes_s / timing::port_gbytes_s(hbm), bound->limit);
  }
  return text;
}

int run_checked(const registries& tables, int argc, char** argv) {
  const options o = parse_options(argc, argv);
  if (app::inform(o, tables.name, help_text(tables), [&] { return list_text(tables, o.list); })) return 0;
  const platforms::loaded_config given = app::load_config(o, tables.default_config, tables.data_dir);
  const config::machine_config& config = given.config;
  if (config.sim.fidelity != config::run_fidelity::packet)
    throw user_error(problem{"sim.fidelity", "applies to collectives only", "message", "packet"});
  if (o.dump_config) return print(platforms::dump_config(config)), 0;
  const auto points = points_of(o, config);
  observe::check_scopes(config.trace, {{}, {}, channel_names(config.hbm)}, !o.vcd.empty(),
                        !o.timeline.empty());
  if (o.check_config) return print(memory_text(config.hbm)), 0;
  app::run_report<study_outcome> report(
      o,
      app::context_of(tables.name, config, platforms::unread_keys(given, {"hbm", "sim", "trace"}), argc,
                      argv),
      config);
  report.start(table_header(points.front().pattern_text()));
  for (const auto& p : points) {
    study_outcome outcome = measure(o, p, config, tables.make_memory);
    const std::string rows = table_rows(outcome);
    report.add(std::move(outcome), rows);
    if (report.interrupted()) break;
  }
  report.finish([&] { return result_json(report.context(), config.hbm, report.outcomes()); },
                [&] { return result_csv(report.outcomes()); });
  return report.exit_code();
}

}  // namespace

int run(const registries& tables, int argc, char** argv) {
  return app::exit_code_of([&] { return run_checked(tables, argc, argv); });
}

std::string list_text(const registries& tables, const std::string& what) {
  std::string text;
  if (what == "patterns") {
    for (const auto p : traffic::all_memory_patterns)
      text += fmt::format("{:<14} {}\n", traffic::to_string(p), traffic::description(p));
    return text + fmt::format("{:<14} {}\n", "replay", "replay:FILE, lines R|W ADDRESS BYTES [ARRIVAL_NS]");
  }
  for (const auto& p : platforms::list_presets(platforms::presets_dir(tables.data_dir)))
    if (p.block == "hbm") text += fmt::format("{:<10} {:<18} {}\n", p.block, p.name, p.source);
  return text;
}

}  // namespace diecast::hbm
