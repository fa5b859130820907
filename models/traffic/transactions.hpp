// SPDX-License-Identifier: Apache-2.0
// Transactions of a network study: what cores issue in which network, and which terminals answer for memory
// controllers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/config/machine_config.hpp"

namespace diecast::traffic {

/// posted_write: a write that is not acknowledged. barrier: waits until every transaction issued before by
/// its core in its network is complete.
enum class transaction_op : std::uint8_t { read, write, posted_write, atomic, barrier };
inline constexpr unsigned transaction_ops = 5;
[[nodiscard]] const char* to_string(transaction_op op);

struct transaction {
  transaction_op op{};
  std::uint32_t target{};  ///< node; not of a barrier
  std::uint64_t bytes{};   ///< bytes of a read or write
  /// Earliest cycle of its issue; empty: `after` alone decides.
  std::optional<std::uint64_t> at;
  /// Cycles after the issue of the operation before in its stream, of a barrier after its end.
  std::uint64_t after{};
};

/// What one core issues in one network, in order.
struct transaction_stream {
  std::uint32_t core{};  ///< node
  std::uint32_t network{};
  std::vector<transaction> operations;
};

struct transaction_plan {
  std::string file;
  std::vector<transaction_stream> streams;
};

/// The terminal of no memory controller.
inline constexpr std::uint32_t no_controller = UINT32_MAX;
/// By node, the memory controller it answers for. Throws user_error naming noc.dram_tiles when a tile lies
/// outside the network or is named twice.
[[nodiscard]] std::vector<std::uint32_t> controllers_of(const config::noc_block& noc);
/// By node, requests that may wait there.
[[nodiscard]] std::vector<std::uint32_t> request_queues(const config::noc_block& noc);

}  // namespace diecast::traffic
