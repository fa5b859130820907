// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fmt/format.h>

#include "models/types/error.hpp"
#include "platforms/config_io/workload_json.hpp"
#include "platforms/files/input.hpp"
#include "platforms/job/algorithms.hpp"
#include "platforms/job/jobs.hpp"
#include "platforms/job/signal_judge.hpp"
#include "platforms/job/stream_run.hpp"
#include "platforms/run/simulate.hpp"

namespace diecast::platforms {
namespace {

class workload_judge final : public signal_judge {
 public:
  workload_judge(const stream_run& run, events::hub& events)
      : signal_judge(run, events), workload_(*run.workload) {
    for (std::uint32_t i = 0; i < workload_.workload().ops.size(); ++i)
      if (const auto barriers = workload_.op(i).barriers())
        checker_.expect(workload_.workload().ops[i].op->id, barriers->members, barriers->ranks);
  }

 private:
  /// Without data the other ops of a stream are not verified, so barriers alone only prove a run wrong.
  [[nodiscard]] bool judges(bool good) const { return run_.point.data || !good; }

  /// An op is right when the checker has seen every member enter and leave each of its barriers, and none
  /// leave early. Returns the problem of the first op that is not right; empty when all are.
  [[nodiscard]] std::string judge_ops(run_outcome& o) const {
    const sw::workload_program& w = workload_;
    std::string first_wrong;
    std::size_t row = 0;
    for (std::uint32_t i = 0; i < w.workload().ops.size(); ++i) {
      const std::string& id = w.workload().ops[i].op->id;
      const auto barriers = w.op(i).barriers();
      for (; row < o.ops.size() && o.ops[row].id == id; ++row) {
        op_row& r = o.ops[row];
        if (!barriers) continue;
        const auto first = static_cast<std::uint32_t>(r.iteration * barriers->times);
        const auto seen = checker_.of(id, first, barriers->times);
        const std::uint64_t calls = std::uint64_t{barriers->times} * barriers->members.size();
        r.wrong_elements = seen.escapes;
        const std::string wrong = analysis::barrier_checker::complaint(id, seen, calls);
        const bool good = wrong.empty();
        if (r.finished) r.verified = good;
        if (first_wrong.empty()) first_wrong = wrong;
        for (stream_row& stream : o.streams)
          if (stream.name == r.stream && stream.finished && judges(good))
            stream.verified = stream.verified.value_or(true) && good;
      }
    }
    return first_wrong;
  }

  void judge_barriers(const host_side& s, const barrier_counts& sum, run_outcome& o) const override {
    const std::string wrong = judge_ops(o);
    const bool good = wrong.empty();
    // A run that has not ended has verified nothing, but an escape still counts.
    if (s.finished() || checker_.escapes() > 0)
      o.wrong_elements = o.wrong_elements.value_or(0) + checker_.escapes();
    if (s.finished() && judges(good)) {
      o.verified = o.verified.value_or(true) && good;
      if (!*o.verified && o.status == run_status::ok) o.status = run_status::wrong;
      if (!good && o.message.empty() && checker_.escapes() == 0) o.message = wrong;
    }
    report_escapes(o);
    if (o.verified && !o.verified_how.empty()) o.verified_how += "; ";
    if (o.verified)
      o.verified_how += "every PE entered and left every barrier, none before all members had entered it";
    const auto add = [&o](const char* name, std::uint64_t value) {
      o.stats.emplace_back(name, static_cast<double>(value));
    };
    add("pe_barriers", sum.of(abi::firmware_count::barriers));
    for (const barrier_counter& c : barrier_counters()) add(c.name, c.of(sum));
    add("barrier_escapes", checker_.escapes());
    add("barrier_escapes_ranks", checker_.escaped_ranks());
  }

