// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <random>

#include <rapidcheck.h>

#include "models/comm/install_plan.hpp"
#include "models/comm/patterns.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

using namespace diecast;
using namespace diecast::comm;
using Catch::Contains;

namespace {

pe_coord pe(std::uint32_t p) { return {sip_id{0}, cube_id{0}, pe_id{p}}; }
plan_options options(std::uint32_t n_slots = 2) { return test::ring_options(n_slots, 256); }

const queue_pair_install& find(const install_plan& plan, pe_coord owner, direction d) {
  for (const auto& q : plan.queue_pairs)
    if (q.owner == owner && q.dir == d) return q;
  throw std::logic_error("no such queue pair in the plan");
}

/// Direction at the peer whose ring this direction writes.
direction pairs_with(const install_plan& plan, pe_coord owner, direction d) {
  const auto& q = find(plan, owner, d);
  for (const auto& r : plan.queue_pairs) {
    if (r.rx && r.rx_base == q.peer_rx_base) {
      CHECK(r.owner == q.peer);
      return r.dir;
    }
  }
  throw std::logic_error("writes no ring");
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const user_error& e) {
    return e.what();
  }
  return "nothing was refused";
}
std::string build_refusal(const std::vector<edge>& edges, const plan_options& o) {
  return refusal([&] { (void)build_install_plan(edges, o); });
}

}  // namespace

TEST_CASE("install: D1 the opposite direction is preferred in a ring of two") {
  const auto plan = build_install_plan(test::ring_edges(2), options());
  for (std::uint32_t i = 0; i < 2; ++i) {
    CHECK(pairs_with(plan, pe(i), east) == west);
    CHECK(pairs_with(plan, pe(i), west) == east);
  }
}

TEST_CASE("install: D1 all compass directions to one peer pair with their opposites") {
  std::vector<edge> edges;
  for (direction d = north; d <= global_west; ++d) {
    edges.push_back({pe(0), d, pe(1)});
    edges.push_back({pe(1), static_cast<direction>(global_west - d), pe(0)});
  }
  const auto plan = build_install_plan(edges, options());
  for (direction d = north; d <= global_west; ++d) CHECK(pairs_with(plan, pe(0), d) == opposite(d));
}

TEST_CASE("install: D1 directions without an opposite pair with any that leads back") {
  const auto plan = build_install_plan({{pe(0), child_left, pe(1)},
                                        {pe(0), child_right, pe(2)},
                                        {pe(1), parent, pe(0)},
                                        {pe(2), parent, pe(0)}},
                                       options());
  CHECK(pairs_with(plan, pe(1), parent) == child_left);
  CHECK(pairs_with(plan, pe(2), parent) == child_right);
  CHECK(pairs_with(plan, pe(0), child_left) == parent);
}

TEST_CASE("install: two leftover edges never share one edge back") {
  // The opposite of E is W; what is left, N and parent, must not pair with W again.
  const auto plan = build_install_plan(
      {{pe(0), east, pe(1)}, {pe(0), north, pe(1)}, {pe(1), west, pe(0)}, {pe(1), parent, pe(0)}}, options());
  CHECK(pairs_with(plan, pe(0), east) == west);
  CHECK(pairs_with(plan, pe(0), north) == parent);
  CHECK(pairs_with(plan, pe(1), parent) == north);
}

TEST_CASE("install: a custom pattern may name the direction at the peer") {
  edge forth{pe(0), 11, pe(1)};
  forth.reverse = 14;
  const auto plan =
      build_install_plan({forth, {pe(0), 12, pe(1)}, {pe(1), 14, pe(0)}, {pe(1), 12, pe(0)}}, options());
  CHECK(pairs_with(plan, pe(0), 11) == 14);
  CHECK(pairs_with(plan, pe(1), 14) == 11);
  CHECK(pairs_with(plan, pe(0), 12) == 12);
}

TEST_CASE("install: a one-way edge makes a transmit half and a receive half") {
  const auto plan =
      build_install_plan({{pe(0), east, pe(1), false}, {pe(0), 12, pe(2), false, 13}}, options());
  REQUIRE(plan.queue_pairs.size() == 4);
  const auto& source = find(plan, pe(0), east);
  const auto& target = find(plan, pe(1), west);
  CHECK((source.tx && !source.rx && target.rx && !target.tx));
  CHECK(source.peer_rx_base == target.rx_base);
  CHECK(source.rx_base == 0);
  CHECK(target.peer_rx_base == 0);
  CHECK(target.peer == pe(0));
  CHECK(diecast::abi::decode(target.peer_ipcq)->unit == 0);  // its credits go to the source
  CHECK(find(plan, pe(2), 13).rx);
}

