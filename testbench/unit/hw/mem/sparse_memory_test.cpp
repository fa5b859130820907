// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/sparse_memory.hpp"

#include <malloc.h>
#include <map>
#include <memory>
#include <vector>

#include <rapidcheck.h>

#include "models/types/error.hpp"
#include "support/test.hpp"

using namespace diecast;
using hw::sparse_memory;

namespace {

std::vector<std::byte> bytes_of(std::uint64_t n, unsigned seed) {
  std::vector<std::byte> v(n);
  for (std::uint64_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(seed + i * 7);
  return v;
}

}  // namespace

TEST_CASE("sparse memory: behaves as a flat array that starts as fill") {
  const bool ok = rc::check("any writes and reads", [] {
    constexpr std::uint64_t size = 5 * sparse_memory::page_bytes + 100;
    sparse_memory memory("m", size, false);
    std::vector<std::byte> expected(size, sparse_memory::fill);
    std::vector<bool> written(size, false);
    std::uint64_t unwritten = 0;
    const auto steps = *rc::gen::inRange(1, 30);
    for (int k = 0; k < steps; ++k) {
      const auto offset = *rc::gen::inRange<std::uint64_t>(0, size);
      const auto n = *rc::gen::inRange<std::uint64_t>(0, size - offset + 1);
      if (*rc::gen::arbitrary<bool>()) {
        const auto data = bytes_of(n % 3000, *rc::gen::inRange(0u, 256u));
        memory.write(offset, {data.data(), std::min<std::size_t>(data.size(), size - offset)});
        for (std::uint64_t i = 0; i < data.size() && offset + i < size; ++i) {
          expected[offset + i] = data[i];
          written[offset + i] = true;
        }
      } else {
        std::vector<std::byte> out(n), peeked(n);
        memory.peek(offset, peeked);
        RC_ASSERT(memory.unwritten_bytes_read() == unwritten);
        memory.read(offset, out);
        for (std::uint64_t i = 0; i < n; ++i) {
          RC_ASSERT(out[i] == expected[offset + i]);
          if (!written[offset + i]) ++unwritten;
        }
        RC_ASSERT(peeked == out);
      }
      RC_ASSERT(memory.unwritten_bytes_read() == unwritten);
    }
  });
  CHECK(ok);
}

TEST_CASE("sparse memory: strict names the instance and the first byte never written") {
  sparse_memory memory("pod.sip0.cube_0_0.hbm3", 1 << 20, true);
  const auto data = bytes_of(100, 1);
  memory.write(4090, data);
  std::vector<std::byte> out(100);
  memory.read(4090, out);
  CHECK(out == data);
  std::vector<std::byte> one(1);
  CHECK_NOTHROW(memory.read(4189, one));
  CHECK_THROWS_AS(memory.read(4190, one), protocol_error);
  CHECK_THROWS_WITH(memory.read(4100, out),
                    Catch::Contains("pod.sip0.cube_0_0.hbm3") && Catch::Contains("0x105e"));
  CHECK_NOTHROW(memory.peek(4100, out));
}

TEST_CASE("sparse memory: accesses beyond the end are refused by name") {
  sparse_memory memory("tcm7", 8192, false);
  std::vector<std::byte> two(2);
  CHECK_NOTHROW(memory.write(8190, two));
  CHECK_THROWS_WITH(memory.write(8191, two), Catch::Contains("tcm7") && Catch::Contains("0x1fff"));
  CHECK_THROWS_AS(memory.read(UINT64_MAX, two), protocol_error);
  CHECK_THROWS_AS(memory.peek(8193, {}), protocol_error);
}

TEST_CASE("sparse memory: untouched memories cost next to nothing") {
  constexpr unsigned instances = 8192;
  const auto before = mallinfo2().uordblks + mallinfo2().hblkhd;
  std::vector<std::unique_ptr<sparse_memory>> all;
  for (unsigned i = 0; i < instances; ++i)
    all.push_back(std::make_unique<sparse_memory>("pod.sip0.cube_0_0.pe0.tcm", 1464 * 1024, false));
  auto huge = std::make_unique<sparse_memory>("hbm", std::uint64_t{64} << 30, false);
  const auto after = mallinfo2().uordblks + mallinfo2().hblkhd;
  CHECK((after - before) / instances < 1024);
  std::vector<std::byte> one(1);
  huge->write((std::uint64_t{64} << 30) - 1, one);
  std::vector<std::byte> many(1 << 20);
  huge->peek(0, many);
  CHECK(huge->pages() == 1);
}
