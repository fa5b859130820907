// SPDX-License-Identifier: Apache-2.0
// FIFOs of a program, the queue pairs that carry them, and how a vector is cut so that a message
// fits its FIFO.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/types/error.hpp"
#include "sw/collectives/msccl/program.hpp"

namespace diecast::comm {
namespace {

using fifo_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
fifo_key key_of(const program_fifo& f) { return {f.from, f.to, f.channel}; }

std::set<fifo_key> used_fifos(const program& p) {
  std::set<fifo_key> used;
  for (const program_rank& r : p.gpus)
    for (const thread_block& b : r.blocks)
      if (std::ranges::any_of(b.steps, [](const program_step& s) { return sends(s.type) && s.count > 0; }))
        used.insert({static_cast<std::uint32_t>(r.id), static_cast<std::uint32_t>(b.send_peer),
                     static_cast<std::uint32_t>(b.channel)});
  return used;
}

constexpr std::uint64_t round_up_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string program_queue_pair::name() const {
  return fmt::format("{}{}.c{}", tx && rx ? "with" : tx ? "to" : "from", peer, channel);
}

std::uint32_t program_wiring::queue_pairs_needed() const {
  std::size_t most = 0;
  for (const auto& of_rank : queue_pairs) most = std::max(most, of_rank.size());
  return static_cast<std::uint32_t>(most);
}

const program_fifo& program_wiring::fifo(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const {
  const fifo_key wanted{from, to, channel};
  const auto f = std::ranges::lower_bound(fifos, wanted, {}, key_of);
  if (f == fifos.end() || key_of(*f) != wanted)
    throw formatted<std::logic_error>("no FIFO from {} to {} on channel {}", from, to, channel);
  return *f;
}

program_wiring wire(const program& p) {
  const std::set<fifo_key> used = used_fifos(p);
  // Per rank, queue pairs in order of (peer, channel); both directions between two ranks share one.
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, program_queue_pair>> pairs(
      static_cast<std::size_t>(p.ranks));
  for (const auto& [from, to, channel] : used) {
    program_queue_pair& out = pairs[from][{to, channel}];
    out = {to, channel, true, out.rx};
    program_queue_pair& in = pairs[to][{from, channel}];
    in = {from, channel, in.tx, true};
  }
  program_wiring w;
  for (const auto& of_rank : pairs) {
    auto& list = w.queue_pairs.emplace_back();
    for (const auto& [key, qp] : of_rank) list.push_back(qp);
  }
  const auto index = [&](std::uint32_t rank, std::uint32_t peer, std::uint32_t channel) {
    const auto& of_rank = pairs[rank];
    return static_cast<direction>(std::distance(of_rank.begin(), of_rank.find({peer, channel})));
  };
  for (const auto& [from, to, channel] : used)
    w.fifos.push_back({from, to, channel, index(from, to, channel), index(to, from, channel)});
  return w;
}

std::vector<edge> edges_of(const program_wiring& w, const group& g) {
  std::vector<edge> edges;
  for (const program_fifo& f : w.fifos) {
    const bool both = w.queue_pairs[f.from][f.tx_dir].rx;
    edges.push_back({g.members.at(f.from), f.tx_dir, g.members.at(f.to), both, f.rx_dir});
  }
  return edges;
}

namespace {

/// Chunks of the largest step that sends.
std::uint64_t largest_step(const program& p) {
  std::int64_t most = 1;
  for (const program_rank& r : p.gpus)
    for (const thread_block& b : r.blocks)
      for (const program_step& step : b.steps)
        if (sends(step.type)) most = std::max(most, step.count);
  return static_cast<std::uint64_t>(most);
}

}  // namespace

ring_slots fitting_slots(const program& p, std::uint64_t count, std::uint64_t element_bytes,
                         ring_slots configured, std::uint32_t fifo_messages) {
  const std::uint64_t needed = largest_step(p) * std::max(1u, fifo_messages);
  // Chunks of a single slice, and of every slice of an all_reduce, are neighbors in memory: they share slots.
  if (needed <= configured.number || slice(p, count, element_bytes, configured, fifo_messages).stride == 0)
    return configured;
  constexpr std::uint64_t least = 64;  // the alignment of slots
  const std::uint64_t bytes = configured.number * configured.bytes / needed / least * least;
  if (bytes < least)
    throw user_error(
        problem{p.source, fmt::format("a step of {} chunks does not fit a slot ring", largest_step(p)),
                fmt::format("ipcq.n_slots {} x ipcq.slot_bytes {}", configured.number, configured.bytes),
                fmt::format("at least {} bytes", needed * least)});
  return {static_cast<std::uint32_t>(needed), bytes};
}

slicing slice(const program& p, std::uint64_t count, std::uint64_t element_bytes, ring_slots ring,
              std::uint32_t fifo_messages) {
  slicing s;
  if (count == 0) return s;
  const std::uint64_t largest = largest_step(p);
  const auto chunks = static_cast<std::uint64_t>(p.chunks_per_loop);
  // A FIFO of n slots that must hold m messages gives each of them n / m slots.
  const std::uint64_t slots = std::max<std::uint64_t>(1, ring.number / std::max(1u, fifo_messages));
  const std::uint64_t slot_elements = ring.bytes / element_bytes;
  const std::uint64_t total = round_up_div(count, chunks);  // elements of a chunk over all slices

  std::uint64_t piece = slots * slot_elements / largest;
  if (p.collective != collective::all_reduce) {
    s.stride = total;
    // Pieces of neighboring chunks are not neighbors in memory: each takes slots of its own.
    if (piece < total) piece = std::max<std::uint64_t>(1, slots / largest) * slot_elements;
  }
  piece = std::max<std::uint64_t>(piece, 1);
  if (piece < total) {
    piece = round_up_div(total, round_up_div(total, piece));  // equal slices
    // Whole bursts where that costs little: chunk starts aligned to 64 bytes.
    const std::uint64_t aligned = std::max<std::uint64_t>(1, 64 / element_bytes);
    if (piece > 4 * aligned) piece -= piece % aligned;
  } else {
    piece = total;
  }
  s.chunk = piece;
  s.slices = round_up_div(total, piece);
  if (s.stride != 0) {
    s.last_chunk = total - (s.slices - 1) * piece;
    s.last_elements = s.last_chunk * chunks;
    if (s.slices == 1) s.stride = 0;  // chunks of the one slice are neighbors
  } else {
    s.last_elements = count - (s.slices - 1) * piece * chunks;
    s.last_chunk = round_up_div(s.last_elements, chunks);
  }
  return s;
}

}  // namespace diecast::comm
