// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/files/input.hpp"
#include "platforms/files/json_tree.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {

namespace {

using platforms::json_node;
using traffic::transaction;
using traffic::transaction_op;

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

/// Reads the fields of one line within their ranges. Problems are collected; a wrong value stays empty.
class line_fields {
 public:
  line_fields(const json_node& fields, std::string where, std::vector<problem>& problems)
      : fields_(fields), where_(std::move(where)), problems_(problems) {
    constexpr std::array<std::string_view, 8> known{"core",  "network", "op",    "target",
                                                    "bytes", "at",      "after", "until"};
    for (const auto& [name, value] : *fields_.object())
      if (std::ranges::find(known, name) == known.end())
        refuse("unknown key", name, "core, network, op, target, bytes, at, after or until");
  }
  [[nodiscard]] const json_node* find(std::string_view name) const { return fields_.member(name); }
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t least, std::uint64_t most) {
    const json_node* const node = find(name);
    if (node == nullptr) return {};
    const auto value = node->count();
    if (value && *value >= least && *value <= most) return *value;
    refuse(fmt::format("\"{}\" is no number in range", name), describe(*node),
           fmt::format("{} to {}", least, most));
    return {};
  }
  std::optional<std::uint32_t> node(std::string_view name, const config::noc_block& noc) {
    const json_node* const tile = find(name);
    const auto* const at = tile == nullptr ? nullptr : tile->array();
    if (at != nullptr && at->size() == 2) {
      const auto column = at->front().count(), row = at->back().count();
      if (column && row && *column < noc.columns && *row < noc.rows)
        return static_cast<std::uint32_t>(*row * noc.columns + *column);
    }
    refuse(fmt::format("\"{}\" is no tile of the network", name),
           tile == nullptr ? "nothing" : describe(*tile),
           fmt::format("[COLUMN, ROW], [0, 0] to [{}, {}]", noc.columns - 1, noc.rows - 1));
    return {};
  }
  std::optional<transaction_op> op() {
    const json_node* const node = find("op");
    for (unsigned k = 0; k < traffic::transaction_ops; ++k) {
      const auto op = static_cast<transaction_op>(k);
      if (node != nullptr && node->string() != nullptr && *node->string() == to_string(op)) return op;
    }
    refuse("no such operation", node == nullptr ? "nothing" : describe(*node),
           "\"op\": read, write, posted_write, atomic or barrier");
    return {};
  }
  void refuse(const std::string& what, const std::string& value, const std::string& expected) {
    if (problems_.size() < most_problems) problems_.push_back({where_, what, value, expected});
  }

 private:
  const json_node& fields_;
  std::string where_;
  std::vector<problem>& problems_;
};

class transaction_reader {
 public:
  transaction_reader(const std::filesystem::path& file, const config::noc_block& noc) : noc_(noc) {
    plan_.file = file.string();
  }

  void line(std::string_view text) {
    const std::string where = fmt::format("{}:{}", plan_.file, ++number_);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos || problems_.size() >= most_problems)
      return;
    const auto tree = platforms::read_json(text, where, problems_);
    if (!tree) return;
    if (tree->object() == nullptr) {
      problems_.push_back(
          {where, "is no object", describe(*tree), "{\"core\": [0, 0], \"op\": \"read\", ...}"});
      return;
    }
    line_fields fields(*tree, where, problems_);
    take(fields);
  }

  traffic::transaction_plan finish() {
    if (problems_.empty() && plan_.streams.empty())
      problems_.push_back({plan_.file, "holds no transaction", "", "a JSON object per line"});
    if (!problems_.empty()) throw user_error(problems_);
    return std::move(plan_);
  }

 private:
  struct stream_state {
    std::size_t index{};
    std::optional<std::uint64_t> recorded_end;  ///< recorded end of the previous operation
  };

  void take(line_fields& fields) {
    const auto core = fields.node("core", noc_);
    const auto op = fields.op();
    const auto network = fields.count("network", 0, noc_.networks - 1);
    if (!core || !op) return;
    transaction t;
    t.op = *op;
    if (t.op != transaction_op::barrier) t.target = fields.node("target", noc_).value_or(0);
    if (t.op != transaction_op::barrier && t.op != transaction_op::atomic) {
      if (fields.find("bytes") == nullptr) fields.refuse("has no \"bytes\"", to_string(t.op), "1 or more");
      t.bytes = fields.count("bytes", 1, most_bytes).value_or(0);
    }
    stream_state& stream = stream_of(*core, static_cast<std::uint32_t>(network.value_or(0)));
    place_in_time(fields, stream, t);
    plan_.streams[stream.index].operations.push_back(t);
  }

  stream_state& stream_of(std::uint32_t core, std::uint32_t network) {
    const auto [at, fresh] =
        streams_.emplace(std::pair{core, network}, stream_state{plan_.streams.size(), {}});
    if (fresh) plan_.streams.push_back({core, network, {}});
    return at->second;
  }

  void place_in_time(line_fields& fields, stream_state& stream, transaction& t) {
    const auto at = fields.count("at", 0, most_cycles), after = fields.count("after", 0, most_cycles);
    if (at && after) fields.refuse("has both \"at\" and \"after\"", std::to_string(*at), "one of them");
    t.after = after.value_or(0);
    const bool relative = noc_.replay == config::noc_replay::closed && stream.recorded_end.has_value();
    if (at && relative) {
      t.after = *at - std::min(*at, *stream.recorded_end);
    } else {
      t.at = at;
    }
    const auto until = fields.count("until", at.value_or(0), most_cycles);
    if (until && t.op != transaction_op::barrier)
      fields.refuse("has an \"until\"", to_string(t.op), "a barrier");
    stream.recorded_end = until ? until : at;
  }

  const config::noc_block& noc_;
  std::uint64_t number_{};
  std::map<std::pair<std::uint32_t, std::uint32_t>, stream_state> streams_;
  std::vector<problem> problems_;
  traffic::transaction_plan plan_;
};

}  // namespace

