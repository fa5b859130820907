// SPDX-License-Identifier: Apache-2.0
#include "models/fabric/sip_partition.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/text.hpp"
#include "models/timing/link.hpp"
#include "models/types/error.hpp"

namespace diecast::fabric {
namespace {

user_error wrong_partition(const std::string& what, const std::string& text, std::uint32_t processes) {
  return user_error(
      problem{"--partition", what, text,
              fmt::format("auto, or {} lists that name every SIP once, such as [[0,1],[2,3]]", processes)});
}

sip_partition listed(std::uint32_t sips, const std::string& text, std::uint32_t processes) {
  constexpr auto nobody = UINT32_MAX;
  sip_partition p{0, std::vector<std::uint32_t>(sips, nobody)};
  for (std::size_t at = 1; at < text.size() && text[at] == '['; ++p.processes) {
    const std::size_t end = text.find(']', at);
    for (const std::string& word : config::split(text.substr(at + 1, end - at - 1), ',')) {
      const auto sip = config::parse_count(word);
      if (!sip || *sip >= sips) throw wrong_partition("names a SIP that does not exist", text, processes);
      if (p.process_of[*sip] != nobody) throw wrong_partition("names a SIP twice", text, processes);
      p.process_of[*sip] = p.processes;
    }
    at = end + 2;  // after the comma
  }
  if (std::ranges::count(p.process_of, nobody) > 0)
    throw wrong_partition("leaves out a SIP", text, processes);
  if (p.processes != processes)
    throw wrong_partition(fmt::format("has {} lists for {} processes", p.processes, processes), text,
                          processes);
  return p;
}

std::vector<std::uint64_t> pes_by_sip(const topology& t) {
  std::vector<std::uint64_t> pes(t.shape().sips);
  for (const pe_coord pe : t.population().pes()) ++pes[pe.sip.value];
  return pes;
}

/// Consecutive SIPs, each process with its share of the PEs as nearly as whole SIPs allow.
sip_partition in_blocks(const std::vector<std::uint64_t>& pes, std::uint32_t processes) {
  const auto sips = static_cast<std::uint32_t>(pes.size());
  std::uint64_t all = 0, before = 0;
  for (const std::uint64_t n : pes) all += n;
  sip_partition p{processes, std::vector<std::uint32_t>(sips)};
  std::uint32_t process = 0;
  for (std::uint32_t s = 0, in_process = 0; s < sips; ++s, ++in_process) {
    const bool full = (2 * before + pes[s]) * processes > 2 * all * (process + 1);
    const bool needed = sips - s == processes - process - 1;  // one SIP at least for each of the rest
    if (in_process > 0 && process + 1 < processes && (full || needed)) {
      ++process;
      in_process = 0;
    }
    p.process_of[s] = process;
    before += pes[s];
  }
  return p;
}

/// Swaps SIPs of as many PEs while that lowers the bandwidth that is cut.
void refine(const topology& t, const std::vector<std::uint64_t>& pes, sip_partition& p) {
  struct neighbor {
    std::uint32_t sip;
    double weight;
  };
  std::vector<std::vector<neighbor>> near(pes.size());
  for (const sip_link& l : t.sip_links())
    near[l.from.sip].push_back({l.to.sip, t.sip_link_settings(l.index).gbytes_s});
  const auto cut_of = [&](std::uint32_t a, std::uint32_t b) {
    double cut = 0;
    for (const std::uint32_t s : {a, b})
      for (const neighbor& n : near[s]) cut += p.process_of[n.sip] == p.process_of[s] ? 0 : n.weight;
    return cut;
  };
  for (bool better = true; better;) {
    better = false;
    for (std::uint32_t a = 0; a < pes.size(); ++a) {
      for (std::uint32_t b = a + 1; b < pes.size(); ++b) {
        if (p.process_of[a] == p.process_of[b] || pes[a] != pes[b]) continue;
        const double before = cut_of(a, b);
        std::swap(p.process_of[a], p.process_of[b]);
        if (cut_of(a, b) < before) {
          better = true;
        } else {
          std::swap(p.process_of[a], p.process_of[b]);
        }
      }
    }
  }
}

}  // namespace

std::vector<bool> sip_partition::sips_of(std::uint32_t process) const {
  std::vector<bool> own;
  for (const std::uint32_t p : process_of) own.push_back(p == process);
  return own;
}

std::string sip_partition::text_of(std::uint32_t process) const {
  std::string text;
  for (std::size_t s = 0; s < process_of.size(); ++s) {
    if (process_of[s] != process || (s > 0 && process_of[s - 1] == process)) continue;
    std::size_t last = s;
    while (last + 1 < process_of.size() && process_of[last + 1] == process) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", s);
    if (last > s) text += fmt::format("-{}", last);
  }
  return text;
}

sip_partition partition_sips(const topology& t, const std::string& text, std::uint32_t processes) {
  const std::uint32_t sips = t.shape().sips;
  if (processes > sips) {
    throw user_error(problem{
        "--processes", fmt::format("the pod has {} SIPs, and each process simulates one at least", sips),
        std::to_string(processes), fmt::format("1 to {}", sips)});
  }
  if (processes == 1) return {1, std::vector<std::uint32_t>(sips)};
  if (text != "auto") return listed(sips, text, processes);
  const std::vector<std::uint64_t> pes = pes_by_sip(t);
  sip_partition p = in_blocks(pes, processes);
  refine(t, pes, p);
  return p;
}

sim_time lookahead_of(const topology& t, const config::machine_config& c, const sip_partition& p) {
  const bool staged = c.comm.path == config::transfer_path::staged && p.processes > 1;
  sim_time least = staged ? nanoseconds(c.host.staging_latency_ns) : sim_time::never();
  for (const sip_link& l : t.sip_links()) {
    if (p.cuts(l))
      least = std::min(least, timing::sip_link_timing_of(c, t.sip_link_settings(l.index)).latency);
  }
  return least;
}

}  // namespace diecast::fabric
