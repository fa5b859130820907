// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <regex>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/config/text.hpp"
#include "models/types/immovable.hpp"
#include "platforms/config_io/config_json.hpp"
#include "platforms/files/input.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/run/child.hpp"

namespace diecast::platforms {

namespace {

namespace fs = std::filesystem;

fs::path worker_program() { return fs::read_symlink("/proc/self/exe").parent_path() / worker_name; }

/// The command that starts all processes.
std::vector<std::string> command_of(const process_options& o) {
  std::string launcher = o.launcher;
  if (launcher.empty())
    launcher = std::string("mpirun --oversubscribe --bind-to none ") +
               (geteuid() == 0 ? "--allow-run-as-root " : "") + "-n {n}";
  std::vector<std::string> words;
  for (std::string word : config::split(launcher, ' ')) {
    if (const auto n = word.find("{n}"); n != std::string::npos)
      word.replace(n, 3, std::to_string(o.processes));
    if (!word.empty()) words.push_back(std::move(word));
  }
  words.push_back(worker_program().string());
  return words;
}

/// The launcher with pipes to its standard streams.
class launched : immovable {
 public:
  explicit launched(const std::vector<std::string>& command) {
    std::array<std::array<int, 2>, 3> ends{};
    for (auto& e : ends)
      if (pipe2(e.data(), O_CLOEXEC) != 0)
        throw resource_error(fmt::format("no pipe for the launcher ({})", std::strerror(errno)));
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw resource_error(fmt::format("no process for the launcher ({})", std::strerror(errno)));
    if (pid_ == 0) become(command, ends, parent);
    to_ = ends[0][1];
    from_ = {ends[1][0], ends[2][0]};
    for (const int end : {ends[0][0], ends[1][1], ends[2][1]}) close(end);
    fcntl(to_, F_SETFL, O_NONBLOCK);
  }
  ~launched() {
    if (to_ >= 0) close(to_);
    for (const int end : from_) close(end);
  }

  /// Writes `input`, then a byte when this process is interrupted, until the launcher has closed its outputs.
  void talk(std::string_view input);
  [[nodiscard]] int wait() const {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  [[nodiscard]] const std::string& output() const { return text_[0]; }
  [[nodiscard]] const std::string& errors() const { return text_[1]; }

 private:
  /// Runs in a separate process group, so that Ctrl-C at a terminal reaches it as a request to end with its
  /// results so far.
  [[noreturn]] static void become(const std::vector<std::string>& command,
                                  const std::array<std::array<int, 2>, 3>& ends, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(0);  // the parent died earlier
    dup2(ends[0][0], 0);
    dup2(ends[1][1], 1);
    dup2(ends[2][1], 2);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE}) std::signal(number, SIG_DFL);
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const std::string why = fmt::format("{}: {}\n", words[0], std::strerror(errno));
    [[maybe_unused]] const auto written = write(2, why.data(), why.size());
    _exit(127);
  }
  void write_some(std::string_view& input);

