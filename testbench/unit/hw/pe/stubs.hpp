// SPDX-License-Identifier: Apache-2.0
// What the benches of a PE's blocks have in common: a script that acts at given instants, blocks that
// record what they are told, and an observer of when packets leave.
#pragma once

#include <functional>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "hw/base/pe_interfaces.hpp"
#include "hw/base/timed_queue.hpp"
#include "hw/mem/tcm_if.hpp"
#include "models/abi/dispatch_table.hpp"
#include "models/config/machine_config.hpp"
#include "models/events/events.hpp"
#include "models/fabric/topology.hpp"
#include "support/faults.hpp"

namespace diecast::test {

/// One cube of 2 x 2 routers at 1 GHz, so that a nanosecond is a cycle.
inline config::machine_config one_cube(std::uint64_t pes) {
  config::machine_config c;
  c.pod.sips = 1;
  c.sip.columns = 1;
  c.sip.rows = 1;
  c.noc.columns = 2;
  c.noc.rows = 2;
  c.cube.pes = pes;
  c.hbm.ports = 1;
  return c;
}

inline abi::address pe_address(abi::region kind, std::uint32_t pe, std::uint64_t offset) {
  return abi::encode({sip_id{0}, cube_id{0}, kind, pe, offset});
}

/// Runs actions at absolute times, those of one instant in the order they were given.
class script : public sc_core::sc_module {
 public:
  explicit script(const sc_core::sc_module_name& name) : sc_module(name) {}
  void at(double ns, std::function<void()> action) {
    plan_.put(nanoseconds(ns), actions_.size());
    actions_.push_back(std::move(action));
  }

 private:
  SC_HAS_PROCESS(script);
  void act() {
    for (std::uint64_t index = 0; plan_.take(index);) actions_[index]();
  }
  hw::calendar plan_{*this, [this] { act(); }};
  std::vector<std::function<void()>> actions_;
};

/// A memory that takes as long as the bench wants, and remembers what it was asked.
class stub_tcm : public sc_core::sc_module, public hw::tcm_if {
 public:
  explicit stub_tcm(const sc_core::sc_module_name& name) : sc_module(name), memory(1U << 20U) {}
  struct served {
    double at_ns{};
    double finish_ns{};
    hw::tcm_port port{};
    std::uint64_t offset{};
    std::uint64_t bytes{};
  };
  std::vector<std::byte> memory;
  std::vector<served> log;
  /// Cycles from arbitration to the end of an access.
  std::function<std::uint64_t(const hw::tcm_request&)> cycles = [](const hw::tcm_request&) { return 10; };

  void request(const hw::tcm_request& r, sim_time at) override {
    due_.put(at, posted_.size());
    posted_.push_back(r);
  }
  void read_operand(std::uint64_t, std::span<std::byte>) override {}
  [[nodiscard]] std::uint64_t dispatch_word(unsigned index) const override {
    return abi::loaded_table().at(index);
  }
  void debug_read(std::uint64_t, std::span<std::byte>) override {}
  void debug_write(std::uint64_t, std::span<const std::byte>) override {}
  [[nodiscard]] std::vector<served> of(hw::tcm_port port) const {
    std::vector<served> some;
    for (const served& s : log)
      if (s.port == port) some.push_back(s);
    return some;
  }

 private:
  SC_HAS_PROCESS(stub_tcm);
  void act() {
    for (std::uint64_t index = 0; due_.take(index);) {
      const hw::tcm_request r = posted_[index];
      const auto here = memory.begin() + static_cast<std::ptrdiff_t>(r.offset);
      if (r.data != nullptr && r.write) std::copy_n(r.data, r.bytes, here);
      if (r.data != nullptr && !r.write) std::copy_n(here, r.bytes, r.data);
      const sim_time finish = hw::now() + nanoseconds(static_cast<double>(cycles(r)));
      log.push_back({hw::now().ns(), finish.ns(), r.port, r.offset, r.bytes});
      r.client->tcm_done(r.tag, finish);
    }
  }
  hw::calendar due_{*this, [this] { act(); }};
  std::vector<hw::tcm_request> posted_;
};

/// In place of the IPCQ engine and the core behind a DMA engine.
class stub_listener : public sc_core::sc_module, public hw::ipcq_if, public hw::launch_if {
 public:
  explicit stub_listener(const sc_core::sc_module_name& name) : sc_module(name) {}
  using word_at = std::pair<double, std::uint32_t>;
  using fields_at = std::pair<double, abi::ipcq_fields>;
  std::vector<word_at> sources_read, copies;
  std::vector<fields_at> messages, credits;

  void source_read(std::uint16_t qp) override { sources_read.emplace_back(hw::now().ns(), qp); }
  void message_arrived(const abi::ipcq_fields& f) override { messages.emplace_back(hw::now().ns(), f); }
  void credit_arrived(const abi::ipcq_fields& f) override { credits.emplace_back(hw::now().ns(), f); }
  void copies_done(std::uint32_t count) override { copies.emplace_back(hw::now().ns(), count); }
  void register_written(abi::register_offset, std::uint64_t) override {}
  void launch(const hw::packet_ptr&) override {}
  void access_done(std::uint32_t, std::span<const std::byte>) override {}
};

/// In place of the DMA engine behind an IPCQ engine.
class stub_dma : public sc_core::sc_module, public hw::dma_if {
 public:
  explicit stub_dma(const sc_core::sc_module_name& name) : sc_module(name) {}
  std::vector<std::pair<double, protocol::send_request>> messages;
  std::vector<std::pair<double, protocol::credit_request>> credits;
  std::vector<std::pair<double, hw::copy_request>> copies;

  void send_message(const protocol::send_request& m) override { messages.emplace_back(hw::now().ns(), m); }
  void send_credit(const protocol::credit_request& c) override { credits.emplace_back(hw::now().ns(), c); }
  void start_copy(const hw::copy_request& c) override { copies.emplace_back(hw::now().ns(), c); }
  void start_access(hw::core_access) override {}
  void send_launch_done(std::uint32_t) override {}
};

/// When packets enter the NoC at one terminal.
class departures : public events::observer {
 public:
  departures(const fabric::topology& t, abi::node_address at) {
    for (std::uint32_t l = 0; l < t.links().size(); ++l) {
      const fabric::link& link = t.links()[l];
      if (link.kind == fabric::link_kind::inject && link.sip == at.sip && link.cube == at.cube &&
          link.from == at.terminal)
        link_ = l;
    }
  }
  struct departure {
    double ns{};
    std::uint32_t flits{};
    bool operator==(const departure&) const = default;
  };
  std::vector<departure> seen;

  using events::observer::on;
  void on(const events::link_occupied& e) override {
    if (e.link == link_) seen.push_back({e.head.ns(), e.flits});
  }

 private:
  std::uint32_t link_{UINT32_MAX};
};

}  // namespace diecast::test
