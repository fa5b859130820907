// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/files/output_dir.hpp"

namespace diecast::app {

namespace {

namespace po = boost::program_options;

po::options_description collective_options() {
  return flag_group(
      "Collective",
      {{"collective", "NAME",
        "all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, gather, scatter, "
        "send_recv or barrier (default: all_reduce)"},
       {"algorithm", "NAME[,NAME..]|all|auto",
        "algorithms to run one after the other (--list algorithms); all: each that can run here; auto: "
        "chosen by rules, tuner table or estimates (default: auto)"},
       {"bytes", "SIZE|FROM:TO[:xF|:+D]",
        "vector of each rank, or the total of reduce_scatter, all_gather, all_to_all, gather and scatter, "
        "in B, KiB, MiB or GiB; a range is multiplied by F (2) or grows by D (default: 64KiB)"},
       {"dtype", "T", "element type: f16|half, bf16|bfloat16, f32|float, i32|int32 (default: f16)"},
       {"op", "O", "reduction: sum, max, min, prod, avg (default: sum)"},
       {"ranks", "pe|cube|sip",
        "one rank per PE, cube or SIP; the latter two use one PE each (default: the algorithm's first "
        "rank set)"},
       {"team", "RANKS[,..]",
        "ranks of a barrier, a run for each team: START:STRIDE:SIZE, RANK+RANK+.., or FROM..TO[:xF] for "
        "the first FROM to TO ranks (default: all ranks)"},
       {"iters", "N", "timed launches, whose mean is reported (default: 1)"},
       {"warmup", "N", "untimed launches before the timed ones (default: 0)"},
       {"jitter", "N[:NS]",
        "N runs, all but the first with every PE's start delayed by up to NS at random (default: "
        "ccl.jitter_ns): median, extremes and spread of the time"},
       {"data", "exact|rank_plus_one",
        "contents of the vectors: values whose sums are exact, or rank + 1 (default: exact)"},
       {"no-data", "", "simulate times only: store no payload, verify nothing"},
       {"explain", "",
        "repeat the job while removing the causes of time one by one (some 25 runs): shares of the "
        "bound, firmware, DMA start, slots, latency, headers and contention, which add up to the time"},
       {"estimate", "",
        "simulate nothing: for each algorithm and size the bound, the expected time and what a run would "
        "cost (default of --algorithm: all)"}});
}

po::options_description workload_options() {
  return flag_group(
      "Workload",
      {{"workload", "FILE",
        "run streams of operations (JSON, see --list ops) or a program of MSCCL (XML) or MSCCL++ (JSON) "
        "instead of --collective"},
       {"isolate", "", "run each stream of the workload alone as well, and report its slowdown"}});
}

po::options_description process_flags() {
  return flag_group(
      "Processes",
      {{"processes", "N", "simulate each run on N processes over MPI (default: 1)"},
       {"partition", "LISTS|auto",
        "SIPs of each process, such as [[0,1],[2,3]]; auto: as many PEs for each, few links between them"},
       {"launcher", "COMMAND",
        "starts the processes, {n} of them, such as 'srun --input=0 -n {n}' (default: mpirun of this "
        "host)"}});
}

po::options_description correctness_options() {
  return flag_group(
      "Correctness",
      {{"double-run", "", "run twice and compare the runs; exit code 6 if they differ"},
       {"record", "FILE", "write what every rank did in every step"},
       {"verify", "FILE", "compare with a recorded run; exit code 6 with the first difference"},
       {"diagnose", "",
        "find the fault of a machine by experiments; writes into --out, by default the folder diagnosis"},
       {"hide-faults", "",
        "do not report which faults of the config acted; --diagnose sets it for its experiments"},
       {"inspect", "dispatch",
        "print where the entries of each PE's dispatch table led when loaded, and lead at the end"},
       {"ccl-trace", "", "print each send, receive and credit on stderr; also with DIECAST_CCL_TRACE=1"}});
}

po::options_description other_options() {
  return flag_group(
      "Information",
      {{"list", "WHAT", "algorithms, patterns, mappers, validators, faults, ops or presets"},
       {"print-map", "", "print the address map and the router of each range"},
       {"dump-install", "", "print the install plan of the queue pairs of the run"},
       {"schema", "", "print the JSON Schema of configs"},
       {"doc", "config|counters|registers|verdicts|workload", "print a reference page in Markdown"},
       {"version", "", "print the version"},
       {"help", "", "print this help"}});
}

po::options_description all_options() {
  po::options_description d;
  d.add(config_flags("Machine", "the binary's own", "ccl.root=corner",
                     "its bandwidths, buffers and bottleneck"));
  d.add(collective_options()).add(workload_options()).add(process_flags()).add(correctness_options());
  d.add(output_flags(
      {"write result.json, config.json, CSV files of links, queue pairs, waits, health and HBM channels, "
       "and critical_path.json to DIR",
       "write a waveform (VCD)", "instances of the waveform, e.g. 'pod.sip0.cube_0_0.*' (default: *)",
       "write a timeline (Trace Event JSON, for Perfetto)",
       "instances of the timeline, e.g. 'pod.sip0.cube_0_0*' (default: *)"}));
  d.add(other_options());
  return d;
}

// The value of --team.

constexpr const char* team_flag = "--team";
constexpr std::uint64_t most_points = 10'000;

std::uint32_t number(const std::string& text, std::uint64_t least) {
  return static_cast<std::uint32_t>(config::count_argument(team_flag, text, least, comm::max_ranks));
}

[[noreturn]] void refuse(const std::string& text) {
  throw user_error(problem{team_flag, "is no team", text,
                           "START:STRIDE:SIZE, RANK+RANK+.., or sizes from 1 on: FROM..TO, FROM..TO:xF"});
}

std::vector<comm::team_spec> sizes(const std::string& text, std::size_t dots) {
  const auto tail = config::split(text.substr(dots + 2), ':');
  if (tail.size() > 2 || (tail.size() == 2 && !tail[1].starts_with('x'))) refuse(text);
  const std::uint32_t from = number(text.substr(0, dots), 1), to = number(tail[0], 1);
  const std::uint64_t factor =
      tail.size() == 2 ? config::count_argument(team_flag, tail[1].substr(1), 2, most_points) : 1;
  if (to < from) refuse(text);
  std::vector<comm::team_spec> teams;
  for (std::uint64_t n = from; n <= to; n = factor > 1 ? n * factor : n + 1) {
    teams.push_back({0, 1, static_cast<std::uint32_t>(n), {}});
    if (teams.size() > most_points) refuse(text);
  }
  return teams;
}

comm::team_spec one(const std::string& text) {
  const auto fields = config::split(text, ':');
  if (fields.size() == 3) return {number(fields[0], 0), number(fields[1], 1), number(fields[2], 1), {}};
  comm::team_spec team;
  for (const std::string& rank : config::split(text, '+')) team.list.push_back(number(rank, 0));
  team.size = static_cast<std::uint32_t>(team.list.size());
  return team;
}

/// "0:1:8", "0+3+5", "2..64" or "2..64:x2" (teams of the first ranks), joined by commas. Throws user_error.
std::vector<comm::team_spec> parse_teams(const std::string& text) {
  std::vector<comm::team_spec> teams;
  for (const std::string& part : config::split(text, ',')) {
    const std::size_t dots = part.find("..");
    try {
      const auto more = dots == std::string::npos ? std::vector{one(part)} : sizes(part, dots);
      teams.insert(teams.end(), more.begin(), more.end());
    } catch (const user_error&) {
      refuse(part);  // a bad number is reported with the forms of the whole part
    }
  }
  return teams;
}

/// "64KiB", "4KiB:1MiB:x4", "4KiB:16KiB:+4KiB"; without a step the factor is 2. Throws user_error.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
  const auto parts = config::split(text, ':');
  const auto refuse = [&](const char* what) {
    throw user_error(problem{"--bytes", what, text,
                             "a size, or a range FROM:TO, FROM:TO:xF or FROM:TO:+D, e.g. 4KiB:1MiB:x4"});
  };
  if (text.find_first_of(",-", 1) != std::string::npos) refuse("several sizes are given as a range");
  const std::uint64_t from = config::size_argument("--bytes", parts[0]);
  if (parts.size() == 1) return {from};
  if (parts.size() > 3) refuse("too many parts");
  const std::uint64_t to = config::size_argument("--bytes", parts[1]);
  if (to < from) refuse("the range ends before it begins");
  std::uint64_t factor = 2, step = 0;
  if (parts.size() == 3) {
    const std::string& s = parts[2];
    if (s.starts_with('x')) {
      const auto f = config::parse_count(s.substr(1));
      if (!f || *f < 2) refuse("the factor is no whole number from 2");
      factor = *f;
    } else if (s.starts_with('+')) {
      const auto d = config::parse_size(s.substr(1));
      if (!d || *d == 0) refuse("the step is no size from 1");
      step = *d;
    } else {
      refuse("the step is neither xF nor +D");
    }
  }
  if (step == 0 && from == 0) refuse("a range that is multiplied cannot begin at 0");
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = from; size <= to; size = step != 0 ? size + step : size * factor) {
    sizes.push_back(size);
    if (sizes.size() > most_points) refuse("more than 10000 sizes");
    if (size > UINT64_MAX / factor || size > UINT64_MAX - step) break;
  }
  return sizes;
}

