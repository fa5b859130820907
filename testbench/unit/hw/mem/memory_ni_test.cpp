// SPDX-License-Identifier: Apache-2.0
// From NoC terminal to memory and back: a requester's terminal bound straight to the memory's.
#include "hw/mem/memory_ni.hpp"

#include <Random123/philox.h>
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "hw/mem/memory_target.hpp"
#include "memories.hpp"
#include "models/types/error.hpp"
#include "protocol_checker.hpp"
#include "support/faults.hpp"
#include "support/machines.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

config::machine_config small() {
  config::machine_config c = test::machine_of({1, 1, 1, 8});
  return c;
}

std::vector<std::byte> byte_pattern(std::size_t n, unsigned seed) {
  std::vector<std::byte> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(seed * 31 + i);
  return v;
}

/// Sends planned requests and keeps the responses.
class requester : public sc_core::sc_module, private hw::terminal_port::client {
 public:
  SC_HAS_PROCESS(requester);
  requester(sc_core::sc_module_name n, const fabric::topology& t, const config::machine_config& c,
            diecast::abi::node_address self, diecast::abi::node_address memory, hw::packet_pool& pool)
      : sc_module(n), port("port", t, c, self, *this), memory_(memory), pool_(pool) {}
  hw::terminal_port port;
  struct answer {
    sim_time at;
    diecast::abi::packet_header header;
    std::vector<std::byte> data;
  };
  std::vector<answer> answers;
  sim_time hold_responses{};  ///< until then, response buffers stay occupied

  void read(std::uint64_t tag, diecast::abi::address from, std::uint32_t bytes,
            sim_time at = nanoseconds(10)) {
    diecast::abi::packet_header h;
    h.kind = diecast::abi::packet_kind::read_request;
    h.target = from;
    h.request_bytes = bytes;
    plan(h, tag, {}, at);
  }
  void write(std::uint64_t tag, diecast::abi::address to, std::vector<std::byte> data,
             sim_time at = nanoseconds(10)) {
    diecast::abi::packet_header h;
    h.kind = diecast::abi::packet_kind::write_request;
    h.target = to;
    h.payload_bytes = static_cast<std::uint32_t>(data.size());
    plan(h, tag, std::move(data), at);
  }
  void plan(diecast::abi::packet_header h, std::uint64_t tag, std::vector<std::byte> data, sim_time at) {
    h.destination = memory_;
    h.transaction = tag;
    due_.put(at, planned_.size());
    planned_.emplace_back(h, std::move(data));
  }
  /// The bytes read by transaction `tag`, put together by offset.
  [[nodiscard]] std::vector<std::byte> bytes_of(std::uint64_t tag) const {
    std::map<std::uint32_t, std::vector<std::byte>> pieces;
    for (const answer& a : answers)
      if (a.header.transaction == tag) pieces[a.header.offset] = a.data;
    std::vector<std::byte> all;
    for (const auto& [offset, data] : pieces) {
      CHECK(offset == all.size());
      all.insert(all.end(), data.begin(), data.end());
    }
    return all;
  }

 private:
  void send() {
    for (std::uint64_t i = 0; due_.take(i);) {
      if (i == UINT64_MAX) {
        for (const auto& [vc, flits] : held_) port.release(vc, flits);
        held_.clear();
        continue;
      }
      hw::packet_ptr p = pool_.make();
      p->header = planned_[i].first;
      p->data = planned_[i].second;
      port.send(std::move(p));
    }
  }
  void on_packet(const hw::packet_ptr& p, std::uint8_t vc) override {
    answers.push_back({hw::now(), p->header, p->data});
    if (hw::now() < hold_responses) {
      if (held_.empty()) due_.put(hold_responses, UINT64_MAX);
      held_.emplace_back(vc, p->flits);
    } else {
      port.release(vc, p->flits);
    }
  }
  void on_sent(diecast::abi::traffic_class) override {}

  diecast::abi::node_address memory_;
  hw::packet_pool& pool_;
  hw::calendar due_{*this, [this] { send(); }};
  std::vector<std::pair<diecast::abi::packet_header, std::vector<std::byte>>> planned_;
  std::vector<std::pair<std::uint8_t, std::uint32_t>> held_;
};

diecast::abi::address at(std::uint64_t offset, diecast::abi::region kind = diecast::abi::region::hbm) {
  return diecast::abi::encode({sip_id{0}, cube_id{0}, kind, 0, offset});
}

