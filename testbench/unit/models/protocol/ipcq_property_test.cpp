// SPDX-License-Identifier: Apache-2.0
// IPCQ engines under random firmware, random delays and every n_slots near its wrap.
#include <deque>
#include <random>
#include <vector>

#include <rapidcheck.h>

#include "models/types/error.hpp"
#include "support/test.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::abi;
using namespace diecast::test;

namespace {

/// Random firmware on every engine: each queue pair sends `messages` messages and consumes what
/// arrives; the size of a message is its content.
class random_run {
 public:
  random_run(engines& m, std::uint32_t messages, std::uint32_t slot_bytes, std::uint32_t seed)
      : m_(m), messages_(messages), slot_bytes_(slot_bytes), draw_(seed) {
    for (std::size_t e = 0; e < m.size(); ++e) {
      for (std::size_t d = 0; d < m[e].queue_pairs().size(); ++d) {
        const auto& s = m[e].queue_pairs()[d];
        if (s.tx || s.rx) ends_.push_back({e, static_cast<direction>(d)});
      }
    }
  }

  /// `change` alters fields on their way.
  template <class Change>
  void run(Change change) {
    while (true) {
      const std::size_t flights = m_.steps();
      const std::vector<std::size_t> ready = actions();
      if (flights + ready.size() == 0) break;
      const std::size_t pick = draw_() % (flights + ready.size());
      if (pick < flights) {
        m_.step(pick, change);
      } else {
        act(ends_[ready[pick - flights]]);
      }
      check_pointers();
    }
    check_rest();
  }

 private:
  struct end {
    std::size_t engine{};
    direction dir{};
    std::uint32_t sent{}, received{};
    std::deque<std::uint32_t> sizes{};  ///< sizes of messages that the peer has not consumed yet
  };

  const protocol::queue_pair_state& qp(const end& e) { return m_.qp(e.engine, e.dir); }
  bool can_send(const end& e) { return qp(e).tx && e.sent < messages_ && qp(e).free_slots() > 0; }
  bool can_receive(const end& e) { return qp(e).rx && qp(e).available() > 0; }

  std::vector<std::size_t> actions() {
    std::vector<std::size_t> v;
    for (std::size_t i = 0; i < ends_.size(); ++i)
      if (can_send(ends_[i]) || can_receive(ends_[i])) v.push_back(i);
    return v;
  }

  /// The end whose ring this end writes.
  end& peer_of(const end& e) {
    for (end& other : ends_)
      if (qp(other).rx && qp(other).rx_base == qp(e).peer_rx_base) return other;
    throw std::logic_error("nobody has that ring");
  }

  void act(end& e) {
    if (can_send(e) && (!can_receive(e) || draw_() % 2 == 0)) {
      const auto bytes = static_cast<std::uint32_t>(draw_() % (slot_bytes_ + 1));
      peer_of(e).sizes.push_back(bytes);
      ++e.sent;
      m_.write(e.engine, qp_register(e.dir, qp_tx_doorbell), bytes);
      return;
    }
    const auto& s = qp(e);
    const auto count = static_cast<std::uint32_t>(1 + draw_() % s.available());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t slot = s.space.slot(s.space.advance(s.my_tail, i));
      RC_ASSERT(s.slot_message_bytes[slot] == e.sizes.front());
      e.sizes.pop_front();
    }
    e.received += count;
    m_.write(e.engine, qp_register(e.dir, qp_my_tail), s.space.advance(s.my_tail, count));
  }

  void check_pointers() {
    for (const end& e : ends_) {
      const auto& s = qp(e);
      RC_ASSERT(s.space.distance(s.peer_tail_cache, s.my_head) <= s.n_slots);
      RC_ASSERT(s.available() <= s.n_slots);
      RC_ASSERT(!m_[e.engine].event_pending());
    }
  }

  void check_rest() {
    for (const end& e : ends_) {
      const auto& s = qp(e);
      if (s.tx) {
        RC_ASSERT(e.sent == messages_);
        RC_ASSERT(s.free_slots() == s.n_slots);
        RC_ASSERT(s.sources_read == s.sends);
      }
      if (s.rx) {
        RC_ASSERT(e.received == messages_);
        RC_ASSERT(s.available() == 0u);
      }
    }
  }

  engines& m_;
  std::uint32_t messages_, slot_bytes_;
  std::mt19937 draw_;
  std::vector<end> ends_;
};

struct ring_case {
  std::uint32_t ranks, n_slots, messages, back, seed;
  bool bidirectional;
};

ring_case any_ring() {
  ring_case c{};
  c.ranks = *rc::gen::inRange(2u, 6u).as("ranks");
  c.n_slots = *rc::gen::inRange(1u, 17u).as("n_slots");
  c.messages = *rc::gen::inRange(0u, 60u).as("messages");
  c.back = *rc::gen::inRange(0u, 40u).as("messages before the wrap");
  c.seed = *rc::gen::arbitrary<std::uint32_t>().as("seed");
  c.bidirectional = *rc::gen::arbitrary<bool>().as("bidirectional");
  return c;
}

comm::install_plan plan_of(const ring_case& c) {
  return comm::build_install_plan(ring_edges(c.ranks, c.bidirectional), ring_options(c.n_slots));
}

template <class Change>
void run_case(const ring_case& c, const comm::install_plan& plan, Change change) {
  engines m(plan, 16);
  const std::uint64_t w = protocol::sequence_modulus(c.n_slots);
  m.start_at(static_cast<std::uint32_t>((w - c.back) % w));
  random_run(m, c.messages, 64, c.seed).run(change);
}

}  // namespace

TEST_CASE("ipcq: every message arrives once and in order, whatever the delays") {
  CHECK(rc::check("random firmware and delays", [] {
    const ring_case c = any_ring();
    run_case(c, plan_of(c), [](ipcq_fields&) {});
  }));
}

