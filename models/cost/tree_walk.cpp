// SPDX-License-Identifier: Apache-2.0
#include "models/cost/tree_walk.hpp"

#include <algorithm>

namespace diecast::cost {

tree_walk::tree_walk(const step_cost& step, const comm::group& ranks,
                     const std::vector<comm::tree_node>& nodes)
    : step_(step), ranks_(ranks), nodes_(nodes) {
  for (std::uint32_t r = 0; r < nodes.size(); ++r) {
    if (!nodes[r].parent) order_.push_back(r);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::vector<std::uint32_t>& below = nodes[order_[i]].children;
    order_.insert(order_.end(), below.begin(), below.end());
  }
}

double tree_walk::edge_ns(std::uint32_t from, std::uint32_t to, double bytes, bool reduces) const {
  return step_.exchange_ns(ranks_.members[from], ranks_.members[to], {bytes, reduces, 1, false});
}

double tree_walk::down(const bytes_of& bytes) const { return walk_down(bytes, false); }
double tree_walk::handed_down(const bytes_of& bytes) const { return walk_down(bytes, true); }

double tree_walk::walk_down(const bytes_of& bytes, bool is_handed_on) const {
  std::vector<double> has(nodes_.size());
  double last = 0;
  for (const std::uint32_t r : order_) {
    double sent = has[r];
    for (const std::uint32_t child : nodes_[r].children) {
      const double b = bytes(child);
      const double copied = sent + edge_ns(r, child, b, false);
      has[child] = is_handed_on ? copied - step_.take_ns(std::min(b, step_.slot_bytes()), false) : copied;
      last = std::max(last, copied);
      sent += step_.slots_of(b) * (step_.send_ns() + step_.register_ns());
    }
  }
  return last;
}

double tree_walk::up(const bytes_of& bytes, bool reduces) const {
  std::vector<double> has(nodes_.size());
  for (auto r = order_.rbegin(); r != order_.rend(); ++r) {
    for (const std::uint32_t child : nodes_[*r].children) {
      const double b = bytes(child);
      const double take = step_.take_ns(std::min(b, step_.slot_bytes()), reduces);
      has[*r] = std::max(has[child] + edge_ns(child, *r, b, reduces), has[*r] + step_.slots_of(b) * take);
    }
  }
  return order_.empty() ? 0 : has[order_.front()];
}

double tree_walk::sums_up(double bytes, double wire_ns) const {
  const double slot = std::min(bytes, step_.slot_bytes()), slots = step_.more_slots_of(bytes) + 1;
  const double take = step_.take_ns(slot, true);
  const double taken = std::max(take + step_.register_ns(), wire_ns);
  const double sent = std::max(step_.send_ns() + step_.register_ns(), wire_ns);
  std::vector<double> done(nodes_.size());
  for (auto r = order_.rbegin(); r != order_.rend(); ++r) {
    const std::vector<std::uint32_t>& children = nodes_[*r].children;
    if (children.empty()) done[*r] = (slots - 1) * sent;
    double nearest = 0;
    for (const std::uint32_t child : children) {
      const double edge = edge_ns(child, *r, slot, true);
      nearest = nearest > 0 ? std::min(nearest, edge) : edge;
      done[*r] = std::max(done[child] + edge, done[*r] + take);
    }
    const double others = static_cast<double>(children.size()) * slots - 1;
    done[*r] = std::max(done[*r], nearest + std::max(0.0, others) * taken);
  }
  return order_.empty() ? 0 : done[order_.front()];
}

}  // namespace diecast::cost
