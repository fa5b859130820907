// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/diagnose/experiment_series.hpp"
#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/narrowing.hpp"

namespace diecast::diagnose {

namespace {

/// Runs a job on other ranks; with the default algorithm if its own is refused for their number.
const observation* try_ranks(experiment_series& t, collective_job& job, signs what, const cost& c) {
  const std::string name = fmt::format("ranks {}", to_text(job.ranks));
  const observation* o = t.attempt(name, t.flags_of(job), what, c);
  if (o != nullptr || job.algorithm.empty() || !t.was_refused(name)) return o;
  job.algorithm.clear();
  return t.attempt(name + ", the default algorithm", t.flags_of(job), what, c);
}

template <class Stays>
rank_list those(const std::vector<path_parts>& pes, Stays stays) {
  rank_list ranks;
  for (std::uint32_t rank = 0; rank < pes.size(); ++rank)
    if (stays(pes[rank])) ranks.push_back(rank);
  return ranks;
}

std::vector<rank_list> of_each_sip(const std::vector<path_parts>& pes) {
  std::vector<rank_list> all;
  std::set<std::string> sips;
  for (const path_parts& pe : pes) {
    if (!sips.insert(pe.sip).second) continue;
    all.push_back(those(pes, [&pe](const path_parts& a) { return a.sip == pe.sip; }));
  }
  return all;
}

/// Cubes around "1_2", column and row.
std::vector<std::string> neighbors_of(const std::string& cube) {
  const int column = std::stoi(cube), row = std::stoi(cube.substr(cube.find('_') + 1));
  std::vector<std::string> all;
  for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}})
    all.push_back(fmt::format("{}_{}", column + dx, row + dy));
  return all;
}

/// Examines the subject, a part; then makes the whole run the subject again, with the same workarounds.
void examine_part(experiment_series& t, const std::string& prefix,
                  const std::function<void(experiment_series&)>& examine) {
  const changes standing = t.workarounds();
  t.call(prefix);
  examine(t);
  t.call("");
  t.restore_subject();
  t.set_workarounds(standing);
}

/// Runs a job instead of the given one, and examines it if it fails.
void examine_job(experiment_series& t, const collective_job& job, const std::string& name, const cost& c,
                 const std::function<void(experiment_series&)>& examine) {
  const observation* o = t.attempt(name, t.flags_of(job), signs::count, c);
  if (o == nullptr || right(*o)) return;
  t.set_subject(job, *o);
  examine_part(t, "in " + name + ": ", examine);
  t.conclude();
}

}  // namespace

void examine_cheap_part(experiment_series& t) {
  constexpr double long_s = 2.0, share = 0.25;
  constexpr std::size_t most_ranks = 16;
  if (right(t.base()) || t.base().wall_s < long_s || t.is_barrier()) return;
  const std::optional<collective_job> all = t.job();
  if (!all || all->ranks.size() < 2 * most_ranks) return;
  const double until_s = t.seconds_left() * (1 - share);
  double part_s = t.base().wall_s;
  for (std::size_t next = 0; next < all->ranks.size(); next += most_ranks) {
    if (t.seconds_left() < until_s) return t.skip("the other ranks, a few at a time");
    collective_job job = *all;
    const std::size_t first =
        std::min(next, all->ranks.size() - 2);  // a single last rank is joined with the one before
    const auto begin = all->ranks.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = std::min(most_ranks, all->ranks.size() - first);
    job.ranks.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    const observation* o = try_ranks(t, job, signs::ignored, {1, part_s});
    if (o == nullptr) continue;
    part_s = o->wall_s;
    if (!t.shows(*o)) continue;
    t.answer("examined by the following experiments", "ranks " + to_text(job.ranks));
    t.set_subject(job, *o);
    return t.keep_cheap_part();
  }
}

std::vector<rank_list> without_place(const std::vector<std::string>& pes, const std::string& place) {
  std::vector<path_parts> all;
  all.reserve(pes.size());
  for (const std::string& pe : pes) all.push_back(parts_of_path(pe));
  if (is_between_sips(place)) {
    std::vector<rank_list> sips = of_each_sip(all);
    return sips.size() > 1 ? std::move(sips) : std::vector<rank_list>{};
  }
  const path_parts at = parts_of_path(place);
  if (at.sip.empty() || at.cube.empty()) return {};
  const auto outside = [&](const std::string& cube) {
    return those(all, [&](const path_parts& a) { return a.sip != at.sip || a.cube != cube; });
  };
  if (!at.pe.empty())
    return {
        those(all,
              [&at](const path_parts& a) { return a.sip != at.sip || a.cube != at.cube || a.pe != at.pe; }),
        outside(at.cube), those(all, [&at](const path_parts& a) { return a.sip != at.sip; })};
  std::vector<rank_list> lists{outside(at.cube)};
  for (const std::string& cube : neighbors_of(at.cube)) lists.push_back(outside(cube));
  lists.push_back(those(all, [&at](const path_parts& a) { return a.sip == at.sip && a.cube == at.cube; }));
  std::erase_if(lists, [&all](const rank_list& ranks) { return ranks.size() == all.size(); });
  return lists;
}

