// SPDX-License-Identifier: Apache-2.0
// What a die-to-die link carries: its raw rate times the share of its flit format, less what replay, a
// small retry buffer or few credits take.
#include <cmath>

#include "d2d_bench.hpp"

namespace diecast::test {
namespace {

double measured(const config::machine_config& c, std::uint64_t to_cycle = 6000) {
  fabric_bench bench(c);
  return east_gbytes_s(bench, 1000, to_cycle);
}

TEST_CASE("d2d rate: raw flits carry the raw rate") {
  config::machine_config c = two_cubes();
  c.ucie.format = config::flit_format::raw;
  CHECK(measured(c) == Approx(128.0).epsilon(0.01));
}
TEST_CASE("d2d rate: flits of 68 B carry 64/68 of the raw rate") {
  config::machine_config c = two_cubes();
  c.ucie.format = config::flit_format::flit_68;
  CHECK(measured(c) == Approx(128.0 * 64 / 68).epsilon(0.01));
}
TEST_CASE("d2d rate: flits of 256 B carry 236/256 of the raw rate") {
  CHECK(measured(two_cubes()) == Approx(128.0 * 236 / 256).epsilon(0.01));
}
TEST_CASE("d2d rate: an x16 standard link at 32 GT/s") {
  config::machine_config c = two_cubes();
  c.ucie.lanes = 16;
  c.ucie.gt_s = 32;
  CHECK(measured(c) == Approx(64.0 * 236 / 256).epsilon(0.01));
}
TEST_CASE("d2d rate: a link at half the rate by an override") {
  config::machine_config c = two_cubes();
  c.overrides = {{.match = "pod.sip0.cube_1_0.ucie_west", .gt_s = 8.0}};
  CHECK(measured(c) == Approx(64.0 * 236 / 256).epsilon(0.01));
}

/// 22 ns of round trip at 2 ns per frame: 11 frames keep the wire busy.
double with_retry_buffer(std::uint64_t frames) {
  config::machine_config c = two_cubes();
  c.ucie.retry_flits = frames;
  return measured(c);
}
TEST_CASE("d2d rate: a retry buffer of bandwidth x round trip throttles nothing") {
  const config::machine_config c = two_cubes();
  REQUIRE(timing::ucie_retry_frames(c, c.ucie) == 11);
  CHECK(with_retry_buffer(11) == Approx(118.0).epsilon(0.01));
}
TEST_CASE("d2d rate: a retry buffer of half that halves the rate") {
  CHECK(with_retry_buffer(5) == Approx(118.0 * 5 / 11).epsilon(0.01));
}
TEST_CASE("d2d rate: a retry buffer of 8 frames of 11") {
  CHECK(with_retry_buffer(8) == Approx(118.0 * 8 / 11).epsilon(0.01));
}
TEST_CASE("d2d rate: a retry buffer of 2 frames of 11") {
  CHECK(with_retry_buffer(2) == Approx(118.0 * 2 / 11).epsilon(0.01));
}
TEST_CASE("d2d rate: a retry buffer of one frame sends one frame per round trip") {
  fabric_bench bench([] {
    config::machine_config c = two_cubes();
    c.ucie.retry_flits = 1;
    return c;
  }());
  CHECK(east_gbytes_s(bench, 1000, 31000) == Approx(236.0 / 22).epsilon(0.01));
  // Of 22 ns per frame the wire is used for 2.
  const sim_time stalled = eastward(bench).line_statistics().retry_stall;
  CHECK(stalled.ns() == Approx(31000.0 * 20 / 22).epsilon(0.01));
}

/// Credits of whole packets: as many packets as the buffer holds leave per round trip.
double with_link_buffer(std::uint64_t packets) {
  config::machine_config c = two_cubes();
  c.ucie.buffer_flits = packets * 17;
  return measured(c);
}
double window_over_round_trip(std::uint64_t packets) {
  const config::machine_config c = two_cubes();
  const sim_time trip = timing::credit_round_trip(timing::ucie_timing_of(c, c.ucie), 17);
  return static_cast<double>(packets * 17 * 64) / trip.ns();
}
TEST_CASE("d2d rate: credits of one packet carry a packet per round trip") {
  // 10 ns of frames and 11 ns of latency one way, 11 ns back, and the wait for a clock edge.
  CHECK(window_over_round_trip(1) == Approx(1088.0 / 32).epsilon(0.001));
  CHECK(with_link_buffer(1) == Approx(window_over_round_trip(1)).epsilon(0.02));
}
TEST_CASE("d2d rate: credits of two packets carry two per round trip") {
  CHECK(with_link_buffer(2) == Approx(window_over_round_trip(2)).epsilon(0.02));
}
TEST_CASE("d2d rate: credits of three packets carry three per round trip") {
  CHECK(with_link_buffer(3) == Approx(window_over_round_trip(3)).epsilon(0.02));
}

/// The measurement spreads with the number of errors n: its standard deviation is the replay's part of the
/// time over the square root of n. Three of them, and half a percent for the ends.
void check_replay(double ber, std::uint64_t cycles) {
  config::machine_config c = two_cubes();
  c.ucie.ber = ber;
  const timing::link_timing link = timing::ucie_timing_of(c, c.ucie);
  const std::uint64_t w = timing::go_back_frames(link);
  REQUIRE(w == 12);
  const double p = timing::frame_error_rate(ber, 2048);
  const double share = timing::replay_share(p, w);
  fabric_bench bench(c);
  const double rate = east_gbytes_s(bench, 0, cycles);
  const double errors = static_cast<double>(eastward(bench).line_statistics().crc_errors);
  INFO("BER " << ber << ": " << rate << " GB/s, formula " << 118.0 * share << ", errors " << errors);
  REQUIRE(errors > 20);
  CHECK(rate == Approx(118.0 * share).epsilon(3 * (1 - share) / std::sqrt(errors) + 0.005));
  // What is left of the time when each error has taken 12 frames of 2 ns.
  const double clean = 1.0 - errors * 24.0 / static_cast<double>(cycles);
  CHECK(rate == Approx(118.0 * clean).margin(118.0 * 0.005));
}
TEST_CASE("d2d rate: replay at a bit error rate of 1e-6 costs what the formula says") {
  check_replay(1e-6, 60'000);
}
TEST_CASE("d2d rate: replay at a bit error rate of 1e-5 costs what the formula says") {
  check_replay(1e-5, 60'000);
}
TEST_CASE("d2d rate: replay at a bit error rate of 1e-4 costs what the formula says") {
  check_replay(1e-4, 60'000);
}
TEST_CASE("d2d rate: replay at a bit error rate of 5e-4 costs what the formula says") {
  check_replay(5e-4, 60'000);
}

TEST_CASE("d2d rate: defaults by rate, package and format") {
  config::machine_config c;
  CHECK(timing::ucie_ber(c.ucie) == 1e-15);
  CHECK(timing::ucie_pj_per_bit(c.ucie) == 0.25);
  CHECK(timing::ucie_retry_frames(c, c.ucie) == 22);  // two modules of 11
  c.ucie.gt_s = 64;
  CHECK(timing::ucie_ber(c.ucie) == 1e-12);
  CHECK(timing::ucie_pj_per_bit(c.ucie) == 0.3);
  c.ucie.lanes = 16;
  CHECK(timing::ucie_pj_per_bit(c.ucie) == 0.6);
  c.ucie.gt_s = 8;
  CHECK(timing::ucie_pj_per_bit(c.ucie) == 0.5);
  c.ucie.format = config::flit_format::raw;
  CHECK(timing::ucie_ber(c.ucie) == 0.0);
  CHECK(timing::replay_share(0.0, 12) == 1.0);
  CHECK(timing::replay_share(0.5, 1) == 0.5);  // every second frame twice, and nothing else waits
}

}  // namespace
}  // namespace diecast::test
