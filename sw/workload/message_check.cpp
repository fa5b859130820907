// SPDX-License-Identifier: Apache-2.0
// Checks of the messages of a workload: that sends and receives match, that all are received and waited for.
#include <algorithm>
#include <fmt/format.h>

#include "sw/workload/message_op.hpp"

namespace diecast::sw {

bool message_op::concerns(const message_op* op) const {
  return op == this || std::ranges::find(named_, op) != named_.end();
}

void message_op::link(const op_neighbors& all, std::vector<problem>& problems) {
  const auto& ops = all.workload.ops;
  std::set<std::string> groups;
  for (const auto& [i, op] : all.of<message_op>()) {
    groups.insert(ops[i].group_name);
    if (op->sends() && ops[i].group_name == ops[index_].group_name) senders_[i] = op;
  }
  const auto at = groups.find(ops[index_].group_name);
  world_.id = static_cast<std::uint16_t>(std::distance(groups.begin(), at));
  if (!names_.empty()) link_named(all, problems);
  if (what_ == kind::waitall && names_.empty()) link_stream(all, problems);
}

void message_op::link_named(const op_neighbors& all, std::vector<problem>& problems) {
  const auto fail = [&](const char* why, const std::string& name, const char* expected) {
    problems.push_back({where_ + ".for", why, name, expected});
  };
  const comm::resolved_op& self = all.workload.ops[index_];
  for (const std::string& name : names_) {
    auto* const op = dynamic_cast<message_op*>(all.find(name));
    if (op == nullptr || !op->leaves_open() || (what_ == kind::cancel && !op->receives())) {
      fail("names no op that leaves a request open", name,
           what_ == kind::cancel ? "the id of an irecv" : "the id of an isend or irecv");
    } else if (!all.workload.before[index_][op->index_]) {
      fail("names an op that may not have run before", name,
           "the id of an op that this one is after, directly or not");
    } else if (const comm::resolved_op& other = all.workload.ops[op->index_];
               other.stream != self.stream && all.workload.streams[self.stream].stream->repeat > 1) {
      // The other stream may be in its next iteration, which uses the same memory.
      fail("names an op of another stream that repeats", name, "the id of an op of this stream");
    } else {
      named_.push_back(op);
    }
  }
}

/// Links an op to the open requests of the stream's ops that run before it; whether requests of ops that may
/// overlap with it are open depends on timing.
void message_op::link_stream(const op_neighbors& all, std::vector<problem>& problems) {
  for (const std::uint32_t i : all.workload.streams[all.workload.ops[index_].stream].ops) {
    auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || !op->leaves_open()) continue;
    if (all.workload.before[index_][i]) {
      named_.push_back(op);
    } else if (all.workload.may_overlap(i, index_)) {
      problems.push_back(
          {where_, "waits for all open requests of the stream, and another op may run at the same time",
           all.workload.ops[i].op->id, "an order between the two (after), or a list (for)"});
    }
  }
}

void message_op::check_all(const op_neighbors& all, std::vector<problem>& problems) {
  check_counts(all, problems);
  check_completions(all, problems);
  check_completed(all, problems);
}

void message_op::tally::add(const message_op& op, std::uint64_t times, bool may_be_cancelled) {
  count += times;
  if (may_be_cancelled) cancellable += times;
  if (longest == nullptr || longest->bytes_ < op.bytes_) longest = &op;
}

void message_op::tally::add(const tally& other) {
  count += other.count;
  cancellable += other.cancellable;
  if (longest == nullptr || (other.longest != nullptr && longest->bytes_ < other.longest->bytes_))
    longest = other.longest;
}

