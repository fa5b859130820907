// SPDX-License-Identifier: Apache-2.0
// Every kernel of the collectives other than all-reduce, with data, over rank counts, shapes, sizes, ring
// depths and schedules. Element type, reduction, placement, root and launch count turn with the row number,
// so that every value meets many others.
#include <array>
#include <set>

#include "collective_bench.hpp"
#include "level_shapes.hpp"
#include "models/types/error.hpp"
#include "moves_bench.hpp"
#include "support/part.hpp"
#include "support/test.hpp"

namespace {

using namespace diecast;
using test::move_row;
using test::turns::orders, test::turns::types, test::turns::ops;

class moves_matrix {
 public:
  moves_matrix(std::string collective, std::string algorithm)
      : collective_(std::move(collective)), algorithm_(std::move(algorithm)) {}

  void run(const machine_shape& shape, comm::rank_set set) {
    const auto ranks = static_cast<std::uint32_t>(comm::map_ranks(shape, set).members.size());
    for (const std::uint64_t n_slots : {1u, 2u, 4u}) {
      const std::uint64_t ring = n_slots * 64 / 2;  // elements of two bytes that a ring holds
      for (const std::uint64_t count :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{37}, 2 * ring + 1, ranks * (ring + 5)}) {
        for (const sw::schedule order : orders) check(row_at(shape, set, ranks, n_slots, count, order));
      }
    }
  }

  [[nodiscard]] unsigned rows() const { return number_; }

 private:
  move_row row_at(const machine_shape& shape, comm::rank_set set, std::uint32_t ranks, std::uint64_t n_slots,
                  std::uint64_t count, sw::schedule order) const {
    move_row row{collective_, algorithm_, shape, set};
    row.root = number_ / 2 % ranks;
    row.count = count;
    row.type = types[number_ % types.size()];
    row.op = ops[number_ % ops.size()];
    row.n_slots = n_slots;
    row.order = order;
    row.seed = number_ + 1;
    row.in_place = number_ / 3 % 2 == 0;
    row.launches = number_ % 11 == 10 ? 3 : 1;
    constexpr std::array kinds{config::buffer_kind::tcm, config::buffer_kind::tcm, config::buffer_kind::sram,
                               config::buffer_kind::tcm, config::buffer_kind::hbm};
    row.rings = kinds[number_ / 5 % kinds.size()];
    return row;
  }

  void check(const move_row& row) {
    if (++number_ % test::in_part(test::few_rows, 1U) != 0) return;
    const std::string wrong = test::run_move(row);
    INFO(to_string(row));
    CHECK(wrong == "");
  }

  std::string collective_, algorithm_;
  unsigned number_{};
};

void run_matrix(const std::string& collective, const std::string& algorithm) {
  moves_matrix m{collective, algorithm};
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 16u}) m.run({1, 1, 1, n}, comm::rank_set::pe);
  m.run({2, 3, 2, 1}, comm::rank_set::cube);
  m.run({6, 1, 1, 1}, comm::rank_set::sip);
  m.run({3, 2, 1, 2}, comm::rank_set::pe);
  CHECK(m.rows() == 495);
}

/// Algorithms that relay from cube to cube, with one rank in each.
void run_neighbor_matrix(const std::string& collective, const std::string& algorithm) {
  moves_matrix m{collective, algorithm};
  for (const auto& [columns, rows] :
       {std::pair{1u, 1u}, {1u, 2u}, {2u, 2u}, {3u, 2u}, {3u, 3u}, {1u, 7u}, {4u, 2u}, {4u, 4u}}) {
    m.run({1, columns, rows, 2}, comm::rank_set::cube);
  }
  m.run({2, 3, 2, 1}, comm::rank_set::cube);
  m.run({6, 1, 1, 1}, comm::rank_set::sip);
  m.run({3, 2, 1, 2}, comm::rank_set::sip);
  CHECK(m.rows() == 495);
}

void run_level_matrix(const std::string& collective, const std::string& algorithm) {
  moves_matrix m{collective, algorithm};
  for (const machine_shape& shape : test::level_shapes) {
    m.run(shape, comm::rank_set::pe);
  }
  CHECK(m.rows() == test::level_shapes.size() * 45);
}

/// Algorithms that go by the places of PEs in cubes and of cubes in SIPs.
void run_box_matrix(const std::string& collective, const std::string& algorithm) {
  moves_matrix m{collective, algorithm};
  for (const machine_shape& shape :
       {machine_shape{1, 2, 1, 2}, machine_shape{1, 1, 2, 3}, machine_shape{1, 2, 2, 1},
        machine_shape{1, 2, 2, 2}, machine_shape{1, 3, 1, 5}, machine_shape{1, 3, 2, 2},
        machine_shape{2, 1, 1, 3}, machine_shape{2, 2, 2, 2}, machine_shape{2, 1, 2, 4},
        machine_shape{3, 2, 1, 2}, machine_shape{2, 2, 1, 7}}) {
    m.run(shape, comm::rank_set::pe);
  }
  CHECK(m.rows() == 495);
}

