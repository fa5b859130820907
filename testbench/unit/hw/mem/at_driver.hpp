// SPDX-License-Identifier: Apache-2.0
// A base-protocol initiator for benches: issues a list of accesses at given times or as fast as a
// number of outstanding ones allows, and records what happened to each.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/base/time.hpp"
#include "models/types/time.hpp"

namespace diecast::test {

struct access {
  bool write{};
  std::uint64_t offset{};
  std::vector<unsigned char> data;  ///< written, or room for what is read
  sim_time not_before{};
  sim_time begun, accepted, done;  ///< filled in
  tlm::tlm_response_status status{tlm::TLM_INCOMPLETE_RESPONSE};
};

class at_driver : public sc_core::sc_module,
                  private tlm::tlm_bw_transport_if<>,
                  private tlm::tlm_mm_interface {
 public:
  tlm::tlm_initiator_socket<> socket{"socket"};

  /// end_resp: 0 answers BEGIN_RESP with TLM_COMPLETED, otherwise END_RESP follows that much later.
  at_driver(sc_core::sc_module_name n, std::size_t outstanding, sim_time end_resp = {})
      : sc_module(n), outstanding_(outstanding), end_resp_(end_resp) {
    socket.bind(*static_cast<tlm::tlm_bw_transport_if<>*>(this));
    SC_HAS_PROCESS(at_driver);
    SC_METHOD(issue);
    sensitive << go_;
    SC_METHOD(send_end_resp);
    sensitive << end_resp_due_;
    dont_initialize();
  }

  std::vector<access> accesses;

  void read(std::uint64_t offset, std::uint64_t bytes, sim_time not_before = {}) {
    accesses.push_back({false, offset, std::vector<unsigned char>(bytes), not_before, {}, {}, {}});
  }
  void write(std::uint64_t offset, std::vector<unsigned char> data, sim_time not_before = {}) {
    accesses.push_back({true, offset, std::move(data), not_before, {}, {}, {}});
  }
  [[nodiscard]] std::size_t completed() const { return completed_; }
  [[nodiscard]] sim_time last_done() const { return last_done_; }

 private:
  struct transaction : tlm::tlm_generic_payload {
    explicit transaction(at_driver& owner) : tlm_generic_payload(&owner) {}
    std::size_t index{};
  };

  void issue() {
    while (!requesting_ && next_ < accesses.size() && in_flight_ < outstanding_) {
      access& a = accesses[next_];
      if (a.not_before > hw::now()) {
        go_.notify(hw::to_sc(a.not_before - hw::now()));
        return;
      }
      all_.push_back(std::make_unique<transaction>(*this));
      transaction* t = all_.back().get();
      t->acquire();
      t->index = next_++;
      t->set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
      t->set_address(a.offset);
      t->set_data_ptr(a.data.data());
      t->set_data_length(static_cast<unsigned>(a.data.size()));
      t->set_streaming_width(static_cast<unsigned>(a.data.size()));
      t->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
      a.begun = hw::now();
      ++in_flight_;
      requesting_ = true;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay;
      if (socket->nb_transport_fw(*t, phase, delay) == tlm::TLM_UPDATED && phase == tlm::END_REQ) {
        requesting_ = false;
        a.accepted = hw::now();
      }
    }
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    auto& t = static_cast<transaction&>(p);
    access& a = accesses[t.index];
    go_.notify(sc_core::SC_ZERO_TIME);
    if (phase == tlm::END_REQ) {
      requesting_ = false;
      a.accepted = hw::now();
      return tlm::TLM_ACCEPTED;
    }
    a.done = hw::now();
    a.status = t.get_response_status();
    last_done_ = a.done;
    ++completed_;
    --in_flight_;
    if (end_resp_ == sim_time{}) {
      t.release();
      return tlm::TLM_COMPLETED;
    }
    ending_ = &t;
    end_resp_due_.notify(hw::to_sc(end_resp_));
    return tlm::TLM_ACCEPTED;
  }
  void send_end_resp() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay;
    transaction* t = ending_;
    socket->nb_transport_fw(*t, phase, delay);
    t->release();
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override {}  // kept to the end, so that a late use shows

  std::vector<std::unique_ptr<transaction>> all_;

  std::size_t outstanding_;
  sim_time end_resp_;
  std::size_t next_{};
  std::size_t in_flight_{};
  std::size_t completed_{};
  sim_time last_done_;
  bool requesting_{};
  transaction* ending_{};
  sc_core::sc_event go_{"go"};
  sc_core::sc_event end_resp_due_{"end_resp_due"};
};

}  // namespace diecast::test
