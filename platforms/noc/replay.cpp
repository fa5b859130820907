// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <tuple>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/io/input.hpp"
#include "platforms/noc/study.hpp"

namespace diecast::noc {
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
      if (!value || *value < least || *value > most) {
        return refuse(fmt::format("{} is no number in range", columns[i]), words[i],
                      fmt::format("{} to {}", least, most));
      }
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
    std::stable_sort(trace_.packets.begin(), trace_.packets.end(), [](const auto& a, const auto& b) {
      return std::tie(a.cycle, a.source) < std::tie(b.cycle, b.source);
    });
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
