// SPDX-License-Identifier: Apache-2.0
// Register interfaces: 64-bit accesses over TLM b_transport (with side effects) and transport_dbg (the
// host's backdoor, without). Addresses are offsets within the PE's register region.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

#include "models/abi/registers.hpp"
#include "models/types/error.hpp"

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

/// Runs `access` for `block`. A std::logic_error of the register file (unknown register or direction, a value
/// that the register cannot hold) becomes a protocol_error: it is the initiator's error. A defect of the
/// model that throws logic_error within an access is reported the same way.
template <class Access>
void guard_access(const char* block, Access&& access) {
  try {
    access();
  } catch (const std::logic_error& e) {
    throw protocol_error("{}: {}", block, e.what());
  }
}

/// Target side: unpacks payloads for a register file. Anything but one aligned 8-byte access is
/// answered with an error response; what the file refuses is a protocol_error (guard_access).
class register_target : private tlm::tlm_fw_transport_if<> {
 public:
  register_target(const char* name, register_file& file) : socket(name), file_(file) {
    socket.bind(*static_cast<tlm::tlm_fw_transport_if<>*>(this));
  }
  tlm::tlm_target_socket<64> socket;
  unsigned transport_dbg(tlm::tlm_generic_payload& t) override {
    if (!well_formed(t)) return 0;
    move(t, &register_file::debug_read_register, &register_file::debug_write_register);
    return t.get_data_length();
  }

 private:
  static bool well_formed(tlm::tlm_generic_payload& t) {
    if (t.get_data_length() == 8 && t.get_address() % 8 == 0) return true;
    t.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    return false;
  }
  void b_transport(tlm::tlm_generic_payload& t, sc_core::sc_time&) override {
    if (!well_formed(t)) return;
    move(t, &register_file::read_register, &register_file::write_register);
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
    throw std::logic_error(std::string(socket.name()) + ": registers take b_transport only");
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload&, tlm::tlm_dmi& dmi) override {
    dmi.allow_none();
    return false;
  }
  template <class Read, class Write>
  void move(tlm::tlm_generic_payload& t, Read read, Write write) {
    const auto reg = static_cast<abi::register_offset>(t.get_address());
    std::uint64_t value = 0;
    guard_access(socket.name(), [&] {
      if (t.is_write()) {
        std::memcpy(&value, t.get_data_ptr(), sizeof value);
        (file_.*write)(reg, value);
      } else {
        value = (file_.*read)(reg);
        std::memcpy(t.get_data_ptr(), &value, sizeof value);
      }
    });
    t.set_response_status(tlm::TLM_OK_RESPONSE);
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
      throw protocol_error(
          "{}: register access refused ({} of {} bytes at {:#x}: {}; expected {} bytes at a multiple of {})",
          socket.name(), payload_.is_write() ? "write" : "read", payload_.get_data_length(),
          payload_.get_address(), payload_.get_response_string(), sizeof(std::uint64_t),
          sizeof(std::uint64_t));
    }
  }
  tlm::tlm_generic_payload payload_;
};

}  // namespace diecast::hw
