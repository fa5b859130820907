// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/message_op.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/events/fingerprint.hpp"
#include "sw/host/collective.hpp"

namespace diecast::sw {
namespace {

/// Fields of a message's name: op, sender's rank, iteration, place in the op.
constexpr unsigned op_shift = 52, rank_shift = 36, iteration_shift = 16;
constexpr std::uint64_t order_bits = (std::uint64_t{1} << rank_shift) - 1;

/// Word `i` of the message with that name; the first is the name.
std::uint64_t word_of(std::uint64_t name, std::uint64_t i) { return i == 0 ? name : events::mix(name, i); }

std::vector<std::byte> content_of(std::uint64_t name, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  for (std::uint64_t at = 0; at < bytes; ++at) {
    content[at] = static_cast<std::byte>(word_of(name, at / 8) >> (8 * (at % 8)));
  }
  return content;
}

}  // namespace

std::uint32_t peer_rule::of(std::uint32_t self, std::size_t ranks, bool back) const {
  switch (what) {
    case kind::none:
    case kind::rank: return static_cast<std::uint32_t>(rank);
    case kind::any: return any_source;
    case kind::shift: {
      const std::uint64_t by = back ? ranks - rank % ranks : rank;
      return static_cast<std::uint32_t>((self + by) % ranks);
    }
    case kind::grid: {
      const std::uint64_t step_x =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(columns) + (back ? -dx : dx));
      const std::uint64_t step_y =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(rows) + (back ? -dy : dy));
      const std::uint64_t x = (self % columns + step_x) % columns;
      const std::uint64_t y = (self / columns + step_y) % rows;
      return static_cast<std::uint32_t>(y * columns + x);
    }
  }
  return 0;
}

// --- planning -------------------------------------------------------------------------------------

message_op::message_op(kind what, const op_request& r)
    : what_(what), index_(r.index), members_(r.members), where_(r.op.where) {
  const auto fail = [&r](const std::string& field, const std::string& why, const std::string& value,
                         const std::string& expected) {
    throw user_error(problem{r.op.where + field, why, value, expected});
  };
  world_.members = members_.members;
  if (r.op.has("only")) only_ = r.op.get<std::vector<std::uint64_t>>("only");
  for (const std::uint64_t rank : only_) {
    if (rank >= members_.members.size()) {
      fail(".only", "names a rank that is not in the op's group", std::to_string(rank),
           fmt::format("less than {}", members_.members.size()));
    }
  }
  if (r.op.has("for")) names_ = r.op.get<std::vector<std::string>>("for");
  if (r.op.has("tag")) {
    const comm::op_value& tag = r.op.fields.at("tag");
    tag_ = std::holds_alternative<std::string>(tag) ? any_tag : std::get<std::uint64_t>(tag);
  }
  if (r.op.has("bytes")) bytes_ = r.op.get<std::uint64_t>("bytes");
  if (r.op.has("times")) times_ = r.op.get<std::uint64_t>("times");
  if (r.op.has("mode") && r.op.get<std::string>("mode") == "synchronous") mode_ = send_mode::synchronous;
  if (sends() || receives() || what_ == kind::probe) read_peer(r);
  if (what_ == kind::sendrecv) read_source(r);
}

void message_op::read_peer(const op_request& r) {
  const unsigned given =
      (r.op.has("peer") ? 1U : 0U) + (r.op.has("shift") ? 1U : 0U) + (r.op.has("toward") ? 1U : 0U);
  const std::size_t ranks = members_.members.size();
  if (given != 1) {
    throw user_error(problem{where_, "says in one way who the peer is", fmt::format("{} ways", given),
                             "one of peer, shift, and toward with grid"});
  }
  if (r.op.has("peer")) {
    const comm::op_value& peer = r.op.fields.at("peer");
    if (std::holds_alternative<std::string>(peer)) {
      peer_.what = peer_rule::kind::any;
      return;
    }
    peer_.what = peer_rule::kind::rank;
    peer_.rank = std::get<std::uint64_t>(peer);
    if (peer_.rank >= ranks) {
      throw user_error(problem{where_ + ".peer", "is no rank of the op's group", std::to_string(peer_.rank),
                               fmt::format("less than {}", ranks)});
    }
    return;
  }
  if (r.op.has("shift")) {
    peer_.what = peer_rule::kind::shift;
    peer_.rank = r.op.get<std::uint64_t>("shift");
    return;
  }
  const auto grid =
      r.op.has("grid") ? r.op.get<std::vector<std::uint64_t>>("grid") : std::vector<std::uint64_t>{};
  if (grid.size() != 2 || grid[0] * grid[1] != ranks) {
    throw user_error(problem{
        where_ + ".grid", "does not hold the ranks of the op's group",
        grid.size() == 2 ? fmt::format("[{}, {}]", grid[0], grid[1]) : fmt::format("{} numbers", grid.size()),
        fmt::format("[columns, rows] with columns x rows = {}", ranks)});
  }
  const std::string toward = r.op.get<std::string>("toward");
  peer_.what = peer_rule::kind::grid;
  peer_.columns = grid[0];
  peer_.rows = grid[1];
  peer_.dx = toward == "east" ? 1 : toward == "west" ? -1 : 0;
  peer_.dy = toward == "south" ? 1 : toward == "north" ? -1 : 0;
}

