// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "models/comm/install_plan.hpp"
#include "platforms/job/session.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/process_group.hpp"
#include "sw/host/collective.hpp"

namespace diecast::platforms {

workload_session::workload_session(const stream_run& run, std::optional<std::uint32_t> only,
                                   std::uint64_t sips, start_agreement& agreement,
                                   std::function<void()> on_start)
    : host_side(sips, agreement),
      run_(run),
      only_(only),
      on_start_(std::move(on_start)),
      log_(*run.workload, run.point.data, [this](sip_id sip) -> abi::host_hal& { return *hosts_.at(sip); }) {}

std::vector<abi::pe_launch> workload_session::launches_of(sip_id sip, sim_time start) const {
  std::vector<abi::pe_launch> launches;
  for (const pe_coord pe : run_.members.members)
    if (pe.sip == sip) launches.push_back({pe, {0, 0, start, {}}});
  return launches;
}

void workload_session::host_program(abi::host_hal& host) {
  hosts_[host.self()] = &host;
  sw::install(host, run_.plan, run_.machine.config.ccl.install);
  sw::register_memory(host, run_.machine.config, run_.members.members);
  sw::set_errata(host, run_.machine.config, run_.members.members,
                 *abi::parse_errata(run_.machine.config.ccl.errata));
  install_ns_ = std::max(install_ns_, host.now().ns());
  run_.workload->set_up(host);
  const sim_time start = agreement_.agree([this, &host] {
    on_start_();
    ready_ = host.now();
    return ready_ + comm::worst_dispatch(run_.machine.topology, run_.machine.config, run_.members.members);
  });
  launch_ns_ = (start - ready_).ns();
  const auto launches = launches_of(host.self(), start);
  host.launch(launches);
  host.wait_for_completions(0, static_cast<std::uint32_t>(launches.size()));
  for (const abi::pe_launch& l : launches) {
    std::uint64_t end = 0;
    host.debug_read(
        abi::encode({l.pe.sip, l.pe.cube, abi::region::pe_registers, l.pe.pe.value, abi::core_end_time}),
        std::as_writable_bytes(std::span{&end, 1}));
    last_end_ = std::max(last_end_, sim_time{end} - start);
  }
  ++hosts_done_;
}

void workload_session::firmware(abi::hal& hal, const abi::launch_block&, const sw::runtime_options& options) {
  began_ = hal.now();
  run_.workload->run(hal, options, *this, only_);
}

void workload_session::started(const sw::pe_step& step, std::uint64_t iteration, sim_time at) {
  report(step, iteration, at, false);
  log_.started(step, iteration, at);
}

void workload_session::ended(const sw::pe_step& step, std::uint64_t iteration, sim_time at) {
  log_.ended(step, iteration, at);
  report(step, iteration, at, true);
}

void workload_session::report(const sw::pe_step& step, std::uint64_t iteration, sim_time at,
                              bool ended) const {
  if (!hear_op_) return;
  const comm::resolved_workload& w = run_.workload->workload();
  const comm::resolved_op& op = w.ops[step.op];
  hear_op_({op.members.members[step.rank], op.chain, w.streams[op.stream].stream->name,
            fmt::format("{} {}", op.op->id, iteration), began_ + at, ended});
}

void workload_session::join(process_group& group) {
  add_others(group, log_, [this] { return sw::workload_log(*run_.workload, run_.point.data, {}); });
  struct end {
    double install_ns{};
    sim_time last;
    bool done{};
  };
  for (const end& e : gathered(group, end{install_ns_, last_end_, finished()})) {
    install_ns_ = std::max(install_ns_, e.install_ns);
    last_end_ = std::max(last_end_, e.last);
    if (!e.done) hosts_done_ = 0;
  }
}

std::optional<double> workload_session::ops_done() const {
  const comm::resolved_workload& w = run_.workload->workload();
  std::uint64_t ended = 0, all = 0;
  for (std::uint32_t i = 0; i < w.ops.size(); ++i) {
    if (only_ && w.ops[i].stream != *only_) continue;
    all += w.streams[w.ops[i].stream].stream->repeat * run_.workload->users_of(i).size();
    for (const sw::op_record& r : log_.records(i)) ended += r.ended;
  }
  return static_cast<double>(ended) / static_cast<double>(std::max<std::uint64_t>(all, 1));
}

void workload_session::report_ops(run_outcome& o) const {
  const comm::resolved_workload& w = run_.workload->workload();
  for (std::uint32_t i = 0; i < w.ops.size(); ++i) {
    const auto& records = log_.records(i);
    for (std::uint64_t iteration = 0; iteration < records.size(); ++iteration) {
      const sw::op_record& r = records[iteration];
      op_row row;
      row.id = w.ops[i].op->id;
      row.stream = w.streams[w.ops[i].stream].stream->name;
      row.op = w.ops[i].op->kind;
      row.algorithm = run_.workload->op(i).algorithm();
      row.iteration = iteration;
      row.ranks = run_.workload->users_of(i).size();
      row.bytes = run_.workload->op(i).bytes();
      row.finished = r.ended == row.ranks;
      row.start_ns = r.start.ns();
      if (row.finished) row.end_ns = r.end.ns();
      row.wrong_elements = r.wrong;
      if (row.finished && r.wrong) row.verified = *r.wrong == 0;
      o.ops.push_back(std::move(row));
    }
  }
}

/// Verified: every op that can be is, and is right. Empty when there is none, nothing was checked, or the
/// stream has not finished.
void workload_session::report_streams(run_outcome& o) const {
  for (const comm::resolved_stream& s : run_.workload->workload().streams) {
    stream_row row;
    row.name = s.stream->name;
    row.ranks = s.members.members.size();
    row.repeat = s.stream->repeat;
    row.ops = s.ops.size();
    std::uint64_t begun = 0, ended = 0;
    for (const op_row& op : o.ops) {
      if (op.stream != row.name) continue;
      row.start_ns = begun++ == 0 ? op.start_ns : std::min(row.start_ns, op.start_ns);
      row.end_ns = std::max(row.end_ns, op.end_ns);  // an op without an end comes before any
      ended += op.finished ? 1 : 0;
      if (op.verified) row.verified = row.verified.value_or(true) && *op.verified;
    }
    row.finished = ended == row.ops * row.repeat;
    if (row.finished && row.end_ns) {
      row.time_ns = *row.end_ns - row.start_ns;
    } else {
      row.end_ns.reset();
      row.verified.reset();
    }
    o.streams.push_back(std::move(row));
  }
}

std::vector<std::pair<std::string, std::uint64_t>> workload_session::more_statistics() const {
  return log_.message_totals();
}

void workload_session::report(run_outcome& o) const {
  report_ops(o);
  report_streams(o);
  o.launch_ns = launch_ns_;
  if (!finished()) return;
  o.time_ns = o.time_min_ns = o.time_max_ns = last_end_.ns();
  if (run_.form.one_algorithm) report_bandwidth(o);
  for (const op_row& op : o.ops) {
    if (!op.wrong_elements) continue;
    o.wrong_elements = o.wrong_elements.value_or(0) + *op.wrong_elements;
  }
  if (!o.wrong_elements) return;
  o.verified = *o.wrong_elements == 0;
  o.verified_how = "every op's data, at the instant each member has ended it";
  if (*o.wrong_elements == 0) return;
  o.status = run_status::wrong;
  const auto first =
      std::ranges::find_if(o.ops, [](const op_row& op) { return op.wrong_elements.value_or(0) != 0; });
  o.message =
      fmt::format("{} elements; the first in {}, iteration {} of stream {}, with {}", *o.wrong_elements,
                  first->id, first->iteration, first->stream, *first->wrong_elements);
}

}  // namespace diecast::platforms
