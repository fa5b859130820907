// SPDX-License-Identifier: Apache-2.0
// Symbolic execution of a program: chunks are multisets of contributions, FIFOs are bounded queues
// of such chunks, and a sweep in which no thread block moves is a deadlock. What orders steps (thread blocks,
// dependencies, messages) is the same in every execution: vector clocks of one order show the races of all.
#include <algorithm>
#include <array>
#include <deque>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "sw/collectives/msccl/program.hpp"

namespace diecast::comm {
namespace {

/// Sorted ids of the input chunks reduced into one chunk: rank * chunks_per_loop + chunk.
using contributions = std::vector<std::uint64_t>;
constexpr std::uint64_t uninitialized = UINT64_MAX;
constexpr std::size_t most_reported = 20;
constexpr std::array all_buffers{program_buffer::input, program_buffer::output, program_buffer::scratch};

/// Limit for chunks that add contributions repeatedly and grow exponentially: they are wrong long before.
constexpr std::size_t most_contributions = 1 << 17;

contributions merged(const contributions& a, const contributions& b) {
  contributions out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  if (out.size() > most_contributions) out.resize(most_contributions);
  return out;
}

using message = std::vector<contributions>;

struct fifo_state {
  std::uint64_t messages{};  ///< held now
  std::deque<message> data;  ///< empty when data is not tracked
};

struct block_state {
  const program_rank* rank{};
  const thread_block* block{};
  fifo_state* out{};
  fifo_state* in{};
  std::size_t done{};  ///< steps finished
  bool holds{};        ///< took a message that it could not pass on yet
  message outgoing;
  std::vector<const block_state*> waits;  ///< per step, the block it depends on or null
};

/// Which steps happened before which, and the accesses to chunks that are not ordered.
class order_watch {
 public:
  explicit order_watch(const program& p) : p_(p) {
    for (const program_rank& r : p.gpus) {
      for (const thread_block& b : r.blocks) {
        blocks_.push_back({&r, &b});
        for (const program_step& s : b.steps)
          if (s.depends_block != -1) ++waiting_[{r.id, s.depends_block, s.depends_step}].first;
      }
      for (const program_buffer b : all_buffers) {
        const buffer_extent e = extent_of(p, r, b);
        auto& chunks = chunks_[{r.id, e.storage}];
        chunks.resize(std::max(chunks.size(), static_cast<std::size_t>(e.first_chunk + e.chunks)));
      }
    }
    clocks_.assign(blocks_.size(), clock(blocks_.size()));
  }

  /// The next step of a block begins, after the step it waits for and the message it takes.
  void begin(std::size_t block, const program_step& s, bool takes) {
    const auto& [r, b] = blocks_[block];
    if (s.depends_block != -1) {
      const auto at = waiting_.find({r->id, s.depends_block, s.depends_step});
      join(clocks_[block], at->second.second);
      if (--at->second.first == 0) waiting_.erase(at);
    }
    if (takes) {
      auto& queue = under_way_[{b->recv_peer, r->id, b->channel}];
      join(clocks_[block], queue.front());
      queue.pop_front();
    }
    if (s.count == 0) return;
    if (reads_source(s.type)) access(block, s.source, s.source_offset, s.count, false);
    if (writes_destination(s.type)) access(block, s.destination, s.destination_offset, s.count, true);
  }
  void end(std::size_t block, bool passes_on) {
    const auto& [r, b] = blocks_[block];
    clock& own = clocks_[block];
    const auto at = waiting_.find({r->id, b->id, own[block]});
    ++own[block];
    if (at != waiting_.end()) at->second.second = own;
    if (passes_on) under_way_[{r->id, b->send_peer, b->channel}].push_back(own);
  }
  [[nodiscard]] std::vector<problem> races() { return std::move(races_); }

 private:
  using clock = std::vector<std::uint32_t>;  ///< steps of every block that happened before
  using chunk_name = std::pair<char, std::int64_t>;
  struct access_place {
    std::size_t block{};
    std::uint32_t step{};
  };
  struct history {
    std::optional<access_place> written;
    std::vector<access_place> read;  ///< since, the last of every block
  };

