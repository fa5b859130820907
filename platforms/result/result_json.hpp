// SPDX-License-Identifier: Apache-2.0
// Results as JSON and CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "platforms/config_io/config_json.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

/// Keys that were given and no run reads, because the machine has no such part. One file may serve all
/// binaries, so this is not an error; keys of the command line are reported.
struct unread_key {
  std::string path;
  /// Whether the key is reported to the user: it was given on the command line, or is a list of changes of
  /// this machine (overrides, faults).
  bool reported{};
};

/// Given keys outside the blocks `read`, in alphabetical order.
[[nodiscard]] std::vector<unread_key> unread_keys(const loaded_config& given,
                                                  const std::set<std::string>& read);
/// Given keys that a pod, SIP or cube does not read: of links and levels it has only one of. `built` is what
/// the platform made of the config.
[[nodiscard]] std::vector<unread_key> unread_keys(const loaded_config& given,
                                                  const config::machine_config& built);

/// A line below the table that names the keys to report; empty when there are none.
[[nodiscard]] std::string unread_text(const std::vector<unread_key>& keys);

/// Everything about an invocation that result.json states beside its runs.
struct result_context {
  std::string platform;  ///< "diecast-pod"
  std::string version;
  std::string config_sha256;
  std::uint64_t seed{};
  std::vector<std::string> argv;
  machine_shape shape;
  std::vector<unread_key> unread{};  ///< keys given without effect
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

// Ops and streams of a workload in results.

/// Adds "ops" and "streams" to the object of a run of a workload; nothing to that of another run.
void write_workload(const run_outcome& o, nlohmann::ordered_json& run);

/// The streams and the first ops as text, under the run's row; empty for a run that is no workload.
[[nodiscard]] std::string workload_table(const run_outcome& o);

// Results of --explain, for the table and for result.json.

/// A line for the bound, for each cause from the largest on, and for the rest. Precondition: o.why.
[[nodiscard]] std::string explanation_text(const run_outcome& o);
[[nodiscard]] nlohmann::ordered_json explanation_json(const explanation& e);

// Texts of --estimate (platforms/run/bound.hpp).

struct run_estimate;
/// Rows of a size and rank set follow each other, the fastest first; those without a time come last.
[[nodiscard]] std::string estimate_table(const std::vector<run_estimate>& rows);
/// Schema diecast.estimate/1.
[[nodiscard]] std::string estimate_json(const result_context& context, const std::vector<run_estimate>& rows);
[[nodiscard]] std::string estimate_csv(const std::vector<run_estimate>& rows);

}  // namespace diecast::platforms
