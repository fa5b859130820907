// SPDX-License-Identifier: Apache-2.0
#include "models/cost/algorithm_cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "models/comm/hbm_tensor.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/message_cost.hpp"
#include "models/cost/staging.hpp"
#include "models/timing/dram_bounds.hpp"

namespace diecast::cost {
namespace {

using formula_table = std::map<std::pair<comm::collective, std::string>, formula_row>;

formula_table table_of_formulas() {
  formula_table all;
  for (const formula_row& row : all_formulas()) all.insert({{row.what, row.algorithm}, row});
  return all;
}

/// Chunk after chunk: the first comes in and the last goes out alone, the others while one is worked on, over
/// the same network interface.
estimate on_chunks(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
                   const std::function<estimate(std::uint64_t)>& of_chunk) {
  const auto ranks = static_cast<std::uint32_t>(r.ranks.members.size());
  const std::uint64_t chunk = expected_chunk_bytes(c, ranks, r.bytes);
  const double chunks = std::ceil(static_cast<double>(r.bytes) / static_cast<double>(chunk));
  const wire_rates rates(c);
  staged_wire busiest;
  double in = 0, out = 0;  // of the rank that takes longest, alone
  for (const bool root : {true, false}) {
    const staged_bytes b = staged_bytes_of(r.what, static_cast<double>(chunk), ranks, root);
    const staged_wire wire = staged_wire_of(c, b);
    in = std::max(in, b.read * rates.copy_bytes_per_byte() / rates.noc_gbytes_s());
    out = std::max(out, b.written * rates.copy_bytes_per_byte() / rates.noc_gbytes_s());
    busiest = {std::max(busiest.in, wire.in), std::max(busiest.out, wire.out)};
  }
  const double copies = std::max(busiest.in, busiest.out) / rates.noc_gbytes_s();
  const estimate one = of_chunk(chunk);
  // Everybody sends to everybody: what comes meets copies at every interface (measured, docs/adr/0081).
  const double in_the_way = r.what == comm::collective::all_to_all ? 1.3 : 1.0;
  const double interface =
      one.copies_apart ? std::max(one.wires_ns, copies) : in_the_way * (one.wires_ns + copies);
  bound_request part = r;
  part.bytes = chunk;
  const double ports = busiest_port_bytes(t, c, part) / timing::port_gbytes_s(c.hbm);
  const staged_idle idle = staged_idle_of(t, c, r.ranks);
  const double ends = in + idle.read.ns() + idle.write.ns() + out;
  return {ends + chunks * one.steps_ns, ends + chunks * std::max(interface, ports)};
}

/// Messages come out of HBM, and go into it when they have arrived, over the same network interface. Of an
/// algorithm without root.
estimate on_tensors(const fabric::topology& t, const config::machine_config& c, const bound_request& r,
                    const estimate& messages) {
  const auto ranks = static_cast<std::uint32_t>(r.ranks.members.size());
  const wire_rates rates(c);
  const staged_wire wire =
      staged_wire_of(c, staged_bytes_of(r.what, static_cast<double>(r.bytes), ranks, false));
  const double interface = messages.wires_ns + std::max(wire.in, wire.out) / rates.noc_gbytes_s();
  const double ports = busiest_port_bytes(t, c, r) / timing::port_gbytes_s(c.hbm);
  const staged_idle idle = staged_idle_of(t, c, r.ranks);
  const double ends = idle.fetch.ns() + idle.write.ns();
  return {ends + messages.steps_ns, ends + std::max(interface, ports)};
}

/// Whether comm::moves_out_of_hbm, of elements as short as can be: a request does not say its type.
bool stays_in_hbm(const config::machine_config& c, const bound_request& r) {
  const comm::collective_shape s{r.what, r.bytes / shortest_element,
                                 static_cast<std::uint32_t>(r.ranks.members.size())};
  return comm::moves_out_of_hbm(c, s, shortest_element);
}

}  // namespace

std::vector<formula_row> all_formulas() {
  std::vector<formula_row> all;
  for (auto& family : {ring_formulas(), partner_formulas(), tree_formulas(), direct_formulas(),
                       level_formulas(), two_level_formulas(), three_level_formulas(), rooted_formulas(),
                       neighbor_formulas(), shift_formulas()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

std::optional<estimate> estimate_of(const fabric::topology& t, const config::machine_config& c,
                                    const bound_request& r, const std::string& algorithm) {
  static const formula_table formulas = table_of_formulas();
  const auto found = formulas.find({r.what, algorithm});
  if (found == formulas.end()) return std::nullopt;
  const bool tree = algorithm == "multicast" || algorithm == "in_network";
  const bool sums = algorithm == "in_network";
  if (tree && (!c.noc.multicast || (sums && !c.noc.reduce))) return std::nullopt;  // no such routers here
  if (r.ranks.members.size() < 2) return estimate{};
  const formula_row& row = found->second;
  const bool on_hbm = row.in_hbm && has_hbm_tensors(c, r.what) && stays_in_hbm(c, r);
  const auto of_bytes = [&](std::uint64_t bytes) {
    bound_request part = r;
    part.bytes = bytes;
    estimate e = (on_hbm ? row.in_hbm : row.of)(t, c, part);
    e.wires_ns += ends_of_transfer(c).startup.ns();
    return e;
  };
  if (!has_hbm_tensors(c, r.what) || r.bytes == 0) return of_bytes(r.bytes);
  if (on_hbm) return on_tensors(t, c, r, of_bytes(r.bytes));
  return on_chunks(t, c, r, of_bytes);
}

}  // namespace diecast::cost
