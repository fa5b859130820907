// SPDX-License-Identifier: Apache-2.0
// Makers of table rows: each binds a key to a member and fills in what its type needs. Used by the
// tables only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "models/config/field.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::config {

block_table sim_table();
block_table pod_table();
block_table sip_table();
block_table cube_table();
block_table placement_table();
block_table pe_table();
block_table ipcq_table();
block_table tag_match_table();
block_table noc_table();
block_table ucie_table();
block_table sip_link_table();
block_table hbm_table();
block_table sram_table();
block_table host_table();
block_table ccl_table();
block_table energy_table();
block_table comm_table();
block_table trace_table();

inline constexpr const char* assumption = "assumption";

/// The names of the enumerators, in their order; "auto" for `automatic`.
template <class Enum>
[[nodiscard]] const std::vector<std::string>& choices_of() {
  static const std::vector<std::string> choices = [] {
    std::vector<std::string> names;
    for (const std::string name : enum_names::all<Enum>)
      if (!name.empty()) names.push_back(name == "automatic" ? "auto" : name);
    return names;
  }();
  return choices;
}

/// Collects the rows of one block, `Block` of machine_config. A key has the name of its member. A row without
/// a source is an assumption.
template <auto Block>
class rows {
 public:
  explicit rows(std::string description)
      : table_{std::string(member_name<Block>()), std::move(description), {}} {}

  template <auto Member>
  rows& boolean(std::string description, std::string source = assumption) {
    add<Member>(field_type::boolean, "", std::move(description), std::move(source));
    return *this;
  }

  /// Or auto, where the member may be empty.
  template <auto Member>
  rows& count(std::string unit, std::uint64_t least, std::uint64_t most, std::string description,
              std::string source = assumption) {
    constexpr bool or_auto = std::is_same_v<value_of<Member>, auto_count>;
    field& f = add<Member>(or_auto ? field_type::count_or_auto : field_type::count, std::move(unit),
                           std::move(description), std::move(source));
    f.least = least;
    f.most = most;
    return *this;
  }

  /// Or auto, where the member may be empty.
  template <auto Member>
  rows& real(std::string unit, double least, double most, std::string description,
             std::string source = assumption) {
    constexpr bool or_auto = std::is_same_v<value_of<Member>, auto_real>;
    field& f = add<Member>(or_auto ? field_type::real_or_auto : field_type::real, std::move(unit),
                           std::move(description), std::move(source));
    f.real_least = least;
    f.real_most = most;
    return *this;
  }

  template <auto Member>
  rows& text(std::string pattern, std::string description, std::string source = assumption) {
    add<Member>(field_type::text, "", std::move(description), std::move(source)).pattern = std::move(pattern);
    return *this;
  }

  /// Pieces between commas, each of which matches. Empty if the default is.
  template <auto Member>
  rows& list(std::string pattern_of_piece, std::string description, std::string source = assumption) {
    text<Member>(std::move(pattern_of_piece), std::move(description), std::move(source));
    field& f = table_.fields.back();
    f.list = true;
    f.may_be_empty = std::get<std::string>(default_value(f)).empty();
    return *this;
  }

  template <auto Member>
  rows& choice(std::string description, std::string source = assumption) {
    add<Member>(field_type::choice, "", std::move(description), std::move(source)).choices =
        choices_of<value_of<Member>>();
    return *this;
  }

  /// Another spelling of a choice of the last row.
  rows& spelling(std::string other, std::string name) {
    field& f = table_.fields.back();
    f.set = [set = f.set, other, name](machine_config& c, const field_value& v) {
      set(c, std::get<std::string>(v) == other ? field_value{name} : v);
    };
    f.spellings.emplace_back(std::move(other), std::move(name));
    return *this;
  }

  template <auto Member>
  rows& links(std::string description, std::string source = assumption) {
    add<Member>(field_type::links, "", std::move(description), std::move(source));
    return *this;
  }

  /// Sets the last row's key where it differs from the member's name.
  rows& named(std::string key) {
    table_.fields.back().key = std::move(key);
    return *this;
  }

  [[nodiscard]] block_table table() const { return table_; }

 private:
  template <auto Member>
  using value_of = std::remove_cvref_t<decltype(std::declval<machine_config>().*Block.*Member)>;

  template <auto Member>
  static field_value get(const machine_config& c) {
    const auto& value = c.*Block.*Member;
    using type = value_of<Member>;
    if constexpr (std::is_enum_v<type>) {
      return choices_of<type>().at(static_cast<std::size_t>(value));
    } else if constexpr (std::is_same_v<type, auto_count> || std::is_same_v<type, auto_real>) {
      return value ? field_value{*value} : field_value{automatic{}};
    } else {
      return value;
    }
  }

  template <auto Member>
  static void set(machine_config& c, const field_value& v) {
    auto& value = c.*Block.*Member;
    using type = value_of<Member>;
    if constexpr (std::is_enum_v<type>) {
      const auto& names = choices_of<type>();
      value = static_cast<type>(std::ranges::find(names, std::get<std::string>(v)) - names.begin());
    } else if constexpr (std::is_same_v<type, auto_count> || std::is_same_v<type, auto_real>) {
      const auto* given = std::get_if<typename type::value_type>(&v);
      value = given != nullptr ? type{*given} : type{};
    } else {
      value = std::get<type>(v);
    }
  }

  template <auto Member>
  field& add(field_type type, std::string unit, std::string description, std::string source) {
    field& f = table_.fields.emplace_back();
    f.block = table_.name;
    f.key = member_name<Member>();
    f.type = type;
    f.unit = std::move(unit);
    f.description = std::move(description);
    f.source = std::move(source);
    f.get = get<Member>;
    f.set = set<Member>;
    const machine_config sample;
    f.offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(sample.*Block.*Member)) -
                                        reinterpret_cast<const std::byte*>(&sample));
    f.size = sizeof(value_of<Member>);
    return f;
  }

  block_table table_;
};

}  // namespace diecast::config
