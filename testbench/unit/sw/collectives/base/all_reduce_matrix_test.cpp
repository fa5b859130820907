// SPDX-License-Identifier: Apache-2.0
// Every all-reduce kernel, with data, over shapes, sizes, ring depths and schedules. Element type,
// reduction, placement and launch count turn with the row number, so that every value meets many others;
// the product of types and reductions is run in full on one shape.
#include <array>

#include "collective_bench.hpp"
#include "level_shapes.hpp"
#include "support/part.hpp"
#include "support/test.hpp"

namespace {

using namespace diecast;
using test::matrix_row;
using test::turns::orders, test::turns::types, test::turns::ops;

constexpr std::array<std::uint64_t, 3> depths{1, 2, 4};

struct place {
  machine_shape shape;
  comm::rank_set ranks;
  config::inter_sip between_sips{config::inter_sip::ring_1d};
  config::root_place root{config::root_place::center};
};

class matrix {
 public:
  explicit matrix(std::string algorithm) : algorithm_(std::move(algorithm)) {}

  void run(const place& p) {
    const std::uint64_t ranks = comm::map_ranks(p.shape, p.ranks).members.size();
    for (const std::uint64_t n_slots : depths) {
      const std::uint64_t capacity = n_slots * 64 / 2;  // capacity of a slot ring in 2-byte elements
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, ranks - 1, std::uint64_t{33},
                                        2 * capacity + 1, 4 * capacity}) {
        for (const sw::schedule order : orders) {
          matrix_row row = row_at(p, n_slots, order);
          row.count = count;
          check(row);
        }
      }
    }
  }

  void run_types(const place& p) {
    for (const auto type : types) {
      for (const auto op : ops) {
        for (const sw::schedule order : orders) {
          matrix_row row = row_at(p, 2, order);
          row.type = type;
          row.op = op;
          row.count = 157;
          for (const auto mode :
               {config::accumulation::elem, config::accumulation::f32_acc, config::accumulation::f32_wire}) {
            row.accumulate = mode;
            row.data = random::data_pattern::random;
            check(row);
            row.data = random::data_pattern::one_hot;
            check(row);
          }
        }
      }
    }
  }

  [[nodiscard]] unsigned rows() const { return number_; }

 private:
  matrix_row row_at(const place& p, std::uint64_t n_slots, sw::schedule order) {
    matrix_row row;
    row.algorithm = algorithm_;
    row.shape = p.shape;
    row.ranks = p.ranks;
    row.between_sips = p.between_sips;
    row.root = p.root;
    row.n_slots = n_slots;
    row.order = order;
    row.seed = number_ + 1;
    row.type = types[number_ % types.size()];
    row.op = ops[number_ % ops.size()];
    row.in_place = number_ / 3 % 2 == 0;
    row.poll = number_ % 7 == 6;
    row.launches = number_ % 11 == 10 ? 3 : 1;
    constexpr std::array<config::auto_count, 4> cuts{config::auto_count{}, 1, 3, 16};
    row.chunks = cuts[number_ / 2 % cuts.size()];
    constexpr std::array modes{config::accumulation::elem, config::accumulation::f32_acc,
                               config::accumulation::f32_wire};
    row.accumulate = modes[number_ / 4 % modes.size()];
    constexpr std::array kinds{config::buffer_kind::tcm, config::buffer_kind::tcm, config::buffer_kind::sram,
                               config::buffer_kind::tcm, config::buffer_kind::hbm};
    row.rings = kinds[number_ / 5 % kinds.size()];
    return row;
  }

  void check(const matrix_row& row) {
    if (++number_ % test::in_part(test::few_rows, 1U) != 0) return;
    const std::string wrong = test::run_row(row);
    INFO(to_string(row));
    CHECK(wrong == "");
  }

  std::string algorithm_;
  unsigned number_{};
};

void ring_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 11u, 13u, 16u}) {
    m.run({{1, 1, 1, n}, comm::rank_set::pe});
  }
  m.run({{2, 2, 1, 4}, comm::rank_set::pe});
  m.run({{2, 3, 2, 2}, comm::rank_set::cube});
  m.run({{1, 5, 5, 1}, comm::rank_set::cube});
  m.run({{3, 2, 1, 2}, comm::rank_set::sip});
  m.run({{6, 1, 1, 1}, comm::rank_set::sip});
  m.run_types({{1, 1, 1, 5}, comm::rank_set::pe});
  CHECK(m.rows() == 1170);
}

TEST_CASE("ring_1d reduces right everywhere", "[both]") { ring_matrix("ring_1d"); }
TEST_CASE("ring_1d_unidir reduces right everywhere", "[both]") { ring_matrix("ring_1d_unidir"); }
TEST_CASE("ring_full_tile reduces right everywhere", "[both]") { ring_matrix("ring_full_tile"); }

