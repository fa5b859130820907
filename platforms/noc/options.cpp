// SPDX-License-Identifier: Apache-2.0
#include "platforms/noc/options.hpp"

#include <boost/program_options.hpp>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

#include "models/config/suggestion.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/noc/replay.hpp"

namespace diecast::noc {
namespace {

namespace po = boost::program_options;

constexpr double least_rate = 1e-6;
constexpr double most_rate = 1.0;  // what a node's link can carry
constexpr std::uint64_t most_cycles = 1'000'000'000;
constexpr std::size_t most_points = 1000;

auto text(const char* name) { return po::value<std::string>()->value_name(name); }

po::options_description network_options() {
  po::options_description d("Network");
  d.add_options()("config", text("FILE"), "config file; default: noc_default.json, a mesh of 8 x 8")(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "override one key, e.g. noc.topology=torus; repeatable, from left to right")(
      "seed", text("N"), "same as --set sim.seed=N")(
      "check-config", "check the network, print its size and zero-load latencies, run nothing")(
      "dump-config", "print the effective config; it runs identically when fed back");
  return d;
}

po::options_description traffic_options() {
  po::options_description d("Traffic");
  d.add_options()("traffic", text("NAME"),
                  "uniform, transpose, neighbor, hotspot, bit_complement, tornado, replay:FILE (uniform)")(
      "rate", text("R[,R..]"),
      "flits per node and cycle, up to 1 (0.1); FROM:TO:+STEP sweeps and stops at saturation")(
      "packet-flits", text("L"), "length of each packet (5)")(
      "cycles", text("N"), "cycles whose packets are measured (10000)")("warmup-cycles", text("W"),
                                                                        "cycles before that (2000)")(
      "latency-bound", text("CYCLES"), "a mean latency beyond it is saturation (500)")(
      "hotspot-node", text("N"), "where hotspot traffic goes (the center)")(
      "hotspot-fraction", text("F"), "share of packets that go there (0.1)");
  return d;
}

po::options_description output_options() {
  po::options_description d("Output");
  d.add_options()("out", text("DIR"), "write result.json, config.json, links.csv there")(
      "format", text("table|json|csv"), "what goes to stdout (table)")(
      "vcd", text("FILE"), "write a waveform: when each link is busy; one rate only")(
      "vcd-scope", text("GLOB"), "routers in the waveform, e.g. '*.router_0_*' (*)")(
      "vcd-window", text("FROM:TO"), "part of the run in the waveform, in ns; either end may be left out")(
      "timeline", text("FILE"), "write when each link carries which packet, for Perfetto; one rate only")(
      "timeline-scope", text("GLOB"), "links in the timeline, e.g. '*.router_0_*' (*)")(
      "progress", text("auto|on|off"), "a bar on stderr; auto: on a terminal, after two seconds (auto)")(
      "quiet", "print no table");
  return d;
}

po::options_description information_options() {
  po::options_description d("Information");
  d.add_options()("list", text("WHAT"), "patterns or presets")(
      "schema", "print the JSON Schema of config files")("version", "print the version")("help",
                                                                                         "print this");
  return d;
}

po::options_description all_options() {
  po::options_description d;
  d.add(network_options()).add(traffic_options()).add(output_options()).add(information_options());
  return d;
}

void read_pattern(const std::string& flag, const std::string& v, options& o) {
  if (v.starts_with("replay:")) {
    o.replay = v.substr(std::string("replay:").size());
    if (o.replay.empty()) throw user_error(problem{flag, "names no file", v, "replay:FILE"});
    return;
  }
  std::vector<std::string> known;
  for (const auto p : traffic::all_node_patterns) {
    known.emplace_back(traffic::to_string(p));
    if (v == known.back()) {
      o.pattern = p;
      return;
    }
  }
  throw user_error(problem{flag, config::with_nearest("no such traffic", v, known), v,
                           config::join(known) + ", replay:FILE"});
}

double rate_of(const std::string& part) {
  return config::real_argument("--rate", part, least_rate, most_rate);
}

void add_rates(const std::string& item, std::vector<double>& rates) {
  const auto parts = app::split(item, ':');
  if (parts.size() == 1) {
    rates.push_back(rate_of(item));
    return;
  }
  if (parts.size() != 3 || !parts[2].starts_with('+')) {
    throw user_error(problem{"--rate", "is no range", item, "FROM:TO:+STEP, e.g. 0.05:0.6:+0.05"});
  }
  const double from = rate_of(parts[0]), to = rate_of(parts[1]), step = rate_of(parts[2].substr(1));
  if (to < from) throw user_error(problem{"--rate", "the range ends before it begins", item, ""});
  // The end belongs to the range even when the steps add up to a hair more.
  const double points = std::floor((to - from) / step * (1 + 1e-12) + 1e-9) + 1;
  if (points > static_cast<double>(most_points)) {
    throw user_error(problem{"--rate", "more than 1000 points", item, "a larger step"});
  }
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(points); ++i) {
    // As a user would have written it: 0.1 + 2 x 0.1 is 0.3, not 0.30000000000000004.
    const double rate = std::round((from + static_cast<double>(i) * step) * 1e9) / 1e9;
    rates.push_back(std::min(rate, most_rate));
  }
}

void read_traffic(app::flag_reader& r, options& o) {
  using std::string;
  r.with("traffic", [&](const string& f, const string& v) { read_pattern(f, v, o); });
  r.with("rate", [&](const string&, const string& v) { o.rates = parse_rates(v); });
  const auto count = [&r](const char* name, std::uint64_t least, std::uint64_t most,
                          std::optional<std::uint64_t>& value) {
    r.with(name,
           [&](const string& f, const string& v) { value = config::count_argument(f, v, least, most); });
  };
  count("packet-flits", 1, most_packet_flits, o.packet_flits);
  count("cycles", 1, most_cycles, o.cycles);
  count("warmup-cycles", 0, most_cycles, o.warmup_cycles);
  count("latency-bound", 1, most_cycles, o.latency_bound);
  count("hotspot-node", 0, UINT16_MAX, o.hotspot_node);
  r.with("hotspot-fraction",
         [&](const string& f, const string& v) { o.hotspot_fraction = config::real_argument(f, v, 0, 1); });
}

void refuse_meaningless(app::flag_reader& r, const options& o) {
  const auto refuse = [&r](const char* name, const char* beside) {
    r.with(name, [&](const std::string& flag, const std::string& v) {
      throw user_error(problem{flag, fmt::format("has no meaning {}", beside), v, ""});
    });
  };
  if (!o.replay.empty()) {
    for (const char* name : {"rate", "packet-flits", "cycles", "warmup-cycles", "latency-bound"}) {
      refuse(name, "beside --traffic replay, whose file says it");
    }
  }
  if (!o.replay.empty() || o.pattern != traffic::node_pattern::hotspot) {
    for (const char* name : {"hotspot-node", "hotspot-fraction"}) refuse(name, "without --traffic hotspot");
  }
  app::refuse_without_file(r, o.vcd, o.timeline);
  app::refuse_same_file(r, {{"--vcd", o.vcd}, {"--timeline", o.timeline}},
                        {{"--config", o.config}, {"--traffic", o.replay}});
}

void read_output(app::flag_reader& r, options& o) {
  using std::string;
  r.with("out", [&](const string&, const string& v) { o.out = v; });
  r.with("vcd", [&](const string&, const string& v) { o.vcd = v; });
  r.with("vcd-scope", [&](const string&, const string& v) { o.sets.push_back("trace.vcd_scope=" + v); });
  r.with("vcd-window", [&](const string& f, const string& v) { app::add_window(f, v, o.sets); });
  r.with("timeline", [&](const string&, const string& v) { o.timeline = v; });
  r.with("timeline-scope",
         [&](const string&, const string& v) { o.sets.push_back("trace.timeline_scope=" + v); });
  r.with("progress", [&](const string& f, const string& v) { o.progress = app::progress_argument(f, v); });
  r.with("format", [&](const string& f, const string& v) {
    o.format = app::choose<output_format>(
        f, v, {{"table", output_format::table}, {"json", output_format::json}, {"csv", output_format::csv}});
  });
  r.with("list", [&](const string& f, const string& v) {
    o.list = app::choose<string>(f, v, {{"patterns", "patterns"}, {"presets", "presets"}});
  });
  o.quiet = r.flag("quiet");
  o.help = r.flag("help");
  o.version = r.flag("version");
  o.schema = r.flag("schema");
  o.check_config = r.flag("check-config");
  o.dump_config = r.flag("dump-config");
  if (o.check_config && o.dump_config)
    r.add({"--check-config", "has no meaning beside --dump-config", "", "one of the two"});
}

}  // namespace

