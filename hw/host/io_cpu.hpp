// SPDX-License-Identifier: Apache-2.0
// The IO CPU of a SIP: sends the host's launches to the control CPUs of the cubes and collects the
// reports of PEs that are done.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "hw/base/terminal_port.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/abi/hal.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::hw {

// A small processor on a NoC terminal that forwards packets one after the other, each in a number of cycles:
// the common part of the IO CPU and the control CPUs.
//
// What arrives is taken into the CPU's own memory at once, so the NoC's buffers never wait for a
// packet the CPU has yet to send: a request sinks here and no dependency between requests arises.

class forwarding_cpu : public sc_core::sc_module, private terminal_port::client {
 public:
  [[nodiscard]] terminal_port& terminal() { return terminal_; }
  /// True when no packet waits to be forwarded.
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
  /// The error for a packet that this CPU does not take.
  [[noreturn]] void refuse(const packet& p, const char* expected) const;

  /// Forwards a packet at once, without cycles of this CPU.
  void send_now(packet_ptr p) { terminal_.send(std::move(p)); }
  [[nodiscard]] const fabric::topology& topology() const { return topology_; }
  /// A launch packet for the launch mailbox at `target`, sent to `next` first.
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

/// Staging through host memory: what a SIP's PEs send to another SIP is written to the memory of the host
/// they share, packet after packet, and read from there by the other SIP's side. Host memory is large, so a
/// packet that arrives never waits for one that has not left: packets of class comm are always accepted.
class staging_engine : public sc_core::sc_module, private sip_link_if {
 public:
  /// `send` puts a packet that has come from host memory onto the SIP's own NoC.
  staging_engine(sc_core::sc_module_name name, const config::machine_config& config, packet_pool& pool,
                 std::function<void(packet_ptr)> send, fault_sink& faults);

  /// Receives from the engines of all SIPs; `out` is bound to theirs in the order of SIPs, own included.
  sc_core::sc_export<sip_link_if> in{"in"};
  sc_core::sc_port<sip_link_if, 0, sc_core::SC_ZERO_OR_MORE_BOUND> out{"out"};

  /// Takes a packet whose target is a PE of SIP `to`.
  void stage(const packet& p, sip_id to);
  /// Calls visit(const sip_message&) for every packet in host memory for this SIP. They are in no pool.
  template <class Visit>
  void visit(Visit visit) const {
    steps_.visit([&visit](const step& s) { visit(s.m); });
  }

 private:
  void deliver(const sip_message& m) override;
  void act();
  void serve();
  [[nodiscard]] sim_time transfer_time(std::uint32_t flits) const;

  const bool as_bytes_;
  const std::uint64_t flit_bytes_;
  const double gbytes_s_;
  const sim_time latency_;
  const clock_domain clock_;
  packet_pool& pool_;
  std::function<void(packet_ptr)> send_;
  fault_sink& faults_;
  struct step {
    bool read{};  ///< the message has been read from host memory and is to be sent
    sip_message m;
  };
  timed_queue<step> steps_{*this, [this] { act(); }};
  std::uint64_t arrivals_{}, reads_{};
  sim_time write_free_, read_free_;
};

/// Requests of the host to its IO CPU.
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
