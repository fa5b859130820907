// SPDX-License-Identifier: Apache-2.0
#include "hw/noc/tree_units.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/abi/address.hpp"
#include "models/comm/network_tree.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

tree_units::tree_units(const fabric::topology& topology, const config::machine_config& config, sip_id sip,
                       cube_id cube, std::string name)
    : topology_(topology),
      sip_(sip),
      cube_(cube),
      name_(std::move(name)),
      fork_cycles_(config.noc.multicast_cycles),
      combine_cycles_(config.noc.reduce_cycles),
      bytes_per_cycle_(config.noc.reduce_bytes_per_cycle),
      buffer_bytes_(config.noc.reduce_buffer_kib * 1024),
      credit_cycles_(config.noc.credit_cycles),
      flit_bytes_(static_cast<std::uint32_t>(config.noc.flit_bytes)) {}

void tree_units::add_port(fabric::router_index router, fabric::tree_port port, std::uint32_t number) {
  if (ports_.size() >= UINT16_MAX - first_exit) {
    throw user_error(problem{"noc.multicast", "a cube has more router ports than trees can name",
                             fmt::format("more than {}", UINT16_MAX - first_exit),
                             "fewer noc.columns x noc.rows, or false"});
  }
  const auto index = static_cast<std::uint32_t>(ports_.size());
  by_place_.emplace(std::pair{router, port}, index);
  ports_.push_back({router, port, number});
  if (unit_of_.size() <= number) unit_of_.resize(number + 1, none);
  unit_of_[number] = index;
  parents_.emplace_back();
  children_.emplace_back();
}

std::uint32_t tree_units::index_of(fabric::router_index router, fabric::tree_port port) const {
  return by_place_.at({router, port});
}

std::uint16_t tree_units::exit_into(fabric::router_index router, fabric::tree_port port) const {
  return static_cast<std::uint16_t>(first_exit + index_of(router, port));
}

tree_units::exit_port tree_units::exit_port_of(fabric::router_index router, std::uint16_t exit) const {
  const unit_port& to = ports_.at(exit - first_exit);
  if (to.router == router) return {true, to.number, {}};
  return {false, 0, fabric::opposite(static_cast<fabric::side>(to.at.number))};
}

void tree_units::install(const tree_program& program, packet_pool& pool) {
  if (rings_) throw protocol_error(name_ + ": a tree is installed already");
  rings_ = program.rings;
  space_ = protocol::sequence_space(program.rings.n_slots);
  pool_ = &pool;
  for (const fabric::tree_node& n : program.tree.nodes) {
    if (n.sip == sip_ && n.cube == cube_) add_node(n, program);
  }
}

void tree_units::add_node(const fabric::tree_node& n, const tree_program& program) {
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  const abi::node_address& root = program.tree.root;
  node made;
  made.parent = index_of(n.router, n.parent);
  made.root = root.sip == sip_.value && root.cube == cube_.value &&
              n.parent == fabric::tree_port{true, root.terminal};
  for (const fabric::tree_port& port : n.children) made.children.push_back(make_child(n, port, program));
  if (made.root) {  // the root's own contribution, and the credits that come back to it
    child self = make_child(n, n.parent, program);
    self.receives = false;
    if (self.contributes) made.children.push_back(self);
  }
  parents_[made.parent] = {number, none};
  for (std::uint32_t c = 0; c < made.children.size(); ++c) children_[made.children[c].unit] = {number, c};
  nodes_.push_back(std::move(made));
}

tree_units::child tree_units::make_child(const fabric::tree_node& n, const fabric::tree_port& port,
                                         const tree_program& program) const {
  child c;
  c.unit = index_of(n.router, port);
  const fabric::terminal* const at =
      port.terminal ? &topology_.layout(sip_, cube_).terminals.at(port.number) : nullptr;
  const auto& members = program.rings.members;
  if (at == nullptr || at->kind != fabric::terminal_kind::pe) {
    c.receives = std::any_of(members.begin(), members.end(), [](const auto& m) { return m.ring != 0; });
    c.contributes = std::any_of(members.begin(), members.end(), [](const auto& m) { return m.contributes; });
    return c;
  }
  c.leaf = pe_coord{sip_, cube_, pe_id{at->index}};
  const auto member =
      std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.pe == *c.leaf; });
  if (member == members.end()) {
    throw protocol_error(
        fmt::format("{}: the tree leads to {}, which is no member", name_, owner_name(*c.leaf)));
  }
  c.ring = member->ring;
  c.receives = member->ring != 0;
  c.contributes = member->contributes;
  return c;
}

