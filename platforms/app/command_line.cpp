// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/command_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <system_error>

#include "models/config/field.hpp"
#include "platforms/files/output_dir.hpp"

namespace diecast::app {

namespace {

namespace po = boost::program_options;

/// Flags that some binaries have and others lack, by binary.
const std::vector<std::pair<std::string, std::vector<std::string>>> flags_of_binaries{
    {"diecast-hbm",
     {"pattern", "read-fraction", "requests", "request-bytes", "outstanding", "check-data",
      "without-limits"}},
    {"diecast-noc and diecast-hbm", {"rate"}},
    {"diecast-noc",
     {"traffic", "packet-flits", "cycles", "warmup-cycles", "latency-bound", "hotspot-node",
      "hotspot-fraction"}},
    {"diecast-bench", {"runs"}},
    {"diecast-pod", {"collective", "algorithm", "bytes",        "dtype",       "op",        "ranks",
                     "team",       "iters",     "jitter",       "warmup",      "data",      "no-data",
                     "workload",   "isolate",   "double-run",   "record",      "verify",    "diagnose",
                     "ccl-trace",  "explain",   "inspect",      "estimate",    "processes", "partition",
                     "launcher",   "print-map", "dump-install", "hide-faults", "doc"}}};

[[noreturn]] void unknown_flag(const std::string& flag, const po::options_description& known) {
  for (const auto& [binary, flags] : flags_of_binaries)
    if (flag.starts_with("--") && std::ranges::find(flags, flag.substr(2)) != flags.end())
      throw user_error(
          problem{"command line", fmt::format("a flag of {}", binary), flag, "a flag of --help"});
  std::string keys, name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::ranges::replace(name, '-', '_');
  for (const config::block_table& b : config::tables())
    for (const config::field& f : b.fields)
      if (f.key == name || (name.size() > 2 && f.key.starts_with(name + "_")))  // for example
        keys += fmt::format("{}--set {}=VALUE", keys.empty() ? "" : " or ", f.path());
  if (!keys.empty()) throw user_error(problem{"command line", "a config key, not a flag", flag, keys});
  std::vector<std::string> names;
  for (const auto& o : known.options()) names.push_back("--" + o->long_name());
  throw user_error(
      problem{"command line", config::with_nearest("unknown flag", flag, names), flag, "a flag of --help"});
}

bool takes_value(const std::string& flag, const po::options_description& known) {
  const bool named = flag.size() > 2 && flag.starts_with("--");  // Boost finds "" ambiguous
  const auto* const option = named ? known.find_nothrow(flag.substr(2), false) : nullptr;
  return option != nullptr && option->semantic()->min_tokens() > 0;
}

/// A flag never takes the next flag as its value.
void need_values(int argc, const char* const* argv, const po::options_description& known) {
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string flag = argv[i];
    if (!std::string(argv[i + 1]).starts_with("--") || !takes_value(flag, known)) continue;
    throw user_error(problem{flag, "has no value", argv[i + 1], "a value before the next flag"});
  }
}

[[noreturn]] void stray_argument(int argc, const char* const* argv, const po::options_description& known) {
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i], before = argv[i - 1];
    if (takes_value(text, known)) {
      ++i;
    } else if (text.starts_with('-') && !text.starts_with("--")) {
      unknown_flag(text, known);
    } else if (!text.starts_with('-') && before.starts_with("--") && i > 1) {
      throw user_error(problem{before, "takes no value", text, "flags only behind it"});
    } else if (!text.starts_with('-')) {
      throw user_error(
          problem{"command line", "stray argument", text, "flags only; every value follows its flag"});
    }
  }
  throw user_error(problem{"command line", "stray argument", "", "flags only; every value follows its flag"});
}

}  // namespace