void intercube_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  using config::inter_sip;
  using config::root_place;
  const auto on = [&m](std::uint32_t sips, std::uint32_t columns, std::uint32_t rows, inter_sip between,
                       root_place root) {
    m.run({{sips, columns, rows, 2}, comm::rank_set::cube, between, root});
  };
  for (const root_place root : {root_place::center, root_place::corner}) {
    for (const auto& [columns, rows] :
         {std::pair{1u, 1u}, {1u, 2u}, {2u, 2u}, {3u, 2u}, {4u, 4u}, {5u, 5u}}) {
      on(1, columns, rows, inter_sip::ring_1d, root);
    }
    for (const std::uint32_t sips : {2u, 3u, 4u, 6u}) {
      on(sips, 1, 2, inter_sip::ring_1d, root);
      on(sips, 3, 2, inter_sip::torus_2d, root);
    }
    on(6, 1, 1, inter_sip::torus_2d, root);
    for (const std::uint32_t sips : {2u, 4u, 6u, 9u}) on(sips, 2, 1, inter_sip::mesh_2d_no_wrap, root);
  }
  m.run_types({{4, 2, 2, 1}, comm::rank_set::cube, inter_sip::torus_2d});
  CHECK(m.rows() == 2412);
}

TEST_CASE("intercube reduces right everywhere", "[both]") { intercube_matrix("intercube"); }
TEST_CASE("intercube_pipelined reduces right everywhere", "[both]") {
  intercube_matrix("intercube_pipelined");
}

/// Algorithms that run on any number of ranks, however they are placed.
void any_ranks_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 12u, 13u, 16u}) {
    m.run({{1, 1, 1, n}, comm::rank_set::pe});
  }
  m.run({{2, 3, 2, 2}, comm::rank_set::cube});
  m.run({{3, 2, 1, 2}, comm::rank_set::sip});
  m.run({{6, 1, 1, 1}, comm::rank_set::sip});
  m.run_types({{1, 1, 1, 5}, comm::rank_set::pe});
  m.run_types({{1, 2, 3, 1}, comm::rank_set::cube});
  CHECK(m.rows() == 1530);
}

TEST_CASE("tree_binary reduces right everywhere", "[both]") { any_ranks_matrix("tree_binary"); }
TEST_CASE("double_binary_tree reduces right everywhere", "[both]") { any_ranks_matrix("double_binary_tree"); }
TEST_CASE("p2p_tree reduces right everywhere", "[both]") { any_ranks_matrix("p2p_tree"); }
TEST_CASE("recursive_doubling reduces right everywhere", "[both]") { any_ranks_matrix("recursive_doubling"); }
TEST_CASE("rabenseifner reduces right everywhere", "[both]") { any_ranks_matrix("rabenseifner"); }
TEST_CASE("swing reduces right everywhere", "[both]") { any_ranks_matrix("swing"); }
TEST_CASE("direct_one_shot reduces right everywhere", "[both]") { any_ranks_matrix("direct_one_shot"); }
TEST_CASE("direct_two_shot reduces right everywhere", "[both]") { any_ranks_matrix("direct_two_shot"); }
TEST_CASE("in_network reduces right everywhere", "[both]") { any_ranks_matrix("in_network"); }
TEST_CASE("two_level reduces right everywhere", "[both]") { any_ranks_matrix("two_level"); }

TEST_CASE("three_level reduces right everywhere", "[both]") {
  matrix m{"three_level"};
  for (const machine_shape& shape : test::level_shapes) {
    m.run({shape, comm::rank_set::pe});
  }
  m.run_types({{2, 2, 1, 4}, comm::rank_set::pe});
  m.run_types({{1, 1, 1, 5}, comm::rank_set::pe});
  CHECK(m.rows() == test::level_shapes.size() * 54 + 720);
}

void grid_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  for (const auto& [columns, rows] : {std::pair{1u, 1u}, {1u, 2u}, {2u, 2u}, {3u, 2u}, {4u, 4u}, {5u, 5u}}) {
    m.run({{1, columns, rows, 1}, comm::rank_set::cube});
  }
  m.run({{2, 2, 2, 3}, comm::rank_set::pe});
  m.run({{6, 1, 2, 2}, comm::rank_set::sip});
  m.run({{1, 1, 1, 7}, comm::rank_set::pe});
  m.run_types({{1, 3, 2, 1}, comm::rank_set::cube});
  CHECK(m.rows() == 846);
}

TEST_CASE("mesh_2d reduces right everywhere", "[both]") { grid_matrix("mesh_2d"); }
TEST_CASE("torus_2d reduces right everywhere", "[both]") { grid_matrix("torus_2d"); }

void neighbor_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  for (const auto& [columns, rows] :
       {std::pair{1u, 1u}, {1u, 2u}, {2u, 2u}, {3u, 2u}, {3u, 3u}, {1u, 7u}, {4u, 4u}, {5u, 5u}}) {
    m.run({{1, columns, rows, 2}, comm::rank_set::cube});
  }
  m.run({{2, 3, 2, 1}, comm::rank_set::cube});
  m.run({{3, 2, 1, 2}, comm::rank_set::sip});
  m.run({{6, 1, 1, 1}, comm::rank_set::sip});
  m.run_types({{1, 3, 3, 1}, comm::rank_set::cube});
  CHECK(m.rows() == 954);
}

