// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/kernel.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <string_view>
#include <sys/resource.h>

namespace diecast::platforms {
namespace {

void on_report(const sc_core::sc_report& report, const sc_core::sc_actions&) {
  // A pause in the first delta cycle looks to the kernel as if the call had done nothing.
  if (report.get_msg_type() == std::string_view(sc_core::SC_ID_NO_SC_START_ACTIVITY_)) return;
  if (report.get_severity() >= sc_core::SC_WARNING) throw report;
}

}  // namespace

void prepare_kernel() {
  hw::set_time_resolution();
  sc_core::sc_report_handler::set_handler(on_report);
}

sim_time next_look(const config::sim_block& sim, sim_time next) {
  const std::uint64_t slice = picoseconds(sim.slice_us * 1'000'000).fs;
  return {(next.fs / slice + 1) * slice};
}

end_of_run run_slices(const config::sim_block& sim, const std::function<bool()>& finished,
                      const hw::fault_sink& faults, const std::function<bool()>& stuck,
                      const std::function<void()>& between) {
  const sc_core::sc_time limit(static_cast<double>(sim.limit_ms), sc_core::SC_MS);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // the first deltas: until then nothing is pending
  for (;;) {
    if (faults.fault()) return end_of_run::fault;
    if (!sc_core::sc_pending_activity()) return finished() ? end_of_run::finished : end_of_run::starved;
    if (interrupt_signal() != 0) return end_of_run::interrupted;
    if (sc_core::sc_time_stamp() >= limit) return end_of_run::limit;
    if (stuck()) return end_of_run::watchdog;
    const sc_core::sc_time left = limit - sc_core::sc_time_stamp();
    const sc_core::sc_time next = sc_core::sc_time_to_pending_activity();
    if (next > left) {
      sc_core::sc_start(left, sc_core::SC_RUN_TO_TIME);  // nothing happens until then
      continue;
    }
    const sim_time look = next_look(sim, hw::now() + sim_time{next.value()});
    const sc_core::sc_time end = std::min(hw::to_sc(look), limit);
    sc_core::sc_start(end - sc_core::sc_time_stamp(), sc_core::SC_EXIT_ON_STARVATION);
    // What is found between slices is found at their end, as by several processes.
    if (sc_core::sc_pending_activity() && sc_core::sc_time_stamp() < end && !faults.fault())
      sc_core::sc_start(end - sc_core::sc_time_stamp(), sc_core::SC_RUN_TO_TIME);
    between();
  }
}

fault_text explain(end_of_run end, const config::sim_block& sim, const hw::fault_sink& faults,
                   const std::string& left) {
  switch (end) {
    case end_of_run::finished: break;
    case end_of_run::fault: return explain(faults.fault());
    case end_of_run::starved: return {run_status::deadlock, fmt::format("no event is left and {}", left)};
    case end_of_run::interrupted:
      return {run_status::interrupted,
              fmt::format("interrupted at {:.3f} us: {}", hw::now().ns() / 1e3, left)};
    case end_of_run::watchdog:  // traffic does not poll: only a limit ends a study whose events go on
    case end_of_run::limit:
      return {run_status::limit, fmt::format("the run has reached sim.limit_ms = {}; {}; a higher limit "
                                             "continues the run",
                                             sim.limit_ms, left)};
  }
  return {run_status::ok, {}};
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

constexpr std::uint64_t mappings_per_thread = 2;
/// Libraries, the heap and its large blocks.
constexpr std::uint64_t other_mappings = 1024;

std::optional<std::uint64_t> permitted_mappings() {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::uint64_t count = 0;
  if (!(file >> count)) return std::nullopt;
  return count;
}

std::optional<problem> find_lack_of_stacks(std::uint64_t pes, std::uint64_t hosts,
                                           std::optional<std::uint64_t> permitted) {
  const std::uint64_t threads = pes + hosts;
  const std::uint64_t needed = mappings_per_thread * threads + other_mappings;
  if (!permitted || needed <= *permitted) return std::nullopt;
  return problem{
      "vm.max_map_count",
      fmt::format("this system permits a process too few memory mappings for the stacks of {} PEs and "
                  "{} hosts",
                  pes, hosts),
      fmt::format("{}", *permitted), fmt::format("{} (sysctl -w vm.max_map_count={})", needed, needed)};
}

void check_stacks(std::uint64_t pes, std::uint64_t hosts) {
  if (auto lack = find_lack_of_stacks(pes, hosts, permitted_mappings())) throw user_error(std::move(*lack));
}

}  // namespace diecast::platforms
