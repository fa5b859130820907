// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/memory_ni.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

enum class ni_work : std::uint64_t { request_done, response, wake };
constexpr unsigned ni_work_shift = 62;
constexpr std::uint64_t atomic_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t ni_key(ni_work w, std::uint64_t index = 0) {
  return static_cast<std::uint64_t>(w) << ni_work_shift | index;
}

}  // namespace

struct memory_ni::transaction : tlm::tlm_generic_payload {
  transaction(memory_ni& owner, std::uint32_t number) : tlm_generic_payload(&owner), index(number) {}
  std::uint32_t index;
  packet_ptr request;
  packet_ptr response;
  bool atomic{};  ///< the read or the write of an atomic_add
  std::array<std::byte, atomic_bytes> sum{};
  bool end_resp_owed{};  ///< the response came with a return, so END_RESP needs a call
};

memory_ni::memory_ni(sc_core::sc_module_name module_name, const fabric::topology& topology,
                     const config::machine_config& config, abi::node_address self,
                     const memory_ni_setup& setup, packet_pool& pool, fault_sink& faults)
    : sc_module(module_name),
      faults_(faults),
      setup_(setup),
      pool_(pool),
      piece_bytes_(config.noc.max_packet_bytes),
      terminal_("terminal", topology, config, self, *this),
      scratch_(config.noc.max_packet_bytes) {
  memory.bind(*static_cast<tlm::tlm_bw_transport_if<>*>(this));
}

memory_ni::~memory_ni() = default;

void memory_ni::on_packet(const packet_ptr& p, std::uint8_t vc) {
  guarded(faults_, name(), [&] {
    const abi::packet_header& h = p->header;
    if (h.kind != abi::packet_kind::read_request && h.kind != abi::packet_kind::write_request &&
        h.kind != abi::packet_kind::atomic_add) {
      throw protocol_error(
          "{}: a {} packet came to a memory (value {}; expected read_request, write_request or atomic_add)",
          name(), abi::to_string(h.kind), abi::describe(h.target));
    }
    if (setup_.move_data && p->data.size() != h.payload_bytes) {
      throw protocol_error("{}: {} for {} carries {} bytes (expected {}, its payload_bytes)", name(),
                           abi::to_string(h.kind), abi::describe(h.target), p->data.size(), h.payload_bytes);
    }
    inbox_.push_back({p, vc, local_offset(h.target, setup_.kind, setup_.unit, name()), 0});
    issue();
  });
}

void memory_ni::on_sent(abi::traffic_class) {
  guarded(faults_, name(), [this] { issue(); });
}

bool memory_ni::may_issue() const {
  return !requesting_ && !inbox_.empty() &&
         in_flight_.size() + terminal_.waiting(abi::traffic_class::response) < setup_.outstanding;
}

void memory_ni::issue() {
  while (!requesting_ && !sums_.empty()) {
    transaction& t = *sums_.front();
    sums_.pop_front();
    send_to_memory(t);
  }
  while (may_issue()) {
    incoming& front = inbox_.front();
    const abi::packet_header& h = front.request->header;
    const bool write = h.kind != abi::packet_kind::read_request;
    const std::uint64_t total = write ? h.payload_bytes : h.request_bytes;
    if (h.kind == abi::packet_kind::atomic_add && total != atomic_bytes) {
      throw protocol_error("{}: atomic_add of {} bytes at {} (expected {})", name(), total,
                           abi::describe(h.target), atomic_bytes);
    }
    if (total == 0) {  // nothing to ask the memory for
      terminal_.send(response_to(*front.request, 0, 0));
      drop_front();
      continue;
    }
    const std::uint64_t bytes = std::min(piece_bytes_, total - front.taken);
    if (conflicts(front.offset + front.taken, bytes, write)) return;
    transaction& t = begin(front, bytes);
    front.taken += bytes;
    if (front.taken == total) drop_front();
    send(t);
  }
}

void memory_ni::drop_front() {
  terminal_.release(inbox_.front().vc, inbox_.front().request->flits);
  inbox_.pop_front();
}

