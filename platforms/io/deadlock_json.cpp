// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/deadlock_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace diecast::platforms {
namespace {

using json = nlohmann::ordered_json;

const char* to_string(analysis::wait_kind k) {
  switch (k) {
    case analysis::wait_kind::receive: return "receive";
    case analysis::wait_kind::send_space: return "send_space";
    case analysis::wait_kind::source_read: return "source_read";
  }
  return "unknown";
}

const char* to_string(analysis::wait_cause c) {
  switch (c) {
    case analysis::wait_cause::peer: return "peer";
    case analysis::wait_cause::lost_message: return "lost_message";
    case analysis::wait_cause::lost_credit: return "lost_credit";
    case analysis::wait_cause::unwired: return "unwired";
    case analysis::wait_cause::own_dma: return "own_dma";
  }
  return "unknown";
}

const char* to_string(analysis::root_kind k) {
  switch (k) {
    case analysis::root_kind::fault: return "fault";
    case analysis::root_kind::peer: return "peer";
    case analysis::root_kind::cycle: return "cycle";
  }
  return "unknown";
}

json queue_pair_json(const prepared_run& run, pe_coord pe, comm::direction d,
                     const protocol::queue_pair_state& q) {
  json waiting = json::array();
  if ((q.armed & abi::arm_receive) != 0) waiting.push_back("receive");
  if ((q.armed & abi::arm_send_space) != 0) waiting.push_back("send_space");
  if ((q.armed & abi::arm_source_read) != 0) waiting.push_back("source_read");
  return {{"pe", pe_path(run.machine.config.shape(), pe)},
          {"direction", run.direction_name(pe, d)},
          {"rx_base_pa", fmt::format("{:#018x}", q.rx_base)},
          {"my_head", q.my_head},
          {"my_tail", q.my_tail},
          {"peer_head_cache", q.peer_head_cache},
          {"peer_tail_cache", q.peer_tail_cache},
          {"waiting", waiting}};
}

json edge_json(const prepared_run& run, const analysis::wait_edge& e) {
  const auto& shape = run.machine.config.shape();
  return {{"waiter", pe_path(shape, e.waiter)},
          {"direction", run.direction_name(e.waiter, e.dir)},
          {"for", to_string(e.kind)},
          {"cause", to_string(e.cause)},
          {"on", pe_path(shape, e.on)}};
}

}  // namespace

std::string deadlock_json(const prepared_run& run, const analysis::wait_for_report& report,
                          const std::vector<analysis::pe_dump>& dumps) {
  json j{{"schema", "diecast.deadlock/1"}};
  j["queue_pairs"] = json::array();
  for (const auto& d : dumps) {
    for (std::size_t i = 0; i < d.queue_pairs.size(); ++i) {
      if (d.queue_pairs[i].armed == 0) continue;
      j["queue_pairs"].push_back(
          queue_pair_json(run, d.pe, static_cast<comm::direction>(i), d.queue_pairs[i]));
    }
  }
  j["waits"] = json::array();
  for (const auto& e : report.edges) j["waits"].push_back(edge_json(run, e));
  j["roots"] = json::array();
  for (const auto& r : report.roots) {
    json root{{"kind", to_string(r.kind)}, {"members", json::array()}, {"waits", json::array()}};
    for (const pe_coord pe : r.members) root["members"].push_back(pe_path(run.machine.config.shape(), pe));
    for (const auto& e : r.waits) root["waits"].push_back(edge_json(run, e));
    j["roots"].push_back(root);
  }
  return j.dump(2) + "\n";
}

}  // namespace diecast::platforms
