// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/noc_result.hpp"

#include <fmt/format.h>

#include "platforms/io/result_envelope.hpp"
#include "platforms/io/text_table.hpp"

namespace diecast::noc {
namespace {

using json = platforms::result_node;
using platforms::csv_text;
using platforms::node_of;
using platforms::read_field;

/// Every plain field by its name in result.json, in its order: written, read back and listed from here.
template <class Outcome, class Visit>
void each_field(Outcome& o, Visit visit) {
  visit("traffic", o.traffic);
  visit("packet_flits", o.packet_flits);
  visit("cycles", o.cycles);
  visit("offered_flits_per_node_cycle", o.offered_flits_per_node_cycle);
  visit("injected_flits_per_node_cycle", o.injected_flits_per_node_cycle);
  visit("accepted_flits_per_node_cycle", o.accepted_flits_per_node_cycle);
  visit("avg_packet_latency_cycles", o.avg_packet_latency_cycles);
  visit("p50_packet_latency_cycles", o.p50_packet_latency_cycles);
  visit("p99_packet_latency_cycles", o.p99_packet_latency_cycles);
  visit("max_packet_latency_cycles", o.max_packet_latency_cycles);
  visit("avg_hops", o.avg_hops);
  visit("measured_packets", o.measured_packets);
  visit("packets", o.packets);
  visit("packet_hops", o.packet_hops);
  visit("flit_hops", o.flit_hops);
  visit("saturated", o.saturated);
  visit("fingerprint", o.fingerprint);
  visit("duration_cycles", o.duration_cycles);
}

json run_json(const study_outcome& o) {
  json j = json::object();
  each_field(o, [&j](const char* name, const auto& value) { j[name] = node_of(value); });
  if (o.duration_cycles) {
    j["barriers"] = json::array();
    for (const barrier_row& b : o.barriers) {
      j["barriers"].push_back({{"core", {b.column, b.row}},
                               {"network", b.network},
                               {"issue_cycle", b.issue_cycle},
                               {"latency_cycles", b.latency_cycles}});
    }
  }
  j["status"] = platforms::to_string(o.status);
  if (!o.message.empty()) j["message"] = o.message;
  return j;
}

/// A column of the table: "-" where there is no value.
template <class T>
std::string cell(const std::optional<T>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", static_cast<double>(*value), decimals) : "-";
}

const char* topology_name(config::noc_topology t) {
  switch (t) {
    case config::noc_topology::mesh: return "mesh";
    case config::noc_topology::torus: return "torus";
    case config::noc_topology::ring: return "ring";
    case config::noc_topology::crossbar: return "crossbar";
    case config::noc_topology::torus_oneway: return "torus_oneway";
  }
  return "?";
}

}  // namespace

std::string pack(const study_outcome& o) {
  json j = run_json(o);
  j["output_lost"] = o.output_lost;
  j["wall_s"] = o.wall_s;
  j["elaborate_s"] = o.elaborate_s;
  j["wakeups"] = o.wakeups;
  j["peak_rss_mib"] = o.peak_rss_mib;
  j["links"] = json::array();
  for (const auto& r : o.links)
    j["links"].push_back({r.link, r.name, r.bytes, r.packets, r.busy_fraction, r.stall_ns});
  return platforms::packed(j);
}

study_outcome unpack(const std::string& text) {
  const json j = json::parse(text);
  study_outcome o;
  each_field(o, [&j](const char* name, auto& value) { read_field(j, name, value); });
  o.status = platforms::status_named(j.at("status"));
  for (const auto& b : j.value("barriers", json::array())) {
    o.barriers.push_back(
        {b.at("core")[0], b.at("core")[1], b.at("network"), b.at("issue_cycle"), b.at("latency_cycles")});
  }
  if (j.contains("message")) o.message = j.at("message");
  o.output_lost = j.at("output_lost");
  o.wall_s = j.at("wall_s");
  o.elaborate_s = j.at("elaborate_s");
  o.wakeups = j.at("wakeups");
  o.peak_rss_mib = j.at("peak_rss_mib");
  for (const auto& r : j.at("links")) o.links.push_back({r[0], r[1], r[2], r[3], r[4], r[5]});
  return o;
}

std::string result_json(const platforms::result_context& context, const network& net,
                        const std::vector<study_outcome>& runs) {
  const json machine{{"topology", topology_name(net.config.noc.topology)},
                     {"nodes", net.nodes()},
                     {"routers", net.topology.layout({}, {}).routers()},
                     {"links", net.topology.mesh_links()},
                     {"vcs", net.topology.vcs()}};
  return platforms::result_text(context, machine, runs, run_json, platforms::fabric_costs(runs));
}

std::string result_csv(const std::vector<study_outcome>& runs) {
  std::string text;
  const study_outcome none;
  each_field(none, [&text](const char* name, const auto&) { text += fmt::format("{},", name); });
  text += "status\n";
  for (const auto& o : runs) {
    each_field(o, [&text](const char*, const auto& value) { text += csv_text(node_of(value)) + ","; });
    text += std::string(platforms::to_string(o.status)) + "\n";
  }
  return text;
}

std::string links_csv(const std::vector<study_outcome>& runs) {
  std::string text = "run,link,bytes,packets,busy_fraction,stall_ns\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& r : runs[i].links) {
      text += fmt::format("{},{},{},{},{},{}\n", i, r.name, r.bytes, r.packets, r.busy_fraction, r.stall_ns);
    }
  }
  return text;
}

namespace {

const platforms::text_table& table() {
  static const platforms::text_table of_study({{"offered", false, 8},
                                               {"accepted"},
                                               {"avg_hops"},
                                               {"latency", false, 9},
                                               {"p50", false, 6},
                                               {"p99", false, 6},
                                               {"flits"},
                                               {"packets", false, 9},
                                               {"", true}});
  return of_study;
}

}  // namespace

std::string table_header(const std::string& traffic) {
  return traffic + "; offered and accepted in flits per node and cycle, latencies in cycles\n" +
         table().header();
}

std::string table_row(const study_outcome& o) {
  const bool ok = o.status == platforms::run_status::ok;
  if (o.duration_cycles) {
    return fmt::format("{} cycles from the first issue to the last end, {} barriers, {} packets{}\n",
                       *o.duration_cycles, o.barriers.size(), o.packets,
                       ok ? "" : fmt::format(", {}", platforms::to_string(o.status)));
  }
  return table().row({fmt::format("{:.4g}", o.offered_flits_per_node_cycle),
                      fmt::format("{:.5f}", o.accepted_flits_per_node_cycle),
                      fmt::format("{:.3f}", o.avg_hops), cell(o.avg_packet_latency_cycles, 2),
                      cell(o.p50_packet_latency_cycles, 0), cell(o.p99_packet_latency_cycles, 0),
                      cell(o.packet_flits, 0), std::to_string(o.measured_packets),
                      !ok           ? platforms::to_string(o.status)
                      : o.saturated ? "saturated"
                                    : ""});
}

}  // namespace diecast::noc