message_op::traffic_of_ranks message_op::count(const op_neighbors& all, std::optional<std::uint32_t> stream) {
  traffic_of_ranks by_rank;
  const auto& ops = all.workload.ops;
  std::set<const message_op*> cancelled;
  for (const auto& [i, op] : all.of<message_op>())
    if (op->what_ == kind::cancel) cancelled.insert(op->named_.begin(), op->named_.end());
  for (const auto& [i, op] : all.of<message_op>()) {
    if (stream && ops[i].stream != *stream) continue;
    const std::size_t ranks = op->members_.members.size();
    const std::uint64_t times = op->times_ * all.workload.streams[ops[i].stream].stream->repeat;
    const bool may_be_cancelled = cancelled.contains(op);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (!op->takes_part(rank)) continue;
      if (op->sends()) {
        traffic& t = by_rank[{ops[i].group_name, op->peer_.of(rank, ranks, false)}];
        t.sent += times;
        t.sends[{rank, op->tag_}].add(*op, times, false);
        if (t.where.empty()) t.where = op->where_;
      }
      if (!op->receives()) continue;
      traffic& t = by_rank[{ops[i].group_name, rank}];
      t.received += times;
      t.cancellable += may_be_cancelled ? times : 0;
      t.receives[{op->source_of(rank), op->receive_tag()}].add(*op, times, may_be_cancelled);
      t.where = op->where_;
    }
  }
  return by_rank;
}

void message_op::check_counts(const op_neighbors& all, std::vector<problem>& problems) {
  for (const auto& [who, t] : count(all, std::nullopt)) {
    const std::string rank =
        fmt::format("rank {} of {}", who.second, who.first.empty() ? "the stream" : who.first);
    if (!t.balanced()) {
      problems.push_back({t.where, fmt::format("{} does not receive what is sent to it", rank),
                          fmt::format("{} messages, {} receives", t.sent, t.received),
                          t.cancellable == 0
                              ? std::string{"as many of both"}
                              : fmt::format("from {} to {} messages, for {} receives may be cancelled",
                                            t.received - t.cancellable, t.received, t.cancellable)});
      continue;
    }
    // One problem of a rank brings others with it.
    if (check_sends(rank, t, problems)) (void)check_receives(rank, t, problems);
  }
}

/// Each sender's messages of a tag find as many receives that accept them, one of them long enough.
/// Necessary, and without wildcards sufficient. False after a problem.
bool message_op::check_sends(const std::string& rank, const traffic& t, std::vector<problem>& problems) {
  for (const auto& [what, sent] : t.sends) {
    tally accepting;
    for (const std::uint32_t from : {what.first, any_source}) {
      for (const std::uint64_t tag : {what.second, any_tag}) {
        const auto at = t.receives.find({from, tag});
        if (at != t.receives.end()) accepting.add(at->second);
      }
    }
    const message_op& longest = *sent.longest;
    if (accepting.count < sent.count) {
      problems.push_back(
          {longest.where_,
           fmt::format("{} does not receive what rank {} sends to it with tag {}", rank, what.first,
                       what.second),
           fmt::format("{} messages, {} receives that accept them", sent.count, accepting.count),
           "as many of both"});
      return false;
    }
    if (longest.bytes_ > accepting.longest->bytes_) {
      problems.push_back(
          {longest.where_ + ".bytes", fmt::format("is longer than every receive of {} that accepts it", rank),
           fmt::format("{}", longest.bytes_),
           fmt::format("at most {}, as {} says", accepting.longest->bytes_, accepting.longest->where_)});
      return false;
    }
  }
  return true;
}

/// The receives of each kind find as many messages they accept.
bool message_op::check_receives(const std::string& rank, const traffic& t, std::vector<problem>& problems) {
  std::map<envelope, std::uint64_t> accepted;
  for (const auto& [what, sent] : t.sends) {
    for (const std::uint32_t from : {what.first, any_source})
      for (const std::uint64_t tag : {what.second, any_tag}) accepted[{from, tag}] += sent.count;
  }
  for (const auto& [what, receives] : t.receives) {
    const std::uint64_t messages = accepted[what];
    if (receives.count - receives.cancellable <= messages) continue;
    problems.push_back(
        {receives.longest->where_,
         fmt::format("{} receives more from {} with {} than is sent to it", rank,
                     what.first == any_source ? std::string{"any rank"} : fmt::format("rank {}", what.first),
                     what.second == any_tag ? std::string{"any tag"} : fmt::format("tag {}", what.second)),
         fmt::format("{} receives, {} messages", receives.count, messages), "as many of both"});
    return false;
  }
  return true;
}

