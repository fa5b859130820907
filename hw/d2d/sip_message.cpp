// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/sip_message.hpp"

#include <stdexcept>
#include <string>

#include "models/types/error.hpp"

namespace diecast::hw {

std::vector<std::byte> encode(const sip_message& m) {
  const std::string text = archived(m);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

sip_message decode_sip_message(std::span<const std::byte> bytes) {
  try {
    return restored<sip_message>({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const std::logic_error& e) {
    throw protocol_error("SIP link: a message of {} bytes: {}", bytes.size(), e.what());
  }
}

}  // namespace diecast::hw
