// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/abi/firmware_tasks.hpp"
#include "models/events/events.hpp"
#include "platforms/result/deadlock_json.hpp"

namespace diecast::platforms {
namespace {

using json = nlohmann::ordered_json;
using observe::flight_kind;
using observe::flight_operation;
using observe::flight_state;

constexpr const char* dump_version = "2.4";
constexpr const char* group_name = "0";
constexpr double ns_per_ms = 1e6;

const char* torch_type(numeric::dtype t) {
  switch (t) {
    case numeric::dtype::f16: return "Half";
    case numeric::dtype::bf16: return "BFloat16";
    case numeric::dtype::f32: return "Float";
    case numeric::dtype::i32: return "Int";
  }
  return "Byte";
}

/// Rounded up, because 0 would mean that no rank waits.
std::uint64_t whole_ms(std::uint64_t us) { return (us + 999) / 1000; }

std::uint64_t whole_ns(sim_time t) { return t.fs / 1'000'000; }

/// Elements that go into a rank and that come out, of a collective of so many in all, as PyTorch records
/// them: of a rooted collective every rank has the tensor, and parts are even (comm::input_elements knows
/// better).
std::pair<std::uint64_t, std::uint64_t> sizes(const std::string& collective, std::uint64_t all,
                                              std::uint64_t ranks) {
  if (collective == "all_gather" || collective == "gather") return {all / ranks, all};
  if (collective == "reduce_scatter" || collective == "scatter") return {all, all / ranks};
  return {all, all};
}

class writer {
 public:
  writer(const run_names& run, const observe::flight_recorder& recorder)
      : run_(run), recorder_(recorder), type_(torch_type(run.point.type)) {
    const auto& members = run.members;
    for (std::uint32_t r = 0; r < members.size(); ++r) rank_of_[members[r]] = r;
    const auto& groups = recorder.groups();
    for (std::uint32_t g = 0; g < groups.size(); ++g) order_.push_back(g);
    std::ranges::sort(order_, {}, [&groups](std::uint32_t g) {
      return std::tie(groups[g].begun, groups[g].slot, groups[g].listed);
    });
    number_.resize(groups.size());
    for (std::uint32_t n = 0; n < order_.size(); ++n) number_[order_[n]] = n + 1;
  }

  [[nodiscard]] json group() const {
    json groups{{group_name, group_json(group_name, "default_pg", run_.members)}};
    for (const std::uint32_t g : order_) {
      const std::string name = team_name(g);
      groups[name] = group_json(name, team_description(g), recorder_.groups()[g].members);
    }
    return groups;
  }

  /// Of one rank: collectives are numbered by launch, barriers of a team by the PE that enters them, from 1.
  [[nodiscard]] json status(const analysis::pe_dump& pe) const {
    const auto launched = static_cast<std::int64_t>(recorder_.launches());
    const bool done = pe.state == events::core_state::done;
    const bool begun =
        done || pe.state == events::core_state::running || pe.state == events::core_state::asleep;
    json groups{{group_name,
                 {{"last_enqueued_collective", launched},
                  {"last_started_collective", begun ? launched : launched - 1},
                  {"last_completed_collective", done ? launched : launched - 1}}}};
    for (const std::uint32_t g : order_) {
      const auto& members = recorder_.groups()[g].members;
      if (std::ranges::find(members, pe.pe) == members.end()) continue;
      const auto counts = recorder_.barriers_of(pe.pe, g);
      groups[team_name(g)] = {{"last_enqueued_collective", counts.entered},
                              {"last_started_collective", counts.entered},
                              {"last_completed_collective", counts.left}};
    }
    return groups;
  }

  [[nodiscard]] json rank_row(const analysis::pe_dump& pe) const {
    return {
        {"rank", rank_of_.at(pe.pe)},         {"pe", run_.pe(pe.pe)}, {"state", events::to_string(pe.state)},
        {"step", analysis::present_step(pe)}, {"awaits", awaits(pe)}, {"pg_status", status(pe)}};
  }

