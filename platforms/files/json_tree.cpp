// SPDX-License-Identifier: Apache-2.0
#include "platforms/files/json_tree.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "models/config/field.hpp"
#include "models/config/text.hpp"
#include "platforms/files/input.hpp"

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
  for (const auto& member : members) {
    const std::string* const schema = member.first == "schema" ? member.second.string() : nullptr;
    const auto marks = [&](const document_kind& k) {
      return member.first == k.mark ||
             (schema != nullptr && std::string_view(k.mark).ends_with('/') && schema->starts_with(k.mark));
    };
    const auto found = std::ranges::find_if(document_kinds, marks);
    if (found != document_kinds.end()) return &*found;
  }
  const auto block = [](const auto& member) { return config::find_block(member.first) != nullptr; };
  return std::ranges::any_of(members, block) ? &config_document : nullptr;
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

namespace {

std::string place_of(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

/// "[json.exception...] parse error at line 1, column 2: WHY" -> "WHY"
std::string reason(const std::string& what) {
  constexpr std::size_t longest = 200;  // characters of a message, which may quote a number of any length
  for (const char* const mark : {": syntax error while parsing ", "] "}) {
    const std::size_t at = what.find(mark);
    if (at != std::string::npos) return what.substr(at + std::strlen(mark), longest);
  }
  return what;
}

class tree_builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  tree_builder(std::string_view text, const std::string& file, std::vector<problem>& problems)
      : text_(text), file_(file), problems_(problems) {}

  bool null() override { return put({nullptr}); }
  bool boolean(bool b) override { return put({b}); }
  bool number_unsigned(std::uint64_t n) override { return put({n}); }
  bool number_integer(std::int64_t n) override {
    if (n >= 0) return put({static_cast<std::uint64_t>(n)});
    return put({n});
  }
  bool number_float(double x, const std::string& written) override { return put({json_real{x, written}}); }
  bool string(std::string& s) override { return put({std::move(s)}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open({json_object{}}); }
  bool start_array(std::size_t) override { return open({json_array{}}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    frame& top = stack_.back();
    top.key = std::move(name);
    if (!top.keys.insert(top.key).second && problems_.size() < most_problems)
      problems_.push_back({file_ + ": " + path(), "duplicate key", "", "each key once"});
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    // Byte order: a text that ends too early has no last token worth showing.
    std::string shown = token.size() > 40 ? token.substr(token.size() - 40) : token;
    std::erase_if(shown, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
    problems_.push_back({fmt::format("{}: {}", file_, place_of(text_, position)),
                         "broken JSON: " + reason(error.what()), shown, "JSON (comments are allowed)"});
    return false;
  }

  [[nodiscard]] std::optional<json_node> take() {
    if (!done_) return std::nullopt;
    return std::move(root_);
  }

 private:
  struct frame {
    json_node node;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  [[nodiscard]] std::string path() const {
    std::string text;
    for (const frame& f : stack_) {
      if (const json_array* items = f.node.array()) {
        text += fmt::format("[{}]", items->size());
      } else {
        text += (text.empty() ? "" : ".") + f.key;
      }
    }
    return text;
  }

  bool put(json_node node) {
    if (++values_ > input_limits::json_values) {
      problems_.push_back(
          {file_, "too many values", "", fmt::format("at most {}", input_limits::json_values)});
      return false;
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      done_ = true;
      return true;
    }
    frame& top = stack_.back();
    if (auto* items = std::get_if<json_array>(&top.node.value)) {
      items->push_back(std::move(node));
    } else {
      std::get<json_object>(top.node.value).emplace_back(top.key, std::move(node));
    }
    return true;
  }

  bool open(json_node node) {
    if (stack_.size() == input_limits::json_levels) {
      problems_.push_back(
          {file_ + ": " + path(), "nested too deeply", "",
           fmt::format("at most {} levels of objects and arrays", input_limits::json_levels)});
      return false;
    }
    stack_.push_back({std::move(node), {}, {}});
    return true;
  }

  bool close() {
    json_node node = std::move(stack_.back().node);
    stack_.pop_back();
    return put(std::move(node));
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<problem>& problems_;
  std::vector<frame> stack_;
  json_node root_;
  std::size_t values_{};
  bool done_{false};
};

nlohmann::ordered_json to_library(const json_node& node);

struct library_value {
  nlohmann::ordered_json operator()(const json_real& x) const { return x.value; }
  nlohmann::ordered_json operator()(const json_array& items) const {
    auto result = nlohmann::ordered_json::array();
    for (const json_node& item : items) result.push_back(to_library(item));
    return result;
  }
  nlohmann::ordered_json operator()(const json_object& members) const {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [key, member] : members) result[key] = to_library(member);
    return result;
  }
  template <class Plain>
  nlohmann::ordered_json operator()(const Plain& plain) const {
    return plain;
  }
};

nlohmann::ordered_json to_library(const json_node& node) { return std::visit(library_value{}, node.value); }

}  // namespace

std::optional<bool> json_node::flag() const {
  const auto* const b = std::get_if<bool>(&value);
  return b == nullptr ? std::nullopt : std::optional(*b);
}

std::optional<std::uint64_t> json_node::count() const {
  const auto* const n = std::get_if<std::uint64_t>(&value);
  return n == nullptr ? std::nullopt : std::optional(*n);
}

std::optional<double> json_node::real() const {
  if (const auto n = count()) return static_cast<double>(*n);
  if (const auto* const i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* const x = std::get_if<json_real>(&value)) return x->value;
  return std::nullopt;
}

const json_node* json_node::member(std::string_view name) const {
  if (object() == nullptr) return nullptr;
  const auto at = std::ranges::find(*object(), name, &json_object::value_type::first);
  return at == object()->end() ? nullptr : &at->second;
}

void json_checker::report(const std::string& path, std::string what, std::string value,
                          std::string expected) {
  if (problems_.size() >= most_problems) return;
  problems_.push_back({at(path), std::move(what), std::move(value), std::move(expected)});
}

void json_checker::wrong_type(const std::string& path, const json_node& node, std::string expected) {
  report(path, "wrong type", describe(node), std::move(expected));
}

void json_checker::unknown(const std::string& path, const std::string& name,
                           const std::vector<std::string>& known) {
  if (problems_.size() >= most_problems) return;
  report(path, config::with_nearest("unknown key", name, known), "", "one of " + config::join(known));
}

std::string describe(const json_node& node) {
  if (const auto* x = std::get_if<json_real>(&node.value)) return x->written;
  constexpr std::size_t most = 60;
  std::string text = to_library(node).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

std::optional<json_node> read_json(std::string_view text, const std::string& file,
                                   std::vector<problem>& problems) {
  tree_builder builder(text, file, problems);
  constexpr bool whole_input = true;
  constexpr bool comments = true;
  const bool ok = nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                                            nlohmann::json::input_format_t::json, whole_input, comments);
  if (ok) return builder.take();
  if (auto other = of_other_kind(text, file)) problems.back() = std::move(*other);
  return std::nullopt;
}

std::optional<json_node> read_json_file(const std::filesystem::path& path, std::vector<problem>& problems) {
  const input_file& file = read_input("--config", path);
  if (file.failure.empty()) return read_json(file.text, path.string(), problems);
  problems.push_back({path.string(), "cannot be read: " + file.failure, "", "a JSON file"});
  return std::nullopt;
}

bool is_json_text(const std::string& text) {
  try {
    (void)nlohmann::ordered_json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace diecast::platforms
