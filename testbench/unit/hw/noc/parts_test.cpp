// SPDX-License-Identifier: Apache-2.0
// The fabric's building blocks against obvious models of them.
#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include <rapidcheck.h>

#include "hw/base/queue_set.hpp"
#include "hw/d2d/sip_message.hpp"
#include "hw/noc/port_wheel.hpp"
#include "models/timing/shared_link.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

TEST_CASE("the port wheel is a set ordered by cycle and port") {
  CHECK(rc::check("wheel", [] {
    const auto ports = *rc::gen::inRange<std::uint32_t>(1, 9000);
    const std::uint32_t span = 64u << *rc::gen::inRange(0, 3);
    hw::port_wheel wheel(ports, span);
    std::set<std::pair<std::uint64_t, std::uint32_t>> model;
    std::uint64_t now = *rc::gen::inRange<std::uint64_t>(0, 1000);
    for (int step = 0; step < 100; ++step) {
      const auto cycle = now + 1 + *rc::gen::inRange<std::uint64_t>(0, span - 1);
      const auto port = *rc::gen::inRange<std::uint32_t>(0, ports);
      if (*rc::gen::inRange(0, 4) == 0 && !model.empty()) {
        const auto entry = *model.begin();
        wheel.remove(entry.first, entry.second);
        model.erase(entry);
      } else {
        wheel.put(cycle, port);
        model.emplace(cycle, port);
      }
      const std::uint64_t next = wheel.next(now + 1);
      RC_ASSERT(next == (model.empty() ? hw::port_wheel::never : model.begin()->first));
      if (next == hw::port_wheel::never || *rc::gen::inRange(0, 3) != 0) continue;
      now = next;
      std::vector<std::uint32_t> visited;
      wheel.visit(now, [&](std::uint32_t due) { visited.push_back(due); });
      std::size_t taken_before = 0;
      hw::port_wheel::taken due = wheel.take(now);
      for (std::uint32_t taken = due.next(); taken != hw::port_wheel::none; taken = due.next()) {
        RC_ASSERT(!model.empty());
        RC_ASSERT(*model.begin() == std::pair(now, taken));
        RC_ASSERT(visited.at(taken_before++) == taken);
        model.erase(model.begin());
      }
      RC_ASSERT(due.next() == hw::port_wheel::none);
      RC_ASSERT(taken_before == visited.size());
      RC_ASSERT(model.empty() || model.begin()->first > now);
    }
  }));
}

TEST_CASE("a queue set is many queues, visited round robin") {
  CHECK(rc::check("queues", [] {
    const auto count = *rc::gen::inRange<std::uint32_t>(1, 200);
    hw::queue_set<int> queues(count);
    std::vector<std::deque<int>> model(count);
    for (int step = 0; step < 200; ++step) {
      const auto q = *rc::gen::inRange<std::uint32_t>(0, count);
      if (*rc::gen::arbitrary<bool>() || model[q].empty()) {
        queues.push(q, int{step});
        model[q].push_back(step);
      } else {
        RC_ASSERT(queues.front(q) == model[q].front());
        RC_ASSERT(queues.pop(q) == model[q].front());
        model[q].pop_front();
      }
    }
    const auto last = *rc::gen::inRange<std::uint32_t>(0, count);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t k = 1; k <= count; ++k)
      if (!model[(last + k) % count].empty()) expected.push_back((last + k) % count);
    std::vector<std::uint32_t> visited;
    const auto none = queues.round_robin(0, count, last, [&](std::uint32_t q) {
      visited.push_back(q);
      return false;
    });
    RC_ASSERT(none == hw::queue_set<int>::none);
    RC_ASSERT(visited == expected);
  }));
}

/// Whatever classes and lengths share it, a link sends no more flits than cycles pass, the last flit of
/// a packet never comes before it could have, and packets of one class never overlap.
TEST_CASE("a shared link conserves its rate") {
  CHECK(rc::check("shared link", [] {
    timing::shared_link link;
    std::array<std::uint64_t, abi::traffic_classes> end{};
    std::uint64_t cycle = 0;
    std::uint64_t flits_sent = 0;
    std::uint64_t last_end = 0;
    for (int n = 0; n < 60; ++n) {
      const auto c = *rc::gen::inRange<unsigned>(0, abi::traffic_classes);
      const auto flits = *rc::gen::inRange<std::uint32_t>(1, 34);
      cycle += *rc::gen::element<std::uint64_t>(0, 0, 0, 1, 20);
      while (!link.free(c, cycle)) {
        const std::uint64_t next = link.earliest(c, cycle);
        RC_ASSERT(next > cycle);
        cycle = next;
      }
      RC_ASSERT(link.earliest(c, cycle) == cycle);
      RC_ASSERT(cycle >= end[c]);
      end[c] = link.finish(c, cycle, flits);
      RC_ASSERT(end[c] >= cycle + flits);
      link.grant(c, cycle, flits, end[c]);
      flits_sent += flits;
      last_end = std::max(last_end, end[c]);
    }
    // What is granted early is at most one packet per class.
    RC_ASSERT(flits_sent <= last_end + 34 * abi::traffic_classes);
  }));
}

