// SPDX-License-Identifier: Apache-2.0
// Hangs on the whole machine: each ends as a deadlock at once, and the report names what caused it.
#include <fmt/format.h>
#include <map>
#include <tlm_utils/simple_target_socket.h>

#include "machine_bench.hpp"
#include "support/test.hpp"
#include "sw/collectives/rings/ring.hpp"

// Within the namespace: boost.context brings a global abi.
namespace diecast::test {
using Catch::Contains;
using comm::east;
using comm::west;

namespace {

constexpr const char* path_of_pe0 = "pod.sip0.cube_0_0.pe0";
constexpr const char* path_of_pe1 = "pod.sip0.cube_0_0.pe1";
constexpr const char* path_of_pe2 = "pod.sip0.cube_0_0.pe2";

job ring_job(std::uint64_t pes, std::uint64_t n_slots, firmware code) {
  job j;
  j.config = small_machine(pes);
  j.config.ipcq.n_slots = n_slots;
  j.config.ipcq.slot_bytes = 64;
  j.code = std::move(code);
  return j;
}

/// `sends` messages east before the first receive.
firmware over_send(std::uint32_t sends) {
  return [sends](sw::pe_context& pe) {
    for (std::uint32_t i = 0; i < sends; ++i) pe.send(east, 0, 64);
    for (std::uint32_t i = 0; i < sends; ++i) (void)pe.recv(west, 64);
  };
}

/// Rounds of a lock-step ring; `instead` may do something else in a round's place: true ends the kernel.
firmware ring_rounds(std::uint32_t rounds, std::function<bool(sw::pe_context&, std::uint32_t)> instead) {
  return [rounds, instead](sw::pe_context& pe) {
    for (std::uint32_t r = 0; r < rounds; ++r) {
      pe.step("round", r);
      if (instead(pe, r)) return;
      pe.exchange(east, {0, 64}, west, {64, 64}, sw::pe_context::arrival::copy);
    }
  };
}

/// Takes every access and never answers.
class dead_memory : public sc_core::sc_module {
 public:
  explicit dead_memory(const sc_core::sc_module_name& name) : sc_module(name) {
    socket.register_nb_transport_fw(this, &dead_memory::nb_transport_fw);
  }
  tlm_utils::simple_target_socket<dead_memory> socket{"socket"};

 private:
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) {
    return tlm::TLM_ACCEPTED;
  }
};

netlist::memory_block make_dead(const char* name, const config::machine_config&, hw::fault_sink&) {
  return netlist::memory_block_of(std::make_unique<dead_memory>(name));
}

/// Writes its own word 0 into word 1 of another PE's TCM, by the DMA.
void signal(sw::pe_context& pe, std::uint32_t to) {
  abi::hal& hal = pe.hal();
  const std::uint64_t one = 1;
  hal.store(0, std::as_bytes(std::span{&one, 1}));
  hal.write_register(abi::dma_source,
                     abi::encode({sip_id{0}, cube_id{0}, abi::region::tcm, pe.args().rank, 0}));
  hal.write_register(abi::dma_destination, abi::encode({sip_id{0}, cube_id{0}, abi::region::tcm, to, 8}));
  hal.write_register(abi::dma_doorbell, 8);
}

/// Every PE waits for the one before and signals the one behind it; rank 0 begins, unless all wait first.
firmware relay(bool somebody_begins) {
  return [somebody_begins](sw::pe_context& pe) {
    const std::uint32_t n = pe.args().ranks, me = pe.args().rank;
    const std::uint64_t zero = 0;
    pe.hal().store(8, std::as_bytes(std::span{&zero, 1}));
    pe.hal().compute(2000);  // all words are 0 before anybody signals
    if (somebody_begins && me == 0) signal(pe, 1);
    pe.hal().poll_until({8, abi::compare::eq, 1, {sip_id{0}, cube_id{0}, pe_id{(me + n - 1) % n}}, 50});
    if (me != 0) signal(pe, (me + 1) % n);
  };
}

}  // namespace

TEST_CASE("hang: M sends before the first receive pass with n_slots = M and deadlock with M - 1") {
  for (std::uint32_t m = 2; m <= 16; ++m) {
    CAPTURE(m);
    CHECK(ended(run(ring_job(3, m, over_send(m)))));
    const auto o = run(ring_job(3, m - 1, over_send(m)));
    REQUIRE(hung(o));
    const auto roots = roots_of(o);
    REQUIRE(roots.size() == 1);
    CHECK(roots[0]["kind"] == "cycle");
    CHECK(roots[0]["members"] == std::vector<std::string>{path_of_pe0, path_of_pe1, path_of_pe2});
    for (const auto& w : roots[0]["waits"]) CHECK(w["for"] == "send_space");
    CHECK_THAT(o.message, Contains("no event is left") && Contains("exchange"));
    CHECK_THAT(o.deadlock_json, Contains(fmt::format("my_head {} my_tail 0", m - 1)));
  }
}

