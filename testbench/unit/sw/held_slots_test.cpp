// SPDX-License-Identifier: Apache-2.0
// Slots that are sent on from where they lie, and copies in the background.
#include <array>
#include <numeric>

#include "ring_bench.hpp"
#include "support/test.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/queue_driver.hpp"

namespace diecast::test {
namespace {

/// Nothing is left in any engine: every message taken, every credit returned, nobody waits.
void check_idle(ring_bench& b, std::uint32_t pes) {
  for (std::uint32_t rank = 0; rank < pes; ++rank) {
    for (const auto& q : b.machine().engine(b.pe(rank)).queue_pairs()) {
      if (q.rx) CHECK(q.available() == 0);
      if (q.tx) CHECK(q.free_slots() == q.n_slots);
      CHECK(q.armed == 0);
    }
  }
}

words counting(std::uint32_t first, std::size_t count) {
  words values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_CASE("slots that are sent on from where they lie stay until they have been read") {
  // Round a ring, which is full at n_slots = 1: who holds a slot must not wait for space.
  constexpr std::uint32_t pes = 5;
  for (const auto order : orders) {
    for (const std::uint32_t slots : {1U, 2U, 4U}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::array<std::uint64_t, pes> bytes{64 * 9 + 4, 0, 4, 64, 64 * 2 + 60};
        CAPTURE(slots, seed);
        ring_bench b{pes, slots, {order, seed}};
        for (std::uint32_t rank = 0; rank < pes; ++rank) {
          b.put(rank, rank * 640, counting(rank * 1000, bytes[rank] / 4));
          b.on(rank, [&bytes, rank](pe_context& pe) {
            pe_context::lane lane{
                {comm::east}, {pe_context::outgoing{rank * 640, bytes[rank]}}, {comm::west}, {}};
            lane.overlaps = true;
            for (std::uint32_t i = 1; i < pes; ++i) {
              const std::uint32_t from = (rank + pes - i) % pes;
              const pe_context::stage s{from * 640, bytes[from]};
              i + 1 < pes ? lane.pass(s) : lane.received.push_back(s);
            }
            pe.stream({lane}, "all_gather");
          });
        }
        CHECK(b.run().deadlock == "");
        for (std::uint32_t rank = 0; rank < pes; ++rank) {
          for (std::uint32_t from = 0; from < pes; ++from) {
            CHECK(b.get(rank, from * 640, bytes[from] / 4) == counting(from * 1000, bytes[from] / 4));
          }
        }
        check_idle(b, pes);
      }
    }
  }
}

TEST_CASE("a lane that overlaps adds no copy behind those of others in the DMA") {
  // The long copy is as if it never ended: the slot is copied all the same.
  ring_bench b{2, 2, {sw::schedule::round_robin}};
  const sw::runtime_options options = b.machine().firmware_options(b.pe(1));
  b.put(0, 0, counting(1, 16));
  b.on(0, [](pe_context& pe) { pe.send(comm::east, 0, 64); });
  std::uint32_t started = 0;
  const auto code = [&](abi::hal& hal) {
    sw::pe_runtime runtime{hal, options};
    abi::kernel_arguments a;
    a.type = numeric::dtype::i32;
    pe_context pe{runtime, a, {}};
    (void)runtime.driver().start_copy(options.tcm_base + 4096, options.tcm_base + 8192, 2048);
    pe_context::lane lane{{}, {}, {comm::west}, {pe_context::stage{0, 64}}};
    lane.overlaps = true;
    pe.stream({lane}, "receive");
    started = abi::status_halves::unpack(hal.read_register(abi::dma_status)).high;
    pe.finish();
  };
  b.also(1, code);
  CHECK(b.run().deadlock == "");
  CHECK(b.get(1, 0, 16) == counting(1, 16));
  CHECK(started == 1);
}

}  // namespace
}  // namespace diecast::test