  void entries_of(const analysis::pe_dump& pe, json& entries) const {
    if (recorder_.launches() > 0) entries.push_back(collective(pe));
    std::uint64_t next = 1;  // 0 is the collective's
    for (const flight_operation& o : recorder_.operations_of(pe.pe)) {
      entries.push_back(o.what == flight_kind::barrier ? barrier(pe, o) : transfer(pe, o));
      next = o.record_id + 2;
    }
    for (std::size_t i = 0; i < pe.queue_pairs.size(); ++i)
      waits(pe, static_cast<comm::direction>(i), pe.queue_pairs[i], next, entries);
  }

 private:
  [[nodiscard]] std::string team_name(std::uint32_t group) const { return std::to_string(number_[group]); }
  [[nodiscard]] std::string team_description(std::uint32_t group) const {
    return fmt::format("team {}", recorder_.groups()[group].slot);
  }
  [[nodiscard]] json group_json(const std::string& name, const std::string& description,
                                const std::vector<pe_coord>& members) const {
    std::vector<std::uint32_t> ranks;
    ranks.reserve(members.size());
    for (const pe_coord pe : members) ranks.push_back(rank_of_.at(pe));
    return {{"name", name}, {"desc", description}, {"ranks", fmt::format("[{}]", fmt::join(ranks, ", "))}};
  }

  /// The messages and flags that a PE waits for.
  [[nodiscard]] json awaits(const analysis::pe_dump& pe) const {
    json list = json::array();
    for (const abi::operation_note& n : pe.awaits) {
      json e{{"kind", to_string(n.kind)},
             {"peer", n.peer ? json(run_.pe(*n.peer)) : json(nullptr)},
             {"text", abi::describe(n)}};
      if (n.kind == abi::operation_kind::barrier) {
        e["algorithm"] = n.algorithm;
        e["team"] = n.group;
        e["count"] = n.count;
      } else if (n.kind == abi::operation_kind::receipt) {
        e["count"] = n.count;
      } else {
        e["communicator"] = n.group;
        e["tag"] = n.tag ? json(*n.tag) : json(nullptr);
      }
      list.push_back(std::move(e));
    }
    return list;
  }

  [[nodiscard]] json base(const analysis::pe_dump& pe, std::uint64_t id, const std::string& name,
                          std::uint64_t elements, const std::string& step, std::uint32_t index) const {
    const json sizes = json::array({json::array({elements})});
    const json types = json::array({type_});
    const json frame{{"name", step.empty() ? run_.point.algorithm : step},
                     {"filename", run_.point.algorithm},
                     {"line", index}};
    return {{"rank", rank_of_.at(pe.pe)},
            {"record_id", id},
            {"pg_id", 0},
            {"process_group", json::array({group_name, "default_pg"})},
            {"collective_seq_id", recorder_.launches()},
            {"p2p_seq_id", 0},
            {"op_id", id},
            {"profiling_name", "nccl:" + name},
            {"time_created_ns", 0},
            {"time_discovered_started_ns", nullptr},
            {"time_discovered_completed_ns", nullptr},
            {"duration_ms", nullptr},
            {"input_sizes", sizes},
            {"input_dtypes", types},
            {"output_sizes", sizes},
            {"output_dtypes", types},
            {"state", "scheduled"},
            {"retired", false},
            {"timeout_ms", whole_ms(run_.config.sim.watchdog_us)},
            {"is_p2p", true},
            {"frames", json::array({frame})},
            {"step", step.empty() ? "" : abi::step_text(step, index)}};
  }

