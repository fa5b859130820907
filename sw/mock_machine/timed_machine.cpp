// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_machine.hpp"

#include <algorithm>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::sw {

timed_machine::timed_machine(const fabric::topology& topology, const config::machine_config& c, bool data,
                             std::function<firmware(pe_coord)> firmware_of)
    : topology_(topology),
      config_(c),
      shape_(config_.shape()),
      clock_(timing::noc_clock(config_)),
      memory_(config_),
      dma_({topology, config_, events_, memory_, data}, pes_),
      firmware_of_(std::move(firmware_of)) {
  const timed_pe::setup setup{config_, dma_, events_, memory_, main_, data};
  for (std::uint32_t i = 0; i < shape_.pes(); ++i)
    pes_.push_back(std::make_unique<timed_pe>(shape_.pe_at(i), i, setup));
  for (std::uint32_t s = 0; s < shape_.sips; ++s)
    hosts_.push_back(std::make_unique<timed_host>(sip_id{s}, *this));
}

timed_machine::~timed_machine() = default;

abi::host_hal& timed_machine::host(sip_id sip) { return *hosts_.at(sip.value); }

void timed_machine::start_host(sip_id sip, std::function<void(abi::host_hal&)> program) {
  hosts_.at(sip.value)->start(std::move(program));
}

void timed_machine::sleep_host() { active_->sleep(); }

void timed_machine::wake_hosts() {
  for (const auto& h : hosts_) h->wake();
}

void timed_machine::run_host(std::uint32_t sip) {
  active_ = hosts_.at(sip).get();
  active_->resume();
}

void timed_machine::forward(const abi::node_address& cpu, std::uint64_t cycles, ready then) {
  sim_time& busy = busy_until_[cpu];
  busy = std::max(busy, clock_.edge_at_or_after(now())) + clock_.cycles(cycles);
  dma_.at(busy, std::move(then));
}

void timed_machine::launch(const abi::pe_launch& l) {
  const std::uint64_t bytes = abi::encode_launch(l.block).size();
  const abi::node_address io = comm::io_cpu_node(topology_, l.pe.sip);
  const abi::node_address control = comm::control_cpu_node(topology_, l.pe.sip, l.pe.cube);
  const abi::node_address end = topology_.locate(comm::launch_mailbox(l.pe));
  const auto last = [this, l, control, end, bytes] {
    dma_.post({control, end, bytes, abi::traffic_class::request, [this, l] { arrive(l); }});
  };
  const auto second = [this, control, last] { forward(control, config_.host.control_cpu_cycles, last); };
  forward(io, config_.host.io_cpu_cycles, [this, io, control, bytes, second] {
    dma_.post({io, control, bytes, abi::traffic_class::request, second});
  });
}

/// Starts the kernel of a launch block that has arrived at its PE; the PE reports its end to the IO CPU.
void timed_machine::arrive(const abi::pe_launch& l) {
  if (l.block.target_start < now())
    throw protocol_error("{}: launch {} arrived at {} ns, after its common start at {} ns",
                         pe_path(shape_, l.pe), l.block.launch_id, now().ns(), l.block.target_start.ns());
  const auto reported = [this, l] { hosts_.at(l.pe.sip.value)->completed(l.block.launch_id); };
  const auto ended = [this, l, reported] {
    dma_.post({topology_.locate(comm::launch_mailbox(l.pe)), comm::io_cpu_node(topology_, l.pe.sip), 0,
               abi::traffic_class::response, reported});
  };
  pe(l.pe).launch(
      clock_.edge_at_or_after(l.block.target_start),
      [run = firmware_of_(l.pe), block = l.block](abi::hal& hal) { run(hal, block); }, ended);
}

void timed_machine::step() {
  const timing::timed_event e = events_.take();
  if (e.kind == timed_dma::kinds) return run_host(e.index);
  if (!timed_dma::is_of_firmware(e)) moved_ = e.at;
  dma_.handle(e);
}

sim_time timed_machine::moved() const {
  sim_time last = moved_;
  for (const auto& pe : pes_) last = std::max(last, pe->busy_until());
  return last;
}

analysis::stopped_machine timed_machine::stopped(bool still, std::span<const pe_coord> members) const {
  analysis::stopped_machine stopped;
  stopped.still = still;
  for (const pe_coord at : members) {
    const timed_pe& p = pe(at);
    const auto state = p.idle()     ? events::core_state::done
                       : p.asleep() ? events::core_state::asleep
                                    : events::core_state::running;
    stopped.pes.push_back(
        {at, state, p.core().queue_pairs(), p.tasks(), p.awaits_copy(), p.polled(), {}, {}});
  }
  dma_.visit_flights([&stopped](bool credit, const abi::ipcq_fields& f) {
    stopped.flights.push_back({credit, f, "in the fabric", true, analysis::flight_state::under_way,
                               analysis::fabric_place::within});
  });
  return stopped;
}

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
  yield();
}

void timed_host::wait_until(sim_time when) {
  if (when <= now()) return;
  machine_.events_.put(when, timed_dma::kinds, self_.value);
  yield();
}

void timed_host::completed(std::uint32_t launch_id) {
  ++completions_[launch_id];
  wake();
}

void timed_host::wait_for_completions(std::uint32_t launch_id, std::uint32_t count) {
  while (completions_[launch_id] < count) sleep();
}

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
    std::ranges::copy(bytes, table.begin());
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
    std::ranges::copy(table, bytes.begin());
    return;
  }
  const auto where = abi::decode(from);
  if (!where || where->kind != abi::region::pe_registers) return machine_.memory_.read(from, bytes);
  const std::uint64_t value = machine_.pe({where->sip, where->cube, pe_id{where->unit}})
                                  .debug_read(static_cast<abi::register_offset>(where->offset));
  std::copy_n(std::as_bytes(std::span{&value, 1}).begin(), sizeof value, bytes.begin());
}

/// Each write is acknowledged by the PE that has the register.
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