TEST_CASE("install: rings lie top-down in the memory that buffer_kind names") {
  plan_options o = options();
  o.sram_bytes = 1 << 20;
  o.hbm_port_bytes = 1 << 22;
  o.hbm_ports = 16;
  o.pes_per_cube = 8;
  const auto edges = test::ring_edges(3);
  const auto where = [&](std::uint32_t p, direction d) {
    return *diecast::abi::decode(find(build_install_plan(edges, o), pe(p), d).rx_base);
  };
  CHECK(where(1, east) ==
        diecast::abi::location{sip_id{0}, cube_id{0}, diecast::abi::region::tcm, 1, o.tcm_bytes - 512});
  CHECK(where(1, west) ==
        diecast::abi::location{sip_id{0}, cube_id{0}, diecast::abi::region::tcm, 1, o.tcm_bytes - 1024});
  o.rings = config::buffer_kind::sram;
  CHECK(where(0, east) ==
        diecast::abi::location{sip_id{0}, cube_id{0}, diecast::abi::region::sram, 0, o.sram_bytes - 512});
  CHECK(where(2, west) ==
        diecast::abi::location{sip_id{0}, cube_id{0}, diecast::abi::region::sram, 0, o.sram_bytes - 6 * 512});
  o.rings = config::buffer_kind::hbm;
  CHECK(where(2, east) ==
        diecast::abi::location{sip_id{0}, cube_id{0}, diecast::abi::region::hbm, 4, o.hbm_port_bytes - 512});
}

TEST_CASE("install: every problem of a pattern is named at once") {
  plan_options o = options();
  o.slot_bytes = 100;
  o.queue_pairs = 12;
  const std::string text = build_refusal(
      {{pe(0), east, pe(0)}, {pe(1), north, pe(2)}, {pe(3), 20, pe(4), false}, {pe(5), 14, pe(4), false}}, o);
  CHECK_THAT(text, Contains("from a PE to itself") && Contains("sip0.cube0.pe0 E"));
  CHECK_THAT(text, Contains("sip0.cube0.pe1 N -> sip0.cube0.pe2") && Contains("declared bidirectional"));
  CHECK_THAT(text, Contains("ipcq.queue_pairs") && Contains("value 12; expected at least 21"));
  CHECK_THAT(text, Contains("ipcq.slot_bytes") && Contains("multiple of 64"));
}

TEST_CASE("install: a missing reciprocal is an error only for a declared bidirectional edge") {
  CHECK_THAT(build_refusal({{pe(0), east, pe(1)}}, options()), Contains("declared bidirectional"));
  CHECK_THAT(build_refusal({{pe(0), east, pe(1)}, {pe(1), west, pe(0), false}}, options()),
             Contains("declared bidirectional"));
  CHECK_NOTHROW(build_install_plan({{pe(0), east, pe(1), false}}, options()));
  // Two edges there, one back: one of them is left over.
  CHECK_THAT(build_refusal({{pe(0), east, pe(1)}, {pe(0), north, pe(1)}, {pe(1), west, pe(0)}}, options()),
             Contains("pe0 N -> "));
  edge wrong{pe(0), east, pe(1)};
  wrong.reverse = north;
  CHECK_THAT(build_refusal({wrong, {pe(1), west, pe(0)}}, options()),
             Contains("expected N of sip0.cube0.pe1"));
}

TEST_CASE("install: a direction holds one edge per half and one peer") {
  CHECK_THAT(build_refusal({{pe(0), east, pe(1), false}, {pe(0), east, pe(2), false}}, options()),
             Contains("two edges start in one direction") && Contains("sip0.cube0.pe0 E"));
  CHECK_THAT(build_refusal({{pe(0), east, pe(2), false}, {pe(1), east, pe(2), false}}, options()),
             Contains("two edges end in one direction") && Contains("sip0.cube0.pe2 W"));
  CHECK_THAT(build_refusal({{pe(0), east, pe(1), false, east}, {pe(1), east, pe(2), false, east}}, options()),
             Contains("sends to one PE and receives from another") && Contains("sip0.cube0.pe1 E"));
}

