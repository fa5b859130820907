// SPDX-License-Identifier: Apache-2.0
#include "hw/host/io_cpu.hpp"

#include <algorithm>

#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"

namespace diecast::hw {
namespace {

/// At one instant, packets written are taken first, in the order of their SIPs; then those that have been
/// read.
enum class work_kind : unsigned { written, read };
constexpr unsigned sip_shift = 40;  // above the number of a packet
std::uint64_t key_of(work_kind kind, std::uint64_t sip, std::uint64_t sequence) {
  return work_key(static_cast<unsigned>(kind), sip << sip_shift | sequence);
}

}  // namespace

staging_engine::staging_engine(sc_core::sc_module_name name, const config::machine_config& config,
                               packet_pool& pool, std::function<void(packet_ptr)> send, fault_sink& faults)
    : sc_module(name),
      as_bytes_(config.sim.links_as_bytes),
      flit_bytes_(config.noc.flit_bytes),
      gbytes_s_(config.host.staging_gbytes_s),
      latency_(nanoseconds(config.host.staging_latency_ns)),
      clock_(clock_domain::from_ghz(config.noc.clock_ghz)),
      pool_(pool),
      send_(std::move(send)),
      faults_(faults) {
  in.bind(*this);
}

sim_time staging_engine::transfer_time(std::uint32_t flits) const {
  return nanoseconds(static_cast<double>(flits * flit_bytes_) / gbytes_s_);
}

void staging_engine::stage(const packet& p, sip_id to) {
  sip_message m;
  m.flits = p.flits;
  m.header = p.header;
  m.data = p.data;
  write_free_ = std::max(write_free_, now()) + transfer_time(p.flits);
  m.head = m.tail = write_free_ + latency_;
  if (as_bytes_) m = decode_sip_message(encode(m));
  out[static_cast<int>(to.value)]->deliver(m);
}

void staging_engine::deliver(const sip_message& m) {
  steps_.put(m.tail, key_of(work_kind::written, m.header.staged.from.sip, arrivals_++), {false, m});
}

void staging_engine::act() {
  guarded(faults_, name(), [this] { serve(); });
}

void staging_engine::serve() {
  step due;
  while (steps_.take(due)) {
    if (!due.read) {
      read_free_ = std::max(read_free_, now()) + transfer_time(due.m.flits);
      const sim_time at = std::max(clock_.edge_at_or_after(read_free_), now() + clock_.cycles(1));
      steps_.put(at, key_of(work_kind::read, 0, reads_++), {true, std::move(due.m)});
      continue;
    }
    packet_ptr p = pool_.make();
    p->header = due.m.header;
    p->data = std::move(due.m.data);
    send_(std::move(p));
  }
}

io_cpu::io_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
               const config::machine_config& config, sip_id sip, packet_pool& pool, fault_sink& faults)
    : forwarding_cpu(module_name, topology, config, comm::io_cpu_node(topology, sip),
                     config.host.io_cpu_cycles, pool, faults) {
  host_side.bind(*this);
  if (config.comm.path == config::transfer_path::staged) {
    staging_ = std::make_unique<staging_engine>(
        "staging", config, pool, [this](packet_ptr p) { send_now(std::move(p)); }, faults);
  }
}

void io_cpu::launch(std::span<const abi::pe_launch> launches) {
  for (const abi::pe_launch& l : launches) {
    forward(make_launch(comm::launch_mailbox(l.pe), comm::control_cpu_node(topology(), l.pe.sip, l.pe.cube),
                        l.block.launch_id, abi::encode_launch(l.block)));
  }
}

void io_cpu::write_registers(std::span<const abi::pe_register_write> writes) {
  for (const abi::pe_register_write& w : writes) {
    forward(make_register_write(
        abi::encode({w.pe.sip, w.pe.cube, abi::region::pe_registers, w.pe.pe.value, w.reg}), w.value));
  }
}

std::uint32_t io_cpu::completed(std::uint32_t launch_id) const {
  const auto at = completed_.find(launch_id);
  return at == completed_.end() ? 0 : at->second;
}

void io_cpu::receive(const packet_ptr& p) {
  if (staging_ && p->header.staged.set) {
    p->header.destination = p->header.staged.to;
    return staging_->stage(*p, sip_id{p->header.destination.sip});
  }
  switch (p->header.kind) {
    case abi::packet_kind::launch_done: ++completed_[p->header.transaction]; break;
    case abi::packet_kind::write_response: ++acknowledged_; break;
    default:
      refuse(*p, staging_ ? "launch_done, write_response or staged data" : "launch_done or write_response");
  }
  reported_.notify(sc_core::SC_ZERO_TIME);
}

}  // namespace diecast::hw