bool message_op::runs_on(pe_coord pe) const {
  const auto& members = members_.members;
  const auto at = std::ranges::find(members, pe);
  return at != members.end() && takes_part(static_cast<std::uint32_t>(at - members.begin()));
}

/// Checks that requests left open by an op on a PE are waited for there: a test may run too early and leave
/// them open. Names of no op are reported elsewhere.
void message_op::check_completed(const op_neighbors& all, std::vector<problem>& problems) {
  if (!problems.empty()) return;
  const auto& ops = all.workload.ops;
  std::map<const message_op*, std::vector<const message_op*>> waiting;
  for (const auto& [i, op] : all.of<message_op>()) {
    if (!op->waits()) continue;
    for (const message_op* const of : op->named_) waiting[of].push_back(op);
  }
  for (const auto& [i, op] : all.of<message_op>()) {
    if (!op->leaves_open()) continue;
    const auto& by = waiting[op];
    for (std::uint32_t rank = 0; rank < op->members_.members.size(); ++rank) {
      const pe_coord pe = op->members_.members[rank];
      if (!op->takes_part(rank)) continue;
      if (std::ranges::any_of(by, [pe](const message_op* c) { return c->runs_on(pe); })) continue;
      problems.push_back({op->where_, fmt::format("is never waited for by rank {}", rank), ops[i].op->id,
                          "a later wait or waitall"});
      break;
    }
  }
}

/// An op whose requests both ops complete, on a PE where both may run at the same time; null for none.
const message_op* message_op::contested(const message_op& a, const message_op& b) {
  const auto meet = [&](std::uint32_t rank) {
    return a.takes_part(rank) && b.runs_on(a.members_.members[rank]);
  };
  for (const message_op* const of : a.named_) {
    if (std::ranges::find(b.named_, of) == b.named_.end()) continue;
    for (std::uint32_t rank = 0; rank < a.members_.members.size(); ++rank)
      if (meet(rank)) return of;
  }
  return nullptr;
}

/// Refuses two ops that complete the same messages: the later one would find nothing to wait for.
void message_op::check_completions(const op_neighbors& all, std::vector<problem>& problems) {
  const auto& ops = all.workload.ops;
  std::vector<const message_op*> known;
  for (const auto& [i, op] : all.of<message_op>()) {
    if (!op->completes()) continue;
    for (const message_op* const other : known) {
      if (!all.workload.may_overlap(i, other->index_)) continue;
      const message_op* const of = contested(*op, *other);
      if (of == nullptr) continue;
      problems.push_back({op->where_,
                          fmt::format("may complete {} at the same time as {} does", ops[of->index_].op->id,
                                      ops[other->index_].op->id),
                          ops[i].op->id, "one op that completes it, or an order between the two (after)"});
    }
    known.push_back(op);
  }
}

std::string message_op::needs_others(const op_neighbors& all, std::uint32_t stream) {
  const auto& ops = all.workload.ops;
  for (const auto& [i, op] : all.of<message_op>()) {
    for (const message_op* const of : op->named_) {
      const std::uint32_t begun = ops[of->index_].stream;
      if (begun == ops[i].stream || (begun != stream && ops[i].stream != stream)) continue;
      return fmt::format("{}: completes {}, of stream {}", op->where_, ops[of->index_].op->id,
                         all.workload.streams[begun].stream->name);
    }
  }
  for (const auto& [who, t] : count(all, stream)) {
    if (t.balanced()) continue;
    return fmt::format("{}: without the other streams, rank {} of {} gets {} messages and has {} receives",
                       t.where, who.second, who.first.empty() ? "the stream" : who.first, t.sent, t.received);
  }
  return {};
}

}  // namespace diecast::sw
