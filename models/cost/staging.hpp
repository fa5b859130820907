// SPDX-License-Identifier: Apache-2.0
// Costs of tensors in HBM (ccl.tensor_kind = hbm): bytes that a rank reads and writes, best size of the
// chunks in TCM, load of network interfaces and HBM ports.
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

/// Least bytes that a rank reads of its input and writes of its output, in place, for a collective of `n`
/// bytes (as in cost::bound_request) over `ranks`.
struct staged_bytes {
  double read{};
  double written{};
};
[[nodiscard]] staged_bytes staged_bytes_of(comm::collective what, double n, std::uint32_t ranks, bool root);

/// Least bytes of flits, requests and answers included, that copying `b` takes at the PE's network interface.
struct staged_wire {
  double in{};
  double out{};
};
[[nodiscard]] staged_wire staged_wire_of(const config::machine_config& c, const staged_bytes& b);

/// Bytes that the busiest HBM port reads and writes, for the tensors of one rank or of all ranks that share
/// the port.
[[nodiscard]] double busiest_port_bytes(const fabric::topology& t, const config::machine_config& c,
                                        const bound_request& r);

/// Time from the start of a DMA copy's doorbell write until its first packet is at the network interface.
[[nodiscard]] sim_time copy_departure(const config::machine_config& c);

/// Times of one element on an idle machine with a memory of zero latency: the least of all members.
struct staged_idle {
  sim_time read;   ///< from a rank's HBM to its TCM, by a copy
  sim_time fetch;  ///< from a rank's HBM to its DMA, which sends it in a message: time in the network only
  sim_time write;  ///< to HBM, by a copy
};
[[nodiscard]] staged_idle staged_idle_of(const fabric::topology& t, const config::machine_config& c,
                                         const comm::group& g);

/// Bytes of a rank's vector to work on at a time. Nothing overlaps with reading the first chunk and writing
/// the last, so chunks should be small; every chunk adds the collective's message latencies once more, so
/// they should be large.
[[nodiscard]] std::uint64_t best_chunk_bytes(const config::machine_config& c, std::uint32_t ranks,
                                             std::uint64_t bytes);

}  // namespace diecast::cost
