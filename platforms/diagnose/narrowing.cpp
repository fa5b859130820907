// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/narrowing.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace diecast::diagnose {

using nlohmann::json;

namespace {

/// Whether the place of the first finding is a link, not a PE.
bool at_a_link(const std::vector<finding>& resolved) {
  return !resolved.empty() && !resolved.front().where.empty() &&
         parts_of_path(resolved.front().where).pe.empty();
}

/// The first few texts, and the number of the others.
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t most = 6;
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

void narrowing::run() {
  const bool few_first = t_.cheap_part().has_value();
  if (few_first) fewest_ranks();
  other_routes();
  other_transport();
  if (!t_.in_part()) smallest();  // flags of the run as given do not change a part
  if (!few_first) fewest_ranks();
  route();
}

void narrowing::other_routes() {
  if (t_.healthy_so_far()) {
    // A fault may be on links that this run does not use. An algorithm that sends many times the bytes uses
    // no other links.
    cost briefly;
    briefly.patience = 2.5;
    for (const std::string& name : algorithms_of_other_kinds()) {
      const observation* o = t_.attempt("algorithm " + name, {"--algorithm", name}, signs::count, briefly);
      // The ends of links check packets with checksums, which shows the place.
      if (o != nullptr && !right(*o))
        (void)t_.attempt("algorithm " + name + " with checksums",
                         {"--algorithm", name, "--set", "comm.checksum=crc32c"});
    }
    return;
  }
  if (!t_.in_part()) other_algorithm();
  // If the result is right (with a slow link, for example), right results of other algorithms show nothing.
  if (right(t_.base())) return;
  const observation* staged =
      t_.attempt("staged through host memory", {"--set", "comm.path=staged"}, signs::ignored);
  const std::string removed = t_.answer_removed("staging", staged);
  if (staged == nullptr) return;
  t_.answer("staging removes it", removed);
  routes_.push_back({"staged through host memory", removed != "no" && right(*staged), false, t_.last_rate()});
}

void narrowing::other_algorithm() {
  const std::vector<std::string> others = t_.other_algorithms();
  if (others.empty()) return;
  const std::string& name = others.front();
  const observation* o = t_.attempt("algorithm " + name, {"--algorithm", name});
  if (right(t_.base())) return;
  const std::string removed = t_.answer_removed("algorithm", o);
  if (o == nullptr) return;
  t_.answer("another algorithm removes it", fmt::format("{} ({})", removed, name));
  routes_.push_back({"with " + name, removed != "no" && right(*o), false, t_.last_rate()});
}

/// Two algorithms that are likely to use other routes than the run: the first word of a name is taken for its
/// kind.
std::vector<std::string> narrowing::algorithms_of_other_kinds() const {
  constexpr std::size_t most = 2;
  const auto kind = [](const std::string& name) { return name.substr(0, name.find('_')); };
  std::set<std::string> known{kind(t_.base().text("algorithm"))};
  std::vector<std::string> others, of_known_kinds;
  for (const std::string& name : t_.other_algorithms())
    (known.insert(kind(name)).second ? others : of_known_kinds).push_back(name);
  others.insert(others.end(), of_known_kinds.begin(), of_known_kinds.end());
  if (others.size() > most) others.resize(most);
  return others;
}

/// Tries tag-matched messages where the run uses queue pairs, and the reverse. Barriers use neither.
void narrowing::other_transport() {
  const observation& base = t_.base();
  if (t_.healthy_so_far() || right(base) || base.result.empty()) return;
  const bool tags = uses_tags();
  if (!tags && t_.is_barrier()) return;
  const auto ranks = base.run().value("ranks", std::uint32_t{});
  if (ranks < 2) return;
  constexpr std::uint64_t of_workload = 16384, least = 256, grain = 64;
  const std::uint64_t piece = std::clamp(t_.bytes() / ranks / grain * grain, least, many_bytes);
  const changes other = tags ? t_.flags_of({"all_reduce", {}, {}, {}, "pe", {}, of_workload})
                             : changes{"--workload", t_.leave(ring_of_messages(piece))};
  const observation* o = t_.attempt("another transport", other, signs::ignored);
  const std::string removed = t_.answer_removed("transport", o);
  if (o == nullptr) return;
  const char* const name = tags ? "queue pairs" : "tag-matched messages";
  t_.answer("another transport removes it", right(*o) ? fmt::format("{} ({})", removed, name)
                                                      : fmt::format("no: {} ({})", t_.outcome(*o), name));
}

/// Determined from a run's statistics, which exist only if it ended, or from its flight recorder.
bool narrowing::uses_tags() const {
  if (t_.base().run().value("stats", json::object()).value("tag_posted", 0.0) > 0) return true;
  const json entries = t_.base().flight.value("entries", json::array());
  return std::ranges::any_of(entries, [](const json& e) { return e.contains("communicator"); });
}

/// Tries fewer bytes (an eighth each time) and fewer ranks.
void narrowing::smallest() {
  if (t_.healthy_so_far() || t_.is_workload() || right(t_.base())) return;
  if (t_.sized()) fewer_bytes();
  for (const char* ranks : {"cube", "sip"}) {
    const observation* o = t_.attempt(fmt::format("ranks {}", ranks), {"--ranks", ranks}, signs::ignored);
    if (o == nullptr) continue;
    const std::string name = fmt::format("with one rank per {}", ranks);
    t_.answer(name, t_.outcome(*o));
    if (!t_.shows(*o)) t_.answer_changed("ranks", o);
    routes_.push_back({name, right(*o), true, t_.last_rate()});
  }
}

void narrowing::fewer_bytes() {
  constexpr std::uint64_t step = 8, least = 64;
  std::uint64_t fewest = t_.bytes();
  std::optional<std::uint64_t> without;
  while (!without && fewest / step >= least) {
    const std::uint64_t bytes = fewest / step;
    const observation* o =
        t_.attempt(fmt::format("{} bytes", bytes), {"--bytes", std::to_string(bytes)}, signs::ignored);
    if (o == nullptr) break;
    if (t_.shows(*o)) {
      fewest = bytes;
    } else {
      without = bytes;
    }
    if (without || fewest / step < least) t_.answer_changed("size", o);
  }
  if (fewest == t_.bytes() && !without) return;  // nothing was learned
  t_.answer("fewest bytes that show it", std::to_string(fewest));
  t_.answer("depends on the size",
            without ? fmt::format("yes: {} bytes do not show it", *without) : "not as far as was tried");
}

/// Reduces the ranks as long as some of them show the fault, then the bytes to an eighth each time.
void narrowing::fewest_ranks() {
  if (t_.healthy_so_far() || right(t_.base())) return;
  std::optional<collective_job> job = t_.cheap_part() ? t_.cheap_part() : t_.job();
  if (t_.cheap_part()) job_s_ = t_.cheap_part_s();
  if (!job) return;
  const std::size_t tried = routes_.size();  // shown_by() adds one when the job has run
  if (!shown_by(*job)) {
    if (routes_.size() > tried)
      t_.answer("fewest ranks that show it", "not found: as an op of a workload it does not show");
    return;
  }
  if (!pair_across_sips(*job)) {
    while (take_fewer(*job)) {
    }
  }
  if (!t_.was_answered("ranks")) t_.record("ranks", "no", t_.last_rate());
  if (job->bytes > 0) shrink(*job);
  t_.answer("fewest ranks that show it",
            fmt::format("{} ({} {})", job->ranks.size(), job->rank_set, to_text(job->ranks)));
  if (job->bytes > 0) t_.answer("with so few ranks, fewest bytes", std::to_string(job->bytes));
  name_the_pe(*job);
}

/// Of two PEs that show a finding without a place, finds the one that also shows it with a third PE.
void narrowing::name_the_pe(const collective_job& job) {
  if (job.rank_set != "pe" || job.ranks.size() != 2 || !t_.lacks_a_place()) return;
  const std::vector<std::string> pes = pes_of(t_.base());
  const std::uint32_t a = job.ranks[0], b = job.ranks[1];
  for (const std::uint32_t third : beside(job.ranks, pes.size())) {
    const auto with_third = [&](std::uint32_t rank) {
      collective_job pair = job;
      pair.ranks = {std::min(rank, third), std::max(rank, third)};
      return shown(pair);
    };
    const auto of_a = with_third(a), of_b = with_third(b);
    if (!of_a || !of_b || *of_a == *of_b) continue;
    const std::uint32_t bad = *of_a ? a : b, good = *of_a ? b : a;
    return t_.place(pes[bad],
                    fmt::format("rank {} shows it with rank {} and with rank {}; ranks {} and {} do not", bad,
                                good, third, good, third));
  }
}

/// Tries two ranks on every pair of SIPs as long as there is time: messages within a half of the ranks may
/// cross no link between SIPs. Two ranks are the fewest and take little time. They send the bytes of the run
/// as given, because a link may fail only after so many packets.
bool narrowing::pair_across_sips(collective_job& job) {
  if (job.ranks.size() == 2) return false;
  constexpr double share = 0.5;  // share of the time: the cause may not be a link
  const double until_s = t_.seconds_left() * share;
  const auto sips = sips_of(t_.base(), static_cast<std::uint32_t>(job.ranks.size()));
  const std::vector<rank_list> pairs = pairs_across(sips, t_.findings());
  collective_job of_two = job;
  if (job.bytes > 0) of_two.bytes = t_.who().bytes;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (t_.seconds_left() < until_s) {
      t_.skip(fmt::format("{} of {} pairs of SIPs", pairs.size() - i, pairs.size()));
      return false;
    }
    if (!shown_among(pairs[i], of_two)) continue;
    job = of_two;
    return true;
  }
  return false;
}

