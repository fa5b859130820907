// SPDX-License-Identifier: Apache-2.0
// Collectives whose work the routers do (noc.multicast, noc.reduce). A rank sends its vector once, whatever
// the number of ranks, and receives the result once.
//
//   broadcast multicast    the root sends; routers copy
//   reduce in_network      all others send; routers combine; the root adds the sum to its own vector
//   all_reduce in_network  both: the root sends on what it receives, slot by slot
#include <algorithm>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/in_network/router_trees.hpp"

namespace diecast::sw {
namespace in_network_kernel {

using arrival = pe_context::arrival;
using directions = std::vector<comm::direction>;
constexpr directions::value_type up = comm::tree_reduction, down = comm::tree_multicast;

struct parameters {
  std::uint32_t is_root{};  ///< this rank is the root of the tree
};

bool at_root(pe_context& pe) { return pe.args().own.get<parameters>().is_root != 0; }
bool alone(pe_context& pe) { return pe.args().ranks < 2; }

void run_multicast(pe_context& pe) {
  const block_vector v = at_root(pe) ? reduced_in_output(pe) : block_vector(pe, pe.args().output);
  if (alone(pe)) return;
  pe.step("multicast");
  if (at_root(pe)) {
    pe.send_all(down, v.whole().at, v.whole().bytes);
  } else {
    pe.recv_all(down, v.whole().at, v.whole().bytes, arrival::copy);
  }
}

/// Adds this rank's contribution to the sum of all others, slot by slot.
void take_sums(pe_context& pe, const tcm_range& range, bool send_on) {
  const std::uint64_t element = numeric::size_of(pe.args().type);
  const std::uint64_t slot = pe.message_elements(up) * element;
  for (std::uint64_t done = 0; done < range.bytes; done += slot) {
    const std::uint64_t bytes = std::min(slot, range.bytes - done);
    pe.recv_all(up, range.at + done, bytes, arrival::reduce);
    pe.finish_average(range.at + done, bytes);
    if (send_on) pe.send_all(down, range.at + done, bytes);
  }
}

void run_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const tcm_range range = v.whole();
  if (alone(pe)) return pe.finish_average(range.at, range.bytes);
  pe.step("reduce");
  if (at_root(pe)) return take_sums(pe, range, false);
  pe.send_all(up, range.at, range.bytes);
}

/// The result of a slot comes when all have contributed to it, so that it overwrites nothing unsent.
void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  const tcm_range range = v.whole();
  if (alone(pe)) return pe.finish_average(range.at, range.bytes);
  pe.step("in_network");
  if (at_root(pe)) return take_sums(pe, range, true);
  pe.run_tasks({[&] { pe.send_all(up, range.at, range.bytes); },
                [&] { pe.recv_all(down, range.at, range.bytes, arrival::copy); }});
}

void fill_root(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters{rank == c.root ? 1U : 0U});
}

void fill_center(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters{rank == comm::central_rank(c.shape, c.members) ? 1U : 0U});
}

}  // namespace in_network_kernel

kernel_table in_network_kernels() {
  using namespace in_network_kernel;
  return {{"multicast", "broadcast", "the root sends once, routers copy (noc.multicast)", "multicast_tree",
           any_ranks, run_multicast, without_scratch, fill_root},
          {"in_network", "reduce", "all send once, routers combine (noc.reduce)", "reduction_tree", any_ranks,
           run_reduce, without_scratch, fill_root},
          {"in_network", "all_reduce", "routers combine up a tree and copy down it (noc.reduce)",
           "in_network", any_ranks, run_all_reduce, without_scratch, fill_center}};
}

}  // namespace diecast::sw
