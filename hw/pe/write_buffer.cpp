// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hw/pe/pe_faults.hpp"

namespace diecast::hw {

write_buffer::write_buffer(sc_core::sc_module_name name, const config::fault_setting& f, writer write)
    : sc_module(name), fault_(f), write_(std::move(write)) {}

bool write_buffer::takes(std::uint64_t offset, std::vector<std::byte>& bytes) {
  if (!strikes(fault_, results_++)) return false;
  ++met_;
  waiting_.push_back({now() + nanoseconds(fault_.delay_ns), offset, std::move(bytes)});
  if (waiting_.size() == 1) set_timer();
  return true;
}

void write_buffer::meet(std::uint64_t offset, std::uint64_t bytes) {
  const auto drained = std::erase_if(waiting_, [&](const entry& e) {
    if (offset >= e.offset + e.bytes.size() || e.offset >= offset + bytes) return false;
    write_(e.offset, e.bytes);
    return true;
  });
  if (drained > 0) set_timer();
}

void write_buffer::flush() {
  for (const entry& e : waiting_) write_(e.offset, e.bytes);
  waiting_.clear();
  set_timer();
}

void write_buffer::drain_due() {
  while (!waiting_.empty() && waiting_.front().due <= now()) {
    write_(waiting_.front().offset, waiting_.front().bytes);
    waiting_.pop_front();
  }
  set_timer();
}

/// The timer runs only for the oldest write: a timer without writes would hide a deadlock.
void write_buffer::set_timer() {
  due_.clear();
  if (!waiting_.empty()) due_.set(waiting_.front().due);
}

}  // namespace diecast::hw
