// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/text_table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace diecast::platforms {

text_table::text_table(std::vector<text_column> columns, std::size_t indent)
    : columns_(std::move(columns)), indent_(indent) {
  for (text_column& c : columns_) c.width = std::max(c.width, c.name.size());
}

void text_table::fit(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, cells[i].size());
}

std::string text_table::header() const {
  std::vector<std::string> names;
  for (const text_column& c : columns_) names.push_back(c.name);
  return row(names);
}

std::string text_table::row(const std::vector<std::string>& cells) const {
  std::size_t width = indent_ + 2 * (columns_.size() - 1);
  for (const text_column& c : columns_) width += c.width;
  const std::string space(width > line_width ? 1 : 2, ' ');
  std::string text(indent_, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const text_column& c = columns_[i];
    if (i > 0) text += space;
    text += c.left ? fmt::format("{:<{}}", cells[i], c.width) : fmt::format("{:>{}}", cells[i], c.width);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string lines, line;
  std::istringstream words(text);
  line.append(text, 0, std::min(text.find_first_not_of(' '), text.size()));
  const std::string begin(indent, ' ');
  bool empty = true;
  for (std::string word; words >> word; empty = false) {
    if (!empty && line.size() + 1 + word.size() > line_width) {
      lines += line + "\n";
      line = begin;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string size_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  return fmt::format("{} {}", bytes, units[unit]);
}

}  // namespace diecast::platforms
