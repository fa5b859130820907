// SPDX-License-Identifier: Apache-2.0
// From an execution plan to a program. The plan is executed symbolically: that pairs signals with waits, and
// vector clocks show which puts' data must have arrived before an operation.
#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "models/types/error.hpp"
#include "platforms/config_io/msccl_xml.hpp"

namespace diecast::platforms {
namespace {

using comm::program_step;
using comm::step_type;

/// A step of a program's rank.
struct step_place {
  std::size_t block{}, step{};
};
using step_places = std::vector<step_place>;
using order_clock = std::vector<std::uint32_t>;  ///< operations of every thread block that happened before

/// A thread block of the plan.
struct plan_actor {
  std::size_t number{};
  std::int64_t rank{}, block{};
  std::uint32_t next{};  ///< operation
  bool arrived{};        ///< the block has arrived at a barrier
  order_clock known;
  step_places open;  ///< places that unfinished puts may still read
};

struct given_signal {
  step_place at;  ///< step of the receiver
  order_clock known;
};
using signal_queues = std::vector<std::deque<given_signal>*>;

/// Chunks that a put, or packets, have written at a rank.
struct written_chunks {
  step_place at;
  std::size_t actor{};
  std::uint32_t op{};
  comm::buffer_extent chunks;
};

using channel_end =
    std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;  ///< type, from, to, ordinal

class plan_translator {
 public:
  plan_translator(const execution_plan& plan, comm::program& p) : plan_(plan), p_(p) {
    for (std::size_t r = 0; r < plan.gpus.size(); ++r) {
      for (const std::int64_t value : plan.gpus[r].semaphores)
        semaphores_[r].push_back(std::deque<given_signal>(static_cast<std::size_t>(value)));
      for (std::size_t b = 0; b < plan.gpus[r].blocks.size(); ++b) {
        actors_.push_back(
            {actors_.size(), static_cast<std::int64_t>(r), static_cast<std::int64_t>(b), 0, false, {}, {}});
        p.gpus[r].blocks.push_back({.id = static_cast<std::int64_t>(b), .steps = {}, .line = p.gpus[r].line});
      }
    }
    for (plan_actor& a : actors_) a.known.assign(actors_.size(), 0);
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (plan_actor& a : actors_)
        while (!ended(a) && perform(a, op_of(a))) moved = true;
    }
    for (const plan_actor& a : actors_)
      if (!ended(a)) refuse(op_of(a), "waits for what no other operation gives it, and the plan never ends");
    for (const auto& [rank, log] : written_)
      for (const written_chunks& w : log) demand_awaited(rank, w);
  }

 private:
  [[nodiscard]] const plan_block& ops_of(const plan_actor& a) const {
    return plan_.gpus[static_cast<std::size_t>(a.rank)].blocks[static_cast<std::size_t>(a.block)];
  }
  [[nodiscard]] bool ended(const plan_actor& a) const { return a.next == ops_of(a).size(); }
  [[nodiscard]] const plan_op& op_of(const plan_actor& a) const { return ops_of(a)[a.next]; }
  /// A GPU must know that its output is complete when its thread blocks have ended.
  void demand_awaited(std::int64_t rank, const written_chunks& w) const {
    const comm::program_rank& r = p_.gpus[static_cast<std::size_t>(rank)];
    if (!overlap(w.chunks, comm::extent_of(p_, r, comm::program_buffer::output))) return;
    for (const plan_actor& a : actors_)
      if (a.rank == rank && (a.number == w.actor || a.known[w.actor] > w.op)) return;
    refuse(ops_of(actors_[w.actor])[w.op],
           fmt::format("writes to the output of gpu {}, where nothing waits for it", rank));
  }
  [[noreturn]] void refuse(const plan_op& op, const std::string& what) const {
    throw user_error(problem{p_.places[op.place], what, op.name, "another plan"});
  }

  comm::thread_block& block(std::int64_t rank, std::size_t number) {
    return p_.gpus[static_cast<std::size_t>(rank)].blocks[number];
  }
  /// Appends a step that waits for those of `after`, the block's own and those already waited for apart.
  step_place push(std::int64_t rank, std::size_t number, program_step s, const step_places& after) {
    comm::thread_block& b = block(rank, number);
    auto& waited = waited_[{rank, number}];
    for (const step_place& w : after) {
      const auto [at, fresh] = waited.try_emplace(w.block, w.step);
      if (w.block == number || (!fresh && at->second >= w.step)) continue;
      at->second = w.step;
      // A step waits for one other: the rest is waited for before.
      if (s.depends_block != -1)
        b.steps.push_back({.depends_block = s.depends_block, .depends_step = s.depends_step, .line = s.line});
      s.depends_block = static_cast<std::int64_t>(w.block);
      s.depends_step = static_cast<std::int64_t>(w.step);
    }
    b.steps.push_back(s);
    return {number, b.steps.size() - 1};
  }
  static program_step step(const plan_op& op, step_type t) {
    return {.type = t, .count = t == step_type::nop ? 0 : 1, .line = op.place};
  }
  static program_step step(const plan_op& op, step_type t, const plan_chunks& from, const plan_chunks& to) {
    return {t, from.buffer, from.first, to.buffer, to.first, from.count, -1, -1, false, op.place};
  }

