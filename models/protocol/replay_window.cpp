// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/replay_window.hpp"

#include <fmt/format.h>
#include <stdexcept>

namespace diecast::protocol {

replay_sender::replay_sender(std::uint32_t window, std::uint32_t modulus)
    : window_(window), modulus_(modulus) {
  if (window >= 1 && modulus / 2 >= window) return;
  throw std::invalid_argument(fmt::format(
      "replay_sender: window {} with sequence numbers modulo {} (expected 1 <= window <= modulus / 2)",
      window, modulus));
}

std::uint32_t replay_sender::send() {
  const std::uint32_t sequence = next_;
  const bool again = replaying();
  next_ = (next_ + 1) % modulus_;
  if (!again) newest_ = next_;
  ++sent_;
  return sequence;
}

void replay_sender::take(const replay_answer& answer) {
  const bool ack = answer.what == replay_answer::kind::ack;
  // Everything before this one has arrived. What lies outside the buffer was acknowledged long ago.
  const std::uint32_t arrived_before = ack ? (answer.sequence + 1) % modulus_ : answer.sequence;
  const std::uint32_t arrived = distance(oldest_, arrived_before);
  if (arrived > outstanding()) return;
  const bool next_is_home = distance(oldest_, next_) < arrived;
  oldest_ = arrived_before;
  if (next_is_home) next_ = arrived_before;
  if (!ack && answer.place >= replay_) go_back(answer.sequence);
}

void replay_sender::go_back(std::uint32_t sequence) {
  next_ = sequence;
  replay_ = sent_;
}

replay_receiver::verdict replay_receiver::receive(std::uint32_t sequence) {
  const std::uint64_t place = received_++;
  const std::uint32_t before = (expected_ + modulus_ - 1) % modulus_;
  if (sequence == expected_) {
    expected_ = (expected_ + 1) % modulus_;
    return {true, {replay_answer::kind::ack, sequence, place}};
  }
  const std::uint32_t behind = (expected_ + modulus_ - sequence) % modulus_;
  if (behind <= modulus_ / 2) return {false, {replay_answer::kind::ack, before, place}};
  return {false, {replay_answer::kind::nak, expected_, place}};
}

replay_receiver::verdict replay_receiver::receive_corrupted() {
  return {false, {replay_answer::kind::nak, expected_, received_++}};
}

}  // namespace diecast::protocol
