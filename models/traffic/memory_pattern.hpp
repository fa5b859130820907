// SPDX-License-Identifier: Apache-2.0
// Requests to a memory: streams from a pattern or from a list.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/random/stream.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::traffic {

struct memory_request {
  std::uint64_t address{};  ///< offset within the memory, bytes
  std::uint32_t bytes{};
  bool write{};
  sim_time arrival;  ///< arrival of a recorded request; others arrive as their initiator paces them
};

/// Requests in the order in which they arrive.
class request_source : public abstract_interface {
 public:
  /// False when there are no more.
  [[nodiscard]] virtual bool next(memory_request& r) = 0;
};

/// Requests of a recorded trace. The list outlives the source.
class recorded_requests final : public request_source {
 public:
  explicit recorded_requests(const std::vector<memory_request>& list) : list_(list) {}
  [[nodiscard]] bool next(memory_request& r) override {
    if (at_ == list_.size()) return false;
    r = list_[at_++];
    return true;
  }

 private:
  const std::vector<memory_request>& list_;
  std::size_t at_{};
};

// Synthetic memory traffic in DRAM coordinates. A pattern determines bank, row and column of its k-th
// burst; the inverse address map gives its address, so a pattern has the same coordinates with every map.
//
//   seq            k unrolled, fastest first, over pseudo-channel, bank group, column, bank, SID, row
//   rand           every coordinate uniform
//   bank_conflict  one bank, the next row each time
//   same_bank_hit  one row per pseudo-channel, the next column each time, pseudo-channels in turn
//   page_stride    one burst per row: pseudo-channel, bank group, bank, SID in turn, then the next row
//   stride         addresses a fixed number of bytes apart, no coordinates
//
// The first five are those of the reference measurements (testbench/data/hbm/README.md). A request of
// several bursts begins at its pattern's address and covers those that follow; k counts bursts.

enum class memory_pattern : std::uint8_t { seq, rand, bank_conflict, same_bank_hit, page_stride, stride };

[[nodiscard]] const char* to_string(memory_pattern p);
/// One line for --list.
[[nodiscard]] const char* description(memory_pattern p);
inline constexpr std::array all_memory_patterns{memory_pattern::seq,           memory_pattern::rand,
                                                memory_pattern::bank_conflict, memory_pattern::same_bank_hit,
                                                memory_pattern::page_stride,   memory_pattern::stride};

/// One burst of a memory.
struct burst_place {
  std::uint32_t pseudo_channel{}, bank_group{}, bank{}, sid{}, row{}, column{};
  auto operator<=>(const burst_place&) const = default;
};

/// Counts of every coordinate and the address of a burst.
struct memory_geometry {
  std::uint64_t pseudo_channels{1}, bank_groups{1}, banks{1}, sids{1}, rows{1};
  std::uint64_t columns{1};  ///< bursts of one row
  std::uint64_t burst_bytes{32};
  std::function<std::uint64_t(const burst_place&)> address_of;  ///< first byte of a burst

  [[nodiscard]] std::uint64_t bursts() const {
    return pseudo_channels * bank_groups * banks * sids * rows * columns;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bursts() * burst_bytes; }
};

struct pattern_setup {
  memory_pattern pattern{memory_pattern::seq};
  std::uint64_t stride_bytes{};   ///< step of memory_pattern::stride
  std::uint64_t requests{};       ///< how many
  std::uint32_t request_bytes{};  ///< bytes of each request
  double read_fraction{1.0};      ///< each request is a read with this probability
  std::uint64_t seed{};
  std::string path;  ///< instance that draws: no two share their draws
};

class pattern_requests final : public request_source {
 public:
  /// Precondition: 1 <= request_bytes <= g.bytes(); stride_bytes >= 1 with memory_pattern::stride.
  pattern_requests(memory_geometry g, const pattern_setup& setup);

  [[nodiscard]] bool next(memory_request& r) override;

  /// Where the pattern's burst number k lies (not for rand and stride).
  [[nodiscard]] burst_place place(std::uint64_t k) const;

 private:
  /// Draws of one purpose, several at a time.
  class draws {
   public:
    draws(std::uint64_t seed, std::string_view path, std::string_view purpose)
        : stream_(seed, path, purpose) {}
    /// Draw number k. Precondition: k is 0, or one more than the time before.
    [[nodiscard]] std::uint64_t at(std::uint64_t k);

   private:
    static constexpr std::size_t batch = 64;
    random::stream stream_;
    std::array<std::uint64_t, batch> drawn_{};
  };

  /// A count that coordinates are taken modulo: nearly always a power of two, which needs no division.
  class radix {
   public:
    explicit radix(std::uint64_t count)
        : count_(count),
          shift_(static_cast<unsigned>(std::countr_zero(count))),
          power_(std::has_single_bit(count)) {}
    /// Takes the coordinate off `k`.
    [[nodiscard]] std::uint32_t take(std::uint64_t& k) const {
      const std::uint64_t rest = power_ ? k >> shift_ : k / count_;
      const std::uint64_t value = power_ ? k & (count_ - 1) : k - rest * count_;
      k = rest;
      return static_cast<std::uint32_t>(value);
    }

   private:
    std::uint64_t count_;
    unsigned shift_;
    bool power_;
  };

  [[nodiscard]] burst_place unroll(std::uint64_t k) const;
  [[nodiscard]] std::uint64_t address(std::uint64_t request);

  memory_geometry g_;
  pattern_setup setup_;
  radix pseudo_channel_, bank_group_, bank_, sid_, row_, column_;
  std::uint64_t capacity_;
  std::uint64_t bursts_;
  std::uint64_t bursts_per_request_;
  std::uint64_t read_below_;  ///< a draw of 53 bits below it is a read
  std::uint64_t k_{};
  std::uint64_t stride_at_{};  ///< the next address of memory_pattern::stride
  draws places_;
  draws directions_;
};

}  // namespace diecast::traffic
