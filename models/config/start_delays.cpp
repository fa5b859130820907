// SPDX-License-Identifier: Apache-2.0
#include "models/config/start_delays.hpp"

#include <algorithm>

#include "models/config/text.hpp"

namespace diecast::config {

std::vector<start_delay> parse_start_delays(std::string_view text) {
  std::vector<start_delay> entries;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t equals = entry.find('=');
    entries.push_back(
        {std::string(entry.substr(0, equals)), parse_real(entry.substr(equals + 1)).value_or(0.0)});
  }
  return entries;
}

double start_delay_ns(const machine_config& config, pe_coord pe) {
  if (config.ccl.start_delays.empty()) return 0.0;
  const std::string path = pe_path(config.shape(), pe);
  double delay = 0.0;
  for (const start_delay& d : parse_start_delays(config.ccl.start_delays))
    if (matches(d.match, path)) delay = d.delay_ns;
  return delay;
}

}  // namespace diecast::config
