// SPDX-License-Identifier: Apache-2.0
// What --algorithm auto takes of kernels that a user adds.
#include <algorithm>
#include <string>

#include "models/types/error.hpp"
#include "platforms/app/builtin.hpp"
#include "platforms/job/algorithms.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

const sw::kernel_entry& shipped(const app::registries& tables, const std::string& name) {
  return *std::find_if(tables.kernels.begin(), tables.kernels.end(),
                       [&](const auto& k) { return k.collective == "all_reduce" && k.name == name; });
}

/// The tables with no all_reduce but copies of these under names that nothing is known of ("my_ring_1d").
app::registries with_own(const std::vector<std::string>& names) {
  const app::registries all = app::builtin_registries(app::pod_platform());
  app::registries tables = all;
  tables.kernels.erase(std::remove_if(tables.kernels.begin(), tables.kernels.end(),
                                      [](const auto& k) { return k.collective == "all_reduce"; }),
                       tables.kernels.end());
  for (const std::string& name : names) {
    tables.kernels.push_back(shipped(all, name));
    tables.kernels.back().name = "my_" + name;
  }
  return tables;
}

/// "name: reason" of what auto takes for an all_reduce of 1 KiB on the cubes, else every problem.
std::string taken(const machine_shape& shape, const std::vector<std::string>& names) {
  const platforms::machine_model machine(test::machine_of(shape));
  platforms::run_point point;
  point.algorithm = platforms::automatic_algorithm;
  point.bytes = 1024;
  point.ranks = comm::rank_set::cube;
  try {
    const auto run = platforms::prepare_point(machine, with_own(names), point);
    return run->point.algorithm + ": " + run->algorithm_reason;
  } catch (const user_error& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("auto estimates kernels that a user adds like any other") {
  const std::string alone = taken({1, 2, 2, 1}, {"ring_1d"});
  CHECK(alone.starts_with("my_ring_1d: auto: my_ring_1d expected to take "));
  CHECK(alone.ends_with(" ns by an estimate"));
  // Routers do not sum, by default.
  CHECK(taken({1, 2, 2, 1}, {"ring_1d", "in_network"}) == alone + "; my_in_network cannot run here");
  const std::string none = taken({1, 2, 2, 1}, {"in_network"});
  CHECK(none.find("my_in_network cannot run: ") != std::string::npos);
  CHECK(none.find("noc.reduce") != std::string::npos);
  // The vector of every rank to every other, where two steps of doubling do.
  const std::string two = taken({1, 2, 2, 1}, {"ring_full_tile", "recursive_doubling"});
  CHECK(two.starts_with("my_recursive_doubling: auto: "));
}
