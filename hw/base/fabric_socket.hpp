// SPDX-License-Identifier: Apache-2.0
// The fabric's interface: TLM-2.0 sockets with a protocol of their own.
//
// begin_req announces a packet: the flits of `flits` arrive from `head` to `tail` on VC `vc`. The
// receiver has room for all of them, because the sender spent that many credits. It takes
// the packet_ptr over. credit returns `flits` of `vc`, usable by the sender from `head` on. Either end of an
// interface sends both: the initiator with nb_transport_fw, the target with nb_transport_bw. The calls are
// one way (TLM_ACCEPTED) and may repeat and overlap freely.
//
// `head` and `tail` are times of arrival at the receiver's buffer: between a block and its NoC the
// sender has already added the network interface's cycles. From a NoC to a block `head` may be later than the
// first flit, as a packet that others may still delay is announced with its last: blocks use `tail`.
//
// Every interface costs at least one cycle: `head` is at least one cycle of the receiver's clock after
// sc_time_stamp(), so what a receiver arbitrates at cycle c was announced before c. Receivers only
// record the announcement and act at `head` or later, in an order of their own (time, then port).
#pragma once

#include <cstdint>
#include <systemc>
#include <tlm>
#include <utility>

#include "hw/base/packet.hpp"
#include "models/events/events.hpp"
#include "models/types/error.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

struct fabric_phase {
  enum class kind : std::uint8_t { begin_req, credit };
  kind what{kind::begin_req};
  std::uint8_t vc{};
  std::uint32_t flits{};
  sim_time head;        ///< absolute
  sim_time tail;        ///< absolute; begin_req only
  std::uint8_t port{};  ///< die-to-die links only: port of the side the packet travels on
};

struct fabric_protocol {
  using tlm_payload_type = packet_ptr;
  using tlm_phase_type = fabric_phase;
};
struct fabric_fw_if : tlm::tlm_fw_nonblocking_transport_if<packet_ptr, fabric_phase> {
  using protocol_types = fabric_protocol;
};
struct fabric_bw_if : tlm::tlm_bw_nonblocking_transport_if<packet_ptr, fabric_phase> {
  using protocol_types = fabric_protocol;
};

inline constexpr unsigned fabric_buswidth = 512;
using fabric_initiator_socket = tlm::tlm_base_initiator_socket<fabric_buswidth, fabric_fw_if, fabric_bw_if>;
using fabric_target_socket = tlm::tlm_base_target_socket<fabric_buswidth, fabric_fw_if, fabric_bw_if>;

/// Handlers of announced packets and credits; `port` is the number of the block's interface.
class fabric_owner {
 public:
  virtual ~fabric_owner() = default;
  virtual void on_packet(unsigned port, packet_ptr&& p, const fabric_phase& phase) = 0;
  virtual void on_credit(unsigned port, const fabric_phase& phase) = 0;
};

/// One end of an interface.
class fabric_end {
 public:
  void send_packet(packet_ptr p, std::uint8_t vc, std::uint32_t flits, sim_time head, sim_time tail,
                   std::uint8_t port = 0) {
    pass(std::move(p), {fabric_phase::kind::begin_req, vc, flits, head, tail, port});
  }
  void send_credit(std::uint8_t vc, std::uint32_t flits, sim_time at) {
    pass({}, {fabric_phase::kind::credit, vc, flits, at, at, 0});
  }
  /// Passes a packet on to the far end, with the phase that it had at another interface.
  virtual void pass(packet_ptr p, fabric_phase phase) = 0;

 protected:
  fabric_end(fabric_owner& owner, unsigned port) : owner_(owner), port_(port) {}
  ~fabric_end() = default;
  tlm::tlm_sync_enum take(packet_ptr& p, const fabric_phase& phase) {
    if (phase.what == fabric_phase::kind::credit) {
      owner_.on_credit(port_, phase);
    } else {
      owner_.on_packet(port_, std::move(p), phase);
    }
    return tlm::TLM_ACCEPTED;
  }

 private:
  fabric_owner& owner_;
  unsigned port_;
};

/// The end of a block, with the target socket.
class fabric_target final : public fabric_end, private fabric_fw_if {
 public:
  fabric_target(const char* name, fabric_owner& owner, unsigned port)
      : fabric_end(owner, port), socket(name) {
    socket.bind(*static_cast<fabric_fw_if*>(this));
  }
  fabric_target_socket socket;
  void pass(packet_ptr p, fabric_phase phase) override {
    sc_core::sc_time zero;
    socket->nb_transport_bw(p, phase, zero);
  }

 private:
  tlm::tlm_sync_enum nb_transport_fw(packet_ptr& p, fabric_phase& phase, sc_core::sc_time&) override {
    return take(p, phase);
  }
};

/// The end of a NoC, with the initiator socket.
class fabric_initiator final : public fabric_end, private fabric_bw_if {
 public:
  fabric_initiator(const char* name, fabric_owner& owner, unsigned port)
      : fabric_end(owner, port), socket(name) {
    socket.bind(*static_cast<fabric_bw_if*>(this));
  }
  fabric_initiator_socket socket;
  void pass(packet_ptr p, fabric_phase phase) override {
    sc_core::sc_time zero;
    socket->nb_transport_fw(p, phase, zero);
  }

 private:
  tlm::tlm_sync_enum nb_transport_bw(packet_ptr& p, fabric_phase& phase, sc_core::sc_time&) override {
    return take(p, phase);
  }
};

// How modules report the credits of links to observers.

/// Reports credits of a link that are spent (flits < 0) or become usable, all at `at`. `cycle`: period of the
/// clock on which they return, where there is one.
inline void report_credits(const events::hub& hub, sim_time now, std::uint32_t link, std::uint8_t vc,
                           std::int32_t flits, sim_time at, sim_time cycle = {}) {
  if (!hub.wants(events::credits)) return;
  hub.publish(events::link_credits{now, link, vc, flits, at, at, cycle});
}

// Closes the NoC's socket at the terminal of a block that an override leaves out; never sends.

class missing_block : public sc_core::sc_module, private fabric_owner {
 public:
  explicit missing_block(sc_core::sc_module_name name) : sc_module(name) {}

  [[nodiscard]] fabric_target_socket& noc_socket() { return noc_.socket; }

 private:
  /// No address leads here (fabric::topology::locate), so a packet that comes was sent without the address
  /// map. Throws protocol_error.
  void on_packet(unsigned, packet_ptr&& p, const fabric_phase&) override {
    throw protocol_error("{}: a packet of {} flits for a block that overrides leave out", name(), p->flits);
  }
  void on_credit(unsigned, const fabric_phase&) override {
    throw protocol_error("{}: a credit for a block that overrides leave out, which never sends", name());
  }

  fabric_target noc_{"noc", *this, 0};
};

}  // namespace diecast::hw
