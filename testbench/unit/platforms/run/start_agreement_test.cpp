// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/start_agreement.hpp"

#include <vector>

#include "support/sc_fixture.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

/// Hosts that agree on some starts; a host without PEs takes no time between two.
struct agreeing_hosts : sc_core::sc_module {
  agreeing_hosts(const std::vector<sim_time>& between, unsigned rounds)
      : sc_module(sc_core::sc_module_name("hosts")), agreement(between.size()) {
    for (const sim_time t : between) {
      sc_core::sc_spawn([this, t, rounds] {
        for (unsigned r = 0; r < rounds; ++r) {
          const sim_time start = agreement.agree([this] {
            decided.push_back(hw::now());
            return hw::now() + nanoseconds(5);
          });
          if (r < starts.size()) CHECK(starts[r] == start);
          if (r == starts.size()) starts.push_back(start);
          if (t != sim_time{}) sc_core::wait(hw::to_sc(t));
        }
        ++ended;
      });
    }
  }
  platforms::thread_agreement agreement;
  std::vector<sim_time> decided, starts;
  unsigned ended{};
};

}  // namespace

TEST_CASE("start agreement: a host without PEs waits for the others in every round") {
  agreeing_hosts hosts({sim_time{}, nanoseconds(10), sim_time{}}, 4);
  run_to_starvation();
  CHECK(hosts.ended == 3);
  CHECK(hosts.decided == std::vector{sim_time{}, nanoseconds(10), nanoseconds(20), nanoseconds(30)});
}

TEST_CASE("start agreement: where others ready once are known, the next start waits for them anew") {
  agreeing_hosts hosts({sim_time{}}, 3);
  hosts.agreement.set_others_ready(true);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  CHECK(hosts.agreement.take_decided() == sim_time{});
  CHECK(hosts.starts.size() == 1);
  CHECK(hosts.agreement.ready() == sim_time{});

  hosts.agreement.release(nanoseconds(7));
  run_until(nanoseconds(6));
  CHECK(hosts.starts.size() == 1);
  run_until(nanoseconds(8));
  CHECK(hosts.decided == std::vector{sim_time{}, nanoseconds(7)});
  CHECK(hosts.agreement.take_decided() == sim_time::never());
  CHECK_THROWS_AS(hosts.agreement.release(nanoseconds(6)), std::logic_error);
  CHECK(hosts.ended == 0);
}
