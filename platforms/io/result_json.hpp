// SPDX-License-Identifier: Apache-2.0
// Results as JSON and CSV.
#pragma once

#include <string>
#include <vector>

#include "platforms/io/unread_keys.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// Everything about an invocation that result.json states beside its runs.
struct result_context {
  std::string platform;  ///< "diecast-pod"
  std::string version;
  std::string config_sha256;
  std::uint64_t seed{};
  std::vector<std::string> argv;
  machine_shape shape;
  std::vector<unread_key> unread{};  ///< keys given in vain
};

/// schema diecast.result/1
[[nodiscard]] std::string result_json(const result_context& context, const std::vector<run_outcome>& runs);
[[nodiscard]] std::string result_csv(const std::vector<run_outcome>& runs);
/// Text as a field of a CSV row: quoted as RFC 4180 says where it has commas, quotes or line ends.
[[nodiscard]] std::string csv_field(const std::string& text);
[[nodiscard]] std::string links_csv(const std::vector<run_outcome>& runs);
[[nodiscard]] std::string ipcq_csv(const std::vector<run_outcome>& runs);
[[nodiscard]] std::string health_csv(const std::vector<run_outcome>& runs);
/// How long each core waited, by cause.
[[nodiscard]] std::string waits_csv(const std::vector<run_outcome>& runs);
[[nodiscard]] std::string hbm_csv(const std::vector<run_outcome>& runs);

/// The whole outcome, for the pipe between a run and its parent.
[[nodiscard]] std::string pack(const run_outcome& o);
/// Throws std::runtime_error when the text is not what pack() wrote (the run died half-way).
[[nodiscard]] run_outcome unpack(const std::string& text);

}  // namespace diecast::platforms
