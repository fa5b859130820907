// SPDX-License-Identifier: Apache-2.0
// The alpha-beta-gamma parameters of a machine and what one step of an algorithm costs with them when nobody
// else is in the way: alpha, the firmware and engines at both ends and the idle fabric between them; beta, a
// byte on the narrowest part of the way; gamma, a byte through the vector unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/comm/patterns.hpp"
#include "models/cost/message_cost.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::cost {

inline constexpr unsigned half_registers = 5;  ///< read at the first use of a queue pair's half
inline constexpr unsigned pair_registers = 6;  ///< of both halves

class step_cost {
 public:
  step_cost(const fabric::topology& t, const config::machine_config& c);

  /// A vector command over that many bytes, the result in memory; 0 for none. ns, as all below.
  [[nodiscard]] double vector_ns(double bytes, bool reduces) const;
  /// Firmware of a receiver that has been woken: takes one message, copies or reduces it, gives the credit.
  [[nodiscard]] double take_ns(double bytes, bool reduces) const {
    return call_ + vector_ns(bytes, reduces) + register_;
  }
  /// Firmware of a receiver that leaves the copy to the DMA where it can (pe_context::lane::overlaps).
  [[nodiscard]] double hold_ns(double bytes) const;
  [[nodiscard]] double send_ns() const { return send_; }
  [[nodiscard]] double wake_ns() const { return wake_; }
  [[nodiscard]] double register_ns() const { return register_; }
  [[nodiscard]] double task_switch_ns() const { return task_switch_; }

  /// From the doorbell to the token visible, for a message of at most one slot.
  [[nodiscard]] double flight_ns(pe_coord from, pe_coord to, double bytes) const;

  /// Both ends of `bytes` in each direction, slot by slot, `lanes` such exchanges interleaved on one PE:
  /// from the first call to the last credit given. `sends`: whether a PE that receives also sends.
  struct exchange {
    double bytes{};
    bool reduces{true};
    unsigned lanes{1};
    bool sends{true};
    bool handed_on{};  ///< pe_context::stream: a slot is taken and the next one sent in one runtime call
  };
  [[nodiscard]] double exchange_ns(pe_coord from, pe_coord to, const exchange& e) const;
  /// What a long message adds per slot when the pipeline runs: the slowest of wire, firmware and credits.
  [[nodiscard]] double slot_interval_ns(pe_coord from, pe_coord to, const exchange& e) const;

  [[nodiscard]] double slot_bytes() const { return slot_; }
  /// Slots that a message takes; 0 for an empty one, which nobody sends.
  [[nodiscard]] double slots_of(double bytes) const { return std::ceil(bytes / slot_); }
  /// Those behind the first.
  [[nodiscard]] double more_slots_of(double bytes) const { return std::max(0.0, slots_of(bytes) - 1); }
  /// Reading a queue pair's registers for the first time; both halves.
  [[nodiscard]] double first_use_ns(unsigned registers) const { return registers * register_; }

 private:
  /// Between slots that find credits, and from a slot to the credit that it gave back.
  struct slot_pace {
    double slot_ns{};
    double round_trip_ns{};
  };
  [[nodiscard]] slot_pace pace_of(pe_coord from, pe_coord to, const exchange& e) const;
  /// Slots behind the first: ipcq.n_slots go before the first one's credit is back.
  [[nodiscard]] double more_slots_ns(pe_coord from, pe_coord to, const exchange& e, double more) const;
  /// A flit on the slowest link of the way.
  [[nodiscard]] double flit_ns(pe_coord from, pe_coord to) const;

  const fabric::topology& topology_;
  const config::machine_config& config_;
  double cycle_, send_, call_, wake_, register_, task_switch_, departure_, arrival_;
  double slot_, packet_, flit_;
};

}  // namespace diecast::cost
