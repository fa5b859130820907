// SPDX-License-Identifier: Apache-2.0
#include "collective_bench.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "models/config/field.hpp"
#include "models/golden/collective_check.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/host/collective.hpp"

namespace diecast::test {
namespace {

using bytes = std::vector<std::byte>;

std::string verify_rank(const matrix_row& row, abi::host_hal& host, const sw::member_launch& m,
                        const bytes& contribution, const bytes& expected, const std::vector<double>& bounds) {
  const pe_coord pe = m.launch.members.members[m.rank];
  bytes got(expected.size());
  read_tensor(host, m, sw::tensor::output, got);
  const auto wrong = golden::first_wrong(row.type, got, expected, 1);
  if (!bounds.empty()) {
    const std::uint64_t beyond = golden::count_beyond(row.type, got, expected, bounds);
    if (beyond != 0) return fmt::format("{}: {} elements beyond their bound", pe_path(row.shape, pe), beyond);
  } else if (!wrong.empty()) {
    return fmt::format("{}: {} of {} elements wrong, first {}", pe_path(row.shape, pe),
                       golden::count_wrong(row.type, got, expected), row.count,
                       golden::to_string(wrong.front()));
  }
  if (row.in_place) return {};
  read_tensor(host, m, sw::tensor::input, got);
  return got == contribution ? std::string{} : pe_path(row.shape, pe) + ": the input was overwritten";
}

std::string run_once(const matrix_row& row, sw::mock_machine& machine, const sw::kernel_entry& kernel,
                     const sw::argument_context& launch, std::uint64_t data_seed) {
  const auto& members = launch.members.members;
  const auto ranks = static_cast<std::uint32_t>(members.size());
  const random::test_data data{data_seed, row.type, row.op, ranks, row.count, row.data, kernel.sums};
  if (data.exact() == row.rounded) return "the test data is not as the row says: " + data.method();
  const std::size_t size = row.count * numeric::size_of(row.type);

  std::vector<abi::kernel_arguments> arguments;
  std::vector<bytes> contributions;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    arguments.push_back(make_arguments(kernel, launch, rank));
    contributions.emplace_back(size);
    data.fill(rank, contributions.back());
    write_tensor(machine.host(members[rank].sip), {kernel, launch, rank, arguments[rank]}, sw::tensor::input,
                 contributions.back());
  }
  const sw::mock_outcome outcome = run_with_images(machine, kernel, launch, arguments);
  if (!outcome.finished) return outcome.deadlock;

  bytes expected(size);
  data.expected(expected);
  std::vector<double> bounds(row.rounded ? row.count : 0);
  if (row.rounded) data.error_bounds(bounds);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::string wrong =
        verify_rank(row, machine.host(members[rank].sip), {kernel, launch, rank, arguments[rank]},
                    contributions[rank], expected, bounds);
    if (!wrong.empty()) return fmt::format("rank {} {}", rank, wrong);
  }
  return unrest(machine, config::population(launch.config));
}

}  // namespace

std::string to_string(const matrix_row& r) {
  return fmt::format(
      "{} on {} SIPs x {}x{} cubes x {} PEs, ranks {}, {} elements of {} {}, {} slots of {} B, {} seed {}, "
      "{}{}{} rings {}, root {}, SIPs {}, chunks {}, {}, {} launches, tensors {}, chunks of {} B, stripes of "
      "{} B{}",
      r.algorithm, r.shape.sips, r.shape.cube_columns, r.shape.cube_rows, r.shape.pes_per_cube,
      comm::to_string(r.ranks), r.count, numeric::to_string(r.type), numeric::to_string(r.op), r.n_slots,
      r.slot_bytes, sw::to_string(r.order), r.seed, r.in_place ? "in place, " : "", r.poll ? "polling, " : "",
      random::to_string(r.data), static_cast<int>(r.rings),
      r.root == config::root_place::center ? "center" : "corner",
      to_text(get_value(config_of(r), "ccl.inter_sip")), to_text(get_value(config_of(r), "ccl.chunks")),
      to_text(get_value(config_of(r), "ccl.accumulation")), r.launches,
      to_text(get_value(config_of(r), "ccl.tensor_kind")),
      to_text(get_value(config_of(r), "ccl.tensor_chunk_bytes")), r.stripe_bytes, to_string(r.overrides));
}