void message_op::read_source(const op_request& r) {
  const auto word_or = [&r](const char* field, std::uint64_t any) {
    const comm::op_value& v = r.op.fields.at(field);
    return std::holds_alternative<std::string>(v) ? any : std::get<std::uint64_t>(v);
  };
  if (r.op.has("receive_tag")) receive_tag_ = word_or("receive_tag", any_tag);
  if (!r.op.has("from")) return;
  from_ = static_cast<std::uint32_t>(word_or("from", any_source));
  const std::size_t ranks = members_.members.size();
  if (*from_ == any_source || *from_ < ranks) return;
  throw user_error(problem{where_ + ".from", "is no rank of the op's group", std::to_string(*from_),
                           fmt::format("less than {}, or ANY", ranks)});
}

std::uint32_t message_op::source_of(std::uint32_t rank) const {
  return from_ ? *from_ : peer_.of(rank, members_.members.size(), true);
}

bool message_op::takes_part(std::uint32_t rank) const {
  return only_.empty() || std::find(only_.begin(), only_.end(), rank) != only_.end();
}

std::uint64_t message_op::tcm_bytes() const {
  return times_ * slot() * ((sends() ? 1U : 0U) + (receives() ? 1U : 0U));
}

bool message_op::concerns(const message_op* op) const {
  return op == this || std::find(named_.begin(), named_.end(), op) != named_.end();
}

void message_op::link(const op_neighbors& all, std::vector<problem>& problems) {
  const auto& ops = all.workload.ops;
  std::set<std::string> groups;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr) continue;
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
      fail("names an op that need not have been run", name,
           "the id of an op that this one is after, directly or not");
    } else if (const comm::resolved_op& other = all.workload.ops[op->index_];
               other.stream != self.stream && all.workload.streams[self.stream].stream->repeat > 1) {
      // Nothing keeps the other stream from its next iteration, which uses the same memory.
      fail("names an op of another stream that repeats", name, "the id of an op of this stream");
    } else {
      named_.push_back(op);
    }
  }
}

/// Those of the stream that run before this one; what may run beside it would be open or not by chance.
void message_op::link_stream(const op_neighbors& all, std::vector<problem>& problems) {
  for (const std::uint32_t i : all.workload.streams[all.workload.ops[index_].stream].ops) {
    auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || !op->leaves_open()) continue;
    if (all.workload.before[index_][i]) {
      named_.push_back(op);
    } else if (all.workload.may_overlap(i, index_)) {
      problems.push_back({where_, "waits for all that the stream has open, and an op may run beside it",
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
  if (longest == nullptr || (other.longest != nullptr && longest->bytes_ < other.longest->bytes_)) {
    longest = other.longest;
  }
}

message_op::traffic_of_ranks message_op::count(const op_neighbors& all, std::optional<std::uint32_t> stream) {
  traffic_of_ranks by_rank;
  const auto& ops = all.workload.ops;
  std::set<const message_op*> cancelled;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op != nullptr && op->what_ == kind::cancel) cancelled.insert(op->named_.begin(), op->named_.end());
  }
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || (stream && ops[i].stream != *stream)) continue;
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
    for (const std::uint32_t from : {what.first, any_source}) {
      for (const std::uint64_t tag : {what.second, any_tag}) accepted[{from, tag}] += sent.count;
    }
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
  const auto at = std::find(members.begin(), members.end(), pe);
  return at != members.end() && takes_part(static_cast<std::uint32_t>(at - members.begin()));
}