  /// The last step of the plan's own block, which all that comes later there waits for.
  step_places before(const plan_actor& a) {
    const auto number = static_cast<std::size_t>(a.block);
    const std::size_t steps = block(a.rank, number).steps.size();
    return steps == 0 ? step_places{} : step_places{{number, steps - 1}};
  }
  /// A step of the plan's own block. With nothing to do it only waits.
  void own(plan_actor& a, program_step s, step_places after = {}) {
    after.insert(after.end(), a.open.begin(), a.open.end());
    a.open.clear();
    if (s.type == step_type::nop && after.empty()) return;
    push(a.rank, static_cast<std::size_t>(a.block), s, after);
  }

  /// Those that put for a thread block to one peer, or get from it.
  struct pair_of_blocks {
    std::size_t sender{}, receiver{};
  };
  /// The data of a get return on their own channel, which must be unused at both ends.
  pair_of_blocks link(const plan_actor& a, std::int64_t peer, bool get) {
    const std::int64_t channel = 3 * a.block + (!get ? 0 : a.rank < peer ? 1 : 2);
    const auto make = [&](std::int64_t rank, std::int64_t to, bool sends, bool receives) {
      auto& own = p_.gpus[static_cast<std::size_t>(rank)];
      own.blocks.push_back({.id = std::ssize(own.blocks), .channel = channel, .steps = {}, .line = own.line});
      if (sends) own.blocks.back().send_peer = to;
      if (receives) own.blocks.back().recv_peer = to;
      return own.blocks.size() - 1;
    };
    const auto [at, fresh] = links_.try_emplace({a.rank, peer, channel});
    if (fresh) at->second = {make(a.rank, peer, true, get), make(peer, a.rank, get, true)};
    return at->second;
  }

  [[nodiscard]] comm::buffer_extent extent(const plan_chunks& c) const {
    comm::buffer_extent e = comm::extent_of(p_, p_.gpus[static_cast<std::size_t>(c.rank)], c.buffer);
    return {e.storage, e.first_chunk + c.first, c.count};
  }
  static bool overlap(const comm::buffer_extent& a, const comm::buffer_extent& b) {
    return a.storage == b.storage && a.first_chunk < b.first_chunk + b.chunks &&
           b.first_chunk < a.first_chunk + a.chunks;
  }
  /// Steps that wrote to these chunks in operations that happened before the next one of `a`.
  step_places writers(const plan_actor& a, const plan_chunks& c) {
    step_places all;
    const comm::buffer_extent e = extent(c);
    for (const written_chunks& w : written_[c.rank])
      if (overlap(w.chunks, e) && (w.actor == a.number ? a.next : a.known[w.actor]) > w.op)
        all.push_back(w.at);
    return all;
  }
  /// The steps that have written packets to these chunks; empty while one is missing.
  std::optional<step_places> packets(const plan_chunks& c) {
    const comm::buffer_extent e = extent(c);
    std::int64_t missing = e.chunks;
    step_places all;
    for (const written_chunks& w : written_[c.rank]) {
      if (!overlap(w.chunks, e)) continue;
      missing -= std::min(w.chunks.first_chunk + w.chunks.chunks, e.first_chunk + e.chunks) -
                 std::max(w.chunks.first_chunk, e.first_chunk);
      all.push_back(w.at);
    }
    return missing <= 0 ? std::optional(all) : std::nullopt;
  }
  [[nodiscard]] order_clock clock_of(const plan_actor& a) const {
    order_clock c = a.known;
    c[a.number] = a.next + 1;
    return c;
  }
  static void join(order_clock& into, const order_clock& c) {
    for (std::size_t i = 0; i < c.size(); ++i) into[i] = std::max(into[i], c[i]);
  }