  static void join(clock& c, const clock& other) {
    for (std::size_t i = 0; i < other.size(); ++i) c[i] = std::max(c[i], other[i]);
  }
  void access(std::size_t block, program_buffer buffer, std::int64_t offset, std::int64_t count,
              bool writes) {
    const program_rank& r = *blocks_[block].first;
    const buffer_extent e = extent_of(p_, r, buffer);
    for (std::int64_t c = 0; c < count; ++c) {
      const auto index = static_cast<std::size_t>(e.first_chunk + offset + c);
      history& h = chunks_.at({r.id, e.storage}).at(index);
      const chunk_name chunk{"ios"[static_cast<std::size_t>(buffer)], offset + c};
      if (h.written) demand_order(block, *h.written, chunk, writes ? "writes" : "reads", "writes");
      std::erase_if(h.read, [block](const access_place& a) { return a.block == block; });
      if (writes) {
        for (const access_place& a : h.read) demand_order(block, a, chunk, "writes", "reads");
        h = {access_place{block, clocks_[block][block]}, {}};
      } else {
        h.read.push_back({block, clocks_[block][block]});
      }
    }
  }
  void demand_order(std::size_t block, const access_place& other, const chunk_name& chunk, const char* does,
                    const char* did) {
    if (clocks_[block][other.block] > other.step || block == other.block) return;
    if (races_.size() == most_reported) return;
    const auto text = [&](std::size_t which, std::uint32_t step) {
      const thread_block& b = *blocks_[which].second;
      return fmt::format("tb {} step {} ({})", b.id, step, to_string(b.steps[step].type));
    };
    const std::string there = place_of(p_, blocks_[other.block].second->steps[other.step].line);
    const std::uint32_t step = clocks_[block][block];
    const auto& [r, b] = blocks_[block];
    const std::string here = place_of(p_, b->steps[step].line);
    if (p_.is_plan()) {  // a plan's thread blocks, steps and chunks are not those here
      races_.push_back(
          {here,
           fmt::format("{} chunks of {} that {} {}, and nothing orders them", does, chunk.first, there, did),
           "", "a signal and the wait for it, a semaphore or a barrier between them"});
      return;
    }
    races_.push_back({here,
                      fmt::format("gpu {} {} {} {}[{}], which {} {} ({}), and nothing orders them", r->id,
                                  text(block, step), does, chunk.first, chunk.second,
                                  text(other.block, other.step), did, there),
                      {},
                      "a dependency (depid, deps) or a message between them"});
  }

  const program& p_;
  std::vector<std::pair<const program_rank*, const thread_block*>> blocks_;
  std::vector<clock> clocks_;
  /// By rank, block and step that others wait for: how many still do, and its clock when it had ended.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::pair<std::uint32_t, clock>> waiting_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::deque<clock>> under_way_;  ///< per FIFO
  std::map<std::pair<std::int64_t, program_buffer>, std::vector<history>> chunks_;  ///< by rank and storage
  std::vector<problem> races_;
};

struct rank_state {
  const program_rank* rank{};
  std::array<std::vector<contributions>, 3> storage;  ///< by program_buffer
};

class executor {
 public:
  executor(const program& p, const check_options& options) : p_(p), options_(options) {
    if (options_.data) fill_inputs();
    make_blocks();
    if (options_.races) order_.emplace(p);
  }

  check_result run() {
    std::vector<std::size_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(options_.order_seed);
    check_result result;
    for (bool moved = true; moved && !all_done();) {
      moved = false;
      if (options_.order_seed != 0) std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) {
        // Runs one step at a time in a shuffled order, so that blocks overtake each other.
        while (step(blocks_[i])) {
          moved = true;
          if (options_.order_seed != 0) break;
        }
      }
    }
    if (!all_done()) {
      result.deadlock = true;
      for (const block_state& b : blocks_)
        if (b.done < b.block->steps.size()) result.blocked.push_back(describe(b));
    } else if (options_.data) {
      result.wrong = compare();
    }
    if (order_) result.races = order_->races();
    return result;
  }

 private:
  [[nodiscard]] bool all_done() const {
    return std::ranges::all_of(blocks_, [](const block_state& b) { return b.done == b.block->steps.size(); });
  }