tree_units::node& tree_units::node_of(std::uint32_t unit, bool as_parent, const packet& p) {
  const role& r = as_parent ? parents_[unit] : children_[unit];
  if (r.node == none) {
    throw protocol_error(
        fmt::format("{}: a packet of {} for a tree at router {}, {} {}; expected a port of its tree", name_,
                    abi::to_string(p.header.kind), ports_[unit].router,
                    ports_[unit].at.terminal ? "terminal" : "side", ports_[unit].at.number));
  }
  return nodes_[r.node];
}

void tree_units::take(const switch_core::departure& d, packet_ptr p) {
  const std::uint32_t unit = unit_of_[d.output];
  ++counters_.packets;
  counters_.bytes += std::uint64_t{d.flits} * flit_bytes_;
  switch (static_cast<abi::tree_flow>(d.vc - topology_.tree_vc_base())) {
    case abi::tree_flow::down: return copy_down(unit, d, p);
    case abi::tree_flow::up: return contribute(unit, d, std::move(p));
    case abi::tree_flow::credits: return combine_credit(unit, d, std::move(p));
  }
}

void tree_units::send(std::uint32_t unit, abi::tree_flow flow, packet_ptr p, std::uint64_t head,
                      std::uint64_t tail) {
  const unit_port& port = ports_[unit];
  std::uint16_t exit = port.at.number;
  if (!port.at.terminal) {
    const auto s = static_cast<fabric::side>(port.at.number);
    exit = exit_into(topology_.next_router(port.router, s),
                     {false, static_cast<std::uint16_t>(fabric::opposite(s))});
  }
  const std::uint32_t flits = p->flits;
  sent_.push_back({{port.number, topology_.tree_vc(flow), flits, exit, head, tail}, std::move(p)});
}

void tree_units::copy_down(std::uint32_t unit, const switch_core::departure& d, const packet_ptr& p) {
  node& n = node_of(unit, true, *p);
  const bool data = p->header.kind == abi::packet_kind::ipcq_data;
  const std::uint64_t number = n.first_held + n.held_packets.size();
  held h{d.flits, 0, 0};
  for (child& c : n.children) {
    if (!(data ? c.receives : c.contributes)) continue;
    packet_ptr copy = pool_->copy(*p);
    if (c.leaf) address_leaf(*copy, c);
    c.out.push_back(number);
    ++h.copies;
    send(c.unit, abi::tree_flow::down, std::move(copy), d.first + fork_cycles_, d.last + fork_cycles_);
  }
  if (h.copies == 0) {
    throw protocol_error(fmt::format("{}: {} at router {} has no receiver below it", name_,
                                     abi::to_string(p->header.kind), ports_[unit].router));
  }
  counters_.copies += h.copies - 1;
  n.held_packets.push_back(h);
}

void tree_units::left(std::uint32_t port, std::uint8_t vc, std::uint32_t, std::uint64_t cycle) {
  if (vc != topology_.tree_vc(abi::tree_flow::down)) return;  // other flows have room upstream
  const role& r = children_[unit_of_[port]];
  node& n = nodes_[r.node];
  child& c = n.children[r.child];
  held& h = n.held_packets[c.out.front() - n.first_held];
  c.out.pop_front();
  h.usable = std::max(h.usable, cycle);
  --h.copies;
  while (!n.held_packets.empty() && n.held_packets.front().copies == 0) {
    const held& done = n.held_packets.front();
    returned_.push_back({ports_[n.parent].number, vc, done.flits, done.usable});
    n.held_packets.pop_front();
    ++n.first_held;
  }
}

void tree_units::combine_credit(std::uint32_t unit, const switch_core::departure& d, packet_ptr p) {
  node& n = node_of(unit, false, *p);
  returned_.push_back({ports_[unit].number, d.vc, d.flits, d.first + credit_cycles_});
  child& c = n.children[children_[unit].child];
  c.credits += space_.distance(c.tail, p->header.ipcq.sequence);
  c.tail = p->header.ipcq.sequence;
  std::uint64_t least = UINT64_MAX;
  for (const child& each : n.children) {
    if (each.receives) least = std::min(least, each.credits);
  }
  if (least == n.credits_sent) {
    ++counters_.credits_combined;
    return;
  }
  n.tail_sent = space_.advance(n.tail_sent, static_cast<std::uint32_t>(least - n.credits_sent));
  n.credits_sent = least;
  p->header.ipcq.sequence = n.tail_sent;
  if (n.root) address_root(*p);
  send(n.parent, abi::tree_flow::credits, std::move(p), d.first + fork_cycles_, d.last + fork_cycles_);
}

