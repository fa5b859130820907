// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/run_report.hpp"

namespace diecast::app {

platforms::result_context context_of(const std::string& binary, const config::machine_config& c,
                                     std::vector<platforms::unread_key> unread, int argc, char** argv,
                                     const machine_shape& shape) {
  return {binary, DIECAST_VERSION,  platforms::config_sha256(c), c.sim.seed, {argv, argv + argc},
          shape,  std::move(unread)};
}

}  // namespace diecast::app
