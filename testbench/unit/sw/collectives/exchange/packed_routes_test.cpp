// SPDX-License-Identifier: Apache-2.0
// Routes from neighbor to neighbor: everything arrives once, nothing waits in a circle, and no link carries
// more than arithmetic says it must.
#include "sw/collectives/exchange/packed_routes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/types/error.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::comm {
namespace {

using machine = test::ranked_machine;

/// Runs the lists of all ranks: a piece goes when it stands first at both ends and what it waits for has
/// come. What each rank has got of (block, part), with how many contributions.
class rehearsal {
 public:
  rehearsal(const machine& m, const packed_routes& routes) : graph_(m.context()), routes_(routes) {}

  /// False when pieces are left that wait for each other.
  bool run() {
    sent_.resize(graph_.links().size());
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t l = 0; l < sent_.size(); ++l) {
        while (step(l)) moved = true;
      }
    }
    for (std::uint32_t l = 0; l < sent_.size(); ++l) {
      if (sent_[l] != pipeline(l).sent.size()) return false;
    }
    return true;
  }

  using part_at = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< rank, block, part
  std::map<part_at, std::set<std::uint32_t>> sums;  ///< the ranks whose contribution has come
  std::map<part_at, std::uint32_t> arrivals;
  [[nodiscard]] const std::vector<std::size_t>& carried() const { return sent_; }

 private:
  [[nodiscard]] const packed_routes::pipeline& pipeline(std::uint32_t l) const {
    return routes_.pipelines(graph_.links()[l].from)[graph_.place_of(l)];
  }
  [[nodiscard]] const packed_routes::pipeline& other_end(std::uint32_t l) const {
    return routes_.pipelines(graph_.links()[l].to)[graph_.place_of(l ^ 1U)];
  }
  [[nodiscard]] bool has_come(std::uint32_t rank, const packed_routes::piece& p) const {
    return p.stage == packed_routes::no_stage || p.stage < sent_[graph_.leaving(rank)[p.pipeline] ^ 1U];
  }
  bool step(std::uint32_t l) {
    const neighbor_graph::link& link = graph_.links()[l];
    if (sent_[l] == pipeline(l).sent.size()) return false;
    const packed_routes::piece& out = pipeline(l).sent[sent_[l]];
    const packed_routes::piece& in = other_end(l).received.at(sent_[l]);
    CHECK(out.block == in.block);
    CHECK(out.part == in.part);
    if (!has_come(link.from, out) || !has_come(link.to, in)) return false;
    std::set<std::uint32_t> sum = sums[{link.from, out.block, out.part}];
    sum.insert(link.from);
    std::set<std::uint32_t>& at = sums[{link.to, out.block, out.part}];
    for (const std::uint32_t r : sum) CHECK(at.insert(r).second);  // nothing is added twice
    ++arrivals[{link.to, out.block, out.part}];
    ++sent_[l];
    return true;
  }

  neighbor_graph graph_;
  const packed_routes& routes_;
  std::vector<std::size_t> sent_;  ///< pieces that have crossed, by link
};

const std::vector<machine> machines{machine{machine_shape{1, 1, 2, 1}},
                                    machine{machine_shape{1, 2, 2, 1}},
                                    machine{machine_shape{1, 3, 2, 2}},
                                    machine{machine_shape{1, 3, 3, 1}},
                                    machine{machine_shape{1, 7, 1, 1}},
                                    machine{machine_shape{1, 4, 4, 1}},
                                    machine{machine_shape{2, 3, 2, 1}},
                                    machine{machine_shape{4, 4, 4, 1}},
                                    machine{machine_shape{6, 1, 1, 1}, rank_set::sip},
                                    machine{machine_shape{5, 2, 2, 2}, rank_set::sip}};

