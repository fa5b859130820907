// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/memory_map.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "models/types/error.hpp"

namespace diecast::sw {

void page_memory::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t within = offset % page_bytes;
    const std::size_t n = std::min<std::size_t>(out.size(), page_bytes - within);
    const auto found = pages_.find(offset / page_bytes);
    if (found == pages_.end()) {
      std::fill_n(out.begin(), n, fill);
    } else {
      std::copy_n(found->second->begin() + static_cast<std::ptrdiff_t>(within), n, out.begin());
    }
    offset += n;
    out = out.subspan(n);
  }
}

void page_memory::write(std::uint64_t offset, std::span<const std::byte> in) {
  while (!in.empty()) {
    const std::uint64_t within = offset % page_bytes;
    const std::size_t n = std::min<std::size_t>(in.size(), page_bytes - within);
    auto& slot = pages_[offset / page_bytes];
    if (slot == nullptr) {
      slot = std::make_unique<page>();
      slot->fill(fill);
    }
    std::copy_n(in.begin(), n, slot->begin() + static_cast<std::ptrdiff_t>(within));
    offset += n;
    in = in.subspan(n);
  }
}

namespace {

abi::address first_byte(abi::address at) { return at & ~abi::max_offset; }

}  // namespace

memory_map::memory_map(const config::machine_config& config)
    : config_(config), shape_(config.shape()), there_(config), channels_(config) {}

std::uint64_t memory_map::capacity(const abi::location& where) const {
  switch (where.kind) {
    case abi::region::tcm:
      return there_.has({where.sip, where.cube, pe_id{where.unit}}) ? config_.pe.tcm_kib * 1024 : 0;
    case abi::region::sram: return where.unit == 0 ? config_.sram.kib * 1024 : 0;
    case abi::region::hbm:
      return channels_.has(where.sip, where.cube, where.unit) ? config_.hbm.port_mib * 1024 * 1024 : 0;
    default: return 0;
  }
}

abi::location memory_map::check(abi::address at, std::size_t bytes) const {
  const auto where = abi::decode(at);
  const bool exists = where && where->sip.value < shape_.sips && where->cube.value < shape_.cubes_per_sip();
  const std::uint64_t limit = exists ? capacity(*where) : 0;
  if (bytes > limit || (limit > 0 && where->offset > limit - bytes)) {
    throw formatted<std::out_of_range>(
        "mock machine: access of {} bytes at {}; the memory there has {} bytes", bytes, abi::describe(at),
        limit);
  }
  return *where;
}

void memory_map::read(abi::address from, std::span<std::byte> out) const {
  if (out.empty()) return;
  const abi::location where = check(from, out.size());
  static const page_memory untouched;
  const auto found = memories_.find(first_byte(from));
  (found == memories_.end() ? untouched : found->second).read(where.offset, out);
}

void memory_map::write(abi::address to, std::span<const std::byte> in) {
  if (in.empty()) return;
  const abi::location where = check(to, in.size());
  memories_[first_byte(to)].write(where.offset, in);
}

std::uint32_t pe_behind(const machine_shape& shape, abi::address mailbox) {
  const auto where = abi::decode(mailbox);
  if (where && where->kind == abi::region::ipcq_mailbox) {
    const pe_coord pe{where->sip, where->cube, pe_id{where->unit}};
    if (shape.contains(pe)) return shape.pe_index(pe);
  }
  throw protocol_error("mock machine: {} is no mailbox of this machine", abi::describe(mailbox));
}

void evaluate(memory_map& memory, const abi::vector_command& c, const tcm_place& place) {
  const std::vector<std::byte> result = abi::result_of(
      c, [&](std::uint64_t at, std::span<std::byte> out) { memory.read(place(at, out.size()), out); });
  memory.write(place(c.destination, result.size()), result);
}

}  // namespace diecast::sw
