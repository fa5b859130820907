// SPDX-License-Identifier: Apache-2.0
// A PE's part of a workload: a task per chain, and flags in its own memory for ops that have ended.
#include <algorithm>

#include "sw/runtime/messaging.hpp"
#include "sw/workload/program.hpp"

namespace diecast::sw {
namespace {

class pe_run {
 public:
  pe_run(const workload_program& w, const pe_program& program, abi::hal& hal, const runtime_options& options,
         op_observer& observer, std::optional<std::uint32_t> only)
      : workload_(w),
        program_(program),
        start_(hal.now()),
        runtime_(hal, options),
        observer_(observer),
        only_(only),
        passing_(program.others),
        others_(w.workload().ops.size()),
        ended_(w.workload().ops.size()),
        ended_in_stream_(w.workload().streams.size()) {
    for (const std::uint32_t op : program.others) others_[op] = true;
  }

  void run() {
    // A PE answers its peers' messages from the start, whatever its own ops are.
    if (workload_.install().messages) (void)messaging_of(runtime_);
    runtime_.begin();
    pass_over();
    std::vector<std::function<void()>> tasks;
    for (const pe_chain& s : program_.chains)
      if (!only_ || *only_ == s.stream) tasks.emplace_back([this, &s] { run_chain(s); });
    runtime_.tasks().run(tasks);
    if (workload_.install().messages) {
      messaging_of(runtime_).finish();
      observer_.messages(messaging_of(runtime_).counts());
    }
  }

 private:
  void run_chain(const pe_chain& s) {
    const std::uint64_t repeat = workload_.workload().streams[s.stream].stream->repeat;
    for (std::uint64_t iteration = 0; iteration < repeat; ++iteration) {
      for (const pe_step& step : s.steps) {
        const auto ready = [this, &step, iteration] { return may_start(step.op, iteration); };
        if (!ready()) runtime_.tasks().block(ready);
        run_step(step, iteration);
        end(step.op);
        pass_over();
      }
    }
  }

  /// Counts the end of an op; pass_over() then checks the ops that waited for it or for its iteration.
  void end(std::uint32_t op) {
    const comm::resolved_op& r = workload_.workload().ops[op];
    const auto& stream = workload_.workload().streams[r.stream].ops;
    ++ended_[op];
    passing_.insert(passing_.end(), r.followers.begin(), r.followers.end());
    if (++ended_in_stream_[r.stream] % stream.size() == 0)
      passing_.insert(passing_.end(), stream.begin(), stream.end());
  }

  /// Ends ops without a part of this PE when all that they wait for has ended here. Takes no time.
  void pass_over() {
    const auto& resolved = workload_.workload();
    while (!passing_.empty()) {
      const std::uint32_t op = passing_.back();
      passing_.pop_back();
      const std::uint64_t repeat = resolved.streams[resolved.ops[op].stream].stream->repeat;
      if (others_[op] && ended_[op] < repeat && may_start(op, ended_[op])) end(op);
    }
  }

  [[nodiscard]] bool may_start(std::uint32_t op, std::uint64_t iteration) const {
    const auto& resolved = workload_.workload();
    const comm::resolved_op& r = resolved.ops[op];
    if (ended_in_stream_[r.stream] < iteration * resolved.streams[r.stream].ops.size()) return false;
    return std::ranges::all_of(r.after, [&](std::uint32_t a) {
      return ended_[a] > iteration || (only_ && resolved.ops[a].stream != *only_);
    });
  }

  void run_step(const pe_step& step, std::uint64_t iteration) {
    abi::hal& hal = runtime_.hal();
    hal.mark_step({workload_.workload().ops[step.op].op->id, static_cast<std::uint32_t>(iteration)});
    observer_.started(step, iteration, hal.now() - start_);
    workload_.op(step.op).run(
        {runtime_, step.rank, iteration, program_.directions[step.directions], step.hbm});
    observer_.ended(step, iteration, hal.now() - start_);
  }

  const workload_program& workload_;
  const pe_program& program_;
  sim_time start_;
  pe_runtime runtime_;
  op_observer& observer_;
  std::optional<std::uint32_t> only_;
  std::vector<std::uint32_t> passing_;          ///< ops that pass_over() looks at
  std::vector<bool> others_;                    ///< by op: one of pe_program::others
  std::vector<std::uint64_t> ended_;            ///< iterations of each op that have ended on this PE
  std::vector<std::uint64_t> ended_in_stream_;  ///< ops that have, over all iterations
};

}  // namespace

const pe_program* workload_program::program_of(pe_coord pe) const {
  const auto found = programs_.find(pe);
  return found == programs_.end() ? nullptr : &found->second;
}

std::vector<pe_coord> workload_program::users_of(std::uint32_t op) const {
  const auto& members = resolved_.ops.at(op).members.members;
  std::vector<pe_coord> users;
  for (std::uint32_t rank = 0; rank < members.size(); ++rank)
    if (ops_[op]->takes_part(rank)) users.push_back(members[rank]);
  return users;
}

std::string workload_program::direction_name(pe_coord pe, comm::direction queue_pair) const {
  const auto found = names_.find({pe, queue_pair});
  return found == names_.end() ? comm::direction_name(queue_pair) : found->second;
}

bool workload_program::uses_signals() const {
  return std::ranges::any_of(ops_, [](const auto& op) { return op->uses_signals(); });
}

void workload_program::set_up(abi::host_hal& host) const {
  for (const auto& op : ops_) op->set_up(host);
}

void workload_program::run(abi::hal& hal, const runtime_options& options, op_observer& observer,
                           std::optional<std::uint32_t> only) const {
  const pe_program* const program = program_of(hal.self());
  if (program != nullptr) pe_run(*this, *program, hal, options, observer, only).run();
}

}  // namespace diecast::sw
