// SPDX-License-Identifier: Apache-2.0
// The decisions of one PE's IPCQ engine without time: registers, queue pairs, matching, events.
// hw/ipcq and sw/mock_machine wrap the same object, so that firmware sees one engine.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/registers.hpp"
#include "models/abi/wire.hpp"
#include "models/config/machine_config.hpp"
#include "models/protocol/queue_pair.hpp"
#include "models/types/archive.hpp"
#include "models/types/ids.hpp"
#include "models/types/immovable.hpp"

namespace diecast {
enum class fault_kind : std::uint8_t;
}

namespace diecast::protocol {

/// The engine's request to send a message: read `source`, write to `fields.match_address` at `mailbox`.
struct send_request {
  std::uint16_t qp{};
  abi::address source{};
  abi::address mailbox{};
  abi::ipcq_fields fields;
};

/// The engine's request to send a credit to `mailbox`.
struct credit_request {
  std::uint16_t qp{};
  abi::address mailbox{};
  abi::ipcq_fields fields;
};

/// State of one queue pair as registers hold it. A plain value: a dump is a copy.
struct queue_pair_state {
  bool tx{}, rx{};
  sequence_space space;
  std::uint32_t n_slots{}, slot_bytes{};
  std::uint32_t my_head{}, my_tail{}, peer_head_cache{}, peer_tail_cache{};
  abi::address rx_base{}, peer_rx_base{}, peer_ipcq{};
  pe_coord peer{};  ///< diagnostic only
  abi::address tx_source{};
  std::uint32_t sends{};                          ///< doorbells accepted, modulo 2^32
  std::uint32_t sources_read{};                   ///< doorbells whose sources the DMA has read
  std::uint32_t source_read_target{};             ///< `sends` when arm_source_read was last written
  std::uint64_t armed{};                          ///< abi::arm_* bits pending
  std::vector<std::uint32_t> slot_message_bytes;  ///< bytes of the message in each rx slot
  std::vector<std::uint32_t> slot_checks;         ///< QP_TX_CHECK of each slot
  std::uint32_t tx_check{};
  std::optional<std::uint32_t> last_token;   ///< sequence of the last token received
  std::optional<std::uint32_t> last_credit;  ///< sequence of the last credit received

  [[nodiscard]] std::uint32_t free_slots() const {
    return n_slots - space.distance(peer_tail_cache, my_head);
  }
  [[nodiscard]] std::uint32_t available() const { return space.distance(my_tail, peer_head_cache); }
  /// No firmware waits, nothing sent is unread or unreleased, nothing received is unreleased.
  [[nodiscard]] bool at_rest() const {
    if (armed != 0 || (tx && (my_head != peer_tail_cache || sources_read != sends))) return false;
    return !rx || my_tail == peer_head_cache;
  }
  DIECAST_MEMBERS(tx, rx, space, n_slots, slot_bytes, my_head, my_tail, peer_head_cache, peer_tail_cache,
                  rx_base, peer_rx_base, peer_ipcq, peer, tx_source, sends, sources_read, source_read_target,
                  armed, slot_message_bytes, slot_checks, tx_check, last_token, last_credit)
  [[nodiscard]] abi::address tx_slot() const {
    return peer_rx_base + std::uint64_t{space.slot(my_head)} * slot_bytes;
  }
  [[nodiscard]] abi::address rx_slot() const {
    return rx_base + std::uint64_t{space.slot(my_tail)} * slot_bytes;
  }
};

/// Largest ring an engine holds.
inline constexpr std::uint32_t max_slots = 65'536;

/// One line of a pointer dump: queue pair <-> rx base, four pointers, last sequences, waiters, peer.
[[nodiscard]] std::string describe(const std::string& direction, const queue_pair_state& state);

/// How an arriving token or credit finds its queue pair. `address` is the rule; `sender`
/// exists to show a deadlock: it cannot distinguish two queue pairs to one peer.
class match_policy : public abstract_interface {
 public:
  /// Called after install registers changed.
  virtual void rebuild(const std::vector<queue_pair_state>& qps) = 0;
  [[nodiscard]] virtual std::optional<std::uint16_t> token(const abi::ipcq_fields& f) const = 0;
  [[nodiscard]] virtual std::optional<std::uint16_t> credit(const abi::ipcq_fields& f) const = 0;
  /// True when an unexpected sequence number ends the run as a protocol error; false when it is only counted.
  [[nodiscard]] virtual bool checks_sequence() const = 0;
};
[[nodiscard]] std::unique_ptr<match_policy> match_by_address();
[[nodiscard]] std::unique_ptr<match_policy> match_by_sender();

class ipcq_core {
 public:
  ipcq_core(pe_coord self, std::uint32_t queue_pairs, std::unique_ptr<match_policy> match);
  ipcq_core(pe_coord self, const config::ipcq_block& config);

