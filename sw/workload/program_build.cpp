// SPDX-License-Identifier: Apache-2.0
// From a workload to programs: ops planned, memory and queue pairs given to chains.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <tuple>

#include "models/abi/address.hpp"
#include "models/comm/hbm_tensor.hpp"
#include "models/comm/install_plan.hpp"
#include "models/comm/network_tree.hpp"
#include "models/comm/sync_layout.hpp"
#include "sw/workload/program.hpp"

namespace diecast::sw {
/// Queue pairs that one chain, group and pattern own, and their directions.
struct wired_pattern {
  std::string label;     ///< the stream, with which names of queue pairs begin
  std::string first_op;  ///< prefix instead of `label` where a PE already has a queue pair of that name
  std::vector<std::string> direction_names;
  comm::direction first_named{};
  std::vector<comm::queue_pair_half> halves;
  std::map<pe_coord, direction_map> queue_pairs;
};

/// One memory of every PE, as the chains share it.
struct memory_plan {
  std::vector<std::uint64_t> offset;  ///< by op
  std::uint64_t end{};
  std::uint32_t highest{};  ///< chain
};

/// End of the memory that a PE's ops have so far.
using memory_ends = std::map<pe_coord, std::uint64_t>;

namespace {

using abi::aligned;

std::string logical_name(const wired_pattern& c, comm::direction d) {
  const std::size_t named = d - std::size_t{c.first_named};
  return d >= c.first_named && named < c.direction_names.size() ? c.direction_names[named]
                                                                : comm::direction_name(d);
}

}  // namespace

class workload_program::builder {
 public:
  builder(workload_program& into, const workload_tables& tables, const config::machine_config& config)
      : into_(into), tables_(tables), config_(config) {}

  void run() {
    plan_ops();
    stop_if_broken();
    place_memory();
    wire();
    stop_if_broken();
    make_programs();
  }

 private:
  using key = std::tuple<std::uint32_t, std::string, std::string>;  // chain, group, pattern

  void plan_ops();
  void link_ops();
  void stop_if_broken() {
    if (!problems_.empty()) throw user_error(std::move(problems_));
  }
  memory_plan stack_chains(std::uint64_t (planned_op::*need)() const) const;
  std::uint64_t stack_ops(const comm::chain& s, std::uint64_t (planned_op::*need)() const, memory_plan& m,
                          memory_ends& ends) const;
  void place_memory();
  void check_hbm(std::uint64_t bytes);
  void wire();
  void connect(std::uint32_t op);
  std::vector<comm::edge> number_queue_pairs();
  void make_programs();
  abi::address hbm_of(pe_coord pe, const planned_op& op) const;
  std::optional<pe_step> step_of(pe_coord pe, std::uint32_t op, pe_program& program) const;

