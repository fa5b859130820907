// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace diecast::diagnose {
namespace {

using nlohmann::ordered_json;

std::string verdict_of(const case_file& file) {
  return file.findings.empty() ? "healthy" : file.findings.front().kind;
}

/// Experiments whose evidence a finding has, where the job as given shows nothing; none otherwise.
std::vector<std::string> only_in(const finding& f, const case_file& file) {
  std::vector<std::string> names;
  if (file.observations.empty() || file.observations.front().exit_code != 0 || f.hidden) return names;
  for (const observation& o : file.observations) {
    const auto is_of = [&o](const evidence& e) { return e.experiment == o.name; };
    if (std::ranges::any_of(f.evidence, is_of)) names.push_back(o.name);
  }
  if (!names.empty() && names.front() == file.observations.front().name) names.clear();
  // Experiments on the diagnosis's own jobs are not listed.
  const std::string on_the_first = names.empty() ? "" : "in " + names.front() + ": ";
  std::erase_if(names,
                [&](const std::string& n) { return n.starts_with(on_the_first) && !on_the_first.empty(); });
  return names;
}

ordered_json experiment_json(const observation& o, const experiment_runner& runner) {
  ordered_json j{{"name", o.name},           {"command", runner.command(o.changes)},
                 {"exit_code", o.exit_code}, {"timed_out", o.timed_out},
                 {"time_ns", o.time_ns()},   {"fingerprint", o.fingerprint()},
                 {"wall_s", o.wall_s}};
  if (!o.complaint().empty()) j["complaint"] = o.complaint();
  return j;
}

ordered_json rate_json(const rate& r) {
  const interval i = interval_of(r);
  return {{"rate", r.share()}, {"low", i.low}, {"high", i.high}, {"draws", r.draws}};
}

/// Every question of the list; rates only of those that were asked.
ordered_json questions_json(const case_file& file) {
  ordered_json all = ordered_json::array();
  for (const char* id : {"staging", "checksum", "split_sendrecv", "mr_cache_monitor", "algorithm",
                         "transport", "size", "ranks", "route", "history"}) {
    const auto q = std::ranges::find(file.questions, id, &rated_question::id);
    if (q == file.questions.end()) {
      all.push_back({{"id", id}, {"answer", "not applicable"}, {"before", nullptr}, {"after", nullptr}});
    } else {
      all.push_back({{"id", id},
                     {"answer", q->answer},
                     {"before", rate_json(q->before)},
                     {"after", rate_json(q->after)}});
    }
  }
  return all;
}

/// Fewer draws that are alike do not show that a fault is deterministic.
constexpr std::uint32_t least_draws = 5;

const char* determinism_of(const case_file& file) {
  if (file.stochastic) return "stochastic";
  return file.failed.draws < least_draws ? "unknown" : "deterministic";
}

}  // namespace

