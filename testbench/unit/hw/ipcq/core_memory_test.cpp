// SPDX-License-Identifier: Apache-2.0
// The data cache of a PE in the machine: what is stale is really stale, and what every access costs.
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "hw/pe/pe_core.hpp"
#include "machine_bench.hpp"
#include "models/abi/registers.hpp"
#include "models/comm/sync_layout.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

constexpr pe_coord pe0{sip_id{0}, cube_id{0}, pe_id{0}};

/// A memory of 50 ns and 32 GB/s: a line takes 52 ns there.
config::machine_config simple_memory_machine(std::uint64_t pes, std::uint64_t sips = 1) {
  config::machine_config c = small_machine(pes, sips);
  c.hbm.model = config::hbm_model::simple;
  c.hbm.simple_latency_ns = 50;
  c.hbm.simple_gbytes_s = 32;
  c.pe.cache_sets = 2;
  c.pe.cache_ways = 2;
  return c;
}

abi::address at_line(std::uint64_t line, sip_id sip = {}) {
  return abi::encode({sip, cube_id{0}, abi::region::hbm, 0, 0x10000 + line * 64});
}

/// What memory holds that was never written.
constexpr auto untouched = static_cast<double>(UINT64_MAX);

/// What firmware does, with its accesses as whole words and its own clock.
class probe {
 public:
  explicit probe(sw::pe_context& pe) : hal(pe.hal()) {}
  abi::hal& hal;

  std::uint64_t load(abi::address at) {
    std::uint64_t w = 0;
    hal.load_global(at, std::as_writable_bytes(std::span{&w, 1}));
    return w;
  }
  std::uint64_t load_uncached(abi::address at) {
    std::uint64_t w = 0;
    hal.load_uncached(at, std::as_writable_bytes(std::span{&w, 1}));
    return w;
  }
  void store(abi::address at, std::uint64_t w) { hal.store_global(at, std::as_bytes(std::span{&w, 1})); }
  double took(const std::function<void()>& what) {
    const sim_time before = hal.now();
    what();
    return (hal.now() - before).ns();
  }
  void same(const char* what, double got, double expected) {
    if (got != expected) throw std::runtime_error(fmt::format("{}: {} (expected {})", what, got, expected));
  }
};

void runs_to_its_end(const job& j) {
  const auto o = run(j);
  INFO(o.message);
  CHECK(ended(o));
}

/// Flight of a packet between a PE and the HBM port of its own or the other SIP.
double flight(const config::machine_config& c, std::uint32_t flits, bool back, sip_id memory = {}) {
  const fabric::topology t(c);
  const auto pe = t.locate(abi::encode({pe0.sip, pe0.cube, abi::region::tcm, 0, 0}));
  const auto port = t.locate(at_line(0, memory));
  return fabric::idle_latency(t, c, back ? port : pe, back ? pe : port, abi::traffic_class::request, flits)
      .ns();
}

}  // namespace

TEST_CASE("data cache: what hits, misses, evictions and maintenance cost") {
  job j{simple_memory_machine(1), {}};
  // One cycle from the core to the terminal, one in the memory's NI before the answer leaves, one in the
  // DMA engine, and the cycle of the access itself.
  const double round_trip = flight(j.config, 1, false) + 52 + flight(j.config, 2, true);
  j.code = [round_trip](sw::pe_context& pe) {
    probe p(pe);
    p.hal.pause(1000);
    const double miss = p.took([&] { p.store(at_line(0), 5); });
    p.same("miss over the idle round trip", miss - round_trip, 5);
    p.same("hit", p.took([&] { static_cast<void>(p.load(at_line(0))); }), 2);
    p.same("store that hits", p.took([&] { p.store(at_line(0) + 8, 6); }), 2);
    p.same("the stored word", static_cast<double>(p.load(at_line(0))), 5);
    p.same("memory before the line is cleaned", static_cast<double>(p.load_uncached(at_line(0))), untouched);
    p.same("dcci of a dirty line, which returns at once", p.took([&] { p.hal.dcci_line(at_line(0)); }), 4);
    p.same("dcci of an absent line", p.took([&] { p.hal.dcci_line(at_line(0)); }), 4);
    const double drained = p.took([&] { p.hal.pipe_barrier(); });
    if (drained < 50) throw std::runtime_error("pipe_barrier did not wait for the write");
    p.same("pipe_barrier with nothing open", p.took([&] { p.hal.pipe_barrier(); }), 0);
    p.same("memory after the line is cleaned", static_cast<double>(p.load_uncached(at_line(0))), 5);
    p.same("the other word of the line", static_cast<double>(p.load_uncached(at_line(0) + 8)), 6);
    static_cast<void>(p.load(at_line(0)));
    p.same("dcci of a clean line", p.took([&] { p.hal.dcci_line(at_line(0)); }), 4);
    p.same("dcci of everything: both sets", p.took([&] { p.hal.dcci_all(); }), 8);
    // Three lines of one set of two: the first, dirty, leaves and is written back by itself.
    p.store(at_line(0), 7);
    static_cast<void>(p.load(at_line(2)));
    static_cast<void>(p.load(at_line(4)));
    p.hal.pipe_barrier();
    p.same("memory after an eviction", static_cast<double>(p.load_uncached(at_line(0))), 7);
    p.same("a line behind its own write-back", static_cast<double>(p.load(at_line(0))), 7);
  };
  runs_to_its_end(j);
}

