// SPDX-License-Identifier: Apache-2.0
#include "plain_memory.hpp"

namespace lab {

plain_memory::plain_memory(sc_core::sc_module_name module_name, std::uint64_t bytes, sc_core::sc_time latency)
    : sc_module(module_name), bytes_(bytes), latency_(latency) {
  socket.register_b_transport(this, &plain_memory::b_transport);
  socket.register_transport_dbg(this, &plain_memory::transport_dbg);
}

void plain_memory::b_transport(tlm::tlm_generic_payload& access, sc_core::sc_time& delay) {
  if (!contains(access)) {
    access.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  delay += latency_;
  move_bytes(access);
  access.set_response_status(tlm::TLM_OK_RESPONSE);
}

unsigned plain_memory::transport_dbg(tlm::tlm_generic_payload& access) {
  if (!contains(access)) return 0;
  move_bytes(access);
  return access.get_data_length();
}

bool plain_memory::contains(const tlm::tlm_generic_payload& access) const {
  return access.get_address() <= bytes_ && access.get_data_length() <= bytes_ - access.get_address();
}

void plain_memory::move_bytes(const tlm::tlm_generic_payload& access) {
  const unsigned char* const enable = access.get_byte_enable_ptr();
  for (unsigned i = 0; i < access.get_data_length(); ++i) {
    if (enable != nullptr && enable[i % access.get_byte_enable_length()] == TLM_BYTE_DISABLED) continue;
    unsigned char& stored = at(access.get_address() + i);
    unsigned char& given = access.get_data_ptr()[i];
    if (access.is_write()) {
      stored = given;
    } else if (access.is_read()) {
      given = stored;
    }
  }
}

unsigned char& plain_memory::at(std::uint64_t offset) {
  return pages_[offset / page_bytes][offset % page_bytes];
}

}  // namespace lab
