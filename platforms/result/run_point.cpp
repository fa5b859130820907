// SPDX-License-Identifier: Apache-2.0
#include "platforms/result/run_point.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "models/types/enum_name.hpp"

namespace diecast::platforms {

namespace {

struct status_row {
  run_status status;
  int exit_code;
};

/// Statuses in order of precedence, the worst first.
constexpr std::array<status_row, 10> statuses{{{run_status::internal, 70},
                                               {run_status::system, 71},
                                               {run_status::fault, 4},
                                               {run_status::deadlock, 3},
                                               {run_status::limit, 3},
                                               {run_status::wrong, 1},
                                               {run_status::not_reproducible, 6},
                                               {run_status::error, 2},
                                               {run_status::interrupted, 130},
                                               {run_status::ok, 0}}};

}  // namespace

const char* to_string(run_status s) { return enum_name(s); }

const char* to_string(chooser c) { return enum_name(c); }

std::string complaint(run_status s, const std::string& message) {
  return s == run_status::ok ? message : fmt::format("{}: {}", to_string(s), message);
}

std::optional<double> run_outcome::timed(double figure) const {
  const bool ended =
      status == run_status::ok || status == run_status::wrong || status == run_status::not_reproducible;
  return ended || figure > 0 ? std::optional(figure) : std::nullopt;
}

run_status status_named(const std::string& name) {
  if (const auto status = enum_named<run_status>(name)) return *status;
  throw std::runtime_error("unknown status " + name);
}

run_status worst(const std::vector<run_status>& all) {
  for (const status_row& r : statuses)
    if (std::ranges::find(all, r.status) != all.end()) return r.status;
  return run_status::ok;
}

int exit_code(run_status s) { return std::ranges::find(statuses, s, &status_row::status)->exit_code; }

}  // namespace diecast::platforms
