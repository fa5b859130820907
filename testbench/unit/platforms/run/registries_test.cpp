// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/builtin.hpp"
#include "support/test.hpp"

using namespace diecast;

namespace {

std::vector<std::string> problems_of(const app::registries& tables) {
  std::vector<std::string> texts;
  try {
    app::check(tables);
  } catch (const user_error& e) {
    for (const auto& p : e.problems()) texts.push_back(to_string(p));
  }
  return texts;
}

}  // namespace

TEST_CASE("registries: what is shipped is in order") {
  for (const auto& platform : {app::pod_platform(), app::sip_platform(), app::cube_platform()}) {
    CHECK(problems_of(app::builtin_registries(platform)).empty());
  }
}

TEST_CASE("registries: barriers are planned by the names built in") {
  app::registries tables = app::builtin_registries(app::pod_platform());
  sw::kernel_entry mine = tables.kernels.front();
  mine.collective = "barrier";
  mine.name = "mine";
  tables.kernels.push_back(mine);
  REQUIRE(problems_of(tables).size() == 1);
  CHECK(problems_of(tables).front().find("kernel barrier mine: no such barrier") == 0);
}

TEST_CASE("registries: everything wrong in the tables is said at once") {
  app::registries tables = app::builtin_registries(app::pod_platform());
  tables.kernels.push_back(tables.kernels.front());
  sw::kernel_entry empty;
  empty.name = "mine";
  empty.collective = "all_produce";
  empty.pattern = "no_such_pattern";
  tables.kernels.push_back(empty);
  tables.patterns.push_back({"ring_1d", "another", {}});
  tables.hbm = {};
  tables.platform.adapt = nullptr;

  std::set<std::string> patterns;
  for (const auto& p : tables.patterns) patterns.insert(p.name);
  const std::string known = config::join(std::vector<std::string>(patterns.begin(), patterns.end()));
  CHECK(problems_of(tables) ==
        std::vector<std::string>{
            "pattern ring_1d: is registered twice (expected another name)",
            "pattern ring_1d: the entry has no build function",
            "kernel all_reduce " + tables.kernels.front().name +
                ": is registered twice (expected another name)",
            "kernel all_produce mine: its pattern is in no table (value no_such_pattern; expected " + known +
                ")",
            "kernel all_produce mine: no such collective (value all_produce; expected all_reduce, "
            "reduce_scatter, all_gather, broadcast, reduce, all_to_all, gather, scatter, send_recv, barrier)",
            "kernel all_produce mine: the entry has no rank set",
            "kernel all_produce mine: the entry has no run function",
            "kernel all_produce mine: the entry has no scratch_bytes function",
            "diecast-pod: the entry has no HBM factory", "diecast-pod: the entry has no adapt function"});
}
