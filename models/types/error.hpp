// SPDX-License-Identifier: Apache-2.0
// Errors carry what went wrong, where, the value and what was expected. The exit code of a run is
// decided by the type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/core.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace diecast {
/// Kind of a problem, for programs that read problems.
enum class problem_kind : std::uint8_t {
  other,
  wrong_install,  ///< queue pairs that do not fit each other
  barriers_only   ///< the rest of the input requests a barrier
};
[[nodiscard]] const char* to_string(problem_kind k);

/// One problem in something a user wrote: a config, a workload, a command line, a plan.
struct problem {
  std::string where;     ///< file and JSON path, flag, or instance name
  std::string what;      ///< the problem in one sentence
  std::string value;     ///< the offending value as written; empty if none
  std::string expected;  ///< accepted values; empty if it does not apply
  problem_kind kind{};
  std::vector<std::string> pes{};  ///< wrong_install: concerned, one as often as it is named
};

/// An exception whose text is one string, or a format and its arguments.
template <class Error>
class formatted : public Error {
 public:
  using Error::Error;
  template <class First, class... Rest>
  explicit formatted(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest)
      : Error(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
};

/// Problems that are collected of one input: an endless one makes no endless message.
inline constexpr std::size_t most_problems = 1000;

/// "where: what (value V; expected E)"
[[nodiscard]] std::string to_string(const problem& p);

/// Nothing ran: usage, config, workload or install-plan errors, all of them at once. Exit code 2.
class user_error : public std::runtime_error {
 public:
  explicit user_error(std::vector<problem> problems);
  explicit user_error(problem p) : user_error(std::vector<problem>{std::move(p)}) {}
  [[nodiscard]] const std::vector<problem>& problems() const { return problems_; }

 private:
  std::vector<problem> problems_;
};

/// The simulated machine broke one of its own rules (unmatched address, sequence error, ...).
/// Exit code 4.
class protocol_error : public formatted<std::runtime_error> {
 public:
  using formatted::formatted;
};

/// An output file could not be opened or written. Exit code 5.
class output_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The operating system refused memory, a process or a descriptor, or ended the run. Exit code 71.
class resource_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A job that is too large for a memory: a smaller one would run.

struct shortage {
  std::string memory;            ///< "TCM"
  std::uint64_t needed{}, of{};  ///< bytes
  std::string key;               ///< "ccl.tensor_kind=hbm", which has room for it; empty if there is none
  std::string smaller{};         ///< another change that helps; empty if none does
};

class shortage_error : public user_error {
 public:
  shortage_error(std::vector<problem> problems, shortage what)
      : user_error(std::move(problems)), what_(std::move(what)) {}
  [[nodiscard]] const shortage& lacks() const { return what_; }

 private:
  shortage what_;
};

}  // namespace diecast
