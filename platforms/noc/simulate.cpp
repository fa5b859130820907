// SPDX-License-Identifier: Apache-2.0
// One point: warm-up, measured interval, and more cycles until every packet made in the interval has arrived.
// Sources continue until then, so that the load is the same for the first and the last measured packets.
//
// Saturation, as BookSim2 detects it: the mean latency of measured packets is beyond a bound. Packets that
// have not arrived count with their age, so a network whose queues only grow is found without waiting for
// them.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "hw/base/time.hpp"
#include "models/config/check.hpp"
#include "models/types/error.hpp"
#include "platforms/noc/machine.hpp"
#include "platforms/noc/study.hpp"
#include "platforms/observe/timeline.hpp"
#include "platforms/observe/vcd_writer.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/kernel.hpp"
#include "platforms/run/progress.hpp"

namespace diecast::noc {

std::string study_point::traffic_text() const {
  if (transactions) return "transactions:" + transactions->file;
  return replay ? "replay:" + replay->file : traffic::to_string(pattern);
}

namespace {

/// Throws user_error with the cycle of buffers in which packets can wait for each other, if there is one.
void prove_free_of_deadlock(const fabric::topology& topology) {
  const auto cycle = fabric::find_dependency_cycle(topology);
  if (cycle.empty()) return;
  std::string text;
  for (const auto& node : cycle) text += "\n  " + node;
  throw user_error(
      problem{"noc", "packets can wait for each other in a cycle:" + text, "", "noc.dateline_vcs true"});
}

}  // namespace

network::network(config::machine_config c, fabric::purpose what)
    : config(std::move(c)), topology(config, what) {
  prove_free_of_deadlock(topology);
  if (what != fabric::purpose::transaction_study) return;
  for (unsigned k = 1; k < config.noc.networks; ++k) {
    further.push_back(std::make_unique<const fabric::topology>(config, what, k));
    prove_free_of_deadlock(*further.back());
  }
}

std::vector<const fabric::topology*> network::topologies() const {
  std::vector<const fabric::topology*> all{&topology};
  for (const auto& t : further) all.push_back(t.get());
  return all;
}

traffic::node_grid network::grid() const {
  const auto& noc = config.noc;
  const bool one_row =
      noc.topology == config::noc_topology::ring || noc.topology == config::noc_topology::crossbar;
  if (one_row) return {nodes(), 1};
  return {static_cast<std::uint32_t>(noc.columns), static_cast<std::uint32_t>(noc.rows)};
}

config::machine_config adapt(config::machine_config c, std::uint32_t packet_flits) {
  c.pod = {};
  c.pod.sips = c.sip.columns = c.sip.rows = 1;
  c.noc.max_packet_bytes =
      std::max(c.noc.max_packet_bytes, std::uint64_t{packet_flits - 1} * c.noc.flit_bytes);
  auto problems = config::check(c, {});
  if (!problems.empty()) throw user_error(std::move(problems));
  return c;
}

void describe(const study_point& point, study_outcome& o) {
  o.traffic = point.traffic_text();
  if (point.replay || point.transactions) return;
  o.packet_flits = point.packet_flits;
  o.cycles = point.cycles;
  o.offered_flits_per_node_cycle = point.rate;
}

namespace {

using platforms::end_of_run;
using platforms::run_status;

constexpr double fs_per_ns = 1e6;                 // cycles are kept in a histogram of femtoseconds
constexpr std::uint64_t silence_cycles = 20'000;  // longer than any hop: nothing moves any more

class study_run {
 public:
  study_run(const study_point& point, const network& net, machine& modules, study_outcome& o)
      : point_(point), net_(net), machine_(modules), o_(o), period_(timing::noc_clock(net.config).period) {}

  void play() {
    if (point_.replay) {
      to_the_end();
    } else if (advance(point_.warmup_cycles + point_.cycles)) {
      drain();
    }
    collect();
  }

 private:
  [[nodiscard]] const hw::packet_traffic::results& results() const { return machine_.traffic->statistics(); }
  [[nodiscard]] std::uint64_t cycle() const { return hw::now().fs / period_.fs; }

