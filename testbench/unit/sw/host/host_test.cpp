// SPDX-License-Identifier: Apache-2.0
// The host's side: layout, arguments, refusals, and a collective launched through the host HAL alone.
#include <algorithm>
#include <array>

#include "models/golden/collective_check.hpp"
#include "models/types/error.hpp"
#include "support/test.hpp"
#include "sw/host/collective.hpp"
#include "sw/mock_machine/memory_map.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"

namespace {

using namespace diecast;

test::matrix_row row_of(const std::string& algorithm, machine_shape shape) {
  test::matrix_row row;
  row.algorithm = algorithm;
  row.shape = shape;
  row.count = 100;
  row.type = numeric::dtype::f16;
  return row;
}

TEST_CASE("tensors lie bottom up, aligned, without overlap") {
  const auto row = row_of("ring_full_tile", {1, 1, 1, 3});
  auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  const auto kernel = test::kernel_named(row.algorithm);

  sw::argument_context launch{config, row.shape, members, 100, row.type, row.op, false, {}};
  const sw::tcm_layout apart = lay_out(kernel, launch);
  CHECK(apart.input == 0);
  CHECK(apart.output == 256);   // 200 bytes, rounded up to 64
  CHECK(apart.scratch == 512);  // two tiles of 256 bytes
  CHECK(apart.scratch_bytes == 512);
  CHECK(apart.end == 1024);

  launch.in_place = true;
  CHECK(lay_out(kernel, launch).output == 0);
  CHECK(lay_out(kernel, launch).end == 768);
  config.ipcq.rings = config::buffer_kind::sram;  // a slot of staging on top
  CHECK(lay_out(kernel, launch).end == 768 + 64);
}

TEST_CASE("all-to-all along lines keeps as many arrays of blocks as its dimensions need") {
  struct sample {
    machine_shape shape;
    std::uint64_t count, arrays;
  };
  // Blocks of equal size pass through the output by turns; of one dimension they go straight there. Others
  // are brought to one size first.
  for (const sample& s :
       {sample{{1, 1, 1, 4}, 256, 0}, sample{{1, 1, 1, 4}, 253, 1}, sample{{1, 1, 1, 1}, 7, 0},
        sample{{1, 1, 2, 2}, 256, 1}, sample{{1, 1, 2, 2}, 253, 2}, sample{{2, 2, 2, 2}, 256, 1},
        sample{{2, 2, 2, 2}, 255, 2}}) {
    CAPTURE(s.shape.pes(), s.count);
    auto row = row_of("lines", s.shape);
    const auto config = test::config_of(row);
    const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
    const auto kernels = sw::builtin_kernels();
    const auto lines = std::find_if(kernels.begin(), kernels.end(), [](const sw::kernel_entry& k) {
      return k.collective == "all_to_all" && k.name == "lines";
    });
    REQUIRE(lines != kernels.end());
    const sw::argument_context launch{config, row.shape, members, s.count, row.type, row.op, false, {}};
    CHECK(lines->scratch_bytes(launch) == s.arrays * 512);  // up to 256 elements of 2 bytes
  }
}

TEST_CASE("a launch that cannot be made says every reason at once") {
  const auto row = row_of("intercube", {1, 2, 2, 2});
  const auto config = test::config_of(row);
  comm::group nobody{comm::rank_set::pe, {}};
  const sw::argument_context launch{config, row.shape, nobody, UINT64_MAX / 2, row.type, row.op, true, {}};
  try {
    check_launch(test::kernel_named("intercube"), launch);
    FAIL("accepted");
  } catch (const user_error& e) {
    REQUIRE(e.problems().size() == 3);
    CHECK(e.problems()[0].value == "pe");
    CHECK(e.problems()[0].expected == "cube");
    CHECK(e.problems()[1].where == "group");
    CHECK(e.problems()[2].where == "bytes");
  }
}

TEST_CASE("intercube is told where it stands") {
  auto row = row_of("intercube", {6, 4, 3, 1});
  row.between_sips = config::inter_sip::torus_2d;
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::cube);
  const sw::argument_context launch{config, row.shape, members, 8, row.type, row.op, true, {}};
  // SIP 4 of 3x2, cube 7 of 4x3, root (2, 1).
  const auto a = make_arguments(test::kernel_named("intercube"), launch, 4 * 12 + 7);
  CHECK(a.own.get<std::array<std::uint32_t, 10>>() ==
        std::array<std::uint32_t, 10>{3, 4, 2, 1, 3, 1, 1, 3, 1, 2});
  CHECK(a.ranks == 72);
  CHECK(a.rank == 55);
}

