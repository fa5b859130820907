// SPDX-License-Identifier: Apache-2.0
#include "models/config/population.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/config/text.hpp"
#include "models/types/error.hpp"

namespace diecast::config {
namespace {

/// Overrides that set `enabled`.
std::vector<const instance_override*> presences(const machine_config& c) {
  std::vector<const instance_override*> found;
  for (const instance_override& o : c.overrides)
    if (o.enabled) found.push_back(&o);
  return found;
}

bool left_out(const std::vector<const instance_override*>& overrides, const std::string& path) {
  bool out = false;
  for (const instance_override* o : overrides)
    if (matches(o->match, path)) out = !*o->enabled;
  return out;
}

}  // namespace

population::population(const machine_config& c) : shape_(c.shape()) {
  const auto overrides = presences(c);
  if (overrides.empty()) return;
  std::vector<bool> missing(shape_.pes());
  for (std::uint32_t i = 0; i < shape_.pes(); ++i)
    missing[i] = left_out(overrides, pe_path(shape_, shape_.pe_at(i)));
  if (std::ranges::find(missing, true) != missing.end()) missing_ = std::move(missing);
}

std::vector<pe_coord> population::pes() const {
  std::vector<pe_coord> all;
  for (std::uint32_t i = 0; i < shape_.pes(); ++i)
    if (missing_.empty() || !missing_[i]) all.push_back(shape_.pe_at(i));
  return all;
}

std::vector<pe_coord> population::missing() const {
  std::vector<pe_coord> all;
  for (std::uint32_t i = 0; i < missing_.size(); ++i)
    if (missing_[i]) all.push_back(shape_.pe_at(i));
  return all;
}

std::vector<pe_coord> population::pes_of(sip_id sip, cube_id cube) const {
  std::vector<pe_coord> all;
  for (std::uint32_t i = 0; i < shape_.pes_per_cube; ++i)
    if (const pe_coord pe{sip, cube, pe_id{i}}; has(pe)) all.push_back(pe);
  return all;
}

memory_channels::memory_channels(const machine_config& c)
    : shape_(c.shape()), ports_(static_cast<std::uint32_t>(c.hbm.ports)) {
  const auto overrides = presences(c);
  if (overrides.empty()) return;
  bool whole = true;
  for (std::uint32_t n = 0; n < shape_.cubes(); ++n) {
    const std::string cube =
        cube_path(shape_, sip_id{n / shape_.cubes_per_sip()}, cube_id{n % shape_.cubes_per_sip()});
    left_.emplace_back();
    for (std::uint32_t i = 0; i < ports_; ++i)
      if (!left_out(overrides, fmt::format("{}.hbm{}", cube, i))) left_.back().push_back(i);
    whole = whole && left_.back().size() == ports_;
  }
  if (whole) left_.clear();
}

bool memory_channels::has(sip_id sip, cube_id cube, std::uint32_t channel) const {
  if (left_.empty()) return channel < ports_;
  const auto& left = left_[cube_index(sip, cube)];
  return std::ranges::binary_search(left, channel);
}

std::uint32_t memory_channels::count_of(sip_id sip, cube_id cube) const {
  return left_.empty() ? ports_ : static_cast<std::uint32_t>(left_[cube_index(sip, cube)].size());
}

std::uint64_t memory_channels::channels_for(pe_coord pe) const {
  const std::uint64_t n = count_of(pe.sip, pe.cube);
  if (n > 0) return n;
  throw user_error(problem{ports_ == 0 ? "hbm.ports" : "overrides",
                           "the cube has no memory channel for the data of its PEs in HBM",
                           cube_path(shape_, pe.sip, pe.cube), "at least one channel in every cube"});
}

std::uint32_t memory_channels::home_of(pe_coord pe) const {
  const std::uint64_t at = pe.pe.value * channels_for(pe) / shape_.pes_per_cube;
  return left_.empty() ? static_cast<std::uint32_t>(at) : left_[cube_index(pe.sip, pe.cube)][at];
}

std::uint32_t memory_channels::place_of(pe_coord pe) const {
  const std::uint64_t n = channels_for(pe);
  const std::uint64_t pes = shape_.pes_per_cube;
  const std::uint64_t at = pe.pe.value * n / pes;
  return pe.pe.value - static_cast<std::uint32_t>((at * pes + n - 1) / n);  // less the first of this channel
}

std::uint64_t memory_channels::sharers() const {
  std::uint64_t fewest = ports_;
  for (const auto& left : left_)
    if (!left.empty()) fewest = std::min<std::uint64_t>(fewest, left.size());
  return fewest == 0 ? shape_.pes_per_cube : (shape_.pes_per_cube + fewest - 1) / fewest;
}

}  // namespace diecast::config
