// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/noc/app.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {
namespace {

namespace po = boost::program_options;

constexpr double least_rate = 1e-6;
constexpr double most_rate = 1.0;  // greatest rate that a node's link can carry

po::options_description all_options() {
  po::options_description d;
  d.add(app::config_flags("Network", "noc_default.json, a mesh of 8 x 8", "noc.topology=torus",
                          "its size and zero-load latencies"));
  d.add(app::flag_group(
      "Traffic",
      {{"traffic", "NAME",
        "uniform, transpose, neighbor, hotspot, bit_complement, tornado, replay:FILE or transactions:FILE "
        "(default: uniform)"},
       {"rate", "R[,R..]",
        "offered load in flits per node and cycle, at most 1; FROM:TO:+STEP runs a sweep that ends at "
        "saturation (default: 0.1)"},
       {"packet-flits", "L", "flits per packet (default: 5)"},
       {"cycles", "N", "cycles of the measurement (default: 10000)"},
       {"warmup-cycles", "W", "cycles before the measurement (default: 2000)"},
       {"latency-bound", "CYCLES", "mean latency above which the network counts as saturated (default: 500)"},
       {"hotspot-node", "N", "destination of hotspot packets (default: the center)"},
       {"hotspot-fraction", "F", "fraction of packets to the hotspot (default: 0.1)"}}));
  d.add(app::output_flags({"write result.json, config.json and links.csv to DIR",
                           "write a waveform (VCD) of busy links; one rate only",
                           "routers of the waveform, e.g. '*.router_0_*' (default: *)",
                           "write a timeline of packets per link (for Perfetto); one rate only",
                           "links of the timeline, e.g. '*.router_0_*' (default: *)"}))
      .add(app::information_flags());
  return d;
}

void read_pattern(const std::string& flag, const std::string& v, options& o) {
  const auto names_file = [&](const std::string& kind, std::string& file) {
    if (!v.starts_with(kind + ":")) return false;
    file = v.substr(kind.size() + 1);
    if (file.empty()) throw user_error(problem{flag, "names no file", v, kind + ":FILE"});
    return true;
  };
  if (names_file("replay", o.replay) || names_file("transactions", o.transactions)) return;
  std::vector<std::string> known;
  for (const auto p : traffic::all_node_patterns) {
    known.emplace_back(traffic::to_string(p));
    if (v == known.back()) {
      o.pattern = p;
      return;
    }
  }
  throw user_error(problem{flag, config::with_nearest("no such traffic", v, known), v,
                           config::join(known) + ", replay:FILE, transactions:FILE"});
}

double rate_of(const std::string& part) {
  return config::real_argument("--rate", part, least_rate, most_rate);
}

void read_traffic(app::flag_reader& r, options& o) {
  using std::string;
  r.with("traffic", [&](const string& f, const string& v) { read_pattern(f, v, o); });
  r.with("rate", [&](const string&, const string& v) { o.rates = parse_rates(v); });
  r.count("packet-flits", 1, most_packet_flits, o.packet_flits);
  r.count("cycles", 1, most_cycles, o.cycles);
  r.count("warmup-cycles", 0, most_cycles, o.warmup_cycles);
  r.count("latency-bound", 1, most_cycles, o.latency_bound);
  r.count("hotspot-node", 0, UINT16_MAX, o.hotspot_node);
  r.real("hotspot-fraction", 0, 1, o.hotspot_fraction);
}

void refuse_meaningless(app::flag_reader& r, const options& o) {
  const bool recorded = !o.replay.empty() || !o.transactions.empty();
  if (recorded)
    r.refuse({"rate", "packet-flits", "cycles", "warmup-cycles", "latency-bound"},
             "cannot be combined with --traffic replay or transactions", "");
  if (!o.transactions.empty())
    r.refuse({"vcd", "timeline"}, "cannot be combined with --traffic transactions", "");
  if (recorded || o.pattern != traffic::node_pattern::hotspot)
    r.refuse({"hotspot-node", "hotspot-fraction"}, "requires --traffic hotspot", "");
  app::refuse_same_file(r, {{"--vcd", o.vcd}, {"--timeline", o.timeline}});
}

}  // namespace

std::vector<double> parse_rates(const std::string& text) {
  std::vector<double> rates;
  for (const auto& item : config::split(text, ',')) {
    const auto values = app::sweep_argument("--rate", item, "FROM:TO:+STEP, e.g. 0.05:0.6:+0.05", rate_of);
    rates.insert(rates.end(), values.begin(), values.end());
  }
  return rates;
}

options parse_options(int argc, const char* const* argv) {
  const po::variables_map values = app::read_command_line(argc, argv, all_options());
  app::flag_reader r(values);
  options o;
  app::read_config_flags(r, o);
  read_traffic(r, o);
  app::read_output_flags(r, o);
  app::read_information_flags(r, {"patterns", "presets"}, o);
  refuse_meaningless(r, o);
  r.finish();
  app::refuse_shared_files(o.rates.size(), "a single rate", o);
  return o;
}

std::string help_text() {
  return app::help_page(
      "diecast-noc", "a network of routers with traffic generators",
      {"--traffic uniform --rate 0.05:0.6:+0.05 --out out",
       "--set noc.topology=torus --traffic tornado --rate 0.3",
       "--config platforms/configs/noc_reference.json --set noc.vcs=1 --rate 1.0"},
      all_options(),
      "0 done, saturated or not; 2 usage or config error; 3 deadlock or sim.limit_ms;\n"
      "4 protocol error; 5 output not writable; 70 internal error;\n71 refused by the system");
}

}  // namespace diecast::noc
