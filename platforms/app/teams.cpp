// SPDX-License-Identifier: Apache-2.0
// The value of --team.
#include <algorithm>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/app/command_line.hpp"
#include "platforms/app/options.hpp"

namespace diecast::app {
namespace {

constexpr const char* flag = "--team";
constexpr std::uint64_t most_points = 10'000;

std::uint32_t number(const std::string& text, std::uint64_t least) {
  return static_cast<std::uint32_t>(config::count_argument(flag, text, least, comm::max_ranks));
}

[[noreturn]] void refuse(const std::string& text) {
  throw user_error(
      problem{flag, "is no team", text, "START:STRIDE:SIZE, RANK+RANK+.., or FROM..TO, FROM..TO:xF"});
}

std::vector<comm::team_spec> sizes(const std::string& text, std::size_t dots) {
  const auto tail = config::split(text.substr(dots + 2), ':');
  if (tail.size() > 2 || (tail.size() == 2 && !tail[1].starts_with('x'))) refuse(text);
  const std::uint32_t from = number(text.substr(0, dots), 1), to = number(tail[0], 1);
  const std::uint64_t factor =
      tail.size() == 2 ? config::count_argument(flag, tail[1].substr(1), 2, most_points) : 1;
  if (to < from) refuse(text);
  std::vector<comm::team_spec> teams;
  for (std::uint64_t n = from; n <= to; n = factor > 1 ? n * factor : n + 1) {
    teams.push_back({0, 1, static_cast<std::uint32_t>(n), {}});
    if (teams.size() > most_points) refuse(text);
  }
  return teams;
}

comm::team_spec one(const std::string& text) {
  const auto fields = config::split(text, ':');
  if (fields.size() == 3) return {number(fields[0], 0), number(fields[1], 1), number(fields[2], 1), {}};
  if (fields.size() != 1) refuse(text);
  comm::team_spec team;
  for (const std::string& rank : config::split(text, '+')) team.list.push_back(number(rank, 0));
  team.size = static_cast<std::uint32_t>(team.list.size());
  return team;
}

}  // namespace

std::vector<comm::team_spec> parse_teams(const std::string& text) {
  std::vector<comm::team_spec> teams;
  for (const std::string& part : config::split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      teams.push_back(one(part));
      continue;
    }
    const auto more = sizes(part, dots);
    teams.insert(teams.end(), more.begin(), more.end());
  }
  return teams;
}

}  // namespace diecast::app
