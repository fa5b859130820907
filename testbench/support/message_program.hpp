// SPDX-License-Identifier: Apache-2.0
// Random programs of messages, run by firmware of any machine, and what must have come of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/abstract_matcher.hpp"
#include "sw/runtime/messaging.hpp"

namespace diecast::test {

struct message_program {
  struct action {
    enum class kind : std::uint8_t { send, receive, cancel, test, probe, skew };
    kind what{};
    std::uint32_t peer{};  ///< send: to; receive, probe: from, or sw::any_source; cancel, test: the receive
    std::uint64_t tag{};
    std::uint64_t bytes{};  ///< receive: room
    std::uint64_t block{};  ///< 0: in one piece
    bool synchronous{};
    std::uint64_t cycles{};
    std::uint32_t message{};  ///< send: its number
  };
  struct sent {
    std::uint32_t from{}, to{};
    std::uint64_t tag{}, bytes{};
  };
  std::uint32_t ranks{};
  std::vector<std::vector<action>> of_rank;
  std::vector<sent> messages;  ///< messages of one sender are in the order of sending
};

struct program_shape {
  std::uint32_t ranks{2};
  std::uint32_t actions{20};  ///< actions of each rank
  std::uint32_t tags{3};
  std::uint64_t longest{200};
  bool strided{true};
};

inline message_program random_messages(std::uint64_t seed, const program_shape& shape) {
  using kind = message_program::action::kind;
  std::mt19937_64 draw{seed};
  const auto below = [&draw](std::uint64_t n) { return draw() % n; };
  message_program p;
  p.ranks = shape.ranks;
  p.of_rank.resize(shape.ranks);
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    std::uint32_t receives = 0;
    for (std::uint32_t i = 0; i < shape.actions; ++i) {
      message_program::action a;
      const std::uint64_t what = below(12);
      a.peer = static_cast<std::uint32_t>(below(shape.ranks));
      a.tag = below(shape.tags);
      a.bytes = 8 + below(shape.longest);
      if (shape.strided && below(4) == 0) a.block = 4 * (1 + below(4));
      if (what < 4) {
        a.what = kind::send;
        a.synchronous = below(6) == 0;
        a.message = static_cast<std::uint32_t>(p.messages.size());
        p.messages.push_back({rank, a.peer, a.tag, a.bytes});
      } else if (what < 8) {
        a.what = kind::receive;
        if (below(3) == 0) a.peer = sw::any_source;
        if (below(4) == 0) a.tag = sw::any_tag;
        a.bytes = 8 + shape.longest;
        ++receives;
      } else if (what < 10 && receives > 0) {
        a.what = what == 8 ? kind::cancel : kind::test;
        a.peer = static_cast<std::uint32_t>(below(receives));
      } else if (what == 10) {
        a.what = kind::probe;
        if (below(2) == 0) a.peer = sw::any_source;
      } else {
        a.what = kind::skew;
        a.cycles = below(3000);
      }
      p.of_rank[rank].push_back(a);
    }
  }
  return p;
}

/// What a rank's receives came to.
struct message_log {
  struct receive {
    std::uint64_t source{}, tag{};  ///< as posted
    bool cancelled{};
    std::uint32_t message{};  ///< its number, as its bytes say
    std::uint64_t arrival{};
  };
  std::vector<receive> receives;  ///< in the order of posting
  std::uint64_t operations{};     ///< sends, receives and cancels
  sw::message_counts counts;
};

/// Byte `at` of message `number`. The first eight name it.
inline std::byte message_byte(std::uint32_t number, std::uint64_t at) {
  if (at < 8) return static_cast<std::byte>(std::uint64_t{number} >> (8 * at));
  return static_cast<std::byte>((number * 31 + at * 7) >> (at % 3));
}

/// What lies where receives may write before they do.
inline std::byte untouched_byte(std::uint64_t offset) { return static_cast<std::byte>(0xa5 ^ (offset * 13)); }

/// A rank's part of a program: TCM from `base` on is its own.
class message_player {
 public:
  message_player(sw::pe_runtime& runtime, const message_program& p, std::uint32_t rank,
                 const sw::communicator& world, std::uint64_t base, message_log& log)
      : runtime_(runtime),
        messages_(sw::messaging_of(runtime)),
        program_(p),
        rank_(rank),
        world_(world),
        next_(base),
        log_(log) {}

