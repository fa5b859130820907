// SPDX-License-Identifier: Apache-2.0
// One IPCQ engine, register by register.
#include <fmt/format.h>
#include <stdexcept>

#include "models/types/error.hpp"
#include "support/test.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::abi;
using namespace diecast::test;
using comm::east;
using comm::west;

namespace {

constexpr direction E = east;
constexpr direction W = west;

void send(engines& m, std::size_t engine, direction d, address source, std::uint64_t bytes) {
  m.write(engine, qp_register(d, qp_tx_source), source);
  m.write(engine, qp_register(d, qp_tx_doorbell), bytes);
}
void release(engines& m, std::size_t engine, direction d) {
  const auto& s = m.qp(engine, d);
  m.write(engine, qp_register(d, qp_my_tail), s.space.next(s.my_tail));
}
void expect_error(engines& m, std::size_t engine, engine_error error, std::uint16_t qp) {
  const auto e = m.event(engine);
  CHECK(e.kind == event_kind::error);
  CHECK(e.qp == qp);
  CHECK(e.value == static_cast<std::uint32_t>(error));
  CHECK(m[engine].read_register(ipcq_error) == status_halves{static_cast<std::uint32_t>(error), qp}.pack());
}
engines pair_of_ranks(std::uint32_t n_slots = 2) {
  return engines(comm::build_install_plan(ring_edges(3), ring_options(n_slots)), 16);
}

/// The matching rule alone, over these queue pairs.
std::unique_ptr<protocol::match_policy> protocol_rule(
    const std::vector<protocol::queue_pair_state>& qps = {}) {
  auto rule = protocol::match_by_address();
  rule->rebuild(qps);
  return rule;
}

}  // namespace

TEST_CASE("ipcq: a doorbell is a snapshot of the send") {
  engines m = pair_of_ranks();
  auto& core = m[0];
  core.write_register(qp_register(E, qp_tx_source), 0x1234);
  const auto first = core.write_register(qp_register(E, qp_tx_doorbell), 48);
  core.write_register(qp_register(E, qp_tx_source), 0x9999);
  const auto second = core.write_register(qp_register(E, qp_tx_doorbell), 0);
  REQUIRE(first.send);
  REQUIRE(second.send);
  CHECK_FALSE(first.credit);
  const auto& s = core.queue_pairs()[E];
  CHECK(first.send->source == 0x1234);
  CHECK(first.send->mailbox == s.peer_ipcq);
  CHECK(first.send->fields == ipcq_fields{s.peer_rx_base, 0, 48, core.self(), E});
  CHECK(second.send->fields == ipcq_fields{s.peer_rx_base + 64, 1, 0, core.self(), E});
  CHECK(s.my_head == 2);
}

TEST_CASE("ipcq: message sizes, zero bytes included, are read with the oldest slot") {
  engines m = pair_of_ranks(3);
  send(m, 0, E, 0, 64);
  send(m, 0, E, 0, 0);
  m.deliver_all();
  const auto status = [&] { return status_halves::unpack(m[1].read_register(qp_register(W, qp_rx_status))); };
  CHECK(status().low == 2);
  CHECK(status().high == 64);
  release(m, 1, W);
  CHECK(status().low == 1);
  CHECK(status().high == 0);
  release(m, 1, W);
  CHECK(status().low == 0);
}

TEST_CASE("ipcq: a credit names the receive ring and the tail after the increment") {
  engines m = pair_of_ranks();
  send(m, 0, E, 0, 8);
  m.deliver_all();
  const auto out = m[1].write_register(qp_register(W, qp_my_tail), 1);
  REQUIRE(out.credit);
  const auto& receiver = m.qp(1, W);
  CHECK(out.credit->mailbox == receiver.peer_ipcq);
  CHECK(out.credit->fields.match_address == receiver.rx_base);
  CHECK(out.credit->fields.match_address == m.qp(0, E).peer_rx_base);
  CHECK(out.credit->fields.sequence == 1);
}

