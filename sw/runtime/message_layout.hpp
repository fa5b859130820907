// SPDX-License-Identifier: Apache-2.0
// What messaging puts into messages and into TCM beyond the bytes of programs.
#pragma once

#include <cstdint>

namespace diecast::sw {

/// app_ctx of an eager message that is a software rendezvous request. Its payload says where the message
/// lies at the sender: four little-endian words {address, bytes, block, stride}; block 0: in one piece.
inline constexpr std::uint8_t software_rendezvous = 1;
inline constexpr std::uint32_t descriptor_bytes = 32;

/// Fields of the 64 bits that the unit matches: communicator, rank of the sender in it, tag.
inline constexpr unsigned context_shift = 48, source_shift = 32;
inline constexpr std::uint64_t source_bits = std::uint64_t{0xffff} << source_shift;
inline constexpr std::uint64_t tag_bits = 0xffff'ffff;

}  // namespace diecast::sw
