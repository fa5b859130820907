// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/windows.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hw/base/time.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/run_observers.hpp"

namespace diecast::platforms {
namespace {

/// Channels of observers; lower numbers are those of links.
constexpr std::uint32_t hops_channel = UINT32_MAX, path_channel = UINT32_MAX - 1,
                        timeline_channel = UINT32_MAX - 2;

/// Calls visit(channel, listener) for each observer that needs both ends of messages.
template <class Visit>
void each_listener(run_observers& all, Visit visit) {
  visit(hops_channel, all.hops());
  if (all.path_events() != nullptr) visit(path_channel, *all.path_events());
  if (all.timeline() != nullptr) visit(timeline_channel, *all.timeline());
}

struct mail_header {
  std::uint32_t channel{}, bytes{};
};

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

template <class Listener>
void hear(std::span<const std::byte> body, Listener& listener) {
  typename Listener::carried c;
  std::memcpy(&c, body.data(), sizeof c);
  listener.arrive(c);
}

sim_time least(const std::vector<process_state>& all, sim_time process_state::*what) {
  sim_time t = sim_time::never();
  for (const process_state& s : all) t = std::min(t, s.*what);
  return t;
}

/// Processes all events due now, without advancing the clock.
void end_instant() {
  while (sc_core::sc_pending_activity_at_current_time()) sc_core::sc_start(sc_core::SC_ZERO_TIME);
}

void move_clock(sim_time to) {
  if (to > hw::now()) sc_core::sc_start(hw::to_sc(to - hw::now()), sc_core::SC_RUN_TO_TIME);
}

}  // namespace

windows::windows(process_group& group, const fabric::sip_partition& partition, const prepared_run& run)
    : group_(group),
      partition_(partition),
      run_(run),
      lookahead_(fabric::lookahead_of(run.machine.topology, run.machine.config, partition)),
      outgoing_(partition.processes) {}

/// Messages pass through SIPs between their ends; critical_hops needs both ends.
void windows::find_neighbors(const analysis::critical_hops& hops) {
  const auto add = [this](sip_id a, sip_id b) {
    const std::uint32_t p = partition_.process_of[a.value], q = partition_.process_of[b.value];
    if (p != q && p == group_.self()) neighbors_.insert(q);
    if (p != q && q == group_.self()) neighbors_.insert(p);
  };
  for (const fabric::sip_link& l : run_.machine.topology.sip_links()) add({l.from.sip}, {l.to.sip});
  for (std::uint32_t p = 0;
       run_.machine.config.comm.path == config::transfer_path::staged && p < group_.count(); ++p)
    if (p != group_.self()) neighbors_.insert(p);
  hops.visit_paths(add);
  group_.set_neighbors({neighbors_.begin(), neighbors_.end()});
}

void windows::send(std::uint32_t to, std::uint32_t channel, const std::vector<std::byte>& bytes) {
  if (!neighbors_.contains(to))
    throw std::logic_error(
        fmt::format("process {} sends to process {}, which is no neighbor", group_.self(), to));
  append(outgoing_[to], mail_header{channel, static_cast<std::uint32_t>(bytes.size())});
  outgoing_[to].insert(outgoing_[to].end(), bytes.begin(), bytes.end());
}

hw::boundary_outlet windows::outlet() {
  return [this](std::uint32_t channel, const std::vector<std::byte>& bytes) {
    const auto& links = run_.machine.topology.sip_links();
    const std::size_t to = channel < links.size() ? links[channel].to.sip : channel - links.size();
    send(partition_.process_of[to], channel, bytes);
  };
}

/// Messages of a link are delivered in the order in which they were sent, for any number of processes: a
/// process sends them in that order, and links do not depend on each other.
void windows::deliver(const std::vector<std::byte>& mail, netlist::pod& pod, run_observers& watching) const {
  for (std::size_t at = 0; at < mail.size();) {
    mail_header h;
    std::memcpy(&h, mail.data() + at, sizeof h);
    const std::span<const std::byte> body(mail.data() + at + sizeof h, h.bytes);
    at += sizeof h + h.bytes;
    bool heard = false;
    each_listener(watching, [&](std::uint32_t channel, auto& listener) {
      if (channel != h.channel) return;
      hear(body, listener);
      heard = true;
    });
    if (heard) continue;
    const hw::sip_message m = hw::decode_sip_message(body);
    if (m.head <= hw::now())
      throw std::logic_error(
          fmt::format("a message on channel {} arrives at {} fs, and this process is at {} fs already",
                      h.channel, m.head.fs, hw::now().fs));
    pod.deliver(h.channel, m);
  }
}

/// Sends records to observers in other processes.
template <class Listener>
void windows::send_leaving(std::uint32_t channel, Listener& from) {
  for (const auto& c : from.take_leaving()) {
    std::vector<std::byte> bytes;
    append(bytes, c);
    send(partition_.process_of[c.to.value], channel, bytes);
  }
}

void windows::exchange(netlist::pod& pod, run_observers& watching) {
  const stopwatch time;
  each_listener(watching, [this](std::uint32_t channel, auto& listener) { send_leaving(channel, listener); });
  const auto mail = group_.exchange(outgoing_);
  for (auto& sent : outgoing_) sent.clear();
  for (const auto& from : mail) deliver(from, pod, watching);
  counts_.exchange_s += time.seconds();
}

process_state windows::own_state(const host_side& hosts, const hw::fault_sink& faults) const {
  process_state s;
  s.now = hw::now();
  if (sc_core::sc_pending_activity())
    s.next = s.now + sim_time{sc_core::sc_time_to_pending_activity().value()};
  s.hosts_ready = agreement_->ready();
  s.started = agreement_->take_decided();
  if (faults.fault()) s.fault = sim_time{faults.at().value()};
  s.finished = hosts.finished() ? 1 : 0;
  s.interrupted = interrupt_signal() != 0 ? 1 : 0;
  return s;
}

bool windows::start_hosts(const std::vector<process_state>& all) const {
  const auto waits = [](const process_state& s) { return s.hosts_ready != sim_time::never(); };
  const auto others = std::ranges::count_if(all, waits) - (waits(all[group_.self()]) ? 1 : 0);
  const bool others_ready = others + 1 == static_cast<std::ptrdiff_t>(all.size());
  sim_time at = least(all, &process_state::started);
  const bool decided = at != sim_time::never();
  if (!decided && others_ready && waits(all[group_.self()])) {
    at = {};
    for (const process_state& s : all) at = std::max(at, s.hosts_ready);
  }
  if (at == sim_time::never()) {
    agreement_->set_others_ready(others_ready);
    return false;
  }
  agreement_->set_others_ready(false);
  // A process that has decided is already waiting for the next start.
  if (waits(all[group_.self()]) && all[group_.self()].started == sim_time::never()) agreement_->release(at);
  return true;
}

/// When all hosts wait, another process may set the time at which they continue: its next event at the
/// earliest. Until then this process simulates, and completes the events of that time.
void windows::simulate(sim_time until, sim_time hosts_may_come) {
  const stopwatch time;
  const bool waiting = agreement_->ready() != sim_time::never();
  const sim_time stop = waiting ? std::min(until, hosts_may_come) : until;
  ++counts_.windows;
  if (!sc_core::sc_pending_activity()) {
    ++counts_.idle;
    return;
  }
  if (stop > hw::now()) sc_core::sc_start(hw::to_sc(stop - hw::now()), sc_core::SC_EXIT_ON_STARVATION);
  const bool paused = !waiting && agreement_->ready() != sim_time::never();
  if (paused || stop < until) end_instant();
  counts_.simulate_s += time.seconds();
}

end_of_run windows::play(netlist::pod& pod, const host_side& hosts, thread_agreement& agreement,
                         run_observers& watching, const hw::fault_sink& faults,
                         const std::function<bool()>& stuck) {
  agreement_ = &agreement;
  const config::sim_block& sim = run_.machine.config.sim;
  const sim_time limit = picoseconds(sim.limit_ms * 1'000'000'000);
  sim_time look;
  find_neighbors(watching.hops());
  const auto here = [&pod](sip_id s) { return pod.has(s); };
  watching.hops().set_here(here);
  if (watching.path_events() != nullptr) watching.path_events()->set_here(here);
  agreement_->set_others_ready(false);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  for (;;) {
    exchange(pod, watching);
    const std::vector<process_state> all = group_.states(own_state(hosts, faults));
    if (start_hosts(all)) continue;
    const sim_time next = least(all, &process_state::next);
    const auto any = [&all](auto is) { return std::ranges::any_of(all, is); };
    const bool fault = least(all, &process_state::fault) != sim_time::never();
    if (next == sim_time::never()) {
      sim_time last;
      for (const process_state& s : all) last = std::max(last, s.now);
      move_clock(last);
      if (fault) return end_of_run::fault;
      return any([](const process_state& s) { return s.finished == 0; }) ? end_of_run::starved
                                                                         : end_of_run::finished;
    }
    if (next >= look) {
      move_clock(look);
      watching.catch_up(pod);
      if (fault) return end_of_run::fault;
      if (any([](const process_state& s) { return s.interrupted != 0; })) return end_of_run::interrupted;
      if (look >= limit) return end_of_run::limit;
      if (stuck()) return end_of_run::watchdog;
      look = std::min(limit, next_look(sim, next));
      if (next >= look) continue;
    }
    sim_time hosts_may_come = sim_time::never();
    for (const process_state& s : all)
      if (s.hosts_ready == sim_time::never()) hosts_may_come = std::min(hosts_may_come, s.next);
    // Less by the least step of time: no arrival is due at the end of a window.
    const sim_time end = lookahead_ == sim_time::never() ? look : next + lookahead_ - femtoseconds(1);
    simulate(std::min(look, end), hosts_may_come);
  }
}

}  // namespace diecast::platforms
