// SPDX-License-Identifier: Apache-2.0
#include "platforms/noc/app.hpp"

#include <fmt/format.h>
#include <functional>
#include <limits>
#include <utility>

#include "models/timing/link.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/observe/dram_taps.hpp"
#include "platforms/run/child.hpp"

namespace diecast::noc {
namespace {

using app::print;

/// Common data of all points of the invocation.
study_point common_point(const options& o, const config::machine_config& config) {
  const config::noc_block& noc = config.noc;
  study_point point;
  const auto take = [](auto& value, const auto& given) {
    if (given) value = static_cast<std::remove_reference_t<decltype(value)>>(*given);
  };
  point.pattern = o.pattern;
  take(point.packet_flits, o.packet_flits);
  take(point.cycles, o.cycles);
  take(point.warmup_cycles, o.warmup_cycles);
  take(point.latency_bound, o.latency_bound);
  point.hot.node = static_cast<std::uint32_t>(noc.rows / 2 * noc.columns + noc.columns / 2);
  take(point.hot.node, o.hotspot_node);
  take(point.hot.fraction, o.hotspot_fraction);
  point.watch_as(o);
  if (!o.replay.empty()) {
    const auto nodes = static_cast<std::uint32_t>(noc.columns * noc.rows);
    point.replay = std::make_shared<replay_trace>(read_replay(o.replay, nodes));
    point.packet_flits = point.replay->longest;
  }
  if (!o.transactions.empty())
    point.transactions =
        std::make_shared<traffic::transaction_plan>(read_transactions(o.transactions, config));
  return point;
}

std::vector<study_point> points_of(const options& o, const study_point& common, const network& net) {
  if (common.replay || common.transactions) return {common};
  (void)traffic::destinations(common.pattern, net.grid(), common.hot);  // reports errors before a run
  std::vector<study_point> points;
  for (const double rate : o.rates.empty() ? std::vector{common.rate} : o.rates) {
    points.push_back(common);
    points.back().rate = rate;
  }
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].progress_label = app::progress_label(i, points.size());
  return points;
}

study_outcome outcome_of(const study_point& point, const network& net) {
  study_outcome o = platforms::run_in_child(
      [&] { return point.transactions ? simulate_transactions(point, net) : simulate(point, net); });
  if (o.traffic.empty()) describe(point, o);  // the run ended before it described its point
  return o;
}

/// --check-config: size, VCs, buffers and zero-load latencies.
std::string network_text(const network& net, std::uint32_t packet_flits) {
  const auto& t = net.topology;
  const auto& layout = t.layout({}, {});
  const timing::noc_timing timing = timing::noc_timing_of(net.config);
  double links = 0;
  std::uint32_t most = 0;
  for (const auto& from : layout.terminals) {
    for (const auto& to : layout.terminals) {
      const std::uint32_t d = t.distance(from.router, to.router);
      links += d;
      most = std::max(most, d);
    }
  }
  links /= static_cast<double>(net.nodes()) * net.nodes();
  std::string text = fmt::format("{} nodes on {} routers, {} links of {} GB/s each way, {} VCs of {} flits\n",
                                 net.nodes(), layout.routers(), t.mesh_links(),
                                 static_cast<double>(net.config.noc.flit_bytes) * net.config.noc.clock_ghz,
                                 t.vcs(), fabric::vc_buffer_flits(net.config));
  text += fmt::format("links per route: {:.3f} on average over all pairs, at most {}\n", links, most);
  const std::uint64_t none = timing.head_cycles(0) + packet_flits - 1;
  text += fmt::format(
      "zero-load latency of a packet of {} flits over d links: {} + {} d cycles, {:.2f} on "
      "average, at most {}\n",
      packet_flits, none, timing.hop_cycles,
      static_cast<double>(none) + static_cast<double>(timing.hop_cycles) * links,
      none + timing.hop_cycles * most);
  return text + "no cycle of packets that wait for each other\n";
}

int run_checked(int argc, char** argv) {
  const options o = parse_options(argc, argv);
  if (app::inform(o, "diecast-noc", help_text(), [&o] { return list_text(o.list); })) return 0;
  const platforms::loaded_config given = app::load_config(o, "noc_default.json");
  const config::machine_config& written = given.config;
  if (written.sim.fidelity != config::run_fidelity::packet)
    throw user_error(problem{"sim.fidelity", "applies to collectives only", "message", "packet"});
  const study_point common = common_point(o, written);
  const auto purpose =
      o.transactions.empty() ? fabric::purpose::network_study : fabric::purpose::transaction_study;
  const network net(adapt(written, common.packet_flits), purpose);
  if (o.dump_config) return print(platforms::dump_config(net.config)), 0;
  const auto points = points_of(o, common, net);
  observe::check_scopes(net.config.trace, {{}, observe::link_names(net.topology), {}}, !o.vcd.empty(),
                        !o.timeline.empty());
  if (o.check_config) return print(network_text(net, common.packet_flits)), 0;
  app::run_report<study_outcome> report(
      o,
      app::context_of("diecast-noc", net.config, platforms::unread_keys(given, {"noc", "sim", "trace"}), argc,
                      argv),
      net.config);
  report.start(table_header(common.traffic_text()));
  double saturated = std::numeric_limits<double>::infinity();
  std::size_t not_run = 0;
  for (const study_point& point : points) {
    if (point.rate >= saturated) {  // the point would be saturated, too, and take long
      ++not_run;
      continue;
    }
    study_outcome outcome = outcome_of(point, net);
    if (outcome.saturated) saturated = point.rate;
    const std::string row = table_row(outcome);
    report.add(std::move(outcome), row);
    if (report.interrupted()) break;
  }
  if (not_run > 0) platforms::warn(fmt::format("{} higher rates are skipped", not_run));
  report.finish([&] { return result_json(report.context(), net, report.outcomes()); },
                [&] { return result_csv(report.outcomes()); },
                [&] { report.write("links.csv", links_csv(report.outcomes())); });
  return report.exit_code();
}

}  // namespace

int run(int argc, char** argv) {
  return app::exit_code_of([&] { return run_checked(argc, argv); });
}

std::string list_text(const std::string& what) {
  std::string text;
  if (what == "patterns") {
    for (const auto p : traffic::all_node_patterns)
      text += fmt::format("{:<14} {}\n", traffic::to_string(p), traffic::description(p));
    return text + fmt::format("{:<14} {}\n", "replay", "replay:FILE, lines CYCLE SRC DST FLITS") +
           fmt::format("{:<14} {}\n", "transactions", "transactions:FILE, a JSON object per line");
  }
  for (const auto& p : platforms::list_presets(platforms::presets_dir()))
    if (p.block == "noc") text += fmt::format("{:<10} {:<18} {}\n", p.block, p.name, p.source);
  return text;
}

}  // namespace diecast::noc
