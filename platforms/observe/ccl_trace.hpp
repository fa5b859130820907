// SPDX-License-Identifier: Apache-2.0
// --ccl-trace: one line per send, receive and credit, for reading beside a kernel's source.
#pragma once

#include <cstdio>
#include <map>

#include "models/events/events.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::observe {

/// Writes "ccl rank 3 at 1616.000 ns: send E 8192 bytes seq 0" and the like. "send": the engine has taken
/// the descriptor; "recv": the message is visible to the receiver; "credit": a slot is free again at the
/// sender, seq being how far the peer has consumed. Times are simulated, from the start of the run.
class ccl_trace : public events::observer {
 public:
  /// `to` must outlive the trace. Wants events::messages.
  ccl_trace(const platforms::prepared_run& run, std::FILE* to);
  void on(const events::message_event& e) override;

 private:
  const platforms::prepared_run& run_;
  std::FILE* to_;
  std::map<pe_coord, std::size_t> ranks_;
};

}  // namespace diecast::observe