  void fill_inputs() {
    for (const program_rank& r : p_.gpus) {
      rank_state& s = ranks_.emplace_back();
      s.rank = &r;
      for (const program_buffer b : all_buffers) {
        const buffer_extent e = extent_of(p_, r, b);
        auto& store = s.storage[static_cast<std::size_t>(e.storage)];
        const auto end = static_cast<std::size_t>(e.first_chunk + e.chunks);
        if (store.size() < end) store.resize(end, {uninitialized});
      }
      const std::int64_t chunks = extent_of(p_, r, program_buffer::input).chunks;
      for (std::int64_t c = 0; c < chunks; ++c) chunk(s, program_buffer::input, c) = {id(r.id, c)};
    }
  }

  void make_blocks() {
    for (const program_rank& r : p_.gpus)
      for (const thread_block& b : r.blocks) {
        fifo_state* out = b.send_peer < 0 ? nullptr : &fifos_[{r.id, b.send_peer, b.channel}];
        fifo_state* in = b.recv_peer < 0 ? nullptr : &fifos_[{b.recv_peer, r.id, b.channel}];
        blocks_.push_back({&r, &b, out, in, 0, false, {}, {}});
      }
    std::map<std::pair<std::int64_t, std::int64_t>, const block_state*> by_id;
    for (const block_state& b : blocks_) by_id[{b.rank->id, b.block->id}] = &b;
    for (block_state& b : blocks_)
      for (const program_step& s : b.block->steps)
        b.waits.push_back(s.depends_block == -1 ? nullptr : by_id.at({b.rank->id, s.depends_block}));
  }

  [[nodiscard]] std::uint64_t id(std::int64_t rank, std::int64_t chunk_index) const {
    return static_cast<std::uint64_t>(rank * p_.chunks_per_loop + chunk_index);
  }
  contributions& chunk(rank_state& s, program_buffer b, std::int64_t offset) {
    const buffer_extent e = extent_of(p_, *s.rank, b);
    return s.storage[static_cast<std::size_t>(e.storage)].at(
        static_cast<std::size_t>(e.first_chunk + offset));
  }

  [[nodiscard]] static bool waits_for_step(const block_state& b) {
    const block_state* other = b.waits[b.done];
    return other != nullptr && std::cmp_less_equal(other->done, b.block->steps[b.done].depends_step);
  }

  bool step(block_state& b) {
    if (b.done == b.block->steps.size() || waits_for_step(b)) return false;
    const program_step& s = b.block->steps[b.done];
    const bool moves = s.count > 0, takes = moves && receives(s.type), passes_on = moves && sends(s.type);
    const bool may_send = !passes_on || b.out->messages < options_.fifo_messages;
    if (takes && !b.holds && b.in->messages == 0) return false;
    if (!may_send && !(options_.take_before_space && takes && !b.holds)) return false;
    const auto index = static_cast<std::size_t>(&b - blocks_.data());
    if (!b.holds) {
      if (order_) order_->begin(index, s, takes);
      if (moves && options_.data) move_data(b, s);
      if (takes) --b.in->messages;
    }
    b.holds = !may_send;
    if (b.holds) return true;
    if (order_) order_->end(index, passes_on);
    if (passes_on) pass_on(b);
    ++b.done;
    return true;
  }

  void pass_on(block_state& b) {
    if (options_.data) b.out->data.push_back(std::move(b.outgoing));
    b.outgoing.clear();
    ++b.out->messages;
  }

  void move_data(block_state& b, const program_step& s) {
    if (s.type == step_type::nop) return;
    rank_state& r = ranks_[static_cast<std::size_t>(b.rank->id)];
    message received;
    if (receives(s.type)) {
      received = std::move(b.in->data.front());
      b.in->data.pop_front();
    }
    for (std::int64_t c = 0; c < s.count; ++c) {
      contributions value = receives(s.type) ? received[static_cast<std::size_t>(c)] : contributions{};
      if (reads_source(s.type)) value = merged(value, chunk(r, s.source, s.source_offset + c));
      if (s.type == step_type::reduce)
        value = merged(value, chunk(r, s.destination, s.destination_offset + c));
      if (writes_destination(s.type)) chunk(r, s.destination, s.destination_offset + c) = value;
      if (sends(s.type)) b.outgoing.push_back(std::move(value));
    }
  }

