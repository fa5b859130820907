// SPDX-License-Identifier: Apache-2.0
#include "models/abi/operation_note.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/types/ids.hpp"

namespace diecast::abi {

const char* to_string(operation_kind k) {
  switch (k) {
    case operation_kind::send: return "send";
    case operation_kind::receive: return "receive";
    case operation_kind::probe: return "probe";
    case operation_kind::receipt: return "receipt";
    case operation_kind::barrier: return "barrier";
  }
  return "unknown";
}

std::string describe(const operation_note& n) {
  const std::string peer = n.peer ? owner_name(*n.peer) : "anybody";
  const std::string tag = tag_text(n.tag, n.group);
  switch (n.kind) {
    case operation_kind::send: return fmt::format("send to {}, {}, {} bytes", peer, tag, n.bytes);
    case operation_kind::receive: return fmt::format("receive from {}, {}, {} bytes", peer, tag, n.bytes);
    case operation_kind::probe: return fmt::format("probe of {}, {}", peer, tag);
    case operation_kind::receipt: return fmt::format("receipt of {} messages by {}", n.count, peer);
    case operation_kind::barrier: break;
  }
  std::string text = fmt::format("{} of team {}, count {}", n.algorithm, n.group, n.count);
  if (!n.stage.empty()) text += fmt::format(", {} {}", n.stage, n.stage_number);
  return text;
}

void awaited_operations::hear(const operation_note& n) {
  if (n.phase == operation_phase::posted || n.phase == operation_phase::started) return;
  std::erase_if(list_, [&n](const operation_note& o) { return o.kind == n.kind && o.id == n.id; });
  if (n.phase == operation_phase::awaited) list_.push_back(n);
}

}  // namespace diecast::abi
