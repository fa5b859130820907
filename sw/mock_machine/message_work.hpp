// SPDX-License-Identifier: Apache-2.0
// What tag-matching units of the mock machine have in flight: commands, messages, reads. Each next step is a
// candidate of the agenda. Messages between two PEs keep their order, commands of one PE keep theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/protocol/queue_pair.hpp"
#include "models/protocol/tag_core.hpp"
#include "sw/mock_machine/memory_map.hpp"

namespace diecast::sw {

class message_work {
 public:
  struct targets {
    memory_map& memory;
    machine_shape shape;
    std::function<protocol::tag_core&(std::uint32_t)> unit;         ///< returns the unit of a PE, by index
    std::function<void(std::uint32_t pe, std::uint32_t step)> add;  ///< a candidate
  };
  explicit message_work(targets t) : targets_(std::move(t)) {}

  void add_effects(std::uint32_t pe, const protocol::tag_effects& effects);
  /// Performs a step that was added; returns the PE whose unit may have something new.
  std::uint32_t perform(std::uint32_t step);

 private:
  enum class kind : std::uint8_t { command, source, deliver, land, read };
  struct step {
    kind what{};
    std::uint32_t pe{};
    std::uint32_t other{};  ///< deliver: the receiver
  };
  struct message {
    abi::tag_fields fields;
    std::vector<std::byte> bytes;
  };
  struct landing {
    abi::address to{};
    std::vector<std::byte> bytes;
    std::uint32_t ticket{};
  };

  void add(kind what, std::uint32_t pe, std::uint32_t other = 0);
  /// The first of a queue is a step; the next one becomes one when it is taken.
  template <class Item>
  void put(std::deque<Item>& queue, Item item, kind what, std::uint32_t pe, std::uint32_t other = 0) {
    queue.push_back(std::move(item));
    if (queue.size() == 1) add(what, pe, other);
  }
  template <class Item>
  [[nodiscard]] Item take(std::deque<Item>& queue, kind what, std::uint32_t pe, std::uint32_t other = 0) {
    Item first = std::move(queue.front());
    queue.pop_front();
    if (!queue.empty()) add(what, pe, other);
    return first;
  }
  void post(std::uint32_t from, std::uint32_t to, message m);
  void send_source(std::uint32_t pe);
  void deliver(std::uint32_t from, std::uint32_t to);
  void land(std::uint32_t pe);
  void read(std::uint32_t pe);

  targets targets_;
  std::map<std::uint32_t, step> steps_;
  std::uint32_t next_step_{};
  std::map<std::uint32_t, std::deque<protocol::tag_command>> commands_;
  std::map<std::uint32_t, std::deque<protocol::tag_send_request>> sends_;
  std::map<std::uint32_t, std::deque<protocol::tag_read_request>> reads_;
  std::map<std::uint32_t, std::deque<landing>> landings_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<message>> flows_;
};

/// The tree in the network on the mock machine: one switch that connects all members. The messages and
/// credits that it sends are flows of their own, one per receiver, so that the scheduler decides their order.
/// It adds in the order of the members; routers add in the order of their tree, so rounded sums may differ
/// from theirs.
class tree_work {
 public:
  /// A message or a credit in flight to one PE.
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
