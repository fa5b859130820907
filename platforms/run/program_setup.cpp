// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "models/types/error.hpp"
#include "platforms/run/prepare.hpp"
#include "sw/host/collective.hpp"
#include "sw/kernels/msccl_interpreter.hpp"

namespace diecast::platforms {
namespace {

constexpr std::uint64_t most_queue_pairs = 512;  // end of the range of ipcq.queue_pairs
constexpr std::uint64_t slot_alignment_bytes = 64;

comm::group members_of(const config::population& machine, comm::rank_set set, std::uint64_t wanted,
                       const std::string& who) {
  comm::group g = comm::map_ranks(machine, set);
  if (g.members.size() < wanted) {
    throw user_error(problem{who, fmt::format("needs {} ranks", wanted),
                             fmt::format("{} {}s", g.members.size(), comm::to_string(set)),
                             "a machine with enough of them, or another --ranks"});
  }
  g.members.resize(wanted);
  return g;
}

/// Receive rings of the rank that has the most.
std::uint64_t most_rings(const comm::program_wiring& w) {
  std::ptrdiff_t most = 0;
  for (const auto& of_rank : w.queue_pairs)
    most = std::max(most, std::count_if(of_rank.begin(), of_rank.end(), [](const auto& q) { return q.rx; }));
  return static_cast<std::uint64_t>(most);
}

void wire_queue_pairs(config::machine_config& c, const comm::program_wiring& w,
                      std::vector<std::string>& notes) {
  const std::uint64_t needed = w.queue_pairs_needed();
  if (needed > most_queue_pairs)
    throw user_error(problem{"--workload", "the program needs more queue pairs than a PE has at most",
                             std::to_string(needed), fmt::format("at most {}", most_queue_pairs)});
  if (needed > c.ipcq.queue_pairs) {
    notes.push_back(
        fmt::format("the program needs {0} queue pairs per PE: ipcq.queue_pairs is {0} in place of {1}",
                    needed, c.ipcq.queue_pairs));
    c.ipcq.queue_pairs = needed;
  }
  const std::uint64_t slots = most_rings(w) * c.ipcq.n_slots, half = c.pe.tcm_kib * 1024 / 2;
  if (c.ipcq.rings != config::buffer_kind::tcm || slots * c.ipcq.slot_bytes <= half) return;
  const std::uint64_t fitting = half / slots / slot_alignment_bytes * slot_alignment_bytes;
  if (fitting == 0) return;  // the install plan says what is too small
  notes.push_back(
      fmt::format("{} receive rings per PE take half of the TCM: ipcq.slot_bytes is {} in place of {}",
                  most_rings(w), fitting, c.ipcq.slot_bytes));
  c.ipcq.slot_bytes = fitting;
}

void place_tensors(config::machine_config& c, const program_setup& s, const run_point& point,
                   const comm::program_wiring& w, std::vector<std::string>& notes) {
  if (c.ccl.tensors == config::tensor_kind::hbm) return;
  sw::argument_context launch{c,          c.shape(), s.members,   point.bytes / numeric::size_of(point.type),
                              point.type, point.op,  s.in_place()};
  const sw::msccl_run run = sw::make_msccl_run(s.file.program, launch);
  const bool rings_too = c.ipcq.rings == config::buffer_kind::tcm;
  const std::uint64_t rings = rings_too ? most_rings(w) * run.ring.number * run.ring.bytes : 0;
  const std::uint64_t tcm = c.pe.tcm_kib * 1024;
  // A size that is larger than any memory is compared before laying out, so that no product can wrap.
  const std::uint64_t needed = point.bytes > tcm ? point.bytes : sw::lay_out(run.kernel, launch).end + rings;
  if (needed <= tcm) return;
  notes.push_back(
      fmt::format("the TCM of {} KiB is too small for the tensors: they are in HBM "
                  "(ccl.tensor_kind=hbm)",
                  c.pe.tcm_kib));
  c.ccl.tensors = config::tensor_kind::hbm;
}

}  // namespace

bool program_setup::in_place() const {
  return file.program.in_place || file.program.collective == comm::collective::all_reduce;
}

program_setup set_up_program(const machine_model& machine, const run_point& point) {
  program_setup s{load_msccl(point.workload), {}, nullptr, {}};
  s.members = members_of(machine.topology.population(), point.ranks.value_or(comm::rank_set::pe),
                         static_cast<std::uint64_t>(s.file.program.ranks), point.workload);
  config::machine_config c = machine.config;
  const comm::program_wiring wiring = comm::wire(s.file.program);
  wire_queue_pairs(c, wiring, s.notes);
  place_tensors(c, s, point, wiring, s.notes);
  if (!s.notes.empty()) s.machine = std::make_unique<const machine_model>(std::move(c));
  return s;
}

}  // namespace diecast::platforms
