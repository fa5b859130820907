// SPDX-License-Identifier: Apache-2.0
// IPCQ engines joined by FIFO channels for data and credits, without time: what may happen next is
// a list of steps, and a test chooses among them.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "models/protocol/ipcq_core.hpp"

namespace diecast::test {

using comm::direction;
using protocol::ipcq_core;

/// One engine after the other; `index_of` gives the engine of a PE.
class engines {
 public:
  using policy = std::unique_ptr<protocol::match_policy> (*)();

  engines(const comm::install_plan& plan, std::uint32_t queue_pairs,
          policy match = protocol::match_by_address)
      : plan_(plan) {
    for (const auto& q : plan.queue_pairs) owners_.emplace(q.owner, 0);
    std::size_t next = 0;
    for (auto& [owner, index] : owners_) {
      index = next++;
      cores_.push_back(std::make_unique<ipcq_core>(owner, queue_pairs, match()));
    }
    for (const auto& q : plan.queue_pairs) {
      mailboxes_[q.peer_ipcq] = index_of(q.peer);
      for (const auto& w : comm::register_writes(q)) at(q.owner).debug_write(w.reg, w.value);
    }
  }

  [[nodiscard]] std::size_t size() const { return cores_.size(); }
  [[nodiscard]] ipcq_core& operator[](std::size_t i) { return *cores_[i]; }
  [[nodiscard]] const ipcq_core& engine(std::size_t i) const { return *cores_[i]; }
  [[nodiscard]] ipcq_core& at(pe_coord pe) { return *cores_[index_of(pe)]; }
  [[nodiscard]] std::size_t index_of(pe_coord pe) const { return owners_.at(pe); }

  /// Sets all four pointers of every queue pair, as if that many messages had passed.
  void start_at(std::uint32_t sequence) {
    for (const auto& q : plan_.queue_pairs) {
      for (const auto field :
           {abi::qp_my_head, abi::qp_my_tail, abi::qp_peer_head_cache, abi::qp_peer_tail_cache})
        at(q.owner).debug_write(abi::qp_register(q.dir, field), sequence);
    }
  }

  /// Messages and credits for which this returns true are lost on their way.
  std::function<bool(std::size_t engine, const abi::ipcq_fields&, bool credit)> lose =
      [](std::size_t, const abi::ipcq_fields&, bool) { return false; };

  /// A register write by firmware; what it sets off enters the channels.
  void write(std::size_t engine, abi::register_offset reg, std::uint64_t value) {
    const auto effects = cores_[engine]->write_register(reg, value);
    if (effects.send) {
      const bool lost = lose(engine, effects.send->fields, false);
      in_flight_sources_.push_back({engine, effects.send->qp});
      if (!lost) data_[{engine, mailboxes_.at(effects.send->mailbox)}].push_back(effects.send->fields);
    }
    if (effects.credit && !lose(engine, effects.credit->fields, true))
      credits_[{engine, mailboxes_.at(effects.credit->mailbox)}].push_back(effects.credit->fields);
  }

  [[nodiscard]] std::size_t steps() const {
    std::size_t n = in_flight_sources_.size();
    for (const auto* side : {&data_, &credits_})
      for (const auto& [ends, fifo] : *side) n += fifo.empty() ? 0 : 1;
    return n;
  }

  /// Does the `which`-th of steps(): a source is read, or the head of a channel arrives.
  /// `change` may alter the fields on their way. Returns {engine, qp} the step reached.
  template <class Change>
  std::pair<std::size_t, std::uint16_t> step(std::size_t which, Change change) {
    if (which < in_flight_sources_.size()) {
      // Sources of one engine are read in order: take its oldest.
      const std::size_t engine = in_flight_sources_[which].first;
      const auto at = std::find_if(in_flight_sources_.begin(), in_flight_sources_.end(),
                                   [&](const auto& s) { return s.first == engine; });
      const auto done = *at;
      in_flight_sources_.erase(at);
      cores_[engine]->source_read(done.second);
      return done;
    }
    which -= in_flight_sources_.size();
    for (auto& [ends, fifo] : data_) {
      if (fifo.empty() || which-- != 0) continue;
      return {ends.second, cores_[ends.second]->token_arrived(take(fifo, change))};
    }
    for (auto& [ends, fifo] : credits_) {
      if (fifo.empty() || which-- != 0) continue;
      return {ends.second, cores_[ends.second]->credit_arrived(take(fifo, change))};
    }
    throw std::logic_error("no such step");
  }
  std::pair<std::size_t, std::uint16_t> step(std::size_t which) {
    return step(which, [](abi::ipcq_fields&) {});
  }
  /// Runs until nothing is in flight, oldest first.
  void deliver_all() {
    while (steps() > 0) step(0);
  }

  [[nodiscard]] abi::ipcq_event_word event(std::size_t engine) {
    return abi::ipcq_event_word::unpack(cores_[engine]->read_register(abi::ipcq_event));
  }
  [[nodiscard]] const protocol::queue_pair_state& qp(std::size_t engine, direction d) {
    return cores_[engine]->queue_pairs()[d];
  }

 private:
  template <class Change>
  static abi::ipcq_fields take(std::deque<abi::ipcq_fields>& fifo, Change change) {
    abi::ipcq_fields f = fifo.front();
    fifo.pop_front();
    change(f);
    return f;
  }

  using channels = std::map<std::pair<std::size_t, std::size_t>, std::deque<abi::ipcq_fields>>;
  comm::install_plan plan_;
  std::map<pe_coord, std::size_t> owners_;
  std::map<abi::address, std::size_t> mailboxes_;
  std::vector<std::unique_ptr<ipcq_core>> cores_;
  std::vector<std::pair<std::size_t, std::uint16_t>> in_flight_sources_;
  channels data_, credits_;
};

/// A ring of PEs in one cube: E leads to the next, W to the one before.
inline std::vector<comm::edge> ring_edges(std::uint32_t ranks, bool bidirectional = true) {
  const auto pe = [&](std::uint32_t i) { return pe_coord{sip_id{0}, cube_id{0}, pe_id{i % ranks}}; };
  std::vector<comm::edge> edges;
  for (std::uint32_t i = 0; i < ranks; ++i) {
    edges.push_back({pe(i), comm::east, pe(i + 1), bidirectional, bidirectional ? -1 : comm::west});
    if (bidirectional) edges.push_back({pe(i), comm::west, pe(i + ranks - 1)});
  }
  return edges;
}

inline comm::plan_options ring_options(std::uint32_t n_slots, std::uint32_t slot_bytes = 64) {
  comm::plan_options o;
  o.n_slots = n_slots;
  o.slot_bytes = slot_bytes;
  o.queue_pairs = 16;
  o.tcm_bytes = 16 * 1024 * 1024;
  return o;
}

/// The plan with every ring and mailbox moved to an address that no codec made: `scatter` picks
/// the place of the i-th ring.
template <class Scatter>
comm::install_plan with_synthetic_addresses(comm::install_plan plan, Scatter scatter) {
  std::map<abi::address, abi::address> moved, mailboxes;
  std::uint64_t i = 0;
  for (auto& q : plan.queue_pairs) {
    if (q.rx) moved[q.rx_base] = scatter(i++);
    mailboxes.emplace(q.peer_ipcq, 7 + mailboxes.size());
  }
  for (auto& q : plan.queue_pairs) {
    if (q.rx) q.rx_base = moved.at(q.rx_base);
    if (q.tx) q.peer_rx_base = moved.at(q.peer_rx_base);
    q.peer_ipcq = mailboxes.at(q.peer_ipcq);
  }
  return plan;
}

}  // namespace diecast::test
