// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/topology.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

#include "models/config/placement.hpp"
#include "models/fabric/topology_impl.hpp"
#include "models/types/error.hpp"

namespace diecast::fabric {
namespace {

void check_count(std::vector<problem>& problems, const char* key, std::uint64_t value, std::uint64_t least,
                 std::uint64_t most, const char* why) {
  if (value >= least && value <= most) return;
  problems.push_back({key, why, fmt::format("{}", value), fmt::format("{} to {}", least, most)});
}

std::vector<problem> check_counts(const config::machine_config& c) {
  std::vector<problem> p;
  check_count(p, "pod.sips", c.pod.sips, 1, abi::max_sips, "is out of range for the address map");
  check_count(p, "sip.columns", c.sip.columns, 1, abi::max_cubes_per_sip, "is out of range");
  check_count(p, "sip.rows", c.sip.rows, 1, abi::max_cubes_per_sip, "is out of range");
  check_count(p, "cube.pes", c.cube.pes, 1, abi::control_cpu_unit, "is out of range for the address map");
  check_count(p, "hbm.ports", c.hbm.ports, 0, abi::max_units, "is out of range for the address map");
  check_count(p, "noc.columns", c.noc.columns, 1, 128, "is out of range");
  check_count(p, "noc.rows", c.noc.rows, 1, 128, "is out of range");
  if (p.empty() && c.sip.columns * c.sip.rows > abi::max_cubes_per_sip) {
    p.push_back({"sip.columns x sip.rows", "more cubes than the address map holds",
                 fmt::format("{} x {}", c.sip.columns, c.sip.rows),
                 fmt::format("at most {} cubes", abi::max_cubes_per_sip)});
  }
  if (!p.empty()) return p;  // components on them cannot be checked
  for (const config::rule& r : config::placement_rules()) {
    if (const config::verdict v = r.test(c)) p.push_back({r.keys.front(), v->what, v->value, v->expected});
  }
  return p;
}

bool within(std::uint64_t offset, std::uint64_t kib) { return offset < kib * 1024; }

}  // namespace

topology::impl::impl(const config::machine_config& c, purpose what, unsigned network) : config(c) {
  const bool study = what != purpose::machine;
  if (study) {
    config.pod = {};
    config.pod.sips = config.sip.columns = config.sip.rows = 1;
    config.placement = {};     // a study has no such blocks
    config.overrides.clear();  // a study has no such links
  }
  std::vector<problem> problems = check_counts(config);
  if (!problems.empty()) throw user_error(std::move(problems));
  shape = config.shape();
  population = config::population(config);
  channels.emplace(config);
  grid = router_grid(config.noc, network);
  io_cube = io_cube_of(config);
  graph = join_sips(config, problems);
  if (problems.empty()) settings = resolve_links(config, graph, problems);
  if (population.pes().empty()) {
    problems.push_back(
        {"overrides", "leave no PE", fmt::format("{} PEs left out", shape.pes()), "at least one PE"});
  }
  // For a list, SIPs that the valid links do not reach are reported, too.
  const bool list = config.pod.topology == config::pod_topology::list;
  if (problems.empty() || list) route_sips(graph, config, missing_sip_links(), problems);
  route_around_gaps(detour_rules.front(), problems);
  if (problems.empty()) choose_vcs(what, problems);
  if (!problems.empty()) throw user_error(std::move(problems));
  if (study) {
    place_study();
  } else {
    place();
  }
  number_links();
}

bool topology::impl::joined(std::uint32_t sip, cube_id cube, side s) const {
  if (!cube_beside(shape, cube, s)) return false;
  return settings.ucie.empty() ||
         settings.ucie[cube_index(sip_id{sip}, cube) * sides + static_cast<unsigned>(s)].enabled;
}

std::vector<bool> topology::impl::missing_sip_links() const {
  std::vector<bool> off;
  for (const link_settings::sip_link& l : settings.sip_links) off.push_back(!l.enabled);
  return off;
}

void topology::impl::route_around_gaps(detour_rule rule, std::vector<problem>& problems) {
  detours.clear();
  const std::uint32_t cubes = shape.cubes_per_sip();
  bool gaps = false;
  for (std::uint32_t sip = 0; sip < shape.sips && !settings.ucie.empty(); ++sip) {
    const auto* const first = &settings.ucie[std::size_t{sip} * cubes * sides];
    const bool whole = std::all_of(first, first + cubes * sides, [](const auto& s) { return s.enabled; });
    detours.emplace_back();
    if (whole) continue;
    gaps = true;
    std::vector<std::pair<cube_id, cube_id>> cut_off;
    const cube_grid cubes_of_sip{shape, [this, sip](cube_id cube, side s) { return joined(sip, cube, s); }};
    detours.back() = route_around(cubes_of_sip, rule, cut_off);
    for (const auto& [from, to] : cut_off) {
      problems.push_back(
          {"overrides", "cubes that no path of UCIe links joins",
           fmt::format("{} and {}", cube_path(shape, sip_id{sip}, from), cube_path(shape, sip_id{sip}, to)),
           "a path between every two cubes of a SIP"});
    }
  }
  if (!gaps) detours.clear();
}

std::array<bool, sides> topology::impl::neighbors(cube_id cube) const {
  std::array<bool, sides> there{};
  for (unsigned s = 0; s < sides; ++s) there[s] = cube_beside(shape, cube, static_cast<side>(s)).has_value();
  return there;
}

void topology::impl::choose_vcs(purpose what, std::vector<problem>& problems) {
  const config::noc_block& noc = config.noc;
  const bool dynamic = noc.vcs_taken == config::vc_policy::dynamic;
  vcs.sets = !grid.wraps() || !noc.dateline_vcs ? 1 : grid.is_oneway() ? 4 : 2;
  const unsigned sets_of_link = std::min(vcs.sets, 2U);
  const auto given = static_cast<unsigned>(noc.vcs.value_or(dynamic ? sets_of_link : 1));
  vcs.per_set = dynamic ? given / sets_of_link : given;
  if (dynamic && given % sets_of_link != 0) {
    problems.push_back({"noc.vcs", "does not split into the VC sets of a torus or ring",
                        std::to_string(given), "an even number, or auto"});
  }
  vcs.chooses.fill(dynamic);
  if (what == purpose::machine) {
    for (const auto ordered : {abi::traffic_class::comm, abi::traffic_class::sideband})
      vcs.chooses[static_cast<std::size_t>(ordered)] = false;
  }
  if (what == purpose::network_study) {
    vcs.first_class = static_cast<unsigned>(study_class);
    vcs.classes = 1;
  } else if (what == purpose::transaction_study) {
    vcs.first_class = static_cast<unsigned>(abi::traffic_class::request);
    vcs.classes = 2;
    vcs.chooses[static_cast<std::size_t>(abi::traffic_class::request)] = false;  // the sender chooses once
  } else if (noc.leg_vcs) {
    choose_legs();
  }
  if (what == purpose::machine && noc.multicast) vcs.tree_flows = abi::tree_flows;
  if (vcs_with(vcs.tree_flows) <= max_vcs) return;
  const bool datelines = vcs.sets > 1 && vcs.per_set == 1;
  const bool hops = vcs.legs > 3 && vcs.sets * vcs.per_set == 1;
  const char* const key = hops ? "pod.topology" : datelines ? "noc.topology" : "noc.vcs";
  problems.push_back({key,
                      hops ? "routes over this many SIP links need too many virtual channels"
                           : "makes more virtual channels than a link can have",
                      vcs_in_words(), fmt::format("at most {} VCs", max_vcs)});
}

void topology::impl::choose_legs() {
  const auto legs_of = [&](std::uint32_t groups) {
    return groups == 0 && shape.cubes_per_sip() == 1 ? 1U : 3 + 2 * groups;
  };
  vcs.legs = legs_of(graph.max_hops);
  const unsigned of_trees = config.noc.multicast ? abi::tree_flows : 0;
  if (vcs_with(of_trees) > max_vcs && !graph.datelines_ahead.empty()) {
    count_crossings = false;
    vcs.legs = legs_of(dateline_groups());
  }
}

std::string topology::impl::vcs_in_words() const {
  std::string factors = fmt::format("{} classes x {} legs", vcs.classes, vcs.legs);
  if (vcs.sets > 1) factors += fmt::format(" x {} dateline sets", vcs.sets);
  if (vcs.per_set > 1) factors += fmt::format(" x {} VCs", vcs.per_set);
  if (vcs.tree_flows > 0) factors += fmt::format(" + {} of noc.multicast", vcs.tree_flows);
  std::string text = fmt::format("{} = {} VCs", factors, vcs_with(vcs.tree_flows));
  return graph.max_hops == 0 ? text : fmt::format("{} SIP links: {}", graph.max_hops, text);
}

/// The routers of one cube with a traffic terminal for each.
void topology::impl::place_study() {
  layouts.push_back(place_traffic(config));
  layout_of.push_back(0);
  note_coordinates();
}

void topology::impl::place() {
  const std::uint32_t cubes = shape.cubes_per_sip();
  // Ports of a cube in link order; a cube without any shares the layout of its kind.
  std::vector<std::vector<std::uint16_t>> ports(std::size_t{shape.sips} * cubes);
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    const sip_connection& link = graph.links[l];
    ports[cube_index(sip_id{link.from}, link.leaves.cube)].push_back(static_cast<std::uint16_t>(l));
  }
  std::vector<abi::node_address> port_at(graph.links.size());
  std::map<std::pair<std::array<bool, sides>, bool>, std::uint32_t> shared;
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    const cube_id cube{i % cubes};
    const bool io = cube == io_cube;
    const auto key = std::pair{neighbors(cube), io};
    if (const auto known = shared.find(key); ports[i].empty() && known != shared.end()) {
      layout_of.push_back(known->second);
      continue;
    }
    const auto index = static_cast<std::uint32_t>(layouts.size());
    layouts.push_back(place_cube(config, key.first));
    layout_of.push_back(index);
    if (io) place_io_cpu(config, layouts.back());
    for (const std::uint16_t l : ports[i]) {
      const sip_connection& link = graph.links[l];
      const terminal_index t = place_sip_port(layouts.back(), link.leaves.edge, l, link.label);
      port_at[l] = {static_cast<std::uint16_t>(i / cubes), static_cast<std::uint16_t>(cube.value), t};
    }
    if (ports[i].empty()) shared.emplace(key, index);
  }
  for (std::uint32_t l = 0; l < graph.links.size(); ++l) {
    const sip_connection& there = graph.links[l];
    const sip_connection& back = graph.links[l ^ 1U];
    sip_links.push_back(
        {l, port_at[l], port_at[l ^ 1U],
         fmt::format("{}.{}-sip{}.{}", sip_path(sip_id{there.from}), there.label, there.to, back.label)});
  }
  note_coordinates();
}

