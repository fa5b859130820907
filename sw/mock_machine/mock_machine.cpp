// SPDX-License-Identifier: Apache-2.0
#include "sw/mock_machine/mock_machine.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

#include "models/analysis/barrier_checker.hpp"
#include "models/analysis/wait_for.hpp"
#include "models/types/ids.hpp"
#include "sw/host/collective.hpp"
#include "sw/mock_machine/mock_pe.hpp"

namespace diecast::sw {

using kind = candidate::kind;

struct mock_machine::impl {
  impl(const config::machine_config& c, const comm::install_plan& plan, const mock_options& o);

  [[nodiscard]] mock_pe& at(pe_coord pe);
  void start(pe_coord pe, std::function<void(abi::hal&)> firmware);
  mock_outcome proceed();
  void look_for_events(std::uint32_t pe);
  [[nodiscard]] bool stuck() const;
  [[nodiscard]] std::vector<analysis::watched_word> watched_words() const;
  [[nodiscard]] std::string describe_stop(std::uint64_t steps) const;

  class host_of_sip;

  config::machine_config config;
  machine_shape shape;
  config::population there;  ///< an engine of a PE that is left out rests for ever
  mock_options options;
  std::unique_ptr<scheduler> order;
  memory_map memory;
  coroutine main;
  std::uint64_t clock{};
  std::uint64_t changes{};
  analysis::line_history lines;
  agenda work;
  std::vector<std::unique_ptr<mock_pe>> pes;
  std::vector<std::unique_ptr<abi::host_hal>> hosts;
  bool dead{};  ///< deadlocked, or firmware or an engine threw
};

class mock_machine::impl::host_of_sip final : public abi::host_hal {
 public:
  host_of_sip(sip_id self, impl& machine) : self_(self), machine_(machine) {}

  [[nodiscard]] sip_id self() const override { return self_; }
  [[nodiscard]] sim_time now() const override { return femtoseconds(machine_.clock); }

  void debug_write(abi::address to, std::span<const std::byte> bytes) override {
    const auto where = own(to);
    if (where.kind != abi::region::pe_registers) {
      ++machine_.changes;
      return machine_.memory.write(to, bytes);
    }
    std::uint64_t value{};
    check_register_access(to, bytes.size());
    std::ranges::copy(bytes, std::as_writable_bytes(std::span{&value, 1}).begin());
    const auto reg = static_cast<abi::register_offset>(where.offset);
    pe_at(where).debug_write(reg, value);
  }

  void debug_read(abi::address from, std::span<std::byte> bytes) override {
    const auto where = own(from);
    if (where.kind != abi::region::pe_registers) return machine_.memory.read(from, bytes);
    check_register_access(from, bytes.size());
    const auto reg = static_cast<abi::register_offset>(where.offset);
    const std::uint64_t value = pe_at(where).debug_read(reg);
    std::copy_n(std::as_bytes(std::span{&value, 1}).begin(), sizeof value, bytes.begin());
  }

  void write_registers(std::span<const abi::pe_register_write> writes) override {
    for (const abi::pe_register_write& w : writes) debug_write_register(w.pe, w.reg, w.value);
  }

  void launch(std::span<const abi::pe_launch> launches) override {
    for (const abi::pe_launch& l : launches) {
      const kernel_entry& kernel = machine_.options.kernels.at(l.block.kernel);
      const runtime_options firmware = options_from(machine_.config, l.pe);
      machine_.start(l.pe, [this, &kernel, firmware, block = l.block](abi::hal& hal) {
        run_kernel(kernel, hal, block.arguments, firmware);
        ++completions_[block.launch_id];
      });
    }
  }

  void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) override {
    const mock_outcome outcome = machine_.proceed();
    if (completions_[launch_id] < count) {
      throw std::runtime_error(fmt::format("mock machine: {} of {} PEs of launch {} are done. {}",
                                           completions_[launch_id], count, launch_id, outcome.deadlock));
    }
  }

  void wait_until(sim_time when) override { machine_.clock = std::max(machine_.clock, when.fs); }

