// SPDX-License-Identifier: Apache-2.0
// What each collective is: what --bytes counts, what every rank contributes and receives, which
// ranks end with the same output, how busbw is defined. Definitions of nccl-tests (PERFORMANCE.md)
// for the sizes and the bus bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace diecast::comm {

enum class collective : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv,  ///< every rank sends to the next rank and receives from the one before, cyclically
  barrier
};

/// All of them, in the order of the enumeration.
[[nodiscard]] const std::vector<collective>& all_collectives();

/// Name as given to --collective: "all_reduce".
[[nodiscard]] const char* to_string(collective c);
/// The collective to_string gives this name.
[[nodiscard]] std::optional<collective> collective_named(std::string_view name);

/// What --bytes (and kernel_arguments::count) counts: the vector of each rank, or the total over the
/// ranks, of which each has one part.
enum class size_meaning : std::uint8_t { per_rank, total };
[[nodiscard]] size_meaning size_meaning_of(collective c);

/// Elements are combined by a reduction (--op has a meaning).
[[nodiscard]] bool reduces(collective c);
/// One rank, the root, has a part of its own.
[[nodiscard]] bool has_root(collective c);
/// Every rank ends with the same output by definition. False where outputs differ by design or only
/// the root has one.
[[nodiscard]] bool outputs_equal(collective c);

/// Consecutive elements of a vector.
struct element_range {
  std::uint64_t begin{};
  std::uint64_t count{};
  friend bool operator==(const element_range&, const element_range&) = default;
};

/// Part `index` of `parts` nearly equal ones of `count` elements: [count * index / parts,
/// count * (index + 1) / parts). Parts may be empty. Precondition: parts > 0, index <= parts,
/// count * parts < 2^64.
[[nodiscard]] element_range part_of(std::uint64_t count, std::uint64_t index, std::uint64_t parts);

/// A collective of `count` elements (size_meaning_of) over `ranks`; root is ignored where there is none.
struct collective_shape {
  collective what{collective::all_reduce};
  std::uint64_t count{};
  std::uint32_t ranks{1};
  std::uint32_t root{};
};

/// Elements `rank` contributes; 0 for those who contribute nothing (broadcast: all but the root).
[[nodiscard]] std::uint64_t input_elements(const collective_shape& s, std::uint32_t rank);
/// Elements of the output of `rank`; 0 for those without one (reduce, gather: all but the root).
/// all_to_all: one block of the size of part `rank` from every rank.
[[nodiscard]] std::uint64_t output_elements(const collective_shape& s, std::uint32_t rank);

/// The largest of any rank.
[[nodiscard]] std::uint64_t largest_input(const collective_shape& s);
[[nodiscard]] std::uint64_t largest_output(const collective_shape& s);

/// busbw = algbw x this: all_reduce 2(n-1)/n; reduce_scatter, all_gather, all_to_all, gather, scatter
/// (n-1)/n; the others 1.
[[nodiscard]] double bus_bandwidth_factor(collective c, std::uint64_t ranks);

}  // namespace diecast::comm
