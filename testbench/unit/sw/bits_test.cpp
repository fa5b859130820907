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
std::vector<bytes> results_of(test::matrix_row row) {
  row.type = numeric::dtype::f32;
  const auto config = test::config_of(row);
  const auto kernel = test::kernel_named(row.algorithm);
  const auto members = comm::map_ranks(row.shape, row.ranks);
  const sw::argument_context launch{config, row.shape, members, row.count, row.type, row.op, true, {}};
  sw::mock_machine machine{config,
                           test::plan_for(kernel.pattern, config, members, lay_out(kernel, launch).end),
                           {row.order, row.seed}};
  std::vector<abi::kernel_arguments> arguments;
  for (std::uint32_t rank = 0; rank < members.members.size(); ++rank) {
    std::vector<float> values(row.count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i + 1) * static_cast<float>(rank + 3));
    }
    arguments.push_back(make_arguments(kernel, launch, rank));
    machine.write_tcm(members.members[rank], arguments.back().input, std::as_bytes(std::span{values}));
  }
  CHECK(machine.run(kernel, members, arguments).deadlock == "");
  std::vector<bytes> results(members.members.size(), bytes(row.count * 4));
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    machine.read_tcm(members.members[rank], arguments[rank].output, results[rank]);
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

TEST_CASE("ring_1d and intercube leave the same bits on every rank") {
  for (const char* algorithm : {"ring_1d", "ring_1d_unidir", "intercube"}) {
    const auto results = results_of(row_of(algorithm));
    INFO(algorithm);
    CHECK(std::set<bytes>(results.begin(), results.end()).size() == 1);
  }
  // The tiles of ring_full_tile are added in another order on every rank; the data must show it, or
  // the check above says nothing.
  const auto results = results_of(row_of("ring_full_tile"));
  CHECK(std::set<bytes>(results.begin(), results.end()).size() > 1);
}

TEST_CASE("no order of events changes a bit of a rounded sum") {
  for (const char* algorithm : {"ring_1d", "ring_1d_unidir", "ring_full_tile", "intercube"}) {
    auto row = row_of(algorithm);
    const auto reference = results_of(row);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      row.order = seed % 2 == 0 ? sw::schedule::random : sw::schedule::adversarial;
      row.seed = seed;
      INFO(algorithm << " seed " << seed);
      CHECK((results_of(row) == reference));
    }
  }
}

}  // namespace
