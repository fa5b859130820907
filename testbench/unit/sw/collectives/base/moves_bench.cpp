// SPDX-License-Identifier: Apache-2.0
#include "moves_bench.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "collective_bench.hpp"
#include "models/golden/collective_check.hpp"
#include "sw/host/collective.hpp"
#include "sw/host/hbm_tensors.hpp"

namespace diecast::test {
namespace {

config::machine_config row_machine(const move_row& row) {
  matrix_row m;
  m.shape = row.shape;
  m.n_slots = row.n_slots;
  m.slot_bytes = row.slot_bytes;
  m.rings = row.rings;
  m.tensors = row.tensors;
  m.chunk_bytes = row.chunk_bytes;
  m.stripe_bytes = row.stripe_bytes;
  m.accumulate = row.accumulate;
  config::machine_config c = config_of(m);
  c.ipcq.queue_pairs = 64;
  c.overrides = row.overrides;
  c.pe.tcm_kib = row.tcm_kib;
  return c;
}

std::string verify(const move_row& row, sw::mock_machine& machine, const sw::kernel_entry& kernel,
                   const sw::argument_context& launch, const golden::collective_check& check,
                   const std::vector<abi::kernel_arguments>& arguments) {
  for (std::uint32_t rank = 0; rank < arguments.size(); ++rank) {
    abi::host_hal& host = machine.host(launch.members.members[rank].sip);
    const sw::member_launch member{kernel, launch, rank, arguments[rank]};
    std::vector<std::byte> got(check.output_bytes(rank));
    read_tensor(host, member, sw::tensor::output, got);
    const auto wrong = golden::first_wrong(row.type, got, check.output(rank), 1);
    if (!wrong.empty()) {
      return fmt::format("rank {}: {} elements wrong, first {}", rank, check.count_wrong(rank, got),
                         golden::to_string(wrong.front()));
    }
    if (row.in_place) continue;
    std::vector<std::byte> input(check.input_bytes(rank));
    read_tensor(host, member, sw::tensor::input, input);
    if (input != check.input(rank)) return fmt::format("rank {}: the input was overwritten", rank);
  }
  return unrest(machine, config::population(row_machine(row)));
}

std::string run_launch(const move_row& row, sw::mock_machine& machine, const sw::kernel_entry& kernel,
                       const sw::argument_context& launch, std::uint64_t seed) {
  const golden::collective_check check(shape_of(kernel, launch), row.type, row.op, seed);
  if (!check.exact()) return "the test data is not exact: " + check.method();
  std::vector<abi::kernel_arguments> arguments;
  for (std::uint32_t rank = 0; rank < check.shape().ranks; ++rank) {
    arguments.push_back(make_arguments(kernel, launch, rank));
    abi::host_hal& host = machine.host(launch.members.members[rank].sip);
    const sw::member_launch member{kernel, launch, rank, arguments.back()};
    write_tensor(host, member, sw::tensor::output,
                 std::vector<std::byte>(check.output_bytes(rank), std::byte{0xa5}));
    write_tensor(host, member, sw::tensor::input, check.input(rank));
  }
  const sw::mock_outcome outcome = run_with_images(machine, kernel, launch, arguments);
  return outcome.finished ? verify(row, machine, kernel, launch, check, arguments) : outcome.deadlock;
}

}  // namespace

std::string to_string(const move_row& r) {
  return fmt::format(
      "{} {} on {} SIPs x {}x{} cubes x {} PEs, ranks {}, root {}, {} elements of {} {}, {} slots of {} B, "
      "{} "
      "seed {}, {}rings {}, {} launches, tensors {}, chunks of {} B, stripes of {} B, accumulation {}{}",
      r.collective, r.algorithm, r.shape.sips, r.shape.cube_columns, r.shape.cube_rows, r.shape.pes_per_cube,
      comm::to_string(r.ranks), r.root, r.count, numeric::to_string(r.type), numeric::to_string(r.op),
      r.n_slots, r.slot_bytes, sw::to_string(r.order), r.seed, r.in_place ? "in place, " : "",
      static_cast<int>(r.rings), r.launches, static_cast<int>(r.tensors), r.chunk_bytes.value_or(0),
      r.stripe_bytes, static_cast<int>(r.accumulate), to_string(r.overrides));
}

std::string run_move(const move_row& row) try {
  const config::machine_config config = row_machine(row);
  const sw::kernel_entry kernel = kernel_named(row.algorithm, row.collective);
  const comm::group members = comm::map_ranks(config::population(config), row.ranks);
  sw::argument_context launch{config, row.shape, members, row.count, row.type, row.op, row.in_place};
  launch.root = row.root;
  check_launch(kernel, launch);
  if (row.where_they_lie && lay_out_chunks(kernel, launch).buffers > 0) return "goes in chunks";
  sw::mock_machine machine{config, plan_for(kernel, launch), {row.order, row.seed}};
  for (unsigned i = 0; i < row.launches; ++i) {
    const std::string wrong = run_launch(row, machine, kernel, launch, row.seed * 100 + i);
    if (!wrong.empty()) return fmt::format("launch {}: {}", i, wrong);
  }
  return {};
} catch (const std::exception& e) {
  return e.what();
}

}  // namespace diecast::test
