// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "models/analysis/wait_for.hpp"

namespace diecast::analysis {

const char* to_string(flight_state s) {
  switch (s) {
    case flight_state::under_way: return "under_way";
    case flight_state::part_arrived: return "part_arrived";
    case flight_state::held_behind: return "held_behind";
  }
  return "unknown";
}

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

std::string present_step(const pe_dump& pe) {
  std::vector<std::string> steps;
  for (const abi::firmware_task& t : pe.tasks.live()) {
    std::string step = t.step();
    const bool known = step.empty() || std::find(steps.begin(), steps.end(), step) != steps.end();
    if (!known && !pe.tasks.has_children(t.id)) steps.push_back(std::move(step));
  }
  std::string text = fmt::format("{}", fmt::join(steps, ", "));
  for (const abi::operation_note& n : pe.awaits) {
    if (n.kind != abi::operation_kind::barrier) continue;  // the steps of messages say it themselves
    text += fmt::format("{}{}", text.empty() ? "" : ": ", abi::describe(n));
  }
  return text;
}

std::string step_of(const pe_dump& pe, abi::task_id task) {
  const abi::firmware_task* const found = pe.tasks.find(task);
  std::string text = found == nullptr ? std::string{} : found->step();
  for (const abi::operation_note& n : pe.awaits) {
    if (n.kind != abi::operation_kind::barrier || n.task != task) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ": ", abi::describe(n));
  }
  return text;
}

}  // namespace diecast::analysis
