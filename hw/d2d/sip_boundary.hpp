// SPDX-License-Identifier: Apache-2.0
// Replaces the far end of a link whose other SIP another process simulates: messages leave as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "hw/d2d/sip_message.hpp"

namespace diecast::hw {

/// Where messages to other processes go: the channel they travel on, and their bytes.
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
