// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/options.hpp"

#include <algorithm>

#include "models/config/placement.hpp"

namespace diecast::sw {

runtime_options options_from(const config::machine_config& c, pe_coord pe) {
  runtime_options o;
  o.call_cycles = c.ccl.kernel_call_cycles;
  o.task_switch_cycles = c.pe.task_switch_cycles;
  o.poll_cycles = c.ipcq.poll_cycles;
  o.poll = c.ipcq.wait == config::backpressure::poll;
  o.task_stack_bytes = c.sim.task_stack_kib * 1024;
  o.accumulate = c.ccl.accumulate;
  o.slot_bytes = c.ipcq.slot_bytes;
  o.quantum_cycles = c.pe.task_quantum_cycles;
  o.connect = nanoseconds(static_cast<double>(c.ccl.connect_ns));
  o.entry_signal = nanoseconds(static_cast<double>(c.ccl.entry_signal_ns));
  o.exit = nanoseconds(static_cast<double>(c.ccl.exit_ns));
  o.start_delay = nanoseconds(config::start_delay_ns(c, pe));
  o.tag_match = c.tag_match;
  o.tcm_base = abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0});
  o.split_sendrecv = c.comm.sendrecv == config::sendrecv_form::split;
  if (c.comm.monitor == config::mr_cache_monitor::disabled)
    o.registration_cycles = c.comm.registration_cycles;
  o.sendrecv_pages = c.comm.staging == config::sendrecv_buffers::pages;
  o.through_host = c.comm.path == config::transfer_path::staged;
  o.staging_bytes = staging_bytes(c);
  o.end_to_end = c.comm.checksum == config::packet_checksum::end_to_end;
  return o;
}

bool widens(config::accumulation mode, numeric::dtype type) {
  return mode != config::accumulation::elem && (type == numeric::dtype::f16 || type == numeric::dtype::bf16);
}

std::uint64_t wide_bytes(const config::machine_config& c, std::uint64_t count, numeric::dtype type) {
  if (!widens(c.ccl.accumulate, type)) return 0;
  const std::uint64_t boxes =
      c.ccl.accumulate == config::accumulation::f32_acc ? outboxes * c.ipcq.slot_bytes : 0;
  return wide_vector_bytes(count) + boxes;
}

std::uint64_t staging_bytes(const config::machine_config& c) {
  return c.ipcq.rings == config::buffer_kind::tcm ? 0 : c.ipcq.slot_bytes;
}

std::uint64_t page_bytes(const config::machine_config& c) {
  const bool defective = std::ranges::any_of(
      c.faults, [](const config::fault_setting& f) { return f.kind == config::fault_kind::sendrecv_alias; });
  const bool pages = defective || c.comm.staging == config::sendrecv_buffers::pages;
  return pages ? 2 * abi::aligned(c.ipcq.slot_bytes) : 0;
}

}  // namespace diecast::sw
