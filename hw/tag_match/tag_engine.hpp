// SPDX-License-Identifier: Apache-2.0
// The tag-matching unit of a PE: protocol::tag_core with the timing of its work. Commands and messages
// are served one after the other; bytes go to and from the TCM through ports of the unit's own, packets
// through the PE's network interface.
#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <systemc>

#include "hw/base/pe_interfaces.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/base/transaction_table.hpp"
#include "hw/mem/tcm_if.hpp"
#include "hw/regs/register_sockets.hpp"
#include "models/protocol/tag_core.hpp"

namespace diecast::hw {

class tag_engine : public sc_core::sc_module, public register_file, public message_if, private tcm_client {
 public:
  tag_engine(sc_core::sc_module_name name, const pe_setup& pe, const packet_setup& setup);

  block_port<tcm_if> tcm;
  block_port<packet_out_if> out;
  block_port<event_sink_if> events;

  [[nodiscard]] const protocol::tag_core& core() const { return core_; }
  struct statistics {
    std::uint64_t messages_sent{}, messages_received{}, bytes_sent{}, bytes_received{};
    std::uint64_t matched{}, unexpected{};
    std::uint64_t compared{};  ///< entries
    std::uint64_t reads{}, bytes_read{};
    std::uint64_t appended{};  ///< entries
    std::uint64_t unseen{};    ///< entries appended while the unit held messages that firmware had not seen
    sim_time busy;             ///< serving commands and messages
    std::uint64_t most_slots_taken{};  ///< most slots of the message ring taken at one time
  };
  [[nodiscard]] const statistics& counted() const { return statistics_; }
  /// Number of commands, messages and packets so far, as progress.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// No command, message, access or packet waits.
  [[nodiscard]] bool idle() const;

  void write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t read_register(abi::register_offset reg) override;
  void debug_write_register(abi::register_offset reg, std::uint64_t value) override;
  std::uint64_t debug_read_register(abi::register_offset reg) override;

  void packet_arrived(const packet_ptr& p, std::uint8_t vc) override;
  void read_answered(const packet_ptr& p) override;
  void packet_left() override;

 private:
  /// Waits for the unit: a command, or the first packet of a message.
  struct turn {
    std::optional<protocol::tag_command> command;
    packet_ptr p;
    std::uint8_t vc{};
    sim_time ready;  ///< earliest start
  };
  struct held {
    packet_ptr p;
    std::uint8_t vc{};
  };
  /// A message being cut into packets.
  struct outgoing {
    protocol::tag_send_request request;
    std::uint64_t next{};
    sim_time ready;
  };
  /// A read being cut into requests.
  struct reading {
    protocol::tag_read_request request;
    std::uint64_t next{};
    sim_time ready;
  };
  /// A message being received from one flow. Packets of a flow keep their order.
  struct inbound_message {
    abi::tag_fields fields;
    protocol::tag_core::placement placed;
  };
  enum class stage : std::uint8_t {
    source_read,    ///< read of the source of an outgoing packet
    payload_write,  ///< write of the payload of a received packet
    local_read,     ///< read of this PE's own memory
    remote_read,    ///< a read of a remote buffer is in flight
    read_write      ///< write of bytes from a read
  };
  struct access {
    stage what{};
    bool used{}, done{};
    std::uint64_t sequence{};
    packet_ptr p;
    std::uint8_t vc{};
    bool last{};
    std::uint64_t token{};  ///< reads
    std::uint64_t bytes{};
    abi::address to{};
  };
  enum class work_kind : std::uint8_t {
    access_finished,
    packet_in,
    packet_gone,
    turn_ends,
    start,
    loop_back
  };
  struct work {
    work_kind what{};
    std::uint32_t index{};
    std::uint8_t vc{};
    packet_ptr p;
  };

  void act();
  void do_work(work& w);
  void put(work_kind what, sim_time at, std::uint64_t key, work w);
  void tcm_done(std::uint64_t tag, sim_time finish) override;
  void take(protocol::tag_effects effects);
  void look_for_event();

  void begin_turn();
  void end_turn();
  void packet_in(const packet_ptr& p, std::uint8_t vc);
  void report_content(const packet_ptr& p, pe_coord source) const;
  void write_payload(const packet_ptr& p, std::uint8_t vc);
  void payload_written(const access& done);

  void pump();
  void issue_packet(boost::container::deque<outgoing>& queue);
  void leave();
  void issue_read();
  void finished(std::uint32_t index);
  void read_written(const access& done);

  std::uint32_t open(access a) { return accesses_.open(std::move(a), sequence_++); }
  void access_tcm(tcm_port through, abi::address at, packet& p, std::uint64_t bytes, bool write,
                  std::uint32_t index);
  [[nodiscard]] packet_ptr make_packet(abi::packet_kind kind, abi::address target) const {
    return hw::make_packet(setup_, kind, target);
  }
  [[nodiscard]] bool is_local(abi::address a) const;
  [[nodiscard]] sim_time edge_after(std::uint64_t cycles) const;
  [[nodiscard]] sim_time descriptor_ready(sim_time& last) const;

  pe_setup pe_;
  packet_setup setup_;
  clock_domain clock_;
  protocol::tag_core core_;
  timed_queue<work> work_{*this, [this] { act(); }};
  std::uint64_t sequence_{};
  boost::container::deque<turn> turns_;
  bool serving_{};
  std::map<abi::node_address, boost::container::deque<held>>
      waiting_;  ///< a waiting first packet and those after it, by flow
  std::map<abi::node_address, inbound_message> inbound_;
  boost::container::deque<outgoing> sends_;
  boost::container::deque<outgoing> answers_;  ///< fin and credit: sent before messages
  boost::container::deque<reading> reads_;
  sim_time last_send_, last_read_;
  boost::container::deque<std::uint32_t>
      source_reads_;             ///< accesses of outgoing packets, in the order they must leave
  std::uint32_t ahead_{};        ///< packets between their read and the network
  std::uint32_t outstanding_{};  ///< pieces of reads in flight
  std::map<std::uint64_t, std::uint64_t> read_remaining_;  ///< bytes, by token
  transaction_table<access> accesses_;
  statistics statistics_;
  std::uint64_t moves_{};
};

}  // namespace diecast::hw