TEST_CASE("a shared link gives a lone class every cycle and a newcomer its share") {
  timing::shared_link link;
  REQUIRE(link.free(0, 10));
  CHECK(link.finish(0, 10, 17) == 27);
  link.grant(0, 10, 17, 27);
  CHECK(link.earliest(0, 10) == 27);
  CHECK(link.earliest(4, 12) == 12);   // another class does not wait for the tail
  CHECK(link.finish(4, 12, 1) == 14);  // but for one flit
  link.grant(4, 12, 1, 14);
  CHECK(link.earliest(0, 13) == 28);  // the flit it took
  CHECK(link.earliest(2, 20) == 20);
  CHECK(link.finish(2, 20, 17) == 45);  // all 35 flits are sent 35 cycles after the first
}

TEST_CASE("credits come back as a batch that is never overtaken") {
  CHECK(timing::batch_usable(100, 116, 17, 1) == 100);  // drains as fast as it fills
  CHECK(timing::batch_usable(100, 132, 17, 1) == 116);  // drains at half the pace
  CHECK(timing::batch_usable(100, 108, 17, 1) == 100);  // drains faster
  CHECK(timing::batch_usable(100, 100, 1, 1) == 100);
  // As switch_core tells it of a transfer: its end, less its flits.
  for (std::uint32_t flits = 1; flits <= 32; ++flits) {
    for (std::uint64_t spare = 0; spare <= 8; ++spare) {
      INFO(flits << " flits, " << spare << " cycles to spare");
      CHECK(timing::batch_usable(100, 100 + flits + spare - 1, flits, 1) == 100 + spare);
    }
  }
}

abi::node_address any_node() {
  return {*rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint16_t>(),
          *rc::gen::arbitrary<std::uint16_t>()};
}

hw::sip_message any_message() {
  hw::sip_message m;
  m.what = *rc::gen::element(hw::sip_message::kind::packet, hw::sip_message::kind::credit);
  m.vc = *rc::gen::arbitrary<std::uint8_t>();
  m.flits = *rc::gen::arbitrary<std::uint32_t>();
  m.head = {*rc::gen::arbitrary<std::uint64_t>()};
  m.tail = {*rc::gen::arbitrary<std::uint64_t>()};
  m.created = {*rc::gen::arbitrary<std::uint64_t>()};
  m.header.kind = *rc::gen::element(abi::packet_kind::ipcq_data, abi::packet_kind::read_response);
  m.header.source = any_node();
  m.header.destination = any_node();
  m.header.target = *rc::gen::arbitrary<std::uint64_t>();
  m.header.payload_bytes = *rc::gen::arbitrary<std::uint32_t>();
  m.header.offset = *rc::gen::arbitrary<std::uint32_t>();
  m.header.request_bytes = *rc::gen::arbitrary<std::uint32_t>();
  m.header.transaction = *rc::gen::arbitrary<std::uint64_t>();
  m.header.ipcq.match_address = *rc::gen::arbitrary<std::uint64_t>();
  m.header.ipcq.sequence = *rc::gen::arbitrary<std::uint32_t>();
  m.header.ipcq.message_bytes = *rc::gen::arbitrary<std::uint32_t>();
  m.header.ipcq.source = {sip_id{*rc::gen::arbitrary<std::uint32_t>()},
                          cube_id{*rc::gen::arbitrary<std::uint32_t>()},
                          pe_id{*rc::gen::arbitrary<std::uint32_t>()}};
  m.header.ipcq.source_direction = *rc::gen::arbitrary<std::uint16_t>();
  for (const std::uint8_t b : *rc::gen::arbitrary<std::vector<std::uint8_t>>())
    m.data.push_back(std::byte{b});
  return m;
}

TEST_CASE("a SIP message survives its bytes") {
  CHECK(rc::check("round trip", [] {
    const hw::sip_message m = any_message();
    RC_ASSERT(hw::decode_sip_message(hw::encode(m)) == m);
  }));
  CHECK(rc::check("truncated or extended bytes are refused", [] {
    std::vector<std::byte> bytes = hw::encode(any_message());
    if (*rc::gen::arbitrary<bool>()) {
      bytes.push_back({});
    } else {
      bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size()));
    }
    RC_ASSERT_THROWS_AS(static_cast<void>(hw::decode_sip_message(bytes)), protocol_error);
  }));
}

}  // namespace
}  // namespace diecast::test
