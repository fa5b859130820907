// SPDX-License-Identifier: Apache-2.0
// The DMA engine's way out: when packets leave, in which order, and which port's turn it is.
#include <algorithm>
#include <iterator>
#include <utility>

#include "dma_bench.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

using departure = departures::departure;

/// Launch, start-up, one cycle to the TCM: when the first read of a descriptor is arbitrated.
constexpr double to_read = 1 + 40 + 1;
/// The stub's access and one cycle to the first clock edge the terminal sends at.
constexpr double to_wire = to_read + 10 + 1;

abi::address send_slot(std::uint32_t pe, std::uint64_t offset = 0x10000) {
  return pe_address(abi::region::tcm, pe, offset);
}

TEST_CASE("dma: descriptor to packet is launch, start-up, TCM read and one cycle") {
  dma_bench b;
  b.send(100, dma_bench::message(0, 1, 0x400, send_slot(1), 1024, 5));
  b.run();
  CHECK(b.pe[0].out->seen == std::vector<departure>{{100 + to_wire, 17}});
  CHECK(b.pe[0].listener->sources_read == std::vector<stub_listener::word_at>{{100 + to_read + 10, 5}});
  CHECK(b.pe[0].dma->messages_sent() == 1);
  CHECK(b.pe[0].dma->bytes_sent() == 1024);
  CHECK(b.quiet());
}

TEST_CASE("dma: a message without bytes is one flit and reads nothing") {
  dma_bench b;
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 0));
  b.run();
  CHECK(b.pe[0].out->seen == std::vector<departure>{{100 + to_read + 1, 1}});
  CHECK(b.pe[0].tcm->log.empty());
  REQUIRE(b.pe[1].listener->messages.size() == 1);
  CHECK(b.pe[1].listener->messages[0].second.message_bytes == 0);
  CHECK(b.quiet());
}

/// Two messages of queue pair 3, then one each of 7 and 5, of three packets each: in which order the queue
/// pairs' sources have been read.
std::vector<std::uint32_t> ends_with_channels(std::uint64_t channels) {
  config::machine_config c = one_cube(3);
  c.pe.dma_channels = channels;
  c.pe.dma_issue_cycles = 1;
  dma_bench b(c);
  b.fill();
  const std::uint16_t pairs[]{3, 3, 7, 5};
  const auto to = [&](std::uint32_t i) { return pairs[i] == 7 ? 2U : 1U; };
  const auto source = [](std::uint64_t i) { return i * 3072; };
  const auto place = [](std::uint64_t i) { return 0x10000 + i * 4096; };
  for (std::uint32_t i = 0; i < 4; ++i)
    b.send(100, dma_bench::message(0, to(i), source(i), send_slot(to(i), place(i)), 3072, pairs[i], i));
  b.run();
  std::vector<departure> expected;  // whoever's turn it is, the wire never waits
  for (unsigned i = 0; i < 12; ++i) expected.push_back({100 + to_wire + 17 * i, 17});
  CHECK(b.pe[0].out->seen == expected);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(b.bytes(to(i), place(i), 3072) == b.bytes(0, source(i), 3072));
  CHECK(b.quiet());
  std::vector<std::uint32_t> ends;
  for (const auto& [ns, qp] : b.pe[0].listener->sources_read) ends.push_back(qp);
  return ends;
}

TEST_CASE("dma: one channel sends one message after the other") {
  CHECK(ends_with_channels(1) == std::vector<std::uint32_t>{3, 3, 7, 5});
}

TEST_CASE("dma: two channels take turns, and a queue pair's messages follow each other") {
  CHECK(ends_with_channels(2) == std::vector<std::uint32_t>{3, 7, 3, 5});
}

TEST_CASE("dma: channels to spare send of every queue pair in turn") {
  CHECK(ends_with_channels(8) == std::vector<std::uint32_t>{3, 5, 7, 3});
}

TEST_CASE("dma: a port takes a descriptor every issue interval") {
  dma_bench b;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint64_t at = std::uint64_t{i} * 64;
    b.send(100, dma_bench::message(0, 1, at, send_slot(1, 0x10000 + at), 64, 0, i));
  }
  b.run();
  const double first = 100 + to_wire;
  CHECK(b.pe[0].out->seen == std::vector<departure>{{first, 2}, {first + 22, 2}, {first + 44, 2}});
}

