// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/step_recorder.hpp"

#include <fmt/format.h>

#include "models/abi/firmware_tasks.hpp"
#include "platforms/files/output_dir.hpp"

namespace diecast::observe {

using platforms::step_row;

step_recorder::step_recorder(const platforms::run_names& run) : shape_(run.config.shape()) {
  const auto& members = run.members;
  for (std::uint32_t r = 0; r < members.size(); ++r) rank_of_[shape_.pe_index(members[r])] = r;
  rows_.resize(members.size());
  received_.resize(members.size());
  barriers_.resize(members.size());
}

void step_recorder::next_launch() {
  if (launched_) ++launch_;
  launched_ = true;
  for (std::uint32_t r = 0; r < rows_.size(); ++r) {
    step_row& row = rows_[r].emplace_back();
    row.launch = launch_;
    row.rank = r;
    received_[r].clear();
    barriers_[r].clear();
  }
}

step_row* step_recorder::present(pe_coord pe) {
  const auto rank = rank_of_.find(shape_.pe_index(pe));
  if (rank == rank_of_.end() || rows_[rank->second].empty()) return nullptr;
  return &rows_[rank->second].back();
}

void step_recorder::on(const events::step_entered& e) {
  const step_row* const before = present(e.pe);
  if (before == nullptr) return;
  step_row row;
  row.launch = before->launch;
  row.rank = before->rank;
  row.number = before->number + 1;
  row.step = abi::step_text(e.name, e.index);
  row.start_fs = e.at.fs;
  rows_[row.rank].push_back(std::move(row));
}

void step_recorder::on(const events::message_event& e) {
  step_row* const row = present(e.pe);
  if (row == nullptr) return;
  if (e.phase == events::message_phase::sent) {
    ++row->sends;
    row->sent_bytes += e.bytes;
  } else if (e.phase == events::message_phase::visible) {
    ++row->receives;
    row->received_bytes += e.bytes;
    row->last_fs = e.at.fs;
  }
}

/// A content's hash includes its flow and its position in the flow, so that later launches can also be
/// compared.
void step_recorder::on(const events::message_content& e) {
  step_row* const row = present(e.pe);
  if (row == nullptr) return;
  const std::uint64_t flow =
      std::uint64_t{shape_.pe_index(e.fields.source)} << 16 | e.fields.source_direction;
  const std::uint64_t number = received_[row->rank][flow]++;
  row->contents += events::mix(events::mix(flow, number), e.digest);
}

/// Tag-matched messages and barriers are counted at their end; their hash includes peer, tag and group, so
/// that a run that matched another message, or entered another barrier, differs.
void step_recorder::on(const events::operation_changed& e) {
  const abi::operation_note& n = e.note;
  if (n.phase != abi::operation_phase::completed) return;
  step_row* const row = present(e.pe);
  if (row == nullptr) return;
  const std::uint64_t peer = n.peer ? std::uint64_t{shape_.pe_index(*n.peer)} + 1 : 0;
  const std::uint64_t group = std::uint64_t{n.group} << 8 | static_cast<std::uint64_t>(n.kind);
  switch (n.kind) {
    case abi::operation_kind::send:
      ++row->sends;
      row->sent_bytes += n.bytes;
      return;
    case abi::operation_kind::receive:
      ++row->receives;
      row->received_bytes += n.bytes;
      row->last_fs = e.at.fs;
      // Hashes the request's number, too: two messages of one sender in exchanged order differ.
      row->contents += events::mix(events::mix(events::mix(group, peer), n.tag.value_or(0)), n.id);
      return;
    case abi::operation_kind::barrier:
      ++row->barriers;  // n.count is not reset between launches
      row->contents += events::mix(group, ++barriers_[row->rank][group]);
      return;
    default: return;
  }
}

void step_recorder::result(std::uint32_t rank, std::uint64_t digest) {
  if (rows_[rank].empty()) return;
  rows_[rank].back().result = digest;
}

std::vector<step_row> step_recorder::rows() const {
  std::vector<step_row> all;
  for (const auto& of_rank : rows_) all.insert(all.end(), of_rank.begin(), of_rank.end());
  platforms::sort(all);
  return all;
}

ccl_trace::ccl_trace(const platforms::run_names& run, std::FILE* to) : run_(run), to_(to) {
  for (std::size_t r = 0; r < run.members.size(); ++r) ranks_.emplace(run.members[r], r);
}

void ccl_trace::on(const events::message_event& e) {
  const auto line = [&](const char* what, const std::string& bytes) {
    platforms::print_to(to_, fmt::format("ccl rank {} at {:.3f} ns: {} {}{} seq {}\n", ranks_.at(e.pe),
                                         e.at.ns(), what, run_.direction(e.pe, e.qp), bytes, e.sequence));
  };
  const std::string bytes = fmt::format(" {} bytes", e.bytes);
  switch (e.phase) {
    case events::message_phase::sent: return line("send", bytes);
    case events::message_phase::visible: return line("recv", bytes);
    case events::message_phase::credited: return line("credit", "");
    case events::message_phase::released: return;  // the event of its credit follows
  }
}

}  // namespace diecast::observe
