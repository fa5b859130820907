// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/agenda.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/random/stream.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::sw {

namespace {

using kind = candidate::kind;

/// Alternates between PEs and deliveries, the oldest of each.
class round_robin final : public scheduler {
 public:
  std::size_t pick(const std::vector<candidate>& candidates) override {
    delivery_next_ = !delivery_next_;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if ((candidates[i].what != kind::run) == delivery_next_) return i;
    return 0;
  }
  [[nodiscard]] bool interrupts() const override { return false; }

 private:
  bool delivery_next_{true};
};

class random_order final : public scheduler {
 public:
  explicit random_order(std::uint64_t seed) : draws_(random::stream{seed, "mock_machine", "schedule"}) {}
  std::size_t pick(const std::vector<candidate>& candidates) override {
    return draws_.below(candidates.size());
  }
  [[nodiscard]] bool interrupts() const override { return true; }

 private:
  random::sequence draws_;
};

/// Delays the deliveries that others wait for. The seed selects the kinds and the PE.
class adversarial final : public scheduler {
 public:
  adversarial(std::uint64_t seed, std::uint32_t pes) {
    random::sequence draws{random::stream{seed, "mock_machine", "adversary"}};
    held_credits_ = draws.below(2) == 0;
    held_data_ = !held_credits_ || draws.below(2) == 0;
    held_sources_ = draws.below(2) == 0;
    has_victim_ = draws.below(2) == 0;
    victim_ = static_cast<std::uint32_t>(draws.below(pes));
    held_lines_ = draws.below(2) == 0;
  }
  std::size_t pick(const std::vector<candidate>& candidates) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < candidates.size(); ++i) {
      const unsigned here = hold(candidates[i]), there = hold(candidates[best]);
      // Ties: the newest; among PEs that poll, the oldest, so that each gets its turn.
      if (here < there || (here == there && !candidates[i].polling)) best = i;
    }
    return best;
  }
  [[nodiscard]] bool interrupts() const override { return true; }

 private:
  /// Candidates with a larger value are delayed longer.
  [[nodiscard]] unsigned hold(const candidate& c) const {
    if (c.polling) return 100;  // a polling PE depends on deliveries, which must come first
    unsigned held = 0;
    if (c.what == kind::credit && held_credits_) held = 8;
    if (c.what == kind::message && held_data_) held = 4;
    if ((c.what == kind::write_data || c.what == kind::token) && held_data_) held = 4;
    if ((c.what == kind::read_source || c.what == kind::dma) && held_sources_) held = 2;
    if (c.what == kind::write_back && held_lines_) held = 6;
    if (has_victim_ && c.pe == victim_) held += 16;
    return held;
  }

  bool held_credits_{};
  bool held_data_{};
  bool held_sources_{};
  bool held_lines_{};
  bool has_victim_{};
  std::uint32_t victim_{};
};

}  // namespace

const char* to_string(schedule s) { return enum_name(s); }

std::unique_ptr<scheduler> make_scheduler(schedule order, std::uint64_t seed, std::uint32_t pes) {
  switch (order) {
    case schedule::round_robin: return std::make_unique<round_robin>();
    case schedule::random: return std::make_unique<random_order>(seed);
    case schedule::adversarial: return std::make_unique<adversarial>(seed, pes);
  }
  throw std::invalid_argument("mock machine: unknown schedule");
}

using kind = candidate::kind;

/// Numbers of flows beyond those of queue pairs.
constexpr std::uint32_t first_tree_flow = 0x10000;

agenda::agenda(targets t)
    : targets_(std::move(t)),
      messages_({targets_.memory, targets_.shape, targets_.tag_unit,
                 [this](std::uint32_t pe, std::uint32_t step) { add(kind::message, pe, step); }}) {
  if (targets_.tree) tree_.emplace(*targets_.tree);
}

void agenda::add(kind what, std::uint32_t pe, std::uint32_t qp, bool polling) {
  candidates_.push_back({what, pe, qp, polling, ++age_});
}

void agenda::revive(std::uint32_t pe) {
  for (candidate& c : candidates_)
    if (c.what == kind::run && c.pe == pe) c.polling = false;
}

void agenda::add_effects(std::uint32_t pe, const protocol::ipcq_core::effects& effects) {
  if (effects.send) {
    post(flow_of(pe, effects.send->qp).unread, *effects.send, kind::read_source, pe, effects.send->qp);
  }
  if (effects.credit) {
    post(flow_of(pe, effects.credit->qp).credits, *effects.credit, kind::credit, pe, effects.credit->qp);
  }
}

void agenda::add_copy(std::uint32_t pe, const copy_job& job) { post(copies_[pe], job, kind::dma, pe, 0); }

