// SPDX-License-Identifier: Apache-2.0
// Barriers under random teams, skews, counters and orders of events: nobody leaves before the last has
// entered, nobody waits for ever. The checker hears only when PEs enter and leave.
//
// What the suite runs takes some 30 s. More: RC_PARAMS="max_success=1000 seed=N" draws more random cases, and
// DIECAST_LONG_TESTS=1 makes 200 barriers in a row of every case, however many PEs take part.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

#include <rapidcheck.h>

#include "models/random/stream.hpp"
#include "support/part.hpp"
#include "support/test.hpp"
#include "unit/sw/collectives/barrier/barrier_bench.hpp"

namespace diecast::test {
namespace {

using analysis::barrier_checker;
using comm::barrier_algorithm;

constexpr std::uint32_t barriers_in_a_row = 200;
constexpr std::uint32_t most_ranks = 64, most_cores = 8, most_radix = 8;

bool long_tests() { return std::getenv("DIECAST_LONG_TESTS") != nullptr; }

/// Barriers in a row of so many PEs: 200, or what `calls` allow and at least 10.
std::uint32_t in_a_row(std::uint32_t pes, std::uint32_t calls) {
  if (long_tests()) return barriers_in_a_row;
  return std::clamp(calls / pes, 10U, barriers_in_a_row);
}

/// Alike over the whole range from the first case on: inRange alone begins with small values.
std::uint32_t anything_up_to(std::uint32_t most, const char* what) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1U, most + 1)).as(what);
}
std::uint32_t up_to(std::uint32_t most, const char* what) { return *rc::gen::inRange(1U, most + 1).as(what); }

barrier_algorithm any_algorithm() {
  return *rc::gen::element(barrier_algorithm::dissemination, barrier_algorithm::centralized_pull,
                           barrier_algorithm::group_dissemination)
              .as("algorithm");
}

sw::schedule any_order() {
  return *rc::gen::element(sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial)
              .as("order of events");
}

/// As many as wanted, and fewer when that fails, too.
std::uint32_t shrinking(std::uint32_t wanted, const char* what) {
  return *rc::gen::shrink(rc::gen::just(wanted), [](std::uint32_t n) {
            return rc::shrink::towards(n, 1U);
          }).as(what);
}

void shuffle(std::vector<std::uint32_t>& list, std::uint64_t seed) {
  random::sequence draw{random::stream{seed, "barrier_property_test", "order"}};
  for (std::size_t k = list.size(); k > 1; --k) std::swap(list[k - 1], list[draw.below(k)]);
}

/// Start, stride and size, or the same ranks as a list in any order; the world ends somewhere behind.
void choose_team(barrier_case& c) {
  const std::uint32_t ranks = anything_up_to(most_ranks, "ranks");
  const std::uint32_t first = up_to(4, "first rank, from 1") - 1;
  const std::uint32_t stride = up_to(3, "stride");
  c.cores = anything_up_to(most_cores, "PEs per rank");
  c.team = {first, stride, ranks, {}};
  c.world = first + stride * (ranks - 1) + up_to(3, "ranks behind the last, from 1");
  if (!*rc::gen::arbitrary<bool>().as("as a list")) return;
  c.team.list = comm::ranks_of(c.team);
  shuffle(c.team.list, *rc::gen::arbitrary<std::uint32_t>().as("order of the list"));
}

