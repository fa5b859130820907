// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/link_faults.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace diecast::protocol {
namespace {

using config::fault_kind;

bool carries_data(const abi::packet_header& h) {
  const abi::traffic_class c = abi::class_of(h.kind);
  return c == abi::traffic_class::comm || c == abi::traffic_class::message || abi::answers_rendezvous(h);
}

/// Whether a packet is one that a fault of this kind could strike.
bool concerns(fault_kind kind, const abi::packet_header& h) {
  switch (kind) {
    case fault_kind::bit_flip: return carries_data(h) && h.payload_bytes > 0;
    case fault_kind::drop:
    case fault_kind::duplicate:
    case fault_kind::reorder: return carries_data(h);
    case fault_kind::lost_credit:
    case fault_kind::late_credit: return h.kind == abi::packet_kind::ipcq_credit;
    case fault_kind::premature_barrier:
      // A contribution of one packet is flushed while it passes.
      return h.kind == abi::packet_kind::ipcq_data && h.offset > 0 &&
             h.offset + h.payload_bytes >= h.ipcq.message_bytes;
    // Faults do not affect launches: a host that cannot start its PEs is no fault of this kind.
    default: return h.kind != abi::packet_kind::launch && h.kind != abi::packet_kind::launch_done;
  }
}

/// These faults are a state of the link, not single events.
bool lasts(fault_kind kind) { return kind == fault_kind::link_down || kind == fault_kind::link_degraded; }

}  // namespace

fault_trigger::fault_trigger(const config::placed_fault& fault, const std::string& place, std::size_t index)
    : setting_(fault.setting),
      number_(fault.number),
      draws_(fault.setting.seed, place, fmt::format("fault {}", index)),
      chance_(fault.draw == 0 ? draws_
                              : random::stream(fault.setting.seed, place,
                                               fmt::format("fault {} draw {}", index, fault.draw))) {}

bool fault_trigger::strikes(sim_time now) {
  if (now < nanoseconds(setting_.from_us * 1e3)) return false;
  const std::uint64_t chance = chances_++;
  if (chance < setting_.after) return false;
  if (setting_.count != 0 && strikes_ == setting_.count && !lasts(setting_.kind)) return false;
  if (setting_.probability < 1.0 && chance_.unit(2 * chance) >= setting_.probability) return false;
  ++strikes_;
  return true;
}

link_faults::link_faults(const std::vector<config::placed_fault>& faults, const std::string& place,
                         sim_time flit_time)
    : flit_time_(flit_time) {
  for (std::size_t i = 0; i < faults.size(); ++i) triggers_.emplace_back(faults[i], place, i);
}

std::vector<config::fault_tally> link_faults::tallies() const {
  std::vector<config::fault_tally> all;
  for (const fault_trigger& t : triggers_) all.push_back(t.tally());
  return all;
}

/// The last packet of a contribution counts as written while it is in the buffer, which has one place for
/// each sender. The last packet of a second contribution that arrives before the first is flushed is lost.
/// Every fault has its own buffer.
void link_faults::buffer_end(const fault_trigger& fault, const abi::packet_header& header, sim_time head,
                             verdict& v) {
  const config::fault_setting& f = fault.setting();
  sim_time& until = buffered_until_[{fault.number(), header.source}];
  if (head < until) {
    v.lost = true;
    return;
  }
  until = head + nanoseconds(f.delay_ns);
  v.delay += nanoseconds(f.delay_ns);
}

void link_faults::degrade(const config::fault_setting& f, std::uint32_t flits, sim_time head, sim_time tail,
                          verdict& v) {
  const auto slow = static_cast<std::uint64_t>(static_cast<double>(flit_time_.fs) * f.factor);
  const sim_time start = std::max(head, free_);
  const sim_time last = std::max(start + sim_time{slow} * (flits - 1), tail);
  free_ = last + sim_time{slow};
  v.delay += start - head;
  v.stretch += (last - start) - std::min(last - start, tail - head);
}

/// Credits after a late one are late, too: none arrives, or ends, before the previous one.
void link_faults::keep_in_order(sim_time head, sim_time tail, verdict& v) {
  const sim_time first = std::max(head + v.delay, last_credit_->head);
  v.delay = first - head;
  const sim_time last = std::max(tail + v.delay + v.stretch, last_credit_->tail);
  v.delay = std::max(v.delay, last - tail - v.stretch);
  last_credit_ = arrival{head + v.delay, tail + v.delay + v.stretch};
}

link_faults::verdict link_faults::pass(const abi::packet_header& header, std::vector<std::byte>& data,
                                       std::uint32_t flits, sim_time head, sim_time tail) {
  verdict v;
  for (fault_trigger& t : triggers_) {
    const config::fault_setting& f = t.setting();
    if (!concerns(f.kind, header) || !t.strikes(head)) continue;
    switch (f.kind) {
      case fault_kind::bit_flip:
        if (!data.empty()) {
          const std::uint64_t bit = t.draw(data.size() * 8);
          data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        }
        break;
      case fault_kind::drop:
      case fault_kind::lost_credit: v.lost = true; break;
      case fault_kind::duplicate: v.twice = true; break;
      case fault_kind::reorder: v.delay += nanoseconds(f.delay_ns); break;
      case fault_kind::late_credit:
        v.delay += nanoseconds(f.delay_ns);
        if (!last_credit_) last_credit_.emplace();
        break;
      case fault_kind::link_down: v.held = true; break;
      case fault_kind::link_degraded: degrade(f, flits, head, tail, v); break;
      case fault_kind::premature_barrier: buffer_end(t, header, head, v); break;
      default: break;  // not a fault of links
    }
  }
  const bool is_credit = header.kind == abi::packet_kind::ipcq_credit;
  if (is_credit && last_credit_ && !v.lost && !v.held) keep_in_order(head, tail, v);
  return v;
}

}  // namespace diecast::protocol
