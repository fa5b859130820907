// SPDX-License-Identifier: Apache-2.0
#include "platforms/noc/inform.hpp"

#include <fmt/format.h>

#include "models/timing/link.hpp"
#include "platforms/io/config_json.hpp"
#include "platforms/io/paths.hpp"

namespace diecast::noc {

std::string list_text(const std::string& what) {
  std::string text;
  if (what == "patterns") {
    for (const auto p : traffic::all_node_patterns)
      text += fmt::format("{:<14} {}\n", traffic::to_string(p), traffic::description(p));
    return text + fmt::format("{:<14} {}\n", "replay", "replay:FILE, lines CYCLE SRC DST FLITS") +
           fmt::format("{:<14} {}\n", "transactions", "transactions:FILE, a JSON object per line");
  }
  for (const auto& p : platforms::list_presets(platforms::presets_dir()))
    if (p.block == "noc") text += fmt::format("{:<10} {:<18} {}\n", p.block, p.name, p.source);
  return text;
}

std::string network_text(const network& net, std::uint32_t packet_flits) {
  const auto& t = net.topology;
  const auto& layout = t.layout({}, {});
  const timing::noc_timing timing = timing::noc_timing_of(net.config);
  double links = 0;
  std::uint32_t most = 0;
  for (const auto& from : layout.terminals) {
    for (const auto& to : layout.terminals) {
      const std::uint32_t d = t.distance(from.router, to.router);
      links += d;
      most = std::max(most, d);
    }
  }
  links /= static_cast<double>(net.nodes()) * net.nodes();
  std::string text = fmt::format("{} nodes on {} routers, {} links of {} GB/s each way, {} VCs of {} flits\n",
                                 net.nodes(), layout.routers(), t.mesh_links(),
                                 static_cast<double>(net.config.noc.flit_bytes) * net.config.noc.clock_ghz,
                                 t.vcs(), fabric::vc_buffer_flits(net.config));
  text += fmt::format("links per route: {:.3f} on average over all pairs, at most {}\n", links, most);
  const std::uint64_t none = timing.head_cycles(0) + packet_flits - 1;
  text += fmt::format(
      "zero-load latency of a packet of {} flits over d links: {} + {} d cycles, {:.2f} on "
      "average, at most {}\n",
      packet_flits, none, timing.hop_cycles,
      static_cast<double>(none) + static_cast<double>(timing.hop_cycles) * links,
      none + timing.hop_cycles * most);
  return text + "no cycle of packets that wait for each other\n";
}

}  // namespace diecast::noc
