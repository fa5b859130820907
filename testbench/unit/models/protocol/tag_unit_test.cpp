// SPDX-License-Identifier: Apache-2.0
// Single rules of the tag-matching unit and its shadow.
#include "models/protocol/tag_unit.hpp"

#include "models/protocol/tag_shadow.hpp"
#include "support/test.hpp"

using namespace diecast::protocol;
using verdict = tag_unit::verdict;
using done = tag_completion::kind;
using outcome = tag_shadow::decision::kind;

namespace {

tag_command append(std::uint16_t index, tag_pattern wanted, std::uint32_t seen = 0) {
  return {tag_command::kind::append, seen, index, wanted, 0x100U + index, 64};
}
tag_command nop(std::uint32_t seen) { return {tag_command::kind::nop, seen, 0, {}, 0, 0}; }
tag_message message(std::uint64_t tag) {
  tag_message m;
  m.tag = tag;
  return m;
}
posted_receive receive(std::uint32_t id, std::uint64_t tag, std::uint64_t mask = ~std::uint64_t{0}) {
  return {id, {tag, mask}, 0x1000, 64, true};
}
offload_policy policy(std::uint32_t entries) {
  offload_policy p;
  p.entries = entries;
  return p;
}

/// Hands every command of the shadow to the unit, and every answer back.
void exchange_commands(tag_shadow& shadow, tag_unit& unit) {
  while (const auto c = shadow.take_command()) unit.execute(*c);
  while (const auto c = unit.pop_command_done()) (void)shadow.command_done(*c);
}

}  // namespace

TEST_CASE("tag unit: the first matching entry in order of posting takes the message") {
  tag_unit unit{4, 4};
  unit.execute(append(0, {7}));
  unit.execute(append(1, {0, 0}));
  unit.execute(append(2, {5}));
  const verdict v = unit.arrive(message(5), true);
  CHECK(v.what == verdict::kind::matched);
  CHECK(v.index == 1);
  CHECK(v.buffer == 0x101);
  CHECK(v.looked_at == 2);
  CHECK(unit.arrive(message(5), true).index == 2);
  CHECK(unit.arrive(message(5), true).what == verdict::kind::unexpected);
  CHECK(unit.entries_used() == 1);
}

TEST_CASE("tag unit: a partial mask compares the bits it names alone") {
  tag_unit unit{1, 1};
  unit.execute(append(0, {0x12, 0xf0}));
  CHECK(unit.arrive(message(0x22), true).what == verdict::kind::unexpected);
  unit.execute(nop(1));
  CHECK(unit.arrive(message(0x1f), true).what == verdict::kind::matched);
}

TEST_CASE(
    "tag unit: an entry appended while a message is unseen waits for firmware's count, older ones do not") {
  tag_unit unit{4, 4};
  unit.execute(append(0, {9}));
  CHECK(unit.arrive(message(5), true).what == verdict::kind::unexpected);
  unit.execute(append(1, {0, 0}, 0));  // firmware has seen none of the one
  CHECK(unit.arrive(message(9), true).index == 0);
  CHECK(unit.arrive(message(6), true).what == verdict::kind::unexpected);
  unit.execute(nop(1));
  CHECK(unit.arrive(message(6), true).what == verdict::kind::unexpected);
  unit.execute(nop(3));
  CHECK(unit.arrive(message(6), true).index == 1);
}

TEST_CASE("tag unit: a message in fragments is CONSUMED when taken and EXPECTED when landed") {
  tag_unit unit{2, 2};
  unit.execute(append(0, {1}));
  const verdict long_one = unit.arrive(message(1), false);
  const verdict after = unit.arrive(message(1), true);
  CHECK(after.what == verdict::kind::unexpected);
  CHECK(unit.pop_arrival()->what == done::consumed);
  CHECK_FALSE(unit.arrival_ready());  // the unexpected one has not landed
  unit.landed(after.ticket);
  CHECK(unit.pop_arrival()->what == done::unexpected);
  unit.landed(long_one.ticket);
  CHECK(unit.pop_arrival()->what == done::expected);
  CHECK_THROWS(unit.landed(long_one.ticket));
}

TEST_CASE("tag unit: completions of messages keep the order of the verdicts, whatever lands first") {
  tag_unit unit{1, 4};
  unit.execute(append(0, {1}));
  const verdict first = unit.arrive(message(1), true);
  const verdict second = unit.arrive(message(2), true);
  unit.landed(second.ticket);
  CHECK_FALSE(unit.arrival_ready());
  unit.landed(first.ticket);
  CHECK(unit.pop_arrival()->what == done::consumed_msg);
  CHECK(unit.pop_arrival()->message.tag == 2);
}