po::variables_map read_command_line(int argc, const char* const* argv, const po::options_description& known) {
  namespace style = po::command_line_style;
  po::variables_map values;
  need_values(argc, argv, known);
  try {
    const auto parsed = po::command_line_parser(argc, argv)
                            .options(known)
                            .positional(po::positional_options_description{})
                            .style(style::allow_long | style::long_allow_next | style::long_allow_adjacent)
                            .run();
    po::store(parsed, values);
  } catch (const po::too_many_positional_options_error&) {
    stray_argument(argc, argv, known);
  } catch (const po::unknown_option& e) {
    unknown_flag(e.get_option_name(), known);
  } catch (const po::error& e) {
    throw user_error(problem{"command line", e.what(), "", ""});
  }
  return values;
}

std::string one_of(const std::string& flag, const std::string& text, const std::vector<std::string>& known) {
  std::vector<std::pair<std::string, std::string>> named;
  named.reserve(known.size());
  for (const std::string& word : known) named.emplace_back(word, word);
  return choose<std::string>(flag, text, named);
}

std::vector<double> sweep_argument(const std::string& flag, const std::string& item, const char* form,
                                   const std::function<double(const std::string&)>& number) {
  constexpr double most_values = 1000;
  const auto parts = config::split(item, ':');
  if (parts.size() == 1) return {number(item)};
  if (parts.size() != 3 || !parts[2].starts_with('+'))
    throw user_error(problem{flag, "is not a range", item, form});
  const double from = number(parts[0]), to = number(parts[1]), step = number(parts[2].substr(1));
  if (to < from) throw user_error(problem{flag, "the range ends before it begins", item, ""});
  // The range includes its end even when rounding makes the sum of steps slightly larger.
  const double count = std::floor((to - from) / step * (1 + 1e-12) + 1e-9) + 1;
  if (count > most_values) throw user_error(problem{flag, "more than 1000 points", item, "a larger step"});
  std::vector<double> values;
  for (double i = 0; i < count; ++i) {
    // A value as a user would write it: 0.1 + 2 x 0.1 is 0.3, not 0.30000000000000004.
    values.push_back(std::min(std::stod(fmt::format("{:.12g}", from + i * step)), to));
  }
  return values;
}

void flag_reader::refuse(std::initializer_list<const char*> names, const std::string& what,
                         const std::string& expected) {
  for (const char* name : names) {
    if (!flag(name)) continue;
    const auto* const text = boost::any_cast<std::string>(&values_[name].value());
    add({std::string("--") + name, what, text == nullptr ? "" : *text, expected});
  }
}

std::string progress_label(std::size_t index, std::size_t count) {
  return count <= 1 ? std::string{} : fmt::format("run {} of {}", index + 1, count);
}

void refuse_same_file(flag_reader& r, const flag_files& written) {
  namespace fs = std::filesystem;
  const auto place = [](const std::string& file) {
    std::error_code error;
    const fs::path absolute = fs::absolute(file, error);
    const fs::path canonical = error ? fs::path{} : fs::weakly_canonical(absolute, error);
    return error ? fs::path(file) : canonical;
  };
  const auto same = [&place](const std::string& a, const std::string& b) {
    std::error_code none;
    if (a.empty() || b.empty() || fs::is_character_file(a, none)) return false;  // /dev/null takes everything
    return place(a) == place(b) || fs::equivalent(a, b, none);
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [flag, path] = written[i];
    for (std::size_t k = 0; k < i; ++k)
      if (same(path, written[k].second))
        r.add({flag, fmt::format("is also the file of {}", written[k].first), path, "another file"});
  }
}

void refuse_packed_names(flag_reader& r, const flag_files& written) {
  for (const auto& [flag, path] : written)
    for (const std::string_view end : {".gz", ".zst", ".fst"})  // viewers choose by it
      if (path.ends_with(end))
        r.add({flag, "is written as plain text, not as the name says", path,
               fmt::format("no {} at its end", end)});
}

void try_files(const flag_files& files) {
  namespace fs = std::filesystem;
  std::vector<fs::path> made;
  std::error_code none;
  for (const auto& [flag, path] : files) {
    if (path.empty()) continue;
    const bool there = fs::symlink_status(path, none).type() != fs::file_type::not_found;
    errno = 0;
    if (!std::ofstream(path, std::ios::app)) {
      const output_error error = platforms::not_written(fmt::format("{} {}", flag, path));
      for (const fs::path& file : made) fs::remove(file, none);
      throw error;
    }
    if (!there) made.emplace_back(path);
  }
  for (const fs::path& file : made) fs::remove(file, none);
}

