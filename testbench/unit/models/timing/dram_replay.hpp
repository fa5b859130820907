// SPDX-License-Identifier: Apache-2.0
// Bursts through a command scheduler, and what must hold of them whatever the configuration: no rule of
// the standards broken, no burst lost or served twice, queues bounded, accesses to one burst in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "dram_checker.hpp"
#include "models/timing/fr_fcfs.hpp"

namespace diecast::test {

/// A burst with its fate.
struct dram_request {
  timing::dram_burst burst;
  timing::dram_tick arrived{};
  timing::dram_tick done{};
  timing::dram_tick command{};  ///< tick of the request's own command; 0: answered from the write queue
};

/// How bursts arrive: evenly, or as many at a time as `outstanding`.
struct dram_pace {
  double rate{};                ///< share of the channel's peak, above 0; 0: closed loop
  std::uint64_t outstanding{};  ///< requests in flight of a closed loop
};

/// Gives bursts to a scheduler as a controller with one request socket does: who finds its queue full holds
/// back all behind, until a command makes room.
class dram_replay {
 public:
  explicit dram_replay(const config::hbm_block& h)
      : block_(h), p_(timing::make_dram_parameters(h)), scheduler_(p_), checker_(h) {
    scheduler_.observe(&checker_);
  }

  /// Serves all of `requests`, the first at tick `start`.
  void run(std::vector<dram_request>& requests, const dram_pace& pace, timing::dram_tick start) {
    const double interval =
        pace.rate > 0 ? static_cast<double>(p_.burst) / (pace.rate * p_.pseudo_channels) : 0;
    const std::uint64_t most = pace.rate > 0 ? std::numeric_limits<std::uint64_t>::max() : pace.outstanding;
    now_ = start;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      while (i - answered_ >= most) await_answer();
      const auto due = start + static_cast<timing::dram_tick>(static_cast<double>(i) * interval);
      now_ = std::max(now_, due);
      scheduler_.run(now_, served_);
      dram_request& r = requests[i];
      if (!scheduler_.has_room(r.burst.write)) now_ = scheduler_.run_until_room(r.burst.write, served_);
      r.burst.tag = i;
      r.arrived = now_;
      scheduler_.push(r.burst, now_);
      check_queues();
    }
    while (scheduler_.waiting() != 0) {
      now_ = scheduler_.next_tick();
      scheduler_.run(now_, served_);
      check_queues();
    }
    conclude(requests);
  }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const dram_checker& checker() const { return checker_; }
  [[nodiscard]] const timing::dram_counters& counters() const { return scheduler_.counters(); }

 private:
  /// To the next answer of those under way.
  void await_answer() {
    for (;;) {
      for (; seen_ < served_.size(); ++seen_) answers_.push(served_[seen_].done);
      if (!answers_.empty() && answers_.top() <= scheduler_.next_tick()) break;
      scheduler_.run(scheduler_.next_tick(), served_);
    }
    now_ = std::max(now_, answers_.top());
    answers_.pop();
    ++answered_;
  }
  void check_queues() {
    if (scheduler_.queued(false) > p_.read_queue || scheduler_.queued(true) > p_.write_queue)
      problems_.emplace_back("a queue is overfull");
  }
  void conclude(std::vector<dram_request>& requests);

  config::hbm_block block_;
  timing::dram_parameters p_;
  timing::dram_scheduler scheduler_;
  dram_checker checker_;
  std::vector<timing::served_burst> served_;
  std::size_t seen_{};  ///< entries of served_ that answers_ has
  std::priority_queue<timing::dram_tick, std::vector<timing::dram_tick>, std::greater<>> answers_;
  std::uint64_t answered_{};
  timing::dram_tick now_{};
  std::vector<std::string> problems_;
};

/// Fills in what became of the requests; says which were lost, served twice, or have no command.
inline void match_answers(std::vector<dram_request>& requests,
                          const std::vector<timing::served_burst>& served, const timing::dram_parameters& p,
                          dram_checker& checker, std::vector<std::string>& problems) {
  for (const timing::served_burst& s : served) {
    dram_request& r = requests[s.tag];
    if (r.done != 0) problems.push_back(fmt::format("request {} served twice", s.tag));
    r.done = s.done;
  }
  for (dram_request& r : requests) {
    const timing::dram_tick command = r.burst.write ? r.done : r.done - std::min(r.done, p.read_end);
    if (checker.take_access(command, r.burst.at, r.burst.write)) r.command = command;
  }
  if (served.size() != requests.size()) problems.emplace_back("requests lost");
  for (const auto& v : checker.violations()) problems.push_back(v);
}

/// Accesses to one burst, one of them a write, must be served in the order of their arrival. A read
/// without a command of its own must find an unserved write in front of it.
inline void check_order(const std::vector<dram_request>& requests, std::vector<std::string>& problems) {
  std::map<timing::dram_location, const dram_request*> last_write, last_read;
  for (const dram_request& r : requests) {
    const auto w = last_write.find(r.burst.at);
    if (r.command == 0) {
      if (w == last_write.end() || w->second->command + 1 < r.done)
        problems.push_back(fmt::format("request {} has no command", r.burst.tag));
      continue;
    }
    if (w != last_write.end() && w->second->command >= r.command)
      problems.push_back(fmt::format("request {} passed a write", r.burst.tag));
    if (r.burst.write) {
      const auto before = last_read.find(r.burst.at);
      if (before != last_read.end() && before->second->command >= r.command)
        problems.push_back(fmt::format("write {} passed a read", r.burst.tag));
      last_write[r.burst.at] = &r;
    } else {
      last_read[r.burst.at] = &r;
    }
  }
}

/// The scheduler's own counts against what went over the bus.
inline void check_counters(const timing::dram_counters& counters, const dram_checker& checker,
                           std::vector<std::string>& problems) {
  using kind = timing::dram_command;
  const auto compare = [&problems](const char* what, std::uint64_t counted, std::uint64_t seen) {
    if (counted != seen) problems.push_back(fmt::format("{} {} counted, {} seen", counted, what, seen));
  };
  compare("reads", counters.reads, checker.count(kind::read) + checker.count(kind::read_precharge));
  compare("writes", counters.writes, checker.count(kind::write) + checker.count(kind::write_precharge));
  compare("activations", counters.activates, checker.count(kind::activate));
  compare("precharges", counters.precharges, checker.count(kind::precharge));
  compare("refreshes of all banks", counters.all_bank_refreshes, checker.count(kind::refresh_all));
  compare("refreshes of one bank", counters.bank_refreshes, checker.count(kind::refresh_bank));
}

inline void dram_replay::conclude(std::vector<dram_request>& requests) {
  match_answers(requests, served_, p_, checker_, problems_);
  check_order(requests, problems_);
  check_counters(scheduler_.counters(), checker_, problems_);
  if (const double owed = checker_.refreshes_owed((p_.tick * now_).ns()); owed > 2)
    problems_.push_back(fmt::format("{} refreshes owed", owed));
}

}  // namespace diecast::test
