// SPDX-License-Identifier: Apache-2.0
// Modules report errors of the simulated machine here. The earliest error stops the simulation, unless other
// processes simulate parts of the machine, and becomes the result of the run after the present slice.
#pragma once

#include <exception>
#include <string>
#include <systemc>

namespace diecast::hw {

class fault_sink {
 public:
  /// Keeps the first fault; of several at one instant the one of the lowest instance path.
  void report(const std::string& instance, std::exception_ptr fault) {
    const auto at = sc_core::sc_time_stamp();
    if (!fault_ || (at == at_ && instance < instance_)) {
      fault_ = fault;
      instance_ = instance;
      at_ = at;
    }
    if (stops_) sc_core::sc_stop();
    stops_ = false;  // SystemC warns of a second call
  }
  [[nodiscard]] std::exception_ptr fault() const { return fault_; }
  /// Faults no longer stop the simulation: it continues until all processes that simulate parts of the
  /// machine have reached one time.
  void go_on() { stops_ = false; }
  [[nodiscard]] const std::string& instance() const { return instance_; }
  [[nodiscard]] sc_core::sc_time at() const { return at_; }

 private:
  std::exception_ptr fault_;
  std::string instance_;
  sc_core::sc_time at_;
  bool stops_{true};
};

/// Runs `body`; anything it throws ends the simulation as a fault of `instance`.
template <class Body>
void guarded(fault_sink& sink, const char* instance, Body&& body) {
  try {
    body();
  } catch (const sc_core::sc_unwind_exception&) {
    throw;
  } catch (...) {
    sink.report(instance, std::current_exception());
  }
}

}  // namespace diecast::hw
