// SPDX-License-Identifier: Apache-2.0
// Every state of a small world, each once.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <set>
#include <stdexcept>
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

/// Keys in one array, at their place or the next free one: of ten million, a set with a node for each takes
/// twice the time of the search itself, and four times the memory. All zeros stand for a free place; the
/// chance that a state has that key is 3e-39.
class state_set {
 public:
  /// Whether it was not there.
  bool insert(const state_key& key) {
    if (2 * (size_ + 1) > places_.size()) grow();
    state_key& at = place_of(key);
    if (at == key) return false;
    at = key;
    ++size_;
    return true;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  state_key& place_of(const state_key& key) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = key.low & mask;
    while (places_[i] != state_key{} && places_[i] != key) i = (i + 1) & mask;
    return places_[i];
  }
  void grow() {
    std::vector<state_key> before(2 * places_.size());
    before.swap(places_);
    for (const state_key& key : before) {
      if (key != state_key{}) place_of(key) = key;
    }
  }

  std::vector<state_key> places_ =
      std::vector<state_key>(1024);  ///< a power of two, at most half of them taken
  std::size_t size_{};
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
  void meet(small_world&& w) {
    ++result_.steps;
    w.give_one_form();
    if (seen_.insert(key_of(w))) open_.push_back(std::move(w));
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
  state_set seen_;
  std::vector<small_world> open_;
};

}  // namespace diecast::test
