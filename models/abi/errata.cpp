// SPDX-License-Identifier: Apache-2.0
#include "models/abi/errata.hpp"

#include <array>

#include "models/types/enum_name.hpp"

namespace diecast::abi {
constexpr auto table = std::to_array<erratum_description>(
    {{erratum::set_without_dcci, "set_without_dcci",
      "a signal is stored and its line not written back: it stays in the writer's cache"},
     {erratum::wait_without_dcci, "wait_without_dcci",
      "a wait does not invalidate its cache line and polls a stale copy forever"},
     {erratum::no_round_barrier, "no_round_barrier",
      "group_dissemination has no core barrier between its rounds"},
     {erratum::late_counter, "late_counter", "the team's counter is loaded after the entry core barrier"},
     {erratum::no_entry_barrier, "no_entry_barrier",
      "a rank barrier begins without waiting for the other cores of the rank"},
     {erratum::slot_by_rank, "slot_by_rank",
      "dissemination signals the line numbered by the sender's rank, not by the round"},
     {erratum::packed_flags, "packed_flags",
      "flags lie 8 bytes apart: several share a line that is written back whole"},
     {erratum::reused_team_state, "reused_team_state",
      "a new team takes a slot without clearing its flags and counter"},
     {erratum::unchecked_radix, "unchecked_radix",
      "group_dissemination does not refuse radix 1, whose shift never grows"},
     {erratum::exact_count, "exact_count",
      "a wait accepts only its own count and polls forever when a peer is one barrier ahead"}});

std::span<const erratum_description> errata() { return table; }

std::optional<erratum> erratum_named(std::string_view name) { return enum_named<erratum>(name); }

std::optional<errata_word> parse_errata(std::string_view text) {
  errata_word word;
  if (text == "none") return word;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto e = erratum_named(text.substr(0, comma));
    if (!e) return std::nullopt;
    word.add(*e);
    if (comma == std::string_view::npos) return word;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace diecast::abi
