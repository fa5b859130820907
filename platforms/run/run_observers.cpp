// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/run_observers.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

#include "hw/base/time.hpp"
#include "models/checksum/packet_checksum.hpp"
#include "models/timing/link.hpp"
#include "platforms/files/output_dir.hpp"
#include "platforms/result/deadlock_json.hpp"
#include "platforms/result/step_rows.hpp"
#include "platforms/run/child.hpp"
#include "platforms/run/collect.hpp"

namespace diecast::platforms {

namespace {

/// Number of this process; 0 when it is alone.
std::uint32_t process_of(const process_group* group) { return group == nullptr ? 0 : group->self(); }

/// The instances of a machine that this process simulates; empty: all.
observe::instance_filter shown_of(const process_group* group, const std::vector<bool>& sips) {
  if (group == nullptr) return {};
  return [sips](const std::string& path) { return sips.at(sip_in(path)); };
}

std::vector<observe::initial_credits> link_credits_of(netlist::pod& pod) {
  std::vector<observe::initial_credits> all;
  const auto add_sender = [&all](std::uint32_t link, const hw::link_sender& sender) {
    for (std::size_t vc = 0; vc < sender.initial_credits().size(); ++vc)
      all.push_back({link, static_cast<std::uint8_t>(vc), sender.initial_credits()[vc]});
  };
  for (const auto& sip : pod.sips()) {
    for (const auto& cube : sip->cubes()) {
      cube->noc().visit_credits([&](std::uint32_t link, std::uint8_t vc, std::uint32_t flits) {
        all.push_back({link, vc, flits});
      });
      for (unsigned s = 0; s < fabric::sides; ++s)
        if (const auto* edge = cube->edge(static_cast<fabric::side>(s)))
          add_sender(edge->link(), edge->sender());
    }
    for (const auto& port : sip->ports()) {
      if (port) add_sender(port->link(), port->sender());  // each link has one end in this process
    }
  }
  return all;
}

}  // namespace

run_observers::run_observers(const prepared_run& run, bool whole, events::hub& events, process_group* group,
                             const std::vector<bool>& sips)
    : run_(run),
      hops_(attached<analysis::critical_hops>(true, events, events::messages, run.plan)),
      vcd_(attached<observe::vcd_writer>(
          whole && !run.point.vcd.empty(), events, observe::vcd_writer::interests(run.machine.config),
          part_of_file(run.point.vcd, process_of(group)), run.machine.config, &run.machine.topology, run.plan,
          observe::dram_channel_paths(run.machine.config, run.machine.topology), run.names().direction,
          shown_of(group, sips))),
      timeline_(attached<observe::timeline>(
          whole && !run.point.timeline.empty(), events, observe::timeline::interests,
          part_of_file(run.point.timeline, process_of(group)), run.machine.config, &run.machine.topology,
          run.plan, run.names().direction, shown_of(group, sips), process_of(group))),
      path_events_(attached<analysis::path_events>(
          run.point.critical_path && run.launch() != nullptr && run.machine.config.trace.path_events != 0,
          events, analysis::path_events::interests, run.plan, run.machine.config.trace.path_events)),
      waits_(attached<analysis::waited_time>(run.point.waits, events, analysis::waited_time::interests)),
      trace_(attached<observe::ccl_trace>(whole && run.point.ccl_trace, events, events::messages, run.names(),
                                          stderr)),
      credits_(attached<analysis::credit_checker>(run.machine.config.sim.check_credits, events,
                                                  events::queue_pairs, run.plan, run.names().direction)),
      steps_(attached<observe::step_recorder>(
          run.point.record, events, events::steps | events::messages | events::contents | events::operations,
          run.names())),
      flight_(run, events),
      judge_(run.watch(events)) {}

void run_observers::next_launch() {
  hops_->reset();
  if (judge_) judge_->next_launch();
  if (path_events_) path_events_->reset();
  flight_.next_launch();
  if (steps_) steps_->next_launch();
}

void run_observers::listen_to(host_side& hosts) {
  if (timeline_)
    hosts.hear_ops([this](const op_on_pe& op) {
      if (op.ended) return timeline_->on_op_ended(op.pe, op.chain, op.at);
      timeline_->on_op_begun(op.pe, op.chain, op.stream, op.name, op.at);
    });
  if (!steps_) return;
  hosts.hear_results([this](std::uint32_t rank, std::span<const std::byte> bytes) {
    steps_->result(rank, checksum::digest_of_part(0, bytes));
  });
}

void run_observers::listen_to(netlist::pod& pod) {
  if (vcd_) vcd_->begin(link_credits_of(pod));
  std::vector<observe::dram_listener*> listeners;
  if (timeline_) listeners.push_back(timeline_.get());
  if (vcd_ && vcd_->has_dram()) listeners.push_back(vcd_.get());
  dram_.emplace(observe::dram_controllers(pod), std::move(listeners));
}

void run_observers::catch_up(netlist::pod& pod) {
  if (vcd_ && vcd_->has_dram()) {
    dram_->catch_up();
    vcd_->flush_before(hw::now());
  }
  flight_.look_for_request(pod);
}

void run_observers::check_credits(run_outcome& o) const {
  if (!credits_) return;
  const std::string unrest = credits_->unrest();
  if (unrest.empty()) return;
  o.status = run_status::fault;
  o.message = unrest;
}

void run_observers::report_path(process_group* group, run_outcome& o) const {
  if (!path_events_) return;
  if (group != nullptr) {
    path_events_->drop_unsent();
    std::uint64_t bytes = 0;
    for (const std::uint64_t part : gathered(*group, std::uint64_t{archived(*path_events_).size()}))
      bytes += part;
    if (bytes > INT32_MAX) {  // more than processes gather at once
      o.notes.push_back(fmt::format(
          "no critical path: the processes have {} bytes of events (expected at most {}; trace.path_events "
          "limits them)",
          bytes, INT32_MAX));
      return;
    }
    add_others(*group, *path_events_,
               [this] { return analysis::path_events(run_.plan, run_.machine.config.trace.path_events); });
  }
  const sim_time cycle = timing::noc_clock(run_.machine.config).period;
  if (const auto path = analysis::critical_path(*path_events_, cycle)) {
    o.critical_path_json = critical_path_json(run_.names(), *path_events_, *path);
  } else {
    o.notes.emplace_back(
        "no critical path: the last launch had more events than trace.path_events, or messages arrived "
        "elsewhere than the install plan says");
  }
}

void run_observers::report_verdict(const host_side& hosts, netlist::pod& pod, process_group* group,
                                   run_outcome& o) const {
  if (judge_) judge_->report(hosts, pod, group, o);
}

void run_observers::report_rows(netlist::pod& pod, run_outcome& o) const {
  if (waits_)
    o.waits = wait_rows(run_.machine.config.shape(), run_.members.members, *waits_, hw::now(),
                        [&pod](sip_id sip) { return pod.has(sip); });
  if (steps_) {
    std::vector<step_row> rows = steps_->rows();
    std::erase_if(rows, [&](const step_row& r) { return !pod.has(run_.members.members[r.rank].sip); });
    o.steps = to_text(rows);
  }
}

void run_observers::close_files(process_group* group, run_outcome& o) {
  const std::size_t before = o.message.size();
  dram_->catch_up();
  if (vcd_) finish_waveform(*vcd_, o);
  const double window_from = run_.machine.config.trace.vcd_from_ns;
  if (vcd_ && window_from > hw::now().ns())
    o.notes.push_back(fmt::format(
        "--vcd-window begins at {} ns, after the run's end at {:.1f} ns: the waveform shows no change",
        window_from, hw::now().ns()));
  const bool merges = group == nullptr || group->self() == 0;
  if (timeline_ && !merges) finish_file(*timeline_, o);
  if (group != nullptr) {
    const std::vector<std::string> lost = group->gather(o.message.substr(before));
    for (std::uint32_t p = 0; p < group->count(); ++p) {
      if (p == group->self() || lost[p].empty()) continue;
      o.output_lost = true;
      if (!o.message.empty() && lost[p].front() != '\n') o.message += '\n';
      o.message += lost[p];
    }
  }
  if (!timeline_ || !merges) return;
  for (std::uint32_t p = 1; group != nullptr && p < group->count(); ++p)
    timeline_->append(part_of_file(run_.point.timeline, p));
  finish_file(*timeline_, o);
  if (timeline_->packets_end())
    o.notes.push_back(
        fmt::format("the timeline draws the first {} packets, those until {:.1f} ns; trace.timeline_packets "
                    "sets how many",
                    run_.machine.config.trace.timeline_packets, timeline_->packets_end()->ns()));
}

flight_dump::flight_dump(const prepared_run& run, events::hub& events) : run_(run) {
  const config::machine_config& c = run.machine.config;
  if (c.trace.flight_operations == 0) return;
  recorder_ = std::make_unique<observe::flight_recorder>(c.shape(), c.trace.flight_operations);
  const bool crc = c.comm.checksum != config::packet_checksum::none;
  events.attach(*recorder_, events::steps | events::messages | events::operations |
                                (crc ? unsigned{events::contents} : 0U));
}

void flight_dump::next_launch() {
  if (recorder_) recorder_->next_launch();
}

std::string flight_dump::text(netlist::pod& pod, const std::string& why, bool still,
                              analysis::line_history* lines, process_group* group) const {
  if (!recorder_) return {};
  const config::machine_config& c = run_.machine.config;
  if (group != nullptr)
    add_others(*group, *recorder_,
               [&c] { return observe::flight_recorder(c.shape(), c.trace.flight_operations); });
  return flight_json(run_.names(), *recorder_, machine_now(run_, pod, still, lines, group), hw::now(), why);
}

void flight_dump::look_for_request(netlist::pod& pod) const {
  if (!dump_requested()) return;
  if (!recorder_)
    return warn("a signal asks for the flight recorder, but trace.flight_operations is 0; the run continues");
  const std::string& file = run_.point.flight_file;
  std::string lost;
  try {
    write_whole_file(file, text(pod, "a signal asked for it", false, nullptr, nullptr));
  } catch (const output_error& e) {
    lost = e.what();
  }
  const std::string what = lost.empty() ? file + ": flight recorder written" : lost;
  warn(fmt::format("{} at {:.3f} us; the run continues", what, hw::now().ns() / 1e3));
}

}  // namespace diecast::platforms
