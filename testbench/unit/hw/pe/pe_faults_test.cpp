// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/pe_faults.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/test.hpp"

using namespace diecast;

namespace {

/// A core's write buffer and what it has written: offset and first byte of each.
struct buffer_bench {
  std::vector<std::pair<std::uint64_t, int>> written;
  hw::write_buffer buffer;
  explicit buffer_bench(double delay_ns)
      : buffer("write_buffer", setting(delay_ns),
               [this](std::uint64_t offset, std::span<const std::byte> bytes) {
                 written.emplace_back(offset, std::to_integer<int>(bytes[0]));
               }) {}
  /// A result of 64 bytes.
  void store(std::uint64_t offset, int value) {
    std::vector<std::byte> bytes(64, static_cast<std::byte>(value));
    REQUIRE(buffer.takes(offset, bytes));
  }
  static config::fault_setting setting(double delay_ns) {
    config::fault_setting f;
    f.delay_ns = delay_ns;
    f.count = 0;
    return f;
  }
};

using writes = std::vector<std::pair<std::uint64_t, int>>;

}  // namespace

TEST_CASE("faults of a PE strike what they count, however large the counts are") {
  config::fault_setting f;
  f.after = 3;
  f.count = 2;
  for (const std::uint64_t number : {3U, 4U}) CHECK(hw::strikes(f, number));
  for (const std::uint64_t number : {0U, 2U, 5U}) CHECK_FALSE(hw::strikes(f, number));
  f.count = 0;
  CHECK(hw::strikes(f, UINT64_MAX));
  f.count = UINT64_MAX;  // after + count is 2 in 64 bits
  CHECK(hw::strikes(f, 3));
  CHECK_FALSE(hw::strikes(f, 2));
}

TEST_CASE("write buffer: a flush writes once, in order, and leaves no timer behind") {
  buffer_bench b(1e6);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  b.store(0, 1);
  b.store(256, 2);
  b.store(0, 3);
  CHECK(b.written.empty());
  CHECK(sc_core::sc_pending_activity());
  b.buffer.flush();
  const writes in_order{{0, 1}, {256, 2}, {0, 3}};
  CHECK(b.written == in_order);
  b.buffer.flush();
  CHECK(b.written == in_order);
  CHECK_FALSE(sc_core::sc_pending_activity());
}

TEST_CASE("write buffer: what meets a result drains it, and the timer with the last") {
  buffer_bench b(1e6);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  b.store(0, 1);
  b.store(256, 2);
  b.buffer.meet(64, 192);  // between the two
  CHECK(b.written.empty());
  b.buffer.meet(0, 4);
  CHECK(b.written == writes{{0, 1}});
  CHECK(sc_core::sc_pending_activity());
  b.buffer.meet(319, 1);
  CHECK(b.written == writes{{0, 1}, {256, 2}});
  CHECK_FALSE(sc_core::sc_pending_activity());
}

TEST_CASE("write buffer: results are written when their delay is over") {
  buffer_bench b(100);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  b.store(0, 1);
  sc_core::sc_start(50, sc_core::SC_NS);
  b.store(256, 2);
  sc_core::sc_start(60, sc_core::SC_NS);
  CHECK(b.written == writes{{0, 1}});
  sc_core::sc_start();
  CHECK(b.written == writes{{0, 1}, {256, 2}});
  CHECK(hw::now() == nanoseconds(150));
}
