// SPDX-License-Identifier: Apache-2.0
#include "models/config/check.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <utility>

#include "models/abi/address.hpp"
#include "models/abi/errata.hpp"
#include "models/abi/wire.hpp"
#include "models/config/overrides.hpp"
#include "models/config/placement.hpp"
#include "models/config/population.hpp"
#include "models/config/text.hpp"

namespace diecast::config {
namespace {

verdict cubes_fit_the_address(const machine_config& c) {
  const std::uint64_t cubes = c.sip.columns * c.sip.rows;
  if (cubes <= abi::max_cubes_per_sip) return {};
  return broken_rule{"more cubes in a SIP than an address can name (sip.columns x sip.rows)",
                     fmt::format("{} x {} = {}", c.sip.columns, c.sip.rows, cubes),
                     fmt::format("at most {}", abi::max_cubes_per_sip)};
}

verdict pod_columns_divide(const machine_config& c) {
  if (c.pod.columns == 0 || c.pod.sips % c.pod.columns == 0) return {};
  return broken_rule{
      "does not divide pod.sips into full rows", std::to_string(c.pod.columns),
      fmt::format("a divisor of pod.sips = {}, or 0 for the most nearly square shape", c.pod.sips)};
}

verdict links_need_list(const machine_config& c) {
  const bool list = c.pod.topology == pod_topology::list;
  if (!list && !c.pod.links.empty()) {
    return broken_rule{"is used only with pod.topology list", fmt::format("{} links", c.pod.links.size()),
                       "pod.topology list, or no pod.links"};
  }
  if (list && c.pod.links.empty() && c.pod.sips > 1) {
    return broken_rule{"is empty, but pod.topology list takes the SIP links from it", "",
                       fmt::format("links that reach all {} SIPs", c.pod.sips)};
  }
  return {};
}

verdict links_name_sips(const machine_config& c) {
  for (std::size_t i = 0; i < c.pod.links.size(); ++i) {
    const pod_link l = c.pod.links[i];
    if (l.from >= c.pod.sips || l.to >= c.pod.sips) {
      return broken_rule{fmt::format("link {} names a SIP that the pod does not have", i),
                         fmt::format("[{}, {}]", l.from, l.to),
                         fmt::format("SIPs from 0 to {} (pod.sips - 1)", c.pod.sips - 1)};
    }
    if (l.from == l.to) {
      return broken_rule{fmt::format("link {} joins a SIP to itself", i),
                         fmt::format("[{}, {}]", l.from, l.to), "two different SIPs"};
    }
  }
  return {};
}

verdict links_differ(const machine_config& c) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (std::size_t i = 0; i < c.pod.links.size(); ++i) {
    const pod_link l = c.pod.links[i];
    if (seen.emplace(std::minmax(l.from, l.to)).second) continue;
    return broken_rule{fmt::format("link {} repeats an earlier one (each is a link in both directions)", i),
                       fmt::format("[{}, {}]", l.from, l.to), "each pair once"};
  }
  return {};
}

verdict tcm_has_full_rows(const machine_config& c) {
  const std::uint64_t row = c.pe.tcm_banks * c.pe.tcm_bank_bytes;
  if (c.pe.tcm_kib * 1024 % row == 0) return {};
  return broken_rule{"the TCM is not a whole number of rows over all banks",
                     fmt::format("{} KiB", c.pe.tcm_kib),
                     fmt::format("a multiple of pe.tcm_banks x pe.tcm_bank_bytes = {} B", row)};
}

verdict errata_have_names(const machine_config& c) {
  if (abi::parse_errata(c.ccl.errata)) return {};
  std::vector<std::string> names{"none"};
  for (const abi::erratum_description& e : abi::errata()) names.emplace_back(e.name);
  return broken_rule{"no such firmware defect", c.ccl.errata, join(names)};
}

verdict slots_are_aligned(const machine_config& c) {
  if (c.ipcq.slot_bytes % 64 == 0) return {};
  return broken_rule{"slots of a ring would share 64-byte lines", std::to_string(c.ipcq.slot_bytes),
                     "a multiple of 64 B: a slot starts on a line of its own, and every element type and "
                     "memory burst is aligned in it"};
}

verdict ring_fits(const machine_config& c) {
  struct home {
    const char* key;
    std::uint64_t bytes;
  };
  const home homes[]{{"pe.tcm_kib", c.pe.tcm_kib << 10},
                     {"sram.kib", c.sram.kib << 10},
                     {"hbm.port_mib", c.hbm.port_mib << 20}};
  const home& h = homes[static_cast<std::size_t>(c.ipcq.rings)];
  const std::uint64_t ring = c.ipcq.n_slots * c.ipcq.slot_bytes;
  if (ring <= h.bytes) return {};
  return broken_rule{"one receive ring (ipcq.n_slots x ipcq.slot_bytes) is larger than its memory",
                     fmt::format("{} x {} = {} B", c.ipcq.n_slots, c.ipcq.slot_bytes, ring),
                     fmt::format("at most {} B ({})", h.bytes, h.key)};
}

verdict wire_within_hop(const machine_config& c) {
  if (c.noc.link_cycles < c.noc.hop_cycles) return {};
  return broken_rule{"leaves no cycle for the router within noc.hop_cycles",
                     std::to_string(c.noc.link_cycles),
                     fmt::format("less than noc.hop_cycles = {}", c.noc.hop_cycles)};
}

verdict stages_fill_hop(const machine_config& c) {
  const noc_block& n = c.noc;
  const std::uint64_t others = n.routing_cycles + n.vc_alloc_cycles + n.switch_alloc_cycles + n.link_cycles;
  if (n.link_cycles >= n.hop_cycles) return {};  // reported by wire_within_hop
  if (n.traversal_cycles && others + *n.traversal_cycles != n.hop_cycles) {
    return broken_rule{
        "the stages of a hop do not add up to noc.hop_cycles",
        fmt::format("routing {} + VC allocation {} + switch allocation {} + traversal {} + link {} = {}",
                    n.routing_cycles, n.vc_alloc_cycles, n.switch_alloc_cycles, *n.traversal_cycles,
                    n.link_cycles, others + *n.traversal_cycles),
        fmt::format("{}, or noc.traversal_cycles auto", n.hop_cycles)};
  }
  if (others < n.hop_cycles) return {};
  return broken_rule{
      "routing, VC and switch allocation and the link leave no cycle of noc.hop_cycles for traversal",
      fmt::format("{} + {} + {} + {} = {}", n.routing_cycles, n.vc_alloc_cycles, n.switch_alloc_cycles,
                  n.link_cycles, others),
      fmt::format("less than noc.hop_cycles = {}", n.hop_cycles)};
}

verdict dynamic_vcs_split(const machine_config& c) {
  const bool wraps = c.noc.topology != noc_topology::mesh && c.noc.topology != noc_topology::crossbar;
  if (!wraps || !c.noc.dateline_vcs || c.noc.vcs_taken != vc_policy::dynamic) return {};
  if (!c.noc.vcs || *c.noc.vcs % 2 == 0) return {};
  return broken_rule{"does not split into the two VC sets that a torus or ring needs",
                     std::to_string(*c.noc.vcs), "an even number, or auto"};
}

/// A horizontal and a vertical direction for each network.
verdict oneway_directions(const machine_config& c) {
  if (c.noc.topology != noc_topology::torus_oneway) return {};
  const auto pairs = split(c.noc.directions, ',');
  const char* const expected = "pairs such as east_north,south_west";
  if (pairs.size() < c.noc.networks)
    return broken_rule{"has no pair of directions for each of noc.networks", c.noc.directions,
                       fmt::format("{} pairs", c.noc.networks)};
  for (const std::string& pair : pairs) {
    const auto sides = split(pair, '_');
    const auto horizontal = [](const std::string& s) { return s == "east" || s == "west"; };
    const auto vertical = [](const std::string& s) { return s == "north" || s == "south"; };
    if ((horizontal(sides[0]) && vertical(sides[1])) || (vertical(sides[0]) && horizontal(sides[1])))
      continue;
    return broken_rule{"is not a horizontal and a vertical direction", pair, expected};
  }
  return {};
}

verdict trees_cut_through(const machine_config& c) {
  if (!c.noc.multicast || c.noc.flow == noc_flow::virtual_cut_through) return {};
  return broken_rule{"copies whole packets, which do not fit the buffers of a wormhole router", "true",
                     "noc.flow virtual_cut_through, or false"};
}

verdict flits_alternate_in_worms(const machine_config& c) {
  if (c.noc.interleave != noc_interleave::vcs) return {};
  if (c.noc.flow == noc_flow::wormhole && c.noc.arbiter == arbitration::round_robin) return {};
  return broken_rule{"arbitrates single flits, round robin", "vcs",
                     "noc.flow wormhole with noc.arbitration round_robin, or classes"};
}

verdict reduce_needs_multicast(const machine_config& c) {
  if (!c.noc.reduce || c.noc.multicast) return {};
  return broken_rule{"requires noc.multicast=true (credits return over the multicast tree)", "true",
                     "noc.multicast=true, or false"};
}

verdict contributions_fit(const machine_config& c) {
  const std::uint64_t ring = c.ipcq.n_slots * c.ipcq.slot_bytes;
  if (!c.noc.reduce || ring <= c.noc.reduce_buffer_kib * 1024) return {};
  return broken_rule{
      "is smaller than what a member may send ahead of the others (ipcq.n_slots x ipcq.slot_bytes)",
      fmt::format("{} KiB", c.noc.reduce_buffer_kib), fmt::format("at least {} B", ring)};
}

verdict packets_are_full_flits(const machine_config& c) {
  if (c.noc.max_packet_bytes % c.noc.flit_bytes == 0) return {};
  return broken_rule{"the longest packet is not a whole number of flits",
                     std::to_string(c.noc.max_packet_bytes),
                     fmt::format("a multiple of noc.flit_bytes = {}", c.noc.flit_bytes)};
}

std::uint64_t packet_flits(const machine_config& c) {
  return abi::flits_of(static_cast<std::uint32_t>(c.noc.max_packet_bytes),
                       static_cast<std::uint32_t>(c.noc.flit_bytes));
}

verdict cut_through_holds(const auto_count& flits, const machine_config& c) {
  const std::uint64_t packet = packet_flits(c);
  if (c.noc.flow != noc_flow::virtual_cut_through || !flits || *flits >= packet) return {};
  return broken_rule{
      "virtual_cut_through needs room for a whole packet in every buffer", fmt::format("{} flits", *flits),
      fmt::format("at least {} flits (noc.max_packet_bytes and a header flit), or auto", packet)};
}
verdict noc_cut_through(const machine_config& c) { return cut_through_holds(c.noc.vc_buffer_flits, c); }
verdict ucie_cut_through(const machine_config& c) { return cut_through_holds(c.ucie.buffer_flits, c); }
verdict sip_cut_through(const machine_config& c) { return cut_through_holds(c.sip_link.buffer_flits, c); }

verdict costs_a_cycle(double latency_ns, const machine_config& c) {
  const double cycle_ns = 1.0 / c.noc.clock_ghz;
  if (latency_ns >= cycle_ns) return {};
  return broken_rule{
      "a crossing takes less than one cycle: an arrival could affect the cycle in which it was sent",
      fmt::format("{} ns", latency_ns),
      fmt::format("at least {} ns (one cycle of noc.clock_ghz = {})", cycle_ns, c.noc.clock_ghz)};
}
verdict ucie_costs_a_cycle(const machine_config& c) { return costs_a_cycle(c.ucie.latency_ns, c); }
verdict sip_link_costs_a_cycle(const machine_config& c) { return costs_a_cycle(c.sip_link.latency_ns, c); }

verdict package_has_the_lanes(const machine_config& c) {
  const ucie_block& u = c.ucie;
  const bool narrow = u.lanes <= 16;
  if (u.package == ucie_package::automatic || narrow == (u.package == ucie_package::standard)) return {};
  return broken_rule{
      "contradicts ucie.lanes", narrow ? "advanced" : "standard",
      fmt::format("{} for {} lanes per module, or auto", narrow ? "standard" : "advanced", u.lanes)};
}

verdict errors_are_detected(const machine_config& c) {
  if (c.ucie.format != flit_format::raw || c.ucie.ber.value_or(0.0) == 0.0) return {};
  return broken_rule{"flit_format raw has no CRC: bit errors would go undetected",
                     fmt::format("{}", *c.ucie.ber), "0 or auto, or ucie.flit_format flit_68 or flit_256"};
}

verdict polls_within_the_watchdog(const machine_config& c) {
  const double period_us = static_cast<double>(c.ipcq.poll_cycles) / c.noc.clock_ghz / 1e3;
  if (c.ipcq.wait != backpressure::poll || static_cast<double>(c.sim.watchdog_us) > 2 * period_us) return {};
  return broken_rule{"a core between two polls would be reported as a deadlock",
                     fmt::format("{} us", c.sim.watchdog_us),
                     fmt::format("more than two periods of ipcq.poll_cycles = {} ({} us)", c.ipcq.poll_cycles,
                                 2 * period_us)};
}

verdict start_delays_name_pes(const machine_config& c) {
  if (c.ccl.start_delays.empty()) return {};
  const machine_shape shape = c.shape();
  const population there(c);
  // PEs are visited one by one: on a large machine a list of all takes longer than checking the first few.
  const auto names_one = [&](const std::string& glob) {
    for (std::uint32_t i = 0; i < shape.pes(); ++i) {
      const pe_coord pe = shape.pe_at(i);
      if (there.has(pe) && matches(glob, pe_path(shape, pe))) return true;
    }
    return false;
  };
  for (const start_delay& d : parse_start_delays(c.ccl.start_delays)) {
    if (!names_one(d.match)) {
      return broken_rule{"names no PE of this machine", d.match,
                         "a glob over paths like " + pe_path(shape, shape.pe_at(0))};
    }
  }
  return {};
}

verdict waveform_ends_after_it_begins(const machine_config& c) {
  if (c.trace.vcd_from_ns <= c.trace.vcd_to_ns) return {};
  return broken_rule{"the waveform would begin after it ends", fmt::format("{} ns", c.trace.vcd_from_ns),
                     fmt::format("at most trace.vcd_to_ns = {} ns", c.trace.vcd_to_ns)};
}

const rule rules_of_blocks[]{
    {{"ccl.start_delays", "pod.sips", "sip.columns", "sip.rows", "cube.pes"}, start_delays_name_pes},
    {{"sim.watchdog_us", "ipcq.poll_cycles", "ipcq.backpressure", "noc.clock_ghz"},
     polls_within_the_watchdog},
    {{"sip.columns", "sip.rows"}, cubes_fit_the_address},
    {{"pod.columns", "pod.sips"}, pod_columns_divide},
    {{"pod.links", "pod.topology", "pod.sips"}, links_need_list},
    {{"pod.links", "pod.sips"}, links_name_sips},
    {{"pod.links"}, links_differ},
    {{"pe.tcm_kib", "pe.tcm_banks", "pe.tcm_bank_bytes"}, tcm_has_full_rows},
    {{"ipcq.slot_bytes"}, slots_are_aligned},
    {{"ipcq.slot_bytes", "ipcq.n_slots", "ipcq.buffer_kind", "pe.tcm_kib", "sram.kib", "hbm.port_mib"},
     ring_fits},
    {{"noc.link_cycles", "noc.hop_cycles"}, wire_within_hop},
    {{"noc.hop_cycles", "noc.link_cycles", "noc.routing_cycles", "noc.vc_alloc_cycles",
      "noc.switch_alloc_cycles", "noc.traversal_cycles"},
     stages_fill_hop},
    {{"noc.vcs", "noc.vc_policy", "noc.topology", "noc.dateline_vcs"}, dynamic_vcs_split},
    {{"noc.directions", "noc.topology", "noc.networks"}, oneway_directions},
    {{"noc.multicast", "noc.flow"}, trees_cut_through},
    {{"noc.interleave", "noc.flow", "noc.arbitration"}, flits_alternate_in_worms},
    {{"noc.reduce", "noc.multicast"}, reduce_needs_multicast},
    {{"noc.reduce_buffer_kib", "noc.reduce", "ipcq.n_slots", "ipcq.slot_bytes"}, contributions_fit},
    {{"noc.max_packet_bytes", "noc.flit_bytes"}, packets_are_full_flits},
    {{"noc.vc_buffer_flits", "noc.flow", "noc.max_packet_bytes", "noc.flit_bytes"}, noc_cut_through},
    {{"ucie.buffer_flits", "noc.flow", "noc.max_packet_bytes", "noc.flit_bytes"}, ucie_cut_through},
    {{"sip_link.buffer_flits", "noc.flow", "noc.max_packet_bytes", "noc.flit_bytes"}, sip_cut_through},
    {{"ucie.latency_ns", "noc.clock_ghz"}, ucie_costs_a_cycle},
    {{"ucie.package", "ucie.lanes"}, package_has_the_lanes},
    {{"ucie.ber", "ucie.flit_format"}, errors_are_detected},
    {{"sip_link.latency_ns", "noc.clock_ghz"}, sip_link_costs_a_cycle},
    {{"ccl.errata"}, errata_have_names},
    {{"trace.vcd_from_ns", "trace.vcd_to_ns"}, waveform_ends_after_it_begins},
};

std::vector<rule> all_rules() {
  std::vector<rule> all(std::begin(rules_of_blocks), std::end(rules_of_blocks));
  for (const std::span<const rule> more : {hbm_rules(), placement_rules()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Keys that an override sets to a better value than the block's, which bounds do not allow.
void check_limits(const machine_config& c, std::size_t number, std::vector<problem>& problems) {
  using limit = override_key::limit;
  for (const override_key& k : override_keys()) {
    const auto value = k.get(c.overrides[number]);
    if (!value || k.against_block == limit::none) continue;
    const auto own = std::get<std::uint64_t>(*value);
    const auto block = std::get<std::uint64_t>(k.row->get(c));
    const bool more = k.against_block == limit::no_more;
    if (more ? own <= block : own >= block) continue;
    problems.push_back(
        {fmt::format("overrides[{}].set.{}", number, k.name),
         "override is faster than the block's default; bounds and buffers are sized from the default",
         std::to_string(own),
         fmt::format("{} {} ({})", more ? "at most" : "at least", block, k.row->path())});
  }
}

}  // namespace

std::vector<problem> check(const machine_config& config, const std::set<std::string>& broken) {
  const std::vector<rule> rules = all_rules();
  std::vector<problem> problems;
  for (const rule& r : rules) {
    const bool usable = std::ranges::none_of(r.keys, [&](const auto& key) { return broken.contains(key); });
    if (!usable) continue;
    if (verdict v = r.test(config))
      problems.push_back({r.keys.front(), std::move(v->what), std::move(v->value), std::move(v->expected)});
  }
  if (!problems.empty()) return problems;  // rules would report the same problems again
  for (std::size_t i = 0; i < config.overrides.size(); ++i) {
    check_limits(config, i, problems);
    const machine_config overridden = with_override(config, config.overrides[i]);
    for (const rule& r : rules) {
      if (verdict v = r.test(overridden)) {
        problems.push_back({fmt::format("overrides[{}].set", i),
                            fmt::format("{}: {}", r.keys.front(), v->what), std::move(v->value),
                            std::move(v->expected)});
      }
    }
  }
  return problems;
}

}  // namespace diecast::config
