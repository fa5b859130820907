// SPDX-License-Identifier: Apache-2.0
// Which kernel a collective of a workload runs: the one it names, the fastest by estimates, or the one that
// comm.deterministic_reduction puts in its place.
#pragma once

#include <string>

#include "sw/workload/op_kind.hpp"

namespace diecast::sw {

struct kernel_choice {
  const kernel_entry& kernel;
  std::string reason;  ///< empty when the op names it, or no rule applies
};

/// Throws user_error: no such algorithm, none that runs on the group, none that can run, or a
/// rule of the user's that cannot be followed.
[[nodiscard]] kernel_choice choose_kernel(const op_request& r, const argument_context& launch);

/// The kernel's pattern. Throws std::logic_error when it is in no table (registries are checked for that).
[[nodiscard]] const comm::pattern_entry& pattern_of(const op_request& r, const kernel_entry& kernel);

}  // namespace diecast::sw