TEST_CASE("ipcq: one write of the tail may release several slots with one credit") {
  engines m = pair_of_ranks(3);
  for (int i = 0; i < 3; ++i) send(m, 0, E, 0, 8);
  m.deliver_all();
  CHECK(m.qp(0, E).free_slots() == 0);
  m.write(1, qp_register(W, qp_my_tail), 3);
  CHECK(m.steps() == 1);
  m.deliver_all();
  CHECK(m.qp(0, E).free_slots() == 3);
}

TEST_CASE("ipcq: refused requests change nothing and are seen by firmware") {
  engines m = pair_of_ranks(1);
  SECTION("oversize") {
    send(m, 0, E, 0, 65);
    expect_error(m, 0, engine_error::oversize, E);
  }
  SECTION("bytes beyond 32 bits") {
    send(m, 0, E, 0, std::uint64_t{1} << 32);
    expect_error(m, 0, engine_error::oversize, E);
  }
  SECTION("no transmit half") {
    send(m, 0, comm::north, 0, 8);
    expect_error(m, 0, engine_error::tx_disabled, comm::north);
  }
  SECTION("release without a receive half") {
    m.write(0, qp_register(comm::north, qp_my_tail), 1);
    expect_error(m, 0, engine_error::rx_disabled, comm::north);
  }
  SECTION("release of an empty ring") {
    m.write(0, qp_register(E, qp_my_tail), 1);
    expect_error(m, 0, engine_error::tail_beyond_head, E);
    m.write(0, qp_register(E, qp_my_tail), 0);
    expect_error(m, 0, engine_error::tail_beyond_head, E);
    m.write(0, qp_register(E, qp_my_tail), std::uint64_t{1} << 40);
    expect_error(m, 0, engine_error::tail_beyond_head, E);
  }
  SECTION("wait on a half that is not there") {
    m.write(0, qp_register(comm::north, qp_arm), arm_receive);
    expect_error(m, 0, engine_error::rx_disabled, comm::north);
    m.write(0, qp_register(comm::north, qp_arm), arm_send_space);
    expect_error(m, 0, engine_error::tx_disabled, comm::north);
    CHECK(m.qp(0, comm::north).armed == 0);
  }
  SECTION("no such queue pair, register or access") {
    m.write(0, qp_register(16, qp_arm), 1);
    expect_error(m, 0, engine_error::bad_register, 0);
    m.write(0, qp_register(E, qp_tx_status), 1);
    expect_error(m, 0, engine_error::bad_register, E);
    m.write(0, 0x18, 1);
    expect_error(m, 0, engine_error::bad_register, 0);
    CHECK(m[0].read_register(qp_register(E, qp_tx_doorbell)) == ~std::uint64_t{0});
    expect_error(m, 0, engine_error::bad_register, E);
    CHECK(m[0].read_register(qp_register(E, qp_arm) + 4) == ~std::uint64_t{0});
    expect_error(m, 0, engine_error::bad_register, E);
  }
  CHECK(m.steps() == 0);
  CHECK(m.qp(0, E).my_head == 0);
  CHECK_FALSE(m[0].event_pending());
}

TEST_CASE("ipcq: a full ring refuses the doorbell") {
  engines m = pair_of_ranks(2);
  for (int i = 0; i < 3; ++i) send(m, 0, E, 0, 8);
  expect_error(m, 0, engine_error::ring_full, E);
  CHECK(m.qp(0, E).my_head == 2);
}

TEST_CASE("ipcq: registers of the DMA and the core are not the engine's") {
  CHECK(ipcq_core::owns(ipcq_event));
  CHECK(ipcq_core::owns(ipcq_queue_pairs));
  CHECK(ipcq_core::owns(qp_register(500, qp_arm)));
  CHECK_FALSE(ipcq_core::owns(dma_source));
  CHECK_FALSE(ipcq_core::owns(core_status));
  engines m = pair_of_ranks();
  CHECK_THROWS_AS(m[0].write_register(dma_doorbell, 1), std::logic_error);
  CHECK_THROWS_AS(m[0].read_register(core_status), std::logic_error);
  CHECK_FALSE(m[0].event_pending());
}

