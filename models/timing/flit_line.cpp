// SPDX-License-Identifier: Apache-2.0
#include "models/timing/flit_line.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace diecast::timing {
namespace {

/// Sequence numbers are distinct modulo this many while they are in the retry buffer.
std::uint32_t ack_places(const line_parameters& p) {
  return p.timing.framed() ? std::bit_ceil(std::max(p.retry_frames, 1U)) : 1;
}

}  // namespace

bit_errors::bit_errors(double ber, const random::stream& source)
    : log_clean_(std::log1p(-ber)), draws_(source), clean_(gap()) {}

void bit_errors::script(std::uint64_t clean_bits, std::uint64_t hits) {
  if (hits == 0) return;
  clean_ = clean_bits;
  scripted_ = hits - 1;
  due_ = hits;
}

/// Geometric: the number of failures before the first success, by inversion.
std::uint64_t bit_errors::gap() {
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  if (scripted_ > 0) {
    --scripted_;
    return 0;
  }
  if (log_clean_ == 0.0) return never;
  const double uniform = (static_cast<double>(draws_.next() >> 11) + 1.0) * 0x1p-53;  // (0, 1]
  const double skipped = std::floor(std::log(uniform) / log_clean_);
  return skipped < 0x1p63 ? static_cast<std::uint64_t>(skipped) : never;
}

flit_line::flit_line(const line_parameters& p, const random::stream& errors)
    : timing_(p.timing),
      frame_(p.timing.framed() ? p.timing.frame_time(1) : sim_time{}),
      frame_bits_(p.timing.frame_wire_bytes * 8),
      go_back_(p.timing.framed() ? go_back_frames(p.timing) : 0),
      retry_frames_(p.retry_frames),
      errors_(p.timing.framed() ? p.ber : 0.0, errors),
      sender_(p.timing.framed() ? p.retry_frames : 1, 2 * ack_places(p)),
      receiver_(2 * ack_places(p)),
      acked_(ack_places(p)) {
  errors_.script(p.hit_after * frame_bits_, p.timing.framed() ? p.hits : 0);
}

sim_time flit_line::earliest(unsigned c, sim_time at) const {
  if (at >= idle_from_) return at;
  const std::uint64_t slot = slot_at(at);
  if (slot > backlog_) return idle_from_;
  const std::uint64_t first = link_.earliest(c, slot);
  // After the last granted slot the stream continues only without a gap.
  return first > backlog_ ? idle_from_ : std::max(at, slot_start(first));
}

flit_line::transfer flit_line::send(unsigned c, sim_time now, std::uint32_t flits, sim_time ready) {
  if (now >= idle_from_) begin_stream(now);
  const std::uint64_t slot = slot_at(now);
  if (slot_start(slot) != now || !link_.free(c, slot))
    throw std::logic_error("flit_line::send: the class is not free on the link");
  forget_stalls(slot);
  const std::uint64_t end = link_.finish(c, slot, flits);
  link_.grant(c, slot, flits, end);
  backlog_ = std::max(backlog_, slot) + flits;
  counters_.flits += flits;
  if (timing_.framed()) {
    append_frames(std::min(ready, now));
    idle_from_ = frame_start(frames_ - 1) + frame_;
  } else {
    counters_.busy += timing_.serialization(flits);
    idle_from_ = origin_ + timing_.serialization(backlog_);
  }
  const sim_time sent = origin_ + timing_.serialization(end) + shift(frame_of_flit(end - 1));
  return {sent, {arrival_of(slot), arrival_of(end - 1)}};
}

void flit_line::begin_stream(sim_time now) {
  link_ = {};
  origin_ = now;
  backlog_ = frames_ = 0;
  stalls_.clear();
  forgotten_ = {};
  idle_from_ = now;
}

/// Frame in which a flit of the stream ends.
std::uint64_t flit_line::frame_of_flit(std::uint64_t flit) const {
  return timing_.framed() ? timing_.frames(flit + 1) - 1 : 0;
}

/// Delay of a frame by stalls.
sim_time flit_line::shift(std::uint64_t frame) const {
  sim_time sum = forgotten_;
  for (const stall& s : stalls_)
    if (s.frame <= frame) sum += s.length;
  return sum;
}

