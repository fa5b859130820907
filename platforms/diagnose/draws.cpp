// SPDX-License-Identifier: Apache-2.0
// Campaigns of draws: the same run with other random choices of the faults.
#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include "platforms/diagnose/experiment_series.hpp"
#include "platforms/diagnose/report.hpp"

namespace diecast::diagnose {

namespace {

// Boost.Math computes a double's function in long double unless configured otherwise, and fills its tables
// when the program starts; under Valgrind, whose long double has 64 bits, that overflows and ends every run.
using in_double = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace

double rate::share() const { return draws == 0 ? 0.0 : static_cast<double>(failures) / draws; }

interval interval_of(const rate& r) {
  if (r.draws == 0) return {};
  constexpr double each_end = 0.025;
  using binomial = boost::math::binomial_distribution<double, in_double>;
  return {binomial::find_lower_bound_on_p(r.draws, r.failures, each_end),
          binomial::find_upper_bound_on_p(r.draws, r.failures, each_end)};
}

double chance_of_equal(const rate& a, const rate& b) {
  const std::uint32_t failures = a.failures + b.failures, draws = a.draws + b.draws;
  if (draws == 0) return 1.0;
  const boost::math::hypergeometric_distribution<double, in_double> of_a(failures, a.draws, draws);
  constexpr double rounding = 1 + 1e-9;
  const double seen = boost::math::pdf(of_a, a.failures) * rounding;
  const std::uint32_t least = failures > b.draws ? failures - b.draws : 0;
  double sum = 0;
  for (std::uint32_t k = least; k <= std::min(failures, a.draws); ++k) {
    const double chance = boost::math::pdf(of_a, k);
    if (chance <= seen) sum += chance;
  }
  return std::min(sum, 1.0);
}

bool differ(const rate& a, const rate& b) {
  constexpr double significance = 0.05;
  return chance_of_equal(a, b) < significance;
}

std::string to_text(const rate& r) {
  constexpr double percent = 100;
  const interval i = interval_of(r);
  return fmt::format("{:.0f}% ({:.0f} to {:.0f}) of {} draw{}", percent * r.share(), percent * i.low,
                     percent * i.high, r.draws, r.draws == 1 ? "" : "s");
}

namespace {

constexpr std::uint32_t alike = 20;    ///< equal draws after which draws count as alike
constexpr std::uint32_t fewest = 2;    ///< fewest draws of an answer
constexpr std::uint32_t most = 60;     ///< most draws of an experiment
constexpr double widest = 0.3;         ///< widest 95% interval of a rate that counts as known
constexpr double least_time_s = 10.0;  ///< least time limit of a draw
constexpr const char* unknown = "not distinguishable";

bool varies(const observation& a, const observation& b) {
  return a.exit_code != b.exit_code || a.fingerprint() != b.fingerprint() || a.time_ns() != b.time_ns() ||
         a.complaint() != b.complaint();
}

/// Precondition: the last change sets it.
std::uint32_t number_of_draw(const observation& o) {
  return static_cast<std::uint32_t>(std::stoul(o.changes.back().substr(std::string_view(draw_key).size())));
}

bool is_known(const rate& r, bool differs) {
  if (!differs) return r.draws >= alike;
  const interval i = interval_of(r);
  return r.draws >= most || (r.draws >= alike && i.high - i.low <= widest);
}

}  // namespace

observation experiment_series::draw(const std::string& name, const changes& more, std::uint32_t number,
                                    double limit_s) {
  changes all = joined(more);
  all.insert(all.end(), {"--set", fmt::format("{}{}", draw_key, number)});
  return runner_.run(prefix_ + name, all, limit_s);
}

/// Makes the draw of `o` that of the subject.
void experiment_series::keep_draw_of(const observation& o) {
  if (!o.changes.empty() && o.changes.back().starts_with(draw_key)) {
    at_.flags.insert(at_.flags.end(), {"--set", o.changes.back()});
    at_.draw = number_of_draw(o);
  }
  if (whole_.varies) measure();
}

/// Number of the next draw that the last experiment on `of` has not had.
std::uint32_t experiment_series::next_draw(const subject& of) {
  last_.next_draw += last_.next_draw + 1 == of.draw ? 2 : 1;
  return last_.next_draw;
}

void experiment_series::measure() {
  constexpr double share = 0.25;
  if (at_.failed.draws > 0) return;
  subject& s = at_;
  const double limit_s = std::max(6 * base().wall_s, least_time_s);
  const double until_s = seconds_left() * (1 - share);
  const bool was_right = right(base());
  const bool silent = was_right && signs_of(base()).empty();
  std::optional<observation> other;  // if the base is right: a draw that fails, else one with a new fault
  s.failed.add(!was_right);
  for (std::uint32_t i = 1; !is_known(s.failed, s.varies); ++i) {
    if (i == s.draw) continue;
    if (seconds_left() - base().wall_s < until_s) break;
    observation o = draw(fmt::format("draw {}", i), {}, i, limit_s);
    if (o.timed_out || o.exit_code == 2) break;
    s.failed.add(!right(o));
    s.varies = s.varies || varies(base(), o);
    const bool fails_first = was_right && !right(o) && (!other || right(*other));
    if (fails_first || (silent && !other && !signs_of(o).empty())) other = std::move(o);
  }
  if (other) {
    s.base = number_of(keep(std::move(*other)));
    merge(open_, signs_of(base()));
    s.flags.insert(s.flags.end(), {"--set", base().changes.back()});
    s.draw = number_of_draw(base());
  }
  if (!s.part && s.own == own_kind::none) whole_ = s;
}

/// Where draws differ, a single right one shows nothing: repeats the experiment until a draw fails, which
/// then is the result, or until the rates differ significantly; the result then is `first`.
const observation* experiment_series::until_distinct(const observation* first, const std::string& name,
                                                     double limit_s) {
  constexpr double share = 0.04;
  const subject& of = subject_of(last_.more);
  if (!of.varies || of.failed.failures == 0) return first;
  const double until_s = seconds_left() * (1 - share);
  while (last_.after.failures == 0 && !differ(of.failed, last_.after) && last_.after.draws < most) {
    if (seconds_left() - last_.wall_s < until_s) break;
    observation o = draw(name, last_.more, next_draw(of), limit_s);
    if (o.timed_out || o.exit_code == 2) break;
    last_.after.add(fails(o));
    if (fails(o)) return &keep(std::move(o));
  }
  return first;
}

rate experiment_series::more_draws(const observation* o, const sign& counts) {
  constexpr double share = 0.1;
  measure();
  if (o == nullptr) return {};
  const subject& of = subject_of(last_.more);
  rate& seen = last_.after;
  if (counts) seen = {counts(*o) ? 1U : 0U, 1};
  const double until_s = seconds_left() * (1 - share), limit_s = std::max(6 * last_.wall_s, least_time_s);
  const std::uint32_t enough = of.varies ? alike / 2 : fewest;
  const auto open = [&] {
    return seen.draws < enough || (seen.failures == 0 && of.failed.failures > 0 && !differ(of.failed, seen));
  };
  while (seen.draws < most && open()) {
    if (seconds_left() - last_.wall_s < until_s) break;
    const observation more = draw(o->name, last_.more, next_draw(of), limit_s);
    if (more.timed_out || more.exit_code == 2) break;
    seen.add(counts ? counts(more) : fails(more));
  }
  return seen;
}

std::string experiment_series::answer_removed(const char* id, const observation* o, const sign& counts) {
  const rate after = more_draws(o, counts);
  return record(id, after.failures > 0 ? "no" : differ(rate_before(), after) ? "yes" : unknown, after);
}

void experiment_series::answer_seen(const char* id, const observation* o, const sign& seen) {
  const rate after = more_draws(o, seen);
  const bool distinct = rate_before().failures == 0 || differ(rate_before(), after);
  record(id, after.failures > 0 ? "yes" : distinct ? "no" : unknown, after);
}

void experiment_series::answer_changed(const char* id, const observation* o) {
  if (was_answered(id)) return;
  const rate after = more_draws(o, {}), before = rate_before();
  const bool alike = (after.failures > 0) == (before.failures > 0) && after.draws > 0;
  record(id, differ(before, after) ? "yes" : alike ? "no" : unknown, after);
}

bool experiment_series::was_answered(const std::string& id) const {
  return std::ranges::find(file_.questions, id, &rated_question::id) != file_.questions.end();
}

std::string experiment_series::record(const char* id, const char* word, const rate& after) {
  // A question whose experiment the machine refuses does not apply to it.
  const bool refused = after.draws == 0 && file_.observations.back().exit_code == 2;
  if (!was_answered(id) && !refused) file_.questions.push_back({id, word, rate_before(), after});
  return word;
}

}  // namespace diecast::diagnose
