// SPDX-License-Identifier: Apache-2.0
// Sums that round: which algorithms leave equal bits on all ranks, and that no order of events
// changes a bit.
#include <cmath>
#include <set>

#include "collective_bench.hpp"
#include "support/test.hpp"
#include "sw/host/collective.hpp"

namespace {

using namespace diecast;
using bytes = std::vector<std::byte>;

/// Results of all ranks of an f32 sum whose partial sums all round.
std::vector<bytes> results_of(test::matrix_row row, const std::string& collective = "all_reduce") {
  row.type = numeric::dtype::f32;
  const auto config = test::config_of(row);
  const auto kernel = test::kernel_named(row.algorithm, collective);
  const auto members = comm::map_ranks(row.shape, row.ranks);
  const sw::argument_context launch{config, row.shape, members, row.count, row.type, row.op, true, {}};
  sw::mock_machine machine{config, test::plan_for(kernel, launch), {row.order, row.seed}};
  std::vector<diecast::abi::kernel_arguments> arguments;
  for (std::uint32_t rank = 0; rank < members.members.size(); ++rank) {
    std::vector<float> values(row.count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(rank + 3));
    }
    arguments.push_back(make_arguments(kernel, launch, rank));
    write_tensor(machine.host(members.members[rank].sip), {kernel, launch, rank, arguments.back()},
                 sw::tensor::input, std::as_bytes(std::span{values}));
  }
  CHECK(test::run_with_images(machine, kernel, launch, arguments).deadlock == "");
  std::vector<bytes> results(members.members.size());
  for (std::uint32_t rank = 0; rank < results.size(); ++rank) {
    results[rank].resize(output_elements(shape_of(kernel, launch), rank) * 4);
    read_tensor(machine.host(members.members[rank].sip), {kernel, launch, rank, arguments[rank]},
                sw::tensor::output, results[rank]);
  }
  return results;
}

test::matrix_row row_of(const std::string& algorithm) {
  test::matrix_row row;
  row.algorithm = algorithm;
  row.shape = {6, 3, 2, 1};
  row.ranks = comm::rank_set::cube;
  row.between_sips = config::inter_sip::torus_2d;
  row.count = 200;
  return row;
}

/// On one PE per cube the sets pe and cube are the same PEs.
test::matrix_row row_of(const sw::kernel_entry& kernel) {
  auto row = row_of(kernel.name);
  row.ranks = kernel.rank_sets.front();
  return row;
}

TEST_CASE("all algorithms but ring_full_tile leave the same bits on every rank") {
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != "all_reduce" || kernel.name == "ring_full_tile") continue;
    const auto results = results_of(row_of(kernel));
    INFO(kernel.name);
    CHECK(std::set<bytes>(results.begin(), results.end()).size() == 1);
  }
  // The tiles of ring_full_tile are added in another order on every rank; the data must show it, or
  // the check above says nothing.
  const auto results = results_of(row_of("ring_full_tile"));
  CHECK(std::set<bytes>(results.begin(), results.end()).size() > 1);
}

/// Of ten orders of events, those that end with other bits than events in turn do.
unsigned changed_by_order(test::matrix_row row, const std::string& collective = "all_reduce") {
  const auto reference = results_of(row, collective);
  unsigned changed = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    row.order = seed % 2 == 0 ? sw::schedule::random : sw::schedule::adversarial;
    row.seed = seed;
    changed += results_of(row, collective) == reference ? 0 : 1;
  }
  return changed;
}

TEST_CASE("no order of events changes a bit of a rounded sum, but for two_level") {
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != "all_reduce" || kernel.name == "two_level") continue;
    INFO(kernel.name);
    CHECK(changed_by_order(row_of(kernel)) == 0);
  }
  // The sums of rows and columns of two_level meet in a block as they come.
  CHECK(changed_by_order(row_of("two_level")) > 0);
}

TEST_CASE("sums on packed ways keep their order of additions") {
  CHECK(changed_by_order(row_of("packed_trees"), "reduce") == 0);
  for (const machine_shape shape : {machine_shape{6, 3, 2, 1}, {1, 3, 3, 1}, {1, 4, 4, 1}}) {
    auto row = row_of("packed_routes");
    row.shape = shape;
    CHECK(changed_by_order(row, "reduce_scatter") == 0);
  }
}

TEST_CASE("p2p_tree gives every rank the same bits, in a hundred orders of events on every shape") {
  auto row = row_of("p2p_tree");
  row.ranks = comm::rank_set::pe;
  row.count = 40;
  std::set<bytes> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    row.seed = seed;
    row.order = seed % 2 == 0 ? sw::schedule::random : sw::schedule::adversarial;
    for (const machine_shape shape :
         {machine_shape{1, 1, 1, 12}, {12, 1, 1, 1}, {2, 3, 2, 1}, {3, 1, 2, 2}}) {
      row.shape = shape;
      for (const bytes& of_rank : results_of(row)) seen.insert(of_rank);
    }
  }
  CHECK(seen.size() == 1);
  // The data rounds: the ring's order of additions gives other bits.
  row.algorithm = "ring_1d";
  CHECK(seen.count(results_of(row).front()) == 0);
}

TEST_CASE("p2p_tree gives the same bits to tensors in HBM, in chunks of any size") {
  auto row = row_of("p2p_tree");
  const auto reference = results_of(row);
  row.tensors = config::tensor_kind::hbm;
  for (const config::auto_count chunk : {config::auto_count{}, {4}, {52}, {252}, {4096}}) {
    row.chunk_bytes = chunk;
    row.order = sw::schedule::adversarial;
    CHECK((results_of(row) == reference));
  }
}

TEST_CASE("p2p_tree gives the same bits on every machine of as many ranks, and to every slot and chunk") {
  auto row = row_of("p2p_tree");
  const auto reference = results_of(row);
  for (const machine_shape shape : {machine_shape{1, 1, 1, 36}, {36, 1, 1, 1}, {1, 6, 6, 1}, {2, 3, 1, 6}}) {
    row.shape = shape;
    row.ranks = comm::rank_set::pe;
    row.n_slots = 1 + shape.sips % 3;
    row.slot_bytes = 64 * (1 + shape.pes_per_cube % 4);
    row.chunks = shape.cube_columns;
    row.order = sw::schedule::random;
    CHECK((results_of(row).front() == reference.front()));
  }
}

}  // namespace
