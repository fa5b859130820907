// SPDX-License-Identifier: Apache-2.0
#include "models/timing/servers.hpp"

namespace diecast::timing {

std::uint64_t bank_array::serve(std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t banks = free_.size();
  const std::uint64_t first = offset / bank_bytes_;
  const std::uint64_t count = blocks(offset, bytes);
  busy_bank_cycles_ += count;
  // Every bank gets count / banks of them, the first count % banks banks one more.
  const std::uint64_t touched = std::min(count, banks);
  std::uint64_t finish = at;
  for (std::uint64_t i = 0; i < touched; ++i) {
    std::uint64_t& free = free_[(first + i) % banks];
    free = std::max(free, at) + count / banks + (i < count % banks ? 1 : 0);
    finish = std::max(finish, free);
  }
  return finish;
}

}  // namespace diecast::timing
