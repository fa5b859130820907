// SPDX-License-Identifier: Apache-2.0
// What a fault sink holds, for tests.
#pragma once

#include <exception>
#include <string>

#include "hw/base/fault_sink.hpp"

namespace diecast::test {

/// What a fault says; empty when there was none.
inline std::string text_of(const hw::fault_sink& faults) {
  if (!faults.fault()) return {};
  try {
    std::rethrow_exception(faults.fault());
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// A bench ends with a fault that its user has not said to expect: fails the test. Each program has its own.
void unexpected_fault(const std::string& text);

/// The sink of a bench. A fault stops the simulation and nothing more: what a test sees of it may be just
/// what it expects, so a fault that nobody has said to expect fails the test.
class watched_faults : public hw::fault_sink {
 public:
  watched_faults() = default;
  watched_faults(const watched_faults&) = delete;
  watched_faults& operator=(const watched_faults&) = delete;
  ~watched_faults() {
    if (fault() && !expected) unexpected_fault(text_of(*this));
  }
  bool expected{};  ///< without it a fault fails the test
};

}  // namespace diecast::test
