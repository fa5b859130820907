// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/waited_time.hpp"

namespace diecast::analysis {

void waited_time::on(const events::core_state_changed& e) {
  auto& since = cores_[e.pe].asleep_since;
  if (e.state == events::core_state::asleep) {
    since = e.at;
  } else {
    since.reset();
  }
}

void waited_time::on(const events::core_waited& e) {
  cores_[e.pe].by_cause[static_cast<std::size_t>(e.cause)] += e.to - e.from;
}

void waited_time::on(const events::core_worked& e) {
  if (e.what == events::core_work::pause) cores_[e.pe].poll += e.to - e.from;
}

core_waits waited_time::of(pe_coord pe) const {
  const auto at = cores_.find(pe);
  return at == cores_.end() ? core_waits{} : at->second;
}

}  // namespace diecast::analysis
