// SPDX-License-Identifier: Apache-2.0
#include "models/cost/lower_bound.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

#include "models/cost/cuts.hpp"
#include "models/cost/message_cost.hpp"
#include "models/cost/staging.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/link.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::cost {
namespace {

using comm::collective;

/// Payload bytes that every rank moves on average, and that the busiest rank moves at least.
struct rank_load {
  double sent{}, received{};          ///< least bytes of the busiest rank
  double all_sent{}, all_received{};  ///< bytes of all ranks together
  double reduced{};                   ///< bytes that all ranks reduce together
};

/// Work of routers. A packet that they copy is sent once; a sum that they make is received once, and no rank
/// computes it.
struct in_network {
  bool copies{}, sums{};
};

rank_load load_of(collective what, double n, double p, in_network routers) {
  const double others = std::max(0.0, n / p - longest_element) * (p - 1);
  const double mine = n * (p - 1) / p, all = n * (p - 1);
  const double own_part = std::max(0.0, n / p - longest_element);
  const auto alike = [](double sent, double received, double moved, double reduced) {
    return rank_load{sent, received, moved, moved, reduced};
  };
  switch (what) {
    case collective::all_reduce:
      if (routers.sums) return {n, n, n * p, n * p, 0};
      if (routers.copies) return {n, 2 * mine, n * p, 2 * all, all};
      return alike(2 * mine, 2 * mine, 2 * all, all);
    case collective::reduce_scatter:
      if (routers.sums) return {mine, own_part, all, own_part * p, 0};
      return alike(mine, mine, all, all);
    case collective::all_gather:
      if (routers.copies) return {own_part, others, own_part * p, others * p, 0};
      return alike(others, others, others * p, 0);
    case collective::broadcast:
      if (routers.copies) return {n, n, n, all, 0};
      return alike(n, n, all, 0);
    case collective::reduce:
      if (routers.sums) return {n, n, all, n, 0};
      return alike(n, n, all, all);
    case collective::all_to_all: return alike(others, others, others * p, 0);
    case collective::gather: return alike(0, others, others, 0);
    case collective::scatter: return alike(others, 0, others, 0);
    case collective::send_recv: return alike(n, n, n * p, 0);
    case collective::barrier: return {};
  }
  return {};
}

/// Bytes that must cross a cut.
struct crossing {
  double out{}, in{};
};

crossing crossing_of(collective what, double n, double p, const cut& c) {
  const double inside = d(c.ranks), outside = p - d(c.ranks);
  const double part = std::max(0.0, n / p - longest_element);
  switch (what) {
    case collective::all_reduce: return {n, n};
    // As many ranks outside have their next rank inside: a cycle enters a cut as often as it leaves it.
    case collective::send_recv: return {n * d(c.leaving), n * d(c.leaving)};
    case collective::reduce_scatter: return {part * outside, part * inside};
    case collective::all_gather: return {part * inside, part * outside};
    case collective::broadcast: return c.root ? crossing{n, 0} : crossing{0, n};
    case collective::reduce: return c.root ? crossing{0, n} : crossing{n, 0};
    case collective::all_to_all: return {part * inside * outside, part * inside * outside};
    case collective::gather: return c.root ? crossing{0, part * outside} : crossing{part * inside, 0};
    case collective::scatter: return c.root ? crossing{part * outside, 0} : crossing{0, part * inside};
    case collective::barrier: return {};
  }
  return {};
}

const char* name_of(cut_kind k) { return enum_name(k); }

class bound_finder {
 public:
  bound_finder(const fabric::topology& t, const config::machine_config& c, const bound_request& r)
      : t_(t),
        c_(c),
        r_(r),
        rates_(c),
        ends_(endpoint_costs_of(c)),
        n_(d(r.bytes)),
        p_(d(r.ranks.members.size())),
        routers_{c.noc.multicast, c.noc.multicast && c.noc.reduce} {
    const transfer_ends ends = ends_of_transfer(c);
    consume_ = ends.consume;
    end_ = ends.last;
    startup_ns_ = ends.startup.ns();
    if (!has_hbm_tensors(c, r.what)) return;
    // The DMA may send from HBM, and read messages there: no source is read in TCM, and a message
    // is only copied.
    startup_ns_ -= ends_.source.ns();
    ends_.departure = ends_.departure - ends_.source;
    consume_ = {};
    const sim_time noc = timing::noc_timing_of(c).crossing({}, 0, 1).head;
    // The first packet may be a request, and the last one a write.
    staging_startup_ns_ = (std::min(ends_.send + ends_.departure, copy_departure(c)) + noc).ns();
    const staged_idle idle = staged_idle_of(t, c, r.ranks);
    staging_latency_ = idle.fetch + idle.write;
  }