TEST_CASE("what a launch keeps of one collective's routes is not taken for another's") {
  const auto row = row_of("ring_1d", {1, 3, 3, 1});
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::cube);
  const sw::argument_context shared{config, row.shape, members, 90, row.type, row.op, true, {}};
  for (const char* const collective : {"gather", "scatter", "all_gather", "reduce_scatter"}) {
    const sw::argument_context own{config, row.shape, members, 90, row.type, row.op, true, {}};
    const sw::kernel_entry kernel = test::kernel_named("packed_routes", collective);
    INFO(collective);
    for (std::uint32_t rank = 0; rank < members.members.size(); ++rank) {
      CHECK(kernel.image(shared, rank) == kernel.image(own, rank));
    }
  }
}

TEST_CASE("a launch's memo makes each value once, variants apart, and copies share what is there") {
  sw::launch_memo memo;
  int made = 0;
  const auto number = [&](std::uint32_t variant) {
    return memo.get<std::string>([&] { return std::to_string(++made) + " made"; }, variant);
  };
  CHECK(number(0) == "1 made");
  CHECK(number(1) == "2 made");
  CHECK(number(0) == "1 made");
  CHECK(memo.get<int>([] { return 7; }) == 7);
  const std::string& kept = memo.get<std::string>([] { return std::string("another"); });
  const sw::launch_memo copy = memo;
  memo = {};
  CHECK(kept == "1 made");
  CHECK(number(0) == "3 made");
}

TEST_CASE("a collective runs through the hosts' HAL alone, launch after launch") {
  auto row = row_of("ring_1d", {2, 2, 1, 2});
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  const auto kernels = sw::builtin_kernels();
  const sw::argument_context launch{config, row.shape, members, row.count, row.type, row.op, true, {}};
  sw::mock_machine machine{
      config, test::plan_for("ring_1d", config, members, lay_out(kernels[0], launch).end), {}};
  for (std::uint32_t id = 1; id <= 3; ++id) {
    const random::test_data data{id, row.type, row.op, 8, row.count};
    std::vector<std::byte> tensor(row.count * 2);
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      data.fill(rank, tensor);
      sw::write_tcm(machine.host(members.members[rank].sip), members.members[rank], 0, tensor);
    }
    for (std::uint32_t sip = 0; sip < 2; ++sip) {
      machine.host(sip_id{sip}).launch(make_launches(kernels[0], 0, launch, sip_id{sip}, id, {}));
    }
    for (std::uint32_t sip = 0; sip < 2; ++sip) machine.host(sip_id{sip}).wait_for_completions(id, 4);
    std::vector<std::byte> expected(tensor.size());
    data.expected(expected);
    for (const pe_coord pe : members.members) {
      sw::read_tcm(machine.host(pe.sip), pe, 0, tensor);
      CHECK(golden::count_wrong(row.type, tensor, expected) == 0);
    }
  }
  CHECK_THROWS(machine.host(sip_id{0}).debug_write(
      diecast::abi::encode({sip_id{1}, {}, diecast::abi::region::tcm, 0, 0}), std::array<std::byte, 1>{}));
}

TEST_CASE("the mock machine refuses what a machine has not got") {
  const auto row = row_of("ring_1d", {1, 1, 1, 2});
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  const auto attempt = [&](std::function<void(diecast::abi::hal&)> code) {
    sw::mock_machine machine{config, test::plan_for("ring_1d", config, members, 0)};
    return machine.run({{members.members[0], std::move(code)}});
  };
  std::array<std::byte, 8> word{};
  const std::uint64_t end = config.pe.tcm_kib * 1024;
  CHECK_THROWS_WITH(attempt([&](diecast::abi::hal& hal) { hal.load(end - 7, word); }),
                    Catch::Contains("sip0.cube0.pe0"));
  CHECK_THROWS(attempt([&](diecast::abi::hal& hal) { hal.store(UINT64_MAX, word); }));
  CHECK_THROWS_WITH(attempt([](diecast::abi::hal& hal) { hal.write_register(0x1f8, 1); }),
                    Catch::Contains("0x1f8"));
  CHECK_THROWS(attempt([](diecast::abi::hal& hal) { (void)hal.read_register(diecast::abi::dma_doorbell); }));
  CHECK(attempt([&](diecast::abi::hal& hal) { hal.store(end - 8, word); }).finished);
}

