// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/experiment_runner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace diecast::diagnose {

namespace fs = std::filesystem;

no_room::no_room(const fs::path& folder, const std::string& reason)
    : std::runtime_error(fmt::format(
          "--diagnose: its experiments need a folder with room, which {} is not ({}); set TMPDIR to one",
          folder.string(), reason)) {}

namespace {

using nlohmann::json;

/// Names the file that a refused run leaves its problems in.
constexpr const char* problems_variable = "DIECAST_PROBLEMS=";

/// A file as text; empty when there is none.
std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Empty when there is none.
json json_of(const fs::path& file) {
  json j = json::parse(contents_of(file), nullptr, false);
  return j.is_discarded() ? json::object() : j;
}

std::vector<measurement> measurements_of(const fs::path& file) {
  std::vector<measurement> rows;
  for (const auto& row : rows_of(contents_of(file))) {
    measurement m{row.at(1), row.at(2), std::strtod(row.at(3).c_str(), nullptr),
                  std::strtod(row.at(4).c_str(), nullptr)};
    const std::size_t space = m.where.find(' ');
    if (space != std::string::npos) m.part = m.where.substr(space + 1);
    m.where.resize(std::min(space, m.where.size()));
    rows.push_back(std::move(m));
  }
  return rows;
}

bool is_flag(const std::string& word, const std::string& flag) {
  return word == flag || word.starts_with(flag + "=");
}

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

/// Lets the experiment and its child end within a second, then kills them.
void stop(pid_t child) {
  constexpr double patience_s = 1.0;
  kill(child, SIGTERM);
  const auto begun = std::chrono::steady_clock::now();
  int status = 0;
  while (seconds_since(begun) < patience_s) {
    if (waitpid(child, &status, WNOHANG) == child) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

/// Throws the complaint of an experiment that could not run, which is no sign of a fault of the machine.
void refuse_failed(int exit_code, const fs::path& folder, const std::string& complaint) {
  constexpr int output_failed = 5, no_system = 71;
  const std::string line =
      complaint.empty() ? "no file for its output" : complaint.substr(0, complaint.find('\n'));
  if (exit_code == output_failed) throw no_room(folder, line);
  if (exit_code == no_system) throw no_resources("an experiment ended without a result: " + line);
}

/// Executes the program with these arguments; it ends when this process ends.
pid_t start(const std::vector<char*>& argv, const std::vector<char*>& environment, const fs::path& out,
            const fs::path& errors) {
  constexpr int could_not_write = 5, could_not_start = 71;
  constexpr mode_t readable = 0644;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw no_resources(std::string("no process for an experiment (") + std::strerror(errno) + ")");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(could_not_start);
  for (const auto& [file, stream] : {std::pair{&out, STDOUT_FILENO}, std::pair{&errors, STDERR_FILENO}}) {
    const int fd = open(file->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, readable);
    if (fd < 0 || dup2(fd, stream) < 0) _exit(errno == EMFILE ? could_not_start : could_not_write);
  }
  execve(argv.front(), argv.data(), environment.data());
  std::fprintf(stderr, "%s: cannot be started (%s)\n", argv.front(), std::strerror(errno));
  std::fflush(stderr);
  _exit(could_not_start);
}

/// The environment of experiments: this process's own, without variables that make a run write to stderr,
/// whose first line must be its complaint.
std::vector<char*> environment(std::string& problems) {
  std::vector<char*> all{problems.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view v = *variable;
    if (!v.starts_with("DIECAST_CCL_TRACE=") && !v.starts_with(problems_variable)) all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

const json& observation::run() const {
  static const json none = json::object();
  return result.contains("runs") && !result["runs"].empty() ? result["runs"].front() : none;
}

std::string observation::text(const char* field) const { return run().value(field, std::string{}); }

double observation::time_ns() const {
  const json time = run().value("time_ns", json());
  return time.is_number() ? time.get<double>() : 0.0;
}

json observation::fault() const { return run().value("fault", json::object()); }

bool has_problem(const observation& o, const std::string& kind) {
  return std::ranges::any_of(o.problems, [&kind](const json& p) { return p.value("kind", "") == kind; });
}

std::string observation::complaint() const { return errors.substr(0, errors.find('\n')); }

std::vector<std::string> without(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& flags,
                                 const std::vector<std::string>& switches) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto is_word = [&word](const std::string& f) { return is_flag(word, f); };
    if (std::ranges::any_of(switches, is_word)) continue;
    const auto flag = std::ranges::find_if(flags, is_word);
    if (flag == flags.end()) {
      kept.push_back(word);
    } else if (word == *flag) {
      ++i;  // skips the flag's value
    }
  }
  return kept;
}

experiment_runner::experiment_runner(std::string binary, std::vector<std::string> arguments,
                                     std::vector<std::string> for_children_only, double budget_s,
                                     bool (*interrupted)(),
                                     const std::map<std::string, std::string>& read_once, fs::path kept_in)
    : binary_(std::move(binary)),
      arguments_(std::move(arguments)),
      for_children_only_(std::move(for_children_only)),
      kept_in_(std::move(kept_in)),
      budget_s_(budget_s),
      interrupted_(interrupted) {
  const std::string_view given = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  const fs::path temporary = given.empty() ? "/tmp" : given;
  std::string name = (temporary / "diecast-diagnose-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw no_room(temporary, std::strerror(errno));
  folder_ = name;
  remove_folder_at_end();
  for (const auto& [path, text] : read_once) {
    const fs::path copy = folder_ / fmt::format("input{}", copies_.size());
    write(copy, text);
    copies_[path] = copy.string();
  }
}

/// The keeper is a separate process, so that it works however this process ends.
void experiment_runner::remove_folder_at_end() {
  std::array<int, 2> ends{};
  const bool piped = pipe2(ends.data(), O_CLOEXEC) == 0;
  keeper_ = piped ? fork() : -1;
  if (keeper_ < 0) {
    const std::string reason = std::strerror(errno);
    std::error_code none;
    fs::remove(folder_, none);
    for (const int end : ends)
      if (piped) close(end);
    throw no_resources("no process to run experiments with (" + reason + ")");
  }
  if (keeper_ > 0) {
    close(ends[0]);
    keeper_pipe_ = ends[1];
    return;
  }
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) (void)std::signal(number, SIG_IGN);
  // Keepers that two threads start at the same time would hold each other's pipe open.
  constexpr int pipe_end = 3;
  if (ends[0] != pipe_end) dup2(ends[0], pipe_end);
  close_range(pipe_end + 1, UINT_MAX, 0);
  char none{};
  while (read(pipe_end, &none, 1) < 0 && errno == EINTR) {
  }
  // An experiment that ends at the same time may still make a file.
  constexpr int most_tries = 100;
  constexpr useconds_t pause_us = 10'000;
  std::error_code error;
  for (int i = 0; i < most_tries && fs::exists(folder_, error); ++i) {
    if (i > 0) usleep(pause_us);
    fs::remove_all(folder_, error);
  }
  _exit(0);
}

experiment_runner::~experiment_runner() {
  close(keeper_pipe_);
  int status = 0;
  while (waitpid(keeper_, &status, 0) < 0 && errno == EINTR) {
  }
}

void experiment_runner::write(const fs::path& file, const std::string& text) const {
  errno = 0;
  if (!(std::ofstream(file, std::ios::binary) << text << std::flush))
    throw no_room(folder_, std::strerror(errno));
}

std::string experiment_runner::readable(const std::string& word) const {
  for (const auto& [path, copy] : copies_) {
    if (word == path) return copy;
    if (word.ends_with("=" + path)) return word.substr(0, word.size() - path.size()) + copy;
  }
  return word;
}

std::string experiment_runner::workload() const { return contents_of(readable(given("--workload"))); }

double experiment_runner::seconds_used() const { return seconds_since(start_); }
double experiment_runner::seconds_left() const { return was_interrupted() ? 0 : budget_s_ - seconds_used(); }

std::vector<std::string> experiment_runner::with(const changes& changed) const {
  std::vector<std::string> replaced;
  for (const std::string& word : changed)
    if (word.starts_with("--") && word != "--set") replaced.push_back(word);
  std::vector<std::string> words = without(arguments_, replaced, {});
  if (std::ranges::find(replaced, "--workload") != replaced.end())
    words = without(words,
                    {"--collective", "--algorithm", "--bytes", "--dtype", "--op", "--ranks", "--iters",
                     "--warmup", "--data", "--team"},
                    {"--no-data", "--isolate"});
  words.insert(words.end(), changed.begin(), changed.end());
  return words;
}

std::string experiment_runner::command(const changes& changed) const {
  std::string text = fs::path(binary_).filename().string();
  const std::string folder = folder_.string() + "/";
  for (std::string word : with(changed)) {
    if (word.starts_with(folder)) word = kept_in_ / word.substr(folder.size());
    const bool plain = word.find_first_of(" *?[]{}\"'$&|;<>()") == std::string::npos;
    text += plain ? " " + word : " '" + word + "'";
  }
  return text;
}

std::string experiment_runner::keep(const std::string& text) {
  const std::string name = fmt::format("diagnosis_job_{}.json", kept_.size());
  const fs::path file = folder_ / name;
  write(file, text);
  kept_[name] = text;
  return file.string();
}

std::string experiment_runner::given(const std::string& flag) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i] == flag && i + 1 < arguments_.size()) return arguments_[i + 1];
    if (arguments_[i].starts_with(flag + "=")) return arguments_[i].substr(flag.size() + 1);
  }
  return {};
}

