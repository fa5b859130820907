// SPDX-License-Identifier: Apache-2.0
#include "sw/kernels/grid.hpp"

#include <array>
#include <utility>

namespace diecast::sw {
namespace {

using tasks = std::vector<std::function<void()>>;

void append(tasks& all, tasks more) {
  for (auto& t : more) all.push_back(std::move(t));
}

/// A share of the vector and the order in which it takes the axes.
struct lane {
  ring_place first, second;
  elements range;
};

elements part_at(const ring_place& line, const elements& range) {
  return part(range, line.position, line.size);
}

/// Sums `range` along an open line: part p ends complete at position p. Partial sums of the parts ahead flow
/// forth, of those behind back, the farthest first, so that every PE passes on what it got the round
/// before. Of its own part a PE adds first what comes from behind: the same order at any timing.
tasks reduce_scatter_on_line(pe_context& pe, const open_line& line, const elements& range, bool& own_begun) {
  const auto forth = [&pe, line, range, &own_begun] {
    for (std::uint32_t p = line.size; p-- > line.position;) {
      pe.step("reduce_scatter", line.size - 1 - p);
      if (line.position > 0) reduce_all(pe, {line.back}, part(range, p, line.size));
      if (p > line.position) send_all(pe, {line.forth}, part(range, p, line.size));
    }
    own_begun = true;
  };
  const auto back = [&pe, line, range, &own_begun] {
    for (std::uint32_t p = 0; p <= line.position; ++p) {
      if (p == line.position) pe.wait_until([&own_begun] { return own_begun; });
      if (line.position + 1 < line.size) reduce_all(pe, {line.forth}, part(range, p, line.size));
      if (p < line.position) send_all(pe, {line.back}, part(range, p, line.size));
    }
  };
  return {forth, back};
}

/// Spreads the complete parts of all positions, nearest first.
tasks all_gather_on_line(pe_context& pe, const open_line& line, const elements& range) {
  const auto forth = [&pe, line, range] {
    for (std::uint32_t p = line.position + 1; p-- > 0;) {
      pe.step("all_gather", line.position - p);
      if (p < line.position) receive_all(pe, line.back, part(range, p, line.size));
      if (line.position + 1 < line.size) send_all(pe, {line.forth}, part(range, p, line.size));
    }
  };
  const auto back = [&pe, line, range] {
    for (std::uint32_t p = line.position; p < line.size; ++p) {
      if (p > line.position) receive_all(pe, line.forth, part(range, p, line.size));
      if (line.position > 0) send_all(pe, {line.back}, part(range, p, line.size));
    }
  };
  return {forth, back};
}

}  // namespace

void all_reduce_on_torus(pe_context& pe, const ring_place& row, const ring_place& column) {
  const elements all = whole(pe);
  std::vector<lane> lanes{{row, column, part(all, 0, 4)},
                          {row.reversed(), column.reversed(), part(all, 1, 4)},
                          {column, row, part(all, 2, 4)},
                          {column.reversed(), row.reversed(), part(all, 3, 4)}};
  if (row.size == 1 || column.size == 1) {  // one axis: both of its ways
    lanes = {{row, column, part(all, 0, 2)}, {row.reversed(), column.reversed(), part(all, 1, 2)}};
  }
  ring_shares firsts, seconds;
  for (const lane& l : lanes) {
    firsts.push_back({l.first, l.range});
    seconds.push_back({l.second, firsts.back().own()});
  }
  // Two lanes share the queue pairs of an axis, one in its first phase, one in its second: all lanes of a PE
  // end a phase before any begins the next, so messages meet the same lane at both ends.
  reduce_scatter(pe, firsts);
  all_reduce(pe, seconds);
  all_gather(pe, firsts);
}

void all_reduce_on_mesh(pe_context& pe, const open_line& row, const open_line& column) {
  const elements all = whole(pe);
  std::vector<lane> lanes{{row, column, part(all, 0, 2)}, {column, row, part(all, 1, 2)}};
  if (row.size == 1 || column.size == 1) lanes = {{row, column, all}};

  const auto run_phase = [&](const std::function<tasks(const lane&, bool&)>& of_lane) {
    std::array<bool, 2> own_begun{};
    tasks phase;
    for (std::size_t i = 0; i < lanes.size(); ++i) append(phase, of_lane(lanes[i], own_begun.at(i)));
    pe.run_tasks(phase);
  };
  run_phase([&](const lane& l, bool& begun) { return reduce_scatter_on_line(pe, l.first, l.range, begun); });
  run_phase([&](const lane& l, bool& begun) {
    return reduce_scatter_on_line(pe, l.second, part_at(l.first, l.range), begun);
  });
  for (const lane& l : lanes) finish_average(pe, part_at(l.second, part_at(l.first, l.range)));
  run_phase(
      [&](const lane& l, bool&) { return all_gather_on_line(pe, l.second, part_at(l.first, l.range)); });
  run_phase([&](const lane& l, bool&) { return all_gather_on_line(pe, l.first, l.range); });
}

}  // namespace diecast::sw
