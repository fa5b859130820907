// SPDX-License-Identifier: Apache-2.0
// The mock machine with time: programs of hosts and kernels of PEs run on fibers with the firmware costs of
// the config; their messages cross the servers of models/timing/transfer_engine. No packets, no SystemC. With
// data, messages, copies and vector operations move and change bytes.
//
// The agenda is one queue of events in the order of their time: a fiber continues, a descriptor reaches the
// network interface, a transfer joins or leaves servers, a token, a credit or a copy is done.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/abi/launch.hpp"
#include "models/analysis/wait_for.hpp"
#include "models/types/immovable.hpp"
#include "sw/mock_machine/timed_dma.hpp"
#include "sw/mock_machine/timed_pe.hpp"

namespace diecast::sw {

class timed_host;

class timed_machine : immovable {
 public:
  /// The work of a PE for a launch.
  using firmware = std::function<void(abi::hal&, const abi::launch_block&)>;
  /// `firmware_of` is called once for each PE that a host launches on. The topology must outlive the machine.
  timed_machine(const fabric::topology& topology, const config::machine_config& c, bool data = false,
                std::function<firmware(pe_coord)> firmware_of = {});
  ~timed_machine();

  [[nodiscard]] abi::host_hal& host(sip_id sip);
  /// The program of a SIP's host begins at the present instant.
  void start_host(sip_id sip, std::function<void(abi::host_hal&)> program);
  /// Called by a host's program: it continues after wake_hosts(), and tests its condition again.
  void sleep_host();
  void wake_hosts();

  [[nodiscard]] timed_pe& pe(pe_coord at) { return *pes_.at(shape_.pe_index(at)); }
  [[nodiscard]] const timed_pe& pe(pe_coord at) const { return *pes_.at(shape_.pe_index(at)); }
  [[nodiscard]] const std::vector<std::unique_ptr<timed_pe>>& pes() const { return pes_; }
  [[nodiscard]] const timed_dma& dma() const { return dma_; }
  [[nodiscard]] sim_time now() const { return events_.now(); }
  /// Time of the next event; never() when there is none.
  [[nodiscard]] sim_time next() { return events_.next(); }
  /// The next event. Throws what firmware, hosts and engines throw. Precondition: there is one.
  void step();
  /// The last time at which anything but a poll for events happened, or a PE computed.
  [[nodiscard]] sim_time moved() const;
  /// Firmware that polls limits the wait of all others to `t`: step() returns by then.
  void look_at(sim_time t) { events_.look_at(t); }
  /// The waits of these PEs. `still`: nothing moves any more.
  [[nodiscard]] analysis::stopped_machine stopped(bool still, std::span<const pe_coord> members) const;

 private:
  friend class timed_host;
  using ready = std::function<void()>;
  void run_host(std::uint32_t sip);
  /// The work of a CPU that forwards packets one after the other; `then` when it is done with this one.
  void forward(const abi::node_address& cpu, std::uint64_t cycles, ready then);
  void launch(const abi::pe_launch& l);
  void arrive(const abi::pe_launch& l);

  const fabric::topology& topology_;
  config::machine_config config_;
  machine_shape shape_;
  clock_domain clock_;
  timing::event_queue events_;
  memory_map memory_;
  coroutine main_;
  std::vector<std::unique_ptr<timed_pe>> pes_;
  timed_dma dma_;
  std::function<firmware(pe_coord)> firmware_of_;
  std::map<abi::node_address, sim_time> busy_until_;  ///< by node of an IO or control CPU
  std::vector<std::unique_ptr<timed_host>> hosts_;
  timed_host* active_{};  ///< host whose program runs
  sim_time moved_;
};

// The host of one SIP of the timed mock machine. Its launches and register writes are packets from the IO CPU
// on, as in hw/host.

class timed_host final : public abi::host_hal {
 public:
  timed_host(sip_id self, timed_machine& machine) : self_(self), machine_(machine) {}

  void start(std::function<void(abi::host_hal&)> program);
  /// Runs until it waits or ends; rethrows what its program threw.
  void resume();
  /// Yields until the machine resumes it.
  void yield() { machine_.main_ = std::move(machine_.main_).resume(); }
  void wake();
  void sleep();
  /// A PE has reported the end of a launch.
  void completed(std::uint32_t launch_id);

  [[nodiscard]] sip_id self() const override { return self_; }
  [[nodiscard]] sim_time now() const override { return machine_.now(); }
  void debug_write(abi::address to, std::span<const std::byte> bytes) override;
  void debug_read(abi::address from, std::span<std::byte> bytes) override;
  void write_registers(std::span<const abi::pe_register_write> writes) override;
  void launch(std::span<const abi::pe_launch> launches) override;
  void wait_for_completions(std::uint32_t launch_id, std::uint32_t count) override;
  void wait_until(sim_time when) override;

 private:
  /// Part of the dispatch table after a PE's TCM; empty where the address is another one.
  [[nodiscard]] std::span<std::byte> dispatch_table_at(abi::address at, std::size_t bytes);

  sip_id self_;
  timed_machine& machine_;
  std::map<std::uint32_t, std::uint32_t> completions_;
  std::size_t unacknowledged_{};
  bool asleep_{};
  std::exception_ptr error_;
  coroutine fiber_;  ///< last: its stack refers to the rest
};

}  // namespace diecast::sw