void read_correctness(flag_reader& r, options& o) {
  o.double_run = r.flag("double-run");
  o.diagnose = r.flag("diagnose");
  o.point.report_faults = !r.flag("hide-faults");
  r.with("inspect", [&](const std::string& f, const std::string& v) {
    o.point.inspect = !one_of(f, v, {"dispatch"}).empty();
  });
  r.text("record", o.record);
  r.text("verify", o.verify);
}

/// Adds a problem for each pair of flags of which one has no meaning beside the other.
void refuse_pairs(flag_reader& r) {
  const auto one_of_two = [&r](const char* flag, const char* what,
                               std::initializer_list<const char*> others) {
    for (const char* other : others)
      if (r.flag(flag) && r.flag(other))
        r.add(
            {fmt::format("--{}", flag), fmt::format(fmt::runtime(what), other), "", "one of the two flags"});
  };
  one_of_two("jitter", "--{} reports no times to compare", {"diagnose", "dump-install"});
  one_of_two("explain", "--{} reports no time to explain", {"diagnose", "dump-install"});
  one_of_two("no-data", "stores nothing that --{} could fill", {"data"});
  one_of_two("estimate", "simulates nothing that --{} could apply to",
             {"workload", "jitter", "double-run", "record", "verify", "diagnose", "dump-install", "out",
              "vcd", "timeline", "isolate", "explain", "inspect"});
}

