// SPDX-License-Identifier: Apache-2.0
#include "models/comm/hbm_tensor.hpp"

#include "models/comm/sync_layout.hpp"

namespace diecast::comm {

home_ports home_ports_of(const config::machine_config& c, const config::memory_channels& channels,
                         pe_coord pe) {
  const auto pes = static_cast<std::uint32_t>(c.cube.pes);
  const std::uint32_t own = pe.pe.value;
  home_ports h;
  h.first = channels.home_of(pe);
  const std::uint32_t left = channels.count_of(pe.sip, pe.cube);
  const std::uint32_t share = std::max(1U, (own + 1) * left / pes - own * left / pes);
  // Addresses go on from port to port, so a gap ends the share.
  while (h.count < share && channels.has(pe.sip, pe.cube, h.first + h.count)) ++h.count;
  h.slices = static_cast<std::uint32_t>(channels.sharers());
  h.slice = channels.place_of(pe);
  return h;
}

std::uint64_t ring_bytes_in_hbm(const config::machine_config& c) {
  if (c.ipcq.rings != config::buffer_kind::hbm) return 0;
  return c.ipcq.queue_pairs * c.ipcq.n_slots * c.ipcq.slot_bytes;
}

bool slots_keep_to_stripes(const config::machine_config& c, const collective_shape& s,
                           std::uint64_t element_bytes) {
  if (s.ranks < 2 || s.count == 0 || s.count % s.ranks != 0) return false;
  const std::uint64_t block = s.count / s.ranks * element_bytes;
  const std::uint64_t slot = c.ipcq.slot_bytes / element_bytes * element_bytes;
  const std::uint64_t stripe = c.ccl.tensor_stripe_bytes;
  if (block <= slot) return stripe % block == 0;
  return stripe % slot == 0 && block % slot == 0;
}

namespace {

/// From the read of a message's source to the credit of its slot, which waits for the store.
bool rings_cover_the_way(const config::machine_config& c, const collective_shape& s,
                         std::uint64_t element_bytes) {
  constexpr std::uint64_t shortest = 32'768;         // least bytes of the slots of one queue pair
  constexpr std::uint64_t shortest_of_all = 98'304;  // least bytes of the slots to all other ranks
  const std::uint64_t ring = c.ipcq.n_slots * c.ipcq.slot_bytes;
  const std::uint64_t block = s.count / s.ranks * element_bytes;
  if (block <= 2 * ring) return true;  // hardly anything waits for a slot
  return ring >= shortest && (s.ranks - 1) * ring >= shortest_of_all;
}

}  // namespace

bool moves_out_of_hbm(const config::machine_config& c, const collective_shape& s,
                      std::uint64_t element_bytes) {
  if (c.ccl.tensors != config::tensor_kind::hbm || c.ccl.tensor_chunk_bytes) return false;
  return slots_keep_to_stripes(c, s, element_bytes) && rings_cover_the_way(c, s, element_bytes);
}

std::uint64_t bytes_per_port(const config::machine_config& c, const home_ports& home, std::uint64_t bytes) {
  const std::uint64_t round = c.ccl.tensor_stripe_bytes * home.count;
  return (bytes + round - 1) / round * c.ccl.tensor_stripe_bytes;
}

hbm_tensor place_in_hbm(const config::machine_config& c, pe_coord pe, const home_ports& home,
                        std::uint64_t share, std::uint64_t before) {
  const std::uint64_t offset = sync_port_bytes(home.slices) + home.slice * share + before;
  return {abi::encode({pe.sip, pe.cube, abi::region::hbm, home.first, offset}), home.count,
          c.ccl.tensor_stripe_bytes};
}

}  // namespace diecast::comm