TEST_CASE("data cache: an eviction costs its miss, and the counters count it") {
  job j{simple_memory_machine(1), {}};
  j.code = [](sw::pe_context& pe) {
    probe p(pe);
    const auto& counted = dynamic_cast<const hw::pe_core&>(p.hal).memory().statistics();
    const auto nothing = counted;
    const auto counts = [&](const char* when, std::array<std::uint64_t, 6> expected) {
      const std::array<std::uint64_t, 6> got{
          counted.loads - nothing.loads,         counted.stores - nothing.stores,
          counted.hits - nothing.hits,           counted.line_fills - nothing.line_fills,
          counted.evictions - nothing.evictions, counted.write_backs - nothing.write_backs};
      if (got != expected) throw std::runtime_error(fmt::format("{}: {} (expected {})", when, got, expected));
    };
    const auto load = [&](std::uint64_t line) {
      return p.took([&] { static_cast<void>(p.load(at_line(line))); });
    };
    p.hal.pause(1000);
    const double miss = load(0);  // lines 0, 2, 4, ... fall into one set of two
    p.same("the second way's miss", load(2), miss);
    counts("two misses", {2, 0, 0, 2, 0, 0});
    p.same("a clean line that leaves costs nothing", load(4), miss);  // instead of line 0
    counts("a clean line has left", {3, 0, 0, 3, 0, 0});
    p.store(at_line(2), 7);
    p.hal.dcci_line(at_line(4));
    static_cast<void>(load(6));
    counts("a store that hits, and one more miss", {4, 1, 1, 4, 0, 0});
    // Line 2, dirty, leaves for line 8: its write-back is posted, the load waits for its own line alone.
    p.same("an eviction behind the miss", load(8), miss);
    counts("an eviction", {5, 1, 1, 5, 1, 1});
    p.hal.pipe_barrier();
    p.same("memory after the eviction", static_cast<double>(p.load_uncached(at_line(2))), 7);
    // With no room for another write a line that leaves waits until memory has acknowledged the one before.
    p.store(at_line(6), 1);
    p.store(at_line(8), 2);
    p.same("dcci with room for its write", p.took([&] { p.hal.dcci_line(at_line(6)); }), 4);
    const double waited = p.took([&] { p.hal.dcci_line(at_line(8)); });
    if (waited < 50) throw std::runtime_error(fmt::format("dcci behind a full write buffer: {} ns", waited));
    p.store(at_line(1), 3);
    p.hal.dcci_line(at_line(1));
    counts("three write-backs that are no evictions", {5, 4, 3, 6, 1, 4});
    if (counted.remote_reads != 0 || counted.remote_writes != 0)
      throw std::runtime_error("memory of the own cube counts as remote");
  };
  j.config.pe.cache_write_buffer = 1;
  runs_to_its_end(j);
}

TEST_CASE("data cache: what a DMA engine writes behind it is stale until dcci") {
  job j{simple_memory_machine(2), {}};
  j.code = [](sw::pe_context& pe) {
    probe p(pe);
    constexpr std::uint64_t stored = 0x55, tcm_offset = 0x8000;
    if (p.hal.self() == pe0) {
      p.same("before", static_cast<double>(p.load(at_line(0))), untouched);
      p.store(at_line(1), 3);  // dirty, and overwritten in memory meanwhile
      p.hal.compute(5000);     // the other PE's DMA engine writes at 1000
      p.same("stale", static_cast<double>(p.load(at_line(0))), untouched);
      p.same("stale at its other end", static_cast<double>(p.load(at_line(0) + 56)), untouched);
      p.same("in memory", static_cast<double>(p.load_uncached(at_line(0))), stored);
      p.hal.dcci_line(at_line(0));
      p.same("fresh", static_cast<double>(p.load(at_line(0))), stored);
      p.same("in memory, behind the dirty line", static_cast<double>(p.load_uncached(at_line(1))), stored);
      p.hal.dcci_line(at_line(1));
      p.hal.pipe_barrier();
      p.same("written back over the DMA's", static_cast<double>(p.load_uncached(at_line(1))), 3);
      p.same("whose other words are gone, too", static_cast<double>(p.load_uncached(at_line(1) + 8)),
             untouched);
    } else {
      p.hal.compute(1000);
      for (std::uint64_t at = 0; at < 128; at += sizeof stored)
        p.hal.store(tcm_offset + at, std::as_bytes(std::span{&stored, 1}));
      p.hal.write_register(abi::dma_source,
                           abi::encode({{}, {}, abi::region::tcm, p.hal.self().pe.value, tcm_offset}));
      p.hal.write_register(abi::dma_destination, at_line(0));
      p.hal.write_register(abi::dma_doorbell, 128);
      while (abi::status_halves::unpack(p.hal.read_register(abi::dma_status)).low == 0) p.hal.pause(10);
    }
  };
  runs_to_its_end(j);
}

