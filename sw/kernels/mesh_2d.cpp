// SPDX-License-Identifier: Apache-2.0
// All-reduce on rows, then columns (and columns, then rows): mesh_2d on open lines, torus_2d on rings.
#include "sw/kernels/builtin.hpp"
#include "sw/kernels/grid.hpp"
#include "sw/runtime/pe_context.hpp"

namespace diecast::sw {
namespace mesh_2d_kernel {

/// The words of kernel_arguments::extra.
enum extra : std::size_t { x, columns, y, rows };

std::uint32_t word(pe_context& pe, extra w) { return static_cast<std::uint32_t>(pe.args().extra[w]); }
ring_place row_of(pe_context& pe) { return {word(pe, x), word(pe, columns), comm::east, comm::west}; }
ring_place column_of(pe_context& pe) { return {word(pe, y), word(pe, rows), comm::north, comm::south}; }

void run_mesh_2d(pe_context& pe) {
  start_in_output(pe);
  all_reduce_on_mesh(pe, row_of(pe), column_of(pe));
}

void run_torus_2d(pe_context& pe) {
  start_in_output(pe);
  all_reduce_on_torus(pe, row_of(pe), column_of(pe));
}

void fill(const argument_context& c, std::uint32_t rank, abi::kernel_arguments& a) {
  const comm::rank_grid& grid = grid_of(c);
  a.extra[x] = grid.x(rank);
  a.extra[columns] = grid.columns();
  a.extra[y] = grid.y(rank);
  a.extra[rows] = grid.rows();
}

/// Cubes are the rows and columns of a SIP: they are the default here.
const std::vector<comm::rank_set> cube_first{comm::rank_set::cube, comm::rank_set::pe, comm::rank_set::sip};

}  // namespace mesh_2d_kernel

kernel_entry mesh_2d_entry() {
  using namespace mesh_2d_kernel;
  return {"mesh_2d",       "all_reduce", "rows, then columns, of an open grid of ranks",
          "mesh_2d",       cube_first,   run_mesh_2d,
          without_scratch, fill};
}

kernel_entry torus_2d_entry() {
  using namespace mesh_2d_kernel;
  return {"torus_2d",      "all_reduce", "rows, then columns, of a closed grid of ranks",
          "torus_2d",      cube_first,   run_torus_2d,
          without_scratch, fill};
}

}  // namespace diecast::sw
