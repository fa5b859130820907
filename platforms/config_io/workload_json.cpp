// SPDX-License-Identifier: Apache-2.0
#include "platforms/config_io/workload_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/config/text.hpp"
#include "platforms/files/input.hpp"

namespace diecast::platforms {
namespace {

using comm::op_field;
using comm::op_schema;

class workload_reader {
 public:
  workload_reader(std::string file, std::span<const op_schema> kinds, std::vector<problem>& problems)
      : file_(std::move(file)), kinds_(kinds), problems_(problems) {}

  comm::workload read(const json_node& root) {
    comm::workload w;
    w.source = file_;
    const json_object* const members = object(root, "");
    if (members == nullptr) return w;
    bool streams = false;
    for (const auto& [name, node] : *members) {
      if (name == "groups") {
        read_groups(node, w);
      } else if (name == "streams") {
        streams = true;
        read_streams(node, w);
      } else {
        unknown(name, name, {"groups", "streams"});
      }
    }
    if (!streams) report("streams", "is missing", "", "a list of streams");
    return w;
  }

 private:
  [[nodiscard]] std::string at(const std::string& path) const {
    return path.empty() ? file_ : file_ + ": " + path;
  }
  void report(const std::string& path, std::string what, std::string value, std::string expected) {
    if (problems_.size() >= most_problems) return;
    problems_.push_back({at(path), std::move(what), std::move(value), std::move(expected)});
  }
  void wrong_type(const std::string& path, const json_node& node, std::string expected) {
    report(path, "wrong type", describe(node), std::move(expected));
  }
  void unknown(const std::string& path, const std::string& name, const std::vector<std::string>& known) {
    if (problems_.size() >= most_problems) return;
    report(path, config::with_nearest("unknown key", name, known), "", "one of " + config::join(known));
  }
  const json_object* object(const json_node& node, const std::string& path) {
    if (node.object() == nullptr) wrong_type(path, node, "an object");
    return node.object();
  }
  std::string text(const json_node& node, const std::string& path) {
    const std::string* const s = node.string();
    const auto control = [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; };
    if (s != nullptr && std::any_of(s->begin(), s->end(), control)) {
      report(path, "holds a line break or another control character", describe(node), "a name on one line");
    } else if (s != nullptr && !s->empty()) {
      return *s;
    } else if (s != nullptr) {
      report(path, "is empty", "\"\"", "a name");
    } else {
      wrong_type(path, node, "text");
    }
    return {};
  }
  std::optional<std::vector<std::uint64_t>> ranks(const json_node& node, const std::string& path);
  std::vector<std::string> texts(const json_node& node, const std::string& path);

  void read_groups(const json_node& node, comm::workload& w);
  void read_group(const std::string& name, const json_node& node, comm::workload& w);
  void read_streams(const json_node& node, comm::workload& w);
  void read_stream(const std::string& path, const json_node& node, comm::workload_stream& s);
  void read_on(const std::string& path, const json_node& node, comm::workload_stream& s);
  void read_ops(const std::string& path, const json_node& node, comm::workload_stream& s);
  void read_op(const std::string& path, const json_node& node, comm::workload_op& o);
  const op_schema* kind_of(const std::string& path, const json_object& members, comm::workload_op& o);
  void read_field(const std::string& path, const std::string& name, const json_node& node,
                  const op_schema& kind, comm::workload_op& o);

