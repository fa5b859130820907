// SPDX-License-Identifier: Apache-2.0
// What the machine's own monitors measured, each beside what the config promises: health.csv.
#pragma once

#include <map>
#include <string>

#include "platforms/netlist/pod.hpp"
#include "platforms/run/prepare.hpp"
#include "platforms/run/process_group.hpp"

namespace diecast::platforms {

/// The longest way of a credit to each PE that a queue pair lets send, through an idle fabric. ns.
using credit_ways = std::map<pe_coord, double>;

/// How long a credit to `pe` may be on its way while nothing is in it, in ns. A credit that comes where no
/// queue pair sends from, by whatever fault, is held to the longest way of all, not to none.
[[nodiscard]] double expected_credit_ns(const credit_ways& idle, pe_coord pe);

/// Rows of measure, where, value, expected, unit, one a line. core_clock, of each member's core: cycles of
/// its instructions over their time. link_rate, where each UCIe side and SIP link arrives that carried
/// packets of several flits. crc_errors, of each UCIe side with any: frames that came corrupted; expected by
/// its bit error rate. packets, of each UCIe side, SIP link and PE inlet where another number came
/// than left: those that came; expected: those that left (of a run that was cut off, packets on their way
/// look lost). credit_arrival, of each UCIe side and SIP link where a credit came later than it had to: age
/// of the oldest that came; expected: of the oldest, had the link kept its time (one that is late, but
/// younger than another that waited before the link, does not show). wrong_checksums and out_of_order,
/// likewise, under comm.checksum: packets of messages that came with a wrong checksum, or not behind the one
/// before of their flow; expected: those that had left so. credits_skipped, of each queue pair with any:
/// credits that never came, as the next one's number shows. credit_latency_max, of each member that got any:
/// from a release to its credit; expected: as expected_credit_ns() says. `group`: of the processes that
/// simulate the other SIPs; null when this one has all.
[[nodiscard]] std::string health_rows(const prepared_run& run, netlist::pod& pod, process_group* group);

}  // namespace diecast::platforms
