// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "models/timing/lost_time.hpp"
#include "platforms/hbm/app.hpp"
#include "platforms/result/result_envelope.hpp"
#include "platforms/result/result_table.hpp"

namespace diecast::hbm {
namespace {

using json = platforms::result_node;
using platforms::csv_text;
using platforms::node_of;
using platforms::number_text;

using shares = platforms::statistics;

json run_json(const study_outcome& o) {
  json j = platforms::object_of(o);
  j["lost_time"] = o.lost_time.empty() ? json() : node_of(o.lost_time);
  j["time_saved_percent"] = o.time_saved.empty() ? json() : node_of(o.time_saved);
  j["notes"] = o.notes;
  j["status"] = platforms::to_string(o.status);
  if (!o.message.empty()) j["message"] = o.message;
  return j;
}

std::array<std::string, timing::lost_causes> lost_limits() {
  std::array<std::string, timing::lost_causes> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = timing::to_string(static_cast<timing::lost_cause>(i));
  return names;
}

using limit_names = std::array<std::string, timing::removable_limits.size() + 1>;
limit_names saved_limits() {
  limit_names names;
  std::ranges::transform(timing::removable_limits, names.begin(),
                         [](const timing::removable_limit& limit) { return timing::to_string(limit.cause); });
  names.back() = all_limits;
  return names;
}

std::optional<double> percent_of(const shares& all, const std::string& limit) {
  const auto share = std::ranges::find(all, limit, &shares::value_type::first);
  return share == all.end() ? std::nullopt : std::optional(share->second);
}

std::string shares_text(const char* title, const shares& all) {
  std::string text = title;
  for (const auto& [limit, percent] : all) text += fmt::format(" {}={:.1f}", limit, percent);
  return platforms::wrapped(text, 4);
}

}  // namespace

std::string result_json(const platforms::result_context& context, const config::hbm_block& hbm,
                        const std::vector<study_outcome>& runs) {
  const json machine{{"channels", hbm.ports},
                     {"pseudo_channels", hbm.ports * hbm.pseudo_channels},
                     {"capacity_mib", hbm.ports * hbm.port_mib}};
  const double wall = platforms::total(runs, &study_outcome::wall_s);
  const auto requests = static_cast<double>(platforms::total(runs, &study_outcome::requests));
  const json costs{{"wall_s", wall},
                   {"requests_per_s", wall > 0 ? json(requests / wall) : json(nullptr)},
                   {"peak_rss_mib", platforms::peak_rss_mib_of(runs)}};
  return platforms::result_text(context, machine, runs, run_json, costs);
}

std::string result_csv(const std::vector<study_outcome>& runs) {
  std::string text = platforms::csv_names<study_outcome>();
  for (const std::string& limit : lost_limits()) text += fmt::format("lost_{}_percent,", limit);
  const limit_names savings = saved_limits();
  for (const std::string& limit : savings) text += fmt::format("saved_{}_percent,", limit);
  text += "status\n";
  for (const auto& o : runs) {
    text += platforms::csv_values(o);
    for (const std::string& limit : lost_limits())
      text += csv_text(node_of(percent_of(o.lost_time, limit))) + ",";
    for (const std::string& limit : savings) text += csv_text(node_of(percent_of(o.time_saved, limit))) + ",";
    text += std::string(platforms::to_string(o.status)) + "\n";
  }
  return text;
}

namespace {

const platforms::text_table& table() {
  static const platforms::text_table of_study({{"pace", false, 14},
                                               {"requests"},
                                               {"reads", false, 8},
                                               {"GB/s", false, 8},
                                               {"peak%"},
                                               {"bound%"},
                                               {"avg_ns", false, 8},
                                               {"accept_ns"},
                                               {"p50_ns", false, 8},
                                               {"p99_ns", false, 8},
                                               {"hit%", false, 5}});
  return of_study;
}

}  // namespace

std::string table_header(const std::string& pattern) { return pattern + "\n" + table().header(); }

std::string table_row(const study_outcome& o) {
  const std::optional<double> hits = o.row_hit_rate ? std::optional(100 * *o.row_hit_rate) : std::nullopt;
  const std::optional<double> bound =
      o.bound_gbytes_s ? std::optional(100 * *o.bound_gbytes_s / o.peak_gbytes_s) : std::nullopt;
  std::string text = table().row(
      {o.pace, std::to_string(o.requests), std::to_string(o.reads), number_text(o.bandwidth_gbytes_s, 3),
       number_text(100 * o.bandwidth_gbytes_s / o.peak_gbytes_s, 1), number_text(bound, 1),
       number_text(o.avg_latency_ns, 2), number_text(o.avg_latency_from_acceptance_ns, 2),
       number_text(o.p50_latency_ns, 2), number_text(o.p99_latency_ns, 2), number_text(hits, 1)});
  if (o.status != platforms::run_status::ok) text += fmt::format("    {}\n", platforms::to_string(o.status));
  if (o.verified) text += *o.verified ? "    data right\n" : "    data WRONG\n";
  if (!o.lost_time.empty()) text += shares_text("  % of peak lost:", o.lost_time);
  if (!o.time_saved.empty()) text += shares_text("  % of the run saved without:", o.time_saved);
  if (o.lost_time.empty()) return text;
  // Forwarded reads cost no bus time, so bandwidth and losses add up to more than the peak.
  if (o.forwarded_bursts.value_or(0) != 0)
    text +=
        fmt::format("    {} reads were answered from the write queue and cost no bus time: busy {:.1f}%\n",
                    *o.forwarded_bursts, o.bus_busy_percent.value_or(0));
  else if (o.status == platforms::run_status::ok &&
           100 * o.bandwidth_gbytes_s / o.peak_gbytes_s < o.bus_busy_percent.value_or(0) - 0.05)
    // With partial bursts bandwidth and losses add up to less than the peak.
    text +=
        fmt::format("    requests are not whole bursts, and the rest of each burst is lost: busy {:.1f}%\n",
                    *o.bus_busy_percent);
  return text;
}

}  // namespace diecast::hbm
