// SPDX-License-Identifier: Apache-2.0
// Lines of the data cache: which are here, what leaves, and whose bytes are read.
#include "models/protocol/data_cache.hpp"

#include <array>
#include <cstring>
#include <map>
#include <random>

#include <rapidcheck.h>

#include "support/test.hpp"

using namespace diecast;
using protocol::cache_line_bytes;
using protocol::data_cache;
using protocol::line_bytes;

namespace {

line_bytes filled(unsigned value) {
  line_bytes bytes;
  bytes.fill(static_cast<std::byte>(value));
  return bytes;
}

std::uint64_t word(data_cache& c, diecast::abi::address at) {
  std::uint64_t w = 0;
  c.read(at, std::as_writable_bytes(std::span{&w, 1}));
  return w;
}

void put(data_cache& c, diecast::abi::address at, std::uint64_t w) {
  c.write(at, std::as_bytes(std::span{&w, 1}));
}

}  // namespace

TEST_CASE("a line of the data cache holds its own bytes") {
  data_cache c(2, 2);
  CHECK(c.find(0x40) == nullptr);
  CHECK_FALSE(c.fill(0x40, filled(7)));
  CHECK(word(c, 0x48) == 0x0707070707070707);
  CHECK(c.find(0x7f) == c.find(0x40));
  CHECK(c.find(0x80) == nullptr);
  CHECK_FALSE(c.find(0x40)->dirty);
  put(c, 0x78, 9);
  CHECK(c.find(0x40)->dirty);
  CHECK(word(c, 0x78) == 9);
  CHECK(word(c, 0x70) == 0x0707070707070707);
  CHECK_THROWS_AS(word(c, 0x80), std::logic_error);
  CHECK_THROWS_AS(c.fill(0x40, filled(1)), std::logic_error);
  const data_cache copy = c;
  put(c, 0x78, 10);
  CHECK(copy.find(0x40)->bytes[0x38] == std::byte{9});
}

TEST_CASE("the least recently used line of a set leaves, and is returned when dirty") {
  data_cache c(2, 2);
  // Lines 0, 2, 4 fall into set 0; line 1 into set 1.
  CHECK_FALSE(c.fill(0 * 64, filled(0)));
  CHECK_FALSE(c.fill(2 * 64, filled(2)));
  CHECK_FALSE(c.fill(1 * 64, filled(1)));
  put(c, 0, 5);
  static_cast<void>(word(c, 2 * 64));
  const auto leaves = c.fill(4 * 64, filled(4));
  REQUIRE(leaves);
  CHECK(leaves->at == 0);
  CHECK(leaves->dirty);
  CHECK(leaves->bytes[0] == std::byte{5});
  CHECK(c.find(0) == nullptr);
  CHECK(c.find(2 * 64) != nullptr);
  CHECK(c.find(1 * 64) != nullptr);
  CHECK_FALSE(c.fill(6 * 64, filled(6)));  // line 2 was clean
  CHECK(c.find(2 * 64) == nullptr);
}

TEST_CASE("clean and invalidate: clean, dirty and absent lines") {
  data_cache c(4, 1);
  CHECK_FALSE(c.clean_and_invalidate(0x1000));
  CHECK_FALSE(c.fill(0x1000, filled(3)));
  CHECK_FALSE(c.clean_and_invalidate(0x1020));
  CHECK(c.find(0x1000) == nullptr);
  CHECK_FALSE(c.fill(0x1000, filled(3)));
  put(c, 0x1008, 1);
  const auto dirty = c.clean_and_invalidate(0x103f);
  REQUIRE(dirty);
  CHECK(dirty->at == 0x1000);
  CHECK(dirty->bytes[8] == std::byte{1});
  CHECK(c.find(0x1000) == nullptr);
  CHECK_FALSE(c.fill(0x1000, filled(1)));
  CHECK_FALSE(c.fill(0x1040, filled(2)));
  put(c, 0x1040, 1);
  const auto all = c.clean_and_invalidate_all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].at == 0x1040);
  CHECK(c.find(0x1000) == nullptr);
  CHECK_THROWS_AS(data_cache(0, 1), std::invalid_argument);
}

TEST_CASE("to a single user the cache never shows, whatever is cleaned and when") {
  // Random loads, stores and maintenance against plain memory: with a single user the cache is invisible.
  rc::check([] {
    std::mt19937_64 draw(*rc::gen::arbitrary<std::uint64_t>());
    data_cache c(1 + draw() % 4, 1 + draw() % 3);
    std::map<diecast::abi::address, line_bytes> memory;
    std::map<diecast::abi::address, std::uint64_t> truth;
    const auto write_back = [&](const std::optional<data_cache::line>& l) {
      if (l) memory[l->at] = l->bytes;
    };
    for (int i = 0; i < 500; ++i) {
      const diecast::abi::address at = draw() % 16 * 32;
      const diecast::abi::address line = protocol::line_of(at);
      switch (draw() % 5) {
        case 0: write_back(c.clean_and_invalidate(at)); continue;
        case 1:
          if (draw() % 8 == 0) {
            for (const auto& l : c.clean_and_invalidate_all()) memory[l.at] = l.bytes;
          }
          continue;
        default: break;
      }
      if (c.find(at) == nullptr) write_back(c.fill(line, memory.try_emplace(line).first->second));
      if (draw() % 2 == 0) {
        put(c, at, truth[at] = draw());
      } else {
        RC_ASSERT(word(c, at) == truth[at]);
      }
    }
  });
}
