// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platforms/io/result_json.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {
namespace {

template <class Visit, class... Numbers>
void visit_all(Visit visit, Numbers&... numbers) {
  (visit(numbers), ...);
}

template <class Visit>
void sums_of(machine_totals& t, Visit visit) {
  cost::activity& a = t.activity;
  visit_all(visit, t.packets, t.hops, t.wakeups, t.routed_hops, t.routed_bytes, t.messages, t.message_bytes,
            t.checked, t.mismatches, t.stall_fs, t.wait_fs, t.checksum_fs, t.tag_compared, t.tag_busy_fs,
            t.tree_packets, t.tree_copies, t.tree_credits_combined, t.tree_combinations, t.unwritten,
            t.fingerprint, a.pes, a.cubes, a.router_bytes, a.tcm_bytes, a.sram_bytes, a.hbm_bytes,
            a.hbm_activates, a.hbm_all_bank_refreshes, a.hbm_bank_refreshes);
  for (std::uint64_t& elements : a.vector_elements) visit(elements);
}

template <class Visit>
void maxima_of(machine_totals& t, Visit visit) {
  visit_all(visit, t.trees, t.tree_most_bytes, t.tag_most_slots);
}

/// Number of the SIP in a path such as "pod.sip12.cube_0_0"; 0 for a path that names none, which so is first.
std::uint64_t sip_in(const std::string& path) {
  constexpr std::string_view before = "pod.sip";
  return path.starts_with(before) ? std::strtoull(path.c_str() + before.size(), nullptr, 10) : 0;
}

template <class Row, class Key>
void add_rows(std::vector<Row>& all, std::vector<Row>& more, Key key) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  std::stable_sort(all.begin(), all.end(), [&key](const Row& a, const Row& b) { return key(a) < key(b); });
}

/// Lines that begin with the path of a member, in the order of ranks.
std::string by_rank(const prepared_run& run, const std::string& text) {
  std::map<std::string, std::string, std::less<>> line_of;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) line_of[line.substr(0, line.find(','))] = line + '\n';
  std::string sorted;
  for (const pe_coord pe : run.members.members) {
    const auto line = line_of.find(pe_path(run.machine.config.shape(), pe));
    if (line != line_of.end()) sorted += line->second;
  }
  return sorted;
}

void add_outcome(const prepared_run& run, run_outcome& o, run_outcome part) {
  add_rows(o.links, part.links,
           [&run](const link_row& r) { return run.machine.topology.links()[r.number].sip; });
  add_rows(o.queue_pairs, part.queue_pairs, [](const queue_pair_row& r) { return sip_in(r.pe); });
  add_rows(o.hbm, part.hbm, [](const hbm_row& r) { return sip_in(r.channel); });
  o.waits += part.waits;
  o.elaborate_s = std::max(o.elaborate_s, part.elaborate_s);
  o.wall_s = std::max(o.wall_s, part.wall_s);
  o.peak_rss_mib = std::max(o.peak_rss_mib, part.peak_rss_mib);
}

}  // namespace

void join(process_group& group, const prepared_run& run, run_outcome& o, machine_totals& totals,
          analysis::critical_hops& hops) {
  using json = nlohmann::json;
  json own{{"rows", pack(o)}, {"sums", json::array()}, {"most", json::array()}};
  own["first"] = totals.first_unwritten;
  own["hops"] = {hops.cube_hops(), hops.sip_hops(), hops.unmatched()};
  sums_of(totals, [&own](std::uint64_t v) { own["sums"].push_back(v); });
  maxima_of(totals, [&own](std::uint64_t v) { own["most"].push_back(v); });
  const std::vector<std::string> all = group.gather(own.dump(-1, ' ', false, json::error_handler_t::replace));
  for (std::uint32_t p = 0; p < group.count(); ++p) {
    if (p == group.self()) continue;
    const json part = json::parse(all[p]);
    if (group.self() == 0) add_outcome(run, o, unpack(part["rows"]));  // the others report nothing
    std::size_t n = 0, m = 0;
    sums_of(totals, [&](std::uint64_t& v) { v += part["sums"][n++].get<std::uint64_t>(); });
    maxima_of(totals, [&](std::uint64_t& v) { v = std::max(v, part["most"][m++].get<std::uint64_t>()); });
    const std::string first = part["first"];
    if (totals.first_unwritten.empty() ||
        (!first.empty() && sip_in(first.substr(first.find("pod."))) <
                               sip_in(totals.first_unwritten.substr(totals.first_unwritten.find("pod.")))))
      totals.first_unwritten = first;
    hops.merge({part["hops"][0], part["hops"][1]}, part["hops"][2]);
  }
  o.waits = by_rank(run, o.waits);
}

}  // namespace diecast::platforms
