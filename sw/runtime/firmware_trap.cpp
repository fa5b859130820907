// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/firmware_trap.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>

#include "models/abi/address.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/types/ids.hpp"

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

void buffer_check::add(std::uint64_t tcm_offset, std::uint64_t bytes) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + bytes);
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t piece = std::min(bytes - at, abi::tcm_alignment);
    hal_.load(tcm_offset + at, std::span{bytes_}.subspan(before + at, piece));
    at += piece;
  }
}

std::uint32_t buffer_check::value() const {
  const auto crc =
      static_cast<std::uint32_t>(checksum::of_bytes(config::packet_checksum::crc32c, bytes_, {}));
  return std::max<std::uint32_t>(crc, 1);
}

firmware_trap end_to_end_mismatch(pe_coord pe, std::uint32_t found, std::uint32_t expected,
                                  std::uint64_t bytes, const std::string& message) {
  return {pe, fmt::format("end-to-end checksum mismatch: crc32c {:#x} over the {} bytes of a {} where they "
                          "were to be received; {:#x} over those that were to be sent",
                          found, bytes, message, expected)};
}

}  // namespace diecast::sw
