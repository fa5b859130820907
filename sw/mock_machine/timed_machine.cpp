// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/timed_machine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "models/analysis/wait_for.hpp"
#include "sw/mock_machine/timed_dma.hpp"
#include "sw/runtime/options.hpp"

namespace diecast::sw {

struct timed_machine {
  timed_machine(const fabric::topology& topology, const config::machine_config& c);
  void start(const kernel_entry& kernel, const argument_context& launch);
  [[nodiscard]] std::string who_waits() const;

  config::machine_config config;
  machine_shape shape;
  timing::event_queue events;
  memory_map memory;
  coroutine main;
  std::vector<std::unique_ptr<timed_pe>> pes;
  timed_dma dma;
};

/// Installs and loads images; launches are the machine's own affair.
class timed_host final : public abi::host_hal {
 public:
  timed_host(sip_id self, timed_machine& m) : self_(self), machine_(m) {}
  [[nodiscard]] sip_id self() const override { return self_; }
  [[nodiscard]] sim_time now() const override { return machine_.events.now(); }
  void debug_write(abi::address to, std::span<const std::byte> bytes) override {
    const auto where = abi::decode(to);
    if (!where || where->kind != abi::region::pe_registers) return machine_.memory.write(to, bytes);
    std::uint64_t value{};
    std::copy_n(bytes.begin(), sizeof value, std::as_writable_bytes(std::span{&value, 1}).begin());
    const std::uint32_t pe = machine_.shape.pe_index({where->sip, where->cube, pe_id{where->unit}});
    machine_.pes[pe]->debug_write(static_cast<abi::register_offset>(where->offset), value);
  }
  void debug_read(abi::address from, std::span<std::byte> bytes) override {
    machine_.memory.read(from, bytes);
  }
  void write_registers(std::span<const abi::pe_register_write> writes) override {
    for (const abi::pe_register_write& w : writes) debug_write_register(w.pe, w.reg, w.value);
  }
  void launch(std::span<const abi::pe_launch>) override { refuse(); }
  void wait_for_completions(std::uint32_t, std::uint32_t) override { refuse(); }
  void wait_until(sim_time) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("timed mock machine: its host launches nothing");
  }
  sip_id self_;
  timed_machine& machine_;
};

timed_machine::timed_machine(const fabric::topology& topology, const config::machine_config& c)
    : config(c), shape(config.shape()), memory(config), dma(topology, config, events, 0, pes) {
  for (std::uint32_t i = 0; i < shape.pes(); ++i) {
    pes.push_back(
        std::make_unique<timed_pe>(shape.pe_at(i), i, timed_pe::setup{config, dma, events, memory, main}));
  }
}

void timed_machine::start(const kernel_entry& kernel, const argument_context& launch) {
  const auto& members = launch.members.members;
  std::vector<abi::kernel_arguments> arguments;
  for (std::uint32_t r = 0; r < members.size(); ++r) arguments.push_back(make_arguments(kernel, launch, r));
  for (std::uint32_t s = 0; s < shape.sips; ++s) {
    timed_host host{sip_id{s}, *this};
    load_images(host, kernel, launch, arguments);
  }
  for (std::uint32_t r = 0; r < members.size(); ++r) {
    pes[shape.pe_index(members[r])]->launch(
        {}, [&kernel, a = arguments[r], o = options_from(config, members[r])](abi::hal& hal) {
          run_kernel(kernel, hal, a, o);
        });
  }
}

std::string timed_machine::who_waits() const {
  analysis::stopped_machine stopped;
  for (const auto& pe : pes) {
    const auto state = pe->idle() ? events::core_state::done : events::core_state::asleep;
    stopped.pes.push_back({pe->self(), state, pe->core().queue_pairs(), pe->tasks(), false, {}, {}, {}});
  }
  return analysis::explain_waits(shape, std::move(stopped)).text;
}

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
};

timed_run::timed_run(const fabric::topology& topology, const comm::install_plan& plan,
                     const kernel_entry& kernel, const argument_context& launch)
    : state_(new state{{topology, with_queue_pairs(launch.config, plan)}}) {
  timed_machine& machine = state_->machine;
  for (std::uint32_t s = 0; s < machine.shape.sips; ++s) {
    timed_host host{sip_id{s}, machine};
    install(host, plan);
  }
  machine.start(kernel, launch);
}

timed_run::~timed_run() = default;

timed_outcome timed_run::go(const timed_limits& limits) {
  timed_machine& machine = state_->machine;
  timed_outcome o;
  for (; machine.events.next() < limits.until && o.events < limits.events; ++o.events)
    machine.dma.handle(machine.events.take());
  o.finished = std::all_of(machine.pes.begin(), machine.pes.end(), [](const auto& pe) { return pe->idle(); });
  o.limited = !o.finished && !machine.events.empty();
  if (!o.finished)
    o.why_not = o.limited ? fmt::format("not done at {} ns", machine.events.now().ns()) : machine.who_waits();
  for (const auto& pe : machine.pes) o.time_ns = std::max(o.time_ns, pe->ended().ns());
  if (o.limited) o.time_ns = machine.events.now().ns();
  o.messages = machine.dma.messages();
  o.bytes = machine.dma.message_bytes();
  o.packet_hops = machine.dma.packet_hops();
  return o;
}

timed_outcome run_timed(const fabric::topology& topology, const comm::install_plan& plan,
                        const kernel_entry& kernel, const argument_context& launch,
                        const timed_limits& limits) {
  return timed_run(topology, plan, kernel, launch).go(limits);
}

}  // namespace diecast::sw
