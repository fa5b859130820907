// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "models/abi/dispatch_table.hpp"
#include "models/config/faults.hpp"
#include "models/config/text.hpp"
#include "models/fabric/fault_places.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

using abi::firmware_count;
using config::fault_kind;

/// Chances and hits of every fault, over all its places.
class collector {
 public:
  collector(const prepared_run& run, netlist::pod& pod)
      : config_(run.machine.config),
        topology_(run.machine.topology),
        pod_(pod),
        tallies_(config_.faults.size()) {
    of_links();
    of_frames();
    for (const pe_coord pe : topology_.population().pes())
      if (pod.has(pe.sip)) of_pe(pe);
  }
  /// Adds what other processes have counted.
  void join(process_group& group) {
    std::vector<config::fault_tally> own(tallies_.size());
    std::swap(own, tallies_);
    for (const auto& part : gathered(group, own))
      for (std::size_t i = 0; i < part.size(); ++i) add(i, part[i].chances, part[i].met);
  }
  [[nodiscard]] const config::fault_tally& of(std::size_t fault) const { return tallies_[fault]; }

 private:
  void add(std::size_t fault, std::uint64_t chances, std::uint64_t met) {
    tallies_[fault].chances += chances;
    tallies_[fault].met += met;
  }
  void add(const std::vector<config::fault_tally>& all) {
    for (const config::fault_tally& t : all) add(t.number, t.chances, t.met);
  }

  void of_links() {
    for (const auto& sip : pod_.sips()) {
      for (const auto& f : sip->faults()) add(f->tallies());
      for (const auto& cube : sip->cubes())
        for (const auto& f : cube->faults()) add(f->tallies());
    }
    for (const auto& f : pod_.link_faults()) add(f->tallies());
  }

  /// Bits flipped on the wire, under frames.
  void of_frames() {
    const auto& sips = pod_.sips();
    for (std::uint32_t n = 0; n < sips.size(); ++n) {
      const std::uint32_t s = sips[n]->id().value;
      for (std::uint32_t c = 0; c < sips[n]->cubes().size(); ++c) {
        for (unsigned side = 0; side < fabric::sides; ++side) {
          const auto edge = static_cast<fabric::side>(side);
          const auto* const adapter = sips[n]->cubes()[c]->edge(edge);
          if (adapter == nullptr) continue;
          const auto& line = adapter->sender().line_statistics();
          for (const auto& f : fabric::hidden_bit_flips(config_, topology_, sip_id{s}, cube_id{c}, edge))
            add(f.number, line.frames, line.scripted);
        }
      }
    }
  }

  void of_pe(pe_coord pe) {
    const std::string path = pe_path(config_.shape(), pe);
    for (std::size_t i = 0; i < config_.faults.size(); ++i) {
      const config::fault_setting& f = config_.faults[i];
      if (config::entry_of(f.kind).mechanism == config::fault_mechanism::interposer) continue;
      if (!config::matches(f.where, path)) continue;
      const hw::defect_count n = counted(f.kind, pod_.pe(pe));
      add(i, n.chances, n.met);
    }
  }

  static hw::defect_count counted(fault_kind kind, const hw::processing_element& pe) {
    const auto line = [&pe](firmware_count what) {
      return hw::defect_count{pe.core.counted(what), pe.core.counted(what)};
    };
    const auto some = [](std::uint64_t n) { return hw::defect_count{n, n > 0 ? 1U : 0U}; };
    switch (kind) {
      case fault_kind::token_before_data: return pe.dma.early_tokens();
      case fault_kind::slow_pe: return some(pe.core.busy_cycles());
      case fault_kind::dead_pe: return pe.core.deaths();
      case fault_kind::wrong_install: return some(1);  // every plan is spoiled before it is proved
      case fault_kind::tag_list_race: {
        const auto& unit = pe.tag_match.counted();
        return {unit.appended, unit.unseen};
      }
      case fault_kind::sendrecv_alias:
        return {pe.core.counted(firmware_count::alias_chances), pe.core.counted(firmware_count::aliased)};
      case fault_kind::dispatch_corruption: return line(firmware_count::corrupted_calls);
      case fault_kind::stale_cache_line: return line(firmware_count::stale_looks);
      case fault_kind::signal_without_flush: return line(firmware_count::unflushed_signals);
      case fault_kind::infinite_poll: return line(firmware_count::exact_waits);
      case fault_kind::premature_barrier: return pe.core.late_stores();
      case fault_kind::bit_flip:
      case fault_kind::drop:
      case fault_kind::duplicate:
      case fault_kind::reorder:
      case fault_kind::lost_credit:
      case fault_kind::late_credit:
      case fault_kind::link_down:
      case fault_kind::link_degraded: break;  // an interposer has its own tally
    }
    return {};
  }

