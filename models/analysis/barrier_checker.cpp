// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/barrier_checker.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace diecast::analysis {

barrier_checker::barrier_checker(const machine_shape& shape, std::vector<pe_coord> members)
    : shape_(shape), members_(std::move(members)) {}

void barrier_checker::on(const events::step_entered& e) {
  if (e.name == enter) barriers_[e.index].entered.emplace(e.pe, e.at);
  if (e.name != left) return;
  const auto& entered = barriers_[e.index].entered;
  // A mark bears the time of the firmware's own clock, which runs ahead of the event that brings it.
  const auto missing = [&](pe_coord pe) {
    const auto at = entered.find(pe);
    return at == entered.end() || at->second > e.at;
  };
  const auto absent = std::find_if(members_.begin(), members_.end(), missing);
  if (absent == members_.end()) return;
  ++escapes_;
  if (!first_escape_.empty()) return;
  const auto open = std::count_if(members_.begin(), members_.end(), missing);
  first_escape_ = fmt::format(
      "{} left barrier {} of its launch at {:.3f} ns; {} of {} PEs had not entered "
      "it, {} among them",
      pe_path(shape_, e.pe), e.index, e.at.ns(), open, members_.size(), pe_path(shape_, *absent));
}

}  // namespace diecast::analysis
