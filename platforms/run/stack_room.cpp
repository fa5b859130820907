// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/stack_room.hpp"

#include <fmt/format.h>
#include <fstream>

namespace diecast::platforms {
namespace {

constexpr std::uint64_t mappings_per_thread = 2;
/// Libraries, the heap and its large blocks.
constexpr std::uint64_t other_mappings = 1024;

}  // namespace

std::optional<std::uint64_t> permitted_mappings() {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::uint64_t count = 0;
  if (!(file >> count)) return std::nullopt;
  return count;
}

std::optional<problem> find_lack_of_stacks(std::uint64_t pes, std::uint64_t hosts,
                                           std::optional<std::uint64_t> permitted) {
  const std::uint64_t threads = pes + hosts;
  const std::uint64_t needed = mappings_per_thread * threads + other_mappings;
  if (!permitted || needed <= *permitted) return std::nullopt;
  return problem{
      "vm.max_map_count",
      fmt::format("this system permits a process too few memory mappings for the stacks of {} PEs and "
                  "{} hosts",
                  pes, hosts),
      fmt::format("{}", *permitted), fmt::format("{} (sysctl -w vm.max_map_count={})", needed, needed)};
}

void check_stacks(std::uint64_t pes, std::uint64_t hosts) {
  if (auto lack = find_lack_of_stacks(pes, hosts, permitted_mappings())) throw user_error(std::move(*lack));
}

}  // namespace diecast::platforms
