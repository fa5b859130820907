// SPDX-License-Identifier: Apache-2.0
// Transfers over servers without packets: the engine of message fidelity and of estimates.
//
// A transfer is what one descriptor moves (a slot with its token, a credit, the packets of a copy). It
// crosses the stages of its route: links of a NoC, sides of dies, links between SIPs. Each stage is a server
// with a rate and a latency. The head of a transfer goes from stage to stage after their latencies
// (cut-through within a die; a packet at a time between dies); the servers determine when its tail follows.
//
// Transfers that overlap at a server share it as packets under round robin would, over queues: one per input,
// class and leg; at the interface of a source one per flow and class. Within a queue flits are served as they
// arrive: a transfer waits for the flits of earlier ones that have arrived, not for those that a slow link
// has yet to deliver. The ends of all transfers at a server are computed again whenever one joins. A transfer
// that leaves a server so late that the buffers after the previous server are full keeps its queue there
// occupied (back-pressure), up to the interface of its source; flows share a buffer there, so that a delay of
// one delays the others.
//
// Events: one per die that a transfer enters, one per link between dies, one at its end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "models/timing/event_queue.hpp"
#include "models/types/time.hpp"

namespace diecast::timing {

/// A server on a route. Times are ns.
struct route_stage {
  std::uint32_t server{};
  std::uint8_t leg{};     ///< leg of the VC after the server
  double latency_ns{};    ///< time from the head at this stage to the head at the next
  double frame_ns{};      ///< between dies: time of a frame, which must be complete to be used; 0: no frames
  double buffer_flits{};  ///< room of one VC behind this server, flits
  bool between_dies{};    ///< stores a packet before it sends it; a stage of the next die follows
  bool begins_die{};  ///< first stage of a die: the transfer joins all servers of the die at the same time
};
using transfer_route = std::vector<route_stage>;

/// Size and class of a transfer.
struct transfer_shape {
  std::uint32_t packets{1};
  std::uint32_t flits{1};         ///< flits of all packets, headers included
  std::uint32_t packet_flits{1};  ///< flits of a full packet
  std::uint8_t traffic_class{};
  std::uint16_t flow{};  ///< flows share the interface of the source by round robin
};

class transfer_engine {
 public:
  /// `done(user, tail)` is called when the last flit of a transfer has left its last stage; `left(user,
  /// time)` when all but the last packets of it have left its source. Both may start transfers.
  struct listener {
    std::function<void(std::uint32_t user, sim_time tail)> done;
    std::function<void(std::uint32_t user, sim_time at)> left;
  };
  /// Events of the engine have kinds from `first_kind` on, `kinds` of them.
  transfer_engine(event_queue& events, std::uint32_t first_kind, listener who);
  static constexpr std::uint32_t kinds = 3;

  /// `flit_ns`: the time of a flit. Servers are numbered from 0.
  std::uint32_t add_server(double flit_ns);

  /// Starts a transfer whose first flit is at the first stage at `head`, its last not before `tail` (by the
  /// rate of its source). The route must live as long as the engine. `last_packets`: listener::left is called
  /// when this number of packets has yet to leave; 0: it is not called.
  void start(const transfer_route& route, const transfer_shape& shape, sim_time head, sim_time tail,
             std::uint32_t user, std::uint32_t last_packets);
  /// An event of the engine is due.
  void handle(const timed_event& e);

  /// Packets times outputs of routers so far.
  [[nodiscard]] std::uint64_t packet_hops() const { return packet_hops_; }
  /// Packets and flits sent over a server so far.
  struct use {
    std::uint64_t packets{}, flits{};
    double flit_ns{};
  };
  [[nodiscard]] use use_of(std::uint32_t number) const {
    const server& s = servers_.at(number);
    return {s.packets, s.flits, s.flit_ns};
  }

 private:
  enum event_kind : std::uint32_t { join, end, leave };
  struct entry {
    std::uint32_t transfer{};
    std::uint32_t stage{};
    std::uint64_t queue{};
    double head{};    ///< arrival of the first flit
    double work{};    ///< ns
    double rest{};    ///< work left at `asof`, ns
    double asof{};    ///< rest drains from here to `end`
    double end{};     ///< time at which the server has sent the transfer
    double come{};    ///< time at which all of the transfer has arrived
    double supply{};  ///< earliest `end`: `come`, or its start plus all its work
    double hold{};    ///< time until which the transfer's queue is blocked
    double packet{};  ///< work of a packet, ns
    std::uint8_t traffic_class{};
    std::size_t place{};  ///< share(): index of its queue among those of the server
  };
  struct server {
    double flit_ns{};
    std::vector<entry> entries;  ///< transfers in the order in which they joined
    std::uint64_t packets{}, flits{};
    /// Transfers from this source that have not begun to leave. The first of a queue has an event.
    std::vector<std::pair<std::uint64_t, std::deque<std::uint32_t>>> waiting;
  };
  struct transfer {
    const transfer_route* route{};
    transfer_shape shape;
    std::uint32_t user{};
    std::uint32_t next{};  ///< stage to join
    double head{}, tail{};
    double begin{};             ///< time at its source
    double pace{};              ///< ns per flit at its source, or of a slower server that delays it
    double tail_path{};         ///< sum of the tail's latencies up to `next`
    std::vector<double> ends;   ///< by stage: when its server has sent it
    std::vector<double> paths;  ///< by stage: tail_path after its server
    std::uint32_t last_packets{};
    bool queued{};  ///< the transfer is in `waiting` of its source
    bool has_left{};
    bool finished{};
  };

  [[nodiscard]] static sim_time at(double ns) { return nanoseconds(ns > 0 ? ns : 0); }
  std::uint32_t open();
  void close_if_over(std::uint32_t id);
  void advance(std::uint32_t id);
  [[nodiscard]] bool waits_at_source(std::uint32_t id);
  [[nodiscard]] static std::deque<std::uint32_t>& waiting_in(server& s, std::uint64_t queue);
  [[nodiscard]] std::uint64_t queue_at(const transfer& t, std::uint32_t stage) const;
  void cross_die(std::uint32_t id);
  void cross_link(std::uint32_t id);
  void join_stage(std::uint32_t id, std::uint32_t stage);
  static void drain(server& s, double now);
  [[nodiscard]] static double come_by(const entry& e, double when, double all_here);
  [[nodiscard]] static double begins_behind(const entry& before, double now, double buffer_ns);
  void share(server& s, double now);
  void moved(const entry& e);
  void hold_turns(server& s, std::size_t held, double until);
  void press_back(transfer& t, std::uint32_t id, std::uint32_t stage);
  [[nodiscard]] double leaves_at(const transfer& t) const;

  event_queue& events_;
  std::uint32_t first_kind_;
  listener listener_;
  std::vector<server> servers_;
  std::vector<transfer> transfers_by_id_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint64_t> queues_;  ///< share(): queues of a server
  std::vector<double> totals_;         ///< share(): work of each queue
  std::uint64_t packet_hops_{};
};

}  // namespace diecast::timing
