// SPDX-License-Identifier: Apache-2.0
// Tensors in HBM: every kernel of every collective on chunks, with data, over chunk and stripe sizes that do
// not divide anything, counts down to nothing, in place and not, and all accumulation modes; what the host
// refuses; where tensors lie.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "models/types/error.hpp"
#include "support/part.hpp"
#include "support/test.hpp"
#include "sw/host/collective.hpp"
#include "sw/host/hbm_tensors.hpp"
#include "sw/runtime/pe_context.hpp"
#include "sw/runtime/tensor_stager.hpp"
#include "unit/sw/collectives/base/collective_bench.hpp"
#include "unit/sw/collectives/base/moves_bench.hpp"

namespace {

using namespace diecast;
using test::move_row;
using test::turns::orders, test::turns::types, test::turns::ops;

constexpr std::array modes{config::accumulation::elem, config::accumulation::f32_acc,
                           config::accumulation::f32_wire};
constexpr std::array<std::uint64_t, 3> stripes{64, 100, 4096};

/// Values turn with the row number, so that each meets many others.
move_row row_at(const sw::kernel_entry& kernel, const machine_shape& shape, unsigned number) {
  move_row row{kernel.collective, kernel.name, shape, kernel.rank_sets.front()};
  const auto ranks = static_cast<std::uint32_t>(comm::map_ranks(shape, row.ranks).members.size());
  row.tensors = config::tensor_kind::hbm;
  row.root = number / 2 % ranks;
  row.type = types[number % types.size()];
  row.op = ops[number % ops.size()];
  row.n_slots = 1 + number % 3;
  row.order = orders[number % orders.size()];
  row.seed = number + 1;
  row.in_place = number / 3 % 2 == 0;
  row.launches = number % 11 == 10 ? 3 : 1;
  row.stripe_bytes = stripes[number % stripes.size()];
  if (number % 7 == 6) row.rings = config::buffer_kind::hbm;
  const bool wide = kernel.collective == "all_reduce" && !kernel.element_sums;
  if (wide) row.accumulate = modes[number / 4 % modes.size()];
  return row;
}

unsigned run_kernel(const sw::kernel_entry& kernel) {
  unsigned number = 0;
  for (const machine_shape shape :
       {machine_shape{1, 1, 1, 1}, {1, 2, 1, 1}, {1, 3, 1, 1}, {1, 2, 2, 1}, {2, 3, 1, 1}, {3, 1, 1, 2}}) {
    const std::uint64_t ranks = comm::map_ranks(shape, kernel.rank_sets.front()).members.size();
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{37}, 61 * ranks + 5}) {
      // From an element a time to everything at once; auto.
      for (const config::auto_count chunk :
           {config::auto_count{1}, {std::uint64_t{28} * ranks}, {std::uint64_t{96} * ranks}, {1 << 20}, {}}) {
        move_row row = row_at(kernel, shape, number);
        if (++number % test::in_part(test::few_rows, 1U) != 0) continue;
        row.count = chunk && *chunk == 1 && count > 37 ? 37 : count;
        row.chunk_bytes = chunk;
        const std::string wrong = test::run_move(row);
        INFO(to_string(row));
        CHECK(wrong == "");
      }
    }
  }
  return number;
}

void run_collective(const std::string& collective) {
  unsigned kernels = 0;
  for (const sw::kernel_entry& kernel : sw::builtin_kernels()) {
    if (kernel.collective != collective) continue;
    ++kernels;
    CHECK(run_kernel(kernel) == 120);
  }
  CHECK(kernels > 1);
}

TEST_CASE("all_reduce is right on tensors in HBM", "[both]") { run_collective("all_reduce"); }
TEST_CASE("reduce_scatter is right on tensors in HBM", "[both]") { run_collective("reduce_scatter"); }
TEST_CASE("all_gather is right on tensors in HBM", "[both]") { run_collective("all_gather"); }
TEST_CASE("broadcast is right on tensors in HBM", "[both]") { run_collective("broadcast"); }
TEST_CASE("reduce is right on tensors in HBM", "[both]") { run_collective("reduce"); }
TEST_CASE("all_to_all is right on tensors in HBM", "[both]") { run_collective("all_to_all"); }
TEST_CASE("gather is right on tensors in HBM", "[both]") { run_collective("gather"); }
TEST_CASE("scatter is right on tensors in HBM", "[both]") { run_collective("scatter"); }
TEST_CASE("send_recv is right on tensors in HBM", "[both]") { run_collective("send_recv"); }

