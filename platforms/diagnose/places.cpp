// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/places.hpp"

#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>
#include <sstream>

namespace diecast::diagnose {
namespace {

/// Of a physical address: 64 bits are SIP, cube (8 bits each), region, unit and offset.
constexpr unsigned sip_shift = 56, cube_shift = 48;
constexpr std::uint64_t byte_mask = 0xff;

}  // namespace

place_names::place_names(const std::string& map) {
  static const std::regex a_pe(R"(^0x([0-9a-f]{16}) .*\b(pod\.sip\d+\.cube_\d+_\d+)\.pe\d+\b)");
  std::istringstream lines(map);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (!std::regex_search(line, m, a_pe)) continue;
    const std::uint64_t first = std::strtoull(m.str(1).c_str(), nullptr, 16);
    cubes_.emplace(
        fmt::format("sip{}.cube{}", first >> sip_shift & byte_mask, first >> cube_shift & byte_mask),
        m.str(2));
  }
}

std::string place_names::spelled(const std::string& name) const {
  if (!is_numbered(name)) return name;
  const std::size_t pe = name.rfind(".pe");
  const auto cube = cubes_.find(name.substr(0, pe));
  return cube == cubes_.end() ? name : cube->second + name.substr(pe);
}

bool is_numbered(const std::string& place) {
  static const std::regex numbered(R"(sip\d+\.cube\d+\.pe\d+)");
  return std::regex_match(place, numbered);
}

bool is_between_sips(const std::string& place) { return place.find("-sip") != std::string::npos; }

bool is_link(const std::string& place) {
  return place.find(".ucie_") != std::string::npos || is_between_sips(place);
}

std::vector<std::string> pes_in(const std::string& text) {
  static const std::regex a_pe(R"(pod\.sip\d+\.cube_\d+_\d+\.pe\d+|sip\d+\.cube\d+\.pe\d+)");
  std::vector<std::string> all;
  for (std::sregex_iterator hit(text.begin(), text.end(), a_pe), end; hit != end; ++hit)
    all.push_back(hit->str());
  return all;
}

bool may_have_crossed(const std::string& complaint, const std::string& link) {
  if (complaint.find("came over ") != std::string::npos) return complaint.find(link) != std::string::npos;
  const bool of_sips = is_between_sips(link);
  const std::vector<std::string> pes = pes_in(complaint);
  std::set<std::string> ends;
  for (const std::string& pe : pes) {
    const std::string cube = pe.substr(0, pe.rfind(".pe"));
    ends.insert(of_sips ? cube.substr(0, cube.rfind(".cube")) : cube);
  }
  return ends.size() != 1 || std::set(pes.begin(), pes.end()).size() < 2;
}

}  // namespace diecast::diagnose
