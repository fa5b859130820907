// SPDX-License-Identifier: Apache-2.0
// The backdoor's decoder of one SIP: debug transport in, passed on by address with the full physical
// address. No time, no timed transport.
#pragma once

#include <cstdint>
#include <map>
#include <systemc>
#include <tlm_utils/multi_passthrough_initiator_socket.h>
#include <tuple>
#include <vector>

#include "hw/mem/debug_port.hpp"
#include "models/abi/address.hpp"

namespace diecast::hw {

class debug_bus : public sc_core::sc_module, private debug_target {
 public:
  debug_bus(sc_core::sc_module_name name, sip_id sip);

  [[nodiscard]] tlm::tlm_target_socket<64>& in() { return in_.socket; }

  /// Accesses to all offsets of a unit's region go to `target`, which may answer to several. During
  /// elaboration only. Throws std::logic_error when another block answers there already.
  void attach(cube_id cube, abi::region kind, std::uint32_t unit, tlm::tlm_target_socket<64>& target);

 private:
  using range = std::tuple<cube_id, abi::region, std::uint32_t>;
  /// Throws protocol_error naming the address when no block answers there.
  unsigned on_debug(tlm::tlm_generic_payload& access) override;
  [[nodiscard]] int block_of(tlm::tlm_target_socket<64>& target);

  sip_id sip_;
  debug_port in_{"in", *this};
  tlm_utils::multi_passthrough_initiator_socket<debug_bus, 64> out_{"out"};
  std::vector<const tlm::tlm_target_socket<64>*> blocks_;  ///< in the order they are bound to out_
  std::map<range, int> decoder_;                           ///< index in blocks_
};

}  // namespace diecast::hw
