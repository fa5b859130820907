// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/buffer_check.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "models/abi/alignment.hpp"
#include "models/checksum/packet_checksum.hpp"

namespace diecast::sw {

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
  return {pe,
          fmt::format("end-to-end checksum mismatch: crc32c {:#x} over the {} bytes of a {} where they were "
                      "to be received; {:#x} over those that were to be sent",
                      found, bytes, message, expected)};
}

}  // namespace diecast::sw