/// A launch on one SIP of four cubes.
struct launch_bench {
  explicit launch_bench(std::uint64_t elements, const std::string& collective = "all_reduce",
                        const std::string& algorithm = "ring_1d")
      : kernel(test::kernel_named(algorithm, collective)) {
    config.pod.sips = 1;
    config.sip.columns = config.sip.rows = 2;
    config.ccl.tensors = config::tensor_kind::hbm;
    members = comm::map_ranks(config.shape(), comm::rank_set::cube);
    count = elements;
  }
  [[nodiscard]] sw::argument_context launch() const {
    return {config, config.shape(), members, count, numeric::dtype::f16, numeric::reduction::sum};
  }

  config::machine_config config;
  sw::kernel_entry kernel;
  comm::group members;
  std::uint64_t count;
};

TEST_CASE("tensors lie in stripes on the ports of their PE, above the words of barriers") {
  launch_bench b(1 << 20);
  b.members.members = {{sip_id{0}, cube_id{1}, pe_id{3}}};
  b.config.ccl.tensor_stripe_bytes = 4096;
  sw::argument_context launch = b.launch();
  launch.in_place = false;
  const sw::hbm_tensors t = tensors_of(b.kernel, launch, 0);
  // 16 ports, 8 PEs: ports 6 and 7.
  const auto first = diecast::abi::decode(t.input.first);
  REQUIRE(first);
  CHECK(first->kind == diecast::abi::region::hbm);
  CHECK(first->cube == cube_id{1});
  CHECK(first->unit == 6);
  CHECK(t.input.ports == 2);
  CHECK(t.input.address_of(4095) == t.input.first + 4095);
  CHECK(diecast::abi::decode(t.input.address_of(4096))->unit == 7);
  CHECK(diecast::abi::decode(t.input.address_of(4096))->offset == first->offset);
  CHECK(t.input.address_of(8192 + 5) == t.input.first + 4096 + 5);
  // 2 MiB of input are 1 MiB on each port; the output begins behind.
  CHECK(t.output.first == t.input.first + (1 << 20));
  launch.in_place = true;
  CHECK(tensors_of(b.kernel, launch, 0).output.first == t.input.first);
}

TEST_CASE("PEs that share a port have a slice of it each") {
  launch_bench b(1024);
  b.config.hbm.ports = 3;
  b.members = comm::map_ranks(b.config.shape(), comm::rank_set::pe);
  std::set<diecast::abi::address> begins;
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const comm::hbm_tensor t = tensors_of(b.kernel, b.launch(), rank).input;
    CHECK(t.ports == 1);
    CHECK(diecast::abi::decode(t.first)->unit == rank * 3 / 8);
    for (const diecast::abi::address other : begins)
      CHECK((other > t.first ? other - t.first : t.first - other) >= 2048);
    begins.insert(t.first);
  }
  CHECK(begins.size() == 8);
}

TEST_CASE("three chunks fit below the rings, of an even size") {
  const launch_bench b(8 << 20);
  sw::argument_context launch = b.launch();
  const std::uint64_t lowest_ring = 700'000;
  launch.tcm_room = lowest_ring;
  const sw::chunk_layout l = lay_out_chunks(b.kernel, launch);
  CHECK(l.buffers == 3);
  CHECK(l.end <= lowest_ring);
  CHECK(l.piece * 2 % b.config.ccl.tensor_stripe_bytes == 0);
  CHECK(l.end + 3 * b.config.ccl.tensor_stripe_bytes > lowest_ring);  // as large as they can be
  launch.tcm_room.reset();
  CHECK(lay_out_chunks(b.kernel, launch).piece > l.piece);
  launch.tcm_room = 0;  // no room is not the whole TCM
  CHECK(lay_out_chunks(b.kernel, launch).piece == 1);
}

