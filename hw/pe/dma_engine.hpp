// SPDX-License-Identifier: Apache-2.0
// The DMA engine of a PE: a compute port and an IPCQ port behind a weighted round-robin arbiter on
// the way out, and the inbound side that writes received packets and serves remote accesses.
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/deque.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "hw/base/pe_interfaces.hpp"
#include "hw/base/terminal_port.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/base/transaction_table.hpp"
#include "hw/mem/tcm_if.hpp"
#include "hw/pe/pe_faults.hpp"

namespace diecast {
enum class fault_kind : std::uint8_t;
struct fault_record;
}  // namespace diecast

namespace diecast::hw {

/// Counts a message, copy or packet without bytes as one byte, so that its end is awaited like any other's.
template <class Bytes>
constexpr Bytes at_least_one(Bytes bytes) {
  return std::max<Bytes>(bytes, 1);
}

/// Whether an IPCQ packet is the last of its message.
[[nodiscard]] constexpr bool ends_message(const abi::packet_header& h) {
  return h.offset + at_least_one(h.payload_bytes) >= at_least_one(h.ipcq.message_bytes);
}

class dma_engine : public sc_core::sc_module,
                   public dma_if,
                   public packet_out_if,
                   private tcm_client,
                   private terminal_port::client {
 public:
  dma_engine(sc_core::sc_module_name name, const pe_setup& pe, const packet_setup& setup);

  block_port<tcm_if> tcm;
  block_port<ipcq_if> ipcq;
  block_port<launch_if> core;
  /// Unbound in a PE without a tag-matching unit: its messages and answers are then protocol errors.
  block_port<message_if> tag_messages;
  [[nodiscard]] terminal_port& terminal() { return terminal_; }
  [[nodiscard]] defect_count early_tokens() const { return publication_->counted(); }

  [[nodiscard]] std::uint64_t messages_sent() const { return messages_sent_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
  enum class inbound_state : std::uint8_t { part_arrived, being_written, held_behind };
  /// Messages not published yet. held_behind: complete, and waits for an earlier one that is part_arrived.
  void visit_inbound(const std::function<void(const abi::ipcq_fields&, inbound_state)>& visit) const;
  /// Messages that have not left for the network to their end: descriptors that wait, packets whose bytes are
  /// being read or sealed.
  void visit_outbound(const std::function<void(const abi::ipcq_fields&)>& visit) const;
  /// Bytes that went through the checksum engine in both directions, and the time it took.
  [[nodiscard]] std::uint64_t checksum_bytes() const { return checksum_bytes_; }
  [[nodiscard]] sim_time checksum_time() const { return checksum_time_; }
  /// The longest time of flight of a credit to this PE.
  [[nodiscard]] sim_time slowest_credit() const { return slowest_credit_; }
  /// Nothing queued, read, in flight or half received.
  [[nodiscard]] bool idle() const;
  /// Nothing but accesses of the core is in flight.
  [[nodiscard]] bool serves_core_only() const;

  void send_message(const protocol::send_request& message) override;
  void send_credit(const protocol::credit_request& credit) override;
  void start_copy(const copy_request& copy) override;
  void start_access(core_access access) override;
  void send_launch_done(std::uint32_t launch_id) override;
  void send_packet(packet_ptr p) override;
  void release_packet(std::uint8_t vc, std::uint32_t flits) override { terminal_.release(vc, flits); }

 private:
  enum port : unsigned { compute_port, ipcq_port, ports };

  /// A descriptor that is being cut into packets.
  struct job {
    bool is_message{};
    protocol::send_request message;
    copy_request copy;
    std::uint32_t copy_number{};
    std::uint64_t total{};
    std::uint64_t next{};
    sim_time ready;
  };

  /// A memory access or remote transaction in progress and what follows it.
  enum class stage : std::uint8_t {
    message_read,   ///< TCM read for an IPCQ packet: then send it
    message_fetch,  ///< remote read for an IPCQ packet: then send it
    message_write,  ///< write of a received IPCQ packet, local or remote: then acknowledge
    copy_read,      ///< TCM read of a copy chunk: then write it
    copy_fetch,     ///< remote read of a copy chunk: then write it
    copy_write,     ///< TCM write of a copy chunk: then done
    copy_store,     ///< remote write of a copy chunk: then done
    serve_read,     ///< TCM read for a remote read_request: then respond
    serve_write,    ///< TCM write for a remote write_request: then respond
    answer          ///< an access of the core: then report its end to the core
  };
  struct pending {
    stage what{};
    bool used{};
    bool read{};      ///< message_read, message_fetch: the bytes are here, packets before it may not be
    bool buffered{};  ///< message_read, message_fetch: it has a place of the buffer of fetched packets
    std::uint64_t sequence{};
    packet_ptr p;
    std::uint8_t vc{};  ///< buffer to release, for received packets
    bool last{};        ///< last packet of its message or copy
    std::uint16_t qp{};
    std::uint32_t copy_number{};
    std::uint64_t message{};  ///< message_write: the inbound message
    std::uint64_t chunk_bytes{};
    abi::address destination{};
  };

  /// A message being received; its token is published when all of it is acknowledged written and
  /// everything its flow sent before it has been published.
  struct inbound_message {
    abi::ipcq_fields fields;
    std::uint64_t number{};                ///< counts the messages begun here
    std::uint32_t unarrived{};             ///< bytes that have not come; 1 for a message without bytes
    std::uint32_t missing{};               ///< bytes not acknowledged written; 1 for a message without bytes
    sim_time early_by{sim_time::never()};  ///< see publication_rule
    bool published{};
    std::uint64_t digest{};  ///< digest of the parts that have arrived, while a checksum is wanted
  };

  enum class work_kind : std::uint8_t {
    access_finished,
    packet_arrived,
    message_left,
    request_left,
    descriptor_ready,
    send_packet,
    sealed,         ///< the checksum of an outgoing packet is made
    verified,       ///< the checksum of an incoming packet is compared
    buffered_write  ///< the bytes of a message that was announced early leave the write buffer
  };
  /// The engine that computes or compares checksums: packets pass it in order, at its rate.
  struct checksum_engine {
    struct passing {
      sim_time due;
      packet_ptr p;
      std::uint8_t vc{};  ///< VC of a received packet
    };
    sim_time free;  ///< when the engine has processed all bytes given to it
    boost::container::deque<passing> packets;
  };
  struct work {
    work_kind what{};
    std::uint32_t index{};
    std::uint8_t vc{};
    packet_ptr p;
  };

  void tcm_done(std::uint64_t tag, sim_time finish) override;
  void on_packet(const packet_ptr& p, std::uint8_t vc) override;
  void on_sent(abi::traffic_class c) override;

  void act();
  void do_work(work& w);
  void pump();
  [[nodiscard]] port choose(bool compute, bool message);
  [[nodiscard]] bool may_issue(port which) const;
  void issue(port which);
  [[nodiscard]] std::size_t next_job(port which) const;
  void issue_message(job& j);
  /// Source of a message's next packet: own TCM, own TCM behind fetched packets, or another memory.
  enum class source_access : std::uint8_t {
    read,         ///< out of the own TCM
    read_behind,  ///< a read queued after fetched packets
    fetch         ///< out of another memory, over the network
  };
  [[nodiscard]] source_access access_of(const job& j) const;
  void fetch(std::uint32_t index, abi::address from, std::uint64_t bytes);
  void message_left();
  void issue_copy(job& j);
  void enqueue(port which, job j);

  std::uint32_t open(pending p) { return pending_.open(std::move(p), sequence_++); }
  void access_tcm(tcm_port through, abi::address at, packet& p, std::uint64_t bytes, bool write,
                  std::uint32_t index);
  void finished(std::uint32_t index);
  void message_read_done(std::uint32_t index);
  void send_request(packet_ptr p);
  void message_write_done(const pending& done);
  void write_chunk(pending& done);
  void chunk_done(const pending& done);
  void respond(const pending& done, abi::packet_kind kind);

  void arrived(const packet_ptr& p, std::uint8_t vc);
  void leave(packet_ptr p);
  void inject(packet_ptr p);
  void verify(const packet_ptr& p);
  void verify_number(const abi::packet_header& h);
  [[nodiscard]] std::vector<std::string> path_of(const abi::packet_header& h) const;
  [[nodiscard]] fault_record record_of(fault_kind kind, const abi::packet_header& h) const;
  [[nodiscard]] bool is_protected(const abi::packet_header& h) const;
  void enter(checksum_engine& engine, work_kind what, packet_ptr p, std::uint8_t vc);
  void drain(checksum_engine& engine, work_kind what);
  void accept(const packet_ptr& p, std::uint8_t vc);
  void receive_message(const packet_ptr& p, std::uint8_t vc);
  void write_message(abi::address to, pending write);
  void serve(const packet_ptr& p, std::uint8_t vc);
  void serve_register(const packet_ptr& p, std::uint8_t vc, std::uint64_t reg);
  [[nodiscard]] inbound_message& take_part(const abi::packet_header& h);
  void publish(abi::node_address flow);
  void report(events::transfer_phase phase, pe_coord source, std::uint16_t qp) const;
  [[nodiscard]] packet_ptr make_packet(abi::packet_kind kind, abi::address target) const {
    return hw::make_packet(setup_, kind, target);
  }
  [[nodiscard]] bool is_local(abi::address a) const { return in_tcm_of(pe_.self, a); }
  [[nodiscard]] sim_time edge_after(std::uint64_t cycles) const;

  pe_setup pe_;
  packet_setup setup_;
  clock_domain clock_;
  terminal_port terminal_;
  timed_queue<work> work_{*this, [this] { act(); }};
  std::uint64_t sequence_{};  ///< numbers accesses; only act() counts it
  std::uint64_t arrivals_{};  ///< numbers received packets; only on_packet() counts it
  std::uint64_t foreign_{};   ///< packets of the tag-matching unit; only send_packet() counts it

  std::array<boost::container::deque<job>, ports> jobs_;
  std::array<sim_time, ports> last_ready_{};
  std::array<std::uint64_t, ports> turns_left_{};
  std::uint16_t last_sent_{UINT16_MAX};  ///< queue pair of the last message packet
  boost::container::deque<std::uint32_t>
      reads_;                 ///< accesses of message packets, in the order they must leave
  std::uint32_t ahead_{};     ///< message packets from their TCM read, and requests, to the NoC
  std::uint32_t fetching_{};  ///< message packets whose remote read is not answered
  std::uint32_t buffered_{};  ///< message packets from their remote read to the NoC, and those that follow
  boost::container::deque<bool>
      leaving_{};                 ///< message packets that wait for the NoC, in order: pending::buffered
  std::uint32_t transactions_{};  ///< remote reads and writes of copies in flight

  transaction_table<pending> pending_;
  std::map<abi::node_address, boost::container::deque<inbound_message>> inbound_;
  std::uint64_t messages_begun_{};
  std::uint32_t copies_started_{};
  std::uint32_t copies_done_{};
  /// Bytes not yet acknowledged, by copy; 1 for a copy without bytes.
  std::map<std::uint32_t, std::uint64_t> copy_remaining_;
  std::uint64_t messages_sent_{};
  std::uint64_t bytes_sent_{};
  std::unique_ptr<publication_rule> publication_;
  checksum_engine sealing_, verifying_;
  /// Number of the next tag-matched packet by destination, by source, and whether through host memory.
  std::map<std::pair<abi::node_address, bool>, std::uint64_t> sealed_messages_, verified_messages_;
  std::uint64_t checksums_{};  ///< keys of packets in those engines
  std::uint64_t checksum_bytes_{};
  sim_time checksum_time_;
  sim_time slowest_credit_;
};

}  // namespace diecast::hw
