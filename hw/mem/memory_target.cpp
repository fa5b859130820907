// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/memory_target.hpp"

#include <algorithm>

#include "hw/mem/debug_port.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

// Kinds of due work in the order of handling: top bits of a key, above the response's sequence and id.
enum class work : std::uint64_t { wake, arrival, response_done, response, admission };
constexpr unsigned work_shift = 61;
constexpr unsigned id_bits = 20;

constexpr std::uint64_t key_of(work w, std::uint64_t sequence = 0, std::uint32_t id = 0) {
  const std::uint64_t order = sequence & ((std::uint64_t{1} << (work_shift - id_bits)) - 1);
  return static_cast<std::uint64_t>(w) << work_shift | order << id_bits | id;
}

}  // namespace

memory_target::memory_target(sc_core::sc_module_name module_name, std::uint64_t bytes, std::uint64_t queue,
                             bool strict, fault_sink& faults)
    : sc_module(module_name), faults_(faults), memory_(name(), bytes, strict), queue_(queue) {
  socket.bind(*static_cast<tlm::tlm_fw_transport_if<>*>(this));
}

tlm::tlm_sync_enum memory_target::nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                  sc_core::sc_time& delay) {
  if (phase == tlm::END_RESP) {
    if (!responding_ || requests_[current_].payload != &payload) {
      throw protocol_error("{}: END_RESP of a request that has no response under way", name());
    }
    close(current_);
    calendar_.put(now() + sim_time{delay.value()}, key_of(work::response_done));
    return tlm::TLM_COMPLETED;
  }
  if (phase != tlm::BEGIN_REQ) {
    throw protocol_error(
        "{}: unexpected phase on the forward path (value {}; expected BEGIN_REQ or END_RESP)", name(),
        phase.get_name());
  }
  if (held_ != nullptr) {
    throw protocol_error("{}: BEGIN_REQ before END_REQ of the request before it (value address {:#x})",
                         name(), payload.get_address());
  }
  payload.acquire();
  if (delay == sc_core::SC_ZERO_TIME && has_room(payload.is_write())) {
    accept(payload, nullptr);
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
  }
  held_ = &payload;
  held_arrived_ = delay == sc_core::SC_ZERO_TIME;
  held_since_ = now() + sim_time{delay.value()};
  if (!held_arrived_) {
    calendar_.put(held_since_, key_of(work::arrival));
  } else {
    on_held(payload.is_write());
  }
  return tlm::TLM_ACCEPTED;
}

void memory_target::b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  if (delay != sc_core::SC_ZERO_TIME) wait(delay);
  delay = sc_core::SC_ZERO_TIME;
  while (held_ != nullptr || !has_room(payload.is_write())) {
    if (!room_) room_.emplace();
    if (held_ == nullptr) on_held(payload.is_write());
    wait(*room_);
  }
  sc_core::sc_event done;
  accept(payload, &done);
  wait(done);
}

bool memory_target::get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) {
  dmi.allow_none();
  return false;
}

unsigned memory_target::transport_dbg(tlm::tlm_generic_payload& payload) {
  return debug_transport(memory_, payload.get_address(), payload);
}

tlm::tlm_response_status memory_target::refusal(const tlm::tlm_generic_payload& payload) const {
  const std::uint64_t bytes = payload.get_data_length();
  if (bytes == 0 || payload.get_streaming_width() < bytes) return tlm::TLM_BURST_ERROR_RESPONSE;
  if (payload.get_address() > memory_.size() || bytes > memory_.size() - payload.get_address())
    return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  return tlm::TLM_OK_RESPONSE;
}

void memory_target::accept(tlm::tlm_generic_payload& payload, sc_core::sc_event* blocking) {
  if (free_ids_.empty()) {
    free_ids_.push_back(static_cast<request_id>(requests_.size()));
    requests_.emplace_back();
  }
  const request_id id = free_ids_.back();
  free_ids_.pop_back();
  requests_[id] = {&payload, sequence_++, blocking, true};
  ++queued_;
  const tlm::tlm_response_status status = refusal(payload);
  payload.set_response_status(status);
  if (status != tlm::TLM_OK_RESPONSE || payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    finish(id, now() + femtoseconds(1));
    return;
  }
  move_bytes(payload);
  ++(payload.is_write() ? counters_.writes : counters_.reads);
  (payload.is_write() ? counters_.bytes_written : counters_.bytes_read) += payload.get_data_length();
  start(id, payload.get_address(), payload.get_data_length(), payload.is_write());
}

