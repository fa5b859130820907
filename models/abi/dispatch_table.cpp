// SPDX-License-Identifier: Apache-2.0
#include "models/abi/dispatch_table.hpp"

#include <fmt/format.h>

#include "models/types/enum_name.hpp"

namespace diecast::abi {
namespace {

std::string routine_text(std::uint64_t at) {
  for (unsigned i = 0; i < entry_points; ++i)
    if (at == routine_of(static_cast<entry_point>(i))) return to_string(static_cast<entry_point>(i));
  return at == sleep_routine ? "sleep" : "no routine";
}

}  // namespace

const char* to_string(entry_point e) { return enum_name(e); }

std::string target_text(const dispatch_image& table, entry_point e) {
  const auto i = static_cast<unsigned>(e);
  const std::uint64_t at = table.at(i);
  if (at != stub_of(e)) return routine_text(at);
  return routine_text(table.at(entry_points + i)) + ", over the monitor's stub";
}

std::string sleep_step(entry_point e) { return fmt::format("sleep, entered as {}", to_string(e)); }

bool is_sleep_step(std::string_view step) {
  for (unsigned i = 0; i < entry_points; ++i)
    if (step == sleep_step(static_cast<entry_point>(i))) return true;
  return false;
}

}  // namespace diecast::abi
