// SPDX-License-Identifier: Apache-2.0
// The arithmetic below the memories: servers and banks of SRAM.
#include <algorithm>
#include <vector>

#include <rapidcheck.h>

#include "models/timing/servers.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::timing;

TEST_CASE("rate server: bytes take their time, one after the other") {
  rate_server s(512.0);
  CHECK(s.serve(nanoseconds(10), 1024) == nanoseconds(12));
  CHECK(s.serve(nanoseconds(10), 512) == nanoseconds(13));
  CHECK(s.serve(nanoseconds(20), 512) == nanoseconds(21));
  CHECK(s.busy() == nanoseconds(4));
}

TEST_CASE("bank array: equals serving block by block") {
  const bool ok = rc::check("closed form equals the loop", [] {
    const auto banks = *rc::gen::inRange(1u, 9u);
    const auto bank_bytes = *rc::gen::element(1u, 8u, 16u);
    bank_array fast(banks, bank_bytes);
    std::vector<std::uint64_t> free(banks, 0);
    std::uint64_t at = 0;
    for (int k = 0; k < 20; ++k) {
      at += *rc::gen::inRange<std::uint64_t>(0, 5);
      const auto offset = *rc::gen::inRange<std::uint64_t>(0, 300);
      const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 400);
      std::uint64_t finish = 0;
      for (std::uint64_t b = offset / bank_bytes; b <= (offset + bytes - 1) / bank_bytes; ++b) {
        auto& f = free[b % banks];
        f = std::max(f, at) + 1;
        finish = std::max(finish, f);
      }
      RC_ASSERT(fast.serve(at, offset, bytes) == finish);
    }
  });
  CHECK(ok);
}
