// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/msccl/program.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace diecast::comm {
namespace {

constexpr std::array step_type_names{"s",   "r",  "rcs", "rrc",    "rrcs", "rrs",
                                     "cpy", "re", "nop", "signal", "wait"};

/// Gathers the problems of one program.
class validator {
 public:
  explicit validator(const program& p) : p_(p) {}

  std::vector<problem> run(bool match_messages) {
    check_header();
    if (check_ranks()) {
      for (const program_rank& r : p_.gpus) check_rank(r);
      if (match_messages && problems_.empty()) check_messages();
    }
    return std::move(problems_);
  }

 private:
  void add(std::uint32_t line, std::string what, std::string value = {}, std::string expected = {}) {
    problems_.push_back({place_of(p_, line), std::move(what), std::move(value), std::move(expected)});
  }
  bool in_range(std::uint32_t line, const std::string& what, std::int64_t v, std::int64_t low,
                std::int64_t high) {
    if (v >= low && v <= high) return true;
    add(line, what, std::to_string(v), fmt::format("{} to {}", low, high));
    return false;
  }

  void check_header() {
    const bool plan = p_.is_plan();
    const std::string ranks = plan ? "their number" : "algo: ngpus";
    const std::string chunks = plan ? "the larger of input_chunks and output_chunks" : "algo: nchunksperloop";
    in_range(p_.line, ranks + " is out of range", p_.ranks, 1, max_program_ranks);
    if (!in_range(p_.line, chunks + " is out of range", p_.chunks_per_loop, 1, max_program_chunks)) return;
    if (p_.collective != collective::all_reduce && p_.ranks > 0 && p_.chunks_per_loop % p_.ranks != 0)
      add(p_.line, fmt::format("{} is no multiple of {} {}", chunks, plan ? "gpus" : "ngpus", p_.ranks),
          std::to_string(p_.chunks_per_loop), "a multiple, so that every rank owns equally many chunks");
  }

  /// True when the ranks are 0 .. ngpus-1, so that peers can be looked up.
  bool check_ranks() {
    const auto before = problems_.size();
    if (std::cmp_not_equal(p_.gpus.size(), p_.ranks))
      add(p_.line, fmt::format("algo: {} gpu elements", p_.gpus.size()), {},
          fmt::format("ngpus = {}", p_.ranks));
    std::set<std::int64_t> seen;
    for (const program_rank& r : p_.gpus) {
      if (!in_range(r.line, "gpu: id is out of range", r.id, 0, p_.ranks - 1)) continue;
      if (!seen.insert(r.id).second) add(r.line, "gpu: id is used twice", std::to_string(r.id));
    }
    return problems_.size() == before && p_.chunks_per_loop >= 1 && p_.chunks_per_loop <= max_program_chunks;
  }

