// SPDX-License-Identifier: Apache-2.0
#include "models/abi/launch.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace diecast::abi {
/// The block as words, in the order they travel.
constexpr std::size_t fixed_words = 12;
constexpr std::size_t words = fixed_words + sizeof(kernel_parameters) / sizeof(std::uint64_t);

std::vector<std::byte> encode_launch(const launch_block& b) {
  const kernel_arguments& a = b.arguments;
  std::array<std::uint64_t, words> w{b.kernel,
                                     b.launch_id,
                                     b.target_start.fs,
                                     a.input,
                                     a.output,
                                     a.scratch,
                                     a.scratch_bytes,
                                     a.count,
                                     static_cast<std::uint64_t>(a.type),
                                     static_cast<std::uint64_t>(a.op),
                                     a.rank,
                                     a.ranks};
  std::memcpy(&w[fixed_words], &a.own, sizeof a.own);
  std::vector<std::byte> bytes(sizeof w);
  std::memcpy(bytes.data(), w.data(), sizeof w);
  return bytes;
}

launch_block decode_launch(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, words> w{};
  if (bytes.size() != sizeof w) {
    throw std::invalid_argument("launch block of " + std::to_string(bytes.size()) + " bytes, expected " +
                                std::to_string(sizeof w));
  }
  std::memcpy(w.data(), bytes.data(), sizeof w);
  launch_block b;
  b.kernel = static_cast<std::uint32_t>(w[0]);
  b.launch_id = static_cast<std::uint32_t>(w[1]);
  b.target_start = {w[2]};
  kernel_arguments& a = b.arguments;
  a.input = w[3];
  a.output = w[4];
  a.scratch = w[5];
  a.scratch_bytes = w[6];
  a.count = w[7];
  a.type = static_cast<numeric::dtype>(w[8]);
  a.op = static_cast<numeric::reduction>(w[9]);
  a.rank = static_cast<std::uint32_t>(w[10]);
  a.ranks = static_cast<std::uint32_t>(w[11]);
  std::array<std::uint64_t, words - fixed_words> own{};
  std::copy(w.begin() + fixed_words, w.end(), own.begin());
  a.own = std::bit_cast<kernel_parameters>(own);
  return b;
}

}  // namespace diecast::abi
