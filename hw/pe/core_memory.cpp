// SPDX-License-Identifier: Apache-2.0
#include "hw/pe/core_memory.hpp"

#include <algorithm>

#include "hw/base/time.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

using protocol::cache_line_bytes;
using protocol::line_of;

core_memory::core_memory(const pe_setup& setup, const block_port<dma_if>& dma, core_hooks hooks)
    : setup_(setup),
      dma_(dma),
      hooks_(std::move(hooks)),
      phase_(core_phase(setup.config)),
      cache_(setup.config.pe.cache_sets, setup.config.pe.cache_ways) {}

void core_memory::check(abi::address at, std::uint64_t bytes, const char* what) const {
  protocol::check_global_access(pe_path(setup_.config.shape(), setup_.self), what, at, bytes);
}

/// Answers arrive at clock edges; firmware continues between edges, at the core's phase.
template <class Condition>
void core_memory::await(Condition holds) {
  if (holds()) return;
  while (!holds()) sc_core::wait(done_);
  sc_core::wait(to_sc(phase_));
}

bool core_memory::writing(abi::address line) const {
  return std::ranges::any_of(writes_, [line](const outstanding& o) { return o.line == line; });
}

void core_memory::count_remote(abi::address at, bool write, std::uint64_t bytes) {
  const auto where = abi::decode(at);
  if (where->sip == setup_.self.sip && where->cube == setup_.self.cube) return;
  ++(write ? counters_.remote_writes : counters_.remote_reads);
  counters_.remote_bytes += bytes;
}

void core_memory::publish(events::memory_phase phase, abi::address at,
                          std::span<const std::byte> bytes) const {
  if (!setup_.events.wants(events::memory)) return;
  setup_.events.publish(events::memory_event{hw::now(), phase, setup_.self, at, bytes});
}

void core_memory::issue(core_access access) {
  access.tag = next_tag_++;
  dma_->start_access(std::move(access));
}

std::vector<std::byte> core_memory::read(abi::address at, std::uint64_t bytes, core_access request) {
  hooks_.wait_owed();
  await([&] { return !writing(line_of(at)); });
  count_remote(at, false, bytes);
  answered_ = false;
  reading_ = next_tag_;
  issue(std::move(request));
  await([this] { return answered_; });
  answer_.resize(bytes);  // the answer has no payload when the run moves no data
  return std::move(answer_);
}

void core_memory::write_back(const protocol::data_cache::line& line) {
  hooks_.wait_owed();
  await([&] { return writes_.size() < setup_.config.pe.cache_write_buffer && !writing(line.at); });
  ++counters_.write_backs;
  count_remote(line.at, true, cache_line_bytes);
  publish(events::memory_phase::write_back, line.at, line.bytes);
  writes_.push_back({next_tag_, line.at});
  issue({abi::packet_kind::write_request,
         line.at,
         cache_line_bytes,
         {line.bytes.begin(), line.bytes.end()},
         0});
}

void core_memory::access_done(std::uint32_t tag, std::span<const std::byte> data) {
  if (!answered_ && tag == reading_) {
    answered_ = true;
    answer_.assign(data.begin(), data.end());
  } else if (std::erase_if(writes_, [tag](const outstanding& o) { return o.tag == tag; }) == 0) {
    throw protocol_error("{}: an answer to access {} of the core, which is not open",
                         pe_path(setup_.config.shape(), setup_.self), tag);
  }
  done_.notify();
}

void core_memory::make_present(abi::address at) {
  hooks_.owe(setup_.config.pe.cache_hit_cycles);
  if (cache_.find(at) != nullptr) {
    ++counters_.hits;
    hooks_.wait_owed();  // firmware that polls a stale line forever must let time pass
    return;
  }
  const abi::address line = line_of(at);
  const auto bytes =
      read(line, cache_line_bytes, {abi::packet_kind::read_request, line, cache_line_bytes, {}, 0});
  ++counters_.line_fills;
  protocol::line_bytes content;
  std::ranges::copy(bytes, content.begin());
  publish(events::memory_phase::fill, line, content);
  if (const auto evicted = cache_.fill(line, content)) {
    ++counters_.evictions;
    write_back(*evicted);
  }
}

void core_memory::load(abi::address at, std::span<std::byte> out) {
  check(at, out.size(), "load");
  ++counters_.loads;
  make_present(at);
  cache_.read(at, out);
}

void core_memory::store(abi::address at, std::span<const std::byte> in) {
  check(at, in.size(), "store");
  ++counters_.stores;
  make_present(at);
  cache_.write(at, in);
  publish(events::memory_phase::store, at, in);
}

void core_memory::dcci_line(abi::address at) {
  check(at, 1, "dcci");
  hooks_.owe(setup_.config.pe.cache_dcci_cycles);
  if (const auto dirty = cache_.clean_and_invalidate(at)) write_back(*dirty);
}

void core_memory::dcci_all() {
  // The walk over the cache reads every set.
  hooks_.owe(setup_.config.pe.cache_dcci_cycles * setup_.config.pe.cache_sets);
  for (const auto& dirty : cache_.clean_and_invalidate_all()) write_back(dirty);
}

void core_memory::pipe_barrier() {
  hooks_.wait_owed();
  await([this] { return writes_.empty(); });
}

void core_memory::load_uncached(abi::address at, std::span<std::byte> out) {
  check(at, out.size(), "uncached load");
  ++counters_.uncached_reads;
  const auto bytes = read(
      at, out.size(), {abi::packet_kind::read_request, at, static_cast<std::uint32_t>(out.size()), {}, 0});
  std::ranges::copy(bytes, out.begin());
}

std::uint64_t core_memory::add_at_memory(abi::address at, std::uint64_t value) {
  std::uint64_t before = 0;
  protocol::check_atomic_access(pe_path(setup_.config.shape(), setup_.self), at);
  ++counters_.atomics;
  const auto operand = std::as_bytes(std::span{&value, 1});
  const auto bytes =
      read(at, sizeof value,
           {abi::packet_kind::atomic_add, at, sizeof value, {operand.begin(), operand.end()}, 0});
  std::ranges::copy(bytes, std::as_writable_bytes(std::span{&before, 1}).begin());
  return before;
}

}  // namespace diecast::hw
