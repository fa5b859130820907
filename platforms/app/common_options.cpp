// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/common_options.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "platforms/io/paths.hpp"

namespace diecast::app {
namespace {

namespace po = boost::program_options;

/// What is printed without running anything comes alone, and nothing is written then. --help helps always.
void refuse_beside_information(flag_reader& r) {
  std::string asked;
  if (r.flag("help")) return;
  for (const char* name :
       {"dump-config", "check-config", "dump-install", "print-map", "version", "schema", "list", "doc"}) {
    if (!r.flag(name)) continue;
    const std::string flag = fmt::format("--{}", name);
    if (!asked.empty()) r.add({flag, "cannot be combined with " + asked, "", "one of the two"});
    if (asked.empty()) asked = flag;
  }
  if (asked.empty()) return;
  for (const char* name : {"out", "vcd", "timeline", "record", "ccl-trace", "diagnose"}) {
    if (r.flag(name))
      r.add({fmt::format("--{}", name), "cannot be combined with " + asked, "", "a run, or one of the two"});
  }
}

auto text(const char* name) { return po::value<std::string>()->value_name(name); }

}  // namespace

po::options_description flag_group(const char* name) {
  constexpr unsigned columns = 99;
  return po::options_description(name, columns);
}

po::options_description config_flags(const char* group, const char* config, const char* set,
                                     const char* check) {
  po::options_description d = flag_group(group);
  d.add_options()("config", text("FILE"), fmt::format("JSON config; default: {}", config).c_str())(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      fmt::format("set one config key, e.g. {}; repeatable, applied from left to right", set).c_str())(
      "seed", text("N"), "seed of all random draws; same as --set sim.seed=N")(
      "check-config", fmt::format("check the config, print {}; no simulation", check).c_str())(
      "dump-config", "print the effective config as JSON, which --config reads; no simulation");
  return d;
}

po::options_description output_flags(const output_help& help) {
  po::options_description d = flag_group("Output");
  d.add_options()("out", text("DIR"), help.out)("format", text("table|json|csv"),
                                                "format of the results on stdout (default: table)")(
      "quiet", "no table on stdout")(
      "progress", text("auto|on|off"),
      "progress bar on stderr; auto: on a terminal, after 2 s (default: auto)")(
      "vcd", text("FILE"), help.vcd)("vcd-scope", text("GLOB"), help.vcd_scope)(
      "vcd-window", text("FROM:TO"), "simulated time of the waveform in ns; either end may be omitted")(
      "timeline", text("FILE"), help.timeline)("timeline-scope", text("GLOB"), help.timeline_scope);
  return d;
}

po::options_description information_flags() {
  po::options_description d = flag_group("Information");
  d.add_options()("list", text("WHAT"), "patterns or presets")("schema", "print the JSON Schema of configs")(
      "version", "print the version")("help", "print this help");
  return d;
}

void read_config_flags(flag_reader& r, common_options& o) {
  r.with("config", [&](const std::string&, const std::string& v) { o.config = v; });
  o.sets = r.all("set");
  r.with("seed", [&](const std::string& flag, const std::string& v) {
    const auto is_seed = [](const std::string& set) { return set.starts_with("sim.seed="); };
    const auto other = std::find_if(o.sets.begin(), o.sets.end(), is_seed);
    if (other != o.sets.end())
      r.add({flag, "sets the same key as --set", v + " and " + *other, "one of the two"});
    o.sets.push_back(fmt::format("sim.seed={}", config::count_argument(flag, v)));
  });
}

void read_output_flags(flag_reader& r, common_options& o) {
  using std::string;
  r.with("out", [&](const string&, const string& v) { o.out = v; });
  r.with("vcd", [&](const string&, const string& v) { o.vcd = v; });
  r.with("vcd-scope", [&](const string&, const string& v) { o.sets.push_back("trace.vcd_scope=" + v); });
  r.with("vcd-window", [&](const string& f, const string& v) { add_window(f, v, o.sets); });
  r.with("timeline", [&](const string&, const string& v) { o.timeline = v; });
  r.with("timeline-scope",
         [&](const string&, const string& v) { o.sets.push_back("trace.timeline_scope=" + v); });
  r.with("progress", [&](const string& f, const string& v) { o.progress = progress_argument(f, v); });
  r.with("format", [&](const string& f, const string& v) {
    o.format = choose<output_format>(
        f, v, {{"table", output_format::table}, {"json", output_format::json}, {"csv", output_format::csv}});
  });
  o.quiet = r.flag("quiet");
}

void read_information_flags(flag_reader& r, const std::vector<std::string>& lists, common_options& o) {
  r.with("list", [&](const std::string& f, const std::string& v) { o.list = one_of(f, v, lists); });
  o.help = r.flag("help");
  o.version = r.flag("version");
  o.schema = r.flag("schema");
  o.check_config = r.flag("check-config");
  o.dump_config = r.flag("dump-config");
  refuse_beside_information(r);
}

platforms::loaded_config load_config(const common_options& o, const std::filesystem::path& default_config,
                                     const std::filesystem::path& data_dir) {
  platforms::config_request request;
  request.file = o.config.empty() ? platforms::default_config(default_config, data_dir)
                                  : std::filesystem::path(o.config);
  if (!data_dir.empty()) request.presets = platforms::presets_dir(data_dir);
  request.sets = o.sets;
  return platforms::load_config(request);
}

void refuse_shared_files(flag_reader& r, std::size_t runs, const char* expected, const common_options& o) {
  if (runs <= 1) return;
  const auto refuse = [&](const char* flag, const std::string& file, const char* what) {
    if (!file.empty()) r.add({flag, fmt::format("{} runs cannot share one {}", runs, what), file, expected});
  };
  refuse("--vcd", o.vcd, "waveform");
  refuse("--timeline", o.timeline, "timeline");
}

}  // namespace diecast::app
