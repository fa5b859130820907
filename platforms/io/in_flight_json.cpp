// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/in_flight_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace diecast::platforms {
namespace {

using json = nlohmann::ordered_json;

json flight_json(const prepared_run& run, const analysis::flight& f) {
  return {{"kind", f.credit ? "credit" : "message"},
          {"address_pa", hex_text(f.fields.match_address)},
          {"sequence", f.fields.sequence},
          {"bytes", f.fields.message_bytes},
          {"from", pe_path(run.machine.config.shape(), f.fields.source)},
          {"first_packet_under_way", f.begins},
          {"state", to_string(f.state)},
          {"where", f.where},
          {"in_fabric", f.in_fabric}};
}

json other_json(const prepared_run& run, const analysis::other_packet& p) {
  const auto& shape = run.machine.config.shape();
  const abi::packet_header& h = p.header;
  const bool tags = h.kind == abi::packet_kind::tag_message;
  json j{{"kind", abi::to_string(h.kind)},
         {"from", tags ? pe_path(shape, h.tag.source)
                       : cube_path(shape, sip_id{h.source.sip}, cube_id{h.source.cube})},
         {"offset", h.offset},
         {"bytes", h.payload_bytes},
         {"where", p.where},
         {"in_fabric", p.in_fabric}};
  if (tags) j["tag"] = hex_text(h.tag.tag);
  return j;
}

}  // namespace

std::string hex_text(std::uint64_t n) { return fmt::format("{:#018x}", n); }

json in_flight_json(const prepared_run& run, const analysis::stopped_machine& machine) {
  json list = json::array();
  for (const auto& f : machine.flights) list.push_back(flight_json(run, f));
  for (const auto& p : machine.others) list.push_back(other_json(run, p));
  return list;
}

}  // namespace diecast::platforms
