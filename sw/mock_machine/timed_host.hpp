// SPDX-License-Identifier: Apache-2.0
// The host of one SIP of the timed mock machine. Its launches and register writes are packets from the IO CPU
// on, as in hw/host.
#pragma once

#include <exception>
#include <map>

#include "sw/mock_machine/timed_machine.hpp"

namespace diecast::sw {

class timed_host final : public abi::host_hal {
 public:
  timed_host(sip_id self, timed_machine& machine) : self_(self), machine_(machine) {}

  void start(std::function<void(abi::host_hal&)> program);
  /// Runs until it waits or ends; rethrows what its program threw.
  void resume();
  /// Yields until the machine resumes it.
  void give_way() { machine_.main_ = std::move(machine_.main_).resume(); }
  void wake();
  void sleep();
  /// A PE has reported the end of a launch.
  void completed(std::uint32_t launch_id);

  [[nodiscard]] sip_id self() const override { return self_; }
  [[nodiscard]] sim_time now() const override { return machine_.now(); }
  void debug_write(abi::address to, std::span<const std::byte> bytes) override;
  void debug_read(abi::address from, std::span<std::byte> bytes) override;
  void write_registers(std::span<const abi::pe_register_write> writes) override;
  void launch(std::span<const abi::pe_launch> launches) override;
  void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) override;
  void wait_until(sim_time when) override;

 private:
  /// Part of the dispatch table that lies behind a PE's TCM; empty where the address is another one.
  [[nodiscard]] std::span<std::byte> dispatch_table_at(abi::address at, std::size_t bytes);

  sip_id self_;
  timed_machine& machine_;
  std::map<std::uint32_t, std::uint32_t> completions_;
  std::size_t unacknowledged_{};
  bool asleep_{};
  std::exception_ptr error_;
  coroutine fiber_;  ///< last: its stack refers to the rest
};

}  // namespace diecast::sw
