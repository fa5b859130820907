// SPDX-License-Identifier: Apache-2.0
// SIPs of cubes, and a pod of SIPs. Wiring and nothing else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/d2d/ucie_adapter.hpp"
#include "hw/fault/fault_interposer.hpp"
#include "hw/host/host_cpu.hpp"
#include "hw/host/io_cpu.hpp"
#include "platforms/netlist/cube.hpp"

namespace diecast::netlist {

/// Program of the host of each SIP.
using host_program_factory = std::function<hw::host_program(sip_id)>;

/// One package: cubes joined at their edges, the gateways of its links, its host.
class sip : public sc_core::sc_module, public hw::agenda_owner {
 public:
  sip(sc_core::sc_module_name name, const build_context& context, sip_id id, hw::host_program program);

  [[nodiscard]] const std::vector<std::unique_ptr<cube>>& cubes() const { return cubes_; }
  /// Gateway ends of this SIP, by the index of the outgoing link; null for links of other SIPs.
  [[nodiscard]] const std::vector<std::unique_ptr<hw::sip_port>>& ports() const { return ports_; }
  /// Interposers of UCIe links; none where no fault is configured.
  [[nodiscard]] const std::vector<std::unique_ptr<hw::fault_interposer>>& faults() const { return faults_; }
  [[nodiscard]] sip_id id() const { return id_; }
  [[nodiscard]] hw::packet_pool& pool() { return pool_; }
  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }
  [[nodiscard]] hw::io_cpu& io() { return *io_; }
  /// Calls visit(terminal_port) for every block of this SIP.
  template <class Visit>
  void visit_terminals(Visit visit) const {
    for (const auto& c : cubes_) c->visit_terminals(visit);
    visit(io_->terminal());
  }

 private:
  void build(const build_context& context, hw::host_program program);
  void bind(const build_context& context);
  void bind_edges(const build_context& context, cube_id c);
  void bind_edge(const build_context& context, cube_id c, fabric::side edge, cube_id other);

  sip_id id_;
  hw::packet_pool pool_;  ///< declared before all members that hold packets
  hw::agenda agenda_{"agenda"};
  std::vector<std::unique_ptr<cube>> cubes_;
  std::vector<std::unique_ptr<hw::sip_port>> ports_;
  std::unique_ptr<hw::io_cpu> io_;
  std::unique_ptr<hw::host_cpu> host_;
  std::unique_ptr<hw::debug_bus> debug_;
  std::vector<std::unique_ptr<hw::fault_interposer>> faults_;  ///< on UCIe links; usually none
};

class pod : public sc_core::sc_module {
 public:
  pod(sc_core::sc_module_name name, const build_context& context, const host_program_factory& host_of);

  /// The SIPs that this process simulates, in the order of their numbers.
  [[nodiscard]] const std::vector<std::unique_ptr<sip>>& sips() const { return sips_; }
  [[nodiscard]] bool has(sip_id id) const { return place_[id.value] != absent; }
  /// Precondition: has(id).
  [[nodiscard]] sip& at(sip_id id) const { return *sips_[place_[id.value]]; }
  /// A message that another process has sent on a channel (hw::boundary_outlet): the number of a link, or
  /// after those of all links, that of the SIP to which it goes through host memory.
  void deliver(std::uint32_t channel, const hw::sip_message& m);
  /// Interposers of SIP links; none where no fault is configured.
  [[nodiscard]] const std::vector<std::unique_ptr<hw::sip_link_fault>>& link_faults() const {
    return faults_;
  }
  /// Installs a tree in all its routers.
  void install(const hw::tree_program& program) {
    for (const auto& s : sips_)
      for (const auto& c : s->cubes()) c->noc().install(program, s->pool());
  }
  /// Throws std::out_of_range when overrides leave it out.
  [[nodiscard]] hw::processing_element& pe(pe_coord at) {
    return sips_[place_[at.sip.value]]->cubes()[at.cube.value]->pe(at.pe);
  }
  template <class Visit>
  void visit_cubes(Visit visit) const {
    for (const auto& s : sips_)
      for (const auto& c : s->cubes()) visit(*c);
  }

 private:
  static constexpr std::size_t absent = SIZE_MAX;
  void build(const build_context& context, const host_program_factory& host_of);
  void bind_sip_link(const build_context& context, const fabric::sip_link& link);
  /// The end of a link at the sender of `outgoing`: its port for messages that leave, and its export for
  /// those that arrive.
  struct link_side {
    sc_core::sc_port<hw::sip_link_if>& leave;
    sc_core::sc_export<hw::sip_link_if>& arrive;
  };
  [[nodiscard]] link_side side_of(const build_context& context, const fabric::sip_link& outgoing);

  std::vector<std::unique_ptr<sip>> sips_;
  std::vector<std::size_t> place_;  ///< place in sips_, by SIP; absent: the SIP is in another process
  std::vector<std::unique_ptr<hw::sip_boundary>> boundaries_;
  /// By the channel on which another process sends.
  std::map<std::uint32_t, sc_core::sc_export<hw::sip_link_if>*> arrivals_;
  std::vector<std::unique_ptr<hw::sip_link_fault>> faults_;  ///< on SIP links; usually none
};

}  // namespace diecast::netlist
