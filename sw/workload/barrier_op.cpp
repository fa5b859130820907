// SPDX-License-Identifier: Apache-2.0
// Barriers as an op. The members of the op's group are a team whose flags the host has placed before the
// launch; or some of them make a team of their own for the time of the op, as firmware does it.
//
// Ops of one chain, group and rank set are barriers of one team, one after the other: they share its flags,
// counters and tables. Ops that may overlap have teams, and so flags, of their own.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "models/analysis/barrier_checker.hpp"
#include "models/cost/barrier_cost.hpp"
#include "sw/collectives/barrier/barrier.hpp"
#include "sw/host/barrier.hpp"
#include "sw/host/collective.hpp"
#include "sw/workload/op_kind.hpp"

namespace diecast::sw {
namespace {

using comm::barrier_algorithm;
using comm::op_field_type;

comm::rank_set rank_set_of(const comm::workload_op& op) {
  const auto& name = op.get<std::string>("ranks");
  for (const auto set : {comm::rank_set::pe, comm::rank_set::cube, comm::rank_set::sip})
    if (name == comm::to_string(set)) return set;
  throw std::logic_error("no rank set " + name);
}

/// The members rank by rank and core by core; ranks in the order in which their first member comes.
comm::group team_of(const op_request& r, comm::rank_set set) {
  const config::population machine(r.config);
  const comm::group all = comm::barrier_members(machine, set, {0, 1, comm::world_size(machine, set), {}});
  const comm::rank_cores cores(all);
  std::map<pe_coord, std::uint32_t> rank_of;
  for (std::size_t i = 0; i < all.members.size(); ++i) rank_of.emplace(all.members[i], cores.rank_of()[i]);
  comm::team_spec ranks;
  std::map<std::uint32_t, std::uint32_t> members;  // by rank
  for (const pe_coord pe : r.members.members) {
    const std::uint32_t rank = rank_of.at(pe);
    if (members[rank]++ == 0) ranks.list.push_back(rank);
  }
  for (const auto& [rank, count] : members) {
    if (count == cores.count(rank)) continue;
    throw user_error(
        problem{r.op.where + ".ranks",
                fmt::format("the group lacks PEs of {} {}, which form one rank", comm::to_string(set), rank),
                fmt::format("{} of {} PEs", count, cores.count(rank)),
                "a group of whole cubes or SIPs, or ranks \"pe\""});
  }
  return comm::barrier_members(machine, set, ranks);
}

/// Ranks of the group that form a team for this op; none: there is no such team.
std::vector<std::uint32_t> own_team_of(const op_request& r, std::size_t ranks) {
  std::vector<std::uint32_t> own;
  if (!r.op.has("team")) return own;
  std::set<std::uint64_t> seen;
  const auto& list = r.op.get<std::vector<std::uint64_t>>("team");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] >= ranks || !seen.insert(list[i]).second) {
      throw user_error(problem{fmt::format("{}.team[{}]", r.op.where, i),
                               list[i] >= ranks ? "no such rank in the group" : "rank named twice",
                               std::to_string(list[i]), fmt::format("different ranks below {}", ranks)});
    }
    own.push_back(static_cast<std::uint32_t>(list[i]));
  }
  if (own.empty()) throw user_error(problem{r.op.where + ".team", "a team needs a rank", "[]", "at least 1"});
  return own;
}

class barrier_run final : public planned_op {
 public:
  explicit barrier_run(const op_request& r);

  void link(const op_neighbors& all, std::vector<problem>& problems) override;
  std::uint64_t tcm_bytes() const override { return leader_ == this ? barrier_scratch_bytes(launch_) : 0; }
  bool keeps_memory() const override { return true; }
  bool uses_signals() const override { return true; }
  void set_up(abi::host_hal& host) const override;
  void run(const op_context& pe) const override;
  std::string algorithm() const override { return comm::to_string(how_); }
  std::string reason() const override { return reason_; }
  std::optional<op_barriers> barriers() const override {
    return op_barriers{watched_, comm::rank_cores({members_.set, watched_}).rank_of(),
                       static_cast<std::uint32_t>(times_)};
  }