  bound find() {
    if (r_.ranks.members.size() < 2) return {};
    const bool barrier = r_.what == collective::barrier;
    if (!barrier && may_move_nothing()) return {};
    if (!barrier) {
      rank_terms();
      if (r_.what == collective::broadcast || r_.what == collective::reduce) root_terms();
      cut_terms();
      link_terms();
      memory_terms();
      if (has_hbm_tensors(c_, r_.what)) tensor_terms();
    }
    latency_terms();
    return summed_up();
  }

 private:
  /// Nothing need be sent: there are no bytes, or one element, which may be the root's own or stay at its
  /// rank.
  [[nodiscard]] bool may_move_nothing() const {
    const bool part_stays =
        r_.what == collective::gather || r_.what == collective::scatter || r_.what == collective::all_to_all;
    return part_stays ? n_ < 2 * static_cast<double>(longest_element) : r_.bytes == 0;
  }
  /// Keeps the strongest bound of each kind.
  void keep(const char* kind, double ns, std::string detail) {
    if (ns <= 0) return;
    const auto known = std::ranges::find(strongest_, kind, &bound_term::kind);
    if (known == strongest_.end()) {
      strongest_.push_back({kind, ns, std::move(detail)});
    } else if (ns > known->ns) {
      *known = {kind, ns, std::move(detail)};
    }
  }
  /// Payload over a wire, the ends of the first and the last message included.
  void wire(const char* kind, double bytes, double gbytes_s, std::string detail) {
    if (bytes <= 0 || gbytes_s <= 0) return;
    keep(kind, startup_ns_ + bytes * rates_.wire_bytes_per_byte() / gbytes_s, std::move(detail));
  }

  void rank_terms() {
    const rank_load l = load_of(r_.what, n_, p_, routers_);
    // Slot rings outside TCM: bytes that arrive at a PE are sent on to that memory and fetched again.
    const double away = c_.ipcq.rings != config::buffer_kind::tcm ? l.all_received / p_ : 0;
    wire("injection", std::max(l.sent, l.all_sent / p_ + away), rates_.noc_gbytes_s(),
         "network interface of a rank, out");
    wire("ejection", std::max(l.received, l.all_received / p_ + away), rates_.noc_gbytes_s(),
         "network interface of a rank, in");
  }

  /// Out of the root: the last packet of the vector still crosses the path to the farthest rank. Into the
  /// root: every element includes a contribution of the farthest rank, so a whole vector arrives after the
  /// first of these can.
  void root_terms() {
    const bool out = r_.what == collective::broadcast;
    const far_pair far = farthest_from(t_, c_, r_.ranks, root(), !out);
    const sim_time flits = timing::noc_clock(c_).cycles(message_flits(c_, 1));  // the vector's own flits
    const sim_time time = ends_.send + ends_.departure + far.idle - std::min(far.idle, flits) +
                          ends_.arrival + consume_ + end_ + staging_latency_;
    keep(out ? "injection" : "ejection",
         time.ns() + n_ * rates_.wire_bytes_per_byte() / rates_.noc_gbytes_s(),
         fmt::format("network interface of the root, {}, and the path {} {}", out ? "out" : "in",
                     out ? "to" : "from", pe_path(t_.shape(), out ? far.to : far.from)));
  }

  void cut_terms() {
    for (const cut& c : cuts_of(t_, c_, r_.ranks, r_.root)) {
      const crossing x = crossing_of(r_.what, n_, p_, c);
      wire(name_of(c.kind), x.out, c.out_gbytes_s, c.name + ", out");
      wire(name_of(c.kind), x.in, c.in_gbytes_s, c.name + ", in");
    }
  }

  void link_terms() {
    const link_totals rates = total_link_rates(t_, c_);
    const link_work work = link_work_of(t_, c_, r_);
    wire("links", work.between_cubes, rates.between_cubes, "all links between cubes together");
    wire("links", work.between_sips, rates.between_sips,
         is_staged(c_) ? "all SIPs' paths to host memory together" : "all links between SIPs together");
  }

