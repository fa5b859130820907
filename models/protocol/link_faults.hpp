// SPDX-License-Identifier: Apache-2.0
// What the faults configured at one place of the fabric do to each packet that passes it. Pure: counts what
// passes, holds no packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/config/faults.hpp"
#include "models/random/stream.hpp"
#include "models/types/time.hpp"

namespace diecast::protocol {

/// When a fault acts: after how many packets or operations, how often, from when on, how probably.
class fault_trigger {
 public:
  /// `place` and `index` (of the fault at that place) key the draws.
  fault_trigger(const config::placed_fault& fault, const std::string& place, std::size_t index);
  /// A packet or operation at `now`; true when the fault acts.
  [[nodiscard]] bool strikes(sim_time now);
  /// A random number below n for the last packet on which the fault acted.
  [[nodiscard]] std::uint64_t draw(std::uint64_t n) const { return draws_.below(2 * chances_ + 1, n); }
  [[nodiscard]] const config::fault_setting& setting() const { return setting_; }
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] config::fault_tally tally() const { return {number_, chances_, strikes_}; }

 private:
  config::fault_setting setting_;
  std::size_t number_;
  random::stream draws_;     ///< draws of the bit that is inverted
  random::stream chance_;    ///< whether it strikes
  std::uint64_t chances_{};  ///< packets or operations at or after from_us
  std::uint64_t strikes_{};
};

class link_faults {
 public:
  struct verdict {
    bool lost{};       ///< never arrives; its buffer space is free again
    bool held{};       ///< stays where it is, and so does its buffer space
    bool twice{};      ///< arrives, and once more when there is room
    sim_time delay;    ///< added to the first flit
    sim_time stretch;  ///< delay that is also added to the last flit
  };

  /// `flit_time`: of one flit on this link, for link_degraded.
  link_faults(const std::vector<config::placed_fault>& faults, const std::string& place, sim_time flit_time);

  /// A packet whose first flit is announced for `head`, its last for `tail`. May change `data`.
  [[nodiscard]] verdict pass(const abi::packet_header& header, std::vector<std::byte>& data,
                             std::uint32_t flits, sim_time head, sim_time tail);
  /// Tallies of all faults here, in the order given.
  [[nodiscard]] std::vector<config::fault_tally> tallies() const;

 private:
  void buffer_end(const fault_trigger& fault, const abi::packet_header& header, sim_time head, verdict& v);
  void keep_in_order(sim_time head, sim_time tail, verdict& v);
  void degrade(const config::fault_setting& f, std::uint32_t flits, sim_time head, sim_time tail, verdict& v);

  std::vector<fault_trigger> triggers_;
  sim_time flit_time_;
  sim_time free_;  ///< link_degraded: from when on the slow wire is free
  /// late_credit, from its first effect on: arrival of the first and last flit of the last credit.
  struct arrival {
    sim_time head, tail;
  };
  std::optional<arrival> last_credit_;
  /// premature_barrier: by number of the fault and sender.
  std::map<std::pair<std::size_t, abi::node_address>, sim_time> buffered_until_;
};

}  // namespace diecast::protocol
