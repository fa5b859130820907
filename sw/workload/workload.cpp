// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/workload.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "models/config/text.hpp"

namespace diecast::comm {
namespace {

class resolver {
 public:
  resolver(const workload& w, const config::population& machine) : workload_(w), machine_(machine) {}

  resolved_workload run() {
    name_groups();
    for (const workload_stream& s : workload_.streams) add_stream(s);
    check_size();
    number_ops();
    if (problems_.empty()) depend();
    if (problems_.empty()) order();
    if (!problems_.empty()) throw user_error(std::move(problems_));
    make_chains();
    collect_participants();
    return std::move(result_);
  }

 private:
  void report(const std::string& where, std::string what, std::string value, std::string expected) {
    problems_.push_back({where, std::move(what), std::move(value), std::move(expected)});
  }

  group group_of(const workload_group& g);
  void name_groups();
  void refuse_group(const std::string& where, const std::string& name, const char* otherwise);
  group members_of(const std::string& where, rank_set set, const std::vector<std::uint64_t>& list);
  void add_stream(const workload_stream& s);
  void add_op(const workload_op& o, const std::string& stream_group);
  void check_size();
  void number_ops();
  void depend();
  void depend_across(const workload_op& o, std::uint32_t index, std::uint32_t on);
  void order();
  void report_cycle(const std::vector<bool>& placed);
  void make_chains();
  void collect_participants();

