// SPDX-License-Identifier: Apache-2.0
// Staging through host memory: what a SIP's PEs send to another SIP is written to the memory of the host
// they share, packet after packet, and read from there by the other SIP's side. Host memory is large, so a
// packet that has come here never waits for one that has not left: class comm sinks.
#pragma once

#include <functional>
#include <systemc>

#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/d2d/sip_message.hpp"
#include "models/config/machine_config.hpp"

namespace diecast::hw {

class staging_engine : public sc_core::sc_module, private sip_link_if {
 public:
  /// `send` puts a packet that has come from host memory onto the SIP's own NoC.
  staging_engine(sc_core::sc_module_name name, const config::machine_config& config, packet_pool& pool,
                 std::function<void(packet_ptr)> send, fault_sink& faults);

  /// From the engines of the other SIPs; bind `out` to theirs, in the order of SIPs, this one included.
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
    bool read{};  ///< it has been read from host memory: send it
    sip_message m;
  };
  timed_queue<step> steps_{*this, [this] { act(); }};
  std::uint64_t arrivals_{}, reads_{};
  sim_time write_free_, read_free_;
};

}  // namespace diecast::hw
