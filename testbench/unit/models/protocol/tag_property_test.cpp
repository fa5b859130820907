// SPDX-License-Identifier: Apache-2.0
// Unit and shadow against the abstract matcher: every order of events of small programs, random orders of
// long ones.
#include "support/tag_programs.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

TEST_CASE("every order of events of two messages and two receives pairs as the abstract matcher does",
          "[long]") {
  for (const bool fragments : {false, true}) {
    for (const std::uint32_t entries : {1U, 2U}) {
      const tag_program_list programs{2, 2, fragments};
      CAPTURE(fragments, entries, programs.size());
      CHECK(explore_programs(programs, 1, entries) > 400'000);
    }
  }
}

TEST_CASE("every order of events of chosen programs of up to four messages and receives pairs rightly",
          "[long]") {
  for (const bool fragments : {false, true}) {
    for (const std::uint32_t entries : {1U, 2U}) {
      CAPTURE(fragments, entries);
      for (const auto& [messages, receives, stride] :
           {std::tuple{1U, 4U, 3001U}, {4U, 1U, 127U}, {3U, 3U, 1201U}, {4U, 4U, 700'001U}})
        CHECK(explore_programs({messages, receives, fragments}, stride, entries) > 1'000);
    }
  }
}

namespace {

struct setup_row {
  std::uint32_t entries;
  unsigned sources, size;
};

tag_setup random_setup(const setup_row& row, bool copy_out) {
  tag_setup s;
  s.entries = row.entries;
  s.slots = 4 * row.sources;
  s.copy_out = copy_out;
  s.policy.min_bytes = 20;
  s.policy.force_bytes = 150;
  return s;
}

}  // namespace

TEST_CASE("random programs pair as the abstract matcher does, over 200,000 operations") {
  const setup_row rows[] = {{0, 3, 40}, {1, 2, 12}, {1, 5, 60}, {2, 3, 40}, {16, 7, 100}, {256, 15, 600}};
  for (const setup_row& row : rows) {
    for (const bool copy_out : {false, true}) {
      CAPTURE(row.entries, row.sources, row.size, copy_out);
      CHECK_NOTHROW(
          random_operations(random_setup(row, copy_out), row.sources, row.size, 77 + row.entries, 20'000));
    }
  }
}

TEST_CASE("the 16-bit count of unexpected messages wraps without harm") {
  tag_setup s = random_setup({2, 3, 40}, true);
  std::mt19937_64 draw{5};
  tag_world world{s, 3};
  std::uint64_t before = 0, wraps = 0;
  for (std::uint64_t operations = 0; wraps < 3;) {
    operations += run_at_random(world, random_program(draw, 3, 40), draw);
    REQUIRE(operations < 2'000'000);
    const std::uint64_t count = world.unit().unexpected_count();
    if (count < before) ++wraps;
    before = count;
  }
}

TEST_CASE("a unit that does not wait for firmware's count pairs wrongly") {
  tag_setup s = random_setup({2, 3, 40}, false);
  s.rule = protocol::tag_unit::eligibility::never_wait;
  CHECK_THROWS_WITH(random_operations(s, 3, 40, 1, 10'000),
                    Catch::Contains("consumed by the unit after firmware had completed its receive"));
}
