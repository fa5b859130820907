// SPDX-License-Identifier: Apache-2.0
// The connection of a block of a PE to another block of the same PE.
#pragma once

namespace diecast::hw {

/// Bound once, before the simulation. A pointer and no sc_port: no tool attaches between the blocks of a PE,
/// and each named port and export takes elaboration 6,000 instructions and 500 bytes, of every PE.
template <class Interface>
class block_port {
 public:
  void bind(Interface& block) { block_ = &block; }
  [[nodiscard]] bool bound() const { return block_ != nullptr; }
  Interface* operator->() const { return block_; }

 private:
  Interface* block_{};
};

}  // namespace diecast::hw
