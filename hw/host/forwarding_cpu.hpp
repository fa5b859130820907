// SPDX-License-Identifier: Apache-2.0
// A small processor on a NoC terminal that sends packets on, one after the other, each for a number of
// cycles: the common part of the IO CPU and the control CPUs.
//
// What arrives is taken into the CPU's own memory at once, so the NoC's buffers never wait for a
// packet the CPU has yet to send: a request sinks here and no dependency between requests arises.
#pragma once

#include <cstdint>
#include <deque>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "hw/base/terminal_port.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

class forwarding_cpu : public sc_core::sc_module, private terminal_port::client {
 public:
  [[nodiscard]] terminal_port& terminal() { return terminal_; }
  /// Nothing waits to be sent on.
  [[nodiscard]] bool idle() const { return inbox_.empty(); }

 protected:
  /// `cycles` of noc.clock_ghz per packet. Throws user_error when the NoC's buffers cannot hold a
  /// launch packet.
  forwarding_cpu(sc_core::sc_module_name name, const fabric::topology& topology,
                 const config::machine_config& config, abi::node_address self, std::uint64_t cycles,
                 packet_pool& pool, fault_sink& faults);

  /// Queues a packet. The CPU works on it from the next clock edge, or when those before it are done.
  void forward(packet_ptr p);

  /// A packet has arrived. May throw: it ends the simulation as a fault of this instance.
  virtual void receive(const packet_ptr& p) = 0;
  /// The error of a packet that has no business here.
  [[noreturn]] void refuse(const packet& p, const char* expected) const;

  /// Sends a packet on at once, without this CPU's work.
  void send_now(packet_ptr p) { terminal_.send(std::move(p)); }
  [[nodiscard]] const fabric::topology& topology() const { return topology_; }
  /// A launch packet on its way to the launch mailbox at `target`, next stop `next`.
  [[nodiscard]] packet_ptr make_launch(abi::address target, abi::node_address next, std::uint64_t launch_id,
                                       const std::vector<std::byte>& block) const;
  /// A write to the 8-byte register at `target`.
  [[nodiscard]] packet_ptr make_register_write(abi::address target, std::uint64_t value) const;

 private:
  void on_packet(const packet_ptr& p, std::uint8_t vc) override;
  void on_sent(abi::traffic_class) override {}
  void act();

  const fabric::topology& topology_;
  packet_pool& pool_;
  fault_sink& faults_;
  clock_domain clock_;
  std::uint64_t cycles_;
  terminal_port terminal_;
  std::deque<packet_ptr> inbox_;  ///< the first one is being worked on
  alarm done_{*this, [this] { act(); }};
};

/// The control CPU of a cube: forwards launch packets to the cube's PEs, each in host.control_cpu_cycles.
class control_cpu : public forwarding_cpu {
 public:
  control_cpu(sc_core::sc_module_name name, const fabric::topology& topology,
              const config::machine_config& config, abi::node_address self, packet_pool& pool,
              fault_sink& faults);

 private:
  void receive(const packet_ptr& p) override;

  abi::node_address self_;
};

}  // namespace diecast::hw
