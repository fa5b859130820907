// SPDX-License-Identifier: Apache-2.0
// Where a module reports that the machine broke its own rules. The first fault in time stops the
// simulation; the run ends with it after the present slice.
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
    if (!stopped_) sc_core::sc_stop();  // a second call would be a warning of SystemC's
    stopped_ = true;
  }
  [[nodiscard]] std::exception_ptr fault() const { return fault_; }

 private:
  std::exception_ptr fault_;
  std::string instance_;
  sc_core::sc_time at_;
  bool stopped_{};
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