void topology::impl::note_coordinates() {
  const cube_layout& l = layouts.front().layout;
  for (std::uint32_t r = 0; r < l.routers(); ++r) {
    router_x.push_back(static_cast<std::uint16_t>(r % l.columns));
    router_y.push_back(static_cast<std::uint16_t>(r / l.columns));
  }
}

/// Detours follow the first rule without a cycle; when all have cycles, the first rule, whose cycle
/// find_dependency_cycle() shows.
topology::topology(const config::machine_config& config, purpose what, unsigned network)
    : impl_(std::make_unique<impl>(config, what, network)), plan_(impl_->vcs) {
  if (impl_->detours.empty()) return;
  std::vector<problem> none;
  for (const detour_rule rule : detour_rules) {
    impl_->route_around_gaps(rule, none);
    if (find_dependency_cycle(*this).empty()) return;
  }
  impl_->route_around_gaps(detour_rules.front(), none);
}
topology::~topology() = default;

const machine_shape& topology::shape() const { return impl_->shape; }

const cube_layout& topology::layout(sip_id sip, cube_id cube) const {
  return impl_->placed(sip, cube).layout;
}

std::optional<cube_id> topology::neighbor(cube_id cube, side s) const {
  return cube_beside(impl_->shape, cube, s);
}

const config::ucie_block& topology::ucie(sip_id sip, cube_id cube, side s) const {
  return impl_->ucie(sip, cube, s);
}
const config::sip_link_block& topology::sip_link_settings(std::uint32_t index) const {
  return impl_->sip_link_block(index);
}

