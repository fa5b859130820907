// SPDX-License-Identifier: Apache-2.0
// Outputs: the directory of --out, claimed before the simulation and written file by file, the status last;
// files written whole; own files, recognized by content; standard streams.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/types/error.hpp"

namespace diecast::platforms {

// Standard input, output and error as a program finds them: perhaps closed, full, or a pipe nobody reads.

/// Opens /dev/null on each of the descriptors 0 to 2 that is closed, so that no file of the run gets its
/// number and with it what is printed. Writing to a standard output that was closed still fails. A pipe that
/// nobody reads, and a file that reaches its limit, becomes an error of the write, no end of the program. To
/// be called before any file is opened.
void hold_standard_streams();

/// Shows control characters other than line ends and tabs as \x1b, so that texts of inputs and names cannot
/// control a terminal.
[[nodiscard]] std::string visible(const std::string& text);
/// Writes a line to standard error. What cannot be written there is lost.
void warn(const std::string& line);
/// Writes `text` as it is; what cannot be written is lost.
void print_to(std::FILE* to, const std::string& text);

// Errors of files that could not be written.

/// "WHAT: cannot be written (reason)". The reason is errno's, which the caller has set to 0 before it tried.
[[nodiscard]] output_error not_written(const std::string& what);

/// The error about a file that was opened and could not be written to its end.
[[nodiscard]] output_error not_finished(const std::string& what);

/// Throws output_error for anything that cannot be written.
class output_dir {
 public:
  /// Creates the directory, refuses one with files that are not Diecast's or in which another run writes,
  /// removes what an earlier run left, and proves that a file can be created in it. `named` are files that
  /// the same command line writes (a waveform, a timeline, a record): they may lie in the directory, under
  /// names that are not the run's own. Inputs of the run stay: one whose name the run needs is a user_error,
  /// but for a config.json with the text `config`, which is written again. `claim` is called when nothing
  /// speaks against the directory and nothing is removed yet: what it throws costs no earlier result.
  explicit output_dir(std::filesystem::path path, std::string config,
                      const std::vector<std::filesystem::path>& named = {},
                      const std::function<void()>& claim = {});
  output_dir(const output_dir&) = delete;
  output_dir& operator=(const output_dir&) = delete;

  /// As write_whole_file does.
  void write(const std::string& name, const std::string& text) const;
  /// Writes config.json and, as the last file, the one that holds the status of the run: where it is missing,
  /// the directory is not complete.
  void complete(const std::string& name, const std::string& text) const;

 private:
  /// Two runs at the same time would mix their files.
  void lock();
  /// Files that an earlier run left. Throws if the directory holds any other file.
  [[nodiscard]] std::vector<std::filesystem::path> earlier_files(
      const std::vector<std::filesystem::path>& named) const;
  void remove_all(const std::vector<std::filesystem::path>& files) const;

  /// A descriptor that is closed with its owner, also when the owner's constructor throws after opening it.
  struct descriptor {
    int fd{-1};
    descriptor() = default;
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();
  };

  std::filesystem::path path_;
  std::string config_;
  descriptor lock_;
};

// Whether Diecast wrote a file: decided by its contents, because a user's file may have any name.

inline constexpr std::string_view vcd_head = "$version Diecast $end\n";
inline constexpr std::string_view timeline_head =
    R"({"displayTimeUnit":"ns","otherData":{"version":"Diecast"},"traceEvents":[)";
inline constexpr std::string_view record_head = "diecast.record/1\n";
inline constexpr std::string_view job_head = "// A job of Diecast's --diagnose\n";

/// Whether Diecast wrote this file: a file of --out, of --vcd, --timeline or --record, or the beginning of
/// one (NAME.partial). A config.json is one when result.json or diagnosis.json beside it has its checksum:
/// one edited since is the user's. False for links and folders.
[[nodiscard]] bool is_own(const std::filesystem::path& file);

// Files that are written completely or not at all.

/// Writes to a temporary name beside it and renames, so that no reader ever sees half a file; a device or a
/// pipe is written to directly. Throws output_error with `name` (empty: the target) and the system's reason;
/// the old file is then unchanged. `last` is called when all of it is written, before the rename.
void write_whole_file(const std::filesystem::path& target, const std::string& text,
                      const std::string& name = {}, const std::function<void()>& last = {});

/// The file that a process of several writes instead of `file`; process 0 writes `file` itself.
[[nodiscard]] std::string part_of_file(const std::string& file, std::uint32_t process);

}  // namespace diecast::platforms
