// SPDX-License-Identifier: Apache-2.0
#include "hw/host/io_cpu.hpp"

#include <algorithm>
#include <span>

#include "hw/base/time.hpp"
#include "models/abi/address.hpp"
#include "models/abi/launch.hpp"
#include "models/comm/install_plan.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

forwarding_cpu::forwarding_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
                               const config::machine_config& config, abi::node_address self,
                               std::uint64_t cycles, packet_pool& pool, fault_sink& faults)
    : sc_module(module_name),
      topology_(topology),
      pool_(pool),
      faults_(faults),
      clock_(timing::noc_clock(config)),
      cycles_(cycles),
      terminal_("terminal", topology, config, self, *this) {}

void forwarding_cpu::on_packet(const packet_ptr& p, std::uint8_t vc) {
  guarded(faults_, name(), [&] {
    receive(p);
    terminal_.release(vc, p->flits);
  });
}

void forwarding_cpu::refuse(const packet& p, const char* expected) const {
  throw protocol_error("{}: unexpected {} packet (value {}; expected {})", name(),
                       abi::to_string(p.header.kind), abi::describe(p.header.target), expected);
}

packet_ptr forwarding_cpu::make_launch(abi::address target, abi::node_address next, std::uint64_t launch_id,
                                       const std::vector<std::byte>& block) const {
  packet_ptr p = pool_.make();
  p->header.kind = abi::packet_kind::launch;
  p->header.target = target;
  p->header.destination = next;
  p->header.transaction = launch_id;
  p->header.payload_bytes = static_cast<std::uint32_t>(block.size());
  p->data = block;
  return p;
}

packet_ptr forwarding_cpu::make_register_write(abi::address target, std::uint64_t value) const {
  packet_ptr p = pool_.make();
  p->header.kind = abi::packet_kind::write_request;
  p->header.target = target;
  p->header.destination = topology_.locate(target);
  p->header.payload_bytes = sizeof value;
  const auto bytes = std::as_bytes(std::span{&value, 1});
  p->data.assign(bytes.begin(), bytes.end());
  return p;
}

void forwarding_cpu::forward(packet_ptr p) {
  inbox_.push_back(std::move(p));
  if (inbox_.size() > 1) return;
  done_.set(clock_.edge_at_or_after(now()) + clock_.cycles(cycles_));
}

void forwarding_cpu::act() {
  guarded(faults_, name(), [this] {
    terminal_.send(std::move(inbox_.front()));
    inbox_.pop_front();
    if (!inbox_.empty()) done_.set(now() + clock_.cycles(cycles_));
  });
}

control_cpu::control_cpu(sc_core::sc_module_name module_name, const fabric::topology& topology,
                         const config::machine_config& config, abi::node_address self, packet_pool& pool,
                         fault_sink& faults)
    : forwarding_cpu(module_name, topology, config, self, config.host.control_cpu_cycles, pool, faults),
      self_(self) {}

void control_cpu::receive(const packet_ptr& p) {
  const auto to = abi::decode(p->header.target);
  const bool for_a_pe = to && to->kind == abi::region::launch_mailbox && to->sip.value == self_.sip &&
                        to->cube.value == self_.cube && to->unit < topology().shape().pes_per_cube;
  if (p->header.kind != abi::packet_kind::launch || !for_a_pe)
    refuse(*p, "launch for the launch mailbox of a PE of this cube");
  forward(make_launch(p->header.target, topology().locate(p->header.target), p->header.transaction, p->data));
}

namespace {

/// Within an instant packets to be written are handled first, in the order of their SIPs, then those that
/// have been read.
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