int experiment_runner::execute(const std::vector<std::string>& words, const fs::path& out,
                               const fs::path& errors, double limit_s, bool& timed_out,
                               const std::string& problems) const {
  std::vector<std::string> readable_words;
  for (const std::string& w : words) readable_words.push_back(readable(w));
  std::vector<char*> argv{const_cast<char*>(binary_.c_str())};
  for (std::string& w : readable_words) argv.push_back(w.data());
  argv.push_back(nullptr);
  std::string variable = problems_variable + problems;
  const pid_t child = start(argv, environment(variable), out, errors);
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      timed_out = was_interrupted();  // a terminal's Ctrl-C reaches both
      const int code = WIFEXITED(status) && !timed_out ? WEXITSTATUS(status) : -1;
      const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !timed_out;
      if (killed) throw no_resources("an experiment was killed (SIGKILL), perhaps for want of memory");
      refuse_failed(code, folder_, contents_of(errors));
      return code;
    }
    const double so_far_s = seconds_since(begun);
    if (so_far_s > limit_s || was_interrupted()) {
      timed_out = true;
      stop(child);
      return -1;
    }
    // Polls every fiftieth of the time so far: most experiments take some hundredths of a second.
    constexpr double share = 1.0 / 50, least_s = 2e-4, most_s = 5e-3;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(so_far_s * share, least_s, most_s)));
  }
}

