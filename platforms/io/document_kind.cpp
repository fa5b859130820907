// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/document_kind.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "models/config/field.hpp"

namespace diecast::platforms {
namespace {

struct document_kind {
  const char* mark;  ///< a key of the document; with a slash the beginning of its schema
  const char* name;
  const char* reader;
};
constexpr std::array document_kinds{
    document_kind{"diecast.sweep/", "a sweep", "scripts/sweep runs it"},
    document_kind{"diecast.suite/", "a suite", "scripts/regress runs it"},
    document_kind{"diecast.result/", "a result", "config.json beside it is the config of the run"},
    document_kind{"streams", "a workload", "--workload runs it"},
    document_kind{"gpus", "an MSCCL++ plan", "--workload runs it"},
    document_kind{"traceEvents", "a timeline", "Perfetto shows it"},
    document_kind{"workload_graph", "a Chakra trace", "scripts/chakra2workload makes a workload of it"}};
constexpr const document_kind& chakra_trace = document_kinds.back();
constexpr document_kind goal_schedule{"", "a GOAL schedule", "scripts/goal2workload makes a workload of it"};
constexpr document_kind msccl_program{"", "an MSCCL program", "--workload runs it"};
constexpr document_kind config_document{"", "a config", "--config reads it"};

const document_kind* kind_of_document(const json_object& members) {
  for (const auto& [key, value] : members) {
    const bool schema = key == "schema" && value.string() != nullptr;
    const auto marks = [&](const document_kind& k) {
      return key == k.mark ||
             (schema && std::string_view(k.mark).ends_with('/') && value.string()->starts_with(k.mark));
    };
    const auto found = std::find_if(document_kinds.begin(), document_kinds.end(), marks);
    if (found != document_kinds.end()) return &*found;
  }
  const auto block = [](const auto& member) { return config::find_block(member.first) != nullptr; };
  return std::any_of(members.begin(), members.end(), block) ? &config_document : nullptr;
}

problem as_other(const std::string& file, const document_kind& k, const char* wanted) {
  return {file, fmt::format("is {}", k.name), "", fmt::format("{}; {}", wanted, k.reader)};
}

}  // namespace

std::optional<problem> of_other_kind(const json_node& root, const std::string& file, const char* wanted) {
  const document_kind* const kind = root.object() == nullptr ? nullptr : kind_of_document(*root.object());
  if (kind == nullptr || std::string_view(kind->name) == wanted) return std::nullopt;
  return as_other(file, *kind, wanted);
}

std::optional<problem> of_other_kind(std::string_view text, const std::string& file) {
  const document_kind* kind = nullptr;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '<') kind = &msccl_program;
  if (text.starts_with("num_ranks ") || text.find("\nnum_ranks ") != text.npos) kind = &goal_schedule;
  // A trace is a JSON text per node, or binary.
  if (file.ends_with(".et") || text.find("_COLL_NODE\"") != text.npos ||
      text.find("\"COMP_NODE\"") != text.npos)
    kind = &chakra_trace;
  if (kind == nullptr) return std::nullopt;
  return as_other(file, *kind, "JSON");
}

}  // namespace diecast::platforms
