// SPDX-License-Identifier: Apache-2.0
#include "platforms/app/memory_map.hpp"

#include <fmt/format.h>

#include "models/abi/registers.hpp"

namespace diecast::app {
namespace {

using abi::region;

class map_writer {
 public:
  explicit map_writer(const platforms::machine_model& m) : m_(m), c_(m.config), t_(m.topology) {}

  std::string run() {
    text_ = fmt::format("{:<18}  {:<18}  {:<14} {}\n", "first", "last", "region", "answered by");
    const machine_shape& shape = t_.shape();
    for (std::uint32_t s = 0; s < shape.sips; ++s)
      for (std::uint32_t k = 0; k < shape.cubes_per_sip(); ++k) cube(sip_id{s}, cube_id{k});
    if (t_.has_trees()) {
      tree(abi::tree_use::multicast);
      if (c_.noc.reduce) tree(abi::tree_use::reduce);
    }
    return std::move(text_);
  }

 private:
  /// Regions in the order of their numbers, as addresses ascend.
  void cube(sip_id sip, cube_id cube) {
    sip_ = sip;
    cube_ = cube;
    const auto pes = t_.population().pes_of(sip, cube);
    const std::uint64_t registers = abi::ipcq_qp_base + c_.ipcq.queue_pairs * abi::ipcq_qp_stride;
    for (const pe_coord pe : pes) row(region::tcm, pe.pe.value, c_.pe.tcm_kib << 10);
    for (const pe_coord pe : pes) row(region::pe_registers, pe.pe.value, registers);
    for (const pe_coord pe : pes) row(region::ipcq_mailbox, pe.pe.value, whole_unit);
    row(region::sram, 0, c_.sram.kib << 10);
    for (std::uint32_t h = 0; h < c_.hbm.ports; ++h)
      if (t_.channels().has(sip, cube, h)) row(region::hbm, h, c_.hbm.port_mib << 20);
    const bool io = cube == t_.io_cube(sip);
    if (io) row(region::host_memory, 0, whole_unit);
    for (const pe_coord pe : pes) row(region::launch_mailbox, pe.pe.value, whole_unit);
    row(region::launch_mailbox, abi::control_cpu_unit, whole_unit);
    if (io) row(region::launch_mailbox, abi::io_cpu_unit, whole_unit);
  }

  void row(region kind, std::uint32_t unit, std::uint64_t bytes) {
    const abi::address base = abi::encode({sip_, cube_, kind, unit, 0});
    const fabric::cube_layout& layout = t_.layout(sip_, cube_);
    const fabric::terminal& terminal = layout.terminals[t_.locate(base).terminal];
    range(base, bytes, kind);
    text_ += fmt::format("{}.{} on router_{}_{}\n", cube_path(t_.shape(), sip_, cube_), terminal.name,
                         terminal.router % layout.columns, terminal.router / layout.columns);
  }

  void tree(abi::tree_use use) {
    range(abi::tree_address(use), whole_unit, region::tree);
    text_ += use == abi::tree_use::multicast ? "routers, which copy down the tree\n"
                                             : "routers, which combine up the tree\n";
  }

  void range(abi::address base, std::uint64_t bytes, region kind) {
    text_ += fmt::format("{:#018x}  {:#018x}  {:<14} ", base, base + bytes - 1, abi::to_string(kind));
  }

  static constexpr std::uint64_t whole_unit = abi::max_offset + 1;

  const platforms::machine_model& m_;
  const config::machine_config& c_;
  const fabric::topology& t_;
  sip_id sip_;
  cube_id cube_;
  std::string text_;
};

}  // namespace

std::string map_text(const platforms::machine_model& machine) { return map_writer(machine).run(); }

}  // namespace diecast::app
