// SPDX-License-Identifier: Apache-2.0
#include "models/events/events.hpp"

#include <array>
#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "models/types/enum_name.hpp"

namespace diecast::events {

const char* to_string(core_state s) { return enum_name(s); }

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const std::array words{a, b};
  return XXH3_64bits(words.data(), sizeof words);
}

instance_fingerprint::instance_fingerprint(std::string_view path)
    : chain_(XXH3_64bits(path.data(), path.size())) {}

void instance_fingerprint::add(sim_time at, std::uint64_t payload) {
  const std::array words{chain_, count_++, at.fs, payload};
  chain_ = XXH3_64bits(words.data(), sizeof words);
}

void run_fingerprint::add(const instance_fingerprint& f) { sum_ += mix(f.value(), 1); }

void run_fingerprint::add_bytes(std::string_view path, std::span<const std::byte> bytes) {
  sum_ += mix(XXH3_64bits(path.data(), path.size()), XXH3_64bits(bytes.data(), bytes.size()));
}

std::string run_fingerprint::text() const { return fmt::format("{:016x}", sum_); }

}  // namespace diecast::events