void memory_target::move_bytes(const tlm::tlm_generic_payload& payload) {
  auto* data = reinterpret_cast<std::byte*>(payload.get_data_ptr());
  const std::uint64_t at = payload.get_address();
  const std::uint64_t bytes = payload.get_data_length();
  const unsigned char* enable = payload.get_byte_enable_ptr();
  const auto move = [&](std::uint64_t from, std::uint64_t n) {
    if (payload.is_write()) {
      memory_.write(at + from, {data + from, n});
    } else {
      memory_.read(at + from, {data + from, n});
    }
  };
  if (enable == nullptr) return move(0, bytes);
  const std::uint64_t pattern = payload.get_byte_enable_length();
  if (pattern == 1 && enable[0] == TLM_BYTE_DISABLED) return;
  for (std::uint64_t i = 0; i < bytes;) {
    std::uint64_t end = i;
    while (end < bytes && enable[end % pattern] != TLM_BYTE_DISABLED) ++end;
    if (end > i) move(i, end - i);
    i = end + 1;
  }
}

void memory_target::finish(request_id id, sim_time at) {
  calendar_.put(at, key_of(work::response, requests_[id].sequence, id));
}

void memory_target::admit_at(sim_time at) { calendar_.put(std::max(at, now()), key_of(work::admission)); }

void memory_target::wake_at(sim_time at) { calendar_.put(std::max(at, now()), key_of(work::wake)); }

void memory_target::leave_queue(request_id id) {
  request& r = requests_[id];
  if (!r.queued) return;
  r.queued = false;
  --queued_;
  announce_room();
  if (held_ != nullptr && held_arrived_) calendar_.put(now(), key_of(work::admission));
}

void memory_target::act() {
  guarded(faults_, name(), [this] {
    advance();
    std::uint64_t key = 0;
    while (calendar_.take(key)) {
      switch (static_cast<work>(key >> work_shift)) {
        case work::wake: break;
        case work::arrival: held_arrived_ = true; break;
        case work::response_done: responding_ = false; break;
        case work::response: finished_.push_back(static_cast<request_id>(key & ((1U << id_bits) - 1))); break;
        case work::admission: announce_room(); break;
      }
    }
    respond();
    admit_held();
  });
}

void memory_target::admit_held() {
  while (held_ != nullptr && held_arrived_) {
    if (!has_room(held_->is_write())) {
      on_held(held_->is_write());
      return;
    }
    tlm::tlm_generic_payload& payload = *held_;
    held_ = nullptr;
    if (now() > held_since_) ++counters_.held_requests;
    accept(payload, nullptr);
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay;
    socket->nb_transport_bw(payload, phase, delay);
  }
}

void memory_target::respond() {
  while (!responding_ && !finished_.empty()) {
    const request_id id = finished_.front();
    finished_.pop_front();
    leave_queue(id);
    if (requests_[id].blocking != nullptr) {
      requests_[id].blocking->notify(sc_core::SC_ZERO_TIME);
      close(id);
      continue;
    }
    current_ = id;
    responding_ = true;
    tlm::tlm_phase phase = tlm::BEGIN_RESP;
    sc_core::sc_time delay;
    if (socket->nb_transport_bw(*requests_[id].payload, phase, delay) == tlm::TLM_ACCEPTED) continue;
    // END_RESP came with the return, valid after `delay`.
    close(id);
    if (delay == sc_core::SC_ZERO_TIME) {
      responding_ = false;
    } else {
      calendar_.put(now() + sim_time{delay.value()}, key_of(work::response_done));
    }
  }
}

void memory_target::close(request_id id) {
  request& r = requests_[id];
  if (r.blocking == nullptr) r.payload->release();
  r = {};
  free_ids_.push_back(id);
}

/// Queue entries. The memory's network interface has no more requests in flight: END_REQ is never delayed.
constexpr std::uint64_t queue = config::least_memory_window;

simple_memory::simple_memory(sc_core::sc_module_name module_name, const config::sram_block& sram, bool strict,
                             fault_sink& faults)
    : memory_target(module_name, sram.kib * 1024, queue, strict, faults),
      server_(sram.gbytes_s),
      latency_(nanoseconds(sram.latency_ns)) {}

void simple_memory::start(request_id id, std::uint64_t, std::uint64_t bytes, bool) {
  finish(id, server_.serve(now(), bytes) + latency_);
}

}  // namespace diecast::hw
