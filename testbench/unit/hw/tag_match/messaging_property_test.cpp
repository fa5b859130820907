// SPDX-License-Identifier: Apache-2.0
// Random programs of messages on the mock machine, under schedulers that reorder all that may be.
#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <stdexcept>

#include "message_bench.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

using eligibility = protocol::tag_unit::eligibility;

/// A machine and what runs on it.
struct experiment {
  config::machine_config config;
  message_program program;
  sw::mock_options options;
};

/// Sizes lie around the thresholds of message_machine: eager to 64 bytes, rendezvous to 160.
experiment random_experiment(sw::schedule order, std::uint64_t seed) {
  constexpr std::uint64_t entries[] = {0, 1, 2, 16, 256}, rings[] = {1, 1, 2, 4};
  std::mt19937_64 draw{seed};
  const auto below = [&draw](std::uint64_t n) { return draw() % n; };
  program_shape shape;
  shape.ranks = static_cast<std::uint32_t>(2 + below(15));
  experiment e;
  e.config = message_machine(shape.ranks, entries[below(5)]);
  e.config.tag_match.ring_messages = rings[below(4)];
  e.config.tag_match.rndv_inline_bytes = 48 * below(2);
  e.config.tag_match.offload_wildcards = below(3) != 0;
  e.config.tag_match.offload_min_bytes = below(5) == 0 ? 100 : 0;
  e.config.tag_match.offload_force_bytes = 200;
  e.config.noc.max_packet_bytes = below(2) == 0 ? 16 : 64;  // eager messages in fragments, or whole
  e.program = random_messages(draw(), shape);
  e.options.order = order;
  e.options.seed = seed;
  return e;
}

/// Sends, receives and cancels. Throws unless it ends well.
std::uint64_t run(const experiment& e) {
  message_bench bench{e.config, e.options};
  std::vector<message_log> logs(e.program.ranks);
  for (std::uint32_t rank = 0; rank < e.program.ranks; ++rank) {
    bench.on(rank, [&, rank](sw::messaging&, sw::pe_runtime& runtime) {
      message_player{runtime, e.program, rank, bench.world, 0, logs[rank]}.play();
    });
  }
  const sw::mock_outcome outcome = bench.run();
  if (!outcome.finished) throw std::runtime_error(outcome.deadlock);
  check_pairs(e.program, logs);
  std::uint64_t operations = 0;
  for (const message_log& log : logs) operations += log.operations;
  return operations;
}

constexpr sw::schedule draws[] = {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial};

}  // namespace

TEST_CASE("messaging: random programs pair as the abstract matcher does, whatever the order of events") {
  std::uint64_t operations = 0;
  for (const auto order : draws) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const experiment e = random_experiment(order, seed);
      CAPTURE(sw::to_string(order), seed, e.program.ranks, e.config.tag_match.entries,
              e.config.tag_match.ring_messages, e.config.noc.max_packet_bytes);
      REQUIRE_NOTHROW(operations += run(e));
    }
  }
  CAPTURE(operations);
  CHECK(operations >= 100'000);
}

TEST_CASE("messaging: random programs fail when the unit does not wait for firmware's count") {
  unsigned programs = 0, failed = 0;
  for (const auto order : draws) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      experiment e = random_experiment(order, seed);
      if (e.config.tag_match.entries == 0) continue;
      e.options.rule = eligibility::never_wait;
      ++programs;
      try {
        (void)run(e);
      } catch (const std::exception&) {
        ++failed;
      }
    }
  }
  CAPTURE(programs, failed);
  CHECK(failed > programs / 10);
}