bool memory_ni::conflicts(std::uint64_t offset, std::uint64_t bytes, bool write) const {
  return std::ranges::any_of(in_flight_, [&](const transaction* t) {
    return (write || t->atomic || t->is_write()) && offset < t->get_address() + t->get_data_length() &&
           t->get_address() < offset + bytes;
  });
}

memory_ni::transaction& memory_ni::take() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<transaction>(*this, static_cast<std::uint32_t>(all_.size())));
    free_.push_back(all_.back().get());
  }
  transaction& t = *free_.back();
  free_.pop_back();
  t.acquire();
  return t;
}

void memory_ni::aim(transaction& t, bool write, std::uint64_t offset, std::uint64_t bytes) {
  t.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  t.set_address(offset);
  t.set_data_length(static_cast<unsigned>(bytes));
  t.set_streaming_width(static_cast<unsigned>(bytes));
  t.set_dmi_allowed(false);
  t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
}

/// Sets the payload's bytes to read or write; none when the run moves no data.
void memory_ni::lend(transaction& t, std::byte* data) {
  static unsigned char all_disabled[] = {TLM_BYTE_DISABLED};
  t.set_data_ptr(setup_.move_data ? reinterpret_cast<unsigned char*>(data) : scratch_.data());
  t.set_byte_enable_ptr(setup_.move_data ? nullptr : all_disabled);
  t.set_byte_enable_length(setup_.move_data ? 0 : 1);
}

memory_ni::transaction& memory_ni::begin(const incoming& from, std::uint64_t bytes) {
  transaction& t = take();
  const bool write = from.request->header.kind == abi::packet_kind::write_request;
  t.request = from.request;
  t.response = response_to(*from.request, from.taken, bytes);
  t.end_resp_owed = false;
  t.atomic = from.request->header.kind == abi::packet_kind::atomic_add;
  aim(t, write, from.offset + from.taken, bytes);
  std::vector<std::byte>& bytes_of = write ? t.request->data : t.response->data;
  lend(t, setup_.move_data ? bytes_of.data() + (write ? from.taken : 0) : nullptr);
  ++(write ? writes_ : reads_);
  return t;
}

packet_ptr memory_ni::response_to(const packet& request, std::uint64_t taken, std::uint64_t bytes) const {
  const abi::packet_header& h = request.header;
  packet_ptr p = pool_.make();
  p->header.destination = abi::origin_of(h);
  p->header.target = h.target;
  p->header.transaction = h.transaction;
  p->header.offset = h.offset + static_cast<std::uint32_t>(taken);
  p->header.request_bytes = h.request_bytes;
  p->header.ipcq = h.ipcq;
  p->header.kind = abi::packet_kind::write_response;
  if (h.kind != abi::packet_kind::write_request) {
    p->header.kind = abi::packet_kind::read_response;
    p->header.payload_bytes = static_cast<std::uint32_t>(bytes);
    if (setup_.move_data) p->data.resize(bytes);
  }
  return p;
}

void memory_ni::send(transaction& t) {
  in_flight_.push_back(&t);
  send_to_memory(t);
}

/// The write of an atomic_add takes the place of its read, so no overlapping access comes between the two.
void memory_ni::write_sum(const transaction& read) {
  transaction& t = take();
  t.atomic = true;
  t.request = read.request;
  t.response = read.response;
  t.end_resp_owed = false;
  aim(t, true, read.get_address(), atomic_bytes);
  if (setup_.move_data) {
    std::uint64_t sum = 0, operand = 0;
    std::memcpy(&sum, t.response->data.data(), sizeof sum);
    std::memcpy(&operand, t.request->data.data(), sizeof operand);
    sum += operand;
    std::memcpy(t.sum.data(), &sum, sizeof sum);
  }
  lend(t, t.sum.data());
  ++writes_;
  in_flight_.push_back(&t);
  sums_.push_back(&t);
  calendar_.put(now(), ni_key(ni_work::wake));
}

