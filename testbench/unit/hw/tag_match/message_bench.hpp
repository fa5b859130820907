// SPDX-License-Identifier: Apache-2.0
// PEs of a mock machine that exchange tag-matched messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/comm/install_plan.hpp"
#include "support/message_program.hpp"
#include "sw/mock_machine/mock_machine.hpp"

namespace diecast::test {

/// Where messaging's own memory begins in the tests; programs use what is below.
inline constexpr std::uint64_t messaging_base = 512 * 1024;

inline config::machine_config message_machine(std::uint64_t pes, std::uint64_t entries) {
  config::machine_config c;
  c.pod.sips = 1;
  c.sip.columns = c.sip.rows = 1;
  c.cube.pes = pes;
  c.tag_match.entries = entries;
  c.tag_match.eager_bytes = 64;
  c.tag_match.rndv_max_bytes = 160;
  c.tag_match.ring_messages = 2;
  c.tag_match.heap_kib = 16;
  return c;
}

class message_bench {
 public:
  using code = std::function<void(sw::messaging&, sw::pe_runtime&)>;

  explicit message_bench(const config::machine_config& c, const sw::mock_options& options = {})
      : world{0, members_of(c)}, config(c), order(options.order), machine_(c, plan_of(c), options) {}

  /// What a rank runs; it ends with finish().
  void on(std::uint32_t rank, code run) {
    const pe_coord pe = world.members.at(rank);
    const sw::runtime_options options = machine_.firmware_options(pe);
    programs_.push_back({pe, [options, run = std::move(run)](abi::hal& hal) {
                           sw::pe_runtime runtime{hal, options};
                           sw::messaging& m = sw::messaging_of(runtime);
                           run(m, runtime);
                           m.finish();
                         }});
  }
  sw::mock_outcome run() {
    const auto programs = std::exchange(programs_, {});
    return machine_.run(programs);
  }

  void put(std::uint32_t rank, std::uint64_t offset, const std::string& text) {
    machine_.write_tcm(world.members.at(rank), offset, std::as_bytes(std::span{text}));
  }
  [[nodiscard]] std::string get(std::uint32_t rank, std::uint64_t offset, std::size_t bytes) const {
    std::string text(bytes, '?');
    machine_.read_tcm(world.members.at(rank), offset, std::as_writable_bytes(std::span{text}));
    return text;
  }

  sw::communicator world;
  const config::machine_config config;
  const sw::schedule order;

 private:
  static std::vector<pe_coord> members_of(const config::machine_config& c) {
    std::vector<pe_coord> pes;
    for (std::uint32_t i = 0; i < c.shape().pes(); ++i) pes.push_back(c.shape().pe_at(i));
    return pes;
  }
  static comm::install_plan plan_of(const config::machine_config& c) {
    comm::install_plan plan;
    plan.messages = comm::plan_messages(c, members_of(c), messaging_base);
    return plan;
  }
  sw::mock_machine machine_;
  std::vector<sw::mock_program> programs_;
};

}  // namespace diecast::test