traffic::transaction_plan read_transactions(const std::filesystem::path& file,
                                            const config::machine_config& config) {
  (void)traffic::controllers_of(config.noc);
  if (config.noc.flow != config::noc_flow::wormhole)
    throw user_error(
        problem{"noc.flow", "transactions stream through interfaces", "virtual_cut_through", "wormhole"});
  const platforms::input_file& input = platforms::read_input("--traffic transactions", file);
  if (!input.failure.empty())
    throw user_error(
        platforms::cannot_be_read("--traffic transactions", file, input.failure, "a file of transactions"));
  transaction_reader reader(file, config.noc);
  for (std::string_view text = input.text; !text.empty();) reader.line(platforms::take_line(text));
  return reader.finish();
}

namespace {

constexpr std::array columns{"the cycle", "the source", "the destination", "the length"};

class trace_reader {
 public:
  trace_reader(const std::filesystem::path& file, std::uint32_t nodes) : file_(file.string()), nodes_(nodes) {
    trace_.file = file_;
  }

  void line(std::string_view whole) {
    ++number_;
    if (whole.size() > platforms::input_limits::line_bytes)
      return refuse("the line is too long", fmt::format("{} characters", whole.size()),
                    fmt::format("at most {}", platforms::input_limits::line_bytes));
    const std::string text(whole.substr(0, whole.find('#')));
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.empty()) return;
    if (words.size() != columns.size())
      return refuse("does not have four words", text, "CYCLE SRC DST FLITS");
    const std::array<std::pair<std::uint64_t, std::uint64_t>, columns.size()> ranges{
        std::pair{std::uint64_t{0}, most_cycles}, {0, nodes_ - 1}, {0, nodes_ - 1}, {1, most_packet_flits}};
    std::array<std::uint64_t, columns.size()> values{};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto value = config::parse_count(words[i]);
      const auto [least, most] = ranges[i];
      if (!value || *value < least || *value > most)
        return refuse(fmt::format("{} is no number in range", columns[i]), words[i],
                      fmt::format("{} to {}", least, most));
      values[i] = *value;
    }
    const auto number = [&values](std::size_t i) { return static_cast<std::uint32_t>(values[i]); };
    trace_.packets.push_back({values[0], number(1), number(2), number(3)});
    trace_.longest = std::max(trace_.longest, number(3));
  }

  replay_trace finish() {
    if (problems_.empty() && trace_.packets.empty())
      problems_.push_back({file_, "holds no packet", "", "lines CYCLE SRC DST FLITS"});
    if (!problems_.empty()) throw user_error(problems_);
    std::ranges::stable_sort(trace_.packets, {}, [](const auto& p) { return std::tie(p.cycle, p.source); });
    return std::move(trace_);
  }

 private:
  void refuse(const std::string& what, const std::string& value, const std::string& expected) {
    if (problems_.size() < most_problems)
      problems_.push_back({fmt::format("{}:{}", file_, number_), what, value, expected});
  }

  std::string file_;
  std::uint64_t nodes_;
  std::uint64_t number_{};
  std::vector<problem> problems_;
  replay_trace trace_;
};

}  // namespace

replay_trace read_replay(const std::filesystem::path& file, std::uint32_t nodes) {
  const platforms::input_file& input = platforms::read_input("--traffic replay", file);
  if (!input.failure.empty())
    throw user_error(platforms::cannot_be_read("--traffic replay", file, input.failure, "a file of packets"));
  trace_reader reader(file, nodes);
  for (std::string_view text = input.text; !text.empty();) reader.line(platforms::take_line(text));
  return reader.finish();
}

}  // namespace diecast::noc
