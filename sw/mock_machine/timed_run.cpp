// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_run.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "sw/mock_machine/timed_machine.hpp"
#include "sw/runtime/options.hpp"

namespace diecast::sw {

std::string not_estimated(const comm::install_plan& plan, const kernel_entry& kernel) {
  if (plan.tree) return "trees in the network";
  if (kernel.collective == "barrier") return "barriers";
  return "";
}

namespace {

/// With a queue pair for every direction: in a workload those of an op may have higher numbers than a PE has.
config::machine_config with_queue_pairs(config::machine_config c, const comm::install_plan& plan) {
  for (const comm::queue_pair_install& q : plan.queue_pairs)
    c.ipcq.queue_pairs = std::max<std::uint64_t>(c.ipcq.queue_pairs, q.dir + 1U);
  return c;
}

}  // namespace

struct timed_run::state {
  timed_machine machine;
  machine_shape shape;
  std::vector<pe_coord> members;
};

timed_run::timed_run(const fabric::topology& topology, const comm::install_plan& plan,
                     const kernel_entry& kernel, const argument_context& launch)
    : state_(new state{
          {topology, with_queue_pairs(launch.config, plan)}, launch.config.shape(), launch.members.members}) {
  const auto& members = launch.members.members;
  std::vector<abi::kernel_arguments> arguments;
  for (std::uint32_t r = 0; r < members.size(); ++r) arguments.push_back(make_arguments(kernel, launch, r));
  for (std::uint32_t s = 0; s < state_->shape.sips; ++s) {
    install(state_->machine.host(sip_id{s}), plan);
    load_images(state_->machine.host(sip_id{s}), kernel, launch, arguments);
  }
  for (std::uint32_t r = 0; r < members.size(); ++r) {
    const auto run = [&kernel, a = arguments[r], o = options_from(launch.config, members[r])](abi::hal& hal) {
      run_kernel(kernel, hal, a, o);
    };
    state_->machine.pe(members[r]).launch({}, run);
  }
}

timed_run::~timed_run() = default;

timed_outcome timed_run::go(const timed_limits& limits) {
  timed_machine& machine = state_->machine;
  timed_outcome o;
  for (; machine.next() < limits.until && o.events < limits.events; ++o.events) machine.step();
  o.finished = std::ranges::all_of(machine.pes(), [](const auto& pe) { return pe->idle(); });
  o.limited = !o.finished && machine.next() != sim_time::never();
  if (!o.finished)
    o.why_not = o.limited
                    ? fmt::format("not done at {} ns", machine.now().ns())
                    : analysis::explain_waits(state_->shape, machine.stopped(true, state_->members)).text;
  for (const auto& pe : machine.pes()) o.time_ns = std::max(o.time_ns, pe->ended().ns());
  if (o.limited) o.time_ns = machine.now().ns();
  o.messages = machine.dma().messages();
  o.bytes = machine.dma().message_bytes();
  o.packet_hops = machine.dma().packet_hops();
  return o;
}

timed_outcome run_timed(const fabric::topology& topology, const comm::install_plan& plan,
                        const kernel_entry& kernel, const argument_context& launch,
                        const timed_limits& limits) {
  return timed_run(topology, plan, kernel, launch).go(limits);
}

}  // namespace diecast::sw
