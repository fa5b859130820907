// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/sip_message.hpp"

#include <type_traits>

#include "models/types/error.hpp"

namespace diecast::hw {
namespace {

/// Appends integers as little-endian bytes.
class writer {
 public:
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      (*this)(static_cast<std::underlying_type_t<T>>(value));
    } else {
      for (unsigned i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
  }
  std::vector<std::byte> bytes;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> b) : bytes(b) {}
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> raw{};
      (*this)(raw);
      value = static_cast<T>(raw);
    } else {
      if (bytes.size() < sizeof(T)) throw protocol_error("SIP link: a message ends early");
      std::uint64_t raw = 0;
      for (unsigned i = 0; i < sizeof(T); ++i) raw |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
      value = static_cast<T>(raw);
      bytes = bytes.subspan(sizeof(T));
    }
  }
  std::span<const std::byte> bytes;
};

/// Every field of the fixed part, in the order it has on the wire.
template <class Archive, class Message>
void fixed_part(Archive& a, Message& m) {
  a(m.what);
  a(m.vc);
  a(m.flits);
  a(m.head.fs);
  a(m.tail.fs);
  a(m.created.fs);
  auto& h = m.header;
  a(h.kind);
  for (auto* node : {&h.source, &h.destination}) {
    a(node->sip);
    a(node->cube);
    a(node->terminal);
  }
  a(h.target);
  a(h.payload_bytes);
  a(h.offset);
  a(h.request_bytes);
  a(h.transaction);
  a(h.ipcq.match_address);
  a(h.ipcq.sequence);
  a(h.ipcq.message_bytes);
  a(h.ipcq.source.sip.value);
  a(h.ipcq.source.cube.value);
  a(h.ipcq.source.pe.value);
  a(h.ipcq.source_direction);
  a(h.ipcq.check);
  a(h.checksum);
  a(h.tag.op);
  a(h.tag.app_ctx);
  a(h.tag.id);
  a(h.tag.tag);
  a(h.tag.va);
  a(h.tag.length);
  a(h.tag.payload_bytes);
  a(h.tag.source.sip.value);
  a(h.tag.source.cube.value);
  a(h.tag.source.pe.value);
  a(h.tag.check);
  a(h.staged.set);
  for (auto* node : {&h.staged.from, &h.staged.to}) {
    a(node->sip);
    a(node->cube);
    a(node->terminal);
  }
}

}  // namespace

std::vector<std::byte> encode(const sip_message& m) {
  writer w;
  fixed_part(w, m);
  w(static_cast<std::uint64_t>(m.data.size()));
  w.bytes.insert(w.bytes.end(), m.data.begin(), m.data.end());
  return std::move(w.bytes);
}

sip_message decode_sip_message(std::span<const std::byte> bytes) {
  reader r(bytes);
  sip_message m;
  fixed_part(r, m);
  std::uint64_t payload = 0;
  r(payload);
  if (r.bytes.size() != payload) {
    throw protocol_error("SIP link: message carries {} payload bytes (expected {})", r.bytes.size(), payload);
  }
  m.data.assign(r.bytes.begin(), r.bytes.end());
  return m;
}

}  // namespace diecast::hw
