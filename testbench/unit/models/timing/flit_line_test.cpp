// SPDX-License-Identifier: Apache-2.0
// The calendar of a wire against figures done by hand and against a link simulated frame by frame.
#include "models/timing/flit_line.hpp"

#include <deque>
#include <optional>

#include <rapidcheck.h>

#include "support/test.hpp"

namespace diecast::test {
namespace {

using timing::flit_line;
using timing::line_parameters;

constexpr unsigned comm = static_cast<unsigned>(abi::traffic_class::comm);
constexpr unsigned sideband = static_cast<unsigned>(abi::traffic_class::sideband);

line_parameters parameters(config::flit_format f, double raw_gbytes_s, sim_time latency, std::uint32_t retry,
                           double ber) {
  const timing::frame_format frame = timing::frame_of(f);
  line_parameters p;
  p.timing.flit_bytes = 64;
  p.timing.gbytes_s = raw_gbytes_s;
  if (frame.wire_bytes != 0)
    p.timing.gbytes_s =
        raw_gbytes_s * static_cast<double>(frame.payload_bytes) / static_cast<double>(frame.wire_bytes);
  p.timing.latency = latency;
  p.timing.frame_payload_bytes = frame.payload_bytes;
  p.timing.frame_wire_bytes = frame.wire_bytes;
  p.retry_frames = retry;
  p.ber = ber;
  return p;
}

const random::stream errors(1, "pod.sip0.cube_0_0.ucie_east", "bit errors");

TEST_CASE("flit line: frames of 256 B, by hand") {
  // 128 GB/s: a frame in 2 ns carries 236 B, a NoC flit takes 542,373 fs of it.
  flit_line line(parameters(config::flit_format::flit_256, 128, nanoseconds(11), 11, 0), errors);
  const auto first = line.send(comm, nanoseconds(5), 1);
  CHECK(first.arrival.head == nanoseconds(5 + 2 + 11));  // the frame is padded
  CHECK(first.arrival.tail == first.arrival.head);
  CHECK(line.idle_from() == nanoseconds(7));
  // While the frame is on the wire it takes nothing more in, unless that comes without a gap.
  CHECK(line.earliest(comm, nanoseconds(6)) == nanoseconds(7));
  // 17 flits are 1088 B: 4.61 frames, so five.
  const auto second = line.send(comm, nanoseconds(7), 17);
  CHECK(second.arrival.head == nanoseconds(7 + 2 + 11));
  CHECK(second.arrival.tail == nanoseconds(7 + 10 + 11));
  CHECK(second.end == nanoseconds(7) + femtoseconds(9'220'339));
  // The next packet begins within the fifth frame: its first flit ends in it.
  CHECK(line.earliest(comm, nanoseconds(8)) == second.end);
  const auto third = line.send(comm, second.end, 17);
  CHECK(third.arrival.head == nanoseconds(7 + 10 + 11));
  CHECK(third.arrival.tail == nanoseconds(7 + 20 + 11));  // 34 flits are 9.22 frames
  CHECK(line.statistics().frames == 11);
  CHECK(line.statistics().busy == nanoseconds(22));
}

TEST_CASE("flit line: raw, by hand") {
  flit_line line(parameters(config::flit_format::raw, 64, nanoseconds(16), 1, 0), errors);
  const auto t = line.send(comm, picoseconds(300), 17);
  CHECK(t.arrival.head == picoseconds(300) + nanoseconds(1 + 16));
  CHECK(t.arrival.tail == picoseconds(300) + nanoseconds(17 + 16));
  CHECK(line.earliest(comm, nanoseconds(2)) == picoseconds(17'300));
  // A credit at 4.2 ns waits for the next slot, 4.3 ns, and shares with the packet: a flit in between.
  CHECK(line.earliest(sideband, picoseconds(4200)) == picoseconds(4300));
  const auto credit = line.send(sideband, picoseconds(4300), 1);
  CHECK(credit.arrival.tail == picoseconds(300) + nanoseconds(4 + 2 + 16));
  CHECK(line.earliest(comm, nanoseconds(5)) == picoseconds(18'300));  // the flit it took
}

TEST_CASE("flit line: an error delays its frame and all behind it by a go-back") {
  // A frame of 2048 bits is hit with a chance of 1 - (1 - 2e-4)^2048, about a third.
  const line_parameters p = parameters(config::flit_format::flit_256, 128, nanoseconds(11), 11, 2e-4);
  flit_line line(p, errors);
  const auto t = line.send(comm, {}, 1700);
  const auto frames = p.timing.frames(1700);
  const auto lost = line.statistics().crc_errors;
  REQUIRE(lost > 20);
  CHECK(t.arrival.tail == nanoseconds(2) * frames + nanoseconds(24) * lost + nanoseconds(11));
  // All packets behind were known: every gap of 11 frames was filled, up to the retry buffer.
  CHECK(line.statistics().frames == frames + line.statistics().replays);
  CHECK(line.statistics().replays > lost);
  CHECK(line.statistics().replays <= lost * 11);
  flit_line alone(p, errors);
  static_cast<void>(alone.send(comm, {}, 1));
  CHECK(alone.statistics().replays == alone.statistics().crc_errors);  // no frame followed a corrupted one
}

/// A go-back-N link simulated frame by frame: frames on the wire, answers on their way back, everything
/// sent again is really sent. Packets follow each other without a gap. Returns when each frame that was
/// taken had arrived.
std::vector<sim_time> simulate(const line_parameters& p, std::uint64_t frames) {
  struct on_wire {
    std::uint32_t sequence;
    bool corrupted;
    sim_time arrives;
  };
  struct on_way_back {
    protocol::replay_answer answer;
    sim_time arrives;
  };
  const sim_time frame = p.timing.frame_time(1);
  protocol::replay_sender sender(p.retry_frames, 4096);
  protocol::replay_receiver receiver(4096);
  timing::bit_errors hits(p.ber, errors);
  std::deque<on_wire> wire;
  std::deque<on_way_back> answers;
  std::vector<sim_time> taken;
  std::uint64_t sent_new = 0;
  std::uint32_t in_turn = 0;  ///< what the receiver waits for once all on the wire has arrived
  bool broken = false;        ///< a frame on the wire is corrupted: those behind it are sent again
  const auto receive = [&](sim_time now) {
    while (!wire.empty() && wire.front().arrives <= now) {
      const on_wire f = wire.front();
      wire.pop_front();
      const auto v = f.corrupted ? receiver.receive_corrupted() : receiver.receive(f.sequence);
      if (v.deliver) taken.push_back(f.arrives);
      answers.push_back({v.answer, f.arrives + p.timing.latency});
    }
  };
  const auto listen = [&](sim_time now) {
    while (!answers.empty() && answers.front().arrives <= now) {
      const bool was = sender.replaying();
      sender.take(answers.front().answer);
      if (!was && sender.replaying()) broken = false;
      answers.pop_front();
    }
  };
  for (sim_time now; taken.size() < frames; now += frame) {
    receive(now);
    listen(now);
    const bool again = sender.replaying();
    if (!again && (sent_new == frames || sender.full())) continue;
    if (!again) ++sent_new;
    const std::uint32_t sequence = sender.send();
    if (sequence == in_turn) broken = false;
    bool corrupted = false;
    if (!broken) {
      corrupted = hits.hit(p.timing.frame_wire_bytes * 8);
      broken = corrupted;
      in_turn = corrupted ? sequence : (sequence + 1) % 4096;
    }
    wire.push_back({sequence, corrupted, now + frame + p.timing.latency});
    receive(now);
  }
  return taken;
}

TEST_CASE("flit line: agrees to the femtosecond with a link simulated frame by frame") {
  CHECK(rc::check("go-back-N", [] {
    // The round trip is a whole number of frames, so that a Nak is back at the end of one.
    const auto half_round_trip = *rc::gen::inRange<std::uint64_t>(1, 12);
    const auto format = *rc::gen::element(config::flit_format::flit_256, config::flit_format::flit_68);
    const double raw = format == config::flit_format::flit_256 ? 128.0 : 34.0;  // 2 ns per frame
    // A frame is in the buffer from its last bit on: while it is sent the simulated one holds it too.
    const auto retry = static_cast<std::uint32_t>(2 * half_round_trip + 1);
    const double ber = *rc::gen::element(0.0, 1e-6, 1e-5, 1e-4, 5e-4);
    const line_parameters p = parameters(format, raw, nanoseconds(2) * half_round_trip, retry, ber);
    const auto packets = *rc::gen::inRange<std::uint32_t>(1, 60);
    flit_line line(p, errors);
    std::vector<sim_time> tails;
    std::uint64_t flits = 0;
    std::vector<std::uint64_t> last_frame;
    sim_time start;
    for (std::uint32_t n = 0; n < packets; ++n) {
      const auto length = *rc::gen::inRange<std::uint32_t>(1, 34);
      start = line.earliest(comm, start);
      tails.push_back(line.send(comm, start, length).arrival.tail);
      flits += length;
      last_frame.push_back(p.timing.frames(flits) - 1);
    }
    const std::vector<sim_time> taken = simulate(p, p.timing.frames(flits));
    for (std::uint32_t n = 0; n < packets; ++n) RC_ASSERT(tails[n] == taken.at(last_frame[n]));
  }));
}

TEST_CASE("flit line: whatever shares the wire, it carries no more than its rate and keeps the order") {
  CHECK(rc::check("wire", [] {
    const auto format = *rc::gen::element(config::flit_format::raw, config::flit_format::flit_68,
                                          config::flit_format::flit_256);
    const double ber = *rc::gen::element(0.0, 1e-5, 1e-4);
    const auto retry = *rc::gen::inRange<std::uint32_t>(1, 30);
    const line_parameters p = parameters(format, 100, picoseconds(7300), retry, ber);
    flit_line line(p, errors);
    std::array<timing::span, abi::traffic_classes> last{};
    sim_time now;
    std::uint64_t flits = 0;
    for (int n = 0; n < 80; ++n) {
      const auto c = *rc::gen::inRange<unsigned>(0, abi::traffic_classes);
      const auto length = *rc::gen::inRange<std::uint32_t>(1, 34);
      now += picoseconds(*rc::gen::element<std::uint64_t>(0, 0, 130, 5000, 90'000));
      const sim_time start = line.earliest(c, now);
      RC_ASSERT(start >= now);
      now = start;
      RC_ASSERT(line.earliest(c, now) == now);
      const flit_line::transfer t = line.send(c, now, length);
      RC_ASSERT(t.end >= now + p.timing.serialization(length) - femtoseconds(2));
      RC_ASSERT(t.arrival.head >= now + p.timing.latency);
      RC_ASSERT(t.arrival.tail >= t.end + p.timing.latency - femtoseconds(2));
      RC_ASSERT(t.arrival.tail >= last[c].tail);  // packets of a class keep their order
      RC_ASSERT(t.arrival.head >= last[c].head);
      last[c] = t.arrival;
      flits += length;
      RC_ASSERT(line.idle_from() >= p.timing.serialization(flits));
    }
  }));
}

TEST_CASE("bit errors: as many as their rate says, and none at rate 0") {
  for (const double ber : {1e-3, 1e-6, 1e-9}) {
    timing::bit_errors hits(ber, errors);
    const auto bits = static_cast<std::uint64_t>(0.1 / ber);
    int hit = 0;
    for (int n = 0; n < 20'000; ++n) hit += hits.hit(bits) ? 1 : 0;
    // p = 1 - exp(-0.1) = 0.0952, standard deviation sqrt(20000 p (1 - p)) = 41.5
    CHECK(hit == Approx(20'000 * timing::frame_error_rate(ber, bits)).margin(3 * 41.5));
  }
  timing::bit_errors never(0.0, errors);
  for (int n = 0; n < 1000; ++n) CHECK_FALSE(never.hit(std::uint64_t{1} << 50));
}

}  // namespace
}  // namespace diecast::test
