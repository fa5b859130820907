// SPDX-License-Identifier: Apache-2.0
// Blocks from neighbor to neighbor on routes that load all links alike (comm::packed_routes), as
// one stream with a lane per neighbor:
//
//   for every piece that goes to this neighbor:    when it has come here, send it
//   for every piece that comes from this neighbor: store it, or add it to what is here
//
// What comes and goes, and in which order, is a table that the host writes to scratch.
#include "models/comm/packed_routes.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"

namespace diecast::sw {
namespace packed_routes_kernel {

using arrival = pe_context::arrival;
using comm::collective, comm::packed_routes;

/// Words of kernel_arguments::extra; extra_copy is another.
enum extra : std::size_t { extra_neighbors, extra_parts };

/// The table: for every neighbor its counts, then the pieces sent and received, neighbor after neighbor.
struct lane_counts {
  std::uint32_t sent{}, received{};
};
using piece = packed_routes::piece;
static_assert(sizeof(lane_counts) == sizeof(std::uint64_t) && sizeof(piece) == sizeof(std::uint64_t));

template <typename Entry>
std::vector<Entry> load(pe_context& pe, std::uint64_t& at, std::size_t count) {
  std::vector<Entry> entries(count);
  if (count > 0) pe.hal().load(at, std::as_writable_bytes(std::span(entries)));
  at += count * sizeof(Entry);
  return entries;
}

pe_context::awaited stage_before(const piece& p) {
  if (p.stage == packed_routes::no_stage) return {};
  return {p.stage, p.lane};
}

/// The rank's part of the routes over `v`.
std::vector<pe_context::lane> lanes_over(pe_context& pe, const block_vector& v, arrival how) {
  const auto parts = static_cast<std::uint64_t>(pe.args().extra[extra_parts]);
  std::uint64_t at = pe.args().scratch;
  std::vector<pe_context::lane> lanes;
  for (const lane_counts& n :
       load<lane_counts>(pe, at, static_cast<std::size_t>(pe.args().extra[extra_neighbors]))) {
    const auto neighbor = static_cast<comm::direction>(lanes.size());
    pe_context::lane& lane = lanes.emplace_back();
    lane.send = lane.recv = {neighbor};
    for (const piece& p : load<piece>(pe, at, n.sent)) {
      const tcm_range r = v.part_of_block(p.block, p.part, parts);
      lane.sent.push_back({r.at, r.bytes, {stage_before(p)}});
    }
    for (const piece& p : load<piece>(pe, at, n.received)) {
      const tcm_range r = v.part_of_block(p.block, p.part, parts);
      lane.received.push_back({r.at, r.bytes, how, stage_before(p)});
    }
  }
  return lanes;
}

void run_all_gather(pe_context& pe) {
  pe.last_stream(lanes_over(pe, gathered_in_output(pe), arrival::copy), "all_gather");
}

void run_gather(pe_context& pe) {
  pe.stream(lanes_over(pe, gathered_in_output(pe), arrival::copy), "gather");
}

void run_scatter(pe_context& pe) {
  const block_vector v(pe, pe.args().input);
  pe.stream(lanes_over(pe, v, arrival::copy), "scatter");
  deliver_own_block(pe, v);
}

void run_reduce_scatter(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  pe.last_stream(lanes_over(pe, v, arrival::reduce), "reduce_scatter");
  deliver_own_block(pe, v);
  pe.finish_average(pe.args().output, v.block(pe.args().rank).bytes);
}

template <collective What>
const packed_routes& routes_of(const argument_context& c) {
  return c.memo.get<packed_routes>([&c] { return packed_routes(pattern_context_of(c), What); },
                                   static_cast<std::uint32_t>(What));
}

template <collective What>
std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  const std::vector<packed_routes::lane>& lanes = routes_of<What>(c).lanes(rank);
  std::vector<std::uint64_t> words;
  words.reserve(lanes.size());
  for (const packed_routes::lane& l : lanes) words.push_back(l.sent.size() | l.received.size() << 32U);
  for (const packed_routes::lane& l : lanes) {
    for (const auto* pieces : {&l.sent, &l.received}) {
      for (const piece& p : *pieces) words.push_back(std::bit_cast<std::uint64_t>(p));
    }
  }
  return words;
}

/// Of the longest table.
template <collective What>
std::uint64_t image_words(const argument_context& c) {
  std::uint64_t most = 0;
  for (std::uint32_t r = 0; r < c.members.members.size(); ++r) {
    std::uint64_t words = 0;
    for (const packed_routes::lane& l : routes_of<What>(c).lanes(r)) {
      words += 1 + l.sent.size() + l.received.size();
    }
    most = std::max(most, words);
  }
  return most;
}

template <collective What>
std::uint64_t scratch(const argument_context& c) {
  const std::uint64_t words = image_words<What>(c);
  return What == collective::reduce_scatter ? scatter_scratch(c, words) : words * sizeof(std::uint64_t);
}

template <collective What>
void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.extra[extra_neighbors] = std::ssize(routes_of<What>(c).lanes(rank));
  a.extra[extra_parts] = routes_of<What>(c).parts();
  if (What == collective::reduce_scatter) fill_scatter(c, image_words<What>(c), a);
}

template <collective What>
kernel_entry entry(const char* description, void (*run)(pe_context&)) {
  return {"packed_routes",
          comm::to_string(What),
          description,
          "neighbors",
          {comm::rank_set::cube, comm::rank_set::sip},
          run,
          scratch<What>,
          fill<What>,
          image<What>};
}

}  // namespace packed_routes_kernel

kernel_entry all_gather_routes_entry() {
  using namespace packed_routes_kernel;
  return entry<collective::all_gather>("blocks down trees of neighbors that load all links alike",
                                       run_all_gather);
}
kernel_entry reduce_scatter_routes_entry() {
  using namespace packed_routes_kernel;
  return entry<collective::reduce_scatter>("sums up trees of neighbors that load all links alike",
                                           run_reduce_scatter);
}
kernel_entry gather_routes_entry() {
  using namespace packed_routes_kernel;
  return entry<collective::gather>("blocks from neighbor to neighbor, spread over all links to the root",
                                   run_gather);
}
kernel_entry scatter_routes_entry() {
  using namespace packed_routes_kernel;
  return entry<collective::scatter>("blocks from neighbor to neighbor, spread over all links of the root",
                                    run_scatter);
}

}  // namespace diecast::sw
