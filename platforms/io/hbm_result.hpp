// SPDX-License-Identifier: Apache-2.0
// Results of memory studies as JSON, CSV and tables.
#pragma once

#include <string>
#include <vector>

#include "platforms/hbm/study.hpp"
#include "platforms/io/result_json.hpp"

namespace diecast::hbm {

/// schema diecast.result/1; `context.shape` is not used.
[[nodiscard]] std::string result_json(const platforms::result_context& context, const config::hbm_block& hbm,
                                      const std::vector<study_outcome>& runs);
[[nodiscard]] std::string result_csv(const std::vector<study_outcome>& runs);
/// `pattern`: what all rows share.
[[nodiscard]] std::string table_header(const std::string& pattern);
[[nodiscard]] std::string table_row(const study_outcome& o);

/// The whole outcome, for the pipe between a run and its parent.
[[nodiscard]] std::string pack(const study_outcome& o);
/// Throws std::runtime_error when the text is not what pack() wrote.
[[nodiscard]] study_outcome unpack(const std::string& text);

}  // namespace diecast::hbm
