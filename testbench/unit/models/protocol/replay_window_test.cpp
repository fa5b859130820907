// SPDX-License-Identifier: Apache-2.0
// Every interleaving of sending, corruption, lost answers and timeouts for small windows: flits arrive
// once and in order, the window is never overrun, and every run can end with everything acknowledged.
#include "models/protocol/replay_window.hpp"

#include <deque>
#include <set>
#include <tuple>
#include <vector>

#include "support/test.hpp"

namespace diecast::test {
namespace {

using protocol::replay_answer;
using protocol::replay_receiver;
using protocol::replay_sender;

struct flit {
  std::uint32_t sequence;
  std::uint32_t payload;  ///< which flit of the stream it really is
  bool intact;
  auto operator<=>(const flit&) const = default;
};

struct budget {
  int corruptions{}, lost_answers{}, timeouts{};
  auto operator<=>(const budget&) const = default;
};

struct world {
  replay_sender sender;
  replay_receiver receiver;
  std::uint32_t window;
  std::uint32_t flits;  ///< flits of the stream
  budget left;
  std::deque<flit> wire;
  std::deque<replay_answer> answers;
  std::uint32_t first_held{};  ///< payload of the oldest flit in the retry buffer
  std::uint32_t sent_new{};
  std::uint32_t delivered{};

  [[nodiscard]] bool finished() const { return delivered == flits && sender.outstanding() == 0; }
};

/// Payload of the flit that send() is about to put on the wire: counted from the buffer's oldest.
void send(world& w, std::uint32_t modulus, bool intact) {
  const bool again = w.sender.replaying();
  const std::uint32_t oldest = w.sender.outstanding() > 0 ? w.sender.oldest() : 0;
  const std::uint32_t sequence = w.sender.send();
  const std::uint32_t payload = again ? w.first_held + (sequence + modulus - oldest) % modulus : w.sent_new++;
  CHECK(w.sender.outstanding() <= w.window);
  w.wire.push_back({sequence, payload, intact});
}

void arrive(world& w) {
  const flit f = w.wire.front();
  w.wire.pop_front();
  const auto verdict = f.intact ? w.receiver.receive(f.sequence) : w.receiver.receive_corrupted();
  if (verdict.deliver) {
    CHECK(f.intact);
    CHECK(f.payload == w.delivered);  // once and in order
    ++w.delivered;
  }
  w.answers.push_back(verdict.answer);
}

void answer(world& w) {
  const std::uint32_t held = w.sender.outstanding();
  w.sender.take(w.answers.front());
  w.answers.pop_front();
  w.first_held += held - w.sender.outstanding();
}

/// What tells two worlds apart.
auto key(const world& w) {
  std::vector<std::uint64_t> k{w.sent_new,
                               w.delivered,
                               w.first_held,
                               w.receiver.expected(),
                               w.sender.outstanding(),
                               w.sender.replaying() ? 1U : 0U};
  // The next flit to be sent and the places are seen through a copy's behavior.
  replay_sender probe = w.sender;
  k.push_back(!probe.full() || probe.replaying() ? probe.send() : UINT64_MAX);
  for (const replay_answer& a : w.answers) {
    probe = w.sender;
    probe.take(a);
    k.insert(k.end(), {static_cast<std::uint64_t>(a.what), a.sequence, probe.outstanding(),
                       probe.replaying() ? 1U : 0U, a.place});
  }
  replay_receiver r = w.receiver;
  k.push_back(r.receive_corrupted().answer.place);
  for (const flit& f : w.wire) k.insert(k.end(), {f.sequence, f.payload, f.intact ? 1U : 0U});
  return std::tuple{k, w.left};
}

class explorer {
 public:
  explorer(std::uint32_t window, std::uint32_t modulus, std::uint32_t flits, budget b) : modulus_(modulus) {
    open_.push_back({{window, modulus}, replay_receiver(modulus), window, flits, b, {}, {}});
  }

  /// Number of states seen.
  std::size_t run() {
    while (!open_.empty()) {
      const world w = open_.back();
      open_.pop_back();
      if (!seen_.insert(key(w)).second) continue;
      step(w);
    }
    return seen_.size();
  }
  std::size_t ends{};

