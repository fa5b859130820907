// SPDX-License-Identifier: Apache-2.0
// Blocks from neighbor to neighbor on routes that load all links alike (comm::packed_routes), as
// one stream with a pipeline per neighbor:
//
//   for every piece for this neighbor:   when it has arrived here, send it
//   for every piece from this neighbor:  store it, or add it to the sum here
//
// The pieces and their order are a table that the host writes to scratch. neighbor_steps is the same with
// whole blocks, or halves round a ring, each forwarded when all of it has arrived.
#include <algorithm>
#include <bit>
#include <span>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/exchange/packed_routes.hpp"

namespace diecast::sw {
namespace packed_routes_kernel {

using arrival = pe_context::arrival;
using comm::collective, comm::packed_routes;

using cut = packed_routes::cut;

struct parameters {
  std::uint32_t neighbors{}, parts{};
  std::uint32_t in_steps{};                      ///< cut::steps
  std::uint32_t second_table{}, second_parts{};  ///< first word and parts of a second table
};

/// The table: for every neighbor its counts, then the pieces sent and received, neighbor after neighbor.
struct pipeline_counts {
  std::uint32_t sent{}, received{};
};
using piece = packed_routes::piece;
static_assert(sizeof(pipeline_counts) == sizeof(std::uint64_t) && sizeof(piece) == sizeof(std::uint64_t));

template <typename Entry>
std::vector<Entry> load(pe_context& pe, std::uint64_t& at, std::size_t count) {
  std::vector<Entry> entries(count);
  if (count > 0) pe.hal().load(at, std::as_writable_bytes(std::span(entries)));
  at += count * sizeof(Entry);
  return entries;
}

/// `at`: awaited::at.
pe_context::awaited stage_before(const piece& p, std::uint64_t at) {
  if (p.stage == packed_routes::no_stage) return {};
  return {p.stage, p.pipeline, at};
}

/// The rank's part of the routes over `v`, of its first or its second table.
std::vector<pe_context::pipeline> pipelines_over(pe_context& pe, const block_vector& v, arrival how,
                                                 bool second = false) {
  const auto own = pe.args().own.get<parameters>();
  const std::uint32_t parts = second ? own.second_parts : own.parts;
  const bool in_steps = own.in_steps != 0;
  std::uint64_t at = pe.args().scratch + (second ? own.second_table * sizeof(std::uint64_t) : 0);
  std::vector<pe_context::pipeline> pipelines;
  for (const pipeline_counts& n : load<pipeline_counts>(pe, at, own.neighbors)) {
    const auto neighbor = static_cast<comm::direction>(pipelines.size());
    pe_context::pipeline& pipeline = pipelines.emplace_back();
    pipeline.send = pipeline.recv = {neighbor};
    for (const piece& p : load<piece>(pe, at, n.sent)) {
      const tcm_range r = v.part_of_block(p.block, p.part, parts);
      pipeline.sent.push_back({r.at, r.bytes, {stage_before(p, in_steps ? r.bytes : 0)}});
    }
    for (const piece& p : load<piece>(pe, at, n.received)) {
      const tcm_range r = v.part_of_block(p.block, p.part, parts);
      pipeline.received.push_back({r.at, r.bytes, how, stage_before(p, 0)});
    }
  }
  return pipelines;
}

/// Sums of `v`. Those in both directions round a ring take each step of both together: where each direction
/// has half of the adders, a step takes the time of one direction.
void add_up(pe_context& pe, const block_vector& v) {
  const std::vector<pe_context::pipeline> pipelines = pipelines_over(pe, v, arrival::reduce);
  const auto own = pe.args().own.get<parameters>();
  const bool round = own.in_steps != 0 && own.parts == 2;
  if (!round) return pe.stream(pipelines, "reduce_scatter");
  for (std::uint32_t k = 0; k + 1 < v.blocks(); ++k) {
    std::vector<pe_context::pipeline> now;
    now.reserve(pipelines.size());
    for (const pe_context::pipeline& l : pipelines)
      now.push_back({l.send, {{l.sent[k].offset, l.sent[k].bytes}}, l.recv, {l.received[k]}});
    pe.step("reduce_scatter", k);
    pe.stream(now, [](std::uint32_t) {});
  }
}

void run_all_gather(pe_context& pe) {
  pe.last_stream(pipelines_over(pe, gathered_in_output(pe), arrival::copy), "all_gather");
}

void run_gather(pe_context& pe) {
  pe.stream(pipelines_over(pe, gathered_in_output(pe), arrival::copy), "gather");
}

void run_scatter(pe_context& pe) {
  const block_vector v(pe, pe.args().input);
  pe.stream(pipelines_over(pe, v, arrival::copy), "scatter");
  deliver_own_block(pe, v);
}

void run_reduce_scatter(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  if (pe.args().own.get<parameters>().in_steps != 0) {
    add_up(pe, v);
  } else {
    pe.last_stream(pipelines_over(pe, v, arrival::reduce), "reduce_scatter");
  }
  deliver_own_sum(pe, v);
}

/// The first program of an all_reduce; run_second is the other.
void run_first(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  add_up(pe, v);
  pe.finish_average(v.block(pe.args().rank));
}

void run_second(pe_context& pe) {
  pe.last_stream(pipelines_over(pe, reduced_in_output(pe), arrival::copy, true), "all_gather");
}

template <collective What, cut Cut>
const packed_routes& routes_of(const argument_context& c) {
  return c.memo.get<packed_routes>([&c] { return packed_routes(pattern_context_of(c), What, Cut); },
                                   2 * static_cast<std::uint32_t>(What) + (Cut == cut::steps ? 1 : 0));
}

std::vector<std::uint64_t> table(const std::vector<packed_routes::pipeline>& pipelines) {
  std::vector<std::uint64_t> words;
  words.reserve(pipelines.size());
  for (const packed_routes::pipeline& l : pipelines)
    words.push_back(l.sent.size() | l.received.size() << 32U);
  for (const packed_routes::pipeline& l : pipelines) {
    for (const auto* pieces : {&l.sent, &l.received})
      for (const piece& p : *pieces) words.push_back(std::bit_cast<std::uint64_t>(p));
  }
  return words;
}

template <collective What, cut Cut>
std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  if constexpr (What == collective::all_reduce) {
    std::vector<std::uint64_t> words = image<collective::reduce_scatter, Cut>(c, rank);
    const std::vector<std::uint64_t> second = image<collective::all_gather, Cut>(c, rank);
    words.insert(words.end(), second.begin(), second.end());
    return words;
  } else {
    return table(routes_of<What, Cut>(c).pipelines(rank));
  }
}

template <collective What, cut Cut>
std::uint64_t table_words(const argument_context& c, std::uint32_t rank) {
  if constexpr (What == collective::all_reduce) {
    return table_words<collective::reduce_scatter, Cut>(c, rank) +
           table_words<collective::all_gather, Cut>(c, rank);
  } else {
    std::uint64_t words = 0;
    for (const packed_routes::pipeline& l : routes_of<What, Cut>(c).pipelines(rank))
      words += 1 + l.sent.size() + l.received.size();
    return words;
  }
}

/// Words of the longest table of any rank.
template <collective What, cut Cut>
std::uint64_t image_words(const argument_context& c) {
  std::uint64_t most = 0;
  for (std::uint32_t r = 0; r < c.members.members.size(); ++r)
    most = std::max(most, table_words<What, Cut>(c, r));
  return most;
}

template <collective What, cut Cut>
std::uint64_t scratch(const argument_context& c) {
  const std::uint64_t words = image_words<What, Cut>(c);
  return What == collective::reduce_scatter ? scatter_scratch(c, words) : words * sizeof(std::uint64_t);
}

template <collective What, cut Cut>
void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  constexpr collective first = What == collective::all_reduce ? collective::reduce_scatter : What;
  const packed_routes& routes = routes_of<first, Cut>(c);
  parameters own{static_cast<std::uint32_t>(routes.pipelines(rank).size()), routes.parts(),
                 Cut == cut::steps ? 1U : 0U};
  if (What == collective::reduce_scatter) fill_scatter(image_words<What, Cut>(c), a);
  if constexpr (What == collective::all_reduce) {
    own.second_table = static_cast<std::uint32_t>(table_words<first, Cut>(c, rank));
    own.second_parts = routes_of<collective::all_gather, Cut>(c).parts();
  }
  a.own.set(own);
}

