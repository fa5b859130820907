// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/run_point.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::platforms {

namespace {

struct status_row {
  run_status status;
  const char* name;
  int exit_code;
};

/// The worst first.
constexpr std::array<status_row, 10> statuses{{{run_status::internal, "internal", 70},
                                               {run_status::system, "system", 71},
                                               {run_status::fault, "fault", 4},
                                               {run_status::deadlock, "deadlock", 3},
                                               {run_status::limit, "limit", 3},
                                               {run_status::wrong, "wrong", 1},
                                               {run_status::not_reproducible, "not_reproducible", 6},
                                               {run_status::error, "error", 2},
                                               {run_status::interrupted, "interrupted", 130},
                                               {run_status::ok, "ok", 0}}};

const status_row& row_of(run_status s) {
  const auto at = std::ranges::find_if(statuses, [s](const auto& r) { return r.status == s; });
  return at == statuses.end() ? statuses.front() : *at;
}

}  // namespace

const char* to_string(run_status s) { return row_of(s).name; }

const char* to_string(chooser c) {
  switch (c) {
    case chooser::user: return "user";
    case chooser::rule: return "rule";
    case chooser::key: return "key";
    case chooser::estimate: return "estimate";
  }
  return "?";
}

std::string complaint(run_status s, const std::string& message) {
  return s == run_status::ok ? message : fmt::format("{}: {}", to_string(s), message);
}

std::optional<double> run_outcome::timed(double figure) const {
  const bool ended =
      status == run_status::ok || status == run_status::wrong || status == run_status::not_reproducible;
  return ended || figure > 0 ? std::optional(figure) : std::nullopt;
}

run_status status_named(const std::string& name) {
  for (const status_row& r : statuses)
    if (name == r.name) return r.status;
  throw std::runtime_error("unknown status " + name);
}

run_status worst(const std::vector<run_status>& all) {
  for (const status_row& r : statuses)
    if (std::ranges::find(all, r.status) != all.end()) return r.status;
  return run_status::ok;
}

int exit_code(run_status s) { return row_of(s).exit_code; }

}  // namespace diecast::platforms
