// SPDX-License-Identifier: Apache-2.0
// Signals: what every comparison takes for enough, and what is in memory after a barrier.
#include <fmt/format.h>

#include "support/test.hpp"
#include "unit/sw/collectives/barrier/barrier_bench.hpp"

namespace diecast::test {
namespace {

using abi::compare;
using comm::barrier_algorithm;

constexpr std::uint64_t top = UINT32_MAX;  ///< the last count
constexpr std::uint64_t above = std::uint64_t{1} << 32;

struct look {
  compare how;
  std::uint64_t word, value;
  bool enough;         ///< signal_wait_until
  bool for_barrier{};  ///< a wait that accepts the next count, too
};

constexpr look looks[] = {
    // seen, wanted: below, the same, the next, two ahead
    {compare::eq, 4, 5, false, false},
    {compare::eq, 5, 5, true, true},
    {compare::eq, 6, 5, false, true},
    {compare::eq, 7, 5, false, false},
    // The count runs over behind 2^32 - 1: the next is 0, and 1 is two ahead.
    {compare::eq, top - 1, top, false, false},
    {compare::eq, top, top, true, true},
    {compare::eq, 0, top, false, true},
    {compare::eq, 1, top, false, false},
    {compare::eq, top, 0, false, false},
    {compare::eq, 0, 0, true, true},
    {compare::eq, 1, 0, false, true},
    // Bits above 31 of the word, and of the value, play no part.
    {compare::eq, above + 5, 5, true, true},
    {compare::eq, 5, above + 5, true, true},
    {compare::eq, above, top, false, true},
    {compare::eq, 0, above + top, false, true},
    {compare::ne, 5, 5, false, false},
    {compare::ne, above + 5, 5, false, false},
    {compare::ne, 4, 5, true, true},
    {compare::ne, 0, top, true, true},
    {compare::lt, 4, 5, true, true},
    {compare::lt, 5, 5, false, false},
    {compare::lt, 0, top, true, true},
    {compare::lt, top, 0, false, false},
    {compare::lt, above, 1, true, true},
    {compare::le, 5, 5, true, true},
    {compare::le, 7, 5, false, false},
    {compare::le, top, top, true, true},
    {compare::le, top, top - 2, false, false},
    {compare::le, above + 5, 5, true, true},
    {compare::gt, 6, 5, true, true},
    {compare::gt, 5, 5, false, false},
    {compare::gt, top, 0, true, true},
    {compare::gt, 0, top - 1, false, false},
    {compare::gt, above + 5, 5, false, false},
    {compare::ge, 5, 5, true, true},
    {compare::ge, 4, 5, false, false},
    {compare::ge, top, 0, true, true},
    {compare::ge, 1, top, false, false},
    {compare::ge, above, 1, false, false},
};

}  // namespace

TEST_CASE("a look at a signal: six comparisons of words modulo 2^32") {
  for (const look& l : looks) {
    INFO(fmt::format("{:#x} {} {:#x}", l.word, abi::to_string(l.how), l.value));
    const abi::signal_watch exact{0, l.how, l.value, false, {}}, or_next{0, l.how, l.value, true, {}};
    CHECK(exact.satisfied_by(l.word) == l.enough);
    CHECK(or_next.satisfied_by(l.word) == l.for_barrier);
  }
}

namespace {

/// What the memory holds of a word that the other rank has stored, and not cleaned, before a barrier.
std::uint64_t in_memory_after(barrier_algorithm how, bool all) {
  barrier_case c;
  c.world = 2;
  c.team = {0, 1, 2, {}};
  std::uint64_t seen = 0;
  const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal& hal) {
    // A word behind the flags of the core barrier, in a set of the cache that no flag or counter falls into.
    const abi::address data = comm::core_flag(b.world.members[0].home, 47);
    const std::uint64_t stored = 7;
    if (b.world.me == 0) {
      b.signals.set(data, 1);
      hal.pipe_barrier();
      hal.store_global(data, std::as_bytes(std::span{&stored, 1}));
    }
    if (all) {
      b.barriers.barrier_all(b.world, how);
    } else {
      b.barriers.barrier(b.world, how);
    }
    if (b.world.me == 1) hal.load_uncached(data, std::as_writable_bytes(std::span{&seen, 1}));
    b.barriers.barrier(b.world, how);
  });
  CHECK(r.outcome.finished);
  CHECK(r.escapes == 0);
  return seen;
}

}  // namespace

TEST_CASE("after barrier_all data is in memory, after a barrier it need not be") {
  for (const auto how : {barrier_algorithm::centralized_pull, barrier_algorithm::dissemination,
                         barrier_algorithm::group_dissemination}) {
    INFO(comm::to_string(how));
    CHECK(in_memory_after(how, true) == 7);
    CHECK(in_memory_after(how, false) == 1);  // the other's cache holds what it has stored
  }
}

TEST_CASE("quiet: what was stored is in memory, what was read before is read anew") {
  barrier_case c;
  c.world = 2;
  c.team = {0, 1, 2, {}};
  std::uint64_t stale = 0, fresh = 0, uncached = 0;
  const barrier_result r = barrier_machine(c).run([&](sw::barrier_runtime& b, abi::hal& hal) {
    const auto how = barrier_algorithm::dissemination;
    const abi::address data = comm::core_flag(b.world.members[0].home, 47);
    const auto load = [&](std::uint64_t& into) {
      hal.load_global(data, std::as_writable_bytes(std::span{&into, 1}));
    };
    if (b.world.me == 0) b.signals.set(data, 1);
    b.barriers.barrier_all(b.world, how);
    std::uint64_t before = 0;
    if (b.world.me == 1) load(before);
    b.barriers.barrier(b.world, how);
    const std::uint64_t stored = 2;
    if (b.world.me == 0) {
      hal.store_global(data, std::as_bytes(std::span{&stored, 1}));
      b.signals.fence();
      hal.load_uncached(data, std::as_writable_bytes(std::span{&uncached, 1}));
    }
    b.barriers.barrier(b.world, how);
    if (b.world.me == 1) {
      load(stale);
      b.signals.quiet();
      load(fresh);
    }
  });
  CHECK(r.outcome.finished);
  CHECK(uncached == 2);
  CHECK(stale == 1);
  CHECK(fresh == 2);
}

}  // namespace diecast::test
