// SPDX-License-Identifier: Apache-2.0
// One direction of a die-to-die or SIP link as a calendar of the wire: which packet's NoC flits are on it
// when, in which frames, which frames are corrupted and what their replay costs. No event per flit or
// frame: everything is known when a packet is granted.
//
// Classes share the wire flit by flit (shared_link.hpp, one slot per NoC flit). A stream begins when the
// link was idle; its slots fill frames one after the other, and the last frame is padded when nothing
// follows in time. Without errors slot k of a stream begun at t0 is on the wire at t0 + k flit times.
//
// Frames are sent under a replay window (protocol/replay_window.hpp). A corrupted frame is noticed when
// its last bit has arrived; the Nak is back one latency later; the sender finishes the frame it is at and
// goes back. Nothing sent after it arrives before its replay, so the wire is blocked for all classes
// from the start of the corrupted frame until it is sent again. It is also blocked while the retry
// buffer waits for an Ack: a frame is in the buffer from its last bit on the wire to its Ack.
//
// Acks and Naks travel in the frames of the other direction, take no room of payload there and are not
// themselves hit. The CRC finds every error.
#pragma once

#include <cstdint>
#include <vector>

#include "models/protocol/replay_window.hpp"
#include "models/random/stream.hpp"
#include "models/timing/link.hpp"
#include "models/timing/shared_link.hpp"

namespace diecast::timing {

struct line_parameters {
  link_timing timing;
  std::uint32_t retry_frames{1};  ///< retry buffer in frames, for links with frames only
  double ber{};                   ///< bit error rate on the wire, frames only; 0: no errors
  std::uint64_t hit_after{};      ///< frames that pass before those below
  std::uint64_t hits{};           ///< consecutive frames that are also hit, those sent again included
};

struct line_counters {
  std::uint64_t frames{};      ///< on the wire, those sent again included
  std::uint64_t replays{};     ///< frames sent again
  std::uint64_t naks{};        ///< Naks that made the sender go back
  std::uint64_t crc_errors{};  ///< corrupted frames, not later ones that are sent again with them
  std::uint64_t scripted{};    ///< frames corrupted by line_parameters::hits
  std::uint64_t flits{};       ///< NoC flits
  sim_time busy;               ///< busy time of the wire
  sim_time retry_stall;        ///< the wire was idle because the retry buffer was full
};

/// Errors at random places of a stream of bits; each draw gives the distance to the next error, so that bits
/// without an error take no time.
class bit_errors {
 public:
  /// Precondition: 0 <= ber < 1.
  bit_errors(double ber, const random::stream& source);
  /// Also, the `hits` draws after the first `clean_bits` bits are hit.
  void script(std::uint64_t clean_bits, std::uint64_t hits);
  /// Whether any of the next `bits` is hit.
  [[nodiscard]] bool hit(std::uint64_t bits) {
    if (bits <= clean_) {
      clean_ -= bits;
      return false;
    }
    clean_ = gap();
    if (due_ > 0) --due_;
    return true;
  }
  /// Hits of the script that have not come yet.
  [[nodiscard]] std::uint64_t due() const { return due_; }

 private:
  [[nodiscard]] std::uint64_t gap();
  double log_clean_;  ///< logarithm of the chance that a bit is not hit
  random::sequence draws_;
  std::uint64_t scripted_{};  ///< draws still to be hit in a row
  std::uint64_t due_{};       ///< draws to be hit: scripted_ and the one that `clean_` leads to
  std::uint64_t clean_;       ///< bits before the next error
};

class flit_line {
 public:
  /// `errors`: of this link and direction alone.
  flit_line(const line_parameters& p, const random::stream& errors);

  /// First time not before `at` at which a packet of class `c` may start if nothing else is granted until
  /// then. Calls come in order of time.
  [[nodiscard]] sim_time earliest(unsigned c, sim_time at) const;

  struct transfer {
    sim_time end;  ///< time at which the last flit of the packet was sent, or sent again
    span arrival;  ///< arrival of head and tail at the far end
  };
  /// Starts a packet. Precondition: earliest(c, now) == now. `ready`: since when it waits for the wire,
  /// never for "since now"; decides only how much of it was lost after a corrupted frame.
  transfer send(unsigned c, sim_time now, std::uint32_t flits, sim_time ready = sim_time::never());

  /// Time from which on the wire is idle without any memory of earlier packets.
  [[nodiscard]] sim_time idle_from() const { return idle_from_; }
  [[nodiscard]] const line_counters& statistics() const { return counters_; }

 private:
  /// A stall: the wire is blocked before frame `frame` of the stream.
  struct stall {
    std::uint64_t frame;
    sim_time length;
  };
  /// Between a corrupted frame and its replay the frames that follow are wasted.
  struct vain {
    sim_time next, until;
    std::uint64_t left{};
  };
  [[nodiscard]] std::uint64_t frame_of_flit(std::uint64_t flit) const;
  [[nodiscard]] sim_time shift(std::uint64_t frame) const;
  [[nodiscard]] sim_time slot_start(std::uint64_t slot) const;
  [[nodiscard]] std::uint64_t slot_at(sim_time t) const;
  [[nodiscard]] sim_time arrival_of(std::uint64_t flit) const;
  void begin_stream(sim_time now);
  void forget_stalls(std::uint64_t slot);
  void append_frames(sim_time ready);
  void send_frame(std::uint64_t frame, sim_time ready);
  [[nodiscard]] sim_time wait_for_room(std::uint64_t frame);
  void replay(std::uint64_t frame);
  void resend_wasted(sim_time ready);
  void add_stall(std::uint64_t frame, sim_time length);
  [[nodiscard]] sim_time frame_start(std::uint64_t frame) const {
    return origin_ + timing_.frame_time(frame) + shift(frame);
  }

  const link_timing timing_;
  const sim_time frame_;  ///< duration of one
  const std::uint64_t frame_bits_;
  const std::uint64_t go_back_;
  const std::uint32_t retry_frames_;
  bit_errors errors_;
  protocol::replay_sender sender_;
  protocol::replay_receiver receiver_;
  std::vector<sim_time> acked_;  ///< per sequence number modulo its size: when its Ack is here

  shared_link link_;         ///< in slots of the stream
  sim_time origin_;          ///< start of the stream
  std::uint64_t backlog_{};  ///< slots granted
  std::uint64_t frames_{};   ///< frames granted
  std::vector<stall> stalls_;
  sim_time forgotten_;  ///< sum of stalls before all later slots
  vain vain_;
  sim_time idle_from_;
  line_counters counters_;
};

}  // namespace diecast::timing
