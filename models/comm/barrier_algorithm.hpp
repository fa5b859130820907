// SPDX-License-Identifier: Apache-2.0
// The three barriers over ranks and what each does by construction: how many signals and checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace diecast::comm {

enum class barrier_algorithm : std::uint8_t { centralized_pull, dissemination, group_dissemination };
[[nodiscard]] const char* to_string(barrier_algorithm a);
[[nodiscard]] std::optional<barrier_algorithm> barrier_named(std::string_view name);

/// Rounds of a dissemination with this radix: ceil(log_radix ranks). Throws std::invalid_argument for a radix
/// below 2.
[[nodiscard]] std::uint32_t dissemination_rounds(std::uint64_t ranks, std::uint64_t radix);

/// Work of one rank in one barrier; the barrier as a whole has `ranks` times as many.
struct barrier_work {
  std::uint64_t signals_set{};
  std::uint64_t flags_checked{};
};
/// `radix` is that of group_dissemination, for which the result is empty below 2: it never ends.
[[nodiscard]] std::optional<barrier_work> work_of(barrier_algorithm a, std::uint32_t ranks,
                                                  std::uint32_t radix);

}  // namespace diecast::comm
