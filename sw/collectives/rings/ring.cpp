// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/rings/ring.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "models/abi/address.hpp"
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/member_levels.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::comm {

namespace {

std::vector<pe_coord> stops_of(const pattern_context& c) {
  std::vector<pe_coord> stops;
  for (const std::uint32_t rank : ring_order(c.shape, c.members)) stops.push_back(c.members.members[rank]);
  return stops;
}

std::vector<edge> grid(const pattern_context& c, bool closed) {
  const rank_grid g(c);
  const auto at = [&](std::uint32_t x, std::uint32_t y) { return c.members.members[g.rank_at(x, y)]; };
  std::vector<edge> edges;
  for (std::uint32_t y = 0; y < g.rows(); ++y) {
    std::vector<pe_coord> row;
    for (std::uint32_t x = 0; x < g.columns(); ++x) row.push_back(at(x, y));
    add_line(edges, row, east, west, closed);
  }
  for (std::uint32_t x = 0; x < g.columns(); ++x) {
    std::vector<pe_coord> column;
    for (std::uint32_t y = 0; y < g.rows(); ++y) column.push_back(at(x, y));
    add_line(edges, column, north, south, closed);
  }
  return edges;
}

}  // namespace

std::vector<edge> ring_1d(const pattern_context& c) {
  std::vector<edge> edges;
  add_line(edges, stops_of(c), east, west, true);
  return edges;
}

std::vector<edge> ring_1d_unidir(const pattern_context& c) {
  const std::vector<pe_coord> stops = stops_of(c);
  std::vector<edge> edges;
  for (std::size_t i = 0; stops.size() > 1 && i < stops.size(); ++i) {
    edges.push_back({stops[i], east, stops[(i + 1) % stops.size()], false, west});
  }
  return edges;
}

std::vector<edge> mesh_2d(const pattern_context& c) { return grid(c, false); }
std::vector<edge> torus_2d(const pattern_context& c) { return grid(c, true); }

}  // namespace diecast::comm

