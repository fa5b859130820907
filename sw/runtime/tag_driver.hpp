// SPDX-License-Identifier: Apache-2.0
// Base of messaging: memory in TCM, layouts, and the tag-matching unit's registers.
//
// Firmware's memory for messages that have to wait: first fit over a range of TCM.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "models/abi/address.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/registers.hpp"
#include "models/abi/wire.hpp"
#include "models/protocol/tag_unit.hpp"

namespace diecast::sw {
class tcm_heap {
 public:
  tcm_heap(std::uint64_t base, std::uint64_t bytes) : bytes_(bytes) {
    if (bytes > 0) free_[base] = bytes;
  }

  /// Offset of `bytes` bytes, rounded up to 64; empty when no gap is long enough.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) {
    const std::uint64_t wanted = rounded(bytes);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second < wanted) continue;
      const std::uint64_t offset = at->first;
      const std::uint64_t rest = at->second - wanted;
      free_.erase(at);
      if (rest > 0) free_[offset + wanted] = rest;
      return offset;
    }
    return std::nullopt;
  }
  /// Precondition: an offset from take(), with the same size.
  void give_back(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t size = rounded(bytes);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + size) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    free_[offset] = size;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Bytes of the heap that a range of `bytes` takes.
  static std::uint64_t rounded(std::uint64_t bytes) {
    return bytes == 0 ? abi::tcm_alignment : abi::aligned(bytes);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  ///< offset -> bytes
  std::uint64_t bytes_{};
};

// Layouts that messaging adds to messages and to TCM, beyond the bytes of programs.

/// app_ctx of an eager message that is a software rendezvous request. Its payload says where the message
/// lies at the sender: four little-endian words {address, bytes, block, stride}; block 0: in one piece.
inline constexpr std::uint8_t software_rendezvous = 1;
inline constexpr std::uint32_t descriptor_bytes = 32;

/// Fields of the 64 bits that the unit matches: communicator, rank of the sender in it, tag.
inline constexpr unsigned context_shift = 48, source_shift = 32;
inline constexpr std::uint64_t source_bits = std::uint64_t{0xffff} << source_shift;
inline constexpr std::uint64_t tag_bits = 0xffff'ffff;

// Register-level driver of a PE's tag-matching unit.

class tag_driver {
 public:
  /// `checks`: messages carry them.
  tag_driver(abi::hal& hal, bool checks) : hal_(hal), checks_(checks) {}

  /// The host's installation, and the unit's sizes.
  struct installation {
    std::uint64_t ring_base{}, slot_bytes{}, slots{}, peer_credits{}, heap_base{}, heap_bytes{}, entries{};
    std::uint32_t unexpected{};
  };
  [[nodiscard]] installation read_installation();

  void command(const protocol::tag_command& c);
  void release(std::uint16_t slot) { hal_.write_register(abi::tm_release, slot); }
  /// Checksum that travels with every message from here on.
  void check(std::uint32_t value) { hal_.write_register(abi::tm_check, value); }
  /// Bytes beyond `payload` of `length` stay at `source`, for the receiver to read.
  void send(pe_coord to, abi::tag_message_op op, std::uint8_t app_ctx, std::uint16_t id, std::uint64_t tag,
            abi::address source, std::uint64_t length, std::uint32_t payload);
  void read(std::uint16_t id, abi::address from, abi::address to, std::uint32_t bytes);

  [[nodiscard]] abi::tm_done_word pop_done() {
    return abi::tm_done_word::unpack(hal_.read_register(abi::tm_done));
  }
  [[nodiscard]] abi::tm_arrival_word pop_arrival() {
    return abi::tm_arrival_word::unpack(hal_.read_register(abi::tm_arrival));
  }
  /// The message of the arrival popped last; what its kind has no use for stays 0.
  [[nodiscard]] protocol::tag_message last_message(const abi::tm_arrival_word& word);
  void arm() { hal_.write_register(abi::tm_arm, 1); }

 private:
  abi::hal& hal_;
  bool checks_;
};

}  // namespace diecast::sw
