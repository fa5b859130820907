// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/barrier.hpp"

#include <span>
#include <string>
#include <utility>

#include "models/comm/sync_layout.hpp"
#include "models/random/stream.hpp"
#include "sw/kernels/builtin.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace {

std::uint64_t extra(const abi::kernel_arguments& a, barrier_argument which) {
  return static_cast<std::uint64_t>(a.extra[which]);
}

abi::errata_word errata_of(abi::hal& hal) { return {hal.read_register(abi::core_errata)}; }

std::vector<sync_peer> read_peers(abi::hal& hal, const abi::kernel_arguments& a) {
  std::vector<sync_peer> peers(extra(a, barrier_cores) + extra(a, barrier_ranks));
  std::vector<std::uint64_t> words(peers.size() * 2);
  hal.load(a.scratch + barrier_tables, std::as_writable_bytes(std::span{words}));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    peers[i] = {words[2 * i], abi::unpack_peer(words[2 * i + 1])};
  }
  return peers;
}

template <comm::barrier_algorithm How>
void run(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  barrier_runtime r(pe.hal(), a);
  const auto repeats = static_cast<std::uint32_t>(extra(a, barrier_repeats));
  const auto skew = extra(a, barrier_skew);
  const pe_coord self = pe.hal().self();
  const random::stream draws{extra(a, barrier_seed),
                             std::to_string(self.sip.value) + "." + std::to_string(self.cube.value) + "." +
                                 std::to_string(self.pe.value),
                             "barrier_skew"};
  for (std::uint32_t i = 0; i < repeats; ++i) {
    if (skew > 0) pe.hal().compute(draws.below(i, skew + 1));
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
          fill_barrier_arguments};
}

}  // namespace

barrier_runtime::barrier_runtime(abi::hal& hal, const abi::kernel_arguments& a)
    : barrier_runtime(hal, a, [&hal, cycles = extra(a, barrier_poll_cycles)](const abi::signal_watch&) {
        hal.pause(cycles);
      }) {}

barrier_runtime::barrier_runtime(abi::hal& hal, const abi::kernel_arguments& a,
                                 signal_port::between_looks idle)
    : signals(hal, errata_of(hal), std::move(idle)),
      peers(read_peers(hal, a)),
      cores(hal, signals,
            {peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(extra(a, barrier_cores))},
            static_cast<std::uint32_t>(extra(a, barrier_core)), a.scratch + barrier_counter_word),
      barriers(hal, signals, cores,
               {static_cast<std::uint32_t>(extra(a, barrier_radix)),
                static_cast<std::uint32_t>(extra(a, barrier_pollers)), signals.errata(),
                extra(a, barrier_alike) != 0}),
      world{{peers.begin() + static_cast<std::ptrdiff_t>(extra(a, barrier_cores)), peers.end()},
            static_cast<std::uint32_t>(extra(a, barrier_rank)),
            static_cast<std::uint32_t>(extra(a, barrier_slot))} {}

std::uint64_t barrier_scratch_bytes(const argument_context& c) {
  return barrier_tables +
         (std::uint64_t{rank_cores_of(c).most()} + rank_cores_of(c).ranks()) * barrier_entry_bytes;
}

void fill_barrier_arguments(const argument_context& c, std::uint32_t index, abi::kernel_arguments& a) {
  const comm::rank_cores& cores = rank_cores_of(c);
  const std::uint32_t rank = cores.rank_of()[index];
  a.rank = rank;
  a.ranks = cores.ranks();
  a.extra[barrier_cores] = cores.count(rank);
  a.extra[barrier_core] = index - cores.first(rank);
  a.extra[barrier_ranks] = cores.ranks();
  a.extra[barrier_rank] = rank;
  a.extra[barrier_alike] = cores.alike() ? 1 : 0;
  a.extra[barrier_slot] = 0;
  a.extra[barrier_radix] = static_cast<std::int64_t>(c.config.ccl.barrier_radix);
  a.extra[barrier_pollers] = static_cast<std::int64_t>(c.config.ccl.barrier_pollers);
  a.extra[barrier_poll_cycles] = static_cast<std::int64_t>(c.config.ccl.signal_poll_cycles);
  a.extra[barrier_repeats] = static_cast<std::int64_t>(c.config.ccl.barrier_repeats);
  const double skew = static_cast<double>(c.config.ccl.barrier_skew_ns) * c.config.noc.clock_ghz;
  a.extra[barrier_skew] = static_cast<std::int64_t>(skew);
  a.extra[barrier_seed] = static_cast<std::int64_t>(c.config.sim.seed);
}

kernel_entry centralized_pull_entry() {
  return entry(comm::barrier_algorithm::centralized_pull,
               "every rank raises its own flag; its cores poll those of all others",
               run<comm::barrier_algorithm::centralized_pull>);
}

kernel_entry dissemination_entry() {
  return entry(comm::barrier_algorithm::dissemination,
               "ceil(log2 N) rounds: signal the rank 2^r further on, wait for the one 2^r before",
               run<comm::barrier_algorithm::dissemination>);
}

kernel_entry group_dissemination_entry() {
  return entry(comm::barrier_algorithm::group_dissemination,
               "dissemination of radix ccl.barrier_radix, a round's signals shared among the cores",
               run<comm::barrier_algorithm::group_dissemination>);
}

}  // namespace diecast::sw
