// SPDX-License-Identifier: Apache-2.0
#include "platforms/hbm/inform.hpp"

#include <fmt/format.h>

#include "platforms/io/config_json.hpp"
#include "platforms/io/paths.hpp"

namespace diecast::hbm {

std::string list_text(const registries& tables, const std::string& what) {
  std::string text;
  if (what == "patterns") {
    for (const auto p : traffic::all_memory_patterns)
      text += fmt::format("{:<14} {}\n", traffic::to_string(p), traffic::description(p));
    return text + fmt::format("{:<14} {}\n", "replay", "replay:FILE, lines R|W ADDRESS BYTES [ARRIVAL_NS]");
  }
  for (const auto& p : platforms::list_presets(platforms::presets_dir(tables.data_dir)))
    if (p.block == "hbm") text += fmt::format("{:<10} {:<18} {}\n", p.block, p.name, p.source);
  return text;
}

std::string memory_text(const config::hbm_block& hbm) {
  const auto g = geometry_of(hbm);
  std::string text = fmt::format(
      "{} channel(s) x {} pseudo-channels x {} SIDs x {} bank groups x {} banks x {} rows x {} bursts of {} "
      "B\n",
      hbm.ports, g.pseudo_channels, g.sids, g.bank_groups, g.banks, g.rows, g.columns, g.burst_bytes);
  text +=
      fmt::format("capacity {} MiB, peak {:.1f} GB/s ({:.1f} per channel)\n", hbm.ports * hbm.port_mib,
                  static_cast<double>(hbm.ports) * timing::port_gbytes_s(hbm), timing::port_gbytes_s(hbm));
  if (hbm.model == config::hbm_model::simple) {
    return text + fmt::format("model simple: {} GB/s per pseudo-channel, {} ns; no banks, no refresh\n",
                              hbm.simple_gbytes_s, hbm.simple_latency_ns);
  }
  text += fmt::format("refresh leaves {:.1f}% of the time; address map {} above the burst{}\n",
                      100 * timing::refresh_share(hbm), hbm.address_map,
                      hbm.bank_hash == config::hbm_bank_hash::none ? "" : ", rows XORed into banks");
  text += "\nMost that one channel can reach with reads of a burst each:\n";
  for (const auto p : traffic::all_memory_patterns) {
    const auto bound = bound_of(p, hbm);
    if (!bound) continue;
    text += fmt::format("  {:<14} {:>8.3f} GB/s  {:>5.1f}% of peak  {}\n", traffic::to_string(p),
                        bound->gbytes_s, 100 * bound->gbytes_s / timing::port_gbytes_s(hbm), bound->limit);
  }
  return text;
}

}  // namespace diecast::hbm
