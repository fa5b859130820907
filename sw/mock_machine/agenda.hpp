// SPDX-License-Identifier: Apache-2.0
// Everything that can happen next on the mock machine, and the messages, credits and copies that
// are in flight. Each step of a message is a separate candidate: reading its source, writing each
// half of its bytes, delivering its token. Messages of one queue pair keep their order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "models/protocol/copy_port.hpp"
#include "models/protocol/data_cache.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/protocol/tag_core.hpp"
#include "models/types/immovable.hpp"
#include "sw/mock_machine/memory_map.hpp"
#include "sw/mock_machine/message_work.hpp"

namespace diecast::sw {

// Selects the next candidate of the mock machine. Everything that can happen at a moment is a candidate: a PE
// that can run, a source that can be read, bytes that can be written, a token or credit that can
// arrive, a DMA copy or a write-back of a cache line that can be done. A scheduler picks one.

enum class schedule : std::uint8_t {
  round_robin,  ///< oldest first, PEs and deliveries in turn; a PE runs until it waits
  random,       ///< any candidate; a PE may be interrupted at every register access
  adversarial   ///< newest first, some kinds or one PE held back until nothing else can move
};
[[nodiscard]] const char* to_string(schedule s);

struct candidate {
  enum class kind : std::uint8_t { run, read_source, write_data, token, credit, dma, write_back, message };
  kind what{};
  std::uint32_t pe{};   ///< index of the PE that runs, sent, copies, or returned the credit
  std::uint32_t qp{};   ///< queue pair; of write_back: cache line; of message: step of message_work
  bool polling{};       ///< run: the PE found no event and will only poll again
  std::uint64_t age{};  ///< count of the moment it became possible
};

class scheduler : public abstract_interface {
 public:
  /// Index of the next candidate. Precondition: not empty; candidates in order of age.
  [[nodiscard]] virtual std::size_t pick(const std::vector<candidate>& candidates) = 0;
  /// A PE yields at every register access, not only when it waits.
  [[nodiscard]] virtual bool interrupts() const = 0;
};

/// `pes`: of the machine, to choose a victim among.
[[nodiscard]] std::unique_ptr<scheduler> make_scheduler(schedule order, std::uint64_t seed,
                                                        std::uint32_t pes);

using copy_job = protocol::copy_request;

class agenda {
 public:
  /// Objects on which steps act; all functions take the index of a PE.
  struct targets {
    memory_map& memory;
    machine_shape shape;
    std::function<protocol::ipcq_core&(std::uint32_t)> engine;
    std::function<void(std::uint32_t)> copy_done;
    std::function<protocol::tag_core&(std::uint32_t)> tag_unit;
    std::optional<comm::tree_install> tree{};
  };
  explicit agenda(targets t);

  /// Oldest first.
  [[nodiscard]] const std::vector<candidate>& candidates() const { return candidates_; }

  void add_run(std::uint32_t pe, bool polling) { add(candidate::kind::run, pe, 0, polling); }
  /// The PE has a new event: clears `polling` of its candidate.
  void revive(std::uint32_t pe);
  void add_effects(std::uint32_t pe, const protocol::ipcq_core::effects& effects);
  void add_copy(std::uint32_t pe, const copy_job& job);
  void add_tag_effects(std::uint32_t pe, const protocol::tag_effects& effects) {
    messages_.add_effects(pe, effects);
  }
  /// A line leaves the PE's data cache and reaches memory some time later, in any order.
  void add_write_back(std::uint32_t pe, const protocol::data_cache::line& line);
  /// Performs now the PE's pending write-backs of this line, or of all.
  void finish_write_backs(std::uint32_t pe, std::optional<abi::address> line);

  /// Takes the candidate off the list.
  candidate take(std::size_t index);
  /// Performs a step that is not `run`; returns the PE whose engine may have a new event.
  std::uint32_t perform(const candidate& step);

 private:
  struct message {
    protocol::send_request request;
    std::vector<std::byte> bytes;
    std::size_t written{};
  };
  struct flow {
    std::deque<protocol::send_request> unread;
    std::deque<message> in_flight;
    std::deque<protocol::credit_request> credits;
  };

  void add(candidate::kind what, std::uint32_t pe, std::uint32_t qp, bool polling = false);
  /// The first of a queue is a candidate; the next one becomes one when it is taken.
  template <class Item>
  void post(std::deque<Item>& queue, Item item, candidate::kind what, std::uint32_t pe, std::uint32_t qp) {
    queue.push_back(std::move(item));
    if (queue.size() == 1) add(what, pe, qp);
  }
  template <class Item>
  [[nodiscard]] Item take_first(std::deque<Item>& queue, const candidate& step, candidate::kind what) {
    Item first = std::move(queue.front());
    queue.pop_front();
    if (!queue.empty()) add(what, step.pe, step.qp);
    return first;
  }
  flow& flow_of(std::uint32_t pe, std::uint32_t qp) { return flows_[{pe, qp}]; }
  void read_source(const candidate& step);
  void pass_on(const std::vector<tree_work::onward>& messages);
  void write_data(const candidate& step);
  std::uint32_t deliver_token(const candidate& step);
  std::uint32_t deliver_credit(const candidate& step);
  void copy(const candidate& step);
  void write_line(std::uint32_t pe, std::uint32_t number);

  targets targets_;
  std::vector<candidate> candidates_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, flow> flows_;
  std::map<std::uint32_t, std::deque<copy_job>> copies_;
  message_work messages_;
  std::optional<tree_work> tree_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, protocol::data_cache::line> lines_;
  std::uint32_t next_line_{};
  std::uint64_t age_{};
};

}  // namespace diecast::sw
