// SPDX-License-Identifier: Apache-2.0
// A cube: its NoC, PEs, memories, control CPU and UCIe edges. Wiring and nothing else.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <systemc>
#include <type_traits>
#include <vector>

#include "hw/base/fabric_socket.hpp"
#include "hw/d2d/sip_message.hpp"
#include "hw/d2d/ucie_adapter.hpp"
#include "hw/fault/fault_interposer.hpp"
#include "hw/host/host_cpu.hpp"
#include "hw/host/io_cpu.hpp"
#include "hw/mem/memory_ni.hpp"
#include "hw/mem/memory_target.hpp"
#include "hw/noc/cube_noc.hpp"
#include "hw/pe/pe.hpp"
#include "models/fabric/topology.hpp"

namespace diecast::netlist {

// The order in which a netlist constructs its modules and binds its sockets (sim.build_order).
// Results must not depend on it; the key exists so that this can be shown.

class build_order {
 public:
  /// "forward", "reverse" or "shuffle:N". Throws user_error for anything else.
  explicit build_order(const std::string& text);

  /// Runs every step once. `where` (an instance path) makes shuffles of different containers differ.
  void run(const std::string& where, const std::vector<std::function<void()>>& steps) const;

 private:
  enum class kind { forward, reverse, shuffle };
  kind kind_{kind::forward};
  std::uint64_t seed_{};
};

/// A memory behind a NoC terminal: any module with a base-protocol target socket.
struct memory_block {
  std::unique_ptr<sc_core::sc_module> module;
  tlm::tlm_target_socket<>* socket{};
  hw::memory_target* counted{};  ///< the module, where it counts its accesses; null for one of another make
  /// The module, where it has banks.
  [[nodiscard]] hw::hbm_controller* controller() const {
    return counted == nullptr ? nullptr : counted->controller();
  }
};
/// A memory of Diecast's own: hbm.model.
[[nodiscard]] memory_block make_hbm(const char* name, const config::machine_config& config,
                                    hw::fault_sink& faults);
/// A memory whose target socket is its member `socket`.
template <class Memory>
[[nodiscard]] memory_block memory_block_of(std::unique_ptr<Memory> memory) {
  memory_block block;
  block.socket = &memory->socket;
  if constexpr (std::is_base_of_v<hw::memory_target, Memory>) block.counted = memory.get();
  block.module = std::move(memory);
  return block;
}
/// Makes the memory of one HBM port. Called inside the cube's constructor, so that its name nests.
using memory_factory = std::function<memory_block(const char* name, const config::machine_config& config,
                                                  hw::fault_sink& faults)>;

/// Setup of every container of the netlist. References must outlive the netlist, except `order`, which is
/// used during construction only.
struct build_context {
  const config::machine_config& config;
  const fabric::topology& topology;
  const events::hub& events;
  hw::fault_sink& faults;
  const build_order& order;
  std::function<hw::firmware(pe_coord)> firmware_of;
  memory_factory make_hbm;
  bool move_data{true};
  /// SIPs that this process builds, by number; empty: all. Messages to other SIPs leave by `outlet`.
  std::vector<bool> own_sips;
  hw::boundary_outlet outlet;
  [[nodiscard]] bool builds(std::uint32_t sip) const { return own_sips.empty() || own_sips[sip]; }
};

class cube : public sc_core::sc_module {
 public:
  cube(sc_core::sc_module_name name, const build_context& context, sip_id sip, cube_id id,
       hw::packet_pool& pool);

  [[nodiscard]] hw::cube_noc& noc() { return *noc_; }
  /// PEs that the cube has, in order of their numbers; overrides may leave some out.
  [[nodiscard]] const std::vector<std::unique_ptr<hw::processing_element>>& pes() const { return pes_; }
  /// Throws std::out_of_range when overrides leave it out.
  [[nodiscard]] hw::processing_element& pe(pe_id id) { return *pes_[place_of(id)]; }
  /// Interposers in front of PEs; none where no fault is configured.
  [[nodiscard]] const std::vector<std::unique_ptr<hw::fault_interposer>>& faults() const { return faults_; }
  /// Null where the cube has no neighbor.
  [[nodiscard]] hw::ucie_adapter* edge(fabric::side s) { return edges_[static_cast<unsigned>(s)].get(); }
  /// Adds every block of this cube that the host's backdoor can access.
  void attach_debug(hw::debug_bus& bus);

  struct memory {
    abi::region kind{};
    std::uint32_t unit{};
    memory_block block;
    std::unique_ptr<hw::memory_ni> ni;
  };
  [[nodiscard]] const std::vector<std::unique_ptr<memory>>& memories() const { return memories_; }
  void bind_port(hw::fabric_target_socket& block, fabric::terminal_index t) {
    noc_->terminal_socket(t).bind(block);
  }
  /// Calls visit(terminal_port) for every block of this cube; the SIP has those of its IO CPU.
  template <class Visit>
  void visit_terminals(Visit visit) const {
    for (const auto& pe : pes_) visit(pe->terminal());
    for (const auto& m : memories_)
      if (m) visit(m->ni->terminal());
    visit(control_->terminal());
  }

 private:
  void make_pe(const build_context& context, const fabric::terminal& terminal, hw::packet_pool& pool);
  /// Nothing is attached to this terminal: an override leaves its block out.
  [[nodiscard]] bool is_absent(const build_context& context, const fabric::terminal& terminal) const;
  [[nodiscard]] std::size_t place_of(pe_id id) const;
  void make_block(const build_context& context, fabric::terminal_index t, hw::packet_pool& pool);
  void bind_block(const build_context& context, fabric::terminal_index t);
  void bind_pe(const build_context& context, pe_id pe, fabric::terminal_index t);
  void make_memory(const build_context& context, const fabric::terminal& t, fabric::terminal_index at,
                   hw::packet_pool& pool);

  sip_id sip_;
  cube_id id_;
  hw::packet_pool& pool_;
  std::vector<std::unique_ptr<hw::fault_interposer>> faults_;  ///< interposers in front of PEs; usually none
  std::unique_ptr<hw::cube_noc> noc_;
  std::vector<pe_coord> coords_;  ///< coordinates of pes_
  std::vector<std::unique_ptr<const config::machine_config>>
      own_pe_configs_;                                      ///< by index in pes_; usually null
  std::vector<std::unique_ptr<hw::missing_block>> absent_;  ///< by terminal; usually null
  std::vector<std::unique_ptr<hw::processing_element>> pes_;
  std::vector<std::unique_ptr<memory>> memories_;
  std::unique_ptr<hw::control_cpu> control_;
  std::array<std::unique_ptr<hw::ucie_adapter>, fabric::sides> edges_;
};

}  // namespace diecast::netlist
