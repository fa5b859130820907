// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "hw/base/time.hpp"
#include "platforms/bench/bench.hpp"

namespace diecast::bench {
constexpr std::uint64_t methods = 1000;
constexpr std::uint64_t longest_delay = 1000;  // longest delay, in units of `methods` femtoseconds
constexpr std::uint64_t warmup_activations = 200'000;
constexpr std::uint64_t measured_activations = 2'000'000;

class kernel_floor::sleeper : public sc_core::sc_module {
 public:
  sleeper(sc_core::sc_module_name name, kernel_floor& owner, std::uint64_t number)
      : sc_module(name), owner_(owner), draw_(number * 0x9e3779b97f4a7c15 + 1), offset_(number) {
    SC_METHOD(act);
    sensitive << wake_;
    dont_initialize();
  }
  void start() { wake_.notify(sc_core::sc_time::from_value(offset_ + delay())); }

 private:
  SC_HAS_PROCESS(sleeper);
  void act() {
    ++owner_.activations_;
    if (owner_.running_) wake_.notify(sc_core::sc_time::from_value(delay()));
  }
  /// A random multiple of `methods`, by Knuth's generator (MMIX): the time of a better one would count.
  std::uint64_t delay() {
    draw_ = draw_ * 6364136223846793005 + 1442695040888963407;
    return (1 + (draw_ >> 33) % longest_delay) * methods;
  }
  kernel_floor& owner_;
  std::uint64_t draw_;
  std::uint64_t offset_;
  sc_core::sc_event wake_{"wake"};
};

kernel_floor::kernel_floor(sc_core::sc_module_name name) : sc_module(name) {
  for (std::uint64_t i = 0; i < methods; ++i)
    sleepers_.emplace_back(fmt::format("sleeper{}", i).c_str(), *this, i);
}

kernel_floor::~kernel_floor() = default;

double kernel_floor::measure_ns() {
  running_ = true;
  for (sleeper& s : sleepers_) s.start();
  // A method wakes once per mean delay, all of them together `methods` times as often.
  constexpr std::uint64_t mean_gap_fs = (longest_delay + 1) / 2;
  const auto run_for = [](std::uint64_t activations) {
    sc_core::sc_start(sc_core::sc_time::from_value(activations * mean_gap_fs));
  };
  run_for(warmup_activations);
  const std::uint64_t before = activations_;
  const double start = cpu_seconds();
  run_for(measured_activations);
  const double seconds = cpu_seconds() - start;
  const std::uint64_t counted = activations_ - before;
  running_ = false;
  sc_core::sc_start(sc_core::sc_time::from_value(2 * longest_delay * methods));  // the last ones wake
  return seconds / static_cast<double>(counted) * 1e9;
}

}  // namespace diecast::bench
