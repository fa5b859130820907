// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "models/timing/lost_time.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::hbm {
namespace {

struct removal {
  std::string name;
  config::machine_config config;
};

std::vector<removal> removals_of(const config::machine_config& config) {
  std::vector<removal> all;
  removal together{all_limits, config};
  for (const timing::removable_limit& limit : timing::removable_limits) {
    all.push_back({timing::to_string(limit.cause), config});
    limit.remove(all.back().config.hbm);
    limit.remove(together.config.hbm);
  }
  all.push_back(std::move(together));
  return all;
}

}  // namespace

void add_savings(const study_point& point, const config::machine_config& config, const point_runner& run,
                 study_outcome& o) {
  study_point again = point;
  again.check_data = false;
  for (const removal& r : removals_of(config)) {
    again.progress_label =
        fmt::format("{}{}without {}", point.progress_label, point.progress_label.empty() ? "" : " ", r.name);
    const study_outcome without = run(again, r.config);
    o.peak_rss_mib = std::max(o.peak_rss_mib, without.peak_rss_mib);
    if (without.status != platforms::run_status::ok) {
      o.status = without.status;
      o.message = fmt::format("without {}: {}", r.name, without.message);
      return;
    }
    o.time_saved.push_back({r.name, 100 * (1 - without.time_ns / o.time_ns)});
  }
  if (point.speed.how == pace::kind::closed) {
    o.notes.emplace_back(
        "without turnarounds reads have no latency (tCL) either, for which a closed loop waits each time");
  }
}

}  // namespace diecast::hbm