TEST_CASE("ipcq: D5 scrambled sources and directions change nothing") {
  CHECK(rc::check("scrambled diagnostics", [] {
    const ring_case c = any_ring();
    std::mt19937 noise(c.seed);
    run_case(c, plan_of(c), [&](ipcq_fields& f) {
      f.source_direction = static_cast<std::uint16_t>(noise());
      f.source = {sip_id{static_cast<std::uint32_t>(noise() % 256)}, cube_id{0}, pe_id{0}};
    });
  }));
}

TEST_CASE("ipcq: matching does not care how addresses are encoded") {
  CHECK(rc::check("synthetic addresses", [] {
    const ring_case c = any_ring();
    const auto base = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 62).as("base");
    const std::uint64_t gap = *rc::gen::inRange<std::uint64_t>(0, 5000).as("gap");
    const std::uint64_t ring = std::uint64_t{c.n_slots} * 64;
    const auto plan = with_synthetic_addresses(
        plan_of(c), [&](std::uint64_t i) { return base + (i * 5 % 64) * (ring + gap); });
    comm::prove_install_plan(plan);
    run_case(c, plan, [](ipcq_fields&) {});
  }));
}

TEST_CASE("ipcq: every n_slots from 1 to 16 runs through its wrap") {
  for (std::uint32_t n = 1; n <= 16; ++n)
    CHECK(rc::check("wrap with n_slots " + std::to_string(n), [n] {
      const auto seed = *rc::gen::arbitrary<std::uint32_t>();
      const ring_case c{2, n, 4 * n, *rc::gen::inRange(0u, 3 * n), seed, true};
      run_case(c, plan_of(c), [](ipcq_fields&) {});
    }));
}

namespace {

/// Lock-step firmware of a ring: in each round send E and W, then wait for a message in both, as a
/// kernel does. Returns true when all ranks finish; false when no step is left and one waits.
bool lock_step_ring(engines& m, std::uint32_t rounds, bool bidirectional) {
  const std::vector<direction> sends =
      bidirectional ? std::vector{comm::east, comm::west} : std::vector{comm::east};
  const std::vector<direction> receives =
      bidirectional ? std::vector{comm::west, comm::east} : std::vector{comm::west};
  struct firmware {
    std::uint32_t round{};
    std::size_t step{};
  };
  std::vector<firmware> ranks(m.size());
  const auto advance = [&](std::size_t r) {
    firmware& f = ranks[r];
    if (f.round == rounds) return false;
    if (f.step < sends.size()) {
      if (m.qp(r, sends[f.step]).free_slots() == 0) return false;
      m.write(r, qp_register(sends[f.step], qp_tx_doorbell), 8);
    } else {
      const direction d = receives[f.step - sends.size()];
      const auto& s = m.qp(r, d);
      if (s.available() == 0) return false;
      m.write(r, qp_register(d, qp_my_tail), s.space.next(s.my_tail));
    }
    if (++f.step == sends.size() + receives.size()) f = {f.round + 1, 0};
    return true;
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      while (advance(r)) moved = true;
    }
    if (m.steps() > 0) moved = true;
    m.deliver_all();
  }
  return std::all_of(ranks.begin(), ranks.end(), [&](const firmware& f) { return f.round == rounds; });
}

bool ring_runs(std::uint32_t ranks, engines::policy match, bool bidirectional = true) {
  engines m(comm::build_install_plan(ring_edges(ranks, bidirectional), ring_options(2)), 16, match);
  return lock_step_ring(m, 10, bidirectional);
}

}  // namespace

TEST_CASE("ipcq: a ring of two ranks passes with address matching and stalls with sender matching") {
  CHECK(ring_runs(2, protocol::match_by_address));
  engines m(comm::build_install_plan(ring_edges(2), ring_options(2)), 16, protocol::match_by_sender);
  CHECK_FALSE(lock_step_ring(m, 10, true));
  // Both tokens were counted on E; nobody ever sees the one that was written to W's ring.
  CHECK(m.qp(0, comm::west).available() == 0);
  CHECK(m.qp(0, comm::west).peer_head_cache == 0);
  CHECK(m.qp(1, comm::east).my_head > 0);
  CHECK(m[0].sequence_mismatches() > 0);
  CHECK(m[1].sequence_mismatches() > 0);
}

TEST_CASE("ipcq: sender matching is wrong only where two directions lead to one peer") {
  for (std::uint32_t ranks = 3; ranks <= 5; ++ranks) {
    CHECK(ring_runs(ranks, protocol::match_by_sender));
    CHECK(ring_runs(ranks, protocol::match_by_address));
  }
}

TEST_CASE("ipcq: one-way rings run, of two ranks too") {
  for (std::uint32_t ranks = 2; ranks <= 5; ++ranks)
    CHECK(ring_runs(ranks, protocol::match_by_address, false));
}

TEST_CASE("ipcq: M sends before the first receive pass with n_slots = M and stall with M - 1") {
  const auto over_send = [](std::uint32_t sends, std::uint32_t n_slots) {
    engines m(comm::build_install_plan(ring_edges(3), ring_options(n_slots)), 16);
    std::uint32_t sent = 0;
    for (std::uint32_t i = 0; i < sends && m.qp(0, comm::east).free_slots() > 0; ++i, ++sent) {
      for (std::size_t r = 0; r < m.size(); ++r) m.write(r, qp_register(comm::east, qp_tx_doorbell), 8);
      m.deliver_all();
    }
    return sent == sends;
  };
  for (std::uint32_t n = 2; n <= 16; ++n) {
    CHECK(over_send(n, n));
    CHECK_FALSE(over_send(n, n - 1));
  }
}
