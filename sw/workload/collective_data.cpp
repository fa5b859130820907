// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/collective_data.hpp"

#include "models/golden/all_reduce.hpp"
#include "models/golden/compare.hpp"
#include "sw/host/collective.hpp"

namespace diecast::sw {

collective_data::collective_data(std::uint64_t seed, const kernel_entry&, const argument_context& launch)
    : members_(launch.members),
      type_(launch.type),
      data_(seed, launch.type, launch.op, static_cast<std::uint32_t>(members_.members.size()), launch.count),
      expected_(launch.count * numeric::size_of(launch.type)) {
  golden::all_reduce right(launch.type, launch.op, launch.count);
  std::vector<std::byte> contribution(expected_.size());
  for (std::uint32_t rank = 0; rank < members_.members.size(); ++rank) {
    data_.fill(rank, contribution);
    right.add(contribution);
  }
  right.result(expected_);
  if (data_.exact()) return;
  bounds_.resize(launch.count);
  data_.error_bounds(bounds_);
}

void collective_data::write_input(abi::host_hal& host, std::uint32_t rank, const abi::kernel_arguments& a) {
  std::vector<std::byte> bytes(expected_.size());
  data_.fill(rank, bytes);
  write_tcm(host, members_.members[rank], a.input, bytes);
}

std::uint64_t collective_data::count_wrong(abi::host_hal& host, std::uint32_t rank,
                                           const abi::kernel_arguments& a,
                                           events::run_fingerprint& fingerprint) {
  std::vector<std::byte> got(expected_.size());
  read_tcm(host, members_.members[rank], a.output, got);
  fingerprint.add_bytes("collective", got);
  ++checked_;
  return bounds_.empty() ? golden::count_wrong(type_, got, expected_)
                         : golden::count_beyond(type_, got, expected_, bounds_);
}

}  // namespace diecast::sw
