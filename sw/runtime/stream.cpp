// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/stream.hpp"

#include <iterator>

namespace diecast::sw {

std::uint32_t held_slots::count(const queue_state& q) const {
  const auto at = lines_.find(q.dir);
  return at == lines_.end() ? 0 : static_cast<std::uint32_t>(at->second.slots.size());
}

std::uint32_t held_slots::uncopied(const queue_state& q) const {
  const auto at = lines_.find(q.dir);
  return at == lines_.end() ? 0 : static_cast<std::uint32_t>(at->second.slots.size()) - at->second.copied;
}

abi::address held_slots::next_slot(const queue_state& q) const {
  return q.rx_base + std::uint64_t{q.space.slot(q.space.advance(q.tail, count(q)))} * q.slot_bytes;
}

void held_slots::hold(queue_state& q, std::optional<std::uint32_t> copy, std::vector<passed_on> sends) {
  line& l = lines_[q.dir];
  l.queue = &q;
  l.slots.push_back({copy, std::move(sends)});
}

bool held_slots::may_copy() {
  while (!copies_.empty() && driver_.has_copied(copies_.front())) copies_.pop_front();
  return copies_.size() == driver_.copies_under_way();
}

std::uint32_t held_slots::start_copy(abi::address from, abi::address to, std::uint64_t bytes) {
  copies_.push_back(driver_.start_copy(from, to, bytes));
  return copies_.back();
}

void held_slots::copy(abi::address from, abi::address to, std::uint64_t bytes) {
  last_copy_ = start_copy(from, to, bytes);
}

const held_slots::passed_on* held_slots::unread(const slot& s) {
  const auto at =
      std::ranges::find_if(s.sends, [](const passed_on& p) { return !p.queue->source_was_read(p.sequence); });
  return at == s.sends.end() ? nullptr : &*at;
}

bool held_slots::return_due() {
  bool moved = false;
  for (auto at = lines_.begin(); at != lines_.end();) {
    line& l = at->second;
    for (; l.copied < l.slots.size() && has_copied(l.slots[l.copied]); ++l.copied) moved = true;
    for (; l.copied > 0 && unread(l.slots.front()) == nullptr; --l.copied) {
      driver_.release(*l.queue);
      l.slots.pop_front();
      moved = true;
    }
    at = l.slots.empty() ? lines_.erase(at) : std::next(at);
  }
  return moved;
}

std::optional<std::uint32_t> held_slots::next_copy() const {
  std::optional<std::uint32_t> first;
  for (const auto& [dir, l] : lines_) {
    if (l.copied == l.slots.size()) continue;
    const std::uint32_t job = *l.slots[l.copied].copy;
    if (!first || static_cast<std::int32_t>(job - *first) < 0) first = job;
  }
  return first;
}

void held_slots::arm_events() {
  if (const auto job = next_copy()) driver_.arm_copy(*job);
  for (auto& [dir, l] : lines_) {
    if (l.copied == 0) continue;
    const passed_on* const p = unread(l.slots.front());
    if (p == nullptr || (p->queue->armed & abi::arm_source_read) != 0) continue;
    driver_.look_at_sources(*p->queue);
    if (!p->queue->source_was_read(p->sequence)) driver_.arm(*p->queue, abi::arm_source_read);
  }
}

bool held_slots::is_due() const {
  const auto job = next_copy();
  if (job && (driver_.has_copied(*job) || !driver_.awaits_copy())) return true;
  return std::ranges::any_of(lines_, [](const auto& entry) {
    const line& l = entry.second;
    if (l.copied == 0) return false;
    const passed_on* const p = unread(l.slots.front());
    return p == nullptr || (p->queue->armed & abi::arm_source_read) == 0;
  });
}

void held_slots::finish() {
  while (!lines_.empty()) {
    if (return_due()) continue;
    arm_events();
    tasks_.block([this] { return is_due(); });
  }
  if (last_copy_) driver_.wait_copy(*last_copy_);
  last_copy_.reset();
}

bool stream_pipeline::more() const {
  const auto open = [](const auto& e) { return e.at.more(); };
  if (std::ranges::any_of(outs, open)) return true;
  return begun ? begun->next.more() : std::ranges::any_of(ins, open);
}

bool stream_pipeline::has_arrived(std::size_t stage, std::uint64_t end) const {
  return std::ranges::all_of(ins, [&](const stream_in& in) { return in.at.has_passed(stage, end); });
}

bool stream_pipeline::has_received(std::uint64_t bytes) const {
  return std::ranges::all_of(ins, [&](const stream_in& in) { return in.at.passed() >= bytes; });
}

bool stream_pipeline::may_take(std::size_t index) const {
  const stage_cursor& at = ins[index].at;
  return at.more() && (index == 0 || ins[index - 1].at.has_passed(at.index(), at.piece_end()));
}

namespace {

/// Reads the register once; without space it requests an event and does not read again until that comes.
bool has_space(queue_driver& driver, queue_state& q) {
  if (q.free > 0) return true;
  if ((q.armed & abi::arm_send_space) != 0) return false;
  if (driver.has_space(q)) return true;
  driver.arm(q, abi::arm_send_space);
  return false;
}

bool has_message(queue_driver& driver, queue_state& q) {
  if (q.available > 0) return true;
  if ((q.armed & abi::arm_receive) != 0) return false;
  if (driver.has_message(q)) return true;
  driver.arm(q, abi::arm_receive);
  return false;
}

/// The pipelines of one call.
class pipeline_runner {
 public:
  pipeline_runner(const stream_context& c, std::vector<stream_pipeline>& pipelines)
      : c_(c), pipelines_(pipelines) {}

