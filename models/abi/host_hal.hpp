// SPDX-License-Identifier: Apache-2.0
// The machine as the host of one SIP sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/abi/address.hpp"
#include "models/abi/launch.hpp"
#include "models/abi/registers.hpp"
#include "models/types/time.hpp"

namespace diecast::abi {

struct pe_launch {
  pe_coord pe;
  launch_block block;
};

struct pe_register_write {
  pe_coord pe;
  register_offset reg{};
  std::uint64_t value{};
};

class host_hal {
 public:
  host_hal() = default;
  host_hal(const host_hal&) = delete;
  host_hal& operator=(const host_hal&) = delete;
  virtual ~host_hal() = default;

  [[nodiscard]] virtual sip_id self() const = 0;
  [[nodiscard]] virtual sim_time now() const = 0;

  /// Backdoor (debug transport, no time): any address of this SIP. Registers are written as
  /// 8-byte accesses to pe_registers.
  virtual void debug_write(address to, std::span<const std::byte> bytes) = 0;
  virtual void debug_read(address from, std::span<std::byte> bytes) = 0;
  void debug_write_register(pe_coord pe, register_offset reg, std::uint64_t value);

  /// Writes queue-pair registers of PEs of this SIP in packets over the fabric, through the IO CPU, in this
  /// order; returns when all are acknowledged.
  virtual void write_registers(std::span<const pe_register_write> writes) = 0;

  /// Sends the launches host -> IO CPU -> control CPUs -> PEs over the fabric.
  virtual void launch(std::span<const pe_launch> launches) = 0;

  /// Sleeps until `count` PEs of this SIP have reported the end of launch `launch_id`.
  virtual void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) = 0;

  /// Sleeps until `when`.
  virtual void wait_until(sim_time when) = 0;
};

}  // namespace diecast::abi
