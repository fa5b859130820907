// SPDX-License-Identifier: Apache-2.0
// The programs on which unit and shadow are tried: all small ones, chosen larger ones, random long ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "support/tag_world.hpp"

namespace diecast::test {

/// Tags of the tests: source in bit 8 and up, user tag below.
inline std::uint64_t test_tag(unsigned source, unsigned tag) { return std::uint64_t{source} << 8 | tag; }
inline constexpr std::uint64_t any_source = 0xff, any_tag = ~std::uint64_t{0xff},
                               full_mask = ~std::uint64_t{0};

/// The `number`-th program of `messages` messages and `receives` receives over two sources and two tags, all
/// wildcards and either no cancel or one. The first message has source 0 and tag 0: the other programs are
/// the same with names exchanged. `fragments`: even messages come in fragments.
class tag_program_list {
 public:
  tag_program_list(unsigned messages, unsigned receives, bool fragments)
      : messages_(messages), receives_(receives), fragments_(fragments) {}

  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t n = receives_ + 1;
    for (unsigned i = 1; i < messages_; ++i) n *= 4;
    for (unsigned i = 0; i < receives_; ++i) n *= patterns;
    return n;
  }
  [[nodiscard]] tag_program at(std::uint64_t number) const {
    tag_program p;
    const auto digit = [&number](std::uint64_t base) {
      const std::uint64_t d = number % base;
      number /= base;
      return static_cast<unsigned>(d);
    };
    const unsigned cancel = digit(receives_ + 1);
    if (cancel < receives_) p.cancels = {cancel};
    for (unsigned i = 0; i < messages_; ++i) {
      const unsigned d = i == 0 ? 0 : digit(4);
      p.messages.push_back({d % 2, test_tag(d % 2, d / 2), !fragments_ || i % 2 == 1});
    }
    for (unsigned i = 0; i < receives_; ++i) p.receives.push_back(pattern(digit(patterns)));
    return p;
  }

 private:
  static constexpr unsigned patterns = 9;  // source 0, 1 or any with tag 0, 1 or any
  static tag_program::receive pattern(unsigned d) {
    switch (d) {
      case 0: return {test_tag(0, 0), full_mask};
      case 1: return {test_tag(0, 0), any_source & full_mask};
      case 2: return {0, 0};
      case 3: return {test_tag(1, 0), any_tag};
      case 4: return {test_tag(1, 0), full_mask};
      case 5: return {test_tag(0, 1), any_source & full_mask};
      case 6: return {test_tag(0, 0), any_tag};
      case 7: return {test_tag(0, 1), full_mask};
      default: return {test_tag(1, 1), full_mask};
    }
  }

  unsigned messages_, receives_;
  bool fragments_;
};

/// A random program: several sources, few tags so that much can match, wildcards and partial masks, cancels.
inline tag_program random_program(std::mt19937_64& draw, unsigned sources, unsigned size) {
  const auto below = [&draw](std::uint64_t n) { return static_cast<unsigned>(draw() % n); };
  tag_program p;
  p.sources = sources;
  const unsigned tags = 1 + below(4);
  const unsigned messages = below(size + 1), receives = below(size + 1);
  for (unsigned i = 0; i < messages; ++i) {
    const unsigned source = below(sources);
    p.messages.push_back({source, test_tag(source, below(tags)), below(3) != 0});
  }
  for (unsigned i = 0; i < receives; ++i) {
    std::uint64_t mask = full_mask;
    if (below(3) == 0) mask &= any_source;
    if (below(4) == 0) mask &= any_tag;
    if (below(8) == 0) mask &= ~std::uint64_t{2};  // a partial mask
    p.receives.push_back({test_tag(below(sources), below(tags)), mask, below(10) != 0, 1 + below(200)});
    if (below(4) == 0) p.cancels.push_back(i);
  }
  return p;
}

/// Runs a program in a random order of steps; the operations it came to.
inline std::uint64_t run_at_random(tag_world& world, const tag_program& p, std::mt19937_64& draw) {
  world.begin(p);
  // Some runs favor one kind of step, so that queues grow long.
  const unsigned favorite = static_cast<unsigned>(draw() % 8 + 1) << 8;
  for (;;) {
    std::vector<unsigned> steps = world.steps(p);
    if (steps.empty()) break;
    unsigned code = steps[draw() % steps.size()];
    if (draw() % 4 != 0 && (code & ~0xffU) != favorite) code = steps[draw() % steps.size()];
    if (draw() % 16 == 0) code = tag_world::report;
    world.step(p, code);
  }
  world.finish(p);
  return world.operations();
}

/// Every order of events of every `stride`-th program; throws matching_error or std::logic_error. Returns
/// the number of states met.
inline std::uint64_t explore_programs(const tag_program_list& programs, std::uint64_t stride,
                                      std::uint32_t entries) {
  tag_setup setup;
  setup.entries = entries;
  setup.modulus = 5;  // one more than can be unseen: as few as the rule allows
  std::uint64_t states = 0;
  for (std::uint64_t i = 0; i < programs.size(); i += stride) states += explore(setup, programs.at(i));
  return states;
}

/// `operations` messages, receives and cancels on one unit and shadow.
inline void random_operations(const tag_setup& setup, unsigned sources, unsigned size, std::uint64_t seed,
                              std::uint64_t operations) {
  std::mt19937_64 draw{seed};
  tag_world world{setup, sources};
  for (std::uint64_t done = 0; done < operations;) {
    done += run_at_random(world, random_program(draw, sources, size), draw);
  }
}

}  // namespace diecast::test