TEST_CASE("packed routes: scatter brings every part to its rank and nowhere else; gather is the way back") {
  for (const machine& m : machines) {
    for (const std::uint32_t root : {0U, m.ranks() / 2, m.ranks() - 1}) {
      CAPTURE(m.shape.sips, m.shape.cube_columns, m.shape.cube_rows, root);
      const packed_routes out(m.context(root), collective::scatter),
          back(m.context(root), collective::gather);
      rehearsal scatter(m, out), gather(m, back);
      REQUIRE(scatter.run());
      REQUIRE(gather.run());
      for (std::uint32_t r = 0; r < m.ranks(); ++r) {
        for (std::uint32_t p = 0; p < out.parts(); ++p) {
          if (r == root) continue;
          CHECK(scatter.arrivals[{r, r, p}] == 1);
          CHECK(scatter.sums[{r, r, p}].count(root) == 1);
          CHECK(gather.arrivals[{root, r, p}] == 1);
          CHECK(gather.sums[{root, r, p}].count(r) == 1);
        }
      }
      for (const auto& [where, times] : scatter.arrivals) CHECK(times == 1);
    }
  }
}

void check_all_gather_and_back(packed_routes::cut blocks) {
  for (const machine& m : machines) {
    CAPTURE(m.shape.sips, m.shape.cube_columns, m.shape.cube_rows);
    const packed_routes out(m.context(), collective::all_gather, blocks),
        back(m.context(), collective::reduce_scatter, blocks);
    rehearsal gather(m, out), reduce(m, back);
    REQUIRE(gather.run());
    REQUIRE(reduce.run());
    for (std::uint32_t block = 0; block < m.ranks(); ++block) {
      for (std::uint32_t p = 0; p < out.parts(); ++p) {
        for (std::uint32_t r = 0; r < m.ranks(); ++r) {
          if (r != block) CHECK(gather.arrivals[{r, block, p}] == 1);
        }
      }
      for (std::uint32_t p = 0; p < back.parts(); ++p) {
        CHECK(reduce.sums[{block, block, p}].size() == m.ranks() - 1);  // and its own, which is there
      }
    }
  }
}

TEST_CASE("packed routes: all_gather brings everything everywhere once; reduce_scatter adds everybody once") {
  check_all_gather_and_back(packed_routes::cut::least_load);
  check_all_gather_and_back(packed_routes::cut::steps);
}

TEST_CASE("packed routes in steps: half way round a ring with whole blocks, all the way with halves") {
  struct expected {
    const char* topology;
    std::uint32_t columns, ranks;
    double busiest, busiest_back;
    std::uint32_t parts_back;
  };
  for (const expected& e : {expected{"ring", 0, 8, 4, 3.5, 2}, expected{"ring", 0, 3, 1, 1, 2},
                            expected{"mesh_2d", 8, 8, 7, 7, 1}, expected{"mesh_2d", 2, 2, 1, 1, 1}}) {
    CAPTURE(e.topology, e.ranks);
    machine m(machine_shape{e.ranks, 1, 1, 1}, rank_set::sip);
    m.config.pod.topology = e.columns > 0 ? config::pod_topology::mesh_2d : config::pod_topology::ring;
    m.config.pod.columns = e.columns;
    const packed_routes out(m.context(), collective::all_gather, packed_routes::cut::steps),
        back(m.context(), collective::reduce_scatter, packed_routes::cut::steps);
    CHECK(out.parts() == 1);
    CHECK(out.busiest() == Approx(e.busiest));
    CHECK(back.parts() == e.parts_back);
    CHECK(back.busiest() == Approx(e.busiest_back));
  }
}

/// Parts on the busiest link, over the parts of a block.
double busiest(const machine& m, collective what) {
  const packed_routes routes(m.context(), what);
  rehearsal r(m, routes);
  REQUIRE(r.run());
  const double parts = routes.parts();
  const double most = static_cast<double>(*std::max_element(r.carried().begin(), r.carried().end())) / parts;
  CHECK(most <= routes.busiest());
  return most;
}

