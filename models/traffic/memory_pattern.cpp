// SPDX-License-Identifier: Apache-2.0
#include "models/traffic/memory_pattern.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/types/enum_name.hpp"

namespace diecast::traffic {
namespace {

constexpr unsigned unit_bits = 53;  // bits of a draw that is compared with a probability

/// Uniform in [0, n) from 64 uniform bits: the high half of their product. n is far below 2^64, so the
/// deviation of a draw from uniform is below 2^-24.
std::uint64_t scaled(std::uint64_t bits, std::uint64_t n) {
  const std::uint64_t high = bits >> 32, low = bits & UINT32_MAX;
  const std::uint64_t n_high = n >> 32, n_low = n & UINT32_MAX;
  const std::uint64_t middle = high * n_low + (low * n_low >> 32);
  const std::uint64_t other = low * n_high + (middle & UINT32_MAX);
  return high * n_high + (middle >> 32) + (other >> 32);
}

}  // namespace

const char* to_string(memory_pattern p) { return enum_name(p); }

const char* description(memory_pattern p) {
  switch (p) {
    case memory_pattern::seq:
      return "one burst after the other over pseudo-channel, bank group, column, bank, SID, row";
    case memory_pattern::rand: return "every coordinate uniform";
    case memory_pattern::bank_conflict: return "one bank, the next row each time";
    case memory_pattern::same_bank_hit: return "one row per pseudo-channel, the next column each time";
    case memory_pattern::page_stride: return "one burst per row, over all banks, then the next row";
    case memory_pattern::stride: return "stride:BYTES, addresses that far apart";
  }
  return "?";
}

std::uint64_t pattern_requests::draws::at(std::uint64_t k) {
  if (k % batch == 0) stream_.fill(k, drawn_);
  return drawn_[k % batch];
}

pattern_requests::pattern_requests(memory_geometry g, const pattern_setup& setup)
    : g_(std::move(g)),
      setup_(setup),
      pseudo_channel_(g_.pseudo_channels),
      bank_group_(g_.bank_groups),
      bank_(g_.banks),
      sid_(g_.sids),
      row_(g_.rows),
      column_(g_.columns),
      capacity_(g_.bytes()),
      bursts_(g_.bursts()),
      bursts_per_request_((setup.request_bytes + g_.burst_bytes - 1) / g_.burst_bytes),
      read_below_(static_cast<std::uint64_t>(
          std::llround(std::ldexp(std::clamp(setup.read_fraction, 0.0, 1.0), unit_bits)))),
      places_(setup.seed, setup.path, "memory address"),
      directions_(setup.seed, setup.path, "memory direction") {}

burst_place pattern_requests::unroll(std::uint64_t k) const {
  burst_place p;
  p.pseudo_channel = pseudo_channel_.take(k);
  p.bank_group = bank_group_.take(k);
  p.column = column_.take(k);
  p.bank = bank_.take(k);
  p.sid = sid_.take(k);
  p.row = row_.take(k);
  return p;
}

burst_place pattern_requests::place(std::uint64_t k) const {
  burst_place p;
  switch (setup_.pattern) {
    case memory_pattern::bank_conflict: p.row = row_.take(k); return p;
    case memory_pattern::same_bank_hit:
      p.pseudo_channel = pseudo_channel_.take(k);
      p.column = column_.take(k);
      return p;
    case memory_pattern::page_stride:
      p.pseudo_channel = pseudo_channel_.take(k);
      p.bank_group = bank_group_.take(k);
      p.bank = bank_.take(k);
      p.sid = sid_.take(k);
      p.row = row_.take(k);
      return p;
    case memory_pattern::seq:
    case memory_pattern::rand:
    case memory_pattern::stride: break;
  }
  return unroll(k);
}

std::uint64_t pattern_requests::address(std::uint64_t request) {
  // A request of several bursts begins on a multiple of its size, so that none leaves the memory.
  const std::uint64_t size = bursts_per_request_ * g_.burst_bytes;
  const auto aligned = [&](std::uint64_t a) {
    if (bursts_per_request_ > 1) a -= a % size;
    return std::min(a, capacity_ - setup_.request_bytes);
  };
  switch (setup_.pattern) {
    case memory_pattern::stride: {
      const std::uint64_t here = stride_at_;
      stride_at_ = (stride_at_ + setup_.stride_bytes % capacity_) % capacity_;
      return std::min(here, capacity_ - setup_.request_bytes);
    }
    case memory_pattern::rand: return aligned(g_.address_of(unroll(scaled(places_.at(request), bursts_))));
    // A conflict is one row per request, however large the request.
    case memory_pattern::bank_conflict: return aligned(g_.address_of(place(request)));
    case memory_pattern::seq:
    case memory_pattern::same_bank_hit:
    case memory_pattern::page_stride: break;
  }
  return aligned(g_.address_of(place(request * bursts_per_request_)));
}

bool pattern_requests::next(memory_request& r) {
  if (k_ == setup_.requests) return false;
  r.address = address(k_);
  r.bytes = setup_.request_bytes;
  const bool always = setup_.read_fraction >= 1.0;
  r.write = !always && directions_.at(k_) >> (64 - unit_bits) >= read_below_;
  r.arrival = {};
  ++k_;
  return true;
}

}  // namespace diecast::traffic