TEST_CASE("hang: a crossed wait of two SIPs is a cycle that names both") {
  job j = ring_job(1, 4, [](sw::pe_context& pe) {
    (void)pe.recv(west, 64);
    pe.send(east, 0, 64);
  });
  j.config = small_machine(1, 2);
  const auto o = run(j);
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "cycle");
  CHECK(roots[0]["members"] == std::vector<std::string>{path_of_pe0, "pod.sip1.cube_0_0.pe0"});
  CHECK_THAT(o.message, Contains("receives before it sends"));
}

TEST_CASE("hang: a receiver that never receives is the root of its sender") {
  const auto o = run(ring_job(3, 2, [](sw::pe_context& pe) {
    if (pe.args().rank != 0) return;
    for (int i = 0; i < 3; ++i) pe.send(east, 0, 64);
  }));
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "peer");
  CHECK(roots[0]["members"] == std::vector<std::string>{path_of_pe1});
  CHECK_THAT(o.message, Contains(fmt::format("root: {} has finished its kernel", path_of_pe1)));
}

TEST_CASE("hang: a dead PE is the root, with the step it died in") {
  const auto o = run(ring_job(4, 1, ring_rounds(6, [](sw::pe_context& pe, std::uint32_t r) {
                                if (pe.args().rank == 2 && r == 3) pe.hal().wait_for_event();
                                return false;
                              })));
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "peer");
  CHECK(roots[0]["members"] == std::vector<std::string>{path_of_pe2});
  CHECK_THAT(o.message, Contains("sleeps, but for none of its queue pairs (step round 3)"));
}

TEST_CASE("hang: a lost credit is named with the queue pair that misses it") {
  const auto o = run(ring_job(3, 1, [](sw::pe_context& pe) {
    abi::hal& hal = pe.hal();
    if (pe.args().rank == 1) {
      (void)pe.recv(west, 64);
      (void)pe.recv(west, 64);
    }
    if (pe.args().rank != 0) return;
    pe.send(east, 0, 64);
    // The credit comes and its effect is lost.
    const auto tail = abi::qp_register(east, abi::qp_peer_tail_cache);
    while (hal.read_register(tail) == 0) hal.pause(10);
    hal.write_register(tail, 0);
    pe.send(east, 0, 64);
  }));
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "fault");
  CHECK(roots[0]["waits"][0]["cause"] == "lost_credit");
  CHECK(roots[0]["waits"][0]["waiter"] == path_of_pe0);
  CHECK(roots[0]["waits"][0]["on"] == path_of_pe1);
  CHECK(roots[0]["waits"][0]["missing"] == 1);
}

TEST_CASE("hang: polling firmware that waits forever is found by the watchdog") {
  for (std::uint32_t m : {2u, 5u}) {
    job j = ring_job(3, m - 1, over_send(m));
    j.config.ipcq.wait = config::backpressure::poll;
    j.config.sim.watchdog_us = 20;
    const auto o = run(j);
    REQUIRE(hung(o));
    CHECK(roots_of(o).size() == 1);
    CHECK(roots_of(o)[0]["kind"] == "cycle");
    CHECK_THAT(o.message, Contains("nothing has moved for sim.watchdog_us = 20"));
    j.config.ipcq.n_slots = m;
    CHECK(ended(run(j)));
  }
}

