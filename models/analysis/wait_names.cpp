// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/wait_for.hpp"

namespace diecast::analysis {

const char* to_string(wait_kind k) {
  switch (k) {
    case wait_kind::receive: return "receive";
    case wait_kind::send_space: return "send_space";
    case wait_kind::source_read: return "source_read";
    case wait_kind::copy: return "copy";
    case wait_kind::memory: return "memory";
    case wait_kind::message: return "message";
  }
  return "unknown";
}

const char* to_string(wait_cause c) {
  switch (c) {
    case wait_cause::peer: return "peer";
    case wait_cause::in_flight: return "in_flight";
    case wait_cause::lost_message: return "lost_message";
    case wait_cause::lost_credit: return "lost_credit";
    case wait_cause::unwired: return "unwired";
    case wait_cause::ended: return "ended";
    case wait_cause::own_dma: return "own_dma";
  }
  return "unknown";
}

const char* to_string(root_kind k) {
  switch (k) {
    case root_kind::fault: return "fault";
    case root_kind::peer: return "peer";
    case root_kind::cycle: return "cycle";
  }
  return "unknown";
}

}  // namespace diecast::analysis
