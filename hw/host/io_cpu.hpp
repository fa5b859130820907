// SPDX-License-Identifier: Apache-2.0
// The IO CPU of a SIP: sends the host's launches to the control CPUs of the cubes and collects the
// reports of PEs that are done.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <systemc>

#include "hw/host/forwarding_cpu.hpp"
#include "hw/host/staging_engine.hpp"
#include "models/abi/host_hal.hpp"

namespace diecast::hw {

/// What the host asks of its IO CPU.
class io_cpu_if : public virtual sc_core::sc_interface {
 public:
  /// Queues one launch packet per PE, in this order.
  virtual void launch(std::span<const abi::pe_launch> launches) = 0;
  /// Queues one packet per register, in this order.
  virtual void write_registers(std::span<const abi::pe_register_write> writes) = 0;
  /// Register writes that PEs have acknowledged, over all calls.
  [[nodiscard]] virtual std::uint64_t writes_acknowledged() const = 0;
  /// PEs of this SIP that have reported the end of a launch.
  [[nodiscard]] virtual std::uint32_t completed(std::uint32_t launch_id) const = 0;
  /// Notified whenever a PE has reported or acknowledged.
  [[nodiscard]] virtual const sc_core::sc_event& reported() const = 0;
};

class io_cpu : public forwarding_cpu, public io_cpu_if {
 public:
  io_cpu(sc_core::sc_module_name name, const fabric::topology& topology, const config::machine_config& config,
         sip_id sip, packet_pool& pool, fault_sink& faults);

  sc_core::sc_export<io_cpu_if> host_side{"host_side"};
  /// The way through host memory; null unless comm.path is staged.
  [[nodiscard]] staging_engine* staging() { return staging_.get(); }

  void launch(std::span<const abi::pe_launch> launches) override;
  void write_registers(std::span<const abi::pe_register_write> writes) override;
  [[nodiscard]] std::uint64_t writes_acknowledged() const override { return acknowledged_; }
  [[nodiscard]] std::uint32_t completed(std::uint32_t launch_id) const override;
  [[nodiscard]] const sc_core::sc_event& reported() const override { return reported_; }

 private:
  void receive(const packet_ptr& p) override;

  std::unique_ptr<staging_engine> staging_;
  std::map<std::uint64_t, std::uint32_t> completed_;  ///< by launch
  std::uint64_t acknowledged_{};                      ///< register writes
  sc_core::sc_event reported_{"reported"};
};

}  // namespace diecast::hw
