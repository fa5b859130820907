// SPDX-License-Identifier: Apache-2.0
// --traffic transactions:FILE. A line is a JSON object: "core": [COLUMN, ROW], "network", "op" (read, write,
// posted_write, atomic, barrier), "target": [COLUMN, ROW] and "bytes", and "at" (recorded cycle of its issue)
// or "after" (cycles after the issue of the operation before in its stream, of a barrier after its end). A
// barrier may have "until", its recorded end. The lines of a core and network are a stream, in order.
#pragma once

#include <filesystem>

#include "models/traffic/transactions.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {

/// Throws user_error with the lines that are wrong, and where `config` has no networks for transactions.
[[nodiscard]] traffic::transaction_plan read_transactions(const std::filesystem::path& file,
                                                          const config::machine_config& config);

/// simulate() of a point with transactions: elaborates the networks in this process and runs them to their
/// end.
[[nodiscard]] study_outcome simulate_transactions(const study_point& point, const network& net);

}  // namespace diecast::noc