TEST_CASE("dma: reading ahead hides the TCM, a long message leaves at one flit per cycle") {
  dma_bench b;
  b.fill();
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 8192));
  b.run();
  std::vector<departure> expected;
  for (unsigned i = 0; i < 8; ++i) expected.push_back({100 + to_wire + 17 * i, 17});
  CHECK(b.pe[0].out->seen == expected);
  CHECK(b.bytes(1, 0x10000, 8192) == b.bytes(0, 0, 8192));
}

TEST_CASE("dma: no more than two packets are read ahead of a NoC that does not take them") {
  config::machine_config c = one_cube(3);
  dma_bench b(c);
  b.pe[1].tcm->cycles = [](const hw::tcm_request&) { return 3000; };  // holds the buffers of the path
  for (std::uint32_t i = 0; i < 4; ++i)
    b.send(100, dma_bench::message(0, 1, 0, send_slot(1, 0x10000 + i * 8192), 8192, 0, i));
  run_until(nanoseconds(2900));
  const std::size_t reads = b.pe[0].tcm->of(hw::tcm_port::dma_read).size();
  CHECK(reads == b.pe[0].out->seen.size() + 2);
  CHECK(reads < 32);
  b.run();
  CHECK(b.pe[1].listener->messages.size() == 4);
  CHECK(b.quiet());
}

TEST_CASE("dma: packets leave in the order of their descriptors though a later read ends first") {
  dma_bench b;
  b.pe[0].tcm->cycles = [](const hw::tcm_request& r) { return r.offset == 0 ? 60 : 5; };
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 1024, 1));
  b.send(100, dma_bench::message(0, 1, 0x2000, send_slot(1, 0x20000), 64, 2));
  b.run();
  CHECK(b.pe[0].tcm->log.at(1).finish_ns < b.pe[0].tcm->log.at(0).finish_ns);
  REQUIRE(b.pe[0].out->seen.size() == 2);
  CHECK(b.pe[0].out->seen[0] == departure{100 + to_read + 60 + 1, 17});
  CHECK(b.pe[0].out->seen[1] == departure{100 + to_read + 60 + 18, 2});
  REQUIRE(b.pe[0].listener->sources_read.size() == 2);
  CHECK(b.pe[0].listener->sources_read[0].second == 1);
  CHECK(b.pe[0].listener->sources_read[1].second == 2);
}

TEST_CASE("dma: a message without bytes does not overtake the one before it") {
  dma_bench b;
  b.pe[0].tcm->cycles = [](const hw::tcm_request&) { return 60; };
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 1024, 1, 0));
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1, 0x12000), 0, 1, 1));
  b.run();
  REQUIRE(b.pe[1].listener->messages.size() == 2);
  CHECK(b.pe[1].listener->messages[0].second.sequence == 0);
  CHECK(b.pe[1].listener->messages[1].second.sequence == 1);
  CHECK(b.pe[1].listener->messages[0].first <= b.pe[1].listener->messages[1].first);
}

/// The first `count` packets read for a message (M) and a copy (C) that are ready at the same time.
std::string turns(const config::machine_config& c, std::size_t count) {
  dma_bench b(c);
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 32768));
  b.copy(100, 0, send_slot(0, 0x40000), send_slot(2, 0x40000), 32768);
  b.run();
  std::string order;
  for (const auto& read : b.pe[0].tcm->of(hw::tcm_port::dma_read)) order += read.offset < 0x40000 ? 'M' : 'C';
  CHECK(order.size() == 64);
  CHECK(b.quiet());
  return order.substr(0, count);
}

TEST_CASE("dma: two busy ports of equal weight take turns") { CHECK(turns(one_cube(3), 8) == "MCMCMCMC"); }

TEST_CASE("dma: weights share the engine between its ports") {
  config::machine_config c = one_cube(3);
  c.pe.dma_ipcq_weight = 3;
  CHECK(turns(c, 12) == "MMMCMMMCMMMC");
}

TEST_CASE("dma: a credit needs neither descriptor nor memory") {
  dma_bench b;
  protocol::credit_request credit;
  credit.mailbox = pe_address(abi::region::ipcq_mailbox, 1, 0);
  credit.fields.match_address = send_slot(0);
  credit.fields.sequence = 7;
  b.steps.at(100, [&] { b.pe[0].dma->send_credit(credit); });
  b.run();
  CHECK(b.pe[0].out->seen == std::vector<departure>{{101, 1}});
  REQUIRE(b.pe[1].listener->credits.size() == 1);
  CHECK(b.pe[1].listener->credits[0].first == 101 + b.flight(0, 1, 1) + 1);
  CHECK(b.pe[1].listener->credits[0].second == credit.fields);
}

