// SPDX-License-Identifier: Apache-2.0
// Messages on SystemC PEs of one cube: the same programs as on the mock machine, and what they cost.
#include "message_bench.hpp"
#include "support/test.hpp"
#include "unit/hw/pe/pe_bench.hpp"

using namespace diecast;
using namespace diecast::test;
using sw::messaging;
using sw::pe_runtime;

namespace {

namespace abi = diecast::abi;
using code = std::function<void(messaging&, pe_runtime&)>;

/// PEs of one cube with messaging installed.
class sc_message_bench {
 public:
  sc_message_bench(const std::vector<code>& programs, config::machine_config c)
      : bench_(firmware_of(programs, c), c) {
    const auto plan = comm::plan_messages(c, world(programs.size()).members, messaging_base);
    for (std::uint32_t p = 0; p < programs.size(); ++p) {
      for (const auto& w : comm::register_writes(plan, plan.pes[p])) bench_.poke(p, w.reg, w.value);
    }
  }
  void run() {
    bench_.run();
    CHECK(bench_.faults.fault() == nullptr);
    for (const auto& pe : bench_.pes) {
      CHECK(pe->core.state() == events::core_state::done);
      CHECK(pe->tag_match.idle());
      CHECK(pe->dma.idle());
    }
  }
  [[nodiscard]] pe_bench& pes() { return bench_; }
  static sw::communicator world(std::size_t pes) {
    sw::communicator c;
    for (std::uint32_t p = 0; p < pes; ++p) c.members.push_back({sip_id{0}, cube_id{0}, pe_id{p}});
    return c;
  }

 private:
  static std::vector<hw::firmware> firmware_of(const std::vector<code>& programs,
                                               const config::machine_config& c) {
    std::vector<hw::firmware> firmware;
    for (const code& run : programs) {
      firmware.push_back([run, c](diecast::abi::hal& hal, const diecast::abi::launch_block&) {
        pe_runtime runtime{hal, sw::options_from(c, hal.self())};
        messaging& m = sw::messaging_of(runtime);
        run(m, runtime);
        m.finish();
      });
    }
    return firmware;
  }
  pe_bench bench_;
};

config::machine_config cube(std::size_t pes, std::uint64_t entries) {
  config::machine_config c = one_cube(pes);
  c.tag_match = message_machine(pes, entries).tag_match;
  return c;
}

void run_random(std::uint32_t ranks, std::uint64_t entries, std::uint64_t packet_bytes, std::uint64_t seed) {
  config::machine_config c = cube(ranks, entries);
  c.tag_match.ring_messages = 1;
  c.noc.max_packet_bytes = packet_bytes;
  program_shape shape;
  shape.ranks = ranks;
  shape.actions = 60;
  const message_program program = random_messages(seed, shape);
  const sw::communicator world = sc_message_bench::world(ranks);
  std::vector<message_log> logs(ranks);
  std::vector<code> programs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    programs.push_back([&, rank](messaging&, pe_runtime& runtime) {
      message_player{runtime, program, rank, world, 0, logs[rank]}.play();
    });
  }
  sc_message_bench bench{programs, c};
  bench.run();
  CHECK_NOTHROW(check_pairs(program, logs));
}

}  // namespace

TEST_CASE("messaging on SystemC: random programs pair as the abstract matcher does, no entries") {
  run_random(4, 0, 16, 1);
}
TEST_CASE("messaging on SystemC: random programs pair as the abstract matcher does, 1 entry") {
  run_random(4, 1, 16, 2);
}
TEST_CASE("messaging on SystemC: random programs pair as the abstract matcher does, 16 entries") {
  run_random(8, 16, 16, 3);
}
TEST_CASE("messaging on SystemC: random programs pair as the abstract matcher does, whole eager messages") {
  run_random(8, 2, 64, 4);
}

TEST_CASE("messaging on SystemC: an expected message costs no firmware at its match") {
  const sw::communicator world = sc_message_bench::world(4);
  config::machine_config c = cube(4, 1);
  c.tag_match.offload_min_bytes = 64;
  const auto sender = [&world](std::uint32_t to, std::uint64_t bytes) {
    return [&world, to, bytes](messaging& m, pe_runtime& r) {
      (void)m.wait(m.irecv(world, to, 1, {0, 8}));
      r.hal().compute(1000);
      (void)m.wait(m.isend(world, to, 2, {0x100, bytes}));
    };
  };
  /// What the wait costs for a message that has landed long ago, and what was done for its match.
  struct outcome {
    sim_time waited;
    std::uint64_t in_hardware{}, compared{};
  };
  const auto receiver = [&world](std::uint32_t from, std::uint64_t bytes, outcome& o) {
    return [&world, from, bytes, &o](messaging& m, pe_runtime& r) {
      const auto receive = m.irecv(world, from, 2, {0x100, bytes});
      (void)m.wait(m.isend(world, from, 1, {0, 8}));
      r.hal().compute(5000);  // the message lands meanwhile
      const sim_time before = r.hal().now();
      (void)m.wait(receive);
      o = {r.hal().now() - before, m.counts().matching.matched_in_hardware, m.counts().compared};
    };
  };
  // The unit takes receives of 64 bytes and more; those of 56 are firmware's.
  outcome with_unit, without;
  sc_message_bench bench{{sender(1, 64), receiver(0, 64, with_unit), sender(3, 56), receiver(2, 56, without)},
                         c};
  bench.run();
  CHECK(with_unit.in_hardware == 1);
  CHECK(with_unit.compared == 0);
  CHECK(without.in_hardware == 0);
  CHECK(without.compared == 1);
  CHECK(bench.pes().pes[1]->tag_match.counted().matched == 1);
  // A call, an event and the registers of two completions: no copy of the bytes, no search.
  CHECK(with_unit.waited < nanoseconds(250));
  CHECK(with_unit.waited < without.waited);
}

