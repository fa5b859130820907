// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>
#include <tuple>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/types/error.hpp"

namespace diecast::comm {
namespace {

using refs = std::vector<const queue_pair_install*>;

std::string ring_name(const queue_pair_install& q) {
  return fmt::format("{} {}", owner_name(q.owner), direction_name(q.dir));
}

/// With a given shape the text has the paths of the PEs concerned.
struct problem_list : std::vector<problem> {
  const machine_shape* shape{};
  void add(problem p, std::initializer_list<pe_coord> pes) {
    p.kind = problem_kind::wrong_install;
    for (const pe_coord pe : pes)
      if (shape != nullptr) p.pes.push_back(pe_path(*shape, pe));
    push_back(std::move(p));
  }
};

template <class Key>
void sort_by(refs& v, Key key) {
  std::ranges::sort(v, [&](const auto* a, const auto* b) { return key(*a) < key(*b); });
}

auto identity(const queue_pair_install& q) { return std::tuple{q.owner, q.dir}; }

refs select(const install_plan& plan, bool queue_pair_install::*half, bool trees = false) {
  refs v;
  for (const queue_pair_install& q : plan.queue_pairs)
    if (q.*half && (q.through == carrier::queue_pairs || trees)) v.push_back(&q);
  return v;
}

void prove_unique(const install_plan& plan, std::vector<problem>& problems) {
  refs all;
  for (const queue_pair_install& q : plan.queue_pairs) all.push_back(&q);
  sort_by(all, identity);
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (identity(*all[i - 1]) != identity(*all[i])) continue;
    problems.push_back({ring_name(*all[i]), "the queue pair is planned twice", "", "once"});
  }
}

std::uint64_t ring_bytes(const queue_pair_install& q) { return std::uint64_t{q.n_slots} * q.slot_bytes; }

/// Checks that rings are disjoint: in address order each must start behind the end of all before it.
void prove_disjoint(const refs& rings, problem_list& problems) {
  for (std::size_t i = 1, reach = 0; i < rings.size(); ++i) {
    const queue_pair_install& a = *rings[reach];  // the earlier ring that reaches furthest
    const queue_pair_install& b = *rings[i];
    if (b.rx_base - a.rx_base < ring_bytes(a)) {
      problems.add({fmt::format("{} and {}", ring_name(a), ring_name(b)), "receive rings overlap",
                    fmt::format("{:#018x}, {} bytes, and {:#018x}, {} bytes", a.rx_base, ring_bytes(a),
                                b.rx_base, ring_bytes(b)),
                    "disjoint ranges over the whole pod"},
                   {a.owner, b.owner});
    }
    if (b.rx_base + ring_bytes(b) > a.rx_base + ring_bytes(a)) reach = i;
  }
}

const queue_pair_install* ring_at(const refs& rings, abi::address base) {
  const auto at = std::ranges::lower_bound(rings, base, {}, &queue_pair_install::rx_base);
  return at != rings.end() && (*at)->rx_base == base ? *at : nullptr;
}

/// Every ring has one writer: each writes a ring of its peer, no two the same, and two queue pairs that both
/// send and receive are each other's.
void prove_writers(const refs& writers, const refs& rings, problem_list& problems) {
  for (std::size_t i = 0; i < writers.size(); ++i) {
    const queue_pair_install& w = *writers[i];
    const std::string where = ring_name(w);
    const std::string target = fmt::format("{:#018x}", w.peer_rx_base);
    const queue_pair_install* ring = ring_at(rings, w.peer_rx_base);
    if (ring == nullptr) {
      problems.push_back(
          {where, "writes where no receive ring starts", target, "the rx base of a ring of its peer"});
      continue;
    }
    if (ring->owner != w.peer || ring->peer != w.owner) {
      problems.add(
          {where, "writes a ring that is not paired with it",
           fmt::format("ring of {}, which receives from {}", ring_name(*ring), owner_name(ring->peer)),
           fmt::format("a ring of {} that receives from {}", owner_name(w.peer), owner_name(w.owner))},
          {w.owner, ring->owner, ring->peer, w.peer, w.owner});
    }
    if (ring->n_slots != w.n_slots || ring->slot_bytes != w.slot_bytes) {
      problems.push_back({where, "writes a ring of another shape",
                          fmt::format("{} x {} bytes, and {} has {} x {}", w.n_slots, w.slot_bytes,
                                      ring_name(*ring), ring->n_slots, ring->slot_bytes),
                          "equal slots and slot sizes at both ends"});
    }
    if (i > 0 && writers[i - 1]->peer_rx_base == w.peer_rx_base) {
      problems.add({fmt::format("{} and {}", ring_name(*writers[i - 1]), where), "write the same slots",
                    fmt::format("ring of {} at {}", ring_name(*ring), target), "one writer per ring"},
                   {writers[i - 1]->owner, w.owner, ring->owner});
    }
    if (w.rx && ring->tx && ring->peer_rx_base != w.rx_base) {
      problems.add({where, "writes to a queue pair whose credits go elsewhere",
                    fmt::format("{} sends credits to {:#018x}", ring_name(*ring), ring->peer_rx_base),
                    fmt::format("{:#018x}, the ring of {}", w.rx_base, where)},
                   {w.owner, ring->owner, w.owner});
    }
  }
}

void prove_heard(const refs& rings, const refs& writers, std::vector<problem>& problems) {
  for (const queue_pair_install* ring : rings) {
    const auto at = std::ranges::lower_bound(writers, ring->rx_base, {}, &queue_pair_install::peer_rx_base);
    if (at != writers.end() && (*at)->peer_rx_base == ring->rx_base) continue;
    problems.push_back({ring_name(*ring), "a receive ring without a writer",
                        fmt::format("{:#018x}", ring->rx_base),
                        fmt::format("a transmit half at {}", owner_name(ring->peer))});
  }
}

/// Data and credits for a PE go to one mailbox, and two PEs never share one.
void prove_mailboxes(const install_plan& plan, std::vector<problem>& problems) {
  refs all;
  for (const queue_pair_install& q : plan.queue_pairs)
    if (q.through == carrier::queue_pairs) all.push_back(&q);
  const auto compare = [&](auto key, const char* what) {
    sort_by(all, key);
    for (std::size_t i = 1; i < all.size(); ++i) {
      const queue_pair_install& a = *all[i - 1];
      const queue_pair_install& b = *all[i];
      if ((a.peer == b.peer) == (a.peer_ipcq == b.peer_ipcq)) continue;
      if (std::get<0>(key(a)) != std::get<0>(key(b))) continue;
      problems.push_back({fmt::format("{} and {}", ring_name(a), ring_name(b)), what,
                          fmt::format("{} at {:#018x} and {} at {:#018x}", owner_name(a.peer), a.peer_ipcq,
                                      owner_name(b.peer), b.peer_ipcq),
                          "one mailbox per PE"});
    }
  };
  compare(
      [](const queue_pair_install& q) {
        return std::tuple{q.peer, q.peer_ipcq, q.owner, q.dir};
      },
      "name different mailboxes for one PE");
  compare(
      [](const queue_pair_install& q) {
        return std::tuple{q.peer_ipcq, q.peer, q.owner, q.dir};
      },
      "name one mailbox for different PEs");
}

/// Checks that the routers' addresses of a tree's slot rings are those of its members: one writer for all
/// rings of a multicast, one ring for all writers of a reduction.
class tree_prover {
 public:
  tree_prover(const tree_install& t, std::vector<problem>& problems) : tree_(t), problems_(problems) {}

