// SPDX-License-Identifier: Apache-2.0
// Messages between the two ends of a SIP link: plain values with arrival times and without pointers,
// so that the ends may be in different processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <systemc>
#include <utility>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/types/archive.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

struct sip_message {
  enum class kind : std::uint8_t { packet, credit };
  kind what{kind::packet};
  std::uint8_t vc{};
  std::uint32_t flits{};
  sim_time head;     ///< arrival of the first flit; credit: when it is usable
  sim_time tail;     ///< arrival of the last flit
  sim_time created;  ///< a credit: when it left
  // Set for packets only.
  abi::packet_header header;
  std::vector<std::byte> data;
  bool operator==(const sip_message&) const = default;
  DIECAST_MEMBERS(what, vc, flits, head, tail, created, header, data)
};

/// The bytes of a message to another process of the same program.
[[nodiscard]] std::vector<std::byte> encode(const sip_message& m);
/// Throws protocol_error when the bytes are not exactly one message.
[[nodiscard]] sip_message decode_sip_message(std::span<const std::byte> bytes);

/// The far end of a link between SIPs. Times in a message are at least the link's latency after the call; the
/// callee keeps no reference to it.
class sip_link_if : public virtual sc_core::sc_interface {
 public:
  virtual void deliver(const sip_message& m) = 0;
};

// Replaces the far end of a link whose other SIP another process simulates: messages leave as bytes.

/// Sends a message to another process: the channel that it travels on, and its bytes.
using boundary_outlet = std::function<void(std::uint32_t channel, std::vector<std::byte> bytes)>;

class sip_boundary : public sip_link_if {
 public:
  /// `channel`: number of the outgoing link in the topology.
  sip_boundary(std::uint32_t channel, boundary_outlet outlet)
      : channel_(channel), outlet_(std::move(outlet)) {}

  void deliver(const sip_message& m) override { outlet_(channel_, encode(m)); }

 private:
  std::uint32_t channel_;
  boundary_outlet outlet_;
};

}  // namespace diecast::hw