  std::string file_;
  std::span<const op_schema> kinds_;
  std::vector<problem>& problems_;
};

std::optional<std::vector<std::uint64_t>> workload_reader::ranks(const json_node& node,
                                                                 const std::string& path) {
  const json_array* const items = node.array();
  if (items == nullptr) {
    wrong_type(path, node, "a list of ranks");
    return std::nullopt;
  }
  std::vector<std::uint64_t> list;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const auto* const n = std::get_if<std::uint64_t>(&(*items)[i].value);
    if (n != nullptr) {
      list.push_back(*n);
    } else {
      wrong_type(fmt::format("{}[{}]", path, i), (*items)[i], "a rank: a whole number from 0");
      return std::nullopt;
    }
  }
  return list;
}

std::vector<std::string> workload_reader::texts(const json_node& node, const std::string& path) {
  std::vector<std::string> list;
  const json_array* const items = node.array();
  if (items == nullptr) {
    wrong_type(path, node, "a list of ids");
    return list;
  }
  for (std::size_t i = 0; i < items->size(); ++i)
    list.push_back(text((*items)[i], fmt::format("{}[{}]", path, i)));
  return list;
}

void workload_reader::read_groups(const json_node& node, comm::workload& w) {
  const json_object* const members = object(node, "groups");
  if (members == nullptr) return;
  for (const auto& [name, group] : *members) read_group(name, group, w);
}

void workload_reader::read_group(const std::string& name, const json_node& node, comm::workload& w) {
  const std::string path = "groups." + name;
  comm::workload_group g;
  g.where = at(path);
  g.name = name;
  const std::vector<std::string> sets{"pe", "cube", "sip"};
  const json_object* const members = object(node, path);
  if (members == nullptr) return;
  for (const auto& [key, value] : *members) {
    if (key == "list") {
      g.list = ranks(value, path + ".list");
      if (!g.list) return;
    } else if (key == "ranks") {
      const std::string set = text(value, path + ".ranks");
      if (set == "pe" || set == "cube" || set == "sip") {
        g.set = set == "pe" ? comm::rank_set::pe : set == "cube" ? comm::rank_set::cube : comm::rank_set::sip;
      } else if (!set.empty()) {
        report(path + ".ranks", config::with_nearest("no such rank set", set, sets), set, "pe, cube or sip");
      }
    } else {
      unknown(path + "." + key, key, {"ranks", "list"});
    }
  }
  w.groups.push_back(std::move(g));
}

void workload_reader::read_streams(const json_node& node, comm::workload& w) {
  const json_array* const items = node.array();
  if (items == nullptr) return wrong_type("streams", node, "a list of streams");
  for (std::size_t i = 0; i < items->size(); ++i) {
    comm::workload_stream s;
    s.name = fmt::format("stream{}", i);
    const std::string path = fmt::format("streams[{}]", i);
    s.where = at(path);
    read_stream(path, (*items)[i], s);
    w.streams.push_back(std::move(s));
  }
}

void workload_reader::read_stream(const std::string& path, const json_node& node, comm::workload_stream& s) {
  const json_object* const members = object(node, path);
  if (members == nullptr) return;
  bool on = false;
  const json_node* ops = nullptr;
  for (const auto& [name, value] : *members) {
    const std::string here = path + "." + name;
    if (name == "name") {
      s.name = text(value, here);
    } else if (name == "on") {
      on = true;
      read_on(here, value, s);
    } else if (name == "repeat") {
      const auto* const n = std::get_if<std::uint64_t>(&value.value);
      if (n != nullptr && *n >= 1 && *n <= comm::max_workload_repeats) {
        s.repeat = *n;
      } else {
        report(here, n == nullptr ? "wrong type" : "value out of range", describe(value),
               fmt::format("a whole number from 1 to {}", comm::max_workload_repeats));
      }
    } else if (name == "ops") {
      ops = &value;
    } else {
      unknown(here, name, {"name", "on", "repeat", "ops"});
    }
  }
  if (!on) report(path + ".on", "is missing", "", "the name of a group, or a list of ranks");
  if (ops == nullptr) return report(path + ".ops", "is missing", "", "a list of ops");
  read_ops(path + ".ops", *ops, s);
}

void workload_reader::read_on(const std::string& path, const json_node& node, comm::workload_stream& s) {
  if (node.array() != nullptr) {
    s.ranks = ranks(node, path);
  } else if (node.string() != nullptr) {
    s.on = text(node, path);
  } else {
    wrong_type(path, node, "the name of a group, or a list of ranks");
  }
}

void workload_reader::read_ops(const std::string& path, const json_node& node, comm::workload_stream& s) {
  const json_array* const items = node.array();
  if (items == nullptr) return wrong_type(path, node, "a list of ops");
  if (items->empty()) report(path, "is empty", "[]", "at least one op");
  for (std::size_t i = 0; i < items->size(); ++i) {
    comm::workload_op o;
    const std::string here = fmt::format("{}[{}]", path, i);
    o.where = at(here);
    o.id = fmt::format("{}.{}", s.name, i);
    read_op(here, (*items)[i], o);
    s.ops.push_back(std::move(o));
  }
}

const op_schema* workload_reader::kind_of(const std::string& path, const json_object& members,
                                          comm::workload_op& o) {
  std::vector<std::string> known;
  for (const op_schema& k : kinds_) known.push_back(k.name);
  for (const auto& [name, value] : members) {
    if (name != "op") continue;
    o.kind = text(value, path + ".op");
    if (o.kind.empty()) return nullptr;
    for (const op_schema& k : kinds_)
      if (k.name == o.kind) return &k;
    report(path + ".op", config::with_nearest("no such op", o.kind, known), o.kind,
           "one of " + config::join(known));
    return nullptr;
  }
  report(path + ".op", "is missing", "", "one of " + config::join(known));
  return nullptr;
}

void workload_reader::read_op(const std::string& path, const json_node& node, comm::workload_op& o) {
  const json_object* const members = object(node, path);
  if (members == nullptr) return;
  const op_schema* const kind = kind_of(path, *members, o);
  for (const auto& [name, value] : *members) {
    const std::string here = path + "." + name;
    if (name == "op") continue;
    if (name == "id") {
      o.id = text(value, here);
    } else if (name == "group") {
      o.group = text(value, here);
    } else if (name == "after") {
      o.after = texts(value, here);
    } else if (kind != nullptr) {
      read_field(here, name, value, *kind, o);
    }
  }
  if (kind == nullptr) return;
  for (const op_field& f : kind->fields) {
    if (o.has(f.name)) continue;
    const auto given = [&f](const auto& member) { return member.first == f.name; };
    if (std::any_of(members->begin(), members->end(), given)) continue;  // refused above
    if (f.otherwise) {
      o.fields.emplace(f.name, *f.otherwise);
    } else if (f.required) {
      report(path + "." + f.name, fmt::format("is missing: {} needs it", kind->name), "", expectation(f));
    }
  }
}

void workload_reader::read_field(const std::string& path, const std::string& name, const json_node& node,
                                 const op_schema& kind, comm::workload_op& o) {
  const auto f = std::ranges::find(kind.fields, name, &op_field::name);
  if (f == kind.fields.end()) {
    std::vector<std::string> known{"id", "op", "after", "group"};
    for (const op_field& field : kind.fields) known.push_back(field.name);
    return unknown(path, name, known);
  }
  const auto value = convert(*f, node);
  if (value && accepts(*f, *value)) {
    o.fields.emplace(name, *value);
  } else {
    report(path, rejection_of(*f, node), describe(node), expectation(*f));
  }
}

}  // namespace

