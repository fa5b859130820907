// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/barrier/barrier.hpp"

#include <span>
#include <string>
#include <utility>

#include "models/comm/sync_layout.hpp"
#include "models/random/stream.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

barrier_parameters parameters_of(const abi::kernel_arguments& a) { return a.own.get<barrier_parameters>(); }

abi::errata_word errata_of(abi::hal& hal) { return {hal.read_register(abi::core_errata)}; }

std::vector<sync_peer> read_peers(abi::hal& hal, const abi::kernel_arguments& a) {
  const barrier_parameters own = parameters_of(a);
  std::vector<sync_peer> peers(own.cores + own.ranks);
  std::vector<std::uint64_t> words(peers.size() * 2);
  hal.load(a.scratch + barrier_tables, std::as_writable_bytes(std::span{words}));
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {words[2 * i], abi::unpack_peer(words[2 * i + 1])};
  return peers;
}

template <comm::barrier_algorithm How>
void run(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  barrier_runtime r(pe.hal(), a);
  const barrier_parameters own = parameters_of(a);
  const pe_coord self = pe.hal().self();
  const random::stream draws{own.seed,
                             std::to_string(self.sip.value) + "." + std::to_string(self.cube.value) + "." +
                                 std::to_string(self.pe.value),
                             "barrier_skew"};
  for (std::uint32_t i = 0; i < own.repeats; ++i) {
    if (own.skew > 0) pe.hal().compute(draws.below(i, own.skew + 1));
    pe.step("enter barrier", i);
    r.barriers.barrier(r.world, How);
    pe.step("left barrier", i);
  }
  r.signals.quiet();
}

kernel_entry entry(comm::barrier_algorithm how, std::string description, void (*code)(pe_context&)) {
  return {comm::to_string(how),
          "barrier",
          std::move(description),
          "none",
          {comm::rank_set::cube, comm::rank_set::sip, comm::rank_set::pe},
          code,
          barrier_scratch_bytes,
          [](const argument_context& c, std::uint32_t index, abi::kernel_arguments& a) {
            fill_barrier_arguments(c, index, a);
          }};
}

}  // namespace

barrier_runtime::barrier_runtime(abi::hal& hal, const abi::kernel_arguments& a)
    : barrier_runtime(hal, a, [&hal, cycles = parameters_of(a).poll_cycles](const abi::signal_watch&) {
        hal.pause(cycles);
      }) {}

barrier_runtime::barrier_runtime(abi::hal& hal, const abi::kernel_arguments& a,
                                 signal_port::between_looks idle)
    : signals(hal, errata_of(hal), std::move(idle)),
      peers(read_peers(hal, a)),
      cores(hal, signals, {peers.begin(), peers.begin() + std::ptrdiff_t{parameters_of(a).cores}},
            parameters_of(a).core, a.scratch + barrier_counter_word),
      barriers(
          hal, signals, cores,
          {parameters_of(a).radix, parameters_of(a).pollers, signals.errata(), parameters_of(a).alike != 0}),
      world{{peers.begin() + std::ptrdiff_t{parameters_of(a).cores}, peers.end()},
            parameters_of(a).rank,
            parameters_of(a).slot} {}

std::uint64_t barrier_scratch_bytes(const argument_context& c) {
  return barrier_tables +
         (std::uint64_t{rank_cores_of(c).most()} + rank_cores_of(c).ranks()) * barrier_entry_bytes;
}

void fill_barrier_arguments(const argument_context& c, std::uint32_t index, abi::kernel_arguments& a,
                            std::uint32_t slot) {
  const comm::rank_cores& cores = rank_cores_of(c);
  const std::uint32_t rank = cores.rank_of()[index];
  a.rank = rank;
  a.ranks = cores.ranks();
  const config::ccl_block& ccl = c.config.ccl;
  a.own.set(barrier_parameters{
      .cores = cores.count(rank),
      .core = index - cores.first(rank),
      .ranks = cores.ranks(),
      .rank = rank,
      .slot = slot,
      .radix = static_cast<std::uint32_t>(ccl.barrier_radix),
      .pollers = static_cast<std::uint32_t>(ccl.barrier_pollers),
      .alike = cores.alike() ? 1U : 0U,
      .poll_cycles = ccl.signal_poll_cycles,
      .repeats = ccl.barrier_repeats,
      .skew = static_cast<std::uint64_t>(static_cast<double>(ccl.barrier_skew_ns) * c.config.noc.clock_ghz),
      .seed = c.config.sim.seed});
}

pattern_table barrier_patterns() {
  return {{"none", "no queue pairs: data goes through global memory",
           [](const comm::pattern_context&) { return std::vector<comm::edge>{}; }}};
}

kernel_table barrier_kernels() {
  using how = comm::barrier_algorithm;
  return {entry(how::centralized_pull, "every rank raises its own flag; its cores poll those of all others",
                run<how::centralized_pull>),
          entry(how::dissemination,
                "ceil(log2 N) rounds: signal the rank 2^r further on, wait for the one 2^r before",
                run<how::dissemination>),
          entry(how::group_dissemination,
                "dissemination of radix ccl.barrier_radix, a round's signals shared among the cores",
                run<how::group_dissemination>)};
}

}  // namespace diecast::sw
