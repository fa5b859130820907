// SPDX-License-Identifier: Apache-2.0
#include "models/cost/barrier_cost.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/timing/link.hpp"

namespace diecast::cost {
namespace {

using comm::barrier_algorithm;

/// Latencies between a core of one rank and the flags of another, worst cases over the team.
class machine {
 public:
  machine(const fabric::topology& t, const config::machine_config& c, const comm::group& members)
      : topology_(t),
        config_(c),
        channels_(c),
        line_flits_(abi::flits_of(comm::sync_line_bytes, static_cast<std::uint32_t>(c.noc.flit_bytes))),
        cycle_ns_(timing::noc_clock(c).period.ns()) {
    const comm::rank_cores cores(members);
    std::uint32_t largest = 0;
    for (std::uint32_t rank = 0; rank < cores.ranks(); ++rank) {
      firsts_.push_back(members.members[cores.first(rank)]);
      if (cores.count(rank) > cores.count(largest)) largest = rank;
    }
    fewest_ = cores.count(0);
    for (std::uint32_t rank = 0; rank < cores.ranks(); ++rank) fewest_ = std::min(fewest_, cores.count(rank));
    const auto first = members.members.begin() + cores.first(largest);
    largest_rank_.assign(first, first + cores.count(largest));
  }

  /// Least number of cores of a rank: that rank is slowest at work that cores share.
  [[nodiscard]] std::uint32_t cores() const { return fewest_; }
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(firsts_.size()); }
  /// Cores of a rank that share its flags in a pull.
  [[nodiscard]] std::uint32_t pollers() const {
    return std::min({static_cast<std::uint32_t>(config_.ccl.barrier_pollers), ranks(), cores()});
  }

  /// A line read from the home region of `at`, request to answer.
  double read(pe_coord from, pe_coord at) {
    return one_way(from, at, 1) + memory_ns() + one_way(at, from, line_flits_) + 4 * cycle_ns_;
  }
  double write(pe_coord from, pe_coord at) { return one_way(from, at, line_flits_) + 2 * cycle_ns_; }
  /// Time from the call to set a flag until the flag is in memory.
  double signal(pe_coord from, pe_coord at) { return read(from, at) + write(from, at); }
  /// A wait whose flag is set while it polls: on average it reads the flag half a period late.
  double notice(pe_coord from, pe_coord at) {
    const double look = read(from, at);
    return look + (look + static_cast<double>(config_.ccl.signal_poll_cycles) * cycle_ns_) / 2;
  }

  [[nodiscard]] pe_coord first(std::uint32_t rank) const { return firsts_[rank % firsts_.size()]; }

  double core_barrier() {
    const auto n = static_cast<std::uint32_t>(largest_rank_.size());
    double sum = 0;
    for (std::uint32_t reach = 1; reach < n; reach *= 2) {
      double worst = 0;
      for (std::uint32_t v = 0; v < n; ++v) {
        const pe_coord to = largest_rank_[(v + reach) % n];
        worst = std::max(worst, signal(largest_rank_[v], to) + notice(to, to));
      }
      sum += worst;
    }
    return sum;
  }

 private:
  double one_way(pe_coord from, pe_coord to, std::uint32_t flits) {
    // The direction does not matter: core and memory are at terminals of the same two cubes.
    const auto key = std::tuple{from, to, flits};
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const auto a = topology_.locate(abi::encode({from.sip, from.cube, abi::region::tcm, from.pe.value, 0}));
    const auto b = topology_.locate(comm::sync_home(channels_, to));
    const double ns = fabric::idle_latency(topology_, config_, a, b, abi::traffic_class::request, flits).ns();
    known_.emplace(key, ns);
    return ns;
  }
  [[nodiscard]] double memory_ns() const {
    const config::hbm_block& h = config_.hbm;
    if (h.model == config::hbm_model::simple)
      return h.simple_latency_ns + static_cast<double>(comm::sync_line_bytes) / h.simple_gbytes_s;
    return h.controller_ns + h.cl_ns +
           h.burst_ns *
               std::ceil(static_cast<double>(comm::sync_line_bytes) / static_cast<double>(h.burst_bytes));
  }