config::machine_config config_of(const matrix_row& row) {
  config::machine_config c;
  c.pod.sips = row.shape.sips;
  c.sip.columns = row.shape.cube_columns;
  c.sip.rows = row.shape.cube_rows;
  c.cube.pes = row.shape.pes_per_cube;
  c.ipcq.n_slots = row.n_slots;
  c.ipcq.queue_pairs = 64;
  c.ccl.chunks = row.chunks;
  c.ccl.accumulate = row.accumulate;
  c.ipcq.slot_bytes = row.slot_bytes;
  c.ipcq.rings = row.rings;
  c.ipcq.wait = row.poll ? config::backpressure::poll : config::backpressure::sleep;
  c.ccl.root = row.root;
  c.ccl.between_sips = row.between_sips;
  c.overrides = row.overrides;
  c.ccl.tensors = row.tensors;
  c.ccl.tensor_chunk_bytes = row.chunk_bytes;
  c.ccl.tensor_stripe_bytes = row.stripe_bytes;
  c.noc.multicast = c.noc.reduce = true;
  return c;
}

sw::kernel_entry kernel_named(const std::string& name, const std::string& collective) {
  for (const sw::kernel_entry& k : sw::builtin_kernels()) {
    if (k.name == name && k.collective == collective) return k;
  }
  throw std::invalid_argument("no kernel " + collective + " " + name);
}

comm::install_plan plan_for(const std::string& pattern, const config::machine_config& config,
                            const comm::group& members, std::uint64_t reserved_bytes, std::uint32_t root) {
  for (const comm::pattern_entry& p : sw::builtin_patterns()) {
    if (p.name != pattern) continue;
    return build_install_plan(p.build({config, config.shape(), members, root}),
                              comm::options_from(config, reserved_bytes));
  }
  throw std::invalid_argument("no pattern " + pattern);
}

comm::install_plan plan_for(const sw::kernel_entry& kernel, const sw::argument_context& launch) {
  comm::install_plan plan =
      plan_for(kernel.pattern, launch.config, launch.members, lay_out(kernel, launch).end, launch.root);
  if (plan.tree) plan.tree->arithmetic = tree_arithmetic_of(kernel, launch);
  return plan;
}

sw::mock_outcome run_with_images(sw::mock_machine& machine, const sw::kernel_entry& kernel,
                                 const sw::argument_context& launch,
                                 std::span<const abi::kernel_arguments> arguments) {
  for (std::uint32_t sip = 0; sip < launch.shape.sips; ++sip) {
    sw::load_images(machine.host(sip_id{sip}), kernel, launch, arguments);
  }
  return machine.run(kernel, launch.members, arguments);
}

std::string to_string(const std::vector<config::instance_override>& overrides) {
  std::vector<std::string> names;
  for (const auto& o : overrides) names.push_back(o.match);
  return names.empty() ? "" : fmt::format(", overrides of {}", fmt::join(names, " "));
}

std::string unrest(const sw::mock_machine& machine, const config::population& there) {
  for (const pe_coord pe : there.pes()) {
    const protocol::ipcq_core& engine = machine.engine(pe);
    for (const protocol::queue_pair_state& q : engine.queue_pairs()) {
      const bool idle = q.my_head == q.peer_tail_cache && q.my_tail == q.peer_head_cache &&
                        q.sends == q.sources_read && q.armed == 0;
      if (!idle) return pe_path(there.shape(), pe) + " is not at rest\n" + engine.dump();
    }
    // An armed tag-matching unit may tell of a completion that firmware has popped without being told.
    const bool told_late = std::ranges::all_of(
        engine.events(), [](const auto& event) { return event.kind == abi::event_kind::tag_match; });
    if (!told_late) return pe_path(there.shape(), pe) + " has an event nobody looked at";
  }
  return {};
}

std::string run_row(const matrix_row& row) try {
  const config::machine_config config = config_of(row);
  const sw::kernel_entry kernel = kernel_named(row.algorithm);
  const comm::group members = comm::map_ranks(config::population(config), row.ranks);
  const sw::argument_context launch{config,   row.shape, members,      row.count,
                                    row.type, row.op,    row.in_place, {}};
  check_launch(kernel, launch);
  sw::mock_machine machine{config, plan_for(kernel, launch), {row.order, row.seed}};
  for (unsigned i = 0; i < row.launches; ++i) {
    std::string wrong = run_once(row, machine, kernel, launch, row.seed * 100 + i);
    if (!wrong.empty()) return fmt::format("launch {}: {}", i, wrong);
  }
  return {};
} catch (const std::exception& e) {
  return e.what();
}

}  // namespace diecast::test
