// SPDX-License-Identifier: Apache-2.0
// All-reduce with a queue pair between every two ranks.
//
//   direct_one_shot  every rank sends its vector to all others and adds theirs: one step
//   direct_two_shot  every rank sends part r to rank r, which adds them and sends the sum to all: two steps
//
// Every rank adds contributions in the order of ranks, so all ranks end with the same bits, which do not
// depend on timing.
#include <algorithm>

#include "models/abi/address.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/neighbors.hpp"
#include "sw/collectives/base/peer_patterns.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

namespace direct_kernel {

/// Queue pair from this PE to another rank, in the pattern all_to_all.
comm::direction towards(pe_context& pe, std::uint32_t rank) {
  const std::uint32_t n = pe.args().ranks;
  return static_cast<comm::direction>((rank + n - pe.args().rank) % n - 1);
}

/// The other ranks in ascending order from this one, modulo n, so that not all send to the same rank first.
std::vector<std::uint32_t> others(pe_context& pe) {
  const std::uint32_t n = pe.args().ranks;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t k = 1; k < n; ++k) ranks.push_back((pe.args().rank + k) % n);
  return ranks;
}

std::vector<comm::direction> towards_all(pe_context& pe) {
  std::vector<comm::direction> dirs;
  for (const std::uint32_t r : others(pe)) dirs.push_back(towards(pe, r));
  return dirs;
}

/// Bytes that one message carries.
std::uint64_t slot_bytes(pe_context& pe) { return pe.message_elements(0) * numeric::size_of(pe.args().type); }

/// Adds the contributions of all ranks to `range`, of which `own` (TCM offset) is this rank's, in the order
/// of ranks, message by message.
void sum_in_order(pe_context& pe, const tcm_range& range, std::uint64_t own) {
  const std::uint64_t step = slot_bytes(pe);
  for (std::uint64_t done = 0; done < range.bytes; done += step) {
    const tcm_range to{range.at + done, std::min(step, range.bytes - done)};
    for (std::uint32_t r = 0; r < pe.args().ranks; ++r) {
      const bool first = r == 0;
      if (r == pe.args().rank) {
        first ? pe.copy(to.at, own + done, to.bytes) : pe.reduce(to.at, own + done, to.bytes);
      } else {
        pe.recv_all(towards(pe, r), to, first ? pe_context::arrival::copy : pe_context::arrival::reduce);
      }
    }
  }
  pe.finish_average(range);
}

void run_one_shot(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const tcm_range vector = whole(pe);
  const std::uint64_t own = a.output == a.input ? a.scratch : a.input;
  if (own != a.input) pe.copy(own, a.input, vector.bytes);
  if (a.ranks == 1) return pe.copy(a.output, own, vector.bytes);
  pe.step("exchange");
  pe.run_tasks({[&] {
                  pe.send_all(towards_all(pe), {own, vector.bytes});
                },
                [&] { sum_in_order(pe, vector, own); }});
}

/// Calls use(queue pair, piece) for one message of every other rank's part, then the next of each: a peer
/// takes one message of each rank in turn, and would wait while a whole part went to another rank.
template <class Use>
void for_messages(pe_context& pe, const Use& use) {
  const std::uint32_t n = pe.args().ranks;
  const std::uint64_t step = slot_bytes(pe), longest = part(pe, whole(pe), n - 1, n).bytes;
  for (std::uint64_t done = 0; done < longest; done += step) {
    for (const std::uint32_t r : others(pe)) {
      const tcm_range theirs = part(pe, whole(pe), r, n);
      if (done < theirs.bytes)
        use(towards(pe, r), tcm_range{theirs.at + done, std::min(step, theirs.bytes - done)});
    }
  }
}

void run_two_shot(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const tcm_range mine = part(pe, whole(pe), a.rank, a.ranks);
  const std::uint64_t own_part = a.scratch;
  if (a.ranks == 1) return start_in_output(pe);
  pe.copy(own_part, a.input + mine.at - a.output, mine.bytes);
  const auto scatter = [&](comm::direction to, const tcm_range& theirs) {
    pe.send_all(to, {a.input + theirs.at - a.output, theirs.bytes});
  };
  const auto gather = [&](comm::direction from, const tcm_range& result) {
    pe.recv_all(from, result, pe_context::arrival::copy);
  };
  pe.step("reduce_scatter");
  pe.run_tasks({[&] { for_messages(pe, scatter); }, [&] { sum_in_order(pe, mine, own_part); }});
  pe.step("all_gather");
  pe.run_tasks({[&] { pe.send_all(towards_all(pe), mine); }, [&] { for_messages(pe, gather); }});
}

using abi::aligned;

std::uint64_t one_vector(const argument_context& c) { return c.in_place ? aligned(vector_bytes(c)) : 0; }

std::uint64_t one_part(const argument_context& c) {
  const std::uint64_t n = std::max<std::uint64_t>(1, c.members.members.size());
  return aligned((c.count + n - 1) / n * numeric::size_of(c.type));
}

}  // namespace direct_kernel

kernel_table direct_kernels() {
  using namespace direct_kernel;
  return {{"direct_one_shot", "all_reduce", "every rank sends its vector to all others", "all_to_all",
           any_ranks, run_one_shot, one_vector, nullptr},
          {"direct_two_shot", "all_reduce", "every rank sums one part and sends it to all others",
           "all_to_all", any_ranks, run_two_shot, one_part, nullptr}};
}

pattern_table exchange_patterns() {
  return {{"all_to_all", "every rank with every other (ipcq.queue_pairs at least ranks - 1)",
           comm::all_to_all, comm::numbered_names("plus", 1, 512), true},
          {"circulant", "rank r with ranks r + 1, r + 2, r + 4, ..., in both directions (up0, down0, ...)",
           comm::circulant, comm::circulant_names(), true},
          {"circulant_unidir", "rank r with ranks r + 1, r + 2, r + 4, ...: send up, receive down",
           comm::circulant_unidir, comm::circulant_names(), true},
          {"pairwise", "every rank with every other, in both directions (peer+1, ...)", comm::pairwise,
           comm::numbered_names("peer+", 1, 511), true},
          {"box_lines",
           "every rank with those of its line in each dimension: SIPs, rows and columns of cubes, PEs "
           "(peer+1, ...)",
           comm::box_lines, comm::numbered_names("plus", 1, 512), true},
          {"neighbors", "every rank with those one link away, in both directions (neighbor0, ...)",
           comm::neighbor_edges, comm::numbered_names("neighbor", 0, 16), true},
          {"shift", "every rank to the next (send next, receive last)", comm::shift, {"next", "last"}, true},
          {"star", "the root with every other rank, in both directions (root; peer+1, ...)", comm::star,
           comm::star_names(), true}};
}

}  // namespace diecast::sw
