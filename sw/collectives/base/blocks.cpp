// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/blocks.hpp"

#include <span>

#include "models/abi/address.hpp"
#include "models/comm/collective.hpp"
#include "models/numeric/types.hpp"
#include "sw/collectives/base/builtin.hpp"

namespace diecast::sw {
namespace {

using abi::aligned;

void move(pe_context& pe, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  if (to != from && bytes > 0) pe.copy(to, from, bytes);
}

}  // namespace

block_vector::block_vector(pe_context& pe, std::uint64_t base)
    : base_(base),
      count_(pe.args().count),
      element_(numeric::size_of(pe.args().type)),
      ranks_(pe.args().ranks) {}

tcm_range block_vector::range(std::uint64_t begin, std::uint64_t end) const {
  return {base_ + begin * element_, (end - begin) * element_};
}

tcm_range block_vector::whole() const { return range(0, count_); }

tcm_range block_vector::block(std::uint32_t rank) const { return part_of_block(rank, 0, 1); }

tcm_range block_vector::part_of_block(std::uint32_t rank, std::uint64_t index, std::uint64_t parts) const {
  const comm::element_range block = comm::part_of(count_, rank, ranks_);
  const comm::element_range r = comm::part_of(block.count, index, parts);
  return range(block.begin + r.begin, block.begin + r.begin + r.count);
}

tcm_range block_vector::part_of_whole(std::uint64_t index, std::uint64_t parts) const {
  const comm::element_range r = comm::part_of(count_, index, parts);
  return range(r.begin, r.begin + r.count);
}

std::array<tcm_range, 2> block_vector::blocks_from(std::uint32_t first, std::uint32_t n) const {
  const auto begin_of = [this](std::uint64_t block) { return comm::part_of(count_, block, ranks_).begin; };
  if (first + n <= ranks_) return {range(begin_of(first), begin_of(first + n)), range(0, 0)};
  return {range(begin_of(first), count_), range(0, begin_of(first + n - ranks_))};
}

void exchange(pe_context& pe, comm::direction send_dir, const std::array<tcm_range, 2>& sent,
              comm::direction recv_dir, const std::array<tcm_range, 2>& received, pe_context::arrival how) {
  for (std::size_t i = 0; i < 2; ++i) pe.exchange(send_dir, sent[i], recv_dir, received[i], how);
}

void spread_blocks(pe_context& pe, const block_vector& v, std::uint64_t to, std::uint64_t stride) {
  for (std::uint32_t r = 0; r < v.blocks(); ++r, to += stride) {
    const tcm_range b = v.block(r);
    move(pe, to, b.at, b.bytes);
    move(pe, to + b.bytes, v.whole().at, stride - b.bytes);
  }
}

std::uint32_t around(std::uint32_t value, std::int64_t distance, std::uint32_t size) {
  return static_cast<std::uint32_t>((std::int64_t{value} + distance + size) % size);
}

block_vector gathered_in_output(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  block_vector v(pe, a.output);
  const tcm_range own = v.block(a.rank);
  move(pe, own.at, a.input, own.bytes);
  return v;
}

block_vector reduced_in_output(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  block_vector v(pe, a.output);
  move(pe, a.output, a.input, v.whole().bytes);
  return v;
}

block_vector scattered_from_input(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  block_vector v(pe, a.input);
  if (a.output == v.block(a.rank).at) return v;
  const std::uint64_t copy = a.scratch + a.own.copy;
  move(pe, copy, a.input, v.whole().bytes);
  return {pe, copy};
}

void deliver_own_block(pe_context& pe, const block_vector& v) {
  const abi::kernel_arguments& a = pe.args();
  const tcm_range own = v.block(a.rank);
  move(pe, a.output, own.at, own.bytes);
}

void deliver_own_sum(pe_context& pe, const block_vector& v) {
  deliver_own_block(pe, v);
  pe.finish_average({pe.args().output, v.block(pe.args().rank).bytes});
}

std::uint64_t scatter_scratch(const argument_context& c, std::uint64_t words) {
  return aligned(words * sizeof(std::uint64_t)) + (c.in_place ? 0 : aligned(vector_bytes(c)));
}

void fill_scatter(std::uint64_t words, abi::kernel_arguments& a) {
  a.own.copy = aligned(words * sizeof(std::uint64_t));
}

std::uint64_t ring_image_words(const argument_context& c) { return (c.members.members.size() + 1) / 2; }

std::vector<std::uint64_t> ring_image(const argument_context& c, std::uint32_t rank) {
  const std::vector<std::uint32_t>& positions = ring_positions(c);
  const std::size_t n = positions.size();
  std::vector<std::uint32_t> ring(n);
  for (std::uint32_t r = 0; r < n; ++r) ring[(positions[r] + n - positions.at(rank)) % n] = r;
  return packed_image(ring);
}

std::vector<std::uint64_t> packed_image(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint64_t> words((numbers.size() + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) words[i / 2] |= std::uint64_t{numbers[i]} << (i % 2 * 32);
  return words;
}

void append_from(std::vector<std::uint32_t>& numbers, const std::vector<std::uint32_t>& ring,
                 std::uint32_t own) {
  const auto first = std::ranges::find(ring, own);
  numbers.insert(numbers.end(), first, ring.end());
  numbers.insert(numbers.end(), ring.begin(), first);
}

std::vector<std::uint32_t> ring_from_image(pe_context& pe, std::uint32_t count) {
  std::vector<std::uint32_t> ranks(count);
  pe.hal().load(pe.args().scratch, std::as_writable_bytes(std::span(ranks)));
  return ranks;
}

pe_context::pipeline ring_pipeline(std::int64_t direction) {
  pe_context::pipeline pipeline;
  pipeline.send = {direction > 0 ? comm::east : comm::west};
  pipeline.recv = {direction > 0 ? comm::west : comm::east};
  return pipeline;
}

pe_context::pipeline down_pipeline(const tcm_range& range, const std::vector<comm::direction>& parent,
                                   const std::vector<comm::direction>& children) {
  pe_context::pipeline pipeline{children, {}, parent, {}};
  if (parent.empty()) {
    pipeline.sent = {{range.at, range.bytes}};
  } else {
    pipeline.pass({range.at, range.bytes, pe_context::arrival::copy});
  }
  return pipeline;
}

pe_context::pipeline up_pipeline(const tcm_range& range, const std::vector<comm::direction>& children,
                                 const std::vector<comm::direction>& parent) {
  pe_context::pipeline pipeline{parent, {}, children, {}};
  if (children.empty()) {
    pipeline.sent = {{range.at, range.bytes}};
  } else {
    pipeline.pass({range.at, range.bytes, pe_context::arrival::reduce});
  }
  return pipeline;
}

void add_pass(pe_context::pipeline& pipeline, const pe_context::outgoing& first,
              const std::vector<pe_context::stage>& received) {
  pipeline.sent.reserve(pipeline.sent.size() + received.size() + 1);
  pipeline.received.reserve(pipeline.received.size() + received.size());
  pipeline.sent.push_back(first);
  for (const pe_context::stage& s : received) pipeline.pass(s);
  if (!received.empty()) pipeline.sent.pop_back();
}

tcm_range whole(pe_context& pe) { return block_vector(pe, pe.args().output).whole(); }

tcm_range part(pe_context& pe, const tcm_range& whole, std::uint64_t index, std::uint64_t parts) {
  const std::uint64_t element = numeric::size_of(pe.args().type);
  const comm::element_range r = comm::part_of(whole.bytes / element, index, parts);
  return {whole.at + r.begin * element, r.count * element};
}

void start_in_output(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  if (a.output != a.input) pe.copy(a.output, a.input, a.count * numeric::size_of(a.type));
}

}  // namespace diecast::sw
