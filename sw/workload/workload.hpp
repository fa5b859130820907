// SPDX-License-Identifier: Apache-2.0
// A workload: streams of ops on groups of PEs. The contents of a file (`workload`), and what follows from
// them before the run (`resolved_workload`): members, dependencies, chains.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/comm/patterns.hpp"
#include "models/types/error.hpp"
#include "models/types/ids.hpp"

namespace diecast::comm {

enum class op_field_type : std::uint8_t {
  flag,           ///< true or false: bool
  count,          ///< a whole number: std::uint64_t
  size,           ///< bytes, as a number or as text with a suffix ("64KiB"): std::uint64_t
  real,           ///< a number: double
  word,           ///< text, one of `choices` if there are any: std::string
  count_or_word,  ///< a whole number, or one of `choices` ("ANY"): std::uint64_t or std::string
  words,          ///< a list of texts: std::vector<std::string>
  counts          ///< a list of whole numbers: std::vector<std::uint64_t>
};
using op_value = std::variant<bool, std::uint64_t, double, std::string, std::vector<std::string>,
                              std::vector<std::uint64_t>>;

/// A field of an op in the file, beside those that all ops have (id, op, after, group).
struct op_field {
  std::string name;
  op_field_type type{};
  std::string description{};  ///< description of the field, with the unit
  bool required{};
  double least{0}, most{1e15};          ///< numbers and elements of lists, inclusive
  std::vector<std::string> choices{};   ///< word and count_or_word
  std::optional<op_value> otherwise{};  ///< value when the field is not given; empty: has none
};

/// Fields of a type in the ranges most have: a number within limits, a word of some.
[[nodiscard]] inline op_field number_field(std::string name, op_field_type type, std::string description,
                                           double most, double least = 0,
                                           std::optional<op_value> otherwise = {}) {
  return {std::move(name), type, std::move(description), false, least, most, {}, std::move(otherwise)};
}
[[nodiscard]] inline op_field word_field(std::string name, std::string description,
                                         std::vector<std::string> choices,
                                         std::optional<op_value> otherwise = {}) {
  op_field f{std::move(name), op_field_type::word, std::move(description)};
  f.choices = std::move(choices);
  f.otherwise = std::move(otherwise);
  return f;
}
[[nodiscard]] inline op_field required(op_field f) {
  f.required = true;
  return f;
}

/// A kind of op for the reader of files.
struct op_schema {
  std::string name;  ///< value of "op"
  std::string description;
  std::vector<op_field> fields;
};

struct workload_op {
  std::string where;  ///< "file.json: streams[0].ops[2]", for messages
  std::string id;     ///< the given one, or STREAM.N
  std::string kind;
  std::string group;  ///< empty: the stream's
  std::optional<std::vector<std::string>> after;
  std::map<std::string, op_value> fields;  ///< given ones and defaults

  [[nodiscard]] bool has(const std::string& field) const { return fields.contains(field); }
  /// Precondition: has(field), and T is what the field's type says.
  template <class T>
  [[nodiscard]] const T& get(const std::string& field) const {
    return std::get<T>(fields.at(field));
  }
};

/// Members: those of the machine's ranks of one set that `list` names; all of them without a list.
struct workload_group {
  std::string where;
  std::string name;
  rank_set set{rank_set::pe};
  std::optional<std::vector<std::uint64_t>> list;
  /// The members themselves, when they are not those that stand for the machine's ranks: a shard's holders
  /// (models/comm/mappers.hpp). Files cannot set it.
  std::vector<pe_coord> holders{};
};

struct workload_stream {
  std::string where;
  std::string name;
  std::string on;                                   ///< a group's name; empty: `ranks`
  std::optional<std::vector<std::uint64_t>> ranks;  ///< rank of each PE
  std::uint64_t repeat{1};
  std::vector<workload_op> ops;
};

struct workload {
  std::string source;  ///< file name
  std::vector<workload_group> groups;
  std::vector<workload_stream> streams;
};

/// An op among all ops of the file, in order of streams and ops.
struct resolved_op {
  const workload_op* op{};
  std::uint32_t stream{};
  std::uint32_t chain{};
  group members;
  std::string group_name;  ///< name for reports: equal names mean equal members in equal order
  /// Ops that must have ended on the same PE: those of `after`, else the one before in the stream.
  std::vector<std::uint32_t> after;
  std::vector<std::uint32_t> followers;  ///< ops with this one in their `after`
};

/// Ops of one stream that never run at the same time on a PE, in the order in which they run. A chain is a
/// task of the PE; it has TCM and queue pairs of its own, which its ops use one after the other.
struct chain {
  std::uint32_t stream{};
  std::vector<std::uint32_t> ops;
};

struct resolved_stream {
  const workload_stream* stream{};
  group members;  ///< the PEs that run it
  std::vector<std::uint32_t> ops;
  std::vector<std::uint32_t> chains;
};

struct resolved_workload {
  std::vector<resolved_stream> streams;
  std::vector<resolved_op> ops;
  std::vector<chain> chains;
  std::vector<pe_coord> participants;  ///< PEs that run any stream, sorted
  /// By op: the ops that have ended on a PE, in the same iteration, when this one starts there.
  std::vector<std::vector<bool>> before;
  /// Whether the two can run at one time on a PE.
  [[nodiscard]] bool may_overlap(std::uint32_t a, std::uint32_t b) const {
    return a != b && !before[a][b] && !before[b][a];
  }
};

inline constexpr std::size_t max_workload_ops = 4096;
inline constexpr std::uint64_t max_workload_repeats = 1'000'000;  ///< most repeats of a stream
inline constexpr std::uint64_t max_op_messages = 65'536;          ///< messages of one op at a rank
inline constexpr std::uint64_t max_message_ranks = 65'536;  ///< most ranks of a group whose ops are messages

/// Throws user_error with everything that makes the workload impossible on this machine: unknown groups and
/// ranks, ranks named twice, ids named twice or unknown, cycles in `after`, a dependency on an op that not
/// all PEs concerned run, an op whose group has members that do not run its stream. `w` must outlive the
/// result.
///
/// A PE of a stream that is not in an op's group passes over the op: for it the op has ended when those
/// before it have. With `repeat`, an iteration starts on a PE when its iteration before has ended there;
/// dependencies between streams join iterations of equal number.
[[nodiscard]] resolved_workload resolve(const workload& w, const config::population& machine);

}  // namespace diecast::comm
