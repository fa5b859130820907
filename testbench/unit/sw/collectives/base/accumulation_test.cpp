// SPDX-License-Identifier: Apache-2.0
// Where sums of f16 and bf16 round (ccl.accumulation): how far results are from the exact sum, and that all
// ranks still end with the same bits.
#include <algorithm>
#include <cmath>
#include <set>

#include "collective_bench.hpp"
#include "models/numeric/convert.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"
#include "sw/host/collective.hpp"

namespace {

using namespace diecast;
using bytes = std::vector<std::byte>;
using config::accumulation;

struct outcome {
  std::vector<bytes> results;  ///< by rank
  std::vector<double> exact;   ///< sums of what the ranks really contributed
};

outcome run(const test::matrix_row& row) {
  const auto config = test::config_of(row);
  const auto kernel = test::kernel_named(row.algorithm);
  const auto members = comm::map_ranks(row.shape, row.ranks);
  const sw::argument_context launch{config, row.shape, members, row.count, row.type, row.op};
  check_launch(kernel, launch);
  sw::mock_machine machine{config, test::plan_for(kernel, launch), {row.order, row.seed}};
  outcome o{{}, std::vector<double>(row.count)};
  std::vector<diecast::abi::kernel_arguments> arguments;
  bytes vector(row.count * numeric::size_of(row.type));
  std::vector<double> values(row.count);
  for (std::uint32_t rank = 0; rank < members.members.size(); ++rank) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 1.0 + std::sin(static_cast<double>(i + 1) * static_cast<double>(rank + 3));
    numeric::from_double(row.type, values, vector);
    numeric::to_double(row.type, vector, values);
    for (std::size_t i = 0; i < values.size(); ++i) o.exact[i] += values[i];
    arguments.push_back(make_arguments(kernel, launch, rank));
    machine.write_tcm(members.members[rank], arguments.back().input, vector);
  }
  CHECK(test::run_with_images(machine, kernel, launch, arguments).deadlock == "");
  for (std::uint32_t rank = 0; rank < members.members.size(); ++rank) {
    machine.read_tcm(members.members[rank], arguments[rank].output, vector);
    o.results.push_back(vector);
  }
  return o;
}

/// Sum over the elements of the distance to the exact sum.
double error(const outcome& o, numeric::dtype type) {
  std::vector<double> got(o.exact.size());
  numeric::to_double(type, o.results.front(), got);
  double sum = 0;
  for (std::size_t i = 0; i < got.size(); ++i) sum += std::fabs(got[i] - o.exact[i]);
  return sum;
}

test::matrix_row row_of(const sw::kernel_entry& kernel, numeric::dtype type, accumulation mode) {
  test::matrix_row row;
  row.algorithm = kernel.name;
  row.shape = {2, 3, 2, 1};  // the sets pe and cube are the same PEs
  row.ranks = kernel.rank_sets.front();
  row.count = 150;
  row.type = type;
  row.accumulate = mode;
  return row;
}

TEST_CASE("f32_acc and f32_wire are nearer to the exact sum than elem, and equal on all ranks") {
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != "all_reduce") continue;
    for (const auto type : {numeric::dtype::f16, numeric::dtype::bf16}) {
      INFO(kernel.name << " " << numeric::to_string(type));
      const outcome elem = run(row_of(kernel, type, accumulation::elem));
      const outcome acc = run(row_of(kernel, type, accumulation::f32_acc));
      const outcome wire = run(row_of(kernel, type, accumulation::f32_wire));
      CHECK(error(acc, type) <= error(elem, type));
      CHECK(error(wire, type) < error(elem, type));
      // One rounding of a sum whose own error is far below it.
      std::vector<double> rounded(elem.exact);
      bytes nearest(elem.results.front().size());
      numeric::from_double(type, rounded, nearest);
      CHECK(wire.results.front() == nearest);
      if (kernel.name == "ring_full_tile") continue;
      for (const outcome* o : {&elem, &acc, &wire})
        CHECK(std::set<bytes>(o->results.begin(), o->results.end()).size() == 1);
    }
  }
}

TEST_CASE("f32_acc rounds what is sent: contributions as they are cost nothing, partial sums do") {
  // Every rank adds the contributions themselves: nothing is rounded on the wire.
  const auto one_shot = test::kernel_named("direct_one_shot");
  const auto type = numeric::dtype::f16;
  CHECK(run(row_of(one_shot, type, accumulation::f32_acc)).results ==
        run(row_of(one_shot, type, accumulation::f32_wire)).results);
  const auto ring = test::kernel_named("ring_1d");
  CHECK(run(row_of(ring, type, accumulation::f32_acc)).results !=
        run(row_of(ring, type, accumulation::f32_wire)).results);
}

TEST_CASE("f32 and i32 are summed as they are, whatever the mode") {
  const auto kernel = test::kernel_named("rabenseifner");
  const auto type = numeric::dtype::f32;
  const auto reference = run(row_of(kernel, type, accumulation::elem)).results;
  CHECK(run(row_of(kernel, type, accumulation::f32_acc)).results == reference);
  CHECK(run(row_of(kernel, type, accumulation::f32_wire)).results == reference);
}

TEST_CASE("other reductions refuse the modes they do not have") {
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != "reduce" && kernel.collective != "reduce_scatter") continue;
    auto row = row_of(kernel, numeric::dtype::f16, accumulation::f32_acc);
    INFO(kernel.name);
    const auto members = comm::map_ranks(row.shape, row.ranks);
    const auto checked = [&] {
      const auto config = test::config_of(row);
      check_launch(kernel, {config, row.shape, members, row.count, row.type, row.op});
    };
    CHECK_THROWS_WITH(checked(), Catch::Contains("ccl.accumulation") && Catch::Contains("f32_acc"));
    row.type = numeric::dtype::f32;
    CHECK_NOTHROW(checked());
  }
}

}  // namespace
