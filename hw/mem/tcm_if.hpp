// SPDX-License-Identifier: Apache-2.0
// The interface of a PE's TCM. A request is posted for an instant at least one cycle ahead; the TCM
// arbitrates all requests of one instant by port number, moves the bytes in that order and answers
// with the time the last byte is served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

/// Ports in order of priority at one instant.
enum class tcm_port : std::uint8_t { core, vector, dma_read, dma_write, message_read, message_write };

class tcm_client {
 public:
  virtual ~tcm_client() = default;
  /// Called at the instant of arbitration; `finish` is when the access is complete.
  virtual void tcm_done(std::uint64_t tag, sim_time finish) = 0;
};

struct tcm_request {
  tcm_port port{};
  std::uint64_t offset{};
  std::uint64_t bytes{};  ///< bandwidth is charged for these
  bool write{};
  std::byte* data{};  ///< read into / written from at arbitration; null moves no data
  std::uint64_t tag{};
  tcm_client* client{};
};

class tcm_if : public abstract_interface {
 public:
  /// Precondition: at >= now + 1 cycle; offset + bytes within the TCM (else the run ends with an
  /// error naming the instance, offset and size).
  virtual void request(const tcm_request& r, sim_time at) = 0;
  /// The bytes of a vector operand whose access has been served: no time, but an error for bytes never
  /// written where the memory is strict.
  virtual void read_operand(std::uint64_t offset, std::span<std::byte> out) = 0;
  /// Debug transport: no time, no arbitration.
  /// A word of the firmware's dispatch table.
  [[nodiscard]] virtual std::uint64_t dispatch_word(unsigned index) const = 0;
  virtual void debug_read(std::uint64_t offset, std::span<std::byte> out) = 0;
  virtual void debug_write(std::uint64_t offset, std::span<const std::byte> in) = 0;
};

}  // namespace diecast::hw
