// SPDX-License-Identifier: Apache-2.0
// What algorithms of partners share: ranks that fold into another, and halving and doubling over steps.
#pragma once

#include <cstdint>
#include <functional>

#include "models/comm/patterns.hpp"
#include "models/comm/trees.hpp"
#include "sw/kernels/elements.hpp"
#include "sw/kernels/kernel_table.hpp"

namespace diecast::sw {

/// The words of kernel_arguments::extra that fill_fold writes; a kernel's own follow.
enum fold_extra : std::size_t { fold_word_steps, fold_word_role, fold_word_number, fold_extra_words };

void fill_fold(const comm::fold& f, std::uint32_t rank, abi::kernel_arguments& a);
/// fill_extra of a kernel in which a power of two of ranks takes part.
void fill_power_of_two(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a);

/// Steps that the ranks which are not folded take.
[[nodiscard]] std::uint32_t fold_steps(pe_context& pe);
/// This rank's number among them (comm::fold).
[[nodiscard]] std::uint32_t fold_number(pe_context& pe);

/// A folded rank gives its output vector to its holder and gets the result; a holder adds it, runs `active`
/// and passes the result on; the others run `active`.
void with_folded(pe_context& pe, const std::function<void()>& active);

/// Reduce-scatter by halving, then all-gather by doubling: in step s half of what is left goes to
/// partner(s), who keeps it. `keeps_upper(s)` says which half stays here; the two ends of a step differ in
/// it and agree in all steps before. Divides averages between the two.
void halve_and_double(pe_context& pe, std::uint32_t steps,
                      const std::function<bool(std::uint32_t)>& keeps_upper);

}  // namespace diecast::sw