  void play() {
    for (const auto& a : program_.of_rank[rank_]) act(a);
    // What has not been received yet goes to receives of anything, one after the other.
    std::uint64_t to_come = 0;
    for (const auto& m : program_.messages) {
      to_come += m.to == rank_ ? 1 : 0;
      longest_ = std::max(longest_, m.bytes);
    }
    while (received_ < to_come) {
      if (!any_is_open()) post(sw::any_source, sw::any_tag, longest_, 0);
      collect_one();
    }
    for (open_receive& r : open_) {
      if (!r.done) cancel(r);
    }
    for (open_receive& r : open_) {
      if (!r.done) take(r, messages_.wait(r.request));
    }
    messages_.wait_all(sends_);
    messages_.finish();
    log_.counts = messages_.counts();
  }

 private:
  using kind = message_program::action::kind;
  struct open_receive {
    sw::message_request request;
    sw::message_buffer buffer;
    std::uint64_t end{};  ///< end of the memory set aside for it
    bool done{}, anything{};
  };

  void act(const message_program::action& a) {
    switch (a.what) {
      case kind::send: return send(a);
      case kind::receive: return post(a.peer, a.tag, a.bytes, a.block);
      case kind::cancel:
        if (!open_.at(a.peer).done) cancel(open_[a.peer]);
        return;
      case kind::test:
        if (open_.at(a.peer).done) return;
        if (const auto s = messages_.test(open_[a.peer].request)) take(open_[a.peer], *s);
        return;
      case kind::probe: (void)messages_.iprobe(world_, a.peer, a.tag); return;
      case kind::skew: runtime_.work(a.cycles); return;
    }
  }

  [[nodiscard]] sw::message_buffer buffer(std::uint64_t bytes, std::uint64_t block) {
    sw::message_buffer b{next_, bytes, block, block * 2};
    next_ += (block == 0 ? bytes : (bytes / block + 1) * block * 2) + 8;
    next_ = (next_ + 7) / 8 * 8;
    return b;
  }

  void cancel(const open_receive& r) {
    ++log_.operations;
    messages_.cancel(r.request);
  }

  void send(const message_program::action& a) {
    ++log_.operations;
    const sw::message_buffer b = buffer(a.bytes, a.block);
    for (std::uint64_t at = 0; at < a.bytes;) {
      const auto place = b.at(at);
      std::vector<std::byte> run(place.run);
      for (std::uint64_t i = 0; i < place.run; ++i) run[i] = message_byte(a.message, at + i);
      runtime_.hal().store(place.offset, run);
      at += place.run;
    }
    sends_.push_back(messages_.isend(world_, a.peer, static_cast<std::uint32_t>(a.tag), b,
                                     a.synchronous ? sw::send_mode::synchronous : sw::send_mode::standard));
  }

  void post(std::uint32_t from, std::uint64_t tag, std::uint64_t room, std::uint64_t block) {
    open_receive r;
    ++log_.operations;
    r.buffer = buffer(room, block);
    r.end = next_;
    std::vector<std::byte> before(r.end - r.buffer.offset);
    for (std::uint64_t i = 0; i < before.size(); ++i) before[i] = untouched_byte(r.buffer.offset + i);
    runtime_.hal().store(r.buffer.offset, before);
    r.anything = from == sw::any_source && tag == sw::any_tag;
    r.request = messages_.irecv(world_, from, tag, r.buffer);
    open_.push_back(r);
    log_.receives.push_back({from, tag});
  }

  [[nodiscard]] bool any_is_open() const {
    return std::any_of(open_.begin(), open_.end(),
                       [](const open_receive& r) { return !r.done && r.anything; });
  }