 private:
  /// State of a team that a PE keeps between its ops.
  struct book {
    std::map<const barrier_run*, std::unique_ptr<barrier_runtime>> teams;
  };
  struct slot_book;

  [[nodiscard]] comm::group own_members() const;
  void choose(const op_request& r);
  void check(const op_request& r) const;
  void check_count(const op_neighbors& all, std::vector<problem>& problems) const;
  static void share_teams(const op_neighbors& all, std::vector<problem>& problems);
  static std::uint32_t slots_for_new_teams(const op_neighbors& all);
  static void check_creations(const op_neighbors& all, std::vector<problem>& problems);
  void placed() override;
  [[nodiscard]] std::uint32_t index_of(pe_coord pe) const;
  [[nodiscard]] barrier_runtime& runtime_on(const op_context& pe) const;
  void run_own_team(const op_context& pe, barrier_runtime& b) const;
  void repeat(const op_context& pe, barrier_runtime& b, const team& t) const;

  const comm::workload_op& op_;
  comm::group members_;             ///< members of the launch: rank by rank, core by core
  comm::rank_cores cores_;          ///< cores of the ranks of members_
  std::vector<std::uint32_t> own_;  ///< ranks of the op's own team; empty: the group is the team
  std::vector<pe_coord> watched_;   ///< members of the barriers: the own team's, or all
  std::uint64_t times_;
  bool quiet_;
  abi::errata_word errata_;
  barrier_algorithm how_{};
  std::string reason_;
  argument_context launch_;
  barrier_run* leader_{this};  ///< the first op of the team: its TCM, slots and tables serve all
  barrier_slots slots_;
  std::vector<pe_coord> homes_;                   ///< all PEs, for the workload's first barrier
  std::uint32_t fresh_slots_{};                   ///< slots in which firmware may make a team
  std::vector<abi::kernel_arguments> arguments_;  ///< by index in members_
};

barrier_run::barrier_run(const op_request& r)
    : op_(r.op),
      members_(team_of(r, rank_set_of(r.op))),
      cores_(members_),
      own_(own_team_of(r, cores_.ranks())),
      watched_(own_members().members),
      times_(r.op.get<std::uint64_t>("times")),
      quiet_(r.op.get<bool>("quiet")),
      errata_(*abi::parse_errata(r.config.ccl.errata)),
      launch_{r.config, r.shape, members_, 0, numeric::dtype::f16, numeric::reduction::sum} {
  comm::check_sync_memory(r.config);
  comm::check_sync_homes(r.config, members_);
  choose(r);
  check(r);
}

comm::group barrier_run::own_members() const {
  if (own_.empty()) return members_;
  comm::group g{members_.set, {}};
  for (const std::uint32_t rank : own_) {
    const auto first = members_.members.begin() + cores_.first(rank);
    g.members.insert(g.members.end(), first, first + cores_.count(rank));
  }
  return g;
}

void barrier_run::choose(const op_request& r) {
  const auto& wanted = r.op.get<std::string>("algorithm");
  if (const auto given = comm::barrier_named(wanted)) {
    how_ = *given;
    return;
  }
  const std::size_t ranks = own_.empty() ? cores_.ranks() : own_.size();
  const auto* const rule = cost::first_match(
      r.rules, {comm::collective::barrier, 0, members_.set, ranks});  // a barrier has 0 bytes
  const auto ruled = rule == nullptr ? std::nullopt : comm::barrier_named(rule->algorithm);
  if (ruled) {
    how_ = *ruled;
    reason_ = fmt::format("rule {}", rule->where);
    return;
  }
  const auto parent = own_.empty() ? 0U : cores_.ranks();
  const cost::barrier_costs costs = cost::barrier_costs_of(r.topology(), r.config, own_members(), parent);
  how_ = costs.cheapest();
  reason_ = costs.reason();
}

