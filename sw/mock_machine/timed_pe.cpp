// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_pe.hpp"

#include <algorithm>
#include <utility>

#include "models/config/overrides.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"
#include "sw/mock_machine/memory_map.hpp"

namespace diecast::sw {
namespace {

/// Operands follow each other through the vector unit in blocks of this many bytes, as in hw/pe.
constexpr std::uint64_t vector_block = 1024;
constexpr std::uint64_t request_cycles = 1;  ///< a request goes from one block of a PE to the next

}  // namespace

timed_pe::timed_pe(pe_coord self, std::uint32_t index, const setup& s)
    : self_(self),
      index_(index),
      config_(s.config),
      block_(config::pe_block_of(s.config, self).value_or(s.config.pe)),
      board_(s.board),
      events_(s.events),
      memory_(s.memory),
      scheduler_(s.scheduler),
      data_(s.data),
      clock_(clock_domain::from_ghz(s.config.noc.clock_ghz)),
      phase_{clock_.period.fs / 2},
      core_(self, s.config.ipcq),
      fingerprint_(pe_path(s.config.shape(), self) + ".ipcq") {}

void timed_pe::launch(sim_time start, std::function<void(abi::hal&)> firmware, std::function<void()> ended) {
  const auto entry = [this, run = std::move(firmware), ended = std::move(ended)](coroutine&& scheduler) {
    scheduler_ = std::move(scheduler);
    started_ = events_.now() - phase_;
    try {
      run(*this);
      wait_owed();
    } catch (const coroutine::unwind&) {
      throw;
    } catch (...) {
      error_ = std::current_exception();
    }
    running_ = false;
    ended_ = events_.now() - phase_;
    if (ended && !error_) ended();
    return std::move(scheduler_);
  };
  fiber_ = coroutine{config_.sim.firmware_stack_kib * 1024, entry};
  running_ = true;
  owed_ = 0;
  tasks_ = {};
  busy_until_ = start + phase_;
  board_.resume_at(index_, start + phase_);
}

void timed_pe::resume() {
  fiber_ = std::move(fiber_).resume();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

/// Time advances without an event while no other block has one before.
void timed_pe::wait_until(sim_time t) {
  if (t <= events_.now()) return;
  if (events_.free_until(t)) return events_.proceed_to(t);
  board_.resume_at(index_, t);
  yield();
}

void timed_pe::wait_owed() {
  if (owed_ == 0) return;
  wait_until(events_.now() + clock_.cycles(std::exchange(owed_, 0)));
}

std::uint64_t timed_pe::read_register(abi::register_offset reg) {
  owed_ += block_.register_cycles;
  wait_owed();
  if (const auto value = copies_.read_register(reg)) return *value;
  if (!protocol::ipcq_core::owns(reg)) no_memory_access();
  const std::uint64_t value = core_.read_register(reg);
  if (reg == abi::ipcq_event && !core_.event_pending()) pending_since_ = sim_time::never();
  look_for_events();
  return value;
}

void timed_pe::write_register(abi::register_offset reg, std::uint64_t value) {
  owed_ += block_.register_cycles;
  if (!abi::is_staging(reg)) wait_owed();
  tasks_.wrote(reg, value);
  if (protocol::ipcq_core::owns(reg)) {
    const auto effects = core_.write_register(reg, value);
    if (effects.send) board_.send(index_, *effects.send);
    if (effects.credit) board_.credit(index_, *effects.credit);
  } else if (const auto effects = copies_.write_register(reg, value)) {
    if (effects->start) board_.copy(index_, *effects->start);
    if (effects->event) core_.push_event(*effects->event);
  } else {
    no_memory_access();
  }
  look_for_events();
}

std::uint64_t timed_pe::debug_read(abi::register_offset reg) const {
  if (reg == abi::core_start_time) return started_.fs;
  return reg == abi::core_end_time ? ended_.fs : core_.debug_read(reg);
}

void timed_pe::token_arrived(const abi::ipcq_fields& token) {
  core_.token_arrived(token);
  fingerprint_.add(events_.now() - started_, events::mix(token.match_address, token.sequence));
  look_for_events();
}

void timed_pe::credit_arrived(const abi::ipcq_fields& credit) {
  core_.credit_arrived(credit);
  fingerprint_.add(events_.now() - started_,
                   events::mix(credit.match_address, ~std::uint64_t{credit.sequence}));
  look_for_events();
}

void timed_pe::copies_done(std::uint32_t more) {
  if (const auto event = copies_.done(copies_.copies_done() + more)) core_.push_event(*event);
  look_for_events();
}

void timed_pe::look_for_events() {
  if (!core_.event_pending() || pending_since_ != sim_time::never()) return;
  pending_since_ = events_.now();
  if (asleep_) {
    asleep_ = false;
    board_.resume_at(index_, events_.now());
  }
}

abi::address timed_pe::in_tcm(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t size = config_.pe.tcm_kib * 1024;
  if (bytes > size || offset > size - bytes) {
    throw protocol_error("{}: {} bytes at offset {:#x} of a TCM of {}", pe_path(config_.shape(), self_),
                         bytes, offset, size);
  }
  return abi::encode({self_.sip, self_.cube, abi::region::tcm, self_.pe.value, offset});
}

void timed_pe::access(std::uint64_t bytes, bool write) {
  wait_owed();
  const std::uint64_t per_cycle = block_.tcm_banks * block_.tcm_bank_bytes;
  const std::uint64_t cycles =
      request_cycles + (bytes + per_cycle - 1) / per_cycle + (write ? 0 : block_.tcm_read_cycles);
  wait_until(clock_.edge_at_or_after(events_.now()) + clock_.cycles(cycles) + phase_);
}

void timed_pe::load(std::uint64_t tcm_offset, std::span<std::byte> out) {
  if (out.empty()) return;
  access(out.size(), false);
  memory_.read(in_tcm(tcm_offset, out.size()), out);
}

void timed_pe::store(std::uint64_t tcm_offset, std::span<const std::byte> in) {
  if (in.empty()) return;
  access(in.size(), true);
  memory_.write(in_tcm(tcm_offset, in.size()), in);
}

void timed_pe::vector_done(sim_time at) {
  vector_end_ = at;
  if (std::exchange(in_vector_, false)) board_.resume_at(index_, at);
}

/// Blocks follow each other at the slower of the lanes and the TCM; the read latency is paid for the last.
void timed_pe::vector(const abi::vector_command& c) {
  wait_owed();
  wait_until(events_.now() + clock_.cycles(block_.vector_startup_cycles));
  const std::uint64_t element = std::max(numeric::size_of(c.type), numeric::size_of(c.type_of_b()));
  const std::uint64_t total = c.count * element;
  if (total == 0) return;
  const std::uint64_t streams = c.two_operands() ? 3 : 2, reads = streams - 1;
  const std::uint64_t per_cycle = block_.tcm_banks * block_.tcm_bank_bytes;
  const auto served = [&](std::uint64_t bytes, std::uint64_t n) {
    return n * ((bytes + per_cycle - 1) / per_cycle);
  };
  const std::uint64_t width = block_.vector_bytes(c.two_operands());
  const auto lanes = [width](std::uint64_t bytes) { return (bytes + width - 1) / width; };
  const std::uint64_t last = (total - 1) % vector_block + 1, blocks = (total - last) / vector_block;
  // A block's requests leave at the next edge, half a cycle from now.
  const auto block_fs = [&](std::uint64_t bytes, bool is_last) {
    const std::uint64_t read = served(bytes, reads) + (is_last ? block_.tcm_read_cycles : 0);
    const std::uint64_t all = std::max(read, served(bytes, streams));
    return std::max(clock_.cycles(lanes(bytes)), clock_.cycles(request_cycles + all) + phase_ + phase_);
  };
  const sim_time alone = block_fs(vector_block, false) * blocks + block_fs(last, true);
  const sim_time from = events_.now();
  if (blocks > 0) {
    vector_end_.reset();
    board_.vector(index_, from, total * streams);
    if (!vector_end_) {
      in_vector_ = true;
      yield();
    }
    wait_until(std::max(from + alone, *vector_end_));
  } else {
    wait_until(from + alone);
  }
  busy_until_ = events_.now();
  if (data_)
    evaluate(memory_, c, [this](std::uint64_t at, std::uint64_t bytes) { return in_tcm(at, bytes); });
}

void timed_pe::wait_for_event_until(sim_time when) {
  wait_owed();
  if (!core_.event_pending()) {
    if (when != sim_time::never()) {
      const sim_time alarm = when <= phase_ ? phase_ : clock_.edge_at_or_after(when - phase_) + phase_;
      if (events_.now() < alarm) busy_until_ = std::max(busy_until_, alarm);
      while (!core_.event_pending() && events_.now() < alarm) {
        const sim_time next = std::min(alarm, std::max(events_.next(), events_.now() + clock_.period));
        wait_until(std::min(alarm, clock_.edge_at_or_after(next)));
      }
      if (!core_.event_pending()) return;
    } else {
      asleep_ = true;
      yield();
    }
  }
  const sim_time seen =
      clock_.edge_at_or_after(pending_since_) + clock_.cycles(block_.interrupt_cycles) + phase_;
  wait_until(seen);
}

void timed_pe::poll_until(const abi::poll_request& wanted) {
  for (;;) {
    std::uint64_t word = 0;
    load(wanted.tcm_offset, std::as_writable_bytes(std::span{&word, 1}));
    if (abi::holds(wanted.how, word, wanted.value)) return polled_.reset();
    polled_ = wanted;
    pause(wanted.period_cycles);
  }
}

void timed_pe::no_memory_access() const {
  throw user_error(problem{"estimate",
                           "firmware uses what estimates and sim.fidelity=message do not model: global "
                           "memory, barriers or the tag-matching unit",
                           owner_name(self_),
                           "a collective over queue pairs, or a run with sim.fidelity=packet"});
}

}  // namespace diecast::sw
