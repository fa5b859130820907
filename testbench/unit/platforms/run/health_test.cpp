// SPDX-License-Identifier: Apache-2.0
// What the monitors' measurements are held to.
#include "platforms/run/collect.hpp"
#include "testbench/support/test.hpp"

using namespace diecast;
using platforms::expected_credit_ns;

TEST_CASE("health: a credit to a PE that sends nothing is not expected at once") {
  const pe_coord first{sip_id{0}, cube_id{0}, pe_id{0}}, second{sip_id{1}, cube_id{0}, pe_id{3}};
  const platforms::credit_latencies idle{{first, 39.0}, {second, 1012.0}};
  CHECK(expected_credit_ns(idle, first) == 39.0);
  CHECK(expected_credit_ns(idle, second) == 1012.0);
  CHECK(expected_credit_ns(idle, {sip_id{0}, cube_id{1}, pe_id{2}}) == 1012.0);
}
