// SPDX-License-Identifier: Apache-2.0
// Random programs of messages on the mock machine, under schedulers that reorder all that may be.
#include <algorithm>

#include "message_bench.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

struct row {
  std::uint32_t ranks;
  std::uint64_t entries;
  std::uint64_t ring_messages;
};

/// Messages received.
std::uint64_t run_programs(const row& r, sw::schedule order, std::uint64_t seed, unsigned programs) {
  std::uint64_t received = 0;
  for (unsigned i = 0; i < programs; ++i) {
    config::machine_config c = message_machine(r.ranks, r.entries);
    c.tag_match.ring_messages = r.ring_messages;
    c.tag_match.rndv_inline_bytes = i % 2 == 0 ? 0 : 48;
    c.tag_match.offload_wildcards = i % 3 != 0;
    c.tag_match.offload_min_bytes = i % 5 == 0 ? 100 : 0;
    c.tag_match.offload_force_bytes = 200;
    c.noc.max_packet_bytes = 64;
    sw::mock_options options;
    options.order = order;
    options.seed = seed + i;
    message_bench bench{c, options};
    program_shape shape;
    shape.ranks = r.ranks;
    const message_program program = random_messages(seed * 1000 + i, shape);
    std::vector<message_log> logs(r.ranks);
    for (std::uint32_t rank = 0; rank < r.ranks; ++rank) {
      bench.on(rank, [&, rank](sw::messaging&, sw::pe_runtime& runtime) {
        message_player{runtime, program, rank, bench.world, 0, logs[rank]}.play();
      });
    }
    CAPTURE(r.ranks, r.entries, r.ring_messages, sw::to_string(order), seed, i);
    const sw::mock_outcome outcome = bench.run();
    INFO(outcome.deadlock);
    REQUIRE(outcome.finished);
    check_pairs(program, logs);
    for (const message_log& log : logs) {
      received += static_cast<std::uint64_t>(
          std::ranges::count_if(log.receives, [](const auto& got) { return !got.cancelled; }));
    }
  }
  return received;
}

}  // namespace

TEST_CASE("messaging: random programs pair as the abstract matcher does, whatever the order of events") {
  std::uint64_t received = 0;
  for (const row& r : {row{2, 0, 1}, {2, 1, 1}, {3, 2, 1}, {4, 16, 2}, {5, 2, 4}, {16, 256, 1}, {9, 16, 1}}) {
    for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
      received += run_programs(r, order, 17 * r.ranks + r.entries, 45);
    }
  }
  CHECK(received > 35'000);
}
