// SPDX-License-Identifier: Apache-2.0
// Trees are searched for once, as long as the question is the same in every part.
#include "support/machines.hpp"
#include "support/test.hpp"
#include "sw/collectives/trees/packed_trees.hpp"

namespace diecast::comm {
namespace {

using machine = test::ranked_machine;

TEST_CASE("tree memory: everything a search may depend on is compared") {
  tree_memory memory;
  // Trees that say how often was searched.
  std::uint32_t searched = 0;
  const auto ask = [&](const pattern_context& c, bool up) {
    const auto search = [&](const pattern_context&, bool) {
      tree_pair found;
      found[0].resize(++searched);
      return found;
    };
    return memory.trees_of(c, up, search)[0].size();
  };
  const machine m(machine_shape{2, 2, 2, 4}, rank_set::pe);
  CHECK(ask(m.context(), false) == 1);
  CHECK(ask(machine(m.config, rank_set::pe).context(), false) == 1);  // an equal machine
  CHECK(ask(m.context(), true) == 2);
  CHECK(ask(m.context(3), false) == 3);
  pattern_context shared = m.context();
  shared.shares_queue_pairs = true;
  CHECK(ask(shared, false) == 4);
  pattern_context wider = m.context();
  wider.shape.sips = 4;
  CHECK(ask(wider, false) == 5);
  machine other = m;
  other.members.members.pop_back();
  CHECK(ask(other.context(), false) == 6);
  other = m;
  other.config.noc.hop_cycles += 1;
  CHECK(ask(other.context(), false) == 7);
  other = m;
  other.config.ucie.latency_ns += 1e-9;
  CHECK(ask(other.context(), false) == 8);
  other = m;
  other.config.overrides.emplace_back().match = "pod.sip0.cube_0_0";
  CHECK(ask(other.context(), false) == 9);
  CHECK(ask(m.context(), false) == 1);
  // The last 16 are known.
  for (std::uint32_t root = 4; root < 4 + 16; ++root) (void)ask(m.context(root), false);
  CHECK(ask(m.context(19), false) == 25);
  CHECK(ask(m.context(), false) == 26);
}

TEST_CASE("tree memory: wiring, arguments and estimates of a run search once") {
  const machine pes(machine_shape{1, 2, 2, 4}, rank_set::pe), cubes(machine_shape{1, 3, 3, 1});
  for (const machine* m : {&pes, &cubes}) {
    for (const auto to : {packed_trees::flow::down, packed_trees::flow::up}) {
      const packed_trees first(m->context(1), to);
      const std::uint64_t searches = tree_memory::of_process().searches();
      const packed_trees again(m->context(1), to);
      CHECK(tree_memory::of_process().searches() == searches);
      for (std::uint32_t r = 0; r < m->ranks(); ++r)
        CHECK(first.node(1, r).children == again.node(1, r).children);
    }
  }
}

}  // namespace
}  // namespace diecast::comm
