// SPDX-License-Identifier: Apache-2.0
// Every byte arrives once, in order and unmodified, credits are conserved, and at rest all queues are
// empty: over random patterns, slots, sizes, skews, memories and both backpressure modes.
#include "traffic.hpp"

#include <rapidcheck.h>

#include "machine_bench.hpp"
#include "models/protocol/queue_pair.hpp"
#include "support/test.hpp"
#include "sw/mock_machine/mock_machine.hpp"

// Within the namespace: boost.context brings a global abi.
namespace diecast::test {

namespace {

struct traffic_case {
  traffic what;
  config::machine_config config;
};

/// Up to `most_ranks` PEs in `sips` packages; the machine has queue pairs for all of them.
traffic_case any_traffic(std::uint32_t most_ranks, std::uint32_t sips, std::uint32_t most_pairs,
                         std::uint32_t messages) {
  const auto pes = *rc::gen::inRange(2u, most_ranks / sips + 1).as("PEs of a SIP");
  const auto slot_bytes = 64 * *rc::gen::inRange(1u, 33u).as("slot_bytes / 64");
  const auto pairs = *rc::gen::inRange(1u, most_pairs + 1).as("pairs");
  const auto seed = *rc::gen::inRange(0u, 1'000'000u).as("seed");
  traffic_case c{random_traffic(pes * sips, pairs, slot_bytes, messages, seed), small_machine(pes, sips)};
  c.config.ipcq.n_slots = *rc::gen::inRange(1u, 17u).as("n_slots");
  c.config.ipcq.slot_bytes = slot_bytes;
  c.config.ipcq.queue_pairs = c.what.directions();
  c.config.ipcq.wait = *rc::gen::element(config::backpressure::sleep, config::backpressure::poll).as("wait");
  c.config.ipcq.rings =
      *rc::gen::element(config::buffer_kind::tcm, config::buffer_kind::sram, config::buffer_kind::hbm)
           .as("in");
  return c;
}

std::string on_mock(const traffic_case& c, sw::schedule order, std::uint32_t before_the_wrap) {
  const comm::group members = comm::map_ranks(c.config.shape(), comm::rank_set::pe);
  const std::uint64_t reserved = c.what.scratch_bytes() + c.what.slot_bytes;
  const comm::install_plan plan =
      comm::build_install_plan(edges_of(c.what, members.members), comm::options_from(c.config, reserved));
  sw::mock_machine machine(c.config, plan, {order, c.what.seed, {}});
  const std::uint64_t w = protocol::sequence_modulus(plan.n_slots);
  for (const auto& q : plan.queue_pairs) {
    for (const auto field :
         {abi::qp_my_head, abi::qp_my_tail, abi::qp_peer_head_cache, abi::qp_peer_tail_cache}) {
      machine.host(q.owner.sip)
          .debug_write_register(q.owner, abi::qp_register(q.dir, field), (w - before_the_wrap) % w);
    }
  }
  std::vector<sw::mock_program> programs;
  for (std::uint32_t r = 0; r < c.what.ranks; ++r) {
    const pe_coord pe = members.members[r];
    programs.push_back({pe, [&, r, options = machine.firmware_options(pe)](abi::hal& hal) {
                          abi::kernel_arguments a;
                          a.rank = r;
                          a.scratch_bytes = reserved;
                          sw::pe_context context{hal, a, options};
                          traffic_firmware(c.what, context).run();
                          context.finish();
                        }});
  }
  const sw::mock_outcome outcome = machine.run(programs);
  if (!outcome.finished) return outcome.deadlock;
  for (const auto& q : plan.queue_pairs) {
    if (!machine.engine(q.owner).queue_pairs()[q.dir].at_rest()) return machine.engine(q.owner).dump();
  }
  return {};
}

std::string on_machine(const traffic_case& c) {
  job j;
  j.config = c.config;
  j.scratch_bytes = c.what.scratch_bytes();
  j.code = [&c](sw::pe_context& pe) { traffic_firmware(c.what, pe).run(); };
  j.pattern = [&c](const comm::pattern_context& p) { return edges_of(c.what, p.members.members); };
  const platforms::run_outcome o = run(j);
  return ended(o) ? std::string{} : o.message + " ";
}

}  // namespace

TEST_CASE("traffic: every message arrives whole, once and in order under any schedule") {
  CHECK(rc::check("random traffic on the mock machine", [] {
    const traffic_case c = any_traffic(8, *rc::gen::inRange(1u, 3u).as("sips"), 12, 30);
    const auto order =
        *rc::gen::element(sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial);
    RC_ASSERT(on_mock(c, order, *rc::gen::inRange(0u, 20u).as("messages before the wrap")) == "");
  }));
}

TEST_CASE("traffic: every n_slots from 1 to 16 runs through its wrap with data") {
  for (std::uint32_t n = 1; n <= 16; ++n) {
    for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
      traffic_case c{random_traffic(2, 2, 128, 4, n), small_machine(2)};
      for (flow& f : c.what.flows) f.sizes.assign(3 * n + 2, 100);
      c.config.ipcq.n_slots = n;
      c.config.ipcq.slot_bytes = 128;
      CAPTURE(n, sw::to_string(order));
      CHECK(on_mock(c, order, n + 1) == "");
    }
  }
}

TEST_CASE("traffic: every message arrives whole, once and in order on the machine") {
  CHECK(rc::check("random traffic on the SystemC machine", [] {
    const traffic_case c = any_traffic(8, *rc::gen::inRange(1u, 3u).as("sips"), 8, 12);
    RC_ASSERT(on_machine(c) == "");
  }));
}

TEST_CASE("traffic: firmware that reads a wrong byte ends the run") {
  // The check itself can fail: rank 1 expects another content than rank 0 sends.
  traffic sent = random_traffic(2, 1, 64, 1, 1);
  sent.flows.resize(1);
  sent.flows[0] = {0, 1, 0, 0, false, {16}};
  traffic expected = sent;
  expected.flows[0].sizes = {15};
  job j;
  j.config = small_machine(2);
  j.scratch_bytes = sent.scratch_bytes();
  j.code = [&](sw::pe_context& pe) { traffic_firmware(pe.args().rank == 0 ? sent : expected, pe).run(); };
  j.pattern = [&](const comm::pattern_context& p) { return edges_of(sent, p.members.members); };
  const platforms::run_outcome o = run(j);
  CHECK(o.status == platforms::run_status::fault);
  CHECK_THAT(o.message, Catch::Contains("16 bytes, expected 15"));
}

TEST_CASE("traffic: check_credits finds a message nobody received") {
  job j;
  j.config = small_machine(2);
  j.code = [](sw::pe_context& pe) {
    if (pe.args().rank == 0) pe.send(comm::east, 0, 16);
  };
  const platforms::run_outcome o = run(j);
  CHECK(o.status == platforms::run_status::fault);
  CHECK_THAT(o.message, Catch::Contains("pod.sip0.cube_0_0.pe0 E (my_head 1, peer_tail_cache 0)"));
}

}  // namespace diecast::test
