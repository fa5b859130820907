// SPDX-License-Identifier: Apache-2.0
// The tree in the network as the mock machine has it: one switch that all members are on. What it makes of
// messages and credits goes on as flows of their own, one per receiver, so that the scheduler decides their
// order. It adds in the order of the members; routers add in the order of their tree, so rounded sums may
// differ from theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/protocol/queue_pair.hpp"

namespace diecast::sw {

class tree_work {
 public:
  /// A message or a credit on its way to one PE.
  struct onward {
    pe_coord to;
    abi::tree_flow flow{};
    protocol::send_request message;  ///< down and up
    std::vector<std::byte> bytes;
    protocol::credit_request credit;  ///< credits, and down of reductions
    bool is_credit{};
  };

  explicit tree_work(const comm::tree_install& tree);

  /// A member's message, whose source has been read. Throws protocol_error when contributions differ.
  [[nodiscard]] std::vector<onward> take(const protocol::send_request& message, std::vector<std::byte> bytes);
  /// A member's credit. Throws protocol_error for one that is no member's.
  [[nodiscard]] std::vector<onward> take(const protocol::credit_request& credit);

 private:
  struct contribution {
    protocol::send_request message;
    std::vector<std::byte> bytes;
  };
  struct member {
    comm::tree_install::member who;
    std::deque<contribution> waiting;
    std::uint32_t tail{};
    std::uint64_t credits{};
  };
  [[nodiscard]] member& member_of(pe_coord pe);
  [[nodiscard]] std::optional<onward> sum();

  comm::tree_install tree_;
  protocol::sequence_space space_;
  std::vector<member> members_;
  std::uint64_t credits_sent_{};
  std::uint32_t tail_sent_{};
};

/// The message or credit goes to a tree.
[[nodiscard]] bool is_for_tree(abi::address mailbox);

}  // namespace diecast::sw
