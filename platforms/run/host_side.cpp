// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/host_side.hpp"

#include "platforms/run/reruns.hpp"
#include "platforms/run/session.hpp"
#include "platforms/run/workload_session.hpp"

namespace diecast::platforms {

std::unique_ptr<host_side> make_host_side(const prepared_run& run, std::optional<std::uint32_t> only,
                                          std::uint64_t sips, start_agreement& agreement,
                                          std::function<void()> on_round) {
  if (run.workload)
    return std::make_unique<workload_session>(run, only, sips, agreement, std::move(on_round));
  return std::make_unique<session>(run, sips, agreement, std::move(on_round));
}

std::function<void(abi::hal&, const abi::launch_block&)> firmware_of(host_side& hosts,
                                                                     const prepared_run& run,
                                                                     std::uint64_t draw, pe_coord pe) {
  sw::runtime_options options = sw::options_from(run.machine.config, pe);
  options.start_delay += jitter_delay(run, draw, pe);
  return [&hosts, options](abi::hal& hal, const abi::launch_block& block) {
    hosts.firmware(hal, block, options);
  };
}

}  // namespace diecast::platforms
