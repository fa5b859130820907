// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/mock_pe.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/types/error.hpp"
#include "models/types/ids.hpp"
#include "sw/mock_machine/memory_map.hpp"

namespace diecast::sw {

mock_pe::mock_pe(pe_coord self, std::uint32_t index, protocol::ipcq_core core, protocol::tag_core tag_unit,
                 const mock_board& board)
    : self_(self),
      index_(index),
      core_(std::move(core)),
      tag_unit_(std::move(tag_unit)),
      board_(board),
      cache_(board.cache_sets, board.cache_ways) {}

void mock_pe::start(std::size_t stack_bytes, std::function<void(abi::hal&)> firmware) {
  const auto entry = [this, run = std::move(firmware)](coroutine&& scheduler) {
    board_.scheduler = std::move(scheduler);
    try {
      run(*this);
    } catch (const coroutine::unwind&) {
      throw;
    } catch (...) {
      error_ = std::current_exception();
    }
    state_ = state::idle;
    ended_at_ = board_.clock;
    return std::move(board_.scheduler);
  };
  fiber_ = coroutine{stack_bytes, entry};
  state_ = state::ready;
  started_at_ = board_.clock;
  empty_polls_ = 0;
  watched_.reset();
  tasks_ = {};
}

void mock_pe::resume() {
  if (!watched_) ++board_.changes;
  fiber_ = std::move(fiber_).resume();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void mock_pe::yield() { board_.scheduler = std::move(board_.scheduler).resume(); }

void mock_pe::interruption() {
  if (board_.interrupts) yield();
}

/// Errors of the blocks' registers, with the same texts as on the machine.
template <class Access>
auto mock_pe::trapped(Access access) const {
  try {
    return access();
  } catch (const std::logic_error& e) {
    throw protocol_error("mock machine: {}: {}", owner_name(self_), e.what());
  }
}

std::uint64_t mock_pe::read_register(abi::register_offset reg) {
  interruption();
  if (reg == abi::ipcq_event) {
    const std::uint64_t word = core_.read_register(reg);
    const bool none = abi::ipcq_event_word::unpack(word).kind == abi::event_kind::none;
    empty_polls_ = none ? empty_polls_ + 1 : 0;
    return word;
  }
  empty_polls_ = 0;
  return trapped([&]() -> std::uint64_t {
    if (protocol::ipcq_core::owns(reg)) return core_.read_register(reg);
    if (protocol::tag_core::owns(reg)) return tag_unit_.read_register(reg);
    if (const auto value = copies_.read_register(reg)) return *value;
    switch (reg) {
      case abi::core_errata: return errata_;
      case abi::core_status: return static_cast<std::uint64_t>(events::core_state::running);
      case abi::core_start_time: return started_at_;
      case abi::core_end_time: return ended_at_;
      default: no_such_register(reg);
    }
  });
}

void mock_pe::write_register(abi::register_offset reg, std::uint64_t value) {
  interruption();
  empty_polls_ = 0;
  tasks_.wrote(reg, value);
  trapped([&] { write_to_block(reg, value); });
}

void mock_pe::write_to_block(abi::register_offset reg, std::uint64_t value) {
  if (protocol::ipcq_core::owns(reg))
    return board_.work.add_effects(index_, core_.write_register(reg, value));
  if (protocol::tag_core::owns(reg)) {
    board_.work.add_tag_effects(index_, tag_unit_.write_register(reg, value));
    if (tag_unit_.take_event()) core_.push_event({abi::event_kind::tag_match, false, 0, 0});
    return;
  }
  if (const auto effects = copies_.write_register(reg, value)) {
    if (effects->start) board_.work.add_copy(index_, *effects->start);
    if (effects->event) core_.push_event(*effects->event);
    return;
  }
  if (reg != abi::core_errata) no_such_register(reg);
  errata_ = value;
}

void mock_pe::debug_write(abi::register_offset reg, std::uint64_t value) {
  if (reg == abi::core_errata) {
    errata_ = value;
  } else if (protocol::tag_core::owns(reg)) {
    tag_unit_.debug_write(reg, value);
  } else {
    core_.debug_write(reg, value);
  }
}

std::uint64_t mock_pe::debug_read(abi::register_offset reg) const {
  if (reg == abi::core_errata) return errata_;
  return protocol::tag_core::owns(reg) ? tag_unit_.debug_read(reg) : core_.debug_read(reg);
}

void mock_pe::copy_done() {
  if (const auto event = copies_.done(copies_.copies_done() + 1)) core_.push_event(*event);
}

void mock_pe::no_such_register(abi::register_offset reg) const {
  throw protocol_error("mock machine: {} has no register {:#x} in this direction", owner_name(self_), reg);
}

abi::address mock_pe::in_tcm(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes > board_.tcm_bytes || offset > board_.tcm_bytes - bytes) {
    throw protocol_error("mock machine: {}: {} bytes at offset {:#x} of a TCM of {}", owner_name(self_),
                         bytes, offset, board_.tcm_bytes);
  }
  return abi::encode({self_.sip, self_.cube, abi::region::tcm, self_.pe.value, offset});
}

void mock_pe::load(std::uint64_t tcm_offset, std::span<std::byte> out) {
  empty_polls_ = 0;
  board_.memory.read(in_tcm(tcm_offset, out.size()), out);
}

void mock_pe::store(std::uint64_t tcm_offset, std::span<const std::byte> in) {
  empty_polls_ = 0;
  board_.memory.write(in_tcm(tcm_offset, in.size()), in);
}

void mock_pe::vector(const abi::vector_command& command) {
  empty_polls_ = 0;
  evaluate(board_.memory, command,
           [this](std::uint64_t at, std::uint64_t bytes) { return in_tcm(at, bytes); });
}

void mock_pe::publish(events::memory_phase phase, abi::address at, std::span<const std::byte> bytes) const {
  if (errata_ != 0) board_.lines.on(events::memory_event{now(), phase, self_, at, bytes});
}

void mock_pe::write_back(const protocol::data_cache::line& line) {
  publish(events::memory_phase::write_back, line.at, line.bytes);
  board_.work.finish_write_backs(index_, line.at);  // an older one of the same line goes first
  board_.work.add_write_back(index_, line);
}

void mock_pe::check_global(const char* what, abi::address at, std::uint64_t bytes) const {
  protocol::check_global_access("mock machine: " + owner_name(self_), what, at, bytes);
}

void mock_pe::make_present(abi::address at) {
  if (cache_.find(at) != nullptr) return;
  const abi::address line = protocol::line_of(at);
  board_.work.finish_write_backs(index_, line);
  protocol::line_bytes content;
  board_.memory.read(line, content);
  if (const auto evicted = cache_.fill(line, content)) write_back(*evicted);
}

void mock_pe::load_global(abi::address at, std::span<std::byte> out) {
  if (!watched_) empty_polls_ = 0;  // the PE does more than poll for events
  interruption();
  check_global("load", at, out.size());
  make_present(at);
  cache_.read(at, out);
}

void mock_pe::store_global(abi::address at, std::span<const std::byte> in) {
  interruption();
  check_global("store", at, in.size());
  make_present(at);
  // The line may be fetched long before the store: others may write memory in between.
  interruption();
  make_present(at);
  cache_.write(at, in);
  publish(events::memory_phase::store, at, in);
  interruption();
}

void mock_pe::dcci_line(abi::address at) {
  check_global("dcci", at, 1);
  if (const auto dirty = cache_.clean_and_invalidate(at)) write_back(*dirty);
}

void mock_pe::dcci_all() {
  for (const auto& dirty : cache_.clean_and_invalidate_all()) write_back(dirty);
}

void mock_pe::pipe_barrier() { board_.work.finish_write_backs(index_, std::nullopt); }

void mock_pe::load_uncached(abi::address at, std::span<std::byte> out) {
  interruption();
  check_global("uncached load", at, out.size());
  board_.work.finish_write_backs(index_, protocol::line_of(at));
  board_.memory.read(at, out);
}

std::uint64_t mock_pe::add_at_memory(abi::address at, std::uint64_t value) {
  interruption();
  protocol::check_atomic_access("mock machine: " + owner_name(self_), at);
  board_.work.finish_write_backs(index_, protocol::line_of(at));
  std::uint64_t before = 0;
  board_.memory.read(at, std::as_writable_bytes(std::span{&before, 1}));
  const std::uint64_t after = before + value;
  board_.memory.write(at, std::as_bytes(std::span{&after, 1}));
  return before;
}

void mock_pe::watch(const std::optional<abi::signal_watch>& wanted) {
  const bool begins_or_ends = watched_.has_value() != wanted.has_value();
  watched_ = wanted;
  tasks_.watches(wanted.has_value());
  if (!begins_or_ends) return;  // watching another word: the PE still only polls
  looks_ = 0;
  words_.clear();
  empty_polls_ = 0;
  ++board_.changes;
}

/// Tasks that poll several words do so one after the other; a switch between them is a pause, too.
bool mock_pe::polled_unchanged() const {
  const std::size_t enough = words_.size() > 1 ? 4 * words_.size() : 2;
  return watched_ && looks_ >= enough && seen_changes_ == board_.changes;
}

void mock_pe::pause(std::uint64_t cycles) {
  if (watched_) {
    if (seen_changes_ != board_.changes) {
      looks_ = 0;
      words_.clear();
    }
    seen_changes_ = board_.changes;
    ++looks_;
    words_.insert(watched_->at);
    ++empty_polls_;
  } else {
    // Another task may wait for an instant, which must come: a cycle counts as a nanosecond.
    board_.clock += nanoseconds(static_cast<double>(cycles)).fs;
  }
  yield();  // others must get on meanwhile
}

void mock_pe::wait_for_event() {
  if (core_.event_pending()) return;
  state_ = state::asleep;
  yield();
}

void mock_pe::wait_for_event_until(sim_time when) {
  if (core_.event_pending()) return;
  empty_polls_ = 0;
  yield();
  if (!core_.event_pending()) board_.clock = std::max(board_.clock, when.fs);
}

bool mock_pe::poll_holds() const {
  if (!polled_) return false;
  std::uint64_t word = 0;
  board_.memory.read(in_tcm(polled_->tcm_offset, sizeof word), std::as_writable_bytes(std::span{&word, 1}));
  return abi::holds(polled_->how, word, polled_->value);
}

void mock_pe::poll_until(const abi::poll_request& wanted) {
  polled_ = wanted;
  empty_polls_ = 0;
  while (!poll_holds()) {
    ++empty_polls_;
    yield();
  }
  polled_.reset();
  empty_polls_ = 0;
}

}  // namespace diecast::sw