namespace diecast::sw {

pattern_table ring_patterns() {
  return {{"ring_1d", "a ring over all ranks, both directions (E, W)", comm::ring_1d},
          {"ring_1d_unidir", "a ring over all ranks: send E, receive W", comm::ring_1d_unidir},
          {"mesh_2d", "rows (E, W) and columns (N, S) of ranks, open at their ends", comm::mesh_2d},
          {"mesh_2d_no_wrap", "the same as mesh_2d", comm::mesh_2d},
          {"torus_2d", "rows (E, W) and columns (N, S) of ranks, closed", comm::torus_2d}};
}

namespace {

using arrival = pe_context::arrival;

/// Parts one after the other down the ring from part `first`: what is received in one step is sent in the
/// next. Step k receives as how(k), for k in [1, steps].
pe_context::pipeline pipeline_of(pe_context& pe, const ring_share& s, std::uint32_t first,
                                 std::uint32_t steps, const std::function<arrival(std::uint32_t)>& how) {
  const std::uint32_t n = s.ring.size;
  const auto part_at = [&](std::uint32_t k) { return part(pe, s.range, (first + n - k % n) % n, n); };
  std::vector<pe_context::stage> received;
  for (std::uint32_t k = 1; k <= steps; ++k) received.push_back({part_at(k).at, part_at(k).bytes, how(k)});
  pe_context::pipeline pipeline;
  pipeline.send = {s.ring.forth};
  pipeline.recv = {s.ring.back};
  add_pass(pipeline, {part_at(0).at, part_at(0).bytes}, received);
  return pipeline;
}

/// A pipeline for each share whose ring has more than one member.
template <class Make>
std::vector<pe_context::pipeline> pipelines_of(const ring_shares& shares, const Make& make) {
  std::vector<pe_context::pipeline> pipelines;
  for (const ring_share& s : shares)
    if (s.ring.size > 1) pipelines.push_back(make(s));
  return pipelines;
}

}  // namespace

ring_shares both_directions(pe_context& pe, const ring_place& ring, const tcm_range& range) {
  return {{ring, part(pe, range, 1, 2)}, {ring.reversed(), part(pe, range, 0, 2)}};
}

void reduce_scatter(pe_context& pe, const ring_shares& shares) {
  const auto pipeline = [&pe](const ring_share& s) {
    return pipeline_of(pe, s, s.ring.position, s.ring.size - 1,
                       [](std::uint32_t) { return arrival::reduce; });
  };
  pe.stream(pipelines_of(shares, pipeline), "reduce_scatter");
}

void all_gather(pe_context& pe, const ring_shares& shares) {
  const auto pipeline = [&pe](const ring_share& s) {
    return pipeline_of(pe, s, s.ring.own(), s.ring.size - 1, [](std::uint32_t) { return arrival::copy; });
  };
  pe.stream(pipelines_of(shares, pipeline), "all_gather");
}

void all_reduce(pe_context& pe, const ring_shares& shares) {
  std::uint32_t longest = 0;  // steps of each half
  for (const ring_share& s : shares) {
    longest = std::max(longest, s.ring.size - 1);
    if (s.ring.size == 1) pe.finish_average(s.range);
  }
  const auto pipeline = [&pe](const ring_share& s) {
    const std::uint32_t steps = s.ring.size - 1;
    // The sums that are complete last are sent round the ring first.
    const auto how = [steps](std::uint32_t k) {
      return k < steps ? arrival::reduce : k == steps ? arrival::complete : arrival::copy;
    };
    return pipeline_of(pe, s, s.ring.position, 2 * steps, how);
  };
  pe.stream(pipelines_of(shares, pipeline), [&pe, longest](std::uint32_t step) {
    pe.step(step < longest ? "reduce_scatter" : "all_gather", step % longest);
  });
}

// All-reduce on a ring: reduce-scatter, then all-gather. ring_1d sends in both directions at
// once, half of the vector each; ring_1d_unidir sends in one (E out, W in).

namespace ring_kernel {

struct parameters {
  std::uint32_t position{};  ///< on the ring
};

ring_place place(pe_context& pe) { return {pe.args().own.get<parameters>().position, pe.args().ranks}; }

void run_ring_1d(pe_context& pe) {
  start_in_output(pe);
  all_reduce(pe, both_directions(pe, place(pe), whole(pe)));
}

void run_ring_1d_unidir(pe_context& pe) {
  start_in_output(pe);
  all_reduce(pe, {{place(pe), whole(pe)}});
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  a.own.set(parameters{ring_positions(c).at(rank)});
}

// All-reduce by passing whole tiles round a ring: in each of N-1 rounds a PE forwards the tile it
// received in the round before and adds it to its own result. What is forwarded is the received
// tile, never the accumulator: that would count contributions twice from N = 4 on. Each rank adds
// in another order, so rounded sums may differ between ranks.

void run_ring_full_tile(pe_context& pe) {
  const abi::kernel_arguments& a = pe.args();
  const std::uint64_t bytes = a.count * numeric::size_of(a.type);
  const std::array<std::uint64_t, 2> tile{a.scratch, a.scratch + abi::aligned(bytes)};

  pe.copy(tile[0], a.input, bytes);
  if (a.output != a.input) pe.copy(a.output, a.input, bytes);
  for (std::uint32_t round = 0; round + 1 < a.ranks; ++round) {
    pe.step("round", round);
    const std::uint64_t forwarded = tile[round % 2];
    const std::uint64_t received = tile[(round + 1) % 2];
    pe.exchange(comm::east, {forwarded, bytes}, comm::west, {received, bytes}, arrival::copy);
    pe.reduce(a.output, received, bytes);
  }
  pe.finish_average({a.output, bytes});
}

}  // namespace ring_kernel

kernel_table ring_kernels() {
  using namespace ring_kernel;
  return {{"ring_1d", "all_reduce", "ring reduce-scatter and all-gather, two counter-rotating halves",
           "ring_1d", any_ranks, run_ring_1d, without_scratch, fill},
          {"ring_1d_unidir", "all_reduce", "ring reduce-scatter and all-gather, one direction",
           "ring_1d_unidir", any_ranks, run_ring_1d_unidir, without_scratch, fill},
          {"ring_full_tile", "all_reduce", "N-1 rounds, each forwarding the whole received vector", "ring_1d",
           any_ranks, run_ring_full_tile, two_tiles, nullptr}};
}

namespace {

using tasks = std::vector<std::function<void()>>;

void append(tasks& all, tasks more) {
  for (auto& t : more) all.push_back(std::move(t));
}

/// A share of the vector and the order in which it takes the axes.
struct pipeline {
  ring_place first, second;
  tcm_range range;
};

tcm_range part_at(pe_context& pe, const ring_place& line, const tcm_range& range) {
  return part(pe, range, line.position, line.size);
}

/// Sums `range` along an open line: part p ends complete at position p. Partial sums of the parts ahead flow
/// forth, of those behind back, the farthest first, so that every PE passes on what it got the round
/// before. Of its own part a PE adds first what comes from behind: the same order at any timing.
tasks reduce_scatter_on_line(pe_context& pe, const open_line& line, const tcm_range& range, bool& own_begun) {
  const auto forth = [&pe, line, range, &own_begun] {
    for (std::uint32_t p = line.size; p-- > line.position;) {
      pe.step("reduce_scatter", line.size - 1 - p);
      if (line.position > 0) pe.reduce_all({line.back}, part(pe, range, p, line.size));
      if (p > line.position) pe.send_all(line.forth, part(pe, range, p, line.size));
    }
    own_begun = true;
  };
  const auto back = [&pe, line, range, &own_begun] {
    for (std::uint32_t p = 0; p <= line.position; ++p) {
      if (p == line.position) pe.wait_until([&own_begun] { return own_begun; });
      if (line.position + 1 < line.size) pe.reduce_all({line.forth}, part(pe, range, p, line.size));
      if (p < line.position) pe.send_all(line.back, part(pe, range, p, line.size));
    }
  };
  return {forth, back};
}

/// Spreads the complete parts of all positions, nearest first.
tasks all_gather_on_line(pe_context& pe, const open_line& line, const tcm_range& range) {
  const auto forth = [&pe, line, range] {
    for (std::uint32_t p = line.position + 1; p-- > 0;) {
      pe.step("all_gather", line.position - p);
      if (p < line.position) pe.recv_all(line.back, part(pe, range, p, line.size), arrival::copy);
      if (line.position + 1 < line.size) pe.send_all(line.forth, part(pe, range, p, line.size));
    }
  };
  const auto back = [&pe, line, range] {
    for (std::uint32_t p = line.position; p < line.size; ++p) {
      if (p > line.position) pe.recv_all(line.forth, part(pe, range, p, line.size), arrival::copy);
      if (line.position > 0) pe.send_all(line.back, part(pe, range, p, line.size));
    }
  };
  return {forth, back};
}

}  // namespace

void all_reduce_on_torus(pe_context& pe, const ring_place& row, const ring_place& column) {
  const tcm_range all = whole(pe);
  std::vector<pipeline> pipelines{{row, column, part(pe, all, 0, 4)},
                                  {row.reversed(), column.reversed(), part(pe, all, 1, 4)},
                                  {column, row, part(pe, all, 2, 4)},
                                  {column.reversed(), row.reversed(), part(pe, all, 3, 4)}};
  if (row.size == 1 || column.size == 1) {  // with a single axis both of its directions are used
    pipelines = {{row, column, part(pe, all, 0, 2)},
                 {row.reversed(), column.reversed(), part(pe, all, 1, 2)}};
  }
  ring_shares firsts, seconds;
  for (const pipeline& l : pipelines) {
    firsts.push_back({l.first, l.range});
    seconds.push_back({l.second, part(pe, l.range, l.first.own(), l.first.size)});
  }
  // Two pipelines share the queue pairs of an axis, one in its first phase, one in its second: all pipelines
  // of a PE end a phase before any begins the next, so a message belongs to the same pipeline at both ends.
  reduce_scatter(pe, firsts);
  all_reduce(pe, seconds);
  all_gather(pe, firsts);
}

void all_reduce_on_mesh(pe_context& pe, const open_line& row, const open_line& column) {
  const tcm_range all = whole(pe);
  std::vector<pipeline> pipelines{{row, column, part(pe, all, 0, 2)}, {column, row, part(pe, all, 1, 2)}};
  if (row.size == 1 || column.size == 1) pipelines = {{row, column, all}};

  const auto run_phase = [&](const std::function<tasks(const pipeline&, bool&)>& of_pipeline) {
    std::array<bool, 2> own_begun{};
    tasks phase;
    for (std::size_t i = 0; i < pipelines.size(); ++i)
      append(phase, of_pipeline(pipelines[i], own_begun.at(i)));
    pe.run_tasks(phase);
  };
  run_phase(
      [&](const pipeline& l, bool& begun) { return reduce_scatter_on_line(pe, l.first, l.range, begun); });
  run_phase([&](const pipeline& l, bool& begun) {
    return reduce_scatter_on_line(pe, l.second, part_at(pe, l.first, l.range), begun);
  });
  for (const pipeline& l : pipelines) pe.finish_average(part_at(pe, l.second, part_at(pe, l.first, l.range)));
  run_phase([&](const pipeline& l, bool&) {
    return all_gather_on_line(pe, l.second, part_at(pe, l.first, l.range));
  });
  run_phase([&](const pipeline& l, bool&) { return all_gather_on_line(pe, l.first, l.range); });
}

// All-reduce on rows, then columns (and columns, then rows): mesh_2d on open lines, torus_2d on rings.

namespace mesh_2d_kernel {

struct parameters {
  std::uint32_t x{}, columns{}, y{}, rows{};
};

ring_place row_of(const parameters& p) { return {p.x, p.columns, comm::east, comm::west}; }
ring_place column_of(const parameters& p) { return {p.y, p.rows, comm::north, comm::south}; }

void run_mesh_2d(pe_context& pe) {
  start_in_output(pe);
  const auto own = pe.args().own.get<parameters>();
  all_reduce_on_mesh(pe, row_of(own), column_of(own));
}

void run_torus_2d(pe_context& pe) {
  start_in_output(pe);
  const auto own = pe.args().own.get<parameters>();
  all_reduce_on_torus(pe, row_of(own), column_of(own));
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::rank_grid& grid = grid_of(c);
  a.own.set(parameters{grid.x(rank), grid.columns(), grid.y(rank), grid.rows()});
}

/// Ranks are cubes by default: the cubes of a SIP are rows and columns.
const std::vector<comm::rank_set> cube_first{comm::rank_set::cube, comm::rank_set::pe, comm::rank_set::sip};

}  // namespace mesh_2d_kernel

kernel_table grid_kernels() {
  using namespace mesh_2d_kernel;
  return {{"mesh_2d", "all_reduce", "rows, then columns, of an open grid of ranks", "mesh_2d", cube_first,
           run_mesh_2d, without_scratch, fill},
          {"torus_2d", "all_reduce", "rows, then columns, of a closed grid of ranks", "torus_2d", cube_first,
           run_torus_2d, without_scratch, fill}};
}

}  // namespace diecast::sw
