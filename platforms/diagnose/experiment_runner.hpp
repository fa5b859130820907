// SPDX-License-Identifier: Apache-2.0
// Experiments on a machine that is known by its command line only: each is a run of the binary in a process
// of its own, with some flags changed, and its files.
#pragma once

#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/diagnose/places.hpp"

namespace diecast::diagnose {

/// Flags in addition to those of the examined run.
using changes = std::vector<std::string>;

/// One row of health.csv.
struct measurement {
  std::string measure, where;
  double value{}, expected{};
  std::string part{};  ///< a queue pair of that place; mostly empty
};

/// Result of an experiment.
// nlohmann::json moves without throwing, although it is not declared so.
struct observation {                 // NOLINT(bugprone-exception-escape)
  std::string name;                  ///< "checksums"
  std::vector<std::string> changes;  ///< flags in addition to the given ones
  int exit_code{-1};                 ///< -1: ended by a signal or never started
  bool timed_out{};
  double wall_s{};
  std::string errors;                                ///< text on stderr, for people
  nlohmann::json problems;                           ///< problems for which the run was refused
  nlohmann::json result = nlohmann::json::object();  ///< result.json; empty when it wrote none
  nlohmann::json deadlock = nlohmann::json::object(), flight = deadlock;  ///< deadlock.json and flight.json
  std::vector<measurement> health;
  link_loads loads;  ///< loads of links between cubes and SIPs that carried something

  /// The only run of the result; an empty object when there is none.
  [[nodiscard]] const nlohmann::json& run() const;
  /// A text field of the only run; empty when there is none.
  [[nodiscard]] std::string text(const char* field) const;
  [[nodiscard]] std::string fingerprint() const { return text("fingerprint"); }
  [[nodiscard]] double time_ns() const;
  /// The fault detected in the only run; an empty object when there was none.
  [[nodiscard]] nlohmann::json fault() const;
  /// First line of its complaint; empty when it made none.
  [[nodiscard]] std::string complaint() const;
};

/// Whether a problem of this kind is among what the run was refused for.
[[nodiscard]] bool has_problem(const observation& o, const std::string& kind);
[[nodiscard]] inline bool wrong_data(const observation& o) { return o.exit_code == 1; }
[[nodiscard]] inline bool right(const observation& o) { return o.exit_code == 0; }

/// The experiments have no folder, or no room in it.
class no_room : public std::runtime_error {
 public:
  no_room(const std::filesystem::path& folder, const std::string& reason);
};

/// The error of an experiment that the operating system ended: no memory, no process. Exit code 71.
class no_resources : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs experiments. When this process ends, in whatever manner, their folder in TMPDIR is removed and a
/// running experiment ends. Throws no_room and no_resources.
class experiment_runner {
 public:
  /// `arguments` of the examined run, without the flags that the diagnosis adds: --out, --format, --quiet.
  /// `for_children_only` goes to every run and into no command line that is shown. `interrupted` and
  /// `read_once` as of a target.
  experiment_runner(std::string binary, std::vector<std::string> arguments,
                    std::vector<std::string> for_children_only, double budget_s,
                    bool (*interrupted)() = nullptr, const std::map<std::string, std::string>& read_once = {},
                    std::filesystem::path kept_in = {});
  ~experiment_runner();
  experiment_runner(const experiment_runner&) = delete;
  experiment_runner& operator=(const experiment_runner&) = delete;

  /// Runs with `changed` added; a flag among them replaces the one given, --set adds to those given, and
  /// --workload, which is a whole job, takes the place of every flag of the job that was given. Stopped
  /// after `limit_s`, or when the budget is used up.
  observation run(const std::string& name, const changes& changed,
                  double limit_s = std::numeric_limits<double>::infinity());
  /// Standard output of the binary with these arguments alone.
  [[nodiscard]] std::string output_of(const std::vector<std::string>& arguments);
  /// Standard output of the examined run's command line with this flag.
  [[nodiscard]] std::string output_of_run(const std::string& flag) { return output_of(with({flag})); }
  /// Whether the user has interrupted the diagnosis: no time is left then, whatever the budget.
  [[nodiscard]] bool was_interrupted() const { return interrupted_ != nullptr && interrupted_(); }
  [[nodiscard]] double seconds_left() const;
  [[nodiscard]] double seconds_used() const;
  [[nodiscard]] double budget() const { return budget_s_; }
  /// Leaves a file for experiments, diagnosis_job_N.json; returns its path. In commands for people it lies in
  /// `kept_in`.
  std::string keep(const std::string& text);
  /// Files left for experiments, by name.
  [[nodiscard]] const std::map<std::string, std::string>& kept() const { return kept_; }
  /// The command line of an experiment, for people.
  [[nodiscard]] std::string command(const changes& changed) const;
  /// The text of the --workload that was given; empty when there is none.
  [[nodiscard]] std::string workload() const;
  /// The value given for a flag; empty when it was not.
  [[nodiscard]] std::string given(const std::string& flag) const;

 private:
  [[nodiscard]] std::vector<std::string> with(const changes& changed) const;
  /// The argument with the copy in place of a file that can be read only once.
  [[nodiscard]] std::string readable(const std::string& word) const;
  void remove_folder_at_end();
  void write(const std::filesystem::path& file, const std::string& text) const;
  int execute(const std::vector<std::string>& words, const std::filesystem::path& out,
              const std::filesystem::path& errors, double limit_s, bool& timed_out,
              const std::string& problems = "/dev/null") const;

  std::string binary_;
  std::vector<std::string> arguments_;
  std::vector<std::string> for_children_only_;
  std::filesystem::path folder_, kept_in_;
  std::map<std::string, std::string> copies_;  ///< copies of files that can be read only once
  int keeper_pipe_{-1};                        ///< pipe whose end makes the keeper remove the folder
  int keeper_{};                               ///< process of the keeper
  std::chrono::steady_clock::time_point start_{std::chrono::steady_clock::now()};
  double budget_s_;
  bool (*interrupted_)();
  unsigned runs_{};
  std::map<std::string, std::string> kept_;
};

/// The arguments without the flags named, and without their values where a flag takes one.
[[nodiscard]] std::vector<std::string> without(const std::vector<std::string>& arguments,
                                               const std::vector<std::string>& flags,
                                               const std::vector<std::string>& switches);

}  // namespace diecast::diagnose