void read_run(flag_reader& r, options& o) {
  using std::string;
  r.text("collective", o.point.collective);
  r.with("algorithm", [&](const string& f, const string& v) {
    o.algorithms = config::split(v, ',');
    const auto holds = [&o](const char* name) {
      return std::ranges::find(o.algorithms, name) != o.algorithms.end();
    };
    if (o.algorithms.size() > 1 && holds("all"))
      throw user_error(problem{f, "combines all with other names", v, "NAME[,NAME..] or all"});
    if (holds("")) throw user_error(problem{f, "contains an empty name", v, "NAME[,NAME..] or all"});
  });
  r.with("bytes", [&](const string&, const string& v) { o.bytes = parse_sizes(v); });
  r.with("dtype", [&](const string& f, const string& v) {
    o.point.type = *numeric::parse_dtype(
        one_of(f, v, {"f16", "half", "bf16", "bfloat16", "f32", "float", "i32", "int32"}));
  });
  r.with("op", [&](const string& f, const string& v) {
    o.point.op = *numeric::parse_reduction(one_of(f, v, {"sum", "max", "min", "prod", "avg"}));
  });
  r.with("ranks", [&](const string& f, const string& v) {
    o.point.ranks = choose<comm::rank_set>(
        f, v, {{"pe", comm::rank_set::pe}, {"cube", comm::rank_set::cube}, {"sip", comm::rank_set::sip}});
  });
  r.count("iters", 1, 1'000'000, o.point.iters);
  r.count("warmup", 0, 1'000'000, o.point.warmup);
  r.with("jitter", [&](const string& f, const string& v) {
    const std::size_t colon = v.find(':');
    o.point.jitter_runs = config::count_argument(f, v.substr(0, colon), 2, 100'000);
    if (colon != string::npos)
      o.point.jitter_ns = config::count_argument(f + " N:NS", v.substr(colon + 1), 1, 1'000'000'000);
  });
  r.with("data", [&](const string& f, const string& v) {
    o.point.pattern_data = one_of(f, v, {"exact", "rank_plus_one"});
  });
  r.with("team", [&](const string&, const string& v) { o.teams = parse_teams(v); });
  r.text("workload", o.point.workload);
  o.point.data = !r.flag("no-data");
  o.point.isolate = r.flag("isolate");
  o.explain = r.flag("explain");
  o.estimate = r.flag("estimate");
  for (const char* name : {"collective", "algorithm", "bytes", "dtype", "op", "ranks", "iters", "warmup",
                           "data", "no-data", "team"})
    if (r.flag(name)) o.run_flags.push_back(std::string("--") + name);
}

/// Flags that need the whole pod in one process are refused with several.
void read_processes(flag_reader& r, options& o) {
  r.count("processes", 1, 1024, o.parallel.processes);
  r.with("partition", [&](const std::string& f, const std::string& v) {
    static const std::regex lists("\\[\\[[0-9]+(,[0-9]+)*\\](,\\[[0-9]+(,[0-9]+)*\\])*\\]");
    if (v != "auto" && !std::regex_match(v, lists))
      throw user_error(
          problem{f, "is not a list of lists of SIPs", v, "auto, or lists such as [[0,1],[2,3]]"});
    o.parallel.partition = v;
  });
  r.text("launcher", o.parallel.launcher);
  if (o.parallel.processes == 1)
    return r.refuse({"partition", "launcher"}, "requires several processes", "--processes 2 or more");
  r.refuse({"ccl-trace", "diagnose"}, "needs one process that simulates the whole pod", "--processes 1");
  r.refuse({"estimate", "check-config", "print-map", "dump-config", "dump-install"}, "nothing is simulated",
           "--processes 1");
  if (o.progress == platforms::progress_mode::on)
    r.add({"--progress", "shows no bar with several processes", "on", "auto, off or --processes 1"});
  if (o.point.ccl_trace && !r.flag("ccl-trace"))
    r.add({"DIECAST_CCL_TRACE", "needs one process that simulates the whole pod", "1", "--processes 1"});
}

/// Whether the environment requests --ccl-trace.
bool trace_wanted() {
  const char* const text = std::getenv("DIECAST_CCL_TRACE");
  if (text == nullptr) return false;
  const std::string value = text;
  if (value == "1") return true;
  if (value.empty() || value == "0") return false;
  throw user_error(problem{"DIECAST_CCL_TRACE", "is neither 0 nor 1", value, "0 or 1"});
}

void read_output(flag_reader& r, options& o) {
  read_output_flags(r, o);
  o.point.ccl_trace = r.flag("ccl-trace") || trace_wanted();
}

void read_information(flag_reader& r, options& o) {
  read_information_flags(r, {"algorithms", "patterns", "mappers", "validators", "faults", "ops", "presets"},
                         o);
  r.with("doc", [&](const std::string& f, const std::string& v) {
    o.doc = one_of(f, v, {"config", "counters", "registers", "verdicts", "workload"});
  });
  o.dump_install = r.flag("dump-install");
  o.print_map = r.flag("print-map");
}

}  // namespace

flag_files parts_of(const options& o) {
  flag_files parts;
  for (std::uint32_t p = 1; p < o.parallel.processes; ++p)
    for (const auto& [flag, file] : flag_files{{"--vcd", o.vcd}, {"--timeline", o.timeline}})
      if (!file.empty()) parts.emplace_back(flag, platforms::part_of_file(file, p));
  return parts;
}

options parse_options(int argc, const char* const* argv) {
  const po::variables_map values = read_command_line(argc, argv, all_options());
  flag_reader r(values);
  options o;
  read_config_flags(r, o);
  read_run(r, o);
  read_correctness(r, o);
  refuse_pairs(r);
  read_output(r, o);
  read_processes(r, o);
  const flag_files written{{"--vcd", o.vcd}, {"--timeline", o.timeline}, {"--record", o.record}};
  refuse_same_file(r, written);
  refuse_packed_names(r, {{"--record", o.record}});
  for (const auto& part : parts_of(o))
    for (const auto& file : written) refuse_same_file(r, {file, part});
  read_information(r, o);
  r.finish();
  o.point.watch_as(o);
  o.point.critical_path = o.point.waits = !o.out.empty();
  o.point.record = o.double_run || !o.record.empty() || !o.verify.empty();
  return o;
}

std::string help_text(const platform_entry& platform) {
  return help_page(
      platform.name, platform.description,
      {"--collective all_reduce --bytes 4KiB:1MiB:x16 --out out",
       "--algorithm all --bytes 64KiB --set ipcq.n_slots=2", "--bytes 64KiB --timeline timeline.json",
       "--check-config"},
      all_options(),
      "0 verified or not checked; 1 wrong result; 2 usage or config error; 3 deadlock\n"
      "or sim.limit_ms; 4 data fault; 5 output not writable; 6 not reproducible; 70 internal error;\n"
      "71 refused by the system");
}

}  // namespace diecast::app
