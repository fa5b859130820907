// SPDX-License-Identifier: Apache-2.0
// Faulty policies that a PE can be built with. The correct policies are objects, too, so nothing checks at
// run time whether a fault is configured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <systemc>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/time.hpp"
#include "models/config/comm_block.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

/// Whether a fault acts on item `number` (from 0): after..after+count-1, with count 0 all from `after` on.
[[nodiscard]] inline bool strikes(const config::fault_setting& f, std::uint64_t number) {
  return number >= f.after && (f.count == 0 || number - f.after < f.count);
}
/// How often a defect could have acted, and did.
struct defect_count {
  std::uint64_t chances{}, met{};
};

/// Rule for the time at which the token of an arriving message is published.
class publication_rule : public abstract_interface {
 public:
  /// How long the message's bytes stay in a write buffer while its token is published at once. never(): the
  /// token waits until every byte is acknowledged written, as the protocol demands.
  [[nodiscard]] virtual sim_time early_by() { return sim_time::never(); }
  [[nodiscard]] virtual defect_count counted() const { return {}; }
};

/// The defect: messages number after..after+count-1 of this PE are announced before their data.
class early_publication : public publication_rule {
 public:
  explicit early_publication(const config::fault_setting& f) : fault_(f) {}
  [[nodiscard]] sim_time early_by() override {
    const bool hit = strikes(fault_, messages_++);
    met_ += hit ? 1 : 0;
    return hit ? nanoseconds(fault_.delay_ns) : sim_time::never();
  }
  [[nodiscard]] defect_count counted() const override { return {messages_, met_}; }

 private:
  config::fault_setting fault_;
  std::uint64_t messages_{}, met_{};
};

/// Rule for the time at which a core's results are in its TCM.
class store_rule : public abstract_interface {
 public:
  /// The core is about to read or write these bytes.
  virtual void meet(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  /// True: this object has taken the result and writes it later. False: the core writes it now, as it should.
  [[nodiscard]] virtual bool takes(std::uint64_t /*offset*/, std::vector<std::byte>& /*bytes*/) {
    return false;
  }
  /// Called when all that the core has written is in memory: at a barrier of its pipe, and before the end of
  /// a kernel is reported.
  virtual void flush() {}
  [[nodiscard]] virtual defect_count counted() const { return {}; }
};

/// The defect: results number after..after+count-1 of a core wait in a write buffer that is not flushed
/// before the DMA engine reads them. The core itself sees them: its accesses to them flush the buffer, as
/// do a pipe barrier and the end of the kernel.
class write_buffer : public sc_core::sc_module, public store_rule {
 public:
  using writer = std::function<void(std::uint64_t offset, std::span<const std::byte>)>;
  write_buffer(sc_core::sc_module_name name, const config::fault_setting& f, writer write);
  void meet(std::uint64_t offset, std::uint64_t bytes) override;
  [[nodiscard]] bool takes(std::uint64_t offset, std::vector<std::byte>& bytes) override;
  void flush() override;
  [[nodiscard]] defect_count counted() const override { return {results_, met_}; }

 private:
  struct entry {
    sim_time due;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };
  void drain_due();
  void set_timer();

  config::fault_setting fault_;
  writer write_;
  std::uint64_t results_{}, met_{};
  std::list<entry> waiting_;  ///< in the order of the stores, thus of their times
  alarm due_{*this, [this] { drain_due(); }};
};

/// Faults of a core.
struct core_health {
  std::uint64_t slowdown{1};                    ///< divisor of the core's clock
  std::uint64_t dies_after_writes{UINT64_MAX};  ///< counts writes of firmware to registers and global memory
  sim_time dies_at{};                           ///< earliest time of its stop
};

}  // namespace diecast::hw
