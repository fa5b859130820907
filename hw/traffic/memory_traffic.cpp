// SPDX-License-Identifier: Apache-2.0
#include "hw/traffic/memory_traffic.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

// Kinds of due work in the order of handling: answers first, so that a closed loop continues.
constexpr std::uint64_t wake = UINT64_MAX;
constexpr std::uint64_t end_response = std::uint64_t{1} << 32;  // below: index of an answered request

unsigned char all_disabled[] = {TLM_BYTE_DISABLED};

}  // namespace

struct memory_traffic::transaction : tlm::tlm_generic_payload {
  transaction(memory_traffic& owner, std::uint32_t number) : tlm_generic_payload(&owner), index(number) {}
  std::uint32_t index;
  sim_time arrival;
  sim_time accepted;
  bool answered{};
  std::vector<unsigned char> data;
  std::vector<std::byte> expected;  ///< data that a checked read must return
  std::vector<bool> known;          ///< bytes of `expected` that were written before
};

memory_traffic::memory_traffic(sc_core::sc_module_name module_name, const memory_pacing& pacing,
                               traffic::request_source& source, bool check, fault_sink& faults)
    : sc_module(module_name), pacing_(pacing), source_(source), faults_(faults) {
  if (check) shadow_ = std::make_unique<sparse_memory>(name(), UINT64_MAX, false);
  socket.bind(*static_cast<tlm::tlm_bw_transport_if<>*>(this));
}

memory_traffic::~memory_traffic() = default;

void memory_traffic::act() {
  guarded(faults_, name(), [this] {
    std::uint64_t key = 0;
    while (calendar_.take(key)) {
      if (key == wake) continue;
      transaction& t = *all_[key & UINT32_MAX];
      if ((key & end_response) != 0) {
        tlm::tlm_phase phase = tlm::END_RESP;
        sc_core::sc_time delay;
        socket->nb_transport_fw(t, phase, delay);
      }
      retire(t);
    }
    issue();
    report_finished();
  });
}

/// Whether a request has arrived; if not, the calendar holds the next arrival.
bool memory_traffic::arrived() {
  using kind = memory_pacing::kind;
  if (!have_next_) {
    if (exhausted_) return false;
    if (!source_.next(next_)) {
      exhausted_ = true;
      return false;
    }
    have_next_ = true;
    switch (pacing_.how) {
      case kind::evenly:
        next_arrival_ = {
            static_cast<std::uint64_t>(static_cast<double>(issued_) * pacing_.interval_fs + 0.5)};
        break;
      case kind::recorded: next_arrival_ = next_.arrival; break;
      case kind::greedily: next_arrival_ = now(); break;
      case kind::closed: break;
    }
    if (pacing_.how != kind::closed && next_arrival_ > now()) calendar_.put(next_arrival_, wake);
  }
  if (pacing_.how == kind::closed) {
    next_arrival_ = now();
    return in_flight_ < pacing_.outstanding;
  }
  return next_arrival_ <= now();
}

void memory_traffic::issue() {
  while (requesting_ == nullptr && arrived()) {
    if (channel_free_ > now()) return calendar_.put(channel_free_, wake);
    have_next_ = false;
    ++issued_;
    begin(next_, next_arrival_);
  }
}

void memory_traffic::begin(const traffic::memory_request& r, sim_time arrival) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<transaction>(*this, static_cast<std::uint32_t>(all_.size())));
    free_.push_back(all_.back().get());
  }
  transaction& t = *free_.back();
  free_.pop_back();
  t.acquire();
  fill(t, r);
  t.arrival = arrival;
  t.answered = false;
  ++in_flight_;
  requesting_ = &t;
  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  const tlm::tlm_sync_enum status = socket->nb_transport_fw(t, phase, delay);
  if (status == tlm::TLM_ACCEPTED) return;
  const sim_time at = now() + sim_time{delay.value()};
  requesting_ = nullptr;
  t.accepted = channel_free_ = at;
  if (status == tlm::TLM_COMPLETED) {
    answered(t, at);
  } else if (phase == tlm::BEGIN_RESP) {
    t.answered = true;
    calendar_.put(at, end_response | t.index);
  } else if (phase != tlm::END_REQ) {
    throw protocol_error("{}: the memory answers BEGIN_REQ with phase {} (expected END_REQ or BEGIN_RESP)",
                         name(), phase.get_name());
  }
}

