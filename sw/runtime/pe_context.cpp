// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/pe_context.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "models/abi/firmware_defects.hpp"
#include "sw/runtime/dispatch_table.hpp"
#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/held_slots.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/queue_driver.hpp"
#include "sw/runtime/stream.hpp"
#include "sw/runtime/task_scheduler.hpp"

namespace diecast::sw {
namespace {

/// Pieces of a long message: every slot full except the last.
struct slot_cut {
  std::uint64_t bytes;
  std::uint64_t payload;  ///< bytes per full slot
  std::uint64_t done{0};

  [[nodiscard]] bool more() const { return done < bytes; }
  [[nodiscard]] std::uint32_t piece() const {
    return static_cast<std::uint32_t>(std::min(payload, bytes - done));
  }
};

}  // namespace

struct pe_context::impl {
  impl(pe_runtime& runtime, const abi::kernel_arguments& arguments, direction_map queue_pairs)
      : hal(runtime.hal()),
        args(arguments),
        options(runtime.options()),
        tasks(runtime.tasks()),
        driver(runtime.driver()),
        held(driver, tasks),
        map(std::move(queue_pairs)),
        errata(hal.errata()),
        calls(hal, errata, options.cache_monitor) {}
  impl(std::unique_ptr<pe_runtime> runtime, const abi::kernel_arguments& arguments)
      : impl(*runtime, arguments, {}) {
    own_runtime = std::move(runtime);
  }

  [[nodiscard]] comm::direction queue_pair(comm::direction dir) const;
  queue_state& queue(comm::direction dir) { return driver.queue(queue_pair(dir)); }
  queue_state& tx(comm::direction dir) { return driver.tx(queue_pair(dir)); }
  queue_state& rx(comm::direction dir) { return driver.rx(queue_pair(dir)); }

  void charge() {
    if (options.call_cycles > 0) hal.compute(options.call_cycles);
  }
  [[nodiscard]] std::uint64_t element() const { return numeric::size_of(args.type); }
  /// Type and bytes of elements in messages; other than in memory with f32_acc.
  [[nodiscard]] numeric::dtype wire() const { return wire_type.value_or(args.type); }
  [[nodiscard]] std::uint32_t on_wire(std::uint32_t bytes) const {
    return static_cast<std::uint32_t>(bytes / element() * numeric::size_of(wire()));
  }
  /// Sends the piece rounded; with `keep` it is kept rounded too.
  void put_rounded(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep);
  void widen_slot(const queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);
  [[nodiscard]] slot_cut cut(const queue_state& q, std::uint64_t bytes) const;
  [[nodiscard]] bool is_local(abi::address at) const;

  void vector_copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  void vector_reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  void fetch(abi::address slot, std::uint64_t destination, std::uint32_t bytes);
  /// Fetches the oldest message to staging and keeps it there while `use` runs with its TCM offset.
  void in_staging(const queue_state& q, std::uint32_t message_bytes,
                  const std::function<void(std::uint64_t)>& use);
  void fetch_and_reduce(const queue_state& q, std::uint64_t destination, std::uint32_t bytes);
  void put(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep = false);
  void put_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep = false);
  void check_length(const queue_state& q, std::uint32_t bytes);
  void take_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);
  void take(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how);

  [[nodiscard]] bool may_hold(const pe_context::lane& l);
  std::optional<std::uint32_t> begin_copy(queue_state& q, std::uint64_t offset, std::uint32_t bytes);
  void run_stream(pe_context& pe, const std::vector<lane>& lanes, std::string_view step_name, bool finish);
  std::uint64_t exchange_source(std::uint64_t offset);
  queue_state& receiver(comm::direction dir);
  queue_state& unpromised(comm::direction dir);
  std::uint32_t receive(queue_state& q, std::uint64_t offset);
  std::uint32_t wait_receive(const ticket& t);

  /// Receives of one direction asked for by recv_async; numbered from 0.
  struct posted_receives {
    std::uint32_t asked{};
    std::deque<std::uint64_t> open;               ///< destinations, oldest first
    std::map<std::uint32_t, std::uint32_t> done;  ///< bytes, by number; until their wait takes them
  };

  std::unique_ptr<pe_runtime> own_runtime;  ///< of a kernel alone on its PE
  abi::hal& hal;
  abi::kernel_arguments args;
  const runtime_options& options;
  task_scheduler& tasks;
  queue_driver& driver;
  held_slots held;
  direction_map map;
  std::uint64_t errata;  ///< known defects of this firmware, models/abi/firmware_defects.hpp
  dispatch_table calls;
  std::uint64_t one_call_sends{};  ///< history of the one-call send-receive: how many, and the last source
  std::uint64_t last_source{};
  bool staging_busy{};
  abi::kernel_arguments narrow_args;  ///< as they were before widen()
  std::optional<numeric::dtype> wire_type;
  std::uint64_t outbox_at{};
  std::uint64_t next_outbox{};
  std::map<comm::direction, posted_receives> posted;
};