  /// False when the operation has to wait.
  bool perform(plan_actor& a, const plan_op& op) {
    step_places after;
    for (std::size_t i = op.packets; i < op.sources.size(); ++i) {
      const auto from = packets(op.sources[i]);
      if (!from) return false;
      after.insert(after.end(), from->begin(), from->end());
    }
    if (op.name == "barrier") return arrive(a, op);
    if (op.name.ends_with("wait") && !take_signals(a, op, after)) return false;
    if (op.name == "sem_acquire" && !acquire(a, op, after)) return false;
    for (const auto* const all : {&op.sources, &op.destinations})
      for (const plan_chunks& c : *all)
        if (!c.remote)
          for (const step_place& w : writers(a, c)) after.push_back(w);
    const bool sends = op.name.ends_with("signal") || op.name.starts_with("p") || op.name == "rppkt";
    if (!after.empty() || !sends) own(a, step(op, step_type::nop), after);
    move_data(a, op);
    if (op.name == "sem_release")
      for (const std::size_t s : op.semaphores) release(a, op, s);
    ++a.next;
    return true;
  }

  void move_data(plan_actor& a, const plan_op& op) {
    if (op.name == "copy" || op.name == "cpkt" || op.name == "upkt") {
      for (std::size_t i = 0; i < op.sources.size(); ++i) copy(a, op, op.sources[i], op.destinations[i]);
    } else if (op.name == "get") {
      step_places got;
      for (std::size_t i = 0; i < op.sources.size(); ++i)
        got.push_back(
            get(a, op, op.sources[i], op.destinations[i], op.destinations[i], step_type::receive, {}));
      own(a, step(op, step_type::nop), got);
    } else if (op.name.ends_with("signal")) {
      for (const plan_channel& c : op.channels) signal(a, op, c);
    } else if (!op.sources.empty() && op.destinations.front().remote) {
      for (std::size_t i = 0; i < op.destinations.size(); ++i) {
        const step_place at = put(a, op, op.sources[op.sources.size() > 1 ? i : 0], op.destinations[i]);
        if (op.name.starts_with("pws")) give(a, op, op.channels[i], at);
      }
    } else if (!op.sources.empty()) {
      reduce(a, op);
    }
  }

  void copy(plan_actor& a, const plan_op& op, const plan_chunks& from, const plan_chunks& to) {
    own(a, step(op, step_type::copy, from, to));
    if (op.writes_packets) written_[a.rank].push_back({before(a).front(), a.number, a.next, extent(to)});
  }

  step_place put(plan_actor& a, const plan_op& op, const plan_chunks& from, const plan_chunks& to) {
    const pair_of_blocks ends = link(a, to.rank, false);
    a.open.push_back(push(a.rank, ends.sender, step(op, step_type::send, from, to), before(a)));
    const step_place at =
        push(to.rank, ends.receiver, step(op, step_type::receive, from, to), writers(a, to));
    written_[to.rank].push_back({at, a.number, a.next, extent(to)});
    return at;
  }

  /// Gets chunks of a peer. A step that also waits for `after` copies them, or adds them to `addend` with the
  /// result in `to`.
  step_place get(plan_actor& a, const plan_op& op, const plan_chunks& from, const plan_chunks& addend,
                 const plan_chunks& to, step_type t, const step_places& after) {
    const pair_of_blocks ends = link(a, from.rank, true);
    push(a.rank, ends.sender, step(op, step_type::signal), before(a));
    push(from.rank, ends.receiver, step(op, step_type::wait), {});
    push(from.rank, ends.receiver, step(op, step_type::send, from, to), writers(a, from));
    return push(a.rank, ends.sender, step(op, t, addend, to), after);
  }

  /// The sum of all sources in the first destination, and from there in the others.
  void reduce(plan_actor& a, const plan_op& op) {
    const plan_chunks& to = op.destinations.front();
    const auto is_result = [&](const plan_chunks& c) {
      const comm::buffer_extent x = extent(c), y = extent(to);
      return !c.remote && x.storage == y.storage && x.first_chunk == y.first_chunk;
    };
    const bool in_place = std::ranges::any_of(op.sources, is_result);
    const bool only_one = op.sources.size() > 1 && op.sources[1].remote;
    plan_chunks addend = !in_place && only_one ? op.sources.front() : to;
    step_places last;
    for (std::size_t i = 0; i < op.sources.size(); ++i) {
      const plan_chunks& from = op.sources[i];
      if (from.remote) {
        last = {get(a, op, from, std::exchange(addend, to), to, step_type::receive_reduce_copy, last)};
      } else if (!is_result(from) && !only_one) {
        own(a, step(op, i == 0 && !in_place ? step_type::copy : step_type::reduce, from, to));
      }
    }
    own(a, step(op, step_type::nop), last);
    for (std::size_t i = 1; i < op.destinations.size(); ++i)
      op.destinations[i].remote ? void(put(a, op, to, op.destinations[i]))
                                : copy(a, op, to, op.destinations[i]);
  }

