// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/pe_core.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/fabric/fault_places.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

/// Operand bytes per request of the vector unit to the TCM: small enough that the DMA gets its turn.
constexpr std::uint64_t vector_block_bytes = 1024;

core_health health_of(const pe_setup& setup) {
  core_health health;
  if (const auto* slow = fabric::fault_at(setup.config, config::fault_kind::slow_pe, setup.self))
    health.slowdown = static_cast<std::uint64_t>(slow->factor);
  if (const auto* dead = fabric::fault_at(setup.config, config::fault_kind::dead_pe, setup.self)) {
    health.dies_after_writes = dead->after;
    health.dies_at = nanoseconds(dead->from_us * 1e3);
  }
  return health;
}

std::unique_ptr<store_rule> stores_of(const pe_setup& setup, write_buffer::writer write) {
  const auto* late = fabric::fault_at(setup.config, config::fault_kind::premature_barrier, setup.self);
  if (late == nullptr) return std::make_unique<store_rule>();
  return std::make_unique<write_buffer>("write_buffer", *late, std::move(write));
}

}  // namespace

pe_core::pe_core(sc_core::sc_module_name name, const pe_setup& setup, firmware program, bool move_data)
    : sc_module(name),
      setup_(setup),
      clock_(clock_domain::from_ghz(setup.config.noc.clock_ghz)),
      program_(std::move(program)),
      move_data_(move_data),
      health_(health_of(setup)),
      stores_(
          stores_of(setup, [this](std::uint64_t offset,
                                  std::span<const std::byte> bytes) { tcm->debug_write(offset, bytes); })),
      core_clock_{clock_.period * health_.slowdown},
      phase_(core_phase(setup.config)),
      memory_(setup_, dma,
              {[this](std::uint64_t cycles) { owed_cycles_ += cycles; }, [this] { wait_owed(); }}) {
  SC_THREAD(run);
  set_stack_size(static_cast<std::size_t>(setup.config.sim.firmware_stack_kib) * 1024);
}

sim_time pe_core::now() const { return hw::now() + core_clock_.cycles(owed_cycles_); }

void pe_core::wait_until(sim_time t) {
  if (t > hw::now()) sc_core::wait(to_sc(t - hw::now()));
}

/// Waits until `ahead` before the last open access to the TCM has finished, but not before `not_before`.
void pe_core::wait_for_accesses(sim_time ahead, sim_time not_before) {
  accesses_ahead_ = ahead;
  accesses_not_before_ = not_before;
  sc_core::wait(accesses_done_);
}

void pe_core::wait_owed() {
  if (owed_cycles_ == 0) return;
  const sim_time owed = core_clock_.cycles(owed_cycles_);
  busy_cycles_ += owed_cycles_;
  busy_time_ += owed;
  if (owed_work_ > 0) {
    ++moves_;
    busy_until_ = hw::now() + owed;
  }
  if (owed_pause_ > 0)
    report(events::core_work::pause, hw::now(), hw::now() + core_clock_.cycles(owed_pause_));
  owed_cycles_ = owed_work_ = owed_pause_ = 0;
  sc_core::wait(to_sc(owed));
}

void pe_core::count_write() {
  if (writes_++ >= health_.dies_after_writes) die_if_due();
}

/// A dead core executes nothing more; operations that it started in other blocks continue.
void pe_core::die_if_due() {
  if (hw::now() < health_.dies_at) return;
  dead_ = true;
  const sc_core::sc_event never;
  for (;;) sc_core::wait(never);
}

void pe_core::report(events::core_work what, sim_time from, sim_time to) {
  if (to > from && setup_.events.wants(events::work))
    setup_.events.publish(events::core_worked{from, to, setup_.self, what});
}

