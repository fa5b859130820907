// SPDX-License-Identifier: Apache-2.0
// Everybody with everybody: all at once, or over doubling distances.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "models/comm/member_box.hpp"
#include "models/comm/step_timetable.hpp"
#include "models/cost/formula_base.hpp"
#include "models/cost/staging.hpp"
#include "models/cost/wire_rates.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

class exchanges : public formula_base {
 public:
  using formula_base::formula_base;

  [[nodiscard]] estimate direct_one_shot() const {
    return {touch_all() + to_all(n_, true) + step_.vector_ns(n_, false) * 2 + end_ns(), all_pairs_ns(n_)};
  }
  [[nodiscard]] estimate direct_two_shot() const {
    const double own = part(d(p_));
    return {touch_all() + to_all(own, true) + to_all(own, false) + end_ns(), 2 * all_pairs_ns(own)};
  }
  [[nodiscard]] estimate pairwise() const {
    const double own = part(d(p_));
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {own, r_.what == collective::reduce_scatter});
    return {touch_all() + (p_ - 1.0) * far + end_ns(), all_pairs_at_once_ns(own)};
  }
  [[nodiscard]] estimate direct() const {
    const double own = part(d(p_));
    return {touch_all() + to_all(own, false) + end_ns(), all_pairs_at_once_ns(own)};
  }
  /// A step for every rank, as long as its slots take in the firmware or on the wire, or as the way of the
  /// first one where blocks are too short to cover it with the steps that go ahead. With a timetable all wait
  /// a little, too, a rank in its own step as well, and the DMA copies.
  [[nodiscard]] estimate mesh_steps() const {
    const bool in_tcm = c_.ccl.tensors == config::tensor_kind::tcm;
    return mesh_steps(in_tcm ? comm::step_load::blocks : comm::step_load::chunks);
  }
  [[nodiscard]] estimate mesh_steps_in_hbm() const { return mesh_steps(comm::step_load::tensors); }
  [[nodiscard]] estimate mesh_steps(comm::step_load load) const {
    constexpr double ahead = comm::most_steps_ahead + 1;
    const double own = part(d(p_));
    if (own >= step_.slot_bytes()) {
      const auto times = comm::step_times_of({c_, c_.shape(), r_.ranks}, load);
      if (times) return timed_steps(own, *times);
    }
    const double slot = std::min(own, step_.slot_bytes());
    const double slots = step_.slots_of(own);
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {slot, false, 1, false});
    const double busy = slots * (step_.send_ns() + step_.take_ns(slot, false) + 2 * step_.register_ns());
    const double steps = p_ - 1.0;
    const double at_interface = load == comm::step_load::tensors ? beside_copies_ns(own) : interface_ns(own);
    return {touch_all() + far + steps * std::max({busy, at_interface, far / ahead}) + end_ns(),
            all_pairs_ns(own)};
  }
  /// One dimension of the box after the other. Slots are taken in as many pieces as have places of their own.
  [[nodiscard]] estimate lines() const {
    using comm::member_box;
    const member_box box = comm::member_box_of(t_.shape(), r_.ranks);
    estimate sum{end_ns(), 0};
    std::array<double, member_box::dimensions> at_interface{};
    std::array<double, member_box::dimensions> on_links{};
    for (std::uint32_t dim = 0; dim < member_box::dimensions; ++dim) {
      if (box.size[dim] < 2) continue;
      sum.steps_ns += line_steps_ns(box, dim);
      at_interface[dim] = interface_ns(n_ / box.size[dim] * (box.size[dim] - 1.0));
      on_links[dim] = ways_ns(line_ways(box, dim), n_ / box.size[dim]);
      sum.wires_ns += std::max(at_interface[dim], on_links[dim]);
    }
    // Where runs of blocks fill slots, every other place has columns before rows: links along both are in
    // use at once.
    const double run = part(d(p_)) * box.size[member_box::pes];
    if (box.size[member_box::pes] > 1 && run >= step_.slot_bytes()) {
      constexpr std::size_t r = member_box::rows, c = member_box::columns;
      sum.wires_ns += std::max({at_interface[r] + at_interface[c], on_links[r], on_links[c]}) -
                      std::max(at_interface[r], on_links[r]) - std::max(at_interface[c], on_links[c]);
    }
    return sum;
  }
  [[nodiscard]] estimate bruck_all_gather() const {
    const auto bytes = [this](double far) { return std::min(far, p_ - far) * part(d(p_)); };
    return {rounds(bytes, false) + step_.vector_ns(n_, false), rounds_wires(bytes)};
  }
  [[nodiscard]] estimate recursive_halving() const {
    const auto bytes = [this](double far) { return std::min(far, p_ - far) * part(d(p_)); };
    return {rounds(bytes, true) + step_.vector_ns(n_, false), rounds_wires(bytes)};
  }
  /// Blocks are laid out anew at both ends, and before and after every round the vector unit packs those that
  /// travel, run by run.
  [[nodiscard]] estimate bruck_all_to_all() const {
    const double own = part(d(p_));
    const auto runs = [this](double far) { return std::ceil((p_ - far) / (2 * far)); };
    const auto bytes = [&](double far) { return std::min(n_, runs(far) * far * own); };
    double copies = 2 * p_ * step_.vector_ns(own, false);
    for (double far = 1; far < p_; far *= 2) copies += 2 * runs(far) * step_.vector_ns(far * own, false);
    return {rounds(bytes, false) + copies, rounds_wires(bytes)};
  }

 private:
  /// A block comes out of HBM and goes, another comes and goes into it. Without a timetable they are in each
  /// other's way, and the fewer ranks there are, the longer they wait for slots (measured, docs/adr/0081).
  [[nodiscard]] double beside_copies_ns(double own) const {
    const double in_the_way = 1.1 + 2.0 / p_;
    const staged_wire copies = staged_wire_of(c_, {own, own});
    return in_the_way * (interface_ns(own) + std::max(copies.in, copies.out) / wire_rates(c_).noc_gbytes_s());
  }
  /// `own`: a slot or more. Every part of it that fits the slots of a queue pair goes in steps of its own.
  [[nodiscard]] estimate timed_steps(double own, const comm::step_times& times) const {
    const double slots = step_.slots_of(own);
    const double parts = std::ceil(slots / d(c_.ipcq.n_slots));
    const double packet =
        std::min(own, d(c_.noc.max_packet_bytes));  // what is left when the last step is over
    const double busy = slots * (step_.send_ns() + step_.hold_ns(step_.slot_bytes())) +
                        step_.first_use_ns(pair_registers) + 3 * parts * step_.register_ns();
    const double on_wire = std::max(interface_ns(own), own / d(c_.noc.max_packet_bytes) * times.packet.ns());
    const double step = std::max(busy, on_wire + parts * times.wait.ns());
    const double last =
        dearest([this](std::uint32_t r) { return std::optional((r + 1) % p_); }, {packet, false, 1, false});
    return {step_.first_use_ns(pair_registers) + p_ * step + last + end_ns(), all_pairs_ns(own)};
  }
  /// From every rank to all others of its line.
  [[nodiscard]] std::vector<way> line_ways(const comm::member_box& box, std::uint32_t dim) const {
    std::vector<way> ways;
    for (std::uint32_t r = 0; r < p_; ++r) {
      comm::member_box::coordinates x = box.at(r);
      for (std::uint32_t s = 1; s < box.size[dim]; ++s) {
        x[dim] = (x[dim] + 1) % box.size[dim];
        ways.emplace_back(r, box.rank_at(x));
      }
    }
    return ways;
  }
  [[nodiscard]] double line_steps_ns(const comm::member_box& box, std::uint32_t dim) const {
    const std::uint32_t size = box.size[dim];
    const double each = n_ / size, block = part(d(p_));
    const double slots = step_.slots_of(each), slot = std::min(each, step_.slot_bytes());
    // Blocks stay together that differ in later dimensions than this one and the next alone.
    std::uint32_t next = dim + 1;
    while (next < comm::member_box::dimensions && box.size[next] < 2) ++next;
    double run = block;
    for (std::uint32_t later = next + 1; later < comm::member_box::dimensions; ++later)
      run *= box.size[later];
    const double piece = std::min(slot, run), pieces = std::ceil(slot / std::max(1.0, piece));
    const double copies = pieces * step_.vector_ns(piece, false);
    const double take = step_.take_ns(slot, false) - step_.vector_ns(slot, false) + copies;
    const auto across = [&](std::uint32_t r) {
      comm::member_box::coordinates x = box.at(r);
      x[dim] = (x[dim] + size / 2) % size;
      return std::optional(box.rank_at(x));
    };
    return step_.first_use_ns(pair_registers * (size - 1)) + dearest(across, {slot, false, 1, false}) +
           slots * copies + (size - 1.0) * slots * (step_.send_ns() + take + 2 * step_.register_ns());
  }
  /// One message to and one from each of the others.
  [[nodiscard]] double to_all(double bytes, bool reduces) const {
    const double far = dearest([this](std::uint32_t r) { return std::optional((r + p_ / 2) % p_); },
                               {bytes, reduces, 1, false});
    return at_once_ns(far, p_ - 1.0, bytes, reduces);
  }
  [[nodiscard]] double touch_all() const { return step_.first_use_ns(pair_registers * (p_ - 1)); }
  using bytes_fn = std::function<double(double far)>;
  /// Rounds of distance 1, 2, 4, ... with bytes(far) each, each as long as its dearest exchange or its wires.
  [[nodiscard]] double rounds(const bytes_fn& bytes, bool reduces) const {
    double ns = end_ns();
    for (std::uint32_t far = 1; far < p_; far *= 2) {
      const double b = bytes(far);
      const auto peer = [this, far](std::uint32_t r) { return std::optional((r + far) % p_); };
      ns += step_.first_use_ns(2 * half_registers) +
            std::max(dearest(peer, {b, reduces}), round_wires_ns(far, b));
    }
    return ns;
  }
  [[nodiscard]] double rounds_wires(const bytes_fn& bytes) const {
    double ns = 0;
    for (std::uint32_t far = 1; far < p_; far *= 2) ns += round_wires_ns(far, bytes(far));
    return ns;
  }
  [[nodiscard]] double round_wires_ns(std::uint32_t far, double bytes) const {
    const auto peer = [far, n = p_](std::uint32_t r) { return std::optional((r + far) % n); };
    return std::max(interface_ns(bytes), peers_ns(peer, bytes));
  }
};

}  // namespace

std::vector<formula_row> direct_formulas() {
  using f = exchanges;
  return {
      {collective::all_reduce, "direct_one_shot", formula_of(&f::direct_one_shot)},
      {collective::all_reduce, "direct_two_shot", formula_of(&f::direct_two_shot)},
      {collective::reduce_scatter, "pairwise", formula_of(&f::pairwise)},
      {collective::reduce_scatter, "recursive_halving", formula_of(&f::recursive_halving)},
      {collective::all_gather, "bruck", formula_of(&f::bruck_all_gather)},
      {collective::all_to_all, "pairwise", formula_of(&f::pairwise)},
      {collective::all_to_all, "direct", formula_of(&f::direct)},
      {collective::all_to_all, "bruck", formula_of(&f::bruck_all_to_all)},
      {collective::all_to_all, "mesh_steps", formula_of<f>(&f::mesh_steps),
       formula_of(&f::mesh_steps_in_hbm)},
      {collective::all_to_all, "lines", formula_of(&f::lines)},
  };
}

}  // namespace diecast::cost