/// In place of a NoC: joins two blocks.
struct crossing : sc_core::sc_module, hw::fabric_owner {
  explicit crossing(const sc_core::sc_module_name& name) : sc_module(name) {}
  void on_packet(unsigned from, hw::packet_ptr&& p, const hw::fabric_phase& phase) override {
    ends[1 - from].pass(std::move(p), phase);
  }
  void on_credit(unsigned from, const hw::fabric_phase& phase) override { ends[1 - from].pass({}, phase); }
  std::array<hw::fabric_initiator, 2> ends{{{"to_pe", *this, 0}, {"to_ni", *this, 1}}};
};

struct ni_bench {
  explicit ni_bench(const config::machine_config& c = small(), hw::memory_ni_setup setup = {})
      : config(c),
        topology(c),
        pe("pe", topology, c, topology.locate(at(0, diecast::abi::region::tcm)), topology.locate(at(0)),
           pool),
        ni("ni", topology, c, topology.locate(at(0)), setup, pool, faults) {
    between.ends[0].socket.bind(pe.port.noc_socket());
    between.ends[1].socket.bind(ni.terminal().noc_socket());
    ni.memory.bind(checker.in);
  }
  void run(std::size_t answers) {
    test::run_to_starvation();
    if (faults.fault()) std::rethrow_exception(faults.fault());
    CHECK(pe.answers.size() == answers);
    CHECK(checker.violations() == std::vector<std::string>{});
    CHECK(checker.open() == 0);
    CHECK(ni.quiescent());
    CHECK(ni.terminal().quiescent());
    CHECK(pe.port.quiescent());
    CHECK(pool.in_flight() == 0);
  }
  config::machine_config config;
  fabric::topology topology;
  hw::packet_pool pool;
  test::watched_faults faults;
  requester pe;
  hw::memory_ni ni;
  crossing between{"between"};
  test::protocol_checker checker{"checker"};
};

/// Writes, reads in pieces and overlapping accesses, on whatever memory stands behind the bench.
void exercise(ni_bench& b) {
  const auto first = byte_pattern(1024, 1), second = byte_pattern(1024, 2), small = byte_pattern(100, 3);
  b.pe.write(1, at(0), first);
  b.pe.write(2, at(1024), second);
  b.pe.read(3, at(0), 2048);
  b.pe.write(4, at(1000), small);
  b.pe.read(5, at(990), 120);
  b.pe.read(6, at(4096), 0);
  b.run(3 + 2 + 1 + 1);
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  CHECK(b.pe.bytes_of(3) == both);
  std::copy(small.begin(), small.end(), both.begin() + 1000);
  CHECK(b.pe.bytes_of(5) == std::vector<std::byte>(both.begin() + 990, both.begin() + 1110));
  for (const auto& a : b.pe.answers) {
    const bool write = a.header.transaction == 1 || a.header.transaction == 2 || a.header.transaction == 4;
    CHECK(a.header.kind ==
          (write ? diecast::abi::packet_kind::write_response : diecast::abi::packet_kind::read_response));
    CHECK(a.header.payload_bytes == a.data.size());
    CHECK(a.header.payload_bytes <= b.config.noc.max_packet_bytes);
  }
}

/// What 256 reads of a simple memory take whose latency is 10 us, in microseconds.
double reads_of_slow_memory_us(std::uint64_t queue) {
  config::machine_config c = small();
  c.hbm.model = config::hbm_model::simple;
  c.hbm.queue = queue;
  c.hbm.simple_latency_ns = 10'000;
  hw::memory_ni_setup setup;
  setup.outstanding = config::hbm_window(c.hbm);
  ni_bench b(c, setup);
  const auto hbm = hw::make_hbm("hbm", c.hbm, false, b.faults);
  b.checker.out.bind(hbm->socket);
  for (std::uint64_t i = 0; i < 256; ++i) b.pe.read(i, at(64 * i), 64);
  b.run(256);
  return b.pe.answers.back().at.ns() / 1000;
}

}  // namespace

TEST_CASE("memory ni: a simple memory with a long queue has as many accesses under way") {
  CHECK(reads_of_slow_memory_us(256) < 13);
}

TEST_CASE("memory ni: 64 accesses are under way at a simple memory with a short queue") {
  const double us = reads_of_slow_memory_us(64);
  CHECK(us > 40);
  CHECK(us < 43);
}

TEST_CASE("memory ni: reads and writes on the HBM controller") {
  ni_bench b;
  const auto hbm = hw::make_hbm("hbm", b.config.hbm, false, b.faults);
  b.checker.out.bind(hbm->socket);
  exercise(b);
}

TEST_CASE("memory ni: a blocking memory can stand in") {
  ni_bench b;
  test::blocking_memory other("other", 1 << 20);
  b.checker.out.bind(other.socket);
  exercise(b);
}