  void collect_one() {
    std::vector<sw::message_request> requests;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].done) continue;
      requests.push_back(open_[i].request);
      which.push_back(i);
    }
    const std::size_t found = messages_.wait_any(requests);
    take(open_[which[found]], messages_.wait(requests[found]));
  }

  void take(open_receive& r, const sw::message_status& s) {
    r.done = true;
    auto& entry = log_.receives[static_cast<std::size_t>(&r - open_.data())];
    entry.cancelled = s.cancelled;
    check_untouched(r, s.cancelled ? 0 : s.bytes);
    if (s.cancelled) return;
    ++received_;
    entry.arrival = s.arrival;
    std::vector<std::byte> bytes(s.bytes);
    for (std::uint64_t at = 0; at < s.bytes;) {
      const auto place = r.buffer.at(at);
      const std::uint64_t run = std::min(place.run, s.bytes - at);
      runtime_.hal().load(place.offset, std::span{bytes}.subspan(at, run));
      at += run;
    }
    for (unsigned i = 0; i < 4; ++i) entry.message |= std::to_integer<std::uint32_t>(bytes.at(i)) << (8 * i);
    check(entry.message, s, bytes);
  }

  /// Nothing but the message's bytes is written: no gap between blocks, and nothing behind its end.
  void check_untouched(const open_receive& r, std::uint64_t bytes) const {
    std::vector<std::byte> now(r.end - r.buffer.offset);
    runtime_.hal().load(r.buffer.offset, now);
    std::vector<bool> written(now.size());
    for (std::uint64_t at = 0; at < bytes;) {
      const auto place = r.buffer.at(at);
      const std::uint64_t run = std::min(place.run, bytes - at);
      for (std::uint64_t i = 0; i < run; ++i) written.at(place.offset - r.buffer.offset + i) = true;
      at += run;
    }
    for (std::uint64_t i = 0; i < now.size(); ++i) {
      if (written[i] || now[i] == untouched_byte(r.buffer.offset + i)) continue;
      throw std::runtime_error(
          fmt::format("rank {}: a receive of {} bytes wrote byte {} of its memory, in blocks of {}", rank_,
                      bytes, i, r.buffer.block));
    }
  }

  void check(std::uint32_t number, const sw::message_status& s, const std::vector<std::byte>& bytes) const {
    const auto wrong = [&](const char* what) {
      throw std::runtime_error(fmt::format("rank {}: message {} has the wrong {}", rank_, number, what));
    };
    if (number >= program_.messages.size()) wrong("number");
    const auto& m = program_.messages[number];
    if (m.to != rank_) wrong("receiver");
    if (m.from != s.source) wrong("source");
    if (m.tag != s.tag) wrong("tag");
    if (m.bytes != s.bytes) wrong("length");
    for (std::uint64_t at = 0; at < s.bytes; ++at) {
      if (bytes[at] != message_byte(number, at)) wrong("bytes");
    }
  }

  sw::pe_runtime& runtime_;
  sw::messaging& messages_;
  const message_program& program_;
  std::uint32_t rank_;
  const sw::communicator& world_;
  std::uint64_t next_;
  message_log& log_;
  std::uint64_t received_{};
  std::uint64_t longest_{8};
  std::vector<open_receive> open_;
  std::vector<sw::message_request> sends_;
};

/// Throws unless every message was received once, and every rank's receives got what the abstract matcher
/// pairs them with: messages in the order of their arrival, which keeps the order of each sender.
inline void check_pairs(const message_program& p, const std::vector<message_log>& logs) {
  const auto tag_of = [](std::uint64_t source, std::uint64_t tag) { return source << 32 | tag; };
  std::vector<bool> seen(p.messages.size());
  for (std::uint32_t rank = 0; rank < p.ranks; ++rank) {
    std::vector<const message_log::receive*> arrived;
    abstract_matcher oracle;
    for (unsigned i = 0; i < logs[rank].receives.size(); ++i) {
      const auto& r = logs[rank].receives[i];
      if (r.cancelled) continue;
      arrived.push_back(&r);
      std::uint64_t mask = ~std::uint64_t{0};
      if (r.source == sw::any_source) mask &= 0xffff'ffff;
      if (r.tag == sw::any_tag) mask &= ~std::uint64_t{0xffff'ffff};
      oracle.receive(
          {i, tag_of(r.source == sw::any_source ? 0 : r.source, r.tag == sw::any_tag ? 0 : r.tag), mask});
    }
    std::sort(arrived.begin(), arrived.end(), [](auto* a, auto* b) { return a->arrival < b->arrival; });
    std::vector<std::uint32_t> last(p.ranks, 0);
    for (const auto* r : arrived) {
      const auto& m = p.messages.at(r->message);
      if (seen[r->message]) {
        throw std::runtime_error(fmt::format("rank {}: message {} was received twice", rank, r->message));
      }
      seen[r->message] = true;
      if (last[m.from] > r->message) {
        throw std::runtime_error(
            fmt::format("rank {}: message {} overtook one of its sender", rank, r->message));
      }
      last[m.from] = r->message;
      oracle.send({r->message, tag_of(m.from, m.tag), 0});
    }
    for (unsigned i = 0; i < logs[rank].receives.size(); ++i) {
      const auto& r = logs[rank].receives[i];
      if (r.cancelled) continue;
      if (!oracle.pairs.contains(i) || oracle.pairs.at(i) != r.message) {
        throw std::runtime_error(
            fmt::format("rank {}: receive {} got message {}; the abstract matcher gives {}", rank, i,
                        r.message, oracle.pairs.contains(i) ? static_cast<int>(oracle.pairs.at(i)) : -1));
      }
    }
  }
  const auto lost = std::find(seen.begin(), seen.end(), false);
  if (lost != seen.end()) {
    throw std::runtime_error(fmt::format("message {} was received by nobody", lost - seen.begin()));
  }
}

}  // namespace diecast::test
