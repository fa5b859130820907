// SPDX-License-Identifier: Apache-2.0
// Trees in the network on the real routers and links: cycles per hop and per combination, every packet once
// at every member, sums right, credits combined, nothing left behind.
#include <cstring>
#include <random>

#include "models/fabric/collective_tree.hpp"
#include "models/numeric/convert.hpp"
#include "models/types/error.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "traffic.hpp"

namespace diecast::test {
namespace {

using content = endpoint::content;

constexpr std::uint32_t n_slots = 4, slot_bytes = 4096;

config::machine_config with_trees(config::machine_config c) {
  c.noc.multicast = c.noc.reduce = true;
  return c;
}

/// A fabric with one tree; rings that nothing lies in, for endpoints record what they are sent.
class tree_bench {
 public:
  tree_bench(const config::machine_config& c, std::vector<pe_coord> members, std::size_t root,
             const std::string& name = "pod", build_order order = {})
      : bench(with_trees(c), order, name), members_(std::move(members)), root_(members_.at(root)) {
    rings_.root = root_;
    rings_.n_slots = n_slots;
    rings_.slot_bytes = slot_bytes;
    rings_.arithmetic = {numeric::dtype::i32, numeric::reduction::sum, false};
    rings_.root_ring = ring_of(root_) + 0x8000;
    std::vector<abi::node_address> leaves;
    for (const pe_coord& m : members_) {
      rings_.members.push_back({m, m == root_ ? 0 : ring_of(m), true});
      leaves.push_back(at(m));
    }
    tree_ = fabric::make_tree(bench.topology, at(root_), leaves);
    const machine_shape& s = bench.topology.shape();
    for (std::uint32_t i = 0; i < s.cubes(); ++i) {
      const std::uint32_t sip = i / s.cubes_per_sip();
      bench.noc(sip, i % s.cubes_per_sip()).install({tree_, rings_}, bench.pool(sip));
    }
  }

  fabric_bench bench;

  [[nodiscard]] static abi::address ring_of(pe_coord pe) {
    return abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0x10000});
  }
  [[nodiscard]] abi::node_address at(pe_coord pe) const {
    return bench.topology.locate(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0}));
  }
  [[nodiscard]] endpoint& end(pe_coord pe) { return bench.at(at(pe)); }
  [[nodiscard]] const std::vector<pe_coord>& members() const { return members_; }
  [[nodiscard]] pe_coord root() const { return root_; }

  /// Part of message `sequence` of `from`, one packet.
  [[nodiscard]] content data(abi::tree_use use, pe_coord from, std::uint32_t sequence,
                             const std::vector<std::int32_t>& values) const {
    content c;
    c.header.kind = abi::packet_kind::ipcq_data;
    c.header.target = abi::tree_address(use);
    c.header.destination = bench.topology.locate(c.header.target);
    c.header.payload_bytes = static_cast<std::uint32_t>(values.size() * sizeof(std::int32_t));
    c.header.ipcq = {c.header.target + std::uint64_t{sequence % n_slots} * slot_bytes, sequence,
                     c.header.payload_bytes, from, 0};
    c.data.resize(c.header.payload_bytes);
    std::memcpy(c.data.data(), values.data(), c.data.size());
    return c;
  }
  [[nodiscard]] content credit(abi::tree_use use, pe_coord from, std::uint32_t tail) const {
    content c;
    c.header.kind = abi::packet_kind::ipcq_credit;
    c.header.target = abi::tree_address(use);
    c.header.destination = bench.topology.locate(c.header.target);
    c.header.ipcq = {use == abi::tree_use::multicast ? ring_of(from) : rings_.root_ring, tail, 0, from, 0};
    return c;
  }
  [[nodiscard]] sim_time alone(pe_coord from, pe_coord to, std::uint32_t flits) const {
    return fabric::idle_latency(bench.topology, bench.config, at(from), at(to), abi::traffic_class::comm,
                                flits);
  }
  [[nodiscard]] std::uint64_t routers(pe_coord member) const {
    return fabric::path_of(bench.topology, at(root_), at(member)).routers;
  }
  [[nodiscard]] sim_time cycles(std::uint64_t n) const { return timing::noc_clock(bench.config).cycles(n); }
  [[nodiscard]] const comm::tree_install& rings() const { return rings_; }

 private:
  std::vector<pe_coord> members_;
  pe_coord root_;
  comm::tree_install rings_;
  fabric::collective_tree tree_;
};