  void run() {
    while (std::ranges::any_of(pipelines_, [](const stream_pipeline& l) { return l.more(); })) {
      const std::uint64_t seen = departures();
      bool moved = return_due();
      for (stream_pipeline& pipeline : pipelines_) moved |= turn(pipeline);
      if (c_.own != nullptr) leave();
      if (!moved) {
        c_.held.arm_events();
        c_.tasks.block([this, seen] { return any_wants(true) || c_.held.is_due() || departures() != seen; });
      } else {
        if (any_wants(false)) c_.driver.drain();  // an event may be queued for it
        if (follows()) c_.tasks.yield();          // others wait for what the kernel before has to send
      }
    }
  }

 private:
  using side = kernel_tail::side;

  /// The kernel before has not ended.
  [[nodiscard]] bool follows() const { return c_.before != nullptr && !c_.before->ended(); }
  [[nodiscard]] bool is_own(const auto& e, side s) const {
    return c_.before == nullptr || c_.before->has_left(e.queue->dir, s);
  }
  [[nodiscard]] std::uint64_t departures() const {
    return c_.before == nullptr ? 0 : c_.before->departures();
  }
  void leave(auto& e, side s) {
    if (e.left || e.at.more()) return;
    e.left = true;
    c_.own->leave(e.queue->dir, s);
  }
  /// Slots that are held still have to be given back, in order.
  void leave() {
    for (stream_pipeline& pipeline : pipelines_) {
      for (stream_out& out : pipeline.outs) leave(out, side::send);
      for (stream_in& in : pipeline.ins)
        if (c_.held.count(*in.queue) == 0) leave(in, side::receive);
    }
  }

  [[nodiscard]] bool may_send(const stream_pipeline& pipeline, const stream_out& out) const {
    if (!out.at.more() || !is_own(out, side::send)) return false;
    const pe_context::outgoing& range = out.at.range();
    return is_due(out.at) && std::ranges::all_of(range.after, [&](const pe_context::awaited& a) {
             return has_come(pipeline, a, out.at.piece_end());
           });
  }
  /// What a range of `pipeline` waits for, up to byte `end` of the range.
  [[nodiscard]] bool has_come(const stream_pipeline& pipeline, const pe_context::awaited& a,
                              std::uint64_t end) const {
    if (a.stage < 0) return true;
    const stream_pipeline& source =
        pipelines_[static_cast<std::size_t>(a.pipeline < 0 ? pipeline.own : a.pipeline)];
    return source.has_arrived(static_cast<std::size_t>(a.stage), a.at + end);
  }
  [[nodiscard]] bool may_take(const stream_pipeline& pipeline, std::size_t index) const {
    const stage_cursor& at = pipeline.ins[index].at;
    return is_own(pipeline.ins[index], side::receive) && pipeline.may_take(index) &&
           has_come(pipeline, at.range().after, at.piece_end());
  }
  [[nodiscard]] bool is_due(const send_cursor& at) const {
    const pe_context::pace& pace = at.range().not_before;
    if (pace.pipeline < 0) return true;
    const std::uint64_t share = pace.over * at.slot() / at.slots();
    return pipelines_[static_cast<std::size_t>(pace.pipeline)].has_received(pace.from + share);
  }

  /// The range was received first, and its slots were charged then.
  [[nodiscard]] static bool is_passed_on(const pe_context::outgoing& o) {
    return std::ranges::any_of(o.after, [](const pe_context::awaited& a) { return a.stage >= 0; });
  }

  void mark_up_to(std::size_t stage) {
    for (; marked_ <= stage; ++marked_) c_.mark(marked_);
  }

  bool try_send(const stream_pipeline& pipeline, stream_out& out) {
    if (!may_send(pipeline, out) || !has_space(c_.driver, *out.queue)) return false;
    mark_up_to(out.at.index());
    if (!is_passed_on(out.at.range())) c_.charge();
    c_.put(*out.queue, out.at);
    out.at.advance();
    return true;
  }

  /// After a range of one slot the pipeline sends what it can before the credit goes back: the next member
  /// waits for the bytes. Of longer ones the sender waits for the credit; other pipelines send in their turn.
  bool try_take(stream_pipeline& pipeline, std::size_t index) {
    stream_in& in = pipeline.ins[index];
    if (!may_take(pipeline, index) || !has_message(c_.driver, *in.queue)) return false;
    const bool alone = in.at.slots() == 1;
    c_.take(*in.queue, in.at);
    in.at.advance();
    for (stream_out& out : pipeline.outs)
      if (alone) (void)try_send(pipeline, out);
    c_.driver.release(*in.queue);
    return true;
  }