  workload_program& into_;
  const workload_tables& tables_;
  const config::machine_config& config_;
  config::memory_channels channels_{config_};
  std::vector<problem> problems_;
  std::vector<wired_pattern> patterns_;
  std::map<key, std::size_t> known_;
  std::vector<std::optional<std::size_t>> pattern_of_;  ///< by op
  std::uint64_t tcm_end_{}, hbm_end_{};
  std::uint64_t signal_bytes_{};                ///< bytes of signals at the bottom of every HBM port
  std::unique_ptr<fabric::topology> topology_;  ///< made when an op first needs it
  std::optional<comm::message_install> messages_;
};

void workload_program::builder::plan_ops() {
  const auto& resolved = into_.resolved_;
  for (std::uint32_t i = 0; i < resolved.ops.size(); ++i) {
    const comm::resolved_op& r = resolved.ops[i];
    const auto kind =
        std::ranges::find_if(tables_.ops, [&r](const op_kind& k) { return k.schema.name == r.op->kind; });
    if (kind == tables_.ops.end()) throw std::logic_error("no kind of op " + r.op->kind);
    into_.ops_.push_back(nullptr);
    try {
      into_.ops_.back() =
          kind->plan({*r.op, r.members, i, config_, config_.shape(), tables_.kernels, tables_.patterns,
                      [this]() -> const fabric::topology& {
                        if (!topology_) topology_ = std::make_unique<fabric::topology>(config_);
                        return *topology_;
                      },
                      tables_.rules});
    } catch (const user_error& e) {
      for (problem p : e.problems()) {
        if (!p.where.starts_with(r.op->where)) p.where = r.op->where + ": " + p.where;
        problems_.push_back(std::move(p));
      }
    }
  }
  if (problems_.empty()) link_ops();
}

void workload_program::builder::link_ops() {
  const auto& resolved = into_.resolved_;
  const op_neighbors all{resolved,
                         [this](const std::string& id) -> planned_op* {
                           for (std::uint32_t i = 0; i < into_.ops_.size(); ++i)
                             if (into_.resolved_.ops[i].op->id == id) return into_.ops_[i].get();
                           return nullptr;
                         },
                         [this](std::uint32_t i) { return into_.ops_.at(i).get(); }};
  for (const auto& op : into_.ops_) op->link(all, problems_);
  for (const op_kind& k : tables_.ops)
    if (k.check_all) k.check_all(all, problems_);
  for (std::uint32_t stream = 0; stream < resolved.streams.size(); ++stream) {
    std::string& why = into_.needs_others_.emplace_back();
    for (const op_kind& k : tables_.ops)
      if (why.empty() && k.needs_others) why = k.needs_others(all, stream);
  }
}

/// Memory that the ops of a chain use one after the other is placed above all that its PEs have so far; that
/// of an op that keeps it, above all that the PEs of this op have. Returns the end.
std::uint64_t workload_program::builder::stack_ops(const comm::chain& s,
                                                   std::uint64_t (planned_op::*need)() const, memory_plan& m,
                                                   memory_ends& ends) const {
  const auto stack = [&ends](const std::vector<pe_coord>& pes, std::uint64_t bytes) {
    std::uint64_t base = 0;
    for (const pe_coord pe : pes) base = std::max(base, ends[pe]);
    if (bytes > 0)
      for (const pe_coord pe : pes) ends[pe] = base + bytes;
    return base;
  };
  std::uint64_t shared = 0;
  for (const std::uint32_t op : s.ops)
    if (!into_.ops_[op]->keeps_memory()) shared = std::max(shared, aligned(((*into_.ops_[op]).*need)()));
  const std::uint64_t base = stack(into_.resolved_.streams[s.stream].members.members, shared);
  std::uint64_t end = base + shared;
  for (const std::uint32_t op : s.ops) {
    m.offset[op] = base;
    if (!into_.ops_[op]->keeps_memory()) continue;
    const std::uint64_t bytes = aligned(((*into_.ops_[op]).*need)());
    m.offset[op] = stack(into_.users_of(op), bytes);
    end = std::max(end, m.offset[op] + bytes);
  }
  return end;
}

/// Chains that have no PE in common may lie at the same place.
memory_plan workload_program::builder::stack_chains(std::uint64_t (planned_op::*need)() const) const {
  memory_plan m;
  m.offset.resize(into_.ops_.size());
  memory_ends ends;
  for (std::uint32_t i = 0; i < into_.resolved_.chains.size(); ++i) {
    const std::uint64_t end = stack_ops(into_.resolved_.chains[i], need, m, ends);
    if (end <= m.end) continue;
    m.end = end;
    m.highest = i;
  }
  return m;
}

void workload_program::builder::place_memory() {
  const memory_plan tcm = stack_chains(&planned_op::tcm_bytes);
  const memory_plan hbm = stack_chains(&planned_op::hbm_bytes);
  tcm_end_ = tcm.end;
  hbm_end_ = hbm.end;
  signal_bytes_ = into_.uses_signals() ? comm::sync_port_bytes(config_) : 0;
  const auto& ops = into_.ops_;
  if (std::ranges::any_of(ops, [](const auto& op) { return op->uses_messages(); })) {
    messages_ = comm::plan_messages(config_, into_.resolved_.participants, tcm.end);
    tcm_end_ += aligned(messages_->bytes());
  }
  const std::uint64_t room = config_.pe.tcm_kib * 1024;
  if (messages_ && tcm.end <= room && tcm_end_ > room) {
    problems_.push_back({"tag_match.ring_messages",
                         fmt::format("rings for {} peers and the heap (tag_match.heap_kib) do not fit beside "
                                     "the tensors into the TCM of a PE (pe.tcm_kib)",
                                     messages_->pes.size()),
                         fmt::format("{} bytes", tcm_end_), fmt::format("at most {} bytes", room)});
  }
  if (tcm.end > room) {
    const comm::chain& s = into_.resolved_.chains[tcm.highest];
    problems_.push_back(
        {into_.resolved_.streams[s.stream].stream->where,
         "the tensors of the ops that may run at one time do not fit the TCM of a PE (pe.tcm_kib)",
         fmt::format("{} bytes", tcm.end), fmt::format("at most {} bytes", room)});
  }
  check_hbm(hbm.end);
  stop_if_broken();
  for (std::uint32_t i = 0; i < into_.ops_.size(); ++i) into_.ops_[i]->place(tcm.offset[i], hbm.offset[i]);
}

/// The PEs of a port share it in equal slices, above the words of signals and below the receive rings if
/// those lie in HBM.
void workload_program::builder::check_hbm(std::uint64_t bytes) {
  if (bytes + signal_bytes_ == 0) return;
  const std::uint64_t sharers = channels_.sharers();
  const std::uint64_t rings = comm::ring_bytes_in_hbm(config_);
  const std::uint64_t room = config_.hbm.port_mib * 1024 * 1024;
  if (signal_bytes_ + (bytes + rings) * sharers <= room) return;
  const std::string signals = signal_bytes_ > 0 ? fmt::format(" and {} bytes of flags", signal_bytes_) : "";
  problems_.push_back({"hbm.port_mib", "the data of the PEs that share an HBM port does not fit the port",
                       fmt::format("{} x {} bytes{}", sharers, bytes + rings, signals),
                       fmt::format("at most {} bytes", room)});
}

abi::address workload_program::builder::hbm_of(pe_coord pe, const planned_op& op) const {
  if (op.hbm_bytes() == 0) return 0;
  const std::uint64_t offset = signal_bytes_ + channels_.place_of(pe) * hbm_end_ + op.hbm_offset();
  return abi::encode({pe.sip, pe.cube, abi::region::hbm, channels_.home_of(pe), offset});
}

void workload_program::builder::connect(std::uint32_t op) {
  const comm::resolved_op& r = into_.resolved_.ops[op];
  const op_wiring wiring = into_.ops_[op]->wiring();
  if (wiring.edges.empty()) return;
  const key k{r.chain, r.group_name, wiring.pattern};
  const auto [at, fresh] = known_.emplace(k, patterns_.size());
  pattern_of_[op] = at->second;
  if (!fresh) return;
  wired_pattern c;
  c.label = into_.resolved_.streams[r.stream].stream->name;
  c.first_op = r.op->id;
  c.direction_names = wiring.direction_names;
  c.first_named = wiring.first_named;
  std::vector<problem> found;
  if (comm::uses_tree(wiring.edges)) {
    found.push_back(
        {c.label, "the routers' tree serves one collective per run, not ops of a workload or shards of SIPs",
         "", "an algorithm of messages"});
  } else {
    c.halves = comm::pair_directions(wiring.edges, found);
  }
  for (problem& p : found) {
    p.where = r.op->where + ": " + p.where;
    problems_.push_back(std::move(p));
  }
  patterns_.push_back(std::move(c));
}

/// Gives every direction in use at a PE its next free queue pair; the edges between queue pairs.
std::vector<comm::edge> workload_program::builder::number_queue_pairs() {
  std::map<pe_coord, comm::direction> next;
  std::set<std::pair<pe_coord, std::string>> taken;
  std::vector<comm::edge> edges;
  for (wired_pattern& c : patterns_) {
    const auto named = [&c](const comm::queue_pair_half& h) {
      return std::pair(h.owner, c.label + "." + logical_name(c, h.dir));
    };
    const auto is_taken = [&](const comm::queue_pair_half& h) { return taken.contains(named(h)); };
    if (std::ranges::any_of(c.halves, is_taken)) c.label = c.first_op;
    for (const comm::queue_pair_half& h : c.halves) {
      direction_map& map = c.queue_pairs[h.owner];
      if (h.dir >= map.size()) map.resize(std::size_t{h.dir} + 1, comm::no_direction);
      if (map[h.dir] != comm::no_direction) continue;
      map[h.dir] = next[h.owner]++;
      into_.names_[{h.owner, map[h.dir]}] = taken.insert(named(h)).first->second;
    }
    for (const comm::queue_pair_half& h : c.halves) {
      if (h.rx) continue;
      edges.push_back({h.owner, c.queue_pairs.at(h.owner).at(h.dir), h.peer, false,
                       c.queue_pairs.at(h.peer).at(h.peer_dir)});
    }
  }
  return edges;
}

void workload_program::builder::wire() {
  pattern_of_.resize(into_.ops_.size());
  for (std::uint32_t i = 0; i < into_.ops_.size(); ++i) connect(i);
  stop_if_broken();
  into_.install_ = comm::build_install_plan(number_queue_pairs(), comm::options_from(config_, tcm_end_));
  into_.install_.messages = messages_;
}

/// Empty for a PE that takes no part in the op.
std::optional<pe_step> workload_program::builder::step_of(pe_coord pe, std::uint32_t op,
                                                          pe_program& program) const {
  const comm::resolved_op& r = into_.resolved_.ops[op];
  const auto& members = r.members.members;
  const auto at = std::ranges::find(members, pe);
  const auto rank = static_cast<std::uint32_t>(at - members.begin());
  if (at == members.end() || !into_.ops_[op]->takes_part(rank)) return {};
  pe_step step{op, rank, 0, hbm_of(pe, *into_.ops_[op])};
  if (!pattern_of_[op]) return step;
  const auto& maps = patterns_[*pattern_of_[op]].queue_pairs;
  const auto map = maps.find(pe);
  if (map == maps.end()) return step;
  const auto same = std::ranges::find(program.directions, map->second);
  step.directions = static_cast<std::uint32_t>(same - program.directions.begin());
  if (same == program.directions.end()) program.directions.push_back(map->second);
  return step;
}

void workload_program::builder::make_programs() {
  for (const comm::chain& s : into_.resolved_.chains) {
    for (const pe_coord pe : into_.resolved_.streams[s.stream].members.members) {
      pe_program& program = into_.programs_[pe];
      if (program.directions.empty()) program.directions.push_back({comm::no_direction});
      pe_chain chain{s.stream, {}};
      for (const std::uint32_t op : s.ops) {
        const auto step = step_of(pe, op, program);
        step ? chain.steps.push_back(*step) : program.others.push_back(op);
      }
      if (!chain.steps.empty()) program.chains.push_back(std::move(chain));
    }
  }
}

workload_program::workload_program(const comm::workload& w, const workload_tables& tables,
                                   const config::machine_config& config)
    : resolved_(comm::resolve(w, config::population(config))) {
  builder(*this, tables, config).run();
}

}  // namespace diecast::sw
