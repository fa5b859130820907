// SPDX-License-Identifier: Apache-2.0
// Between a NoC terminal and a memory: read and write packets become TLM-2.0 base-protocol
// transactions, whose ends become response packets. Any base-protocol memory can be connected.
//
// Requests are taken in the order of arrival. A read longer than a packet is taken in pieces of at most
// max_packet_bytes, each answered by one read_response whose offset is the request's offset plus the
// piece's offset in it; the last piece need not be answered last. A write is answered by one write_response
// when the memory has acknowledged it. A request that overlaps an unfinished one, where either writes,
// waits for it. An atomic_add is a read, then a write of the sum, with nothing in between. The packet's
// buffer is held until its last piece has been sent to the memory, and none is sent while too many responses
// wait for the NoC, so that a full NoC stops the requests.
#pragma once

#include <boost/container/deque.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/base/packet.hpp"
#include "hw/base/terminal_port.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/mem/debug_port.hpp"
#include "models/abi/address.hpp"
#include "models/config/population.hpp"

namespace diecast::hw {

struct memory_ni_setup {
  abi::region kind{abi::region::hbm};  ///< region and unit of the addresses the memory answers to
  std::uint32_t unit{};
  /// Transactions at the memory plus responses waiting for the NoC.
  std::uint64_t outstanding{config::least_memory_window};
  bool move_data{true};  ///< false: packets carry no bytes, accesses cost time alone
};

class memory_ni : public sc_core::sc_module,
                  private terminal_port::client,
                  private tlm::tlm_bw_transport_if<>,
                  private tlm::tlm_mm_interface,
                  public debug_target {
 public:
  memory_ni(sc_core::sc_module_name name, const fabric::topology& topology,
            const config::machine_config& config, abi::node_address self, const memory_ni_setup& setup,
            packet_pool& pool, fault_sink& faults);
  ~memory_ni() override;

  /// The socket to the memory. Its addresses are offsets within the memory.
  tlm::tlm_initiator_socket<> memory{"memory"};
  [[nodiscard]] terminal_port& terminal() { return terminal_; }
  /// Passes a debug access at a physical address on to the memory.
  unsigned on_debug(tlm::tlm_generic_payload& access) override;

  [[nodiscard]] std::uint64_t reads() const { return reads_; }    ///< transactions begun
  [[nodiscard]] std::uint64_t writes() const { return writes_; }  ///< transactions begun
  /// True when no request waits or is in flight.
  [[nodiscard]] bool quiescent() const { return inbox_.empty() && in_flight_.empty(); }

 private:
  struct incoming {
    packet_ptr request;
    std::uint8_t vc{};
    std::uint64_t offset{};  ///< byte offset within the memory
    std::uint64_t taken{};   ///< bytes that have gone to the memory
  };
  struct transaction;

  void on_packet(const packet_ptr& p, std::uint8_t vc) override;
  void on_sent(abi::traffic_class c) override;
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload* payload) override;

  void act();
  void issue();
  void drop_front();
  [[nodiscard]] bool may_issue() const;
  [[nodiscard]] bool conflicts(std::uint64_t offset, std::uint64_t bytes, bool write) const;
  [[nodiscard]] transaction& take();
  static void aim(transaction& t, bool write, std::uint64_t offset, std::uint64_t bytes);
  void lend(transaction& t, std::byte* data);
  [[nodiscard]] transaction& begin(const incoming& from, std::uint64_t bytes);
  void send(transaction& t);
  void send_to_memory(transaction& t);
  void write_sum(const transaction& read);
  void end_request(sim_time delay);
  void end(transaction& t, sim_time delay);
  void complete(transaction& t);
  [[nodiscard]] packet_ptr response_to(const packet& request, std::uint64_t taken, std::uint64_t bytes) const;

  fault_sink& faults_;
  memory_ni_setup setup_;
  packet_pool& pool_;
  std::uint64_t piece_bytes_;
  calendar calendar_{*this, [this] { act(); }};
  terminal_port terminal_;
  boost::container::deque<incoming> inbox_;
  bool requesting_{};    ///< BEGIN_REQ sent, END_REQ not yet here
  transaction* last_{};  ///< transaction whose request is in flight
  std::vector<std::unique_ptr<transaction>> all_;
  std::vector<transaction*> free_;
  std::vector<transaction*> in_flight_;
  boost::container::deque<transaction*> sums_;  ///< writes of atomics whose read has ended; first to go
  std::vector<unsigned char> scratch_;          ///< stands in for the bytes of accesses that move none
  std::uint64_t reads_{};
  std::uint64_t writes_{};
};

}  // namespace diecast::hw
