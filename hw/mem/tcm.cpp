// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/tcm.hpp"

#include <cstring>
#include <span>

#include "models/types/error.hpp"

namespace diecast::hw {
constexpr unsigned slot_bits = 20;
constexpr unsigned port_shift = 60;

tcm::tcm(sc_core::sc_module_name module_name, const config::machine_config& config, std::uint32_t unit,
         fault_sink& faults)
    : sc_module(module_name),
      unit_(unit),
      faults_(faults),
      clock_(clock_domain::from_ghz(config.noc.clock_ghz)),
      read_cycles_(config.pe.tcm_read_cycles),
      banks_(static_cast<std::uint32_t>(config.pe.tcm_banks),
             static_cast<std::uint32_t>(config.pe.tcm_bank_bytes)),
      memory_(name(), config.pe.tcm_kib * 1024, config.sim.strict_memory) {}

void tcm::request(const tcm_request& r, sim_time at) {
  memory_.check_range(r.offset, r.bytes);
  if (r.bytes == 0) throw protocol_error("{}: access of 0 bytes at offset {:#x}", name(), r.offset);
  if (at < now() + clock_.period) {
    throw protocol_error("{}: access posted too late (value {} fs; expected at least one cycle after {} fs)",
                         name(), at.fs, now().fs);
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(posted_.size()));
    posted_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  posted_[slot] = r;
  // Ordered by port; requests of a port in the order in which its client posted them.
  const std::uint64_t order = sequence_++ & ((std::uint64_t{1} << (port_shift - slot_bits)) - 1);
  calendar_.put(clock_.edge_at_or_after(at),
                static_cast<std::uint64_t>(r.port) << port_shift | order << slot_bits | slot);
}

void tcm::arbitrate() {
  guarded(faults_, name(), [this] {
    std::uint64_t key = 0;
    while (calendar_.take(key)) {
      const auto slot = static_cast<std::uint32_t>(key & ((std::uint64_t{1} << slot_bits) - 1));
      const tcm_request r = posted_[slot];
      free_slots_.push_back(slot);
      serve(r);
    }
  });
}

void tcm::serve(const tcm_request& r) {
  const std::uint64_t cycle = now().fs / clock_.period.fs;
  const std::uint64_t served = banks_.serve(cycle, r.offset, r.bytes);
  ++counters_.accesses;
  (r.write ? counters_.bytes_written : counters_.bytes_read) += r.bytes;
  counters_.wait_cycles += served - cycle - banks_.cycles_alone(r.offset, r.bytes);
  if (r.data != nullptr) {
    if (r.write) {
      memory_.write(r.offset, {r.data, r.bytes});
    } else {
      memory_.read(r.offset, {r.data, r.bytes});
    }
  }
  if (r.client != nullptr) r.client->tcm_done(r.tag, clock_.cycles(served + (r.write ? 0 : read_cycles_)));
}

void tcm::read_operand(std::uint64_t offset, std::span<std::byte> out) { memory_.read(offset, out); }

void tcm::debug_read(std::uint64_t offset, std::span<std::byte> out) { memory_.peek(offset, out); }

void tcm::debug_write(std::uint64_t offset, std::span<const std::byte> in) { memory_.write(offset, in); }

unsigned tcm::on_debug(tlm::tlm_generic_payload& a) {
  const std::uint64_t offset = local_offset(a.get_address(), abi::region::tcm, unit_, name());
  if (offset < memory_.size()) return debug_transport(memory_, offset, a);
  const auto table = std::as_writable_bytes(std::span{dispatch_});
  const std::uint64_t at = offset - memory_.size();
  if (at >= table.size() || a.get_data_length() > table.size() - at) return 0;
  const auto bytes = table.subspan(at, a.get_data_length());
  if (a.is_write()) {
    std::memcpy(bytes.data(), a.get_data_ptr(), bytes.size());
  } else {
    std::memcpy(a.get_data_ptr(), bytes.data(), bytes.size());
  }
  a.set_response_status(tlm::TLM_OK_RESPONSE);
  return a.get_data_length();
}

}  // namespace diecast::hw
