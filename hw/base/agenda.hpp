// SPDX-License-Identifier: Apache-2.0
// The timed work of many modules with one event of the kernel.
//
// A module that has to act at later instants owns an alarm. The agenda of the module above it (a SIP has
// one) calls the alarms of an instant one after the other, in the order of their modules' names. A process
// and an event per module would cost the kernel several times what the work itself costs.
//
// An alarm set for the present instant is called in the next delta cycle, like a notified process.
//
// Alarms of the next quarter of a microsecond are in a wheel of slots, later ones in a heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/base/time.hpp"
#include "models/types/immovable.hpp"

namespace diecast::hw {

class alarm;

class agenda : public sc_core::sc_module {
 public:
  explicit agenda(sc_core::sc_module_name name);

 private:
  friend class alarm;
  SC_HAS_PROCESS(agenda);

  void start_of_simulation() override;
  /// Throws std::logic_error once the simulation has begun.
  void add(alarm& a);
  void set(alarm& a, sim_time at);
  void clear(alarm& a);
  void call_due();
  void collect_due(sim_time t);
  void mark_due(const alarm& a);
  [[nodiscard]] sim_time first() const;
  void wake_at(sim_time at);
  void take_out(alarm& a);

  static constexpr unsigned slot_bits = 18;  ///< a slot is 2^18 fs
  static constexpr std::uint64_t slots = 1024;
  [[nodiscard]] static std::uint64_t slot_of(sim_time at) { return at.fs >> slot_bits; }
  void link(alarm& a);
  void unlink(alarm& a);

  // The heap: earliest in front.
  void place(std::size_t n, alarm& a);
  void move_up(std::size_t n);
  void move_down(std::size_t n);

  std::vector<alarm*> alarms_;
  std::array<alarm*, slots> wheel_{};  ///< by slot modulo `slots`: first alarm of the slot's list
  std::array<std::uint64_t, slots / 64> occupied_{};  ///< a bit per slot
  std::uint64_t present_slot_{};                      ///< slot of the last call; the wheel begins here
  std::vector<alarm*> heap_;
  std::vector<std::uint64_t> due_;       ///< a bit per alarm of the present instant, while they are called
  std::size_t first_due_{}, end_due_{};  ///< the words of due_ that may have some
  sc_core::sc_event wake_{"wake"};
  sim_time armed_{sim_time::never()};
  bool calling_{};
};

/// A module whose descendants share an agenda.
class agenda_owner {
 public:
  virtual ~agenda_owner() = default;
  [[nodiscard]] virtual agenda& timed_work() = 0;
};

/// Calls a member of a module at an instant, once for each time that it is set. It lives as long as the
/// simulation.
class alarm : immovable {
 public:
  /// Joins the agenda of the nearest agenda_owner above `module`; without one it gets an agenda of its own.
  alarm(const sc_core::sc_module& module, std::function<void()> call);

  /// The call comes at `at`, or earlier where it was set for an earlier instant. Precondition: at >= now.
  void set(sim_time at) {
    if (at < at_) agenda_->set(*this, at);
  }
  /// Cancels the call that is set, if any.
  void clear() {
    if (place_ != nowhere) agenda_->clear(*this);
  }

 private:
  friend class agenda;
  static constexpr std::size_t nowhere = SIZE_MAX, in_wheel = SIZE_MAX - 1;

  const sc_core::sc_module& module_;
  std::function<void()> call_;
  std::unique_ptr<agenda> own_;
  agenda* agenda_;
  sim_time at_{sim_time::never()};
  std::uint32_t number_{};       ///< in the order of the modules' names
  std::size_t place_{nowhere};   ///< index in heap_, or `nowhere` or `in_wheel`
  alarm *before_{}, *behind_{};  ///< neighbors in the list of a wheel slot
};

}  // namespace diecast::hw
