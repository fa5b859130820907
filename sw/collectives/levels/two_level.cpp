// SPDX-License-Identifier: Apache-2.0
// All-gather, reduce-scatter, and both as an all-reduce, on the grid of comm::sip_rows: rows are SIPs,
// columns the positions within a SIP. A PE has few queue pairs to other SIPs, but all PEs use theirs at once,
// so that a long path with few credits does not delay the rings within the SIPs.
//
//   all_gather      column rings spread a rank's block over the SIPs while the row ring passes round the
//                   blocks of its own SIP, then those of the other SIPs as they arrive
//   reduce_scatter  the reverse: row rings sum the blocks of the other SIPs first; column rings take
//                   these sums to their owners while the row ring sums the blocks of its own SIP
//
// A row's pass begins some turns after the previous one begins, not after its end: a hop of a short block
// takes longer than its bytes, so that blocks of several passes are in flight (docs/adr/0050).
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sw/collectives/base/blocks.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/levels/level_rings.hpp"
#include "sw/collectives/rings/ring_passes.hpp"

namespace diecast::sw {
namespace two_level_kernel {

using arrival = pe_context::arrival;
using pipelines = std::vector<pe_context::pipeline>;
template <class T>
using both_directions = std::array<T, 2>;  ///< by number in `ring_directions`
using row_passes = both_directions<std::vector<ring_pass>>;

struct parameters {
  comm::sip_rows grid;
  std::uint32_t beside_copies{};  ///< not 0: tensors are in HBM, so copies share the network interface
};

/// Blocks on the rings of the own row and column. Pipelines 0 and 1 are the two directions of the row's ring,
/// 2 and 3 those of the column's.
class ring_blocks {
 public:
  ring_blocks(pe_context& pe, const block_vector& v)
      : v_(v),
        place_(pe.args().own.get<parameters>().grid, pe.args().rank),
        columns_(ring_from_image(pe, place_.grid.columns)),
        row_ring_{position_in(columns_), place_.grid.columns,
                  place_.grid.columns < 2 ? 0 : slot_of(pe, comm::east)},
        column_ring_{place_.row, place_.grid.rows,
                     place_.grid.columns > 1 || place_.grid.rows < 2 ? 0 : slot_of(pe, comm::global_east)},
        apart_(comm::steps_between_passes(slots_of_block(),
                                          pe.args().own.get<parameters>().beside_copies != 0)) {
    for (const std::int64_t direction : ring_directions) pipelines_.push_back(ring_pipeline(direction));
    for (const std::int64_t direction : ring_directions) {
      pe_context::pipeline pipeline;
      pipeline.send = {direction > 0 ? comm::global_east : comm::global_west};
      pipeline.recv = {direction > 0 ? comm::global_west : comm::global_east};
      pipelines_.push_back(std::move(pipeline));
    }
  }

  [[nodiscard]] bool cross_sips() const { return place_.grid.rows > 1; }

  /// The column's passes spread the own block; the row's pass round the own row's blocks, then those that
  /// arrive along the column.
  [[nodiscard]] const pipelines& all_gather() {
    row_passes row;
    add_gather(row, 0, {});
    std::vector<std::size_t> first;  // by hops - 1: the row's first pass of blocks from so far
    for (std::uint32_t hops = 1; hops <= column_ring_.most_hops(); ++hops) {
      first.push_back(row[0].size());
      for (std::size_t w = 0; w < 2; ++w) {
        const std::int64_t distance = -ring_directions[w] * hops;
        if (hops > column_ring_.reach(distance, w)) continue;
        add_gather(row, distance, {static_cast<std::int32_t>(hops - 1), static_cast<std::int32_t>(2 + w)});
      }
    }
    const std::vector<pass_place> places = add_row(row, arrival::copy)[0];
    std::vector<std::uint64_t> needed;  // bytes that the row has brought before these passes
    needed.reserve(first.size());
    for (const std::size_t i : first) needed.push_back(places[i].before);
    for (std::size_t w = 0; w < 2; ++w) {
      add_column(w, gather_pass(w, column_ring_, own_column(), {}), arrival::copy);
      spread_before(needed, pipelines_[2 + w]);
    }
    return pipelines_;
  }