  void check_rank(const program_rank& r) {
    const std::string who = fmt::format("gpu {}: ", r.id);
    bool sizes = in_range(r.line, who + "i_chunks is out of range", r.input_chunks, 0, max_program_chunks);
    sizes &= in_range(r.line, who + "o_chunks is out of range", r.output_chunks, 0, max_program_chunks);
    sizes &= in_range(r.line, who + "s_chunks is out of range", r.scratch_chunks, 0, max_program_chunks);
    if (sizes) check_sizes(r);
    std::set<std::int64_t> ids;
    std::set<std::pair<std::int64_t, std::int64_t>> sends_to, receives_from;
    for (const thread_block& b : r.blocks) {
      const std::string block = fmt::format("{}tb {}", who, b.id);
      if (!ids.insert(b.id).second) add(b.line, block + ": id is used twice on this gpu");
      in_range(b.line, block + ": chan is out of range", b.channel, 0, 65'535);
      check_peer(r, b, "send", b.send_peer, sends_to);
      check_peer(r, b, "recv", b.recv_peer, receives_from);
      for (std::size_t i = 0; i < b.steps.size(); ++i) check_step(r, b, i, sizes);
    }
  }

  void check_sizes(const program_rank& r) {
    const std::int64_t all = p_.chunks_per_loop, part = p_.chunks_per_loop / p_.ranks;
    const auto need = [&](program_buffer b, std::int64_t want) {
      const std::int64_t have = extent_of(p_, r, b).chunks;
      if (have != want)
        add(r.line,
            fmt::format("gpu {}: {} buffer of {}", r.id, b == program_buffer::input ? "input" : "output",
                        to_string(p_.collective)),
            fmt::format("{} chunks", have), fmt::format("{} chunks", want));
    };
    need(program_buffer::input, p_.collective == collective::all_gather ? part : all);
    need(program_buffer::output, p_.collective == collective::reduce_scatter ? part : all);
  }

  void check_peer(const program_rank& r, const thread_block& b, const char* way, std::int64_t peer,
                  std::set<std::pair<std::int64_t, std::int64_t>>& used) {
    if (peer == -1) return;
    const std::string where = fmt::format("gpu {}: tb {}: {}", r.id, b.id, way);
    if (peer < 0 || peer >= p_.ranks) {
      add(b.line, where + " names an impossible peer", std::to_string(peer),
          fmt::format("-1 or a gpu 0 to {}", p_.ranks - 1));
    } else if (peer == r.id) {
      add(b.line, where + " names the gpu itself", std::to_string(peer), "another gpu");
    } else if (!used.insert({peer, b.channel}).second) {
      add(b.line, fmt::format("{}: another tb of this gpu uses peer {} on chan {}", where, peer, b.channel),
          {}, "one tb per peer and channel");
    }
  }

  void check_step(const program_rank& r, const thread_block& b, std::size_t index, bool sizes) {
    const program_step& s = b.steps[index];
    const std::string where =
        fmt::format("gpu {}: tb {}: step {} ({})", r.id, b.id, index, to_string(s.type));
    if (sends(s.type) && b.send_peer == -1) add(s.line, where + " sends, but the tb has no send peer");
    if (receives(s.type) && b.recv_peer == -1) add(s.line, where + " receives, but the tb has no recv peer");
    const bool counted = in_range(s.line, where + ": cnt is out of range", s.count, 0, max_program_chunks);
    if (sizes && counted && s.count > 0) {
      if (reads_source(s.type)) check_extent(r, s, where + ": source", s.source, s.source_offset);
      if (writes_destination(s.type))
        check_extent(r, s, where + ": destination", s.destination, s.destination_offset);
    }
    if (s.depends_block != -1) check_dependency(r, b, index, where);
  }

  void check_extent(const program_rank& r, const program_step& s, const std::string& where,
                    program_buffer buffer, std::int64_t offset) {
    const std::int64_t chunks = extent_of(p_, r, buffer).chunks;
    if (offset >= 0 && offset <= chunks - s.count) return;
    add(s.line, where + " is beyond its buffer", fmt::format("chunk {}, cnt {}", offset, s.count),
        fmt::format("within the buffer's {} chunks", chunks));
  }

  void check_dependency(const program_rank& r, const thread_block& b, std::size_t index,
                        const std::string& where) {
    const program_step& s = b.steps[index];
    const auto target = std::ranges::find(r.blocks, s.depends_block, &thread_block::id);
    if (target == r.blocks.end()) {
      add(s.line, where + ": depid names a tb this gpu does not have", std::to_string(s.depends_block));
    } else if (s.depends_step < 0 || std::cmp_greater_equal(s.depends_step, target->steps.size())) {
      add(s.line, where + fmt::format(": deps names a step tb {} does not have", s.depends_block),
          std::to_string(s.depends_step), fmt::format("0 to {}", std::ssize(target->steps) - 1));
    } else if (s.depends_block == b.id && std::cmp_greater_equal(s.depends_step, index)) {
      add(s.line, where + " waits for itself or a later step of its own tb", std::to_string(s.depends_step));
    }
  }

  /// The n-th message sent into a FIFO is the n-th received: their sizes must agree.
  void check_messages() {
    using key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
    struct traffic {
      std::vector<std::int64_t> sent, received;
      std::uint32_t line{};
    };
    std::map<key, traffic> fifos;
    for (const program_rank& r : p_.gpus)
      for (const thread_block& b : r.blocks)
        for (const program_step& s : b.steps) {
          if (s.count == 0) continue;
          if (sends(s.type)) {
            traffic& t = fifos[{r.id, b.send_peer, b.channel}];
            t.sent.push_back(s.count);
            t.line = b.line;
          }
          if (receives(s.type)) {
            traffic& t = fifos[{b.recv_peer, r.id, b.channel}];
            t.received.push_back(s.count);
            if (t.line == 0) t.line = b.line;
          }
        }
    for (const auto& [k, t] : fifos) {
      const auto [from, to, chan] = k;
      const std::string where = fmt::format("from gpu {} to gpu {} on chan {}", from, to, chan);
      if (t.sent.size() != t.received.size()) {
        add(t.line, where + ": sends and receives do not match",
            fmt::format("{} sends, {} receives", t.sent.size(), t.received.size()), "as many of each");
        continue;
      }
      const auto [a, b] = std::mismatch(t.sent.begin(), t.sent.end(), t.received.begin());
      if (a != t.sent.end())
        add(t.line,
            fmt::format("{}: message {} is sent and received with different cnt", where, a - t.sent.begin()),
            fmt::format("{} sent, {} received", *a, *b), "equal counts");
    }
  }

  const program& p_;
  std::vector<problem> problems_;
};

}  // namespace

std::optional<collective> parse_program_collective(std::string_view name) {
  if (name == "allreduce" || name == "all_reduce") return collective::all_reduce;
  if (name == "allgather" || name == "all_gather") return collective::all_gather;
  if (name == "reducescatter" || name == "reduce_scatter") return collective::reduce_scatter;
  if (name == "alltoall" || name == "all_to_all") return collective::all_to_all;
  return std::nullopt;
}

std::optional<program_buffer> parse_program_buffer(std::string_view name) {
  if (name == "i") return program_buffer::input;
  if (name == "o") return program_buffer::output;
  if (name == "s") return program_buffer::scratch;
  return std::nullopt;
}

const char* to_string(step_type t) { return step_type_names.at(static_cast<std::size_t>(t)); }

std::optional<step_type> parse_step_type(std::string_view name) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(step_type::nop); ++i)
    if (name == step_type_names[i]) return static_cast<step_type>(i);
  return std::nullopt;
}