  void prove(const queue_pair_install& q) {
    prove_shape(q);
    const bool down = q.through == carrier::multicast;
    if ((down ? q.tx : q.rx) && q.owner != tree_.root)
      wrong(q, "is the root's half of a tree", owner_name(q.owner), owner_name(tree_.root));
    const tree_install::member* const m = member(q.owner);
    const abi::address known = m == nullptr ? 0 : m->ring;
    if (down && q.rx && known != q.rx_base)
      wrong_ring(q, "the routers write its multicasts elsewhere", known);
    if (!down && q.rx && tree_.root_ring != q.rx_base)
      wrong_ring(q, "the routers write its sums elsewhere", tree_.root_ring);
    if (!down && q.tx && (m == nullptr || !m->contributes))
      wrong(q, "the routers wait for no contribution of it", "", "a member that contributes");
    rings_ += down && q.rx ? 1 : 0;
    contributors_ += !down && q.tx ? 1 : 0;
  }

  /// Checked after all members.
  void prove_members() {
    std::size_t rings = 0, contributors = 0;
    for (const tree_install::member& m : tree_.members) {
      rings += m.ring != 0 ? 1 : 0;
      contributors += m.contributes ? 1 : 0;
    }
    if (rings == rings_ && contributors == contributors_) return;
    problems_.push_back({"tree", "the routers' tree has members that the plan lacks",
                         fmt::format("{} rings and {} contributors", rings, contributors),
                         fmt::format("{} and {}", rings_, contributors_)});
  }

