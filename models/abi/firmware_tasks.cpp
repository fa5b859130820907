// SPDX-License-Identifier: Apache-2.0
#include "models/abi/firmware_tasks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/abi/registers.hpp"
#include "models/types/enum_name.hpp"
#include "models/types/ids.hpp"

namespace diecast::abi {

std::string firmware_task::step() const {
  return step_name.empty() ? std::string{} : step_text(step_name, step_index);
}

firmware_tasks::firmware_tasks(std::string_view step) { mark(step, no_step_index); }

const firmware_task* firmware_tasks::find(task_id id) const {
  const auto at = std::ranges::find(live_, id, &firmware_task::id);
  return at == live_.end() ? nullptr : &*at;
}

bool firmware_tasks::has_children(task_id id) const {
  return std::ranges::any_of(live_, [id](const firmware_task& t) { return t.parent == id && t.id != id; });
}

void firmware_tasks::hear(const task_note& n) {
  idle_ = n.phase == task_phase::idle;
  if (idle_) return;
  if (n.phase == task_phase::begun) {
    firmware_task child = live_[at_];
    child.parent = child.id;
    child.id = n.id;
    live_.push_back(std::move(child));
    return;
  }
  const firmware_task* const found = find(n.id);
  if (found == nullptr) return;
  const auto at = static_cast<std::size_t>(found - live_.data());
  if (n.phase == task_phase::resumed) {
    at_ = at;
    return;
  }
  // A task that ran others reaches, with the end of the last of them, that one's progress.
  const firmware_task ended = std::move(live_[at]);
  const task_id now = running();
  live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
  const firmware_task* const runs = find(now == ended.id ? ended.parent : now);
  at_ = runs == nullptr ? 0 : static_cast<std::size_t>(runs - live_.data());
  if (has_children(ended.parent)) return;
  const firmware_task* const parent = find(ended.parent);
  if (parent == nullptr) return;
  firmware_task& heir = live_[static_cast<std::size_t>(parent - live_.data())];
  heir.step_name = ended.step_name;
  heir.step_index = ended.step_index;
}

void firmware_tasks::mark(std::string_view name, std::uint32_t index) {
  live_[at_].step_name = name;
  live_[at_].step_index = index;
}

std::optional<firmware_tasks::new_use> firmware_tasks::wrote(std::uint32_t reg, std::uint64_t value) {
  if (reg == dma_arm) copier_ = running();
  if (reg < ipcq_qp_base) return {};
  const std::uint32_t qp = (reg - ipcq_qp_base) / ipcq_qp_stride;
  if (qp > UINT16_MAX) return {};  // the engine refuses it
  const register_offset field = (reg - ipcq_qp_base) % ipcq_qp_stride;
  const bool sends = field == qp_tx_doorbell || (field == qp_arm && (value & arm_send_space) != 0);
  const bool receives = field == qp_my_tail || (field == qp_arm && (value & arm_receive) != 0);
  if (!sends && !receives && field != qp_arm) return {};
  if (qp >= uses_.size()) uses_.resize(std::size_t{qp} + 1);
  queue_pair_use& use = uses_[qp];
  const task_id self = running();
  if (field == qp_arm) {
    for (std::size_t bit = 0; bit < use.armed.size(); ++bit)
      if ((value >> bit & 1) != 0) use.armed[bit] = self;
  }
  if (!sends && !receives) return {};
  std::optional<task_id>& user = sends ? use.sender : use.receiver;
  if (user == self) return {};
  user = self;
  return new_use{static_cast<std::uint16_t>(qp), sends};
}

const char* to_string(operation_kind k) { return enum_name(k); }

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
