// SPDX-License-Identifier: Apache-2.0
// --diagnose: runs a list of experiments on the machine of a command line, and reports what is wrong. It sees
// only the machine's behavior: it gets neither the config nor the faults.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace diecast::diagnose {

// Input and output of a diagnosis.

struct target {
  std::string binary;                  ///< path of the program that simulates
  std::vector<std::string> arguments;  ///< arguments of the run in question, as given
  std::string collective, algorithm;   ///< the algorithm's name if one was given
  std::uint64_t bytes{};
  /// Flags that every experiment gets and the diagnosis does not evaluate: faults of the command line.
  std::vector<std::string> for_children_only{};
  bool withheld{};    ///< the user gave some of them, and has to give them again to repeat an experiment
  bool job_chosen{};  ///< the diagnosis chose the job: none was given, and the default one is refused
  /// Polled while an experiment runs; true ends it, and no further one begins. May be null.
  bool (*interrupted)(){};
  std::string config_sha256{};  ///< hash of the machine's config, for the verdict
  /// Texts of files among the arguments that can be read only once: experiments get copies of them.
  std::map<std::string, std::string> read_once{};
  std::string kept_in{};  ///< folder of the files of experiments in commands for the user
};

struct diagnosis {
  std::string json;                          ///< contents of diagnosis.json, schema diecast.diagnosis/1
  std::string text;                          ///< one page
  std::map<std::string, std::string> files;  ///< files that commands in `text` name, by name
  int exit_code{};                           ///< exit code of the run as given
};

/// Ends within `budget_s` and one second in which its last experiment stops. Throws std::system_error when no
/// experiment can be started.
[[nodiscard]] diagnosis examine(const target& who, double budget_s = 110.0);

}  // namespace diecast::diagnose
