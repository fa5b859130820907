// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/kernel.hpp"
#include "support/test.hpp"

using namespace diecast;
using platforms::find_lack_of_stacks;

namespace {

config::population pod_of(std::uint32_t sips) { return {machine_shape{sips, 4, 4, 8}}; }

}  // namespace

TEST_CASE("stack room: a machine that needs more mappings than permitted is refused with both numbers") {
  // Two for each of 32,768 PEs and 256 hosts; 65,530 is what Linux permits unless told otherwise.
  const auto lack = find_lack_of_stacks(pod_of(256), 65'530);
  REQUIRE(lack);
  CHECK(to_string(*lack) ==
        "vm.max_map_count: this system permits a process too few memory mappings for the stacks of 32768 PEs "
        "and 256 hosts (value 65530; expected 67072 (sysctl -w vm.max_map_count=67072))");
  CHECK(find_lack_of_stacks(pod_of(256), 67'071));
  CHECK_FALSE(find_lack_of_stacks(pod_of(256), 67'072));
}

TEST_CASE("stack room: half as large a machine runs, and any where the system does not say what it permits") {
  CHECK_FALSE(find_lack_of_stacks(pod_of(128), 65'530));
  CHECK_FALSE(find_lack_of_stacks(pod_of(256), std::nullopt));
}