  [[nodiscard]] json base(const analysis::pe_dump& pe, const flight_operation& o, const std::string& name,
                          std::uint64_t elements) const {
    json e = base(pe, o.record_id + 1, name, elements, recorder_.step_name(o.step), o.step_index);
    e["collective_seq_id"] = o.launch + 1;
    e["p2p_seq_id"] = o.sequence;
    e["time_created_ns"] = whole_ns(o.created);
    if (o.state == flight_state::scheduled) return e;
    if (o.started != sim_time{}) e["time_discovered_started_ns"] = whole_ns(o.started);
    e["state"] = "started";
    if (o.state == flight_state::started) return e;
    e["time_discovered_completed_ns"] = whole_ns(o.ended);
    if (o.started != sim_time{}) e["duration_ms"] = (o.ended - o.started).ns() / ns_per_ms;
    e["state"] = "completed";
    e["retired"] = true;
    return e;
  }

  [[nodiscard]] json collective(const analysis::pe_dump& pe) const {
    const std::uint64_t all = elements(run_.point.bytes);
    json e = base(pe, 0, run_.point.collective, all, "", 0);
    const auto [in, out] = run_.form.moves_data ? sizes(run_.point.collective, all, run_.members.size())
                                                : std::pair<std::uint64_t, std::uint64_t>{};
    e["input_sizes"] = json::array({json::array({in})});
    e["output_sizes"] = json::array({json::array({out})});
    e["is_p2p"] = false;
    const bool done = pe.state == events::core_state::done;
    const bool begun = pe.state != events::core_state::idle && pe.state != events::core_state::waiting_start;
    e["state"] = done ? "completed" : begun ? "started" : "scheduled";
    e["retired"] = done;
    e["step"] = analysis::present_step(pe);
    return e;
  }

  /// A message over a queue pair, or a tag-matched message, which is numbered by its program.
  [[nodiscard]] json transfer(const analysis::pe_dump& pe, const flight_operation& o) const {
    json e = base(pe, o, point_to_point(pe, o.send, o.peer), elements(o.bytes));
    e["bytes"] = o.bytes;
    if (o.what == flight_kind::queue_pair) {
      e["direction"] = run_.direction(pe.pe, o.qp);
      if (o.crc != 0) e["crc"] = hex_text(o.crc);
      return e;
    }
    e["communicator"] = o.group;
    e["tag"] = o.tag ? json(*o.tag) : json(nullptr);
    if (o.state == flight_state::cancelled) e["cancelled"] = true;
    return e;
  }

  /// A barrier of a team, which is a process group of its own.
  [[nodiscard]] json barrier(const analysis::pe_dump& pe, const flight_operation& o) const {
    json e = base(pe, o, "barrier", 0);
    e["pg_id"] = number_[o.group];
    e["process_group"] = json::array({team_name(o.group), team_description(o.group)});
    e["collective_seq_id"] = o.sequence;
    e["p2p_seq_id"] = 0;
    e["is_p2p"] = false;
    e["algorithm"] = o.algorithm;
    e["count"] = o.count;
    if (o.state == flight_state::completed || !o.peer) return e;
    e["awaits"] = {{"rank", rank_of_.contains(*o.peer) ? json(rank_of_.at(*o.peer)) : json(nullptr)},
                   {"stage", fmt::format("{} {}", o.stage, o.stage_number)}};
    return e;
  }

  /// Requests of firmware that it waits for, numbered from `next`.
  void waits(const analysis::pe_dump& pe, comm::direction d, const protocol::queue_pair_state& q,
             std::uint64_t& next, json& entries) const {
    const auto add = [&](bool send, std::uint32_t sequence, abi::task_id task) {
      const std::string step = analysis::step_of(pe, task);
      json e = base(pe, next++, point_to_point(pe, send, q.peer), 0, step, 0);
      e["p2p_seq_id"] = sequence;
      e["direction"] = run_.direction(pe.pe, d);
      e["step"] = step;
      entries.push_back(std::move(e));
    };
    const abi::queue_pair_use use = pe.tasks.use_of(d);
    if ((q.armed & abi::arm_receive) != 0) add(false, q.my_tail, use.armed[0]);
    if ((q.armed & abi::arm_send_space) != 0) add(true, q.my_head, use.armed[1]);
  }

