// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/scheduler.hpp"

#include <stdexcept>

#include "models/random/stream.hpp"

namespace diecast::sw {
namespace {

using kind = candidate::kind;

/// Alternates between PEs and deliveries, the oldest of each.
class round_robin final : public scheduler {
 public:
  std::size_t pick(const std::vector<candidate>& candidates) override {
    delivery_next_ = !delivery_next_;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if ((candidates[i].what != kind::run) == delivery_next_) return i;
    return 0;
  }
  [[nodiscard]] bool interrupts() const override { return false; }

 private:
  bool delivery_next_{true};
};

class random_order final : public scheduler {
 public:
  explicit random_order(std::uint64_t seed) : draws_(random::stream{seed, "mock_machine", "schedule"}) {}
  std::size_t pick(const std::vector<candidate>& candidates) override {
    return draws_.below(candidates.size());
  }
  [[nodiscard]] bool interrupts() const override { return true; }

 private:
  random::sequence draws_;
};

/// Holds back what the others wait for. Which kinds, and which PE, follows from the seed.
class adversarial final : public scheduler {
 public:
  adversarial(std::uint64_t seed, std::uint32_t pes) {
    random::sequence draws{random::stream{seed, "mock_machine", "adversary"}};
    held_credits_ = draws.below(2) == 0;
    held_data_ = !held_credits_ || draws.below(2) == 0;
    held_sources_ = draws.below(2) == 0;
    has_victim_ = draws.below(2) == 0;
    victim_ = static_cast<std::uint32_t>(draws.below(pes));
    held_lines_ = draws.below(2) == 0;
  }
  std::size_t pick(const std::vector<candidate>& candidates) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const unsigned here = hold(candidates[i]), there = hold(candidates[best]);
      // Ties: the newest; among PEs that poll, the oldest, so that each gets its turn.
      if (here < there || (here == there && !candidates[i].polling)) best = i;
    }
    return best;
  }
  [[nodiscard]] bool interrupts() const override { return true; }

 private:
  /// The larger, the longer it is held back.
  [[nodiscard]] unsigned hold(const candidate& c) const {
    if (c.polling) return 100;  // it cannot help itself: deliveries go before it, or nothing moves
    unsigned held = 0;
    if (c.what == kind::credit && held_credits_) held = 8;
    if (c.what == kind::message && held_data_) held = 4;
    if ((c.what == kind::write_data || c.what == kind::token) && held_data_) held = 4;
    if ((c.what == kind::read_source || c.what == kind::dma) && held_sources_) held = 2;
    if (c.what == kind::write_back && held_lines_) held = 6;
    if (has_victim_ && c.pe == victim_) held += 16;
    return held;
  }

  bool held_credits_{};
  bool held_data_{};
  bool held_sources_{};
  bool held_lines_{};
  bool has_victim_{};
  std::uint32_t victim_{};
};

}  // namespace

const char* to_string(schedule s) {
  switch (s) {
    case schedule::round_robin: return "round_robin";
    case schedule::random: return "random";
    case schedule::adversarial: return "adversarial";
  }
  return "unknown";
}

std::unique_ptr<scheduler> make_scheduler(schedule order, std::uint64_t seed, std::uint32_t pes) {
  switch (order) {
    case schedule::round_robin: return std::make_unique<round_robin>();
    case schedule::random: return std::make_unique<random_order>(seed);
    case schedule::adversarial: return std::make_unique<adversarial>(seed, pes);
  }
  throw std::invalid_argument("mock machine: unknown schedule");
}

}  // namespace diecast::sw
