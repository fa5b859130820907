// SPDX-License-Identifier: Apache-2.0
// The memory initiator: pacing, latencies, back-pressure, data check, memories in other people's styles.
#include "hw/traffic/memory_traffic.hpp"

#include <memory>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "models/types/error.hpp"
#include "support/faults.hpp"
#include "support/sc_fixture.hpp"
#include "support/test.hpp"
#include "unit/hw/mem/memories.hpp"
#include "unit/hw/mem/protocol_checker.hpp"

using namespace diecast;
using diecast::traffic::memory_request;
using hw::memory_pacing;
using kind = memory_pacing::kind;

namespace {

/// One pseudo-channel of 32 GB/s and 10 ns: a request of 32 B takes 1 ns on the bus.
config::hbm_block simple(std::uint64_t queue = 64) {
  config::hbm_block h;
  h.model = config::hbm_model::simple;
  h.pseudo_channels = 1;
  h.burst_bytes = 32;
  h.port_mib = 1;
  h.simple_gbytes_s = 32.0;
  h.simple_latency_ns = 10.0;
  h.queue = queue;
  return h;
}

std::vector<memory_request> walk(std::size_t n, bool write = false) {
  std::vector<memory_request> list;
  for (std::size_t i = 0; i < n; ++i) list.push_back({i * 32, 32, write, {}});
  return list;
}

struct traffic_bench {
  traffic_bench(std::vector<memory_request> requests, const memory_pacing& pacing, std::uint64_t queue = 64,
                bool check = false)
      : list(std::move(requests)),
        memory("memory", simple(queue), false, faults),
        source(list),
        initiator("initiator", pacing, source, check, faults) {
    initiator.socket.bind(checker.in);
    checker.out.bind(memory.socket);
  }
  void run() {
    test::run_to_starvation();
    CHECK(initiator.finished());
    CHECK(checker.violations() == std::vector<std::string>{});
    CHECK(checker.open() == 0);
  }
  [[nodiscard]] const hw::memory_traffic::results& got() const { return initiator.statistics(); }

  test::watched_faults faults;
  std::vector<memory_request> list;
  test::protocol_checker checker{"checker"};
  hw::hbm_simple memory;
  diecast::traffic::recorded_requests source;
  hw::memory_traffic initiator;
};

}  // namespace

TEST_CASE("memory traffic: an open loop below the rate sees the idle latency") {
  traffic_bench b(walk(1000), {kind::evenly, 2e6, 0});
  b.run();
  CHECK(b.got().reads.count() == 1000);
  CHECK(b.got().reads.mean_ns() == Approx(11.0));
  CHECK(b.got().reads.max() == nanoseconds(11));
  CHECK(b.got().reads_accepted.mean_ns() == Approx(11.0));
  CHECK(b.got().last_response == nanoseconds(999 * 2 + 11));
  CHECK(b.got().bytes == 32'000);
}

TEST_CASE("memory traffic: an open loop above the rate waits without bound, from its arrivals") {
  // Arrivals every 0.5 ns, one served per ns: number k waits k/2 ns. Acceptance is held by 4 places.
  traffic_bench b(walk(1000), {kind::evenly, 0.5e6, 0}, 4);
  b.run();
  CHECK(b.got().last_response >= nanoseconds(1000));
  const double waited = b.got().reads.mean_ns() - b.got().reads_accepted.mean_ns();
  CHECK(b.got().reads.max().ns() == Approx(b.got().last_response.ns() - 999 * 0.5));
  CHECK(waited > 200);
  CHECK(b.got().reads_accepted.max() <= nanoseconds(4 * 11));
}

TEST_CASE("memory traffic: a closed loop keeps its number in flight") {
  // 4 in flight over 11 ns of latency: 4 requests per 11 ns, while the bus could take 11.
  traffic_bench b(walk(4000), {kind::closed, 0, 4});
  b.run();
  CHECK(b.got().last_response.ns() / 4000 == Approx(11.0 / 4).epsilon(0.01));
  CHECK(b.got().reads.max() <= nanoseconds(14));
}

TEST_CASE("memory traffic: a closed loop of one is a chain") {
  traffic_bench b(walk(100), {kind::closed, 0, 1});
  std::vector<sim_time> ends;
  b.initiator.on_finished([&ends] { ends.push_back(hw::now()); });
  b.run();
  CHECK(ends == std::vector{nanoseconds(1100)});
  CHECK(b.got().last_response == nanoseconds(1100));
  CHECK(b.got().reads.max() == nanoseconds(11));
}

TEST_CASE("memory traffic: greedy arrivals fill the bus and wait for nobody else") {
  traffic_bench b(walk(2000), {kind::greedily, 0, 0}, 16);
  b.run();
  CHECK(b.got().last_response.ns() == Approx(2010).epsilon(0.01));
  CHECK(b.got().reads.max() < nanoseconds(40));
}

TEST_CASE("memory traffic: recorded arrivals are kept") {
  auto list = walk(3);
  list[0].arrival = nanoseconds(5);
  list[1].arrival = nanoseconds(5);
  list[2].arrival = nanoseconds(500.25);
  traffic_bench b(list, {kind::recorded, 0, 0});
  b.run();
  CHECK(b.got().last_response == nanoseconds(511.25));
  CHECK(b.got().reads.max() == nanoseconds(12));  // the second waits 1 ns for the bus
}

TEST_CASE("memory traffic: reads and writes are timed apart") {
  auto list = walk(10, true);
  for (const auto& r : walk(30)) list.push_back(r);
  traffic_bench b(list, {kind::evenly, 3e6, 0});
  b.run();
  CHECK(b.got().writes.count() == 10);
  CHECK(b.got().reads.count() == 30);
  CHECK(b.memory.statistics().writes == 10);
}

TEST_CASE("memory traffic: without the check nothing is stored") {
  traffic_bench b(walk(100, true), {kind::greedily, 0, 0});
  b.run();
  CHECK(b.memory.memory().pages() == 0);
  CHECK(b.got().checked_reads == 0);
}

TEST_CASE("memory traffic: the check reads what was written last, of any overlap") {
  std::vector<memory_request> list;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint64_t at = i * 7919 % 500;
    list.push_back({at, static_cast<std::uint32_t>(1 + i * 31 % 90), i % 3 == 0, {}});
  }
  traffic_bench b(list, {kind::closed, 0, 16}, 8, true);
  b.run();
  CHECK(b.got().checked_reads > 2500);
  CHECK(b.got().wrong_reads == 0);
}