comm::workload parse_workload(std::string_view text, const std::string& name,
                              std::span<const op_schema> kinds) {
  std::vector<problem> problems;
  comm::workload w;
  if (const auto root = read_json(text, name, problems)) {
    if (auto other = of_other_kind(*root, name, "a workload")) throw user_error(std::move(*other));
    w = workload_reader(name, kinds, problems).read(*root);
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return w;
}

namespace {

const std::string& contents(const std::string& path) {
  const input_file& file = read_input("--workload", path);
  if (!file.failure.empty())
    throw user_error(cannot_be_read("--workload", path, file.failure, "JSON or an MSCCL program"));
  if (file.text.empty())
    throw user_error(problem{"--workload", "is empty", path, "JSON or an MSCCL program"});
  return file.text;
}

}  // namespace

comm::workload load_workload(const std::string& path, std::span<const op_schema> kinds) {
  return parse_workload(contents(path), path, kinds);
}

bool is_program_file(const std::string& path) {
  const std::string& text = contents(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool plan =
      text.find("\"gpus\"") != std::string::npos && text.find("\"streams\"") == std::string::npos;
  return first != std::string::npos && (text[first] == '<' || plan);
}

namespace {

std::string text_of(const comm::op_value& value) {
  struct as_text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::uint64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<std::string>& v) const {
      return fmt::format("{}", fmt::join(v, ", "));
    }
    std::string operator()(const std::vector<std::uint64_t>& v) const {
      return fmt::format("{}", fmt::join(v, ", "));
    }
  };
  return std::visit(as_text{}, value);
}

std::string field_row(const op_field& f) {
  std::string value = expectation(f);
  std::replace(value.begin(), value.end(), '|', '/');
  const char* const none = f.required ? "required" : "";
  return fmt::format("| `{}` | {} | {} | {} |\n", f.name, value, f.otherwise ? text_of(*f.otherwise) : none,
                     f.description);
}

}  // namespace

std::string workload_markdown(std::span<const op_schema> kinds) {
  std::string text =
      "# Ops of workloads\n\nWhich operations may a workload contain? (Generated by `diecast-pod --doc "
      "workload`.) Every op has `op`, and may have `id`, `after` and `group` (docs/workloads.md); the fields "
      "of each kind follow.\n";
  for (const op_schema& k : kinds) {
    text += fmt::format("\n## {}\n\n{}\n", k.name, k.description);
    if (k.fields.empty()) continue;
    text += "\n| field | value | default | meaning |\n|---|---|---|---|\n";
    for (const op_field& f : k.fields) text += field_row(f);
  }
  return text;
}

}  // namespace diecast::platforms
