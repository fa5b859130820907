// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "models/numeric/types.hpp"
#include "platforms/io/result_json.hpp"
#include "platforms/run/wait_rows.hpp"

namespace diecast::platforms {
namespace {

std::string count_text(const run_outcome& o) {
  const auto type = numeric::parse_dtype(o.dtype);
  return type ? std::to_string(o.bytes / numeric::size_of(*type)) : "";
}

std::string jitter_fields(const run_outcome& o) {
  if (!o.jitter) return ",,,,";
  const jitter_times& j = *o.jitter;
  return fmt::format("{},{},{},{},{}", j.median_ns, j.min_ns, j.max_ns, j.spread_percent,
                     j.spread_without_delay_percent);
}

std::string csv_number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

}  // namespace

std::string csv_field(const std::string& s) {
  if (s.find_first_of(",\"\n") == std::string::npos) return s;
  std::string quoted = "\"";
  for (const char c : s) {
    quoted += c;
    if (c == '"') quoted += '"';
  }
  return quoted + "\"";
}

std::string result_csv(const std::vector<run_outcome>& runs) {
  std::string text =
      "collective,algorithm,dtype,op,bytes,rank_set,ranks,time_ns,time_min_ns,time_max_ns,launch_ns,"
      "algbw_gbytes_s,busbw_gbytes_s,bound_ns,bound_kind,efficiency,wrong_elements,verified,fingerprint,"
      "status,count,algorithm_reason,jitter_median_ns,jitter_min_ns,jitter_max_ns,jitter_spread_percent,"
      "jitter_spread_without_delay_percent\n";
  for (const auto& o : runs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                        csv_field(o.collective), csv_field(o.algorithm), o.dtype, o.op, o.bytes, o.rank_set,
                        o.ranks, csv_number(o.timed(o.time_ns)), csv_number(o.timed(o.time_min_ns)),
                        csv_number(o.timed(o.time_max_ns)), o.launch_ns,
                        csv_number(o.timed(o.algbw_gbytes_s)), csv_number(o.timed(o.busbw_gbytes_s)),
                        o.bound_ns, o.bound_kind, o.efficiency ? fmt::format("{}", *o.efficiency) : "",
                        o.wrong_elements ? std::to_string(*o.wrong_elements) : "",
                        o.verified ? (*o.verified ? "true" : "false") : "", o.fingerprint,
                        to_string(o.status), count_text(o), csv_field(o.algorithm_reason), jitter_fields(o));
  }
  return text;
}

std::string links_csv(const std::vector<run_outcome>& runs) {
  std::string text =
      "run,link,bytes,packets,busy_fraction,stall_ns,payload_bytes,d2d_flits,replays,naks,crc_errors,"
      "retry_stall_ns,energy_pj\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& r : runs[i].links) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", i, csv_field(r.name), r.bytes,
                          r.packets, r.busy_fraction, r.stall_ns, r.payload_bytes, r.d2d_flits, r.replays,
                          r.naks, r.crc_errors, r.retry_stall_ns, r.energy_pj);
    }
  }
  return text;
}

namespace {

/// Rows as the runs gave them, behind the run's number.
std::string numbered(const std::string& columns, const std::vector<run_outcome>& runs,
                     std::string run_outcome::*rows_of) {
  std::string text = "run," + columns + "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::istringstream rows(runs[i].*rows_of);
    for (std::string row; std::getline(rows, row);) text += fmt::format("{},{}\n", i, row);
  }
  return text;
}

}  // namespace

std::string health_csv(const std::vector<run_outcome>& runs) {
  return numbered("measure,where,value,expected,unit", runs, &run_outcome::health);
}

std::string waits_csv(const std::vector<run_outcome>& runs) {
  return numbered(wait_columns(), runs, &run_outcome::waits);
}

std::string ipcq_csv(const std::vector<run_outcome>& runs) {
  std::string text =
      "run,pe,direction,sends,bytes,received,bytes_received,credit_stall_ns,empty_wait_ns,occupancy_ns\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& r : runs[i].queue_pairs) {
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{},{}\n", i, r.pe, csv_field(r.direction), r.sends, r.bytes,
                      r.received, r.bytes_received, r.credit_stall_ns, r.empty_wait_ns, r.occupancy_ns);
    }
  }
  return text;
}

std::string hbm_csv(const std::vector<run_outcome>& runs) {
  std::string text = "run,channel,reads,writes,activates,busy_share";
  for (std::size_t c = 0; c < timing::lost_causes; ++c) {
    text += fmt::format(",lost_{}_share", timing::to_string(static_cast<timing::lost_cause>(c)));
  }
  text += '\n';
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& r : runs[i].hbm) {
      text += fmt::format("{},{},{},{},{},{}", i, r.channel, r.reads, r.writes, r.activates, r.busy_share);
      for (const double share : r.lost_share) text += fmt::format(",{}", share);
      text += '\n';
    }
  }
  return text;
}

}  // namespace diecast::platforms
