// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/link_settings.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "models/config/overrides.hpp"
#include "models/config/text.hpp"

namespace diecast::fabric {
namespace {

using instances = config::instance_kind;

/// A UCIe side matches "pod.sip0.cube_1_2.ucie_east" and to "...ucie_e".
bool names_side(const std::string& glob, const std::string& cube, side s) {
  const std::string full = fmt::format("{}.ucie_{}", cube, to_string(s));
  const std::string brief = fmt::format("{}.ucie_{}", cube, to_string(s)[0]);
  return config::matches(glob, full) || config::matches(glob, brief);
}

/// A SIP link matches the name of its port, "pod.sip0.sip_port_e", and to its own, "pod.sip0.e-sip1.w".
bool names_sip_link(const std::string& glob, const sip_graph& graph, std::size_t index) {
  const sip_connection& there = graph.links[index];
  const sip_connection& back = graph.links[index ^ 1U];
  const std::string sip = sip_path(sip_id{there.from});
  const std::string port = fmt::format("{}.sip_port_{}", sip, there.label);
  const std::string link = fmt::format("{}.{}-sip{}.{}", sip, there.label, there.to, back.label);
  return config::matches(glob, port) || config::matches(glob, link);
}

void apply(const config::instance_override& o, link_settings::ucie_side& side) {
  if (o.enabled) side.enabled = *o.enabled;
  if (o.modules) side.block.modules = *o.modules;
  if (o.gt_s) side.block.gt_s = *o.gt_s;
  if (o.latency_ns) side.block.latency_ns = *o.latency_ns;
  if (o.ber) side.block.ber = *o.ber;
}

void apply(const config::instance_override& o, link_settings::sip_link& link) {
  if (o.enabled) link.enabled = *o.enabled;
  if (o.gbytes_s) link.block.gbytes_s = *o.gbytes_s;
  if (o.latency_ns) link.block.latency_ns = *o.latency_ns;
}

class settling {
 public:
  settling(const config::machine_config& c, const sip_graph& graph)
      : config_(c), shape_(c.shape()), graph_(graph) {
    settings_.hop_cycles.resize(shape_.cubes());
    settings_.ucie.assign(std::size_t{shape_.cubes()} * sides, {true, c.ucie});
    settings_.sip_links.assign(graph.links.size(), {true, c.sip_link});
  }

  void take(const config::instance_override& o, std::size_t number, std::vector<problem>& problems) {
    std::array<std::uint32_t, config::instance_kinds> counts{};
    const auto found = [&counts](instances k) -> std::uint32_t& {
      return counts[static_cast<std::size_t>(k)];
    };
    found(instances::ucie_link) = match_ucie(o);
    found(instances::sip_link) = match_sip_links(o);
    found(instances::die) = match_dies(o);
    found(instances::pe) = count_units(o.match, "pe", shape_.pes_per_cube);
    found(instances::channel) = count_units(o.match, "hbm", static_cast<std::uint32_t>(config_.hbm.ports));
    if (std::ranges::all_of(counts, [](std::uint32_t n) { return n == 0; }))
      problems.push_back(nothing_named(o, number));
    for (problem& p : config::check_override(o, number, counts)) problems.push_back(std::move(p));
  }
  [[nodiscard]] link_settings settings() && { return std::move(settings_); }

 private:
  [[nodiscard]] link_settings::ucie_side& at(std::uint32_t sip, cube_id cube, side s) {
    return settings_
        .ucie[(std::size_t{sip} * shape_.cubes_per_sip() + cube.value) * sides + static_cast<unsigned>(s)];
  }
  std::uint32_t match_ucie(const config::instance_override& o) {
    std::uint32_t found = 0;
    for (std::uint32_t n = 0; n < shape_.cubes(); ++n) {
      const std::uint32_t sip = n / shape_.cubes_per_sip();
      const cube_id cube{n % shape_.cubes_per_sip()};
      const std::string path = cube_path(shape_, sip_id{sip}, cube);
      for (unsigned i = 0; i < sides; ++i) {
        const auto s = static_cast<side>(i);
        const auto beside = cube_beside(shape_, cube, s);
        if (!beside || !names_side(o.match, path, s)) continue;
        ++found;
        apply(o, at(sip, cube, s));
        apply(o, at(sip, *beside, opposite(s)));
      }
    }
    return found;
  }
  std::uint32_t match_sip_links(const config::instance_override& o) {
    std::uint32_t found = 0;
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      if (!names_sip_link(o.match, graph_, l)) continue;
      ++found;
      apply(o, settings_.sip_links[l]);
      apply(o, settings_.sip_links[l ^ 1U]);
    }
    return found;
  }