comm::direction pe_context::impl::queue_pair(comm::direction dir) const {
  if (map.empty()) return dir;
  if (dir < map.size() && map[dir] != comm::no_direction) return map[dir];
  throw firmware_trap(hal.self(),
                      fmt::format("the kernel uses direction {}, in which its pattern has no edge "
                                  "here",
                                  comm::direction_name(dir)));
}

/// The same when some of its slots are held.
queue_state& pe_context::impl::receiver(comm::direction dir) {
  queue_state& q = unpromised(dir);
  if (held.count(q) > 0) held.finish();
  return q;
}

/// The queue pair of a receive that takes the oldest message, which must not be promised already.
queue_state& pe_context::impl::unpromised(comm::direction dir) {
  const auto at = posted.find(dir);
  if (at != posted.end() && !at->second.open.empty()) {
    throw firmware_trap(hal.self(),
                        fmt::format("receive on queue pair {} while {} of its recv_async wait for the same "
                                    "messages; expected wait() for each of them first",
                                    comm::direction_name(dir), at->second.open.size()));
  }
  return rx(dir);
}

/// Where the send half of an exchange reads its next piece. As isend, irecv and waitall each of the three is
/// a call; as one call, the sources of earlier sends are history the call keeps.
std::uint64_t pe_context::impl::exchange_source(std::uint64_t offset) {
  if (options.split_sendrecv) {
    charge();
    charge();
    return offset;
  }
  const std::uint64_t earlier = std::exchange(last_source, offset);
  const bool first = one_call_sends++ <= abi::defect::after(errata);
  if ((errata & abi::defect::sendrecv_alias) == 0) return offset;
  hal.count(abi::firmware_count::alias_chances, 1);
  if (first) return offset;
  hal.count(abi::firmware_count::aliased, 1);
  return earlier;
}

std::uint32_t pe_context::impl::receive(queue_state& q, std::uint64_t offset) {
  calls.call(entry_point::receive);
  driver.wait_message(q);
  const std::uint32_t bytes = driver.message_bytes(q);
  fetch(q.rx_slot(), offset, bytes);
  driver.release(q);
  return bytes;
}

std::uint32_t pe_context::impl::wait_receive(const ticket& t) {
  posted_receives& p = posted[t.dir];
  while (!p.done.contains(t.sequence)) {
    const auto next = static_cast<std::uint32_t>(p.asked - p.open.size());
    if (t.sequence < next || p.open.empty()) {
      throw firmware_trap(hal.self(), fmt::format("wait for receive {} of queue pair {} a second time",
                                                  t.sequence, comm::direction_name(t.dir)));
    }
    const std::uint32_t bytes = receive(rx(t.dir), p.open.front());
    p.open.pop_front();
    p.done.emplace(next, bytes);
  }
  const std::uint32_t bytes = p.done.at(t.sequence);
  p.done.erase(t.sequence);
  return bytes;
}

slot_cut pe_context::impl::cut(const queue_state& q, std::uint64_t bytes) const {
  const std::uint64_t payload = q.slot_bytes / numeric::size_of(wire()) * element();
  if (payload == 0 || bytes % element() != 0) {
    throw firmware_trap(hal.self(),
                        fmt::format("{} bytes over queue pair {} with slots of {} bytes; expected a "
                                    "multiple of the {}-byte element",
                                    bytes, comm::direction_name(q.dir), q.slot_bytes, element()));
  }
  return {bytes, payload};
}

