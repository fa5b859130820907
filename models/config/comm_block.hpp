// SPDX-License-Identifier: Apache-2.0
// Protection and paths of messages, and the faults of a run. Included only by machine_config.hpp.
#pragma once

#include <cstdint>
#include <string>

// The build's defaults (CMake options DIECAST_CHECKSUM, DIECAST_P2P_REDUCTION, DIECAST_DIRECT_PATH).
#ifndef DIECAST_DEFAULT_CHECKSUM
#define DIECAST_DEFAULT_CHECKSUM none
#endif
#ifndef DIECAST_DEFAULT_P2P_REDUCTION
#define DIECAST_DEFAULT_P2P_REDUCTION false
#endif
#ifndef DIECAST_DEFAULT_PATH
#define DIECAST_DEFAULT_PATH direct
#endif

namespace diecast::config {

/// end_to_end: crc32c per packet, and one checksum per message that firmware computes over the callers'
/// buffers.
enum class packet_checksum : std::uint8_t { none, xor64, crc32c, end_to_end };
enum class transfer_path : std::uint8_t { direct, staged };
/// Sets path, checksum and deterministic_reduction together; explicit values take precedence.
enum class comm_profile : std::uint8_t { none, trusted, defensive };
enum class mr_cache_monitor : std::uint8_t { enabled, disabled };
enum class sendrecv_form : std::uint8_t { one_call, split };
/// Place of the data of a one-call send-receive: the callers' buffers, or separate pages.
enum class sendrecv_buffers : std::uint8_t { none, pages };

struct comm_block {
  comm_profile profile{comm_profile::none};
  packet_checksum checksum{packet_checksum::DIECAST_DEFAULT_CHECKSUM};
  double checksum_gbytes_s{1024.0};  ///< rate of the checksum engine in each DMA, at sender and receiver
  bool deterministic_reduction{DIECAST_DEFAULT_P2P_REDUCTION};
  transfer_path path{transfer_path::DIECAST_DEFAULT_PATH};
  double direct_efficiency{1.0};  ///< share of a SIP link's rate for direct transfers
  sendrecv_form sendrecv{sendrecv_form::one_call};
  sendrecv_buffers staging{sendrecv_buffers::none};     ///< key sendrecv_staging
  mr_cache_monitor monitor{mr_cache_monitor::enabled};  ///< key mr_cache_monitor
  std::uint64_t registration_cycles{400};               ///< per message, with the monitor disabled
};

/// Kinds of injected faults. The table of fault_kinds() has place, mechanism and keys of each kind.
enum class fault_kind : std::uint8_t {
  bit_flip,
  drop,
  duplicate,
  reorder,
  lost_credit,
  late_credit,
  link_down,
  link_degraded,
  token_before_data,
  slow_pe,
  dead_pe,
  wrong_install,
  tag_list_race,
  sendrecv_alias,
  dispatch_corruption,
  stale_cache_line,
  signal_without_flush,
  infinite_poll,
  premature_barrier
};

/// One entry of `faults`.
struct fault_setting {
  fault_kind kind{};
  std::string where;          ///< glob over instance paths of PEs, UCIe sides or SIP ports
  std::uint64_t after{0};     ///< matching packets or operations before the first that is hit
  std::uint64_t count{1};     ///< matching packets or operations hit; 0: all from then on
  double from_us{0.0};        ///< the fault is inactive before this time
  double probability{1.0};    ///< chance that a matching packet or operation is hit
  double delay_ns{10'000.0};  ///< delay of late_credit, reorder, token_before_data, premature_barrier
  double factor{8.0};         ///< slow_pe, link_degraded: how many times slower
  std::string variant;        ///< key `how` of wrong_install and dispatch_corruption
  std::uint64_t seed{1};      ///< seed of random choices: the bit to flip, and whether the fault acts
  bool operator==(const fault_setting&) const = default;
};

}  // namespace diecast::config