  /// The reverse of the gather: the row's passes sum the blocks of the other rows first, in the order in
  /// which the column's passes send these sums.
  [[nodiscard]] const pipelines& reduce_scatter() {
    row_passes row;
    std::map<std::uint32_t, std::size_t> pass_for;        // by row
    std::array<std::vector<std::size_t>, 2> passes_sent;  // by range of the column's pipeline
    for (std::uint32_t hops = column_ring_.most_hops(); hops > 0; --hops) {
      for (std::size_t w = 0; w < 2; ++w) {
        const std::int64_t distance = ring_directions[w] * hops;
        if (hops > column_ring_.reach(distance, w)) continue;
        pass_for[place_.row_on(distance)] = row[0].size();
        passes_sent[w].push_back(row[0].size());
        add_sums(row, distance);
      }
    }
    add_sums(row, 0);
    const both_directions<std::vector<pass_place>> places = add_row(row, arrival::reduce);
    const auto row_sum = [&](std::int64_t distance) {
      return last_stages(places, pass_for.at(place_.row_on(distance)));
    };
    for (std::size_t w = 0; w < 2; ++w) {
      add_column(w, sum_pass(w, column_ring_, own_column(), row_sum), arrival::reduce);
      std::vector<std::uint64_t> ready;  // bytes of the row, by range of the column's pipeline
      for (const std::size_t i : passes_sent[w]) ready.push_back(places[0][i].through);
      spread_after(ready, pipelines_[2 + w]);
    }
    return pipelines_;
  }

 private:
  /// Position of this PE on its row's ring, counted from column 0; `columns` begins with the own one.
  [[nodiscard]] static std::uint32_t position_in(const std::vector<std::uint32_t>& columns) {
    const auto first = std::ranges::find(columns, 0u) - columns.begin();
    return around(0, -first, static_cast<std::uint32_t>(columns.size()));
  }
  /// Bytes of a message in that direction.
  [[nodiscard]] static std::uint64_t slot_of(pe_context& pe, comm::direction dir) {
    return pe.message_elements(dir) * numeric::size_of(pe.args().type);
  }
  /// Slots of the last block, which is the longest (comm::part_of), so that all members get the same number.
  /// 0 where a row has one member and no passes.
  [[nodiscard]] std::uint64_t slots_of_block() const {
    if (row_ring_.slot == 0) return 0;
    return (v_.block(v_.blocks() - 1).bytes + row_ring_.slot - 1) / row_ring_.slot;
  }

  /// Blocks of the row `rows_on` rows on, by distance round the row's ring.
  [[nodiscard]] block_at row_at(std::int64_t rows_on) const {
    return [this, row = place_.row_on(rows_on)](std::int64_t distance) {
      return v_.block(place_.grid.rank_at(row, columns_[around(0, distance, row_ring_.members)]));
    };
  }
  /// Blocks of the own column, by distance round the column's ring.
  [[nodiscard]] block_at own_column() const {
    return [this](std::int64_t distance) {
      return v_.block(place_.grid.rank_at(place_.row_on(distance), place_.column));
    };
  }

  void add_gather(row_passes& row, std::int64_t rows_on, const pe_context::awaited& own) const {
    for (std::size_t w = 0; w < 2; ++w) row[w].push_back(gather_pass(w, row_ring_, row_at(rows_on), own));
  }
  void add_sums(row_passes& row, std::int64_t rows_on) const {
    const auto nothing = [](std::int64_t) { return awaited_stages{}; };
    for (std::size_t w = 0; w < 2; ++w) row[w].push_back(sum_pass(w, row_ring_, row_at(rows_on), nothing));
  }
  both_directions<std::vector<pass_place>> add_row(const row_passes& row, arrival how) {
    return {schedule_passes(pipelines_[0], row[0], how, apart_),
            schedule_passes(pipelines_[1], row[1], how, apart_)};
  }
  void add_column(std::size_t w, const ring_pass& of_column, arrival how) {
    schedule_passes(pipelines_[2 + w], {of_column}, how, 0);
  }
  /// The stages that complete what a pass sums up here.
  [[nodiscard]] static awaited_stages last_stages(const both_directions<std::vector<pass_place>>& row,
                                                  std::size_t index) {
    awaited_stages sums;
    for (std::size_t w = 0; w < 2; ++w)
      if (row[w][index].last >= 0) sums[w] = {row[w][index].last, static_cast<std::int32_t>(w)};
    return sums;
  }

  // All PEs of a SIP share the links to other SIPs. Blocks that were sent at once would queue for these links
  // and block packets of the rows. So every range of the column's pipeline has an equal share of the whole
  // time, by the bytes that have arrived on the row's ring; its slots are spread over that share, and PEs
  // have time slots.

