// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/race.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "models/types/error.hpp"

namespace diecast::sw {
namespace {

constexpr std::uint64_t events_of_any = 600'000, events_per_pe = 500;
constexpr double bytes_per_event = 64, most_events_for_bytes = 10'000'000;
/// On machines of more PEs an event takes longer, as their state does not fit a cache.
constexpr double many_pes = 256;
/// Making a PE of the mock machine takes as long as some events.
constexpr std::uint64_t events_to_make_a_pe = 60;
constexpr double never = std::numeric_limits<double>::infinity();
/// Growth factor of the steps of simulated time; the first step is a part of the least bound.
constexpr double further = 1.3, first_part = 0.1;
/// With half of the effort spent, candidates wait whose expected time by progress is this many times the
/// least or more.
constexpr double behind = 2;
/// When all of it is spent, up to this many turns follow, each of this many events.
constexpr std::uint64_t turns = 64, events_per_turn = 25'000;

struct runner {
  algorithm_candidate what;
  std::unique_ptr<timed_run> run;
  timed_outcome so_far;
  bool waits{};
};

class heats {
 public:
  heats(std::vector<algorithm_candidate> candidates, std::uint64_t pes)
      : setup_(pes * events_to_make_a_pe),
        left_(most_events(pes)),
        more_(events_for(least_sent(candidates), pes)),
        half_(left_ / 2),
        few_bytes_(more_ < left_) {
    std::ranges::stable_sort(candidates, {}, [](const algorithm_candidate& c) { return c.bound.in_row; });
    for (algorithm_candidate& c : candidates) open_.push_back({std::move(c), nullptr, {}, false});
  }

  choice decide() {
    double until = open_.empty() ? 1.0 : std::max(1.0, first_part * open_.front().what.bound.in_row);
    for (;;) {
      for (; !open_.empty() && left_ > 0 && best_ > until / further; until *= further) step(until);
      if (left_ > 0 || more_ == 0 || known()) break;
      left_ = std::exchange(more_, 0);
      half_ = left_ / 2;
    }
    if (left_ == 0) {
      if (few_bytes_) follow_the_first();
      take_by_progress();
    }
    std::ranges::stable_sort(found_.sorted, {}, &choice::timed::ns);
    return std::move(found_);
  }

 private:
  /// Whether some candidate has an estimate better than its bounds.
  [[nodiscard]] bool known() const {
    return !found_.sorted.empty() ||
           std::ranges::any_of(open_, [](const runner& r) { return end_of(r).has_value(); });
  }
  /// Effort beyond most_events(), in proportion to the bytes of a job, as the time of its simulation is.
  [[nodiscard]] static std::uint64_t events_for(double bytes, std::uint64_t pes) {
    const double most = most_events_for_bytes * std::min(1.0, many_pes / static_cast<double>(pes));
    return static_cast<std::uint64_t>(std::min(bytes / bytes_per_event, most));
  }
  [[nodiscard]] static double least_sent(const std::vector<algorithm_candidate>& candidates) {
    const auto sent = [](const algorithm_candidate& c) { return c.bound.sent; };
    return candidates.empty() ? 0 : sent(*std::ranges::min_element(candidates, {}, sent));
  }

  void keep(const runner& r, double ns, known_by how) {
    found_.sorted.push_back({r.what.name, ns, how});
    best_ = std::min(best_, ns);
  }

  void step(double until) {
    std::erase_if(open_, [&](runner& r) {
      const double limit = std::min(until, best_);
      return left_ > 0 && !r.waits && r.what.bound.ns < best_ && ends(r, limit);
    });
    if (left_ > half_) return;
    double leader = best_;
    for (const runner& r : open_) leader = std::min(leader, end_of(r).value_or(leader));
    for (runner& r : open_) r.waits = r.waits || end_of(r).value_or(leader) > behind * leader;
  }

  /// Whichever would end first by its progress takes the next turn: a tree whose leaves have sent seems
  /// nearer to its end than it is.
  void follow_the_first() {
    const auto expected = [](const runner& r) { return end_of(r).value_or(never); };
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      const auto first = std::ranges::min_element(open_, {}, expected);
      if (first == open_.end() || expected(*first) >= best_) return;
      left_ = events_per_turn;
      if (ends(*first, std::min(best_, 2 * expected(*first)))) open_.erase(first);
    }
  }

  /// Time at which a candidate would end at the rate at which its bytes have arrived.
  [[nodiscard]] static std::optional<double> end_of(const runner& r) {
    return end_by_progress(r.so_far, r.what.bound);
  }

  /// True when a candidate needs no more steps: it has ended, or cannot run.
  bool ends(runner& r, double limit) {
    if (r.run == nullptr) {
      auto started = r.what.start();
      if (!started) return true;
      r.run = std::move(*started);
      if (r.run == nullptr) return keep(r, r.what.bound.in_row, known_by::bounds), true;
      left_ -= std::min(left_, setup_);
    }
    try {
      r.so_far = r.run->go({nanoseconds(limit), left_});
    } catch (const user_error&) {
      return true;  // the firmware uses features that are not modelled
    }
    left_ -= std::min(left_, r.so_far.events);
    if (r.so_far.finished) keep(r, r.so_far.time_ns, known_by::estimate);
    return r.so_far.finished || !r.so_far.limited;
  }

  void take_by_progress() {
    const bool better_than_bounds = known();
    for (runner& r : open_) {
      if (const auto end = end_of(r)) {
        keep(r, *end, known_by::progress);
      } else if (!better_than_bounds && found_.sorted.empty() && (r.run != nullptr || r.what.start())) {
        keep(r, r.what.bound.in_row, known_by::bounds);  // a bound is no forecast: nothing else is known
      }
    }
  }

  std::vector<runner> open_;
  std::uint64_t setup_, left_, more_, half_;
  bool few_bytes_;  ///< its time is that of messages, of which bytes say little
  double best_ = never;
  choice found_;
};

const char* text_of(known_by how) {
  switch (how) {
    case known_by::estimate: return "an estimate";
    case known_by::progress: return "the progress of an estimate that would take too long";
    case known_by::bounds: return "its bounds, without an estimate";
  }
  return "";
}

}  // namespace

std::uint64_t most_events(std::uint64_t pes) { return events_of_any + events_per_pe * pes; }

std::optional<double> end_by_progress(const timed_outcome& o, const cost::algorithm_bound& bound) {
  constexpr double enough = 0.1;
  const double share = bound.sent > 0 ? static_cast<double>(o.bytes) / bound.sent : 0;
  const double end = o.time_ns / std::min(1.0, share);
  return share < enough || end < bound.ns ? std::nullopt : std::optional(end);
}

choice race(std::vector<algorithm_candidate> candidates, std::uint64_t pes) {
  return heats(std::move(candidates), pes).decide();
}

std::string choice::reason() const {
  std::string text = fmt::format("auto: {} expected to take {:.0f} ns by {}", sorted[0].name, sorted[0].ns,
                                 text_of(sorted[0].how));
  if (sorted.size() > 1) text += fmt::format(", {} {:.0f} ns", sorted[1].name, sorted[1].ns);
  return text;
}

}  // namespace diecast::sw
