// SPDX-License-Identifier: Apache-2.0
// Go-back-N retransmission over a link that keeps order but may corrupt a flit: sequence numbers that wrap, a
// bounded retry buffer at the sender, Ack and Nak. Plain values without time; their owner determines when an
// answer arrives.
//
// Every flit is answered. The receiver takes flits in sequence only. It acknowledges those it takes
// (cumulatively) and those it took before, and answers every other flit, unreadable or ahead of its turn,
// with a Nak that names the flit it waits for. A Nak also names the flit on the wire that it answers: the
// link never loses a flit's place, so both ends can count them. The sender goes back to the flit named, and
// ignores Naks that answer flits it had sent before it went back: the replay answers those already. The next
// Ack or Nak, or a timeout, compensates a lost one.
#pragma once

#include <cstdint>

namespace diecast::protocol {

/// The receiver's answer to one flit.
struct replay_answer {
  enum class kind : std::uint8_t { ack, nak };
  kind what{kind::ack};
  std::uint32_t sequence{};  ///< ack: the last flit taken; nak: the flit waited for
  std::uint64_t place{};     ///< number of the answered flit, counted on the wire
  bool operator==(const replay_answer&) const = default;
};

class replay_sender {
 public:
  /// A retry buffer of `window` flits and sequence numbers modulo `modulus`. Throws std::invalid_argument
  /// unless 1 <= window and 2 * window <= modulus: the receiver could not distinguish a repeated flit from a
  /// new one.
  replay_sender(std::uint32_t window, std::uint32_t modulus);

  /// Flits in the retry buffer: sent and not acknowledged.
  [[nodiscard]] std::uint32_t outstanding() const { return distance(oldest_, newest_); }
  [[nodiscard]] bool full() const { return outstanding() == window_; }
  /// The next flit is one sent before.
  [[nodiscard]] bool replaying() const { return next_ != newest_; }
  /// Sequence number of the oldest flit in the buffer. Precondition: outstanding() > 0.
  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }

  /// Puts the next flit on the wire, one of the retry buffer while replaying() and a new one otherwise;
  /// its sequence number. Precondition: replaying() or not full().
  std::uint32_t send();
  void take(const replay_answer& answer);
  /// Without an answer: sends the whole retry buffer again.
  void timeout() { go_back(oldest_); }

  bool operator==(const replay_sender&) const = default;

 private:
  [[nodiscard]] std::uint32_t distance(std::uint32_t from, std::uint32_t to) const {
    return (to + modulus_ - from) % modulus_;
  }
  void go_back(std::uint32_t sequence);

  std::uint32_t window_;
  std::uint32_t modulus_;
  std::uint32_t oldest_{};  ///< first not acknowledged
  std::uint32_t next_{};    ///< next to be put on the wire
  std::uint32_t newest_{};  ///< one past the last one ever sent
  std::uint64_t sent_{};    ///< flits on the wire so far
  std::uint64_t replay_{};  ///< place on the wire at which the last replay began
};

class replay_receiver {
 public:
  explicit replay_receiver(std::uint32_t modulus) : modulus_(modulus) {}

  struct verdict {
    bool deliver{};  ///< the flit is in sequence and is to be forwarded
    replay_answer answer;
  };
  /// A flit that arrived with a good CRC.
  verdict receive(std::uint32_t sequence);
  /// A flit whose CRC is wrong: nothing of it can be trusted, not even its number.
  verdict receive_corrupted();

  [[nodiscard]] std::uint32_t expected() const { return expected_; }
  bool operator==(const replay_receiver&) const = default;

 private:
  std::uint32_t modulus_;
  std::uint32_t expected_{};
  std::uint64_t received_{};  ///< flits off the wire so far
};

}  // namespace diecast::protocol
