// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/packet_arrivals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::traffic {
namespace {

constexpr unsigned node_bits = 16;
constexpr std::uint64_t draws_of_packet = 4;  // gap, destination, choice of the pattern, and one to spare

}  // namespace

bernoulli_arrivals::bernoulli_arrivals(const setup& s, const destinations& where)
    : where_(where), flits_(s.flits), log_miss_(std::log1p(-s.rate / s.flits)) {
  if (s.nodes > 1U << node_bits || s.flits == 0 || !(s.rate > 0) || s.rate > s.flits) {
    throw std::invalid_argument(
        fmt::format("{} nodes at {} flits per cycle in packets of {}", s.nodes, s.rate, s.flits));
  }
  nodes_.reserve(s.nodes);
  for (std::uint32_t n = 0; n < s.nodes; ++n) {
    nodes_.push_back({random::stream(s.seed, fmt::format("node{}", n), "packets"), 0, 0});
    heap_.push_back((draw(n) - 1) << node_bits | n);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

std::uint64_t bernoulli_arrivals::draw(std::uint32_t n) {
  node& from = nodes_[n];
  std::array<std::uint64_t, draws_of_packet> words{};
  from.draws.fill(from.packets++ * draws_of_packet, words);
  from.destination = where_.of(n, {words[1], words[2]});
  const double uniform = static_cast<double>(words[0] >> 11) * 0x1p-53;
  return 1 + static_cast<std::uint64_t>(std::log1p(-uniform) / log_miss_);  // x / -infinity is 0
}

bool bernoulli_arrivals::next(packet_arrival& a) {
  const std::uint64_t cycle = heap_.front() >> node_bits;
  const auto n = static_cast<std::uint32_t>(heap_.front() & ((1U << node_bits) - 1));
  a = {cycle, n, nodes_[n].destination, flits_};
  heap_.front() = (cycle + draw(n)) << node_bits | n;
  sift_down();
  return true;
}

void bernoulli_arrivals::sift_down() {
  const std::uint64_t moved = heap_.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size()) child += static_cast<std::size_t>(heap_[child + 1] < heap_[child]);
    if (moved <= heap_[child]) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = moved;
}

}  // namespace diecast::traffic
