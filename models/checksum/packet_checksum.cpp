// SPDX-License-Identifier: Apache-2.0
#include "models/checksum/packet_checksum.hpp"

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cstring>
#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define DIECAST_CRC32C_INSTRUCTION
#endif

namespace diecast::checksum {
namespace {

using crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

#ifdef DIECAST_CRC32C_INSTRUCTION
__attribute__((target("sse4.2"))) std::uint32_t crc32c_on(std::uint32_t state,
                                                          std::span<const std::byte> bytes) {
  std::uint64_t crc = state;
  for (; bytes.size() >= sizeof crc; bytes = bytes.subspan(sizeof crc)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  state = static_cast<std::uint32_t>(crc);
  for (const std::byte b : bytes) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(b));
  return state;
}
#endif

/// Both ends of every link check every packet: a table lookup per byte takes a quarter of some runs.
std::uint32_t crc32c_of(std::span<const std::byte> bytes, std::span<const std::byte> words) {
#ifdef DIECAST_CRC32C_INSTRUCTION
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~crc32c_on(crc32c_on(UINT32_MAX, bytes), words);
#endif
  crc32c crc;
  crc.process_bytes(bytes.data(), bytes.size());
  crc.process_bytes(words.data(), words.size());
  return crc.checksum();
}

std::uint64_t xor_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum ^= word;
  }
  return sum;
}

}  // namespace

std::uint64_t of_bytes(config::packet_checksum kind, std::span<const std::byte> bytes,
                       std::span<const std::uint64_t> words) {
  switch (kind) {
    case config::packet_checksum::none: return 0;
    case config::packet_checksum::xor64: return xor_of(bytes) ^ xor_of(std::as_bytes(words));
    case config::packet_checksum::crc32c:
    case config::packet_checksum::end_to_end: return crc32c_of(bytes, std::as_bytes(words));
  }
  return 0;
}

std::uint64_t of_packet(config::packet_checksum kind, const abi::packet_header& h,
                        std::span<const std::byte> payload) {
  const std::uint64_t part = std::uint64_t{h.offset} << 32 | h.payload_bytes;
  switch (h.kind) {
    case abi::packet_kind::tag_message: {
      const std::uint64_t name = std::uint64_t{static_cast<std::uint8_t>(h.tag.op)} << 32 |
                                 std::uint64_t{h.tag.app_ctx} << 16 | h.tag.id;
      return of_bytes(
          kind, payload,
          std::array<std::uint64_t, 6>{h.tag.tag, name, part, h.tag.length, h.tag.va, h.transaction});
    }
    case abi::packet_kind::read_response:
      return of_bytes(kind, payload, std::array<std::uint64_t, 3>{h.target, h.transaction, part});
    default:
      return of_bytes(
          kind, payload,
          std::array<std::uint64_t, 4>{h.ipcq.match_address, h.ipcq.sequence, part, h.ipcq.message_bytes});
  }
}

std::uint64_t digest_of_part(std::uint32_t offset, std::span<const std::byte> bytes) {
  return bytes.empty() ? 0 : XXH3_64bits_withSeed(bytes.data(), bytes.size(), offset);
}

const char* to_string(config::packet_checksum kind) {
  switch (kind) {
    case config::packet_checksum::none: return "none";
    case config::packet_checksum::xor64: return "xor64";
    case config::packet_checksum::crc32c:
    case config::packet_checksum::end_to_end: return "crc32c";
  }
  return "unknown";
}

}  // namespace diecast::checksum