  pid_t pid_{};
  int to_{-1};
  std::array<int, 2> from_{-1, -1};
  std::array<std::string, 2> text_;
};

void launched::write_some(std::string_view& input) {
  const ssize_t n = write(to_, input.data(), input.size());
  if (n > 0) input.remove_prefix(static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) input = {};  // the launcher has ended, as its outputs show
}

void launched::talk(std::string_view input) {
  bool interrupted = false;
  std::array<bool, 2> open{true, true};
  while (open[0] || open[1]) {
    if (dump_requested())
      warn(
          "a signal asks for the flight recorder, which several processes cannot write before the end; the "
          "run continues");
    if (input.empty() && interrupt_signal() != 0 && !interrupted) {
      input = "!";
      interrupted = true;
    }
    std::array<pollfd, 3> fds{{{open[0] ? from_[0] : -1, POLLIN, 0},
                               {open[1] ? from_[1] : -1, POLLIN, 0},
                               {input.empty() ? -1 : to_, POLLOUT, 0}}};
    constexpr int look_ms = 200;  // a signal may come right before the call
    if (poll(fds.data(), fds.size(), look_ms) < 0) continue;
    if (fds[2].revents != 0) write_some(input);
    for (std::size_t i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      std::array<char, 65536> part{};
      const ssize_t n = read(from_[i], part.data(), part.size());
      if (n > 0) text_[i].append(part.data(), static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) open[i] = false;
    }
  }
}

/// Names of processes in process 0's output, by number: "process 1 (PID 4711 on host node2, SIPs 2-3)".
std::vector<std::string> names_of(const std::string& output, const fabric::sip_partition& p) {
  std::vector<std::string> names;
  const std::string line = output.substr(0, output.find('\n'));
  const auto named = nlohmann::json::parse(line, nullptr, false);
  for (std::uint32_t n = 0; n < p.processes; ++n) {
    std::string where;
    try {
      where = fmt::format("PID {} on host {}, ", named.at(n).at(1).get<std::int64_t>(),
                          named.at(n).at(0).get<std::string>());
    } catch (const nlohmann::json::exception&) {  // a launcher's own words
    }
    names.push_back(fmt::format("process {} ({}SIPs {})", n, where, p.text_of(n)));
  }
  return names;
}

/// Launchers name a dead process in their own formats. Open MPI: "process rank 1 with PID 9 on node x
/// exited on signal 9"; Slurm: "error: x: task 1: Killed". A launcher that ends before any process has
/// reported that it runs was refused something by the system.
void explain_death(const launched& job, int status, const fabric::sip_partition& p, run_outcome& o) {
  const auto names = names_of(job.output(), p);
  std::smatch found;
  static const std::regex which("(?:rank|task) ([0-9]{1,9})(?: with PID|:)"),
      signal("signal ([0-9]{1,3})\\b");
  if (std::regex_search(job.errors(), found, which) && std::stoul(found[1]) < names.size()) {
    o.message = names[std::stoul(found[1])] + " has died";
    if (std::regex_search(job.errors(), found, signal))
      o.message += fmt::format(" by signal {} ({})", found[1].str(), strsignal(std::stoi(found[1])));
    o.message += "; the others were ended";
    return;
  }
  const bool ran = nlohmann::json::accept(job.output().substr(0, job.output().find('\n')));
  o.status = ran ? run_status::internal : run_status::system;
  o.message = ran ? "the simulating processes ended without a result"
                  : "the launcher has started no process that runs";
  if (WIFEXITED(status)) o.message += fmt::format(" (the launcher's exit code is {})", WEXITSTATUS(status));
  if (!ran) o.message += "; expected one that works here, and for Open MPI a TMPDIR with room";
  const std::string said = job.errors().substr(0, 2000);
  if (!said.empty()) o.message += "; the launcher says:\n" + said;
}

/// Prefix of the line on standard error by which a process ends all: status and message of its outcome.
constexpr std::string_view failure_mark = "diecast-worker failed: ";

run_outcome failure_of(const launched& job, int status, const run_point& point,
                       const fabric::sip_partition& p) {
  for (std::uint32_t n = 1; n < p.processes && !point.timeline.empty(); ++n)
    fs::remove(part_of_file(point.timeline, n));
  run_outcome o;
  o.status = run_status::internal;
  const auto at = job.errors().find(failure_mark);
  const std::string line = at == std::string::npos ? "" : job.errors().substr(at + failure_mark.size());
  const auto said = nlohmann::json::parse(line.substr(0, line.find('\n')), nullptr, false);
  if (said.is_discarded()) {
    explain_death(job, status, p, o);
    return o;
  }
  o.status = status_named(said.at(1));
  o.message = fmt::format("{}: {}", names_of(job.output(), p).at(said.at(0)), said.at(2).get<std::string>());
  return o;
}

/// execvp() finds it.
bool is_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  const auto folders = config::split(path != nullptr ? path : "/bin:/usr/bin", ':');
  return std::ranges::any_of(folders, [&name](const std::string& folder) {
    return access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0;
  });
}

}  // namespace