void pe_core::report_wait(sim_time from, sim_time raised, const abi::ipcq_event_word& why) {
  if (hw::now() == from || !setup_.events.wants(events::work)) return;
  events::core_waited e{from, hw::now(), raised, setup_.self, events::wait_cause::error, why.qp, why.value};
  switch (why.kind) {
    case abi::event_kind::receive: e.cause = events::wait_cause::data; break;
    case abi::event_kind::tag_match: e.cause = events::wait_cause::message; break;
    case abi::event_kind::send_space: e.cause = events::wait_cause::credit; break;
    case abi::event_kind::source_read: e.cause = events::wait_cause::dma; break;
    case abi::event_kind::dma_done: e.cause = events::wait_cause::memory; break;
    case abi::event_kind::error:
    case abi::event_kind::none: break;
  }
  setup_.events.publish(e);
}

void pe_core::launch(const packet_ptr& p) { launch_block_arrived(abi::decode_launch(p->data)); }

void pe_core::launch_block_arrived(const abi::launch_block& block) {
  launches_queue_.push_back(block);
  launched_.notify();
}

void pe_core::run() {
  guarded(setup_.faults, name(), [this] {
    for (;;) {
      while (launches_queue_.empty()) sc_core::wait(launched_);
      const abi::launch_block block = launches_queue_.front();
      launches_queue_.pop_front();
      run_one(block);
    }
  });
}

void pe_core::run_one(const abi::launch_block& block) {
  if (block.target_start < hw::now()) {
    throw protocol_error("{}: launch {} arrived at {} ns, after its common start at {} ns", name(),
                         block.launch_id, hw::now().ns(), block.target_start.ns());
  }
  set_state(events::core_state::waiting_start);
  busy_until_ = clock_.edge_at_or_after(block.target_start) + phase_;
  wait_until(busy_until_);
  start_time_ = hw::now() - phase_;
  interrupt->kernel_started(start_time_);
  tasks_ = {};
  set_state(events::core_state::running);
  program_(*this, block);
  wait_owed();
  stores_->flush();
  end_time_ = hw::now() - phase_;
  set_state(events::core_state::done);
  dma->send_launch_done(block.launch_id);
}

std::uint64_t pe_core::read_register(abi::register_offset reg) {
  owed_cycles_ += setup_.config.pe.register_cycles;
  wait_owed();
  return registers.read(reg);
}

void pe_core::write_register(abi::register_offset reg, std::uint64_t value) {
  owed_cycles_ += setup_.config.pe.register_cycles;
  if (!abi::is_staging(reg)) wait_owed();
  count_write();
  const auto use = tasks_.wrote(reg, value);
  if (use && setup_.events.wants(events::steps))
    setup_.events.publish(events::queue_pair_used{now(), setup_.self, use->qp, use->send, tasks_.running()});
  registers.write(reg, value);
}

void pe_core::tcm_done(std::uint64_t, sim_time finish) {
  accesses_finish_ = std::max(accesses_finish_, finish);
  if (--accesses_open_ > 0) return;
  const sim_time now = hw::now(), served = accesses_finish_ + phase_ - accesses_ahead_;
  accesses_done_.notify(to_sc(std::max({now, accesses_not_before_, served}) - now));
}

void pe_core::access(std::uint64_t offset, std::byte* data, std::uint64_t bytes, bool write) {
  wait_owed();
  stores_->meet(offset, bytes);
  const sim_time from = hw::now();
  accesses_open_ = 1;
  accesses_finish_ = {};
  tcm->request({tcm_port::core, offset, bytes, write, data, 0, this},
               clock_.edge_at_or_after(hw::now()) + clock_.cycles(1));
  wait_for_accesses({}, {});
  report(events::core_work::tcm, from, hw::now());
}

void pe_core::load(std::uint64_t tcm_offset, std::span<std::byte> out) {
  if (!out.empty()) access(tcm_offset, out.data(), out.size(), false);
}

void pe_core::store(std::uint64_t tcm_offset, std::span<const std::byte> in) {
  if (in.empty()) return;
  std::vector<std::byte> bytes(in.begin(), in.end());
  access(tcm_offset, bytes.data(), bytes.size(), true);
}