  std::uint32_t match_dies(const config::instance_override& o) {
    std::uint32_t found = 0;
    for (std::uint32_t n = 0; n < shape_.cubes(); ++n) {
      const sip_id sip{n / shape_.cubes_per_sip()};
      if (!config::names_die(o.match, shape_, sip, cube_id{n % shape_.cubes_per_sip()})) continue;
      ++found;
      if (o.hop_cycles) settings_.hop_cycles[n] = *o.hop_cycles;
    }
    return found;
  }
  /// Number of PEs or memory channels that a glob names; config::population decides which exist.
  [[nodiscard]] std::uint32_t count_units(const std::string& glob, const char* what,
                                          std::uint32_t per_cube) const {
    return count_in_cubes([&](const std::string& cube, std::uint32_t& found) {
      for (std::uint32_t i = 0; i < per_cube; ++i)
        found += config::matches(glob, fmt::format("{}.{}{}", cube, what, i)) ? 1 : 0;
    });
  }
  /// Number of routers and their links that a glob names, by the names of links.csv.
  [[nodiscard]] std::uint32_t count_routers(const std::string& glob) const {
    return count_in_cubes([&](const std::string& cube, std::uint32_t& found) {
      for (std::uint64_t y = 0; y < config_.noc.rows; ++y) {
        for (std::uint64_t x = 0; x < config_.noc.columns; ++x) {
          const std::string router = fmt::format("{}.router_{}_{}", cube, x, y);
          found += config::matches(glob, router) ? 1 : 0;
          for (unsigned s = 0; s < sides; ++s)
            found += config::matches(glob, router + "." + to_string(static_cast<side>(s))) ? 1 : 0;
        }
      }
    });
  }
  template <class Count>
  [[nodiscard]] std::uint32_t count_in_cubes(Count count) const {
    std::uint32_t found = 0;
    for (std::uint32_t n = 0; n < shape_.cubes(); ++n) {
      count(cube_path(shape_, sip_id{n / shape_.cubes_per_sip()}, cube_id{n % shape_.cubes_per_sip()}),
            found);
    }
    return found;
  }
  [[nodiscard]] problem nothing_named(const config::instance_override& o, std::size_t number) const {
    const std::string where = fmt::format("overrides[{}].match", number);
    if (count_routers(o.match) > 0) {
      return {where,
              "names routers or links within a die, which overrides cannot change: routes there are fixed "
              "(X, then Y), so a missing one would cut PEs off from their channels",
              o.match, "a PE, a memory channel, a die (hop_cycles), a UCIe link or a SIP link"};
    }
    return {where, "names nothing of this machine", o.match,
            "a name such as pod.sip0.cube_0_0.pe3, .hbm0, .noc or .ucie_east, or pod.sip0.sip_port_e, with * "
            "and ?"};
  }

  const config::machine_config& config_;
  machine_shape shape_;
  const sip_graph& graph_;
  link_settings settings_;
};

}  // namespace

std::optional<cube_id> cube_beside(const machine_shape& shape, cube_id cube, side s) {
  const std::uint32_t x = shape.cube_x(cube);
  const std::uint32_t y = shape.cube_y(cube);
  switch (s) {
    case side::north: return y + 1 < shape.cube_rows ? std::optional(shape.cube_at(x, y + 1)) : std::nullopt;
    case side::east:
      return x + 1 < shape.cube_columns ? std::optional(shape.cube_at(x + 1, y)) : std::nullopt;
    case side::south: return y > 0 ? std::optional(shape.cube_at(x, y - 1)) : std::nullopt;
    case side::west: return x > 0 ? std::optional(shape.cube_at(x - 1, y)) : std::nullopt;
  }
  return std::nullopt;
}

link_settings resolve_links(const config::machine_config& c, const sip_graph& graph,
                            std::vector<problem>& problems) {
  if (c.overrides.empty()) return {};
  settling s(c, graph);
  for (std::size_t i = 0; i < c.overrides.size(); ++i) s.take(c.overrides[i], i, problems);
  return std::move(s).settings();
}

}  // namespace diecast::fabric
