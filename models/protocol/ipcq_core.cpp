// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/ipcq_core.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <utility>

#include "models/protocol/fault_record.hpp"
#include "models/types/error.hpp"

namespace diecast::protocol {
namespace {

using abi::engine_error;
using abi::register_offset;

constexpr register_offset first_foreign = abi::dma_source;  // registers of the DMA and the core
constexpr std::uint64_t all_arms = abi::arm_receive | abi::arm_send_space | abi::arm_source_read;

register_offset field_of(register_offset reg) { return (reg - abi::ipcq_qp_base) % abi::ipcq_qp_stride; }

std::uint64_t within(pe_coord self, register_offset reg, std::uint64_t value, std::uint64_t limit) {
  if (value <= limit) return value;
  throw formatted<std::out_of_range>("ipcq of {}: register {:#x} cannot hold {:#x} (expected at most {:#x})",
                                     owner_name(self), reg, value, limit);
}

std::uint32_t word(pe_coord self, register_offset reg, std::uint64_t value) {
  return static_cast<std::uint32_t>(within(self, reg, value, std::numeric_limits<std::uint32_t>::max()));
}

/// Contents of a readable queue-pair register; empty for others.
std::optional<std::uint64_t> get_field(const queue_pair_state& s, register_offset field) {
  switch (field) {
    case abi::qp_control:
      return (s.tx ? abi::qp_control_tx_enable : 0) | (s.rx ? abi::qp_control_rx_enable : 0);
    case abi::qp_my_head: return s.my_head;
    case abi::qp_my_tail: return s.my_tail;
    case abi::qp_peer_head_cache: return s.peer_head_cache;
    case abi::qp_peer_tail_cache: return s.peer_tail_cache;
    case abi::qp_rx_base: return s.rx_base;
    case abi::qp_n_slots: return s.n_slots;
    case abi::qp_slot_bytes: return s.slot_bytes;
    case abi::qp_peer_rx_base: return s.peer_rx_base;
    case abi::qp_peer_ipcq: return s.peer_ipcq;
    case abi::qp_peer_coord: return abi::pack_peer(s.peer);
    case abi::qp_tx_source: return s.tx_source;
    case abi::qp_tx_status: return abi::status_halves{s.free_slots(), s.sources_read}.pack();
    case abi::qp_rx_status: {
      const std::uint32_t held = s.available();
      const std::uint32_t oldest = held == 0 ? 0 : s.slot_message_bytes[s.space.slot(s.my_tail)];
      return abi::status_halves{held, oldest}.pack();
    }
    case abi::qp_arm: return s.armed;
    case abi::qp_tx_check: return s.tx_check;
    case abi::qp_rx_check: return s.available() == 0 ? 0 : s.slot_checks[s.space.slot(s.my_tail)];
    default: return std::nullopt;
  }
}

bool settable(register_offset field) {
  return std::ranges::any_of(abi::register_map(), [field](const abi::register_description& r) {
    return r.offset == abi::qp_register(0, field) && r.mode == abi::access::read_write;
  });
}

/// One line per enabled queue pair, with marks for their names.
std::string marked_dump(pe_coord self, const std::vector<queue_pair_state>& qps) {
  constexpr unsigned name_width = 12;
  std::string text;
  for (std::size_t i = 0; i < qps.size(); ++i) {
    if (!qps[i].tx && !qps[i].rx) continue;
    if (!text.empty()) text += '\n';
    text += describe(comm::queue_pair_mark(self, static_cast<comm::direction>(i), name_width), qps[i]);
  }
  return text.empty() ? "  no queue pair is enabled" : text;
}

}  // namespace

ipcq_core::ipcq_core(pe_coord self, std::uint32_t queue_pairs, std::unique_ptr<match_policy> match)
    : self_(self), qps_(queue_pairs), match_(std::move(match)) {
  if (queue_pairs == 0 || queue_pairs > std::numeric_limits<std::uint16_t>::max()) {
    throw formatted<std::invalid_argument>("ipcq of {}: {} queue pairs (expected 1 to 65535)",
                                           owner_name(self), queue_pairs);
  }
  if (!match_) throw std::invalid_argument("ipcq of " + owner_name(self) + ": no match policy");
}

ipcq_core::ipcq_core(pe_coord self, const config::ipcq_block& config)
    : ipcq_core(self, static_cast<std::uint32_t>(config.queue_pairs),
                config.match == config::match_policy::address ? match_by_address() : match_by_sender()) {}

bool ipcq_core::owns(register_offset reg) { return reg < first_foreign || reg >= abi::ipcq_qp_base; }

/// The queue pair a register belongs to; null when it belongs to none. `qp` is its index.
const queue_pair_state* ipcq_core::find(register_offset reg, std::uint16_t& qp) const {
  qp = 0;
  if (!owns(reg)) {
    throw formatted<std::logic_error>(
        "register {:#x} is not the IPCQ engine's (its own are below {:#x} and from {:#x})", reg,
        first_foreign, abi::ipcq_qp_base);
  }
  if (reg < abi::ipcq_qp_base) return nullptr;
  const register_offset index = (reg - abi::ipcq_qp_base) / abi::ipcq_qp_stride;
  if (index >= qps_.size()) return nullptr;
  qp = static_cast<std::uint16_t>(index);
  return &qps_[index];
}

ipcq_core::effects ipcq_core::refuse(engine_error error, std::uint16_t qp) {
  const auto code = static_cast<std::uint32_t>(error);
  last_error_ = abi::status_halves{code, qp}.pack();
  events_.push_back({abi::event_kind::error, false, qp, code});
  return {};
}

ipcq_core::effects ipcq_core::write_register(register_offset reg, std::uint64_t value) {
  std::uint16_t qp{};
  if (find(reg, qp) == nullptr) return refuse(engine_error::bad_register, qp);
  const register_offset field = field_of(reg);
  if (field == abi::qp_tx_doorbell) return ring_doorbell(qp, value);
  if (field == abi::qp_my_tail) return release(qp, value);
  if (field == abi::qp_arm) {
    arm(qp, within(self_, reg, value, all_arms));
  } else if (settable(field)) {
    set_field(qp, field, value);
    check_arms(qp);
  } else {
    refuse(engine_error::bad_register, qp);
  }
  return {};
}

/// Contents of a register; empty where none can be read.
std::optional<std::uint64_t> ipcq_core::look(register_offset reg, std::uint16_t& qp) const {
  const queue_pair_state* s = find(reg, qp);
  if (reg == abi::ipcq_event) {
    abi::ipcq_event_word event = events_.empty() ? abi::ipcq_event_word{} : events_.front();
    event.more = events_.size() > 1;
    return event.pack();
  }
  if (reg == abi::ipcq_error) return last_error_;
  if (reg == abi::ipcq_queue_pairs) return qps_.size();
  return s == nullptr ? std::nullopt : get_field(*s, field_of(reg));
}

std::uint64_t ipcq_core::read_register(register_offset reg) {
  std::uint16_t qp{};
  const auto value = look(reg, qp);
  if (reg == abi::ipcq_event && !events_.empty()) events_.pop_front();
  if (value) return *value;
  refuse(engine_error::bad_register, qp);
  return std::numeric_limits<std::uint64_t>::max();
}

void ipcq_core::debug_write(register_offset reg, std::uint64_t value) {
  std::uint16_t qp{};
  if (find(reg, qp) == nullptr || !settable(field_of(reg))) {
    throw formatted<std::out_of_range>("ipcq of {}: no register {:#x} that can be set", owner_name(self_),
                                       reg);
  }
  set_field(qp, field_of(reg), value);
}

std::uint64_t ipcq_core::debug_read(register_offset reg) const {
  std::uint16_t qp{};
  if (const auto value = look(reg, qp)) return *value;
  throw formatted<std::out_of_range>("ipcq of {}: no register {:#x} that can be read", owner_name(self_),
                                     reg);
}

void ipcq_core::set_field(std::uint16_t qp, register_offset field, std::uint64_t value) {
  queue_pair_state& s = qps_[qp];
  const register_offset reg = abi::qp_register(qp, field);
  switch (field) {
    case abi::qp_control:
      within(self_, reg, value, abi::qp_control_tx_enable | abi::qp_control_rx_enable);
      s.tx = (value & abi::qp_control_tx_enable) != 0;
      s.rx = (value & abi::qp_control_rx_enable) != 0;
      break;
    case abi::qp_my_head: s.my_head = word(self_, reg, value); break;
    case abi::qp_my_tail: s.my_tail = word(self_, reg, value); break;
    case abi::qp_peer_head_cache: s.peer_head_cache = word(self_, reg, value); break;
    case abi::qp_peer_tail_cache: s.peer_tail_cache = word(self_, reg, value); break;
    case abi::qp_rx_base: s.rx_base = value; break;
    case abi::qp_n_slots:
      s.n_slots = static_cast<std::uint32_t>(within(self_, reg, value, max_slots));
      s.space = s.n_slots == 0 ? sequence_space{} : sequence_space{s.n_slots};
      s.slot_message_bytes.assign(s.n_slots, 0);
      s.slot_checks.assign(s.n_slots, 0);
      break;
    case abi::qp_slot_bytes: s.slot_bytes = word(self_, reg, value); break;
    case abi::qp_peer_rx_base: s.peer_rx_base = value; break;
    case abi::qp_peer_ipcq: s.peer_ipcq = value; break;
    case abi::qp_peer_coord: s.peer = abi::unpack_peer(within(self_, reg, value, 0xffff'ffff'ffff)); break;
    case abi::qp_tx_source: s.tx_source = value; return;
    case abi::qp_tx_check: s.tx_check = word(self_, reg, value); return;
    case abi::qp_arm:
      s.armed = within(self_, reg, value, all_arms);
      s.source_read_target = s.sends;
      return;
    default: throw formatted<std::logic_error>("register {:#x} is not settable", reg);
  }
  match_stale_ = true;
}

void ipcq_core::arm(std::uint16_t qp, std::uint64_t bits) {
  queue_pair_state& s = qps_[qp];
  if (bits == 0) {
    s.armed = 0;
    return;
  }
  // A wait on a half that does not exist could never end: it is refused.
  if ((bits & abi::arm_receive) != 0 && !s.rx) {
    refuse(engine_error::rx_disabled, qp);
    bits &= ~abi::arm_receive;
  }
  if ((bits & ~abi::arm_receive) != 0 && !s.tx) {
    refuse(engine_error::tx_disabled, qp);
    bits &= abi::arm_receive;
  }
  s.armed |= bits;
  if ((bits & abi::arm_source_read) != 0) s.source_read_target = s.sends;
  check_arms(qp);
}

void ipcq_core::check_arms(std::uint16_t qp) {
  queue_pair_state& s = qps_[qp];
  const auto fire = [&](std::uint64_t bit, bool holds, abi::event_kind kind, std::uint32_t value) {
    if ((s.armed & bit) == 0 || !holds) return;
    s.armed &= ~bit;
    events_.push_back({kind, false, qp, value});
  };
  fire(abi::arm_receive, s.available() != 0, abi::event_kind::receive, s.available());
  fire(abi::arm_send_space, s.free_slots() != 0, abi::event_kind::send_space, s.free_slots());
  const bool read = static_cast<std::int32_t>(s.sources_read - s.source_read_target) >= 0;
  fire(abi::arm_source_read, read, abi::event_kind::source_read, s.sources_read);
}

ipcq_core::effects ipcq_core::ring_doorbell(std::uint16_t qp, std::uint64_t bytes) {
  queue_pair_state& s = qps_[qp];
  if (!s.tx) return refuse(engine_error::tx_disabled, qp);
  if (bytes > s.slot_bytes) return refuse(engine_error::oversize, qp);
  if (s.free_slots() == 0) return refuse(engine_error::ring_full, qp);
  send_request out{
      qp,
      s.tx_source,
      s.peer_ipcq,
      {s.tx_slot(), s.my_head, static_cast<std::uint32_t>(bytes), self_, qp, std::exchange(s.tx_check, 0)}};
  s.my_head = s.space.next(s.my_head);
  ++s.sends;
  return {out, std::nullopt};
}

ipcq_core::effects ipcq_core::release(std::uint16_t qp, std::uint64_t new_tail) {
  queue_pair_state& s = qps_[qp];
  if (!s.rx) return refuse(engine_error::rx_disabled, qp);
  const bool in_space = new_tail < s.space.modulus();
  const std::uint32_t released =
      in_space ? s.space.distance(s.my_tail, static_cast<std::uint32_t>(new_tail)) : 0;
  if (released == 0 || released > s.available()) return refuse(engine_error::tail_beyond_head, qp);
  s.my_tail = static_cast<std::uint32_t>(new_tail);
  return {std::nullopt, credit_request{qp, s.peer_ipcq, {s.rx_base, s.my_tail, 0, self_, qp}}};
}

void ipcq_core::source_read(std::uint16_t qp) {
  queue_pair_state& s = qps_.at(qp);
  if (s.sources_read == s.sends) {
    throw formatted<std::logic_error>("ipcq of {} {}: a source was read that no doorbell rang for",
                                      owner_name(self_), comm::direction_name(qp));
  }
  ++s.sources_read;
  check_arms(qp);
}

const match_policy& ipcq_core::matcher() {
  if (match_stale_) {
    match_->rebuild(qps_);
    match_stale_ = false;
  }
  return *match_;
}

void ipcq_core::fail(fault_kind kind, const abi::ipcq_fields& f, const std::string& why,
                     std::optional<std::uint16_t> qp) const {
  fault_record r{kind, owner_name(self_), self_, owner_name(f.source), f.source, qp, f.source_direction};
  r.sequence = f.sequence;
  r.address = f.match_address;
  r.bytes = f.message_bytes;
  r.text = why;
  r.dump = marked_dump(self_, qps_);
  if (qp) {
    const queue_pair_state& s = qps_[*qp];
    r.expected = s.peer_head_cache;
    r.ring = {s.rx_base, s.rx_base + std::uint64_t{s.n_slots} * s.slot_bytes};
  }
  throw fault_error(std::move(r));
}

std::string ipcq_core::token_fault(const queue_pair_state& s, const abi::ipcq_fields& token) {
  if (token.sequence != s.peer_head_cache) return fmt::format("expected sequence {}", s.peer_head_cache);
  if (s.available() >= s.n_slots) return fmt::format("all {} slots hold data not yet released", s.n_slots);
  const abi::address slot = s.rx_base + std::uint64_t{s.space.slot(token.sequence)} * s.slot_bytes;
  if (token.match_address != slot)
    return fmt::format("this sequence belongs into the slot at {:#018x}", slot);
  if (token.message_bytes > s.slot_bytes) return fmt::format("a slot holds {} bytes", s.slot_bytes);
  return {};
}

std::uint16_t ipcq_core::token_arrived(const abi::ipcq_fields& token) {
  const auto qp = matcher().token(token);
  if (!qp) fail(fault_kind::token_rejected, token, "no receive ring holds the address; the rings are");
  queue_pair_state& s = qps_[*qp];
  if (s.n_slots == 0) fail(fault_kind::token_rejected, token, "the ring has no slots");
  const std::string fault = token_fault(s, token);
  if (!fault.empty() && match_->checks_sequence()) {
    fail(token.sequence != s.peer_head_cache ? fault_kind::token_sequence : fault_kind::token_rejected, token,
         fmt::format("matched {}, but {}", comm::queue_pair_mark(self_, *qp), fault), *qp);
  }
  std::uint32_t advance = 1;
  if (!fault.empty()) {
    // This faulty engine takes the larger of the two heads, which hides a wrongly counted token.
    if (token.sequence != s.peer_head_cache) ++sequence_mismatches_;
    const std::uint32_t ahead = s.space.distance(s.peer_head_cache, s.space.next(token.sequence));
    advance = ahead <= s.n_slots - s.available() ? ahead : 0;
  }
  s.slot_message_bytes[s.space.slot(token.sequence)] = token.message_bytes;
  s.slot_checks[s.space.slot(token.sequence)] = token.check;
  s.last_token = token.sequence;
  s.peer_head_cache = s.space.advance(s.peer_head_cache, advance);
  check_arms(*qp);
  return *qp;
}

std::uint16_t ipcq_core::credit_arrived(const abi::ipcq_fields& credit) {
  const auto qp = matcher().credit(credit);
  if (!qp) fail(fault_kind::credit_rejected, credit, "no queue pair sends to that ring; the rings are");
  queue_pair_state& s = qps_[*qp];
  s.last_credit = credit.sequence;
  const std::uint32_t unreturned = s.space.distance(s.peer_tail_cache, s.my_head);
  const bool in_space = credit.sequence < s.space.modulus();
  const std::uint32_t returned = in_space ? s.space.distance(s.peer_tail_cache, credit.sequence) : 0;
  if (returned != 0 && returned <= unreturned) {
    s.peer_tail_cache = credit.sequence;
  } else if (match_->checks_sequence()) {
    fail(fault_kind::credit_rejected, credit,
         fmt::format("matched {}, but it returns none of the slots in use ({} after {})",
                     comm::queue_pair_mark(self_, *qp), unreturned, s.peer_tail_cache),
         *qp);
  } else {
    ++sequence_mismatches_;
  }
  check_arms(*qp);
  return *qp;
}

void ipcq_core::push_event(abi::ipcq_event_word event) { events_.push_back(event); }

std::string ipcq_core::dump() const { return comm::with_names(marked_dump(self_, qps_)); }

std::string describe(const std::string& direction, const queue_pair_state& s) {
  std::string halves = s.tx && s.rx ? "tx+rx" : s.tx ? "tx" : s.rx ? "rx" : "off";
  std::string waiters;
  const auto waiter = [&](std::uint64_t bit, const char* what) {
    if ((s.armed & bit) == 0) return;
    if (!waiters.empty()) waiters += ',';
    waiters += what;
  };
  waiter(abi::arm_receive, "receive");
  waiter(abi::arm_send_space, "send_space");
  waiter(abi::arm_source_read, "source_read");
  const auto last = [](const std::optional<std::uint32_t>& sequence) {
    return sequence ? fmt::format("{}", *sequence) : std::string("none");
  };
  return fmt::format(
      "  {:<12} {:<5} rx_base {:#018x} peer_rx_base {:#018x} ({} x {} B) my_head {} my_tail {} "
      "peer_head_cache {} peer_tail_cache {} last token {} last credit {} waiters {} peer {}",
      direction, halves, s.rx_base, s.peer_rx_base, s.n_slots, s.slot_bytes, s.my_head, s.my_tail,
      s.peer_head_cache, s.peer_tail_cache, last(s.last_token), last(s.last_credit),
      waiters.empty() ? "none" : waiters, owner_name(s.peer));
}

}  // namespace diecast::protocol
