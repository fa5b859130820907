// SPDX-License-Identifier: Apache-2.0
#include "models/comm/queue_pair_text.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::comm {
namespace {

constexpr char mark_begin = '\x02', mark_end = '\x03';  // control characters, which no name of a machine has

/// SIP, cube, PE, direction and width of a mark.
using mark_fields = std::array<std::uint32_t, 5>;

mark_fields fields_of(std::string_view inner) {
  mark_fields fields{};
  for (std::uint32_t& field : fields) {
    const auto [end, error] = std::from_chars(inner.data(), inner.data() + inner.size(), field);
    if (error != std::errc{}) throw std::logic_error("a mark of a queue pair is damaged");
    inner.remove_prefix(static_cast<std::size_t>(end - inner.data()));
    if (!inner.empty()) inner.remove_prefix(1);  // the comma
  }
  return fields;
}

}  // namespace

std::string queue_pair_mark(pe_coord owner, direction d, unsigned width) {
  return fmt::format("{}{},{},{},{},{}{}", mark_begin, owner.sip.value, owner.cube.value, owner.pe.value, d,
                     width, mark_end);
}

std::string with_names(std::string_view marked, const direction_namer& names) {
  std::string text;
  for (std::size_t at = 0; at < marked.size();) {
    const std::size_t begin = marked.find(mark_begin, at);
    text += marked.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = marked.find(mark_end, begin);
    const mark_fields f = fields_of(marked.substr(begin + 1, end - begin - 1));
    const pe_coord owner{sip_id{f[0]}, cube_id{f[1]}, pe_id{f[2]}};
    text += fmt::format("{:<{}}", names(owner, static_cast<direction>(f[3])), f[4]);
    at = end + 1;
  }
  return text;
}

}  // namespace diecast::comm
