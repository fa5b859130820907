// SPDX-License-Identifier: Apache-2.0
// Register walls: 64-bit accesses over TLM b_transport (with side effects) and transport_dbg (the
// host's backdoor, without). Addresses are offsets within the PE's register region.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "models/abi/registers.hpp"

namespace diecast::hw {

/// A block that holds registers.
class register_file {
 public:
  virtual ~register_file() = default;
  virtual void write_register(abi::register_offset reg, std::uint64_t value) = 0;
  [[nodiscard]] virtual std::uint64_t read_register(abi::register_offset reg) = 0;
  /// Backdoor: no side effects.
  virtual void debug_write_register(abi::register_offset reg, std::uint64_t value) = 0;
  [[nodiscard]] virtual std::uint64_t debug_read_register(abi::register_offset reg) = 0;
};

/// Target side: unpacks payloads for a register file. Anything but one aligned 8-byte access is
/// answered with an error response.
class register_target {
 public:
  register_target(const char* name, register_file& file) : socket(name), file_(file) {
    socket.register_b_transport(this, &register_target::b_transport);
    socket.register_transport_dbg(this, &register_target::transport_dbg);
  }
  tlm_utils::simple_target_socket<register_target, 64> socket;

 private:
  static bool well_formed(tlm::tlm_generic_payload& t) {
    if (t.get_data_length() == 8 && t.get_address() % 8 == 0) return true;
    t.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return false;
  }
  void b_transport(tlm::tlm_generic_payload& t, sc_core::sc_time&) {
    if (!well_formed(t)) return;
    const auto reg = static_cast<abi::register_offset>(t.get_address());
    std::uint64_t value = 0;
    if (t.is_write()) {
      std::memcpy(&value, t.get_data_ptr(), sizeof value);
      file_.write_register(reg, value);
    } else {
      value = file_.read_register(reg);
      std::memcpy(t.get_data_ptr(), &value, sizeof value);
    }
    t.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  unsigned transport_dbg(tlm::tlm_generic_payload& t) {
    if (!well_formed(t)) return 0;
    const auto reg = static_cast<abi::register_offset>(t.get_address());
    std::uint64_t value = 0;
    if (t.is_write()) {
      std::memcpy(&value, t.get_data_ptr(), sizeof value);
      file_.debug_write_register(reg, value);
    } else {
      value = file_.debug_read_register(reg);
      std::memcpy(t.get_data_ptr(), &value, sizeof value);
    }
    t.set_response_status(tlm::TLM_OK_RESPONSE);
    return 8;
  }
  register_file& file_;
};

/// Initiator side: typed accesses over a reused payload.
class register_initiator {
 public:
  explicit register_initiator(const char* name) : socket(name) {}
  tlm_utils::simple_initiator_socket<register_initiator, 64> socket;

  void write(abi::register_offset reg, std::uint64_t value) {
    sc_core::sc_time delay;
    socket->b_transport(prepare(tlm::TLM_WRITE_COMMAND, reg, value), delay);
    check();
  }
  [[nodiscard]] std::uint64_t read(abi::register_offset reg) {
    std::uint64_t value = 0;
    sc_core::sc_time delay;
    socket->b_transport(prepare(tlm::TLM_READ_COMMAND, reg, value), delay);
    check();
    return value;
  }
  void debug_write(abi::register_offset reg, std::uint64_t value) {
    socket->transport_dbg(prepare(tlm::TLM_WRITE_COMMAND, reg, value));
    check();
  }
  [[nodiscard]] std::uint64_t debug_read(abi::register_offset reg) {
    std::uint64_t value = 0;
    socket->transport_dbg(prepare(tlm::TLM_READ_COMMAND, reg, value));
    check();
    return value;
  }

 private:
  tlm::tlm_generic_payload& prepare(tlm::tlm_command command, abi::register_offset reg,
                                    std::uint64_t& value) {
    payload_.set_command(command);
    payload_.set_address(reg);
    payload_.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    payload_.set_data_length(sizeof value);
    payload_.set_streaming_width(sizeof value);
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    return payload_;
  }
  void check() const {
    if (payload_.get_response_status() != tlm::TLM_OK_RESPONSE) {
      throw std::runtime_error(std::string(socket.name()) +
                               ": register access refused: " + payload_.get_response_string());
    }
  }
  tlm::tlm_generic_payload payload_;
};

}  // namespace diecast::hw
