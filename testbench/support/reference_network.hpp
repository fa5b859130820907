// SPDX-License-Identifier: Apache-2.0
// A network of input-buffered routers, one flit and one cycle at a time: slow and obvious. What hw/noc
// computes with one look per packet and hop is judged by it; it shares no code with it.
//
// Cycle t of a router, as in a textbook pipeline (W. Dally and B. Towles, Principles and Practices of
// Interconnection Networks, ch. 16) with the allocators of BookSim2's iq router: separable, one
// iteration, round-robin priorities that move on only for what was accepted (iSLIP).
//   1. Flits and credits that arrive in t are in their buffers.
//   2. The head in front of an idle VC is routed: routing cycles.
//   3. VC allocation among routed heads and free output VCs: vc_alloc cycles.
//   4. Switch allocation among VCs with a flit and a credit, one flit per input and per output.
//   5. The winner is at the next router switch_alloc + traversal + link cycles later; its credit is
//      usable upstream credit cycles after t. A tail frees its output VC for the next cycle.
// With `overlap` a head is routed while the packet before it in the VC leaves, and VC allocation is part of
// the switch allocation. With `hold` a packet keeps input and output until its tail has passed against
// packets of its own class. With `whole_packets` a head leaves when there is room for all of the packet.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace diecast::test {

/// Shares of the saturation throughput up to which a tolerance of the mean latency holds, and tolerances as
/// shares of what is compared with.
inline constexpr double low_load = 0.7, high_load = 0.9;
inline constexpr double low_tolerance = 0.05, high_tolerance = 0.10, throughput_tolerance = 0.05;

struct reference_packet {
  std::uint64_t created{};
  std::uint32_t source{}, destination{};
  std::uint32_t flits{1};
  std::uint32_t traffic_class{};
  std::uint64_t tail_ejected{};  ///< result
};

class reference_network {
 public:
  struct vc_range {
    std::uint32_t first{}, count{};
  };
  /// Where a packet in `vc` at `router` goes next.
  struct hop {
    std::uint32_t output{};
    vc_range vcs;
  };
  struct parameters {
    std::uint32_t routers{};
    std::uint32_t ports{};  ///< per router; terminals are ports too
    std::uint32_t vcs{4};
    std::uint32_t routing{1}, vc_alloc{1}, switch_alloc{1}, traversal{1}, link{1}, credit{2}, ni_in{2};
    bool overlap{}, hold{}, whole_packets{};
    bool port_per_vc{};                      ///< an input sends to all outputs that choose it
    std::vector<std::uint32_t> buffer;       ///< by VC, in flits
    std::vector<std::uint32_t> class_of_vc;  ///< for `hold`
    std::vector<std::uint32_t> neighbor;     ///< [router * ports + output] input it feeds, or none
    std::vector<std::uint32_t> terminal;     ///< [node] router * ports + port, input and output
    std::function<hop(std::uint32_t router, std::uint32_t vc, const reference_packet&)> route;
    std::function<vc_range(const reference_packet&)> inject;
  };
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit reference_network(parameters p);
  /// Packets of a source are sent in the order they are queued.
  void queue(reference_packet* p) { sources_[p->source].waiting.push_back(p); }
  void step();
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t flits_ejected() const { return flits_ejected_; }
  [[nodiscard]] std::uint64_t packets_in_flight() const { return in_flight_; }

 private:
  struct flit {
    reference_packet* packet;
    std::uint32_t number;
    std::uint64_t arrival;
    [[nodiscard]] bool head() const { return number == 0; }
    [[nodiscard]] bool tail() const { return number + 1 == packet->flits; }
  };
  enum class state { idle, routing, allocating, active };
  struct input_vc {
    std::deque<flit> buffer;
    state at{state::idle};
    std::uint64_t front_since{};  ///< the packet in front may be looked at from here on
    std::uint64_t ready{};        ///< next stage from here on
    std::uint32_t output{}, output_vc{};
    std::uint32_t pointer{};  ///< output VC that VC allocation accepts first
  };
  struct output_vc {
    std::uint32_t credits{};
    bool taken{};
    std::uint64_t free_from{};
    std::uint32_t pointer{};  ///< input VC that VC allocation grants first
  };
  struct source {
    std::deque<reference_packet*> waiting;
    std::uint32_t sent{};
    std::uint32_t vc{none}, last_vc{none};
    std::vector<output_vc> vcs;
  };
  struct channel_flit {
    flit f;
    std::uint32_t vc;
  };
  struct channel_credit {
    std::uint64_t at;
    std::uint32_t vc;
  };

  void receive();
  void inject(std::uint32_t node);
  void route_heads(std::uint32_t router);
  void allocate_vcs(std::uint32_t router);
  void allocate_switch(std::uint32_t router);
  [[nodiscard]] bool may_send(std::uint32_t input, std::uint32_t vc, std::uint32_t& output);
  void send(std::uint32_t input, std::uint32_t vc);
  [[nodiscard]] input_vc& in(std::uint32_t port, std::uint32_t vc) { return in_[port * p_.vcs + vc]; }
  [[nodiscard]] output_vc& out(std::uint32_t port, std::uint32_t vc) { return out_[port * p_.vcs + vc]; }
  [[nodiscard]] std::uint32_t free_vc(std::uint32_t output, const hop& h, const reference_packet& p);

  parameters p_;
  std::uint64_t now_{};
  std::uint64_t flits_ejected_{}, in_flight_{};
  std::vector<input_vc> in_;                ///< [router * ports + input][vc]
  std::vector<output_vc> out_;              ///< [router * ports + output][vc]
  std::vector<std::uint32_t> node_of_;      ///< [port] or none
  std::vector<std::uint32_t> feeder_;       ///< [input port] output port that feeds it, or none
  std::vector<std::uint32_t> input_vc_rr_;  ///< [input port] VC with priority
  std::vector<std::uint32_t> grant_rr_;     ///< [output port] input with priority
  std::vector<std::uint32_t> accept_rr_;    ///< [input port] output with priority
  std::vector<std::uint32_t> held_by_;      ///< [output port][class] input VC, for `hold`
  std::vector<std::uint32_t> holds_;        ///< [input port][class] VC
  std::vector<std::deque<channel_flit>> to_input_;
  std::vector<std::deque<channel_flit>> to_node_;
  std::vector<std::deque<channel_credit>> to_output_;
  std::vector<std::deque<channel_credit>> to_source_;
  std::vector<source> sources_;
};

}  // namespace diecast::test
