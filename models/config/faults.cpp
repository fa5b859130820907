// SPDX-License-Identifier: Apache-2.0
#include "models/config/faults.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "models/abi/errata.hpp"
#include "models/config/text.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::config {
namespace {

constexpr auto interposer = fault_mechanism::interposer;
constexpr auto policy = fault_mechanism::policy;
constexpr auto errata = fault_mechanism::errata;

using key_list = std::vector<std::string>;
const key_list of_packets{"after", "count", "from_us", "probability"};
const key_list with_delay{"after", "count", "from_us", "probability", "delay_ns"};

fault_kind_entry anywhere(fault_kind kind, const key_list& keys, const char* description) {
  constexpr const char* place =
      "a PE (packets that arrive there), a UCIe side or a SIP port (packets that leave)";
  return {kind, enum_name(kind), interposer, place, true, true, keys, description};
}
fault_kind_entry on_links(fault_kind kind, const key_list& keys, const char* description) {
  constexpr const char* place = "a UCIe side or a SIP port (packets that leave there)";
  return {kind, enum_name(kind), interposer, place, true, false, keys, description};
}
fault_kind_entry at_pes(fault_kind kind, fault_mechanism mechanism, const key_list& keys,
                        const char* description, bool barriers_only = false) {
  return {kind, enum_name(kind), mechanism, "a PE", false, true, keys, description, barriers_only};
}

template <auto Member>
field_value get_member(const fault_setting& f) {
  return f.*Member;
}
template <auto Member>
void set_member(fault_setting& f, const field_value& v) {
  f.*Member = std::get<std::remove_reference_t<decltype(f.*Member)>>(v);
}

field row(const char* name, field_type type, const char* unit, const char* description) {
  field f;
  f.block = "faults[]";
  f.key = name;
  f.type = type;
  f.unit = unit;
  f.description = description;
  f.source = "assumption";
  return f;
}

fault_key kind_key() {
  field f = row("kind", field_type::choice, "", "What goes wrong; see --list faults.");
  for (const fault_kind_entry& k : fault_kinds()) f.choices.push_back(k.name);
  return {f, [](const fault_setting& s) -> field_value { return entry_of(s.kind).name; },
          [](fault_setting& s, const field_value& v) {
            s.kind = find_fault_kind(std::get<std::string>(v))->kind;
          }};
}

template <auto Member>
fault_key text(const char* name, const char* pattern, const char* description) {
  field f = row(name, field_type::text, "", description);
  f.pattern = pattern;
  return {f, get_member<Member>, set_member<Member>};
}

template <auto Member>
fault_key count(const char* name, std::uint64_t most, const char* description) {
  field f = row(name, field_type::count, "", description);
  f.most = most;
  return {f, get_member<Member>, set_member<Member>};
}

template <auto Member>
fault_key real(const char* name, const char* unit, double least, double most, const char* description) {
  field f = row(name, field_type::real, unit, description);
  f.real_least = least;
  f.real_most = most;
  return {f, get_member<Member>, set_member<Member>};
}

}  // namespace

const char* to_string(fault_mechanism m) { return enum_name(m); }

std::span<const fault_kind_entry> fault_kinds() {
  using k = fault_kind;
  static const std::array all{
      anywhere(k::bit_flip, of_packets, "one bit of a packet's payload is inverted"),
      anywhere(k::drop, of_packets, "a packet of data is lost"),
      anywhere(k::duplicate, of_packets, "a packet of data comes twice"),
      anywhere(k::reorder, with_delay, "a packet of data is overtaken by packets that come within delay_ns"),
      anywhere(k::lost_credit, of_packets, "a returning credit is lost"),
      anywhere(k::late_credit, with_delay, "a returning credit, and those behind it, come delay_ns late"),
      on_links(k::link_down, {"after", "from_us"}, "a link stops: packets sent over it do not arrive"),
      on_links(k::link_degraded, {"from_us", "factor"}, "a link carries packets `factor` times slower"),
      at_pes(k::token_before_data, policy, {"after", "count", "delay_ns"},
             "a message is announced while its bytes stay delay_ns in a write buffer"),
      at_pes(k::slow_pe, policy, {"factor"}, "a core runs `factor` times slower"),
      at_pes(k::dead_pe, policy, {"after", "from_us"},
             "a core stops after `after` writes of its firmware to registers or global memory"),
      at_pes(k::wrong_install, policy, {"how"},
             "two directions of a PE are swapped, or their receive rings overlap, or all that lead to one "
             "peer write into the peer's first ring for this PE"),
      at_pes(k::tag_list_race, policy, {},
             "a new entry of the tag-matching unit takes messages that came after one that firmware has not "
             "seen"),
      at_pes(k::sendrecv_alias, errata, {"after"},
             "the one-call send-receive uses one page, chosen by earlier sends, for both halves"),
      at_pes(k::dispatch_corruption, policy, {"how"},
             "the registration-cache monitor writes a wrong target into the firmware's dispatch table: not a "
             "routine (trap), or the routine of an idle core (wrong_routine)"),
      at_pes(k::stale_cache_line, errata, {},
             "in a barrier, a wait polls a stale copy of its cache line forever", true),
      at_pes(k::signal_without_flush, errata, {},
             "in a barrier, a signal is stored and stays in its writer's cache", true),
      at_pes(k::infinite_poll, errata, {},
             "in a barrier, a wait misses the signal of a peer that is one barrier ahead", true),
      fault_kind_entry{
          k::premature_barrier,
          enum_name(k::premature_barrier),
          policy,
          "a PE (its results), a UCIe side or a SIP port (messages that cross it)",
          true,
          true,
          {"after", "count", "delay_ns"},
          "at a PE, results of the core stay delay_ns in a write buffer, and a send reads memory before they "
          "are flushed; on a link, a message's last packet waits delay_ns in a one-place buffer per sender, "
          "and the last packet of the sender's next message is lost if it comes earlier"},
  };
  return all;
}

