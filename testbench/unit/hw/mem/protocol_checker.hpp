// SPDX-License-Identifier: Apache-2.0
// Stands between an initiator and a target and checks the rules of the TLM-2.0 base protocol.
#pragma once

#include <fmt/format.h>
#include <map>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

namespace diecast::test {

class protocol_checker : public sc_core::sc_module,
                         private tlm::tlm_fw_transport_if<>,
                         private tlm::tlm_bw_transport_if<> {
 public:
  tlm::tlm_target_socket<> in{"in"};
  tlm::tlm_initiator_socket<> out{"out"};

  explicit protocol_checker(sc_core::sc_module_name n) : sc_module(n) {
    in.bind(*static_cast<tlm::tlm_fw_transport_if<>*>(this));
    out.bind(*static_cast<tlm::tlm_bw_transport_if<>*>(this));
  }

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  /// Transactions begun and not ended.
  [[nodiscard]] std::size_t open() const { return open_.size(); }
  [[nodiscard]] std::size_t begun() const { return begun_; }
  [[nodiscard]] std::size_t most_open() const { return most_open_; }

 private:
  enum class state { requested, accepted, responding };
  struct seen {
    state at{};
    tlm::tlm_command command{};
    std::uint64_t address{};
    unsigned char* data{};
    unsigned length{};
  };
  using payload = tlm::tlm_generic_payload;

  tlm::tlm_sync_enum nb_transport_fw(payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    if (phase == tlm::BEGIN_REQ) {
      expect(!requesting_, p, "BEGIN_REQ before the END_REQ of the request before");
      expect(!open_.contains(&p), p, "BEGIN_REQ of a transaction under way");
      expect(p.has_mm() && p.get_ref_count() >= 1, p, "no memory manager or no reference");
      expect(p.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE, p,
             "response status set by the initiator");
      expect(p.get_data_length() > 0 && p.get_data_ptr() != nullptr, p, "no data");
      expect(p.get_streaming_width() >= p.get_data_length(), p, "streaming width");
      open_[&p] = {state::requested, p.get_command(), p.get_address(), p.get_data_ptr(), p.get_data_length()};
      ++begun_;
      most_open_ = std::max(most_open_, open_.size());
      requesting_ = &p;
    } else if (phase == tlm::END_RESP) {
      expect(responding_ == &p, p, "END_RESP without a response under way");
      ended(p);
    } else {
      expect(false, p, "phase on the forward path");
    }
    const tlm::tlm_phase sent = phase;
    const auto answer = out->nb_transport_fw(p, phase, delay);
    if (answer == tlm::TLM_UPDATED) {
      expect(sent == tlm::BEGIN_REQ, p, "TLM_UPDATED to END_RESP");
      backward(p, phase);
    } else if (answer == tlm::TLM_COMPLETED && sent == tlm::BEGIN_REQ) {
      finished(p);
    }
    return answer;
  }
  tlm::tlm_sync_enum nb_transport_bw(payload& p, tlm::tlm_phase& phase, sc_core::sc_time& delay) override {
    backward(p, phase);
    const tlm::tlm_phase sent = phase;
    const auto answer = in->nb_transport_bw(p, phase, delay);
    if (sent == tlm::BEGIN_RESP && answer != tlm::TLM_ACCEPTED && responding_ == &p) ended(p);
    return answer;
  }
  void backward(payload& p, tlm::tlm_phase phase) {
    const auto it = open_.find(&p);
    expect(it != open_.end(), p, "answer to a transaction that is not under way");
    if (it == open_.end()) return;
    unchanged(p, it->second);
    if (phase == tlm::END_REQ) {
      expect(requesting_ == &p && it->second.at == state::requested, p, "END_REQ twice");
      requesting_ = nullptr;
      it->second.at = state::accepted;
    } else if (phase == tlm::BEGIN_RESP) {
      if (requesting_ == &p) requesting_ = nullptr;
      expect(!responding_, p, "BEGIN_RESP before the END_RESP of the response before");
      expect(it->second.at != state::responding, p, "BEGIN_RESP twice");
      expect(p.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE, p, "response without a status");
      it->second.at = state::responding;
      responding_ = &p;
    } else {
      expect(false, p, "phase on the backward path");
    }
  }
  void finished(payload& p) {
    if (requesting_ == &p) requesting_ = nullptr;
    expect(p.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE, p, "completed without a status");
    open_.erase(&p);
  }
  void ended(payload& p) {
    responding_ = nullptr;
    open_.erase(&p);
  }
  void unchanged(const payload& p, const seen& was) {
    expect(p.get_command() == was.command && p.get_address() == was.address && p.get_data_ptr() == was.data &&
               p.get_data_length() == was.length,
           p, "attributes changed under way");
  }
  void expect(bool ok, const payload& p, const char* what) {
    if (!ok)
      violations_.push_back(
          fmt::format("{}: {} (address {:#x})", sc_core::sc_time_stamp().to_string(), what, p.get_address()));
  }
  void b_transport(payload& p, sc_core::sc_time& delay) override { out->b_transport(p, delay); }
  bool get_direct_mem_ptr(payload& p, tlm::tlm_dmi& d) override { return out->get_direct_mem_ptr(p, d); }
  unsigned transport_dbg(payload& p) override { return out->transport_dbg(p); }
  void invalidate_direct_mem_ptr(sc_dt::uint64 a, sc_dt::uint64 b) override {
    in->invalidate_direct_mem_ptr(a, b);
  }

  std::map<payload*, seen> open_;
  payload* requesting_{};
  payload* responding_{};
  std::size_t begun_{};
  std::size_t most_open_{};
  std::vector<std::string> violations_;
};

}  // namespace diecast::test
