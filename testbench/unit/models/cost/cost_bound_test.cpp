// SPDX-License-Identifier: Apache-2.0
// The lower bound against formulas done by hand: what binds, by how much, and when nothing does.
#include <cmath>
#include <map>
#include <string>

#include "models/cost/cuts.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/cost/message_cost.hpp"
#include "support/machines.hpp"
#include "support/test.hpp"

namespace diecast::cost {
namespace {

using comm::collective;
using comm::rank_set;

constexpr double header = 17.0 / 16;  ///< 1 KiB in flits of 64 B, and the header flit

struct machine {
  explicit machine(const config::machine_config& what) : c(what), t(c) {}
  [[nodiscard]] bound of(collective what, rank_set set, std::uint64_t bytes, std::uint32_t root = 0) const {
    const comm::group g = comm::map_ranks(c.shape(), set);
    return lower_bound(t, c, {what, g, bytes, root});
  }
  /// Time that `bytes` more take: the ends of messages cancel.
  [[nodiscard]] double slope(collective what, rank_set set, std::uint64_t bytes, const char* kind) const {
    double ns[2] = {};
    for (int i = 0; i < 2; ++i) {
      for (const bound_term& term : of(what, set, bytes << i).terms)
        if (term.kind == kind) ns[i] = term.ns;
    }
    return ns[1] - ns[0];
  }
  config::machine_config c;
  fabric::topology t;
};

TEST_CASE("bounds of k x k grids are those of the literature") {
  constexpr std::uint64_t mib = 1 << 20;
  constexpr double n = mib;
  constexpr double b = 8;
  for (const std::uint32_t k : {2, 3, 4}) {
    const machine m(test::grid_of_cubes(k));
    const auto kd = static_cast<double>(k), p = kd * kd;
    // n (k + 1) / (2 k B): 2 (p - 1) messages of n over 4 k (k - 1) links.
    CHECK(m.slope(collective::all_reduce, rank_set::cube, mib, "links") ==
          Approx(header * n * (kd + 1) / (2 * kd * b)));
    // (p - 1) m / (2 B) into a corner, m = n / p.
    CHECK(m.slope(collective::all_gather, rank_set::cube, mib, "cube") ==
          Approx(header * (p - 1) * n / p / (2 * b)));
    CHECK(m.slope(collective::reduce_scatter, rank_set::cube, mib, "cube") ==
          Approx(header * (p - 1) * n / p / (2 * b)));
    CHECK(m.slope(collective::broadcast, rank_set::cube, mib, "cube") == Approx(header * n / (2 * b)));
    // k^3 m / (4 B) over the middle, m = n / p per pair.
    if (k % 2 == 0)
      CHECK(m.slope(collective::all_to_all, rank_set::cube, mib, "bisection") ==
            Approx(header * kd * kd * kd * n / p / (4 * b)));
  }
}

/// Ranks within each cut whose next rank is not.
std::map<std::string, std::uint64_t> leaving(const machine& m, const comm::group& g) {
  std::map<std::string, std::uint64_t> all;
  for (const cut& c : cuts_of(m.t, m.c, g, 0)) all[c.name] = c.leaving;
  return all;
}

TEST_CASE("a vector crosses a cut for every rank whose next one is beyond it") {
  const machine m(test::grid_of_cubes(3));
  comm::group g = comm::map_ranks(m.c.shape(), rank_set::cube);
  // 0 1 2 / 3 4 5 / 6 7 8: every row goes east over both lines between columns, and one rank up.
  auto cuts = leaving(m, g);
  CHECK(cuts.at("pod.sip0.cube_1_1") == 1);
  CHECK(cuts.at("pod.sip0 west of router column 4") == 3);
  CHECK(cuts.at("pod.sip0 west of router column 8") == 3);
  CHECK(cuts.at("pod.sip0 south of router row 4") == 1);
  CHECK(cuts.at("pod.sip0 south of router row 8") == 1);
  // The order of the ranks counts, not their places: column by column it is the other way round.
  for (std::uint32_t i = 0; i < 9; ++i) g.members[i].cube = cube_id{i % 3 * 3 + i / 3};
  cuts = leaving(m, g);
  CHECK(cuts.at("pod.sip0 west of router column 4") == 1);
  CHECK(cuts.at("pod.sip0 south of router row 8") == 3);
}

TEST_CASE("on grids of cubes send_recv takes a vector's time on a link, as many ways as there are rows") {
  constexpr std::uint64_t mib = 1 << 20;
  constexpr double vector_ns = header * mib / 8;
  // Links to the next rank, together: 1 within a row, k to the next one, 2 (k - 1) from the last to the
  // first.
  const std::map<std::uint64_t, double> links{{2, 1 + 2 + 1 + 2}, {3, 6 + 3 + 3 + 4}, {4, 12 + 4 * 3 + 6}};
  for (const std::uint32_t k : {2, 3, 4}) {
    const machine m(test::grid_of_cubes(k));
    const auto slope = [&](const char* kind) {
      return m.slope(collective::send_recv, rank_set::cube, mib, kind);
    };
    CHECK(slope("bisection") == Approx(vector_ns));
    CHECK(slope("cube") == Approx(vector_ns / 2));  // the corner has two sides
    CHECK(slope("links") == Approx(links.at(k) * vector_ns / static_cast<double>(4 * k * (k - 1))));
    CHECK(m.of(collective::send_recv, rank_set::cube, mib).kind == "bisection");
  }
}

TEST_CASE("several ranks of a cube have their next ones within it") {
  config::machine_config c = test::grid_of_cubes(2);
  c.cube.pes = 4;
  const machine m(c);
  const auto cuts = leaving(m, comm::map_ranks(c.shape(), rank_set::pe));
  CHECK(cuts.at("pod.sip0.cube_0_0") == 1);
  CHECK(cuts.at("pod.sip0 west of router column 4") == 2);
  // PE by PE, cube after cube: all of them leave.
  comm::group g{rank_set::pe, {}};
  for (std::uint32_t i = 0; i < 16; ++i) g.members.push_back({sip_id{0}, cube_id{i % 4}, pe_id{i / 4}});
  CHECK(leaving(m, g).at("pod.sip0.cube_0_0") == 4);
  CHECK(leaving(m, g).at("pod.sip0 west of router column 4") == 8);
}

TEST_CASE("send_recv between SIPs crosses cuts between them, and links on the shortest way") {
  config::machine_config c;
  c.pod.sips = 6;
  c.pod.topology = config::pod_topology::mesh_2d;
  c.pod.columns = 3;
  c.sip.columns = c.sip.rows = 1;
  c.sip_link.gbytes_s = 8;
  const machine m(c);
  // 0 1 2 / 3 4 5
  const auto cuts = leaving(m, comm::map_ranks(c.shape(), rank_set::sip));
  CHECK(cuts.at("pod.sip4") == 1);
  CHECK(cuts.at("SIPs 0 to 2") == 1);
  CHECK(cuts.at("columns 0 to 0 of SIPs") == 2);
  CHECK(cuts.at("columns 1 to 2 of SIPs") == 2);
  constexpr std::uint64_t mib = 1 << 20;
  constexpr double vector_ns = header * mib / 8;
  CHECK(m.slope(collective::send_recv, rank_set::sip, mib, "bisection") == Approx(vector_ns));
  // 1 + 1 + 3 + 1 + 1 + 3 links to the next rank, of 14.
  CHECK(m.slope(collective::send_recv, rank_set::sip, mib, "links") == Approx(10.0 / 14 * vector_ns));
}

TEST_CASE(
    "the default SIP is bound by the network interfaces of its PEs, two SIPs by the link between them") {
  config::machine_config c;
  c.pod.sips = 1;
  constexpr std::uint64_t mib = 1 << 20;
  const machine sip(c);
  const bound b = sip.of(collective::all_reduce, rank_set::pe, mib);
  CHECK((b.kind == "injection" || b.kind == "ejection"));
  CHECK(sip.slope(collective::all_reduce, rank_set::pe, mib, "injection") ==
        Approx(header * 2 * 127 / 128 * mib / 64));
  c.pod.sips = 2;
  c.sip_link.gbytes_s = 16;
  const machine pod(c);
  CHECK(pod.slope(collective::all_reduce, rank_set::pe, mib, "sip") == Approx(header * mib / 16));
  // Two SIPs: reduction and result together, 2 n over the two directions, is the same.
  CHECK(pod.slope(collective::all_reduce, rank_set::pe, mib, "links") == Approx(header * mib / 16));
  CHECK(pod.slope(collective::all_to_all, rank_set::pe, mib, "sip") ==
        Approx(header * 128 * 128 / 256.0 * mib / 16));
}

/// Bytes per rank that a kind of bound counts, payload of one byte each.
double counted(const config::machine_config& c, collective what, const char* kind) {
  constexpr std::uint64_t mib = 1 << 20;
  return machine(c).slope(what, rank_set::pe, mib, kind) * 64 / header / mib;
}

TEST_CASE("with routers that copy and sum a rank sends its vector once") {
  config::machine_config c;
  c.pod.sips = 1;
  c.noc.multicast = true;
  constexpr double p = 128;
  const auto out = [&c](collective what) { return counted(c, what, "injection"); };
  const auto in = [&c](collective what) { return counted(c, what, "ejection"); };
  CHECK(out(collective::all_reduce) == Approx(1));
  CHECK(in(collective::all_reduce) == Approx(2 * (p - 1) / p));
  CHECK(out(collective::all_gather) == Approx(1 / p));
  CHECK(in(collective::all_gather) == Approx((p - 1) / p));
  CHECK(out(collective::broadcast) == Approx(1));
  c.noc.reduce = true;
  CHECK(out(collective::all_reduce) == Approx(1));
  CHECK(in(collective::all_reduce) == Approx(1));
  CHECK(out(collective::reduce_scatter) == Approx((p - 1) / p));
  CHECK(in(collective::reduce_scatter) == Approx(1 / p));
  CHECK(in(collective::reduce) == Approx(1));
  // Distinct data gains nothing.
  CHECK(out(collective::all_to_all) == Approx((p - 1) / p));
  CHECK(in(collective::gather) == Approx((p - 1) / p));
  // Neither do cuts: a crossing is a message, however it is made.
  constexpr std::uint64_t mib = 1 << 20;
  config::machine_config off = c;
  off.noc.multicast = off.noc.reduce = false;
  for (const collective what : {collective::all_reduce, collective::broadcast, collective::reduce_scatter}) {
    for (const char* kind : {"cube", "bisection", "links"})
      CHECK(machine(c).slope(what, rank_set::pe, mib, kind) ==
            Approx(machine(off).slope(what, rank_set::pe, mib, kind)));
  }
}

TEST_CASE("with routers that copy and sum no tree of messages is needed, and nobody has to add") {
  config::machine_config c;
  c.pod.sips = 1;
  c.pe.vector_lanes = 1;
  const auto latency = [](const config::machine_config& m, collective what) {
    for (const bound_term& term : machine(m).of(what, rank_set::pe, 64).terms)
      if (term.kind == "latency") return term;
    return bound_term{};
  };
  for (const collective what : {collective::broadcast, collective::reduce, collective::all_reduce}) {
    const config::machine_config& off = c;
    config::machine_config on = c;
    on.noc.multicast = on.noc.reduce = true;
    CHECK_THAT(latency(off, what).detail, Catch::Contains("best tree of messages"));
    CHECK_THAT(latency(on, what).detail, Catch::Contains("one element from"));
    CHECK(latency(on, what).ns < latency(off, what).ns);
    const auto vector_ns = [&](const config::machine_config& m) {
      return machine(m).slope(what, rank_set::pe, 1 << 20, "vector");
    };
    if (what != collective::broadcast) CHECK(vector_ns(off) > 0);
    CHECK(vector_ns(on) == 0);
  }
}

TEST_CASE("slow vector units and memories bind") {
  config::machine_config c;
  c.pod.sips = 1;
  c.pe.vector_lanes = 1;
  constexpr std::uint64_t mib = 1 << 20;
  CHECK(machine(c).of(collective::all_reduce, rank_set::cube, mib).kind == "vector");
  CHECK(machine(c).slope(collective::all_reduce, rank_set::cube, mib, "vector") ==
        Approx(15.0 / 16 * mib / 2));
  c = {};
  c.pe.tcm_banks = 1;
  CHECK(machine(c).of(collective::all_reduce, rank_set::cube, mib).kind == "memory");
  c = {};
  c.ipcq.rings = config::buffer_kind::sram;
  c.sram.gbytes_s = 4;
  CHECK(machine(c).slope(collective::all_reduce, rank_set::cube, mib, "memory") ==
        Approx(4.0 * 31 / 32 * mib / 4));
}

TEST_CASE("tensors in HBM share the network interface with messages, and their ports among themselves") {
  config::machine_config c;
  c.pod.sips = 1;
  c.ccl.tensors = config::tensor_kind::hbm;
  constexpr std::uint64_t mib = 1 << 20;
  constexpr double n = mib;
  const machine m(c);
  // Of every KiB read a request goes out, of every KiB written an answer comes in.
  constexpr double alone = 1.0 / 16;
  const auto slope = [&m](collective what, const char* kind) {
    return m.slope(what, rank_set::cube, mib, kind);
  };
  CHECK(slope(collective::all_reduce, "injection") == Approx((header * 30 / 16 + header + alone) * n / 64));
  CHECK(slope(collective::all_reduce, "ejection") == Approx((header * 30 / 16 + header + alone) * n / 64));
  CHECK(slope(collective::all_gather, "injection") == Approx((header * 15 / 16 * 2 + alone / 16) * n / 64));
  CHECK(slope(collective::reduce_scatter, "ejection") ==
        Approx((header * 15 / 16 + header + alone / 16) * n / 64));
  // Only the root of a broadcast reads; the others write what they receive.
  CHECK(slope(collective::broadcast, "injection") == Approx((header * 30 / 16 + alone / 16) * n / 64));
  CHECK(slope(collective::reduce, "ejection") == Approx((header * 2 + alone) * n / 64));
  CHECK(slope(collective::gather, "injection") == Approx(header * 15 / 16 * n / 64));
  CHECK(slope(collective::send_recv, "injection") == Approx((2 * header + alone) * n / 64));
  // Read and written on two ports of 51.2 GB/s.
  CHECK(slope(collective::all_reduce, "memory") == Approx(2 * n / 102.4));
  // Eight PEs on one port.
  c.hbm.ports = 1;
  const machine crowded(c);
  CHECK(crowded.of(collective::all_reduce, rank_set::pe, mib).kind == "memory");
  CHECK(crowded.slope(collective::all_reduce, rank_set::pe, mib, "memory") == Approx(8 * 2 * n / 51.2));
}

TEST_CASE("an element out of HBM and into it takes longer than one in TCM") {
  config::machine_config c;
  c.pod.sips = 1;
  const double in_tcm = machine(c).of(collective::all_reduce, rank_set::cube, 4).ns;
  c.ccl.tensors = config::tensor_kind::hbm;
  CHECK(machine(c).of(collective::all_reduce, rank_set::cube, 4).ns > in_tcm + 100);
  CHECK(machine(c).of(collective::barrier, rank_set::cube, 0).ns > 0);
}

TEST_CASE("nothing has to happen for one rank or no bytes") {
  config::machine_config c;
  c.pod.sips = 1;
  CHECK(machine(c).of(collective::all_reduce, rank_set::sip, 4096).terms.empty());
  CHECK(machine(c).of(collective::all_reduce, rank_set::pe, 0).ns == 0);
  CHECK(machine(c).of(collective::barrier, rank_set::pe, 0).kind == "latency");
}

TEST_CASE("one element may be the root's own part, or a block that its rank keeps") {
  const machine m(config::machine_config{});
  for (const auto what : {collective::gather, collective::scatter, collective::all_to_all}) {
    CHECK(m.of(what, rank_set::cube, 2).terms.empty());
    CHECK(m.of(what, rank_set::cube, 4).terms.empty());  // one of four bytes
    CHECK(m.of(what, rank_set::cube, 8).ns > 0);
  }
  CHECK(m.of(collective::all_gather, rank_set::cube, 2).ns > 0);
}

TEST_CASE("the best tree of messages") {
  const sim_time hop = nanoseconds(100);
  CHECK(best_tree(1, hop, hop) == sim_time{});
  // One message at a time: every round doubles those who know.
  for (std::uint64_t p = 2; p <= 70; ++p)
    CHECK(best_tree(p, hop, hop) == hop * static_cast<std::uint64_t>(std::ceil(std::log2(p))));
  // LogP with L = 6, o = 2, g = 4 (Karp et al.): eight processors after 24; a hop is L + 2 o less the
  // receiver's o that the next send waits for anyway, so 10 here, a message every 4.
  CHECK(best_tree(8, nanoseconds(10), nanoseconds(4)) == nanoseconds(24));
}

TEST_CASE("the bound of small messages is the latency between ranks") {
  config::machine_config c = test::machine_of({1, 4, 1, 1});
  const machine m(c);
  const comm::group g = comm::map_ranks(c.shape(), rank_set::cube);
  const far_pair far = farthest_pair(m.t, c, g);
  CHECK(far.from.cube.value + far.to.cube.value == 3);
  const bound b = m.of(collective::broadcast, rank_set::cube, 2);
  CHECK(b.kind == "latency");
  CHECK(b.ns < latency_goal_ns(m.t, c, g));
  const endpoint_costs e = endpoint_costs_of(c);
  CHECK(b.ns >= (e.send + e.departure + far.idle + e.arrival).ns());
}

TEST_CASE("the farthest rank is as far as the fastest way over other ranks") {
  config::machine_config c = test::grid_of_cubes(2);
  const comm::group g = comm::map_ranks(c.shape(), rank_set::cube);
  const far_pair even = farthest_from(fabric::topology(c), c, g, g.members[0], false);
  CHECK(even.to.cube.value == 3);
  // Over the slow side the route to cube 3 takes 3 us, round it two messages.
  config::instance_override slow;
  slow.match = "pod.sip0.cube_1_0.ucie_north";
  slow.latency_ns = 3000.0;
  c.overrides.push_back(slow);
  const fabric::topology t(c);
  const far_pair round = farthest_from(t, c, g, g.members[0], false);
  CHECK(message_idle(t, c, g.members[0], g.members[3], message_flits(c, 1)).ns() > 3000);
  CHECK(round.to.cube.value == 3);
  CHECK(round.idle > even.idle);
  CHECK(round.idle < even.idle * 2);
  CHECK(farthest_pair(t, c, g).idle.ns() < 3000);
}

TEST_CASE("what leaves the root last has the way to the farthest rank before it") {
  constexpr std::uint64_t mib = 1 << 20;
  const config::machine_config c;
  for (const collective what : {collective::broadcast, collective::reduce}) {
    const machine m(c);
    const double element_ns = m.of(what, rank_set::cube, 2).ns;
    const bound b = m.of(what, rank_set::cube, mib);
    CHECK(b.kind == (what == collective::broadcast ? "injection" : "ejection"));
    // But for the two flits of the element, which are part of the vector.
    CHECK(b.ns == Approx(element_ns - 2 + header * mib / 64));
    CHECK(b.terms.front().detail.find("the path") != std::string::npos);
    // Over a longer way it takes as much longer.
    config::machine_config far = c;
    far.sip_link.latency_ns += 500;
    CHECK(machine(far).of(what, rank_set::cube, mib).ns == Approx(b.ns + 500));
  }
  // Elsewhere a rank's last bytes may be for its neighbor.
  config::machine_config far = c;
  far.sip_link.latency_ns += 500;
  CHECK(machine(far).of(collective::all_gather, rank_set::cube, mib).ns ==
        machine(c).of(collective::all_gather, rank_set::cube, mib).ns);
}

TEST_CASE("a missing link leaves less to cross") {
  config::machine_config c = test::grid_of_cubes(2);
  const auto out_of = [](const config::machine_config& config, std::uint32_t cube) {
    const fabric::topology t(config);
    const comm::group g = comm::map_ranks(config.shape(), rank_set::cube);
    for (const cut& found : cuts_of(t, config, g, 0)) {
      if (found.kind == cut_kind::cube && found.name == cube_path(config.shape(), {}, cube_id{cube}))
        return found.out_gbytes_s;
    }
    return 0.0;
  };
  CHECK(out_of(c, 0) == Approx(16));
  config::instance_override off;
  off.match = "pod.sip0.cube_0_0.ucie_e*";
  off.enabled = false;
  c.overrides.push_back(off);
  CHECK(out_of(c, 0) == Approx(8));
  CHECK(out_of(c, 3) == Approx(16));
}

}  // namespace
}  // namespace diecast::cost
