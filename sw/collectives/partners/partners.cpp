// SPDX-License-Identifier: Apache-2.0
// All-reduce with a partner in each of about log2(n) steps. Ranks beyond those that can take the steps first
// give their vector to a neighbor and get the result back.
//
//   recursive_doubling  swap the whole vector with the rank whose number differs in bit s, and add. Both ends
//   add the
//                       same two numbers, so all ranks end with the same bits
//   rabenseifner        reduce-scatter in steps each half as long as the one before, then all-gather back the
//   same
//                       way. Nearest partners come first, so that the longest messages go the shortest path.
//                       (Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.)
//   swing               the same with partners at distances 1, -1, 3, -5, 11, ... in turn to either side,
//   which cross
//                       fewer links of a torus than the distances 1, 2, 4, ... (De Sensi et al., "Swing:
//                       Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024.) For even n every
//                       part of the vector is summed along a tree of its own that visits each rank once; in a
//                       step a rank sends the parts whose tree leaves it then. For a power of two the parts
//                       of a step are one range, and this is halving and doubling
#include <bit>
#include <functional>
#include <string_view>
#include <vector>

#include "models/comm/patterns.hpp"
#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/partners/partner_steps.hpp"

namespace diecast::sw {
namespace partners_kernel {

enum role : std::uint32_t { alone, holder, folded };

/// Place of a rank in a comm::fold: steps that ranks which are not folded take, and this rank's number among
/// them.
struct parameters {
  std::uint32_t steps{}, role{}, number{};
};

parameters place_in(const comm::fold& f, std::uint32_t rank) {
  return {f.steps, f.is_folded(rank) ? folded : f.is_holder(rank) ? holder : alone, f.number_of(rank)};
}

void fill_power_of_two(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(place_in(comm::fold_to_power_of_two(static_cast<std::uint32_t>(c.members.members.size())), rank));
}

/// A folded rank gives its output vector to its holder and gets the result; a holder adds it, runs `active`
/// and passes the result on; the others run `active`.
void with_folded(pe_context& pe, std::uint32_t self, const std::function<void()>& active) {
  if (self == folded) {
    pe.step("fold");
    pe.send_all(comm::fold_partner, whole(pe));
    pe.step("unfold");
    pe.recv_all(comm::fold_partner, whole(pe), pe_context::arrival::copy);
    return;
  }
  if (self == holder) {
    pe.step("fold");
    pe.reduce_all({comm::fold_partner}, whole(pe));
  }
  active();
  if (self == holder) {
    pe.step("unfold");
    pe.send_all(comm::fold_partner, whole(pe));
  }
}

void run_recursive_doubling(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  with_folded(pe, own.role, [&] {
    for (std::uint32_t s = 0; s < own.steps; ++s) {
      pe.step("double", s);
      pe.exchange(comm::partner(s), whole(pe), comm::partner(s), whole(pe), pe_context::arrival::reduce);
    }
    pe.finish_average(whole(pe));
  });
}

struct halves {
  tcm_range kept, given;
};

halves split(pe_context& pe, const tcm_range& e, bool keeps_upper) {
  const tcm_range low = part(pe, e, 0, 2), high = part(pe, e, 1, 2);
  return keeps_upper ? halves{high, low} : halves{low, high};
}

/// Reduce-scatter by halving, then all-gather by doubling: in step s half of what is left goes to
/// partner(s), which keeps it. Bit s of `upper` is set if the upper half stays here; the two ends of a step
/// differ in it and agree in all steps before. Divides averages between the two.
void halve_and_double(pe_context& pe, std::uint32_t steps, std::uint64_t upper) {
  std::vector<halves> of_step;
  tcm_range left = whole(pe);
  for (std::uint32_t s = 0; s < steps; ++s) {
    pe.step("halve", s);
    const halves h = split(pe, left, (upper >> s & 1) != 0);
    pe.exchange(comm::partner(s), h.given, comm::partner(s), h.kept, pe_context::arrival::reduce);
    of_step.push_back(h);
    left = h.kept;
  }
  pe.finish_average(left);
  for (std::uint32_t s = steps; s-- > 0;) {
    pe.step("double", s);
    pe.exchange(comm::partner(s), of_step[s].kept, comm::partner(s), of_step[s].given,
                pe_context::arrival::copy);
  }
}

void run_rabenseifner(pe_context& pe) {
  const auto own = pe.args().own.get<parameters>();
  start_in_output(pe);
  // The partner of step s differs in bit s.
  with_folded(pe, own.role, [&] { halve_and_double(pe, own.steps, own.number); });
}

struct swing_parameters {
  parameters place;
  std::uint32_t active{};  ///< ranks that take the steps
  std::uint64_t upper{};   ///< bit s: the upper half stays here in step s (powers of two)
};

using parts = std::vector<std::uint32_t>;

/// Where parts lie; those that follow each other are one range. Parts ascend.
std::vector<tcm_range> ranges_of(pe_context& pe, const parts& list, std::uint32_t n) {
  std::vector<tcm_range> ranges;
  for (const std::uint32_t p : list) {
    const tcm_range b = part(pe, whole(pe), p, n);
    if (!ranges.empty() && ranges.back().at + ranges.back().bytes == b.at) {
      ranges.back().bytes += b.bytes;
    } else {
      ranges.push_back(b);
    }
  }
  return ranges;
}

/// Swaps lists of parts with a partner. All parts are sent one after the other before the first is awaited: a
/// swap for each part would pay the latency of the path once per part.
void swap_parts(pe_context& pe, comm::direction dir, const parts& sent, const parts& received,
                std::uint32_t n, pe_context::arrival how, std::string_view step_name) {
  pe_context::pipeline pipeline{{dir}, {}, {dir}, {}};
  for (const tcm_range& b : ranges_of(pe, sent, n)) pipeline.sent.push_back({b.at, b.bytes});
  for (const tcm_range& b : ranges_of(pe, received, n)) pipeline.received.push_back({b.at, b.bytes, how});
  pe.stream({pipeline}, step_name);
}

void swing_by_parts(pe_context& pe, std::uint32_t number, std::uint32_t steps, std::uint32_t n) {
  const std::vector<parts> mine = comm::swing_parts(number, n);
  std::vector<parts> theirs;
  for (std::uint32_t s = 0; s < steps; ++s)
    theirs.push_back(comm::swing_parts(comm::swing_peer(number, s, n), n)[s]);
  for (std::uint32_t s = 0; s < steps; ++s)
    swap_parts(pe, comm::partner(s), mine[s], theirs[s], n, pe_context::arrival::reduce, "reduce_scatter");
  pe.finish_average(part(pe, whole(pe), number, n));
  for (std::uint32_t s = steps; s-- > 0;)
    swap_parts(pe, comm::partner(s), theirs[s], mine[s], n, pe_context::arrival::copy, "all_gather");
}

void run_swing(pe_context& pe) {
  const auto [place, active, upper] = pe.args().own.get<swing_parameters>();
  start_in_output(pe);
  with_folded(pe, place.role, [&pe, &place = place, &active = active, &upper = upper] {
    if (!std::has_single_bit(active)) return swing_by_parts(pe, place.number, place.steps, active);
    halve_and_double(pe, place.steps, upper);
  });
}

void fill_swing(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::fold f = comm::fold_to_even(static_cast<std::uint32_t>(c.members.members.size()));
  swing_parameters own{place_in(f, rank), f.active};
  const bool halves = !f.is_folded(rank) && std::has_single_bit(f.active);
  for (std::uint32_t s = 0; halves && s < f.steps; ++s)
    own.upper |= std::uint64_t{comm::swing_keeps_upper(own.place.number, s, f.active)} << s;
  a.own.set(own);
}

}  // namespace partners_kernel

kernel_table partners_kernels() {
  using namespace partners_kernel;
  kernel_table all{
      {"recursive_doubling", "all_reduce", "log2(n) swaps of the whole vector", "recursive_doubling",
       any_ranks, run_recursive_doubling, without_scratch, fill_power_of_two},
      {"rabenseifner", "all_reduce", "halving reduce-scatter, doubling all-gather", "recursive_doubling",
       any_ranks, run_rabenseifner, without_scratch, fill_power_of_two},
      {"swing", "all_reduce", "reduce-scatter and all-gather with partners at distances 1, -1, 3, -5, ...",
       "swing", any_ranks, run_swing, without_scratch, fill_swing}};
  all[0].sums = all[1].sums = numeric::summation::pairwise;
  return all;
}

}  // namespace diecast::sw
