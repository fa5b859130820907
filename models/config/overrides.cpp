// SPDX-License-Identifier: Apache-2.0
#include "models/config/overrides.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "models/config/text.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::config {
namespace {

using limit = override_key::limit;
using kind = instance_kind;

template <auto Member>
std::optional<field_value> get_member(const instance_override& o) {
  const auto& value = o.*Member;
  return value ? std::optional<field_value>(*value) : std::nullopt;
}

template <auto Member>
void set_member(instance_override& o, const field_value& v) {
  using value_type = typename std::remove_reference_t<decltype(o.*Member)>::value_type;
  o.*Member = std::get<value_type>(v);
}

/// An override key with type and range of the row of the same name in `block`; null: it has no row.
template <auto Member>
override_key key(const char* block, const char* description, std::vector<kind> kinds,
                 limit against_block = limit::none) {
  std::string name(member_name<Member>());
  const field* const row = block == nullptr ? nullptr : find_field(fmt::format("{}.{}", block, name));
  return {std::move(name),    description,       row, std::move(kinds), against_block,
          get_member<Member>, set_member<Member>};
}

std::vector<override_key> all_keys() {
  using o = instance_override;
  const std::vector<kind> link{kind::ucie_link}, pe{kind::pe};
  return {
      key<&o::enabled>(nullptr,
                       "false: it is missing. No route uses either direction of a missing link; ranks are "
                       "the remaining PEs; memory is spread over the remaining channels.",
                       {kind::ucie_link, kind::sip_link, kind::pe, kind::channel}),
      key<&o::modules>("ucie", "UCIe links: modules that work.", link),
      key<&o::gt_s>("ucie", "UCIe links: transfers per second and lane.", link),
      key<&o::ber>("ucie", "UCIe links: bit error rate.", link),
      key<&o::gbytes_s>("sip_link", "SIP links: payload rate in each direction.", {kind::sip_link}),
      key<&o::latency_ns>("ucie", "UCIe and SIP links: one crossing.", {kind::ucie_link, kind::sip_link}),
      key<&o::vector_lanes>("pe", "PEs: lanes of 16 bits that work; no more than the block's.", pe,
                            limit::no_more),
      key<&o::tcm_read_cycles>("pe", "PEs: latency of a TCM read; no less than the block's.", pe,
                               limit::no_less),
      key<&o::register_cycles>("pe", "PEs: access to a register; no less than the block's.", pe,
                               limit::no_less),
      key<&o::dma_startup_cycles>(
          "pe", "PEs: from a descriptor to its first request; no less than the block's.", pe, limit::no_less),
      key<&o::dma_issue_cycles>("pe", "PEs: between two descriptors of a port; no less than the block's.", pe,
                                limit::no_less),
      key<&o::dma_outstanding>("pe", "PEs: packets of the DMA in flight; no more than the block's.", pe,
                               limit::no_more),
      key<&o::hop_cycles>("noc",
                          "Dies: router to router, of all routers of the cube; no less than the block's.",
                          {kind::die}, limit::no_less),
  };
}

/// Keys that `o` sets.
std::vector<const override_key*> keys_in(const instance_override& o) {
  std::vector<const override_key*> set;
  for (const override_key& k : override_keys())
    if (k.get(o)) set.push_back(&k);
  return set;
}

std::string names_of(const std::vector<const override_key*>& keys) {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const override_key* k : keys) names.push_back(k->name);
  return join(names);
}

std::string keys_of(kind wanted) {
  std::vector<std::string> names;
  for (const override_key& k : override_keys())
    if (k.is_of(wanted)) names.push_back(k.name);
  return join(names);
}

}  // namespace

const char* plural(instance_kind k) {
  switch (k) {
    case kind::ucie_link: return "UCIe links";
    case kind::sip_link: return "SIP links";
    case kind::pe: return "PEs";
    case kind::channel: return "memory channels";
    case kind::die: return "dies";
  }
  return "unknown";
}

bool override_key::is_of(instance_kind k) const { return std::ranges::find(kinds, k) != kinds.end(); }

std::span<const override_key> override_keys() {
  static const std::vector<override_key> keys = all_keys();
  return keys;
}

const override_key* find_override_key(std::string_view name) {
  for (const override_key& k : override_keys())
    if (k.name == name) return &k;
  return nullptr;
}

bool accepts_override(const override_key& key, const field_value& value) {
  if (key.row == nullptr) return std::holds_alternative<bool>(value);
  return !std::holds_alternative<automatic>(value) && accepts(*key.row, value);
}

std::string override_expectation(const override_key& key) {
  if (key.row == nullptr) return "true or false";
  field row = *key.row;
  if (row.type == field_type::real_or_auto) row.type = field_type::real;
  return expectation(row);
}

machine_config with_override(machine_config config, const instance_override& o) {
  for (const override_key* k : keys_in(o))
    if (k->row != nullptr) k->row->set(config, *k->get(o));
  if (o.latency_ns) config.sip_link.latency_ns = *o.latency_ns;
  return config;
}

bool changes(const instance_override& o, instance_kind k) {
  const auto set = keys_in(o);
  return std::ranges::any_of(set, [k](const override_key* key) { return key->is_of(k); });
}

std::vector<problem> check_override(const instance_override& o, std::size_t number,
                                    const std::array<std::uint32_t, instance_kinds>& counts) {
  const std::string where = fmt::format("overrides[{}]", number);
  const auto set = keys_in(o);
  std::vector<problem> problems;
  std::vector<std::string> matched;
  std::string of_matched;
  bool changes_any = false;
  for (std::size_t i = 0; i < instance_kinds; ++i) {
    const auto k = static_cast<kind>(i);
    if (counts[i] == 0) continue;
    matched.emplace_back(plural(k));
    of_matched += fmt::format("{}{} ({})", of_matched.empty() ? "" : "; ", keys_of(k), plural(k));
    std::vector<const override_key*> lacking;
    std::copy_if(set.begin(), set.end(), std::back_inserter(lacking),
                 [k](const override_key* key) { return !key->is_of(k); });
    if (lacking.size() == set.size()) continue;
    changes_any = true;
    if (lacking.empty()) continue;
    problems.push_back({where + ".set",
                        fmt::format("sets {}, which {} do not have", names_of(lacking), plural(k)), o.match,
                        fmt::format("{}, or a name that matches no {}", keys_of(k), plural(k))});
  }
  if (!changes_any && !matched.empty()) {
    problems.push_back({where + ".set",
                        fmt::format("sets {}, which {} do not have", names_of(set), join(matched)), o.match,
                        of_matched});
  }
  return problems;
}

std::optional<pe_block> pe_block_of(const machine_config& c, pe_coord pe) {
  std::optional<machine_config> own;
  std::string path;
  for (const instance_override& o : c.overrides) {
    if (!changes(o, kind::pe)) continue;
    if (path.empty()) path = pe_path(c.shape(), pe);
    if (matches(o.match, path)) own = with_override(own ? *own : c, o);
  }
  if (!own) return std::nullopt;
  return own->pe;
}

bool names_die(const std::string& glob, const machine_shape& shape, sip_id sip, cube_id cube) {
  const std::string path = cube_path(shape, sip, cube);
  return matches(glob, path) || matches(glob, path + ".noc");
}

}  // namespace diecast::config
