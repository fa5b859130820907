// SPDX-License-Identifier: Apache-2.0
// Makers of table rows: each binds a key to a member and fills in what its type needs. Used by the
// tables only.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/config/field.hpp"

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

/// Collects the rows of one block. A row without a source is an assumption. `Block` is the struct, `block`
/// its member of machine_config.
template <class Block>
class rows {
 public:
  rows(Block machine_config::*block, std::string name, std::string description)
      : block_(block), table_{std::move(name), std::move(description), {}} {}

  rows& boolean(bool Block::*member, std::string key, std::string description,
                std::string source = assumption) {
    add(member, field_type::boolean, std::move(key), "", std::move(description), std::move(source));
    return *this;
  }

  rows& count(std::uint64_t Block::*member, std::string key, std::string unit, std::uint64_t least,
              std::uint64_t most, std::string description, std::string source = assumption) {
    field& f = add(member, field_type::count, std::move(key), std::move(unit), std::move(description),
                   std::move(source));
    f.least = least;
    f.most = most;
    return *this;
  }

  rows& real(double Block::*member, std::string key, std::string unit, double least, double most,
             std::string description, std::string source = assumption) {
    field& f = add(member, field_type::real, std::move(key), std::move(unit), std::move(description),
                   std::move(source));
    f.real_least = least;
    f.real_most = most;
    return *this;
  }

  rows& text(std::string Block::*member, std::string key, std::string pattern, std::string description,
             std::string source = assumption) {
    field& f = add(member, field_type::text, std::move(key), "", std::move(description), std::move(source));
    f.pattern = std::move(pattern);
    return *this;
  }

  /// Pieces between commas, each of which matches. Empty if the default is.
  rows& list(std::string Block::*member, std::string key, std::string pattern_of_piece,
             std::string description, std::string source = assumption) {
    text(member, std::move(key), std::move(pattern_of_piece), std::move(description), std::move(source));
    field& f = table_.fields.back();
    f.list = true;
    f.may_be_empty = std::get<std::string>(default_value(f)).empty();
    return *this;
  }

  rows& auto_size(auto_count Block::*member, std::string key, std::string unit, std::uint64_t least,
                  std::uint64_t most, std::string description, std::string source = assumption) {
    field& f = bare(member, field_type::count_or_auto, std::move(key), std::move(unit),
                    std::move(description), std::move(source));
    f.least = least;
    f.most = most;
    f.get = [at = member_of(member)](const machine_config& c) -> field_value {
      const auto_count& n = c.*(at.first).*(at.second);
      return n ? field_value{*n} : field_value{automatic{}};
    };
    f.set = [at = member_of(member)](machine_config& c, const field_value& v) {
      const auto* n = std::get_if<std::uint64_t>(&v);
      c.*(at.first).*(at.second) = n != nullptr ? auto_count{*n} : auto_count{};
    };
    return *this;
  }

  rows& real_or_auto(auto_real Block::*member, std::string key, std::string unit, double least, double most,
                     std::string description, std::string source = assumption) {
    field& f = bare(member, field_type::real_or_auto, std::move(key), std::move(unit), std::move(description),
                    std::move(source));
    f.real_least = least;
    f.real_most = most;
    f.get = [at = member_of(member)](const machine_config& c) -> field_value {
      const auto_real& x = c.*(at.first).*(at.second);
      return x ? field_value{*x} : field_value{automatic{}};
    };
    f.set = [at = member_of(member)](machine_config& c, const field_value& v) {
      const auto* x = std::get_if<double>(&v);
      c.*(at.first).*(at.second) = x != nullptr ? auto_real{*x} : auto_real{};
    };
    return *this;
  }

  /// `names` in the order of the enumerators, which count from 0.
  template <class Enum>
  rows& choice(Enum Block::*member, std::string key, const std::vector<std::string>& names,
               std::string description, std::string source = assumption) {
    field& f =
        bare(member, field_type::choice, std::move(key), "", std::move(description), std::move(source));
    f.choices = names;
    f.get = [at = member_of(member), names](const machine_config& c) -> field_value {
      return names.at(static_cast<std::size_t>(c.*(at.first).*(at.second)));
    };
    f.set = [at = member_of(member), names](machine_config& c, const field_value& v) {
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == std::get<std::string>(v)) c.*(at.first).*(at.second) = static_cast<Enum>(i);
    };
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

  rows& links(std::vector<pod_link> Block::*member, std::string key, std::string description,
              std::string source = assumption) {
    add(member, field_type::links, std::move(key), "", std::move(description), std::move(source));
    return *this;
  }

  [[nodiscard]] block_table table() const { return table_; }

 private:
  template <class T>
  [[nodiscard]] std::pair<Block machine_config::*, T Block::*> member_of(T Block::*member) const {
    return {block_, member};
  }

  template <class T>
  field& bare(T Block::*member, field_type type, std::string key, std::string unit, std::string description,
              std::string source) {
    field f;
    f.block = table_.name;
    f.key = std::move(key);
    f.type = type;
    f.unit = std::move(unit);
    f.description = std::move(description);
    f.source = std::move(source);
    const machine_config sample;
    f.offset = static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(sample.*block_.*member)) -
                                        reinterpret_cast<const std::byte*>(&sample));
    f.size = sizeof(T);
    table_.fields.push_back(std::move(f));
    return table_.fields.back();
  }

  /// A member whose own type is one of field_value's.
  template <class T>
  field& add(T Block::*member, field_type type, std::string key, std::string unit, std::string description,
             std::string source) {
    field& f = bare(member, type, std::move(key), std::move(unit), std::move(description), std::move(source));
    f.get = [at = member_of(member)](const machine_config& c) -> field_value {
      return c.*(at.first).*(at.second);
    };
    f.set = [at = member_of(member)](machine_config& c, const field_value& v) {
      c.*(at.first).*(at.second) = std::get<T>(v);
    };
    return f;
  }

  Block machine_config::*block_;
  block_table table_;
};

}  // namespace diecast::config
