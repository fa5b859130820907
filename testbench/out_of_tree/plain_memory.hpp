// SPDX-License-Identifier: Apache-2.0
// The least memory that can stand behind an HBM port: a blocking TLM-2.0 target of fixed latency. It
// knows nothing of Diecast; the convenience socket translates the phases of the base protocol.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>

namespace lab {

class plain_memory : public sc_core::sc_module {
 public:
  plain_memory(sc_core::sc_module_name name, std::uint64_t bytes, sc_core::sc_time latency);

  tlm_utils::simple_target_socket<plain_memory> socket{"socket"};

 private:
  void b_transport(tlm::tlm_generic_payload& access, sc_core::sc_time& delay);
  unsigned transport_dbg(tlm::tlm_generic_payload& access);
  [[nodiscard]] bool contains(const tlm::tlm_generic_payload& access) const;
  void move_bytes(const tlm::tlm_generic_payload& access);
  [[nodiscard]] unsigned char& at(std::uint64_t offset);

  static constexpr std::uint64_t page_bytes = 4096;
  std::uint64_t bytes_;
  sc_core::sc_time latency_;
  std::map<std::uint64_t, std::array<unsigned char, page_bytes>> pages_;  ///< made when first touched
};

}  // namespace lab
