// SPDX-License-Identifier: Apache-2.0
// Kinds of `faults` and the keys their entries take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/field.hpp"

namespace diecast::config {

/// By which of the three mechanisms a fault acts.
enum class fault_mechanism : std::uint8_t {
  interposer,  ///< a module between two sockets
  policy,      ///< another policy object, chosen at construction
  errata       ///< a bit of the firmware's errata register
};
[[nodiscard]] const char* to_string(fault_mechanism m);

struct fault_kind_entry {
  fault_kind kind{};
  std::string name;
  fault_mechanism mechanism{};  ///< mechanism at a PE, if `pes`; on links the fault always uses an interposer
  std::string place;            ///< text of what `where` names
  bool links{};                 ///< `where` may name UCIe sides and SIP ports
  bool pes{};                   ///< `where` may name PEs
  std::vector<std::string> keys;  ///< keys of an entry, besides kind, where and seed
  std::string description;
  bool barriers_only{};  ///< only barriers use the defective code
};

/// A fault, and its place in the list `faults`.
struct placed_fault {
  fault_setting setting;
  std::size_t number{};
  std::uint64_t draw{};  ///< sim.fault_draw
};

/// Effects of a fault at one place.
struct fault_tally {
  std::size_t number{};     ///< index in the list `faults`
  std::uint64_t chances{};  ///< packets or operations on which it could have acted
  std::uint64_t met{};      ///< packets or operations that it acted on
};

/// In the order of fault_kind.
[[nodiscard]] std::span<const fault_kind_entry> fault_kinds();
[[nodiscard]] const fault_kind_entry& entry_of(fault_kind kind);
/// "policy; interposer on links".
[[nodiscard]] std::string mechanisms_of(const fault_kind_entry& kind);
/// The objects on which a fault of this kind can act at PEs or, if `at_a_link`, on a link: "credits".
[[nodiscard]] const char* chances_of(fault_kind kind, bool at_a_link);
/// Null when there is none of that name.
[[nodiscard]] const fault_kind_entry* find_fault_kind(std::string_view name);

/// A key of an entry of `faults`: type and range in `row` (its block is "faults[]"; get and set are empty).
struct fault_key {
  field row;
  field_value (*get)(const fault_setting&);
  /// Precondition: accepts(row, value).
  void (*set)(fault_setting&, const field_value&);
};
/// All keys, kind and where first.
[[nodiscard]] std::span<const fault_key> fault_keys();
/// Null when there is none of that name.
[[nodiscard]] const fault_key* find_fault_key(std::string_view name);
/// Whether entries of this kind take the key.
[[nodiscard]] bool takes(fault_kind kind, std::string_view key);

/// The errata bits of a PE (models/abi/errata.hpp), from the firmware faults whose `where` names it.
[[nodiscard]] std::uint64_t errata_of(const machine_config& config, pe_coord pe);

}  // namespace diecast::config