  [[nodiscard]] std::string describe(const block_state& b) const {
    const program_step& s = b.block->steps[b.done];
    const bool lacks_message = receives(s.type) && !b.holds && b.in->messages == 0;
    const std::string what =
        waits_for_step(b) ? fmt::format("tb {} step {}", s.depends_block, s.depends_step)
        : lacks_message
            ? fmt::format("a message from gpu {} on chan {}", b.block->recv_peer, b.block->channel)
            : fmt::format("space towards gpu {} on chan {}", b.block->send_peer, b.block->channel);
    return fmt::format("{}: gpu {} tb {} step {} ({}) waits for {}", place_of(p_, s.line), b.rank->id,
                       b.block->id, b.done, to_string(s.type), what);
  }

  /// What output chunk `c` of `rank` must hold.
  [[nodiscard]] contributions expected(std::int64_t rank, std::int64_t c) const {
    const std::int64_t share = p_.chunks_per_loop / p_.ranks;
    contributions out;
    switch (p_.collective) {
      case collective::reduce_scatter: c += rank * share; [[fallthrough]];
      case collective::all_reduce:
        for (std::int64_t q = 0; q < p_.ranks; ++q) out.push_back(id(q, c));
        break;
      case collective::all_gather: out.push_back(id(c / share, c % share)); break;
      case collective::all_to_all: out.push_back(id(c / share, rank * share + c % share)); break;
      default: throw std::logic_error("no program performs this collective");
    }
    return out;
  }

  std::vector<std::string> compare() {
    std::vector<std::string> wrong;
    for (rank_state& r : ranks_) {
      const std::int64_t chunks = extent_of(p_, *r.rank, program_buffer::output).chunks;
      for (std::int64_t c = 0; c < chunks; ++c) {
        const contributions want = expected(r.rank->id, c);
        const contributions& got = chunk(r, program_buffer::output, c);
        if (got == want) continue;
        if (wrong.size() == most_reported) return wrong;
        wrong.push_back(fmt::format("gpu {} output chunk {} holds {}; expected {}", r.rank->id, c, text(got),
                                    text(want)));
      }
    }
    return wrong;
  }

  [[nodiscard]] std::string text(const contributions& set) const {
    std::string out;
    for (const std::uint64_t i : set) {
      if (out.size() > 400) return out + " + ...";
      const auto n = static_cast<std::uint64_t>(p_.chunks_per_loop);
      if (!out.empty()) out += " + ";
      out += i == uninitialized ? "uninitialized" : fmt::format("gpu{}[{}]", i / n, i % n);
    }
    return out;
  }

  const program& p_;
  check_options options_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, fifo_state> fifos_;
  std::vector<rank_state> ranks_;
  std::vector<block_state> blocks_;
  std::optional<order_watch> order_;
};

}  // namespace

bool order_can_be_checked(const program& p) {
  constexpr std::int64_t most = std::int64_t{1} << 28;            // entries of clocks, accesses to chunks
  constexpr std::int64_t most_histories = std::int64_t{1} << 24;  // each of some 50 bytes
  std::int64_t blocks = 0, clocks = 0, chunks = 0, histories = 0;
  for (const program_rank& r : p.gpus) {
    histories += r.input_chunks + r.output_chunks + r.scratch_chunks;
    blocks += std::ssize(r.blocks);
    for (const thread_block& b : r.blocks) {
      clocks += 1 + 2 * std::ssize(b.steps);
      for (const program_step& s : b.steps) chunks += s.count;
    }
  }
  return histories <= most_histories && chunks <= most && blocks <= most / std::max<std::int64_t>(1, clocks);
}

check_result check_program(const program& p, const check_options& options) {
  return executor(p, options).run();
}

std::optional<std::uint32_t> fifo_messages_needed(const program& p, std::uint32_t limit) {
  for (std::uint32_t messages = 1; messages <= limit; ++messages)
    if (!check_program(p, {messages, 0, false}).deadlock) return messages;
  return std::nullopt;
}

}  // namespace diecast::comm
