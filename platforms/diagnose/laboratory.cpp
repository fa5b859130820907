// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/laboratory.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace diecast::diagnose {

namespace fs = std::filesystem;

std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

using nlohmann::json;

json json_of(const fs::path& file) {
  if (!fs::exists(file)) return nullptr;
  return json::parse(contents_of(file), nullptr, false);
}

std::vector<measurement> measurements_of(const fs::path& file) {
  std::vector<measurement> rows;
  std::istringstream lines(contents_of(file));
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string run, value, expected;
    measurement m;
    std::getline(words, run, ',');
    std::getline(words, m.measure, ',');
    std::getline(words, m.where, ',');
    std::getline(words, value, ',');
    std::getline(words, expected, ',');
    m.value = std::strtod(value.c_str(), nullptr);
    m.expected = std::strtod(expected.c_str(), nullptr);
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

/// A second to end in good order, its own child with it; then the end.
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

/// What experiments see of this process's environment: all but what makes them write to stderr, where the
/// doctor reads their complaints.
std::vector<char*> environment() {
  std::vector<char*> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("DIECAST_CCL_TRACE=")) all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

}  // namespace

const json& observation::run() const {
  static const json none;
  if (!result.is_object() || !result.contains("runs") || result["runs"].empty()) return none;
  return result["runs"].front();
}

std::string observation::text(const char* field) const {
  return run().is_object() ? run().value(field, std::string{}) : std::string{};
}

double observation::time_ns() const {
  const bool timed = run().is_object() && run().contains("time_ns") && run()["time_ns"].is_number();
  return timed ? run()["time_ns"].get<double>() : 0.0;
}

std::string observation::complaint() const { return errors.substr(0, errors.find('\n')); }

std::vector<std::string> without(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& flags,
                                 const std::vector<std::string>& switches) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const auto is_word = [&word](const std::string& f) { return is_flag(word, f); };
    if (std::any_of(switches.begin(), switches.end(), is_word)) continue;
    const auto flag = std::find_if(flags.begin(), flags.end(), is_word);
    if (flag == flags.end()) {
      kept.push_back(word);
    } else if (word == *flag) {
      ++i;  // its value
    }
  }
  return kept;
}

laboratory::laboratory(std::string binary, std::vector<std::string> arguments,
                       std::vector<std::string> for_children_only, double budget_s, bool (*interrupted)())
    : binary_(std::move(binary)),
      arguments_(std::move(arguments)),
      for_children_only_(std::move(for_children_only)),
      budget_s_(budget_s),
      interrupted_(interrupted) {
  std::string name = (fs::temp_directory_path() / "diecast-diagnose-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "a folder for the experiments: " + name);
  }
  folder_ = name;
}

laboratory::~laboratory() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

double laboratory::seconds_used() const { return seconds_since(start_); }
double laboratory::seconds_left() const { return was_interrupted() ? 0 : budget_s_ - seconds_used(); }

std::vector<std::string> laboratory::with(const changes& changed) const {
  std::vector<std::string> replaced;
  for (const std::string& word : changed) {
    if (word.starts_with("--") && word != "--set") replaced.push_back(word);
  }
  std::vector<std::string> words = without(arguments_, replaced, {});
  if (std::find(replaced.begin(), replaced.end(), "--workload") != replaced.end()) {
    words = without(words,
                    {"--collective", "--algorithm", "--bytes", "--dtype", "--op", "--ranks", "--iters",
                     "--warmup", "--data", "--team"},
                    {"--no-data", "--isolate"});
  }
  words.insert(words.end(), changed.begin(), changed.end());
  return words;
}

std::string laboratory::command(const changes& changed) const {
  std::string text = fs::path(binary_).filename().string();
  const std::string folder = folder_.string() + "/";
  for (std::string word : with(changed)) {
    if (word.starts_with(folder)) word.erase(0, folder.size());
    const bool plain = word.find_first_of(" *?[]{}\"'$&|;<>()") == std::string::npos;
    text += plain ? " " + word : " '" + word + "'";
  }
  return text;
}

std::string laboratory::keep(const std::string& text) {
  const std::string name = fmt::format("diagnosis_job_{}.json", kept_.size());
  const fs::path file = folder_ / name;
  if (!(std::ofstream(file, std::ios::binary) << text << std::flush))
    throw std::system_error(errno, std::generic_category(), file.string());
  kept_[name] = text;
  return file.string();
}

std::string laboratory::given(const std::string& flag) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (arguments_[i] == flag && i + 1 < arguments_.size()) return arguments_[i + 1];
    if (arguments_[i].starts_with(flag + "=")) return arguments_[i].substr(flag.size() + 1);
  }
  return {};
}

int laboratory::execute(const std::vector<std::string>& words, const fs::path& out, const fs::path& errors,
                        double limit_s, bool& timed_out) const {
  std::vector<char*> argv{const_cast<char*>(binary_.c_str())};
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr mode_t readable = 0644;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   readable);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   readable);
  pid_t child = 0;
  std::vector<char*> surroundings = environment();
  const int failed = posix_spawn(&child, binary_.c_str(), &files, nullptr, argv.data(), surroundings.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), binary_);
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      timed_out = was_interrupted();  // a terminal's Ctrl-C reaches both
      return WIFEXITED(status) && !timed_out ? WEXITSTATUS(status) : -1;
    }
    const double so_far_s = seconds_since(begun);
    if (so_far_s > limit_s || was_interrupted()) {
      timed_out = true;
      stop(child);
      return -1;
    }
    // Its end is seen a fiftieth of its time late: most experiments take some hundredths of a second.
    constexpr double share = 1.0 / 50, least_s = 2e-4, most_s = 5e-3;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(so_far_s * share, least_s, most_s)));
  }
}

observation laboratory::run(const std::string& name, const changes& changed, double limit_s) {
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
  o.exit_code = execute(words, folder_ / "stdout", errors, limit, o.timed_out);
  o.wall_s = seconds_since(begun);
  o.errors = contents_of(errors);
  o.result = json_of(out / "result.json");
  o.deadlock = json_of(out / "deadlock.json");
  o.flight = json_of(out / "flight.json");
  o.health = measurements_of(out / "health.csv");
  o.loads = loads_of(contents_of(out / "links.csv"));
  return o;
}

std::string laboratory::ask(const std::vector<std::string>& arguments) {
  bool timed_out = false;
  const fs::path out = folder_ / "answer";
  execute(arguments, out, folder_ / "stderr", seconds_left(), timed_out);
  return contents_of(out);
}

}  // namespace diecast::diagnose
