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
  const auto at = std::find_if(s.sends.begin(), s.sends.end(),
                               [](const passed_on& p) { return !p.queue->source_was_read(p.sequence); });
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

void held_slots::ask() {
  if (const auto job = next_copy()) driver_.arm_copy(*job);
  for (auto& [dir, l] : lines_) {
    if (l.copied == 0) continue;
    const passed_on* const p = unread(l.slots.front());
    if (p == nullptr || (p->queue->armed & abi::arm_source_read) != 0) continue;
    driver_.look_at_sources(*p->queue);
    if (!p->queue->source_was_read(p->sequence)) driver_.arm(*p->queue, abi::arm_source_read);
  }
}

bool held_slots::stirred() const {
  const auto job = next_copy();
  if (job && (driver_.has_copied(*job) || !driver_.awaits_copy())) return true;
  return std::any_of(lines_.begin(), lines_.end(), [](const auto& entry) {
    const line& l = entry.second;
    if (l.copied == 0) return false;
    const passed_on* const p = unread(l.slots.front());
    return p == nullptr || (p->queue->armed & abi::arm_source_read) == 0;
  });
}

void held_slots::finish() {
  while (!lines_.empty()) {
    if (return_due()) continue;
    ask();
    tasks_.block([this] { return stirred(); });
  }
  if (last_copy_) driver_.wait_copy(*last_copy_);
  last_copy_.reset();
}

bool stream_lane::more() const {
  const auto open = [](const auto& e) { return e.at.more(); };
  if (std::any_of(outs.begin(), outs.end(), open)) return true;
  return begun ? begun->next.more() : std::any_of(ins.begin(), ins.end(), open);
}

bool stream_lane::has_arrived(std::size_t stage, std::uint64_t end) const {
  return std::all_of(ins.begin(), ins.end(),
                     [&](const stream_in& in) { return in.at.has_passed(stage, end); });
}

bool stream_lane::has_received(std::uint64_t bytes) const {
  return std::all_of(ins.begin(), ins.end(), [&](const stream_in& in) { return in.at.passed() >= bytes; });
}