bool pe_context::impl::is_local(abi::address at) const {
  return at >= options.tcm_base && at - options.tcm_base <= abi::max_offset;
}

void pe_context::impl::vector_copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  calls.call(entry_point::copy);
  driver.wait_sources_in(destination, bytes);
  const std::uint64_t count = bytes / element();
  if (count > 0) hal.vector({abi::vector_op::copy, args.type, destination, source, source, count});
  const std::uint64_t rest = bytes - count * element();
  if (rest == 0) return;
  std::array<std::byte, 8> word{};
  hal.load(source + bytes - rest, std::span{word}.first(rest));
  hal.store(destination + bytes - rest, std::span{word}.first(rest));
}

void pe_context::impl::vector_reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  calls.call(entry_point::reduce);
  driver.wait_sources_in(destination, bytes);
  if (bytes == 0) return;
  hal.vector({abi::vector_op_of(args.op), args.type, destination, destination, source, bytes / element()});
}

void pe_context::impl::fetch(abi::address slot, std::uint64_t destination, std::uint32_t bytes) {
  if (is_local(slot)) return vector_copy(destination, slot - options.tcm_base, bytes);
  driver.wait_sources_in(destination, bytes);
  if (bytes > 0) driver.dma_copy(slot, options.tcm_base + destination, bytes);
}

void pe_context::impl::in_staging(const queue_state& q, std::uint32_t message_bytes,
                                  const std::function<void(std::uint64_t)>& use) {
  if (args.scratch_bytes < q.slot_bytes) {
    throw firmware_trap(hal.self(),
                        fmt::format("scratch of {} bytes cannot stage a slot of {} bytes of queue "
                                    "pair {}, whose ring is outside TCM",
                                    args.scratch_bytes, q.slot_bytes, comm::direction_name(q.dir)));
  }
  while (staging_busy) tasks.block([this] { return !staging_busy; });
  staging_busy = true;
  const std::uint64_t staging = args.scratch + args.scratch_bytes - q.slot_bytes;
  driver.wait_sources_in(staging, message_bytes);
  if (message_bytes > 0) driver.dma_copy(q.rx_slot(), options.tcm_base + staging, message_bytes);
  use(staging);
  staging_busy = false;
}

void pe_context::impl::fetch_and_reduce(const queue_state& q, std::uint64_t destination,
                                        std::uint32_t bytes) {
  in_staging(q, bytes, [&](std::uint64_t staging) { vector_reduce(destination, staging, bytes); });
}

void pe_context::impl::put_rounded(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  const std::uint64_t box = outbox_at + next_outbox++ % outboxes * q.slot_bytes;
  const std::uint64_t count = bytes / element();
  driver.wait_sources_in(box, on_wire(bytes));
  hal.vector({abi::vector_op::copy, wire(), box, offset, offset, count, 1, args.type});
  if (keep) hal.vector({abi::vector_op::copy, args.type, offset, box, box, count, 1, wire()});
  driver.ring_doorbell(q, box, on_wire(bytes));
}

void pe_context::impl::widen_slot(const queue_state& q, std::uint64_t offset, std::uint32_t bytes,
                                  arrival how) {
  const auto from = [&](std::uint64_t source) {
    const abi::vector_op op = how == arrival::copy ? abi::vector_op::copy : abi::vector_op_of(args.op);
    driver.wait_sources_in(offset, bytes);
    hal.vector({op, args.type, offset, how == arrival::copy ? source : offset, source, bytes / element(), 1,
                wire()});
  };
  if (is_local(q.rx_slot())) return from(q.rx_slot() - options.tcm_base);
  in_staging(q, on_wire(bytes), from);
}

void pe_context::impl::put(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  charge();
  put_uncharged(q, offset, bytes, keep);
}

void pe_context::impl::put_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes, bool keep) {
  calls.call(entry_point::send);
  if (wire() != args.type) return put_rounded(q, offset, bytes, keep);
  driver.ring_doorbell(q, offset, bytes);
}

