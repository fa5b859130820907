// SPDX-License-Identifier: Apache-2.0
// How often something fails, and whether two such rates can be told apart.
#pragma once

#include <cstdint>
#include <string>

namespace diecast::diagnose {

struct rate {
  std::uint32_t failures{}, draws{};

  /// 0 without draws.
  [[nodiscard]] double share() const;
  void add(bool failed) {
    failures += failed ? 1U : 0U;
    ++draws;
  }
};

struct interval {
  double low{}, high{1.0};
};
/// Holds the true rate in at least 95% of all campaigns: Clopper and Pearson, "The use of confidence or
/// fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934).
[[nodiscard]] interval interval_of(const rate& r);

/// Fisher's exact test, two-sided: the chance that two groups of draws from one rate differ at least as much.
[[nodiscard]] double chance_of_equal(const rate& a, const rate& b);
/// That chance is less than 5%.
[[nodiscard]] bool differ(const rate& a, const rate& b);

/// "60% (45 to 74) of 40 draws".
[[nodiscard]] std::string to_text(const rate& r);

}  // namespace diecast::diagnose
