// SPDX-License-Identifier: Apache-2.0
// Passes round a ring: neighbors' lists agree, none of them waits for ever, and data comes where it belongs.
#include "sw/collectives/rings/ring_passes.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "support/test.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "unit/sw/collectives/base/moves_bench.hpp"

namespace diecast::test {
namespace {

constexpr std::uint64_t slot = 4, block_bytes = 10, pass_bytes = 1000;
using pipelines = std::vector<sw::pe_context::pipeline>;

/// What one pass after the other takes round a ring, as every member sees it.
struct ring_of_passes {
  std::uint32_t members{}, passes{}, apart{};
  bool sums{}, splits{};

  [[nodiscard]] sw::two_way_ring seen_by(std::uint32_t member) const {
    return {member, members, splits ? slot : 0};
  }
  /// The pipeline of way `w` of every member.
  [[nodiscard]] pipelines of_way(std::size_t w) const {
    pipelines all(members);
    for (std::uint32_t m = 0; m < members; ++m) (void)add(m, w, all[m]);
    return all;
  }
  std::vector<sw::pass_place> add(std::uint32_t member, std::size_t w,
                                  sw::pe_context::pipeline& pipeline) const {
    std::vector<sw::ring_pass> all;
    for (std::uint32_t i = 0; i < passes; ++i) {
      const auto block = [this, member, i](std::int64_t distance) {
        const std::uint64_t owner = sw::around(member, distance, members);
        return sw::tcm_range{pass_bytes * i + block_bytes * owner, block_bytes};
      };
      const auto nothing = [](std::int64_t) { return sw::awaited_stages{}; };
      all.push_back(sums ? sw::sum_pass(w, seen_by(member), block, nothing)
                         : sw::gather_pass(w, seen_by(member), block, {}));
    }
    const auto how = sums ? sw::pe_context::arrival::reduce : sw::pe_context::arrival::copy;
    return sw::schedule_passes(pipeline, all, how, apart);
  }
};

template <class Use>
void for_all(const Use& use) {
  for (std::uint32_t members = 1; members <= 9; ++members) {
    for (std::uint32_t passes = 1; passes <= 3; ++passes) {
      for (std::uint32_t apart = 0; apart <= 6; ++apart) {
        for (const bool sums : {false, true}) {
          for (const bool splits : {false, true}) use(ring_of_passes{members, passes, apart, sums, splits});
        }
      }
    }
  }
}

template <class Range>
std::vector<std::uint64_t> bytes_of(const std::vector<Range>& ranges) {
  std::vector<std::uint64_t> all;
  for (const Range& r : ranges) {
    for (std::uint64_t i = 0; i < r.bytes; ++i) all.push_back(r.offset + i);
  }
  return all;
}

TEST_CASE("a member of a ring receives what the one before sends, in that order") {
  for_all([](const ring_of_passes& ring) {
    for (std::size_t w = 0; w < 2; ++w) {
      const pipelines all = ring.of_way(w);
      for (std::uint32_t m = 0; m < ring.members; ++m) {
        const std::uint32_t next = sw::around(m, sw::ring_directions[w], ring.members);
        REQUIRE(bytes_of(all[m].sent) == bytes_of(all[next].received));
      }
    }
  });
}

TEST_CASE("both directions of a pass together bring a member every block but its own, once") {
  for_all([](const ring_of_passes& ring) {
    if (ring.sums) return;
    std::vector<std::uint64_t> came;
    for (std::size_t w = 0; w < 2; ++w) {
      const std::vector<std::uint64_t> bytes = bytes_of(ring.of_way(w)[0].received);
      came.insert(came.end(), bytes.begin(), bytes.end());
    }
    std::sort(came.begin(), came.end());
    REQUIRE(came.size() == block_bytes * ring.passes * (ring.members - 1));
    REQUIRE(std::adjacent_find(came.begin(), came.end()) == came.end());
  });
}

/// A byte at a time, in order, over a queue of `room` bytes to the next member. Returns whether all came.
bool ends(const pipelines& all, std::size_t w, std::size_t room) {
  const auto n = static_cast<std::uint32_t>(all.size());
  struct member {
    std::vector<std::uint64_t> sends;
    std::set<std::uint64_t> awaited, came;
    std::size_t sent{};
    std::deque<std::uint64_t> queue;
  };
  std::vector<member> members(n);
  for (std::uint32_t m = 0; m < n; ++m) {
    members[m].sends = bytes_of(all[m].sent);
    for (const std::uint64_t byte : bytes_of(all[m].received)) members[m].awaited.insert(byte);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t m = 0; m < n; ++m) {
      member& self = members[m];
      std::deque<std::uint64_t>& out = members[sw::around(m, sw::ring_directions[w], n)].queue;
      if (!self.queue.empty()) {
        self.came.insert(self.queue.front());
        self.queue.pop_front();
        moved = true;
      }
      if (self.sent == self.sends.size() || out.size() == room) continue;
      const std::uint64_t byte = self.sends[self.sent];
      if (self.awaited.contains(byte) && !self.came.contains(byte)) continue;
      out.push_back(byte);
      ++self.sent;
      moved = true;
    }
  }
  return std::all_of(members.begin(), members.end(),
                     [](const member& m) { return m.sent == m.sends.size() && m.came == m.awaited; });
}

TEST_CASE("passes that run into each other end, however short the queues") {
  for_all([](const ring_of_passes& ring) {
    for (std::size_t w = 0; w < 2; ++w) REQUIRE(ends(ring.of_way(w), w, 1));
  });
}

TEST_CASE("passes say where they are in the lists of a pipeline") {
  for (const std::uint32_t apart : {2u, 9u}) {
    const ring_of_passes ring{8, 2, apart, false, false};
    sw::pe_context::pipeline pipeline;
    const std::vector<sw::pass_place> places = ring.add(0, 0, pipeline);
    const std::uint64_t all = bytes_of(pipeline.received).size();
    CHECK(places[0].before == 0);
    // Of the first pass what comes before turn 2, one block; or all of it.
    CHECK(places[1].before == (apart == 2 ? 2 * block_bytes : all / 2));
    CHECK(places[1].through == all);
    CHECK(pipeline.received[static_cast<std::size_t>(places[0].last)].offset < pass_bytes);
    CHECK(places[1].last == std::ssize(pipeline.received) - 1);
  }
}

TEST_CASE("what a pass sends waits for its own parts behind its arrival") {
  const sw::two_way_ring ring{0, 5, 0};
  const auto block = [](std::int64_t distance) {
    return sw::tcm_range{static_cast<std::uint64_t>(distance + 5) * block_bytes, block_bytes};
  };
  sw::pe_context::pipeline gather;
  (void)sw::schedule_passes(gather, {sw::gather_pass(0, ring, block, {7, 2})}, sw::pe_context::arrival::copy,
                            0);
  CHECK(gather.sent[0].after[0].stage == -1);  // the own block has not come from anybody here
  CHECK(gather.sent[0].after[1].stage == 7);
  CHECK(gather.sent[0].after[1].pipeline == 2);
  CHECK(gather.sent[1].after[0].stage == 0);
  CHECK(gather.sent[1].after[1].stage == -1);

  sw::pe_context::pipeline sums;
  const auto own = [](std::int64_t distance) {
    return sw::awaited_stages{{{static_cast<std::int32_t>(distance + 10), 0}, {20, 1}}};
  };
  (void)sw::schedule_passes(sums, {sw::sum_pass(0, ring, block, own)}, sw::pe_context::arrival::reduce, 0);
  REQUIRE(sums.sent.size() == 2);  // for the two that are this way
  for (const sw::pe_context::outgoing& o : sums.sent) {
    const auto distance = static_cast<std::int32_t>(o.offset / block_bytes) - 5;
    CHECK(o.after[1].stage == distance + 10);
    CHECK(o.after[2].stage == 20);
    CHECK(o.after[2].pipeline == 1);
  }
}

/// Rows of eight and more members, whose passes run into each other, with columns through several SIPs: rows
/// wait for columns and columns for rows.
TEST_CASE("passes of three and four SIPs that run into each other bring the right data") {
  unsigned number = 0;
  for (const char* collective : {"all_reduce", "reduce_scatter", "all_gather"}) {
    for (const machine_shape shape : {machine_shape{3, 2, 2, 2}, {4, 1, 1, 8}, {3, 3, 1, 3}}) {
      for (const std::uint64_t block : {1U, 16U, 17U, 40U}) {  // elements; a slot has 16
        move_row row{collective, "two_level", shape};
        const std::uint64_t ranks = shape.pes();
        row.count = ranks * block + number % 3;
        row.n_slots = 1 + number % 3;
        row.order = turns::orders[number % turns::orders.size()];
        row.seed = ++number;
        if (number % 2 == 0) row.tensors = config::tensor_kind::hbm;
        INFO(to_string(row));
        CHECK(run_move(row) == "");
      }
    }
  }
}

}  // namespace
}  // namespace diecast::test
