// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

#include "models/abi/address.hpp"
#include "models/comm/install_plan.hpp"
#include "models/protocol/ipcq_core.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

constexpr std::uint32_t slot_alignment = 64;  // a slot starts on a flit of the default machine

struct planned {
  queue_pair_install install;
  direction peer_dir{};  ///< queue pair whose ring the transmit half writes
};

std::string plural(std::uint64_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void check_shape(const plan_options& o, std::vector<problem>& problems) {
  if (o.n_slots == 0) problems.push_back({"ipcq.n_slots", "a ring needs a slot", "0", "at least 1"});
  if (o.n_slots > protocol::max_slots) {
    problems.push_back({"ipcq.n_slots", "more slots than an engine holds", std::to_string(o.n_slots),
                        fmt::format("at most {}", protocol::max_slots)});
  }
  if (o.slot_bytes == 0 || o.slot_bytes % slot_alignment != 0) {
    problems.push_back({"ipcq.slot_bytes", "slots are not aligned", std::to_string(o.slot_bytes),
                        fmt::format("a multiple of {}, at least {}", slot_alignment, slot_alignment)});
  }
}

/// Both halves of each queue pair, merged; peer_rx_base still open.
std::vector<planned> merge_halves(const std::vector<queue_pair_half>& halves) {
  std::vector<planned> all;
  for (const queue_pair_half& h : halves) {
    if (all.empty() || all.back().install.owner != h.owner || all.back().install.dir != h.dir) {
      planned p;
      p.install.owner = h.owner;
      p.install.dir = h.dir;
      p.install.peer = h.peer;
      p.install.peer_ipcq = abi::mailbox_of(h.peer);
      all.push_back(p);
    }
    planned& p = all.back();
    (h.rx ? p.install.rx : p.install.tx) = true;
    if (!h.rx) p.peer_dir = h.peer_dir;
  }
  return all;
}

void check_directions(const std::vector<planned>& all, const plan_options& o,
                      std::vector<problem>& problems) {
  const auto top = std::ranges::max_element(
      all, [](const planned& a, const planned& b) { return a.install.dir < b.install.dir; });
  if (top == all.end() || top->install.dir < o.queue_pairs) return;
  problems.push_back({fmt::format("{} {}", owner_name(top->install.owner), direction_name(top->install.dir)),
                      "ipcq.queue_pairs is too small for this pattern", std::to_string(o.queue_pairs),
                      fmt::format("at least {}", top->install.dir + 1)});
}

/// The memory that holds a queue pair's ring, as the address of its first byte.
abi::address memory_of(const queue_pair_install& q, const plan_options& o) {
  const pe_coord pe = q.owner;
  switch (o.rings) {
    case config::buffer_kind::tcm: return abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, 0});
    case config::buffer_kind::sram: return abi::encode({pe.sip, pe.cube, abi::region::sram, 0, 0});
    case config::buffer_kind::hbm: break;
  }
  const std::uint32_t port =
      o.channels ? o.channels->home_of(pe) : pe.pe.value * o.hbm_ports / o.pes_per_cube;
  return abi::encode({pe.sip, pe.cube, abi::region::hbm, port, 0});
}

struct memory_kind {
  const char* key;          ///< config key of its size
  std::uint64_t key_bytes;  ///< unit of that key
  std::uint64_t bytes;      ///< size
  std::uint64_t reserved;   ///< bytes of the memory that are not for slot rings
};

memory_kind kind_of(const plan_options& o) {
  switch (o.rings) {
    case config::buffer_kind::tcm: return {"pe.tcm_kib", 1024, o.tcm_bytes, o.tcm_reserved_bytes};
    case config::buffer_kind::sram: return {"sram.kib", 1024, o.sram_bytes, 0};
    case config::buffer_kind::hbm: break;
  }
  return {"hbm.port_mib", std::uint64_t{1024} * 1024, o.hbm_port_bytes, 0};
}