/// Time at which the first byte of a slot may be sent.
sim_time flit_line::slot_start(std::uint64_t slot) const {
  const std::uint64_t frame = timing_.framed() ? slot * timing_.flit_bytes / timing_.frame_payload_bytes : 0;
  return origin_ + timing_.serialization(slot) + shift(frame);
}

/// The first slot not before `t`. Precondition: t >= origin_.
std::uint64_t flit_line::slot_at(sim_time t) const {
  sim_time most = forgotten_;
  for (const stall& s : stalls_) most += s.length;
  const sim_time passed = t - origin_;
  const double flit_ns = static_cast<double>(timing_.flit_bytes) / timing_.gbytes_s;
  const double least = passed > most ? (passed - most).ns() / flit_ns : 0.0;
  auto slot = static_cast<std::uint64_t>(least);
  if (slot > 0) --slot;  // rounding
  while (slot_start(slot) < t) ++slot;
  return slot;
}

sim_time flit_line::arrival_of(std::uint64_t flit) const {
  if (!timing_.framed()) return origin_ + timing_.serialization(flit + 1) + timing_.latency;
  return frame_start(frame_of_flit(flit)) + frame_ + timing_.latency;
}

/// Stalls before the current slot are also before every later one.
void flit_line::forget_stalls(std::uint64_t slot) {
  if (stalls_.empty()) return;
  const std::uint64_t frame = slot * timing_.flit_bytes / timing_.frame_payload_bytes;
  std::erase_if(stalls_, [&](const stall& s) {
    if (s.frame > frame) return false;
    forgotten_ += s.length;
    return true;
  });
}

void flit_line::add_stall(std::uint64_t frame, sim_time length) { stalls_.push_back({frame, length}); }

void flit_line::append_frames(sim_time ready) {
  for (const std::uint64_t all = timing_.frames(backlog_); frames_ < all; ++frames_)
    send_frame(frames_, ready);
}

void flit_line::send_frame(std::uint64_t frame, sim_time ready) {
  resend_wasted(ready);
  for (;;) {
    const sim_time sent = wait_for_room(frame);
    const std::uint32_t sequence = sender_.send();
    ++counters_.frames;
    counters_.busy += frame_;
    const std::uint64_t due = errors_.due();
    const bool hit = errors_.hit(frame_bits_);
    counters_.scripted += due - errors_.due();
    if (!hit) {
      static_cast<void>(receiver_.receive(sequence));
      acked_[sequence & (acked_.size() - 1)] = sent + timing_.latency * 2;
      return;
    }
    sender_.take(receiver_.receive_corrupted().answer);
    replay(frame);
  }
}

/// Time at which the last bit of the frame is on the wire. Acks are processed when the retry buffer is full;
/// earlier they would change nothing.
sim_time flit_line::wait_for_room(std::uint64_t frame) {
  const sim_time sent = frame_start(frame) + frame_;
  if (sender_.replaying() || !sender_.full()) return sent;
  const std::uint32_t oldest = sender_.oldest();
  const sim_time acked = acked_[oldest & (acked_.size() - 1)];
  sender_.take({protocol::replay_answer::kind::ack, oldest, 0});
  if (acked <= sent) return sent;
  add_stall(frame, acked - sent);
  counters_.retry_stall += acked - sent;
  return acked;
}

/// The frame was corrupted: it is sent again when its Nak is back and the frame then on the wire is sent.
void flit_line::replay(std::uint64_t frame) {
  ++counters_.crc_errors;
  ++counters_.naks;
  ++counters_.replays;
  const sim_time sent = frame_start(frame) + frame_;
  const sim_time lost = frame_ * go_back_;
  vain_ = {sent, frame_start(frame) + lost,
           std::min<std::uint64_t>(go_back_ - 1, std::max(retry_frames_, 1U) - 1)};
  add_stall(frame, lost);
}

/// The current frame, ready since `ready`, was sent once already if that was before the Nak of one before it.
void flit_line::resend_wasted(sim_time ready) {
  if (vain_.left == 0) return;
  const sim_time start = std::max(ready, vain_.next);
  if (start + frame_ > vain_.until) {
    vain_.left = 0;
    return;
  }
  vain_.next = start + frame_;
  --vain_.left;
  ++counters_.frames;
  ++counters_.replays;
  counters_.busy += frame_;
}

}  // namespace diecast::timing
