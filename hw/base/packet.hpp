// SPDX-License-Identifier: Apache-2.0
// The payload of the fabric's interfaces: a pooled packet, acquired by every hop that holds it. Hop
// state (route, VC, arrival times) lives in the port that holds the packet, never here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/abi/wire.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::hw {

class packet_pool;

struct packet {
  abi::packet_header header;
  std::uint32_t flits{1};
  sim_time created;             ///< time at which the packet was made, for latency statistics
  std::vector<std::byte> data;  ///< payload; empty when the run moves no data

 private:
  friend class packet_pool;
  friend class packet_ptr;
  std::uint32_t references_{};
  packet_pool* pool_{};
};

/// Shared ownership of a pooled packet (one SIP, one thread: a plain count).
class packet_ptr {
 public:
  packet_ptr() = default;
  explicit packet_ptr(packet& p) : p_(&p) { ++p_->references_; }
  packet_ptr(const packet_ptr& o) : p_(o.p_) {
    if (p_ != nullptr) ++p_->references_;
  }
  packet_ptr(packet_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  packet_ptr& operator=(packet_ptr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  [[gnu::always_inline]] ~packet_ptr() {
    if (p_ != nullptr && --p_->references_ == 0) give_back();
  }
  [[nodiscard]] packet& operator*() const { return *p_; }
  [[nodiscard]] packet* operator->() const { return p_; }
  [[nodiscard]] explicit operator bool() const { return p_ != nullptr; }

 private:
  void give_back();
  packet* p_{};
};

/// One pool per SIP. Packets return here when the last holder lets go; their buffers are reused.
class packet_pool : immovable {
 public:
  packet_pool() = default;
  ~packet_pool();
  [[nodiscard]] packet_ptr make() {
    if (free_.empty()) add_packet();
    packet* const p = free_.back();
    free_.pop_back();
    p->header = {};
    p->flits = 1;
    p->created = {};
    p->data.clear();
    return packet_ptr{*p};
  }
  /// A packet with the same content.
  [[nodiscard]] packet_ptr copy(const packet& of);
  [[nodiscard]] std::size_t in_flight() const { return all_.size() - free_.size(); }
  /// Every packet that is in use, in the order in which the pool made them.
  template <class Visit>
  void visit(Visit visit) const {
    for (const auto& p : all_)
      if (p->references_ != 0) visit(*p);
  }

 private:
  friend class packet_ptr;
  void add_packet();
  std::vector<std::unique_ptr<packet>> all_;
  std::vector<packet*> free_;
};

}  // namespace diecast::hw
