// SPDX-License-Identifier: Apache-2.0
#include "models/comm/hbm_tensor.hpp"

#include "models/comm/sync_layout.hpp"
#include "models/config/population.hpp"

namespace diecast::comm {

home_ports home_ports_of(const config::machine_config& c, pe_coord pe) {
  const config::memory_channels channels(c);
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

std::uint64_t bytes_per_port(const config::machine_config& c, pe_coord pe, std::uint64_t bytes) {
  const std::uint64_t round = c.ccl.tensor_stripe_bytes * home_ports_of(c, pe).count;
  return (bytes + round - 1) / round * c.ccl.tensor_stripe_bytes;
}

hbm_tensor place_in_hbm(const config::machine_config& c, pe_coord pe, std::uint64_t share,
                        std::uint64_t before) {
  const home_ports h = home_ports_of(c, pe);
  const std::uint64_t offset = sync_port_bytes(c) + h.slice * share + before;
  return {abi::encode({pe.sip, pe.cube, abi::region::hbm, h.first, offset}), h.count,
          c.ccl.tensor_stripe_bytes};
}

}  // namespace diecast::comm
