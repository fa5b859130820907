// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/rates.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <fmt/format.h>

namespace diecast::diagnose {
namespace {

// Boost.Math computes a double's function in long double unless told otherwise, and fills its tables when the
// program starts; under Valgrind, whose long double has 64 bits, that overflows and ends every run.
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

}  // namespace diecast::diagnose
