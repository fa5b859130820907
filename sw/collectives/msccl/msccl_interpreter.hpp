// SPDX-License-Identifier: Apache-2.0
// A collective program (MSCCL) as a kernel: one program image per rank in TCM, interpreted with a
// cooperative task per thread block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sw/collectives/base/kernel_table.hpp"
#include "sw/collectives/msccl/program.hpp"

namespace diecast::sw {

/// All data for one launch of a program. `edges` is the kernel's pattern; load_images (sw/host) writes
/// `images`.
struct msccl_run {
  kernel_entry kernel;          ///< name "msccl"; its pattern is `edges`
  comm::program_wiring wiring;  ///< includes the name of every queue pair
  std::vector<comm::edge> edges;
  std::uint32_t queue_pairs_needed{};              ///< per PE, the most of any rank
  std::vector<std::vector<std::uint64_t>> images;  ///< program of each rank, for the start of its scratch
  comm::ring_slots ring;                           ///< shape of all its slot rings
  std::vector<std::string> notes;  ///< for the user: slices, FIFO depth, size outside the file's range
};

/// Plans a run of `p` over `c.members`. `c.count` is the whole vector of --bytes: each rank's for
/// all_reduce, the total for the others. Precondition: validate(p) is empty. Throws user_error when
/// the group is not p.ranks PEs, when a rank needs more queue pairs than ipcq.queue_pairs, and when
/// a collective other than all_reduce cannot cut the vector into equal chunks.
[[nodiscard]] msccl_run make_msccl_run(const comm::program& p, const argument_context& c);

/// Runs the program on one PE.
void msccl_interpreter(pe_context& pe);

/// Parameters of the kernel; offsets are bytes from kernel_arguments::scratch, chunks are counted in
/// elements.
struct msccl_parameters {
  std::uint64_t image_words{};
  std::uint64_t slices{}, chunk{}, last_chunk{}, last_elements{}, stride{};
  std::uint64_t staging_offset{};  ///< staging_bytes for each thread block with rrs steps
  std::uint64_t staging_bytes{};
  std::uint64_t scratch_offset{};  ///< the program's scratch buffer
  std::uint64_t padded_input{};    ///< working copy of the last slice's input (out-of-place programs)
  std::uint64_t
      padded_output{};  ///< padded buffer for the output, or for the only buffer of in-place programs
  std::uint64_t whole_output{};  ///< output of an out-of-place program launched in place; else 0
};

}  // namespace diecast::sw