  [[nodiscard]] std::string point_to_point(const analysis::pe_dump& pe, bool send,
                                           const std::optional<pe_coord>& peer) const {
    const auto other = peer ? rank_of_.find(*peer) : rank_of_.end();
    const std::string far = other == rank_of_.end() ? "?" : std::to_string(other->second);
    return fmt::format("{} {}{}{}", send ? "send" : "recv", rank_of_.at(pe.pe), send ? "->" : "<-", far);
  }
  [[nodiscard]] std::uint64_t elements(std::uint64_t bytes) const {
    return bytes / numeric::size_of(run_.point.type);
  }

  const run_names& run_;
  const observe::flight_recorder& recorder_;
  const char* type_;
  std::map<pe_coord, std::uint32_t> rank_of_;
  std::vector<std::uint32_t> order_, number_;  ///< groups by their first barriers; from 1, by group
};

struct step_group {
  std::string step;
  const char* state;
  json ranks = json::array();
};

/// Groups of ranks in equal states; the smallest group first, because it is the exception.
std::vector<step_group> grouped(const json& rows) {
  std::vector<step_group> groups;
  for (const json& row : rows) {
    const std::string step = row.at("step");
    const bool done = row.at("state") == "done";
    const auto same = std::ranges::find_if(groups, [&](const step_group& g) {
      return g.step == step && (std::string(g.state) == "done") == done;
    });
    step_group& g = same != groups.end() ? *same : groups.emplace_back();
    g.step = step;
    g.state = done ? "done" : "unfinished";
    g.ranks.push_back(row.at("rank"));
  }
  std::ranges::stable_sort(groups, {}, [](const step_group& g) { return g.ranks.size(); });
  return groups;
}

json summary_of(const run_names& run, const json& rows, const analysis::wait_for_report& report) {
  const auto& shape = run.config.shape();
  const auto rank = [&](pe_coord pe) -> json {
    for (const json& row : rows)
      if (row.at("pe") == pe_path(shape, pe)) return row.at("rank");
    return nullptr;
  };
  json groups = json::array();
  std::string text;
  for (const step_group& g : grouped(rows)) {
    groups.push_back({{"step", g.step}, {"state", g.state}, {"count", g.ranks.size()}, {"ranks", g.ranks}});
    text += fmt::format("{} ranks {} in step '{}'\n", g.ranks.size(), g.state, g.step);
  }
  json roots = json::array();
  for (const analysis::wait_root& r : report.roots) {
    std::set<pe_coord> at(r.members.begin(), r.members.end());
    for (const auto& w : r.waits) {
      if (r.kind != analysis::root_kind::peer) at.insert(w.waiter);
      if (r.kind == analysis::root_kind::fault) at.insert(w.on);
    }
    json ranks = json::array();
    for (const pe_coord pe : at) ranks.push_back(rank(pe));
    roots.push_back({{"kind", analysis::to_string(r.kind)}, {"ranks", ranks}});
  }
  return {{"groups", groups}, {"roots", roots}, {"text", text + report.text}};
}

}  // namespace

std::string flight_json(const run_names& run, const observe::flight_recorder& recorder,
                        const analysis::stopped_machine& machine, sim_time at, const std::string& why) {
  const writer w(run, recorder);
  json rows = json::array();
  json entries = json::array();
  for (const analysis::pe_dump& pe : machine.pes) {
    rows.push_back(w.rank_row(pe));
    w.entries_of(pe, entries);
  }
  const auto report = analysis::explain_waits(run.config.shape(), machine, run.direction);
  const json j{{"schema", "diecast.flight/1"},
               {"version", dump_version},
               {"why", why},
               {"at_ns", at.ns()},
               {"summary", summary_of(run, rows, report)},
               {"ranks", rows},
               {"in_flight", in_flight_json(run, machine)},
               {"pg_config", w.group()},
               {"pg_status", rows.empty() ? json::object() : rows.front().at("pg_status")},
               {"entries", entries}};
  return j.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace diecast::platforms