TEST_CASE("packed_trees reduces right everywhere", "[both]") { neighbor_matrix("packed_trees"); }
TEST_CASE("neighbor_steps reduces right everywhere", "[both]") { neighbor_matrix("neighbor_steps"); }

void hierarchical_matrix(const std::string& algorithm) {
  matrix m{algorithm};
  for (const std::uint32_t n : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 16u}) m.run({{1, 1, 1, n}, comm::rank_set::pe});
  for (const auto& [columns, rows] : {std::pair{1u, 2u}, {2u, 2u}, {3u, 2u}, {4u, 4u}, {5u, 5u}}) {
    m.run({{1, columns, rows, 1}, comm::rank_set::pe});
  }
  for (const std::uint32_t sips : {2u, 3u, 4u, 5u}) m.run({{sips, 2, 1, 3}, comm::rank_set::pe});
  m.run({{2, 3, 2, 2}, comm::rank_set::pe});
  m.run_types({{2, 2, 1, 4}, comm::rank_set::pe});
  CHECK(m.rows() == 1332);
}

TEST_CASE("hierarchical_3level reduces right everywhere", "[both]") {
  hierarchical_matrix("hierarchical_3level");
}
TEST_CASE("hierarchical_pipelined reduces right everywhere", "[both]") {
  hierarchical_matrix("hierarchical_pipelined");
}
TEST_CASE("hierarchical reduces right everywhere", "[both]") { hierarchical_matrix("hierarchical"); }

// Many orders of events on few shapes: races between a register read and a queued event show here.
TEST_CASE("every kernel stands any order of events", "[both]") {
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != "all_reduce") continue;
    for (std::uint64_t seed = 1; seed <= test::in_part(24U, 300); ++seed) {
      matrix_row row;
      row.algorithm = kernel.name;
      row.ranks = kernel.rank_sets.front();
      row.chunks = 1 + seed % 6;
      row.shape = seed % 2 == 0 ? machine_shape{2, 2, 2, 1} : machine_shape{3, 3, 1, 1};
      row.count = 40 + seed;
      row.n_slots = 1 + seed % 3;
      row.order = seed % 4 == 0 ? sw::schedule::adversarial : sw::schedule::random;
      row.rings = seed % 5 == 0 ? config::buffer_kind::sram : config::buffer_kind::tcm;
      row.poll = seed % 7 == 0;
      row.seed = seed;
      INFO(to_string(row));
      CHECK(test::run_row(row) == "");
    }
  }
}

TEST_CASE("tile = rank + 1 on 2 SIPs x 2 cubes x 4 PEs gives 136 everywhere") {
  for (const auto& [algorithm, order] : {std::pair{"ring_1d", orders[0]},
                                         {"ring_1d", orders[1]},
                                         {"ring_1d", orders[2]},
                                         {"hierarchical_3level", orders[0]},
                                         {"hierarchical_3level", orders[1]},
                                         {"hierarchical_3level", orders[2]},
                                         {"hierarchical_pipelined", orders[2]}}) {
    matrix_row row;
    row.algorithm = algorithm;
    row.shape = {2, 2, 1, 4};
    row.count = 64;
    row.type = numeric::dtype::f16;
    row.order = order;
    row.data = random::data_pattern::rank_plus_one;
    // The expected value is spelled out: 1 + 2 + ... + 16.
    const random::test_data data{100, row.type, row.op, 16, row.count, row.data};
    std::vector<std::byte> expected(row.count * 2);
    data.expected(expected);
    CHECK(expected[0] == std::byte{0x40});
    CHECK(expected[1] == std::byte{0x58});  // 0x5840 is 136 in f16
    CHECK(test::run_row(row) == "");
  }
}

TEST_CASE("all-reduce matrix: beyond exact data, sums are within the bound of how their kernel nests them") {
  for (const std::string algorithm : {"p2p_tree", "recursive_doubling", "rabenseifner", "tree_binary"}) {
    for (const auto mode : {config::accumulation::elem, config::accumulation::f32_acc}) {
      for (const std::uint32_t pes : {19U, 32U}) {
        matrix_row row;
        row.algorithm = algorithm;
        row.shape = {1, 4, 4, pes};
        row.count = 40;
        row.type = numeric::dtype::bf16;
        row.accumulate = mode;
        row.rounded = true;
        INFO(to_string(row));
        CHECK(test::run_row(row) == "");
        const bool in_pairs = test::kernel_named(algorithm).sums == numeric::summation::pairwise;
        CHECK(in_pairs == (algorithm != "tree_binary"));
      }
    }
  }
}

}  // namespace