TEST_CASE("data cache: a line others write goes stale, and is fresh after dcci") {
  job j{simple_memory_machine(2), {}};
  j.code = [](sw::pe_context& pe) {
    probe p(pe);
    if (p.hal.self() == pe0) {
      p.same("before", static_cast<double>(p.load(at_line(0))), untouched);
      p.hal.compute(3000);  // the other PE writes at 1000
      p.same("stale", static_cast<double>(p.load(at_line(0))), untouched);
      p.same("in memory", static_cast<double>(p.load_uncached(at_line(0))), 9);
      p.hal.dcci_line(at_line(0));
      p.same("fresh", static_cast<double>(p.load(at_line(0))), 9);
    } else {
      p.hal.compute(1000);
      p.store(at_line(0), 9);
      p.hal.dcci_line(at_line(0));
    }
  };
  runs_to_its_end(j);
}

TEST_CASE("data cache: a whole line is written back over a neighbor's word; an atomic add is not lost") {
  job j{simple_memory_machine(2), {}};
  j.code = [](sw::pe_context& pe) {
    probe p(pe);
    const bool first = p.hal.self() == pe0;
    static_cast<void>(p.load(at_line(0)));
    if (first) {
      p.store(at_line(8), 0);
      p.store(at_line(9), 0);
      p.hal.dcci_line(at_line(8));
      p.hal.dcci_line(at_line(9));
    }
    p.hal.compute(1000);
    // Both hold the line; the second writes it back 1000 cycles after the first.
    p.store(at_line(0) + (first ? 0 : 8), first ? 1 : 2);
    if (!first) p.hal.compute(1000);
    p.hal.dcci_line(at_line(0));
    for (int i = 0; i < 20; ++i) static_cast<void>(p.hal.add_at_memory(at_line(8), first ? 1 : 100));
    p.hal.pipe_barrier();
    p.hal.compute(20'000);
    p.same("the first word, lost", static_cast<double>(p.load_uncached(at_line(0))), untouched);
    p.same("the second word", static_cast<double>(p.load_uncached(at_line(0) + 8)), 2);
    p.same("the sum of all adds", static_cast<double>(p.load_uncached(at_line(8))), 20 + 2000);
    if (!first) p.hal.compute(5000);
    p.same("an add returns what was there", static_cast<double>(p.hal.add_at_memory(at_line(9), 3)),
           first ? 0 : 3);
  };
  j.config.pe.cache_sets = 4;
  runs_to_its_end(j);
}

TEST_CASE("data cache: memory of another SIP, and addresses that are no memory") {
  job j{simple_memory_machine(1, 2), {}};
  j.code = [](sw::pe_context& pe) {
    probe p(pe);
    const sip_id self = p.hal.self().sip, other{1 - self.value};
    p.store(at_line(self.value, other), 40 + self.value);
    p.hal.dcci_all();
    p.hal.pipe_barrier();
    p.hal.compute(5000);
    p.same("what the other SIP wrote", static_cast<double>(p.load(at_line(other.value, self))),
           40 + static_cast<double>(other.value));
  };
  runs_to_its_end(j);
  for (const abi::address bad : {abi::encode({{}, {}, abi::region::tcm, 0, 0}), at_line(0) + 60}) {
    j.code = [bad](sw::pe_context& pe) { static_cast<void>(probe(pe).load(bad)); };
    const auto o = run(j);
    CHECK(o.status == platforms::run_status::fault);
    CHECK(o.message.find("expected bytes of one 64-byte line of HBM or SRAM") != std::string::npos);
  }
  j.code = [](sw::pe_context& pe) { static_cast<void>(pe.hal().add_at_memory(at_line(0) + 4, 1)); };
  CHECK(run(j).message.find("expected an address that is a multiple of 8") != std::string::npos);
}

}  // namespace diecast::test
