// SPDX-License-Identifier: Apache-2.0
// In which order copies between tensors in HBM and chunks in TCM are started.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/address.hpp"

namespace diecast::sw {

/// A copy of the DMA between a tensor in HBM and a chunk of it in TCM.
struct staged_copy {
  abi::address from{}, to{};
  std::uint64_t bytes{};
  std::uint64_t port{};  ///< index among the ports of its tensor
};

/// Orders copies that go out and come in by turns, over `ports`: all of one port after those of another,
/// results from port 0 on, inputs from half of the ports on. A port that has reads and writes by turns loses
/// time at each. Copies that go one way alone stay as they are: one port is slower than the network
/// interface.
void keep_ports_apart(std::vector<staged_copy>& out, std::vector<staged_copy>& in, std::uint64_t ports);

}  // namespace diecast::sw
