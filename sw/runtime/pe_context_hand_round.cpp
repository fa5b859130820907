// SPDX-License-Identifier: Apache-2.0
// Steps of a ring as one stream of slots.
#include <utility>
#include <vector>

#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {
namespace {

/// The segments of a trip, each asked for once.
struct trip_segments {
  const pe_context::round_trip& trip;
  std::vector<tcm_range> known{};

  const tcm_range& at(std::uint32_t k) {
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

}  // namespace diecast::sw
