// SPDX-License-Identifier: Apache-2.0
#include "models/analysis/credit_checker.hpp"

#include <fmt/format.h>

#include "models/types/error.hpp"

namespace diecast::analysis {

credit_checker::credit_checker(const comm::install_plan& plan, comm::direction_namer names)
    : plan_(plan), names_(std::move(names)) {
  using half = const comm::queue_pair_install*;
  const auto join = [this](half writer, half reader) {
    written_by_[{writer->owner, writer->dir}].push_back(rings_.size());
    read_by_[{reader->owner, reader->dir}].push_back(rings_.size());
    rings_.push_back({writer, reader});
  };
  std::map<abi::address, half> readers;
  std::map<comm::carrier, std::vector<half>> tree_readers;
  for (const comm::queue_pair_install& q : plan_.queue_pairs) {
    if (!q.rx) continue;
    if (q.through == comm::carrier::queue_pairs)
      readers.emplace(q.rx_base, &q);
    else
      tree_readers[q.through].push_back(&q);
  }
  for (const comm::queue_pair_install& q : plan_.queue_pairs) {
    if (!q.tx) continue;
    if (q.through == comm::carrier::queue_pairs) {
      if (const auto at = readers.find(q.peer_rx_base); at != readers.end()) join(&q, at->second);
      continue;
    }
    for (const half reader : tree_readers[q.through]) join(&q, reader);
  }
}

void credit_checker::start_at(std::uint32_t sequence) {
  for (ring& r : rings_) r.head = r.tail_view = r.visible = r.tail = sequence;
}

void credit_checker::on(const events::queue_pair_changed& e) {
  ++changes_;
  const place here{e.pe, e.qp};
  if (const auto at = written_by_.find(here); at != written_by_.end()) {
    for (const std::size_t i : at->second) {
      rings_[i].head = e.my_head;
      rings_[i].tail_view = e.peer_tail_cache;
      check(rings_[i]);
    }
  }
  if (const auto at = read_by_.find(here); at != read_by_.end()) {
    for (const std::size_t i : at->second) {
      rings_[i].visible = e.peer_head_cache;
      rings_[i].tail = e.my_tail;
      check(rings_[i]);
    }
  }
}

void credit_checker::check(const ring& r) const {
  const std::uint32_t slots = r.reader->n_slots;
  const protocol::sequence_space space(slots);
  const std::uint32_t tail = space.distance(r.tail_view, r.tail);
  const std::uint32_t visible = space.distance(r.tail_view, r.visible);
  const std::uint32_t head = space.distance(r.tail_view, r.head);
  if (tail <= visible && visible <= head && head <= slots) return;
  throw protocol_error(
      "credits are not conserved between {}; expected peer_tail_cache <= my_tail <= peer_head_cache <= "
      "my_head <= peer_tail_cache + {} modulo {}",
      describe(r), slots, space.modulus());
}

std::string credit_checker::describe(const ring& r) const {
  const auto name = [this](const comm::queue_pair_install* q) {
    return fmt::format("{} {}", owner_name(q->owner), names_(q->owner, q->dir));
  };
  return fmt::format("{} (my_head {}, peer_tail_cache {}) and {} (peer_head_cache {}, my_tail {})",
                     name(r.writer), r.head, r.tail_view, name(r.reader), r.visible, r.tail);
}

std::string credit_checker::unrest() const {
  for (const ring& r : rings_) {
    if (r.head == r.tail_view && r.visible == r.head && r.tail == r.head) continue;
    return fmt::format(
        "every kernel has ended, but the queue between {} is not empty; expected equal pointers",
        describe(r));
  }
  return {};
}

}  // namespace diecast::analysis
