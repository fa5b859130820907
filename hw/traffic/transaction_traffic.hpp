// SPDX-License-Identifier: Apache-2.0
// Initiators and targets of a study of transactions, those of all terminals and networks in one module.
//
// A core issues the operations of its stream in each network: a request to the target and, but for posted
// writes, a response from there. Transactions longer than noc.max_packet_bytes take several packets. Requests
// wait in a short queue at their target; those beyond it wait in the network. A terminal answers in order,
// one response at a time (one stream per terminal and network), noc.access_cycles after the request has
// arrived or as soon as the response before has left. Memory controllers have a latency and a data rate of
// their own, which all their terminals share in the order in which requests arrive.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <queue>
#include <span>
#include <systemc>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/base/agenda.hpp"
#include "hw/base/fabric_socket.hpp"
#include "hw/base/fault_sink.hpp"
#include "models/config/machine_config.hpp"
#include "models/fabric/topology.hpp"
#include "models/traffic/transactions.hpp"

namespace diecast::hw {

class transaction_traffic : public sc_core::sc_module, private fabric_owner {
 public:
  struct barrier {
    std::uint32_t core{}, network{};
    std::uint64_t issue{};    ///< cycle
    std::uint64_t latency{};  ///< cycles, issue to end; 0 if it has not ended
  };
  struct results {
    std::uint64_t made{}, delivered{};              ///< packets
    std::uint64_t issued{}, completed{};            ///< transactions
    std::uint64_t first_issue{UINT64_MAX}, last{};  ///< cycles; last: completion or end of a barrier
    std::vector<barrier> barriers;                  ///< in the order in which they are issued
    std::array<std::uint64_t, traffic::transaction_ops> bytes{};  ///< bytes of completed transactions, by op
    std::uint64_t fingerprint{};                                  ///< hash of all deliveries, in any order
  };

  /// One topology per network. Objects passed by reference must outlive the module.
  transaction_traffic(sc_core::sc_module_name name, std::span<const fabric::topology* const> networks,
                      const config::machine_config& config, const traffic::transaction_plan& plan,
                      packet_pool& pool, fault_sink& faults);

  [[nodiscard]] fabric_target_socket& noc_socket(std::uint32_t network, std::uint32_t node) {
    return ends_.at(network * nodes_ + node).socket;
  }
  [[nodiscard]] const results& statistics() const { return results_; }
  /// Operations that the streams have not issued and transactions that are not complete.
  [[nodiscard]] std::uint64_t unfinished() const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct request {
    abi::node_address from;
    abi::packet_kind kind{};
    std::uint8_t vc{};  ///< VC by which it arrived
    std::uint64_t transaction{};
    std::uint32_t bytes{};          ///< bytes of the response
    std::uint64_t first{}, last{};  ///< cycles in which the response's first and last flit can leave
    bool reading{};                 ///< the read of the core's memory has begun
  };
  /// A network interface: one terminal of one network.
  struct interface {
    std::deque<request> requests;
    std::uint32_t response_flits{};  ///< flits of the response that enters the network
    std::uint32_t writes{};          ///< sent: they take the VCs in rotation
    std::vector<std::deque<std::pair<std::uint64_t, std::uint32_t>>> leaving;  ///< by VC: transaction, flits
  };
  struct active {
    std::uint32_t stream{};
    std::uint32_t packets{};  ///< packets that are not answered yet
    std::uint32_t epoch{};    ///< earlier barriers of its stream
    traffic::transaction_op op{};
    std::uint64_t bytes{};
  };
  struct open_barrier {
    std::uint32_t number{};  ///< number within its stream
    std::size_t result{};
    std::uint64_t waits_for{};
  };
  struct stream {
    std::size_t next{};
    std::uint64_t base{};  ///< cycle `after` counts from
    bool in_barrier{};     ///< a barrier is in progress, whose end becomes `base`
    std::uint64_t under_way{};
    std::uint32_t barriers{};
    std::uint64_t last_done{};
    std::vector<open_barrier> open;
  };
  enum class event_kind : std::uint8_t { answered, posted, served, respond, issue };
  struct event {
    std::uint64_t cycle;
    event_kind kind;
    std::uint32_t place;  ///< interface or stream
    std::uint64_t sequence;
    std::uint64_t transaction;
    bool operator>(const event& o) const {
      return std::tie(cycle, kind, place, sequence) > std::tie(o.cycle, o.kind, o.place, o.sequence);
    }
  };

  void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) override;
  void on_credit(unsigned port, const fabric_phase& phase) override;
  void act();
  void serve();
  void handle(const event& e);
  void at(std::uint64_t cycle, event_kind kind, std::uint32_t place, std::uint64_t transaction = 0);
  void wake_at(std::uint64_t cycle);

  void advance(std::uint32_t s, std::uint64_t cycle);
  void issue(std::uint32_t s, const traffic::transaction& t, std::uint64_t cycle);
  void start_barrier(std::uint32_t s, std::uint64_t cycle);
  void end_barrier(std::uint32_t s, const open_barrier& b, std::uint64_t cycle);
  void answered(std::uint64_t transaction, std::uint64_t cycle);
  void take_request(std::uint32_t place, const packet& p, std::uint8_t vc, std::uint64_t cycle);
  void respond(std::uint32_t place, std::uint64_t cycle);
  [[nodiscard]] std::uint64_t read_from(std::uint32_t node, request& r, std::uint64_t cycle);
  void served(std::uint32_t place, std::uint64_t cycle);
  void send(std::uint32_t place, abi::traffic_class c, const abi::packet_header& h, std::uint32_t flits,
            std::uint64_t cycle, std::uint64_t last);
  [[nodiscard]] std::uint32_t data_flits(std::uint64_t bytes) const {
    return static_cast<std::uint32_t>((bytes + noc_.flit_bytes - 1) / noc_.flit_bytes);
  }

  const std::vector<const fabric::topology*> networks_;
  const config::noc_block noc_;
  const traffic::transaction_plan& plan_;
  packet_pool& pool_;
  fault_sink& faults_;
  const clock_domain clock_;
  const std::uint32_t nodes_;
  const std::vector<std::uint32_t> controllers_;  ///< by node
  std::vector<double> controller_free_;           ///< cycle; by controller
  std::vector<double> tile_free_;                 ///< when the memory of a core is free, in cycles; by node
  std::vector<interface> interfaces_;             ///< [network][node]
  std::vector<stream> streams_;
  std::vector<active> transactions_;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::uint64_t sequence_{};
  std::uint64_t armed_{UINT64_MAX};
  alarm wake_{*this, [this] { act(); }};
  std::deque<fabric_target> ends_;
  results results_;
};

}  // namespace diecast::hw
