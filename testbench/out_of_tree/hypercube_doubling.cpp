// SPDX-License-Identifier: Apache-2.0
#include "hypercube_doubling.hpp"

#include <bit>
#include <string>

#include "models/types/error.hpp"
#include "sw/runtime/pe_context.hpp"

namespace lab {
namespace {

using namespace diecast;

/// Both ends of an edge of dimension k use one direction: the bit differs from either side.
comm::direction along(std::uint32_t k) { return static_cast<comm::direction>(comm::first_custom + k); }

std::vector<comm::edge> edges_of_hypercube(const comm::pattern_context& c) {
  const auto& members = c.members.members;
  const auto ranks = static_cast<std::uint32_t>(members.size());
  if (!std::has_single_bit(ranks)) {
    throw user_error(
        problem{"hypercube", "the ranks do not fill a hypercube", std::to_string(ranks), "a power of two"});
  }
  std::vector<comm::edge> edges;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t k = 0; 1U << k < ranks; ++k) {
      edges.push_back({members[rank], along(k), members[rank ^ 1U << k]});
    }
  }
  return edges;
}

std::uint64_t vector_bytes(const sw::argument_context& c) { return c.count * numeric::size_of(c.type); }

void run(sw::pe_context& pe) {
  const diecast::abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  if (a.output != a.input) pe.copy(a.output, a.input, bytes);
  for (std::uint32_t k = 0; 1U << k < a.ranks; ++k) {
    pe.step("dimension", k);
    pe.exchange(along(k), {a.output, bytes}, along(k), {a.scratch, bytes}, sw::pe_context::arrival::copy);
    pe.reduce(a.output, a.scratch, bytes);
  }
  pe.finish_average({a.output, bytes});
}

}  // namespace

comm::pattern_entry hypercube() {
  return {"hypercube", "neighbors differ in one bit of the rank", edges_of_hypercube};
}

sw::kernel_entry hypercube_doubling() {
  return {"hypercube_doubling",
          "all_reduce",
          "log2(N) exchanges of the whole vector",
          "hypercube",
          {comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip},
          run,
          vector_bytes,
          nullptr};
}

}  // namespace lab