/// The default SIP, 4 MiB: of the 29 KiB of a block for which there is room, stripes would leave 16.
TEST_CASE("pieces are whole packets where whole stripes would be much shorter") {
  launch_bench b(2 << 20, "all_gather", "two_level");
  b.config.sip.columns = b.config.sip.rows = 4;
  b.members = comm::map_ranks(b.config.shape(), comm::rank_set::cube);
  const std::uint64_t bytes = lay_out_chunks(b.kernel, b.launch()).piece * 2;
  CHECK(bytes % b.config.noc.max_packet_bytes == 0);
  CHECK(bytes % b.config.ccl.tensor_stripe_bytes != 0);
  CHECK(bytes > 24'576);
}

TEST_CASE("a piece that is little more than a slot is one slot") {
  launch_bench b(2 << 20, "all_to_all", "pairwise");
  b.config.sip.columns = b.config.sip.rows = 4;
  b.members = comm::map_ranks(b.config.shape(), comm::rank_set::cube);
  const auto piece_bytes = [&b] {
    sw::argument_context launch = b.launch();
    launch.tcm_room = 1'000'000;  // for 10 KiB of each block
    return lay_out_chunks(b.kernel, launch).piece * 2;
  };
  CHECK(piece_bytes() == 8192);
  b.config.ipcq.slot_bytes = 7680;  // a quarter of 10 KiB
  CHECK(piece_bytes() == 7680);
  b.config.ipcq.slot_bytes = 7616;
  CHECK(piece_bytes() == 10'240);
  b.config.ipcq.slot_bytes = 1536;
  b.count = std::uint64_t{16} * 1800 / 2;  // all fits one chunk
  CHECK(piece_bytes() == 1800);
}

/// Two chunks need two buffers, three need three: cut to whole stripes, a piece of half the tensor may be a
/// little shorter, and what is left a chunk of its own.
TEST_CASE("a tensor of which two chunks fit is cut into two") {
  launch_bench b(10'970);
  b.config.ccl.tensor_stripe_bytes = 4096;
  sw::argument_context launch = b.launch();
  launch.tcm_room = 24'096;
  CHECK_NOTHROW(check_launch(b.kernel, launch));
  const sw::chunk_layout l = lay_out_chunks(b.kernel, launch);
  CHECK(l.end <= launch.tcm_room);
  CHECK(l.buffers == 2);
  CHECK(l.piece * 2 == 11'264);  // bytes; half the tensor, up to a packet
}

/// One slot less rest may be a third chunk, and a third buffer.
TEST_CASE("a piece is not cut to a slot where that does not fit") {
  for (std::uint64_t count = 20'000; count < 100'000; count += 397) {
    launch_bench b(count, "all_to_all", "pairwise");
    b.config.sip.columns = b.config.sip.rows = 4;
    b.config.ipcq.slot_bytes = 4096;
    b.members = comm::map_ranks(b.config.shape(), comm::rank_set::cube);
    sw::argument_context launch = b.launch();
    for (std::uint64_t room = 200'000; room < 450'000; room += 10'000) {
      launch.tcm_room = room;
      CAPTURE(count, room);
      CHECK(lay_out_chunks(b.kernel, launch).end <= room);
    }
  }
}

TEST_CASE("chunks of every length of a tensor fit where one element does") {
  for (std::uint64_t count = 1000; count < 120'000; count += 997) {
    launch_bench b(count);
    b.config.ccl.tensor_stripe_bytes = count % 2 == 0 ? 4096 : 100;
    sw::argument_context launch = b.launch();
    launch.tcm_room = 20'000 + count % 7 * 4096;
    INFO(count << " elements, room for " << *launch.tcm_room << " bytes");
    CHECK(lay_out_chunks(b.kernel, launch).end <= *launch.tcm_room);
  }
}

/// Slots are of 64 B; the caller says how many.
move_row steps_between_hbm(const machine_shape& shape, unsigned number) {
  move_row row = row_at(test::kernel_named("mesh_steps", "all_to_all"), shape, number);
  row.stripe_bytes = std::array{64U, 128U, 256U}[number % 3];
  row.where_they_lie = true;
  return row;
}

TEST_CASE("all_to_all in steps takes blocks out of HBM and into it without chunks") {
  unsigned number = 0;
  for (const machine_shape shape : {machine_shape{1, 2, 1, 1}, {1, 3, 1, 1}, {1, 2, 2, 1}, {1, 4, 2, 1}}) {
    const auto ranks = static_cast<std::uint64_t>(shape.cubes_per_sip());
    for (const std::uint64_t block : {4U, 32U, 64U, 128U, 192U, 704U}) {
      move_row row = steps_between_hbm(shape, number++);
      row.count = ranks * block / numeric::size_of(row.type);
      row.n_slots = std::max<std::uint64_t>(1, (block + 127) / 128);  // two rings hold the block
      INFO(to_string(row));
      CHECK(test::run_move(row) == "");
    }
  }
}

TEST_CASE("all_to_all in steps takes blocks of many rings out of HBM") {
  move_row row = steps_between_hbm({1, 2, 2, 1}, 0);
  row.slot_bytes = 16'384;
  row.stripe_bytes = 32'768;
  row.n_slots = 2;
  row.count = std::uint64_t{4} * 7 * 16'384 / numeric::size_of(row.type);
  CHECK(test::run_move(row) == "");
}

TEST_CASE("blocks whose slots would lie in two stripes go in chunks") {
  launch_bench b(0, "all_to_all", "mesh_steps");  // four ranks, slots of 8 KiB, stripes of 16 KiB
  const auto in_chunks = [&b](std::uint64_t block_bytes) {
    b.count = 4 * block_bytes / 2;
    return lay_out_chunks(b.kernel, b.launch()).buffers > 0;
  };
  for (const std::uint64_t whole : {2U, 1024U, 8192U, 16'384U, 24'576U, 1U << 20})
    CHECK_FALSE(in_chunks(whole));
  for (const std::uint64_t cut : {6U, 6144U, 8194U, 12'288U, (1U << 20) + 1024}) CHECK(in_chunks(cut));
  b.count = 4 * 8192 / 2 + 1;  // blocks of two sizes
  CHECK(lay_out_chunks(b.kernel, b.launch()).buffers > 0);
  CHECK_FALSE(in_chunks(8192));
  b.config.ccl.tensor_chunk_bytes = 65'536;  // as asked
  CHECK(in_chunks(8192));
  b.config.ccl.tensor_chunk_bytes.reset();
  b.config.ccl.tensor_stripe_bytes = 12'288;
  CHECK(in_chunks(16'384));
  b.config.ipcq.slot_bytes = 4096;
  CHECK_FALSE(in_chunks(16'384));
  for (const char* other : {"pairwise", "two_level"}) {
    b.kernel = test::kernel_named(other, "all_to_all");
    CHECK(in_chunks(16'384));
  }
}

TEST_CASE("blocks go in chunks where receive rings are too short for the way out of HBM and into it") {
  launch_bench b(0, "all_to_all", "mesh_steps");  // four ranks
  const auto in_chunks = [&b](std::uint64_t n_slots, std::uint64_t block_kib) {
    b.config.ipcq.n_slots = n_slots;
    b.count = b.members.members.size() * block_kib * 1024 / 2;
    return lay_out_chunks(b.kernel, b.launch()).buffers > 0;
  };
  CHECK_FALSE(in_chunks(4, 1024));
  CHECK_FALSE(in_chunks(2, 32));  // twice the ring
  CHECK(in_chunks(2, 48));
  b.config.sip.rows = 1;
  b.members = comm::map_ranks(b.config.shape(), comm::rank_set::cube);  // two ranks
  CHECK(in_chunks(8, 256));
  CHECK_FALSE(in_chunks(8, 128));
  CHECK_FALSE(in_chunks(12, 256));
}

TEST_CASE("a kernel on HBM needs room for its plan and scratch alone") {
  launch_bench b(32'768, "all_to_all", "mesh_steps");
  sw::argument_context launch = b.launch();
  const std::uint64_t end = lay_out_chunks(b.kernel, launch).end;
  launch.tcm_room = end;
  CHECK_NOTHROW(check_launch(b.kernel, launch));
  launch.tcm_room = end - 1;
  CHECK_THROWS_WITH(check_launch(b.kernel, launch),
                    Catch::Contains("pe.tcm_kib: what mesh_steps needs in TCM does not fit"));
}

/// Whether a PE that has begun a chunk goes on with steps of the one before, whose number is not 0.
bool begins_early(launch_bench& b) {
  b.config.ipcq.queue_pairs = 64;
  b.config.ipcq.n_slots = 1;
  b.config.ipcq.slot_bytes = 64;
  b.config.ccl.tensor_chunk_bytes = 8192;
  const sw::argument_context launch = b.launch();
  bool early = false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> last;  // by SIP and cube
  sw::mock_options options;
  options.on_step = [&](pe_coord pe, const diecast::abi::step_marker& step) {
    std::string& before = last[{pe.sip.value, pe.cube.value}];
    early |= before == "chunk" && step.name != "chunk" && step.index > 0;
    before = step.name;
  };
  sw::mock_machine machine{b.config, test::plan_for(b.kernel, launch), options};
  std::vector<diecast::abi::kernel_arguments> arguments;
  for (std::uint32_t rank = 0; rank < b.members.members.size(); ++rank)
    arguments.push_back(make_arguments(b.kernel, launch, rank));
  CHECK(test::run_with_images(machine, b.kernel, launch, arguments).deadlock == "");
  return early;
}

TEST_CASE("a chunk begins while the one before ends") {
  for (const auto& [collective, algorithm] : {std::pair{"all_gather", "two_level"},
                                              {"all_gather", "ring_1d"},
                                              {"reduce_scatter", "two_level"},
                                              {"broadcast", "packed_trees"}}) {
    INFO(collective << ' ' << algorithm);
    launch_bench b(64'000, collective, algorithm);
    CHECK(begins_early(b));
  }
  launch_bench over_sips(64'000, "all_reduce", "two_level");
  over_sips.config.pod.sips = 2;
  over_sips.members = comm::map_ranks(over_sips.config.shape(), comm::rank_set::cube);
  CHECK(begins_early(over_sips));
}

TEST_CASE("a chunk waits for the end of the one before where the kernel needs that") {
  launch_bench exchanging(64'000, "all_reduce", "ring_full_tile");
  CHECK(!begins_early(exchanging));
  launch_bench within_sip(64'000, "all_reduce", "two_level");
  CHECK(!begins_early(within_sip));
  launch_bench wide(64'000, "all_reduce", "two_level");
  wide.config.pod.sips = 2;
  wide.members = comm::map_ranks(wide.config.shape(), comm::rank_set::cube);
  wide.config.ccl.accumulate = config::accumulation::f32_acc;
  CHECK(!begins_early(wide));
  launch_bench staging(64'000, "all_gather", "two_level");  // slots pass through the scratch
  staging.config.ipcq.rings = config::buffer_kind::hbm;
  CHECK(!begins_early(staging));
}

/// Receives that nobody waits for.
void forgets_a_receive(sw::pe_context& pe) { (void)pe.recv_async(comm::east, 0); }

TEST_CASE("a kernel on a chunk ends with nothing open, as any does") {
  launch_bench b(64);
  b.config.ipcq.queue_pairs = 64;
  b.kernel.run = forgets_a_receive;
  const sw::argument_context launch = b.launch();
  sw::mock_machine machine{b.config, test::plan_for(b.kernel, launch)};
  std::vector<diecast::abi::kernel_arguments> arguments;
  for (std::uint32_t rank = 0; rank < b.members.members.size(); ++rank)
    arguments.push_back(make_arguments(b.kernel, launch, rank));
  CHECK_THROWS_WITH(test::run_with_images(machine, b.kernel, launch, arguments),
                    Catch::Contains("the kernel ends with 1 recv_async of queue pair"));
}

TEST_CASE("a chunk that was asked for gets the buffers that fit") {
  launch_bench b(8 << 20);
  const std::uint64_t kib = 1024;
  for (const auto& [chunk, buffers] : {std::pair{400 * kib, 3u}, {700 * kib, 2u}, {1000 * kib, 1u}}) {
    b.config.ccl.tensor_chunk_bytes = chunk;
    CHECK(lay_out_chunks(b.kernel, b.launch()).buffers == buffers);
    CHECK(lay_out_chunks(b.kernel, b.launch()).piece == chunk / 2);
    CHECK_NOTHROW(check_launch(b.kernel, b.launch()));
  }
}

TEST_CASE("chunks with fewer buffers than overlapping needs work") {
  for (const std::uint64_t tcm_kib : {8u, 5u, 4u}) {
    move_row row{"all_reduce", "ring_1d", {1, 3, 1, 1}};
    row.tensors = config::tensor_kind::hbm;
    row.chunk_bytes = 2048;
    row.count = 2000;
    row.tcm_kib = tcm_kib;
    CHECK(test::run_move(row) == "");
  }
}

/// Copies of stripes round the ports; `from` counts them.
std::vector<sw::staged_copy> striped_copies(std::uint64_t count, std::uint64_t ports) {
  std::vector<sw::staged_copy> copies;
  for (std::uint64_t i = 0; i < count; ++i) copies.push_back({i, 0, 64, i % ports});
  return copies;
}

TEST_CASE("what goes out and what comes in use different ports") {
  for (const std::uint64_t ports : {2u, 3u, 4u}) {
    auto out = striped_copies(4 * ports, ports), in = striped_copies(4 * ports, ports);
    sw::keep_ports_apart(out, in, ports);
    std::set<diecast::abi::address> seen;
    for (std::size_t i = 0; i < out.size(); ++i) {
      CHECK(out[i].port != in[i].port);
      seen.insert(in[i].from);
      if (i == 0) continue;
      if (in[i].port == in[i - 1].port) CHECK(in[i].from == in[i - 1].from + ports);  // row after row
    }
    CHECK(seen.size() == in.size());
  }
}

TEST_CASE("what goes one way alone uses all ports at once") {
  auto in = striped_copies(8, 2);
  std::vector<sw::staged_copy> none;
  sw::keep_ports_apart(none, in, 2);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(in[i].from == i);
  sw::keep_ports_apart(in, none, 2);
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(in[i].from == i);
}

TEST_CASE("what cannot be in HBM is refused, and says why") {
  launch_bench b(1 << 20);
  b.config.ccl.tensor_chunk_bytes = 2 << 20;
  CHECK_THROWS_WITH(
      check_launch(b.kernel, b.launch()),
      Catch::Contains("ccl.tensor_chunk_bytes: not one chunk of the tensors of ring_1d fits the "
                      "TCM of a PE below its receive rings"));
  b.config.ccl.tensor_chunk_bytes.reset();
  b.count = std::uint64_t{1} << 40;
  CHECK_THROWS_WITH(
      check_launch(b.kernel, b.launch()),
      Catch::Contains("the tensors of ring_1d do not fit the HBM ports of a PE (hbm.port_mib)"));
}

TEST_CASE("chunks have whole grains of each block, but the last") {
  for (const std::uint64_t grain : {std::uint64_t{3}, std::uint64_t{1000}})
    for (const std::optional<std::uint64_t> chunk_bytes : {std::optional<std::uint64_t>{}, {100'000}}) {
      launch_bench b(1 << 20);
      b.kernel.grain = grain;
      b.config.ccl.tensor_chunk_bytes = chunk_bytes;
      const std::uint64_t piece = sw::lay_out_chunks(b.kernel, b.launch()).piece;
      INFO(grain << " " << piece);
      CHECK(piece > 0);
      CHECK((piece % grain == 0 || piece == 1 << 20));
    }
}

TEST_CASE("tensors that do not fit the TCM are told of HBM") {
  launch_bench b(2 << 20);
  b.config.ccl.tensors = config::tensor_kind::tcm;
  CHECK_THROWS_WITH(check_launch(b.kernel, b.launch()), Catch::Contains("ccl.tensor_kind=hbm"));
}

TEST_CASE("tensors that cannot be in HBM are not told of it") {
  launch_bench b(2 << 20);
  b.config.ccl.tensors = config::tensor_kind::tcm;
  sw::argument_context launch = b.launch();
  launch.in_workload = true;
  CHECK_THROWS_WITH(check_launch(b.kernel, launch),
                    Catch::Contains("do not fit the TCM") && !Catch::Contains("ccl.tensor_kind"));
}

}  // namespace
