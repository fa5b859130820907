// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ranges>

#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/app/run_report.hpp"
#include "platforms/bench/bench.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/noc/study.hpp"
#include "platforms/run/child.hpp"

namespace diecast::bench {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t default_runs = 5;
constexpr std::uint64_t most_runs = 1000;
constexpr std::uint64_t most_cycles = 1'000'000'000;
constexpr std::uint64_t most_flits = 1024;

enum class subject : std::uint8_t { fabric, hbm, mmio, all };

struct options {
  subject what{subject::all};
  std::uint64_t runs{default_runs};
  app::common_options common;
  fabric_options fabric;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Schema diecast.bench/1: the median of each number over its runs, in the order given, and of ratios the
/// single values behind it.
std::string result_json(const std::string& version, std::uint64_t runs,
                        const std::vector<std::pair<std::string, std::vector<double>>>& numbers) {
  nlohmann::ordered_json j{{"schema", "diecast.bench/1"}, {"version", version}, {"runs", runs}};
  nlohmann::ordered_json single = nlohmann::ordered_json::object();
  for (const auto& [name, values] : numbers) {
    j[name] = median(values);
    single[name] = values;
  }
  j["values"] = std::move(single);
  return j.dump(2) + "\n";
}

po::options_description all_options() {
  po::options_description d;
  d.add(app::flag_group("Measurement", {{"runs", "N", "runs, whose median is printed (default: 5)"}}));
  d.add(app::flag_group(
      "Network of the fabric",
      {{"config", "FILE", "JSON config; default: noc_reference.json, a mesh of 8 x 8"},
       {"set", "PATH=VALUE",
        "set one config key, e.g. noc.columns=64; repeatable, applied from left to right", true},
       {"rate", "R", "offered load in flits per node and cycle (default: 0.3)"},
       {"packet-flits", "L", "flits per packet (default: 5)"},
       {"cycles", "N", "cycles of the measurement (default: 20000)"},
       {"warmup-cycles", "N", "cycles before the measurement (default: 5000)"}}));
  d.add(app::flag_group("Information",
                        {{"version", "", "print the version"}, {"help", "", "print this help"}}));
  return d;
}

/// The subject is the first word; all else are flags.
options parse_options(int argc, char** argv) {
  options o;
  std::vector<const char*> flags{argv[0]};
  int first_flag = 1;
  if (argc > 1 && argv[1][0] != '-') {
    o.what = app::choose<subject>(
        "diecast-bench", argv[1],
        {{"fabric", subject::fabric}, {"hbm", subject::hbm}, {"mmio", subject::mmio}, {"all", subject::all}});
    first_flag = 2;
  }
  flags.insert(flags.end(), argv + first_flag, argv + argc);
  const auto values = app::read_command_line(static_cast<int>(flags.size()), flags.data(), all_options());
  app::flag_reader r(values);
  o.common.help = r.flag("help");
  o.common.version = r.flag("version");
  r.count("runs", 1, most_runs, o.runs);
  app::read_config_flags(r, o.common);
  r.real("rate", 1e-6, 1.0, o.fabric.rate);
  r.count("packet-flits", 1, most_flits, o.fabric.packet_flits);
  r.count("cycles", 1, most_cycles, o.fabric.cycles);
  r.count("warmup-cycles", 0, most_cycles, o.fabric.warmup_cycles);
  if (o.what == subject::hbm || o.what == subject::mmio)
    r.refuse({"config", "set", "rate", "packet-flits", "cycles", "warmup-cycles"}, "requires the fabric", "");
  r.finish();
  return o;
}

std::string help_text() {
  return app::help_page("diecast-bench", "simulation speed on this computer, as JSON",
                        {"fabric", "fabric --set noc.columns=64 --set noc.rows=64 --rate 0.03 --runs 1"},
                        all_options(),
                        "0 measured; 2 usage or config error; 70 internal error; 71 refused by the\nsystem",
                        "[fabric|hbm|mmio|all] [flags]");
}

using app::print;
using table = std::vector<std::pair<std::string, std::vector<double>>>;

/// Sent by a run to its parent.
struct measured {
  platforms::run_status status{platforms::run_status::ok};
  std::string message;
  bool output_lost{};
  measurements numbers;
  /// The problems of the input, part by part.
  std::vector<std::pair<std::pair<std::string, std::string>, std::pair<std::string, std::string>>> problems;

  DIECAST_MEMBERS(status, message, output_lost, numbers, problems)
};

template <class Measure>
measured measured_by(Measure measure) {
  measured m;
  try {
    m.numbers = measure();
  } catch (const user_error& e) {
    for (const problem& p : e.problems()) m.problems.push_back({{p.where, p.what}, {p.value, p.expected}});
  }
  return m;
}

/// One run of a subject in a process of its own; its numbers are added to the table.
template <class Measure>
void add_run(Measure measure, table& numbers) {
  using platforms::run_status;
  const measured m = platforms::run_in_child([&] { return measured_by(measure); });
  if (m.status != run_status::ok && platforms::interrupt_signal() != 0) return;
  if (m.status == run_status::system) throw resource_error(m.message);
  if (m.status != run_status::ok) throw std::runtime_error(m.message);
  std::vector<problem> problems;
  for (const auto& [what, value] : m.problems)
    problems.push_back({what.first, what.second, value.first, value.second});
  if (!problems.empty()) throw user_error(problems);
  for (const auto& [name, value] : m.numbers) {
    auto row = std::ranges::find(numbers, name, &table::value_type::first);
    if (row == numbers.end()) row = numbers.insert(numbers.end(), {name, {}});
    row->second.push_back(value);
  }
}

/// Runs in which every number was measured.
std::uint64_t whole_runs(const table& numbers) {
  if (numbers.empty()) return 0;
  return std::ranges::min(numbers | std::views::transform([](const auto& n) { return n.second.size(); }));
}

int run_checked(int argc, char** argv) {
  options o = parse_options(argc, argv);
  if (app::inform(o.common, "diecast-bench", help_text(), {})) return 0;
  const auto wants = [&o](subject s) { return o.what == s || o.what == subject::all; };
  if (wants(subject::fabric)) {
    const platforms::loaded_config loaded = app::load_config(o.common, "noc_reference.json");
    o.fabric.config = noc::adapt(loaded.config, o.fabric.packet_flits);
  }
  platforms::install_signal_handlers();
  table numbers;
  for (std::uint64_t i = 0; i < o.runs && platforms::interrupt_signal() == 0; ++i) {
    if (wants(subject::fabric)) add_run([&o] { return measure_fabric(o.fabric); }, numbers);
    if (wants(subject::mmio)) add_run(measure_mmio, numbers);
    if (wants(subject::hbm)) {
      add_run(measure_hbm_sequential, numbers);
      add_run(measure_hbm_random, numbers);
    }
  }
  const std::uint64_t made = whole_runs(numbers);
  print(result_json(DIECAST_VERSION, made, numbers));
  if (platforms::interrupt_signal() == 0) return 0;
  platforms::warn(fmt::format("interrupted: {} of {} runs were made", made, o.runs));
  return 128 + platforms::interrupt_signal();
}

}  // namespace

int run(int argc, char** argv) {
  return app::exit_code_of([&] { return run_checked(argc, argv); });
}

}  // namespace diecast::bench