 private:
  void step(const world& w) {
    bool stuck = true;
    const auto branch = [&](auto act) {
      world next = w;
      act(next);
      open_.push_back(std::move(next));
      stuck = false;
    };
    const bool has_more = w.sender.replaying() || (w.sent_new < w.flits && !w.sender.full());
    if (has_more) branch([&](world& n) { send(n, modulus_, true); });
    if (has_more && w.left.corruptions > 0)
      branch([&](world& n) {
        --n.left.corruptions;
        send(n, modulus_, false);
      });
    if (!w.wire.empty()) branch([](world& n) { arrive(n); });
    if (!w.answers.empty()) {
      branch([](world& n) { answer(n); });
      if (w.left.lost_answers > 0)
        branch([](world& n) {
          --n.left.lost_answers;
          n.answers.pop_front();
        });
    }
    // A timer that fires too soon, up to its budget; and one that fires because nothing else can.
    const bool quiet = w.wire.empty() && w.answers.empty() && !has_more;
    if (w.sender.outstanding() > 0 && (quiet || w.left.timeouts > 0))
      branch([quiet](world& n) {
        if (!quiet) --n.left.timeouts;
        n.sender.timeout();
      });
    if (!stuck) return;
    ++ends;
    CHECK(w.finished());
  }

  std::uint32_t modulus_;
  std::vector<world> open_;
  std::set<decltype(key(std::declval<const world&>()))> seen_;
};

TEST_CASE("replay window: every interleaving of corruption, lost answers and timeouts delivers in order") {
  struct scope {
    std::uint32_t window, modulus, flits;
    budget b;
  };
  for (const scope& s : {scope{1, 2, 4, {2, 1, 1}}, scope{2, 4, 5, {2, 1, 0}}, scope{2, 4, 4, {1, 1, 1}},
                         scope{2, 5, 6, {2, 0, 1}}, scope{3, 6, 5, {2, 0, 0}}, scope{3, 8, 7, {1, 1, 0}}}) {
    INFO("window " << s.window << " modulus " << s.modulus);
    explorer e(s.window, s.modulus, s.flits, s.b);
    const std::size_t states = e.run();
    INFO(states << " states");
    CHECK(states > 100);
    CHECK(e.ends > 0);
  }
}

TEST_CASE("replay window: without errors nothing is sent twice and numbers wrap") {
  replay_sender sender(3, 6);
  replay_receiver receiver(6);
  for (std::uint32_t n = 0; n < 20; ++n) {
    REQUIRE_FALSE(sender.replaying());
    const std::uint32_t sequence = sender.send();
    CHECK(sequence == n % 6);
    const auto verdict = receiver.receive(sequence);
    CHECK(verdict.deliver);
    if (n % 3 == 2) sender.take(verdict.answer);  // Acks are cumulative
  }
  CHECK(sender.outstanding() == 2);
}

TEST_CASE("replay window: a corrupted flit costs one return however many flits follow it") {
  replay_sender sender(8, 16);
  replay_receiver receiver(16);
  std::vector<replay_answer> answers;
  for (int n = 0; n < 5; ++n) {
    const std::uint32_t sequence = sender.send();
    answers.push_back(n == 1 ? receiver.receive_corrupted().answer : receiver.receive(sequence).answer);
  }
  sender.take(answers[0]);
  CHECK(sender.outstanding() == 4);
  sender.take(answers[1]);
  REQUIRE(sender.replaying());
  CHECK(sender.send() == 1);
  // The Naks of flits 2, 3 and 4 answer what was sent before: the replay goes on.
  for (int n = 2; n < 5; ++n) sender.take(answers[static_cast<std::size_t>(n)]);
  CHECK(sender.send() == 2);
  // The replayed flit 1 is hit again: its own Nak counts.
  sender.take(receiver.receive_corrupted().answer);
  CHECK(sender.send() == 1);
}

TEST_CASE("replay window: numbers too few for the window are refused") {
  CHECK_THROWS_AS(replay_sender(4, 7), std::invalid_argument);
  CHECK_THROWS_AS(replay_sender(0, 4), std::invalid_argument);
}

}  // namespace
}  // namespace diecast::test