TEST_CASE("tag unit: a message outside matching takes a slot and is not counted") {
  tag_unit unit{1, 1};
  tag_message m = message(1);
  m.op = tag_op::no_tag;
  const verdict v = unit.arrive(m, true);
  unit.landed(v.ticket);
  CHECK(unit.pop_arrival()->what == done::no_tag);
  CHECK(unit.unexpected_count() == 0);
  CHECK(unit.slots_taken() == 1);
  unit.release(v.slot);
  CHECK_THROWS(unit.release(v.slot));
}

TEST_CASE("tag unit: a full ring refuses a message that came without credit") {
  tag_unit unit{0, 1};
  (void)unit.arrive(message(1), true);
  CHECK_THROWS_AS(unit.arrive(message(2), true), std::overflow_error);
}

TEST_CASE("tag unit: APPEND beyond the entries, or of an index in use, is refused") {
  tag_unit unit{1, 1};
  unit.execute(append(0, {1}));
  CHECK_THROWS(unit.execute(append(1, {1})));
  tag_unit wide{2, 1};
  wide.execute(append(0, {1}));
  CHECK_THROWS(wide.execute(append(0, {1})));
}

TEST_CASE("tag shadow: UNEXPECTED in flight during APPEND is matched in software and the entry removed") {
  tag_unit unit{2, 2};
  tag_shadow shadow{policy(2)};
  const verdict v = unit.arrive(message(5), true);
  CHECK(shadow.post(receive(1, 5)).what == outcome::nothing);  // its UNEXPECTED has not been seen
  exchange_commands(shadow, unit);
  CHECK(unit.entries_used() == 1);
  unit.landed(v.ticket);
  const auto d = shadow.arrived(*unit.pop_arrival(), 33);
  CHECK(d.what == outcome::hit);
  CHECK(d.receive == 1);
  CHECK(shadow.indexes_used() == 1);  // until the unit has answered the REMOVE
  exchange_commands(shadow, unit);
  CHECK(shadow.idle());
  CHECK(unit.entries_used() == 0);
}

TEST_CASE("tag shadow: REMOVE in flight during a match loses, and the receive completes") {
  tag_unit unit{1, 1};
  tag_shadow shadow{policy(1)};
  (void)shadow.post(receive(1, 5));
  exchange_commands(shadow, unit);
  CHECK(shadow.cancel(1).what == outcome::pending);
  const verdict v = unit.arrive(message(5), true);
  CHECK(v.what == verdict::kind::matched);
  while (const auto c = shadow.take_command()) unit.execute(*c);
  CHECK(shadow.command_done(*unit.pop_command_done()).what == outcome::nothing);  // an error: consumed
  unit.landed(v.ticket);
  const auto d = shadow.arrived(*unit.pop_arrival(), 0);
  CHECK(d.what == outcome::landed);
  CHECK(d.receive == 1);
  CHECK(shadow.idle());
}

TEST_CASE("tag shadow: cancel before a match succeeds, after it comes too late") {
  tag_unit unit{1, 1};
  tag_shadow shadow{policy(1)};
  (void)shadow.post(receive(1, 5));
  (void)shadow.post(receive(2, 5));  // no entry left: software alone
  CHECK(shadow.statistics().blocked_full == 1);
  CHECK(shadow.cancel(2).what == outcome::cancelled);
  exchange_commands(shadow, unit);
  CHECK(shadow.cancel(1).what == outcome::pending);
  unit.execute(*shadow.take_command());
  const auto d = shadow.command_done(*unit.pop_command_done());
  CHECK(d.what == outcome::cancelled);
  CHECK(d.receive == 1);
  CHECK(shadow.cancel(1).what == outcome::too_late);
  CHECK(shadow.idle());
}

TEST_CASE("tag shadow: a receive being cancelled takes no message that comes after its entry left the list") {
  tag_unit unit{2, 2};
  tag_shadow shadow{policy(2)};
  (void)shadow.post(receive(1, 0, 0));
  (void)shadow.post(receive(2, 0, 0));
  exchange_commands(shadow, unit);
  (void)shadow.cancel(1);
  unit.execute(*shadow.take_command());  // entry 1 is out; firmware does not know yet
  const verdict first = unit.arrive(message(5), true);
  const verdict second = unit.arrive(message(5), true);
  unit.landed(first.ticket);
  unit.landed(second.ticket);
  CHECK(shadow.arrived(*unit.pop_arrival(), 0).receive == 2);
  // Were it given to receive 1, the later message would be with the earlier receive.
  CHECK(shadow.arrived(*unit.pop_arrival(), 1).what == outcome::stored);
  CHECK(shadow.command_done(*unit.pop_command_done()).what == outcome::cancelled);
}

