// SPDX-License-Identifier: Apache-2.0
// All-to-all. pairwise: n-1 rounds, in round s every rank sends to rank + s and receives from rank - s.
// direct: the same exchanges all at once. bruck: block i of a rank (the one for rank + i)
// travels 2^k ranks on in round k where bit k of i is set; ceil(log2 n) rounds, each with about half of
// all blocks, packed (Bruck et al. 1997).
#include <algorithm>
#include <functional>
#include <vector>

#include "models/abi/address.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/collectives/levels/level_rings.hpp"

namespace diecast::sw {
namespace all_to_all_kernel {

using arrival = pe_context::arrival;

/// Input: a block for every rank; output: a block of this rank's size from every rank.
struct all_blocks {
  explicit all_blocks(pe_context& pe)
      : input(pe, pe.args().input), output(pe.args().output), bytes(input.block(pe.args().rank).bytes) {}
  [[nodiscard]] tcm_range to(std::uint32_t rank) const { return input.block(rank); }
  [[nodiscard]] tcm_range from(std::uint32_t rank) const { return {output + rank * bytes, bytes}; }

  block_vector input;
  std::uint64_t output;
  std::uint64_t bytes;  ///< bytes of every block of the output
};

void copy(pe_context& pe, std::uint64_t to, const tcm_range& from) {
  if (from.bytes > 0) pe.copy(to, from.at, from.bytes);
}

void exchange_with(pe_context& pe, const all_blocks& b, std::uint32_t distance) {
  const abi::kernel_arguments& a = pe.args();
  pe.exchange(comm::ahead(distance), b.to(around(a.rank, distance, a.ranks)), comm::ahead(a.ranks - distance),
              b.from(around(a.rank, -std::int64_t{distance}, a.ranks)), arrival::copy);
}

/// The own block is copied while the others are in flight.
void beside_own_block(pe_context& pe, const all_blocks& b, const std::function<void()>& exchanges) {
  const std::uint32_t own = pe.args().rank;
  pe.run_tasks({exchanges, [&] { copy(pe, b.from(own).at, b.to(own)); }});
}

void run_pairwise(pe_context& pe) {
  const all_blocks b(pe);
  const abi::kernel_arguments& a = pe.args();
  const auto rounds = [&] {
    for (std::uint32_t s = 1; s < a.ranks; ++s) {
      pe.step("all_to_all", s - 1);
      exchange_with(pe, b, s);
    }
  };
  beside_own_block(pe, b, rounds);
}

void run_direct(pe_context& pe) {
  const all_blocks b(pe);
  const abi::kernel_arguments& a = pe.args();
  std::vector<pe_context::pipeline> pipelines;
  for (std::uint32_t s = 1; s < a.ranks; ++s) {
    const tcm_range sent = b.to(around(a.rank, s, a.ranks));
    const tcm_range received = b.from(around(a.rank, -std::int64_t{s}, a.ranks));
    pipelines.push_back({{comm::ahead(s)},
                         {{sent.at, sent.bytes}},
                         {comm::ahead(a.ranks - s)},
                         {{received.at, received.bytes, arrival::copy}}});
  }
  beside_own_block(pe, b, [&] { pe.stream(pipelines, "all_to_all"); });
}

/// Blocks of equal size, those of ranks with a smaller part padded. Block i lies at place (rank + i)
/// modulo n, so that nothing is rotated.
class bruck {
 public:
  explicit bruck(pe_context& pe)
      : pe_(pe),
        n_(pe.args().ranks),
        rank_(pe.args().rank),
        stride_((pe.args().count + n_ - 1) / n_ * numeric::size_of(pe.args().type)),
        places_(pe.args().scratch),
        packed_(places_ + n_ * stride_),
        arrived_(packed_ + (n_ / 2 + 1) * stride_) {}

  void run() {
    const all_blocks b(pe_);
    spread_blocks(pe_, b.input, places_, stride_);
    for (std::uint32_t k = 0; k < comm::circulant_levels(n_); ++k) {
      pe_.step("all_to_all", k);
      const std::uint64_t bytes =
          for_runs(k, [this](std::uint64_t place, std::uint64_t at, std::uint64_t size) {
            pe_.copy(packed_ + at, place, size);
          });
      pe_.exchange(comm::up(k), {packed_, bytes}, comm::down(k), {arrived_, bytes}, arrival::copy);
      for_runs(k, [this](std::uint64_t place, std::uint64_t at, std::uint64_t size) {
        pe_.copy(place, arrived_ + at, size);
      });
    }
    for (std::uint32_t i = 0; i < n_; ++i) {
      const tcm_range to = b.from(around(rank_, -std::int64_t{i}, n_));
      copy(pe_, to.at, {place_of(i), to.bytes});
    }
  }

 private:
  [[nodiscard]] std::uint64_t place_of(std::uint32_t block) const {
    return places_ + around(rank_, block, n_) * stride_;
  }

  /// Calls use(place, packed offset, bytes) for the runs of blocks whose number has bit k; returns the bytes
  /// of all.
  std::uint64_t for_runs(std::uint32_t k,
                         const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& use) const {
    const std::uint32_t length = std::uint32_t{1} << k;
    std::uint64_t at = 0;
    for (std::uint32_t first = length; first < n_; first += 2 * length) {
      std::uint32_t left = std::min(length, n_ - first);
      for (std::uint32_t block = first; left > 0;) {
        const std::uint32_t until_wrap = std::min(left, n_ - around(rank_, block, n_));
        const std::uint64_t size = until_wrap * stride_;
        if (size > 0) use(place_of(block), at, size);
        at += size;
        block += until_wrap;
        left -= until_wrap;
      }
    }
    return at;
  }