bool narrowing::take_fewer(collective_job& job) {
  const std::vector<rank_list> parts = parts_of(job.ranks);
  return std::ranges::any_of(parts, [&](const rank_list& part) { return shown_among(part, job); });
}

/// Whether these ranks, if not tried before, show the fault; then the job gets them.
bool narrowing::shown_among(const rank_list& ranks, collective_job& job) {
  if (!tried_.insert(ranks).second) return false;
  collective_job fewer = job;
  fewer.ranks = ranks;
  if (!shown_by(fewer)) return false;
  job = std::move(fewer);
  return true;
}

void narrowing::shrink(collective_job& job) {
  constexpr std::uint64_t step = 8, least = 64;
  for (; job.bytes / step >= least; job.bytes /= step) {
    collective_job fewer = job;
    fewer.bytes /= step;
    if (!shown_by(fewer)) return;
  }
}

bool narrowing::shown_by(const collective_job& job) { return shown(job).value_or(false); }

std::optional<bool> narrowing::shown(const collective_job& job) {
  const std::string ranks = to_text(job.ranks);
  const std::string name = fmt::format("{} ranks: {}{}", job.ranks.size(), ranks,
                                       job.bytes > 0 ? fmt::format(", {}B", job.bytes) : "");
  const observation* o = t_.attempt(name, t_.flags_of(job), signs::ignored, {1, job_s_});
  if (o == nullptr) return std::nullopt;
  if (!t_.shows(*o)) t_.answer_changed("ranks", o);
  if (job.bytes == 0 || job.bytes >= t_.bytes())
    routes_.push_back({"among ranks " + ranks, right(*o), true, t_.last_rate()});
  if (t_.shows(*o)) job_s_ = o->wall_s;
  return t_.shows(*o);
}

/// Whether the fault depends on the route, from runs that use other links. Runs with fewer ranks count for a
/// faulty link only: they may leave out a faulty PE.
void narrowing::route() {
  const bool of_link = at_a_link(t_.findings());
  std::vector<std::string> good, bad;
  const tried_route* best = nullptr;  // the first that is right, or else the last
  for (const tried_route& r : routes_) {
    if (r.fewer_ranks && !of_link) continue;
    (r.is_right ? good : bad).push_back(r.name);
    if (best == nullptr || !best->is_right) best = &r;
  }
  if (best == nullptr) return;
  const bool distinct = differ(t_.rate_before(), best->after);
  t_.record("route", !best->is_right ? "no" : distinct ? "yes" : "not distinguishable", best->after);
  t_.answer("depends on the route", good.empty() ? "not as far as was tried"
                                                 : fmt::format("yes: right {}{}", some_of(good),
                                                               bad.empty() ? "" : "; not " + some_of(bad)));
}

}  // namespace diecast::diagnose
