// SPDX-License-Identifier: Apache-2.0
#include "models/random/stream.hpp"

#include <Random123/philox.h>
#include <stdexcept>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace diecast::random {
namespace {

constexpr std::uint64_t draws_per_block = 4;

}  // namespace

stream::stream(std::uint64_t seed, std::string_view path, std::string_view purpose)
    : seed_(seed),
      name_(XXH3_64bits_withSeed(purpose.data(), purpose.size(), XXH3_64bits(path.data(), path.size()))) {}

inline std::array<std::uint64_t, 4> stream::words(std::uint64_t index, std::uint64_t domain) const {
  const r123::Philox4x64::ctr_type counter{{index, domain, 0, 0}};
  const r123::Philox4x64::key_type key{{seed_, name_}};
  const auto drawn = r123::Philox4x64{}(counter, key);
  return {drawn[0], drawn[1], drawn[2], drawn[3]};
}

std::uint64_t stream::at(std::uint64_t counter) const {
  return words(counter / draws_per_block, 0)[counter % draws_per_block];
}

void stream::fill(std::uint64_t first, std::span<std::uint64_t> out) const {
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t counter = first + done;
    const auto drawn = words(counter / draws_per_block, 0);
    for (std::uint64_t w = counter % draws_per_block; w < draws_per_block && done < out.size(); ++w) {
      out[done++] = drawn[w];
    }
  }
}

std::array<std::uint64_t, 4> stream::four(std::uint64_t index) const { return words(index, 0); }

std::uint64_t stream::below(std::uint64_t counter, std::uint64_t n) const {
  if (n == 0) throw std::invalid_argument("a uniform draw below 0");
  // Values from the last, incomplete run of n are rejected.
  const std::uint64_t rejected = (UINT64_MAX % n + 1) % n;
  for (std::uint64_t domain = 1;; ++domain) {
    for (const std::uint64_t w : words(counter, domain)) {
      if (w <= UINT64_MAX - rejected) return w % n;
    }
  }
}

double stream::unit(std::uint64_t counter) const { return static_cast<double>(at(counter) >> 11) * 0x1p-53; }

}  // namespace diecast::random