void pe_context::impl::take(queue_state& q, std::uint64_t offset, std::uint32_t bytes, arrival how) {
  charge();
  take_uncharged(q, offset, bytes, how);
}

void pe_context::impl::check_length(const queue_state& q, std::uint32_t bytes) {
  if (!q.oldest_known || q.oldest_bytes == on_wire(bytes)) return;
  throw firmware_trap(hal.self(), fmt::format("message of {} bytes on queue pair {}; the kernel expected {}",
                                              q.oldest_bytes, comm::direction_name(q.dir), on_wire(bytes)));
}

void pe_context::impl::take_uncharged(queue_state& q, std::uint64_t offset, std::uint32_t bytes,
                                      arrival how) {
  calls.call(entry_point::receive);
  check_length(q, bytes);
  if (wire() != args.type) {
    widen_slot(q, offset, bytes, how);
  } else if (how == arrival::copy) {
    fetch(q.rx_slot(), offset, bytes);
  } else if (is_local(q.rx_slot())) {
    vector_reduce(offset, q.rx_slot() - options.tcm_base, bytes);
  } else {
    fetch_and_reduce(q, offset, bytes);
  }
  driver.release(q);
}

// --- messages of at most one slot ---------------------------------------------------------------

pe_context::pe_context(abi::hal& hal, const abi::kernel_arguments& arguments, const runtime_options& options)
    : impl_(std::make_unique<impl>(std::make_unique<pe_runtime>(hal, options), arguments)) {}
pe_context::pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, direction_map queue_pairs)
    : impl_(std::make_unique<impl>(runtime, arguments, std::move(queue_pairs))) {}
pe_context::~pe_context() = default;

const abi::kernel_arguments& pe_context::args() const { return impl_->args; }
abi::hal& pe_context::hal() { return impl_->hal; }
std::uint32_t pe_context::slot_bytes(comm::direction dir) { return impl_->queue(dir).slot_bytes; }
std::uint32_t pe_context::n_slots(comm::direction dir) { return impl_->queue(dir).n_slots; }

void pe_context::send(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes) {
  const ticket t = isend(dir, tcm_offset, bytes);
  impl_->driver.wait_source(impl_->tx(dir), t.sequence);
}

ticket pe_context::isend(comm::direction dir, std::uint64_t tcm_offset, std::uint32_t bytes) {
  impl_->charge();
  impl_->calls.call(entry_point::send);
  queue_state& q = impl_->tx(dir);
  impl_->driver.wait_space(q);
  return {dir, impl_->driver.ring_doorbell(q, tcm_offset, bytes)};
}

std::uint32_t pe_context::wait(const ticket& t) {
  impl_->charge();
  if (t.receive) return impl_->wait_receive(t);
  impl_->driver.wait_source(impl_->tx(t.dir), t.sequence);
  return 0;
}

ticket pe_context::recv_async(comm::direction dir, std::uint64_t tcm_offset) {
  impl_->charge();
  (void)impl_->rx(dir);
  impl::posted_receives& p = impl_->posted[dir];
  p.open.push_back(tcm_offset);
  return {dir, p.asked++, true};
}

slot_view pe_context::recv(comm::direction dir) {
  impl_->charge();
  queue_state& q = impl_->receiver(dir);
  impl_->driver.wait_message(q);
  return {q.rx_slot(), impl_->driver.message_bytes(q)};
}

void pe_context::release(comm::direction dir) {
  impl_->charge();
  impl_->driver.release(impl_->rx(dir));
}

void pe_context::fetch(const slot_view& slot, std::uint64_t tcm_offset) {
  impl_->fetch(slot.at, tcm_offset, slot.bytes);
}

std::uint32_t pe_context::recv(comm::direction dir, std::uint64_t tcm_offset) {
  impl_->charge();
  return impl_->receive(impl_->receiver(dir), tcm_offset);
}

