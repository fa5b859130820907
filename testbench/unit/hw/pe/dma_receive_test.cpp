// SPDX-License-Identifier: Apache-2.0
// The DMA engine's way in: when a token is published and what a remote access costs.
#include "dma_bench.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

abi::address slot_of(std::uint32_t pe, std::uint64_t offset = 0x10000) {
  return pe_address(abi::region::tcm, pe, offset);
}

TEST_CASE("dma: a token is published when the last byte is written, whichever packet that is in") {
  dma_bench b;
  b.fill();
  b.pe[1].tcm->cycles = [](const hw::tcm_request& r) { return r.offset == 0x10400 ? 200 : 5; };
  b.send(100, dma_bench::message(0, 1, 0x800, slot_of(1), 3072));
  b.run();
  const auto writes = b.pe[1].tcm->of(hw::tcm_port::dma_write);
  REQUIRE(writes.size() == 3);
  CHECK(writes[2].finish_ns < writes[1].finish_ns);
  REQUIRE(b.pe[1].listener->messages.size() == 1);
  CHECK(b.pe[1].listener->messages[0].first == writes[1].finish_ns);
  CHECK(b.pe[1].listener->messages[0].second.match_address == slot_of(1));
  CHECK(b.bytes(1, 0x10000, 3072) == b.bytes(0, 0x800, 3072));
}

TEST_CASE("dma: a packet is written one cycle after it has been taken in") {
  dma_bench b;
  b.send(100, dma_bench::message(0, 1, 0, slot_of(1), 1024));
  b.run();
  const double left = b.pe[0].out->seen.at(0).ns;
  CHECK(b.pe[1].tcm->log.at(0).at_ns == left + b.flight(0, 1, 17) + 1 + 1);
}

TEST_CASE("dma: messages of one flow are published in the order they were sent") {
  dma_bench b;
  b.pe[1].tcm->cycles = [](const hw::tcm_request& r) { return r.offset == 0x10000 ? 300 : 5; };
  b.send(100, dma_bench::message(0, 1, 0, slot_of(1), 64, 0));
  b.send(100, dma_bench::message(0, 1, 0, slot_of(1, 0x20000), 64, 1));
  b.send(100, dma_bench::message(0, 1, 0, slot_of(1, 0x30000), 0, 2));
  b.send(100, dma_bench::message(2, 1, 0, slot_of(1, 0x40000), 64, 3));
  b.run();
  std::vector<std::uint16_t> order;
  for (const auto& [ns, fields] : b.pe[1].listener->messages) order.push_back(fields.source_direction);
  CHECK(order == std::vector<std::uint16_t>{3, 0, 1, 2});  // PE 2 is another flow and does not wait
  for (const auto& write : b.pe[1].tcm->log)
    if (write.offset == 0x10000) CHECK(b.pe[1].listener->messages.back().first == write.finish_ns);
  CHECK(b.pe[1].tcm->log.size() == 3);
  CHECK(b.quiet());
}

TEST_CASE("dma: a ring in another memory publishes after the acknowledgement has come back") {
  dma_bench b;
  b.fill();
  b.send(100, dma_bench::message(0, 1, 0x100, slot_of(2), 2048));
  b.run();
  const auto writes = b.pe[2].tcm->of(hw::tcm_port::dma_write);
  REQUIRE(writes.size() == 2);
  CHECK(b.pe[1].tcm->log.empty());
  REQUIRE(b.pe[1].listener->messages.size() == 1);
  CHECK(b.pe[1].listener->messages[0].first == writes[1].finish_ns + 1 + b.flight(2, 1, 1) + 1);
  CHECK(b.bytes(2, 0x10000, 2048) == b.bytes(0, 0x100, 2048));
  CHECK(b.quiet());
}

TEST_CASE("dma: a packet that no PE takes ends the run and names the engine") {
  dma_bench b;
  b.fabric.faults.expected = true;
  const auto host = b.fabric.endpoints().at(0);
  b.fabric.at(host).plan(nanoseconds(10), b.where(1), abi::traffic_class::comm, 1, 1);
  b.run();
  CHECK(text_of(b.faults) == "dma1: a PE takes no synthetic packets");
}

const char* const none_open =
    "which belong to no open message: its first packet has not come, or it is complete; they came over";

/// What PE 1 says of packets of one message that come at `offsets`, of 1,024 bytes each, before the TCM has
/// acknowledged any of them, or after each of them.
std::string fault_of_packets(const std::vector<std::uint32_t>& offsets, bool acknowledged) {
  dma_bench b;
  b.fabric.faults.expected = true;  // or not: the caller looks
  b.pe[1].tcm->cycles = [=](const hw::tcm_request&) { return acknowledged ? 1 : 1000; };
  abi::packet_header h;
  h.kind = abi::packet_kind::ipcq_data;
  h.target = pe_address(abi::region::ipcq_mailbox, 1, 0);
  h.destination = b.fabric.topology.locate(h.target);
  h.payload_bytes = 1024;
  h.ipcq = {slot_of(1), 0, 3072, {sip_id{0}, cube_id{0}, pe_id{0}}, 0};
  // Any terminal will do; the engine tells flows by it.
  endpoint& from = b.fabric.at(b.fabric.endpoints().at(0));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    h.offset = offsets[i];
    from.plan(nanoseconds(10.0 + 100.0 * static_cast<double>(i)), {h, std::vector<std::byte>(1024)});
  }
  b.run();
  return text_of(b.faults);
}

