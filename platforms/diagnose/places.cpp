// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/places.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>
#include <string_view>

namespace diecast::diagnose {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The digits after `kind` in a name: "3" of "pe3"; empty if other characters follow.
std::string number_behind(const std::string& name, std::string_view kind) {
  if (!name.starts_with(kind)) return {};
  const std::string number = name.substr(kind.size());
  return std::ranges::all_of(number, [](char c) { return is_digit(c) || c == '_'; }) ? number : "";
}

}  // namespace

path_parts parts_of_path(const std::string& path) {
  path_parts parts;
  std::istringstream names(path);
  for (std::string name; std::getline(names, name, '.');) {
    if (parts.sip.empty()) {
      parts.sip = number_behind(name, "sip");
    } else if (parts.cube.empty()) {
      parts.cube = number_behind(name, "cube_");
    } else if (parts.pe.empty()) {
      parts.pe = number_behind(name, "pe");
    }
  }
  return parts;
}

std::string pe_or_cube(const std::string& instance) {
  const path_parts p = parts_of_path(instance);
  if (p.cube.empty()) return {};
  const std::string cube = "pod.sip" + p.sip + ".cube_" + p.cube;
  return p.pe.empty() ? cube : cube + ".pe" + p.pe;
}

std::set<std::uint32_t> sips_in(const std::string& path) {
  constexpr std::string_view kind = "sip";
  std::set<std::uint32_t> named;
  for (std::size_t at = path.find(kind); at != std::string::npos; at = path.find(kind, at + 1)) {
    const auto begin = path.begin() + static_cast<std::ptrdiff_t>(at + kind.size());
    const std::string number(begin, std::find_if_not(begin, path.end(), is_digit));
    if (!number.empty()) named.insert(static_cast<std::uint32_t>(std::stoul(number)));
  }
  return named;
}

bool is_between_sips(const std::string& place) { return place.find("-sip") != std::string::npos; }

bool is_link(const std::string& place) {
  return place.find(".ucie_") != std::string::npos || is_between_sips(place);
}

bool may_have_crossed(const evidence& e, const std::string& link) {
  if (!e.links.empty()) return std::ranges::find(e.links, link) != e.links.end();
  std::set<std::string> ends;
  for (const std::string& pe : e.pes) {
    const path_parts p = parts_of_path(pe);
    ends.insert(is_between_sips(link) ? p.sip : p.sip + "." + p.cube);
  }
  return ends.size() != 1 || std::set(e.pes.begin(), e.pes.end()).size() < 2;
}

namespace {

/// Factor by which a link must be slower than configured to count as slow: clocks are exact, and transfers
/// over a busy link are hardly longer than at its rate.
constexpr double slow_link_factor = 1.5;

}  // namespace

std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    auto& row = rows.emplace_back();
    for (std::string word; std::getline(words, word, ',');) row.push_back(word);
  }
  return rows;
}

link_loads loads_of(const std::string& links) {
  link_loads loads;
  std::uint64_t flit_bytes = 0;
  for (const auto& row : rows_of(links)) {
    const std::uint64_t bytes = std::stoull(row.at(2));
    flit_bytes = std::gcd(flit_bytes, bytes);
    if (bytes > 0 && is_link(row[1])) loads[row[1]] = {bytes, std::stoull(row.at(3))};
  }
  for (auto& [name, load] : loads) load.flits /= flit_bytes;
  return loads;
}

/// Classes of packets alternate on a link, flit by flit. A packet is delayed by each packet of another class
/// (a credit, a token) at most once: where few flits were measured and many packets passed, a healthy link
/// has a measured rate that is lower by this.
link_state judge(double measured_gbytes_s, double configured_gbytes_s, const link_load& load) {
  if (measured_gbytes_s * slow_link_factor >= configured_gbytes_s) return link_state::keeps_its_rate;
  if (load.flits <= load.packets) return link_state::in_doubt;
  const auto behind_the_first = static_cast<double>(load.flits - load.packets);
  const double of_all = behind_the_first / static_cast<double>(load.flits);
  return measured_gbytes_s < configured_gbytes_s * of_all ? link_state::degraded : link_state::in_doubt;
}

}  // namespace diecast::diagnose
