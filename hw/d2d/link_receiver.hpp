// SPDX-License-Identifier: Apache-2.0
// Receiving half of a link: packets wait in the link's buffers, one queue per arrival VC and port, and
// are injected at their port's NoC terminal on the VC of their leg in this cube.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/base/queue_set.hpp"
#include "hw/d2d/link_sender.hpp"
#include "models/timing/shared_link.hpp"

namespace diecast::hw {

class link_receiver {
 public:
  class owner {
   public:
    virtual ~owner() = default;
    virtual void inject(packet_ptr p, std::uint8_t port, std::uint8_t vc, sim_time head, sim_time tail) = 0;
    /// Returns a credit to the far end: `flits` of the link's buffer of `vc` are usable at `usable`.
    virtual void return_link_credit(std::uint8_t vc, std::uint32_t flits, sim_time usable) = 0;
  };
  /// Where this end is. `terminals`: the ports' terminals of cube (sip, cube).
  struct place {
    sip_id sip;
    cube_id cube;
    fabric::entry how{};
    std::vector<fabric::terminal_index> terminals;
    std::string name;  ///< for errors
  };

  link_receiver(const fabric::topology& topology, const link_parameters& parameters, place where, owner& o);

  /// Announces a packet that is here from arrival.head to arrival.tail; act() must run at the returned
  /// time. Throws protocol_error when the sender overran the link's buffer.
  [[nodiscard]] sim_time arrived(std::uint8_t port, packet_ptr p, std::uint8_t vc,
                                 const timing::span& arrival);
  /// The NoC has room again at `at`; act() must run then.
  void noc_credit(std::uint8_t port, std::uint8_t vc, std::uint32_t flits, sim_time at);
  /// Injects what can start now; returns when something might start next as far as is known.
  [[nodiscard]] sim_time act(sim_time now);
  [[nodiscard]] bool idle() const { return queues_.empty(); }
  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// For packets of several flits: flits after the first, and the time from the first to the last.
  [[nodiscard]] std::uint64_t measured_flits() const { return measured_flits_; }
  [[nodiscard]] sim_time measured_time() const { return measured_time_; }
  /// Counts of the packets that arrive.
  [[nodiscard]] const link_monitor::counters& seen() const { return monitor_.seen(); }
  [[nodiscard]] bool quiescent() const;

 private:
  struct waiting {
    packet_ptr p;
    std::uint64_t earliest;  ///< cycle
    std::uint8_t vc;         ///< VC on which the packet is injected
    std::uint8_t traffic_class;
  };
  struct returning_credit {
    std::uint64_t cycle;
    std::uint32_t queue;  ///< [port][VC]
    std::uint32_t flits;
  };
  [[nodiscard]] std::uint32_t index(std::uint8_t port, std::uint8_t vc) const { return port * vcs_ + vc; }
  [[nodiscard]] std::uint8_t next_vc(std::uint8_t port, const packet& p, std::uint8_t vc) const;
  void act_port(std::uint8_t port, std::uint64_t cycle);
  void start(std::uint8_t port, std::uint32_t queue, std::uint64_t cycle);
  [[nodiscard]] bool ready(std::uint8_t port, const waiting& w, std::uint64_t cycle) const;
  [[nodiscard]] std::uint64_t next_chance(std::uint64_t from) const;

  const fabric::topology& topology_;
  const timing::link_timing timing_;
  const place where_;
  const std::uint32_t ports_;
  const std::uint32_t vcs_;
  const std::uint64_t ni_in_cycles_;
  owner& owner_;
  const std::vector<std::uint32_t> buffer_;
  const std::vector<std::uint32_t> noc_buffer_;
  queue_set<waiting> queues_;            ///< [port][arrival VC]
  std::vector<std::uint32_t> occupied_;  ///< flits in the link's buffer per arrival VC
  std::uint64_t packets_{};
  std::uint64_t measured_flits_{};
  sim_time measured_time_;
  std::vector<std::uint32_t> credits_;  ///< [port][VC], towards the NoC
  std::vector<returning_credit> returning_;
  std::vector<timing::shared_link> injection_;  ///< per port
  std::vector<std::uint32_t> last_;             ///< per port
  link_monitor monitor_;
};

}  // namespace diecast::hw
