// SPDX-License-Identifier: Apache-2.0
#include "models/comm/install_plan.hpp"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "models/abi/tag_registers.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

constexpr std::array<const char*, first_custom> names{"N",        "S",          "E",          "W",
                                                      "global_N", "global_S",   "global_E",   "global_W",
                                                      "parent",   "child_left", "child_right"};

}  // namespace

std::string direction_name(direction d) {
  return d < first_custom ? std::string(names[d]) : fmt::format("custom{}", d);
}

direction opposite(direction d) {
  switch (d) {
    case north: return south;
    case south: return north;
    case east: return west;
    case west: return east;
    case global_north: return global_south;
    case global_south: return global_north;
    case global_east: return global_west;
    case global_west: return global_east;
    default: return d;
  }
}

plan_options options_from(const config::machine_config& c, std::uint64_t tcm_reserved_bytes) {
  constexpr std::uint64_t kib = 1024;
  plan_options o;
  o.rings = c.ipcq.rings;
  o.n_slots = static_cast<std::uint32_t>(c.ipcq.n_slots);
  o.slot_bytes = static_cast<std::uint32_t>(c.ipcq.slot_bytes);
  o.queue_pairs = static_cast<std::uint32_t>(c.ipcq.queue_pairs);
  o.tcm_bytes = c.pe.tcm_kib * kib;
  o.tcm_reserved_bytes = tcm_reserved_bytes;
  o.sram_bytes = c.sram.kib * kib;
  o.hbm_port_bytes = c.hbm.port_mib * kib * kib;
  o.hbm_ports = static_cast<std::uint32_t>(c.hbm.ports);
  o.pes_per_cube = static_cast<std::uint32_t>(c.cube.pes);
  o.channels.emplace(c);
  return o;
}

std::vector<register_write> register_writes(const queue_pair_install& q) {
  const auto at = [&](abi::register_offset field) { return abi::qp_register(q.dir, field); };
  const std::uint64_t enable =
      (q.tx ? abi::qp_control_tx_enable : 0) | (q.rx ? abi::qp_control_rx_enable : 0);
  return {{at(abi::qp_n_slots), q.n_slots},     {at(abi::qp_slot_bytes), q.slot_bytes},
          {at(abi::qp_rx_base), q.rx_base},     {at(abi::qp_peer_rx_base), q.peer_rx_base},
          {at(abi::qp_peer_ipcq), q.peer_ipcq}, {at(abi::qp_peer_coord), abi::pack_peer(q.peer)},
          {at(abi::qp_control), enable}};
}

direction_namer generic_names() {
  return [](pe_coord, direction d) { return direction_name(d); };
}

std::string to_text(const install_plan& plan, const direction_namer& names) {
  std::string text = fmt::format("{} queue pairs, {} slots of {} bytes\n", plan.queue_pairs.size(),
                                 plan.n_slots, plan.slot_bytes);
  text += fmt::format("{:<20} {:<12} {:<5} {:<20} {:<18} {:<18} {}\n", "owner", "direction", "half", "peer",
                      "rx_base", "peer_rx_base", "peer_ipcq");
  const auto base = [](bool present, abi::address a) {
    return present ? fmt::format("{:#018x}", a) : std::string("-");
  };
  for (const queue_pair_install& q : plan.queue_pairs) {
    text += fmt::format("{:<20} {:<12} {:<5} {:<20} {:<18} {:<18} {:#018x}\n", owner_name(q.owner),
                        names(q.owner, q.dir),
                        q.tx && q.rx ? "tx+rx"
                        : q.tx       ? "tx"
                                     : "rx",
                        owner_name(q.peer), base(q.rx, q.rx_base), base(q.tx, q.peer_rx_base), q.peer_ipcq);
  }
  return text;
}

message_install plan_messages(const config::machine_config& c, std::vector<pe_coord> pes,
                              std::uint64_t tcm_offset) {
  const config::tag_match_block& b = c.tag_match;
  message_install m{std::move(pes), tcm_offset, b.slot_bytes(), b.ring_messages, b.heap_kib * 1024};
  if (m.slots() > UINT16_MAX) {
    throw user_error(
        {"tag_match.ring_messages", "a PE has more message slots than the tag-matching unit can number",
         std::to_string(b.ring_messages) + " for each of " + std::to_string(m.pes.size()) + " PEs",
         "at most " + std::to_string(UINT16_MAX / m.pes.size()) + " for each"});
  }
  return m;
}

std::vector<register_write> register_writes(const message_install& m, pe_coord pe) {
  const abi::address ring = abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, m.tcm_offset});
  return {{abi::tm_ring_base, ring},
          {abi::tm_slot_bytes, m.slot_bytes},
          {abi::tm_slots, m.slots()},
          {abi::tm_peer_credits, m.peer_credits},
          {abi::tm_heap_base, ring + m.slots() * m.slot_bytes},
          {abi::tm_heap_bytes, m.heap_bytes}};
}

}  // namespace diecast::comm
