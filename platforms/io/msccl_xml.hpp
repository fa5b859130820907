// SPDX-License-Identifier: Apache-2.0
// Reads MSCCL algorithm programs (XML) as MSCCL's and RCCL's runtimes do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/comm/program.hpp"

namespace diecast::platforms {

struct msccl_file {
  comm::program program;
  std::vector<std::string> warnings;  ///< unknown elements and attributes, ignored
  std::vector<std::string> notes;     ///< what is run differently than the file says
};

/// Parses and validates. `name` is used in messages. Missing optional attributes: chan 0, send,
/// recv, depid and deps -1, hasdep 0, s the position, proto Simple; inplace follows from the
/// buffers. Protocols LL and LL128 run as Simple, with a note. Throws user_error with every problem
/// of the file, each with its line; broken XML with line and column.
[[nodiscard]] msccl_file parse_msccl(std::string_view text, const std::string& name);

/// Reads a file, a program in XML or an execution plan of MSCCL++ in JSON; throws user_error when it cannot
/// be read, when nothing orders two accesses to a chunk (comm::check_result::races), else as parse_msccl.
[[nodiscard]] msccl_file load_msccl(const std::string& path);

}  // namespace diecast::platforms
