// SPDX-License-Identifier: Apache-2.0
// The registers of the DMA engine's compute port without time: fields of a copy, and the condition of
// DMA_ARM's event. hw/ipcq and sw/mock_machine wrap the same object.
#pragma once

#include <cstdint>
#include <optional>

#include "models/abi/address.hpp"
#include "models/abi/registers.hpp"

namespace diecast::protocol {

/// One copy of the compute port.
struct copy_request {
  abi::address source{};
  abi::address destination{};
  std::uint64_t bytes{};
};

/// Counts run modulo 2^32; fewer than 2^31 copies are in flight at any time.
class copy_port {
 public:
  [[nodiscard]] static bool owns(abi::register_offset reg) {
    return reg >= abi::dma_source && reg <= abi::dma_arm;
  }

  /// Effect of a register write; at most one of the two is present.
  struct effects {
    std::optional<copy_request> start;
    std::optional<abi::ipcq_event_word> event;
  };

  /// Empty for a register that cannot be written.
  [[nodiscard]] std::optional<effects> write_register(abi::register_offset reg, std::uint64_t value) {
    switch (reg) {
      case abi::dma_source: next_.source = value; return effects{};
      case abi::dma_destination: next_.destination = value; return effects{};
      case abi::dma_doorbell:
        next_.bytes = value;
        ++started_;
        return effects{next_, std::nullopt};
      case abi::dma_arm: target_ = static_cast<std::uint32_t>(value); return effects{std::nullopt, fire()};
      default: return std::nullopt;
    }
  }
  /// Empty for a register that cannot be read.
  [[nodiscard]] std::optional<std::uint64_t> read_register(abi::register_offset reg) const {
    switch (reg) {
      case abi::dma_source: return next_.source;
      case abi::dma_destination: return next_.destination;
      case abi::dma_status: return abi::status_halves{done_, started_}.pack();
      default: return std::nullopt;
    }
  }
  /// `count` copies are done in total; returns the event that DMA_ARM requested, if it is due.
  [[nodiscard]] std::optional<abi::ipcq_event_word> done(std::uint32_t count) {
    done_ = count;
    return fire();
  }
  [[nodiscard]] std::uint32_t copies_done() const { return done_; }
  /// DMA_ARM waits for copies that are not done.
  [[nodiscard]] bool armed() const { return target_.has_value(); }

 private:
  std::optional<abi::ipcq_event_word> fire() {
    if (!target_ || static_cast<std::int32_t>(done_ - *target_) < 0) return std::nullopt;
    target_.reset();
    return abi::ipcq_event_word{abi::event_kind::dma_done, false, 0, done_};
  }

  copy_request next_;
  std::uint32_t started_{};
  std::uint32_t done_{};
  std::optional<std::uint32_t> target_;
};

}  // namespace diecast::protocol