std::string place_of(const program& p, std::uint32_t line) {
  return line < p.places.size() ? p.places[line] : fmt::format("{}:{}", p.source, line);
}

bool sends(step_type t) {
  return t == step_type::send || t == step_type::signal || t == step_type::receive_copy_send ||
         t == step_type::receive_reduce_copy_send || t == step_type::receive_reduce_send;
}

bool receives(step_type t) {
  return t == step_type::receive || t == step_type::wait || t == step_type::receive_copy_send ||
         t == step_type::receive_reduce_copy || t == step_type::receive_reduce_copy_send ||
         t == step_type::receive_reduce_send;
}

bool reads_source(step_type t) {
  return t != step_type::receive && t != step_type::receive_copy_send && t < step_type::nop;
}

bool writes_destination(step_type t) {
  return t != step_type::send && t != step_type::receive_reduce_send && t < step_type::nop;
}

buffer_extent extent_of(const program& p, const program_rank& r, program_buffer b) {
  using enum program_buffer;
  if (b == scratch) return {scratch, 0, r.scratch_chunks};
  const std::int64_t share = p.ranks > 0 ? p.chunks_per_loop / p.ranks : 0;
  if (!p.in_place)
    return b == input ? buffer_extent{input, 0, r.input_chunks} : buffer_extent{output, 0, r.output_chunks};
  switch (p.collective) {
    case collective::all_gather: {
      // Some in-place programs declare no input of their own.
      const std::int64_t own = r.input_chunks > 0 ? r.input_chunks : share;
      if (b == input) return {output, r.id * own, own};
      return {output, 0, r.output_chunks};
    }
    case collective::reduce_scatter: {
      const std::int64_t own = r.output_chunks > 0 ? r.output_chunks : share;
      if (b == output) return {input, r.id * own, own};
      return {input, 0, r.input_chunks};
    }
    default: break;
  }
  return {output, 0, std::max(r.input_chunks, r.output_chunks)};
}

std::vector<problem> validate(const program& p, bool match_messages) {
  return validator(p).run(match_messages);
}

}  // namespace diecast::comm
