// SPDX-License-Identifier: Apache-2.0
// Requests per second of CPU time through the TLM target of one HBM channel: a closed loop of 64
// outstanding single-burst reads or writes.
//
//   hbm_bench [seq|rand] [read_fraction] [requests] [outstanding]     defaults seq 1 1000000 64
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "support/sc_fixture.hpp"

namespace diecast::test {
namespace {

struct load {
  bool random{};
  double read_fraction{1};
  std::uint64_t requests{1'000'000};
  std::size_t outstanding{64};
};

/// An initiator without costs of its own: a ring of payloads, answered within the call.
class closed_loop : public sc_core::sc_module,
                    private tlm::tlm_bw_transport_if<>,
                    private tlm::tlm_mm_interface {
 public:
  tlm::tlm_initiator_socket<> socket{"socket"};

  closed_loop(sc_core::sc_module_name name, const load& l, std::uint64_t bytes)
      : sc_module(name), load_(l), bursts_(bytes / 32), data_(32) {
    socket.bind(*static_cast<tlm::tlm_bw_transport_if<>*>(this));
    for (std::size_t i = 0; i < l.outstanding; ++i) {
      auto* p = new tlm::tlm_generic_payload(this);  // freed with the process
      p->set_data_ptr(data_.data());
      p->set_data_length(32);
      p->set_streaming_width(32);
      p->acquire();
      free_.push_back(p);
    }
    SC_METHOD(issue);
    sensitive << go_;
  }
  std::uint64_t done{};

 private:
  SC_HAS_PROCESS(closed_loop);
  std::uint64_t draw() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 24;
  }
  void issue() {
    while (!requesting_ && !free_.empty() && sent_ < load_.requests) {
      tlm::tlm_generic_payload* p = free_.back();
      free_.pop_back();
      const bool read =
          load_.read_fraction >= 1 || static_cast<double>(draw() & 0xffff) < load_.read_fraction * 65536;
      p->set_command(read ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
      p->set_address((load_.random ? draw() % bursts_ : sent_ % bursts_) * 32);
      p->set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
      ++sent_;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay;
      requesting_ = socket->nb_transport_fw(*p, phase, delay) == tlm::TLM_ACCEPTED;
    }
  }
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& p, tlm::tlm_phase& phase,
                                     sc_core::sc_time&) override {
    go_.notify(sc_core::SC_ZERO_TIME);
    if (phase == tlm::END_REQ) {
      requesting_ = false;
      return tlm::TLM_ACCEPTED;
    }
    ++done;
    free_.push_back(&p);
    return tlm::TLM_COMPLETED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64, sc_dt::uint64) override {}
  void free(tlm::tlm_generic_payload*) override {}

  load load_;
  std::uint64_t bursts_;
  std::vector<unsigned char> data_;
  std::vector<tlm::tlm_generic_payload*> free_;
  std::uint64_t sent_{};
  std::uint64_t state_{1};
  bool requesting_{};
  sc_core::sc_event go_{"go"};
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int run(const load& l) {
  config::hbm_block h;
  h.controller_ns = 0;
  hw::fault_sink faults;
  hw::hbm_controller hbm("hbm", h, false, faults);
  closed_loop source("source", l, h.port_mib << 20);
  source.socket.bind(hbm.socket);
  const double before = cpu_seconds();
  sc_core::sc_start();
  const double seconds = cpu_seconds() - before;
  const double ns = sc_core::sc_time_stamp().to_seconds() * 1e9;
  fmt::print("{} requests, {:.2f} GB/s, {:.3f} s CPU: {:.2f} M requests/s, {:.0f} ns each\n", source.done,
             static_cast<double>(source.done) * 32 / ns, seconds,
             static_cast<double>(source.done) / seconds * 1e-6,
             seconds * 1e9 / static_cast<double>(source.done));
  return source.done == l.requests && !faults.fault() ? 0 : 1;
}

}  // namespace
}  // namespace diecast::test

int sc_main(int argc, char* argv[]) {
  diecast::hw::set_time_resolution();
  diecast::test::load l;
  if (argc > 1) l.random = std::string(argv[1]) == "rand";
  if (argc > 2) l.read_fraction = std::atof(argv[2]);
  if (argc > 3) l.requests = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4) l.outstanding = std::strtoull(argv[4], nullptr, 10);
  return diecast::test::run(l);
}

// In place of the library's main, so that no banner is printed.
int main(int argc, char** argv) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