observation experiment_runner::run(const std::string& name, const changes& changed, double limit_s) {
  observation o;
  o.name = name;
  o.changes = changed;
  const fs::path out = folder_ / fmt::format("run{}", runs_++);
  std::vector<std::string> words = with(changed);
  words.insert(words.end(), for_children_only_.begin(), for_children_only_.end());
  for (const char* word : {"--quiet", "--out"}) words.emplace_back(word);
  words.push_back(out.string());
  const auto begun = std::chrono::steady_clock::now();
  const fs::path errors = folder_ / "stderr";
  constexpr double least_s = 1.0;
  const double limit = std::max(std::min(limit_s, seconds_left()), least_s);
  const fs::path problems = folder_ / "problems.json";
  fs::remove(problems);
  o.exit_code = execute(words, folder_ / "stdout", errors, limit, o.timed_out, problems.string());
  o.wall_s = seconds_since(begun);
  o.errors = contents_of(errors);
  o.problems = json_of(problems);
  o.result = json_of(out / "result.json");
  o.deadlock = json_of(out / "deadlock.json");
  o.flight = json_of(out / "flight.json");
  o.health = measurements_of(out / "health.csv");
  o.loads = loads_of(contents_of(out / "links.csv"));
  return o;
}

std::string experiment_runner::output_of(const std::vector<std::string>& arguments) {
  bool timed_out = false;
  const fs::path out = folder_ / "answer";
  execute(arguments, out, folder_ / "stderr", seconds_left(), timed_out);
  return contents_of(out);
}

}  // namespace diecast::diagnose
