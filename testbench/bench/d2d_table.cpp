// SPDX-License-Identifier: Apache-2.0
// d2d_table: what one UCIe link carries, measured on saturating traffic between two cubes and next to the
// formulas of models/timing/link.hpp, as the tables of docs/d2d.md.
#include <cstdlib>
#include <deque>
#include <fmt/format.h>
#include <string>

#include "hw/base/time.hpp"
#include "models/timing/link.hpp"
#include "support/sc_fixture.hpp"
#include "unit/hw/d2d/d2d_bench.hpp"

namespace diecast::test {
namespace {

constexpr std::uint64_t first_cycle = 1000;
constexpr std::uint64_t last_cycle = 51'000;

struct row {
  std::string what;
  std::string expected_how;
  double expected;
  fabric_bench* bench;
  timing::line_counters before;
};

class table {
 public:
  void add(const std::string& what, const config::machine_config& c, const std::string& how,
           double expected) {
    fabric_bench& b = benches_.emplace_back(c, build_order{}, fmt::format("machine{}", benches_.size()));
    for (std::uint16_t p = 0; p < c.cube.pes; ++p) {
      for (std::uint64_t n = 0; n < last_cycle / 17 * 2; ++n) {
        b.at({0, 0, p}).plan({}, {0, 1, p}, abi::traffic_class::comm, 17, n);
      }
    }
    rows_.push_back({what, how, expected, &b, {}});
  }
  void run() {
    const clock_domain clock = timing::noc_clock(two_cubes());
    run_until(clock.cycles(first_cycle));
    for (row& r : rows_) r.before = line(r);
    run_until(clock.cycles(last_cycle));
    fmt::print("| link | measured GB/s | formula GB/s | error | frames sent again | of it |\n");
    fmt::print("|---|---:|---:|---:|---:|---|\n");
    for (const row& r : rows_) print(r);
  }

 private:
  static const timing::line_counters& line(const row& r) {
    return r.bench->adapter(0, 0, fabric::side::east).sender().line_statistics();
  }
  static void print(const row& r) {
    const double bytes =
        static_cast<double>((line(r).flits - r.before.flits) * r.bench->config.noc.flit_bytes);
    const clock_domain clock = timing::noc_clock(r.bench->config);
    const double rate = bytes / clock.cycles(last_cycle - first_cycle).ns();
    fmt::print("| {} | {:.2f} | {:.2f} | {:+.2f}% | {} | {} |\n", r.what, rate, r.expected,
               100 * (rate / r.expected - 1), line(r).replays - r.before.replays, r.expected_how);
  }
  std::deque<fabric_bench> benches_;
  std::deque<row> rows_;
};

int run() {
  table t;
  config::machine_config c = two_cubes();
  const char* const share = "raw rate x payload share";
  c.ucie.format = config::flit_format::raw;
  t.add("x64, 16 GT/s, raw", c, share, 128.0);
  c.ucie.format = config::flit_format::flit_68;
  t.add("x64, 16 GT/s, 68 B", c, share, 128.0 * 64 / 68);
  c = two_cubes();
  t.add("x64, 16 GT/s, 256 B", c, share, 128.0 * 236 / 256);
  for (const double ber : {1e-15, 1e-7, 1e-6, 1e-5, 1e-4}) {
    c = two_cubes();
    c.ucie.ber = ber;
    const timing::link_timing link = timing::ucie_timing_of(c, c.ucie);
    const double p = timing::frame_error_rate(ber, link.frame_wire_bytes * 8);
    t.add(fmt::format("256 B, bit error rate {:g}", ber), c, "x (1 - p) / (1 - p + w p)",
          link.gbytes_s * timing::replay_share(p, timing::go_back_frames(link)));
  }
  for (const std::uint64_t frames : {11, 8, 5, 2, 1}) {
    c = two_cubes();
    c.ucie.retry_flits = frames;
    const timing::link_timing link = timing::ucie_timing_of(c, c.ucie);
    t.add(fmt::format("256 B, retry buffer of {} flit{}", frames, frames == 1 ? "" : "s"), c,
          "x retry buffer / round trip",
          link.gbytes_s * timing::retry_share(link, static_cast<std::uint32_t>(frames)));
  }
  for (const std::uint64_t packets : {1, 2, 3}) {
    c = two_cubes();
    c.ucie.buffer_flits = packets * 17;
    const timing::link_timing link = timing::ucie_timing_of(c, c.ucie);
    t.add(fmt::format("256 B, credits of {} packet{} of 17 flits", packets, packets == 1 ? "" : "s"), c,
          "credits / round trip",
          static_cast<double>(packets * 17 * c.noc.flit_bytes) / timing::credit_round_trip(link, 17).ns());
  }
  t.run();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  fmt::print(stderr, "d2d_table: standard output: cannot be written\n");
  return 5;
}

}  // namespace

void unexpected_fault(const std::string& text) {
  fmt::print(stderr, "d2d_table: {}\n", text);
  std::_Exit(EXIT_FAILURE);  // what was printed is no measurement
}

}  // namespace diecast::test

int sc_main(int, char**) {
  diecast::hw::set_time_resolution();
  return diecast::test::run();
}

// In place of the library's main, so that no banner is printed.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
