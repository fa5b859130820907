// SPDX-License-Identifier: Apache-2.0
// Jobs that experiments run instead of the one that was given, as workload files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/findings.hpp"

namespace diecast::diagnose {

/// Bytes of a collective whose messages are of several packets and load every link that they cross: 16
/// packets of 256 bytes for each of 16 ranks.
inline constexpr std::uint64_t many_bytes = 65536;
/// Cycles of firmware between two messages of a PE in which the first one, of a slot, is flushed on any
/// machine of the presets. Nothing moves in this time, so the watchdog's period is a hundred times as long.
inline constexpr const char* slow_firmware = "ccl.kernel_call_cycles=20000";
inline constexpr const char* target_watchdog = "sim.watchdog_us=2000";

/// A collective or barrier on some of the machine's ranks. Empty texts and 0 bytes are left to the simulator.
struct collective_job {
  std::string collective, algorithm, dtype, reduction;
  std::string rank_set;              ///< pe, cube or sip
  std::vector<std::uint32_t> ranks;  ///< members of that set; none: all
  std::uint64_t bytes{};
};
[[nodiscard]] std::string workload_of(const collective_job& job);

/// Every PE sends around the ring of all PEs, matched by their tags: messages small enough to be eager, and
/// messages of so many bytes.
[[nodiscard]] std::string ring_of_messages(std::uint64_t bytes);

/// Barriers in a row, by pulls and by dissemination in turn, among that many PEs. PEs look at the signals of
/// all others of their group: a large machine has several.
[[nodiscard]] std::string barriers_among(std::uint32_t pes);

/// In groups of sixteen PEs every PE in turn gets tag-matched messages from all others, which it receives in
/// the order of arrival while others arrive.
[[nodiscard]] std::string messages_to_each(std::uint32_t pes);

/// The workload with every stream repeated; empty when the text is no readable workload (but an MSCCL
/// program).
[[nodiscard]] std::optional<std::string> repeated(const std::string& workload, std::uint64_t times);

// Ranks to try instead of all, to find the fewest that show a fault.

using rank_list = std::vector<std::uint32_t>;

[[nodiscard]] rank_list first_ranks(std::uint32_t n);

/// The halves of a list of ranks; of three ranks the pairs, as halves would be single ranks; none of fewer.
[[nodiscard]] std::vector<rank_list> parts_of(const rank_list& ranks);

/// SIP of each of so many ranks as the monitors of their cores name it. Empty where one is missing: a core
/// that never ran has none.
[[nodiscard]] std::vector<std::uint32_t> sips_of(const observation& o, std::uint32_t ranks);

/// PE of each rank of a run among all its PEs, as the monitors of their cores name it. Empty where one
/// is missing.
[[nodiscard]] std::vector<std::string> pes_of(const observation& o);

/// Neighbors of the ranks `two`, among `count` ranks, without these two; each once.
[[nodiscard]] rank_list beside(const rank_list& two, std::size_t count);

/// A pair of ranks for each pair of SIPs, the first rank of each; without pairs for fewer than two SIPs.
/// First the pairs that places of findings name, then SIPs next to each other, with the one that closes the
/// ring, then what lies further apart.
[[nodiscard]] std::vector<rank_list> pairs_across(const std::vector<std::uint32_t>& sips,
                                                  const std::vector<finding>& found);

/// "0, 2, 4 to 7": of ascending ranks, those in a row by the first and the last.
[[nodiscard]] std::string to_text(const rank_list& ranks);

}  // namespace diecast::diagnose