TEST_CASE("tag shadow: an index is not used again before its APPEND and its arrival are both answered") {
  tag_unit unit{1, 2};
  tag_shadow shadow{policy(1)};
  (void)shadow.post(receive(1, 5));
  unit.execute(*shadow.take_command());
  const verdict v = unit.arrive(message(5), true);
  unit.landed(v.ticket);
  CHECK(shadow.arrived(*unit.pop_arrival(), 0).what == outcome::landed);
  (void)shadow.post(receive(2, 5));
  CHECK_FALSE(shadow.command_waiting());  // APPEND of receive 1 is not answered
  (void)shadow.command_done(*unit.pop_command_done());
  CHECK(shadow.cancel(2).what == outcome::cancelled);
  (void)shadow.post(receive(3, 5));
  CHECK(shadow.command_waiting());
}

TEST_CASE("tag shadow: the offload policy keeps short, wild and scattered receives in software") {
  offload_policy p = policy(4);
  p.min_bytes = 32;
  p.wildcards = false;
  p.force_bytes = 1000;
  tag_shadow shadow{p};
  posted_receive r = receive(1, 5);
  r.room = 8;
  (void)shadow.post(r);
  CHECK(shadow.statistics().blocked_short == 1);
  (void)shadow.post(receive(2, 5));
  CHECK(shadow.statistics().blocked_software_pending == 1);
  CHECK_FALSE(shadow.command_waiting());
  r = receive(3, 6);
  r.room = 1000;  // forces those before it out
  (void)shadow.post(r);
  CHECK(shadow.statistics().offloaded == 3);
  (void)shadow.post(receive(4, 0, 0));
  CHECK(shadow.statistics().blocked_wildcard == 1);
  CHECK(shadow.cancel(4).what == outcome::cancelled);
  r = receive(5, 6);
  r.contiguous = false;
  (void)shadow.post(r);
  CHECK(shadow.statistics().blocked_non_contiguous == 1);
}

TEST_CASE("tag shadow: firmware tells the unit of unexpected messages at least every interval") {
  offload_policy p = policy(1);
  p.command_interval = 4;
  tag_shadow shadow{p};
  tag_unit unit{1, 64};
  unsigned commands = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    unit.landed(unit.arrive(message(i), true).ticket);
    CHECK(shadow.arrived(*unit.pop_arrival(), i).what == outcome::stored);
    while (shadow.take_command()) ++commands;
  }
  CHECK(commands == 5);
}

TEST_CASE("tag shadow: the default interval is 2^14 messages, across the wrap of the count") {
  tag_shadow shadow{policy(1)};
  tag_unit unit{1, 1};
  (void)shadow.post(receive(1, 77));  // a live entry, which none of them matches
  exchange_commands(shadow, unit);
  std::vector<std::uint32_t> told;
  for (std::uint32_t i = 1; i <= 80'000; ++i) {
    const verdict v = unit.arrive(message(5), true);
    unit.landed(v.ticket);
    CHECK(shadow.arrived(*unit.pop_arrival(), i).what == outcome::stored);
    unit.release(v.slot);
    while (const auto c = shadow.take_command()) {
      CHECK(c->what == tag_command::kind::nop);
      CHECK(c->seen == i % tag_unit::counter_modulus);
      unit.execute(*c);
      told.push_back(i);
    }
    (void)shadow.extract({5});
  }
  CHECK(told == std::vector<std::uint32_t>{16'384, 32'768, 49'152, 65'536});
  const verdict v = unit.arrive(message(77), true);  // and the entry still matches
  CHECK(v.what == verdict::kind::matched);
}

TEST_CASE("tag shadow: the same buffer posted twice is filled twice, in order") {
  tag_unit unit{2, 2};
  tag_shadow shadow{policy(2)};
  (void)shadow.post(receive(1, 5));
  (void)shadow.post(receive(2, 5));
  exchange_commands(shadow, unit);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    const verdict v = unit.arrive(message(5), true);
    CHECK(v.buffer == 0x1000);
    unit.landed(v.ticket);
    CHECK(shadow.arrived(*unit.pop_arrival(), 0).receive == id);
  }
}

TEST_CASE("tag shadow: probe leaves the oldest matching message, extract takes it from every later receive") {
  tag_unit unit{1, 4};
  tag_shadow shadow{policy(1)};
  for (const std::uint64_t tag : {7, 5, 5}) {
    unit.landed(unit.arrive(message(tag), true).ticket);
    (void)shadow.arrived(*unit.pop_arrival(), static_cast<std::uint32_t>(10 + shadow.unexpected_messages()));
  }
  CHECK(shadow.probe({5}).message == 11);
  CHECK(shadow.probe({5}).message == 11);
  CHECK(shadow.extract({5}).message == 11);
  CHECK(shadow.post(receive(1, 5)).message == 12);
  CHECK(shadow.probe({5}).what == outcome::nothing);
}
