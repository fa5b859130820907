// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/base/builtin.hpp"
#include "sw/collectives/base/neighbors.hpp"
#include "sw/collectives/base/peer_patterns.hpp"

namespace diecast::sw {

pattern_table exchange_patterns() {
  return {
      {"all_to_all", "every rank with every other (ipcq.queue_pairs at least ranks - 1)", comm::all_to_all,
       comm::numbered_names("plus", 1, 512), true},
      {"circulant", "rank r with ranks r + 1, r + 2, r + 4, ..., both ways (up0, down0, up1, ...)",
       comm::circulant, comm::circulant_names(), true},
      {"circulant_unidir", "rank r with ranks r + 1, r + 2, r + 4, ..., one way: send up, receive down",
       comm::circulant_unidir, comm::circulant_names(), true},
      {"pairwise", "every rank with every other, both ways (peer+1, peer+2, ...)", comm::pairwise,
       comm::numbered_names("peer+", 1, 511), true},
      {"box_lines",
       "every rank with those of its line in each dimension: SIPs, rows and columns of cubes, PEs (peer+1, "
       "...)",
       comm::box_lines, comm::numbered_names("plus", 1, 512), true},
      {"neighbors", "every rank with those one link away, both ways (neighbor0, neighbor1, ...)",
       comm::neighbor_edges, comm::numbered_names("neighbor", 0, 16), true},
      {"shift", "every rank to the next (send next, receive last)", comm::shift, {"next", "last"}, true},
      {"star", "the root with every other rank, both ways (root; peer+1, peer+2, ...)", comm::star,
       comm::star_names(), true}};
}

}  // namespace diecast::sw
