// SPDX-License-Identifier: Apache-2.0
// One run = one process. SystemC elaborates once per process, so every point runs in a forked
// child: its picoseconds equal those of the point run alone, and a crash costs one row.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>

#include "models/protocol/fault_record.hpp"
#include "models/types/archive.hpp"
#include "platforms/result/run_point.hpp"

namespace diecast::platforms {

// Maps types of exceptions to statuses of the runs that they ended, and with these to exit codes
// (platforms/result/run_point.hpp).

struct fault_text {
  run_status status{};
  std::string message;
  bool output_lost{};
  std::optional<fault_record> record{};  ///< record of status fault
};

/// Classifies what ended a run, before the simulation or in it: protocol errors and firmware traps are faults
/// of the machine, user_error is an error of the user (mostly found before anything ran), output_error is a
/// lost file, the operating system refuses memory, processes and descriptors; all else is a fault of the
/// model. `names`: what the run calls its queue pairs.
[[nodiscard]] fault_text explain(const std::exception_ptr& fault,
                                 const comm::direction_namer& names = comm::generic_names());

/// A detected fault as data for result.json. `instance`: the block that reported it, at `time_ns`.
[[nodiscard]] detected_fault detected(const fault_record& r, const std::string& instance,
                                      const machine_shape& shape, const comm::direction_namer& names,
                                      double time_ns);

/// How a child process ended.
struct child_answer {
  std::string text;   ///< result of its body
  std::string death;  ///< signal or exit code of a child that died without an answer; else empty
  bool killed{};      ///< killed by a second Ctrl-C or SIGTERM
  bool by_system{};   ///< killed by the operating system, for memory or time
};

/// Runs `body` in a child process. Throws resource_error where there can be none. `body` must not throw.
/// Ctrl-C and SIGTERM reach the child, which may end early with what it has.
[[nodiscard]] child_answer run_text_in_child(const std::function<std::string()>& body);

/// The result of `body`, or an outcome with the error that it threw.
template <class Body>
[[nodiscard]] auto outcome_of(const Body& body) {
  std::invoke_result_t<Body> o;
  try {
    return body();
  } catch (const std::exception&) {
    const fault_text why = explain(std::current_exception());
    o.status = why.status;
    o.message = why.message;
    o.output_lost = why.output_lost;
  }
  return o;
}

/// Runs `body` in a child process and returns the outcome that it returned. explain() makes status and
/// message of an exception. A child that dies without an answer yields status internal with the signal or
/// exit code in the message. Ctrl-C and SIGTERM reach the child, whose partial outcome is returned with
/// status interrupted; a second signal three seconds later kills it, and only that status is left of its
/// outcome.
template <class Body>
[[nodiscard]] auto run_in_child(const Body& body) {
  using outcome = std::invoke_result_t<Body>;
  const child_answer answer = run_text_in_child([&] { return archived(outcome_of(body)); });
  if (answer.death.empty()) return restored<outcome>(answer.text);
  outcome o;
  o.status = answer.killed      ? run_status::interrupted
             : answer.by_system ? run_status::system
                                : run_status::internal;
  o.message = answer.death;
  return o;
}

/// Acts as if that signal had arrived.
void note_interrupt(int number);
/// Set by SIGINT, SIGTERM and SIGHUP (installed by run_in_child's caller through install_signal_handlers).
[[nodiscard]] int interrupt_signal();
/// Installs the handlers of SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP.
void install_signal_handlers();
/// Installs the handler of SIGUSR1, which requests the flight recorder, and with `on_sighup` also of SIGHUP:
/// for programs with a recorder. Otherwise SIGHUP ends the run.
void install_dump_handlers(bool on_sighup);

/// Whether SIGUSR1 (or SIGHUP) has requested the flight recorder since the last call. The signal reaches the
/// child that simulates.
[[nodiscard]] bool dump_requested();

}  // namespace diecast::platforms
