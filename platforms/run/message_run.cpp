// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <exception>
#include <fmt/format.h>

#include "models/config/field.hpp"
#include "models/fabric/longest_step.hpp"
#include "models/types/error.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/collect.hpp"
#include "platforms/run/host_side.hpp"
#include "platforms/run/simulate.hpp"
#include "sw/mock_machine/timed_machine.hpp"

namespace diecast::platforms {
namespace {

constexpr const char* in_packets = "sim.fidelity=packet";

/// Keys that message fidelity knows by their default only.
constexpr std::array packet_keys{"sim.strict_memory",   "sim.links_as_bytes", "sim.check_credits",
                                 "sim.dump_on_sighup",  "comm.checksum",      "pe.dma_compute_weight",
                                 "pe.dma_ipcq_weight",  "noc.flow",           "noc.vcs",
                                 "noc.vc_policy",       "noc.arbitration",    "noc.routing_cycles",
                                 "noc.vc_alloc_cycles", "hbm.scheduler",      "hbm.read_queue",
                                 "hbm.write_queue"};

/// Common start of hosts that are fibers of a timed machine.
class fiber_agreement final : public start_agreement {
 public:
  fiber_agreement(std::uint64_t hosts, sw::timed_machine& machine)
      : start_agreement(hosts), machine_(machine) {}

  sim_time agree(const std::function<sim_time()>& decide) override {
    const std::uint64_t mine = generation_;
    if (++arrived_ == hosts_) {
      begin(decide);
      machine_.wake_hosts();
    }
    while (generation_ == mine) machine_.sleep_host();
    return start_;
  }

 private:
  sw::timed_machine& machine_;
};

/// Finds machines in which firmware polls and nothing else happens.
class poll_watch {
 public:
  poll_watch(const prepared_run& run, const sw::timed_machine& machine)
      : machine_(machine),
        patience_(std::max(picoseconds(run.machine.config.sim.watchdog_us * 1'000'000),
                           fabric::longest_step(run.machine.topology, run.machine.config) * 2)),
        next_look_(patience_) {}

  [[nodiscard]] bool starved() {
    if (machine_.now() < next_look_) return false;
    next_look_ = machine_.moved() + patience_;
    return machine_.now() > next_look_;
  }

 private:
  const sw::timed_machine& machine_;
  sim_time patience_, next_look_;
};

/// As run_slices(). `thrown`: what ended the run, if something did.
end_of_run play(const prepared_run& run, const host_side& hosts, sw::timed_machine& machine, double bound_ns,
                sim_time limit, std::exception_ptr& thrown) {
  const config::sim_block& sim = run.machine.config.sim;
  poll_watch watch(run, machine);
  progress_bar bar(run.point.progress, run.point.progress_label);
  distance done(run, hosts, bound_ns, [&machine](pe_coord pe) { return machine.pe(pe).idle(); });
  while (machine.next() != sim_time::never()) {
    if (interrupt_signal() != 0) return end_of_run::interrupted;
    if (machine.next() >= limit) return end_of_run::limit;
    if (watch.starved()) return end_of_run::watchdog;
    if (dump_requested())
      warn("a signal asks for the flight recorder, which sim.fidelity=message lacks; the run continues");
    const sim_time look = std::min(limit, next_look(sim, machine.next()));
    machine.look_at(look);
    try {
      while (machine.next() < look) machine.step();
    } catch (...) {
      thrown = std::current_exception();
      return end_of_run::fault;
    }
    bar.update(machine.now(), [&] { return done.at(machine.now()); });
  }
  return hosts.finished() ? end_of_run::finished : end_of_run::starved;
}

}  // namespace

run_outcome simulate_messages(const prepared_run& run, std::optional<std::uint32_t> only,
                              std::uint64_t draw) {
  run_outcome o;
  run.describe(o);
  const stopwatch elaboration;
  const std::uint64_t sips = run.machine.config.pod.sips;
  std::unique_ptr<host_side> hosts;
  sw::timed_machine machine(run.machine.topology, run.machine.config, run.point.data,
                            [&](pe_coord pe) { return firmware_of(*hosts, run, draw, pe); });
  fiber_agreement agreement(sips, machine);
  hosts = run.hosts(only, sips, agreement, [] {});
  for (std::uint32_t s = 0; s < sips; ++s)
    machine.start_host(sip_id{s}, [&hosts](abi::host_hal& host) { hosts->host_program(host); });
  o.elaborate_s = elaboration.seconds();

  const stopwatch running;
  std::exception_ptr thrown;
  const sim_time limit = picoseconds(run.machine.config.sim.limit_ms * 1'000'000'000);
  const end_of_run end = play(run, *hosts, machine, o.bound_ns, limit, thrown);
  o.wall_s = running.seconds();
  const sim_time now = end == end_of_run::limit ? limit : machine.now();
  conclude(end, run, *hosts, now,
           {[&] {
              take_fault(run, {thrown, "pod", now}, o);
            },
            [&](run_status status, const std::string& why) {
              report_stop(run, machine.stopped(status == run_status::deadlock, run.members.members), now,
                          status, why, o);
            }},
           o);
  const machine_totals totals = collect(run, machine, o);
  report_totals(run, totals, *hosts, nullptr, now, o);
  rate_against_bound(o);
  o.peak_rss_mib = peak_rss_mib();
  return o;
}

void check_message_config(const config::machine_config& config) {
  if (config.sim.fidelity != config::run_fidelity::message) return;
  std::vector<problem> problems;
  for (const char* key : packet_keys) {
    const std::string value = to_text(config::get_value(config, key));
    const std::string usual = to_text(config::default_value(*config::find_field(key)));
    if (value != usual)
      problems.push_back({key, "is not modelled by sim.fidelity=message", value,
                          fmt::format("{}, or {}", usual, in_packets)});
  }
  if (!config.faults.empty())
    problems.push_back({"faults", "are not modelled by sim.fidelity=message",
                        fmt::format("{} faults", config.faults.size()),
                        fmt::format("none, or {}", in_packets)});
  if (!problems.empty()) throw user_error(std::move(problems));
}

void refuse_messages(const config::machine_config& config, const message_refusal& why) {
  if (config.sim.fidelity == config::run_fidelity::message)
    throw user_error(problem{why.flag, fmt::format("{} not modelled by sim.fidelity=message", why.what),
                             why.value, in_packets});
}

}  // namespace diecast::platforms
