// SPDX-License-Identifier: Apache-2.0
#include "models/abi/wire.hpp"

#include "models/types/enum_name.hpp"

namespace diecast::abi {

const char* to_string(traffic_class c) { return enum_name(c); }

const char* to_string(packet_kind k) { return enum_name(k); }

bool is_staged_kind(const packet_header& h) {
  switch (h.kind) {
    case packet_kind::ipcq_data: return true;
    case packet_kind::tag_message: return !carries_no_bytes(h.tag.op);
    case packet_kind::read_response:
    case packet_kind::write_request: return (h.transaction & core_access_bit) == 0;
    default: return false;
  }
}

tree_flow flow_of(const packet_header& h) {
  const bool data = h.kind == packet_kind::ipcq_data;
  if (static_cast<tree_use>(h.destination.cube) == tree_use::reduce)
    return data ? tree_flow::up : tree_flow::down;
  return data ? tree_flow::down : tree_flow::credits;
}

traffic_class class_of(packet_kind k) {
  switch (k) {
    case packet_kind::ipcq_data: return traffic_class::comm;
    case packet_kind::ipcq_credit: return traffic_class::sideband;
    case packet_kind::read_request:
    case packet_kind::write_request:
    case packet_kind::atomic_add:
    case packet_kind::launch: return traffic_class::request;
    case packet_kind::read_response:
    case packet_kind::write_response:
    case packet_kind::launch_done: return traffic_class::response;
    case packet_kind::tag_message: return traffic_class::message;
    case packet_kind::synthetic: return traffic_class::comm;
  }
  return traffic_class::message;
}

}  // namespace diecast::abi
