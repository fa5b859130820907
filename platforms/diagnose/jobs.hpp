// SPDX-License-Identifier: Apache-2.0
// Jobs that experiments run instead of the one that was given, as workload files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diecast::diagnose {

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
/// the order they come while they come.
[[nodiscard]] std::string messages_to_each(std::uint32_t pes);

/// The workload with every stream so many times; empty when the text is none that can be read (an MSCCL
/// program).
[[nodiscard]] std::optional<std::string> repeated(const std::string& workload, std::uint64_t times);

}  // namespace diecast::diagnose