void claim_files(const flag_files& files) {
  try_files(files);
  std::error_code none;
  for (const auto& [flag, path] : files) {
    if (path.empty()) continue;
    errno = 0;
    std::ofstream file(path);
    const bool stays = std::filesystem::is_regular_file(path, none);
    if (stays) file << (flag == "--vcd" ? platforms::vcd_head : platforms::timeline_head);
    if (file.flush()) continue;
    const output_error error = platforms::not_written(fmt::format("{} {}", flag, path));
    if (stays) std::filesystem::remove(path, none);  // an empty file would show nothing
    throw error;
  }
}

namespace {

namespace po = boost::program_options;

/// --vcd-window FROM:TO in ns, as settings of trace.vcd_from_ns and trace.vcd_to_ns. Throws user_error.
void add_window(const std::string& flag, const std::string& value, std::vector<std::string>& sets) {
  const auto parts = config::split(value, ':');
  if (parts.size() != 2 || (parts[0].empty() && parts[1].empty()))
    throw user_error(
        problem{flag, "is not a time window", value, "FROM:TO in ns, e.g. 1000:2500, 1000: or :2500"});
  const auto end = [&](const std::string& part, double otherwise) {
    const auto ns = part.empty() ? otherwise : config::parse_real(part);
    if (!ns || *ns < 0 || *ns > 1e12)
      throw user_error(problem{flag, "an end is no time", value, "FROM:TO in ns, numbers from 0 to 1e12"});
    return *ns;
  };
  const double from = end(parts[0], 0), to = end(parts[1], 1e12);
  if (to < from) throw user_error(problem{flag, "the window ends before it begins", value, "FROM <= TO"});
  if (!parts[0].empty()) sets.push_back("trace.vcd_from_ns=" + parts[0]);
  if (!parts[1].empty()) sets.push_back("trace.vcd_to_ns=" + parts[1]);
}

/// A flag that prints without a run must be the only such flag, without output files. --help always works.
void refuse_beside_information(flag_reader& r) {
  std::string first;
  if (r.flag("help")) return;
  for (const char* name :
       {"dump-config", "check-config", "dump-install", "print-map", "version", "schema", "list", "doc"}) {
    if (!r.flag(name)) continue;
    const std::string flag = fmt::format("--{}", name);
    if (!first.empty()) r.add({flag, "cannot be combined with " + first, "", "one of the two"});
    if (first.empty()) first = flag;
  }
  if (first.empty()) return;
  r.refuse({"out", "vcd", "timeline", "record", "ccl-trace", "diagnose", "estimate"},
           "cannot be combined with " + first, "a run, or one of the two");
}

}  // namespace

po::options_description flag_group(const char* name, const std::vector<flag_row>& flags) {
  constexpr unsigned columns = 99;
  po::options_description group(name, columns);
  for (const flag_row& f : flags) {
    po::value_semantic* value = new po::untyped_value(true);
    if (f.repeatable) {
      value = po::value<std::vector<std::string>>()->composing()->value_name(f.value);
    } else if (*f.value != 0) {
      value = po::value<std::string>()->value_name(f.value);
    }
    group.add_options()(f.name, value, f.help.c_str());
  }
  return group;
}

std::string help_page(const std::string& binary, const std::string& description,
                      const std::vector<std::string>& examples, const po::options_description& flags,
                      const char* exit_codes, const char* arguments) {
  std::ostringstream text;
  text << binary << ": " << description << "\n\nUsage: " << binary << " " << arguments << "\n\nExamples:\n";
  for (const std::string& e : examples) text << "  " << binary << " " << e << "\n";
  text << flags << "\nExit codes: " << exit_codes << "; 129/130/143 interrupted.\n";
  return text.str();
}

