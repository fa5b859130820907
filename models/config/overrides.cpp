// SPDX-License-Identifier: Apache-2.0
#include "models/config/overrides.hpp"

#include <array>

namespace diecast::config {
namespace {

template <auto Member>
std::optional<field_value> get_member(const link_override& o) {
  const auto& value = o.*Member;
  return value ? std::optional<field_value>(*value) : std::nullopt;
}

template <auto Member>
void set_member(link_override& o, const field_value& v) {
  using value_type = typename std::remove_reference_t<decltype(o.*Member)>::value_type;
  o.*Member = std::get<value_type>(v);
}

template <auto Member>
override_key key(const char* name, const char* description, const char* row) {
  return {name, description, row == nullptr ? nullptr : find_field(row), get_member<Member>,
          set_member<Member>};
}

}  // namespace

std::span<const override_key> override_keys() {
  using o = link_override;
  static const std::array keys{
      key<&o::enabled>("enabled", "false: the link is missing, in both directions; routes go around.",
                       nullptr),
      key<&o::modules>("modules", "UCIe links: modules that work.", "ucie.modules"),
      key<&o::gt_s>("gt_s", "UCIe links: transfers per second and lane.", "ucie.gt_s"),
      key<&o::ber>("ber", "UCIe links: bit error rate.", "ucie.ber"),
      key<&o::gbytes_s>("gbytes_s", "SIP links: payload rate in each direction.", "sip_link.gbytes_s"),
      key<&o::latency_ns>("latency_ns", "UCIe and SIP links: one crossing.", "ucie.latency_ns"),
  };
  return keys;
}

const override_key* find_override_key(std::string_view name) {
  for (const override_key& k : override_keys()) {
    if (k.name == name) return &k;
  }
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

machine_config with_override(machine_config config, const link_override& o) {
  if (o.modules) config.ucie.modules = *o.modules;
  if (o.gt_s) config.ucie.gt_s = *o.gt_s;
  if (o.ber) config.ucie.ber = *o.ber;
  if (o.gbytes_s) config.sip_link.gbytes_s = *o.gbytes_s;
  if (o.latency_ns) config.ucie.latency_ns = config.sip_link.latency_ns = *o.latency_ns;
  return config;
}

}  // namespace diecast::config