std::string to_json(const case_file& file, const experiment_runner& runner,
                    const std::string& config_sha256) {
  ordered_json findings = ordered_json::array();
  for (const finding& f : file.findings) {
    ordered_json shown = ordered_json::array();
    for (const evidence& e : f.evidence) shown.push_back(e.full_text());
    findings.push_back({{"class", f.kind},
                        {"where", f.where},
                        {"part", f.part},
                        {"meaning", meaning_of(f.kind)},
                        {"hidden", f.hidden},
                        {"only_in", only_in(f, file)},
                        {"workaround", f.workaround},
                        {"evidence", shown}});
  }
  ordered_json answers = ordered_json::object();
  for (const auto& [question, answer] : file.answers) answers[question] = answer;
  ordered_json experiments = ordered_json::array();
  for (const observation& o : file.observations) experiments.push_back(experiment_json(o, runner));
  const ordered_json j{{"schema", "diecast.diagnosis/1"},
                       {"config_sha256", config_sha256},
                       {"verdict", verdict_of(file)},
                       {"healthy", file.findings.empty()},
                       {"meaning", meaning_of(verdict_of(file))},
                       {"findings", findings},
                       {"determinism", determinism_of(file)},
                       {"failure_rate", rate_json(file.failed)},
                       {"questions", questions_json(file)},
                       {"answers", answers},
                       {"experiments", experiments},
                       {"not_tried", file.skipped},
                       {"budget_s", runner.budget()},
                       {"wall_s", runner.seconds_used()}};
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const case_file& file, const experiment_runner& runner, bool withheld) {
  std::string text = fmt::format("Diagnosis: {} ({})\n", verdict_of(file), meaning_of(verdict_of(file)));
  constexpr std::size_t most_findings = 6;
  constexpr std::size_t most_letters = 240;
  for (std::size_t i = 0; i < file.findings.size() && i < most_findings; ++i) {
    const finding& f = file.findings[i];
    text += fmt::format("\n{}. {}{}{}{}: {}\n", i + 1, f.kind, f.where.empty() ? "" : " at " + f.where,
                        f.part.empty() ? "" : " (" + f.part + ")",
                        f.hidden ? ", hidden: results are right" : "", meaning_of(f.kind));
    if (const auto names = only_in(f, file); !names.empty())
      text += fmt::format("   not in the job as given, only in: {}\n", fmt::join(names, ", "));
    constexpr std::size_t most_evidence = 4;
    for (std::size_t k = 0; k < f.evidence.size() && k < most_evidence; ++k) {
      const std::string e = f.evidence[k].full_text();
      text += fmt::format("   - {}{}\n", std::string_view(e).substr(0, most_letters),
                          e.size() > most_letters ? " ..." : "");
    }
    if (f.evidence.size() > most_evidence)
      text += fmt::format("   - {} more in diagnosis.json\n", f.evidence.size() - most_evidence);
    if (!f.workaround.empty()) text += fmt::format("   workaround: {}\n", f.workaround);
  }
  if (file.findings.size() > most_findings)
    text += fmt::format("\n{} more in diagnosis.json\n", file.findings.size() - most_findings);
  if (!file.skipped.empty())
    text += fmt::format("\nNot tried, out of time (limit {:.0f} s): {}\n", runner.budget(),
                        fmt::join(file.skipped, ", "));
  if (file.failed.draws > 0)
    text += fmt::format("\n{}: fails in {}; rates before and after a change:\n", determinism_of(file),
                        to_text(file.failed));
  for (const rated_question& q : file.questions)
    text +=
        fmt::format("  {}: {} (before {}, after {})\n", q.id, q.answer, to_text(q.before), to_text(q.after));
  if (!file.answers.empty()) text += "\nQuestions:\n";
  for (const auto& [question, answer] : file.answers) {
    const bool cut = answer.size() > most_letters;
    text += fmt::format("  {}: {}{}\n", question, std::string_view(answer).substr(0, most_letters),
                        cut ? " ..." : "");
  }
  text += "\nExperiments:\n";
  constexpr std::size_t most_experiments = 16;  // most experiments of a page
  for (std::size_t i = 0; i < file.observations.size() && i < most_experiments; ++i) {
    const observation& o = file.observations[i];
    const std::string ended = o.timed_out ? "stopped" : fmt::format("exit {:>2}", o.exit_code);
    text += fmt::format("  {}  {:>6.2f} s  {:<28} {}\n", ended, o.wall_s, o.name,
                        o.time_ns() > 0 ? fmt::format("{:.0f} ns", o.time_ns()) : "");
  }
  if (file.observations.size() > most_experiments)
    text += fmt::format("  {} more in diagnosis.json\n", file.observations.size() - most_experiments);
  text += fmt::format("  {:.1f} s of {:.0f} s\n", runner.seconds_used(), runner.budget());
  if (!file.observations.empty())
    text += "\nTo repeat: " + runner.command(file.observations.front().changes) + "\n";
  if (withheld && !file.observations.empty())
    text += "  these commands omit the faults of the command line, which must be given again\n";
  return text;
}

}  // namespace diecast::diagnose
