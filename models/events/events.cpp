// SPDX-License-Identifier: Apache-2.0
#include "models/events/events.hpp"

namespace diecast::events {

const char* to_string(core_state s) {
  switch (s) {
    case core_state::idle: return "idle";
    case core_state::waiting_start: return "waiting_start";
    case core_state::running: return "running";
    case core_state::asleep: return "asleep";
    case core_state::done: return "done";
  }
  return "unknown";
}

}  // namespace diecast::events
