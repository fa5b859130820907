// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"

namespace diecast::app {
namespace {

namespace po = boost::program_options;

po::options_description machine_options() {
  po::options_description d("Machine");
  d.add_options()("config", po::value<std::string>()->value_name("FILE"),
                  "config file; default: the platform's own")(
      "set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "override one key, e.g. ccl.root=corner; repeatable, from left to right")(
      "seed", po::value<std::string>()->value_name("N"), "same as --set sim.seed=N")(
      "check-config", "check the machine, print its balance table, run nothing")(
      "dump-config", "print the effective config; it runs identically when fed back")(
      "dump-install", "print the install plan of the run")("print-map",
                                                           "print the address map with terminals");
  return d;
}

po::options_description run_options() {
  po::options_description d("Run");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  d.add_options()("collective", text("NAME"), "what to run (all_reduce)")(
      "algorithm", text("NAME[,NAME..]|all|auto"),
      "how; see --list algorithms; auto: by rules, tuner table or cost model")(
      "bytes", text("SIZE|FROM:TO[:xF|:+D]"), "vector each rank contributes (64KiB)")(
      "dtype", text("T"), "f16|half, bf16|bfloat16, f32|float, i32|int32 (f16)")(
      "op", text("O"), "sum, max, min, prod, avg (sum)")("ranks", text("pe|cube|sip"),
                                                         "who contributes; default: the algorithm's own")(
      "iters", text("N"), "timed repetitions (1)")("warmup", text("N"), "untimed repetitions first (0)")(
      "data", text("exact|rank_plus_one"), "contents of the vectors (exact)")(
      "no-data", "timing only: no payload bytes are stored, nothing is verified")(
      "team", text("START:STRIDE:SIZE[,..]|RANK+RANK+..|FROM..TO[:xF]"),
      "ranks of a barrier; FROM..TO: one run per size (all ranks)")(
      "diagnose", "find out what is wrong by experiments; writes diagnosis.json and diagnosis.txt")(
      "hide-faults",
      "do not say which faults of the config were met (what --diagnose gives its experiments)")(
      "double-run", "run everything twice and compare it; exit code 6 when anything differs")(
      "record", text("FILE"), "write what every rank did in every step")(
      "verify", text("FILE"), "compare with a recorded run; exit code 6 names the first difference")(
      "workload", text("FILE"),
      "run streams of ops (JSON) or an MSCCL algorithm program (XML); see --list ops")(
      "isolate", "run each stream of the workload alone, too, and report its slowdown");
  return d;
}

po::options_description output_options() {
  po::options_description d =
      output_flags({"write result.json, config.json, links.csv, ipcq.csv, waits.csv, health.csv, hbm.csv and "
                    "critical_path.json there",
                    "write a waveform", "instances in the waveform, e.g. 'pod.sip0.cube_0_0.*' (*)",
                    "write a timeline in the Trace Event format, for Perfetto",
                    "instances in the timeline, e.g. 'pod.sip0.cube_0_0*' (*)"});
  d.add_options()("ccl-trace", "print every send, receive and credit on stderr; also DIECAST_CCL_TRACE=1");
  return d;
}

po::options_description other_options() {
  po::options_description d("Information");
  d.add_options()("list", po::value<std::string>()->value_name("WHAT"),
                  "algorithms, patterns, mappers, validators, faults, ops or presets")(
      "schema", "print the JSON Schema of config files")(
      "doc", po::value<std::string>()->value_name("config|registers|verdicts|workload"),
      "print a generated reference page (Markdown)")("version", "print the version")("help", "print this");
  return d;
}

po::options_description all_options() {
  po::options_description d;
  d.add(machine_options()).add(run_options()).add(output_options()).add(other_options());
  return d;
}

void read_run(flag_reader& r, options& o) {
  using std::string;
  r.with("collective", [&](const string&, const string& v) { o.collective = v; });
  r.with("algorithm", [&](const string& f, const string& v) {
    o.algorithms = config::split(v, ',');
    const auto holds = [&o](const char* name) {
      return std::find(o.algorithms.begin(), o.algorithms.end(), name) != o.algorithms.end();
    };
    if (o.algorithms.size() > 1 && holds("all"))
      throw user_error(problem{f, "has all beside other names", v, "NAME[,NAME..] or all"});
    if (holds("")) throw user_error(problem{f, "holds an empty name", v, "NAME[,NAME..] or all"});
  });
  r.with("bytes", [&](const string&, const string& v) { o.bytes = parse_sizes(v); });
  r.with("dtype", [&](const string& f, const string& v) {
    const auto t = numeric::parse_dtype(v);
    if (!t)
      throw user_error(
          problem{f, "no such element type", v, "f16|half, bf16|bfloat16, f32|float, i32|int32"});
    o.type = *t;
  });
  r.with("op", [&](const string& f, const string& v) {
    const auto op = numeric::parse_reduction(v);
    if (!op) throw user_error(problem{f, "no such reduction", v, "sum, max, min, prod, avg"});
    o.op = *op;
  });
  r.with("ranks", [&](const string& f, const string& v) {
    o.ranks = choose<comm::rank_set>(
        f, v, {{"pe", comm::rank_set::pe}, {"cube", comm::rank_set::cube}, {"sip", comm::rank_set::sip}});
  });
  r.with("iters",
         [&](const string& f, const string& v) { o.iters = config::count_argument(f, v, 1, 1'000'000); });
  r.with("warmup",
         [&](const string& f, const string& v) { o.warmup = config::count_argument(f, v, 0, 1'000'000); });
  r.with("data", [&](const string& f, const string& v) {
    o.pattern_data = choose<string>(f, v, {{"exact", "exact"}, {"rank_plus_one", "rank_plus_one"}});
  });
  r.with("team", [&](const string&, const string& v) { o.teams = parse_teams(v); });
  r.with("workload", [&](const string&, const string& v) { o.workload = v; });
  o.no_data = r.flag("no-data");
  o.double_run = r.flag("double-run");
  o.diagnose = r.flag("diagnose");
  o.hide_faults = r.flag("hide-faults");
  r.with("record", [&](const string&, const string& v) { o.record = v; });
  r.with("verify", [&](const string&, const string& v) { o.verify = v; });
  o.isolate = r.flag("isolate");
  for (const char* name : {"collective", "algorithm", "bytes", "dtype", "op", "ranks", "iters", "warmup",
                           "data", "no-data", "team"}) {
    if (r.flag(name)) o.run_flags.push_back(std::string("--") + name);
  }
}

/// The environment's way to ask for --ccl-trace.
bool trace_wanted() {
  const char* const asked = std::getenv("DIECAST_CCL_TRACE");
  if (asked == nullptr) return false;
  const std::string value = asked;
  if (value == "1") return true;
  if (value.empty() || value == "0") return false;
  throw user_error(problem{"DIECAST_CCL_TRACE", "not a switch", value, "0 or 1"});
}

void read_output(flag_reader& r, options& o) {
  read_output_flags(r, o);
  refuse_without_file(r, o.vcd, o.timeline);
  refuse_same_file(r, {{"--vcd", o.vcd}, {"--timeline", o.timeline}, {"--record", o.record}},
                   {{"--config", o.config}, {"--workload", o.workload}, {"--verify", o.verify}});
  o.ccl_trace = r.flag("ccl-trace") || trace_wanted();
}

void read_information(flag_reader& r, options& o) {
  read_information_flags(r, {"algorithms", "patterns", "mappers", "validators", "faults", "ops", "presets"},
                         o);
  r.with("doc", [&](const std::string& f, const std::string& v) {
    o.doc = one_of(f, v, {"config", "registers", "verdicts", "workload"});
  });
  o.dump_install = r.flag("dump-install");
  o.print_map = r.flag("print-map");
}

}  // namespace

options parse_options(int argc, const char* const* argv) {
  const po::variables_map values = read_command_line(argc, argv, all_options());
  flag_reader r(values);
  options o;
  read_config_flags(r, o);
  read_run(r, o);
  read_output(r, o);
  read_information(r, o);
  r.finish();
  return o;
}

flag_files files_read(const options& o, const config::machine_config& config) {
  return {{"--workload", o.workload}, {"--verify", o.verify}, {"ccl.tuner", config.ccl.tuner}};
}

std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  constexpr std::size_t most_points = 10'000;
  const auto parts = config::split(text, ':');
  const auto refuse = [&](const char* what) {
    throw user_error(
        problem{"--bytes", what, text, "SIZE, FROM:TO, FROM:TO:xF or FROM:TO:+D, e.g. 4KiB:1MiB:x4"});
  };
  const std::uint64_t from = config::size_argument("--bytes", parts[0]);
  if (parts.size() == 1) return {from};
  if (parts.size() > 3) refuse("too many parts");
  const std::uint64_t to = config::size_argument("--bytes", parts[1]);
  if (to < from) refuse("the range ends before it begins");
  std::uint64_t factor = 2, step = 0;
  if (parts.size() == 3) {
    const std::string& s = parts[2];
    if (s.starts_with('x')) {
      factor = config::count_argument("--bytes", s.substr(1), 2);
    } else if (s.starts_with('+')) {
      step = config::size_argument("--bytes", s.substr(1), 1);
    } else {
      refuse("the step is neither xF nor +D");
    }
  }
  if (step == 0 && from == 0) refuse("a factor never leaves 0");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = from; size <= to; size = step != 0 ? size + step : size * factor) {
    sizes.push_back(size);
    if (sizes.size() > most_points) refuse("more than 10000 sizes");
    if (size > UINT64_MAX / factor || size > UINT64_MAX - step) break;
  }
  return sizes;
}

std::string help_text(const platform_entry& platform) {
  std::ostringstream text;
  text
      << platform.name << ": " << platform.description << "\n\nUsage: " << platform.name
      << " [flags]\n\nExamples:\n  " << platform.name
      << " --collective all_reduce --bytes 4KiB:64KiB:x4 --out out\n  " << platform.name
      << " --set ccl.root=corner --set ipcq.n_slots=2\n  " << platform.name
      << " --bytes 64KiB --out out --timeline timeline.json\n  " << platform.name << " --check-config\n"
      << all_options()
      << "\nExit codes: 0 verified (or not checked, said so), 1 wrong result, 2 usage or config error, 3 "
         "deadlock,\n"
         "4 data fault, 5 output not writable, 6 not reproducible, 70 internal error, 130/143 interrupted.\n";
  return text.str();
}

}  // namespace diecast::app
