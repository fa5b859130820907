// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/ring.hpp"

namespace diecast::sw {
namespace {

void pass_on(pe_context& pe, const ring_place& ring, const elements& sent, const elements& received,
             pe_context::arrival how) {
  const byte_range out = in_output(pe, sent);
  const byte_range in = in_output(pe, received);
  pe.exchange(ring.forth, out.at, out.size, ring.back, in.at, in.size, how);
}

}  // namespace

void reduce_scatter(pe_context& pe, const ring_place& ring, const elements& range) {
  const std::uint32_t n = ring.size;
  for (std::uint32_t s = 0; s + 1 < n; ++s) {
    pe.step("reduce_scatter", s);
    const elements sent = part(range, (ring.position + n - s) % n, n);
    const elements received = part(range, (ring.position + 2 * n - s - 1) % n, n);
    pass_on(pe, ring, sent, received, pe_context::arrival::reduce);
  }
}

void all_gather(pe_context& pe, const ring_place& ring, const elements& range) {
  const std::uint32_t n = ring.size;
  for (std::uint32_t s = 0; s + 1 < n; ++s) {
    pe.step("all_gather", s);
    const elements sent = part(range, (ring.own() + n - s) % n, n);
    const elements received = part(range, (ring.position + n - s) % n, n);
    pass_on(pe, ring, sent, received, pe_context::arrival::copy);
  }
}

void all_reduce(pe_context& pe, const ring_place& ring, const elements& range) {
  reduce_scatter(pe, ring, range);
  finish_average(pe, part(range, ring.own(), ring.size));
  all_gather(pe, ring, range);
}

void both_ways_round(pe_context& pe, const ring_place& ring,
                     const std::function<void(const ring_place&, const elements&)>& lane) {
  const elements whole{0, pe.args().count};
  const elements first = part(whole, 1, 2);  // the larger half when the count is odd
  const elements second = part(whole, 0, 2);
  pe.run_tasks({[&] { lane(ring, first); }, [&] { lane(ring.reversed(), second); }});
}

}  // namespace diecast::sw