  pe_context& pe_;
  std::uint32_t n_, rank_;
  std::uint64_t stride_;
  std::uint64_t places_, packed_, arrived_;
};

void run_bruck(pe_context& pe) { bruck(pe).run(); }

std::uint64_t bruck_scratch(const argument_context& c) {
  const std::uint64_t n = c.members.members.size();
  const std::uint64_t stride = (c.count + n - 1) / n * numeric::size_of(c.type);
  return (n + 2 * (n / 2 + 1)) * stride;
}

}  // namespace all_to_all_kernel

// All-to-all on the grid of comm::sip_rows: directly to all members of the own SIP, and all blocks for
// another SIP to the member in the own column there, which forwards them within it.

namespace all_to_all_two_level_kernel {

using arrival = pe_context::arrival;
using pipelines = std::vector<pe_context::pipeline>;

class grid_all_to_all {
 public:
  explicit grid_all_to_all(pe_context& pe)
      : pe_(pe),
        place_(pe.args().own.get<comm::sip_rows>(), pe.args().rank),
        input_(pe, pe.args().input),
        own_bytes_(input_.block(pe.args().rank).bytes) {}

  void run() {
    pipelines first;
    for (std::uint32_t d = 1; d < place_.grid.rows; ++d) first.push_back(to_column(d));
    add_row(first, 0);
    pe_.stream(first, "own_row");
    for (std::uint32_t d = 1; d < place_.grid.rows; ++d) {
      pipelines more;
      add_row(more, d);
      pe_.stream(more, "other_rows");
      copy(from(place_.grid.rank_at(place_.row_on(-std::int64_t{d}), place_.column)), kept(d, place_.column));
    }
    copy(from(pe_.args().rank), input_.block(pe_.args().rank));
  }

 private:
  /// All blocks for the members of a row.
  [[nodiscard]] tcm_range for_row(std::uint32_t row) const {
    return input_.blocks_from(place_.grid.rank_at(row, 0), place_.grid.columns)[0];
  }
  /// Place of the blocks from `d` rows back, which arrived for all members of this row; of them, the one for
  /// a column.
  [[nodiscard]] tcm_range kept(std::uint32_t d) const {
    const std::uint64_t bytes = for_row(place_.row).bytes;
    return {pe_.args().scratch + (d - 1) * bytes, bytes};
  }
  [[nodiscard]] tcm_range kept(std::uint32_t d, std::uint32_t column) const {
    const tcm_range block = input_.block(place_.grid.rank_at(place_.row, column));
    return {kept(d).at + block.at - for_row(place_.row).at, block.bytes};
  }
  [[nodiscard]] tcm_range from(std::uint32_t rank) const {
    return {pe_.args().output + rank * own_bytes_, own_bytes_};
  }
  void copy(const tcm_range& to, const tcm_range& source) {
    if (source.bytes > 0) pe_.copy(to.at, source.at, source.bytes);
  }

  [[nodiscard]] pe_context::pipeline to_column(std::uint32_t d) const {
    const tcm_range sent = for_row(place_.row_on(d));
    const tcm_range received = kept(d);
    return {{comm::column_ahead(d)},
            {{sent.at, sent.bytes}},
            {comm::column_ahead(place_.grid.rows - d)},
            {{received.at, received.bytes, arrival::copy}}};
  }

  /// Exchange within the row of the blocks from `rows_back` rows back; 0: those of this row's own members.
  void add_row(pipelines& to, std::uint32_t rows_back) const {
    const std::uint32_t source_row = place_.row_on(-std::int64_t{rows_back});
    for (std::uint32_t d = 1; d < place_.grid.columns; ++d) {
      const std::uint32_t column = place_.column_on(d);
      const tcm_range sent =
          rows_back == 0 ? input_.block(place_.grid.rank_at(place_.row, column)) : kept(rows_back, column);
      const tcm_range received = from(place_.grid.rank_at(source_row, place_.column_on(-std::int64_t{d})));
      to.push_back({{comm::row_ahead(place_.grid, d)},
                    {{sent.at, sent.bytes}},
                    {comm::row_ahead(place_.grid, place_.grid.columns - d)},
                    {{received.at, received.bytes, arrival::copy}}});
    }
  }

  pe_context& pe_;
  grid_place place_;
  block_vector input_;
  std::uint64_t own_bytes_;
};

void run(pe_context& pe) { grid_all_to_all(pe).run(); }

/// What the members of the own column in the other SIPs send for this SIP: (rows - 1) times the largest share
/// of a row.
std::uint64_t forward_scratch(const argument_context& c) {
  const comm::sip_rows g = comm::sip_rows_of(c.members);
  const std::uint64_t share = (c.count / g.rows + 1) * numeric::size_of(c.type);
  return (g.rows - 1) * abi::aligned(share);
}

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  a.own.set(comm::sip_rows_of(c.members));
}

}  // namespace all_to_all_two_level_kernel

kernel_table all_to_all_kernels() {
  using namespace all_to_all_kernel;
  return {{"bruck", "all_to_all",
           "half of all blocks to the distance of one bit in every round, any number of ranks",
           "circulant_unidir", any_ranks, run_bruck, bruck_scratch, nullptr},
          {"pairwise", "all_to_all", "one partner per round", "pairwise", any_ranks, run_pairwise,
           without_scratch, nullptr},
          {"direct", "all_to_all", "all partners at once", "pairwise", any_ranks, run_direct, without_scratch,
           nullptr},
          {"two_level", "all_to_all",
           "directly within a SIP; to another SIP through the member at the same position there",
           "two_level_direct", any_ranks, all_to_all_two_level_kernel::run,
           all_to_all_two_level_kernel::forward_scratch, all_to_all_two_level_kernel::fill}};
}

}  // namespace diecast::sw
