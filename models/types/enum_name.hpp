// SPDX-License-Identifier: Apache-2.0
// Enumerators and members of structs by the names that the code gives them. Only for enumerations of
// consecutive values from 0, enum_names::most at most.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace diecast {
namespace enum_names {

inline constexpr std::size_t most = 32;

/// How the compiler writes V after "V = ", without its scope; empty for a value without an enumerator, which
/// it writes as a cast.
template <auto V>
constexpr auto written() {
  const std::string_view text{__PRETTY_FUNCTION__};
  const std::size_t begin = text.find("V = ") + 4;
  const std::string_view value = text.substr(begin, text.find_first_of(";]", begin) - begin);
  const std::string_view name = value.substr(value.rfind(':') + 1);
  return name.find(')') == name.npos ? name : std::string_view{};
}

/// Ends with a 0, as texts in C do.
template <auto V>
inline constexpr auto text_of = [] {
  std::array<char, written<V>().size() + 1> text{};
  std::ranges::copy(written<V>(), text.begin());
  return text;
}();

template <class Enum>
inline constexpr auto all = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{text_of<static_cast<Enum>(I)>.data()...};
}
(std::make_index_sequence<most>{});

}  // namespace enum_names

/// "unknown" for a value without an enumerator.
template <class Enum>
[[nodiscard]] constexpr const char* enum_name(Enum value) {
  const auto i = static_cast<std::size_t>(value);
  const auto& names = enum_names::all<Enum>;
  return i < names.size() && *names[i] != '\0' ? names[i] : "unknown";
}

/// The enumerator of that name.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_named(std::string_view name) {
  const auto& names = enum_names::all<Enum>;
  const auto at = std::ranges::find(names, name, [](const char* each) { return std::string_view(each); });
  if (at == names.end() || name.empty()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

/// The name of the member that a pointer leads to: "tcm_kib" for &pe_block::tcm_kib.
template <auto Member>
[[nodiscard]] constexpr std::string_view member_name() {
  return enum_names::written<Member>();
}

}  // namespace diecast
