// SPDX-License-Identifier: Apache-2.0
// Patterns against their definitions in testbench/data/hbm/README.md, written out as loops.
#include "models/traffic/memory_pattern.hpp"

#include <cmath>
#include <set>
#include <vector>

#include <rapidcheck.h>

#include "support/test.hpp"

using namespace diecast;
using diecast::traffic::burst_place;
using diecast::traffic::memory_pattern;
using diecast::traffic::memory_request;

namespace {

/// Row-major address with the coordinates in an order of its own, so that nothing passes by being
/// sequential.
diecast::traffic::memory_geometry small(std::uint64_t bank_groups = 4, std::uint64_t rows = 16) {
  diecast::traffic::memory_geometry g{2, bank_groups, 4, 2, rows, 8, 32, {}};
  g.address_of = [g](const burst_place& p) {
    std::uint64_t a = p.row;
    a = a * g.pseudo_channels + p.pseudo_channel;
    a = a * g.columns + p.column;
    a = a * g.sids + p.sid;
    a = a * g.banks + p.bank;
    a = a * g.bank_groups + p.bank_group;
    return a * g.burst_bytes;
  };
  return g;
}

diecast::traffic::pattern_setup setup(memory_pattern p, std::uint64_t requests = 5000) {
  return {p, 0, requests, 32, 1.0, 3, "test.traffic"};
}

std::vector<memory_request> all(const diecast::traffic::memory_geometry& g,
                                const diecast::traffic::pattern_setup& s) {
  diecast::traffic::pattern_requests source(g, s);
  std::vector<memory_request> list;
  for (memory_request r; source.next(r);) list.push_back(r);
  return list;
}

}  // namespace

TEST_CASE("memory patterns: seq unrolls pc, bank group, column, bank, SID, row") {
  const auto g = small();
  const auto got = all(g, setup(memory_pattern::seq, g.bursts() + 3));
  std::size_t k = 0;
  for (std::uint32_t row = 0; row < 16; ++row)
    for (std::uint32_t sid = 0; sid < 2; ++sid)
      for (std::uint32_t bank = 0; bank < 4; ++bank)
        for (std::uint32_t column = 0; column < 8; ++column)
          for (std::uint32_t group = 0; group < 4; ++group)
            for (std::uint32_t pc = 0; pc < 2; ++pc)
              REQUIRE(got[k++].address == g.address_of({pc, group, bank, sid, row, column}));
  CHECK(got[k].address == got[0].address);  // round again
}

TEST_CASE("memory patterns: counts need not be powers of two") {
  const auto g = small(3, 5);
  const auto got = all(g, setup(memory_pattern::seq, g.bursts()));
  for (std::uint64_t k = 0; k < g.bursts(); ++k) {
    const burst_place p{static_cast<std::uint32_t>(k % 2),      static_cast<std::uint32_t>(k / 2 % 3),
                        static_cast<std::uint32_t>(k / 48 % 4), static_cast<std::uint32_t>(k / 192 % 2),
                        static_cast<std::uint32_t>(k / 384),    static_cast<std::uint32_t>(k / 6 % 8)};
    REQUIRE(got[k].address == g.address_of(p));
  }
}

TEST_CASE("memory patterns: bank conflict, same bank hit and page stride") {
  const auto g = small();
  const auto conflict = all(g, setup(memory_pattern::bank_conflict, 20));
  for (std::uint32_t k = 0; k < 20; ++k) CHECK(conflict[k].address == g.address_of({0, 0, 0, 0, k % 16, 0}));
  const auto hit = all(g, setup(memory_pattern::same_bank_hit, 40));
  for (std::uint32_t k = 0; k < 40; ++k)
    CHECK(hit[k].address == g.address_of({k % 2, 0, 0, 0, 0, k / 2 % 8}));
  const auto page = all(g, setup(memory_pattern::page_stride, 200));
  for (std::uint32_t k = 0; k < 200; ++k) {
    const burst_place p{k % 2, k / 2 % 4, k / 8 % 4, k / 32 % 2, k / 64 % 16, 0};
    CHECK(page[k].address == g.address_of(p));
  }
}