const fault_kind_entry& entry_of(fault_kind kind) {
  for (const fault_kind_entry& k : fault_kinds())
    if (k.kind == kind) return k;
  throw std::logic_error("a fault kind is in no table");
}

std::string mechanisms_of(const fault_kind_entry& kind) {
  std::string text = to_string(kind.mechanism);
  if (kind.links && kind.mechanism != fault_mechanism::interposer) text += "; interposer on links";
  return text;
}

const char* chances_of(fault_kind kind, bool at_a_link) {
  switch (kind) {
    case fault_kind::bit_flip:
    case fault_kind::drop:
    case fault_kind::duplicate:
    case fault_kind::reorder:
      return "packets of data (of queue pairs, tag-matched messages and reads of a rendezvous)";
    case fault_kind::lost_credit:
    case fault_kind::late_credit: return "credits";
    case fault_kind::link_down:
    case fault_kind::link_degraded: return "packets";
    case fault_kind::token_before_data: return "messages received";
    case fault_kind::slow_pe: return "cycles of instructions";
    case fault_kind::dead_pe: return "writes of the firmware to registers or global memory";
    case fault_kind::wrong_install: return "installs";
    case fault_kind::tag_list_race: return "entries given to the tag-matching unit";
    case fault_kind::sendrecv_alias: return "one-call sends";
    case fault_kind::dispatch_corruption: return "calls through the bad entry";
    case fault_kind::stale_cache_line: return "reads of a flag";
    case fault_kind::signal_without_flush: return "signals";
    case fault_kind::infinite_poll: return "waits for a flag";
    case fault_kind::premature_barrier:
      return at_a_link ? "queue-pair messages of several packets" : "results of the core";
  }
  return "operations";
}

const fault_kind_entry* find_fault_kind(std::string_view name) {
  for (const fault_kind_entry& k : fault_kinds())
    if (k.name == name) return &k;
  return nullptr;
}

std::span<const fault_key> fault_keys() {
  using f = fault_setting;
  constexpr double most_ns = 1e12;
  static const std::array all{
      kind_key(),
      text<&f::where>("where", "[!-~]+", "Paths of PEs, UCIe sides or SIP ports, with * and ?."),
      count<&f::after>("after", UINT32_MAX, "Packets or operations let through first, at each place."),
      count<&f::count>("count", UINT32_MAX, "Packets or operations hit, at each place; 0: all from then on."),
      real<&f::from_us>("from_us", "us", 0, 1e9, "Nothing happens before this time."),
      real<&f::probability>("probability", "", 0, 1, "Chance that a packet or operation is hit."),
      real<&f::delay_ns>("delay_ns", "ns", 1, most_ns, "Time by which something is delayed."),
      real<&f::factor>("factor", "", 1, 1e6, "How many times slower; a whole number for slow_pe."),
      text<&f::variant>("how", "swap|overlap|first_match|trap|wrong_routine",
                        "wrong_install: two directions swapped (default), rings that overlap, or directions "
                        "paired by first match. dispatch_corruption: entries at which the core traps "
                        "(default), or that lead to its sleep. `variant` is read as well."),
      count<&f::seed>("seed", std::numeric_limits<std::uint64_t>::max(),
                      "Seed of the draws: which bit, and whether the fault acts."),
  };
  return all;
}

const fault_key* find_fault_key(std::string_view name) {
  if (name == "variant") name = "how";
  for (const fault_key& k : fault_keys())
    if (k.row.key == name) return &k;
  return nullptr;
}

bool takes(fault_kind kind, std::string_view key) {
  if (key == "kind" || key == "where" || key == "seed") return true;
  if (key == "variant") key = "how";
  const auto& own = entry_of(kind).keys;
  return std::ranges::find(own, key) != own.end();
}

std::uint64_t errata_of(const machine_config& config, pe_coord pe) {
  std::uint64_t bits = 0;
  const auto defect_of_barriers = [](abi::erratum e) {
    abi::errata_word word;
    word.add(e);
    return word.bits;
  };
  for (const fault_setting& f : config.faults) {
    if (!matches(f.where, pe_path(config.shape(), pe))) continue;
    switch (f.kind) {
      case fault_kind::sendrecv_alias:
        bits |= abi::defect::sendrecv_alias | f.after << abi::defect::after_shift;
        break;
      case fault_kind::stale_cache_line: bits |= defect_of_barriers(abi::erratum::wait_without_dcci); break;
      case fault_kind::signal_without_flush:
        bits |= defect_of_barriers(abi::erratum::set_without_dcci);
        break;
      case fault_kind::infinite_poll: bits |= defect_of_barriers(abi::erratum::exact_count); break;
      default: break;
    }
  }
  return bits;
}

}  // namespace diecast::config
