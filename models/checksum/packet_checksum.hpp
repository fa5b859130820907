// SPDX-License-Identifier: Apache-2.0
// Checksums of packets, as a DMA engine makes them: over the payload and the words of the header that say
// which bytes of which message these are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/abi/wire.hpp"
#include "models/config/comm_block.hpp"

namespace diecast::checksum {

/// xor64: exclusive or of all 64-bit words; misses words that change places and pairs of equal errors.
/// crc32c (Castagnoli, RFC 3720): depends on the place of every bit. 0 for none.
[[nodiscard]] std::uint64_t of_bytes(config::packet_checksum kind, std::span<const std::byte> bytes,
                                     std::span<const std::uint64_t> words);

/// Over payload, offset, length and what names the message: sequence number and slot address (its tag) of an
/// IPCQ packet; tag, context, kind, identifier and number of a tag-matched one; address and transaction of a
/// read's answer.
[[nodiscard]] std::uint64_t of_packet(config::packet_checksum kind, const abi::packet_header& header,
                                      std::span<const std::byte> payload);

/// An order-free digest of the bytes of a message that arrives in parts: the sum over its parts.
[[nodiscard]] std::uint64_t digest_of_part(std::uint32_t offset, std::span<const std::byte> bytes);

[[nodiscard]] const char* to_string(config::packet_checksum kind);

}  // namespace diecast::checksum
