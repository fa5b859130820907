// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/run_point.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::platforms {

const char* to_string(run_status s) {
  switch (s) {
    case run_status::ok: return "ok";
    case run_status::wrong: return "wrong";
    case run_status::deadlock: return "deadlock";
    case run_status::fault: return "fault";
    case run_status::error: return "error";
    case run_status::not_reproducible: return "not_reproducible";
    case run_status::interrupted: return "interrupted";
    case run_status::system: return "system";
    case run_status::internal: return "internal";
  }
  return "internal";
}

bool is_choice(const std::string& algorithm_reason) {
  const auto begins = [&](const char* with) { return algorithm_reason.starts_with(with); };
  return begins("auto: ") || begins("rule ") || begins("comm.");
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
  for (const auto s :
       {run_status::ok, run_status::wrong, run_status::deadlock, run_status::fault, run_status::error,
        run_status::not_reproducible, run_status::interrupted, run_status::system, run_status::internal}) {
    if (name == to_string(s)) return s;
  }
  throw std::runtime_error("unknown status " + name);
}

run_status worst(const std::vector<run_status>& all) {
  for (const auto s :
       {run_status::internal, run_status::system, run_status::fault, run_status::deadlock, run_status::wrong,
        run_status::not_reproducible, run_status::error, run_status::interrupted}) {
    if (std::find(all.begin(), all.end(), s) != all.end()) return s;
  }
  return run_status::ok;
}

int exit_code(run_status s) {
  switch (s) {
    case run_status::ok: return 0;
    case run_status::wrong: return 1;
    case run_status::error: return 2;
    case run_status::deadlock: return 3;
    case run_status::fault: return 4;
    case run_status::not_reproducible: return 6;
    case run_status::interrupted: return 130;
    case run_status::internal: return 70;
    case run_status::system: return 71;
  }
  return 70;
}

}  // namespace diecast::platforms