bool stream_lane::may_take(std::size_t index) const {
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

/// The lanes of one call.
class lane_runner {
 public:
  lane_runner(const stream_context& c, std::vector<stream_lane>& lanes) : c_(c), lanes_(lanes) {}

  void run() {
    while (std::any_of(lanes_.begin(), lanes_.end(), [](const stream_lane& l) { return l.more(); })) {
      const std::uint64_t seen = departures();
      bool moved = return_due();
      for (stream_lane& lane : lanes_) moved |= turn(lane);
      if (c_.own != nullptr) leave();
      if (!moved) {
        c_.held.ask();
        c_.tasks.block([this, seen] { return any_wants(true) || c_.held.stirred() || departures() != seen; });
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
    for (stream_lane& lane : lanes_) {
      for (stream_out& out : lane.outs) leave(out, side::send);
      for (stream_in& in : lane.ins)
        if (c_.held.count(*in.queue) == 0) leave(in, side::receive);
    }
  }

  [[nodiscard]] bool may_send(const stream_lane& lane, const stream_out& out) const {
    if (!out.at.more() || !is_own(out, side::send)) return false;
    const pe_context::outgoing& range = out.at.range();
    return is_due(out.at) &&
           std::all_of(range.after.begin(), range.after.end(),
                       [&](const pe_context::awaited& a) { return has_come(lane, a, out.at.piece_end()); });
  }
  /// What a range of `lane` waits for, up to byte `end` of the range.
  [[nodiscard]] bool has_come(const stream_lane& lane, const pe_context::awaited& a,
                              std::uint64_t end) const {
    if (a.stage < 0) return true;
    const stream_lane& source = lanes_[static_cast<std::size_t>(a.lane < 0 ? lane.own : a.lane)];
    return source.has_arrived(static_cast<std::size_t>(a.stage), a.at + end);
  }
  [[nodiscard]] bool may_take(const stream_lane& lane, std::size_t index) const {
    const stage_cursor& at = lane.ins[index].at;
    return is_own(lane.ins[index], side::receive) && lane.may_take(index) &&
           has_come(lane, at.range().after, at.piece_end());
  }
  [[nodiscard]] bool is_due(const send_cursor& at) const {
    const pe_context::pace& pace = at.range().not_before;
    if (pace.lane < 0) return true;
    const std::uint64_t share = pace.over * at.slot() / at.slots();
    return lanes_[static_cast<std::size_t>(pace.lane)].has_received(pace.from + share);
  }

  /// The range was received first, and its slots were charged then.
  [[nodiscard]] static bool is_passed_on(const pe_context::outgoing& o) {
    return std::any_of(o.after.begin(), o.after.end(),
                       [](const pe_context::awaited& a) { return a.stage >= 0; });
  }

  void mark_up_to(std::size_t stage) {
    for (; marked_ <= stage; ++marked_) c_.mark(marked_);
  }

  bool try_send(const stream_lane& lane, stream_out& out) {
    if (!may_send(lane, out) || !has_space(c_.driver, *out.queue)) return false;
    mark_up_to(out.at.index());
    if (!is_passed_on(out.at.range())) c_.charge();
    c_.put(*out.queue, out.at);
    out.at.advance();
    return true;
  }

  /// After a range of one slot the lane sends what it can before the credit goes back: the next member waits
  /// for the bytes. Of longer ones the sender waits for the credit; other lanes send in their turn.
  bool try_take(stream_lane& lane, std::size_t index) {
    stream_in& in = lane.ins[index];
    if (!may_take(lane, index) || !has_message(c_.driver, *in.queue)) return false;
    const bool alone = in.at.slots() == 1;
    c_.take(*in.queue, in.at);
    in.at.advance();
    for (stream_out& out : lane.outs)
      if (alone) (void)try_send(lane, out);
    c_.driver.release(*in.queue);
    return true;
  }

  /// Returns credits; what has been copied has arrived.
  bool return_due() {
    const bool moved = c_.held.return_due();
    for (stream_lane& lane : lanes_) {
      if (!lane.begun) continue;
      stream_in& in = lane.ins.front();
      for (; lane.begun->open > c_.held.uncopied(*in.queue); --lane.begun->open) in.at.advance();
    }
    return moved;
  }

  [[nodiscard]] bool may_hold(const stream_lane& lane) const {
    return lane.begun->next.more() && is_own(lane.ins.front(), side::receive);
  }
  /// A message is here that is not held.
  [[nodiscard]] bool has_another(const queue_state& q) const { return q.available > c_.held.count(q); }

  /// has_another() that asks for an event when there is none.
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

  /// `out` sends on the very slot that comes next.
  [[nodiscard]] static bool passes_next(const stream_lane& lane, const stream_lane& sender,
                                        const stream_out& out) {
    const stage_cursor& next = lane.begun->next;
    if (!out.at.more() || out.at.at() != next.at() || out.at.piece() != next.piece()) return false;
    const pe_context::outgoing& range = out.at.range();
    const auto& waits = range.after;
    const auto is_none = [](const pe_context::awaited& a) { return a.stage < 0; };
    return range.not_before.lane < 0 && std::all_of(std::next(waits.begin()), waits.end(), is_none) &&
           (waits[0].lane < 0 ? sender.own : waits[0].lane) == lane.own &&
           waits[0].stage == static_cast<std::int32_t>(next.index()) && waits[0].at == 0;
  }

  /// Sends the next slot on from where it lies, to whom there is space for; has it copied; holds it.
  bool try_hold(stream_lane& lane) {
    stream_in& in = lane.ins.front();
    begun_slots& begun = *lane.begun;
    if (!may_hold(lane) || !look_for_another(*in.queue)) return false;
    if (c_.held.count(*in.queue) == 0) c_.check(*in.queue, begun.next);
    c_.charge();
    std::vector<held_slots::passed_on> sends;
    for (stream_lane& sender : lanes_) {
      for (stream_out& out : sender.outs) {
        if (!is_own(out, side::send) || !passes_next(lane, sender, out) || !has_space(c_.driver, *out.queue))
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
  bool turn(stream_lane& lane) {
    bool moved = false;
    if (lane.begun) {
      moved = try_hold(lane);
      for (stream_out& out : lane.outs) moved |= try_send(lane, out);
      return moved;
    }
    for (stream_out& out : lane.outs) moved |= try_send(lane, out);
    for (std::size_t i = 0; i < lane.ins.size(); ++i) moved |= try_take(lane, i);
    return moved;
  }

  /// Whether an end of a lane wants a slot or a message that it has (`has`), or has not.
  [[nodiscard]] bool wants(const stream_lane& lane, bool has) const {
    const auto space = [&](const stream_out& out) {
      return may_send(lane, out) && (out.queue->free > 0) == has;
    };
    if (std::any_of(lane.outs.begin(), lane.outs.end(), space)) return true;
    if (lane.begun) return may_hold(lane) && has_another(*lane.ins.front().queue) == has;
    for (std::size_t i = 0; i < lane.ins.size(); ++i)
      if (may_take(lane, i) && (lane.ins[i].queue->available > 0) == has) return true;
    return false;
  }
  [[nodiscard]] bool any_wants(bool has) const {
    return std::any_of(lanes_.begin(), lanes_.end(), [&](const stream_lane& l) { return wants(l, has); });
  }

  const stream_context& c_;
  std::vector<stream_lane>& lanes_;
  std::size_t marked_{};  ///< stages some lane has begun to send
};

}  // namespace

void run_lanes(const stream_context& c, std::vector<stream_lane>& lanes) { lane_runner(c, lanes).run(); }

}  // namespace diecast::sw
