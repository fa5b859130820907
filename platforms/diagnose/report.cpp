// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/report.hpp"

#include <fmt/format.h>
#include <map>
#include <string_view>

namespace diecast::diagnose {
namespace {

using json = nlohmann::ordered_json;

/// What a class means, in a sentence, and what to do first.
const char* meaning_of(const std::string& kind) {
  static const std::map<std::string, const char*> meanings{
      {"healthy", "nothing is wrong in any experiment"},
      {"bit_flip", "packets change on their way"},
      {"drop", "packets of data are lost"},
      {"duplicate", "packets of data come twice"},
      {"reorder", "packets of one flow overtake each other"},
      {"lost_credit", "credits are lost on their way back"},
      {"late_credit", "credits come late"},
      {"link_down", "a link stands still with packets on it"},
      {"link_degraded", "a link carries less than its rate"},
      {"token_before_data", "messages are announced before their bytes are written"},
      {"slow_pe", "a core runs slower than its clock"},
      {"dead_pe", "a core has stopped"},
      {"infinite_poll", "firmware polls a word that nobody writes, or for a value that has passed"},
      {"stale_cache_line",
       "firmware looks at an old copy in its data cache: it does not invalidate the line"},
      {"signal_without_flush", "a signal stays in its writer's data cache: the line is not written back"},
      {"premature_barrier", "what a PE has written is not waited for before others read it or go on"},
      {"wrong_install", "queue pairs are installed wrongly"},
      {"sendrecv_alias", "the one-call send-receive reads the buffer of an earlier send"},
      {"dispatch_corruption", "an entry of the firmware's dispatch table is bad"},
      {"nondeterminism", "two runs of the same differ"},
      {"config_error", "the run is refused: read what it says"},
  };
  const auto at = meanings.find(kind);
  return at == meanings.end() ? "the experiments do not say more" : at->second;
}

std::string verdict_of(const case_file& file) {
  return file.findings.empty() ? "healthy" : file.findings.front().kind;
}

json experiment_json(const observation& o, const laboratory& lab) {
  json j{{"name", o.name},           {"command", lab.command(o.changes)},
         {"exit_code", o.exit_code}, {"timed_out", o.timed_out},
         {"time_ns", o.time_ns()},   {"fingerprint", o.fingerprint()},
         {"wall_s", o.wall_s}};
  if (!o.complaint().empty()) j["complaint"] = o.complaint();
  return j;
}

}  // namespace

std::string to_json(const case_file& file, const laboratory& lab) {
  json findings = json::array();
  for (const finding& f : file.findings) {
    findings.push_back({{"class", f.kind},
                        {"where", f.where},
                        {"meaning", meaning_of(f.kind)},
                        {"hidden", f.hidden},
                        {"workaround", f.workaround},
                        {"evidence", f.evidence}});
  }
  json answers = json::object();
  for (const auto& [question, answer] : file.answers) answers[question] = answer;
  json experiments = json::array();
  for (const observation& o : file.observations) experiments.push_back(experiment_json(o, lab));
  const json j{{"schema", "diecast.diagnosis/1"},
               {"verdict", verdict_of(file)},
               {"healthy", file.findings.empty()},
               {"meaning", meaning_of(verdict_of(file))},
               {"findings", findings},
               {"answers", answers},
               {"experiments", experiments},
               {"wall_s", lab.seconds_used()}};
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string to_text(const case_file& file, const laboratory& lab) {
  std::string text = fmt::format("Diagnosis: {} ({})\n", verdict_of(file), meaning_of(verdict_of(file)));
  constexpr std::size_t most_findings = 6;
  constexpr std::size_t most_letters = 240;
  for (std::size_t i = 0; i < file.findings.size() && i < most_findings; ++i) {
    const finding& f = file.findings[i];
    text += fmt::format("\n{}. {}{}{}: {}\n", i + 1, f.kind, f.where.empty() ? "" : " at " + f.where,
                        f.hidden ? ", hidden: results are right" : "", meaning_of(f.kind));
    for (const std::string& e : f.evidence) {
      text += fmt::format("   - {}\n", e.size() > most_letters ? e.substr(0, most_letters) + " ..." : e);
    }
    if (!f.workaround.empty()) text += fmt::format("   workaround: {}\n", f.workaround);
  }
  if (file.findings.size() > most_findings) {
    text += fmt::format("\n{} more in diagnosis.json\n", file.findings.size() - most_findings);
  }
  if (!file.answers.empty()) text += "\nQuestions:\n";
  for (const auto& [question, answer] : file.answers) {
    const bool cut = answer.size() > most_letters;
    text += fmt::format("  {}: {}{}\n", question, std::string_view(answer).substr(0, most_letters),
                        cut ? " ..." : "");
  }
  text += "\nExperiments:\n";
  for (const observation& o : file.observations) {
    text += fmt::format("  exit {:>2}  {:>6.2f} s  {:<28} {}\n", o.exit_code, o.wall_s, o.name,
                        o.time_ns() > 0 ? fmt::format("{:.0f} ns", o.time_ns()) : "");
  }
  if (!file.observations.empty())
    text += "\nTo repeat: " + lab.command(file.observations.front().changes) + "\n";
  return text;
}

}  // namespace diecast::diagnose