/// The same hop, in stages: front, allocation and traversal of the switch, wire.
config::machine_config staged(config::machine_config c) {
  c.noc.hop_cycles = 9;
  c.noc.routing_cycles = c.noc.vc_alloc_cycles = c.noc.switch_alloc_cycles = 1;
  return c;
}

std::vector<pe_coord> all_pes(const config::machine_config& c) {
  std::vector<pe_coord> all;
  for (std::uint32_t i = 0; i < c.shape().pes(); ++i) all.push_back(c.shape().pe_at(i));
  return all;
}

std::vector<std::int32_t> numbers(std::size_t n, std::int32_t first) {
  std::vector<std::int32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

TEST_CASE("tree: a copy takes a packet's time alone and multicast_cycles per router") {
  struct kind {
    const char* name;
    std::uint64_t cycles;
    bool stages;
    tree_bench* b{};  // kept: SystemC
  };
  std::vector<kind> kinds{{"quick", 1, false}, {"slow", 7, false}, {"staged", 7, true}};
  for (kind& k : kinds) {
    config::machine_config c = small_machine(2, 2, 2);
    c.noc.multicast_cycles = k.cycles;
    if (k.stages) c = staged(c);
    k.b = new tree_bench(c, all_pes(c), 5, k.name);
    k.b->end(k.b->root()).plan({}, k.b->data(abi::tree_use::multicast, k.b->root(), 0, numbers(256, 1)));
  }
  run_to_starvation();
  for (const auto& [name, cycles, stages, b] : kinds) {
    INFO(name);
    for (const pe_coord& m : b->members()) {
      if (m == b->root()) continue;
      REQUIRE(b->end(m).received.size() == 1);
      const sim_time took = b->end(m).received[0].at - b->end(b->root()).sent.at(0);
      CHECK(took == b->alone(b->root(), m, 17) + b->cycles(cycles * b->routers(m)));
      CHECK(b->end(m).contents[0].header.ipcq.match_address == tree_bench::ring_of(m));
      CHECK(b->end(m).contents[0].header.destination == b->at(m));
    }
    CHECK(b->end(b->root()).received.empty());
    CHECK(b->bench.unrest() == std::vector<std::string>{});
  }
}

/// Three PEs on a line; all send one packet to the one in the middle.
void sum_on_a_line(std::uint64_t bytes_per_cycle, const std::string& name, std::uint64_t beyond,
                   bool stages = false) {
  config::machine_config c = mesh_machine(3, 1);
  if (stages) c = staged(c);
  c.noc.reduce_cycles = 5;
  c.noc.multicast_cycles = 3;
  c.noc.reduce_bytes_per_cycle = bytes_per_cycle;
  tree_bench* const b = new tree_bench(c, all_pes(c), 1, name);
  for (const pe_coord& m : b->members())
    b->end(m).plan({},
                   b->data(abi::tree_use::reduce, m, 0, numbers(256, static_cast<std::int32_t>(m.pe.value))));
  run_to_starvation();
  REQUIRE(b->end(b->root()).received.size() == 1);
  const auto& got = b->end(b->root()).contents[0];
  CHECK(got.header.ipcq.match_address == b->rings().root_ring);
  std::vector<std::int32_t> sum(256);
  std::memcpy(sum.data(), got.data.data(), got.data.size());
  for (std::int32_t i = 0; i < 256; ++i) CHECK(sum[static_cast<std::size_t>(i)] == 3 * i + 3);
  const sim_time took = b->end(b->root()).received[0].at - b->end(b->members()[0]).sent.at(0);
  // Two units on the way from the end of the line; two additions in the second.
  const sim_time expected = b->alone(b->members()[0], b->root(), 17) + b->cycles(2 * 3 + 2 * 5);
  CHECK(took == expected + b->cycles(beyond));
  CHECK(b->bench.unrest() == std::vector<std::string>{});
}

TEST_CASE("tree: a sum takes reduce_cycles per addition, and its operands their time") {
  sum_on_a_line(256, "fast", 0);
}

TEST_CASE("tree: a sum goes through the stages of a router once") { sum_on_a_line(256, "fast", 0, true); }

TEST_CASE("tree: the arithmetic of a router is as fast as reduce_bytes_per_cycle says") {
  // Two operands of 1,024 bytes at 32 a cycle begin with the head and end after its tail, 16 cycles later.
  sum_on_a_line(32, "slow", 2 * 1024 / 32 - 16);
}

/// Random members of a random machine, everything at once, other traffic in between.
class crowd {
 public:
  crowd(std::uint32_t seed, build_order order = {}) : random_(seed), seed_(seed) {
    config::machine_config c = small_machine(1 + random_() % 3, 1 + random_() % 3, 1 + random_() % 2);
    c.noc.columns = 1 + random_() % 4;
    c.noc.rows = 1 + random_() % 4;
    c.noc.topology = random_() % 3 == 0 ? config::noc_topology::torus : config::noc_topology::mesh;
    c.noc.reduce_bytes_per_cycle = random_() % 2 == 0 ? 16 : 512;
    c.cube.pes = 2 + random_() % 5;
    std::vector<pe_coord> members;
    for (const pe_coord& pe : all_pes(c))
      if (members.size() < 2 || random_() % 4 != 0) members.push_back(pe);
    const std::size_t root = random_() % members.size();
    b = new tree_bench(c, members, root, fmt::format("crowd{}{}", seed, order.reverse ? "r" : ""), order);
    const auto when = [this] { return b->cycles(random_() % 400); };
    for (std::uint32_t k = 0; k < packets; ++k) {
      const auto n = static_cast<std::size_t>(1 + random_() % 256);
      b->end(b->root()).plan(b->cycles(20 * k), b->data(abi::tree_use::multicast, b->root(), k,
                                                        numbers(n, static_cast<std::int32_t>(k))));
      for (const pe_coord& m : members) {
        b->end(m).plan(
            b->cycles(20 * k + random_() % 10),
            b->data(abi::tree_use::reduce, m, k, numbers(n, static_cast<std::int32_t>(m.pe.value))));
        if (m != b->root())
          b->end(m).plan(b->cycles(400 + 20 * k + random_() % 19),
                         b->credit(abi::tree_use::multicast, m, k + 1));
      }
      b->end(b->root()).plan(b->cycles(900 + 20 * k), b->credit(abi::tree_use::reduce, b->root(), k + 1));
    }
    const auto nodes = b->bench.endpoints();
    for (std::uint64_t i = 0; i < 300; ++i) {
      const auto from = nodes[random_() % nodes.size()];
      b->bench.at(from).plan(when(), nodes[random_() % nodes.size()], abi::traffic_class::comm, 17,
                             1'000'000 + i);
    }
  }

  void check() {
    INFO("seed " << seed_);
    for (const pe_coord& m : b->members()) {
      std::uint32_t data = 0, sums = 0, freed = 0, summed = 0;
      for (const content& c : b->end(m).contents) {
        const abi::ipcq_fields& f = c.header.ipcq;
        if (c.header.kind == abi::packet_kind::ipcq_credit) {
          const bool of_sums = f.match_address == abi::tree_address(abi::tree_use::reduce);
          CHECK(f.sequence == ++(of_sums ? summed : freed));
        } else if (m == b->root()) {
          CHECK(f.sequence == sums);
          CHECK(f.match_address == b->rings().root_ring + std::uint64_t{sums % n_slots} * slot_bytes);
          check_sum(c);
          ++sums;
        } else {
          CHECK(f.sequence == data);
          CHECK(f.match_address == tree_bench::ring_of(m) + std::uint64_t{data % n_slots} * slot_bytes);
          ++data;
        }
      }
      const bool root = m == b->root();
      CHECK(data == (root ? 0 : packets));
      CHECK(sums == (root ? packets : 0));
      CHECK(summed == packets);              // a credit per sum comes back to every member
      CHECK(freed == (root ? packets : 0));  // and one per packet that all have freed to the root
    }
    CHECK(b->bench.unrest() == std::vector<std::string>{});
  }
  tree_bench* b{};
  static constexpr std::uint32_t packets = 12;

 private:
  void check_sum(const content& c) const {
    std::int64_t first = 0;
    for (const pe_coord& m : b->members()) first += m.pe.value;
    std::vector<std::int32_t> sum(c.data.size() / sizeof(std::int32_t));
    std::memcpy(sum.data(), c.data.data(), c.data.size());
    for (std::size_t i = 0; i < sum.size(); ++i)
      CHECK(sum[i] == first + static_cast<std::int64_t>(i * b->members().size()));
  }
  std::mt19937 random_;
  std::uint32_t seed_;
};

TEST_CASE("tree: every packet once at every member, in order; sums right; nothing left") {
  std::vector<crowd> crowds;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) crowds.emplace_back(seed);
  run_to_starvation();
  for (crowd& c : crowds) c.check();
}

