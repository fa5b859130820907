// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/hbm/app.hpp"

namespace diecast::hbm {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t most_requests = 1'000'000'000;
constexpr std::uint64_t most_request_bytes = 65'536;
constexpr std::uint64_t most_outstanding = 1'000'000;
constexpr double most_percent = 1000;
constexpr double least_percent = 1e-6;

po::options_description all_options() {
  po::options_description d;
  d.add(app::config_flags("Memory", "hbm_reference.json, one channel", "hbm.preset=HBM4_8000",
                          "the organization and closed-form limits"));
  d.add(app::flag_group(
      "Traffic",
      {{"pattern", "NAME",
        "addresses: seq, rand, bank_conflict, same_bank_hit, page_stride, stride:BYTES, or replay:FILE "
        "(default: seq)"},
       {"read-fraction", "F", "probability that a request is a read, 0 to 1 (default: 1)"},
       {"requests", "N", "requests of all channels together (default: 100000 per channel)"},
       {"request-bytes", "B", "bytes of each request (default: one burst)"},
       {"rate", "PERCENT%|max[,..]",
        "open loop: evenly spaced arrivals in percent of the peak bandwidth, or a range FROM%:TO%:+STEP%; "
        "max: the next request as soon as one is accepted (default: max)"},
       {"outstanding", "N[,N..]", "closed loop: requests in flight per channel"},
       {"check-data", "", "write data and compare what each read returns with what was written last"},
       {"without-limits", "",
        "repeat each run without refresh, without tFAW and tRRD, without turnarounds, without bank times "
        "and without all of them, and report the time saved"}}));
  d.add(app::output_flags({"write result.json and config.json to DIR",
                           "write a waveform (VCD) of the commands and rows of each channel; one rate only",
                           "channels of the waveform, e.g. 'hbm.channel0' (default: *)",
                           "write a timeline of the commands of each channel (for Perfetto); one rate only",
                           "channels of the timeline (default: *)"}))
      .add(app::information_flags());
  return d;
}

void read_pattern(const std::string& flag, const std::string& v, options& o) {
  const auto parts = v.find(':');
  const std::string name = v.substr(0, parts);
  const std::string rest = parts == std::string::npos ? "" : v.substr(parts + 1);
  if (name == "replay") {
    if (rest.empty()) throw user_error(problem{flag, "names no file", v, "replay:FILE"});
    o.replay = rest;
    return;
  }
  std::vector<std::string> known;
  for (const auto p : traffic::all_memory_patterns) {
    known.emplace_back(traffic::to_string(p));
    if (name != known.back()) continue;
    o.pattern = p;
    if (p == traffic::memory_pattern::stride && rest.empty()) {
      throw user_error(problem{flag, "names no distance", v, "stride:BYTES, e.g. stride:4KiB"});
    } else if (p == traffic::memory_pattern::stride) {
      o.stride_bytes = config::size_argument(flag, rest, 1);
    } else if (parts != std::string::npos) {
      throw user_error(problem{flag, "takes no argument", v, name});
    }
    return;
  }
  throw user_error(problem{flag, config::with_nearest("no such pattern", v, known), v,
                           config::join(known) + ", replay:FILE"});
}

double percent(const std::string& whole, const std::string& part) {
  if (!part.ends_with('%'))
    throw user_error(problem{"--rate", "is neither a percentage of peak nor max", whole,
                             "PERCENT%, max, FROM%:TO%:+STEP%, or a list of them, e.g. 80%"});
  return config::real_argument("--rate", part.substr(0, part.size() - 1), least_percent, most_percent);
}

void add_rates(const std::string& item, std::vector<pace>& paces) {
  if (item == "max") {
    paces.push_back({pace::kind::saturate, 0, 0});
    return;
  }
  const auto rates = app::sweep_argument("--rate", item, "FROM%:TO%:+STEP%, e.g. 10%:90%:+20%",
                                         [&item](const std::string& part) { return percent(item, part); });
  for (const double rate : rates) paces.push_back({pace::kind::rate, rate, 0});
}

void read_traffic(app::flag_reader& r, options& o) {
  using std::string;
  r.with("pattern", [&](const string& f, const string& v) { read_pattern(f, v, o); });
  r.real("read-fraction", 0, 1, o.read_fraction);
  r.count("requests", 1, most_requests, o.requests);
  r.with("request-bytes", [&](const string& f, const string& v) {
    o.request_bytes = config::size_argument(f, v, 1, most_request_bytes);
  });
  r.with("rate", [&](const string&, const string& v) { o.paces = parse_rates(v); });
  r.with("outstanding", [&](const string& f, const string& v) {
    if (r.flag("rate"))
      throw user_error(
          problem{f, "cannot be combined with --rate", v, "one of the two: closed or open loop"});
    for (const auto& item : config::split(v, ','))
      o.paces.push_back({pace::kind::closed, 0, config::count_argument(f, item, 1, most_outstanding)});
  });
  o.check_data = r.flag("check-data");
  o.without_limits = r.flag("without-limits");
}

}  // namespace

std::vector<pace> parse_rates(const std::string& text) {
  std::vector<pace> paces;
  for (const auto& item : config::split(text, ',')) add_rates(item, paces);
  return paces;
}

options parse_options(int argc, const char* const* argv) {
  const po::variables_map values = app::read_command_line(argc, argv, all_options());
  app::flag_reader r(values);
  options o;
  app::read_config_flags(r, o);
  read_traffic(r, o);
  if (!o.replay.empty())  // a trace brings its own requests
    r.refuse({"read-fraction", "requests", "request-bytes"}, "cannot be combined with --pattern replay",
             "the fields of the trace");
  app::read_output_flags(r, o);
  app::read_information_flags(r, {"patterns", "presets"}, o);
  app::refuse_same_file(r, {{"--vcd", o.vcd}, {"--timeline", o.timeline}});
  r.finish();
  app::refuse_shared_files(o.paces.size(), "a single rate", o);
  return o;
}

std::string help_text(const registries& tables) {
  return app::help_page(
      tables.name, tables.description,
      {"--pattern rand --rate 10%:90%:+20%",
       "--pattern seq --read-fraction 0.5 --outstanding 1,16,64 --out out",
       "--set hbm.preset=HBM4_8000 --set hbm.refresh=none --check-config"},
      all_options(),
      "0 done; 1 a read returned wrong data; 2 usage or config error; 3 unanswered requests;\n"
      "4 data fault; 5 output not writable; 70 internal error; 71 refused by the\nsystem");
}

}  // namespace diecast::hbm