  const sw::workload_program& workload_;
};

struct workload_run final : stream_run {
  workload_run(const machine_model& given, const app::registries& tables, const run_point& what);
  [[nodiscard]] std::unique_ptr<judge> watch(events::hub& events) const override {
    return uses_signals ? std::make_unique<workload_judge>(*this, events) : nullptr;
  }
  /// Measures how much streams delay each other: runs every stream alone, with its queue pairs and memory of
  /// the whole run. Fills isolated_ns and slowdown of the outcome's streams; or, for a stream that needs the
  /// others (messages between them) or deadlocks without them, not_isolated. An outcome that has not finished
  /// stays as it is. A stream that is wrong or fails in another way alone gives the outcome its status and
  /// message.
  void run_more(const simulator& simulate, run_outcome& o) const override;
};

workload_run::workload_run(const machine_model& given, const app::registries& tables, const run_point& what)
    : stream_run(given, nullptr, what) {
  std::vector<comm::op_schema> kinds;
  for (const sw::op_kind& k : tables.ops) kinds.push_back(k.schema);
  file = load_workload(point.workload, kinds);
  load_streams(tables);
  refuse_messages(machine.config, {"--workload", "workloads of streams are", point.workload});
  point.collective = "workload";
  point.algorithm = std::filesystem::path(point.workload).stem().string();
  algorithm_reason = "the streams of --workload";
  point.bytes = 0;
  for (std::uint32_t i = 0; i < workload->workload().ops.size(); ++i) {
    const comm::resolved_op& op = workload->workload().ops[i];
    point.bytes += workload->op(i).bytes() * workload->workload().streams[op.stream].stream->repeat;
    const std::string reason = workload->op(i).reason();
    if (!reason.empty()) notes.push_back(fmt::format("{}: {}", op.op->id, reason));
  }
  complete();
}

void workload_run::run_more(const simulator& simulate, run_outcome& o) const {
  if (!point.isolate) return;
  if (o.status != run_status::ok && o.status != run_status::wrong) return;
  for (std::uint32_t i = 0; i < o.streams.size(); ++i) {
    stream_row& stream = o.streams[i];
    stream.not_isolated = workload->needs_others(i);
    if (!stream.not_isolated.empty()) continue;
    const run_outcome alone = simulate(*this, i, 0);
    o.wall_s += alone.wall_s;
    if (alone.status == run_status::deadlock || alone.status == run_status::limit) {
      // Equal numbers may include messages of another stream; the run of all streams has shown no fault.
      stream.not_isolated =
          fmt::format("{} {}", to_string(alone.status), alone.message.substr(0, alone.message.find('\n')));
      continue;
    }
    if (alone.status != run_status::ok || i >= alone.streams.size()) {
      o.status = alone.status == run_status::ok ? run_status::internal : alone.status;
      o.message = fmt::format("stream {} alone: {}", stream.name, alone.message);
      return;
    }
    stream.isolated_ns = alone.streams[i].time_ns;
    if (stream.time_ns && stream.isolated_ns.value_or(0) > 0)
      stream.slowdown = *stream.time_ns / *stream.isolated_ns;
  }
}

/// One point: the file determines the ops, their repetitions and ranks.
std::vector<run_point> workload_points(const app::registries& /*tables*/, const job_request& request,
                                       const config::machine_config& /*config*/) {
  std::vector<problem> problems;
  const bool readable =
      read_input("--workload", request.point.workload).failure.empty();  // prepare() reports a failure
  for (const std::string& flag : request.run_flags) {
    if (flag == "--no-data" || !readable) continue;  // a flag that applies to every op
    problems.push_back({flag, "cannot be combined with a --workload of streams", request.point.workload,
                        "fields of the ops in the file"});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return request.points({""});
}

}  // namespace

job_entry workload_job() {
  return {"workload",
          {.one_algorithm = false},
          [](const std::string& /*collective*/, const std::string& workload) { return !workload.empty(); },
          workload_points,
          [](const machine_model& machine, const app::registries& tables,
             const run_point& point) -> std::unique_ptr<prepared_run> {
            return std::make_unique<workload_run>(machine, tables, point);
          }};
}

}  // namespace diecast::platforms
