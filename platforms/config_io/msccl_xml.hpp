// SPDX-License-Identifier: Apache-2.0
// Reads MSCCL algorithm programs (XML) as MSCCL's and RCCL's runtimes do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sw/collectives/msccl/program.hpp"

namespace diecast::platforms {

struct msccl_file {
  comm::program program;
  std::vector<std::string> warnings;  ///< unknown elements and attributes, ignored
  std::vector<std::string> notes;     ///< differences of the run from the file
};

/// Parses and validates. `name` is used in messages. Missing optional attributes: chan 0, send,
/// recv, depid and deps -1, hasdep 0, s the position, proto Simple; inplace follows from the
/// buffers. Protocols LL and LL128 run as Simple, with a note. Throws user_error with every problem
/// of the file, each with its line; broken XML with line and column.
[[nodiscard]] msccl_file parse_msccl(std::string_view text, const std::string& name);

/// Reads a file, a program in XML or an execution plan of MSCCL++ in JSON; throws user_error when it cannot
/// be read, when nothing orders two accesses to a chunk (comm::check_result::races), else as parse_msccl.
[[nodiscard]] msccl_file load_msccl(const std::string& path);

// Execution plans of MSCCL++ (JSON): as they are written, and as programs. A plan writes to and reads from
// memory of other GPUs, and orders that by signals; a program sends and receives.

/// Consecutive chunks of a buffer of a GPU.
struct plan_chunks {
  std::int64_t rank{};
  bool remote{};  ///< the chunks belong to another GPU than the one that runs the operation
  comm::program_buffer buffer{};
  std::int64_t first{}, count{};
};
/// The `ordinal`th channel of a type between two GPUs: each end counts its own.
struct plan_channel {
  std::string type;  ///< memory or port
  std::int64_t peer{}, ordinal{};
};
struct plan_op {
  std::string name;
  std::uint32_t place{};  ///< index into comm::program::places
  std::vector<plan_chunks> sources, destinations;
  std::vector<plan_channel> channels;
  std::int64_t barrier{}, blocks{};
  std::vector<std::size_t> semaphores;
  std::size_t
      packets{};  ///< sources from this one on are packets, read when they have come; none: their number
  bool writes_packets{};  ///< into memory of its own GPU
};
using plan_block = std::vector<plan_op>;
struct plan_gpu {
  std::vector<std::int64_t> semaphores;  ///< initial values
  std::vector<plan_block> blocks;
};
struct execution_plan {
  std::vector<plan_gpu> gpus;
};

/// Turns the operations of the plan into the thread blocks of `p`, of which all else is set. A put is sent by
/// a block of its own for each thread block and peer, and received by one at the peer; a get asks such a
/// block for the data; signals that are no part of a put are messages without data. Throws user_error for
/// what never ends, and for signals and semaphores that two thread blocks of a GPU give or take.
void translate(const execution_plan& plan, comm::program& p);

/// Parses, translates and validates. Throws user_error with the place in the plan.
[[nodiscard]] msccl_file parse_mscclpp(std::string_view text, const std::string& name);

}  // namespace diecast::platforms