TEST_CASE("the mock machine counts decisions, not the time of sleepers, as steps") {
  const auto row = row_of("ring_1d", {1, 1, 1, 2});
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  sw::mock_options options;
  options.max_steps = 100;
  sw::mock_machine machine{config, test::plan_for("ring_1d", config, members, 0), options};
  sim_time woken;
  const sw::mock_outcome outcome = machine.run({{members.members[0], [&](diecast::abi::hal& hal) {
                                                   hal.wait_for_event_until(nanoseconds(5));
                                                   woken = hal.now();
                                                   hal.wait_for_event_until(nanoseconds(10));
                                                 }}});
  CHECK(outcome.finished);
  CHECK(outcome.steps < 10);
  CHECK(woken == nanoseconds(5));
  CHECK(machine.host(sip_id{0}).now() >= nanoseconds(10));
}

TEST_CASE("the host reads every register it can write") {
  const auto row = row_of("ring_1d", {1, 1, 1, 2});
  const auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  sw::mock_machine machine{config, test::plan_for("ring_1d", config, members, 0)};
  const pe_coord pe = members.members[1];
  machine.host(pe.sip).debug_write_register(pe, diecast::abi::core_errata, 5);
  std::uint64_t word = 0;
  machine.host(pe.sip).debug_read(diecast::abi::encode({pe.sip, pe.cube, diecast::abi::region::pe_registers,
                                                        pe.pe.value, diecast::abi::core_errata}),
                                  std::as_writable_bytes(std::span{&word, 1}));
  CHECK(word == 5);
}

TEST_CASE("an errata register gets what all were asked for and what faults say of its PE") {
  const auto row = row_of("ring_1d", {2, 1, 1, 2});
  auto config = test::config_of(row);
  const auto members = comm::map_ranks(row.shape, comm::rank_set::pe);
  auto& stale_lines = config.faults.emplace_back();
  stale_lines.kind = config::fault_kind::stale_cache_line;
  stale_lines.where = "pod.sip0.cube_0_0.pe1";
  diecast::abi::errata_word stale, asked;
  stale.add(diecast::abi::erratum::wait_without_dcci);
  asked.add(diecast::abi::erratum::no_round_barrier);
  for (const diecast::abi::errata_word all : {diecast::abi::errata_word{}, asked}) {
    sw::mock_machine machine{config, test::plan_for("ring_1d", config, members, 0)};
    const auto errata_at = [&](pe_coord pe) {
      std::uint64_t word = 0;
      machine.host(pe.sip).debug_read(
          diecast::abi::encode(
              {pe.sip, pe.cube, diecast::abi::region::pe_registers, pe.pe.value, diecast::abi::core_errata}),
          std::as_writable_bytes(std::span{&word, 1}));
      return word;
    };
    sw::set_errata(machine.host(sip_id{0}), config, members.members, all);
    CHECK(errata_at(members.members[0]) == all.bits);
    CHECK(errata_at(members.members[1]) == (all.bits | stale.bits));
    CHECK(errata_at(members.members[2]) == 0);  // the other host sets the word of this PE
  }
}

TEST_CASE("memory never written reads as the fill pattern") {
  sw::page_memory memory;
  const std::vector<std::byte> written(10, std::byte{1});
  memory.write(4090, written);
  std::vector<std::byte> got(12);
  memory.read(4089, got);
  CHECK(got.front() == sw::page_memory::fill);
  CHECK(std::vector<std::byte>(got.begin() + 1, got.end() - 1) == written);
  CHECK(got.back() == sw::page_memory::fill);
}

}  // namespace
