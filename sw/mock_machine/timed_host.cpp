// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_host.hpp"

#include <algorithm>
#include <utility>

#include "models/comm/install_plan.hpp"

namespace diecast::sw {

void timed_host::start(std::function<void(abi::host_hal&)> program) {
  const auto entry = [this, run = std::move(program)](coroutine&& scheduler) {
    machine_.main_ = std::move(scheduler);
    try {
      run(*this);
    } catch (const coroutine::unwind&) {
      throw;
    } catch (...) {
      error_ = std::current_exception();
    }
    return std::move(machine_.main_);
  };
  fiber_ = coroutine{machine_.config_.sim.firmware_stack_kib * 1024, entry};
  asleep_ = true;
  wake();
}

void timed_host::resume() {
  fiber_ = std::move(fiber_).resume();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void timed_host::wake() {
  if (std::exchange(asleep_, false)) machine_.events_.put(machine_.now(), timed_dma::kinds, self_.value);
}

void timed_host::sleep() {
  asleep_ = true;
  give_way();
}

void timed_host::wait_until(sim_time when) {
  if (when <= now()) return;
  machine_.events_.put(when, timed_dma::kinds, self_.value);
  give_way();
}

void timed_host::completed(std::uint32_t launch_id) {
  ++completions_[launch_id];
  wake();
}

void timed_host::wait_for_completions(std::uint32_t launch_id, std::uint32_t count) {
  while (completions_[launch_id] < count) sleep();
}

// --- backdoor -----------------------------------------------------------------------------------

std::span<std::byte> timed_host::dispatch_table_at(abi::address at, std::size_t bytes) {
  const auto where = abi::decode(at);
  const std::uint64_t tcm_bytes = machine_.config_.pe.tcm_kib * 1024;
  if (!where || where->kind != abi::region::tcm || where->offset < tcm_bytes) return {};
  const auto table = std::as_writable_bytes(
      std::span{machine_.pe({where->sip, where->cube, pe_id{where->unit}}).dispatch_table()});
  const std::uint64_t first = where->offset - tcm_bytes;
  return first + bytes <= table.size() ? table.subspan(first, bytes) : std::span<std::byte>{};
}

void timed_host::debug_write(abi::address to, std::span<const std::byte> bytes) {
  if (const auto table = dispatch_table_at(to, bytes.size()); !table.empty()) {
    std::copy(bytes.begin(), bytes.end(), table.begin());
    return;
  }
  const auto where = abi::decode(to);
  if (!where || where->kind != abi::region::pe_registers) return machine_.memory_.write(to, bytes);
  std::uint64_t value{};
  std::copy_n(bytes.begin(), sizeof value, std::as_writable_bytes(std::span{&value, 1}).begin());
  machine_.pe({where->sip, where->cube, pe_id{where->unit}})
      .debug_write(static_cast<abi::register_offset>(where->offset), value);
}

void timed_host::debug_read(abi::address from, std::span<std::byte> bytes) {
  if (const auto table = dispatch_table_at(from, bytes.size()); !table.empty()) {
    std::copy(table.begin(), table.end(), bytes.begin());
    return;
  }
  const auto where = abi::decode(from);
  if (!where || where->kind != abi::region::pe_registers) return machine_.memory_.read(from, bytes);
  const std::uint64_t value = machine_.pe({where->sip, where->cube, pe_id{where->unit}})
                                  .debug_read(static_cast<abi::register_offset>(where->offset));
  std::copy_n(std::as_bytes(std::span{&value, 1}).begin(), sizeof value, bytes.begin());
}

// --- packets ------------------------------------------------------------------------------------

/// Each is acknowledged by the PE whose register it is.
void timed_host::write_registers(std::span<const abi::pe_register_write> writes) {
  const abi::node_address io = comm::io_cpu_node(machine_.topology_, self_);
  unacknowledged_ = writes.size();
  for (const abi::pe_register_write& w : writes) {
    const abi::node_address to = machine_.topology_.locate(
        abi::encode({w.pe.sip, w.pe.cube, abi::region::pe_registers, w.pe.pe.value, w.reg}));
    const auto answered = [this] {
      --unacknowledged_;
      wake();
    };
    const auto written = [this, w, io, to, answered] {
      debug_write_register(w.pe, w.reg, w.value);
      machine_.dma_.post({to, io, 0, abi::traffic_class::response, answered});
    };
    machine_.forward(io, machine_.config_.host.io_cpu_cycles, [this, io, to, written] {
      machine_.dma_.post({io, to, sizeof(std::uint64_t), abi::traffic_class::request, written});
    });
  }
  while (unacknowledged_ > 0) sleep();
}

void timed_host::launch(std::span<const abi::pe_launch> launches) {
  const bool ideal = machine_.config_.host.launch == config::launch_kind::ideal;
  if (!ideal) wait_until(now() + machine_.clock_.cycles(machine_.config_.host.host_cycles));
  for (const abi::pe_launch& l : launches) {
    if (ideal) {
      machine_.arrive(l);
    } else {
      machine_.launch(l);
    }
  }
}

}  // namespace diecast::sw
