// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/teams.hpp"

#include <fmt/format.h>
#include <span>
#include <utility>

#include "sw/runtime/firmware_trap.hpp"

namespace diecast::sw {

using abi::firmware_count;

core_group::core_group(abi::hal& hal, signal_port& signals, std::vector<sync_peer> cores, std::uint32_t me,
                       std::uint64_t counter_offset)
    : hal_(hal), signals_(signals), cores_(std::move(cores)), me_(me), counter_offset_(counter_offset) {
  constexpr std::uint64_t most = std::uint64_t{1} << comm::core_barrier_rounds;
  if (cores_.empty() || me_ >= cores_.size() || cores_.size() > most) {
    throw firmware_trap(hal.self(), fmt::format("core {} of a rank of {} cores (expected 1 to {} cores)", me_,
                                                cores_.size(), most));
  }
  if (size() == 1) return;
  std::uint64_t word = 0;
  hal_.load(counter_offset_, std::as_writable_bytes(std::span{&word, 1}));
  counter_ = static_cast<std::uint32_t>(word);
}

pe_coord core_group::neighbor(pe_coord first, std::uint32_t core) const {
  const pe_coord here = cores_[0].pe, there = cores_[core].pe;
  return {first.sip, cube_id{first.cube.value + there.cube.value - here.cube.value},
          pe_id{first.pe.value + there.pe.value - here.pe.value}};
}

void core_group::barrier(const before_wait& tell) {
  const std::uint32_t n = size();
  if (n == 1) return;
  const std::uint32_t count = counter_ + 1;
  for (std::uint32_t round = 0, reach = 1; reach < n; ++round, reach *= 2) {
    const std::uint32_t to = (me_ + reach) % n, from = (me_ + n - reach) % n;
    signals_.set(comm::core_flag(cores_[to].home, round), count);
    hal_.count(firmware_count::core_signals_set, 1);
    tell(round, cores_[from].pe);
    signals_.wait_for_barrier(comm::core_flag(cores_[me_].home, round), count, cores_[from].pe);
    hal_.count(firmware_count::core_flags_checked, 1);
  }
  counter_ = count;
  const std::uint64_t word = count;
  hal_.store(counter_offset_, std::as_bytes(std::span{&word, 1}));
}

}  // namespace diecast::sw