TEST_CASE("ipcq: events are one-shot and fire at once when the condition holds") {
  engines m = pair_of_ranks(1);
  SECTION("receive") {
    m.write(1, qp_register(W, qp_arm), arm_receive);
    CHECK_FALSE(m[1].event_pending());
    CHECK(m[1].read_register(qp_register(W, qp_arm)) == arm_receive);
    send(m, 0, E, 0, 8);
    m.deliver_all();
    const auto e = m.event(1);
    CHECK(e.kind == event_kind::receive);
    CHECK(e.qp == W);
    CHECK(e.value == 1);
    CHECK_FALSE(e.more);
    CHECK(m[1].read_register(qp_register(W, qp_arm)) == 0);
    CHECK(m.event(1).kind == event_kind::none);
    m.write(1, qp_register(W, qp_arm), arm_receive);
    CHECK(m.event(1).kind == event_kind::receive);
  }
  SECTION("send space") {
    m.write(0, qp_register(E, qp_arm), arm_send_space);
    CHECK(m.event(0).value == 1);
    send(m, 0, E, 0, 8);
    m.write(0, qp_register(E, qp_arm), arm_send_space);
    m.deliver_all();
    CHECK_FALSE(m[0].event_pending());
    release(m, 1, W);
    m.deliver_all();
    const auto e = m.event(0);
    CHECK(e.kind == event_kind::send_space);
    CHECK(e.value == 1);
  }
  SECTION("writing 0 withdraws") {
    m.write(1, qp_register(W, qp_arm), arm_receive);
    m.write(1, qp_register(W, qp_arm), 0);
    send(m, 0, E, 0, 8);
    m.deliver_all();
    CHECK_FALSE(m[1].event_pending());
  }
  SECTION("requests add up, and `more` announces the next event") {
    m.write(1, qp_register(W, qp_arm), arm_receive);
    send(m, 0, E, 0, 8);
    m.deliver_all();
    m.write(1, qp_register(W, qp_arm), arm_send_space);
    const auto first = m.event(1);
    CHECK(first.kind == event_kind::receive);
    CHECK(first.more);
    CHECK(m.event(1).kind == event_kind::send_space);
  }
}

TEST_CASE("ipcq: source_read waits for the sends rung when it was armed") {
  engines m = pair_of_ranks(4);
  auto& core = m[0];
  const auto ring = [&] { core.write_register(qp_register(E, qp_tx_doorbell), 8); };
  core.write_register(qp_register(E, qp_arm), arm_source_read);
  CHECK(m.event(0).kind == event_kind::source_read);  // nothing rung: holds at once
  ring();
  ring();
  core.write_register(qp_register(E, qp_arm), arm_source_read);
  ring();
  core.source_read(E);
  CHECK_FALSE(core.event_pending());
  core.source_read(E);
  const auto e = m.event(0);
  CHECK(e.kind == event_kind::source_read);
  CHECK(e.value == 2);
  CHECK(status_halves::unpack(core.read_register(qp_register(E, qp_tx_status))).high == 2);
  core.source_read(E);
  CHECK_THROWS_AS(core.source_read(E), std::logic_error);
}