/// A new team is made by barriers of its parent, so both must have flags enough.
void barrier_run::check(const op_request& r) const {
  const bool any_radix = errata_.has(abi::erratum::unchecked_radix);
  comm::check_team_flags(how_, cores_.ranks(), r.config.ccl.barrier_radix, any_radix);
}

/// Slots given out so far. Each team has its own in the whole workload: a report that names a slot names a
/// team.
struct barrier_run::slot_book {
  std::uint32_t next{};
  std::optional<std::uint32_t> take() {
    if (next == comm::max_teams) return std::nullopt;
    return next++;
  }
};

/// The workload's first barrier does the common work of all, which is known when every op is planned. It is
/// also set up first.
void barrier_run::link(const op_neighbors& all, std::vector<problem>& problems) {
  check_count(all, problems);
  if (all.of<barrier_run>().front().second != this) return;
  homes_ = all.workload.participants;
  share_teams(all, problems);
  check_creations(all, problems);
  fresh_slots_ = slots_for_new_teams(all);
}

void barrier_run::check_count(const op_neighbors& all, std::vector<problem>& problems) const {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  for (const comm::resolved_op& r : all.workload.ops) {
    if (r.op != &op_) continue;
    const std::uint64_t repeat = all.workload.streams[r.stream].stream->repeat;
    if (times_ <= most / repeat) return;
    problems.push_back({op_.where + ".times", "more barriers in a run than barrier counters can number",
                        fmt::format("{} x repeat {}", times_, repeat), fmt::format("at most {}", most)});
  }
}

void barrier_run::share_teams(const op_neighbors& all, std::vector<problem>& problems) {
  using key = std::tuple<std::uint32_t, std::string, comm::rank_set>;  // chain, group, rank set
  std::map<key, barrier_run*> leaders;
  slot_book slots;
  for (const auto& [i, op] : all.of<barrier_run>()) {
    const comm::resolved_op& r = all.workload.ops[i];
    const auto [at, fresh] = leaders.emplace(key{r.chain, r.group_name, op->members_.set}, op);
    op->leader_ = at->second;
    if (!fresh) continue;
    const auto flags = slots.take(), cores = slots.take();
    if (!flags || !cores) {
      problems.push_back({op->op_.where, "the barriers of the workload need more team slots than there are",
                          fmt::format("{} teams", leaders.size()), fmt::format("{}", comm::max_teams / 2)});
      return;
    }
    op->slots_ = {*flags, *cores};
  }
}

/// Firmware takes the lowest slot that its parent team has free: none above those of the teams given by the
/// host, as a PE makes one team at a time.
std::uint32_t barrier_run::slots_for_new_teams(const op_neighbors& all) {
  std::uint32_t end = 0;
  bool made = false;
  for (const auto& [i, op] : all.of<barrier_run>()) {
    made = made || !op->own_.empty();
    if (op->leader_ == op) end = std::max({end, op->slots_.team + 1, op->slots_.cores.value_or(0) + 1});
  }
  return made ? std::min(end + 1, comm::max_teams) : 0;
}

/// Every rank of a parent team must be in one team creation at a time, but nothing orders creations of two
/// chains of a PE.
void barrier_run::check_creations(const op_neighbors& all, std::vector<problem>& problems) {
  std::map<pe_coord, std::uint32_t> makers;  // chain
  for (const auto& [i, op] : all.of<barrier_run>()) {
    if (op->own_.empty()) continue;
    const std::uint32_t chain = all.workload.ops[i].chain;
    for (const pe_coord pe : op->members_.members) {
      const std::uint32_t other = makers.emplace(pe, chain).first->second;
      if (other == chain) continue;
      const auto& streams = all.workload.streams;
      problems.push_back({op->op_.where + ".team", "two streams of a PE may create teams at the same time",
                          fmt::format("{}, also in stream {}", pe_path(op->launch_.shape, pe),
                                      streams[all.workload.chains[other].stream].stream->name),
                          "teams made by one stream of a PE, one after the other"});
      return;
    }
  }
}

