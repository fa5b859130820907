// SPDX-License-Identifier: Apache-2.0
// Each case that a tag matcher must get right, by name, with 0, 1 and 16 entries of the unit, on the mock
// machine.
#pragma once

#include "message_bench.hpp"
#include "support/test.hpp"

namespace diecast::test {

inline constexpr std::uint64_t entry_counts[] = {0, 1, 16};
inline constexpr sw::schedule schedules[] = {sw::schedule::round_robin, sw::schedule::random,
                                             sw::schedule::adversarial};

/// Runs `prepare` on benches of every kind: entries of the unit, schedules and their seeds.
inline void on_every_machine(
    std::uint64_t pes, const std::function<void(message_bench&)>& prepare,
    const std::function<void(const message_bench&)>& check = [](const message_bench&) {},
    const std::function<void(config::machine_config&)>& adjust = [](auto&) {}) {
  for (const std::uint64_t entries : entry_counts) {
    for (const sw::schedule order : schedules) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(entries, sw::to_string(order), seed);
        config::machine_config c = message_machine(pes, entries);
        adjust(c);
        message_bench bench{c, {order, seed}};
        prepare(bench);
        const sw::mock_outcome outcome = bench.run();
        INFO(outcome.deadlock);
        REQUIRE(outcome.finished);
        check(bench);
      }
    }
  }
}

/// Text that differs from byte to byte.
inline std::string pattern(std::size_t bytes, char first = 'a') {
  std::string s(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i) s[i] = static_cast<char>(first + static_cast<char>(i % 23));
  return s;
}

}  // namespace diecast::test
