// SPDX-License-Identifier: Apache-2.0
#include "platforms/files/output_dir.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "models/checksum/sha256.hpp"
#include "platforms/files/input.hpp"

namespace diecast::platforms {

std::string visible(const std::string& text) {
  std::string made;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    made += code >= 0x20 || c == '\n' || c == '\t' ? std::string(1, c) : fmt::format("\\x{:02x}", code);
  }
  return made;
}

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free number, this one. For reading, so that writing still fails.
    (void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit (ulimit -f) is an error of its write
}

void warn(const std::string& line) { print_to(stderr, visible(line) + '\n'); }

void print_to(std::FILE* to, const std::string& text) { (void)std::fwrite(text.data(), 1, text.size(), to); }

namespace {

std::string reason() {
  return errno == 0 ? "" : fmt::format(" ({})", std::generic_category().message(errno));
}

}  // namespace

output_error not_written(const std::string& what) {
  return output_error(fmt::format("{}: cannot be written{}", what, reason()));
}

output_error not_finished(const std::string& what) {
  return output_error(fmt::format("{}: writing failed{}; the file is incomplete", what, reason()));
}

namespace fs = std::filesystem;

void write_whole_file(const fs::path& target, const std::string& text, const std::string& name,
                      const std::function<void()>& last) {
  std::error_code none;
  const fs::file_status there = fs::status(target, none);
  const bool staged = !fs::exists(there) || fs::is_regular_file(there);
  const fs::path canonical = fs::canonical(target, none);
  const fs::path& end = none ? target : canonical;  // a link stays one
  constexpr std::size_t longest = 240;              // the temporary name is no longer than a name may be
  const fs::path beside = end.parent_path() / (end.filename().string().substr(0, longest) + ".partial");
  const fs::path written = staged ? beside : target;
  const auto drop = [&] { return staged && fs::remove(written, none); };
  errno = 0;
  std::ofstream file(written, std::ios::binary);
  file << text;
  file.close();
  try {
    if (file && last) last();
  } catch (const output_error&) {
    drop();
    throw;
  }
  if (file && (!staged || std::rename(written.c_str(), end.c_str()) == 0)) return;
  const output_error failure = not_written(name.empty() ? target.string() : name);
  drop();
  throw failure;
}

namespace {

/// The beginning of a file; blanks in JSON do not count.
struct beginning {
  std::string_view name;
  std::string_view text;
};
constexpr std::string_view json_head = "{\"schema\":\"diecast.";
constexpr std::array named{
    beginning{"config.json", {}},
    beginning{"result.json", json_head},
    beginning{"deadlock.json", json_head},
    beginning{"flight.json", json_head},
    beginning{"critical_path.json", json_head},
    beginning{"diagnosis.json", json_head},
    beginning{"diagnosis_job.json", job_head},
    beginning{"diagnosis.txt", "Diagnosis: "},
    beginning{"links.csv", "run,link,bytes,packets,busy_fraction"},
    beginning{"ipcq.csv", "run,pe,direction,sends,bytes,received,"},
    beginning{"waits.csv", "run,pe,data_ns,credit_ns,"},
    beginning{"health.csv", "run,measure,where,value,expected,unit"},
    beginning{"hbm.csv", "run,channel,reads,writes,activates,"},
    beginning{"report.html",
              "<!doctype html><html lang=en><head><meta charset=utf-8><title>Diecast report</title>"},
};
constexpr std::array anywhere{vcd_head, timeline_head, record_head};
constexpr std::string_view partial = ".partial";

/// "deadlock_3.json" is the deadlock.json of one run of several.
std::string without_number(const std::string& name) {
  const std::size_t dot = name.rfind('.'), bar = name.rfind('_', dot);
  if (dot == std::string::npos || bar == std::string::npos || bar + 1 == dot) return name;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1,
                                  name.begin() + static_cast<std::ptrdiff_t>(dot), digit);
  const std::string whole = name.substr(0, bar) + name.substr(dot);
  for (const char* const of_a_run :
       {"deadlock.json", "flight.json", "critical_path.json", "diagnosis_job.json"})
    if (number && whole == of_a_run) return whole;
  return name;
}

const beginning* beginning_of(std::string name) {
  while (name.ends_with(partial)) name.resize(name.size() - partial.size());
  name = without_number(name);
  const auto* const found = std::ranges::find(named, name, &beginning::name);
  return found == named.end() ? nullptr : found;
}

std::string text_of(const fs::path& file, std::size_t most = std::string::npos) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in && errno == EMFILE) throw resource_error(file.string() + ": " + std::strerror(errno));
  if (most == std::string::npos) return {std::istreambuf_iterator<char>(in), {}};
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// A partly written file may have only a part of the beginning.
bool begins(std::string_view text, std::string_view head, bool half) {
  return text.starts_with(head) || (half && head.starts_with(text));
}

/// A killed run may have left the .partial alone.
bool is_own_config(const fs::path& file) {
  for (const char* const owner :
       {"result.json", "result.json.partial", "diagnosis.json", "diagnosis.json.partial"}) {
    constexpr std::size_t top = 1000;
    const std::string beside = text_of(file.parent_path() / owner, top);
    const std::string_view key = "\"config_sha256\": \"";
    const std::size_t at = beside.find(key);
    if (at != std::string::npos && is_own(file.parent_path() / owner) &&
        beside.substr(at + key.size()).starts_with(checksum::sha256_hex(text_of(file))))
      return true;
  }
  return false;
}

/// Whether a run gives this name to a file of --out.
bool has_own_name(const fs::path& file) { return beginning_of(file.filename().string()) != nullptr; }

}  // namespace

