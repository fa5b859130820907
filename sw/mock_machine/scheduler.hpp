// SPDX-License-Identifier: Apache-2.0
// Who goes next on the mock machine. Everything that can happen at a moment is a candidate: a PE
// that can run, a source that can be read, bytes that can be written, a token or credit that can
// arrive, a DMA copy or a write-back of a cache line that can be done. A scheduler picks one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/types/immovable.hpp"

namespace diecast::sw {

enum class schedule : std::uint8_t {
  round_robin,  ///< oldest first, PEs and deliveries in turn; a PE runs until it waits
  random,       ///< any candidate; a PE may be interrupted at every register access
  adversarial   ///< newest first, some kinds or one PE held back until nothing else can move
};
[[nodiscard]] const char* to_string(schedule s);

struct candidate {
  enum class kind : std::uint8_t { run, read_source, write_data, token, credit, dma, write_back, message };
  kind what{};
  std::uint32_t pe{};   ///< index of the PE that runs, sent, copies, or returned the credit
  std::uint32_t qp{};   ///< its queue pair; write_back: which of its lines; message: a step of message_work
  bool polling{};       ///< run: the PE found no event and will only poll again
  std::uint64_t age{};  ///< count of the moment it became possible
};

class scheduler : public abstract_interface {
 public:
  /// Index of the next candidate. Precondition: not empty; candidates in order of age.
  [[nodiscard]] virtual std::size_t pick(const std::vector<candidate>& candidates) = 0;
  /// A PE yields at every register access, not only when it waits.
  [[nodiscard]] virtual bool interrupts() const = 0;
};

/// `pes`: of the machine, to choose a victim among.
[[nodiscard]] std::unique_ptr<scheduler> make_scheduler(schedule order, std::uint64_t seed,
                                                        std::uint32_t pes);

}  // namespace diecast::sw
