// SPDX-License-Identifier: Apache-2.0
// Ranges of the output vector, in which most kernels work.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {

/// A range of elements of the output vector.
struct elements {
  std::uint64_t begin{};
  std::uint64_t count{};
};

/// Part `index` of `parts` nearly equal ones; parts may be empty.
[[nodiscard]] elements part(const elements& whole, std::uint64_t index, std::uint64_t parts);
/// The output vector of this PE.
[[nodiscard]] elements whole(pe_context& pe);

/// Where a range lies.
[[nodiscard]] tcm_range in_output(pe_context& pe, const elements& e);

/// Copies the input to the output unless they are one.
void start_in_output(pe_context& pe);
/// The division of an average, of elements whose sum is complete. No effect for other reductions.
void finish_average(pe_context& pe, const elements& e);

/// One-sided moves of a range, to or from one or several directions; pe_context says when they are safe.
void send_all(pe_context& pe, const std::vector<comm::direction>& to, const elements& e,
              const std::function<void(comm::direction)>& before = {});
void reduce_all(pe_context& pe, const std::vector<comm::direction>& from, const elements& e,
                const std::function<void(comm::direction)>& before = {});
void receive_all(pe_context& pe, comm::direction from, const elements& e);

/// Both ends of `dir` swap the range and both end with the sum of the two.
void swap_and_reduce(pe_context& pe, comm::direction dir, const elements& e);
/// Sends one range and receives another through the same queue pair.
void swap(pe_context& pe, comm::direction dir, const elements& sent, const elements& received,
          pe_context::arrival how);

}  // namespace diecast::sw