TEST_CASE("ipcq: the host's backdoor has no side effects") {
  engines m = pair_of_ranks(1);
  auto& core = m[0];
  core.debug_write(qp_register(E, qp_my_tail), 5);
  core.debug_write(qp_register(E, qp_peer_head_cache), 6);
  core.debug_write(qp_register(E, qp_arm), arm_receive);
  CHECK_FALSE(core.event_pending());
  CHECK(core.debug_read(qp_register(E, qp_my_tail)) == 5);
  CHECK(core.debug_read(qp_register(E, qp_arm)) == arm_receive);
  core.push_event({event_kind::dma_done, false, 0, 3});
  CHECK(ipcq_event_word::unpack(core.debug_read(ipcq_event)).value == 3);
  CHECK(core.event_pending());
  CHECK_THROWS_AS(core.debug_write(qp_register(E, qp_tx_doorbell), 1), std::out_of_range);
  CHECK_THROWS_AS(core.debug_write(qp_register(E, qp_n_slots), std::uint64_t{1} << 33), std::out_of_range);
  CHECK_THROWS_AS(core.debug_read(qp_register(99, qp_arm)), std::out_of_range);
}

TEST_CASE("ipcq: every settable register reads back what was written") {
  engines m = pair_of_ranks();
  for (const auto field :
       {qp_control, qp_my_head, qp_my_tail, qp_peer_head_cache, qp_peer_tail_cache, qp_rx_base, qp_n_slots,
        qp_slot_bytes, qp_peer_rx_base, qp_peer_ipcq, qp_peer_coord, qp_tx_source, qp_arm}) {
    m[0].debug_write(qp_register(9, field), 3);
    CHECK(m[0].debug_read(qp_register(9, field)) == 3);
  }
  CHECK(unpack_peer(pack_peer({sip_id{200}, cube_id{100}, pe_id{50}})) ==
        pe_coord{sip_id{200}, cube_id{100}, pe_id{50}});
}

TEST_CASE("ipcq: D2 a token belongs to the ring its address lies in, though E and W lead to one peer") {
  engines m(comm::build_install_plan(ring_edges(2), ring_options(4)), 16);
  for (const direction d : {E, W}) {
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      const ipcq_fields token{m.qp(1, d).rx_base + slot * 64, slot, 8, m[0].self(), E};
      CHECK(m[1].token_arrived(token) == d);
      CHECK(m.qp(1, d).available() == slot + 1);
    }
  }
  // The last byte of a ring is in it, the one after is another's.
  const address end = m.qp(1, E).rx_base + 4 * 64;
  CHECK(protocol_rule()->token({end - 1, 0, 0, {}, 0}) == std::nullopt);
  const auto rule = protocol_rule(m[1].queue_pairs());
  CHECK(rule->token({end - 1, 0, 0, {}, 0}) == E);
  CHECK(rule->token({end, 0, 0, {}, 0}) != E);
}

TEST_CASE("ipcq: D3 a credit belongs to the queue pair that writes the ring it names") {
  engines m(comm::build_install_plan(ring_edges(2), ring_options(4)), 16);
  for (const direction d : {E, W}) {
    send(m, 0, d, 0, 8);
    send(m, 0, d, 0, 8);
  }
  CHECK(m[0].credit_arrived({m.qp(0, W).peer_rx_base, 2, 0, m[1].self(), W}) == W);
  CHECK(m.qp(0, W).free_slots() == 4);
  CHECK(m.qp(0, E).free_slots() == 2);
  CHECK(m[0].credit_arrived({m.qp(0, E).peer_rx_base, 1, 0, m[1].self(), W}) == E);
  CHECK(m.qp(0, E).free_slots() == 3);
}