comm::direction pe_context::recv_any(const std::vector<comm::direction>& dirs) {
  if (dirs.empty()) throw firmware_trap(impl_->hal.self(), "recv_any of no direction would wait forever");
  impl_->charge();
  std::vector<comm::direction> sorted = dirs;
  std::sort(sorted.begin(), sorted.end());
  const auto first_known = [&]() -> const comm::direction* {
    for (const auto& d : sorted) {
      if (impl_->rx(d).available > 0) return &d;
    }
    return nullptr;
  };
  for (const auto d : sorted) {
    if (impl_->driver.has_message(impl_->receiver(d))) return d;
  }
  for (const auto d : sorted) impl_->driver.arm(impl_->rx(d), abi::arm_receive);
  impl_->tasks.block([&] { return first_known() != nullptr; });
  const comm::direction found = *first_known();
  for (const auto d : sorted) impl_->driver.withdraw(impl_->rx(d), abi::arm_receive);
  return found;
}

// --- longer messages ----------------------------------------------------------------------------

void pe_context::exchange(comm::direction send_dir, std::uint64_t send_offset, std::uint64_t send_bytes,
                          comm::direction recv_dir, std::uint64_t recv_offset, std::uint64_t recv_bytes,
                          arrival how) {
  if (send_bytes == 0) return recv_all(recv_dir, recv_offset, recv_bytes, how);
  if (recv_bytes == 0) return send_all(send_dir, send_offset, send_bytes);
  queue_driver& driver = impl_->driver;
  queue_state& out = impl_->tx(send_dir);
  queue_state& in = impl_->receiver(recv_dir);
  slot_cut sending = impl_->cut(out, send_bytes);
  slot_cut receiving = impl_->cut(in, recv_bytes);
  const bool same_region = send_offset == recv_offset;
  // In place, what arrives overwrites what was sent: a whole slot of it, also when slots differ in size.
  const auto may_take = [&] {
    return !same_region || !sending.more() || receiving.done + receiving.piece() <= sending.done;
  };
  while (sending.more() || receiving.more()) {
    bool moved = false;
    if (sending.more() && driver.has_space(out)) {
      // Both ends of a swap in place keep what they sent, or they would end with other sums.
      impl_->put(out, impl_->exchange_source(send_offset + sending.done), sending.piece(), same_region);
      sending.done += sending.piece();
      moved = true;
    }
    if (receiving.more() && may_take() && driver.has_message(in)) {
      impl_->take(in, recv_offset + receiving.done, receiving.piece(), how);
      receiving.done += receiving.piece();
      moved = true;
    }
    if (moved) continue;
    // Neither can go on: whichever becomes possible first must wake this PE, or a ring of exchanges
    // in which one neighbor is late on one side would stand still.
    if (sending.more()) driver.arm(out, abi::arm_send_space);
    const bool taking = receiving.more() && may_take();
    if (taking) driver.arm(in, abi::arm_receive);
    impl_->tasks.block([&] { return (sending.more() && out.free > 0) || (taking && in.available > 0); });
  }
}

namespace {

/// The segments of a trip, each asked for once.
struct trip_segments {
  const pe_context::round_trip& trip;
  std::vector<pe_context::segment> known{};

  const pe_context::segment& at(std::uint32_t k) {
    while (known.size() <= k) known.push_back(trip.segment_of(static_cast<std::uint32_t>(known.size())));
    return known[k];
  }
};

/// One of the two ends of hand_round: the segment it is at and how far it has got.
struct trip_end {
  trip_segments& segments;
  std::uint32_t at;
  std::uint32_t end;  ///< segments from here on are not of this end
  slot_cut cut;

  /// Goes on to the next segment that holds bytes when the one at hand is through.
  void advance() {
    while (at < end && !cut.more()) {
      if (++at < end) cut = {segments.at(at).bytes, cut.payload};
    }
  }
  [[nodiscard]] bool more() const { return at < end; }
  [[nodiscard]] std::uint64_t offset() const { return segments.at(at).at + cut.done; }
};

/// A slot may go on once it is here; segment 0 is here.
bool may_send(const trip_end& sending, const trip_end& receiving) {
  if (!sending.more()) return false;
  if (sending.at == 0 || !receiving.more() || sending.at < receiving.at) return true;
  return sending.at == receiving.at && sending.cut.done + sending.cut.piece() <= receiving.cut.done;
}

}  // namespace