void check_room(const process_options& options) {
  const std::string launcher = command_of(options).front();
  const std::string name = fs::path(launcher).filename().string();
  if (name != "mpirun" && name != "mpiexec") return;
  constexpr off_t needed = 16 << 20;
  const char* const given = std::getenv("TMPDIR");
  const std::string folder = given == nullptr || *given == 0 ? "/tmp" : given;
  std::string file = folder + "/diecast-processes-XXXXXX";
  const int fd = mkostemp(file.data(), O_CLOEXEC);
  int error = errno;
  if (fd >= 0) {
    unlink(file.c_str());
    error = posix_fallocate(fd, 0, needed);
    close(fd);
  }
  if (error != 0)
    throw output_error(
        fmt::format("--processes: no 16 MiB for the launcher in {} ({}); set TMPDIR to a folder with room",
                    folder, std::strerror(error)));
}

void check_processes(const prepared_run& run, const process_options& options) {
  (void)fabric::partition_sips(run.machine.topology, options.partition, options.processes);
  if (!fs::exists(worker_program()))
    throw user_error(problem{"--processes", fmt::format("needs {} beside this program", worker_name),
                             std::to_string(options.processes),
                             "the package diecast-mpi, or a build where MPI is found (libopenmpi-dev)"});
  const std::string launcher = command_of(options).front();
  if (!is_program(launcher))
    throw user_error(problem{"--launcher", "names a program that does not exist", launcher,
                             "the package openmpi-bin, or --launcher with another command"});
  if (run.machine.config.sim.check_credits)
    throw user_error(
        problem{"sim.check_credits", "one process watches all queue pairs", "true", "--processes 1"});
}

run_outcome run_on_processes(const prepared_run& run, const process_options& options,
                             std::optional<std::uint32_t> only, std::uint64_t draw) {
  const auto partition = fabric::partition_sips(run.machine.topology, options.partition, options.processes);
  process_job request{partition, only, draw, dump_config(run.given.config), run.point, {}};
  if (!run.point.workload.empty()) request.point.algorithm.clear();  // named after the file when prepared
  for (const input_file& f : inputs())
    if (f.reader != "--config") request.inputs.push_back({f.reader, f.path.string(), f.text});
  const std::string archive = archived(request);
  launched job(command_of(options));
  job.talk(fmt::format("{}\n{}", archive.size(), archive));
  const int status = job.wait();
  constexpr std::string_view mark = "\nresult ";
  const auto at = job.output().find(mark);
  if (at == std::string::npos) return failure_of(job, status, run.point, partition);
  const auto body = job.output().find('\n', at + mark.size());
  const auto bytes = config::parse_count(job.output().substr(at + mark.size(), body - at - mark.size()));
  if (!bytes || job.output().size() < body + 1 + *bytes) return failure_of(job, status, run.point, partition);
  if (!job.errors().empty()) print_to(stderr, job.errors());
  run_outcome o = restored<run_outcome>(std::string_view(job.output()).substr(body + 1, *bytes));
  run_outcome described;
  run.describe(described);
  o.algorithm_reason = described.algorithm_reason;  // known to the process that chose
  o.algorithm_chosen_by = described.algorithm_chosen_by;
  return o;
}

received_job::received_job(const std::string& archive, const app::registries& tables) {
  archive_reader{archive}(static_cast<process_job&>(*this));
  forget_inputs();
  constexpr const char* config_name = "effective config of the job";
  provide_input("--config", config_name, config);
  for (const auto& f : inputs) provide_input(f[0], f[1], f[2]);
  machine = std::make_unique<machine_model>(load_config({config_name, {}, {}}).config);
  run = prepare_point(*machine, tables, point);
}

}  // namespace diecast::platforms
