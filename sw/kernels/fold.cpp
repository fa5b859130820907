// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/fold.hpp"

#include <vector>

namespace diecast::sw {
namespace {

enum role : std::int64_t { alone, holder, folded };

struct halves {
  elements kept, given;
};

halves split(const elements& e, bool keeps_upper) {
  const elements low = part(e, 0, 2);
  const elements high = part(e, 1, 2);
  return keeps_upper ? halves{high, low} : halves{low, high};
}

}  // namespace

void fill_fold(const comm::fold& f, std::uint32_t rank, abi::kernel_arguments& a) {
  a.extra[fold_word_steps] = f.steps;
  a.extra[fold_word_role] = f.is_folded(rank) ? folded : f.is_holder(rank) ? holder : alone;
  a.extra[fold_word_number] = f.number_of(rank);
}

void fill_power_of_two(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  fill_fold(comm::fold_to_power_of_two(static_cast<std::uint32_t>(c.members.members.size())), rank, a);
}

std::uint32_t fold_steps(pe_context& pe) {
  return static_cast<std::uint32_t>(pe.args().extra[fold_word_steps]);
}

std::uint32_t fold_number(pe_context& pe) {
  return static_cast<std::uint32_t>(pe.args().extra[fold_word_number]);
}

void with_folded(pe_context& pe, const std::function<void()>& active) {
  const std::int64_t self = pe.args().extra[fold_word_role];
  if (self == folded) {
    pe.step("fold");
    send_all(pe, {comm::fold_partner}, whole(pe));
    pe.step("unfold");
    receive_all(pe, comm::fold_partner, whole(pe));
    return;
  }
  if (self == holder) {
    pe.step("fold");
    reduce_all(pe, {comm::fold_partner}, whole(pe));
  }
  active();
  if (self == holder) {
    pe.step("unfold");
    send_all(pe, {comm::fold_partner}, whole(pe));
  }
}

void halve_and_double(pe_context& pe, std::uint32_t steps,
                      const std::function<bool(std::uint32_t)>& keeps_upper) {
  std::vector<halves> of_step;
  elements left = whole(pe);
  for (std::uint32_t s = 0; s < steps; ++s) {
    pe.step("halve", s);
    const halves h = split(left, keeps_upper(s));
    swap(pe, comm::partner(s), h.given, h.kept, pe_context::arrival::reduce);
    of_step.push_back(h);
    left = h.kept;
  }
  finish_average(pe, left);
  for (std::uint32_t s = steps; s-- > 0;) {
    pe.step("double", s);
    swap(pe, comm::partner(s), of_step[s].kept, of_step[s].given, pe_context::arrival::copy);
  }
}

}  // namespace diecast::sw
