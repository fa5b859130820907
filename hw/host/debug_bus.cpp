// SPDX-License-Identifier: Apache-2.0
#include "hw/host/debug_bus.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "models/types/error.hpp"

namespace diecast::hw {

debug_bus::debug_bus(sc_core::sc_module_name module_name, sip_id sip) : sc_module(module_name), sip_(sip) {}

/// A target is bound once, however many ranges it answers to. Blocks attach their ranges one after the
/// other, so the search starts at the end.
int debug_bus::block_of(tlm::tlm_target_socket<64>& target) {
  for (std::size_t i = blocks_.size(); i-- > 0;)
    if (blocks_[i] == &target) return static_cast<int>(i);
  blocks_.push_back(&target);
  out_.bind(target);
  return static_cast<int>(blocks_.size()) - 1;
}

void debug_bus::attach(cube_id cube, abi::region kind, std::uint32_t unit,
                       tlm::tlm_target_socket<64>& target) {
  if (decoder_.emplace(range{cube, kind, unit}, block_of(target)).second) return;
  throw std::logic_error(fmt::format("{}: two blocks answer at {}", name(),
                                     abi::describe(abi::encode({sip_, cube, kind, unit, 0}))));
}

unsigned debug_bus::on_debug(tlm::tlm_generic_payload& access) {
  const abi::address a = access.get_address();
  const auto where = abi::decode(a);
  if (where && where->sip == sip_) {
    const auto at = decoder_.find({where->cube, where->kind, where->unit});
    if (at != decoder_.end()) return out_[at->second]->transport_dbg(access);
  }
  throw protocol_error(
      fmt::format("{}: no block of sip {} answers at {}", name(), sip_.value, abi::describe(a)));
}

}  // namespace diecast::hw
