// SPDX-License-Identifier: Apache-2.0
#include "models/timing/servers.hpp"

namespace diecast::timing {

std::uint64_t bank_array::serve(std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t banks = free_.size();
  const std::uint64_t first = offset / bank_bytes_;
  const std::uint64_t count = blocks(offset, bytes);
  busy_bank_cycles_ += count;
  // Every bank gets count / banks blocks, the first count % banks banks one more.
  const std::uint64_t each = count / banks;
  const std::uint64_t more = count % banks;
  std::uint64_t bank = first % banks;
  if (latest_ <= at || latest_ == all_free_) {  // all banks from one cycle on
    const std::uint64_t from = std::max(at, latest_);
    if (each > 0) all_free_ = from + each;
    for (std::uint64_t i = 0; i < more; ++i, bank = next_bank(bank)) free_[bank] = from + each + 1;
    return latest_ = from + each + (more > 0 ? 1 : 0);
  }
  std::uint64_t finish = at;
  for (std::uint64_t i = 0; i < std::min(count, banks); ++i, bank = next_bank(bank)) {
    free_[bank] = std::max({free_[bank], all_free_, at}) + each + (i < more ? 1 : 0);
    finish = std::max(finish, free_[bank]);
  }
  latest_ = std::max(latest_, finish);
  return finish;
}

}  // namespace diecast::timing
