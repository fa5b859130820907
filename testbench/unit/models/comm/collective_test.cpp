// SPDX-License-Identifier: Apache-2.0
// Semantics of the collectives: sizes per rank, names, bus bandwidth.
#include "models/comm/collective.hpp"

#include <algorithm>

#include "support/test.hpp"

using namespace diecast;
using comm::collective;

namespace {

TEST_CASE("names of collectives go both ways") {
  for (const collective c : comm::all_collectives()) CHECK(comm::collective_named(comm::to_string(c)) == c);
  CHECK(comm::all_collectives().size() == 10);
  CHECK_FALSE(comm::collective_named("allreduce"));
  CHECK_FALSE(comm::collective_named(""));
}

TEST_CASE("parts follow each other and cover the vector") {
  for (const std::uint64_t count : {0ull, 1ull, 2ull, 7ull, 16ull, 1000ull, 12345678901ull}) {
    for (std::uint64_t parts = 1; parts <= 17; ++parts) {
      std::uint64_t next = 0, least = count, most = 0;
      for (std::uint64_t i = 0; i < parts; ++i) {
        const comm::element_range r = comm::part_of(count, i, parts);
        CHECK(r.begin == next);
        next += r.count;
        least = std::min(least, r.count);
        most = std::max(most, r.count);
      }
      CHECK(next == count);
      CHECK(most - least <= 1);
      CHECK(comm::part_of(count, parts, parts) == comm::element_range{count, 0});
    }
  }
}

// What goes in comes out: the sums over the ranks are fixed by what the collective is.
TEST_CASE("sizes of inputs and outputs") {
  for (const collective what : comm::all_collectives()) {
    for (const std::uint64_t count : {0ull, 1ull, 5ull, 64ull, 1001ull}) {
      for (std::uint32_t n = 1; n <= 9; ++n) {
        for (std::uint32_t root = 0; root < n; ++root) {
          const comm::collective_shape s{what, count, n, root};
          std::uint64_t in = 0, out = 0, most_in = 0, most_out = 0;
          for (std::uint32_t r = 0; r < n; ++r) {
            in += input_elements(s, r);
            out += output_elements(s, r);
            most_in = std::max(most_in, input_elements(s, r));
            most_out = std::max(most_out, output_elements(s, r));
          }
          CHECK(largest_input(s) == most_in);
          CHECK(largest_output(s) == most_out);
          std::uint64_t want_in = 0, want_out = 0;
          switch (what) {
            case collective::all_reduce:
            case collective::all_to_all:
            case collective::send_recv: want_in = want_out = n * count; break;
            case collective::reduce_scatter: want_in = n * count, want_out = count; break;
            case collective::all_gather: want_in = count, want_out = n * count; break;
            case collective::broadcast: want_in = count, want_out = n * count; break;
            case collective::reduce: want_in = n * count, want_out = count; break;
            case collective::gather:
            case collective::scatter: want_in = want_out = count; break;
            case collective::barrier: break;
          }
          CHECK(in == want_in);
          CHECK(out == want_out);
        }
      }
    }
  }
}

TEST_CASE("only the root contributes to a broadcast and only the root receives a reduction") {
  const comm::collective_shape broadcast{collective::broadcast, 10, 3, 2};
  CHECK(input_elements(broadcast, 2) == 10);
  CHECK(input_elements(broadcast, 0) == 0);
  const comm::collective_shape reduce{collective::reduce, 10, 3, 2};
  CHECK(output_elements(reduce, 2) == 10);
  CHECK(output_elements(reduce, 1) == 0);
}

TEST_CASE("bus bandwidth factors are those of nccl-tests") {
  CHECK(bus_bandwidth_factor(collective::all_reduce, 4) == 1.5);
  CHECK(bus_bandwidth_factor(collective::all_gather, 4) == 0.75);
  CHECK(bus_bandwidth_factor(collective::reduce_scatter, 4) == 0.75);
  CHECK(bus_bandwidth_factor(collective::all_to_all, 8) == 0.875);
  CHECK(bus_bandwidth_factor(collective::gather, 2) == 0.5);
  CHECK(bus_bandwidth_factor(collective::scatter, 2) == 0.5);
  CHECK(bus_bandwidth_factor(collective::broadcast, 4) == 1);
  CHECK(bus_bandwidth_factor(collective::reduce, 4) == 1);
  CHECK(bus_bandwidth_factor(collective::send_recv, 1) == 0);
}

}  // namespace
