// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/examination.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>

#include "platforms/diagnose/experiment_runner.hpp"
#include "platforms/diagnose/experiment_series.hpp"
#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/narrowing.hpp"

namespace diecast::diagnose {
namespace {

/// With all random choices repeated nothing may change.
void compare(experiment_series& t, const observation& a, const observation& b) {
  if (a.exit_code == b.exit_code && a.fingerprint() == b.fingerprint()) return;
  t.add(made("nondeterminism", "",
             {{},
              fmt::format("exit codes {} and {}, fingerprints {} and {}", a.exit_code, b.exit_code,
                          a.fingerprint(), b.fingerprint())}));
}

void cache_monitor(experiment_series& t) {
  if (!t.found("dispatch_corruption")) return;
  const changes disabled{"--set", "comm.mr_cache_monitor=disabled"};
  const observation* o = t.attempt("without the cache monitor", disabled);
  if (o == nullptr) return (void)t.answer_removed("mr_cache_monitor", o);
  const bool gone = !t.shows(*o);
  t.answer("disabling the cache monitor removes it",
           t.answer_removed("mr_cache_monitor", o, [&t](const observation& a) { return t.shows(a); }));
  if (gone) t.add_workaround(disabled, right(*o));
}

/// Firmware and a tag-matching unit contradict each other: examines whether the unit's list is the cause.
void matching_unit(experiment_series& t) {
  const bool contradicted = t.found("tag_list_race");
  // Messages can also be matched in software; a collective has no other transport.
  const bool messages = t.is_workload() && !t.is_barrier() && !right(t.base());
  if (!contradicted && !messages) return;
  const changes in_software{"--set", software_matching};
  const observation* o = t.attempt("matching in software", in_software);
  if (o == nullptr) return;
  t.answer("matching in software removes it", right(*o) ? "yes" : "no");
  if (contradicted) t.add_workaround(right(*o) ? in_software : changes{}, right(*o));
}

void checksums(experiment_series& t) {
  const observation* o = t.attempt(checksums_experiment, {"--set", "comm.checksum=crc32c"});
  const auto sees = [](const observation& a) { return a.exit_code == 4 && names(signs_of(a), "bit_flip"); };
  if (o == nullptr) return t.answer_seen("checksum", o, sees);
  const bool seen = sees(*o);
  if (!seen && right(t.base()) && right(*o)) return;  // without a failure checksums have nothing to see
  t.answer("checksums see it", seen ? "yes: " + o->complaint() : "no");
  t.answer_seen("checksum", o, sees);
}

/// Small messages of one packet each distinguish a lost packet, a late one and a duplicate.
void one_packet_messages(experiment_series& t) {
  constexpr std::uint64_t most = 16384;
  changes more{"--set", "ipcq.slot_bytes=256"};
  if (t.sized() && t.bytes() > most) {
    std::optional<collective_job> fewer = t.in_part() ? t.job() : std::nullopt;
    if (fewer) fewer->bytes = most;
    const changes size = fewer ? t.flags_of(*fewer) : changes{"--bytes", std::to_string(most)};
    more.insert(more.end(), size.begin(), size.end());
  }
  (void)t.attempt("messages of one packet", more);
}

/// Whether a loss shows only when messages follow each other before they are flushed: then one message at a
/// time, with the next one delayed by its credit, is right.
void one_at_a_time(experiment_series& t) {
  const auto any = [&t](std::initializer_list<const char*> kinds) {
    return std::ranges::any_of(kinds, [&t](const char* kind) { return t.found(kind); });
  };
  if (right(t.base()) || !any({"drop", "gap", "half_message", "missing_packets"})) return;
  if (any({"bit_flip", "duplicate", "link_down", "lost_credit", "overtaken_credit"})) return;
  changes alone{"--set", "ipcq.n_slots=1"};
  const observation* o = t.attempt("one message at a time", alone, signs::ignored);
  if (o != nullptr && !right(*o)) {
    // Messages of a PE's other queue pairs still follow at once, unless firmware is slow.
    alone.insert(alone.end(), {"--set", slow_firmware, "--set", target_watchdog});
    o = t.attempt("one message at a time by slow firmware", alone, signs::ignored);
  }
  if (o == nullptr) return;
  t.answer(
      "depends on the number of messages in flight",
      right(*o) ? "yes: right with one at a time" : fmt::format("no: {} with one at a time", t.outcome(*o)));
  if (!right(*o)) return;
  t.add(made(overrun, "",
             {{}, "bytes are lost when messages follow each other, none with one message at a time"},
             "flush a contribution before the next one is sent (ipcq.n_slots=1 does)"));
}

void repeat(experiment_series& t, const std::string& name, const changes& more, double times) {
  // For a run that fails all findings are known by then.
  const signs what = right(t.base()) ? signs::count : signs::ignored;
  const observation* o = t.attempt(name, more, what, {times});
  if (o != nullptr) t.answer("in " + name, t.outcome(*o));
  t.answer_changed("history", o);
}

/// A link that carried few small packets may be slow, or only shared by them: more bytes show which.
void load_the_links(experiment_series& t) {
  if (!right(t.base()) || !t.sized() || t.bytes() >= many_bytes || !has_link_in_doubt(t.base())) return;
  cost more{static_cast<double>(many_bytes) / static_cast<double>(std::max<std::uint64_t>(t.bytes(), 1))};
  more.at_most_s = 10;
  (void)t.attempt(fmt::format("{} bytes, to load the links", many_bytes),
                  {"--bytes", std::to_string(many_bytes)}, signs::count, more);
}

/// Repeats the subject within one run: what depends on the number of launches and on earlier ones.
void history(experiment_series& t) {
  constexpr std::uint64_t times = 4;
  if (!t.is_workload()) {
    if (t.given("--iters").empty()) repeat(t, "four launches", {"--iters", std::to_string(times)}, times);
    return;
  }
  const std::string once = t.workload();
  if (const auto more = repeated(once, times)) {
    repeat(t, "four rounds of the workload", {"--workload", t.leave(*more)}, times);
  } else {
    t.answer("in four rounds of the workload", "skipped: the workload is not a JSON file with streams");
  }
}

/// Examines the faults of the subject.
void examine_faults(experiment_series& t) {
  cache_monitor(t);
  matching_unit(t);
  checksums(t);
  one_packet_messages(t);
  one_at_a_time(t);
  load_the_links(t);
  // It takes the time of several runs: for a run that fails, other experiments come first.
  if (right(t.base())) history(t);
  try_mitigations(t);
}

/// Examines the faults of a subject that is not the job as given, and the conditions of these faults.
void examine_subject(experiment_series& t) {
  examine_faults(t);
  t.drop_curing_workarounds();
  narrowing(t).run();
}

case_file examination(experiment_runner& runner, const target& who) {
  experiment_series t(runner, who);
  const observation& given = t.first_run();
  if (t.base().timed_out || given.exit_code == 2) return t.close();
  if (who.job_chosen)
    t.answer("job", "a barrier: none was given, and the config is refused for the default one");
  if (const observation* again = t.attempt("once more", {})) {
    compare(t, t.base(), *again);
    t.measure();
  }
  examine_cheap_part(t);
  examine_faults(t);
  t.restore_subject();
  // Finds the conditions of a fault; workarounds of known faults stay if other faults are left.
  t.drop_curing_workarounds();
  narrowing(t).run();
  examine_another_algorithm(t, examine_subject);
  t.conclude();
  examine_the_rest(t, examine_faults);
  examine_more_bytes(t, examine_subject);
  examine_own_jobs(t, examine_subject);
  if (!right(t.base())) history(t);
  return t.close();
}

/// With a barrier as the job, where no job is given and the config is refused for the default one.
std::optional<target> with_its_job(const target& who, const observation& given) {
  const auto says = [&who](const char* flag) {
    return std::ranges::any_of(who.arguments,
                               [flag](const std::string& word) { return word.starts_with(flag); });
  };
  if (given.exit_code != 2 || !has_problem(given, "barriers_only")) return {};
  if (says("--collective") || says("--workload") || says("--bytes") || says("--algorithm")) return {};
  target other = who;
  other.arguments.insert(other.arguments.end(), {"--collective", "barrier"});
  other.collective = "barrier";
  other.job_chosen = true;
  return other;
}

}  // namespace

diagnosis examine(const target& who, double budget_s) {
  experiment_runner runner(who.binary,
                           without(who.arguments,
                                   {"--out", "--format", "--progress", "--vcd", "--vcd-scope", "--vcd-window",
                                    "--timeline", "--timeline-scope", "--record", "--verify"},
                                   {"--diagnose", "--quiet", "--double-run", "--ccl-trace", "--hide-faults"}),
                           who.for_children_only, budget_s, who.interrupted, who.read_once, who.kept_in);
  const case_file file = examination(runner, who);
  if (const auto other = with_its_job(who, file.observations.front()))
    return examine(*other, runner.seconds_left());
  return {to_json(file, runner, who.config_sha256), to_text(file, runner, who.withheld), runner.kept(),
          file.exit_code};
}

}  // namespace diecast::diagnose