/// What an op leaves open on a PE, some op completes there. What names no op is another problem.
void message_op::check_completed(const op_neighbors& all, std::vector<problem>& problems) {
  if (!problems.empty()) return;
  const auto& ops = all.workload.ops;
  std::map<const message_op*, std::vector<const message_op*>> completing;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || !op->completes()) continue;
    for (const message_op* const of : op->named_) completing[of].push_back(op);
  }
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || !op->leaves_open()) continue;
    const auto& by = completing[op];
    for (std::uint32_t rank = 0; rank < op->members_.members.size(); ++rank) {
      const pe_coord pe = op->members_.members[rank];
      if (!op->takes_part(rank)) continue;
      if (std::any_of(by.begin(), by.end(), [pe](const message_op* c) { return c->runs_on(pe); })) continue;
      problems.push_back({op->where_, fmt::format("is never waited for by rank {}", rank), ops[i].op->id,
                          "a wait, waitall or test that it comes before"});
      break;
    }
  }
}

/// An op both complete, on a PE on which both may run at one time; null for none.
const message_op* message_op::contested(const message_op& a, const message_op& b) {
  const auto meet = [&](std::uint32_t rank) {
    return a.takes_part(rank) && b.runs_on(a.members_.members[rank]);
  };
  for (const message_op* const of : a.named_) {
    if (std::find(b.named_.begin(), b.named_.end(), of) == b.named_.end()) continue;
    for (std::uint32_t rank = 0; rank < a.members_.members.size(); ++rank) {
      if (meet(rank)) return of;
    }
  }
  return nullptr;
}

/// Of two ops that complete the same messages, the later in time would find nothing to wait for.
void message_op::check_completions(const op_neighbors& all, std::vector<problem>& problems) {
  const auto& ops = all.workload.ops;
  std::vector<const message_op*> known;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr || !op->completes()) continue;
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
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const auto* const op = dynamic_cast<message_op*>(all.at(i));
    if (op == nullptr) continue;
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

// --- running --------------------------------------------------------------------------------------

struct message_op::open_requests {
  struct entry {
    const message_op* op{};
    message_request request;
    std::uint64_t iteration{}, place{};
    bool receive{};
  };
  std::list<entry> open;  ///< until concluded; tasks keep their places while others add and remove
};

message_op::open_requests& message_op::requests_of(pe_runtime& runtime) {
  return runtime.service<open_requests>([] { return std::make_shared<open_requests>(); });
}

void message_op::post_sends(const op_context& pe) const {
  messaging& m = messaging_of(pe.runtime);
  const std::uint32_t to = peer_.of(pe.rank, members_.members.size(), false);
  for (std::uint64_t i = 0; i < times_; ++i) {
    const auto request =
        m.isend(world_, to, static_cast<std::uint32_t>(tag_), {send_area() + i * slot(), bytes_}, mode_);
    requests_of(pe.runtime).open.push_back({this, request, pe.iteration, i, false});
  }
}

void message_op::post_receives(const op_context& pe) const {
  messaging& m = messaging_of(pe.runtime);
  const std::uint32_t from = source_of(pe.rank);
  for (std::uint64_t i = 0; i < times_; ++i) {
    const auto request = m.irecv(world_, from, receive_tag(), {receive_area() + i * slot(), bytes_});
    requests_of(pe.runtime).open.push_back({this, request, pe.iteration, i, true});
  }
}

/// Completes the open requests of the ops named: all of them, or those that are complete already. A request
/// stays in the list until it is concluded: a cancel beside a wait must find it. No other op completes one of
/// them meanwhile (check_completions).
void message_op::finish_requests(const op_context& pe, bool block) const {
  messaging& m = messaging_of(pe.runtime);
  auto& open = requests_of(pe.runtime).open;
  std::vector<std::list<open_requests::entry>::iterator> mine;
  for (auto e = open.begin(); e != open.end(); ++e) {
    if (concerns(e->op) && e->iteration == pe.iteration) mine.push_back(e);
  }
  for (const auto& e : mine) {
    const std::optional<message_status> status = block ? m.wait(e->request) : m.test(e->request);
    if (!status) continue;
    if (e->receive) e->op->record(pe.hal().self(), e->iteration, e->place, *status);
    open.erase(e);
  }
}

void message_op::cancel_requests(const op_context& pe) const {
  for (const auto& e : requests_of(pe.runtime).open) {
    if (concerns(e.op) && e.iteration == pe.iteration) messaging_of(pe.runtime).cancel(e.request);
  }
}