std::vector<double> parse_rates(const std::string& text) {
  std::vector<double> rates;
  for (const auto& item : app::split(text, ',')) add_rates(item, rates);
  return rates;
}

options parse_options(int argc, const char* const* argv) {
  const po::variables_map values = app::read_command_line(argc, argv, all_options());
  app::flag_reader r(values);
  options o;
  r.with("config", [&](const std::string&, const std::string& v) { o.config = v; });
  if (values.count("set") != 0) o.sets = values["set"].as<std::vector<std::string>>();
  r.with("seed", [&](const std::string&, const std::string& v) { o.sets.push_back("sim.seed=" + v); });
  read_traffic(r, o);
  read_output(r, o);
  refuse_meaningless(r, o);
  if (!o.vcd.empty() && o.rates.size() > 1) {
    r.add(
        {"--vcd", fmt::format("{} runs cannot share one waveform", o.rates.size()), o.vcd, "a single rate"});
  }
  if (!o.timeline.empty() && o.rates.size() > 1) {
    r.add({"--timeline", fmt::format("{} runs cannot share one timeline", o.rates.size()), o.timeline,
           "a single rate"});
  }
  r.finish();
  return o;
}

std::string help_text() {
  std::ostringstream out;
  out << "diecast-noc: a network of routers with traffic generators\n\nUsage: diecast-noc [flags]\n\n"
         "Examples:\n  diecast-noc --traffic uniform --rate 0.05:0.6:+0.05 --out out\n"
         "  diecast-noc --set noc.topology=torus --traffic tornado --rate 0.3\n"
         "  diecast-noc --config platforms/configs/noc_reference.json --set noc.vcs=1 --rate 1.0\n"
      << all_options()
      << "\nExit codes: 0 done (a saturated point is a result), 2 usage or config error, 3 deadlock,\n"
         "4 protocol error, 5 output not writable, 70 internal error, 130/143 interrupted.\n";
  return out.str();
}

}  // namespace diecast::noc
