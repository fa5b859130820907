// SPDX-License-Identifier: Apache-2.0
// Requests per second of the HBM model: one channel of the reference config, a closed loop of reads of one
// burst, initiator included.
#include "platforms/app/common_options.hpp"
#include "platforms/bench/bench.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::bench {
namespace {

constexpr std::uint64_t requests = 1'000'000;
constexpr std::uint64_t outstanding = 64;  // enough to keep the data buses busy

double requests_per_s(traffic::memory_pattern pattern) {
  const config::machine_config config = app::load_config({}, "hbm_reference.json").config;
  hbm::study_point point;
  point.pattern = pattern;
  point.requests = requests;
  point.speed = {hbm::pace::kind::closed, 0, outstanding};
  point.request_bytes = static_cast<std::uint32_t>(config.hbm.burst_bytes);
  const double start = cpu_seconds();
  const hbm::study_outcome o = hbm::simulate(point, config, hbm::builtin_registries().make_memory);
  const double seconds = cpu_seconds() - start;
  if (o.status != platforms::run_status::ok) throw std::runtime_error(o.message);
  return static_cast<double>(o.requests) / seconds;
}

}  // namespace

measurements measure_hbm_sequential() {
  return {{"hbm_sequential_requests_per_s", requests_per_s(traffic::memory_pattern::seq)}};
}

measurements measure_hbm_random() {
  return {{"hbm_random_requests_per_s", requests_per_s(traffic::memory_pattern::rand)}};
}

}  // namespace diecast::bench