template <collective What, cut Cut = cut::least_load>
kernel_entry entry(const char* description, void (*run)(pe_context&)) {
  return {Cut == cut::steps ? "neighbor_steps" : "packed_routes",
          comm::to_string(What),
          description,
          "neighbors",
          {comm::rank_set::cube, comm::rank_set::sip},
          run,
          scratch<What, Cut>,
          fill<What, Cut>,
          image<What, Cut>};
}

}  // namespace packed_routes_kernel

kernel_table packed_route_kernels() {
  using namespace packed_routes_kernel;
  kernel_table all{
      entry<collective::reduce_scatter>("sums up trees of neighbors that load all links alike",
                                        run_reduce_scatter),
      entry<collective::reduce_scatter, cut::steps>("sums of half blocks each way round a ring of neighbors, "
                                                    "or of blocks from both ends of a line, in steps",
                                                    run_reduce_scatter),
      entry<collective::all_gather>("blocks down trees of neighbors that load all links alike",
                                    run_all_gather),
      entry<collective::all_gather, cut::steps>(
          "whole blocks by the fewest links, a neighbor further in every step", run_all_gather),
      entry<collective::gather>("blocks from neighbor to neighbor, spread over all links to the root",
                                run_gather),
      entry<collective::scatter>("blocks from neighbor to neighbor, spread over all links of the root",
                                 run_scatter),
      entry<collective::all_reduce, cut::steps>(
          "two programs: reduce_scatter, then all_gather of the same name", run_first)};
  all.back().then = run_second;
  return all;
}

}  // namespace diecast::sw