/// When messages are told to have reached the network.
struct injections : events::observer {
  std::vector<double> seen;
  using events::observer::on;
  void on(const events::transfer_event& e) override {
    if (e.phase == events::transfer_phase::injected) seen.push_back(e.at.ns());
  }
};

/// When a message of two packets is told to be injected, and when its last packet leaves.
std::pair<double, double> injection(config::packet_checksum checksum) {
  config::machine_config c = one_cube(3);
  c.comm.checksum = checksum;
  c.comm.checksum_gbytes_s = 8;  // 128 ns for a packet of 1 KiB
  dma_bench b(c);
  injections told;
  b.fabric.hub.attach(told, events::transfers);
  b.send(100, dma_bench::message(0, 1, 0, send_slot(1), 2048));
  b.run();
  REQUIRE(told.seen.size() == 1);
  REQUIRE(b.pe[0].out->seen.size() == 2);
  return {told.seen[0], b.pe[0].out->seen[1].ns};
}

TEST_CASE("dma: a message is injected when its last packet goes to the network") {
  const auto [told, left] = injection(config::packet_checksum::none);
  CHECK(told < left);  // the NoC is still busy with the packet before
  CHECK(left == 100 + to_wire + 17);
}

TEST_CASE("dma: a message is injected when its last packet has passed the checksum engine") {
  const auto [told, left] = injection(config::packet_checksum::crc32c);
  CHECK(told == left - 1);
}

TEST_CASE("dma: a message whose source is no memory is refused") {
  dma_bench b;
  b.steps.at(100, [&] {
    auto m = dma_bench::message(0, 1, 0, send_slot(1), 64);
    m.source = pe_address(abi::region::ipcq_mailbox, 2, 0);
    CHECK_THROWS_AS(b.pe[0].dma->send_message(m), protocol_error);
  });
  b.run();
  CHECK(b.pe[0].out->seen.empty());
}

/// PE 0 sends to PE 1 what lies in the memory of PE 2.
protocol::send_request from_pe2(std::uint64_t source, std::uint64_t slot, std::uint32_t bytes,
                                std::uint16_t qp = 0, std::uint32_t sequence = 0) {
  auto m = dma_bench::message(0, 1, 0, send_slot(1, slot), bytes, qp, sequence);
  m.source = pe_address(abi::region::tcm, 2, source);
  return m;
}

/// Requests are a flit.
std::vector<departure> messages_of(const std::vector<departure>& all) {
  std::vector<departure> messages;
  std::copy_if(all.begin(), all.end(), std::back_inserter(messages),
               [](const departure& d) { return d.flits > 1; });
  return messages;
}

TEST_CASE("dma: a packet from another memory leaves a cycle after the answer to its read") {
  dma_bench b;
  b.fill();
  b.send(100, from_pe2(0x400, 0x10000, 1024, 5));
  b.run();
  const double request = 100 + to_read;
  // A cycle to take it, one to the stub, its access, one to the edge at which the answer leaves.
  const double answer = request + b.flight(0, 2, 1) + 1 + 1 + 10 + 1;
  const double here = answer + b.flight(2, 0, 17) + 1;
  CHECK(b.pe[0].out->seen == std::vector<departure>{{request, 1}, {here + 1, 17}});
  CHECK(b.pe[0].listener->sources_read == std::vector<stub_listener::word_at>{{here, 5}});
  CHECK(b.bytes(1, 0x10000, 1024) == b.bytes(2, 0x400, 1024));
  CHECK(b.quiet());
}

TEST_CASE("dma: messages from several memories leave in the order of their descriptors") {
  dma_bench b;
  b.fill();
  b.send(100, from_pe2(0, 0x10000, 2048, 1));
  b.send(100, dma_bench::message(0, 1, 0x2000, send_slot(1, 0x20000), 1024, 2));
  b.send(100, from_pe2(0x800, 0x30000, 64, 3));
  b.run();
  std::vector<std::uint32_t> flits;
  for (const departure& d : messages_of(b.pe[0].out->seen)) flits.push_back(d.flits);
  CHECK(flits == std::vector<std::uint32_t>{17, 17, 17, 2});
  CHECK(b.bytes(1, 0x10000, 2048) == b.bytes(2, 0, 2048));
  CHECK(b.bytes(1, 0x20000, 1024) == b.bytes(0, 0x2000, 1024));
  CHECK(b.bytes(1, 0x30000, 64) == b.bytes(2, 0x800, 64));
  CHECK(b.quiet());
}