TEST_CASE("memory ni: a memory that completes within the call can stand in") {
  ni_bench b;
  test::immediate_memory other("other", 1 << 20, true);
  b.checker.out.bind(other.socket);
  exercise(b);
}

TEST_CASE("memory ni: a memory that answers on the return path gets its END_RESP") {
  auto setup = hw::memory_ni_setup{};
  setup.outstanding = 1;
  ni_bench b(small(), setup);
  test::immediate_memory other("other", 1 << 20, false);
  b.checker.out.bind(other.socket);
  exercise(b);
  CHECK(other.end_resps == 6);
}

TEST_CASE("memory ni: latency of one read is packet, memory and packet") {
  ni_bench b;
  hw::simple_memory sram("sram", {}, false, b.faults);
  b.checker.out.bind(sram.socket);
  b.pe.write(1, at(0), byte_pattern(512, 1), nanoseconds(100));
  b.pe.read(2, at(0), 512, nanoseconds(1000));
  b.run(2);
  // Send queue 1, network interface 5, last of n flits n - 1 cycles later; memory 512 / 512 + 2 ns.
  const double one = 1 + 5;
  CHECK(b.pe.answers[0].at.ns() == Approx(100 + one + 8 + 3 + one));
  CHECK(b.pe.answers[1].at.ns() == Approx(1000 + one + 3 + one + 8));
}

TEST_CASE("memory ni: the write of a sum goes to the memory as soon as the request before it is accepted") {
  ni_bench b;
  test::slow_to_accept_memory other("other", 1 << 20);
  b.checker.out.bind(other.socket);
  const auto add = [&b](std::uint64_t tag, diecast::abi::address to) {
    diecast::abi::packet_header h;
    h.kind = diecast::abi::packet_kind::atomic_add;
    h.target = to;
    h.payload_bytes = 8;
    std::vector<std::byte> one(8);
    one[0] = std::byte{1};
    b.pe.plan(h, tag, one, nanoseconds(10));
  };
  add(1, at(0));
  add(2, at(64));
  b.run(2);
  // Reads begin at r and r + 20, the first sum at r + 500, the second when that is accepted, at r + 550.
  const double first = b.pe.answers[0].at.ns(), second = b.pe.answers[1].at.ns();
  CHECK(second - first == Approx(50).margin(1));
}

TEST_CASE("memory ni: several requests are outstanding and HBM runs at the rate of the port") {
  auto c = small();
  c.noc.vc_buffer_flits = 64;  // the terminals are bound to each other: no router takes packets away
  c.hbm.refresh = config::hbm_refresh::none;
  ni_bench b(c);
  const auto hbm = hw::make_hbm("hbm", b.config.hbm, false, b.faults);
  b.checker.out.bind(hbm->socket);
  constexpr std::uint64_t n = 500;
  for (std::uint64_t i = 0; i < n; ++i) b.pe.read(i, at(i * 1024), 1024);
  b.run(n);
  const double gbytes_s = 1024.0 * n / b.pe.answers.back().at.ns();
  CHECK(gbytes_s == Approx(51.2).epsilon(0.03));
  CHECK(b.checker.most_open() > 4);  // the read queue holds the bursts of four
}

TEST_CASE("memory ni: held responses stop requests at the memory and nothing is lost") {
  hw::memory_ni_setup setup;
  setup.outstanding = 8;
  ni_bench b(small(), setup);
  hw::simple_memory sram("sram", {}, false, b.faults);
  b.checker.out.bind(sram.socket);
  b.pe.hold_responses = nanoseconds(5000);
  for (std::uint64_t i = 0; i < 200; ++i) b.pe.read(i, at(i * 1024), 1024);
  std::size_t begun_while_held = 0;
  test::run_until(nanoseconds(4999));
  begun_while_held = b.checker.begun();
  // One packet fits the requester's buffer (32 flits), eight more wait or are under way.
  CHECK(begun_while_held <= 8 + 2);
  b.run(200);
}

