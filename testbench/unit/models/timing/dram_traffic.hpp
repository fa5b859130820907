// SPDX-License-Identifier: Apache-2.0
// The traffic of the reference measurements (testbench/data/hbm/README.md) as bursts for a command
// scheduler, from the generator that diecast-hbm uses.
#pragma once

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "dram_replay.hpp"
#include "models/timing/dram.hpp"
#include "models/traffic/memory_pattern.hpp"

namespace diecast::test {

struct dram_traffic {
  std::string_view name;
  traffic::memory_pattern pattern{};
  double read_fraction{};
  std::uint64_t stride_bytes{};
};

inline constexpr std::array reference_traffic{
    dram_traffic{"seq_read", traffic::memory_pattern::seq, 1, 0},
    dram_traffic{"seq_write", traffic::memory_pattern::seq, 0, 0},
    dram_traffic{"mix50_seq", traffic::memory_pattern::seq, 0.5, 0},
    dram_traffic{"rand_read", traffic::memory_pattern::rand, 1, 0},
    dram_traffic{"rand_write", traffic::memory_pattern::rand, 0, 0},
    dram_traffic{"mix50_rand", traffic::memory_pattern::rand, 0.5, 0},
    dram_traffic{"bank_conflict", traffic::memory_pattern::bank_conflict, 1, 0},
    dram_traffic{"same_bank_hit", traffic::memory_pattern::same_bank_hit, 1, 0},
    dram_traffic{"page_stride", traffic::memory_pattern::page_stride, 1, 0},
};

/// Beyond the reference: mixes where it has reads alone, and strides of a row and of a row of all banks.
inline constexpr std::array more_traffic{
    dram_traffic{"mix50_bank_conflict", traffic::memory_pattern::bank_conflict, 0.5, 0},
    dram_traffic{"mix50_same_bank_hit", traffic::memory_pattern::same_bank_hit, 0.5, 0},
    dram_traffic{"mix50_page_stride", traffic::memory_pattern::page_stride, 0.5, 0},
    dram_traffic{"stride_row", traffic::memory_pattern::stride, 0.8, 1 << 16},
    dram_traffic{"stride_bank", traffic::memory_pattern::stride, 0.8, 8192 + 32},
};

/// `n` single bursts. Addresses are those of the plain address map; the block's own map, with its bank hash,
/// says where they lie: a hash moves them to other banks.
inline std::vector<dram_request> make_traffic(const dram_traffic& t, const config::hbm_block& h,
                                              std::uint64_t n) {
  config::hbm_block unhashed = h;
  unhashed.bank_hash = config::hbm_bank_hash::none;
  const timing::dram_address_map plain(unhashed), own(h);
  traffic::memory_geometry g;
  g.pseudo_channels = h.pseudo_channels;
  g.bank_groups = h.bank_groups;
  g.banks = h.banks_per_group;
  g.sids = h.sids;
  g.rows = plain.rows();
  g.columns = plain.columns();
  g.burst_bytes = h.burst_bytes;
  g.address_of = [&plain](const traffic::burst_place& p) {
    return plain.encode({p.pseudo_channel, p.sid, p.bank_group, p.bank, p.row, p.column});
  };
  traffic::pattern_requests source(
      g, {t.pattern, t.stride_bytes, n, static_cast<std::uint32_t>(h.burst_bytes), t.read_fraction, 1,
          "hbm.traffic0"});
  std::vector<dram_request> requests;
  traffic::memory_request r;
  while (source.next(r)) {
    dram_request d;
    d.burst.at = own.decode(r.address);
    d.burst.write = r.write;
    requests.push_back(d);
  }
  return requests;
}

}  // namespace diecast::test