TEST_CASE("hang: a long computation is no hang, however long the others poll") {
  job j = ring_job(3, 1, ring_rounds(3, [](sw::pe_context& pe, std::uint32_t r) {
                     if (pe.args().rank == 1 && r == 1) pe.hal().compute(500'000);  // 25 watchdogs
                     return false;
                   }));
  j.config.ipcq.wait = config::backpressure::poll;
  j.config.sim.watchdog_us = 20;
  CHECK(ended(run(j)));
}

TEST_CASE("hang: a run that reaches its limit while things move is not said to stand still") {
  job j = ring_job(2, 1, ring_rounds(1'000'000, [](sw::pe_context&, std::uint32_t) { return false; }));
  j.config.sim.limit_ms = 1;
  const auto o = run(j);
  CHECK(o.status == platforms::run_status::limit);
  CHECK(platforms::exit_code(o.status) == 3);
  CHECK(roots_of(o).empty());
  CHECK_THAT(o.message, Contains("sim.limit_ms = 1") && !Contains("nothing moves") &&
                            Contains("a higher limit continues the run"));
}

TEST_CASE("hang: sender matching cannot hurt a one-way ring of two, which has one direction each way") {
  job j = ring_job(2, 2, ring_rounds(10, [](sw::pe_context&, std::uint32_t) { return false; }));
  j.pattern = comm::ring_1d_unidir;
  j.config.ipcq.match = config::match_policy::sender;
  CHECK(ended(run(j)));
  j.pattern = comm::ring_1d;  // both ways: E and W lead to one peer
  j.config.sim.check_credits = false;
  j.code = [](sw::pe_context& pe) {
    pe.exchange(east, {0, 64}, west, {64, 64}, sw::pe_context::arrival::copy);
    pe.exchange(west, {0, 64}, east, {64, 64}, sw::pe_context::arrival::copy);
  };
  const auto o = run(j);
  REQUIRE(hung(o));
  CHECK(roots_of(o)[0]["waits"][0]["cause"] == "lost_message");
}

TEST_CASE("hang: unread operands are found by strict memory") {
  job j = ring_job(2, 2, [](sw::pe_context& pe) { pe.copy(4096, 8192, 64); });
  j.scratch_bytes = 16384;
  j.config.sim.check_credits = false;
  CHECK(ended(run(j)));
  j.config.sim.strict_memory = true;
  const auto o = run(j);
  CHECK(o.status == platforms::run_status::fault);
  CHECK_THAT(o.message, Contains("tcm") && Contains("0x2000"));
}

TEST_CASE("hang: a pattern's own direction names are those of the report") {
  job j = ring_job(2, 1, [](sw::pe_context& pe) { (void)pe.recv(comm::first_custom + 1, 0); });
  j.pattern = [](const comm::pattern_context& c) {
    const auto& m = c.members.members;
    return std::vector<comm::edge>{{m[0], comm::first_custom, m[1], true, comm::first_custom + 1},
                                   {m[1], comm::first_custom + 1, m[0], true, comm::first_custom},
                                   {m[1], comm::first_custom, m[0], true, comm::first_custom + 1},
                                   {m[0], comm::first_custom + 1, m[1], true, comm::first_custom}};
  };
  j.directions = {"clockwise", "counter"};
  const auto o = run(j);
  REQUIRE(hung(o));
  CHECK(roots_of(o)[0]["waits"][0]["direction"] == "counter");
  CHECK_THAT(o.message, Contains(fmt::format("{} counter waits for a message", path_of_pe0)) &&
                            Contains(fmt::format("from {} clockwise", path_of_pe1)));
}

TEST_CASE("hang: a message that a dead memory holds is in flight, and said to be where it is") {
  job j = ring_job(2, 2, [](sw::pe_context& pe) {
    if (pe.args().rank == 0) pe.send(east, 0, 64);
    if (pe.args().rank == 1) (void)pe.recv(west);
  });
  j.config.ipcq.rings = config::buffer_kind::hbm;
  j.hbm = make_dead;
  const auto o = run(j);
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "fault");
  CHECK(roots[0]["waits"][0]["cause"] == "in_flight");
  CHECK(roots[0]["waits"][0]["waiter"] == path_of_pe1);
  CHECK(roots[0]["waits"][0]["where"] == fmt::format("being written by the DMA engine of {}", path_of_pe1));
  const auto flights = nlohmann::json::parse(o.deadlock_json)["in_flight"];
  std::map<std::string, std::vector<nlohmann::json>> by_kind;
  for (const auto& f : flights) by_kind[f["kind"]].push_back(f);
  REQUIRE(by_kind["message"].size() == 1);  // its packet and its place in the DMA engine are one message
  CHECK(by_kind["message"][0]["from"] == path_of_pe0);
  CHECK(by_kind["message"][0]["bytes"] == 64);
  CHECK(by_kind["message"][0]["first_packet_under_way"] == true);
  // Its bytes are on their way into the memory.
  REQUIRE(by_kind["write_request"].size() == 1);
  CHECK(by_kind["write_request"][0]["bytes"] == 64);
  CHECK(by_kind["write_response"].size() == 1);  // kept by the memory that does not answer
  CHECK(by_kind.size() == 3);
}

TEST_CASE("hang: a PE whose own copy never ends is the root") {
  job j = ring_job(2, 2, [](sw::pe_context& pe) {
    if (pe.args().rank == 1) pe.fetch({abi::encode({sip_id{0}, cube_id{0}, abi::region::hbm, 0, 0}), 64}, 0);
    pe.exchange(east, {0, 64}, west, {64, 64}, sw::pe_context::arrival::copy);
  });
  j.hbm = make_dead;
  const auto o = run(j);
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["waits"][0]["for"] == "copy");
  CHECK_THAT(o.message,
             Contains(fmt::format("root: {} waits for its own DMA to finish a copy", path_of_pe1)));
}

TEST_CASE("hang: polled words pass signals on, and a cycle of them is named") {
  job j = ring_job(3, 2, relay(true));
  j.config.sim.watchdog_us = 20;
  CHECK(ended(run(j)));
  j.code = relay(false);
  const auto o = run(j);
  REQUIRE(hung(o));
  const auto roots = roots_of(o);
  REQUIRE(roots.size() == 1);
  CHECK(roots[0]["kind"] == "cycle");
  CHECK(roots[0]["members"].size() == 3);
  for (const auto& w : roots[0]["waits"]) CHECK(w["for"] == "memory");
  CHECK_THAT(o.message, Contains(fmt::format("{} polls the word at 0x8 of its TCM until it is == 1, which {}",
                                             path_of_pe0, path_of_pe2)));
}

}  // namespace diecast::test