void message_op::run(const op_context& pe) const {
  if (!takes_part(pe.rank)) return;
  messaging& m = messaging_of(pe.runtime);
  switch (what_) {
    case kind::isend: return post_sends(pe);
    case kind::irecv: return post_receives(pe);
    case kind::wait:
    case kind::waitall: return finish_requests(pe, true);
    case kind::test: return finish_requests(pe, false);
    case kind::cancel: return cancel_requests(pe);
    case kind::probe: (void)m.probe(world_, source_of(pe.rank), tag_); return;
    case kind::mprobe:
      for (std::uint64_t i = 0; i < times_; ++i) {
        const auto found = m.mprobe(world_, source_of(pe.rank), tag_);
        record(pe.hal().self(), pe.iteration, i,
               m.wait(m.imrecv(found, {receive_area() + i * slot(), bytes_})));
      }
      return;
    case kind::sendrecv:
      post_receives(pe);
      post_sends(pe);
      return finish_requests(pe, true);
  }
}

void message_op::record(pe_coord pe, std::uint64_t iteration, std::uint64_t place,
                        const message_status& s) const {
  if (data_ && !s.cancelled) unchecked_[pe].push_back({iteration, place, s});
}

// --- data -----------------------------------------------------------------------------------------

std::uint64_t message_op::identity(std::uint32_t rank, std::uint64_t iteration, std::uint64_t place) const {
  return std::uint64_t{index_} << op_shift | std::uint64_t{rank} << rank_shift |
         iteration << iteration_shift | place;
}

void message_op::prepare(const op_host& h) {
  data_ = h.data;
  if (!sends() || !h.data || !takes_part(h.rank)) return;
  for (std::uint64_t i = 0; i < times_; ++i) {
    write_tcm(h.host, members_.members[h.rank], send_area() + i * slot(),
              content_of(identity(h.rank, h.iteration, i), bytes_));
  }
}

/// What the op has completed: messages that an irecv has begun to receive are verified where they are waited
/// for.
std::optional<std::uint64_t> message_op::verify(const op_host& h) {
  const pe_coord pe = members_.members[h.rank];
  std::optional<std::uint64_t> wrong;
  const auto look_at = [&](message_op& op) {
    if (const auto n = op.check_received(h, pe)) wrong = wrong.value_or(0) + *n;
  };
  if (what_ == kind::sendrecv || what_ == kind::mprobe) look_at(*this);
  if (completes()) {
    for (message_op* const op : named_) look_at(*op);
  }
  return wrong;
}

/// Empty when nothing has been received.
std::optional<std::uint64_t> message_op::check_received(const op_host& h, pe_coord pe) {
  const std::vector<received> all = std::exchange(unchecked_[pe], {});
  if (all.empty()) return std::nullopt;
  std::uint64_t wrong = 0;
  for (const received& r : all) wrong += check_message(h, pe, r);
  return wrong;
}

/// Words that are not those of the message its first word names; one for a message that should not be here.
std::uint64_t message_op::check_message(const op_host& h, pe_coord pe, const received& r) {
  std::vector<std::byte> bytes(r.status.bytes);
  read_tcm(h.host, pe, receive_area() + r.place * slot(), bytes);
  std::uint64_t name = 0;
  for (unsigned i = 0; i < 8; ++i) name |= std::to_integer<std::uint64_t>(bytes.at(i)) << (8 * i);
  h.fingerprint.add_bytes("message", bytes);
  if (!is_right_sender(name, pe, r)) return 1;
  const std::vector<std::byte> expected = content_of(name, bytes.size());
  std::uint64_t wrong = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) wrong += bytes[at] != expected[at] ? 1U : 0U;
  return wrong;
}

bool message_op::is_right_sender(std::uint64_t name, pe_coord pe, const received& r) {
  const auto found = senders_.find(static_cast<std::uint32_t>(name >> op_shift));
  if (found == senders_.end()) return false;
  message_op& sender = *found->second;
  const std::uint32_t rank = name >> rank_shift & 0xffff;
  const std::size_t ranks = members_.members.size();
  const std::uint32_t to = sender.peer_.of(rank, ranks, false);
  if (rank != r.status.source || sender.tag_ != r.status.tag || sender.bytes_ != r.status.bytes) return false;
  if (to >= ranks || members_.members[to] != pe || !sender.seen_.insert(name).second) return false;
  // Messages of one op from one rank come in the order it sent them.
  auto& order = sender.order_[{pe, rank}];
  const auto at = order.emplace(r.status.arrival, name & order_bits).first;
  const bool after = at == order.begin() || std::prev(at)->second < at->second;
  return after && (std::next(at) == order.end() || at->second < std::next(at)->second);
}

}  // namespace diecast::sw
