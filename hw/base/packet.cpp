// SPDX-License-Identifier: Apache-2.0
#include "hw/base/packet.hpp"

namespace diecast::hw {

void packet_ptr::give_back() { p_->pool_->free_.push_back(p_); }

packet_pool::~packet_pool() = default;

void packet_pool::add_packet() {
  all_.push_back(std::make_unique<packet>());
  all_.back()->pool_ = this;
  free_.push_back(all_.back().get());
}

packet_ptr packet_pool::copy(const packet& of) {
  packet_ptr p = make();
  p->header = of.header;
  p->flits = of.flits;
  p->created = of.created;
  p->data = of.data;
  return p;
}

}  // namespace diecast::hw