  /// Returns credits; what has been copied has arrived.
  bool return_due() {
    const bool moved = c_.held.return_due();
    for (stream_pipeline& pipeline : pipelines_) {
      if (!pipeline.begun) continue;
      stream_in& in = pipeline.ins.front();
      for (; pipeline.begun->open > c_.held.uncopied(*in.queue); --pipeline.begun->open) in.at.advance();
    }
    return moved;
  }

  [[nodiscard]] bool may_hold(const stream_pipeline& pipeline) const {
    return pipeline.begun->next.more() && is_own(pipeline.ins.front(), side::receive);
  }
  /// A message is here that is not held.
  [[nodiscard]] bool has_another(const queue_state& q) const { return q.available > c_.held.count(q); }

  /// has_another() that requests an event when there is none.
  bool look_for_another(queue_state& q) {
    if (has_another(q)) return true;
    if ((q.armed & abi::arm_receive) != 0) return false;
    // A held slot would raise the event of a message at once. The slot's own events come soon, and the queue
    // is checked then.
    if (c_.held.count(q) > 0) return false;
    c_.driver.look_for_messages(q);
    if (has_another(q)) return true;
    c_.driver.arm(q, abi::arm_receive);
    return false;
  }

  /// `out` forwards the slot that arrives next.
  [[nodiscard]] static bool passes_next(const stream_pipeline& pipeline, const stream_pipeline& sender,
                                        const stream_out& out) {
    const stage_cursor& next = pipeline.begun->next;
    if (!out.at.more() || out.at.at() != next.at() || out.at.piece() != next.piece()) return false;
    const pe_context::outgoing& range = out.at.range();
    const auto& waits = range.after;
    const auto is_none = [](const pe_context::awaited& a) { return a.stage < 0; };
    return range.not_before.pipeline < 0 && std::all_of(std::next(waits.begin()), waits.end(), is_none) &&
           (waits[0].pipeline < 0 ? sender.own : waits[0].pipeline) == pipeline.own &&
           waits[0].stage == static_cast<std::int32_t>(next.index()) && waits[0].at == 0;
  }

  /// Forwards the next slot from its place to all peers with space for it, starts its copy, and holds it.
  bool try_hold(stream_pipeline& pipeline) {
    stream_in& in = pipeline.ins.front();
    begun_slots& begun = *pipeline.begun;
    if (!may_hold(pipeline) || !look_for_another(*in.queue)) return false;
    if (c_.held.count(*in.queue) == 0) c_.check(*in.queue, begun.next);
    c_.charge();
    std::vector<held_slots::passed_on> sends;
    for (stream_pipeline& sender : pipelines_) {
      for (stream_out& out : sender.outs) {
        if (!is_own(out, side::send) || !passes_next(pipeline, sender, out) ||
            !has_space(c_.driver, *out.queue))
          continue;
        mark_up_to(out.at.index());
        c_.put_slot(*out.queue, c_.held.next_slot(*in.queue), out.at.piece());
        out.at.advance();
        sends.push_back({out.queue, out.queue->sent});
      }
    }
    const auto copy = c_.begin_copy(*in.queue, begun.next);
    c_.held.hold(*in.queue, copy, std::move(sends));
    begun.next.advance();
    ++begun.open;
    return_due();
    return true;
  }

  /// A slot in each direction; true when something moved.
  bool turn(stream_pipeline& pipeline) {
    bool moved = false;
    if (pipeline.begun) {
      moved = try_hold(pipeline);
      for (stream_out& out : pipeline.outs) moved |= try_send(pipeline, out);
      return moved;
    }
    for (stream_out& out : pipeline.outs) moved |= try_send(pipeline, out);
    for (std::size_t i = 0; i < pipeline.ins.size(); ++i) moved |= try_take(pipeline, i);
    return moved;
  }

  /// Whether an end of a pipeline wants a slot or a message and has it (`has`), or has not.
  [[nodiscard]] bool wants(const stream_pipeline& pipeline, bool has) const {
    const auto space = [&](const stream_out& out) {
      return may_send(pipeline, out) && (out.queue->free > 0) == has;
    };
    if (std::ranges::any_of(pipeline.outs, space)) return true;
    if (pipeline.begun) return may_hold(pipeline) && has_another(*pipeline.ins.front().queue) == has;
    for (std::size_t i = 0; i < pipeline.ins.size(); ++i)
      if (may_take(pipeline, i) && (pipeline.ins[i].queue->available > 0) == has) return true;
    return false;
  }
  [[nodiscard]] bool any_wants(bool has) const {
    return std::ranges::any_of(pipelines_, [&](const stream_pipeline& l) { return wants(l, has); });
  }

  const stream_context& c_;
  std::vector<stream_pipeline>& pipelines_;
  std::size_t marked_{};  ///< stages some pipeline has begun to send
};

}  // namespace

void run_pipelines(const stream_context& c, std::vector<stream_pipeline>& pipelines) {
  pipeline_runner(c, pipelines).run();
}

}  // namespace diecast::sw
