// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/data_cache.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/types/error.hpp"

namespace diecast::protocol {
data_cache::data_cache(std::uint64_t sets, std::uint64_t ways) : sets_(sets), ways_(ways) {
  if (sets == 0 || ways == 0) throw std::invalid_argument("data cache: a cache has sets and ways");
}

const data_cache::line* data_cache::find(abi::address at) const {
  if (lines_.empty()) return nullptr;
  const abi::address wanted = line_of(at);
  const std::size_t first = first_way(wanted);
  for (std::size_t i = first; i < first + ways_; ++i)
    if (lines_[i].valid && lines_[i].content.at == wanted) return &lines_[i].content;
  return nullptr;
}

data_cache::way* data_cache::lookup(abi::address at) {
  if (lines_.empty()) return nullptr;
  const abi::address wanted = line_of(at);
  const std::size_t first = first_way(wanted);
  for (std::size_t i = first; i < first + ways_; ++i)
    if (lines_[i].valid && lines_[i].content.at == wanted) return &lines_[i];
  return nullptr;
}

data_cache::way& data_cache::present(abi::address at) {
  way* const w = lookup(at);
  if (w == nullptr) throw std::logic_error("data cache: access to a line that is not here");
  w->used = ++stamp_;
  return *w;
}

void data_cache::read(abi::address at, std::span<std::byte> out) {
  const auto& bytes = present(at).content.bytes;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at % cache_line_bytes), out.size(), out.begin());
}

void data_cache::write(abi::address at, std::span<const std::byte> in) {
  line& l = present(at).content;
  std::ranges::copy(in, l.bytes.begin() + static_cast<std::ptrdiff_t>(at % cache_line_bytes));
  l.dirty = true;
}

std::optional<data_cache::line> data_cache::fill(abi::address at, const line_bytes& bytes) {
  if (lookup(at) != nullptr) throw std::logic_error("data cache: a line is filled twice");
  if (lines_.empty()) lines_.resize(static_cast<std::size_t>(sets_ * ways_));
  const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(first_way(line_of(at)));
  const auto last = first + static_cast<std::ptrdiff_t>(ways_);
  const auto age = [](const way& w) { return w.valid ? w.used : 0; };
  way& victim = *std::min_element(first, last, [&](const way& a, const way& b) { return age(a) < age(b); });
  std::optional<line> leaves;
  if (victim.valid && victim.content.dirty) leaves = victim.content;
  victim = {{line_of(at), bytes, false}, true, ++stamp_};
  return leaves;
}

std::optional<data_cache::line> data_cache::clean_and_invalidate(abi::address at) {
  way* const w = lookup(at);
  if (w == nullptr) return std::nullopt;
  w->valid = false;
  if (!w->content.dirty) return std::nullopt;
  return w->content;
}

std::vector<data_cache::line> data_cache::clean_and_invalidate_all() {
  std::vector<line> dirty;
  for (way& w : lines_) {
    if (w.valid && w.content.dirty) dirty.push_back(w.content);
    w.valid = false;
  }
  return dirty;
}

void check_global_access(const std::string& who, const char* what, abi::address at, std::uint64_t bytes) {
  const auto where = abi::decode(at);
  const bool global = where && (where->kind == abi::region::hbm || where->kind == abi::region::sram);
  if (global && bytes > 0 && within_a_line(at, bytes)) return;
  throw protocol_error("{}: {} of {} bytes at {}; expected bytes of one {}-byte line of HBM or SRAM", who,
                       what, bytes, abi::describe(at), cache_line_bytes);
}

void check_atomic_access(const std::string& who, abi::address at) {
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  check_global_access(who, "atomic add", at, word);
  if (at % word == 0) return;
  throw protocol_error("{}: atomic add of {} bytes at {}; expected an address that is a multiple of {}", who,
                       word, abi::describe(at), word);
}

}  // namespace diecast::protocol