  /// Bytes that this PE receives on the row's ring from one direction.
  [[nodiscard]] std::uint64_t row_bytes() const {
    std::uint64_t bytes = 0;
    for (const pe_context::stage& s : pipelines_[0].received) bytes += s.bytes;
    return bytes;
  }
  void spread(pe_context::outgoing& range, std::uint64_t from, std::uint64_t over) const {
    // Single slots do not queue up; delaying them costs more than it gains.
    if (range.bytes <= row_ring_.slot) return;
    const std::uint64_t slots = (range.bytes + row_ring_.slot - 1) / row_ring_.slot;
    // Time slots end before the next slot is due, so that a ring that is late catches up.
    const std::uint64_t turn = over / (slots + 1) * row_ring_.position / row_ring_.members;
    // The last fourteenth is a margin: delayed slots are sent before the next range is due (measured,
    // docs/adr/0050).
    range.not_before = {0, from + turn, over - over / 14};
  }
  /// `needed`: by range of the pipeline, bytes of the row when the row begins to wait for the range.
  void spread_before(const std::vector<std::uint64_t>& needed, pe_context::pipeline& pipeline) const {
    if (row_ring_.slot == 0) return;  // a row of one member has no ring that others could block
    std::uint64_t share = row_bytes();
    for (std::size_t i = 0; i < pipeline.sent.size(); ++i) share = std::min(share, needed[i] / (i + 1));
    for (std::size_t i = 0; i < pipeline.sent.size(); ++i) spread(pipeline.sent[i], i * share, share);
  }
  /// `ready`: by range of the pipeline, bytes of the row when the range is complete.
  void spread_after(const std::vector<std::uint64_t>& ready, pe_context::pipeline& pipeline) const {
    if (row_ring_.slot == 0) return;
    const std::size_t n = pipeline.sent.size();
    const std::uint64_t end = row_bytes();
    std::uint64_t share = end;
    for (std::size_t i = 0; i < n; ++i) share = std::min(share, (end - ready[i]) / (n - i));
    for (std::size_t i = 0; i < n; ++i) spread(pipeline.sent[i], end - (n - i) * share, share);
  }

  const block_vector& v_;
  grid_place place_;
  std::vector<std::uint32_t> columns_;  ///< columns in the order of the row's ring, from the own one on
  two_way_ring row_ring_, column_ring_;
  std::uint32_t apart_;  ///< turns between the row's passes
  pipelines pipelines_;
};

void run_all_gather(pe_context& pe) {
  const block_vector v = gathered_in_output(pe);
  pe.last_stream(ring_blocks(pe, v).all_gather(), "all_gather");
}

void run_reduce_scatter(pe_context& pe) {
  const block_vector v = scattered_from_input(pe);
  pe.last_stream(ring_blocks(pe, v).reduce_scatter(), "reduce_scatter");
  deliver_own_sum(pe, v);
}

/// Every block is summed at its owner and then copied, so all ranks end with the same bits. The sums of the
/// row and of the column are added in the order of arrival: with other delays they may round differently.
void run_all_reduce(pe_context& pe) {
  const block_vector v = reduced_in_output(pe);
  pe.stream(ring_blocks(pe, v).reduce_scatter(), "reduce_scatter");
  pe.finish_average(v.block(pe.args().rank));
  ring_blocks rings(pe, v);
  const pipelines& gather = rings.all_gather();
  // A next chunk that begins early uses the time of waits for other SIPs. Within one SIP it
  // gains nothing (measured, docs/adr/0054).
  if (rings.cross_sips()) {
    pe.last_stream(gather, "all_gather");
  } else {
    pe.stream(gather, "all_gather");
  }
}

std::uint64_t image_words(const argument_context& c) {
  return (comm::sip_rows_of(c.members).columns + 1) / 2;
}

/// Columns in the order of the row's ring, from the rank's own on.
std::vector<std::uint64_t> image(const argument_context& c, std::uint32_t rank) {
  const comm::sip_rows g = comm::sip_rows_of(c.members);
  std::vector<std::uint32_t> columns;
  append_from(columns, comm::row_ring(pattern_context_of(c), g, g.row_of(rank)), g.column_of(rank));
  return packed_image(columns);
}

std::uint64_t gather_scratch(const argument_context& c) { return image_words(c) * sizeof(std::uint64_t); }
std::uint64_t reduce_scratch(const argument_context& c) { return scatter_scratch(c, image_words(c)); }

void fill(const argument_context& c, std::uint32_t, abi::kernel_arguments& a) {
  const bool beside_copies = c.config.ccl.tensors == config::tensor_kind::hbm;
  a.own.set(parameters{comm::sip_rows_of(c.members), beside_copies ? 1U : 0U});
  fill_scatter(image_words(c), a);
}

}  // namespace two_level_kernel

kernel_table two_level_kernels() {
  using namespace two_level_kernel;
  return {
      {"two_level", "all_reduce", "reduce-scatter and all-gather on rings within the SIPs and between them",
       "two_level_rings", any_ranks, run_all_reduce, gather_scratch, fill, image},
      {"two_level", "all_gather", "rings within the SIPs, and between them for every position within a SIP",
       "two_level_rings", any_ranks, run_all_gather, gather_scratch, fill, image},
      {"two_level", "reduce_scatter",
       "rings within the SIPs, and between them for every position within a SIP", "two_level_rings",
       any_ranks, run_reduce_scatter, reduce_scratch, fill, image}};
}

}  // namespace diecast::sw
