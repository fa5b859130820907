// SPDX-License-Identifier: Apache-2.0
#include "sw/host/barrier.hpp"

#include <vector>

#include "sw/collectives/base/builtin.hpp"
#include "sw/host/collective.hpp"

namespace diecast::sw {
namespace {

abi::address home_of(const argument_context& c, pe_coord pe) { return comm::sync_home(channels_of(c), pe); }

void append(std::vector<std::byte>& table, std::uint64_t word) {
  const auto bytes = std::as_bytes(std::span{&word, 1});
  table.insert(table.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& table, abi::address home, pe_coord pe) {
  append(table, home);
  append(table, abi::pack_peer(pe));
}

/// The cores with the place of their core barrier's flags, the ranks with their home regions.
std::vector<std::byte> tables_of(const argument_context& c, std::uint32_t index, const barrier_slots& slots) {
  const comm::rank_cores& cores = rank_cores_of(c);
  const std::uint32_t own = cores.rank_of()[index];
  std::vector<std::byte> table;
  for (std::uint32_t core = 0; core < cores.count(own); ++core) {
    const pe_coord pe = c.members.members[cores.first(own) + core];
    const abi::address home = home_of(c, pe);
    append(table, slots.cores ? comm::core_flags_in_slot(home, *slots.cores) : home, pe);
  }
  for (std::uint32_t rank = 0; rank < cores.ranks(); ++rank) {
    const pe_coord pe = c.members.members[cores.first(rank)];
    append(table, home_of(c, pe), pe);
  }
  return table;
}

void mark_taken(abi::host_hal& host, abi::address home, std::uint32_t slot) {
  std::byte bits{};
  const abi::address at = comm::team_table(home) + slot / 8;
  host.debug_read(at, std::span{&bits, 1});
  bits |= std::byte{1} << slot % 8;
  host.debug_write(at, std::span{&bits, 1});
}

/// All eight words of a line: a cache that fetches it reads them all, and packed_flags puts flags there.
void fill_line(abi::host_hal& host, abi::address at, std::uint64_t word) {
  std::vector<std::byte> words;
  for (std::uint64_t w = 0; w < comm::sync_line_bytes / sizeof word; ++w) append(words, word);
  host.debug_write(at, words);
}

/// Flags and counters of the home region: those of a rank are at its first core.
void clear_home(abi::host_hal& host, const argument_context& c, pe_coord pe, bool first_core,
                const barrier_slots& slots) {
  const abi::address home = home_of(c, pe);
  const std::uint64_t start = c.config.ccl.barrier_start;
  const abi::address cores = slots.cores ? comm::core_flags_in_slot(home, *slots.cores) : home;
  for (std::uint32_t r = 0; r < comm::core_barrier_rounds; ++r)
    fill_line(host, comm::core_flag(cores, r), start);
  if (slots.cores) mark_taken(host, home, *slots.cores);
  if (!first_core) return;
  mark_taken(host, home, slots.team);
  for (std::uint32_t line = 0; line <= comm::team_lines; ++line)
    fill_line(host, comm::team_flag(home, slots.team, line), start);
}

}  // namespace

void clear_team_tables(abi::host_hal& host, const config::machine_config& config,
                       std::span<const pe_coord> pes) {
  const config::memory_channels channels(config);
  for (const pe_coord pe : pes) {
    if (pe.sip != host.self()) continue;
    host.debug_write(comm::team_table(comm::sync_home(channels, pe)),
                     std::vector<std::byte>(comm::team_table_bytes));
  }
}

void clear_team_slots(abi::host_hal& host, const config::machine_config& config,
                      std::span<const pe_coord> pes, std::uint32_t slots) {
  if (slots == 0) return;
  const config::memory_channels channels(config);
  const std::vector<std::byte> zeros(slots * comm::team_bytes);
  for (const pe_coord pe : pes)
    if (pe.sip == host.self()) host.debug_write(comm::team_flag(comm::sync_home(channels, pe), 0, 0), zeros);
}

void prepare_barrier(abi::host_hal& host, const argument_context& c,
                     std::span<const abi::kernel_arguments> arguments) {
  clear_team_tables(host, c.config, c.members.members);
  prepare_team(host, c, arguments, {});
}

void prepare_team(abi::host_hal& host, const argument_context& c,
                  std::span<const abi::kernel_arguments> arguments, const barrier_slots& slots) {
  for (std::uint32_t i = 0; i < c.members.members.size(); ++i) {
    const pe_coord pe = c.members.members[i];
    if (pe.sip != host.self()) continue;
    const std::uint64_t counter = c.config.ccl.barrier_start;
    write_tcm(host, pe, arguments[i].scratch + barrier_counter_word, std::as_bytes(std::span{&counter, 1}));
    write_tcm(host, pe, arguments[i].scratch + barrier_tables, tables_of(c, i, slots));
    const comm::rank_cores& cores = rank_cores_of(c);
    clear_home(host, c, pe, cores.first(cores.rank_of()[i]) == i, slots);
  }
}

}  // namespace diecast::sw