namespace {

/// Spoils one bit of each 10th read.
class spoiler : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<spoiler> in{"in"};
  explicit spoiler(sc_core::sc_module_name n) : sc_module(n), bytes_(1 << 20) {
    in.register_b_transport(this, &spoiler::b_transport);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& t, sc_core::sc_time&) {
    bytes_.access(t);
    if (t.is_read() && ++reads_ % 10 == 0) t.get_data_ptr()[3] ^= 1;
  }
  test::plain_bytes bytes_;
  int reads_{};
};

}  // namespace

TEST_CASE("memory traffic: the check finds data that is wrong") {
  test::watched_faults faults;
  auto list = walk(100, true);
  for (const auto& r : walk(100)) list.push_back(r);
  diecast::traffic::recorded_requests source(list);
  spoiler memory("memory");
  hw::memory_traffic initiator("initiator", {kind::closed, 0, 1}, source, true, faults);
  initiator.socket.bind(memory.in);
  test::run_to_starvation();
  CHECK(initiator.finished());
  CHECK(initiator.statistics().checked_reads == 100);
  CHECK(initiator.statistics().wrong_reads == 10);
  CHECK(initiator.statistics().first_wrong.find("byte 3") != std::string::npos);
}

TEST_CASE("memory traffic: a refused request is a fault that names it") {
  traffic_bench b({{(1 << 20) - 16, 32, false, {}}}, {kind::greedily, 0, 0});
  b.faults.expected = true;
  test::run_to_starvation();
  REQUIRE(b.faults.fault());
  CHECK_THROWS_WITH(std::rethrow_exception(b.faults.fault()),
                    Catch::Contains("0xffff0") && Catch::Contains("ADDRESS_ERROR"));
}

TEST_CASE("memory traffic: a blocking memory of somebody else") {
  test::watched_faults faults;
  auto list = walk(50, true);
  for (const auto& r : walk(50)) list.push_back(r);
  diecast::traffic::recorded_requests source(list);
  test::blocking_memory memory("memory", 1 << 20);
  hw::memory_traffic initiator("initiator", {kind::closed, 0, 4}, source, true, faults);
  initiator.socket.bind(memory.socket);
  test::run_to_starvation();
  CHECK(initiator.finished());
  CHECK(initiator.statistics().wrong_reads == 0);
  CHECK(initiator.statistics().checked_reads == 50);
  CHECK(initiator.statistics().reads.max() >= nanoseconds(30));
}

TEST_CASE("memory traffic: a memory that completes within the call") {
  test::watched_faults faults;
  const auto list = walk(50, true);
  diecast::traffic::recorded_requests source(list);
  test::immediate_memory memory("memory", 1 << 20, true);
  hw::memory_traffic initiator("initiator", {kind::closed, 0, 1}, source, true, faults);
  initiator.socket.bind(memory.socket);
  test::run_to_starvation();
  CHECK(initiator.finished());
  CHECK(initiator.statistics().last_response == nanoseconds(500));
}

TEST_CASE("memory traffic: a memory that responds on the return path gets its END_RESP") {
  test::watched_faults faults;
  const auto list = walk(50, true);
  diecast::traffic::recorded_requests source(list);
  test::immediate_memory memory("memory", 1 << 20, false);
  hw::memory_traffic initiator("initiator", {kind::closed, 0, 1}, source, true, faults);
  initiator.socket.bind(memory.socket);
  test::run_to_starvation();
  CHECK(initiator.finished());
  CHECK(memory.end_resps == 50);
  CHECK(initiator.statistics().last_response == nanoseconds(500));
}
