// SPDX-License-Identifier: Apache-2.0
#include "models/abi/address.hpp"

#include <fmt/format.h>
#include <stdexcept>

#include "models/types/enum_name.hpp"

namespace diecast::abi {
namespace {

constexpr unsigned sip_shift = 56;
constexpr unsigned cube_shift = 48;
constexpr unsigned region_shift = 44;
constexpr unsigned unit_shift = 36;

void check(const char* field, std::uint64_t value, std::uint64_t limit) {
  if (value > limit)
    throw std::out_of_range(fmt::format("physical address: {} {} is above {}", field, value, limit));
}

bool is_region(std::uint64_t value) {
  return value >= static_cast<std::uint64_t>(region::tcm) &&
         value <= static_cast<std::uint64_t>(region::tree);
}

}  // namespace

address encode(const location& where) {
  check("sip", where.sip.value, max_sips - 1);
  check("cube", where.cube.value, max_cubes_per_sip - 1);
  check("unit", where.unit, max_units - 1);
  check("offset", where.offset, max_offset);
  return std::uint64_t{where.sip.value} << sip_shift | std::uint64_t{where.cube.value} << cube_shift |
         static_cast<std::uint64_t>(where.kind) << region_shift | std::uint64_t{where.unit} << unit_shift |
         where.offset;
}

address tree_address(tree_use use) {
  return encode({sip_id{0}, cube_id{0}, region::tree, static_cast<std::uint32_t>(use), 0});
}

std::optional<location> decode(address a) {
  const std::uint64_t kind = a >> region_shift & 0xf;
  if (!is_region(kind)) return std::nullopt;
  return location{sip_id{static_cast<std::uint32_t>(a >> sip_shift)},
                  cube_id{static_cast<std::uint32_t>(a >> cube_shift & 0xff)}, static_cast<region>(kind),
                  static_cast<std::uint32_t>(a >> unit_shift & 0xff), a & max_offset};
}

const char* to_string(region r) { return enum_name(r); }

std::string describe(address a) {
  const auto where = decode(a);
  if (!where) return fmt::format("{:#018x} (no region)", a);
  return fmt::format("{:#018x} ({} {}[{}]+{:#x})", a, cube_name(where->sip, where->cube),
                     to_string(where->kind), where->unit, where->offset);
}

}  // namespace diecast::abi