void pe_context::hand_round(comm::direction send_dir, comm::direction recv_dir, const round_trip& trip) {
  if (trip.count < 2) return;
  queue_driver& driver = impl_->driver;
  queue_state& out = impl_->tx(send_dir);
  queue_state& in = impl_->receiver(recv_dir);
  trip_segments segments{trip};
  trip_end sending{segments, 0, trip.count - 1, impl_->cut(out, segments.at(0).bytes)};
  const auto send_one = [&] {
    impl_->put_uncharged(out, impl_->exchange_source(sending.offset()), sending.cut.piece());
    sending.cut.done += sending.cut.piece();
    const std::uint32_t before = sending.at;
    sending.advance();
    if (sending.at != before && sending.more()) trip.begins(sending.at);
  };
  sending.advance();
  if (sending.more()) trip.begins(sending.at);
  trip_end receiving{segments, 1, trip.count, impl_->cut(in, segments.at(1).bytes)};
  receiving.advance();
  const auto receive_one = [&] {
    const arrival how = receiving.at <= trip.reduced ? arrival::reduce : arrival::copy;
    impl_->take_uncharged(in, receiving.offset(), receiving.cut.piece(), how);
    if (trip.averages && receiving.at == trip.reduced) {
      finish_average(receiving.offset(), receiving.cut.piece());
    }
    receiving.cut.done += receiving.cut.piece();
    receiving.advance();
  };
  while (sending.more() || receiving.more()) {
    // What is known to be here is taken and goes on in the same pass; a register is asked only when nothing
    // else can be done.
    bool moved = false;
    const auto pass = [&](const auto& one) {
      if (!std::exchange(moved, true)) impl_->charge();
      one();
    };
    if (receiving.more() && in.available > 0) pass(receive_one);
    if (may_send(sending, receiving) && out.free > 0) pass(send_one);
    if (moved) continue;
    const bool wants_space = may_send(sending, receiving);
    if (wants_space && driver.has_space(out)) continue;
    if (receiving.more() && driver.has_message(in)) continue;
    if (wants_space) driver.arm(out, abi::arm_send_space);
    if (receiving.more()) driver.arm(in, abi::arm_receive);
    impl_->tasks.block(
        [&] { return (wants_space && out.free > 0) || (receiving.more() && in.available > 0); });
  }
}

void pe_context::lane::pass(const stage& s) {
  sent.push_back({s.offset, s.bytes, {{{static_cast<std::int32_t>(received.size())}}}});
  received.push_back(s);
}

bool pe_context::impl::may_hold(const pe_context::lane& l) {
  if (!l.overlaps || l.recv.size() != 1 || wire() != args.type) return false;
  const auto copies = [](const stage& s) { return s.how == arrival::copy; };
  return std::all_of(l.received.begin(), l.received.end(), copies) && is_local(rx(l.recv[0]).rx_base);
}

std::optional<std::uint32_t> pe_context::impl::begin_copy(queue_state& q, std::uint64_t offset,
                                                          std::uint32_t bytes) {
  calls.call(entry_point::receive);
  const abi::address slot = held.next_slot(q);
  if (held.count(q) == 0) check_length(q, bytes);
  if (!held.may_copy()) {
    vector_copy(offset, slot - options.tcm_base, bytes);
    return std::nullopt;
  }
  driver.wait_sources_in(offset, bytes);
  return held.start_copy(slot, options.tcm_base + offset, bytes);
}