candidate agenda::take(std::size_t index) {
  const candidate taken = candidates_.at(index);
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

std::uint32_t agenda::perform(const candidate& step) {
  switch (step.what) {
    case kind::read_source: read_source(step); return step.pe;
    case kind::write_data: write_data(step); return step.pe;
    case kind::token: return deliver_token(step);
    case kind::credit: return deliver_credit(step);
    case kind::dma: copy(step); return step.pe;
    case kind::message: {
      const std::uint32_t pe = messages_.perform(step.qp);
      if (targets_.tag_unit(pe).take_event())
        targets_.engine(pe).push_event({abi::event_kind::tag_match, false, 0, 0});
      return pe;
    }
    case kind::write_back: write_line(step.pe, step.qp); return step.pe;
    case kind::run: break;
  }
  throw std::logic_error("mock machine: a PE is not run by its agenda");
}

void agenda::read_source(const candidate& step) {
  flow& f = flow_of(step.pe, step.qp);
  message m{f.unread.front(), {}};
  f.unread.pop_front();
  m.bytes.resize(m.request.fields.message_bytes);
  targets_.memory.read(m.request.source, m.bytes);
  targets_.engine(step.pe).source_read(static_cast<std::uint16_t>(step.qp));
  if (is_for_tree(m.request.mailbox)) {
    pass_on(tree_.value().take(m.request, std::move(m.bytes)));
  } else {
    post(f.in_flight, std::move(m), kind::write_data, step.pe, step.qp);
  }
  if (!flow_of(step.pe, step.qp).unread.empty()) add(kind::read_source, step.pe, step.qp);
}

/// Each receiver has its own flow for packets from the tree.
void agenda::pass_on(const std::vector<tree_work::onward>& messages) {
  for (const tree_work::onward& m : messages) {
    const std::uint32_t to = targets_.shape.pe_index(m.to);
    const std::uint32_t from_tree = first_tree_flow + static_cast<std::uint32_t>(m.flow);
    flow& f = flow_of(to, from_tree);
    if (m.is_credit) {
      post(f.credits, m.credit, kind::credit, to, from_tree);
    } else {
      post(f.in_flight, {m.message, m.bytes}, kind::write_data, to, from_tree);
    }
  }
}

void agenda::write_data(const candidate& step) {
  message& m = flow_of(step.pe, step.qp).in_flight.front();
  const std::size_t piece = std::min((m.bytes.size() + 1) / 2, m.bytes.size() - m.written);
  targets_.memory.write(m.request.fields.match_address + m.written,
                        std::span{m.bytes}.subspan(m.written, piece));
  m.written += piece;
  add(m.written == m.bytes.size() ? kind::token : kind::write_data, step.pe, step.qp);
}

std::uint32_t agenda::deliver_token(const candidate& step) {
  auto& in_flight = flow_of(step.pe, step.qp).in_flight;
  const protocol::send_request request = take_first(in_flight, step, kind::write_data).request;
  const std::uint32_t receiver = pe_behind(targets_.shape, request.mailbox);
  targets_.engine(receiver).token_arrived(request.fields);
  return receiver;
}

std::uint32_t agenda::deliver_credit(const candidate& step) {
  const protocol::credit_request request = take_first(flow_of(step.pe, step.qp).credits, step, kind::credit);
  if (is_for_tree(request.mailbox)) {
    pass_on(tree_.value().take(request));
    return step.pe;
  }
  const std::uint32_t sender = pe_behind(targets_.shape, request.mailbox);
  targets_.engine(sender).credit_arrived(request.fields);
  return sender;
}

void agenda::copy(const candidate& step) {
  const copy_job job = take_first(copies_[step.pe], step, kind::dma);
  std::vector<std::byte> bytes(job.bytes);
  targets_.memory.read(job.source, bytes);
  targets_.memory.write(job.destination, bytes);
  targets_.copy_done(step.pe);
}

void agenda::add_write_back(std::uint32_t pe, const protocol::data_cache::line& line) {
  while (lines_.contains({pe, next_line_})) ++next_line_;
  lines_.emplace(std::pair{pe, next_line_}, line);
  add(kind::write_back, pe, next_line_++);
}

void agenda::write_line(std::uint32_t pe, std::uint32_t number) {
  const auto at = lines_.find({pe, number});
  targets_.memory.write(at->second.at, at->second.bytes);
  lines_.erase(at);
}

void agenda::finish_write_backs(std::uint32_t pe, std::optional<abi::address> line) {
  const auto wanted = [&](const candidate& c) {
    return c.what == kind::write_back && c.pe == pe && (!line || lines_.at({pe, c.qp}).at == *line);
  };
  for (auto c = candidates_.begin(); c != candidates_.end();) {
    if (!wanted(*c)) {
      ++c;
      continue;
    }
    write_line(pe, c->qp);
    c = candidates_.erase(c);
  }
}

}  // namespace diecast::sw
