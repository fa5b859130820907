// SPDX-License-Identifier: Apache-2.0
// Chunks of tensors: every element of every block is in exactly one chunk, at the place where a smaller
// collective of the same kind has it.
#include <algorithm>
#include <vector>

#include "models/comm/hbm_tensor.hpp"
#include "support/test.hpp"

namespace diecast::comm {
namespace {

using pieces = std::vector<staged_piece>;

TEST_CASE("a vector without blocks is cut into ranges") {
  const tensor_chunks c({collective::all_reduce, 10, 3}, 4);
  CHECK(c.chunks() == 3);
  CHECK(c.elements(0) == 4);
  CHECK(c.elements(2) == 2);
  CHECK(c.input(1, 2, block_set::all) == pieces{{4, 0, 4}});
  CHECK(c.output(2, 0, block_set::all) == pieces{{8, 0, 2}});
  CHECK(c.input(0, 0, block_set::none).empty());
}

TEST_CASE("a chunk of blocks is the same piece of every block") {
  // Blocks of 3, 4, 3, 4 elements: [0, 3) [3, 7) [7, 10) [10, 14).
  const tensor_chunks c({collective::all_gather, 14, 4}, 3);
  CHECK(c.chunks() == 2);
  CHECK(c.elements(0) == 12);
  CHECK(c.elements(1) == 2);
  CHECK(c.input(0, 1, block_set::own) == pieces{{3, 3, 3}});
  CHECK(c.output(0, 1, block_set::others) == pieces{{0, 0, 3}, {7, 6, 3}, {10, 9, 3}});
  // Only the longer blocks reach into the last chunk.
  CHECK(c.output(1, 1, block_set::all) == pieces{{6, 0, 1}, {13, 1, 1}});
  CHECK(c.input(1, 0, block_set::own).empty());
}

TEST_CASE("the output of all_to_all has a block of the own size from every rank") {
  const tensor_chunks c({collective::all_to_all, 14, 4}, 3);
  // Rank 3 has 4 elements of each rank, 3 of them in chunk 0.
  CHECK(c.output(0, 3, block_set::all) == pieces{{0, 0, 3}, {4, 3, 3}, {8, 6, 3}, {12, 9, 3}});
  CHECK(c.output(1, 3, block_set::all) == pieces{{3, 0, 1}, {7, 1, 1}, {11, 2, 1}, {15, 3, 1}});
  CHECK(c.output(1, 0, block_set::all).empty());
}

TEST_CASE("nothing is one empty chunk") {
  for (const collective what : {collective::all_reduce, collective::reduce_scatter}) {
    const tensor_chunks c({what, 0, 3}, 5);
    CHECK(c.chunks() == 1);
    CHECK(c.elements(0) == 0);
    CHECK(c.input(0, 1, block_set::all).empty());
  }
}

/// How often each element of a tensor is in a chunk.
std::vector<int> covered(const tensor_chunks& c, const collective_shape& s, std::uint32_t rank, bool output) {
  std::vector<int> times(output ? output_elements({s.what, s.count, s.ranks, rank}, rank) : s.count);
  for (std::uint64_t k = 0; k < c.chunks(); ++k) {
    std::uint64_t filled = 0;
    for (const staged_piece& p :
         output ? c.output(k, rank, block_set::all) : c.input(k, rank, block_set::all)) {
      CHECK(p.in_chunk == filled);  // nothing between the pieces
      filled += p.count;
      for (std::uint64_t i = 0; i < p.count; ++i) ++times.at(p.in_tensor + i);
    }
    // A smaller collective of the same kind.
    const collective_shape smaller{s.what, c.elements(k), s.ranks, rank};
    CHECK(filled == (output ? output_elements(smaller, rank) : smaller.count));
  }
  return times;
}

TEST_CASE("every element is in one chunk, for any count, ranks and piece") {
  for (const collective what : {collective::all_reduce, collective::reduce_scatter, collective::all_to_all}) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
      for (const std::uint64_t count : {0u, 1u, 2u, 7u, 16u, 41u, 100u}) {
        for (const std::uint64_t piece : {1u, 2u, 3u, 7u, 200u}) {
          const collective_shape s{what, count, ranks};
          const tensor_chunks c(s, piece);
          for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const auto input = covered(c, s, rank, false);
            CHECK(std::all_of(input.begin(), input.end(), [](int n) { return n == 1; }));
            if (what != collective::all_to_all) continue;
            const auto output = covered(c, s, rank, true);
            CHECK(std::all_of(output.begin(), output.end(), [](int n) { return n == 1; }));
          }
        }
      }
    }
  }
}

TEST_CASE("in place, what lies where it belongs is not moved") {
  using enum block_set;
  const auto of = [](collective what, std::uint32_t rank, bool in_place) {
    return staged_blocks_of({what, 64, 4, 1}, rank, in_place);
  };
  CHECK(of(collective::all_gather, 0, true) == staged_blocks{own, others});
  CHECK(of(collective::all_gather, 0, false) == staged_blocks{own, all});
  CHECK(of(collective::broadcast, 1, true) == staged_blocks{all, none});
  CHECK(of(collective::broadcast, 1, false) == staged_blocks{all, all});
  CHECK(of(collective::broadcast, 0, true) == staged_blocks{none, all});
  CHECK(of(collective::gather, 1, true) == staged_blocks{none, others});
  CHECK(of(collective::gather, 2, true) == staged_blocks{own, none});
  CHECK(of(collective::scatter, 1, true) == staged_blocks{others, none});
  CHECK(of(collective::scatter, 1, false) == staged_blocks{all, own});
  CHECK(of(collective::reduce, 0, true) == staged_blocks{all, none});
  CHECK(of(collective::reduce, 1, true) == staged_blocks{all, all});
}

TEST_CASE("stripes go round the ports, and ranges are cut at them") {
  const hbm_tensor t{1000, 3, 64};
  std::vector<std::uint64_t> at, sizes;
  t.for_stripes(60, 140, [&](abi::address a, std::uint64_t done, std::uint64_t bytes) {
    CHECK(done == (sizes.empty() ? 0 : 4 + 64 * (sizes.size() - 1)));
    at.push_back(a);
    sizes.push_back(bytes);
  });
  CHECK(sizes == std::vector<std::uint64_t>{4, 64, 64, 8});
  CHECK(at == std::vector<std::uint64_t>{1060, 1000 + port_stride, 1000 + 2 * port_stride, 1064});
}

home_ports home_of(const config::machine_config& c, pe_coord pe) {
  return home_ports_of(c, config::memory_channels{c}, pe);
}

TEST_CASE("the ports of a cube are shared out among its PEs") {
  config::machine_config c;
  c.cube.pes = 8;
  c.hbm.ports = 16;
  CHECK(home_of(c, {sip_id{0}, cube_id{0}, pe_id{7}}).first == 14);
  CHECK(home_of(c, {sip_id{0}, cube_id{0}, pe_id{7}}).count == 2);
  c.hbm.ports = 20;  // 2 or 3 each, none twice
  std::uint32_t next = 0;
  for (std::uint32_t p = 0; p < 8; ++p) {
    const home_ports h = home_of(c, {sip_id{0}, cube_id{0}, pe_id{p}});
    CHECK(h.first == next);
    CHECK(h.slices == 1);
    next += h.count;
  }
  CHECK(next == 20);
  c.hbm.ports = 3;
  const home_ports last = home_of(c, {sip_id{0}, cube_id{0}, pe_id{7}});
  CHECK(last.first == 2);
  CHECK(last.slice == 1);
  CHECK(last.slices == 3);
}

}  // namespace
}  // namespace diecast::comm
