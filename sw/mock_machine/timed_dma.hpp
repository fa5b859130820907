// SPDX-License-Identifier: Apache-2.0
// The DMA engines and IPCQ engines of the timed mock machine: what firmware starts becomes transfers over the
// fabric's servers, what arrives becomes tokens, credits and events. Costs in cycles are those of hw/pe and
// hw/ipcq.
//
// What lies in another memory (tensors in HBM) is read and written in pieces of a few packets, a quarter of
// the DMA's window each: a request, the memory's access, an answer.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "models/fabric/fabric_servers.hpp"
#include "models/timing/transfer_engine.hpp"
#include "sw/mock_machine/timed_pe.hpp"

namespace diecast::sw {

class timed_dma final : public timed_board {
 public:
  struct setup {
    const fabric::topology& topology;
    const config::machine_config& config;
    timing::event_queue& events;
    memory_map& memory;
    bool data{};  ///< messages and copies move bytes
  };
  /// `pes`: by index; made later.
  timed_dma(const setup& s, const std::vector<std::unique_ptr<timed_pe>>& pes);

  void resume_at(std::uint32_t pe, sim_time when) override { events_.put(when, run_pe, pe); }
  void send(std::uint32_t pe, const protocol::send_request& message) override;
  void credit(std::uint32_t pe, const protocol::credit_request& credit) override;
  void copy(std::uint32_t pe, const protocol::copy_request& copy) override;
  void vector(std::uint32_t pe, sim_time from, std::uint64_t bytes) override;

  /// A packet of another block, from terminal to terminal.
  struct parcel {
    abi::node_address from, to;
    std::uint64_t bytes{};
    abi::traffic_class traffic{};
    std::function<void()> then;  ///< called when all of it has come
  };
  void post(parcel p);
  void at(sim_time when, std::function<void()> then);

  void handle(const timing::timed_event& e);
  /// Whether an event only lets firmware continue.
  [[nodiscard]] static bool is_of_firmware(const timing::timed_event& e) { return e.kind == run_pe; }
  /// Messages and credits that have not taken effect.
  void visit_flights(const std::function<void(bool credit, const abi::ipcq_fields&)>& visit) const;
  /// Packets and flits that have crossed a link, by its index in the topology.
  [[nodiscard]] timing::transfer_engine::use use_of(std::uint32_t link) const {
    return engine_.use_of(fabric_.server_of(link));
  }
  /// Packets that the DMA engines of PEs have sent.
  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t message_bytes() const { return message_bytes_; }
  [[nodiscard]] std::uint64_t packet_hops() const { return engine_.packet_hops(); }

 private:
  enum kind : std::uint32_t {
    run_pe,
    depart,
    token,
    source_read,
    credit_due,
    copy_due,
    piece_due,
    call,
    engine_kinds
  };

 public:
  /// Kinds of events, numbered from 0.
  static constexpr std::uint32_t kinds = engine_kinds + timing::transfer_engine::kinds;

 private:
  /// Something in flight.
  struct item {
    enum class what : std::uint8_t {
      message,
      credit,
      copy,
      vector,
      request,
      answer,
      part,
      store,
      acknowledge,
      parcel
    };
    what kind{};
    std::uint32_t pe{};  ///< index of the PE whose DMA engine has it
    protocol::send_request message;
    protocol::credit_request credit;
    protocol::copy_request copy;
    std::uint32_t receiver{};
    sim_time read_done;  ///< message: of its first packet
    timing::transfer_shape shape;
    std::uint64_t started{}, ended{};  ///< bytes of pieces: begun, and those that are where they should be
    std::uint32_t owner{};             ///< piece: the message or copy it is of
    abi::address from{}, to{};         ///< piece
    std::uint64_t bytes{};             ///< piece
    bool arrived{};                    ///< message, credit: for its flow; copy: it is done
    unsigned open{};                   ///< events that still refer to it
  };
  enum port : unsigned { copy_port, message_port, ports };
  struct port_state {
    sim_time last_ready;
    std::deque<std::uint32_t> remote;  ///< items with pieces to begin, in order
    unsigned pieces{};                 ///< pieces in flight
  };
  struct memory_port {
    std::uint32_t server{};
    double read_ns{}, write_ns{};
  };
  struct pe_state {
    config::pe_block block;
    timing::transfer_route tcm;  ///< the TCM's banks as one server
    port_state of[ports];
    std::deque<std::uint32_t> copies;  ///< copies in the order of their starts, in which they also end
  };
  using flow_key = std::pair<std::uint64_t, bool>;  ///< sender and receiver; credits

  std::uint32_t open(item::what made, std::uint32_t pe, unsigned references);
  void release(std::uint32_t id);
  [[nodiscard]] sim_time edge(std::uint64_t cycles) const {
    return clock_.edge_at_or_after(events_.now()) + clock_.cycles(cycles);
  }
  [[nodiscard]] sim_time ready_at(std::uint32_t pe, port which, sim_time handed_over);
  [[nodiscard]] std::uint64_t tcm_cycles(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t read_cycles(std::uint32_t pe, std::uint64_t bytes) const;
  [[nodiscard]] bool is_local(std::uint32_t pe, abi::address a) const;
  [[nodiscard]] const memory_port& memory_at(abi::address a);
  [[nodiscard]] abi::node_address node_of(std::uint32_t pe) const {
    const pe_coord at = shape_.pe_at(pe);
    return {static_cast<std::uint16_t>(at.sip.value), static_cast<std::uint16_t>(at.cube.value),
            static_cast<std::uint16_t>(at.pe.value)};
  }
  [[nodiscard]] const timing::transfer_route& route_of(const item& i);

  void depart_at(sim_time when, std::uint32_t id) { events_.put(when, depart, id); }
  void move_bytes(abi::address from, abi::address to, std::uint64_t bytes);
  void begin(std::uint32_t id);
  void start(std::uint32_t id);
  [[nodiscard]] static bool is_of_dma(const item& i);
  void pump(std::uint32_t pe, port which);
  void start_piece(std::uint32_t pe, port which, std::uint32_t owner);
  void transfer_done(std::uint32_t id, sim_time tail);
  void transfer_left(std::uint32_t id, sim_time at);
  void answered(std::uint32_t id, sim_time there);
  void piece_done(std::uint32_t id);
  void message_here(std::uint32_t id, std::uint64_t last_bytes, sim_time there);
  void copy_done(std::uint32_t id);
  void deliver(const flow_key& flow);
  [[nodiscard]] flow_key flow_of(const item& i) const;

  const fabric::topology& topology_;
  const config::machine_config& config_;
  machine_shape shape_;
  clock_domain clock_;
  timing::event_queue& events_;
  memory_map& memory_;
  bool data_;
  timing::transfer_engine engine_;
  fabric::fabric_servers fabric_;
  const std::vector<std::unique_ptr<timed_pe>>& pes_;
  std::vector<pe_state> states_;
  std::map<abi::node_address, memory_port> memories_;
  std::deque<item> items_;  ///< a deque: references stay good
  std::vector<std::uint32_t> free_items_;
  std::map<flow_key, std::deque<std::uint32_t>> flows_;
  std::map<std::uint32_t, parcel> parcels_;  ///< by item
  std::vector<std::byte> moved_;             ///< kept for its memory
  std::uint64_t messages_{}, packets_{};
  std::uint64_t message_bytes_{};
};

}  // namespace diecast::sw
