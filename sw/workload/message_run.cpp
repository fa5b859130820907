// SPDX-License-Identifier: Apache-2.0
// Message ops on the machine: posting, waiting, and comparing received with sent bytes.
#include <iterator>
#include <list>
#include <utility>

#include "models/events/events.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/message_op.hpp"

namespace diecast::sw {
namespace {

/// Fields of a message's name: op, sender's rank, iteration, place in the op.
constexpr unsigned op_shift = 52, rank_shift = 36, iteration_shift = 16;
constexpr std::uint64_t rank_bits = (std::uint64_t{1} << (op_shift - rank_shift)) - 1;
constexpr std::uint64_t order_bits = (std::uint64_t{1} << rank_shift) - 1;
static_assert(comm::max_workload_ops <= std::uint64_t{1} << (64 - op_shift));
static_assert(comm::max_message_ranks <= rank_bits + 1);
static_assert(comm::max_workload_repeats <= std::uint64_t{1} << (rank_shift - iteration_shift));
static_assert(comm::max_op_messages <= std::uint64_t{1} << iteration_shift);

/// Word `i` of the message with that name; the first is the name.
std::uint64_t word_of(std::uint64_t name, std::uint64_t i) { return i == 0 ? name : events::mix(name, i); }

std::vector<std::byte> content_of(std::uint64_t name, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  for (std::uint64_t at = 0; at < bytes; ++at)
    content[at] = static_cast<std::byte>(word_of(name, at / 8) >> (8 * (at % 8)));
  return content;
}

}  // namespace

struct message_op::open_requests {
  struct entry {
    const message_op* op{};
    message_request request;
    std::uint64_t iteration{}, place{};
    bool receive{};
  };
  std::list<entry> open;  ///< not concluded; tasks hold references while others add and remove
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
  for (auto e = open.begin(); e != open.end(); ++e)
    if (concerns(e->op) && e->iteration == pe.iteration) mine.push_back(e);
  for (const auto& e : mine) {
    const std::optional<message_status> status = block ? m.wait(e->request) : m.test(e->request);
    if (!status) continue;
    if (e->receive) e->op->record(pe.hal().self(), e->iteration, e->place, *status);
    open.erase(e);
  }
}

/// One call after the other, because each uses the firmware's pages alone.
void message_op::send_and_receive(const op_context& pe) const {
  const std::uint32_t to = peer_.of(pe.rank, members_.members.size(), false), from = source_of(pe.rank);
  for (std::uint64_t i = 0; i < times_; ++i) {
    record(pe.hal().self(), pe.iteration, i,
           messaging_of(pe.runtime)
               .sendrecv(world_, to, static_cast<std::uint32_t>(tag_), {send_area() + i * slot(), bytes_},
                         from, receive_tag(), {receive_area() + i * slot(), bytes_}, mode_));
  }
}

void message_op::cancel_requests(const op_context& pe) const {
  for (const auto& e : requests_of(pe.runtime).open)
    if (concerns(e.op) && e.iteration == pe.iteration) messaging_of(pe.runtime).cancel(e.request);
}

void message_op::run(const op_context& pe) const {
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
      if (m.has_pages()) return send_and_receive(pe);
      post_receives(pe);
      post_sends(pe);
      return finish_requests(pe, true);
  }
}

void message_op::record(pe_coord pe, std::uint64_t iteration, std::uint64_t place,
                        const message_status& s) const {
  if (data_ && !s.cancelled) unchecked_[pe].push_back({iteration, place, s});
}

std::uint64_t message_op::identity(std::uint32_t rank, std::uint64_t iteration, std::uint64_t place) const {
  return std::uint64_t{index_} << op_shift | std::uint64_t{rank} << rank_shift |
         iteration << iteration_shift | place;
}

void message_op::prepare(const op_host& h) {
  data_ = h.data;
  if (!sends() || !h.data) return;
  for (std::uint64_t i = 0; i < times_; ++i) {
    write_tcm(h.host, members_.members[h.rank], send_area() + i * slot(),
              content_of(identity(h.rank, h.iteration, i), bytes_));
  }
}

/// Verifies the messages that the op has completed; those of an irecv are verified where they are waited for.
std::optional<std::uint64_t> message_op::verify(const op_host& h) {
  const pe_coord pe = members_.members[h.rank];
  std::optional<std::uint64_t> wrong;
  const auto look_at = [&](message_op& op) {
    if (const auto n = op.check_received(h, pe)) wrong = wrong.value_or(0) + *n;
  };
  if (what_ == kind::sendrecv || what_ == kind::mprobe) look_at(*this);
  if (completes())
    for (message_op* const op : named_) look_at(*op);
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

/// Number of words that differ from the message named by the first word; 1 for a message that is not
/// expected.
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
  const std::uint32_t rank = name >> rank_shift & rank_bits;
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
