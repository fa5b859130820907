// SPDX-License-Identifier: Apache-2.0
// Counts checksum and order errors of the packets that pass one end of a link. The difference between the two
// ends shows whether the link caused them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "hw/base/packet.hpp"
#include "models/config/comm_block.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

class link_monitor {
 public:
  /// Checksums and the order of packets are compared only where packets carry checksums, and of packets that
  /// belong to a flow: not of answers to a tag-matching unit's reads, whose numbers are those of the
  /// requests.
  explicit link_monitor(config::packet_checksum checksum) : checksum_(checksum) {}

  /// `at`: when its first flit reaches the far end; of the sending side, as it is promised.
  void pass(const packet& p, sim_time at);

  struct counters {
    sim_time oldest_credit;        ///< from the release of a credit until it was here
    std::uint64_t corrupted{};     ///< packets of messages whose checksum is wrong
    std::uint64_t out_of_order{};  ///< packets of messages that do not follow the one before of their flow
  };
  [[nodiscard]] const counters& seen() const { return seen_; }

 private:
  /// Packets of one queue pair, or of one pair of tag-matching units.
  struct flow {
    abi::node_address source, destination;
    abi::packet_kind kind{};
    pe_coord sender;
    std::uint16_t direction{};
    auto operator<=>(const flow&) const = default;
  };
  /// Number of a message or packet, and the offset within it.
  struct place {
    std::uint64_t number{};
    std::uint64_t offset{};
    auto operator<=>(const place&) const = default;
  };
  [[nodiscard]] bool follows(const abi::packet_header& h);

  config::packet_checksum checksum_;
  std::map<flow, place> next_;
  counters seen_;
};

}  // namespace diecast::hw