TEST_CASE("tree: the order of building changes no instant") {
  crowd forward(77), backward(77, {true, 0});
  run_to_starvation();
  const auto deliveries = [](crowd& c) {
    std::vector<delivery> all = c.b->bench.deliveries();
    std::sort(all.begin(), all.end());
    return all;
  };
  forward.check();
  CHECK(deliveries(forward) == deliveries(backward));
}

/// Runs until the model says that its rules are broken: the text of a protocol_error, which ends a run
/// with 4.
std::string fault_of(tree_bench& b) {
  b.bench.faults.expected = true;
  CHECK_NOTHROW(run_to_starvation());
  REQUIRE(b.bench.faults.fault());
  CHECK_THROWS_AS(std::rethrow_exception(b.bench.faults.fault()), protocol_error);
  return text_of(b.bench.faults);
}

TEST_CASE("tree: contributions that differ end the run") {
  config::machine_config c = mesh_machine(2, 1);
  tree_bench b(c, all_pes(c), 0);
  b.end(b.members()[0]).plan({}, b.data(abi::tree_use::reduce, b.members()[0], 0, numbers(8, 0)));
  b.end(b.members()[1]).plan({}, b.data(abi::tree_use::reduce, b.members()[1], 0, numbers(9, 0)));
  CHECK_THAT(fault_of(b), Catch::Contains("contributions of") && Catch::Contains("differ"));
}

