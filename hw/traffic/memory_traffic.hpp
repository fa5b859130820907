// SPDX-License-Identifier: Apache-2.0
// An initiator of the TLM-2.0 base protocol that sends a memory the requests of a source and times the
// answers. It uses nothing of the memory but its target socket.
//
// Open loop: requests arrive on time whatever the memory does, and wait in an unbounded queue when it holds
// back END_REQ; latency counts from the arrival. Closed loop: a new request arrives when one is answered.
// Payloads are pooled, and arrivals that have not been issued take no memory: they are computed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/mem/sparse_memory.hpp"
#include "models/analysis/latency_histogram.hpp"
#include "models/traffic/memory_pattern.hpp"

namespace diecast::hw {

/// How requests arrive.
struct memory_pacing {
  enum class kind : std::uint8_t {
    evenly,    ///< number k at k * interval_fs
    greedily,  ///< the next when the one before has been accepted
    closed,    ///< at most `outstanding` requests in flight
    recorded,  ///< requests are issued at their recorded times
  };
  kind how{kind::greedily};
  double interval_fs{};
  std::uint64_t outstanding{};
};

class memory_traffic final : public sc_core::sc_module,
                             private tlm::tlm_bw_transport_if<>,
                             private tlm::tlm_mm_interface {
 public:
  struct results {
    analysis::latency_histogram reads;            ///< arrival to last data
    analysis::latency_histogram writes;           ///< arrival to response
    analysis::latency_histogram reads_accepted;   ///< END_REQ to last data
    analysis::latency_histogram writes_accepted;  ///< END_REQ to response
    std::uint64_t bytes{};
    sim_time last_response;
    std::uint64_t checked_reads{};  ///< reads of at least one byte written before
    std::uint64_t wrong_reads{};
    std::string first_wrong;  ///< address, byte, value and expectation of the first
  };

  /// `check`: writes carry data of their own, and what a read returns is compared with what was written
  /// last; without it all bytes are disabled, so that requests cost time and move nothing.
  /// An error response is reported to `faults`. The source outlives the module.
  memory_traffic(sc_core::sc_module_name name, const memory_pacing& pacing, traffic::request_source& source,
                 bool check, fault_sink& faults);
  ~memory_traffic() override;

  tlm::tlm_initiator_socket<> socket{"socket"};

  [[nodiscard]] const results& statistics() const { return results_; }
  /// All requests have been issued and answered.
  [[nodiscard]] bool finished() const { return exhausted_ && in_flight_ == 0; }
  /// Called once, at the instant of the last answer.
  void on_finished(std::function<void()> call) { on_finished_ = std::move(call); }
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }

 private:
  struct transaction;

  void start_of_simulation() override { go_.set(now()); }
  void act();
  void issue();
  [[nodiscard]] bool arrived();
  void begin(const traffic::memory_request& r, sim_time arrival);
  void fill(transaction& t, const traffic::memory_request& r);
  void answered(transaction& t, sim_time at);
  void retire(transaction& t);
  void wake_at(sim_time at);
  void report_finished();
  void check_data(const transaction& t);
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload* payload) override;

  memory_pacing pacing_;
  traffic::request_source& source_;
  fault_sink& faults_;
  std::unique_ptr<sparse_memory> shadow_;  ///< the bytes written last, in order of issue
  std::vector<std::unique_ptr<transaction>> all_;
  std::vector<transaction*> free_;
  std::vector<unsigned char> scratch_;  ///< data of requests that move none

  traffic::memory_request next_;  ///< taken from the source, not yet issued
  sim_time next_arrival_;
  std::uint64_t issued_{};
  std::uint64_t in_flight_{};
  bool have_next_{};
  bool exhausted_{};
  transaction* requesting_{};  ///< BEGIN_REQ sent, END_REQ not yet here
  sim_time channel_free_;      ///< earliest time of the next BEGIN_REQ
  calendar calendar_{*this, [this] { act(); }};
  alarm go_{*this, [this] { act(); }};  ///< calls act() again at this instant
  results results_;
  std::function<void()> on_finished_;
};

}  // namespace diecast::hw
