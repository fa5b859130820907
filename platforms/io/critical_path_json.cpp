// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/operation_note.hpp"
#include "platforms/io/deadlock_json.hpp"

namespace diecast::platforms {
namespace {

using json = nlohmann::ordered_json;

/// Furthest level that an edge crosses.
const char* reach(const analysis::path_edge& e) {
  if (e.pe.sip != e.to_pe.sip) return "between SIPs";
  if (e.pe.cube != e.to_pe.cube) return "between cubes";
  return "within a cube";
}

/// Fabric and credit edges are told apart by how far they reach.
std::string cause_of(const analysis::path_edge& e) {
  std::string cause(analysis::to_string(e.cause));
  if (e.cause == analysis::path_cause::fabric || e.cause == analysis::path_cause::credit)
    cause += std::string(", ") + reach(e);
  return cause;
}

json links_between(const fabric::topology& t, pe_coord from, pe_coord to) {
  const auto terminal = [&t](pe_coord pe) {
    return t.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
  };
  json names = json::array();
  for (const fabric::route_hop& hop : t.trace(terminal(from), terminal(to)))
    names.push_back(t.links()[hop.link].name);
  return names;
}

json edge_json(const prepared_run& run, const analysis::path_events& events, const analysis::path_edge& e,
               sim_time start) {
  const auto shape = run.machine.config.shape();
  json j{{"from_ns", (e.from - start).ns()},
         {"to_ns", (e.to - start).ns()},
         {"time_fs", (e.to - e.from).fs},
         {"cause", cause_of(e)},
         {"pe", pe_path(shape, e.pe)}};
  if (e.to_pe != e.pe) j["to_pe"] = pe_path(shape, e.to_pe);
  if (e.qp) j["direction"] = run.direction_name(e.pe, *e.qp);
  if (e.bytes > 0) j["bytes"] = e.bytes;
  if (e.step) j["step"] = abi::step_text(events.step_names()[e.step->name], e.step->index);
  if (e.cause == analysis::path_cause::fabric)
    j["links"] = links_between(run.machine.topology, e.pe, e.to_pe);
  return j;
}

/// Sums by cause, the largest first.
json causes_json(const analysis::path& path) {
  std::vector<std::pair<std::string, sim_time>> sums;
  for (const auto& e : path.edges) {
    const std::string cause = cause_of(e);
    auto at = std::find_if(sums.begin(), sums.end(), [&](const auto& s) { return s.first == cause; });
    if (at == sums.end()) at = sums.insert(at, {cause, sim_time{}});
    at->second += e.to - e.from;
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  json causes = json::array();
  for (const auto& [cause, time] : sums) {
    causes.push_back({{"cause", cause},
                      {"time_ns", time.ns()},
                      {"time_fs", time.fs},
                      {"share", static_cast<double>(time.fs) / static_cast<double>(path.total().fs)}});
  }
  return causes;
}

}  // namespace

std::string critical_path_json(const prepared_run& run, const analysis::path_events& events,
                               const analysis::path& path) {
  json j{{"schema", "diecast.critical_path/1"},
         {"launch", run.point.warmup + run.point.iters},
         {"time_ns", path.total().ns()},
         {"time_fs", path.total().fs},
         {"ends_at", pe_path(run.machine.config.shape(), path.last)},
         {"causes", causes_json(path)}};
  j["edges"] = json::array();
  for (const auto& e : path.edges) j["edges"].push_back(edge_json(run, events, e, path.start));
  return j.dump(1) + "\n";
}

}  // namespace diecast::platforms
