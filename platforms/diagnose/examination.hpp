// SPDX-License-Identifier: Apache-2.0
// --diagnose: walks a list of experiments on the machine as its command line gives it, and says what is
// wrong. It knows the machine by its behavior only: no config, no fault is ever handed to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace diecast::diagnose {

// What the diagnosis is given.

struct target {
  std::string binary;                  ///< path of the program that simulates
  std::vector<std::string> arguments;  ///< arguments of the run in question, as given
  std::string collective, algorithm;   ///< the algorithm's name if one was given
  std::uint64_t bytes{};
  /// Flags that every experiment gets and nobody here looks at: the faults of the command line.
  std::vector<std::string> for_children_only{};
  bool withheld{};    ///< some of them were given by the user, who has to give them again to repeat a run
  bool job_chosen{};  ///< by the diagnosis: none was given, and the config is refused for the default one
  /// Asked while an experiment runs: it is ended, and none is begun any more. May be null.
  bool (*interrupted)(){};
  std::string config_sha256{};  ///< hash of the machine's config, for the verdict
  /// Texts of files among the arguments that can be read only once: experiments get copies of them.
  std::map<std::string, std::string> read_once{};
  std::string kept_in{};  ///< folder where the user will find the files of experiments
};

struct diagnosis {
  std::string json;                          ///< contents of diagnosis.json, schema diecast.diagnosis/1
  std::string text;                          ///< one page
  std::map<std::string, std::string> files;  ///< that commands of the page name
  int exit_code{};                           ///< exit code of the run as given
};

/// Ends within `budget_s` and the second its last experiment needs to stop. Throws std::system_error when no
/// experiment can be started.
[[nodiscard]] diagnosis examine(const target& who, double budget_s = 110.0);

}  // namespace diecast::diagnose
