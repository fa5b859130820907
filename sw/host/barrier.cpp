// SPDX-License-Identifier: Apache-2.0
#include "sw/host/barrier.hpp"

#include <vector>

#include "sw/host/collective.hpp"

namespace diecast::sw {
namespace {

std::uint32_t cores_of(const argument_context& c) { return comm::cores_of(c.shape, c.members.set); }
std::uint32_t ranks_of(const argument_context& c) {
  return static_cast<std::uint32_t>(c.members.members.size()) / cores_of(c);
}

void write_word(abi::host_hal& host, abi::address at, std::uint64_t word) {
  host.debug_write(at, std::as_bytes(std::span{&word, 1}));
}

void append(std::vector<std::byte>& table, std::uint64_t word) {
  const auto bytes = std::as_bytes(std::span{&word, 1});
  table.insert(table.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& table, const argument_context& c, pe_coord pe) {
  append(table, comm::sync_home(c.config, pe));
  append(table, abi::pack_peer(pe));
}

std::vector<std::byte> tables_of(const argument_context& c, std::uint32_t index) {
  const std::uint32_t cores = cores_of(c), first = index / cores * cores;
  std::vector<std::byte> table;
  for (std::uint32_t core = 0; core < cores; ++core) append(table, c, c.members.members[first + core]);
  for (std::uint32_t rank = 0; rank < ranks_of(c); ++rank) append(table, c, c.members.members[rank * cores]);
  return table;
}

/// Flags and counters of the home region: those of a rank are at its first core.
void clear_home(abi::host_hal& host, const argument_context& c, pe_coord pe, bool first_core) {
  const abi::address home = comm::sync_home(c.config, pe);
  const std::uint64_t start = c.config.ccl.barrier_start;
  for (std::uint32_t r = 0; r < comm::core_barrier_rounds; ++r) {
    write_word(host, comm::core_flag(home, r), start);
  }
  if (!first_core) return;
  std::vector<std::byte> used(comm::team_table_bytes);
  used[0] = std::byte{1};
  host.debug_write(comm::team_table(home), used);
  for (std::uint32_t line = 0; line <= comm::team_lines; ++line) {
    // All eight words of a line: packed_flags puts flags there.
    std::vector<std::byte> words;
    for (std::uint64_t w = 0; w < comm::sync_line_bytes / sizeof start; ++w) append(words, start);
    host.debug_write(comm::team_flag(home, 0, line), words);
  }
}

}  // namespace

std::uint64_t barrier_scratch_bytes(const argument_context& c) {
  return barrier_tables + (std::uint64_t{cores_of(c)} + ranks_of(c)) * barrier_entry_bytes;
}

void fill_barrier_arguments(const argument_context& c, std::uint32_t index, abi::kernel_arguments& a) {
  const std::uint32_t cores = cores_of(c);
  a.rank = index / cores;
  a.ranks = ranks_of(c);
  a.extra[barrier_cores] = cores;
  a.extra[barrier_core] = index % cores;
  a.extra[barrier_ranks] = ranks_of(c);
  a.extra[barrier_rank] = index / cores;
  a.extra[barrier_slot] = 0;
  a.extra[barrier_radix] = static_cast<std::int64_t>(c.config.ccl.barrier_radix);
  a.extra[barrier_poll_cycles] = static_cast<std::int64_t>(c.config.ccl.signal_poll_cycles);
  a.extra[barrier_repeats] = static_cast<std::int64_t>(c.config.ccl.barrier_repeats);
  const double skew = static_cast<double>(c.config.ccl.barrier_skew_ns) * c.config.noc.clock_ghz;
  a.extra[barrier_skew] = static_cast<std::int64_t>(skew);
  a.extra[barrier_seed] = static_cast<std::int64_t>(c.config.sim.seed);
}

void prepare_barrier(abi::host_hal& host, const argument_context& c,
                     std::span<const abi::kernel_arguments> arguments, abi::errata_word errata) {
  for (std::uint32_t i = 0; i < c.members.members.size(); ++i) {
    const pe_coord pe = c.members.members[i];
    if (pe.sip != host.self()) continue;
    const std::uint64_t counter = c.config.ccl.barrier_start;
    write_tcm(host, pe, arguments[i].scratch + barrier_counter_word, std::as_bytes(std::span{&counter, 1}));
    write_tcm(host, pe, arguments[i].scratch + barrier_tables, tables_of(c, i));
    clear_home(host, c, pe, i % cores_of(c) == 0);
    if (errata.bits != 0) host.debug_write_register(pe, abi::core_errata, errata.bits);
  }
}

}  // namespace diecast::sw
