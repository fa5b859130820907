// SPDX-License-Identifier: Apache-2.0
// A bench that never comes to rest must not pass for one that did.
#include "support/sc_fixture.hpp"

#include <stdexcept>

#include "hw/base/time.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

// No SC_THREAD: after one has run SystemC tells AddressSanitizer that the main stack has no bounds, which it
// then takes the exception's unwinding for an overflow of.
struct ticking : sc_core::sc_module {
  SC_HAS_PROCESS(ticking);
  ticking(const sc_core::sc_module_name& name, unsigned n) : sc_module(name), ticks(n) { SC_METHOD(run); }
  void run() {
    if (ticks-- > 0) next_trigger(hw::to_sc(nanoseconds(10)));
  }
  unsigned ticks;
};

TEST_CASE("run_to_starvation: what still ticks at the limit has not starved") {
  ticking clock("clock", 1000);
  CHECK_THROWS_AS(run_to_starvation(nanoseconds(100)), std::runtime_error);
}
TEST_CASE("run_to_starvation: the time of the last activity") {
  ticking clock("clock", 7);
  CHECK(run_to_starvation(nanoseconds(100)) == nanoseconds(70));
}

}  // namespace
}  // namespace diecast::test