barrier_case any_case() {
  barrier_case c;
  c.how = any_algorithm();
  c.order = any_order();
  c.seed = *rc::gen::arbitrary<std::uint32_t>().as("seed");
  choose_team(c);
  c.radix = 1 + anything_up_to(most_radix - 1, "radix - 1");
  const auto pes = static_cast<std::uint32_t>(comm::ranks_of(c.team).size()) * c.cores;
  c.repeats = shrinking(in_a_row(pes, 12'000), "barriers in a row");
  c.skew = up_to(40, "skew, from 1") - 1;
  c.start = UINT32_MAX - up_to(barriers_in_a_row, "barriers before the wrap, from 1") + 1;
  if (*rc::gen::inRange(0, 4) == 0) c.start = *rc::gen::arbitrary<std::uint32_t>().as("start");
  return c;
}

/// Empty when the barrier keeps its promise and does the work it should.
std::string what_is_wrong(const barrier_case& c) {
  const barrier_result r = barrier_machine(c).run();
  if (!r.trap.empty()) return r.trap;
  if (!r.outcome.finished) return r.outcome.deadlock;
  if (r.escapes != 0) return fmt::format("{} escapes", r.escapes);
  const auto ranks = static_cast<std::uint32_t>(comm::ranks_of(c.team).size());
  const comm::barrier_work work = comm::work_of(c.how, ranks, c.radix).value();
  if (r.signals_set != work.signals_set * ranks * c.repeats) return fmt::format("{} signals", r.signals_set);
  if (r.flags_checked != work.flags_checked * ranks * c.repeats)
    return fmt::format("{} flags checked", r.flags_checked);
  return {};
}

TEST_CASE("barriers: any team, any skew, any counter: up to 200 in a row", "[long]") {
  CHECK(rc::check("one team", [] {
    const barrier_case c = any_case();
    const std::string wrong = what_is_wrong(c);
    if (!wrong.empty()) RC_FAIL(wrong);
  }));
}

barrier_case whole_space() {
  barrier_case c;
  c.world = most_ranks;
  c.cores = most_cores;
  c.team = {0, 1, most_ranks, {}};
  c.start = UINT32_MAX - 4;
  c.skew = 5;
  return c;
}

TEST_CASE("barriers: 64 ranks of 8 PEs, 200 in a row over the wrap", "[both]") {
  barrier_case c = whole_space();
  c.how = barrier_algorithm::group_dissemination;
  c.repeats = test::in_part(20U, barriers_in_a_row);
  c.start = UINT32_MAX - c.repeats / 2;
  c.order = sw::schedule::round_robin;
  CHECK(what_is_wrong(c) == "");
}

TEST_CASE("barriers: 64 ranks of 8 PEs, every algorithm, order of events and radix", "[long]") {
  barrier_case c = whole_space();
  c.repeats = in_a_row(most_ranks * most_cores, 0);
  for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
    c.order = order;
    for (const auto how : {barrier_algorithm::centralized_pull, barrier_algorithm::dissemination}) {
      c.how = how;
      INFO(comm::to_string(how) << ", " << sw::to_string(order));
      CHECK(what_is_wrong(c) == "");
    }
    c.how = barrier_algorithm::group_dissemination;
    for (c.radix = 2; c.radix <= most_radix; ++c.radix) {
      INFO("group_dissemination, radix " << c.radix << ", " << sw::to_string(order));
      CHECK(what_is_wrong(c) == "");
    }
  }
}

// --- teams that overlap and follow each other -----------------------------------------------------

/// What all ranks of the world do, in this order.
struct team_step {
  enum class kind : std::uint8_t { create, use, destroy };
  kind what{};
  std::uint32_t team{};                ///< number of the creation
  std::uint32_t slot{};                ///< it must get: the lowest that no living team has
  std::vector<std::uint32_t> ranks{};  ///< ranks of a team's creation
  barrier_algorithm how{};
  std::uint32_t times{};
};

class team_history {
 public:
  explicit team_history(std::uint32_t world) : world_(world) {}

  void add_any() {
    const auto what = *rc::gen::inRange(0, 4).as("use, use, create or destroy");
    if (living_.empty() || what == 2) return create();
    const auto which = *rc::gen::inRange<std::size_t>(0, living_.size()).as("living team");
    if (what < 2) return use(living_[which]);
    steps_.push_back({team_step::kind::destroy, living_[which], 0, {}, any_algorithm(), 0});
    living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  [[nodiscard]] const std::vector<team_step>& steps() const { return steps_; }
  [[nodiscard]] std::size_t created() const { return made_.size(); }
  [[nodiscard]] const team_step& creation(std::size_t team) const { return steps_[made_[team]]; }

 private:
  void create() {
    team_step s{team_step::kind::create, static_cast<std::uint32_t>(made_.size()), 1, {}, any_algorithm(), 0};
    const auto members =
        *rc::gen::container<std::vector<bool>>(world_, rc::gen::arbitrary<bool>()).as("members");
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      if (members[rank]) s.ranks.push_back(rank);
    }
    if (s.ranks.empty()) s.ranks.push_back(0);
    shuffle(s.ranks, *rc::gen::arbitrary<std::uint32_t>().as("order of the members"));
    std::set<std::uint32_t> taken;
    for (const std::uint32_t team : living_) taken.insert(creation(team).slot);
    while (taken.contains(s.slot)) ++s.slot;
    living_.push_back(s.team);
    made_.push_back(steps_.size());
    steps_.push_back(std::move(s));
  }
  void use(std::uint32_t team) {
    const bool many = *rc::gen::inRange(0, 8).as("7: 200 in a row") == 7;
    const std::uint32_t times = many ? barriers_in_a_row : up_to(20, "barriers");
    steps_.push_back({team_step::kind::use, team, 0, {}, any_algorithm(), times});
  }

  std::uint32_t world_;
  std::vector<team_step> steps_;
  std::vector<std::size_t> made_;  ///< place in steps_ of each creation
  std::vector<std::uint32_t> living_;
};

std::string name_of(std::string_view mark, std::uint32_t team) {
  return fmt::format("{} team{}", mark, team);
}

/// One PE's part.
class team_player {
 public:
  team_player(const barrier_case& c, const team_history& history, sw::barrier_runtime& b, abi::hal& hal)
      : case_(c), b_(b), hal_(hal), teams_(history.created()), calls_(history.created()) {}

  void play(const team_step& s) {
    sw::team& t = teams_[s.team];
    if (s.what == team_step::kind::create) {
      t = b_.barriers.create(b_.world, s.ranks, case_.start, s.how);
      if (t.slot != s.slot)
        wrong_slots = fmt::format("team {} has slot {}, expected {}", s.team, t.slot, s.slot);
      return;
    }
    if (t.members.empty()) return;
    if (s.what == team_step::kind::destroy) return b_.barriers.destroy(t, s.how);
    for (std::uint32_t i = 0; i < s.times; ++i) {
      const std::uint32_t number = calls_[s.team]++;
      hal_.mark_step({name_of(barrier_checker::enter, s.team), number});
      b_.barriers.barrier(t, s.how);
      hal_.mark_step({name_of(barrier_checker::left, s.team), number});
    }
  }

  std::string wrong_slots;

 private:
  const barrier_case& case_;
  sw::barrier_runtime& b_;
  abi::hal& hal_;
  std::vector<sw::team> teams_;
  std::vector<std::uint32_t> calls_;  ///< calls of each team so far
};

std::vector<pe_coord> cores_of_team(const barrier_machine& m, const barrier_case& c,
                                    const std::vector<std::uint32_t>& ranks) {
  std::vector<pe_coord> pes;
  for (const std::uint32_t rank : ranks) {
    for (std::uint32_t core = 0; core < c.cores; ++core)
      pes.push_back(m.members().members[rank * c.cores + core]);
  }
  return pes;
}

TEST_CASE("barriers: any teams of a world, overlapping, made, used and given back in any order", "[both]") {
  CHECK(rc::check("teams", [] {
    barrier_case c;
    c.order = any_order();
    c.seed = *rc::gen::arbitrary<std::uint32_t>().as("seed");
    c.world = up_to(most_ranks, "ranks of the world");
    c.cores = up_to(3, "PEs per rank");
    c.radix = 1 + up_to(most_radix - 1, "radix - 1");
    c.team = {0, 1, c.world, {}};
    c.start = UINT32_MAX - up_to(40, "barriers before the wrap, from 1") + 1;
    team_history history{c.world};
    for (auto n = *rc::gen::inRange(1, 25).as("steps"); n > 0; --n) history.add_any();

    barrier_machine machine(c);
    for (std::uint32_t t = 0; t < history.created(); ++t)
      machine.expect(fmt::format("team{}", t), cores_of_team(machine, c, history.creation(t).ranks));
    std::string wrong_slots;
    const barrier_result r = machine.run([&](sw::barrier_runtime& b, abi::hal& hal) {
      team_player player{c, history, b, hal};
      for (const team_step& s : history.steps()) player.play(s);
      if (!player.wrong_slots.empty()) wrong_slots = player.wrong_slots;
    });
    if (!r.trap.empty() || !r.outcome.finished) RC_FAIL(r.trap + r.outcome.deadlock);
    if (r.escapes != 0) RC_FAIL(machine.checker().first_escape());
    if (!wrong_slots.empty()) RC_FAIL(wrong_slots);
    std::vector<std::uint32_t> calls(history.created());
    for (const team_step& s : history.steps()) calls[s.team] += s.times;
    for (std::uint32_t t = 0; t < history.created(); ++t) {
      const auto seen = machine.checker().of(fmt::format("team{}", t), 0, UINT32_MAX);
      const std::uint64_t expected = calls[t] * history.creation(t).ranks.size() * c.cores;
      RC_ASSERT(seen.entered == expected);
      RC_ASSERT(seen.left == expected);
    }
  }));
}

}  // namespace
}  // namespace diecast::test