void memory_ni::send_to_memory(transaction& t) {
  requesting_ = true;
  last_ = &t;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  const tlm::tlm_sync_enum answer = memory->nb_transport_fw(t, phase, delay);
  if (answer == tlm::TLM_ACCEPTED) return;
  const sim_time ahead{delay.value()};
  if (answer == tlm::TLM_COMPLETED) {
    end_request(ahead);
    end(t, ahead);
  } else if (phase == tlm::END_REQ) {
    end_request(ahead);
  } else if (phase == tlm::BEGIN_RESP) {
    t.end_resp_owed = true;
    end_request(ahead);
    end(t, ahead);
  } else {
    throw protocol_error("{}: the memory answered BEGIN_REQ with phase {} (expected END_REQ or BEGIN_RESP)",
                         name(), phase.get_name());
  }
}

tlm::tlm_sync_enum memory_ni::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                              sc_core::sc_time& delay) {
  tlm::tlm_sync_enum answer = tlm::TLM_ACCEPTED;
  guarded(faults_, name(), [&] {
    auto& t = static_cast<transaction&>(payload);
    const sim_time ahead{delay.value()};
    if (phase == tlm::END_REQ) {
      end_request(ahead);
    } else if (phase == tlm::BEGIN_RESP) {
      if (requesting_ && last_ == &t) end_request(ahead);  // a response ends its request, too
      answer = tlm::TLM_COMPLETED;
      end(t, ahead);
    } else {
      throw protocol_error(
          "{}: unexpected phase on the backward path (value {}; expected END_REQ or BEGIN_RESP)", name(),
          phase.get_name());
    }
    // The next request leaves from act(), not from within the memory's own call.
    if (!inbox_.empty() || !sums_.empty()) calendar_.put(now(), ni_key(ni_work::wake));
  });
  return answer;
}

void memory_ni::end_request(sim_time delay) {
  if (delay > sim_time{}) {
    calendar_.put(now() + delay, ni_key(ni_work::request_done));
  } else {
    requesting_ = false;
  }
}

void memory_ni::end(transaction& t, sim_time delay) {
  if (delay > sim_time{}) {
    calendar_.put(now() + delay, ni_key(ni_work::response, t.index));
  } else {
    complete(t);
  }
}

void memory_ni::complete(transaction& t) {
  if (t.is_response_error()) {
    throw protocol_error("{}: the memory refused a {} of {} bytes at offset {:#x} (value {}; from {})",
                         name(), t.is_write() ? "write" : "read", t.get_data_length(), t.get_address(),
                         t.get_response_string(), abi::describe(t.request->header.target));
  }
  std::erase(in_flight_, &t);
  if (t.atomic && !t.is_write()) {
    write_sum(t);
    t.response = {};
  }
  packet_ptr response = std::move(t.response);
  t.response = {};
  t.request = {};
  if (t.end_resp_owed) {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay;
    memory->nb_transport_fw(t, phase, delay);
  }
  t.release();
  if (response) terminal_.send(std::move(response));
}

void memory_ni::free(tlm::tlm_generic_payload* payload) {
  payload->reset();
  free_.push_back(static_cast<transaction*>(payload));
}

void memory_ni::act() {
  guarded(faults_, name(), [this] {
    std::uint64_t key = 0;
    while (calendar_.take(key)) {
      switch (static_cast<ni_work>(key >> ni_work_shift)) {
        case ni_work::request_done: requesting_ = false; break;
        case ni_work::response: complete(*all_[key & UINT32_MAX]); break;
        case ni_work::wake: break;
      }
    }
    issue();
  });
}

unsigned memory_ni::on_debug(tlm::tlm_generic_payload& access) {
  tlm::tlm_generic_payload inner;
  inner.set_command(access.get_command());
  inner.set_address(local_offset(access.get_address(), setup_.kind, setup_.unit, name()));
  inner.set_data_ptr(access.get_data_ptr());
  inner.set_data_length(access.get_data_length());
  inner.set_streaming_width(access.get_data_length());
  const unsigned bytes = memory->transport_dbg(inner);
  access.set_response_status(inner.get_response_status());
  return bytes;
}

}  // namespace diecast::hw
