// SPDX-License-Identifier: Apache-2.0
// The common part of all memories: the target half of the TLM-2.0 base protocol over a sparse memory.
//
// Addresses at the socket are offsets within the memory. Bytes move when a request is accepted, in
// the order of acceptance, so overlapping accesses never pass each other in any timing model. A request
// that finds the queue full gets its END_REQ when there is room. Responses
// leave one at a time, by finish time, then by acceptance. A byte enable of 0 disables its byte; an
// access with all bytes disabled takes its time and moves nothing.
#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <optional>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/base/fault_sink.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/mem/sparse_memory.hpp"
#include "models/config/machine_config.hpp"
#include "models/timing/servers.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

class hbm_controller;

class memory_target : public sc_core::sc_module, protected tlm::tlm_fw_transport_if<> {
 public:
  struct counters {
    std::uint64_t reads{};          ///< requests
    std::uint64_t writes{};         ///< requests
    std::uint64_t bytes_read{};     ///< bytes
    std::uint64_t bytes_written{};  ///< bytes
    std::uint64_t held_requests{};  ///< requests that waited for a place in the queue
  };

  tlm::tlm_target_socket<> socket{"socket"};

  [[nodiscard]] const counters& statistics() const { return counters_; }
  [[nodiscard]] const sparse_memory& memory() const { return memory_; }
  /// The controller of a memory with banks; null for others.
  [[nodiscard]] virtual hbm_controller* controller() { return nullptr; }

 protected:
  using request_id = std::uint32_t;

  /// queue: requests accepted and not yet out of the queue, before END_REQ is held back (unless
  /// has_room() is overridden).
  memory_target(sc_core::sc_module_name name, std::uint64_t bytes, std::uint64_t queue, bool strict,
                fault_sink& faults);

  /// The timing model's part: request `id` is accepted now. Calls finish(id, ...) now or later.
  virtual void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) = 0;
  /// The response of `id` may leave at `at`. Precondition: at > now, or at == now within advance();
  /// once per request.
  void finish(request_id id, sim_time at);
  /// Whether the next request can be accepted now. A request that cannot is announced by on_held() and
  /// tried again after leave_queue() or at the instant given to admit_at().
  [[nodiscard]] virtual bool has_room(bool) { return queued_ < queue_; }
  virtual void on_held(bool) {}
  void admit_at(sim_time at);
  /// Called at each instant that wake_at() requested, and at others, before responses leave.
  virtual void advance() {}
  void wake_at(sim_time at);
  /// `id` no longer takes a place in the queue; without this call it leaves with its response. Not to
  /// be called within start().
  void leave_queue(request_id id);

 private:
  struct request {
    tlm::tlm_generic_payload* payload{};
    std::uint64_t sequence{};
    sc_core::sc_event* blocking{};  ///< event that wakes a b_transport caller
    bool queued{};
  };

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) override;
  unsigned transport_dbg(tlm::tlm_generic_payload& payload) override;

  void accept(tlm::tlm_generic_payload& payload, sc_core::sc_event* blocking);
  void announce_room() {
    if (room_) room_->notify(sc_core::SC_ZERO_TIME);
  }
  [[nodiscard]] tlm::tlm_response_status refusal(const tlm::tlm_generic_payload& payload) const;
  void move_bytes(const tlm::tlm_generic_payload& payload);
  void act();
  void admit_held();
  void respond();
  void close(request_id id);

  fault_sink& faults_;
  sparse_memory memory_;
  std::uint64_t queue_;
  std::uint64_t queued_{};
  std::uint64_t sequence_{};
  std::vector<request> requests_;
  std::vector<request_id> free_ids_;
  tlm::tlm_generic_payload* held_{};  ///< BEGIN_REQ seen, END_REQ owed
  bool held_arrived_{};               ///< the annotated delay of held_ is over
  sim_time held_since_;
  boost::container::deque<request_id> finished_;  ///< responses due, first to leave first
  request_id current_{};                          ///< request whose response is being sent
  bool responding_{};                             ///< BEGIN_RESP sent, END_RESP not yet here
  calendar calendar_{*this, [this] { act(); }};
  std::optional<sc_core::sc_event> room_;  ///< for b_transport callers; made when one finds the queue full
  counters counters_;
};

/// A memory of fixed rate and latency: the SRAM block of a cube. Requests are served in the order they
/// come; a response leaves a fixed latency after its last byte is served.
class simple_memory final : public memory_target {
 public:
  simple_memory(sc_core::sc_module_name name, const config::sram_block& sram, bool strict,
                fault_sink& faults);

 private:
  void start(request_id id, std::uint64_t offset, std::uint64_t bytes, bool write) override;

  timing::rate_server server_;
  sim_time latency_;
};

}  // namespace diecast::hw
