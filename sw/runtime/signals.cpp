// SPDX-License-Identifier: Apache-2.0
#include "sw/runtime/signals.hpp"

#include <span>

namespace diecast::sw {

using abi::erratum;
using abi::firmware_count;

void signal_port::set(abi::address at, std::uint64_t value) {
  hal_.store_global(at, std::as_bytes(std::span{&value, 1}));
  if (errata_.has(erratum::set_without_dcci)) return hal_.count(firmware_count::unflushed_signals, 1);
  hal_.dcci_line(at);
}

std::uint64_t signal_port::add(abi::address at, std::uint64_t value) { return hal_.add_at_memory(at, value); }

std::uint64_t signal_port::load(abi::address at) {
  std::uint64_t word = 0;
  hal_.dcci_line(at);
  hal_.load_global(at, std::as_writable_bytes(std::span{&word, 1}));
  return word;
}

void signal_port::wait(const abi::signal_watch& wanted) {
  hal_.watch(wanted);
  for (;;) {
    std::uint64_t word = 0;
    if (errata_.has(erratum::wait_without_dcci)) {
      hal_.count(firmware_count::stale_looks, 1);
    } else {
      hal_.dcci_line(wanted.at);
    }
    hal_.load_global(wanted.at, std::as_writable_bytes(std::span{&word, 1}));
    hal_.count(firmware_count::polls, 1);
    if (wanted.satisfied_by(word)) break;
    idle_(wanted);
  }
  hal_.watch({});
}

void signal_port::wait_until(abi::address at, abi::compare how, std::uint32_t value, pe_coord writer) {
  wait({at, how, value, false, writer});
}

void signal_port::wait_for_barrier(abi::address at, std::uint32_t count, pe_coord writer, bool among_ranks) {
  if (errata_.has(erratum::exact_count)) hal_.count(firmware_count::exact_waits, 1);
  wait({at, abi::compare::eq, count, !errata_.has(erratum::exact_count), writer, among_ranks});
}

void signal_port::quiet() {
  hal_.dcci_all();
  hal_.pipe_barrier();
}

}  // namespace diecast::sw
