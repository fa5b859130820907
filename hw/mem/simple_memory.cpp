// SPDX-License-Identifier: Apache-2.0
#include "hw/mem/simple_memory.hpp"

#include "models/config/memory_window.hpp"

namespace diecast::hw {
namespace {

/// Requests accepted before END_REQ is held back: all that the memory's network interface has in flight.
constexpr std::uint64_t queue = config::least_memory_window;

}  // namespace

simple_memory::simple_memory(sc_core::sc_module_name module_name, const config::sram_block& sram, bool strict,
                             fault_sink& faults)
    : memory_target(module_name, sram.kib * 1024, queue, strict, faults),
      server_(sram.gbytes_s),
      latency_(nanoseconds(sram.latency_ns)) {}

void simple_memory::start(request_id id, std::uint64_t, std::uint64_t bytes, bool) {
  finish(id, server_.serve(now(), bytes) + latency_);
}

}  // namespace diecast::hw