namespace {

/// A message of 200 bytes in four packets, into buffers that end before, at and behind the ends of packets.
void cut_messages(std::uint64_t entries) {
  constexpr std::uint64_t rooms[] = {16, 64, 100, 128, 199}, bytes = 200, memory = 512;
  const sw::communicator world = sc_message_bench::world(2);
  config::machine_config c = cube(2, entries);
  c.noc.max_packet_bytes = 64;
  c.tag_match.eager_bytes = 256;
  const auto sender = [&](messaging& m, pe_runtime& r) {
    std::vector<std::byte> sent(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) sent[i] = message_byte(5, i);
    r.hal().store(0x100, sent);
    for (std::uint32_t tag = 0; tag < std::size(rooms); ++tag) {
      (void)m.wait(m.irecv(world, 1, 100 + tag, {0, 8}));
      (void)m.wait(m.isend(world, 1, tag, {0x100, bytes}));
    }
  };
  const auto receiver = [&](messaging& m, pe_runtime& r) {
    for (std::uint32_t tag = 0; tag < std::size(rooms); ++tag) {
      const std::uint64_t room = rooms[tag];
      CAPTURE(room);
      const std::vector<std::byte> untouched(memory, std::byte{0xee});
      r.hal().store(0x1000, untouched);
      const auto receive = m.irecv(world, 0, tag, {0x1000, room});
      (void)m.wait(m.isend(world, 0, 100 + tag, {0, 8}));
      const auto s = m.wait(receive, messaging::on_truncation::report);
      CHECK(s.truncated);
      CHECK(s.bytes == bytes);
      std::vector<std::byte> got(memory);
      r.hal().load(0x1000, got);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < memory; ++i) {
        wrong += got[i] != (i < room ? message_byte(5, i) : untouched[i]) ? 1 : 0;
      }
      CHECK(wrong == 0);
    }
  };
  sc_message_bench bench{{sender, receiver}, c};
  bench.run();
  CHECK(bench.pes().pes[1]->tag_match.counted().matched == (entries > 0 ? std::size(rooms) : 0));
}

}  // namespace

TEST_CASE("messaging on SystemC: a message in packets is cut by the unit where its buffer ends") {
  cut_messages(16);
}
TEST_CASE("messaging on SystemC: a message in packets is cut by firmware where its buffer ends") {
  cut_messages(0);
}

TEST_CASE("messaging on SystemC: the unit's turn takes its cycles per entry compared") {
  const sw::communicator world = sc_message_bench::world(2);
  const auto run = [&](std::uint64_t entry_cycles) {
    config::machine_config c = cube(2, 16);
    c.tag_match.entry_cycles = entry_cycles;
    sc_message_bench bench{{[&](messaging& m, pe_runtime&) {
                              (void)m.wait(m.irecv(world, 1, 1, {0, 8}));
                              (void)m.wait(m.isend(world, 1, 9, {0x100, 64}));
                            },
                            [&](messaging& m, pe_runtime&) {
                              std::vector<sw::message_request> posted;
                              for (std::uint32_t tag = 0; tag < 10; ++tag) {
                                posted.push_back(m.irecv(world, 0, tag, {0x100, 64}));
                              }
                              (void)m.wait(m.isend(world, 0, 1, {0, 8}));
                              (void)m.wait(posted[9]);
                              for (std::uint32_t tag = 0; tag < 9; ++tag) {
                                m.cancel(posted[tag]);
                                CHECK(m.wait(posted[tag]).cancelled);
                              }
                            }},
                           c};
    bench.run();
    CHECK(bench.pes().pes[1]->tag_match.counted().compared == 10);
    return bench.pes().pes[1]->tag_match.counted().busy;
  };
  const sim_time busy = run(3);
  // 10 APPENDs, 9 REMOVEs and one message that meets 10 entries, with nothing else for the unit to do.
  const config::machine_config c = cube(2, 16);
  CHECK(busy ==
        nanoseconds(static_cast<double>(19 * c.tag_match.command_cycles + c.tag_match.match_cycles + 30)));
}