TEST_CASE("packed routes: no link of a grid carries more than half of what its corner takes in") {
  for (const machine_shape& shape :
       {machine_shape{1, 2, 2, 1}, {1, 3, 2, 1}, {1, 3, 3, 1}, {1, 4, 4, 1}, {1, 5, 4, 1}}) {
    const machine m(shape);
    CAPTURE(shape.cube_columns, shape.cube_rows);
    for (const collective what :
         {collective::scatter, collective::gather, collective::all_gather, collective::reduce_scatter}) {
      CHECK(busiest(m, what) == (m.ranks() - 1) / 2.0);
    }
  }
}

TEST_CASE("packed routes: links carry in proportion to their rates") {
  machine m(machine_shape{1, 2, 2, 1});
  m.config.ucie.lanes = 16;
  m.config.ucie.gt_s = 4;
  m.config.ucie.modules = 2;
  m.config.overrides = {{.match = "pod.sip0.cube_0_0.ucie_e", .modules = 1}};
  const neighbor_graph g(m.context());
  const packed_routes routes(m.context(), collective::scatter);
  rehearsal r(m, routes);
  REQUIRE(r.run());
  std::set<std::size_t> loads;
  for (const std::uint32_t l : g.leaving(0)) loads.insert(r.carried()[l]);
  CHECK(*loads.rbegin() == 2 * *loads.begin());
}

TEST_CASE("packed routes: a link between SIPs has the rate that messages have over it") {
  machine m(machine_shape{2, 1, 1, 1});
  m.config.sip_link.gbytes_s = 4;
  const auto rate = [&m] { return neighbor_graph(m.context()).fastest(); };
  CHECK(rate() == Approx(4));
  m.config.comm.direct_efficiency = 0.5;
  CHECK(rate() == Approx(2));
  m.config.comm.path = config::transfer_path::staged;
  m.config.host.staging_gbytes_s = 3;
  CHECK(rate() == Approx(3));
}

TEST_CASE("packed routes: links may be slower than the others by any factor") {
  machine m(machine_shape{2, 2, 2, 1});
  m.config.sip_link.gbytes_s = 1e-4;
  const neighbor_graph g(m.context());
  for (const collective what : {collective::scatter, collective::all_gather}) {
    CHECK(packed_routes(m.context(), what).busiest() == Approx(4 * g.fastest() / 1e-4));  // four blocks
  }
}

TEST_CASE("packed routes: missing links are not used") {
  machine m(machine_shape{1, 3, 3, 1});
  const std::size_t whole = neighbor_graph(m.context()).links().size();
  m.config.overrides = {{.match = "pod.sip0.cube_0_0.ucie_e", .enabled = false}};
  const neighbor_graph g(m.context());
  CHECK(g.links().size() == whole - 2);
  CHECK(g.leaving(0).size() == 1);
  CHECK(busiest(m, collective::all_gather) == 8);  // the corner has one link left
}

TEST_CASE("packed routes: ranks are neighbors over cubes and SIPs that have none") {
  machine gaps(machine_shape{3, 3, 3, 1});
  auto& left = gaps.members.members;  // SIP 1 has no rank, the middles of the others have none
  left.erase(std::remove_if(left.begin(), left.end(),
                            [](const pe_coord& m) { return m.sip.value == 1 || m.cube.value == 4; }),
             left.end());
  gaps.config.pod.topology = config::pod_topology::mesh_2d;
  REQUIRE(gaps.ranks() == 16);
  for (const collective what : {collective::all_gather, collective::reduce_scatter}) {
    const packed_routes routes(gaps.context(), what);
    rehearsal r(gaps, routes);
    CHECK(r.run());
  }
}

TEST_CASE("packed routes: ranks are alone in their cubes, and not too many") {
  const machine crowded(machine_shape{1, 2, 2, 2}, rank_set::pe);
  CHECK_THROWS_AS(neighbor_graph(crowded.context()), user_error);
  const machine many(machine_shape{33, 4, 4, 1});
  CHECK_THROWS_AS(packed_routes(many.context(), collective::scatter), user_error);
}

}  // namespace
}  // namespace diecast::comm
