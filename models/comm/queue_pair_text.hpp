// SPDX-License-Identifier: Apache-2.0
// Texts of engines and firmware that name queue pairs. What a run calls a queue pair only its pattern or
// program knows (prepared_run::direction_name), so the text has a mark in place of each name until it is
// printed.
#pragma once

#include <string>
#include <string_view>

#include "models/comm/install_plan.hpp"

namespace diecast::comm {

/// The mark of a queue pair of `owner`; its name is filled up with spaces to `width`.
[[nodiscard]] std::string queue_pair_mark(pe_coord owner, direction d, unsigned width = 0);
/// The text with every mark replaced by the name that `names` gives.
[[nodiscard]] std::string with_names(std::string_view marked, const direction_namer& names = generic_names());

}  // namespace diecast::comm
