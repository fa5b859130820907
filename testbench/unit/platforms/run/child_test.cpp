// SPDX-License-Identifier: Apache-2.0
// The process that a run has of its own: it learns of every signal that its parent gets.
#include "platforms/run/child.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "testbench/support/test.hpp"

using namespace diecast;

namespace {

/// A child that signals its parent as early as it can, and waits to be told of it.
std::string told_of(int number, pid_t parent) {
  using namespace std::chrono_literals;
  kill(parent, number);
  for (int ms = 0; ms < 5000 && platforms::interrupt_signal() == 0; ++ms) std::this_thread::sleep_for(1ms);
  return platforms::interrupt_signal() == number ? "told" : "not told";
}

/// Its exit code is 0 when the child was told. What has been seen stays seen: a process serves once.
pid_t parent_of_one(int number) {
  std::fflush(nullptr);
  const pid_t parent = fork();
  if (parent != 0) return parent;
  platforms::install_signal_handlers();
  const platforms::child_answer answer =
      platforms::run_text_in_child([number, self = getpid()] { return told_of(number, self); });
  _exit(answer.text == "told" && platforms::interrupt_signal() == number ? 0 : 1);
}

/// A child that no signal reaches, as where a simulation never comes to its next slice; its parent gets two.
[[noreturn]] void ignores_signals(pid_t parent) {
  constexpr unsigned longer_than_patience_s = 4;
  (void)std::signal(SIGTERM, SIG_IGN);
  kill(parent, SIGTERM);
  sleep(longer_than_patience_s);
  kill(parent, SIGTERM);
  for (;;) pause();
}

}  // namespace

TEST_CASE("child: one that no signal reaches is killed by the second") {
  std::fflush(nullptr);
  const pid_t parent = fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    platforms::install_signal_handlers();
    const platforms::run_outcome o =
        platforms::run_in_child([self = getpid()]() -> platforms::run_outcome { ignores_signals(self); });
    _exit(o.status == platforms::run_status::interrupted ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(parent, &status, 0) == parent);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("child: a signal to its parent reaches it, however early") {
  for (int i = 0; i < 200; ++i) {
    const int number = i % 2 == 0 ? SIGINT : SIGTERM;
    const pid_t parent = parent_of_one(number);
    REQUIRE(parent > 0);
    int status = 0;
    REQUIRE(waitpid(parent, &status, 0) == parent);
    INFO("attempt " << i);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
  }
}