void memory_traffic::fill(transaction& t, const traffic::memory_request& r) {
  t.set_command(r.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
  t.set_address(r.address);
  t.set_data_length(r.bytes);
  t.set_streaming_width(r.bytes);
  t.set_dmi_allowed(false);
  t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  if (!shadow_) {
    if (scratch_.size() < r.bytes) scratch_.resize(r.bytes);
    t.set_data_ptr(scratch_.data());
    t.set_byte_enable_ptr(all_disabled);
    t.set_byte_enable_length(1);
    return;
  }
  t.data.resize(r.bytes);
  t.set_data_ptr(t.data.data());
  const auto bytes = std::as_writable_bytes(std::span{t.data});
  if (r.write) {
    // Distinguishes every write of a run from every other: the request's number, mixed over the bytes.
    for (std::size_t i = 0; i < bytes.size(); ++i)
      t.data[i] = static_cast<unsigned char>((issued_ * 0x9e3779b97f4a7c15U >> (i % 8 * 8)) + i);
    shadow_->write(r.address, bytes);
    return;
  }
  t.expected.resize(r.bytes);
  shadow_->peek(r.address, t.expected);
  t.known = shadow_->written(r.address, r.bytes);
}

void memory_traffic::check_data(const transaction& t) {
  if (!shadow_ || t.is_write()) return;
  if (std::ranges::find(t.known, true) == t.known.end()) return;
  ++results_.checked_reads;
  for (std::size_t i = 0; i < t.data.size(); ++i) {
    if (!t.known[i] || std::byte{t.data[i]} == t.expected[i]) continue;
    if (results_.wrong_reads++ == 0) {
      results_.first_wrong = fmt::format(
          "{}: read of {} B at {:#x} returned {:#04x} in byte {} (expected {:#04x}, written before)", name(),
          t.data.size(), t.get_address(), t.data[i], i, static_cast<unsigned>(t.expected[i]));
    }
    return;
  }
}

tlm::tlm_sync_enum memory_traffic::nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                                   sc_core::sc_time& delay) {
  auto& t = static_cast<transaction&>(payload);
  const sim_time at = now() + sim_time{delay.value()};
  if (phase == tlm::END_REQ && requesting_ == &t) {
    requesting_ = nullptr;
    t.accepted = channel_free_ = at;
    if (have_next_ || !exhausted_) wake_at(at);
    return tlm::TLM_ACCEPTED;
  }
  if (phase != tlm::BEGIN_RESP || t.answered) {
    throw protocol_error("{}: unexpected phase {} on the backward path (address {:#x})", name(),
                         phase.get_name(), t.get_address());
  }
  if (requesting_ == &t) {  // a response stands for the END_REQ before it
    requesting_ = nullptr;
    t.accepted = channel_free_ = at;
    wake_at(at);
  }
  answered(t, at);
  return tlm::TLM_COMPLETED;
}

/// The response is complete at `at`.
void memory_traffic::answered(transaction& t, sim_time at) {
  t.answered = true;
  if (at > now()) return calendar_.put(at, t.index);
  retire(t);
  if (pacing_.how == memory_pacing::kind::closed) wake_at(at);
}

void memory_traffic::wake_at(sim_time at) {
  if (at > now()) return calendar_.put(at, wake);
  go_.set(now());
}

void memory_traffic::retire(transaction& t) {
  const bool write = t.is_write();
  if (t.get_response_status() != tlm::TLM_OK_RESPONSE) {
    throw protocol_error("{}: the {} of {} B at {:#x} was answered with {} (expected TLM_OK_RESPONSE)",
                         name(), write ? "write" : "read", t.get_data_length(), t.get_address(),
                         t.get_response_string());
  }
  check_data(t);
  (write ? results_.writes : results_.reads).add(now() - t.arrival);
  (write ? results_.writes_accepted : results_.reads_accepted).add(now() - t.accepted);
  results_.bytes += t.get_data_length();
  results_.last_response = now();
  --in_flight_;
  t.release();
  report_finished();
}

void memory_traffic::report_finished() {
  if (!finished() || !on_finished_) return;
  // Cleared before the call: the function is called once only, whatever it does.
  const auto call = std::exchange(on_finished_, nullptr);
  call();
}

void memory_traffic::free(tlm::tlm_generic_payload* payload) {
  free_.push_back(static_cast<transaction*>(payload));
}

}  // namespace diecast::hw
