// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/deadlock_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/dispatch_table.hpp"
#include "models/abi/firmware_tasks.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "platforms/result/result_envelope.hpp"

namespace diecast::platforms {

namespace {

using json = result_node;

json queue_pair_json(const run_names& run, pe_coord pe, comm::direction d,
                     const protocol::queue_pair_state& q) {
  json waiting = json::array();
  if ((q.armed & abi::arm_receive) != 0) waiting.push_back("receive");
  if ((q.armed & abi::arm_send_space) != 0) waiting.push_back("send_space");
  if ((q.armed & abi::arm_source_read) != 0) waiting.push_back("source_read");
  return {{"pe", run.pe(pe)},
          {"direction", run.direction(pe, d)},
          {"transmits", q.tx},
          {"receives", q.rx},
          {"rx_base_pa", hex_text(q.rx_base)},
          {"peer_rx_base_pa", hex_text(q.peer_rx_base)},
          {"peer", run.pe(q.peer)},
          {"n_slots", q.n_slots},
          {"slot_bytes", q.slot_bytes},
          {"my_head", q.my_head},
          {"my_tail", q.my_tail},
          {"peer_head_cache", q.peer_head_cache},
          {"peer_tail_cache", q.peer_tail_cache},
          {"last_token", optional_json(q.last_token)},
          {"last_credit", optional_json(q.last_credit)},
          {"sources_unread", q.sends - q.sources_read},
          {"waiting", waiting}};
}

json edge_json(const run_names& run, const analysis::wait_edge& e) {
  const auto& shape = run.config.shape();
  const bool of_queue = analysis::of_queue_pair(e.kind);
  json j{{"waiter", pe_path(shape, e.waiter)},
         {"direction", of_queue ? json(run.direction(e.waiter, e.dir)) : json(nullptr)},
         {"for", to_string(e.kind)},
         {"cause", to_string(e.cause)},
         {"on", pe_path(shape, e.on)},
         {"on_direction", of_queue ? json(run.direction(e.on, e.on_dir)) : json(nullptr)},
         {"missing", e.missing},
         {"task", e.task},
         {"step", e.step}};
  if (!e.where.empty()) {
    j["where"] = e.where;
    j["in_fabric"] = e.place != analysis::fabric_place::outside;
    j["in_flight_state"] = to_string(e.flight);
  }
  if (e.operation) {
    j["operation"] = to_string(e.operation->kind);
    j["tag"] = e.operation->tag ? json(*e.operation->tag) : json(nullptr);
    j["communicator"] = e.operation->group;
    j["bytes"] = e.operation->bytes;
  }
  return j;
}

json root_json(const run_names& run, const analysis::wait_root& r) {
  json root{
      {"kind", to_string(r.kind)}, {"step", r.step}, {"members", json::array()}, {"waits", json::array()}};
  for (const pe_coord pe : r.members) root["members"].push_back(run.pe(pe));
  for (const auto& e : r.waits) root["waits"].push_back(edge_json(run, e));
  return root;
}

json signal_json(const run_names& run, const analysis::watched_word& w) {
  const auto& shape = run.config.shape();
  const analysis::word_report report = analysis::explain_word(shape, w);
  return {{"waiter", pe_path(shape, w.pe)},
          {"writer", pe_path(shape, w.wanted.expected_writer)},
          {"finding", to_string(report.finding)},
          {"line_pa", hex_text(report.line)},
          {"text", report.text}};
}

}  // namespace

std::string deadlock_json(const run_names& run, const analysis::wait_for_report& report,
                          const analysis::stopped_machine& machine, const std::string& why) {
  json j{{"schema", "diecast.deadlock/1"}, {"why", why}, {"still", machine.still}};
  j["pes"] = json::array();
  j["queue_pairs"] = json::array();
  for (const auto& d : machine.pes) {
    j["pes"].push_back({{"pe", run.pe(d.pe)},
                        {"state", events::to_string(d.state)},
                        {"step", analysis::present_step(d)},
                        {"polls", d.polls.has_value()},
                        {"in_sleep_routine", abi::is_sleep_step(analysis::present_step(d))}});
    for (std::size_t i = 0; i < d.queue_pairs.size(); ++i) {
      if (d.queue_pairs[i].at_rest()) continue;
      j["queue_pairs"].push_back(
          queue_pair_json(run, d.pe, static_cast<comm::direction>(i), d.queue_pairs[i]));
    }
  }
  j["in_flight"] = in_flight_json(run, machine);
  j["waits"] = json::array();
  for (const auto& e : report.edges) j["waits"].push_back(edge_json(run, e));
  j["roots"] = json::array();
  for (const auto& r : report.roots) j["roots"].push_back(root_json(run, r));
  j["signals"] = json::array();
  for (const auto& w : machine.words) j["signals"].push_back(signal_json(run, w));
  j["text"] = report.text;
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

json flight_json(const run_names& run, const analysis::flight& f) {
  return {{"kind", f.credit ? "credit" : "message"},
          {"address_pa", hex_text(f.fields.match_address)},
          {"sequence", f.fields.sequence},
          {"bytes", f.fields.message_bytes},
          {"from", run.pe(f.fields.source)},
          {"first_packet_under_way", f.begins},
          {"state", to_string(f.state)},
          {"where", f.where},
          {"in_fabric", f.place != analysis::fabric_place::outside}};
}

json other_json(const run_names& run, const analysis::other_packet& p) {
  const auto& shape = run.config.shape();
  const abi::packet_header& h = p.header;
  const bool tags = h.kind == abi::packet_kind::tag_message;
  json j{{"kind", abi::to_string(h.kind)},
         {"from", tags ? pe_path(shape, h.tag.source)
                       : cube_path(shape, sip_id{h.source.sip}, cube_id{h.source.cube})},
         {"offset", h.offset},
         {"bytes", h.payload_bytes},
         {"where", p.where},
         {"in_fabric", p.place != analysis::fabric_place::outside}};
  if (tags) j["tag"] = hex_text(h.tag.tag);
  return j;
}

}  // namespace

std::string hex_text(std::uint64_t n) { return fmt::format("{:#018x}", n); }

json in_flight_json(const run_names& run, const analysis::stopped_machine& machine) {
  json list = json::array();
  for (const auto& f : machine.flights) list.push_back(flight_json(run, f));
  for (const auto& p : machine.others) list.push_back(other_json(run, p));
  return list;
}

namespace {

/// Furthest level that an edge crosses.
const char* reach(const analysis::path_edge& e) {
  if (e.pe.sip != e.to_pe.sip) return "between SIPs";
  if (e.pe.cube != e.to_pe.cube) return "between cubes";
  return "within a cube";
}

/// Fabric and credit edges are named by their extent: within a cube, between cubes or SIPs.
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

json edge_json(const run_names& run, const analysis::path_events& events, const analysis::path_edge& e,
               sim_time start) {
  const auto shape = run.config.shape();
  json j{{"from_ns", (e.from - start).ns()},
         {"to_ns", (e.to - start).ns()},
         {"time_fs", (e.to - e.from).fs},
         {"cause", cause_of(e)},
         {"pe", pe_path(shape, e.pe)}};
  if (e.to_pe != e.pe) j["to_pe"] = pe_path(shape, e.to_pe);
  if (e.qp) j["direction"] = run.direction(e.pe, *e.qp);
  if (e.bytes > 0) j["bytes"] = e.bytes;
  if (e.step) j["step"] = abi::step_text(events.step_names()[e.step->name], e.step->index);
  if (e.cause == analysis::path_cause::fabric) j["links"] = links_between(run.topology, e.pe, e.to_pe);
  return j;
}

/// Sums by cause, the largest first.
json causes_json(const analysis::path& path) {
  std::vector<std::pair<std::string, sim_time>> sums;
  for (const auto& e : path.edges) {
    const std::string cause = cause_of(e);
    auto at = std::ranges::find(sums, cause, &std::pair<std::string, sim_time>::first);
    if (at == sums.end()) at = sums.insert(at, {cause, sim_time{}});
    at->second += e.to - e.from;
  }
  std::ranges::stable_sort(sums, std::greater{}, &std::pair<std::string, sim_time>::second);
  json causes = json::array();
  for (const auto& [cause, time] : sums)
    causes.push_back({{"cause", cause},
                      {"time_ns", time.ns()},
                      {"time_fs", time.fs},
                      {"share", static_cast<double>(time.fs) / static_cast<double>(path.total().fs)}});
  return causes;
}

}  // namespace

std::string critical_path_json(const run_names& run, const analysis::path_events& events,
                               const analysis::path& path) {
  json j{{"schema", "diecast.critical_path/1"}, {"launch", run.point.warmup + run.point.iters},
         {"time_ns", path.total().ns()},        {"time_fs", path.total().fs},
         {"ends_at", run.pe(path.last)},        {"causes", causes_json(path)}};
  j["edges"] = json::array();
  for (const auto& e : path.edges) j["edges"].push_back(edge_json(run, events, e, path.start));
  return j.dump(1) + "\n";
}

}  // namespace diecast::platforms