TEST_CASE("memory patterns: rand draws every burst with the same probability") {
  const auto g = small(4, 2);
  const std::uint64_t requests = 400'000;
  std::vector<double> seen(g.bursts());
  for (const auto& r : all(g, setup(memory_pattern::rand, requests))) {
    REQUIRE(r.address % 32 == 0);
    seen.at(r.address / 32) += 1;
  }
  const double expected = static_cast<double>(requests) / static_cast<double>(g.bursts());
  double chi = 0;
  for (const double n : seen) chi += (n - expected) * (n - expected) / expected;
  // Chi square of 1023 degrees of freedom: mean 1023, deviation 45. Six deviations to either side.
  CHECK(chi > 1023 - 6 * 45);
  CHECK(chi < 1023 + 6 * 45);
}

TEST_CASE("memory patterns: writes come with their probability, independent of the addresses") {
  const auto g = small();
  auto s = setup(memory_pattern::rand, 100'000);
  const auto reads = all(g, s);
  for (const double fraction : {0.0, 0.25, 0.5, 1.0}) {
    s.read_fraction = fraction;
    const auto mixed = all(g, s);
    double writes = 0;
    bool same = true;
    for (std::size_t k = 0; k < mixed.size(); ++k) {
      writes += mixed[k].write ? 1 : 0;
      same = same && mixed[k].address == reads[k].address;
    }
    CHECK(same);
    const double mean = (1 - fraction) * 100'000, deviation = std::sqrt(mean * fraction);
    CHECK(std::abs(writes - mean) <= 6 * deviation);
  }
}

TEST_CASE("memory patterns: draws belong to seed and instance") {
  const auto g = small();
  const auto first = all(g, setup(memory_pattern::rand, 100));
  auto seed = setup(memory_pattern::rand, 100);
  seed.seed = 4;
  auto path = setup(memory_pattern::rand, 100);
  path.path = "test.traffic2";
  const auto differs = [&](const std::vector<memory_request>& other) {
    std::size_t n = 0;
    for (std::size_t k = 0; k < 100; ++k) n += other[k].address != first[k].address ? 1 : 0;
    return n > 90;
  };
  CHECK(differs(all(g, seed)));
  CHECK(differs(all(g, path)));
  CHECK_FALSE(differs(all(g, setup(memory_pattern::rand, 100))));
}

TEST_CASE("memory patterns: stride steps through the memory and begins again at its end") {
  const auto g = small();
  auto s = setup(memory_pattern::stride, 30);
  s.stride_bytes = g.bytes() / 4 + 32;
  const auto got = all(g, s);
  std::uint64_t at = 0;
  for (const auto& r : got) {
    CHECK(r.address == std::min(at, g.bytes() - 32));
    at = (at + s.stride_bytes) % g.bytes();
  }
}

TEST_CASE("memory patterns: no request of any size leaves the memory, large ones cover whole sequences") {
  CHECK(rc::check("any pattern and size", [] {
    const auto g = small();
    auto s = setup(*rc::gen::elementOf(std::vector(diecast::traffic::all_memory_patterns.begin(),
                                                   diecast::traffic::all_memory_patterns.end())),
                   300);
    s.request_bytes = static_cast<std::uint32_t>(*rc::gen::inRange(1, 5000));
    s.stride_bytes = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
    s.read_fraction = 0.5;
    for (const auto& r : all(g, s)) {
      RC_ASSERT(r.bytes == s.request_bytes);
      RC_ASSERT(r.address + r.bytes <= g.bytes());
    }
  }));
  // Where addresses follow the coordinates, seq is a plain walk whatever the size.
  auto g = small();
  g.address_of = [g](const burst_place& p) {
    std::uint64_t a = p.row;
    a = a * g.sids + p.sid;
    a = a * g.banks + p.bank;
    a = a * g.columns + p.column;
    a = a * g.bank_groups + p.bank_group;
    a = a * g.pseudo_channels + p.pseudo_channel;
    return a * g.burst_bytes;
  };
  for (const std::uint32_t bytes : {16U, 32U, 64U, 256U}) {
    auto s = setup(memory_pattern::seq, 50);
    s.request_bytes = bytes;
    std::uint64_t at = 0;
    for (const auto& r : all(g, s)) {
      CHECK(r.address == at);
      at += std::max(bytes, 32U);
    }
  }
}
