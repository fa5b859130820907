// SPDX-License-Identifier: Apache-2.0
// Which ranks to try instead of all, to find the fewest that show a fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/laboratory.hpp"

namespace diecast::diagnose {

using rank_list = std::vector<std::uint32_t>;

[[nodiscard]] rank_list first_ranks(std::uint32_t n);

/// The halves; of three, whose halves are single ranks, the pairs. None of fewer.
[[nodiscard]] std::vector<rank_list> parts_of(const rank_list& ranks);

/// SIP of each of so many ranks as the monitors of their cores name it. Empty where they do not tell: a core
/// that never ran has none.
[[nodiscard]] std::vector<std::uint32_t> sips_of(const observation& o, std::uint32_t ranks);

/// PE of each rank of a run among all its PEs, as the monitors of their cores name it. Empty where they do
/// not tell.
[[nodiscard]] std::vector<std::string> pes_of(const observation& o);

/// Ranks of so many that are next to two others, and none of them; each once.
[[nodiscard]] rank_list beside(const rank_list& two, std::size_t count);

/// A pair of ranks for each pair of SIPs, the first rank of each; of one SIP or none: none. First the pairs
/// that places of findings name, then SIPs next to each other, with the one that closes the ring, then what
/// lies further apart.
[[nodiscard]] std::vector<rank_list> pairs_across(const std::vector<std::uint32_t>& sips,
                                                  const std::vector<finding>& found);

/// "0, 2, 4 to 7": of ascending ranks, those in a row by the first and the last.
[[nodiscard]] std::string to_text(const rank_list& ranks);

}  // namespace diecast::diagnose
