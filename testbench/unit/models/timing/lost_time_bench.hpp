// SPDX-License-Identifier: Apache-2.0
// Traffic served by a scheduler, and its account of lost time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "dram_blocks.hpp"
#include "models/timing/fr_fcfs.hpp"
#include "models/timing/lost_time.hpp"
#include "support/test.hpp"

namespace diecast::test {

using namespace diecast::timing;

using pattern = std::function<dram_burst(std::uint64_t k, const dram_parameters& p)>;

inline constexpr std::uint32_t rows = 16'384;
inline constexpr std::uint32_t columns = 32;

/// Counter-based: the k-th draw of a stream is always the same.
inline std::uint32_t draw(std::uint64_t k, std::uint32_t stream, std::uint32_t below) {
  std::uint64_t z = k * 8 + stream + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) % below);
}

inline dram_burst sequential(std::uint64_t k, const dram_parameters& p) {
  dram_burst b;
  const auto digit = [&k](std::uint32_t radix) {
    const auto d = static_cast<std::uint32_t>(k % radix);
    k /= radix;
    return d;
  };
  b.at.pseudo_channel = digit(p.pseudo_channels);
  b.at.bank_group = digit(p.bank_groups);
  b.at.column = digit(columns);
  b.at.bank = digit(p.banks_per_group);
  b.at.sid = digit(p.sids);
  b.at.row = digit(rows);
  return b;
}

inline dram_burst uniform(std::uint64_t k, const dram_parameters& p) {
  const dram_location at{draw(k, 0, p.pseudo_channels), draw(k, 1, p.sids), draw(k, 2, p.bank_groups),
                         draw(k, 3, p.banks_per_group), draw(k, 4, rows),   draw(k, 5, columns)};
  return {0, at, false};
}

/// One burst per row, over all banks in turn.
inline dram_burst page_stride(std::uint64_t k, const dram_parameters& p) {
  return sequential(k / p.pseudo_channels / p.bank_groups * p.pseudo_channels * p.bank_groups * columns +
                        k % (std::uint64_t{p.pseudo_channels} * p.bank_groups),
                    p);
}

inline dram_burst bank_conflict(std::uint64_t k, const dram_parameters&) {
  dram_burst b;
  b.at.row = static_cast<std::uint32_t>(k % rows);
  return b;
}

inline dram_burst same_bank_hit(std::uint64_t k, const dram_parameters& p) {
  dram_burst b;
  b.at.pseudo_channel = static_cast<std::uint32_t>(k % p.pseudo_channels);
  b.at.column = static_cast<std::uint32_t>(k / p.pseudo_channels % columns);
  return b;
}

/// Addresses of every `bursts`-th burst, in the default address map.
inline pattern stride(std::uint64_t bursts) {
  return [bursts](std::uint64_t k, const dram_parameters& p) { return sequential(k * bursts, p); };
}

inline pattern half_writes(pattern of) {
  return [of = std::move(of)](std::uint64_t k, const dram_parameters& p) {
    dram_burst b = of(k, p);
    b.write = draw(k, 6, 2) != 0;
    return b;
  };
}

inline pattern writes(pattern of) {
  return [of = std::move(of)](std::uint64_t k, const dram_parameters& p) {
    dram_burst b = of(k, p);
    b.write = true;
    return b;
  };
}

struct outcome {
  double ns{};
  lost_time_report lost;
  [[nodiscard]] double share(lost_cause c) const { return lost.share(c); }
};

/// interval 0: as fast as the queues take them.
inline outcome serve(const config::hbm_block& h, const pattern& of, std::uint64_t n = 30'000,
                     dram_tick interval = 0) {
  const dram_parameters p = make_dram_parameters(h);
  dram_scheduler scheduler(p);
  std::vector<served_burst> served;
  dram_tick now = 0;
  for (std::uint64_t k = 0; k < n; ++k) {
    const dram_burst b = of(k, p);
    if (interval != 0) {
      now = k * interval;
      scheduler.run(now, served);
    }
    if (!scheduler.has_room(b.write)) now = scheduler.run_until_room(b.write, served);
    scheduler.push(b, now);
  }
  while (scheduler.waiting() != 0) scheduler.run(scheduler.next_tick(), served);
  for (const served_burst& s : served) now = std::max(now, s.done);
  scheduler.run(now, served);
  CHECK(served.size() == n);
  return {(p.tick * now).ns(), scheduler.lost(now)};
}

using change = std::function<void(config::hbm_block&)>;

}  // namespace diecast::test
