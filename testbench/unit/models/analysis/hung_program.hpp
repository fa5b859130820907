// SPDX-License-Identifier: Apache-2.0
// Programs that hang, with a culprit that only their generator knows.
//
// A program begins as a list of messages in one global order, each PE doing its sends and receives in that
// order: such a program never hangs, whatever the rings hold. Then one thing is broken.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <vector>

#include "models/analysis/wait_for.hpp"
#include "unit/models/protocol/ipcq_harness.hpp"

namespace diecast::test {

enum class defect {
  dead_pe,
  lost_message,
  stuck_message,
  lost_credit,
  stuck_credit,
  crossed,
  deaf_pe,
  unwired
};
inline constexpr int defects = 8;

/// What the generator broke.
struct culprit {
  defect what{};
  pe_coord pe;            ///< that died, lost what it sent, never receives, or writes to nowhere
  pe_coord other;         ///< crossed: the second of the two
  comm::direction dir{};  ///< queue pair of the wait that hangs; not used for `pe` in dead_pe
  pe_coord waiter;        ///< lost and stuck: the PE that waits forever
};

class hung_program {
 public:
  explicit hung_program(std::uint32_t seed) : draw_(seed) {
    make_edges();
    options_ = ring_options(1 + below(3));
    machine_.emplace(comm::build_install_plan(edges_, options_), 16);
    make_messages();
    break_something();
  }

  /// Runs until nothing can be done. True when it hangs.
  bool hangs() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t p = 0; p < pes_; ++p) {
        while (advance(p)) moved = true;
      }
      while (machine_->steps() > 0) {
        machine_->step(below(static_cast<std::uint32_t>(machine_->steps())));
        moved = true;
      }
    }
    for (std::uint32_t p = 0; p < pes_; ++p)
      if (at_[p] < code_[p].size()) return true;
    return false;
  }

  [[nodiscard]] const culprit& secret() const { return secret_; }

  /// What can be read from outside: registers, core states and packets in flight.
  [[nodiscard]] analysis::stopped_machine dump() const {
    analysis::stopped_machine m;
    for (std::uint32_t p = 0; p < pes_; ++p)
      m.pes.push_back({pe(p),
                       at_[p] == code_[p].size() ? events::core_state::done : events::core_state::asleep,
                       (*machine_).engine(p).queue_pairs()});
    m.flights = held_;
    return m;
  }
  [[nodiscard]] machine_shape shape() const { return {1, 1, 1, pes_}; }

 private:
  struct step {
    bool send{};
    comm::direction dir{};
  };
  struct message {
    std::uint32_t edge{};
    std::uint32_t sequence{};  ///< on its ring
  };

  static pe_coord pe(std::uint32_t p) { return {sip_id{0}, cube_id{0}, pe_id{p}}; }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(draw_() % n); }
  [[nodiscard]] std::uint32_t from(std::uint32_t e) const { return edges_[e].from.pe.value; }
  [[nodiscard]] std::uint32_t to(std::uint32_t e) const { return edges_[e].to.pe.value; }

  /// A ring, so that everybody takes part, and edges at random.
  void make_edges() {
    pes_ = 2 + below(7);
    std::vector<comm::direction> next(pes_);
    const auto add = [&](std::uint32_t a, std::uint32_t b) {
      if (next[a] > 14 || next[b] > 14) return;
      const comm::direction at_a = next[a]++, at_b = next[b]++;
      edges_.push_back({pe(a), at_a, pe(b), false, at_b});
    };
    for (std::uint32_t p = 0; p < pes_; ++p) add(p, (p + 1) % pes_);
    for (std::uint32_t i = below(6); i > 0; --i) {
      const std::uint32_t a = below(pes_);
      add(a, (a + 1 + below(pes_ - 1)) % pes_);
    }
  }

  void make_messages() {
    std::vector<std::uint32_t> sent(edges_.size());
    for (std::uint32_t i = 10 + below(60); i > 0; --i) {
      const std::uint32_t e = below(static_cast<std::uint32_t>(edges_.size()));
      messages_.push_back({e, sent[e]++});
    }
    code_.resize(pes_);
    at_.resize(pes_);
    for (const message& m : messages_) {
      code_[from(m.edge)].push_back({true, edges_[m.edge].dir});
      code_[to(m.edge)].push_back({false, static_cast<comm::direction>(edges_[m.edge].reverse)});
    }
  }

  void break_something() {
    secret_.what = static_cast<defect>(below(defects));
    const message m = messages_[below(static_cast<std::uint32_t>(messages_.size()))];
    const pe_coord sender = edges_[m.edge].from, receiver = edges_[m.edge].to;
    const auto receiver_dir = static_cast<comm::direction>(edges_[m.edge].reverse);
    const abi::address ring = machine_->at(receiver).queue_pairs()[receiver_dir].rx_base;
    switch (secret_.what) {
      case defect::dead_pe:
        secret_.pe = pe(below(pes_));
        dies_at_ = below(static_cast<std::uint32_t>(code_[secret_.pe.pe.value].size() + 1));
        return;
      case defect::lost_message:
      case defect::stuck_message:
        secret_.pe = sender;
        secret_.waiter = receiver;
        secret_.dir = receiver_dir;
        return intercept(false, ring, m.sequence);
      case defect::lost_credit:
      case defect::stuck_credit:
        // Credits are cumulative: only when no later one comes does the loss of one hang the sender.
        secret_.pe = receiver;
        secret_.waiter = sender;
        secret_.dir = edges_[m.edge].dir;
        return intercept(true, ring, m.sequence + 1);
      case defect::crossed: return cross(m);
      case defect::deaf_pe: return deafen(m);
      case defect::unwired:
        secret_.pe = secret_.waiter = receiver;
        secret_.dir = receiver_dir;
        machine_->at(sender).debug_write(abi::qp_register(edges_[m.edge].dir, abi::qp_peer_rx_base), 0x77);
        // What it sent there would end the run by itself: nobody owns that ring.
        std::erase_if(code_[sender.pe.value],
                      [&](const step& s) { return s.send && s.dir == edges_[m.edge].dir; });
        return;
    }
  }

  /// Everything of a ring from that sequence on is lost, or stays where it is.
  void intercept(bool credit, abi::address ring, std::uint32_t sequence) {
    const bool stays = secret_.what == defect::stuck_message || secret_.what == defect::stuck_credit;
    const std::uint64_t bytes = std::uint64_t{options_.n_slots} * options_.slot_bytes;
    machine_->lose = [=, this](std::size_t, const abi::ipcq_fields& f, bool is_credit) {
      if (is_credit != credit || f.match_address - ring >= bytes || f.sequence < sequence) return false;
      if (stays) held_.push_back({credit, f, "in the fabric"});
      return true;
    };
  }

  /// Two PEs that send to each other receive first, both.
  void cross(const message& m) {
    const std::uint32_t a = from(m.edge), b = to(m.edge);
    secret_.pe = pe(std::min(a, b));
    secret_.other = pe(std::max(a, b));
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      if (from(e) != b || to(e) != a) continue;
      // a: recv from b, send to b; b: recv from a, send to a. Nothing else is between the two.
      const auto first = [&](std::uint32_t p, std::uint32_t in, std::uint32_t out) {
        code_[p].insert(code_[p].begin(),
                        {{false, static_cast<comm::direction>(edges_[in].reverse)}, {true, edges_[out].dir}});
      };
      first(a, e, m.edge);
      first(b, m.edge, e);
      return;
    }
  }

  /// The receiver of an edge leaves out all its receives from it.
  void deafen(const message& m) {
    secret_.pe = edges_[m.edge].to;
    secret_.waiter = edges_[m.edge].from;
    secret_.dir = edges_[m.edge].dir;
    const auto deaf = static_cast<comm::direction>(edges_[m.edge].reverse);
    std::erase_if(code_[secret_.pe.pe.value], [&](const step& s) { return !s.send && s.dir == deaf; });
  }

  bool advance(std::uint32_t p) {
    if (at_[p] == code_[p].size()) return false;
    if (secret_.what == defect::dead_pe && pe(p) == secret_.pe && at_[p] == dies_at_) return false;
    const step s = code_[p][at_[p]];
    const auto& q = machine_->qp(p, s.dir);
    if ((s.send ? q.free_slots() : q.available()) == 0) {
      const std::uint64_t bit = s.send ? abi::arm_send_space : abi::arm_receive;
      if ((q.armed & bit) == 0) machine_->write(p, abi::qp_register(s.dir, abi::qp_arm), bit);
      return false;
    }
    while ((*machine_)[p].event_pending()) (void)machine_->event(p);
    if (s.send) {
      machine_->write(p, abi::qp_register(s.dir, abi::qp_tx_doorbell), 8);
    } else {
      machine_->write(p, abi::qp_register(s.dir, abi::qp_my_tail), q.space.next(q.my_tail));
    }
    ++at_[p];
    return true;
  }

  std::mt19937 draw_;
  std::uint32_t pes_{};
  std::vector<comm::edge> edges_;
  comm::plan_options options_;
  std::optional<engines> machine_;
  std::vector<message> messages_;
  std::vector<std::vector<step>> code_;  ///< by PE
  std::vector<std::size_t> at_;          ///< next step, by PE
  culprit secret_;
  std::size_t dies_at_{};
  std::vector<analysis::flight> held_;
};