std::uint64_t topology::hop_cycles(sip_id sip, cube_id cube, std::uint64_t usual) const {
  const auto& own = impl_->settings.hop_cycles;
  return own.empty() ? usual : own[impl_->cube_index(sip, cube)].value_or(usual);
}
std::uint64_t topology::most_hop_cycles(std::uint64_t usual) const {
  std::uint64_t most = usual;
  for (const auto& own : impl_->settings.hop_cycles) most = std::max(most, own.value_or(usual));
  return most;
}
const config::population& topology::population() const { return impl_->population; }
const config::memory_channels& topology::channels() const { return *impl_->channels; }

std::span<const sip_link> topology::sip_links() const { return impl_->sip_links; }
cube_id topology::io_cube(sip_id) const { return impl_->io_cube; }
config::buffer_kind topology::ring_buffers() const { return impl_->config.ipcq.rings; }

abi::node_address topology::locate(abi::address a) const {
  const auto nothing = [&] { return std::out_of_range("no block has address " + abi::describe(a)); };
  const auto at = abi::decode(a);
  if (!at || at->sip.value >= impl_->shape.sips || at->cube.value >= impl_->shape.cubes_per_sip())
    throw nothing();
  const config::machine_config& c = impl_->config;
  const placed_layout& cube = impl_->placed(at->sip, at->cube);
  const bool io = at->cube == impl_->io_cube;
  const bool pe = impl_->population.has({at->sip, at->cube, pe_id{at->unit}});
  const auto node = [&](bool exists, terminal_index t) -> abi::node_address {
    if (!exists) throw nothing();
    return {static_cast<std::uint16_t>(at->sip.value), static_cast<std::uint16_t>(at->cube.value), t};
  };
  const auto unit = static_cast<terminal_index>(at->unit);
  switch (at->kind) {
    case abi::region::tcm: return node(pe && within(at->offset, c.pe.tcm_kib), unit);
    case abi::region::pe_registers:
    case abi::region::ipcq_mailbox: return node(pe, unit);
    case abi::region::sram: return node(at->unit == 0 && within(at->offset, c.sram.kib), cube.sram);
    case abi::region::hbm:
      return node(
          impl_->channels->has(at->sip, at->cube, at->unit) && within(at->offset, c.hbm.port_mib * 1024),
          static_cast<terminal_index>(cube.hbm_base + unit));
    case abi::region::host_memory: return node(io && at->unit == 0, cube.io_cpu);
    case abi::region::tree:
      if (!plan_.tree_flows || at->unit > static_cast<std::uint32_t>(abi::tree_use::reduce)) throw nothing();
      return {0, static_cast<std::uint16_t>(at->unit), abi::tree_terminal};
    case abi::region::launch_mailbox:
      if (at->unit == abi::control_cpu_unit) return node(true, cube.control_cpu);
      if (at->unit == abi::io_cpu_unit) return node(io, cube.io_cpu);
      return node(pe, unit);
  }
  throw nothing();
}

}  // namespace diecast::fabric
