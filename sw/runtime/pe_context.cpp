// SPDX-License-Identifier: Apache-2.0
// The context itself, tasks, and the end of a kernel. Calls that move data are in pe_context_*.cpp, by
// subject.
#include "sw/runtime/pe_context.hpp"

#include <fmt/format.h>

#include "sw/runtime/firmware_trap.hpp"
#include "sw/runtime/pe_context_impl.hpp"

namespace diecast::sw {

comm::direction pe_context::impl::queue_pair(comm::direction dir) const {
  if (map.empty()) return dir;
  if (dir < map.size() && map[dir] != comm::no_direction) return map[dir];
  throw firmware_trap(hal.self(),
                      fmt::format("the kernel uses direction {}, in which its pattern has no edge "
                                  "here",
                                  comm::direction_name(dir)));
}

pe_context::pe_context(abi::hal& hal, const abi::kernel_arguments& arguments, const runtime_options& options)
    : impl_(std::make_unique<impl>(std::make_unique<pe_runtime>(hal, options), arguments)) {}
pe_context::pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, direction_map queue_pairs)
    : impl_(std::make_unique<impl>(runtime, arguments, std::move(queue_pairs))) {}
pe_context::pe_context(pe_runtime& runtime, const abi::kernel_arguments& arguments, const kernel_tail* before,
                       kernel_tail& own)
    : pe_context(runtime, arguments, {}) {
  impl_->before = before;
  impl_->tail = &own;
}
pe_context::~pe_context() = default;

void pe_context::impl::wait_for_before() {
  if (before != nullptr && !before->ended()) tasks.block([this] { return before->ended(); });
}
queue_state& pe_context::impl::tx(comm::direction dir) {
  wait_for_before();
  return driver.tx(queue_pair(dir));
}
queue_state& pe_context::impl::rx(comm::direction dir) {
  wait_for_before();
  return driver.rx(queue_pair(dir));
}

const abi::kernel_arguments& pe_context::args() const { return impl_->args; }
abi::hal& pe_context::hal() { return impl_->hal; }
void pe_context::enter(abi::entry_point e) { impl_->runtime.enter(e); }
std::uint32_t pe_context::slot_bytes(comm::direction dir) { return impl_->queue(dir).slot_bytes; }
std::uint32_t pe_context::n_slots(comm::direction dir) { return impl_->queue(dir).n_slots; }

// --- tasks --------------------------------------------------------------------------------------

void pe_context::step(std::string_view name, std::uint32_t index) { impl_->hal.mark_step({name, index}); }

void pe_context::run_tasks(const std::vector<std::function<void()>>& tasks) { impl_->tasks.run(tasks); }

void pe_context::sleep_until(sim_time when) { impl_->tasks.sleep_until(when); }

void pe_context::wait_until(const std::function<bool()>& ready) {
  if (ready()) return;
  if (!impl_->tasks.running()) {
    throw firmware_trap(impl_->hal.self(), "wait_until outside run_tasks: no other task can make it true");
  }
  impl_->tasks.block(ready);
}

// --- the end ------------------------------------------------------------------------------------

void pe_context::check_ended() const {
  for (const auto& [dir, receives] : impl_->posted) {
    const std::size_t open = receives.open.size() + receives.done.size();
    if (open == 0) continue;
    throw firmware_trap(impl_->hal.self(),
                        fmt::format("the kernel ends with {} recv_async of queue pair {} open; expected a "
                                    "wait() for each",
                                    open, comm::queue_pair_mark(impl_->hal.self(), impl_->queue_pair(dir))));
  }
  if (impl_->open_left_copies > 0) {
    throw firmware_trap(
        impl_->hal.self(),
        fmt::format("the kernel ends with {} left_copies open, whose slots may not be copied yet "
                    "or keep their credits; expected a finish() for each",
                    impl_->open_left_copies));
  }
}

void pe_context::finish() {
  check_ended();
  if (impl_->map.empty()) return impl_->driver.finish();
  for (const comm::direction queue_pair : impl_->map) {
    if (queue_pair != comm::no_direction) impl_->driver.wait_sources(queue_pair);
  }
  impl_->driver.drain();
}

}  // namespace diecast::sw
