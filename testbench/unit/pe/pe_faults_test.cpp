// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/pe_faults.hpp"

#include <cstdint>

#include "support/test.hpp"

using namespace diecast;

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
