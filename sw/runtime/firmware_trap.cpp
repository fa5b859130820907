// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/firmware_trap.hpp"

#include <fmt/format.h>
#include <utility>

#include "models/types/owner_name.hpp"

namespace diecast::sw {
namespace {

fault_record at(pe_coord pe, fault_record r) {
  r.place = owner_name(pe);
  r.pe = pe;
  return r;
}

fault_record other(pe_coord pe, std::string_view text) {
  fault_record r;
  r.text = fmt::format("firmware on {}: {}", owner_name(pe), text);
  return at(pe, std::move(r));
}

fault_record refused(pe_coord pe, comm::direction dir, abi::engine_error error) {
  fault_record r =
      other(pe, fmt::format("queue pair {}: {}", comm::queue_pair_mark(pe, dir), abi::to_string(error)));
  r.queue_pair = dir;
  return r;
}

}  // namespace

firmware_trap::firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error)
    : fault_error(refused(pe, dir, error)), error_(error) {}

firmware_trap::firmware_trap(pe_coord pe, std::string_view text) : fault_error(other(pe, text)) {}

firmware_trap::firmware_trap(pe_coord pe, fault_record r) : fault_error(at(pe, std::move(r))) {}

}  // namespace diecast::sw