  const fabric::topology& topology_;
  const config::machine_config& config_;
  config::memory_channels channels_;
  std::uint32_t fewest_{};  ///< cores of a rank
  std::uint32_t line_flits_;
  double cycle_ns_;
  std::vector<pe_coord> firsts_;        ///< first core of every rank
  std::vector<pe_coord> largest_rank_;  ///< cores of the rank that has most
  std::map<std::tuple<pe_coord, pe_coord, std::uint32_t>, double> known_;
};

double worst_over_ranks(machine& m, const std::function<double(std::uint32_t)>& cost) {
  double worst = 0;
  for (std::uint32_t rank = 0; rank < m.ranks(); ++rank) worst = std::max(worst, cost(rank));
  return worst;
}

/// A rank sets its flag, then its cores read the others'. The core with most reads counts.
double centralized_pull(machine& m) {
  const std::uint32_t n = m.ranks(), pollers = m.pollers();
  return worst_over_ranks(m, [&](std::uint32_t me) {
    double slowest = 0;
    for (std::uint32_t core = 0; core < pollers; ++core) {
      double sum = 0;
      for (std::uint32_t other = core; other < n; other += pollers)
        if (other != me) sum += m.read(m.first(me), m.first(other));
      slowest = std::max(slowest, sum);
    }
    return m.signal(m.first(me), m.first(me)) + slowest;
  });
}

double dissemination(machine& m) {
  double sum = 0;
  for (std::uint32_t reach = 1; reach < m.ranks(); reach *= 2) {
    sum += worst_over_ranks(m, [&](std::uint32_t me) {
      const pe_coord to = m.first(me + reach);
      return m.signal(m.first(me), to) + m.notice(to, to);
    });
  }
  return sum;
}

/// Whether the barrier ends and a team has enough flags.
bool can_group(std::uint32_t ranks, std::uint32_t radix) {
  const auto work = comm::work_of(barrier_algorithm::group_dissemination, ranks, radix);
  return work && work->signals_set <= comm::team_lines;
}

/// Estimated time of the algorithm; infinite where it cannot run.
double group_dissemination(machine& m, std::uint32_t radix, std::uint32_t parent_ranks) {
  if (!can_group(m.ranks(), radix) || !can_group(std::max(parent_ranks, 1U), radix))
    return std::numeric_limits<double>::infinity();
  double sum = 0;
  bool first = true;
  for (std::uint64_t shift = 1; shift < m.ranks(); shift *= radix) {
    if (!first) sum += m.core_barrier();
    first = false;
    sum += worst_over_ranks(m, [&](std::uint32_t me) {
      double slowest = 0;
      for (std::uint32_t core = 0; core < std::min(m.cores(), radix - 1); ++core) {
        double own = 0;
        for (std::uint32_t j = 1 + core; j < radix; j += m.cores()) {
          const auto to = m.first(static_cast<std::uint32_t>((me + j * shift) % m.ranks()));
          own += m.signal(m.first(me), to) + m.read(to, to);
        }
        slowest = std::max(slowest, own);
      }
      return slowest + m.notice(m.first(me), m.first(me)) - m.read(m.first(me), m.first(me));
    });
  }
  return sum;
}

}  // namespace

barrier_algorithm barrier_costs::cheapest() const {
  return static_cast<barrier_algorithm>(std::ranges::min_element(ns) - ns.begin());
}

std::string barrier_costs::reason() const {
  const barrier_algorithm best = cheapest();
  std::string text = fmt::format("auto: {} is estimated at {:.0f} ns", comm::to_string(best), of(best));
  for (const auto a : {barrier_algorithm::centralized_pull, barrier_algorithm::dissemination,
                       barrier_algorithm::group_dissemination}) {
    if (a == best) continue;
    text += std::isinf(of(a)) ? fmt::format(", {} cannot run with this ccl.barrier_radix", comm::to_string(a))
                              : fmt::format(", {} at {:.0f}", comm::to_string(a), of(a));
  }
  return text;
}

barrier_costs barrier_costs_of(const fabric::topology& t, const config::machine_config& c,
                               const comm::group& members, std::uint32_t parent_ranks) {
  machine m(t, c, members);
  const pe_coord own = m.first(0);
  // Common part of all algorithms: the counter is read and stored, and two core barriers.
  const double frame = m.read(own, own) + m.signal(own, own) + 2 * m.core_barrier();
  barrier_costs costs;
  costs.ns = {frame + centralized_pull(m), frame + dissemination(m),
              frame + group_dissemination(m, static_cast<std::uint32_t>(c.ccl.barrier_radix), parent_ranks)};
  return costs;
}

}  // namespace diecast::cost
