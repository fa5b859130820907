// SPDX-License-Identifier: Apache-2.0
// What mutants of models/protocol/tag_{unit,shadow}.hpp are put to. `tag_check exploration`: every program of
// few messages and receives. `tag_check programs`: chosen and random programs, cut to what a mutant needs.
// Prints why it fails; exit code 1 when it does.
#include <cstdio>
#include <string_view>

#include "support/small_search.hpp"
#include "support/tag_programs.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

void random_part() {
  for (const std::uint32_t entries : {0U, 1U, 2U, 16U}) {
    tag_setup s;
    s.entries = entries;
    s.slots = 12;
    s.copy_out = entries % 2 == 0;
    s.modulus = 41;  // one more than messages can arrive while a command is under way
    s.policy.min_bytes = 20;
    s.policy.force_bytes = 150;
    random_operations(s, 3, 40, 40 + entries, 5'000);
  }
}

void interval_part() {
  protocol::offload_policy p;
  p.entries = 1;
  p.command_interval = 4;
  protocol::tag_shadow shadow{p};
  protocol::tag_completion c{protocol::tag_completion::kind::unexpected, true, 0, 0, {}};
  unsigned commands = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    c.message.tag = i;
    (void)shadow.arrived(c, i);
    while (shadow.take_command()) ++commands;
  }
  if (commands != 5)
    throw matching_error("20 unexpected messages made " + std::to_string(commands) +
                         " commands; expected one for every 4");
}

void programs() {
  interval_part();
  random_part();
  for (const std::uint32_t entries : {1U, 2U}) {
    explore_programs({2, 2, false}, 41, entries);
    explore_programs({2, 2, true}, 41, entries);
  }
}

void exploration() {
  for (const unsigned size : {1U, 2U, 3U}) {
    for (const std::uint32_t entries : {1U, 2U}) {
      small_bounds b;
      b.messages = b.receives = size;
      b.cancels = size < 3 ? size : 1;
      b.entries = entries;
      (void)small_search(b).run();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (part != "exploration" && part != "programs") {
    std::printf("usage: tag_check exploration|programs\n");
    return 2;
  }
  try {
    part == "exploration" ? exploration() : programs();
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf("survived\n");
  return 0;
}