struct checked_kernel {
  const char* collective;
  const char* algorithm;
  void (*run)(const std::string& collective, const std::string& algorithm){run_matrix};
};
constexpr checked_kernel checked[]{
    {"reduce_scatter", "ring_1d"},
    {"reduce_scatter", "recursive_halving"},
    {"reduce_scatter", "pairwise"},
    {"reduce_scatter", "two_level"},
    {"reduce_scatter", "three_level", run_level_matrix},
    {"reduce_scatter", "packed_routes", run_neighbor_matrix},
    {"reduce_scatter", "neighbor_steps", run_neighbor_matrix},
    {"all_gather", "ring_1d"},
    {"all_gather", "bruck"},
    {"all_gather", "two_level"},
    {"all_gather", "three_level", run_level_matrix},
    {"all_gather", "packed_routes", run_neighbor_matrix},
    {"all_gather", "neighbor_steps", run_neighbor_matrix},
    {"broadcast", "ring_1d"},
    {"broadcast", "binomial"},
    {"broadcast", "double_binary_tree"},
    {"broadcast", "packed_trees"},
    {"broadcast", "packed_trees", run_box_matrix},
    {"broadcast", "multicast"},
    {"reduce", "ring_1d"},
    {"reduce", "binomial"},
    {"reduce", "packed_trees"},
    {"reduce", "packed_trees", run_box_matrix},
    {"reduce", "in_network"},
    {"all_to_all", "bruck"},
    {"all_to_all", "pairwise"},
    {"all_to_all", "direct"},
    {"all_to_all", "two_level"},
    {"all_to_all", "mesh_steps"},
    {"all_to_all", "mesh_steps", run_neighbor_matrix},  // by the clock on 4 columns
    {"all_to_all", "lines"},
    {"all_to_all", "lines", run_box_matrix},
    {"gather", "binomial"},
    {"gather", "linear"},
    {"gather", "packed_routes", run_neighbor_matrix},
    {"scatter", "binomial"},
    {"scatter", "linear"},
    {"scatter", "packed_routes", run_neighbor_matrix},
    {"send_recv", "direct"},
    {"send_recv", "ring_1d"}};

void check_all_of(const std::string& collective) {
  unsigned found = 0;
  for (const checked_kernel& k : checked) {
    if (k.collective != collective) continue;
    ++found;
    k.run(collective, k.algorithm);
  }
  CHECK(found > 0);
}

TEST_CASE("reduce_scatter is right everywhere", "[both]") { check_all_of("reduce_scatter"); }
TEST_CASE("all_gather is right everywhere", "[both]") { check_all_of("all_gather"); }
TEST_CASE("broadcast is right everywhere", "[both]") { check_all_of("broadcast"); }
TEST_CASE("reduce is right everywhere", "[both]") { check_all_of("reduce"); }
TEST_CASE("all_to_all is right everywhere", "[both]") { check_all_of("all_to_all"); }
TEST_CASE("gather is right everywhere", "[both]") { check_all_of("gather"); }
TEST_CASE("scatter is right everywhere", "[both]") { check_all_of("scatter"); }
TEST_CASE("send_recv is right everywhere", "[both]") { check_all_of("send_recv"); }

// A kernel that nobody entered above would never be checked.
TEST_CASE("every built-in kernel is in a matrix") {
  const std::set<std::string> cases{"reduce_scatter", "all_gather", "broadcast", "reduce",
                                    "all_to_all",     "gather",     "scatter",   "send_recv"};
  std::set<std::pair<std::string, std::string>> here, table;
  for (const checked_kernel& k : checked) {
    CHECK(cases.contains(k.collective));
    here.insert({k.collective, k.algorithm});
  }
  for (const auto& k : sw::builtin_kernels()) {
    if (k.collective != "all_reduce" && k.collective != "barrier") table.insert({k.collective, k.name});
  }
  CHECK(table == here);
}

TEST_CASE("a root outside the group is refused") {
  move_row row{"broadcast", "ring_1d", {1, 1, 1, 4}};
  row.root = 4;
  row.count = 8;
  CHECK(test::run_move(row).find(
            "ccl.root_rank: the root is no member of the group (value 4; expected 0 to 3)") !=
        std::string::npos);
  row.collective = "send_recv";  // has none
  CHECK(test::run_move(row) == "");
}

}  // namespace