 private:
  [[nodiscard]] abi::location own(abi::address a) const {
    const auto where = abi::decode(a);
    if (!where || where->sip != self_) {
      throw std::out_of_range(
          fmt::format("host of sip{}: {} is not an address of this SIP", self_.value, abi::describe(a)));
    }
    return *where;
  }
  mock_pe& pe_at(const abi::location& where) {
    return machine_.at({where.sip, where.cube, pe_id{where.unit}});
  }
  static void check_register_access(abi::address a, std::size_t bytes) {
    if (bytes == sizeof(std::uint64_t)) return;
    throw std::out_of_range(
        fmt::format("register access of {} bytes at {}; expected 8", bytes, abi::describe(a)));
  }

  sip_id self_;
  impl& machine_;
  std::map<std::uint32_t, std::uint32_t> completions_;
};

mock_machine::impl::impl(const config::machine_config& c, const comm::install_plan& plan,
                         const mock_options& o)
    : config(c),
      shape(c.shape()),
      there(c),
      options(o),
      order(make_scheduler(o.order, o.seed, shape.pes())),
      memory(c),
      work({memory, shape, [this](std::uint32_t pe) -> protocol::ipcq_core& { return pes[pe]->core(); },
            [this](std::uint32_t pe) { pes[pe]->copy_done(); },
            [this](std::uint32_t pe) -> protocol::tag_core& { return pes[pe]->tag_unit(); }, plan.tree}) {
  const mock_board board{memory,
                         work,
                         main,
                         order->interrupts(),
                         c.pe.tcm_kib * 1024,
                         clock,
                         changes,
                         c.pe.cache_sets,
                         c.pe.cache_ways,
                         options.on_step,
                         options.on_note,
                         lines};
  for (std::uint32_t i = 0; i < shape.pes(); ++i) {
    const pe_coord pe = shape.pe_at(i);
    protocol::ipcq_core core{pe, c.ipcq};
    protocol::tag_core tag_unit{pe, static_cast<std::uint32_t>(c.tag_match.entries), c.noc.max_packet_bytes,
                                options.rule};
    pes.push_back(std::make_unique<mock_pe>(pe, i, std::move(core), std::move(tag_unit), board));
  }
  for (std::uint32_t s = 0; s < shape.sips; ++s)
    hosts.push_back(std::make_unique<host_of_sip>(sip_id{s}, *this));
}

mock_pe& mock_machine::impl::at(pe_coord pe) {
  if (!there.has(pe)) throw std::out_of_range(fmt::format("mock machine: no PE {}", owner_name(pe)));
  return *pes[shape.pe_index(pe)];
}

void mock_machine::impl::start(pe_coord pe, std::function<void(abi::hal&)> firmware) {
  mock_pe& target = at(pe);
  if (dead || target.status() != mock_pe::state::idle) {
    throw std::logic_error(fmt::format("mock machine: {} cannot start a kernel: {}", pe_path(shape, pe),
                                       dead ? "the machine has stopped" : "it still runs one"));
  }
  target.start(config.sim.firmware_stack_kib * 1024, std::move(firmware));
  work.add_run(shape.pe_index(pe), false);
}

bool mock_machine::impl::stuck() const {
  return std::ranges::all_of(work.candidates(), [this](const candidate& c) {
    if (c.what != kind::run || !c.polling) return false;
    const mock_pe& pe = *pes[c.pe];
    return pe.watched() ? pe.polled_unchanged() : !pe.poll_holds();
  });
}

mock_outcome mock_machine::impl::proceed() {
  std::uint64_t steps = 0;
  dead = true;  // unless this ends well
  while (!stuck() && steps < options.max_steps) {
    const candidate next = work.take(order->pick(work.candidates()));
    ++steps;
    ++clock;
    if (next.what != kind::run) {
      ++changes;
      look_for_events(work.perform(next));
      continue;
    }
    mock_pe& pe = *pes[next.pe];
    pe.resume();
    if (pe.status() == mock_pe::state::ready)
      work.add_run(next.pe, pe.polling() && !pe.core().event_pending());
  }
  const bool finished =
      std::ranges::all_of(pes, [](const auto& pe) { return pe->status() == mock_pe::state::idle; });
  dead = !finished;
  return {finished, finished ? std::string{} : describe_stop(steps), steps};
}

void mock_machine::impl::look_for_events(std::uint32_t index) {
  mock_pe& pe = *pes[index];
  if (!pe.core().event_pending()) return;
  if (pe.status() == mock_pe::state::asleep) {
    pe.wake();
    work.add_run(index, false);
  } else {
    work.revive(index);
  }
}