void examine_another_algorithm(experiment_series& t, const std::function<void(experiment_series&)>& examine) {
  std::optional<collective_job> job = t.job();
  if (!right(t.base()) || !signs_of(t.base()).empty() || !job) return;
  const auto all = t.subject_runs();
  const auto bad = std::ranges::find_if(all, [&](const observation* o) {
    return (wrong_data(*o) || o->exit_code == 3) && o->text("algorithm") != job->algorithm;
  });
  if (bad == all.end()) return;
  t.dismiss();  // the examination of that job finds them again, with further evidence
  job->algorithm = (*bad)->text("algorithm");
  examine_job(t, *job, "the collective with " + job->algorithm, {}, examine);
}

void examine_more_bytes(experiment_series& t, const std::function<void(experiment_series&)>& examine) {
  std::optional<collective_job> job = t.job();
  if (!right(t.base()) || !t.healthy_so_far() || !job || job->bytes == 0 || job->bytes >= many_bytes) return;
  const double times = static_cast<double>(many_bytes) / static_cast<double>(job->bytes);
  job->bytes = many_bytes;
  examine_job(t, *job, fmt::format("the collective with {} bytes", many_bytes), {times, 10}, examine);
}

void examine_the_rest(experiment_series& t, const std::function<void(experiment_series&)>& examine) {
  const std::optional<collective_job> all = t.job();
  const std::vector<finding> known = t.findings();
  if (!all || known.empty() || known.front().where.empty()) return;
  const std::vector<std::string> pes = pes_of(t.base());
  if (pes.empty())
    return t.answer("what is wrong without the place of the first finding",
                    "skipped: cannot map ranks to PEs (more than one core per rank ran)");
  for (const rank_list& ranks : without_place(pes, known.front().where)) {
    if (ranks.size() < 2) continue;
    collective_job job = *all;
    job.ranks = ranks;
    const observation* o = try_ranks(t, job, signs::count, {});
    if (o != nullptr && !right(*o)) {
      t.set_subject(job, *o);
      examine_part(t, fmt::format("among ranks {}: ", to_text(ranks)), examine);
    }
    // A finding at the place that was left out is the known fault: with fewer ranks its class may differ.
    const std::vector<finding> found = t.new_findings();
    const bool again = std::ranges::any_of(found, [&first = known.front()](const finding& f) {
      return f.kind == first.kind || f.where == first.where;
    });
    again ? t.dismiss() : t.conclude();
  }
}

namespace {

struct own_job {
  own_kind kind;
  const char* name;
  std::string (*workload)(std::uint32_t pes);
};
/// Messages come first: a link that is down looks in barriers like firmware that does not see signals.
constexpr std::array jobs{own_job{own_kind::messages, "messages to each PE in turn", messages_to_each},
                          own_job{own_kind::barriers, "a few barriers", barriers_among}};

/// Barriers of 256 PEs take 3 s, messages 1 s.
constexpr cost of_one{1, 5.0};

/// Whether no finding makes a job fail, as it would the next one too: all of them only cost time.
bool harmless(const std::vector<finding>& known) {
  return std::ranges::all_of(known, [](const finding& f) { return f.hidden; });
}

void examine_one(experiment_series& t, const own_job& job, std::uint32_t pes,
                 const std::function<void(experiment_series&)>& examine) {
  const bool was_healthy = t.healthy_so_far();
  const changes flags{"--workload", t.leave(job.workload(pes))};
  const observation* o = t.attempt(job.name, flags, signs::ignored, of_one);
  if (o == nullptr) return;
  t.answer(std::string("in ") + job.name, right(*o) ? "right" : "wrong, unlike the job as given");
  if (was_healthy || !right(*o)) t.take_signs_of(*o);
  if (right(*o)) return t.conclude();
  t.set_subject(job.kind, flags, *o);
  examine_part(t, std::string("in ") + job.name + ": ", examine);
  t.conclude();
}

}  // namespace

void examine_own_jobs(experiment_series& t, const std::function<void(experiment_series&)>& examine) {
  if (!right(t.base()) || !harmless(t.findings())) return;
  const std::uint32_t pes = t.count_of_pes();
  if (pes < 2) return;
  for (const own_job& job : jobs)
    if (harmless(t.findings())) examine_one(t, job, pes, examine);
}

}  // namespace diecast::diagnose
