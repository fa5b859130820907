// SPDX-License-Identifier: Apache-2.0
#include "hw/d2d/link_sender.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "models/checksum/packet_checksum.hpp"
#include "models/fabric/fault_places.hpp"
#include "models/fabric/topology.hpp"
#include "models/types/error.hpp"

namespace diecast::hw {

void link_monitor::pass(const packet& p, sim_time at) {
  const abi::packet_header& h = p.header;
  if (h.kind == abi::packet_kind::ipcq_credit) {
    seen_.oldest_credit = std::max(seen_.oldest_credit, at - p.created);
    return;
  }
  const bool message = h.kind == abi::packet_kind::ipcq_data || h.kind == abi::packet_kind::tag_message;
  // Routers of a tree in the network create new packets.
  if (!message || checksum_ == config::packet_checksum::none || abi::is_tree(h.destination)) return;
  if (checksum::of_packet(checksum_, h, p.data) != h.checksum) ++seen_.corrupted;
  if (!follows(h)) ++seen_.out_of_order;
}

/// With a checksum, tag-matched packets have consecutive numbers, packets of queue pairs their message's.
bool link_monitor::follows(const abi::packet_header& h) {
  const bool tags = h.kind == abi::packet_kind::tag_message;
  const place here = tags ? place{h.transaction, 0} : place{h.ipcq.sequence, h.offset};
  place after{here.number + 1, 0};
  if (!tags && h.offset + h.payload_bytes < h.ipcq.message_bytes)
    after = {here.number, std::uint64_t{h.offset} + h.payload_bytes};
  // Staged packets are numbered separately, because control packets are not staged.
  const flow of{abi::origin_of(h), h.staged.set ? h.staged.to : h.destination, h.kind, h.ipcq.source,
                tags ? std::uint16_t{h.staged.set} : h.ipcq.source_direction};
  place& next = next_[of];
  const bool as_expected = here == next;
  // A late or duplicate packet does not reduce the expected number.
  if (here >= next) next = after;
  return as_expected;
}

namespace {

link_parameters parameters(const fabric::topology& t, const config::machine_config& c, const char* block,
                           const timing::link_timing& timing, std::uint32_t buffer) {
  std::vector<problem> problems;
  const std::string key = block;
  if (timing.latency < timing.receiver.period) {
    problems.push_back({key + ".latency_ns", "a link crossing takes at least one NoC cycle",
                        fmt::format("{} ns", timing.latency.ns()),
                        fmt::format("{} ns or more", timing.receiver.period.ns())});
  }
  if (buffer < fabric::max_packet_flits(c)) {
    problems.push_back({key + ".buffer_flits", "the link's buffer cannot hold a packet",
                        std::to_string(buffer),
                        fmt::format("{} flits or more", fabric::max_packet_flits(c))});
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  link_parameters p;
  p.line.timing = timing;
  p.seed = c.sim.seed;
  p.checksum = c.comm.checksum;
  p.ni_in_cycles = c.noc.ni_in_cycles;
  p.credit_cycles = c.noc.credit_cycles;
  p.link_buffer.assign(t.vcs(), buffer);
  for (std::uint32_t vc = 0; vc < t.vcs(); ++vc) {
    const bool sideband = t.class_of(static_cast<std::uint8_t>(vc)) == abi::traffic_class::sideband;
    p.noc_buffer.push_back(sideband ? fabric::sideband_buffer_flits(c) : fabric::injection_buffer_flits(c));
  }
  return p;
}

}  // namespace

link_parameters ucie_parameters(const fabric::topology& t, const config::machine_config& c, sip_id sip,
                                cube_id cube, fabric::side edge, std::uint32_t ports) {
  const config::ucie_block& u = t.ucie(sip, cube, edge);
  link_parameters p = parameters(t, c, "ucie", timing::ucie_timing_of(c, u), fabric::ucie_buffer_flits(c, u));
  p.ports = ports;
  p.line.retry_frames = timing::ucie_retry_frames(c, u);
  p.line.ber = timing::ucie_ber(u);
  p.path = fmt::format("{}.ucie_{}", cube_path(t.shape(), sip, cube), fabric::to_string(edge));
  p.pj_per_bit = timing::ucie_pj_per_bit(u);
  for (const config::placed_fault& f : fabric::hidden_bit_flips(c, t, sip, cube, edge)) {
    p.line.hit_after = f.setting.after;
    p.line.hits += f.setting.count;
  }
  return p;
}

link_parameters sip_link_parameters(const fabric::topology& t, const config::machine_config& c,
                                    std::uint32_t link) {
  const config::sip_link_block& s = t.sip_link_settings(link);
  link_parameters p =
      parameters(t, c, "sip_link", timing::sip_link_timing_of(c, s), fabric::sip_link_buffer_flits(c, s));
  p.ports = 1;
  p.path = t.sip_links()[link].name;
  return p;
}

link_sender::link_sender(const fabric::topology& topology, const link_parameters& p, owner& o)
    : topology_(topology),
      timing_(p.line.timing),
      ports_(p.ports),
      credit_cycles_(p.credit_cycles),
      owner_(o),
      buffer_(p.link_buffer),
      sideband_begin_(std::uint32_t{topology.vc(abi::traffic_class::sideband, 0)} * p.ports),
      sideband_end_(sideband_begin_ + topology.vcs_of_class() * p.ports),
      queues_(topology.vcs() * p.ports),
      credits_(p.link_buffer),
      line_(p.line, random::stream(p.seed, p.path, "bit errors")),
      pj_per_bit_(p.pj_per_bit),
      monitor_(p.checksum) {}

void link_sender::arrived(std::uint8_t port, packet_ptr p, std::uint8_t vc, sim_time tail) {
  queues_.push(vc * ports_ + port, {std::move(p), tail});
}

void link_sender::credit(std::uint8_t vc, std::uint32_t flits, sim_time at) {
  returning_.push_back({at, vc, flits});
}

sim_time link_sender::act(sim_time now) {
  if (queues_.empty()) return sim_time::never();
  take_credits(now);
  const class_times free = free_classes(now);
  const std::uint32_t queue = choose(now, free);
  if (queue == queue_set<stored>::none) return next_chance(now, free);
  start(queue, now);
  return queues_.empty() ? sim_time::never() : next_chance(now, free_classes(now));
}

link_sender::class_times link_sender::free_classes(sim_time now) const {
  class_times free;
  for (unsigned c = 0; c < abi::traffic_classes; ++c) {
    const auto first = topology_.vc(static_cast<abi::traffic_class>(c), 0) * ports_;
    bool waiting = queues_.next_filled(first, first + topology_.vcs_of_class() * ports_) != queues_.none;
    if (topology_.has_trees() && static_cast<abi::traffic_class>(c) == abi::traffic_class::comm) {
      const unsigned trees = topology_.tree_vc_base() * ports_;
      waiting = waiting || queues_.next_filled(trees, topology_.vcs() * ports_) != queues_.none;
    }
    free[c] = waiting ? line_.earliest(c, now) : sim_time::never();
  }
  return free;
}

std::uint32_t link_sender::choose(sim_time now, const class_times& free) const {
  const auto can_start = [&](std::uint32_t q) {
    const stored& s = queues_.front(q);
    return free[class_of(q)] <= now && s.tail <= now && credits_[vc_of(q)] >= s.p->flits;
  };
  const std::uint32_t q = queues_.round_robin(sideband_begin_, sideband_end_, last_sideband_, can_start);
  if (q != queue_set<stored>::none) return q;
  const auto queues = static_cast<std::uint32_t>(credits_.size()) * ports_;
  return queues_.round_robin(0, queues, last_, can_start);
}

void link_sender::start(std::uint32_t queue, sim_time now) {
  const std::uint8_t vc = vc_of(queue);
  const auto port = static_cast<std::uint8_t>(queue % ports_);
  const bool sideband = queue >= sideband_begin_ && queue < sideband_end_;
  (sideband ? last_sideband_ : last_) = queue;
  stored s = queues_.pop(queue);
  const std::uint32_t flits = s.p->flits;
  const sim_time could_start = std::max(s.tail, line_.idle_from());
  // Counted per packet, not per call: calls without effect depend on the order in which modules are called
  // at one instant.
  ++counters_.evaluations;
  if (now > could_start) {
    ++counters_.evaluations;
    counters_.credit_stall += now - could_start;
  }
  ++counters_.packets;
  counters_.payload_bytes += s.p->header.payload_bytes;
  const timing::flit_line::transfer t =
      line_.send(static_cast<unsigned>(topology_.class_of(vc)), now, flits, s.tail);
  monitor_.pass(*s.p, t.arrival.head);
  credits_[vc] -= flits;
  const clock_domain& noc = timing_.receiver;
  const std::uint64_t freed = timing::batch_usable(now.fs, t.end.fs, flits, noc.period.fs);
  owner_.return_noc_credit(port, vc, flits, noc.edge_at_or_after({freed}) + noc.cycles(credit_cycles_));
  owner_.transmit(std::move(s.p), port, vc, now, t);
}

double link_sender::energy_pj() const {
  const timing::line_counters& c = line_.statistics();
  const std::uint64_t bytes =
      timing_.framed() ? c.frames * timing_.frame_wire_bytes : c.flits * timing_.flit_bytes;
  return static_cast<double>(bytes * 8) * pj_per_bit_;
}

void link_sender::take_credits(sim_time now) {
  std::erase_if(returning_, [&](const returning_credit& r) {
    if (r.at > now) return false;
    credits_[r.vc] += r.flits;
    return true;
  });
}

sim_time link_sender::next_chance(sim_time now, const class_times& free) const {
  sim_time next = sim_time::never();
  const auto queues = static_cast<std::uint32_t>(credits_.size()) * ports_;
  for (std::uint32_t q = queues_.next_filled(0, queues); q != queue_set<stored>::none;
       q = queues_.next_filled(q + 1, queues)) {
    const stored& s = queues_.front(q);
    sim_time t = std::max(s.tail, free[class_of(q)]);
    if (s.p->flits > credits_[vc_of(q)]) {
      sim_time back = sim_time::never();
      for (const returning_credit& r : returning_)
        if (r.vc == vc_of(q)) back = std::min(back, r.at);
      t = std::max(t, back);
    }
    if (t > now) next = std::min(next, t);
  }
  return next;
}

bool link_sender::quiescent() const {
  auto usable = credits_;
  for (const returning_credit& r : returning_) usable[r.vc] += r.flits;
  return queues_.empty() && usable == buffer_;
}

}  // namespace diecast::hw
