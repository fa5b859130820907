// SPDX-License-Identifier: Apache-2.0
// Every state of a small world, each once.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/small_model.hpp"

namespace diecast::test {

/// A state is known by 128 bits of hash of all its bytes: of ten million states, the chance that any two have
/// the same is 2e-25.
struct state_key {
  std::uint64_t low{}, high{};
  auto operator<=>(const state_key&) const = default;
};

struct small_result {
  std::uint64_t states{}, steps{};
  std::set<state_key> rests;  ///< states in which nothing is under way
  small_events met;
};

class small_search {
 public:
  explicit small_search(const small_bounds& b) : bounds_(b) {}

  /// Throws what the first wrong step throws.
  small_result run() {
    meet(small_world{bounds_, result_.met});
    while (!open_.empty()) {
      const small_world at = std::move(open_.back());
      open_.pop_back();
      const bool rest = at.each_step([this](small_world&& next) { meet(std::move(next)); });
      if (rest) result_.rests.insert(key_of(at));
    }
    result_.states = seen_.size();
    return std::move(result_);
  }

 private:
  struct hash {
    std::size_t operator()(const state_key& k) const { return k.low; }
  };

  void meet(small_world&& w) {
    ++result_.steps;
    w.settle_names();
    if (seen_.insert(key_of(w)).second) open_.push_back(std::move(w));
  }

  static state_key key_of(const small_world& w) {
    std::array<std::uint8_t, 512> bytes;
    std::size_t used = 0;
    w.write([&](std::uint64_t value) {
      // no_index, the one larger value, is all ones; nothing else has 255.
      if (used == bytes.size()) throw std::logic_error("a state has more bytes than there is room for");
      bytes[used++] = static_cast<std::uint8_t>(value);
    });
    const XXH128_hash_t h = XXH3_128bits(bytes.data(), used);
    return {h.low64, h.high64};
  }

  small_bounds bounds_;
  small_result result_;
  std::unordered_set<state_key, hash> seen_;
  std::vector<small_world> open_;
};

}  // namespace diecast::test