void barrier_run::placed() {
  if (leader_ != this) return;
  launch_.tcm_base = tcm();
  for (std::uint32_t i = 0; i < members_.members.size(); ++i) {
    abi::kernel_arguments a;
    a.scratch = tcm();
    fill_barrier_arguments(launch_, i, a, slots_.team);
    arguments_.push_back(a);
  }
}

void barrier_run::set_up(abi::host_hal& host) const {
  if (!homes_.empty()) {
    clear_team_tables(host, launch_.config, homes_);
    clear_team_slots(host, launch_.config, homes_, fresh_slots_);
  }
  if (leader_ == this) prepare_team(host, launch_, arguments_, slots_);
}

std::uint32_t barrier_run::index_of(pe_coord pe) const {
  const auto at = std::ranges::find(members_.members, pe);
  return static_cast<std::uint32_t>(at - members_.members.begin());
}

barrier_runtime& barrier_run::runtime_on(const op_context& pe) const {
  auto& kept = pe.runtime.service<book>([] { return std::make_shared<book>(); }).teams[leader_];
  if (kept == nullptr) {
    const auto idle = [&runtime = pe.runtime, cycles = launch_.config.ccl.signal_poll_cycles](
                          const abi::signal_watch& word) { runtime.between_looks(word, cycles); };
    kept = std::make_unique<barrier_runtime>(pe.hal(), leader_->arguments_[index_of(pe.hal().self())], idle);
  }
  return *kept;
}

void barrier_run::run(const op_context& pe) const {
  pe.runtime.enter(abi::entry_point::barrier);
  barrier_runtime& b = runtime_on(pe);
  if (own_.empty()) return repeat(pe, b, b.world);
  run_own_team(pe, b);
}

void barrier_run::run_own_team(const op_context& pe, barrier_runtime& b) const {
  const auto start = static_cast<std::uint32_t>(launch_.config.ccl.barrier_start);
  const team own = b.barriers.create(b.world, own_, start, how_);
  if (own.members.empty()) return;
  repeat(pe, b, own);
  b.barriers.destroy(own, how_);
}

void barrier_run::repeat(const op_context& pe, barrier_runtime& b, const team& t) const {
  const std::string enter = fmt::format("{} {}", analysis::barrier_checker::enter, op_.id);
  const std::string left = fmt::format("{} {}", analysis::barrier_checker::left, op_.id);
  for (std::uint64_t i = 0; i < times_; ++i) {
    const auto number = static_cast<std::uint32_t>(pe.iteration * times_ + i);
    pe.hal().mark_step({enter, number});
    if (quiet_) {
      b.barriers.barrier_all(t, how_);
    } else {
      b.barriers.barrier(t, how_);
    }
    pe.hal().mark_step({left, number});
  }
}

std::vector<comm::op_field> fields() {
  return {comm::word_field("algorithm", "barrier algorithm; auto: the fastest by the cost model",
                           {"auto", "centralized_pull", "dissemination", "group_dissemination"},
                           std::string("auto")),
          comm::word_field("ranks", "what a rank is: one PE, or all PEs of a cube or SIP together",
                           {"pe", "cube", "sip"}, std::string("pe")),
          comm::number_field("times", op_field_type::count, "number of barriers, one after the other", 1e9, 1,
                             std::uint64_t{1}),
          comm::number_field("team", op_field_type::counts,
                             "ranks of the group that form a team for this op; firmware finds a slot for it "
                             "and frees it afterwards, with all ranks of the group",
                             comm::max_ranks - 1),
          {.name = "quiet",
           .type = op_field_type::flag,
           .description = "writes through the caches before the barrier are in memory when a member leaves",
           .otherwise = false}};
}

}  // namespace

op_kind barrier_op() {
  op_kind k;
  k.schema = {"barrier", "No member continues before all have arrived; signals are words in global memory.",
              fields()};
  k.plan = [](const op_request& r) { return std::make_unique<barrier_run>(r); };
  return k;
}

}  // namespace diecast::sw