void pe_context::impl::run_stream(pe_context& pe, const std::vector<lane>& lanes, std::string_view step_name,
                                  bool finish) {
  const auto is_empty = [](const auto& range) { return range.bytes == 0; };
  std::vector<stream_lane> running;
  for (const lane& l : lanes) {
    stream_lane& to = running.emplace_back();
    to.own = static_cast<std::int32_t>(running.size() - 1);
    to.sent = l.sent;
    std::vector<stage> ranges;
    for (const outgoing& o : l.sent) ranges.push_back({o.offset, o.bytes});
    // A queue pair over which nothing goes is not touched.
    const bool sends = !std::all_of(ranges.begin(), ranges.end(), is_empty);
    const bool receives = !std::all_of(l.received.begin(), l.received.end(), is_empty);
    for (std::size_t i = 0; sends && i < l.send.size(); ++i) {
      queue_state& q = tx(l.send[i]);
      to.outs.push_back({&q, stage_cursor(ranges, cut(q, 0).payload)});
    }
    const bool holds = receives && may_hold(l);
    for (std::size_t i = 0; receives && i < l.recv.size(); ++i) {
      queue_state& q = holds ? unpromised(l.recv[i]) : receiver(l.recv[i]);
      to.ins.push_back({&q, stage_cursor(l.received, cut(q, 0).payload)});
    }
    if (holds) to.begun = begun_slots{to.ins.front().at};
  }
  run_lanes({driver, tasks,
             [this](queue_state& q, const stage_cursor& at) {
               put_uncharged(q, exchange_source(at.at()), at.piece());
             },
             [this](queue_state& q, const stage_cursor& at) { take(q, at.at(), at.piece(), at.how()); },
             [this] { charge(); }, held,
             [this](queue_state& q, abi::address slot, std::uint32_t bytes) {
               put_uncharged(q, exchange_source(slot - options.tcm_base), bytes);
             },
             [this](queue_state& q, const stage_cursor& at) { return begin_copy(q, at.at(), at.piece()); },
             finish, [&](std::size_t index) { pe.step(step_name, static_cast<std::uint32_t>(index)); }},
            running);
}

void pe_context::stream(const std::vector<lane>& lanes, std::string_view step_name) {
  impl_->run_stream(*this, lanes, step_name, true);
}

void pe_context::begin_stream(const std::vector<lane>& lanes, std::string_view step_name) {
  impl_->run_stream(*this, lanes, step_name, false);
}

void pe_context::begin_copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (!impl_->held.may_copy()) return copy(destination, source, bytes);
  impl_->driver.wait_sources_in(destination, bytes);
  const abi::address tcm = impl_->options.tcm_base;
  (void)impl_->held.start_copy(tcm + source, tcm + destination, bytes);
}

void pe_context::settle() { impl_->held.finish(); }

void pe_context::send_all(comm::direction dir, std::uint64_t offset, std::uint64_t bytes) {
  send_all(std::vector{dir}, offset, bytes);
}

void pe_context::send_all(const std::vector<comm::direction>& dirs, std::uint64_t offset,
                          std::uint64_t bytes) {
  if (dirs.empty() || bytes == 0) return;
  slot_cut sending = impl_->cut(impl_->tx(dirs.front()), bytes);
  for (; sending.more(); sending.done += sending.piece()) {
    for (const auto dir : dirs) {
      queue_state& q = impl_->tx(dir);
      impl_->driver.wait_space(q);
      impl_->put(q, offset + sending.done, sending.piece());
    }
  }
}

void pe_context::recv_all(comm::direction dir, std::uint64_t offset, std::uint64_t bytes, arrival how) {
  if (bytes == 0) return;
  queue_state& q = impl_->receiver(dir);
  for (slot_cut receiving = impl_->cut(q, bytes); receiving.more(); receiving.done += receiving.piece()) {
    impl_->driver.wait_message(q);
    impl_->take(q, offset + receiving.done, receiving.piece(), how);
  }
}

void pe_context::reduce_all(const std::vector<comm::direction>& dirs, std::uint64_t offset,
                            std::uint64_t bytes) {
  if (dirs.empty() || bytes == 0) return;
  slot_cut receiving = impl_->cut(impl_->rx(dirs.front()), bytes);
  for (; receiving.more(); receiving.done += receiving.piece()) {
    for (const auto dir : dirs) {
      queue_state& q = impl_->receiver(dir);
      impl_->driver.wait_message(q);
      impl_->take(q, offset + receiving.done, receiving.piece(), arrival::reduce);
    }
  }
}

