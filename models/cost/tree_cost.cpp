// SPDX-License-Identifier: Apache-2.0
#include "models/cost/tree_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/message_cost.hpp"
#include "models/cost/real.hpp"
#include "models/cost/wire_rates.hpp"

namespace diecast::cost {
namespace {

fabric::collective_tree tree_of(const fabric::topology& t, const bound_request& r, pe_coord root) {
  std::vector<abi::node_address> leaves;
  for (const pe_coord& m : r.ranks.members) leaves.push_back(terminal_of(t, m));
  return fabric::make_tree(t, terminal_of(t, root), leaves);
}

}  // namespace

tree_cost::tree_cost(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
                     std::uint32_t root)
    : t_(t),
      c_(c),
      r_(r),
      step_(t, c),
      root_(r.ranks.members.at(root)),
      n_(d(r.bytes)),
      slot_(std::min(n_, step_.slot_bytes())),
      more_slots_(step_.more_slots_of(n_)),
      cycle_(1 / c.noc.clock_ghz),
      tree_(tree_of(t, r, root_)) {}

/// What the units of the routers on the way add to it.
double tree_cost::units_ns(pe_coord member) const {
  const fabric::tree_way w = fabric::way_of(t_, terminal_of(t_, root_), terminal_of(t_, member));
  return d(w.routers * c_.noc.multicast_cycles) * cycle_;
}

/// The longest way of a slot, to the members or from them, and of the credit back.
tree_cost::way tree_cost::longest(bool outward) const {
  way w;
  for (const pe_coord& m : r_.ranks.members) {
    if (m == root_) continue;
    const pe_coord& from = outward ? root_ : m;
    const pe_coord& to = outward ? m : root_;
    const double units = units_ns(m);
    w.slot_ns = std::max(w.slot_ns, step_.flight_ns(from, to, slot_) + units);
    w.credit_ns =
        std::max(w.credit_ns, step_.flight_ns(to, from, 0) - step_.flight_ns(root_, root_, 0) + units);
  }
  return w;
}

tree_cost::way tree_cost::down() const { return longest(true); }

tree_cost::way tree_cost::up() const {
  way w = longest(false);
  const double slot_packets = std::max(1.0, std::ceil(slot_ / d(c_.noc.max_packet_bytes)));
  std::size_t most = 0;
  for (const fabric::tree_node& n : tree_.nodes) most = std::max(most, n.children.size());
  const double operands = d(most - 1) * slot_;
  w.slot_ns += d((most - 1) * c_.noc.reduce_cycles) * cycle_;
  w.interval_ns = std::max(operands / d(c_.noc.reduce_bytes_per_cycle), slot_packets) * cycle_;
  return w;
}

/// Every byte goes over each link of the tree once: the narrowest tells.
double tree_cost::wires_ns() const {
  const wire_rates wires(c_);
  double rate = wires.noc_gbytes_s();
  for (const fabric::tree_node& n : tree_.nodes) {
    for (const fabric::tree_port& p : n.children) {
      if (!p.terminal) continue;
      const fabric::terminal& at = t_.layout(n.sip, n.cube).terminals[p.number];
      if (at.kind == fabric::terminal_kind::ucie_lane)
        rate = std::min(rate, wires.ucie_gbytes_s(t_, n.sip, n.cube, at.edge));
      if (at.kind == fabric::terminal_kind::sip_port)
        rate = std::min(rate, wires.sip_link_gbytes_s(t_, at.index));
    }
  }
  return n_ * wires.wire_bytes_per_byte() / rate;
}

/// The slots behind the first: as fast as wires, routers, firmware and credits let them.
double tree_cost::slots_ns(const way& w, double firmware_ns) const {
  const double round_trip =
      step_.send_ns() + w.slot_ns + step_.wake_ns() + step_.take_ns(slot_, false) + w.credit_ns;
  return more_slots_ * std::max({wires_ns() / (more_slots_ + 1), w.interval_ns, firmware_ns,
                                 round_trip / d(c_.ipcq.n_slots)});
}

estimate tree_cost::multicast() const {
  const way w = down();
  const double take = step_.take_ns(slot_, false), registers = 2 * step_.register_ns();
  const double ns = step_.first_use_ns(half_registers) + step_.send_ns() + w.slot_ns + step_.wake_ns() +
                    take + slots_ns(w, std::max(step_.send_ns(), take) + registers);
  return {ns + registers, wires_ns(), true};
}

estimate tree_cost::reduction() const {
  const way w = up();
  const double take = step_.take_ns(slot_, true), registers = 2 * step_.register_ns();
  const double at_root = take + registers;
  const double ns = step_.first_use_ns(half_registers) + step_.send_ns() + w.slot_ns + step_.wake_ns() +
                    take + slots_ns(w, at_root);
  return {ns + registers, wires_ns()};
}

estimate tree_cost::both() const {
  const way a = up(), b = down();
  const double take = step_.take_ns(slot_, false), registers = 2 * step_.register_ns();
  const double at_root = step_.send_ns() + step_.take_ns(slot_, true) + 2 * registers;
  const double ns = step_.first_use_ns(2 * half_registers) + 2 * step_.send_ns() + a.slot_ns + b.slot_ns +
                    2 * step_.wake_ns() + take + step_.take_ns(slot_, true) +
                    std::max(slots_ns(a, at_root), slots_ns(b, at_root));
  return {ns + registers, wires_ns()};
}

}  // namespace diecast::cost
