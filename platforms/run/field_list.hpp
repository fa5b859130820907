// SPDX-License-Identifier: Apache-2.0
// Lists of the fields of a struct: what writes and reads results takes names and values from them.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

/// In a struct: lists these of its members, by their names and in their order.
#define DIECAST_LIST(list, ...)                                  \
  static constexpr std::string_view list##_names = #__VA_ARGS__; \
  [[nodiscard]] auto list() { return std::tie(__VA_ARGS__); }    \
  [[nodiscard]] auto list() const { return std::tie(__VA_ARGS__); }

namespace diecast::platforms {

/// Calls visit(name, value) for each value of a list.
template <class Values, class Visit>
void each_of(std::string_view names, Values values, Visit visit) {
  const auto next = [&names] {
    names.remove_prefix(names.find_first_not_of(", "));
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(name.size());
    return name;
  };
  std::apply([&](auto&... value) { (visit(next(), value), ...); }, values);
}

template <class Row, class Visit>
void each_field(Row& r, Visit visit) {
  each_of(Row::fields_names, r.fields(), visit);
}

/// Of what a run's process tells its parent beside its fields.
template <class Row, class Visit>
void each_carried(Row& r, Visit visit) {
  each_of(Row::carried_names, r.carried(), visit);
}

}  // namespace diecast::platforms
