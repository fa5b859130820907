// SPDX-License-Identifier: Apache-2.0
// Where a byte of a DRAM channel lies: the fields of an address in the order the config names them,
// and the XOR hash that spreads rows over banks.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "models/config/machine_config.hpp"

namespace diecast::timing {

/// Where one burst lies within a channel.
struct dram_location {
  std::uint32_t pseudo_channel{};
  std::uint32_t sid{};         ///< stack ID
  std::uint32_t bank_group{};  ///< within its pseudo-channel and SID
  std::uint32_t bank{};        ///< within its group
  std::uint32_t row{};
  std::uint32_t column{};  ///< burst within the row
  auto operator<=>(const dram_location&) const = default;
};

/// A channel's address map: above the byte within the burst come the fields of hbm.address_map. With
/// hbm.bank_hash row_xor the low bits of the row are XORed into (bank group, bank), so that rows at
/// a stride fall into different banks. One to one over the channel's capacity.
class dram_address_map {
 public:
  /// Throws user_error as config::need_sound does.
  explicit dram_address_map(const config::hbm_block& hbm);

  /// Precondition: offset < capacity().
  [[nodiscard]] dram_location decode(std::uint64_t offset) const;
  /// Offset of the first byte of a burst: the inverse of decode.
  [[nodiscard]] std::uint64_t encode(const dram_location& l) const;
  [[nodiscard]] std::uint32_t rows() const { return 1U << at(field_id::row).bits; }
  /// Bursts in a row.
  [[nodiscard]] std::uint32_t columns() const { return 1U << at(field_id::column).bits; }
  [[nodiscard]] std::uint32_t burst_bytes() const { return 1U << burst_bits_; }
  [[nodiscard]] unsigned burst_bits() const { return burst_bits_; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

 private:
  enum class field_id : std::uint8_t { pseudo_channel, sid, bank_group, bank, row, column };
  struct field {
    unsigned shift{};
    unsigned bits{};
    [[nodiscard]] std::uint32_t of(std::uint64_t offset) const {
      return static_cast<std::uint32_t>(offset >> shift & ((std::uint64_t{1} << bits) - 1));
    }
    [[nodiscard]] std::uint64_t place(std::uint32_t value) const { return std::uint64_t{value} << shift; }
  };
  [[nodiscard]] const field& at(field_id id) const { return fields_[static_cast<std::size_t>(id)]; }
  void hash(dram_location& l) const;

  std::array<field, 6> fields_;
  unsigned burst_bits_{};
  std::uint64_t capacity_{};
  bool row_xor_{};
};

}  // namespace diecast::timing