po::options_description config_flags(const char* group, const char* config, const char* set,
                                     const char* check) {
  return flag_group(
      group,
      {{"config", "FILE", fmt::format("JSON config; default: {}", config)},
       {"set", "PATH=VALUE",
        fmt::format("set one config key, e.g. {}; repeatable, applied from left to right", set), true},
       {"seed", "N", "seed of all random draws; same as --set sim.seed=N"},
       {"check-config", "", fmt::format("check the config, print {}; no simulation", check)},
       {"dump-config", "", "print the effective config as JSON, which --config reads; no simulation"}});
}

po::options_description output_flags(const output_help& help) {
  return flag_group(
      "Output",
      {{"out", "DIR", help.out},
       {"format", "table|json|csv", "format of the results on stdout (default: table)"},
       {"quiet", "", "no table on stdout"},
       {"progress", "auto|on|off", "progress bar on stderr; auto: on a terminal, after 2 s (default: auto)"},
       {"vcd", "FILE", help.vcd},
       {"vcd-scope", "GLOB", help.vcd_scope},
       {"vcd-window", "FROM:TO", "simulated time of the waveform in ns; either end may be omitted"},
       {"timeline", "FILE", help.timeline},
       {"timeline-scope", "GLOB", help.timeline_scope}});
}

po::options_description information_flags() {
  return flag_group("Information", {{"list", "WHAT", "patterns or presets"},
                                    {"schema", "", "print the JSON Schema of configs"},
                                    {"version", "", "print the version"},
                                    {"help", "", "print this help"}});
}

void read_config_flags(flag_reader& r, common_options& o) {
  r.text("config", o.config);
  o.sets = r.all("set");
  r.with("seed", [&](const std::string& flag, const std::string& v) {
    const auto is_seed = [](const std::string& set) { return set.starts_with("sim.seed="); };
    const auto other = std::ranges::find_if(o.sets, is_seed);
    if (other != o.sets.end())
      r.add({flag, "sets the same key as --set", v + " and " + *other, "one of the two"});
    o.sets.push_back(fmt::format("sim.seed={}", config::count_argument(flag, v)));
  });
}

void read_output_flags(flag_reader& r, common_options& o) {
  using std::string;
  r.text("out", o.out);
  r.text("vcd", o.vcd);
  r.with("vcd-scope", [&](const string&, const string& v) { o.sets.push_back("trace.vcd_scope=" + v); });
  r.with("vcd-window", [&](const string& f, const string& v) { add_window(f, v, o.sets); });
  r.text("timeline", o.timeline);
  r.with("timeline-scope",
         [&](const string&, const string& v) { o.sets.push_back("trace.timeline_scope=" + v); });
  using platforms::progress_mode;
  r.with("progress", [&](const string& f, const string& v) {
    o.progress = choose<progress_mode>(
        f, v, {{"auto", progress_mode::automatic}, {"on", progress_mode::on}, {"off", progress_mode::off}});
  });
  r.with("format", [&](const string& f, const string& v) {
    o.format = choose<output_format>(
        f, v, {{"table", output_format::table}, {"json", output_format::json}, {"csv", output_format::csv}});
  });
  o.quiet = r.flag("quiet");
  refuse_packed_names(r, {{"--vcd", o.vcd}, {"--timeline", o.timeline}});
  if (!r.flag("vcd")) r.refuse({"vcd-scope", "vcd-window"}, "requires --vcd", "");
  if (!r.flag("timeline")) r.refuse({"timeline-scope"}, "requires --timeline", "");
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

void refuse_shared_files(std::size_t runs, const char* expected, const common_options& o) {
  const bool wave = !o.vcd.empty();
  if (runs <= 1 || (!wave && o.timeline.empty())) return;
  throw user_error(problem{wave ? "--vcd" : "--timeline",
                           fmt::format("{} runs cannot share one {}", runs, wave ? "waveform" : "timeline"),
                           wave ? o.vcd : o.timeline, expected});
}

}  // namespace diecast::app
