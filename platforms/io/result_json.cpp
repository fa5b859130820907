// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/result_json.hpp"

#include "platforms/io/explain_text.hpp"
#include "platforms/io/result_envelope.hpp"
#include "platforms/io/workload_result.hpp"

namespace diecast::platforms {
namespace {

using json = result_node;

json faults_json(const std::vector<fault_row>& rows) {
  json list = json::array();
  for (const fault_row& r : rows) {
    json row{{"fault", r.number}, {"kind", r.kind}, {"where", r.where}, {"met", r.met}};
    if (!r.why_not.empty()) row["why_not"] = r.why_not;
    list.push_back(std::move(row));
  }
  return list;
}

std::vector<fault_row> faults_from(const json& list) {
  std::vector<fault_row> rows;
  for (const json& r : list)
    rows.push_back(
        {r.at("fault"), r.at("kind"), r.at("where"), r.at("met"), r.value("why_not", std::string{})});
  return rows;
}

void write_jitter(const jitter_times& t, json& run) {
  run["jitter_median_ns"] = t.median_ns;
  run["jitter_min_ns"] = t.min_ns;
  run["jitter_max_ns"] = t.max_ns;
  run["jitter_spread_percent"] = t.spread_percent;
  run["jitter_spread_without_delay_percent"] = t.spread_without_delay_percent;
  run["jitter_limit_ns"] = t.limit_ns;
  run["jitter_times_ns"] = t.times_ns;
  run["jitter_delays_ns"] = t.delays_ns;
}

json run_json(const run_outcome& o) {
  json stats = json::object();
  for (const auto& [name, value] : o.stats) stats[name] = value;
  json energy = json::object();
  for (const auto& [name, value] : o.energy) energy[name] = value;
  json j{{"collective", o.collective},
         {"algorithm", o.algorithm},
         {"algorithm_reason", o.algorithm_reason},
         {"dtype", o.dtype},
         {"op", o.op},
         {"bytes", o.bytes},
         {"rank_set", o.rank_set},
         {"ranks", o.ranks},
         {"time_ns", optional_json(o.timed(o.time_ns))},
         {"time_min_ns", optional_json(o.timed(o.time_min_ns))},
         {"time_max_ns", optional_json(o.timed(o.time_max_ns))},
         {"launch_ns", o.launch_ns},
         {"algbw_gbytes_s", optional_json(o.timed(o.algbw_gbytes_s))},
         {"busbw_gbytes_s", optional_json(o.timed(o.busbw_gbytes_s))},
         {"bound_ns", o.bound_ns},
         {"bound_kind", o.bound_kind},
         {"bound_detail", o.bound_detail},
         {"efficiency", optional_json(o.efficiency)},
         {"verified", optional_json(o.verified)},
         {"verified_how", o.verified_how},
         {"wrong_elements", optional_json(o.wrong_elements)},
         {"ranks_bitwise_equal", optional_json(o.ranks_bitwise_equal)},
         {"output_min", optional_json(o.output_min)},
         {"output_max", optional_json(o.output_max)},
         {"fingerprint", o.fingerprint},
         {"stats", stats},
         {"energy", energy},
         {"notes", o.notes},
         {"status", to_string(o.status)}};
  if (o.jitter) write_jitter(*o.jitter, j);
  if (o.why) j["explanation"] = explanation_json(*o.why);
  if (!o.team.empty()) j["team"] = o.team;
  if (!o.message.empty()) j["message"] = o.message;
  if (!o.faults.empty()) j["faults_met"] = faults_json(o.faults);
  write_workload(o, j);
  return j;
}

json link_json(const link_row& r) {
  return {r.link,      r.name,    r.bytes, r.packets,    r.busy_fraction,  r.stall_ns, r.payload_bytes,
          r.d2d_flits, r.replays, r.naks,  r.crc_errors, r.retry_stall_ns, r.energy_pj};
}
json queue_pair_json(const queue_pair_row& r) {
  return {r.pe,          r.direction,      r.sends,           r.bytes,
          r.received,    r.bytes_received, r.credit_stall_ns, r.empty_wait_ns,
          r.occupancy_ns};
}

template <class T>
std::optional<T> optional_from(const json& j) {
  if (j.is_null()) return std::nullopt;
  return j.get<T>();
}

void read_run(const json& j, run_outcome& o) {
  o.collective = j.at("collective");
  o.algorithm = j.at("algorithm");
  o.algorithm_reason = j.at("algorithm_reason");
  o.dtype = j.at("dtype");
  o.op = j.at("op");
  o.bytes = j.at("bytes");
  o.rank_set = j.at("rank_set");
  o.ranks = j.at("ranks");
  o.time_ns = optional_from<double>(j.at("time_ns")).value_or(0);
  o.time_min_ns = optional_from<double>(j.at("time_min_ns")).value_or(0);
  o.time_max_ns = optional_from<double>(j.at("time_max_ns")).value_or(0);
  o.launch_ns = j.at("launch_ns");
  o.algbw_gbytes_s = optional_from<double>(j.at("algbw_gbytes_s")).value_or(0);
  o.busbw_gbytes_s = optional_from<double>(j.at("busbw_gbytes_s")).value_or(0);
  o.bound_ns = j.at("bound_ns");
  o.bound_kind = j.at("bound_kind");
  o.bound_detail = j.at("bound_detail");
  o.efficiency = optional_from<double>(j.at("efficiency"));
  o.verified = optional_from<bool>(j.at("verified"));
  o.verified_how = j.at("verified_how");
  o.wrong_elements = optional_from<std::uint64_t>(j.at("wrong_elements"));
  o.ranks_bitwise_equal = optional_from<bool>(j.at("ranks_bitwise_equal"));
  o.output_min = optional_from<double>(j.at("output_min"));
  o.output_max = optional_from<double>(j.at("output_max"));
  o.fingerprint = j.at("fingerprint");
  for (const auto& [name, value] : j.at("stats").items()) o.stats.emplace_back(name, value.get<double>());
  for (const auto& [name, value] : j.at("energy").items()) o.energy.emplace_back(name, value.get<double>());
  o.notes = j.at("notes").get<std::vector<std::string>>();
  o.status = status_named(j.at("status"));
  if (j.contains("team")) o.team = j.at("team");
  if (j.contains("message")) o.message = j.at("message");
  if (j.contains("faults_met")) o.faults = faults_from(j.at("faults_met"));
  read_workload(j, o);
}

}  // namespace

std::string pack(const run_outcome& o) {
  json j = run_json(o);
  j["output_lost"] = o.output_lost;
  j["data_fingerprint"] = o.data_fingerprint;
  j["deadlock_json"] = o.deadlock_json;
  j["flight_json"] = o.flight_json;
  j["health"] = o.health;
  j["waits"] = o.waits;
  j["steps"] = o.steps;
  j["critical_path_json"] = o.critical_path_json;
  j["wall_s"] = o.wall_s;
  j["elaborate_s"] = o.elaborate_s;
  j["wakeups"] = o.wakeups;
  j["packet_hops"] = o.packet_hops;
  j["peak_rss_mib"] = o.peak_rss_mib;
  j["links"] = json::array();
  for (const auto& r : o.links) j["links"].push_back(link_json(r));
  j["queue_pairs"] = json::array();
  for (const auto& r : o.queue_pairs) j["queue_pairs"].push_back(queue_pair_json(r));
  j["hbm"] = json::array();
  for (const auto& r : o.hbm) {
    j["hbm"].push_back({r.channel, r.reads, r.writes, r.activates, r.busy_share, r.lost_share});
  }
  // Messages may quote bytes a user wrote; anything that is not UTF-8 is replaced, not refused.
  return packed(j);
}

run_outcome unpack(const std::string& text) {
  const json j = json::parse(text);
  run_outcome o;
  read_run(j, o);
  o.output_lost = j.at("output_lost");
  o.data_fingerprint = j.at("data_fingerprint");
  o.deadlock_json = j.at("deadlock_json");
  o.flight_json = j.at("flight_json");
  o.health = j.at("health");
  o.waits = j.at("waits");
  o.steps = j.at("steps");
  o.critical_path_json = j.at("critical_path_json");
  o.wall_s = j.at("wall_s");
  o.elaborate_s = j.at("elaborate_s");
  o.wakeups = j.at("wakeups");
  o.packet_hops = j.at("packet_hops");
  o.peak_rss_mib = j.at("peak_rss_mib");
  for (const auto& r : j.at("links")) {
    o.links.push_back({r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12]});
  }
  for (const auto& r : j.at("queue_pairs")) {
    o.queue_pairs.push_back({r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8]});
  }
  for (const auto& r : j.at("hbm")) o.hbm.push_back({r[0], r[1], r[2], r[3], r[4], r[5]});
  return o;
}

std::string result_json(const result_context& context, const std::vector<run_outcome>& runs) {
  const machine_shape& shape = context.shape;
  const json machine{{"sips", shape.sips}, {"cubes", shape.cubes()}, {"pes", shape.pes()}};
  return result_text(context, machine, runs, run_json, fabric_costs(runs));
}

}  // namespace diecast::platforms