  void memory_terms() {
    const rank_load l = load_of(r_.what, n_, p_, routers_);
    // Sources are read and arriving bytes written; a reduction reads two operands and writes one. With
    // tensors in HBM sources need not be in TCM, but rings may be.
    const bool in_hbm = has_hbm_tensors(c_, r_.what);
    const bool arrives = !in_hbm || c_.ipcq.rings == config::buffer_kind::tcm;
    const double tcm = (in_hbm ? 0 : l.all_sent) + (arrives ? l.all_received : 0) + 3 * l.reduced;
    keep("memory", startup_ns_ + tcm / p_ / rates_.tcm_gbytes_s(), "TCM of the ranks");
    keep("vector", startup_ns_ + l.reduced / p_ / rates_.vector_gbytes_s(), "vector units of the ranks");
    if (c_.ipcq.rings == config::buffer_kind::tcm) return;
    std::set<std::pair<std::uint32_t, std::uint32_t>> cubes;
    for (const pe_coord& m : r_.ranks.members) cubes.insert({m.sip.value, m.cube.value});
    const double rings = 2 * l.all_received / d(cubes.size());  // written, then read
    if (c_.ipcq.rings == config::buffer_kind::sram) {
      keep("memory", startup_ns_ + rings / c_.sram.gbytes_s, "SRAM of the cubes, which holds the rings");
    } else {
      keep("memory", startup_ns_ + rings / (timing::port_gbytes_s(c_.hbm) * d(c_.hbm.ports)),
           "HBM of the cubes, which holds the rings");
    }
  }

  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(r_.ranks.members.size()); }
  [[nodiscard]] staged_bytes staged_by(bool root) const {
    return staged_bytes_of(r_.what, n_, ranks(), root);
  }
  [[nodiscard]] staged_bytes staged_by_all() const {
    const staged_bytes root = staged_by(true), other = staged_by(false);
    return {root.read + (p_ - 1) * other.read, root.written + (p_ - 1) * other.written};
  }
  /// Payload of messages and of the own tensors over a rank's network interface.
  void interface_terms(const char* who, double sent, double received, const staged_bytes& own) {
    const staged_wire staged = staged_wire_of(c_, own);
    const auto term = [&](const char* kind, double messages, double tensors, const char* direction) {
      const double wire_bytes = messages * rates_.wire_bytes_per_byte() + tensors;
      keep(kind, staging_startup_ns_ + wire_bytes / rates_.noc_gbytes_s(),
           fmt::format("network interface of {}, {}: messages and its tensors in HBM", who, direction));
    };
    term("injection", sent, staged.out, "out");
    term("ejection", received, staged.in, "in");
  }
  void tensor_terms() {
    const rank_load l = load_of(r_.what, n_, p_, routers_);
    const staged_bytes all = staged_by_all();
    const double again = c_.ipcq.rings == config::buffer_kind::tcm ? 0 : l.all_received;
    interface_terms("a rank", (l.all_sent + again) / p_, (l.all_received + again) / p_,
                    {all.read / p_, all.written / p_});
    if (comm::has_root(r_.what)) {
      // From the root: all others together receive the bytes that it sends. To the root: the reverse.
      const bool from_root = r_.what == collective::broadcast || r_.what == collective::scatter;
      interface_terms("the root", from_root ? l.sent : 0, from_root ? 0 : l.received, staged_by(true));
      const double each = r_.what == collective::broadcast || r_.what == collective::reduce
                              ? n_
                              : std::max(0.0, n_ / p_ - longest_element);
      interface_terms("a rank", from_root ? 0 : each, from_root ? each : 0, staged_by(false));
    }
    keep("memory", staging_startup_ns_ + busiest_port_bytes(t_, c_, r_) / timing::port_gbytes_s(c_.hbm),
         "HBM ports of a rank, which hold its tensors");
  }

  /// Time of a message of one element between two ranks, and of its receiver's work afterwards.
  void heard(const far_pair& pair) {
    keep("latency",
         (ends_.send + ends_.departure + pair.idle + ends_.arrival + consume_ + end_ + staging_latency_).ns(),
         fmt::format("one element from {} to {}", pe_path(t_.shape(), pair.from),
                     pe_path(t_.shape(), pair.to)));
  }
  [[nodiscard]] pe_coord root() const {
    return r_.ranks.members.at(std::min<std::size_t>(r_.root, r_.ranks.members.size() - 1));
  }
  [[nodiscard]] sim_time nearest_hop() const {
    return ends_.send + ends_.departure + nearest_idle(t_, c_, r_.ranks) + ends_.arrival;
  }
  /// Does not hold where routers copy: one message may carry all at once.
  void spread_to_all() {
    if (routers_.copies) return;
    const sim_time gap = std::max(ends_.send, ends_.issue);
    const sim_time t = best_tree(r_.ranks.members.size(), nearest_hop(), gap);
    keep("latency", (t + consume_ + end_ + staging_latency_).ns(),
         "one element from one rank to all over the best tree of messages");
  }
  /// `combined`: a rank reduces what it receives before it sends. Not where routers sum: one message
  /// may carry all parts, next to zeros or in sums.
  void collect_from_all(bool combined) {
    if (routers_.sums) return;
    const sim_time gap = ends_.call + ends_.release + (combined ? ends_.vector : sim_time{});
    const sim_time hop = nearest_hop() + (combined ? ends_.vector : sim_time{});
    if (gap == sim_time{}) return;
    const sim_time t = best_tree(r_.ranks.members.size(), hop, gap);
    keep("latency", (t + end_ + staging_latency_).ns(),
         "one element from all ranks to one over the best tree of messages");
  }