void pe_core::wait_for_event() {
  wait_owed();
  const sim_time from = hw::now();
  if (interrupt->pending_since() == sim_time::never()) {
    set_state(events::core_state::asleep);
    while (interrupt->pending_since() == sim_time::never()) sc_core::wait(interrupt->raised());
    set_state(events::core_state::running);
  }
  end_wait(from);
}

/// Precondition: an event is pending, for which the firmware has waited since `from`.
void pe_core::end_wait(sim_time from) {
  const sim_time raised = interrupt->pending_since();
  const abi::ipcq_event_word why = interrupt->pending_event();
  const sim_time seen =
      clock_.edge_at_or_after(raised) + core_clock_.cycles(setup_.config.pe.interrupt_cycles) + phase_;
  wait_until(std::max(seen, hw::now()));
  report_wait(from, raised, why);
}

/// The timer fires half a cycle after an edge of the PE's clock, where firmware acts, also on a slow core.
void pe_core::wait_for_event_until(sim_time when) {
  wait_owed();
  const sim_time from = hw::now();
  const sim_time alarm = when <= phase_ ? phase_ : clock_.edge_at_or_after(when - phase_) + phase_;
  if (interrupt->pending_since() == sim_time::never() && hw::now() < alarm) {
    set_state(events::core_state::asleep);
    busy_until_ = std::max(busy_until_, alarm);
    while (interrupt->pending_since() == sim_time::never() && hw::now() < alarm)
      sc_core::wait(to_sc(alarm - hw::now()), interrupt->raised());
    set_state(events::core_state::running);
  }
  if (interrupt->pending_since() != sim_time::never()) return end_wait(from);
  // No event came: the time was the pause between two polls.
  report(events::core_work::pause, from, hw::now());
}

void pe_core::poll_until(const abi::poll_request& wanted) {
  polling_ = wanted;
  for (;;) {
    std::uint64_t word = 0;
    load(wanted.tcm_offset, std::as_writable_bytes(std::span{&word, 1}));
    if (abi::holds(wanted.how, word, wanted.value)) break;
    pause(wanted.period_cycles);
  }
  polling_.reset();
  ++moves_;
}

void pe_core::access_done(std::uint32_t tag, std::span<const std::byte> data) {
  memory_.access_done(tag, data);
}

void pe_core::load_global(abi::address at, std::span<std::byte> out) {
  memory_.load(at, out);
  if (!watched_) ++moves_;  // polling a word again is no progress
}

void pe_core::store_global(abi::address at, std::span<const std::byte> in) {
  count_write();
  memory_.store(at, in);
  ++moves_;
}

void pe_core::load_uncached(abi::address at, std::span<std::byte> out) {
  memory_.load_uncached(at, out);
  if (!watched_) ++moves_;
}

std::uint64_t pe_core::add_at_memory(abi::address at, std::uint64_t value) {
  count_write();
  ++moves_;
  return memory_.add_at_memory(at, value);
}

void pe_core::watch(const std::optional<abi::signal_watch>& wanted) {
  if (watched_.has_value() != wanted.has_value()) ++moves_;  // watching another word is no progress
  watched_ = wanted;
  tasks_.watches(wanted.has_value());
}

void pe_core::post_block(const abi::vector_command& c, std::uint64_t first, std::uint64_t count) {
  const sim_time at = clock_.edge_at_or_after(hw::now()) + clock_.cycles(1);
  accesses_open_ = c.two_operands() ? 3 : 2;
  accesses_finish_ = {};
  const auto request = [&](std::uint64_t base, numeric::dtype type, bool write, std::uint64_t tag) {
    const std::uint64_t element = numeric::size_of(type);
    tcm->request({tcm_port::vector, base + first * element, count * element, write, nullptr, tag, this}, at);
  };
  request(c.a, c.type_of_a(), false, 0);
  if (c.two_operands()) request(c.b, c.type_of_b(), false, 1);
  request(c.destination, c.type, true, 2);
}