TEST_CASE("memory ni: random traffic returns what was written, each request once") {
  ni_bench b;
  auto hbm_block = b.config.hbm;
  hbm_block.queue = 8;
  const auto hbm = hw::make_hbm("hbm", hbm_block, false, b.faults);
  b.checker.out.bind(hbm->socket);
  const r123::Philox4x32 rng;
  std::vector<std::byte> image(1 << 14, std::byte{0xff});
  std::map<std::uint64_t, std::vector<std::byte>> expected;
  std::size_t responses = 0;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const auto r = rng({{i, 0, 0, 0}}, {{7, 7}});
    const std::uint32_t bytes = 1 + r[0] % (r[1] % 8 == 0 ? 3000 : 200);
    const std::uint64_t offset = r[2] % (image.size() - 3000);
    const auto when = nanoseconds(10 + i / 4 * 12);
    if (r[3] % 2 == 0 && bytes <= 1024) {
      const auto data = byte_pattern(bytes, i);
      std::copy(data.begin(), data.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
      b.pe.write(i, at(offset), data, when);
      ++responses;
    } else {
      const auto from = image.begin() + static_cast<std::ptrdiff_t>(offset);
      expected[i] = {from, from + bytes};
      b.pe.read(i, at(offset), bytes, when);
      responses += (bytes + 1023) / 1024;
    }
  }
  b.run(responses);
  std::map<std::uint64_t, std::map<std::uint32_t, std::vector<std::byte>>> pieces;
  for (const auto& a : b.pe.answers) pieces[a.header.transaction][a.header.offset] = a.data;
  CHECK(pieces.size() == 3000);
  std::size_t wrong = 0;
  for (const auto& [tag, data] : expected) {
    std::vector<std::byte> all;
    for (const auto& [offset, piece] : pieces[tag]) all.insert(all.end(), piece.begin(), piece.end());
    wrong += all != data;
  }
  CHECK(expected.size() > 1000);
  CHECK(wrong == 0);
}

TEST_CASE("memory ni: a run without data costs the same time") {
  hw::memory_ni_setup setup;
  setup.move_data = false;
  ni_bench b(small(), setup);
  const auto hbm = hw::make_hbm("hbm", b.config.hbm, true, b.faults);
  b.checker.out.bind(hbm->socket);
  diecast::abi::packet_header h;
  h.kind = diecast::abi::packet_kind::write_request;
  h.target = at(0);
  h.payload_bytes = 1024;
  b.pe.plan(h, 1, {}, nanoseconds(100));
  b.pe.read(2, at(1 << 20), 1024, nanoseconds(1000));
  b.run(2);
  CHECK(hbm->memory().pages() == 0);
  CHECK(hbm->statistics().bytes_written == 1024);
  CHECK(b.pe.answers[1].header.payload_bytes == 1024);
  CHECK(b.pe.answers[1].data.empty());
  // The write left another row open; 16 bursts per pseudo-channel and two slots lost while only the
  // first of four rows is open (tCCD_L, tRRD), controller 20 ns; packets there (1 flit) and back (17).
  const double hbm_ns = 0.3125 + 50 * 0.3125 + 64 * 0.3125 + 12.5 + (16 + 2) * 1.25 + 20;
  CHECK(b.pe.answers[1].at.ns() == Approx(1000 + 6 + hbm_ns + 6 + 16).margin(1.5));
}

TEST_CASE("memory ni: the backdoor reaches any memory by physical address") {
  ni_bench b;
  test::blocking_memory other("other", 1 << 20);
  b.checker.out.bind(other.socket);
  std::vector<unsigned char> in{9, 8, 7, 6}, out(4);
  tlm::tlm_generic_payload t;
  t.set_address(at(0x500));
  t.set_data_length(4);
  t.set_data_ptr(in.data());
  t.set_command(tlm::TLM_WRITE_COMMAND);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  CHECK(b.ni.on_debug(t) == 4);
  t.set_data_ptr(out.data());
  t.set_command(tlm::TLM_READ_COMMAND);
  CHECK(b.ni.on_debug(t) == 4);
  CHECK(out == in);
  CHECK(t.get_address() == at(0x500));
  t.set_address(at(0x500, diecast::abi::region::sram));
  CHECK_THROWS_WITH(b.ni.on_debug(t), Catch::Contains("ni") && Catch::Contains("expected hbm[0]"));
}

TEST_CASE("memory ni: an access beyond the memory ends the run by name") {
  ni_bench b;
  b.faults.expected = true;
  const auto hbm = hw::make_hbm("hbm", b.config.hbm, false, b.faults);
  b.checker.out.bind(hbm->socket);
  b.pe.read(1, at(std::uint64_t{1024} << 20), 64);
  CHECK_THROWS_WITH(b.run(0),
                    Catch::Contains("ni") && Catch::Contains("0x40000000") && Catch::Contains("ADDRESS"));
}

TEST_CASE("memory ni: a packet that is no memory access ends the run by name") {
  ni_bench b;
  b.faults.expected = true;
  const auto hbm = hw::make_hbm("hbm", b.config.hbm, false, b.faults);
  b.checker.out.bind(hbm->socket);
  diecast::abi::packet_header h;
  h.kind = diecast::abi::packet_kind::launch;
  h.target = at(0);
  b.pe.plan(h, 1, {}, nanoseconds(10));
  CHECK_THROWS_WITH(b.run(0), Catch::Contains("launch packet came to a memory"));
}