TEST_CASE("install: rings that do not fit give the sum, the capacity and what would fit") {
  plan_options o = options(4);
  o.slot_bytes = 8192;
  o.tcm_bytes = 64 * 1024;
  o.tcm_reserved_bytes = 16 * 1024;
  const std::string text = build_refusal(test::ring_edges(4), o);  // 2 rings of 32 KiB
  CHECK_THAT(text, Contains("2 rings of 4 x 8192 B = 65536 B in 49152 B"));
  CHECK_THAT(text, Contains("ipcq.n_slots at most 3") && Contains("ipcq.slot_bytes at most 6144") &&
                       Contains("pe.tcm_kib at least 80") &&
                       Contains("at most 1 ring here (ipcq.queue_pairs)"));
  CHECK_THAT(text, Contains("the fullest of 4 memories"));
  o.n_slots = 3;
  CHECK_NOTHROW(build_install_plan(test::ring_edges(4), o));
  o.n_slots = 4;
  o.slot_bytes = 6144;
  CHECK_NOTHROW(build_install_plan(test::ring_edges(4), o));
  o.slot_bytes = 8192;
  o.tcm_bytes = 80 * 1024;
  CHECK_NOTHROW(build_install_plan(test::ring_edges(4), o));
  o.tcm_reserved_bytes = 81 * 1024;  // nothing left at all
  CHECK_THAT(build_refusal(test::ring_edges(4), o),
             Contains("in 0 B") && Contains("pe.tcm_kib at least 145"));
  o.rings = config::buffer_kind::sram;
  o.sram_bytes = 1024;
  CHECK_THAT(build_refusal(test::ring_edges(2), o), Contains("sram.kib at least 128"));
}

TEST_CASE("install: an all-to-all of 64 ranks wants 126 rings a rank, one way each") {
  std::vector<edge> edges;
  for (std::uint32_t a = 0; a < 64; ++a) {
    for (std::uint32_t b = 0; b < 64; ++b)
      if (a != b) edges.push_back({pe(a), static_cast<direction>(11 + b), pe(b), true});
  }
  plan_options o = options(1);
  o.queue_pairs = 80;
  const auto plan = build_install_plan(edges, o);
  CHECK(plan.queue_pairs.size() == 64 * 63);
  CHECK_NOTHROW(prove_install_plan(plan));
}

TEST_CASE("install: D6 I3 and I3.1 are proven of any plan") {
  const install_plan good = build_install_plan(test::ring_edges(2), options());
  REQUIRE_NOTHROW(prove_install_plan(good));
  install_plan bad = good;
  const auto entry = [&](std::uint32_t p, direction d) -> queue_pair_install& {
    return const_cast<queue_pair_install&>(find(bad, pe(p), d));
  };
  const auto refused = [&] { return refusal([&] { prove_install_plan(bad); }); };
  SECTION("overlapping rings name both owners") {
    entry(1, east).rx_base = entry(0, west).rx_base + 256;
    CHECK_THAT(refused(), Contains("sip0.cube0.pe0 W and sip0.cube0.pe1 E: receive rings overlap"));
  }
  SECTION("a long ring reaches over the next one into the one after it") {
    entry(0, east).n_slots = 8;
    entry(0, west).n_slots = entry(1, east).n_slots = 1;
    entry(0, west).rx_base = entry(0, east).rx_base + 256;
    entry(1, east).rx_base = entry(0, east).rx_base + 512;
    CHECK_THAT(refused(), Contains("sip0.cube0.pe0 E and sip0.cube0.pe0 W: receive rings overlap") &&
                              Contains("sip0.cube0.pe0 E and sip0.cube0.pe1 E: receive rings overlap"));
  }
  SECTION("rings of unequal shape") {
    entry(1, west).n_slots = 3;
    entry(1, east).slot_bytes = 128;
    CHECK_THAT(refused(), Contains("sip0.cube0.pe0 E: writes a ring of another shape") &&
                              Contains("2 x 256 bytes, and sip0.cube0.pe1 W has 3 x 256") &&
                              Contains("sip0.cube0.pe1 E has 2 x 128"));
  }
  SECTION("two directions of one PE swapped") {
    std::swap(entry(0, east).peer_rx_base, entry(0, west).peer_rx_base);
    CHECK_THAT(refused(), Contains("queue pair whose credits go elsewhere") && Contains("sip0.cube0.pe0 E"));
  }
  SECTION("two writers of one ring: the seed's first bug") {
    entry(0, east).peer_rx_base = entry(0, west).peer_rx_base;
    CHECK_THAT(refused(), Contains("sip0.cube0.pe0 E and sip0.cube0.pe0 W: write the same slots") &&
                              Contains("without a writer"));
  }
  SECTION("a write into nothing") {
    entry(0, east).peer_rx_base += 64;
    CHECK_THAT(refused(), Contains("where no receive ring starts"));
  }
  SECTION("a ring of one's own") {
    entry(0, east).peer_rx_base = entry(0, east).rx_base;
    CHECK_THAT(refused(), Contains("not paired with it"));
  }
  SECTION("a wrong mailbox") {
    entry(0, east).peer_ipcq = entry(1, east).peer_ipcq;
    CHECK_THAT(refused(), Contains("name different mailboxes for one PE") &&
                              Contains("name one mailbox for different PEs"));
  }
  SECTION("a queue pair planned twice") {
    bad.queue_pairs.push_back(bad.queue_pairs.front());
    CHECK_THAT(refused(), Contains("planned twice"));
  }
}

