// SPDX-License-Identifier: Apache-2.0
// The machine on which a collective program runs: what its defaults are too small for, the program's needs
// replace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/comm/mappers.hpp"
#include "platforms/io/msccl_xml.hpp"
#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

struct machine_model;

struct program_setup {
  msccl_file file;
  comm::group members;
  std::unique_ptr<const machine_model> machine;  ///< null: the given one has all that the program needs
  std::vector<std::string> notes;                ///< what was changed, and why
  /// Output is the input's buffer. The buffers of an out-of-place program are its own to use until its end.
  [[nodiscard]] bool in_place() const;
};
/// Reads the program of `point` and gives it as many queue pairs as it has FIFOs, receive rings that leave it
/// half of the TCM, and tensors in HBM where the TCM has no room for them. Throws user_error.
[[nodiscard]] program_setup set_up_program(const machine_model& machine, const run_point& point);

}  // namespace diecast::platforms
