// SPDX-License-Identifier: Apache-2.0
// Small base-protocol memories in the styles other people write: each can stand in for ours.
#pragma once

#include <cstring>
#include <systemc>
#include <tlm>
#include <tlm_utils/peq_with_cb_and_phase.h>
#include <tlm_utils/simple_target_socket.h>
#include <vector>

namespace diecast::test {

/// Common to all: bytes and their copy.
class plain_bytes {
 public:
  explicit plain_bytes(std::size_t size) : bytes_(size) {}
  void access(tlm::tlm_generic_payload& t) {
    if (t.get_address() + t.get_data_length() > bytes_.size()) {
      t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      return;
    }
    unsigned char* here = bytes_.data() + t.get_address();
    if (t.is_write()) {
      std::memcpy(here, t.get_data_ptr(), t.get_data_length());
    } else {
      std::memcpy(t.get_data_ptr(), here, t.get_data_length());
    }
    t.set_response_status(tlm::TLM_OK_RESPONSE);
  }

 private:
  std::vector<unsigned char> bytes_;
};

/// Loosely timed: b_transport alone, made four-phase by the library's own adapter.
class blocking_memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<blocking_memory> socket{"socket"};
  blocking_memory(sc_core::sc_module_name n, std::size_t size) : sc_module(n), bytes_(size) {
    socket.register_b_transport(this, &blocking_memory::b_transport);
    socket.register_transport_dbg(this, &blocking_memory::debug);
  }

 private:
  void b_transport(tlm::tlm_generic_payload& t, sc_core::sc_time& delay) {
    bytes_.access(t);
    delay += sc_core::sc_time(30, sc_core::SC_NS);
  }
  unsigned debug(tlm::tlm_generic_payload& t) {
    bytes_.access(t);
    return t.get_data_length();
  }
  plain_bytes bytes_;
};

/// Answers within the call: TLM_COMPLETED, or BEGIN_RESP on the return path, with an annotated delay.
class immediate_memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<immediate_memory> socket{"socket"};
  immediate_memory(sc_core::sc_module_name n, std::size_t size, bool completes)
      : sc_module(n), bytes_(size), completes_(completes) {
    socket.register_nb_transport_fw(this, &immediate_memory::forward);
  }
  std::size_t end_resps = 0;

 private:
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& t, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase == tlm::END_RESP) {
      ++end_resps;
      busy_ = false;
      return tlm::TLM_COMPLETED;
    }
    bytes_.access(t);
    delay += sc_core::sc_time(10, sc_core::SC_NS);
    if (completes_) return tlm::TLM_COMPLETED;
    if (busy_) SC_REPORT_ERROR("immediate_memory", "request during a response");
    busy_ = true;
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_UPDATED;
  }
  plain_bytes bytes_;
  bool completes_;
  bool busy_ = false;
};

/// Takes its time to accept a request (reads 20 ns, writes 50 ns) and answers 500 ns after it began.
class slow_to_accept_memory : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<slow_to_accept_memory> socket{"socket"};
  slow_to_accept_memory(sc_core::sc_module_name n, std::size_t size) : sc_module(n), bytes_(size) {
    socket.register_nb_transport_fw(this, &slow_to_accept_memory::forward);
  }

 private:
  tlm::tlm_sync_enum forward(tlm::tlm_generic_payload& t, tlm::tlm_phase&, sc_core::sc_time&) {
    later_.notify(t, tlm::END_REQ, sc_core::sc_time(t.is_write() ? 50 : 20, sc_core::SC_NS));
    later_.notify(t, tlm::BEGIN_RESP, sc_core::sc_time(500, sc_core::SC_NS));
    return tlm::TLM_ACCEPTED;
  }
  void answer(tlm::tlm_generic_payload& t, const tlm::tlm_phase& phase) {
    if (phase == tlm::BEGIN_RESP) bytes_.access(t);
    tlm::tlm_phase sent = phase;
    sc_core::sc_time delay;
    socket->nb_transport_bw(t, sent, delay);
  }
  tlm_utils::peq_with_cb_and_phase<slow_to_accept_memory> later_{this, &slow_to_accept_memory::answer};
  plain_bytes bytes_;
};

}  // namespace diecast::test