  /// Share of the cycles to measure, or of the packets of a trace; draining has no known end.
  [[nodiscard]] platforms::run_progress how_far() const {
    if (point_.replay) {
      const std::size_t packets = std::max<std::size_t>(1, point_.replay->packets.size());
      return {static_cast<double>(results().delivered) / static_cast<double>(packets), {}};
    }
    return {static_cast<double>(cycle()) / static_cast<double>(point_.warmup_cycles + point_.cycles), {}};
  }

  /// False when the run was ended earlier.
  bool advance(std::uint64_t to) {
    while (cycle() < to) {
      if (stopped()) return false;
      sc_core::sc_start(hw::to_sc(period_ * std::min(slice_cycles, to - cycle())));
      bar_.update(hw::now(), [this] { return how_far(); });
    }
    return !stopped();
  }

  /// Whether the model, by breaking its own rules, a signal or the limit of simulated time ended the run.
  bool stopped() {
    end_of_run end = end_of_run::finished;
    const sc_core::sc_time limit(static_cast<double>(net_.config.sim.limit_ms), sc_core::SC_MS);
    if (sc_core::sc_time_stamp() >= limit) end = end_of_run::limit;
    if (platforms::interrupt_signal() != 0) end = end_of_run::interrupted;
    if (machine_.faults.fault()) end = end_of_run::fault;
    return concluded(end);
  }

  bool concluded(end_of_run end) {
    platforms::conclude(end, net_.config.sim, machine_.faults,
                        fmt::format("{} packets are under way", machine_.packets_under_way()), o_);
    return end != end_of_run::finished;
  }

  [[nodiscard]] double mean_so_far() const {
    const std::uint64_t sum = results().latency_sum + machine_.traffic->measured_age(cycle());
    return static_cast<double>(sum) /
           static_cast<double>(std::max<std::uint64_t>(1, results().measured_made));
  }

  void drain() {
    while (!o_.saturated && machine_.traffic->measured_in_flight() != 0) {
      o_.saturated = mean_so_far() > static_cast<double>(point_.latency_bound);
      if (o_.saturated || silent() || !advance(cycle() + slice_cycles)) return;
    }
    o_.saturated = o_.saturated || mean_so_far() > static_cast<double>(point_.latency_bound);
  }

  bool silent() {
    const std::uint64_t moves = machine_.noc->statistics().packet_hops + results().delivered;
    if (moves != std::exchange(moves_, moves)) moved_ = cycle();
    if (cycle() < moved_ + silence_cycles) return false;
    o_.status = run_status::deadlock;
    o_.message = fmt::format("no packet has moved since cycle {}, and {} packets are under way", moved_,
                             machine_.packets_under_way());
    return true;
  }

  void to_the_end() {
    (void)concluded(platforms::run_slices(
        net_.config.sim, [this] { return machine_.traffic->measured_in_flight() == 0; }, machine_.faults,
        [] { return false; }, [this] { bar_.update(hw::now(), [this] { return how_far(); }); }));
  }

  void collect() {
    const auto& r = results();
    const std::uint64_t after_warmup = cycle() - std::min(cycle(), point_.warmup_cycles);
    o_.cycles = point_.replay ? r.last_tail : std::min(o_.cycles, after_warmup);  // fewer when interrupted
    // A run that ended before its first packet arrived, or during warm-up, has no measured cycles; its rates
    // are 0, not NaN.
    const double node_cycles = static_cast<double>(std::max<std::uint64_t>(1, o_.cycles)) * net_.nodes();
    o_.injected_flits_per_node_cycle = static_cast<double>(r.measured_made_flits) / node_cycles;
    o_.accepted_flits_per_node_cycle = static_cast<double>(r.flits_taken) / node_cycles;
    if (point_.replay) o_.offered_flits_per_node_cycle = o_.injected_flits_per_node_cycle;
    o_.measured_packets = r.latencies.count();
    if (r.measured_made != 0)
      o_.avg_hops = static_cast<double>(r.measured_hops) / static_cast<double>(r.measured_made);
    collect_latencies();
    o_.packets = r.delivered;
    o_.fingerprint = fmt::format("{:016x}", r.fingerprint);
    add_noc(*machine_.noc, net_.topology, net_.config, "", std::max(cycle(), r.last_tail), o_);
  }