TEST_CASE("tree: a packet from nowhere ends the run") {
  // The PE that is left out of the tree sends into it; what comes down from it goes up to the root's router.
  config::machine_config c = mesh_machine(3, 1);
  std::vector<pe_coord> members = all_pes(c);
  const pe_coord stranger = members.back();
  members.pop_back();
  tree_bench b(c, members, 0);
  b.end(stranger).plan({}, b.data(abi::tree_use::reduce, stranger, 0, numbers(8, 0)));
  CHECK_THAT(fault_of(b),
             Catch::Contains("for a tree at router") && Catch::Contains("expected a port of its tree"));
}

TEST_CASE("tree: more contributions than a ring holds end the run") {
  config::machine_config c = mesh_machine(2, 1);
  c.noc.reduce_buffer_kib = 1;
  c.ipcq.n_slots = 1;
  c.ipcq.slot_bytes = 1024;
  tree_bench b(c, all_pes(c), 0);
  for (std::uint32_t k = 0; k < 2; ++k)
    b.end(b.members()[1]).plan({}, b.data(abi::tree_use::reduce, b.members()[1], k, numbers(256, 0)));
  CHECK_THAT(fault_of(b), Catch::Contains("noc.reduce_buffer_kib"));
}

}  // namespace
}  // namespace diecast::test