std::vector<analysis::watched_word> mock_machine::impl::watched_words() const {
  std::vector<analysis::watched_word> words;
  for (const auto& pe : pes) {
    if (pe->status() == mock_pe::state::idle || !pe->watched()) continue;
    const abi::signal_watch& wanted = *pe->watched();
    analysis::watched_word w{pe->self(), wanted, analysis::word_in(pe->cache(), wanted.at),
                             0,          {},     lines.of(wanted.at)};
    memory.read(wanted.at, std::as_writable_bytes(std::span{&w.memory, 1}));
    if (shape.contains(wanted.expected_writer)) {
      const mock_pe& writer = *pes[shape.pe_index(wanted.expected_writer)];
      w.writer = analysis::word_in(writer.cache(), wanted.at);
      if (writer.status() != mock_pe::state::idle && writer.watched()) w.writer_waits = *writer.watched();
    }
    words.push_back(std::move(w));
  }
  return words;
}

std::string mock_machine::impl::describe_stop(std::uint64_t steps) const {
  analysis::stopped_machine stopped{{}, {}, true, {}, watched_words()};
  std::size_t unfinished = 0;
  for (const auto& pe : pes) {
    const bool idle = pe->status() == mock_pe::state::idle;
    if (!idle) ++unfinished;
    const auto state = idle                                     ? events::core_state::done
                       : pe->status() == mock_pe::state::asleep ? events::core_state::asleep
                                                                : events::core_state::running;
    stopped.pes.push_back({pe->self(), state, pe->core().queue_pairs(), pe->tasks(), false, pe->polled(),
                           pe->watched(), pe->awaiting()});
  }
  const std::string why =
      stuck() ? fmt::format("deadlock: {} PEs have not finished and nothing can move", unfinished)
              : fmt::format(
                    "livelock: {} PEs have not finished after {} decisions of the "
                    "scheduler, and something can still move",
                    unfinished, steps);
  return fmt::format("{}\n{}{}", why, analysis::explain_words(shape, stopped.words),
                     analysis::explain_waits(shape, stopped).text);
}

mock_machine::mock_machine(const config::machine_config& config, const comm::install_plan& plan,
                           const mock_options& options)
    : impl_(std::make_unique<impl>(config, plan, options)) {
  for (const auto& host : impl_->hosts) install(*host, plan);
}

mock_machine::~mock_machine() = default;

mock_outcome mock_machine::run(const kernel_entry& kernel, const comm::group& members,
                               std::span<const abi::kernel_arguments> arguments) {
  if (arguments.size() != members.members.size()) {
    throw std::invalid_argument(fmt::format("mock machine: arguments for {} of {} members", arguments.size(),
                                            members.members.size()));
  }
  std::vector<mock_program> programs;
  for (std::size_t rank = 0; rank < arguments.size(); ++rank) {
    const pe_coord pe = members.members[rank];
    programs.push_back({pe, [&kernel, a = arguments[rank], o = firmware_options(pe)](abi::hal& hal) {
                          run_kernel(kernel, hal, a, o);
                        }});
  }
  return run(programs);
}

mock_outcome mock_machine::run(const std::vector<mock_program>& programs) {
  for (const mock_program& p : programs) impl_->start(p.pe, p.run);
  return impl_->proceed();
}

void mock_machine::write_tcm(pe_coord pe, std::uint64_t offset, std::span<const std::byte> bytes) {
  sw::write_tcm(host(pe.sip), pe, offset, bytes);
}

void mock_machine::read_tcm(pe_coord pe, std::uint64_t offset, std::span<std::byte> bytes) const {
  impl_->memory.read(abi::encode({pe.sip, pe.cube, abi::region::tcm, pe.pe.value, offset}), bytes);
}

const protocol::ipcq_core& mock_machine::engine(pe_coord pe) const { return impl_->at(pe).core(); }

std::uint64_t mock_machine::counted(abi::firmware_count what) const {
  std::uint64_t sum = 0;
  for (const auto& pe : impl_->pes) sum += pe->counted(what);
  return sum;
}

bool mock_machine::idle(pe_coord pe) const { return impl_->at(pe).status() == mock_pe::state::idle; }

abi::host_hal& mock_machine::host(sip_id sip) { return *impl_->hosts.at(sip.value); }

runtime_options mock_machine::firmware_options(pe_coord pe) const { return options_from(impl_->config, pe); }

}  // namespace diecast::sw
