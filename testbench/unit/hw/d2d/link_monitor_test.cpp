// SPDX-License-Identifier: Apache-2.0
// What the two ends of a link see of packets that come late, twice, changed or not at all.
#include "hw/d2d/link_sender.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using config::packet_checksum;

namespace {

hw::packet part(std::uint32_t sequence, std::uint32_t offset, std::uint16_t direction = 0) {
  hw::packet p;
  p.header.kind = diecast::abi::packet_kind::ipcq_data;
  p.header.payload_bytes = 64;
  p.header.offset = offset;
  p.header.ipcq.sequence = sequence;
  p.header.ipcq.message_bytes = 128;
  p.header.ipcq.source_direction = direction;
  p.data.resize(64);
  p.header.checksum = checksum::of_packet(packet_checksum::crc32c, p.header, p.data);
  return p;
}

hw::packet tagged(std::uint64_t number) {
  hw::packet p;
  p.header.kind = diecast::abi::packet_kind::tag_message;
  p.header.transaction = number;
  p.header.checksum = checksum::of_packet(packet_checksum::crc32c, p.header, p.data);
  return p;
}

std::uint64_t out_of_order(const std::vector<hw::packet>& packets) {
  hw::link_monitor monitor(packet_checksum::crc32c);
  for (const hw::packet& p : packets) monitor.pass(p, {});
  CHECK(monitor.seen().corrupted == 0);
  return monitor.seen().out_of_order;
}

}  // namespace

TEST_CASE("link monitor: messages in a row, flows mixed, are in order") {
  CHECK(out_of_order({part(0, 0), part(0, 0, 1), part(0, 64), part(1, 0), part(0, 64, 1), part(1, 64)}) == 0);
  CHECK(out_of_order({tagged(0), part(0, 0), tagged(1), tagged(2)}) == 0);
}

TEST_CASE("link monitor: what is late, lost or came twice is out of order") {
  CHECK(out_of_order({part(0, 0), part(1, 0), part(0, 64), part(1, 64)}) == 2);  // early, late
  CHECK(out_of_order({part(0, 64), part(1, 0), part(1, 64)}) == 1);              // the very first is lost
  CHECK(out_of_order({part(0, 0), part(0, 0), part(0, 64)}) == 1);
  CHECK(out_of_order({tagged(0), tagged(2), tagged(1), tagged(3)}) == 2);
}

TEST_CASE("link monitor: changed packets are counted where packets carry checksums") {
  hw::packet flipped = part(0, 0);
  flipped.data[5] ^= std::byte{1};
  hw::link_monitor with(packet_checksum::crc32c), without(packet_checksum::none);
  for (auto* monitor : {&with, &without}) {
    monitor->pass(flipped, {});
    monitor->pass(part(0, 64), {});
    monitor->pass(part(2, 0), {});
  }
  CHECK(with.seen().corrupted == 1);
  CHECK(with.seen().out_of_order == 1);
  CHECK(without.seen().corrupted == 0);
  CHECK(without.seen().out_of_order == 0);
}

TEST_CASE("link monitor: the oldest credit is known with and without checksums") {
  hw::link_monitor monitor(packet_checksum::none);
  hw::packet credit;
  credit.header.kind = diecast::abi::packet_kind::ipcq_credit;
  credit.created = sim_time{1000};
  monitor.pass(credit, sim_time{5000});
  monitor.pass(credit, sim_time{3000});
  CHECK(monitor.seen().oldest_credit == sim_time{4000});
}
