// SPDX-License-Identifier: Apache-2.0
// One description of a network, built twice: of hw/noc's switch_core and of the flit-by-flit
// reference_network. The same packets are played through both.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "hw/noc/switch_core.hpp"
#include "support/reference_network.hpp"

namespace diecast::test {

/// A mesh or torus with a node at every router; dimension order, columns first.
struct network_description {
  std::uint32_t columns{4}, rows{4};
  bool torus{};               ///< two sets of VCs per class: before and after the dateline
  bool oneway{};              ///< a torus whose packets go up only, east and south
  std::uint32_t classes{1};   ///< each with VCs of its own
  std::uint32_t vcs{4};       ///< per class and set
  bool dynamic{true};         ///< any VC of class and set at every hop; else a flow keeps to one
  bool port_per_vc{};         ///< an input sends to all outputs that choose it
  bool whole_packets{};       ///< a head needs room for its packet; else for a flit
  bool pipelined{};           ///< allocation overlaps with the packet before; every flit takes all stages
  bool hold{};                ///< in the reference, packets of one class do not interleave on a link
  std::uint32_t front{2};     ///< routing and VC allocation, cycles
  std::uint32_t vc_alloc{1};  ///< cycles of VC allocation, counted in `front`, too
  std::uint32_t back{3};      ///< switch allocation, traversal and link, cycles
  std::uint32_t credit{2};    ///< a flit leaves its buffer to the use of its credit upstream, cycles
  std::uint32_t ni_in{2};     ///< node to router, cycles
  bool fetch_ahead{};         ///< records are fetched ahead, as in a large network
  std::vector<std::uint32_t> buffer{8};  ///< by class, flits per VC

  [[nodiscard]] std::uint32_t nodes() const { return columns * rows; }
  [[nodiscard]] std::uint32_t sets() const { return torus ? 2 : 1; }
  [[nodiscard]] std::uint32_t vcs_per_class() const { return sets() * vcs; }
  [[nodiscard]] std::uint32_t all_vcs() const { return classes * vcs_per_class(); }
  [[nodiscard]] std::uint32_t hop_cycles() const { return front + back; }
  [[nodiscard]] std::string text() const;
};

struct planned_packet {
  std::uint64_t created{};  ///< cycle
  std::uint32_t source{}, destination{};
  std::uint32_t flits{1};
  std::uint32_t traffic_class{};
};

struct traffic_plan {
  enum class pattern { uniform, transpose, neighbor };
  struct kind {
    std::uint32_t traffic_class{};
    std::uint32_t flits{1};
    std::uint32_t share{1};  ///< weight of this kind of packets against the other kinds
  };
  pattern where{pattern::uniform};
  std::vector<kind> kinds{kind{}};
  double rate{};  ///< flits per node and cycle
  std::uint64_t cycles{};
  std::uint64_t seed{};

  [[nodiscard]] double mean_flits() const;
};

/// Packets in order of creation; of a node at most one per cycle.
[[nodiscard]] std::vector<planned_packet> packets_of(const network_description& n, const traffic_plan& t);

struct played {
  static constexpr std::uint64_t never = UINT64_MAX;
  std::vector<std::uint64_t> arrived;  ///< by packet: cycle of its tail at the node
  double accepted{};                   ///< flits per node and cycle from cycle `from` to `to`
  std::uint64_t cycles{};              ///< played
};

/// Plays until all packets have arrived, but not beyond `limit`. Flits are counted in [from, to).
struct play_window {
  std::uint64_t from{}, to{}, limit{};
};
[[nodiscard]] played play_reference(const network_description& n, const std::vector<planned_packet>& packets,
                                    const play_window& w);
[[nodiscard]] played play_switches(const network_description& n, const std::vector<planned_packet>& packets,
                                   const play_window& w);

/// Mean cycles from creation to the arrival of the tail, of the packets created in [from, to); NaN when one
/// of them has not arrived.
[[nodiscard]] double mean_latency(const std::vector<planned_packet>& packets, const played& p,
                                  std::uint64_t from, std::uint64_t to);

/// The switches alone, with what lies around them.
class switch_network final : public hw::switch_core::environment {
 public:
  struct delivery {
    std::uint32_t packet{};
    std::uint8_t vc{};  ///< VC of the output to the node
    std::uint32_t flits{};
    bool tail{};
    std::uint64_t arrived{};  ///< cycle of the last of the flits
    bool operator==(const delivery&) const = default;
  };

  explicit switch_network(const network_description& n);

  /// Whether the switches tell of what they do.
  void watch(bool on) {
    core_.observe(on);
    core_.observe_credits(on);
  }
  /// Flits that they told of.
  [[nodiscard]] std::uint64_t flits_seen() const { return flits_seen_; }
  /// One cycle. Packets of a node are sent in the order they are queued.
  void queue(const planned_packet& p, std::uint32_t number);
  void step();
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t flits_ejected() const { return flits_ejected_; }
  [[nodiscard]] const std::vector<delivery>& deliveries() const { return deliveries_; }
  /// Nothing is under way and all credits are there or on their way.
  [[nodiscard]] bool at_rest() const;
  [[nodiscard]] const hw::switch_core& core() const { return core_; }
  /// Outputs of the routers; those of the sources have the numbers behind.
  [[nodiscard]] std::uint32_t outputs() const { return sources_; }

  [[nodiscard]] hw::switch_core::hop route(std::uint16_t router, std::uint16_t exit,
                                           std::uint8_t vc) const override;
  void eject(const hw::switch_core::departure& d, hw::packet_ptr&& p) override;
  void delay(std::uint32_t output, std::uint8_t vc, std::uint64_t last) override;
  void return_credit(std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t) override {}
  void occupied(std::uint32_t, std::uint8_t, std::uint32_t flits, std::uint64_t, std::uint64_t) override {
    flits_seen_ += flits;
  }

 private:
  [[nodiscard]] hw::switch_core::parameters build();
  void add_source(hw::switch_core::parameters& p, std::uint32_t node) const;
  [[nodiscard]] hw::switch_core::port router_port(std::uint32_t router) const;

  /// What leaves the network, and when its next flit does.
  struct leaving {
    std::size_t delivery;
    std::uint32_t output;
    std::uint32_t flits;  ///< that have not left
    std::uint64_t next, last;
  };
  void return_credits();
  void return_credit(const leaving& l, std::uint64_t left);
  /// Grant of a flit to its arrival at the node.
  [[nodiscard]] std::uint64_t way_out() const { return n_.back + (n_.pipelined ? n_.front : 0); }

  const network_description n_;
  std::vector<std::uint32_t> port_;  ///< [router][side], the node's last
  std::uint32_t sources_{};          ///< port of the first node's source
  hw::packet_pool pool_;
  hw::switch_core core_;
  std::uint64_t now_{};
  std::uint64_t flits_ejected_{};
  std::uint64_t flits_seen_{};
  std::map<std::uint64_t, std::uint64_t> arriving_;  ///< flits, by cycle
  std::vector<leaving> leaving_;
  std::vector<delivery> deliveries_;
};

}  // namespace diecast::test