  /// Effect of a register write. At most one of the two is present.
  struct effects {
    std::optional<send_request> send;
    std::optional<credit_request> credit;
  };

  /// True for the registers of the IPCQ engine: 0x000..0x0ff and the queue pairs. The DMA's and the
  /// core's registers belong to other blocks; passing one of them to this object throws logic_error.
  [[nodiscard]] static bool owns(abi::register_offset reg);

  /// Register access by firmware (side effects). A register that does not exist, or not in this
  /// mode, queues a bad_register error (a read then returns all ones). A value that does not fit
  /// its register throws out_of_range. Writing qp_arm adds requests; writing 0 to it withdraws all
  /// of the queue pair's.
  effects write_register(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] std::uint64_t read_register(abi::register_offset reg);
  /// Register access by the host's backdoor: no side effects, events or pops. Throws out_of_range
  /// for a register that does not exist or cannot be set, and for a value that does not fit.
  void debug_write(abi::register_offset reg, std::uint64_t value);
  [[nodiscard]] std::uint64_t debug_read(abi::register_offset reg) const;

  /// The DMA has read the last source byte of the oldest unread send of `qp`.
  void source_read(std::uint16_t qp);
  /// A whole message has been written and acknowledged. Throws protocol_error with the address and
  /// the whole direction map when no ring holds the address, or when the sequence is not the next
  /// one. Returns the queue pair.
  std::uint16_t token_arrived(const abi::ipcq_fields& token);
  /// A credit arrived; throws protocol_error as token_arrived does. Returns the queue pair.
  std::uint16_t credit_arrived(const abi::ipcq_fields& credit);

  /// Events of other blocks that share this PE's event queue (DMA completions).
  void push_event(abi::ipcq_event_word event);
  [[nodiscard]] bool event_pending() const { return !events_.empty(); }
  /// The oldest event; kind none when there is none.
  [[nodiscard]] abi::ipcq_event_word oldest_event() const {
    return events_.empty() ? abi::ipcq_event_word{} : events_.front();
  }

  /// All events that firmware has not read, oldest first.
  [[nodiscard]] const std::deque<abi::ipcq_event_word>& events() const { return events_; }

  [[nodiscard]] const std::vector<queue_pair_state>& queue_pairs() const { return qps_; }
  [[nodiscard]] pe_coord self() const { return self_; }
  [[nodiscard]] std::uint64_t sequence_mismatches() const { return sequence_mismatches_; }
  /// One line per enabled queue pair: direction <-> rx base, four pointers, waiters.
  [[nodiscard]] std::string dump() const;

 private:
  [[nodiscard]] const queue_pair_state* find(abi::register_offset reg, std::uint16_t& qp) const;
  [[nodiscard]] std::optional<std::uint64_t> look(abi::register_offset reg, std::uint16_t& qp) const;
  effects refuse(abi::engine_error error, std::uint16_t qp);
  void arm(std::uint16_t qp, std::uint64_t bits);
  void check_arms(std::uint16_t qp);
  effects ring_doorbell(std::uint16_t qp, std::uint64_t bytes);
  effects release(std::uint16_t qp, std::uint64_t new_tail);
  void set_field(std::uint16_t qp, abi::register_offset field, std::uint64_t value);
  const match_policy& matcher();
  /// Why this token cannot be the next one of its ring; empty when it is.
  [[nodiscard]] static std::string token_fault(const queue_pair_state& s, const abi::ipcq_fields& token);
  [[noreturn]] void fail(fault_kind kind, const abi::ipcq_fields& fields, const std::string& why,
                         std::optional<std::uint16_t> qp = std::nullopt) const;

  pe_coord self_;
  std::vector<queue_pair_state> qps_;
  std::unique_ptr<match_policy> match_;
  bool match_stale_{true};
  std::deque<abi::ipcq_event_word> events_;
  std::uint64_t last_error_{};
  std::uint64_t sequence_mismatches_{};
};

}  // namespace diecast::protocol