  const workload& workload_;
  config::population machine_;
  std::vector<problem> problems_;
  std::map<std::string, group> groups_;
  std::map<std::string, std::uint32_t> ids_;
  std::vector<std::uint32_t> order_;  ///< topological, found by passes over the file
  resolved_workload result_;
};

group resolver::members_of(const std::string& where, rank_set set, const std::vector<std::uint64_t>& list) {
  const group all = map_ranks(machine_, set);
  group g{set, {}};
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", where, i);
    if (list[i] >= all.members.size()) {
      report(at, "no such rank", std::to_string(list[i]),
             fmt::format("below {}: the {}s of the machine", all.members.size(), to_string(set)));
    } else if (!seen.insert(list[i]).second) {
      report(at, "rank named twice", std::to_string(list[i]), "every rank once");
    } else {
      g.members.push_back(all.members[list[i]]);
    }
  }
  if (list.empty()) report(where, "a group needs a member", "[]", "at least one rank");
  return g;
}

group resolver::group_of(const workload_group& g) {
  if (!g.holders.empty()) return {g.set, g.holders};
  return g.list ? members_of(g.where + ".list", g.set, *g.list) : map_ranks(machine_, g.set);
}

void resolver::name_groups() {
  for (const workload_group& g : workload_.groups) groups_.emplace(g.name, group_of(g));
}

void resolver::refuse_group(const std::string& where, const std::string& name, const char* otherwise) {
  std::vector<std::string> known;
  for (const auto& [group_name, members] : groups_) known.push_back(group_name);
  report(where, config::with_nearest("no such group", name, known), name,
         known.empty() ? otherwise : fmt::format("one of {}, or {}", config::join(known), otherwise));
}

void resolver::add_stream(const workload_stream& s) {
  resolved_stream r;
  r.stream = &s;
  const auto same = [&s](const resolved_stream& before) { return before.stream->name == s.name; };
  if (std::ranges::any_of(result_.streams, same))
    report(s.where + ".name", "two streams have this name", s.name, "a unique name");
  std::string name = s.on;
  if (s.ranks) {
    r.members = members_of(s.where + ".on", rank_set::pe, *s.ranks);
    name = fmt::format("[{}]", fmt::join(*s.ranks, ","));
  } else if (const auto found = groups_.find(s.on); found != groups_.end()) {
    r.members = found->second;
  } else {
    refuse_group(s.where + ".on", s.on, "a list of ranks");
  }
  result_.streams.push_back(std::move(r));
  for (const workload_op& o : s.ops) add_op(o, name);
}

void resolver::add_op(const workload_op& o, const std::string& stream_group) {
  resolved_stream& stream = result_.streams.back();
  resolved_op r;
  r.op = &o;
  r.stream = static_cast<std::uint32_t>(result_.streams.size() - 1);
  r.members = stream.members;
  r.group_name = stream_group;
  if (!o.group.empty()) {
    r.group_name = o.group;
    const auto found = groups_.find(o.group);
    if (found == groups_.end()) {
      refuse_group(o.where + ".group", o.group, "no field group");
    } else {
      r.members = found->second;
      const std::set<pe_coord> run(stream.members.members.begin(), stream.members.members.end());
      for (const pe_coord pe : r.members.members) {
        if (run.contains(pe)) continue;
        report(o.where + ".group",
               fmt::format("a member of the group is missing: {} does not run stream {}",
                           pe_path(machine_.shape(), pe), stream.stream->name),
               o.group, "a group whose members all run the stream");
        break;
      }
    }
  }
  stream.ops.push_back(static_cast<std::uint32_t>(result_.ops.size()));
  result_.ops.push_back(std::move(r));
}

void resolver::check_size() {
  if (result_.ops.size() > max_workload_ops) {
    report(workload_.source, "too many ops", std::to_string(result_.ops.size()),
           fmt::format("at most {}; a stream may repeat its ops", max_workload_ops));
  }
  if (result_.ops.empty()) report(workload_.source, "nothing to run", "", "a stream with an op");
}

void resolver::number_ops() {
  for (std::uint32_t i = 0; i < result_.ops.size(); ++i) {
    const workload_op& o = *result_.ops[i].op;
    if (!ids_.emplace(o.id, i).second) report(o.where + ".id", "two ops have this id", o.id, "a unique id");
  }
}

void resolver::depend() {
  for (const resolved_stream& stream : result_.streams) {
    for (std::size_t k = 0; k < stream.ops.size(); ++k) {
      resolved_op& r = result_.ops[stream.ops[k]];
      if (!r.op->after && k > 0) r.after = {stream.ops[k - 1]};
      for (std::size_t j = 0; r.op->after && j < r.op->after->size(); ++j) {
        const std::string& id = (*r.op->after)[j];
        const auto found = ids_.find(id);
        if (found == ids_.end()) {
          std::vector<std::string> known;
          for (const auto& [name, index] : ids_) known.push_back(name);
          report(fmt::format("{}.after[{}]", r.op->where, j),
                 config::with_nearest("no op has this id", id, known), id, "the id of an op");
          continue;
        }
        r.after.push_back(found->second);
        if (result_.ops[found->second].stream != r.stream) depend_across(*r.op, stream.ops[k], found->second);
      }
      for (const std::uint32_t a : r.after) result_.ops[a].followers.push_back(stream.ops[k]);
    }
  }
}

/// A dependency is between ops of one PE: each PE of the op's stream must run the other stream, as often.
void resolver::depend_across(const workload_op& o, std::uint32_t index, std::uint32_t on) {
  const resolved_stream& mine = result_.streams[result_.ops[index].stream];
  const resolved_stream& other = result_.streams[result_.ops[on].stream];
  if (mine.stream->repeat != other.stream->repeat) {
    report(o.where + ".after",
           fmt::format("stream {} repeats {} times, stream {} of op {} {} times", mine.stream->name,
                       mine.stream->repeat, other.stream->name, result_.ops[on].op->id, other.stream->repeat),
           result_.ops[on].op->id, "equal `repeat` of streams whose ops depend on each other");
  }
  const std::set<pe_coord> run(other.members.members.begin(), other.members.members.end());
  for (const pe_coord pe : mine.members.members) {
    if (run.contains(pe)) continue;
    report(o.where + ".after",
           fmt::format("{} runs this op but not stream {} of op {}", pe_path(machine_.shape(), pe),
                       other.stream->name, result_.ops[on].op->id),
           result_.ops[on].op->id, "an op of a stream that the same PEs run");
    break;
  }
}

void resolver::order() {
  std::vector<bool> placed(result_.ops.size());
  bool moved = true;
  while (moved) {
    moved = false;
    for (std::uint32_t i = 0; i < result_.ops.size(); ++i) {
      const auto& after = result_.ops[i].after;
      if (placed[i] || !std::ranges::all_of(after, [&](std::uint32_t a) { return placed[a]; })) continue;
      placed[i] = moved = true;
      order_.push_back(i);
    }
  }
  if (order_.size() < result_.ops.size()) report_cycle(placed);
}

/// Every op without a place waits for another op without one: following these finds a cycle.
void resolver::report_cycle(const std::vector<bool>& placed) {
  const auto first = static_cast<std::uint32_t>(std::ranges::find(placed, false) - placed.begin());
  std::vector<std::uint32_t> trail{first};
  for (;;) {
    const auto& after = result_.ops[trail.back()].after;
    const std::uint32_t next = *std::ranges::find_if(after, [&](std::uint32_t a) { return !placed[a]; });
    const bool seen = std::ranges::find(trail, next) != trail.end();
    trail.push_back(next);
    if (!seen) continue;
    std::string text;
    for (auto at = std::ranges::find(trail, next); at != trail.end(); ++at)
      text += (text.empty() ? "" : " after ") + result_.ops[*at].op->id;
    return report(result_.ops[next].op->where, "ops wait for each other", text, "an order without a cycle");
  }
}

/// An op joins the first chain of its stream whose last op it waits for, directly or not.
void resolver::make_chains() {
  const std::size_t n = result_.ops.size();
  auto& ancestors = result_.before;
  ancestors.assign(n, std::vector<bool>(n));
  for (const std::uint32_t i : order_) {
    for (const std::uint32_t a : result_.ops[i].after) {
      ancestors[i][a] = true;
      for (std::size_t k = 0; k < n; ++k)
        if (ancestors[a][k]) ancestors[i][k] = true;
    }
    resolved_op& r = result_.ops[i];
    resolved_stream& stream = result_.streams[r.stream];
    const auto joins = [&](std::uint32_t s) { return ancestors[i][result_.chains[s].ops.back()]; };
    const auto found = std::ranges::find_if(stream.chains, joins);
    if (found != stream.chains.end()) {
      r.chain = *found;
    } else {
      r.chain = static_cast<std::uint32_t>(result_.chains.size());
      stream.chains.push_back(r.chain);
      result_.chains.push_back({r.stream, {}});
    }
    result_.chains[r.chain].ops.push_back(i);
  }
}

void resolver::collect_participants() {
  std::set<pe_coord> all;
  for (const resolved_stream& s : result_.streams)
    if (!s.ops.empty()) all.insert(s.members.members.begin(), s.members.members.end());
  result_.participants.assign(all.begin(), all.end());
}

}  // namespace

resolved_workload resolve(const workload& w, const config::population& machine) {
  return resolver(w, machine).run();
}

}  // namespace diecast::comm
