// SPDX-License-Identifier: Apache-2.0
// All memories of the mock machine, by physical address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>

#include "models/abi/address.hpp"
#include "models/abi/hal.hpp"
#include "models/config/machine_config.hpp"
#include "models/config/population.hpp"

namespace diecast::sw {

// Byte storage of the mock machine: pages appear when they are first written.

/// Bytes never written read as `fill`, so that firmware that relies on them shows wrong results.
class page_memory {
 public:
  static constexpr std::byte fill{0xa5};

  void read(std::uint64_t offset, std::span<std::byte> out) const;
  void write(std::uint64_t offset, std::span<const std::byte> in);

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  using page = std::array<std::byte, page_bytes>;
  std::map<std::uint64_t, std::unique_ptr<page>> pages_;
};

/// An access to an address without memory, or past its memory's end, throws std::out_of_range that
/// names the address and the limit.
class memory_map {
 public:
  explicit memory_map(const config::machine_config& config);
  void read(abi::address from, std::span<std::byte> out) const;
  void write(abi::address to, std::span<const std::byte> in);

 private:
  [[nodiscard]] abi::location check(abi::address at, std::size_t bytes) const;
  [[nodiscard]] std::uint64_t capacity(const abi::location& where) const;

  config::machine_config config_;
  machine_shape shape_;
  config::population there_;
  config::memory_channels channels_;
  std::map<abi::address, page_memory> memories_;  ///< memories by the address of their first byte
};

/// Index of the PE whose mailbox lies at that address. Throws protocol_error when none of this machine does.
[[nodiscard]] std::uint32_t pe_behind(const machine_shape& shape, abi::address mailbox);

// The computation of a PE's vector unit, for both mock machines.

/// Address of `bytes` at an offset of the PE's TCM; throws protocol_error where they do not lie in it.
using tcm_place = std::function<abi::address(std::uint64_t offset, std::uint64_t bytes)>;

void evaluate(memory_map& memory, const abi::vector_command& command, const tcm_place& place);

}  // namespace diecast::sw
