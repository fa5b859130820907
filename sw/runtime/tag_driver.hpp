// SPDX-License-Identifier: Apache-2.0
// Register-level driver of a PE's tag-matching unit.
#pragma once

#include <cstdint>

#include "models/abi/hal.hpp"
#include "models/abi/tag_registers.hpp"
#include "models/abi/wire.hpp"
#include "models/protocol/tag_unit.hpp"

namespace diecast::sw {

class tag_driver {
 public:
  /// `checks`: messages carry them.
  tag_driver(abi::hal& hal, bool checks) : hal_(hal), checks_(checks) {}

  /// What the host has installed, and what the unit has.
  struct installation {
    std::uint64_t ring_base{}, slot_bytes{}, slots{}, peer_credits{}, heap_base{}, heap_bytes{}, entries{};
    std::uint32_t unexpected{};
  };
  [[nodiscard]] installation read_installation();

  void command(const protocol::tag_command& c);
  void release(std::uint16_t slot) { hal_.write_register(abi::tm_release, slot); }
  /// Travels with every message from here on.
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
