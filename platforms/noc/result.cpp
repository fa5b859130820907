// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/types/enum_name.hpp"
#include "platforms/noc/app.hpp"
#include "platforms/result/result_envelope.hpp"
#include "platforms/result/result_table.hpp"

namespace diecast::noc {
namespace {

using json = platforms::result_node;

json run_json(const study_outcome& o) {
  json j = platforms::object_of(o);
  if (o.duration_cycles) {
    j["barriers"] = json::array();
    for (const barrier_row& b : o.barriers)
      j["barriers"].push_back({{"core", {b.column, b.row}},
                               {"network", b.network},
                               {"issue_cycle", b.issue_cycle},
                               {"latency_cycles", b.latency_cycles}});
  }
  j["status"] = platforms::to_string(o.status);
  if (!o.message.empty()) j["message"] = o.message;
  return j;
}

}  // namespace

std::string result_json(const platforms::result_context& context, const network& net,
                        const std::vector<study_outcome>& runs) {
  const json machine{{"topology", enum_name(net.config.noc.topology)},
                     {"nodes", net.nodes()},
                     {"routers", net.topology.layout({}, {}).routers()},
                     {"links", net.topology.mesh_links()},
                     {"vcs", net.topology.vcs()}};
  return platforms::result_text(context, machine, runs, run_json, platforms::fabric_costs(runs));
}

std::string result_csv(const std::vector<study_outcome>& runs) {
  std::string text = platforms::csv_names<study_outcome>();
  text += "status\n";
  for (const auto& o : runs)
    text += platforms::csv_values(o) + std::string(platforms::to_string(o.status)) + "\n";
  return text;
}

std::string links_csv(const std::vector<study_outcome>& runs) {
  return platforms::rows_csv(runs, &study_outcome::links, platforms::common_link_columns);
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
  if (traffic.starts_with("transactions:")) return traffic + "\n";  // sentences, not rows
  return traffic + "; offered and accepted in flits per node and cycle, latencies in cycles\n" +
         table().header();
}

std::string table_row(const study_outcome& o) {
  const bool ok = o.status == platforms::run_status::ok;
  if (o.duration_cycles)
    return fmt::format("{} cycles from the first issue to the last end, {} barriers, {} packets{}\n",
                       *o.duration_cycles, o.barriers.size(), o.packets,
                       ok ? "" : fmt::format(", {}", platforms::to_string(o.status)));
  return table().row({fmt::format("{:.4g}", o.offered_flits_per_node_cycle),
                      fmt::format("{:.5f}", o.accepted_flits_per_node_cycle),
                      fmt::format("{:.3f}", o.avg_hops),
                      platforms::number_text(o.avg_packet_latency_cycles, 2),
                      platforms::number_text(o.p50_packet_latency_cycles, 0),
                      platforms::number_text(o.p99_packet_latency_cycles, 0),
                      platforms::number_text(o.packet_flits, 0), std::to_string(o.measured_packets),
                      !ok           ? platforms::to_string(o.status)
                      : o.saturated ? "saturated"
                                    : ""});
}

}  // namespace diecast::noc