void pe_context::relay(const std::vector<comm::direction>& in, const std::vector<comm::direction>& out,
                       const segment& range, arrival how) {
  if (range.bytes == 0 || (in.empty() && out.empty())) return;
  queue_driver& driver = impl_->driver;
  slot_cut cut = impl_->cut(in.empty() ? impl_->tx(out.front()) : impl_->rx(in.front()), range.bytes);
  for (; cut.more(); cut.done += cut.piece()) {
    impl_->charge();
    for (const auto dir : in) {
      queue_state& q = impl_->receiver(dir);
      driver.wait_message(q);
      impl_->take_uncharged(q, range.at + cut.done, cut.piece(), how);
    }
    for (const auto dir : out) {
      queue_state& q = impl_->tx(dir);
      driver.wait_space(q);
      impl_->put_uncharged(q, range.at + cut.done, cut.piece());
    }
  }
}

// --- local work, tasks --------------------------------------------------------------------------

void pe_context::reduce(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_reduce(destination, source, bytes);
}

void pe_context::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  impl_->vector_copy(destination, source, bytes);
}

void pe_context::finish_average(std::uint64_t destination, std::uint64_t bytes) {
  const abi::kernel_arguments& a = impl_->args;
  if (a.op != numeric::reduction::avg || bytes == 0) return;
  impl_->driver.wait_sources_in(destination, bytes);
  impl_->hal.vector({abi::vector_op::divide_by, a.type, destination, destination, destination,
                     bytes / impl_->element(), a.ranks});
}

void pe_context::widen() {
  impl& i = *impl_;
  i.narrow_args = i.args;
  const abi::kernel_arguments& before = i.narrow_args;
  const std::uint64_t wide = before.scratch;
  const bool acc = i.options.accumulate == config::accumulation::f32_acc;
  i.outbox_at = wide + wide_vector_bytes(before.count);
  i.args.type = numeric::dtype::f32;
  i.args.input = i.args.output = wide;
  if (acc) i.wire_type = before.type;
  // The kernel's own scratch, and staging at its end, lie behind.
  const std::uint64_t used = wide_vector_bytes(before.count) + (acc ? outboxes * i.options.slot_bytes : 0);
  i.args.scratch += used;
  i.args.scratch_bytes -= used;
  if (before.count == 0) return;
  i.hal.vector({abi::vector_op::copy, numeric::dtype::f32, wide, before.input, before.input, before.count, 1,
                before.type});
}

void pe_context::narrow() {
  impl& i = *impl_;
  const std::uint64_t wide = i.args.output;
  i.args = i.narrow_args;
  i.wire_type.reset();
  if (i.args.count == 0) return;
  i.driver.wait_sources_in(i.args.output, i.args.count * i.element());
  i.hal.vector(
      {abi::vector_op::copy, i.args.type, i.args.output, wide, wide, i.args.count, 1, numeric::dtype::f32});
}

std::uint64_t pe_context::message_elements(comm::direction dir) {
  return slot_bytes(dir) / numeric::size_of(impl_->wire());
}

void pe_context::step(std::string_view name, std::uint32_t index) { impl_->hal.mark_step({name, index}); }

void pe_context::run_tasks(const std::vector<std::function<void()>>& tasks) { impl_->tasks.run(tasks); }

void pe_context::wait_until(const std::function<bool()>& ready) {
  if (ready()) return;
  if (!impl_->tasks.running()) {
    throw firmware_trap(impl_->hal.self(), "wait_until outside run_tasks: no other task can make it true");
  }
  impl_->tasks.block(ready);
}

void pe_context::finish() {
  for (const auto& [dir, receives] : impl_->posted) {
    if (receives.open.empty()) continue;
    throw firmware_trap(impl_->hal.self(),
                        fmt::format("the kernel ends with {} recv_async of queue pair {} open; expected a "
                                    "wait() for each",
                                    receives.open.size(), comm::direction_name(dir)));
  }
  impl_->held.finish();
  if (impl_->map.empty()) return impl_->driver.finish();
  for (const comm::direction queue_pair : impl_->map) {
    if (queue_pair != comm::no_direction) impl_->driver.wait_sources(queue_pair);
  }
  impl_->driver.drain();
}

}  // namespace diecast::sw
