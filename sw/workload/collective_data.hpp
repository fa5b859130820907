// SPDX-License-Identifier: Apache-2.0
// The data of one collective: what every rank contributes, and whether what it has got is right.
#pragma once

#include <cstdint>
#include <vector>

#include "models/abi/host_hal.hpp"
#include "models/abi/launch.hpp"
#include "models/events/fingerprint.hpp"
#include "models/random/test_data.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

class collective_data {
 public:
  collective_data(std::uint64_t seed, const kernel_entry& kernel, const argument_context& launch);

  /// Through the host's backdoor; `host` is the one of the rank's SIP.
  void write_input(abi::host_hal& host, std::uint32_t rank, const abi::kernel_arguments& a);
  /// Elements of the rank's output that are wrong; its bytes join the fingerprint.
  [[nodiscard]] std::uint64_t count_wrong(abi::host_hal& host, std::uint32_t rank,
                                          const abi::kernel_arguments& a,
                                          events::run_fingerprint& fingerprint);
  /// Every rank has been looked at.
  [[nodiscard]] bool complete() const { return checked_ == members_.members.size(); }

 private:
  const comm::group& members_;
  numeric::dtype type_;
  random::test_data data_;
  std::vector<std::byte> expected_;
  std::vector<double> bounds_;
  std::size_t checked_{};
};

}  // namespace diecast::sw