/// Changes that make `rings` slot rings fit: for each key the largest or smallest value that does.
std::string suggestions(std::uint64_t rings, const plan_options& o, const memory_kind& m) {
  const std::uint64_t room = m.bytes > m.reserved ? m.bytes - m.reserved : 0;
  std::vector<std::string> keys;
  const std::uint64_t slots = room / rings / o.slot_bytes;
  if (slots > 0) keys.push_back(fmt::format("ipcq.n_slots at most {}", slots));
  const std::uint64_t slot_bytes = room / rings / o.n_slots / slot_alignment * slot_alignment;
  if (slot_bytes > 0) keys.push_back(fmt::format("ipcq.slot_bytes at most {}", slot_bytes));
  const std::uint64_t needed = rings * o.n_slots * o.slot_bytes + m.reserved;
  keys.push_back(fmt::format("{} at least {}", m.key, (needed + m.key_bytes - 1) / m.key_bytes));
  const std::uint64_t fitting = room / (std::uint64_t{o.n_slots} * o.slot_bytes);
  if (fitting > 0)
    keys.push_back(fmt::format("a pattern with at most {} here (ipcq.queue_pairs)", plural(fitting, "ring")));
  return fmt::format("{}", fmt::join(keys, ", or "));
}

/// Slot rings that do not fit one memory: their number, and the owner of the first.
struct crowd {
  std::uint64_t rings{};
  pe_coord owner;  ///< the first of them
};

void report_crowding(const crowd& worst, std::uint64_t memories, const plan_options& o,
                     std::vector<problem>& problems) {
  const memory_kind m = kind_of(o);
  const std::uint64_t sum = worst.rings * o.n_slots * o.slot_bytes;
  std::string where = owner_name(worst.owner);
  if (memories > 1) where += fmt::format(" (the fullest of {} memories)", memories);
  problems.push_back({where, "receive rings do not fit their memory",
                      fmt::format("{} of {} x {} B = {} B in {} B ({} B less {} B reserved)",
                                  plural(worst.rings, "ring"), o.n_slots, o.slot_bytes, sum,
                                  m.bytes > m.reserved ? m.bytes - m.reserved : 0, m.bytes, m.reserved),
                      suggestions(worst.rings, o, m)});
}

/// Places all rings of each memory from its top downwards, in order of owner and direction.
void place_rings(std::vector<planned>& all, const plan_options& o, std::vector<problem>& problems) {
  if (o.rings == config::buffer_kind::hbm && (o.hbm_ports == 0 || o.pes_per_cube == 0)) {
    problems.push_back(
        {"hbm.ports", "rings in HBM need a port and a PE", std::to_string(o.hbm_ports), "at least 1"});
    return;
  }
  std::vector<std::pair<abi::address, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].install.rx) order.emplace_back(memory_of(all[i].install, o), i);
  std::ranges::sort(order);
  const memory_kind m = kind_of(o);
  const std::uint64_t ring_bytes = std::uint64_t{o.n_slots} * o.slot_bytes;
  // Counted in rings, not bytes: no product of config values can overflow.
  const std::uint64_t capacity = m.bytes > m.reserved ? (m.bytes - m.reserved) / ring_bytes : 0;
  crowd worst;
  std::uint64_t crowded = 0;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && order[last].first == order[first].first) ++last;
    const std::uint64_t rings = last - first;
    if (rings > capacity) {
      ++crowded;
      if (rings > worst.rings) worst = {rings, all[order[first].second].install.owner};
    } else {
      for (std::size_t k = first; k < last; ++k)
        all[order[k].second].install.rx_base = order[k].first + m.bytes - (k - first + 1) * ring_bytes;
    }
    first = last;
  }
  if (crowded > 0) report_crowding(worst, crowded, o, problems);
}

void point_at_peers(std::vector<planned>& all) {
  const auto key = [](const planned& p) { return std::pair{p.install.owner, p.install.dir}; };
  for (planned& p : all) {
    if (!p.install.tx || p.install.through != carrier::queue_pairs) continue;
    const auto at = std::ranges::lower_bound(all, std::pair{p.install.peer, p.peer_dir}, {}, key);
    p.install.peer_rx_base = at->install.rx_base;  // pairing has made this receive half
  }
}

/// The halves of a tree's queue pairs. Each member has one per use, for any number of others.
class tree_planner {
 public:
  explicit tree_planner(const std::vector<edge>& branches) : branches_(branches) {}