/// Requests and packets of 32 KiB out of PE 2's memory that have left after 2.8 us, with a window of three
/// packets, when one PE's memory is slow.
std::pair<std::size_t, std::size_t> left_beside_slow(std::size_t memory) {
  config::machine_config c = one_cube(3);
  c.pe.dma_outstanding = 3;
  dma_bench b(c);
  b.pe[memory].tcm->cycles = [](const hw::tcm_request&) { return 3000; };
  for (std::uint32_t i = 0; i < 4; ++i) b.send(100, from_pe2(0, 0x10000 + i * 8192, 8192, 0, i));
  run_until(nanoseconds(2900));
  const std::size_t all = b.pe[0].out->seen.size();
  const std::size_t messages = messages_of(b.pe[0].out->seen).size();
  b.run();
  CHECK(b.pe[1].listener->messages.size() == 4);
  CHECK(b.quiet());
  return {all - messages, messages};
}

TEST_CASE("dma: no more packets are fetched at a time than its window has") {
  CHECK(left_beside_slow(2) == std::pair<std::size_t, std::size_t>{3, 0});
}

TEST_CASE("dma: no more fetched packets wait for the network than a second window has") {
  const auto [requests, messages] = left_beside_slow(1);  // who receives holds the buffers of the path
  CHECK(messages < 32);
  CHECK(requests == messages + 6);
}

TEST_CASE("dma: packets that wait for the network do not keep copies from it") {
  dma_bench b;
  b.pe[1].tcm->cycles = [](const hw::tcm_request&) { return 3000; };
  for (std::uint32_t i = 0; i < 4; ++i) b.send(100, from_pe2(0, 0x10000 + i * 8192, 8192, 0, i));
  b.copy(1500, 0, send_slot(0, 0x40000), send_slot(2, 0x40000), 1024);
  run_until(nanoseconds(2900));
  CHECK(b.pe[0].listener->copies.size() == 1);
  b.run();
  CHECK(b.quiet());
}

TEST_CASE("dma: messages that wait behind a fetched one do not keep copies from the network") {
  dma_bench b;
  b.fill();
  b.pe[2].tcm->cycles = [](const hw::tcm_request&) { return 3000; };
  b.send(100, from_pe2(0, 0x10000, 1024, 1));
  for (std::uint16_t i = 0; i < 3; ++i)
    b.send(100, dma_bench::message(0, 1, 0x2000, send_slot(1, 0x20000 + i * 0x1000U), 1024, 2, i));
  b.copy(500, 0, send_slot(0, 0x40000), send_slot(1, 0x50000), 1024);
  run_until(nanoseconds(2900));
  CHECK(b.pe[0].listener->copies.size() == 1);
  CHECK(b.pe[1].listener->messages.empty());
  b.run();
  CHECK(b.pe[1].listener->messages.size() == 4);
  CHECK(b.bytes(1, 0x22000, 1024) == b.bytes(0, 0x2000, 1024));
  CHECK(b.quiet());
}

TEST_CASE("dma: an empty message is not fetched") {
  dma_bench b;
  b.send(100, from_pe2(0, 0x10000, 0));
  b.run();
  CHECK(b.pe[0].out->seen.size() == 1);
  CHECK(b.pe[1].listener->messages.size() == 1);
  CHECK(b.quiet());
}

TEST_CASE("dma: a message whose source is being read is in the engine") {
  dma_bench b;
  b.pe[2].tcm->cycles = [](const hw::tcm_request&) { return 3000; };
  b.send(100, from_pe2(0, 0x10000, 1024, 0, 3));
  run_until(nanoseconds(2900));
  std::vector<std::uint32_t> sequences;
  b.pe[0].dma->visit_outbound([&](const abi::ipcq_fields& f) { sequences.push_back(f.sequence); });
  CHECK(sequences == std::vector<std::uint32_t>{3});
  b.run();
  b.pe[0].dma->visit_outbound([](const abi::ipcq_fields&) { FAIL("all have left"); });
}

}  // namespace
}  // namespace diecast::test