TEST_CASE("dma: packets of one message that are all different are no fault") {
  CHECK(fault_of_packets({0, 1024, 2048}, false).empty());
}

TEST_CASE("dma: a packet that comes again is one too many while nothing is written yet") {
  // The third fills the message.
  const std::string text = fault_of_packets({0, 1024, 1024, 2048}, false);
  CHECK_THAT(text, Catch::StartsWith("dma1: 1024 bytes at offset 2048 of a message of 3072 bytes"));
  CHECK_THAT(text, Catch::Contains("more than are still missing; they came over"));
}

TEST_CASE("dma: a packet of a message that is through is of none that is open") {
  CHECK_THAT(fault_of_packets({0, 1024, 1024, 2048}, true), Catch::Contains(none_open));
}

TEST_CASE("dma: a packet of a message that has not begun is of none that is open") {
  CHECK_THAT(fault_of_packets({1024}, true), Catch::Contains(none_open));
}

// --- copies -------------------------------------------------------------------------------------

constexpr double issue = 1 + 40;   // launch and start-up
constexpr double access = 1 + 10;  // to the TCM, and the stub's time

TEST_CASE("dma: a copy within the TCM is a read and a write") {
  dma_bench b;
  b.fill();
  b.copy(100, 0, slot_of(0, 0x100), slot_of(0, 0x9000), 256);
  const auto source = b.bytes(0, 0x100, 256);
  b.run();
  CHECK(b.pe[0].listener->copies == std::vector<stub_listener::word_at>{{100 + issue + 2 * access, 1}});
  CHECK(b.bytes(0, 0x9000, 256) == source);
  CHECK(b.pe[0].out->seen.empty());
}

TEST_CASE("dma: a copy to another PE is done when the write is acknowledged") {
  dma_bench b;
  b.fill();
  b.copy(100, 0, slot_of(0, 0x100), slot_of(1, 0x9000), 1024);
  b.run();
  const double there = 100 + issue + access + 1 + b.flight(0, 1, 17) + 1 + access;
  CHECK(b.pe[0].listener->copies ==
        std::vector<stub_listener::word_at>{{there + 1 + b.flight(1, 0, 1) + 1, 1}});
  CHECK(b.bytes(1, 0x9000, 1024) == b.bytes(0, 0x100, 1024));
  CHECK(b.quiet());
}

TEST_CASE("dma: a copy from another PE is a request, its answer and a write") {
  dma_bench b;
  b.fill();
  b.copy(100, 0, slot_of(1, 0x100), slot_of(0, 0x9000), 1024);
  b.run();
  const double read = 100 + issue + 1 + b.flight(0, 1, 1) + 1 + access;
  CHECK(b.pe[0].listener->copies ==
        std::vector<stub_listener::word_at>{{read + 1 + b.flight(1, 0, 17) + 1 + access, 1}});
  CHECK(b.bytes(0, 0x9000, 1024) == b.bytes(1, 0x100, 1024));
  CHECK(b.quiet());
}

TEST_CASE("dma: dma_outstanding bounds the chunks of copies under way") {
  config::machine_config c = one_cube(3);
  c.pe.dma_outstanding = 1;
  dma_bench b(c);
  b.fill();
  b.copy(100, 0, slot_of(0, 0), slot_of(0, 0x9000), 3000);  // chunks of 1024, 1024 and 952
  const auto source = b.bytes(0, 0, 3000);
  b.run();
  const auto reads = b.pe[0].tcm->of(hw::tcm_port::dma_read);
  const auto writes = b.pe[0].tcm->of(hw::tcm_port::dma_write);
  REQUIRE(reads.size() == 3);
  for (std::size_t i = 1; i < 3; ++i) CHECK(reads[i].at_ns > writes[i - 1].finish_ns);
  CHECK(b.bytes(0, 0x9000, 3000) == source);
}

TEST_CASE("dma: copies complete in order, each once, those without bytes too") {
  dma_bench b;
  b.copy(100, 0, slot_of(0, 0), slot_of(1, 0x9000), 2048);  // slow
  b.copy(100, 0, slot_of(0, 0), slot_of(0, 0x9000), 64);    // done long before it
  b.copy(100, 0, slot_of(0, 0), slot_of(0, 0x9000), 0);     // counts like the others
  b.copy(600, 0, slot_of(0, 0), slot_of(0, 0x9000), 64);    // the empty one behind it
  b.copy(600, 0, slot_of(0, 0), slot_of(0, 0x9000), 0);     // is not done with it
  b.run();
  std::vector<std::uint32_t> counts;
  for (const auto& [ns, count] : b.pe[0].listener->copies) counts.push_back(count);
  CHECK(counts == std::vector<std::uint32_t>{3, 4, 5});
  CHECK(b.quiet());
}

}  // namespace
}  // namespace diecast::test
