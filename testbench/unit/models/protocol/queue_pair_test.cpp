// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/queue_pair.hpp"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "models/protocol/ipcq_core.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::protocol;

TEST_CASE("queue_pair: W is the largest n_slots * 2^k not above 2^32") {
  CHECK(sequence_modulus(1) == std::uint64_t{1} << 32);
  CHECK(sequence_modulus(4) == std::uint64_t{1} << 32);
  CHECK(sequence_modulus(3) == std::uint64_t{3} << 30);
  CHECK(sequence_modulus(5) == std::uint64_t{5} << 29);
  CHECK_THROWS_AS(sequence_modulus(0), std::invalid_argument);
  for (std::uint32_t n = 1; n <= 4096; ++n) {
    const std::uint64_t w = sequence_modulus(n);
    REQUIRE(w % n == 0);
    REQUIRE(w <= std::uint64_t{1} << 32);
    REQUIRE(w * 2 > std::uint64_t{1} << 32);
    REQUIRE((w / n & (w / n - 1)) == 0);
  }
}

namespace {

/// One direction of a queue pair: a sender's half, a receiver's half, a data and a credit channel.
/// `content[s]` is the true number of the message in slot s, from the instant its sender may write it
/// until it is released.
struct world {
  queue_pair_state tx, rx;
  std::deque<std::uint32_t> data;     ///< sequences in flight
  std::deque<std::uint32_t> credits;  ///< tails in flight
  std::vector<std::optional<unsigned>> content;
  unsigned sent{}, consumed{};  ///< true counts, modulo `period`

  auto key() const {
    return std::tuple{
        tx.my_head, tx.peer_tail_cache, rx.my_tail, rx.peer_head_cache, data, credits, content, sent,
        consumed};
  }
};

/// Breadth-first search over everything sender, receiver and channels can do. Returns the first broken
/// rule, or empty; `states` counts what was reached.
class explorer {
 public:
  explorer(std::uint32_t n_slots, std::uint64_t modulus)
      : space_(n_slots, modulus), period_(static_cast<unsigned>(n_slots * modulus)) {}

  std::string run(std::size_t& states) {
    world start;
    for (queue_pair_state* s : {&start.tx, &start.rx}) {
      s->n_slots = space_.n_slots();
      s->space = space_;
      s->slot_bytes = 1;
    }
    start.tx.peer_rx_base = start.rx.rx_base = 1000;
    start.content.resize(space_.n_slots());
    add(start);
    while (!queue_.empty() && broken_.empty()) {
      const world w = queue_.front();
      queue_.pop_front();
      check(w);
      send(w);
      deliver(w);
      release(w);
      return_credit(w);
    }
    states = seen_.size();
    return broken_;
  }

 private:
  void add(const world& w) {
    if (seen_.insert(w.key()).second) queue_.push_back(w);
  }
  void broken(const std::string& rule) {
    if (broken_.empty()) broken_ = rule;
  }
  unsigned true_fill(const world& w) const { return (w.sent + period_ - w.consumed) % period_; }

  void check(const world& w) {
    const auto in_use = w.tx.space.distance(w.tx.peer_tail_cache, w.tx.my_head);
    if (in_use > w.tx.n_slots) broken("head - tail above n_slots");
    if (true_fill(w) > w.tx.n_slots) broken("more messages than slots");
    if (w.rx.available() + w.data.size() != true_fill(w))
      broken("available is not what arrived and was not released");
    if (w.tx.free_slots() > w.tx.n_slots - true_fill(w)) broken("more free slots than there are");
    if (w.data.empty() && w.credits.empty() && w.tx.free_slots() != w.tx.n_slots - w.rx.available())
      broken("a slot is lost");
    const bool stuck = w.tx.free_slots() == 0 && w.data.empty() && w.rx.available() == 0 && w.credits.empty();
    if (stuck) broken("nobody can move");
  }

  void send(world w) {
    if (w.tx.free_slots() == 0) return;
    const auto slot = static_cast<std::size_t>(w.tx.tx_slot() - w.tx.peer_rx_base);
    if (w.content[slot]) return broken("a slot in use is written");
    w.content[slot] = w.sent;
    w.sent = (w.sent + 1) % period_;
    w.data.push_back(w.tx.my_head);
    w.tx.my_head = space_.next(w.tx.my_head);
    add(w);
  }
  void deliver(world w) {
    if (w.data.empty()) return;
    if (w.data.front() != w.rx.peer_head_cache) return broken("a token out of sequence");
    w.rx.peer_head_cache = space_.next(w.data.front());
    w.data.pop_front();
    add(w);
  }
  void release(const world& before) {
    world w = before;
    for (std::uint32_t n = before.rx.available(); n > 0; --n) {
      const auto slot = static_cast<std::size_t>(w.rx.rx_slot() - w.rx.rx_base);
      if (w.content[slot] != w.consumed) return broken("a message out of order");
      w.content[slot].reset();
      w.consumed = (w.consumed + 1) % period_;
      w.rx.my_tail = space_.next(w.rx.my_tail);
      world done = w;  // one credit for all slots released so far
      done.credits.push_back(w.rx.my_tail);
      add(done);
    }
  }
  void return_credit(world w) {
    if (w.credits.empty()) return;
    w.tx.peer_tail_cache = w.credits.front();
    w.credits.pop_front();
    add(w);
  }

  sequence_space space_;
  unsigned period_;
  std::set<decltype(world{}.key())> seen_;
  std::deque<world> queue_;
  std::string broken_;
};

std::string explore(std::uint32_t n_slots, std::uint64_t modulus, std::size_t& states) {
  return explorer(n_slots, modulus).run(states);
}

}  // namespace

TEST_CASE("queue_pair: every state with small W keeps order, slots and credits") {
  for (std::uint32_t n = 1; n <= 4; ++n) {
    for (const std::uint64_t factor : {2u, 4u}) {
      std::size_t states = 0;
      CAPTURE(n, factor);
      CHECK(explore(n, n * factor, states) == "");
      CHECK(states > n * factor);
    }
  }
}

TEST_CASE("queue_pair: a wrap that is no multiple of n_slots maps two live messages to one slot") {
  std::size_t states = 0;
  CHECK(explore(3, 8, states) == "a slot in use is written");
}

TEST_CASE("queue_pair: W = n_slots cannot tell full from empty") {
  std::size_t states = 0;
  CHECK(explore(2, 2, states) != "");
}

TEST_CASE("queue_pair: distance and advance agree across the wrap for every n_slots up to 16") {
  for (std::uint32_t n = 1; n <= 16; ++n) {
    const sequence_space s(n);
    for (std::uint32_t back = 0; back <= 2 * n; ++back) {
      const auto start = static_cast<std::uint32_t>((s.modulus() - back) % s.modulus());
      for (std::uint32_t by = 0; by <= n; ++by) {
        const std::uint32_t end = s.advance(start, by);
        REQUIRE(s.distance(start, end) == by);
        REQUIRE(s.slot(end) == (s.slot(start) + by) % n);
      }
    }
  }
}
