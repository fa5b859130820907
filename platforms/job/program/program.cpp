// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/comm/collective.hpp"
#include "models/config/population.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/msccl_xml.hpp"
#include "platforms/config_io/workload_json.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/jobs.hpp"
#include "platforms/job/kernel_run.hpp"
#include "sw/collectives/msccl/msccl_interpreter.hpp"
#include "sw/host/collective.hpp"

namespace diecast::platforms {
namespace {

constexpr std::uint64_t most_queue_pairs = 512;  // end of the range of ipcq.queue_pairs
constexpr std::uint64_t slot_alignment_bytes = 64;

/// The machine on which a collective program runs: the program's needs replace defaults that are too small.
struct program_setup {
  msccl_file file;
  comm::group members;
  std::unique_ptr<const machine_model> machine;  ///< null: the given one has all that the program needs
  std::vector<std::string> notes;                ///< changes of the machine, with reasons
  /// Whether the output is the input's buffer. An out-of-place program may use both buffers until its end.
  [[nodiscard]] bool in_place() const {
    return file.program.in_place || file.program.collective == comm::collective::all_reduce;
  }
};

comm::group members_of(const config::population& machine, comm::rank_set set, std::uint64_t wanted,
                       const std::string& who) {
  comm::group g = comm::map_ranks(machine, set);
  if (g.members.size() < wanted)
    throw user_error(problem{who, fmt::format("needs {} ranks", wanted),
                             fmt::format("{} {}s", g.members.size(), comm::to_string(set)),
                             "a machine with enough of them, or another --ranks"});
  g.members.resize(wanted);
  return g;
}

/// Receive rings of the rank that has the most.
std::uint64_t most_rings(const comm::program_wiring& w) {
  std::ptrdiff_t most = 0;
  for (const auto& of_rank : w.queue_pairs)
    most = std::max(most, std::ranges::count_if(of_rank, [](const auto& q) { return q.rx; }));
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
  if (fitting == 0) return;  // the install plan reports this error
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

/// Reads the program of `point` and gives it as many queue pairs as it has FIFOs, receive rings that leave it
/// half of the TCM, and tensors in HBM where the TCM has no room for them. Throws user_error.
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

struct program_run final : kernel_run {
  program_run(const machine_model& given, const run_point& what, program_setup setup);
  [[nodiscard]] std::string direction_name(pe_coord pe, comm::direction d) const override;

  comm::program_wiring wiring;
};

program_run::program_run(const machine_model& given, const run_point& what, program_setup setup)
    : kernel_run(given, std::move(setup.machine), what) {
  for (const auto* const list : {&setup.file.warnings, &setup.file.notes, &setup.notes})
    notes.insert(notes.end(), list->begin(), list->end());
  const comm::program& p = setup.file.program;
  point.collective = comm::to_string(p.collective);
  point.algorithm = p.name;
  algorithm_reason = "the program of --workload";
  if (machine.config.comm.deterministic_reduction && p.collective == comm::collective::all_reduce)
    notes.emplace_back("comm.deterministic_reduction does not apply: a program has its own order of sums");
  members = std::move(setup.members);
  launch_with({}, point.bytes / numeric::size_of(point.type));
  launched_->arguments.in_place = setup.in_place();
  sw::msccl_run run = sw::make_msccl_run(p, launched_->arguments);
  launched_->kernel = std::move(run.kernel);
  wiring = std::move(run.wiring);
  notes.insert(notes.end(), run.notes.begin(), run.notes.end());
  config::machine_config rings = machine.config;
  rings.ipcq.n_slots = run.ring.number;
  rings.ipcq.slot_bytes = run.ring.bytes;
  wire(run.edges, rings);
}

std::string program_run::direction_name(pe_coord pe, comm::direction d) const {
  const auto rank = std::ranges::find(members.members, pe) - members.members.begin();
  const auto& own = wiring.queue_pairs[static_cast<std::size_t>(rank)];
  return d < own.size() ? own[d].name() : comm::direction_name(d);
}

std::vector<run_point> program_points(const app::registries& /*tables*/, const job_request& request,
                                      const config::machine_config& /*config*/) {
  for (const std::string& flag : request.run_flags)
    if (flag == "--collective")
      throw user_error(problem{flag, "cannot be combined with an MSCCL program", request.point.workload,
                               "the collective of the program (coll)"});
  refuse_isolate(request);
  refuse_teams(request);
  return request.points({""});
}

}  // namespace

job_entry program_job() {
  return {"program",
          {},
          [](const std::string& /*collective*/, const std::string& workload) {
            return !workload.empty() && is_program_file(workload);
          },
          program_points,
          [](const machine_model& machine, const app::registries& /*tables*/,
             const run_point& point) -> std::unique_ptr<prepared_run> {
            return std::make_unique<program_run>(machine, point, set_up_program(machine, point));
          }};
}

}  // namespace diecast::platforms