 private:
  void prove_shape(const queue_pair_install& q) {
    if (q.n_slots != tree_.n_slots || q.slot_bytes != tree_.slot_bytes) {
      wrong(q, "the slots of a ring differ from those of its tree",
            fmt::format("{} x {} bytes", q.n_slots, q.slot_bytes),
            fmt::format("{} x {} bytes", tree_.n_slots, tree_.slot_bytes));
    }
    const auto use = q.through == carrier::multicast ? abi::tree_use::multicast : abi::tree_use::reduce;
    const abi::address target = abi::tree_address(use);
    if (q.peer_ipcq == target && (!q.tx || q.peer_rx_base == target)) return;
    wrong(q, "a half of a tree leads elsewhere",
          fmt::format("{:#018x} by {:#018x}", q.peer_rx_base, q.peer_ipcq), fmt::format("{:#018x}", target));
  }
  [[nodiscard]] const tree_install::member* member(pe_coord pe) const {
    const auto at = std::ranges::find(tree_.members, pe, &tree_install::member::pe);
    return at == tree_.members.end() ? nullptr : &*at;
  }
  void wrong(const queue_pair_install& q, const char* what, std::string value, std::string expected) {
    problems_.push_back({ring_name(q), what, std::move(value), std::move(expected)});
  }
  void wrong_ring(const queue_pair_install& q, const char* what, abi::address known) {
    wrong(q, what, fmt::format("{:#018x}", known), fmt::format("{:#018x}", q.rx_base));
  }

  const tree_install& tree_;
  std::vector<problem>& problems_;
  std::size_t rings_{}, contributors_{};
};

void prove_tree(const install_plan& plan, std::vector<problem>& problems) {
  std::optional<tree_prover> prover;
  if (plan.tree) prover.emplace(*plan.tree, problems);
  for (const queue_pair_install& q : plan.queue_pairs) {
    if (q.through == carrier::queue_pairs) continue;
    if (prover) {
      prover->prove(q);
    } else {
      problems.push_back({ring_name(q), "belongs to a tree that is not in the plan", "", "a tree"});
    }
  }
  if (prover) prover->prove_members();
}

}  // namespace

void prove_install_plan(const install_plan& plan, const machine_shape* shape) {
  problem_list problems;
  problems.shape = shape;
  refs rings = select(plan, &queue_pair_install::rx);
  refs writers = select(plan, &queue_pair_install::tx);
  const auto by_ring = [](const queue_pair_install& q) { return std::tuple{q.rx_base, q.owner, q.dir}; };
  sort_by(rings, by_ring);
  sort_by(writers, [](const queue_pair_install& q) { return std::tuple{q.peer_rx_base, q.owner, q.dir}; });
  prove_unique(plan, problems);
  refs all_rings = select(plan, &queue_pair_install::rx, true);
  sort_by(all_rings, by_ring);
  prove_disjoint(all_rings, problems);
  prove_writers(writers, rings, problems);
  prove_heard(rings, writers, problems);
  prove_mailboxes(plan, problems);
  prove_tree(plan, problems);
  if (!problems.empty()) throw user_error(std::move(problems));
}

}  // namespace diecast::comm