bool is_own(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(file, none))) return false;
  constexpr std::size_t longest = 200;
  std::string text = text_of(file, longest);
  const auto starts = [&text](std::string_view head) { return text.starts_with(head); };
  if (std::ranges::any_of(anywhere, starts)) return true;
  const std::string name = file.filename().string();
  const beginning* const own = beginning_of(name);
  if (own == nullptr) return false;
  const bool half = name.ends_with(partial);
  if (own->name == "config.json" && !half) return is_own_config(file);
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  if (text.starts_with('{')) text.erase(std::remove_if(text.begin(), text.end(), blank), text.end());
  return begins(text, own->name == "config.json" ? "{\"sim\":{\"fidelity\":" : own->text, half);
}

constexpr const char* config_name = "config.json";

output_dir::output_dir(fs::path path, std::string config, const std::vector<fs::path>& named,
                       const std::function<void()>& claim)
    : path_(std::move(path)), config_(std::move(config)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_, error))
    throw output_error(fmt::format("--out {}: cannot create this directory ({})", path_.string(),
                                   error ? error.message() : "it exists and is not a directory"));
  lock();
  const std::vector<fs::path> earlier = earlier_files(named);
  if (claim) claim();
  remove_all(earlier);
  const fs::path any = path_ / "result.json", proof = path_ / "result.json.partial";
  write_whole_file(proof, "", any.string());
  fs::remove(proof, error);
}

std::vector<fs::path> output_dir::earlier_files(const std::vector<fs::path>& named) const {
  std::error_code error;
  fs::directory_iterator entries(path_, error);
  if (error)
    throw output_error(fmt::format("--out {}: cannot be read ({})", path_.string(), error.message()));
  for (const fs::path& n : named)
    if (!n.empty() && has_own_name(n) &&
        fs::equivalent(n.parent_path().empty() ? "." : n.parent_path(), path_, error))
      throw output_error(
          fmt::format("--out {}: {} has the name of a file of the run itself; expected another",
                      path_.string(), n.string()));
  const auto is_named = [&](const fs::path& file) {
    return std::ranges::any_of(named, [&](const fs::path& n) { return fs::equivalent(file, n, error); });
  };
  std::vector<fs::path> earlier;
  std::vector<problem> inputs;
  std::string foreign;
  for (const auto& entry : entries) {
    const fs::path& file = entry.path();
    if (is_named(file)) continue;
    const input_file* const input = input_at(file);
    const bool again = input != nullptr && file.filename() == config_name && input->text == config_;
    if (input != nullptr && has_own_name(file) && !again) {
      inputs.push_back({"--out", fmt::format("would overwrite what {} reads", input->reader), file.string(),
                        "another directory"});
    } else if (!again && !is_own(file)) {
      foreign = file.filename().string();
    } else if (input == nullptr) {
      earlier.push_back(file);
    }
  }
  if (!inputs.empty()) throw user_error(std::move(inputs));
  if (!foreign.empty())
    throw output_error(
        fmt::format("--out {}: holds {}, which Diecast did not write or which was changed since; expected "
                    "an empty directory or one of an earlier run",
                    path_.string(), foreign));
  return earlier;
}

/// All or none: each is renamed first, which needs the same permissions as its removal and can be undone. The
/// status is the first to lose its name and the last to go: a folder that a killed run leaves looks
/// incomplete, and its config is known as the run's.
void output_dir::remove_all(const std::vector<fs::path>& files) const {
  std::vector<std::pair<fs::path, fs::path>> renamed;
  std::error_code error, none;
  std::vector<fs::path> order = files;
  std::stable_partition(order.begin(), order.end(), [](const fs::path& f) {
    return f.filename() == "result.json" || f.filename() == "diagnosis.json";
  });
  for (const fs::path& file : order) {
    const std::string name =
        has_own_name(file) ? file.filename().string() : fmt::format("file{}", renamed.size());
    const fs::path aside = path_ / (name + (name.ends_with(".partial") ? "" : ".partial"));
    fs::rename(file, aside, error);
    if (error) {
      for (const auto& [from, to] : renamed) fs::rename(to, from, none);
      throw output_error(fmt::format("--out {}: the file of an earlier run cannot be removed ({})",
                                     file.string(), error.message()));
    }
    renamed.emplace_back(file, aside);
  }
  for (auto r = renamed.rbegin(); r != renamed.rend(); ++r) fs::remove(r->second, none);
}

output_dir::descriptor::~descriptor() {
  if (fd >= 0) close(fd);
}

void output_dir::lock() {
  lock_.fd = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that cannot be read is refused below; a file system without locks is no reason not to run.
  if (lock_.fd < 0 || flock(lock_.fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw output_error(
      fmt::format("--out {}: another run is writing there; expected a directory for each", path_.string()));
}

void output_dir::write(const std::string& name, const std::string& text) const {
  write_whole_file(path_ / name, text);
}

void output_dir::complete(const std::string& name, const std::string& text) const {
  std::error_code none;
  const bool was_read = fs::exists(path_ / config_name, none);
  try {
    // The config is known as the run's by the status or its .partial beside it, so that files
    // of a killed run are not taken for a user's.
    write_whole_file(path_ / name, text, {}, [this] { write(config_name, config_); });
  } catch (const output_error&) {
    if (!was_read) fs::remove(path_ / config_name, none);
    throw;
  }
}

std::string part_of_file(const std::string& file, std::uint32_t process) {
  std::filesystem::path part = file;
  const std::string extension = part.extension().string();
  part.replace_extension(fmt::format(".process{}{}", process, extension));
  return process == 0 || file.empty() ? file : part.string();
}

}  // namespace diecast::platforms
