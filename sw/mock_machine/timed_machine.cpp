// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_machine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"
#include "sw/mock_machine/timed_host.hpp"

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

// --- hosts --------------------------------------------------------------------------------------

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

// --- launches -----------------------------------------------------------------------------------

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
    throw protocol_error(fmt::format("{}: launch {} arrived at {} ns, after its common start at {} ns",
                                     pe_path(shape_, l.pe), l.block.launch_id, now().ns(),
                                     l.block.target_start.ns()));
  const auto reported = [this, l] { hosts_.at(l.pe.sip.value)->completed(l.block.launch_id); };
  const auto ended = [this, l, reported] {
    dma_.post({topology_.locate(comm::launch_mailbox(l.pe)), comm::io_cpu_node(topology_, l.pe.sip), 0,
               abi::traffic_class::response, reported});
  };
  pe(l.pe).launch(
      clock_.edge_at_or_after(l.block.target_start),
      [run = firmware_of_(l.pe), block = l.block](abi::hal& hal) { run(hal, block); }, ended);
}

// --- events -------------------------------------------------------------------------------------

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
    stopped.flights.push_back({credit, f, "in the fabric", true, analysis::flight_state::under_way, true});
  });
  return stopped;
}

}  // namespace diecast::sw