TEST_CASE("install: a random pattern of pairs is planned, proven and carries messages both ways") {
  CHECK(rc::check("random bidirectional patterns", [] {
    const auto pes = *rc::gen::inRange(2u, 8u);
    std::mt19937 draw(*rc::gen::arbitrary<std::uint32_t>());
    std::vector<edge> edges;
    std::vector<std::vector<direction>> free(pes);
    for (auto& f : free) {
      for (direction d = 0; d < 16; ++d) f.push_back(d);
      std::shuffle(f.begin(), f.end(), draw);
    }
    for (int i = 0; i < 12; ++i) {
      const auto a = static_cast<std::uint32_t>(draw() % pes);
      const auto b = static_cast<std::uint32_t>(draw() % pes);
      if (a == b || free[a].empty() || free[b].empty()) continue;
      edges.push_back({pe(a), free[a].back(), pe(b)});
      edges.push_back({pe(b), free[b].back(), pe(a)});
      free[a].pop_back();
      free[b].pop_back();
    }
    std::shuffle(edges.begin(), edges.end(), draw);
    const auto plan = build_install_plan(edges, options(1));
    RC_ASSERT(plan.queue_pairs.size() == edges.size());
    std::shuffle(edges.begin(), edges.end(), draw);
    RC_ASSERT(to_text(build_install_plan(edges, options(1))) == to_text(plan));  // order of edges never shows
    test::engines m(plan, 16);
    for (const auto& q : plan.queue_pairs)
      m.write(m.index_of(q.owner), diecast::abi::qp_register(q.dir, diecast::abi::qp_tx_doorbell), 1);
    m.deliver_all();
    for (const auto& q : plan.queue_pairs) RC_ASSERT(m.qp(m.index_of(q.owner), q.dir).available() == 1u);
  }));
}

TEST_CASE("install: 8,192 PEs with 8 directions are planned and proven") {
  const machine_shape shape{16, 8, 8, 8};
  std::vector<edge> edges;
  for (direction d = 0; d < 8; ++d) {
    const std::uint32_t stride = 1 + d / 2 * 64;
    for (std::uint32_t i = 0; i < shape.pes(); ++i) {
      const bool forth = d % 2 == 0;
      const direction dir = forth ? d : opposite(static_cast<direction>(d - 1));
      const std::uint32_t to = (i + (forth ? stride : shape.pes() - stride)) % shape.pes();
      edges.push_back({shape.pe_at(i), dir, shape.pe_at(to)});
    }
  }
  plan_options o = options(4);
  const std::clock_t start = std::clock();  // CPU time of this process alone
  const auto plan = build_install_plan(edges, o);
  const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(plan.queue_pairs.size() == 65'536);
  WARN("65,536 queue pairs planned and proven in " << took_s << " s");
  // The target is 1 s in a release build; a quadratic proof would take minutes.
  CHECK(took_s < 10.0);
}

TEST_CASE("install: the dump shows every queue pair with its addresses") {
  const auto plan = build_install_plan({{pe(0), east, pe(1), false}}, options());
  const std::string text = to_text(plan);
  CHECK_THAT(text, Contains("2 queue pairs, 2 slots of 256 bytes"));
  CHECK_THAT(text, Contains("sip0.cube0.pe0           E") && Contains("sip0.cube0.pe1           W"));
  CHECK_THAT(text, Contains(fmt::format("{:#018x}", find(plan, pe(1), west).rx_base)));
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
}

TEST_CASE("install: options come from the config") {
  config::machine_config c;
  const plan_options o = options_from(c, 1000);
  CHECK(o.tcm_bytes == c.pe.tcm_kib * 1024);
  CHECK(o.tcm_reserved_bytes == 1000);
  CHECK(o.sram_bytes == c.sram.kib * 1024);
  CHECK(o.hbm_port_bytes == c.hbm.port_mib << 20);
  CHECK(o.n_slots == c.ipcq.n_slots);
  CHECK(o.queue_pairs == c.ipcq.queue_pairs);
}

TEST_CASE("install: a PE has no more message slots than the tag-matching unit can number") {
  config::machine_config c;
  c.tag_match.ring_messages = 256;
  const machine_shape shape = c.shape();
  std::vector<pe_coord> pes;
  for (std::uint32_t i = 0; i < 255; ++i) pes.push_back(shape.pe_at(i));
  CHECK(plan_messages(c, pes, 0).slots() == 65'280);
  pes.push_back(shape.pe_at(255));
  CHECK_THROWS_WITH(plan_messages(c, pes, 0), Catch::Contains("tag_match.ring_messages") &&
                                                  Catch::Contains("256 for each of 256 PEs") &&
                                                  Catch::Contains("at most 255 for each"));
}