TEST_CASE("ipcq: D2 an unmatched token ends the run with the direction map") {
  engines m = pair_of_ranks();
  const ipcq_fields stray{0xdead'0000, 0, 8, m[0].self(), E};
  CHECK_THROWS_AS(m[1].token_arrived(stray), protocol_error);
  using Catch::Contains;
  const auto& s = m.qp(1, W);
  CHECK_THROWS_WITH(m[1].token_arrived(stray), Contains("0x00000000dead0000") && Contains("sip0.cube0.pe1") &&
                                                   Contains("E   ") && Contains("W   ") &&
                                                   Contains(fmt::format("rx_base {:#018x}", s.rx_base)));
}

TEST_CASE("ipcq: D3 an unmatched credit ends the run with the direction map") {
  engines m = pair_of_ranks();
  // A credit that names the right peer and direction, but another ring.
  const ipcq_fields stray{m.qp(0, E).peer_rx_base + 64, 1, 0, m[1].self(), W};
  CHECK_THROWS_AS(m[0].credit_arrived(stray), protocol_error);
  CHECK_THROWS_WITH(m[0].credit_arrived(stray), Catch::Contains("credit") && Catch::Contains("peer_rx_base"));
}

TEST_CASE("ipcq: a sequence that is not the next one ends the run") {
  engines m = pair_of_ranks(2);
  const address base = m.qp(1, W).rx_base;
  SECTION("token ahead") {
    CHECK_THROWS_WITH(m[1].token_arrived({base + 64, 1, 8, m[0].self(), E}),
                      Catch::Contains("expected sequence 0"));
  }
  SECTION("token repeated") {
    m[1].token_arrived({base, 0, 8, m[0].self(), E});
    CHECK_THROWS_AS(m[1].token_arrived({base, 0, 8, m[0].self(), E}), protocol_error);
  }
  SECTION("token in another slot of its ring") {
    CHECK_THROWS_WITH(m[1].token_arrived({base + 64, 0, 8, m[0].self(), E}), Catch::Contains("slot at"));
  }
  SECTION("token into a full ring") {
    m[1].token_arrived({base, 0, 8, m[0].self(), E});
    m[1].token_arrived({base + 64, 1, 8, m[0].self(), E});
    CHECK_THROWS_WITH(m[1].token_arrived({base, 2, 8, m[0].self(), E}), Catch::Contains("all 2 slots"));
  }
  SECTION("credit for nothing, and beyond what was sent") {
    const address ring = m.qp(0, E).peer_rx_base;
    CHECK_THROWS_AS(m[0].credit_arrived({ring, 0, 0, m[1].self(), W}), protocol_error);
    CHECK_THROWS_AS(m[0].credit_arrived({ring, 1, 0, m[1].self(), W}), protocol_error);
  }
  SECTION("credit beyond the sequence space") {
    engines three = pair_of_ranks(3);
    three[0].debug_write(qp_register(E, qp_my_head), 1);
    CHECK_THROWS_AS(
        three[0].credit_arrived({three.qp(0, E).peer_rx_base, 0xffff'ffff, 0, three[1].self(), W}),
        protocol_error);
  }
}

TEST_CASE("ipcq: D4 no direction of the peer is stored, and D5 src_direction is diagnostic only") {
  engines m = pair_of_ranks();
  // All a queue pair knows of its peer: an address to write to, a mailbox, and coordinates for dumps.
  m[0].debug_write(qp_register(E, qp_peer_coord), pack_peer({sip_id{9}, cube_id{9}, pe_id{9}}));
  const auto lie = [](ipcq_fields& f) {
    f.source_direction = 77;
    f.source = {sip_id{8}, cube_id{8}, pe_id{8}};
  };
  send(m, 0, E, 0, 8);
  m.step(0);  // source read
  CHECK(m.step(0, lie) == std::pair{std::size_t{1}, std::uint16_t{W}});
  release(m, 1, W);
  CHECK(m.step(0, lie) == std::pair{std::size_t{0}, std::uint16_t{E}});
  CHECK(m.qp(0, E).free_slots() == 2);
}

TEST_CASE("ipcq: dump names direction, rx base, pointers and waiters") {
  engines m = pair_of_ranks(2);
  m.write(1, qp_register(W, qp_arm), arm_receive);
  send(m, 1, E, 0, 8);
  const std::string text = m[1].dump();
  using Catch::Contains;
  CHECK_THAT(text, Contains(fmt::format("rx_base {:#018x}", m.qp(1, W).rx_base)));
  CHECK_THAT(text, Contains("my_head 1 my_tail 0 peer_head_cache 0 peer_tail_cache 0"));
  CHECK_THAT(text, Contains("waiters receive"));
  CHECK_THAT(text, !Contains("N   "));
}
