// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/queue_pair.hpp"

#include <stdexcept>

namespace diecast::protocol {

std::uint64_t sequence_modulus(std::uint32_t n_slots) {
  if (n_slots == 0) throw std::invalid_argument("sequence_modulus: a ring needs at least 1 slot, got 0");
  constexpr std::uint64_t limit = std::uint64_t{1} << 32;
  std::uint64_t modulus = n_slots;
  while (modulus * 2 <= limit) modulus *= 2;
  return modulus;
}

}  // namespace diecast::protocol
