// SPDX-License-Identifier: Apache-2.0
// What switch_core keeps of packets, VCs, ports and transfers. Records that an evaluation or a grant reads
// are laid out by cache lines.
#pragma once

#include <array>
#include <cstdint>

#include "hw/base/packet.hpp"

namespace diecast::hw {

struct switch_records {
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint64_t never = UINT64_MAX;
  static constexpr unsigned max_vcs = 64;
  static constexpr unsigned max_classes = 8;
  static_assert(max_classes <= 8);  // the ports' bits per class are a byte

  /// Output a packet takes and the VCs it may take at the far end.
  struct hop {
    std::uint32_t output{};
    std::uint16_t first_vc{};  ///< 16 bits, as in `vcs`: without a gap it is handed over in a register
    std::uint16_t vcs{1};
  };

  struct usage {
    std::uint64_t packets{};
    std::uint64_t flits{};                ///< cycles the output was busy
    std::uint64_t credit_stall_cycles{};  ///< cycles in which a packet lacked credits only
  };

  /// A packet (or a chunk of one) in an input buffer, linked into the queue of its VC.
  struct alignas(64) slot {
    std::uint64_t ready;       ///< cycle in which the first flit may leave
    std::uint64_t tail_ready;  ///< cycle in which the last flit may leave
    packet_ptr p;
    std::uint32_t flits;
    std::uint32_t next;       ///< next slot of the VC's queue, or of the free list
    std::uint32_t in_vc;      ///< input VC in which the packet waits
    std::uint32_t came_from;  ///< input VC of the previous router, which the packet left
    std::uint16_t exit;
    bool head;  ///< holds the packet's first flit
    bool tail;  ///< holds the packet's last flit
  };
  /// One cache line: allocation reads nothing else of a packet that waits.
  struct alignas(64) in_vc {
    std::uint64_t end{};          ///< one past the last cycle of the latest transfer from this VC
    std::uint64_t front_ready{};  ///< cycle in which the front packet may leave if its output is free
    std::uint32_t first{none};
    std::uint32_t last{none};
    std::uint32_t port{};
    std::uint32_t room{1};          ///< flits of room downstream that the front packet needs
    std::uint32_t priority_from{};  ///< round robin over outputs and their VCs, for VC allocation
    std::uint32_t flits{};          ///< flits in the buffer
    std::uint32_t capacity{};       ///< flits that the buffer holds
    std::uint32_t reroute_delay{};  ///< end of a transfer to the grant of the next head in the VC
    hop to{};                       ///< next hop of `first`
    std::uint16_t router{};
    std::uint8_t vc{};
    std::uint8_t own_class{};     ///< traffic class: packets of one class do not interleave on a link
    std::uint8_t allocated_vc{};  ///< VC at the far end of the packet in front
    bool allocated{};             ///< allocated_vc is valid
  };
  static_assert(sizeof(in_vc) == 64);
  /// The last transfer of a class on an input, where there are several classes.
  struct transfer_progress {
    std::uint32_t slot{none};
    std::uint32_t parts{};  ///< flits sent in the last `cycles` of the transfer: the last by its rate
                            ///< schedule, those before evenly
    std::uint32_t cycles{};
  };
  struct returning_credit {
    std::uint64_t cycle;  ///< cycle in which the first flit's credit is back
    std::uint64_t last;   ///< cycle in which the last flit's credit is back
    std::uint32_t flits;
    std::uint32_t taken;  ///< flits already usable
    std::uint32_t next;
    bool goes_on;  ///< the next record continues this transfer
  };
  struct alignas(32) out_vc {
    std::uint64_t free_from{};       ///< cycle from which on the VC may be allocated
    std::uint64_t next_back{never};  ///< cycle before which no returning credit is back
    std::uint32_t credits{};
    std::uint32_t first{none};  ///< list of credits in flight, in order of time
    /// End of the list. Without a list but with a `next_back`: the number of credits in flight, which are
    /// all back then (only_batch). One member serves both, because the record is half a cache line.
    std::uint32_t last{none};
    std::uint32_t grant_from{};  ///< round robin over input VCs
  };
  static_assert(sizeof(out_vc) == 32);
  struct alignas(32) in_port {
    std::uint64_t next_start{};     ///< as out_port::next_start
    std::uint32_t upstream{none};   ///< output that feeds this input; none: the environment
    std::uint32_t priority_from{};  ///< round robin over outputs
    std::uint32_t credit_cycles{};
    std::uint32_t first_in_vc{};  ///< index of the port's first VC
    std::uint16_t places{};       ///< see in_places_
    std::uint16_t router{};
    std::uint8_t classes{};  ///< bit per class that may be in transfer
    std::uint8_t next_vc{};  ///< round robin over VCs
  };
  static_assert(sizeof(in_port) == 32);
  struct entry_delay {
    std::uint32_t head{}, body{};
  };
  /// Two cache lines: the first for evaluations, the second for grants.
  struct alignas(64) out_port {
    std::uint64_t scheduled{never};
    std::uint64_t taken{};         ///< bit per VC: allocated to a packet that waits or is in transfer
    std::uint64_t next_start{};    ///< no packet starts before it; with one class, the transfer's end
    std::uint64_t starved{};       ///< bit per VC: see starved()
    std::uint64_t asking{};        ///< bit per requester: of the input VCs of its router, the first 64
    std::uint32_t first_in_vc{};   ///< first input VC of its router
    std::uint32_t grant_from{};    ///< round robin over inputs
    std::uint32_t alloc_cycles{};  ///< cycles of VC allocation, where that is a separate stage
    std::uint16_t router{};
    std::uint8_t classes{};  ///< bit per class that may be in transfer
    std::uint8_t next_vc{};  ///< round robin over VCs at the far end
    bool hop{};              ///< the output's link leads to another router
    bool vc_first{};         ///< VC allocation is a stage before the switch's
    bool by_turns{};         ///< without vc_first: VCs are tried round robin, not lowest first
    alignas(64) usage used;
    std::uint32_t downstream{none};
    /// Cycles from a grant to the first possible one at the next router: of a later part, and of a head.
    std::array<std::uint32_t, 2> next_hop_cycles{};
    std::uint32_t credits{};  ///< see initial_credits_
  };
  static_assert(sizeof(out_port) == 128);
  /// The last transfer of a class on an input or an output, where there are several classes.
  struct transfer {
    std::uint64_t end{};
    std::uint32_t in_vc{none};
    std::uint32_t output{};
    std::uint8_t vc{};  ///< VC at the far end
  };
  /// Shared transfers are counted in parts of flits and cycles: rounding with every packet that joins would
  /// add up.
  static constexpr std::uint32_t flit_parts = 256;
  /// How a transfer that shares a port continues: it becomes faster with each other transfer that ends.
  /// A point: in the last `time` of the transfer, `passing` of it is sent, both in parts; the rate is
  /// constant between points, of which the latest is first.
  struct rate_schedule {
    struct point {
      std::uint32_t passing{}, time{};
    };
    std::array<point, max_classes> points{};
    std::uint32_t count{};
  };
  /// Packets at a router where VCs interleave.
  struct occupancy {
    std::uint32_t worms{};      ///< packets here or in flight to here
    std::uint32_t lookahead{};  ///< cycles from learning of another packet to its first request
  };
  /// A free VC of an output and the head it is granted to.
  struct vc_grant {
    std::uint32_t in_vc;
    std::uint32_t out_vc;
  };
  /// A transfer on a port that others use too.
  struct contender {
    std::uint64_t parts{};  ///< parts of flits left to send
    std::uint32_t input{}, output{};
    std::uint32_t streams{};  ///< transfers with the same input and output
  };
  /// What an output has chosen.
  struct choice {
    std::uint64_t next;  ///< cycle in which another requester is ready
    std::uint32_t output;
    std::uint32_t in_vc;  ///< chosen input VC; none: its input has accepted another output
    std::uint32_t vc;     ///< VC at the far end
    bool alone;           ///< no other requester is ready now
  };
  /// A requester that may be granted, and the VC it gets.
  struct candidate {
    std::uint32_t in_vc{none};
    std::uint32_t vc{none};
  };
};

}  // namespace diecast::hw