  const config::machine_config& config_;
  const fabric::topology& topology_;
  netlist::pod& pod_;
  std::vector<config::fault_tally> tallies_;
};

/// PEs that `where` names; none for a link.
std::vector<pe_coord> pes_named(const config::machine_config& c, const std::string& where) {
  std::vector<pe_coord> named;
  for (std::uint32_t i = 0; i < c.shape().pes(); ++i)
    if (config::matches(where, pe_path(c.shape(), c.shape().pe_at(i)))) named.push_back(c.shape().pe_at(i));
  return named;
}

std::string why_not_met(const prepared_run& run, const config::fault_setting& f,
                        const config::fault_tally& t) {
  const config::machine_config& c = run.machine.config;
  const std::vector<pe_coord> named = pes_named(c, f.where);
  const auto& members = run.members.members;
  const bool takes_part = named.empty() || std::ranges::any_of(named, [&members](pe_coord pe) {
                            return std::ranges::find(members, pe) != members.end();
                          });
  const std::string outside = takes_part ? "" : "no PE there is a rank of this run; ";
  const char* const what = config::chances_of(f.kind, named.empty());
  const bool timed = config::takes(f.kind, "from_us") && f.from_us > 0;
  const std::string since = timed ? fmt::format(" after {} us (from_us)", f.from_us) : "";
  if (t.chances == 0) return fmt::format("{}there were no {}{}", outside, what, since);
  if (t.chances <= f.after)
    return fmt::format("{}there were {} {} in all, and the first {} at each place are exempt (after)",
                       outside, t.chances, what, f.after);
  if (config::entry_of(f.kind).mechanism == config::fault_mechanism::interposer)
    return fmt::format("{}there were {} {}, none of which it affected", outside, t.chances, what);
  if (timed) return fmt::format("{}there were {} {}, none of them{}", outside, t.chances, what, since);
  return fmt::format("{}there were {} {}, none of which it could act on", outside, t.chances, what);
}

}  // namespace

std::vector<fault_row> fault_rows(const prepared_run& run, netlist::pod& pod, process_group* group) {
  const auto& faults = run.machine.config.faults;
  std::vector<fault_row> rows;
  if (faults.empty() || !run.point.report_faults) return rows;
  collector all(run, pod);
  if (group != nullptr) all.join(*group);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const config::fault_tally& t = all.of(i);
    fault_row row{i, config::entry_of(faults[i].kind).name, faults[i].where, t.met, {}};
    if (t.met == 0) row.why_not = why_not_met(run, faults[i], t);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string to_text(const fault_row& row) {
  return fmt::format("faults[{}] ({} at {}) was not met: {}", row.fault, row.kind, row.where, row.why_not);
}

namespace {

/// Unless the monitor has saved what it found, nobody has written the entry.
std::uint64_t loaded_target(const abi::dispatch_image& table, unsigned entry) {
  const std::uint64_t found = table.at(abi::entry_points + entry);
  return found != 0 ? found : table.at(entry);
}

}  // namespace

std::vector<std::string> dispatch_lines(const prepared_run& run, netlist::pod& pod, process_group* group) {
  std::vector<std::pair<pe_coord, abi::dispatch_image>> own;
  for (const pe_coord pe : run.members.members)
    if (pod.has(pe.sip)) own.emplace_back(pe, pod.pe(pe).tcm.dispatch_table());
  const auto all = joined(group, std::move(own));
  const std::map<pe_coord, abi::dispatch_image> tables(all.begin(), all.end());
  std::map<abi::dispatch_image, std::vector<pe_coord>> alike;
  for (const pe_coord pe : run.members.members) alike[tables.at(pe)].push_back(pe);
  std::vector<std::string> lines;
  for (const auto& [table, pes] : alike) {
    std::string who = pe_path(run.machine.config.shape(), pes.front());
    if (pes.size() > 1) who += fmt::format(" and {} more PEs", pes.size() - 1);
    for (unsigned i = 0; i < abi::entry_points; ++i) {
      const auto e = static_cast<abi::entry_point>(i);
      lines.push_back(fmt::format(
          "dispatch table runtime_calls of {}: index {} ({}) was loaded as {:#x}, is {:#x}: {}", who, i,
          abi::to_string(e), loaded_target(table, i), table.at(i), abi::target_text(table, e)));
    }
  }
  return lines;
}

}  // namespace diecast::platforms
