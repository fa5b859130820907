// SPDX-License-Identifier: Apache-2.0
#include "sw/host/hbm_tensors.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>
#include <span>

#include "models/abi/address.hpp"
#include "models/comm/collective.hpp"
#include "models/comm/sync_layout.hpp"
#include "models/config/field.hpp"
#include "models/cost/staging.hpp"
#include "models/numeric/types.hpp"
#include "models/types/ids.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/chunked.hpp"
#include "sw/host/collective.hpp"
#include "sw/runtime/tensor_stager.hpp"

namespace diecast::sw {
namespace {

using abi::aligned;

/// Number of buffers: one chunk comes in, one is processed, one goes out.
constexpr std::uint64_t most_buffers = 3;

comm::tensor_chunks cut(const kernel_entry& kernel, const argument_context& launch, std::uint64_t piece) {
  return {shape_of(kernel, launch), piece};
}

/// The launch that a kernel sees of `count` elements in a buffer. In place wherever that has a meaning: the
/// tensor in HBM is not the buffer.
argument_context launch_of_chunk(const argument_context& launch, std::uint64_t count) {
  argument_context c = launch;
  c.count = count;
  c.in_place = true;
  c.is_chunk = true;
  c.tcm_base = 0;
  return c;
}

std::uint64_t room_below_rings(const argument_context& launch) {
  return launch.tcm_room.value_or(launch.config.pe.tcm_kib * 1024);
}

chunk_layout layout_with(const kernel_entry& kernel, const argument_context& launch, std::uint64_t piece,
                         std::uint64_t buffers) {
  const comm::tensor_chunks chunks = cut(kernel, launch, piece);
  const argument_context chunk = launch_of_chunk(launch, chunks.elements(0));
  const argument_context last = launch_of_chunk(launch, chunks.elements(chunks.chunks() - 1));
  const tensor_room room = room_of(kernel, chunk);
  chunk_layout l;
  l.piece = piece;
  l.buffers = buffers;
  l.plan = launch.tcm_base;
  l.buffer = l.plan + aligned(sizeof(chunk_plan));
  l.buffer_bytes = room.bytes;
  l.output = room.output;
  l.scratch = l.buffer + buffers * room.bytes;
  // A program may need more for the last chunk, which it pads.
  l.scratch_bytes = std::max(scratch_room(kernel, chunk), scratch_room(kernel, last));
  l.end = l.scratch + l.scratch_bytes;
  return l;
}

/// The layout with as many buffers as overlapping needs.
chunk_layout layout_with(const kernel_entry& kernel, const argument_context& launch, std::uint64_t piece) {
  return layout_with(kernel, launch, piece, std::min(most_buffers, cut(kernel, launch, piece).chunks()));
}

bool fits(const kernel_entry& kernel, const argument_context& launch, std::uint64_t piece) {
  return layout_with(kernel, launch, piece).end <= room_below_rings(launch);
}

/// A piece of whole grains up to `wanted` whose buffers fit, where the next longer one's do not; one grain
/// when none fits. It need not be the longest: pieces that make two chunks need two buffers, and may fit
/// where shorter ones that make three do not.
std::uint64_t fitting_piece(const kernel_entry& kernel, const argument_context& launch,
                            std::uint64_t wanted) {
  std::uint64_t least = 1, most = std::max<std::uint64_t>(1, wanted / kernel.grain);
  while (least < most) {
    const std::uint64_t middle = most - (most - least) / 2;
    if (fits(kernel, launch, middle * kernel.grain)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least * kernel.grain;
}

/// The block if that is one piece, else whole grains of it whose buffers fit.
std::uint64_t whole_grains(const kernel_entry& kernel, const argument_context& launch, std::uint64_t piece,
                           std::uint64_t block) {
  if (kernel.grain == 1 || (piece >= block && fits(kernel, launch, block))) return piece;
  const std::uint64_t rounded = std::max(kernel.grain, piece / kernel.grain * kernel.grain);
  return std::min(block, fits(kernel, launch, rounded) ? rounded : fitting_piece(kernel, launch, rounded));
}

/// Elements of a slot, where that shortens a piece by a quarter at most; else the piece. Most all-to-alls
/// send each piece to another rank, where the rest beyond a slot is one more message, which costs firmware as
/// much as a slot.
std::uint64_t single_slot(const argument_context& launch, std::uint64_t piece) {
  const std::uint64_t slot = launch.config.ipcq.slot_bytes / numeric::size_of(launch.type);
  return piece > slot && piece - slot <= piece / 4 ? slot : piece;
}

/// As many chunks as pieces of at most `most` elements make, all of one size, in whole stripes, else packets,
/// else lines where that fits and costs an eighth of the piece at most: rounded down to these, a piece may
/// leave a rest, which is a chunk more and may need a buffer more.
std::uint64_t even_piece(const kernel_entry& kernel, const argument_context& launch,
                         std::uint64_t largest_block, std::uint64_t most) {
  const std::uint64_t element = numeric::size_of(launch.type);
  const std::uint64_t chunks = (largest_block + most - 1) / most;
  const std::uint64_t even = (largest_block + chunks - 1) / chunks;
  if (chunks == 1) return even;
  for (const std::uint64_t bytes : {launch.config.ccl.tensor_stripe_bytes, launch.config.noc.max_packet_bytes,
                                    std::uint64_t{abi::tcm_alignment}}) {
    const std::uint64_t grain = bytes / element;
    if (bytes % element != 0 || even < grain) continue;
    const std::uint64_t up = (even + grain - 1) / grain * grain;
    const std::uint64_t piece = up <= most ? up : most / grain * grain;
    if (even - std::min(even, piece) > even / 8) continue;
    if (fits(kernel, launch, piece)) return piece;
  }
  return even;
}

std::uint64_t automatic_piece(const kernel_entry& kernel, const argument_context& launch) {
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t element = numeric::size_of(launch.type);
  const std::uint64_t block = std::max<std::uint64_t>(1, comm::tensor_chunks::largest_block(s));
  const std::uint64_t best = cost::best_chunk_bytes(launch.config, s.ranks, launch.count * element) /
                             element / comm::tensor_chunks::blocks(s);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(best, 1, block);
  const std::uint64_t longest =
      kernel.grain > 1 && fits(kernel, launch, wanted) ? wanted : fitting_piece(kernel, launch, wanted);
  const std::uint64_t piece =
      whole_grains(kernel, launch, even_piece(kernel, launch, block, std::min(longest, block)), block);
  if (s.what != comm::collective::all_to_all || piece == block) return piece;
  const std::uint64_t slot = whole_grains(kernel, launch, single_slot(launch, piece), block);
  return fits(kernel, launch, slot) ? slot : piece;
}

/// The layout for chunks of ccl.tensor_chunk_bytes, with as many buffers as fit, at least one.
chunk_layout layout_as_given(const kernel_entry& kernel, const argument_context& launch,
                             std::uint64_t chunk_bytes) {
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t block = std::max<std::uint64_t>(1, comm::tensor_chunks::largest_block(s));
  const std::uint64_t elements = chunk_bytes / numeric::size_of(launch.type) / comm::tensor_chunks::blocks(s);
  const std::uint64_t grains = std::max<std::uint64_t>(1, elements / kernel.grain);
  const std::uint64_t piece = std::min(block, elements >= block ? block : grains * kernel.grain);
  chunk_layout l = layout_with(kernel, launch, piece);
  while (l.buffers > 1 && l.end > room_below_rings(launch))
    l = layout_with(kernel, launch, piece, l.buffers - 1);
  return l;
}

comm::home_ports ports_of(const argument_context& launch, pe_coord pe) {
  return comm::home_ports_of(launch.config, channels_of(launch), pe);
}

/// Bytes per port of one tensor and of all tensors of a member.
std::uint64_t port_bytes(const argument_context& launch, const comm::home_ports& home,
                         std::uint64_t elements) {
  return comm::bytes_per_port(launch.config, home, elements * numeric::size_of(launch.type));
}
std::uint64_t input_port_bytes(const kernel_entry& kernel, const argument_context& launch,
                               const comm::home_ports& home) {
  const comm::collective_shape s = shape_of(kernel, launch);
  const std::uint64_t output = in_place(kernel, launch) ? largest_output(s) : 0;
  return port_bytes(launch, home, std::max(largest_input(s), output));
}
std::uint64_t all_port_bytes(const kernel_entry& kernel, const argument_context& launch,
                             const comm::home_ports& home) {
  const std::uint64_t output = in_place(kernel, launch) ? 0 : largest_output(shape_of(kernel, launch));
  return input_port_bytes(kernel, launch, home) + port_bytes(launch, home, output);
}

/// The vector of sums in f32 lies before the kernel's image, which all chunks share: a shorter vector begins
/// later.
chunk_arguments arguments_of_chunk(const kernel_entry& kernel, const argument_context& launch,
                                   const chunk_layout& layout, std::uint64_t chunk, std::uint32_t rank) {
  const comm::tensor_chunks chunks = cut(kernel, launch, layout.piece);
  const argument_context first = launch_of_chunk(launch, chunks.elements(0));
  const argument_context own = launch_of_chunk(launch, chunks.elements(chunk));
  const std::uint64_t later = wide_part(kernel, first) - wide_part(kernel, own);
  abi::kernel_arguments a = common_arguments(own, rank);
  a.scratch = layout.scratch + later;
  a.scratch_bytes = layout.scratch_bytes - later;
  if (kernel.fill != nullptr) kernel.fill(own, rank, a);
  return {own.count,
          input_part(kernel, own, rank),
          layout.output + output_part(kernel, own, rank),
          a.scratch,
          a.scratch_bytes,
          a.own};
}

/// Longest copy: the bytes that the DMA engine has in flight.
std::uint64_t longest_copy(const config::machine_config& c) {
  return c.pe.dma_outstanding * c.noc.max_packet_bytes;
}

chunk_plan plan_of(const kernel_entry& kernel, const argument_context& launch, const chunk_layout& layout,
                   std::uint32_t rank) {
  const comm::collective_shape s = shape_of(kernel, launch);
  const comm::staged_blocks staged = comm::staged_blocks_of(s, rank, launch.in_place);
  const comm::hbm_tensor tensor = tensors_of(kernel, launch, rank).input;
  chunk_plan p;
  p.what = static_cast<std::uint64_t>(s.what);
  p.piece = layout.piece;
  p.read = static_cast<std::uint64_t>(staged.read);
  p.written = static_cast<std::uint64_t>(staged.written);
  p.ports = tensor.ports;
  p.stripe_bytes = tensor.stripe_bytes;
  p.copy_bytes = longest_copy(launch.config);
  p.buffers = layout.buffers;
  p.buffer = layout.buffer;
  p.buffer_bytes = layout.buffer_bytes;
  p.chunk_output = layout.output;
  p.input_origin = input_origin(kernel, launch, rank);
  p.output_origin = output_origin(kernel, launch, rank);
  p.full = arguments_of_chunk(kernel, launch, layout, 0, rank);
  p.last = arguments_of_chunk(kernel, launch, layout, cut(kernel, launch, layout.piece).chunks() - 1, rank);
  return p;
}

/// The layout without chunks: the kernel uses the tensors in HBM directly.
bool stays_in_hbm(const kernel_entry& kernel, const argument_context& launch) {
  return kernel.moves_slots &&
         comm::moves_out_of_hbm(launch.config, shape_of(kernel, launch), numeric::size_of(launch.type));
}

chunk_layout layout_without_chunks(const kernel_entry& kernel, const argument_context& launch) {
  chunk_layout l;
  l.plan = launch.tcm_base;
  l.buffer = l.plan + aligned(sizeof(chunk_plan));
  l.scratch = l.buffer;
  l.scratch_bytes = scratch_room(kernel, launch);
  l.end = l.scratch + l.scratch_bytes;
  return l;
}

chunk_plan plan_without_chunks(const kernel_entry& kernel, const argument_context& launch,
                               const chunk_layout& layout, std::uint32_t rank) {
  const comm::hbm_tensor tensor = tensors_of(kernel, launch, rank).input;
  abi::kernel_arguments a = common_arguments(launch, rank);
  if (kernel.fill != nullptr) kernel.fill(launch, rank, a);
  chunk_plan p;
  p.ports = tensor.ports;
  p.stripe_bytes = tensor.stripe_bytes;
  p.full = {launch.count, 0, 0, layout.scratch, layout.scratch_bytes, a.own};
  return p;
}

constexpr std::uint64_t mib = 1024 * 1024;

/// Bytes of a port that barriers and slot rings take.
std::uint64_t taken_of_port(const config::machine_config& c, const comm::home_ports& home) {
  return comm::sync_port_bytes(home.slices) + home.slices * comm::ring_bytes_in_hbm(c);
}
/// Room of the PE's tensors in each of its ports: the rest, among those that share it.
std::uint64_t port_room(const config::machine_config& c, const comm::home_ports& home) {
  const std::uint64_t port = c.hbm.port_mib * mib, taken = taken_of_port(c, home);
  return port > taken ? (port - taken) / home.slices : 0;
}

/// PEs may have unequal numbers of ports: the first that has too few is named.
std::optional<shortage> check_ports(const kernel_entry& kernel, const argument_context& launch,
                                    std::vector<problem>& problems) {
  std::set<std::uint32_t> seen;  // members with equally many ports have equal needs
  for (const pe_coord pe : launch.members.members) {
    const comm::home_ports home = ports_of(launch, pe);
    if (!seen.insert(home.count).second) continue;
    const std::uint64_t room = port_room(launch.config, home);
    // A count that is larger than any memory is compared before laying out, so that no product can wrap.
    constexpr std::uint64_t countable = std::uint64_t{1} << 40;
    const std::uint64_t needed =
        launch.count > countable ? launch.count / home.count : all_port_bytes(kernel, launch, home);
    if (needed <= room) continue;
    problems.push_back(
        {"bytes",
         fmt::format("the tensors of {} do not fit the HBM ports of a PE (hbm.port_mib)", kernel.name),
         fmt::format("{} elements of {}", launch.count, numeric::to_string(launch.type)),
         fmt::format("input and output within {} bytes on each of the {} ports of {}", room, home.count,
                     pe_path(launch.shape, pe))});
    const std::uint64_t bytes = taken_of_port(launch.config, home) + needed * home.slices;
    const std::uint64_t port = std::bit_ceil((bytes + mib - 1) / mib);
    const bool can_be = config::accepts(*config::find_field("hbm.port_mib"), port);
    return shortage{
        "HBM port", needed, room, {}, can_be ? fmt::format("hbm.port_mib at least {}", port) : ""};
  }
  return std::nullopt;
}

}  // namespace

bool lies_in_hbm(const kernel_entry& kernel, const argument_context& launch) {
  return launch.config.ccl.tensors == config::tensor_kind::hbm &&
         kernel.collective != comm::to_string(comm::collective::barrier);
}

hbm_tensors tensors_of(const kernel_entry& kernel, const argument_context& launch, std::uint32_t rank) {
  const pe_coord pe = launch.members.members[rank];
  const comm::home_ports home = ports_of(launch, pe);
  const std::uint64_t input = input_port_bytes(kernel, launch, home);
  const std::uint64_t all = all_port_bytes(kernel, launch, home);
  hbm_tensors t;
  t.input = comm::place_in_hbm(launch.config, pe, home, all, 0);
  t.output = in_place(kernel, launch) ? t.input : comm::place_in_hbm(launch.config, pe, home, all, input);
  return t;
}

chunk_layout lay_out_chunks(const kernel_entry& kernel, const argument_context& launch) {
  if (stays_in_hbm(kernel, launch)) return layout_without_chunks(kernel, launch);
  if (const auto bytes = launch.config.ccl.tensor_chunk_bytes) return layout_as_given(kernel, launch, *bytes);
  return layout_with(kernel, launch, automatic_piece(kernel, launch));
}

std::optional<shortage> check_hbm_tensors(const kernel_entry& kernel, const argument_context& launch,
                                          std::vector<problem>& problems) {
  if (const auto lack = check_ports(kernel, launch, problems)) return lack;
  const chunk_layout l = lay_out_chunks(kernel, launch);
  if (l.end <= room_below_rings(launch)) return std::nullopt;
  if (l.buffers == 0) {
    problems.push_back({"pe.tcm_kib",
                        fmt::format("what {} needs in TCM does not fit below its receive rings", kernel.name),
                        fmt::format("{} bytes", l.end),
                        fmt::format("scratch and plan within {} bytes", room_below_rings(launch))});
    return std::nullopt;
  }
  problems.push_back(
      {"ccl.tensor_chunk_bytes",
       fmt::format(
           "not one chunk of the tensors of {} fits the TCM of a PE below its receive rings (pe.tcm_kib)",
           kernel.name),
       fmt::format("{} bytes with {} elements of {} at a time", l.end,
                   cut(kernel, launch, l.piece).elements(0), numeric::to_string(launch.type)),
       fmt::format("chunks, scratch and plan within {} bytes", room_below_rings(launch))});
  return std::nullopt;
}

void load_chunk_images(abi::host_hal& host, const kernel_entry& kernel, const argument_context& launch,
                       std::uint32_t rank) {
  const pe_coord pe = launch.members.members[rank];
  const chunk_layout layout = lay_out_chunks(kernel, launch);
  const bool in_chunks = layout.buffers > 0;
  const chunk_plan plan =
      in_chunks ? plan_of(kernel, launch, layout, rank) : plan_without_chunks(kernel, launch, layout, rank);
  write_tcm(host, pe, layout.plan, std::as_bytes(std::span{&plan, 1}));
  if (kernel.image == nullptr) return;
  const argument_context first =
      in_chunks ? launch_of_chunk(launch, cut(kernel, launch, layout.piece).elements(0)) : launch;
  const std::vector<std::uint64_t> words = kernel.image(first, rank);
  write_tcm(host, pe, layout.scratch + wide_part(kernel, first), std::as_bytes(std::span(words)));
}

}  // namespace diecast::sw