void tree_units::contribute(std::uint32_t unit, const switch_core::departure& d, packet_ptr p) {
  node& n = node_of(unit, false, *p);
  returned_.push_back({ports_[unit].number, d.vc, d.flits, d.first + credit_cycles_});
  child& c = n.children[children_[unit].child];
  c.waiting_bytes += p->header.payload_bytes;
  counters_.most_waiting_bytes = std::max(counters_.most_waiting_bytes, c.waiting_bytes);
  if (c.waiting_bytes > buffer_bytes_) {
    throw protocol_error(fmt::format(
        "{}: {} bytes of contributions wait at router {} (expected at most {}, noc.reduce_buffer_kib)", name_,
        c.waiting_bytes, ports_[unit].router, buffer_bytes_));
  }
  c.parts.push_back({std::move(p), d.first, d.last});
  combine(n);
}

/// Combines as soon as every child has sent its part of the next packet.
void tree_units::combine(node& n) {
  const auto missing = [](const child& c) { return c.contributes && c.parts.empty(); };
  if (std::any_of(n.children.begin(), n.children.end(), missing)) return;
  std::uint64_t head = 0, tail = 0, parts = 0;
  for (const child& c : n.children) {
    if (!c.contributes) continue;
    ++parts;
    head = std::max(head, c.parts.front().head);
    tail = std::max(tail, c.parts.front().tail);
  }
  packet_ptr sum = sum_of(n);
  const std::uint64_t operands = (parts - 1) * sum->header.payload_bytes;
  const std::uint64_t start = std::max(head, n.busy_until);
  const std::uint64_t busy = (operands + bytes_per_cycle_ - 1) / bytes_per_cycle_;
  const std::uint64_t latency = (parts - 1) * combine_cycles_ + fork_cycles_;
  n.busy_until = start + busy;
  const std::uint64_t streamed = std::max({tail, n.busy_until, start + sum->flits - 1});
  counters_.combinations += parts - 1;
  if (n.root) address_root(*sum);
  send(n.parent, abi::tree_flow::up, std::move(sum), start + latency, streamed + latency);
}

/// Takes the first part of every child. Parts that are not of the same packet mean that members disagree
/// about sizes.
packet_ptr tree_units::sum_of(node& n) {
  packet_ptr sum;
  comm::tree_sum total(rings_->arithmetic);
  for (child& c : n.children) {
    if (!c.contributes) continue;
    packet_ptr part = std::move(c.parts.front().p);
    c.parts.pop_front();
    c.waiting_bytes -= part->header.payload_bytes;
    if (!sum) {
      sum = std::move(part);
      total.add(sum->data);
      continue;
    }
    const abi::packet_header &a = sum->header, &b = part->header;
    if (a.ipcq.sequence != b.ipcq.sequence || a.offset != b.offset || a.payload_bytes != b.payload_bytes ||
        a.ipcq.message_bytes != b.ipcq.message_bytes) {
      throw protocol_error(
          fmt::format("{}: contributions of {} and {} differ: message {}, offset {}, {} of {} bytes, and "
                      "message {}, offset {}, {} of {} bytes",
                      name_, owner_name(a.ipcq.source), owner_name(b.ipcq.source), a.ipcq.sequence, a.offset,
                      a.payload_bytes, a.ipcq.message_bytes, b.ipcq.sequence, b.offset, b.payload_bytes,
                      b.ipcq.message_bytes));
    }
    counters_.elements += b.payload_bytes / numeric::size_of(rings_->arithmetic.type);
    total.add(part->data);
  }
  sum->data = total.result();
  return sum;
}

void tree_units::address_to(packet& p, pe_coord pe, abi::address match) const {
  p.header.target = abi::mailbox_of(pe);
  p.header.destination = topology_.locate(p.header.target);
  p.header.ipcq.match_address = match;
}

/// Multicast data goes to the same slot of the member's own ring; the credit of a reduction names the ring
/// that all members write to.
void tree_units::address_leaf(packet& p, const child& c) const {
  const bool data = p.header.kind == abi::packet_kind::ipcq_data;
  const abi::address shared = abi::tree_address(data ? abi::tree_use::multicast : abi::tree_use::reduce);
  address_to(p, *c.leaf, data ? c.ring + (p.header.ipcq.match_address - shared) : shared);
}

void tree_units::address_root(packet& p) const {
  const bool data = p.header.kind == abi::packet_kind::ipcq_data;
  const abi::address shared = abi::tree_address(data ? abi::tree_use::reduce : abi::tree_use::multicast);
  address_to(p, rings_->root, data ? rings_->root_ring + (p.header.ipcq.match_address - shared) : shared);
}

bool tree_units::idle() const {
  return sent_.empty() && returned_.empty() && std::all_of(nodes_.begin(), nodes_.end(), [](const node& n) {
           return n.held_packets.empty() &&
                  std::all_of(n.children.begin(), n.children.end(),
                              [](const child& c) { return c.parts.empty() && c.out.empty(); });
         });
}

}  // namespace diecast::hw