  void latency_terms() {
    const bool parts = comm::size_meaning_of(r_.what) == comm::size_meaning::total;
    // With fewer bytes some ranks may have no element to send.
    if (parts && n_ < longest_element * p_) return;
    switch (r_.what) {
      case collective::all_reduce: collect_from_all(true); [[fallthrough]];
      case collective::all_gather:
      case collective::all_to_all: spread_to_all(); return heard(farthest_pair(t_, c_, r_.ranks));
      case collective::reduce_scatter: collect_from_all(true); return heard(farthest_pair(t_, c_, r_.ranks));
      case collective::broadcast:
      case collective::scatter: spread_to_all(); return heard(farthest_from(t_, c_, r_.ranks, root(), false));
      case collective::reduce:
      case collective::gather:
        collect_from_all(r_.what == collective::reduce);
        return heard(farthest_from(t_, c_, r_.ranks, root(), true));
      case collective::send_recv: {
        const auto& m = r_.ranks.members;
        far_pair far;
        for (std::size_t i = 0; i < m.size(); ++i) {
          const comm::group pair{r_.ranks.set, {m[i], m[(i + 1) % m.size()]}};
          const far_pair found = farthest_from(t_, c_, pair, m[i], false);
          if (found.idle > far.idle) far = found;
        }
        return heard(far);
      }
      case collective::barrier: {
        // Flags are no messages: the only certain cost is the fabric between the farthest ranks. They use the
        // links with any comm.path.
        config::machine_config direct = c_;
        direct.comm.path = config::transfer_path::direct;
        const far_pair far = farthest_pair(t_, direct, r_.ranks);
        return keep(
            "latency", far.idle.ns() - d(message_flits(c_, 1) - 1) / c_.noc.clock_ghz,
            fmt::format("a flag from {} to {}", pe_path(t_.shape(), far.from), pe_path(t_.shape(), far.to)));
      }
    }
  }

  bound summed_up() {
    bound b;
    b.terms = std::move(strongest_);
    std::ranges::stable_sort(b.terms, std::ranges::greater{}, &bound_term::ns);
    if (b.terms.empty()) return b;
    b.ns = b.terms.front().ns;
    b.kind = b.terms.front().kind;
    return b;
  }

  const fabric::topology& t_;
  const config::machine_config& c_;
  const bound_request& r_;
  wire_rates rates_;
  endpoint_costs ends_;
  double n_, p_;
  in_network routers_;
  sim_time consume_, end_;
  double startup_ns_{};
  double staging_startup_ns_{};
  sim_time staging_latency_;           ///< time of one element out of HBM and of one into it
  std::vector<bound_term> strongest_;  ///< the largest term of each kind, in the order found
};

}  // namespace

bound lower_bound(const fabric::topology& t, const config::machine_config& c, const bound_request& r) {
  return bound_finder(t, c, r).find();
}

double least_sent(collective what, double bytes, double ranks) {
  return load_of(what, bytes, ranks, {}).all_sent;
}

double latency_goal_ns(const fabric::topology& t, const config::machine_config& c, const comm::group& g) {
  if (g.members.size() < 2) return 0;
  const endpoint_costs e = endpoint_costs_of(c);
  const sim_time ends = e.send + e.departure + e.arrival + e.wake + e.call + e.vector + e.release + e.drain;
  const auto rounds = std::bit_width(g.members.size() - 1);
  const sim_time near = (ends + nearest_idle(t, c, g)) * static_cast<std::uint64_t>(rounds);
  return std::max(ends + farthest_pair(t, c, g).idle, near).ns();
}

}  // namespace diecast::cost