  void signal(plan_actor& a, const plan_op& op, const plan_channel& c) {
    const pair_of_blocks ends = link(a, c.peer, false);
    step_places after = before(a);
    after.insert(after.end(), a.open.begin(), a.open.end());
    push(a.rank, ends.sender, step(op, step_type::signal), after);
    give(a, op, c, push(c.peer, ends.receiver, step(op, step_type::wait), {}));
  }
  void give(plan_actor& a, const plan_op& op, const plan_channel& c, const step_place& at) {
    demand_one(a, op, fmt::format("signal {} {} {}", c.type, c.peer, c.ordinal));
    signals_[{c.type, a.rank, c.peer, c.ordinal}].push_back({at, clock_of(a)});
  }
  /// Refuses signals or counts of two thread blocks: their order is undefined. `use`: one of a GPU.
  void demand_one(const plan_actor& a, const plan_op& op, const std::string& use) {
    if (users_.try_emplace({a.rank, use}, a.block).first->second != a.block)
      refuse(op, "another thread block does this on the same channel or semaphore, in no order");
  }

  bool take_signals(plan_actor& a, const plan_op& op, step_places& after) {
    signal_queues from;
    for (const plan_channel& c : op.channels) {
      demand_one(a, op, fmt::format("wait {} {} {}", c.type, c.peer, c.ordinal));
      from.push_back(&signals_[{c.type, c.peer, a.rank, c.ordinal}]);
    }
    return take(a, from, after);
  }
  /// One of each queue, and of one that is given twice two. False while one is missing.
  static bool take(plan_actor& a, const signal_queues& from, step_places& after) {
    std::map<const std::deque<given_signal>*, std::size_t> wanted;
    for (const auto* const queue : from)
      if (++wanted[queue] > queue->size()) return false;
    for (auto* const queue : from) {
      if (!queue->front().known.empty()) {
        after.push_back(queue->front().at);
        join(a.known, queue->front().known);
      }
      queue->pop_front();
    }
    return true;
  }

  bool acquire(plan_actor& a, const plan_op& op, step_places& after) {
    signal_queues from;
    for (const std::size_t s : op.semaphores) {
      demand_one(a, op, fmt::format("acquire {}", s));
      from.push_back(&semaphores_[static_cast<std::size_t>(a.rank)][s]);
    }
    return take(a, from, after);
  }
  void release(plan_actor& a, const plan_op& op, std::size_t s) {
    demand_one(a, op, fmt::format("release {}", s));
    push(a.rank, static_cast<std::size_t>(a.block), step(op, step_type::nop), {});
    semaphores_[static_cast<std::size_t>(a.rank)][s].push_back({before(a).front(), clock_of(a)});
  }

  /// All continue when the last one has arrived.
  bool arrive(plan_actor& a, const plan_op& op) {
    if (a.arrived) return false;
    a.arrived = true;
    own(a, step(op, step_type::nop));
    auto& here = barriers_[{a.rank, op.barrier}];
    here.push_back(a.number);
    if (std::cmp_less(here.size(), op.blocks)) return false;
    order_clock all(actors_.size());
    step_places last;
    for (const std::size_t i : here) {
      for (const step_place& s : before(actors_[i])) last.push_back(s);
      join(all, clock_of(actors_[i]));
    }
    for (const std::size_t i : here) {
      plan_actor& b = actors_[i];
      own(b, step(op_of(b), step_type::nop), last);
      join(b.known, all);
      b.arrived = false;
      ++b.next;
    }
    here.clear();
    return true;
  }

  const execution_plan& plan_;
  comm::program& p_;
  std::vector<plan_actor> actors_;
  std::map<std::pair<std::int64_t, std::size_t>, std::map<std::size_t, std::size_t>> waited_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, pair_of_blocks> links_;
  std::map<std::int64_t, std::vector<written_chunks>> written_;
  std::map<channel_end, std::deque<given_signal>> signals_;
  std::map<std::size_t, std::vector<std::deque<given_signal>>> semaphores_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> users_;  ///< thread block, by GPU and use
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> barriers_;
};

}  // namespace

void translate(const execution_plan& plan, comm::program& p) {
  constexpr std::size_t most = std::size_t{1} << 28;  // entries of clocks
  std::size_t blocks = 0, ops = 0;
  for (const plan_gpu& gpu : plan.gpus) {
    blocks += gpu.blocks.size();
    for (const plan_block& b : gpu.blocks) ops += 1 + b.size();
  }
  if (blocks > most / std::max<std::size_t>(1, ops))
    throw user_error(problem{p.source, "the plan is too large",
                             fmt::format("{} thread blocks, {} ops", blocks, ops),
                             "a product of both up to 2^28"});
  plan_translator(plan, p).run();
}

}  // namespace diecast::platforms
