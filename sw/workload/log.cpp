// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/log.hpp"

#include <algorithm>

#include "sw/runtime/messaging.hpp"

namespace diecast::sw {

workload_log::workload_log(const workload_program& program, bool data, host_of_sip hosts)
    : program_(program), data_(data), hosts_(std::move(hosts)), records_(program.workload().ops.size()) {}

op_record& workload_log::record(std::uint32_t op, std::uint64_t iteration) {
  std::vector<op_record>& all = records_.at(op);
  if (iteration >= all.size()) all.resize(iteration + 1);
  return all[iteration];
}

op_host workload_log::host_of(const pe_step& step, std::uint64_t iteration) {
  const pe_coord pe = program_.workload().ops[step.op].members.members[step.rank];
  return {hosts_(pe.sip), step.rank, iteration, step.hbm, data_, fingerprint_};
}

void workload_log::started(const pe_step& step, std::uint64_t iteration, sim_time at) {
  op_record& r = record(step.op, iteration);
  r.start = std::min(r.start, at);
  ++r.started;
  program_.op(step.op).prepare(host_of(step, iteration));
}

void workload_log::ended(const pe_step& step, std::uint64_t iteration, sim_time at) {
  op_record& r = record(step.op, iteration);
  r.end = std::max(r.end, at);
  ++r.ended;
  if (!data_) return;
  if (const auto wrong = program_.op(step.op).verify(host_of(step, iteration)))
    r.wrong = r.wrong.value_or(0) + *wrong;
}

void workload_log::add(const workload_log& other) {
  fingerprint_.add_sum(other.fingerprint_.sum());
  for (const auto& [name, count] : other.message_totals_) {
    const auto known =
        std::ranges::find_if(message_totals_, [&n = name](const auto& t) { return t.first == n; });
    if (known == message_totals_.end()) {
      message_totals_.emplace_back(name, count);
    } else {
      known->second += count;
    }
  }
  for (std::uint32_t op = 0; op < records_.size(); ++op) {
    for (std::size_t i = 0; i < other.records_[op].size(); ++i) {
      const op_record& more = other.records_[op][i];
      op_record& r = record(op, i);
      r.start = std::min(r.start, more.start);
      r.end = std::max(r.end, more.end);
      r.started += more.started;
      r.ended += more.ended;
      if (more.wrong) r.wrong = r.wrong.value_or(0) + *more.wrong;
    }
  }
}

void workload_log::messages(const message_counts& counts) {
  const auto rows = counts.rows();
  if (message_totals_.empty())
    message_totals_.assign(rows.begin(), rows.end());
  else {
    for (std::size_t i = 0; i < rows.size(); ++i) message_totals_[i].second += rows[i].second;
  }
}

}  // namespace diecast::sw