  void collect_latencies() {
    const analysis::latency_histogram& l = results().latencies;
    if (l.count() == 0) return;
    const auto quantile = [&l](double share) { return std::round(l.quantile_ns(share) * fs_per_ns); };
    o_.avg_packet_latency_cycles =
        static_cast<double>(results().latency_sum) / static_cast<double>(l.count());
    o_.p50_packet_latency_cycles = quantile(0.50);
    o_.p99_packet_latency_cycles = quantile(0.99);
    o_.max_packet_latency_cycles = l.max().fs;
  }

  const study_point& point_;
  const network& net_;
  machine& machine_;
  study_outcome& o_;
  const sim_time period_;
  std::uint64_t moves_{}, moved_{};  ///< hops and deliveries when last checked, and the cycle they changed
  platforms::progress_bar bar_{point_.progress, point_.progress_label};
};

std::unique_ptr<traffic::packet_arrivals> arrivals_of(const study_point& point, const network& net) {
  if (point.replay) return std::make_unique<traffic::recorded_arrivals>(point.replay->packets);
  const traffic::bernoulli_arrivals::setup setup{net.config.sim.seed, point.rate, point.packet_flits,
                                                 net.nodes()};
  return std::make_unique<traffic::bernoulli_arrivals>(
      setup, traffic::destinations(point.pattern, net.grid(), point.hot));
}

}  // namespace

void add_noc(const hw::cube_noc& noc, const fabric::topology& topology, const config::machine_config& config,
             const std::string& prefix, std::uint64_t cycles, study_outcome& o) {
  const auto& n = noc.statistics();
  o.packet_hops += n.packet_hops;
  o.flit_hops += n.flit_hops;
  o.wakeups += n.wakeups;
  noc.visit_links([&](std::uint32_t link, const hw::cube_noc::link_usage& u) {
    o.links.push_back({link, prefix + topology.links()[link].name, u.flits * config.noc.flit_bytes, u.packets,
                       static_cast<double>(u.flits) / static_cast<double>(std::max<std::uint64_t>(1, cycles)),
                       static_cast<double>(u.credit_stall_cycles) * timing::noc_clock(config).period.ns()});
  });
}

study_outcome simulate(const study_point& point, const network& net) {
  study_outcome o;
  describe(point, o);
  platforms::prepare_kernel();
  const platforms::stopwatch elaborating;
  events::hub hub;
  const config::machine_config shown = observe::only_cube(net.config);
  const auto vcd = platforms::attached<observe::vcd_writer>(
      !point.vcd.empty(), hub, observe::vcd_writer::interests(shown), point.vcd, shown, &net.topology,
      comm::install_plan{}, std::vector<std::string>{});
  const auto timeline = platforms::attached<observe::timeline>(
      !point.timeline.empty(), hub, observe::timeline::interests, point.timeline, shown, &net.topology,
      comm::install_plan{}, comm::generic_names());
  // Never destroyed: the process ends after its run.
  auto& pool = *new hw::packet_pool;
  auto& arrivals = *arrivals_of(point, net).release();
  hw::packet_traffic::interval measured;
  if (!point.replay) measured = {point.warmup_cycles, point.warmup_cycles + point.cycles};
  auto& modules = *new machine("study", net, arrivals, pool, measured, hub);
  if (vcd) {
    std::vector<observe::initial_credits> credits;
    modules.noc->visit_credits([&](std::uint32_t link, std::uint8_t vc, std::uint32_t flits) {
      credits.push_back({link, vc, flits});
    });
    vcd->begin(credits);
  }
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  o.elaborate_s = elaborating.seconds();
  const platforms::stopwatch running;
  study_run(point, net, modules, o).play();
  o.wall_s = running.seconds();
  o.peak_rss_mib = platforms::peak_rss_mib();
  if (vcd) platforms::finish_waveform(*vcd, o);
  if (timeline) platforms::finish_file(*timeline, o);
  return o;
}

}  // namespace diecast::noc