/// Blocks follow each other at the slower of the lanes and the TCM.
void pe_core::vector(const abi::vector_command& c) {
  wait_owed();
  ++moves_;
  const sim_time from = hw::now();
  // Lanes and blocks are counted in the wider of the types.
  const std::uint64_t element = std::max(numeric::size_of(c.type), numeric::size_of(c.type_of_b()));
  const std::uint64_t total = c.count * element;
  if (c.op != abi::vector_op::copy) vector_elements_[static_cast<std::size_t>(c.type)] += c.count;
  const std::uint64_t bytes_per_cycle = setup_.config.pe.vector_bytes(c.two_operands());
  wait_until(hw::now() + core_clock_.cycles(setup_.config.pe.vector_startup_cycles));
  for (std::uint64_t offset = 0; offset < total; offset += vector_block_bytes) {
    const std::uint64_t bytes = std::min(vector_block_bytes, total - offset);
    const std::uint64_t cycles = (bytes + bytes_per_cycle - 1) / bytes_per_cycle;
    const sim_time lanes_done = hw::now() + core_clock_.cycles(cycles);
    post_block(c, offset / element, bytes / element);
    // The read latency is paid once, for the last block; until then blocks are pipelined.
    const bool last = offset + bytes >= total;
    wait_for_accesses(last ? sim_time{} : clock_.cycles(setup_.config.pe.tcm_read_cycles), lanes_done);
  }
  report(events::core_work::vector, from, hw::now());
  if (move_data_) evaluate(c);
}

/// Reports the bytes of operands and destination to the write buffer: the core may have written them.
void pe_core::meet_operands(const abi::vector_command& c) {
  stores_->meet(c.a, c.count * numeric::size_of(c.type_of_a()));
  if (c.two_operands()) stores_->meet(c.b, c.count * numeric::size_of(c.type_of_b()));
  stores_->meet(c.destination, c.count * numeric::size_of(c.type));
}

void pe_core::evaluate(const abi::vector_command& c) {
  meet_operands(c);
  std::vector<std::byte> result = abi::result_of(
      c, [this](std::uint64_t offset, std::span<std::byte> out) { tcm->read_operand(offset, out); });
  if (!stores_->takes(c.destination, result)) tcm->debug_write(c.destination, result);
}

void pe_core::set_state(events::core_state s) {
  state_ = s;
  ++moves_;
  if (setup_.events.wants(events::core_states))
    setup_.events.publish(events::core_state_changed{hw::now(), setup_.self, s});
}

void pe_core::mark_step(const abi::step_marker& step) {
  tasks_.mark(step.name, step.index);
  ++moves_;
  if (setup_.events.wants(events::steps))
    setup_.events.publish(events::step_entered{now(), setup_.self, step.name, step.index, tasks_.running()});
}

void pe_core::note(const abi::operation_note& n) {
  abi::operation_note noted = n;
  noted.task = tasks_.running();
  awaited_.hear(noted);
  if (setup_.events.wants(events::operations))
    setup_.events.publish(events::operation_changed{now(), setup_.self, noted});
}

void pe_core::status_registers::debug_write_register(abi::register_offset reg, std::uint64_t value) {
  if (reg != abi::core_errata) {
    throw protocol_error(
        "{}: {:#x} written to core register {:#x} (expected CORE_ERRATA, {:#x}, the only one that can be "
        "written)",
        core_.name(), value, reg, abi::core_errata);
  }
  core_.errata_ = value;
}

std::uint64_t pe_core::status_registers::debug_read_register(abi::register_offset reg) {
  switch (reg) {
    case abi::core_errata: return core_.errata_;
    case abi::core_status: return static_cast<std::uint64_t>(core_.state_);
    case abi::core_start_time: return core_.start_time_.fs;
    case abi::core_end_time: return core_.end_time_.fs;
    default: throw protocol_error("{}: no core register at {:#x}", core_.name(), reg);
  }
}

}  // namespace diecast::hw
