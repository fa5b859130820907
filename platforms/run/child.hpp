// SPDX-License-Identifier: Apache-2.0
// One run = one process. SystemC elaborates once per process, so every point runs in a forked
// child: its picoseconds equal those of the point run alone, and a crash costs one row.
#pragma once

#include <functional>
#include <string>

#include "platforms/run/run_point.hpp"

namespace diecast::platforms {

/// How a child process ended.
struct child_answer {
  std::string text;   ///< what its body returned
  std::string death;  ///< signal or exit code of a child that died without an answer; else empty
};

/// Runs `body` in a child process. `body` must not throw. Ctrl-C and SIGTERM reach the child, which may
/// end early with what it has.
[[nodiscard]] child_answer run_text_in_child(const std::function<std::string()>& body);

/// Runs `body` in a child process and returns what it returned. A child that dies without an
/// answer yields status internal with the signal or exit code in the message. Ctrl-C and SIGTERM
/// reach the child, whose partial outcome is returned with status interrupted.
[[nodiscard]] run_outcome run_in_child(const std::function<run_outcome()>& body);

/// Set by SIGINT and SIGTERM (installed by run_in_child's caller through install_signal_handlers).
[[nodiscard]] int interrupt_signal();
/// Of SIGINT and SIGTERM.
void install_signal_handlers();
/// Of SIGUSR1, which asks for the flight recorder, and with `on_sighup` of SIGHUP, too: for programs that
/// have one. Elsewhere both keep their own meaning.
void install_dump_handlers(bool on_sighup);

/// Whether SIGUSR1 (or SIGHUP) has asked for the flight recorder since the last call. The signal reaches the
/// child that simulates.
[[nodiscard]] bool dump_requested();

}  // namespace diecast::platforms
