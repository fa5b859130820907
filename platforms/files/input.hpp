// SPDX-License-Identifier: Apache-2.0
// Input files. Each is read once and whole, because a pipe gives its text only once.
// Every file that was read is remembered, so that no output replaces it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "models/types/error.hpp"

namespace diecast::platforms {

/// Limits of inputs. They keep an endless or hostile file from exhausting memory, stack or time; nothing that
/// Diecast can simulate comes near them.
namespace input_limits {
inline constexpr std::size_t file_mib = 256;  ///< limit of any file
inline constexpr std::size_t program_mib =
    64;  ///< limit of an MSCCL program; its tree takes 16 times as much
inline constexpr std::size_t line_bytes = 4096;         ///< limit of a line of a trace
inline constexpr std::size_t json_values = 20'000'000;  ///< limit of values in one JSON text
inline constexpr std::size_t json_levels = 64;          ///< limit of nested objects and arrays
inline constexpr std::size_t extends = 64;              ///< configs that extend one another
}  // namespace input_limits

/// Identifies the file of a name: two names of one file (links, ./ before it) have the same identity.
struct file_identity {
  std::uint64_t device{}, number{};
  [[nodiscard]] bool operator==(const file_identity&) const = default;
};

struct input_file {
  std::string reader;  ///< flag or key that named it first
  std::filesystem::path path;
  std::string text;                       ///< text without a byte-order mark
  std::string failure;                    ///< why it cannot be read: "a folder"; else empty
  std::optional<file_identity> identity;  ///< empty: no regular file, its text cannot be read again
};

/// The file of this name, read at the first call. The reference stays valid.
const input_file& read_input(const std::string& reader, const std::filesystem::path& path);

/// The text that read_input() gives for this name from now on, without opening anything.
void provide_input(const std::string& reader, const std::filesystem::path& path, std::string text);

/// Every file read until now.
[[nodiscard]] const std::deque<input_file>& inputs();

/// Forgets a file that this process has written itself, so that the next reader gets the new text.
void forget_inputs();

/// The input that writing to `output` would replace; null where there is none.
[[nodiscard]] const input_file* input_at(const std::filesystem::path& output);

/// The next line of `text` without its line end, which is removed from `text`.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// The error of a file that a flag or key named; `failure`: that of an input_file.
[[nodiscard]] problem cannot_be_read(const std::string& where, const std::filesystem::path& path,
                                     const std::string& failure, const std::string& expected);

}  // namespace diecast::platforms
