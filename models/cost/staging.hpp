// SPDX-License-Identifier: Apache-2.0
// Tensors in HBM (ccl.tensor_kind = hbm): what a rank reads and writes of its own, how large the chunks
// should be that firmware works on, what the network interface and the HBM ports need for them.
#pragma once

#include <cstdint>

#include "models/comm/collective.hpp"
#include "models/comm/patterns.hpp"
#include "models/config/machine_config.hpp"
#include "models/cost/lower_bound.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/time.hpp"

namespace diecast::cost {

[[nodiscard]] bool has_hbm_tensors(const config::machine_config& c, comm::collective what);

/// Bytes that a rank must read of its input and write of its output, in place, at least. `n` bytes as
/// cost::bound_request has them, over `ranks`.
struct staged_bytes {
  double read{};
  double written{};
};
[[nodiscard]] staged_bytes staged_bytes_of(comm::collective what, double n, std::uint32_t ranks, bool root);

/// Bytes of flits, and of the requests and answers that go with them, that a copy of those bytes needs at the
/// PE's network interface at least.
struct staged_wire {
  double in{};
  double out{};
};
[[nodiscard]] staged_wire staged_wire_of(const config::machine_config& c, const staged_bytes& b);

/// Bytes that the busiest HBM port reads and writes of the tensors it holds: those of one rank, or of all
/// that share it.
[[nodiscard]] double busiest_port_bytes(const fabric::topology& t, const config::machine_config& c,
                                        const bound_request& r);

/// The time in which a DMA copy's doorbell is written, and its first packet gets to the network interface.
[[nodiscard]] sim_time copy_departure(const config::machine_config& c);

/// What one element takes on an idle machine with a memory that takes no time: the least of any member.
struct staged_idle {
  sim_time read;   ///< from a rank's HBM to its TCM, by a copy
  sim_time fetch;  ///< from there to its DMA, which sends it in a message: the network alone
  sim_time write;  ///< to HBM, by a copy
};
[[nodiscard]] staged_idle staged_idle_of(const fabric::topology& t, const config::machine_config& c,
                                         const comm::group& g);

/// Bytes of a rank's vector to work on at a time. The first chunk comes in and the last goes out while
/// nothing else can be done, so chunks should be small; every chunk pays once more for the messages that a
/// collective has to wait for, so they should be large.
[[nodiscard]] std::uint64_t best_chunk_bytes(const config::machine_config& c, std::uint32_t ranks,
                                             std::uint64_t bytes);

}  // namespace diecast::cost