/// Whether the report names the culprit and nobody else; why not, or empty.
inline std::string misjudged(const culprit& c, const analysis::wait_for_report& r) {
  using analysis::root_kind;
  using analysis::wait_cause;
  if (r.roots.size() != 1) return fmt::format("{} roots", r.roots.size());
  const analysis::wait_root& root = r.roots.front();
  const auto blames = [&](wait_cause cause) -> std::string {
    if (root.kind != root_kind::fault) return "no fault";
    const analysis::wait_edge& e = root.waits.front();
    if (e.cause != cause) return "another cause";
    if (e.waiter != c.waiter || e.dir != c.dir) return "another queue pair";
    if (cause != wait_cause::unwired && e.on != c.pe) return "another sender";
    return {};
  };
  switch (c.what) {
    case defect::dead_pe:
      return root.kind == root_kind::peer && root.members == std::vector{c.pe} ? "" : "not the dead PE";
    case defect::lost_message: return blames(wait_cause::lost_message);
    case defect::stuck_message:
    case defect::stuck_credit: return blames(wait_cause::in_flight);
    case defect::lost_credit: return blames(wait_cause::lost_credit);
    case defect::unwired: return blames(wait_cause::unwired);
    case defect::crossed: {
      auto members = root.members;
      std::sort(members.begin(), members.end());
      return root.kind == root_kind::cycle && members == std::vector{c.pe, c.other} ? "" : "not the two";
    }
    case defect::deaf_pe:
      // Its sender waits for it; it waits for nobody, or for one who waits for it in turn.
      if (root.kind == root_kind::fault) return "a fault";
      for (const analysis::wait_edge& e : root.waits)
        if (e.on == c.pe && e.waiter == c.waiter && e.dir == c.dir) return {};
      return "not the wait for the deaf PE";
  }
  return "unknown";
}

}  // namespace diecast::test
