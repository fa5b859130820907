// SPDX-License-Identifier: Apache-2.0
// Broadcast and reduce. ring_1d: a chain round the ring from (to) the root, half of the vector each way,
// slot by slot, so that all links work at once. binomial: along the binomial tree, slot by slot;
// ceil(log2 n) hops deep.
#include <algorithm>

#include "sw/kernels/blocks.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/tree.hpp"

namespace diecast::sw {
namespace rooted_kernel {

using arrival = pe_context::arrival;
using directions = std::vector<comm::direction>;

/// Words of kernel_arguments::extra.
enum extra : std::size_t { root, distance };  ///< distance: from the root, along the ring

/// A lane of the chain round the ring: hop 0 is the first PE, hop n - 1 the last.
pe_context::lane chain(pe_context& pe, std::int64_t way, std::uint32_t hop, const tcm_range& range,
                       arrival how) {
  const pe_context::lane ring = ring_lane(way);
  const directions before = hop > 0 ? ring.recv : directions{};
  const directions behind = hop + 1 < pe.args().ranks ? ring.send : directions{};
  return how == arrival::copy ? down_lane(range, before, behind) : up_lane(range, before, behind);
}

std::uint32_t distance_of(const abi::kernel_arguments& a) {
  return static_cast<std::uint32_t>(a.extra[distance]);
}

binomial_place place_of(const abi::kernel_arguments& a) {
  return {a.rank, a.ranks, static_cast<std::uint32_t>(a.extra[root])};
}

/// The root's contribution lies in the output.
block_vector broadcast_vector(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  if (a.rank == a.extra[root]) return reduced_in_output(pe);
  return {pe, a.output};
}

void run_broadcast_ring(pe_context& pe) {
  const block_vector v = broadcast_vector(pe);
  const std::uint32_t n = pe.args().ranks;
  const std::uint32_t d = distance_of(pe.args());
  pe.last_stream({chain(pe, 1, d, v.part_of_whole(1, 2), arrival::copy),
                  chain(pe, -1, (n - d) % n, v.part_of_whole(0, 2), arrival::copy)},
                 "broadcast");
}

/// The chain begins behind the root and ends with it.
void run_reduce_ring(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const std::uint32_t n = pe.args().ranks;
  const std::uint32_t d = distance_of(pe.args());
  pe.last_stream({chain(pe, 1, (d + n - 1) % n, v.part_of_whole(1, 2), arrival::reduce),
                  chain(pe, -1, n - 1 - d, v.part_of_whole(0, 2), arrival::reduce)},
                 "reduce");
  if (d == 0) pe.finish_average(v.whole().at, v.whole().bytes);
}

void run_broadcast_binomial(pe_context& pe) {
  const block_vector v = broadcast_vector(pe);
  const binomial_place place = place_of(pe.args());
  directions children;
  for (const std::uint32_t k : place.child_levels()) children.push_back(comm::up(k));
  std::reverse(children.begin(), children.end());  // the deepest subtree first
  pe.last_stream(
      {down_lane(v.whole(), place.is_root() ? directions{} : directions{place.parent()}, children)},
      "broadcast");
}

void run_reduce_binomial(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const binomial_place place = place_of(pe.args());
  directions children;
  for (const std::uint32_t k : place.child_levels()) children.push_back(comm::up(k));
  pe.last_stream({up_lane(v.whole(), children, place.is_root() ? directions{} : directions{place.parent()})},
                 "reduce");
  if (place.is_root()) pe.finish_average(v.whole().at, v.whole().bytes);
}

void fill_ring(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const auto n = static_cast<std::uint32_t>(c.members.members.size());
  a.extra[root] = c.root;
  a.extra[distance] = (ring_position(c, rank) + n - ring_position(c, c.root)) % n;
}

void fill_tree(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) { a.extra[root] = c.root; }

}  // namespace rooted_kernel

kernel_entry broadcast_ring_entry() {
  using namespace rooted_kernel;
  return {"ring_1d",       "broadcast", "a pipelined chain round the ring, half of the vector each way",
          "ring_1d",       any_ranks,   run_broadcast_ring,
          without_scratch, fill_ring};
}

kernel_entry broadcast_binomial_entry() {
  using namespace rooted_kernel;
  return {"binomial",      "broadcast", "down the binomial tree of the root",
          "circulant",     any_ranks,   run_broadcast_binomial,
          without_scratch, fill_tree};
}

kernel_entry reduce_ring_entry() {
  using namespace rooted_kernel;
  return {
      "ring_1d",       "reduce",  "a pipelined chain round the ring to the root, half of the vector each way",
      "ring_1d",       any_ranks, run_reduce_ring,
      without_scratch, fill_ring};
}

kernel_entry reduce_binomial_entry() {
  using namespace rooted_kernel;
  return {"binomial",      "reduce",  "up the binomial tree of the root",
          "circulant",     any_ranks, run_reduce_binomial,
          without_scratch, fill_tree};
}

}  // namespace diecast::sw
