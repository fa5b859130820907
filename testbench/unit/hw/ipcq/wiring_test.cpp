// SPDX-License-Identifier: Apache-2.0
// The host installs queue pairs by the backdoor or over the fabric; the machine is the same afterwards.
#include "machine_bench.hpp"
#include "support/test.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

double stat(const platforms::run_outcome& o, const std::string& name) {
  for (const auto& [key, value] : o.stats) {
    if (key == name) return value;
  }
  FAIL("no statistic " << name);
  return 0;
}

job all_around() {
  job j;
  j.config = small_machine(3, 2);
  j.code = [](sw::pe_context& pe) {
    for (int i = 0; i < 5; ++i) {
      pe.exchange(comm::east, {0, 64}, comm::west, {64, 64}, sw::pe_context::arrival::copy);
      pe.exchange(comm::west, {0, 64}, comm::east, {64, 64}, sw::pe_context::arrival::copy);
    }
  };
  return j;
}

}  // namespace

TEST_CASE("install: over the fabric takes time, and changes nothing else") {
  job j = all_around();
  const auto backdoor = run(j);
  j.config.ccl.install = config::install_kind::timed;
  const auto timed = run(j);
  REQUIRE(ended(backdoor));
  REQUIRE(ended(timed));
  CHECK(stat(backdoor, "install_ns") == 0);
  // 3 PEs x 2 queue pairs x 7 registers, one after the other through each IO CPU.
  const double packets = 3 * 2 * 7;
  const double at_least = packets * static_cast<double>(j.config.host.io_cpu_cycles);
  CHECK(stat(timed, "install_ns") > at_least);
  CHECK(stat(timed, "install_ns") < at_least + 500);
  CHECK(timed.time_ns == backdoor.time_ns);
  CHECK(timed.fingerprint == backdoor.fingerprint);
}

TEST_CASE("install: over the fabric in any build order takes the same time") {
  job j = all_around();
  j.config.ccl.install = config::install_kind::timed;
  const auto forward = run(j);
  for (const char* order : {"reverse", "shuffle:3"}) {
    j.config.sim.build_order = order;
    const auto other = run(j);
    CHECK(stat(other, "install_ns") == stat(forward, "install_ns"));
    CHECK(other.time_ns == forward.time_ns);
    CHECK(other.fingerprint == forward.fingerprint);
  }
}