  void add_halves(std::vector<planned>& all, std::vector<problem>& problems) {
    if (branches_.empty()) return;
    for (const edge& e : branches_) {
      const bool down = e.through == carrier::multicast;
      const pe_coord root = down ? e.from : e.to;
      if (!root_) root_ = root;
      if (*root_ != root) {
        problems.push_back({"pattern", "a tree in the network has one root",
                            fmt::format("{} and {}", owner_name(*root_), owner_name(root)), "one root"});
        return;
      }
      half(e.from, e, e.to).tx = true;
      half(e.to, e, e.from).rx = true;
    }
    for (auto& [key, p] : halves_) all.push_back(p);
    std::ranges::sort(all, by_identity);
    const auto twice = std::ranges::adjacent_find(
        all, [](const planned& a, const planned& b) { return !by_identity(a, b) && !by_identity(b, a); });
    if (twice == all.end()) return;
    problems.push_back(
        {fmt::format("{} {}", owner_name(twice->install.owner), direction_name(twice->install.dir)),
         "is used by a tree in the network and by another edge", "",
         "a separate direction for each use of a tree"});
  }

  [[nodiscard]] std::optional<tree_install> for_routers(const std::vector<planned>& all,
                                                        const plan_options& o) const {
    if (!root_) return std::nullopt;
    tree_install t{*root_, {}, 0, o.n_slots, o.slot_bytes};
    for (const planned& p : all) {
      const queue_pair_install& q = p.install;
      if (q.through == carrier::queue_pairs) continue;
      if (t.members.empty() || t.members.back().pe != q.owner) t.members.push_back({q.owner, 0, false});
      if (q.through == carrier::multicast && q.rx) t.members.back().ring = q.rx_base;
      if (q.through == carrier::reduction && q.tx) t.members.back().contributes = true;
      if (q.through == carrier::reduction && q.rx) t.root_ring = q.rx_base;
    }
    return t;
  }

 private:
  static bool by_identity(const planned& a, const planned& b) {
    return std::pair{a.install.owner, a.install.dir} < std::pair{b.install.owner, b.install.dir};
  }
  queue_pair_install& half(pe_coord owner, const edge& e, pe_coord peer) {
    const auto [at, fresh] = halves_.try_emplace({owner, e.dir});
    queue_pair_install& q = at->second.install;
    if (!fresh) {
      if (q.peer == owner) q.peer = peer;  // the first edge of the root is with the root itself
      return q;
    }
    const auto use = e.through == carrier::multicast ? abi::tree_use::multicast : abi::tree_use::reduce;
    q.owner = owner;
    q.dir = e.dir;
    q.peer = peer;
    q.through = e.through;
    q.peer_rx_base = q.peer_ipcq = abi::tree_address(use);
    return q;
  }

  const std::vector<edge>& branches_;
  std::optional<pe_coord> root_;
  std::map<std::pair<pe_coord, direction>, planned> halves_;
};

}  // namespace

install_plan build_install_plan(const std::vector<edge>& edges, const plan_options& options) {
  std::vector<problem> problems;
  check_shape(options, problems);
  const bool shape_ok = problems.empty();
  std::vector<edge> paired, branches;
  for (const edge& e : edges) (e.through == carrier::queue_pairs ? paired : branches).push_back(e);
  std::vector<planned> all = merge_halves(pair_directions(paired, problems));
  tree_planner tree(branches);
  tree.add_halves(all, problems);
  check_directions(all, options, problems);
  if (shape_ok) place_rings(all, options, problems);
  if (!problems.empty()) throw user_error(std::move(problems));
  point_at_peers(all);

  install_plan plan{options.n_slots, options.slot_bytes, {}, {}, tree.for_routers(all, options)};
  plan.queue_pairs.reserve(all.size());
  for (planned& p : all) {
    p.install.n_slots = options.n_slots;
    p.install.slot_bytes = options.slot_bytes;
    plan.queue_pairs.push_back(p.install);
  }
  prove_install_plan(plan);
  return plan;
}

}  // namespace diecast::comm
