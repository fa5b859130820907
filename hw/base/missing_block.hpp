// SPDX-License-Identifier: Apache-2.0
// Closes the NoC's sockets at the terminal of a block that an override leaves out; never sends.
#pragma once

#include <fmt/format.h>
#include <systemc>

#include "hw/base/fabric_socket.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

class missing_block : public sc_core::sc_module, private fabric_receiver, private credit_receiver {
 public:
  explicit missing_block(sc_core::sc_module_name name) : sc_module(name) {}

  [[nodiscard]] fabric_initiator_socket& fabric_out_socket() { return out_.socket; }
  [[nodiscard]] fabric_target_socket& fabric_in_socket() { return in_.socket; }

 private:
  /// No address leads here (fabric::topology::locate), so a packet that comes was sent past the address map.
  /// Throws protocol_error.
  void on_packet(unsigned, packet_ptr&& p, const fabric_phase&) override {
    throw protocol_error(
        fmt::format("{}: a packet of {} flits for a block that overrides leave out", name(), p->flits));
  }
  void on_credit(unsigned, const fabric_phase&) override {
    throw protocol_error(
        fmt::format("{}: a credit for a block that overrides leave out, which never sends", name()));
  }

  fabric_out out_{"fabric_out", *this, 0};
  fabric_in in_{"fabric_in", *this, 0};
};

}  // namespace diecast::hw
