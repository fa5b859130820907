// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/link_loads.hpp"

#include <cstdlib>
#include <numeric>
#include <sstream>

#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {
namespace {

/// How much slower than configured a link must be to be called so: a clock is exact, and what runs over a
/// link that is kept busy is hardly stretched.
constexpr double slow_link_factor = 1.5;

std::uint64_t next_number(std::istringstream& words) {
  constexpr int decimal = 10;
  std::string word;
  std::getline(words, word, ',');
  return std::strtoull(word.c_str(), nullptr, decimal);
}

}  // namespace

link_loads loads_of(const std::string& links) {
  link_loads loads;
  std::uint64_t flit_bytes = 0;
  std::istringstream lines(links);
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string run, name;
    std::getline(words, run, ',');
    std::getline(words, name, ',');
    const std::uint64_t bytes = next_number(words);
    flit_bytes = std::gcd(flit_bytes, bytes);
    if (bytes > 0 && is_link(name)) loads[name] = {bytes, next_number(words)};
  }
  for (auto& [name, load] : loads) load.flits /= flit_bytes;
  return loads;
}

/// Classes of packets take turns on a link, flit by flit. While a packet is on it, each packet of another
/// class (a credit, a token) takes its time at most once: where few flits were measured and many packets went
/// by, a healthy link looks that much slower.
link_state judge(double measured_gbytes_s, double configured_gbytes_s, const link_load& load) {
  if (measured_gbytes_s * slow_link_factor >= configured_gbytes_s) return link_state::keeps_its_rate;
  if (load.flits <= load.packets) return link_state::in_doubt;
  const auto behind_the_first = static_cast<double>(load.flits - load.packets);
  const double of_all = behind_the_first / static_cast<double>(load.flits);
  return measured_gbytes_s < configured_gbytes_s * of_all ? link_state::degraded : link_state::in_doubt;
}

}  // namespace diecast::diagnose
