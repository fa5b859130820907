// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/child.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <new>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "models/types/error.hpp"
#include "platforms/result/deadlock_json.hpp"

namespace diecast::platforms {

namespace {

volatile std::sig_atomic_t signal_seen = 0;
volatile std::sig_atomic_t dump_seen = 0;
volatile std::sig_atomic_t simulating = 0;  ///< process id of the child that simulates; 0 in the child
volatile std::sig_atomic_t killed = 0;      ///< this process has killed the child that simulates
std::atomic<std::int64_t> first_signal_ms{};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "a signal handler uses it");

std::int64_t monotonic_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

/// A signal that reaches only this process is passed on at once, so that the child can end with what it has:
/// code that waited for it to interrupt a system call would miss one that comes before the call. A
/// child that has not ended some seconds later does not reach its next slice: a second signal kills it.
/// (One signal may come twice, from a terminal and from a process that it reached there.) Async-signal-safe:
/// kill() and clock_gettime() are.
void on_signal(int number) {
  constexpr std::int64_t patience_ms = 3000;
  const int error = errno;
  const std::int64_t now = monotonic_ms();
  if (signal_seen == 0) first_signal_ms = now;
  signal_seen = number;
  if (simulating > 0) {
    killed = now - first_signal_ms >= patience_ms ? 1 : 0;
    kill(static_cast<pid_t>(simulating), killed != 0 ? SIGKILL : number);
  }
  errno = error;
}

/// Requests a dump of the run that simulates now, or else of the next one.
void on_dump_signal(int number) {
  if (simulating > 0) {
    kill(static_cast<pid_t>(simulating), number);
  } else {
    dump_seen = 1;
  }
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

void write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

/// True for SIGKILL, which is no fault of the program: it comes from the kernel at a limit, or from a user.
bool is_by_system(int status) {
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU);
}

std::string death_of(int status) {
  if (is_by_system(status))
    return WTERMSIG(status) == SIGKILL
               ? "the simulation process was killed (SIGKILL), perhaps for want of memory or CPU time; "
                 "expected more of it, or a smaller run"
               : "the simulation process was ended at its limit of CPU time (SIGXCPU, ulimit -t)";
  return WIFSIGNALED(status) ? fmt::format("the simulation process was ended by signal {} ({})",
                                           WTERMSIG(status), strsignal(WTERMSIG(status)))
                             : fmt::format("the simulation process ended without a result (exit code {})",
                                           WEXITSTATUS(status));
}

}  // namespace

void note_interrupt(int number) { signal_seen = number; }

int interrupt_signal() { return signal_seen; }

void install_signal_handlers() {
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  struct sigaction given {};
  sigaction(SIGHUP, nullptr, &given);
  if (given.sa_handler != SIG_IGN) handle(SIGHUP, on_signal);
}

void install_dump_handlers(bool on_sighup) {
  handle(SIGUSR1, on_dump_signal);
  if (on_sighup) handle(SIGHUP, on_dump_signal);
}

bool dump_requested() {
  const bool requested = dump_seen != 0;
  dump_seen = 0;
  return requested;
}

child_answer run_text_in_child(const std::function<std::string()>& body) {
  std::array<int, 2> fds{};
  const auto refused = [](const char* what) {
    return resource_error(fmt::format("{} for the simulation ({})", what, std::strerror(errno)));
  };
  if (pipe(fds.data()) != 0) throw refused("no pipe");
  std::fflush(nullptr);
  killed = 0;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const resource_error error = refused("no process");
    close(fds[0]);
    close(fds[1]);
    throw error;
  }
  simulating = child;
  if (child == 0) {
    // A child whose parent was killed ends, too: no process would read its result.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) syscall(SYS_exit_group, 0);
    close(fds[0]);
    write_all(fds[1], body());
    close(fds[1]);
    std::fflush(nullptr);
    // Firmware may still be suspended on its stacks (a deadlock); its destructors are not run. The bare
    // system call: before one that does not return AddressSanitizer looks for its stack and warns of
    // SystemC's.
    syscall(SYS_exit_group, 0);
  }
  if (signal_seen != 0) kill(child, signal_seen);  // a signal directly after the fork
  if (dump_seen != 0) {                            // for this child, before the fork or directly after it
    dump_seen = 0;
    kill(child, SIGUSR1);
  }
  close(fds[1]);
  const std::string text = read_all(fds[0]);
  close(fds[0]);
  simulating = 0;  // the child has ended; after waitpid() its number may be reused
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return {{}, death_of(status), killed != 0, killed == 0 && is_by_system(status)};
  return {text, {}};
}

fault_text explain(const std::exception_ptr& fault, const comm::direction_namer& names) {
  try {
    std::rethrow_exception(fault);
  } catch (const user_error& e) {
    return {run_status::error, e.what()};
  } catch (const fault_error& e) {
    return {run_status::fault, e.text(names), false, e.record()};
  } catch (const protocol_error& e) {
    return {run_status::fault, e.what(), false, fault_record{}};
  } catch (const std::bad_alloc&) {
    return {run_status::system, "out of memory; expected more of it, or a smaller run"};
  } catch (const resource_error& e) {
    return {run_status::system, e.what()};
  } catch (const std::system_error& e) {
    return {run_status::system, e.what()};
  } catch (const output_error& e) {
    return {run_status::error, e.what(), true};
  } catch (const std::exception& e) {
    return {run_status::internal, e.what()};
  }
}

detected_fault detected(const fault_record& r, const std::string& instance, const machine_shape& shape,
                        const comm::direction_namer& names, double time_ns) {
  detected_fault d{to_string(r.kind), r.pe ? pe_path(shape, *r.pe) : instance};
  if (r.pe && r.queue_pair) d.queue_pair = names(*r.pe, *r.queue_pair);
  if (r.from) d.sender = pe_path(shape, *r.from);
  if (r.from || r.kind == diecast::fault_kind::packet_number) d.sequence = r.sequence;
  if (r.kind == diecast::fault_kind::token_sequence || r.kind == diecast::fault_kind::packet_number)
    d.expected = r.expected;
  const bool ring = r.ring.end != 0;
  if (ring || r.address != 0) {
    d.first_pa = hex_text(ring ? r.ring.first : r.address);
    d.end_pa = hex_text(ring ? r.ring.end : r.address + 1);
  }
  d.links = r.links;
  d.time_ns = time_ns;
  return d;
}

}  // namespace diecast::platforms
