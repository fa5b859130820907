// SPDX-License-Identifier: Apache-2.0
#include "models/config/check.hpp"

#include <functional>

#include "support/test.hpp"

using namespace diecast;
using namespace diecast::config;

namespace {

struct row {
  const char* key;       ///< the broken rule's key; null: no rule is broken
  const char* expected;  ///< part of the expectation
  std::function<void(machine_config&)> change;
};

}  // namespace

TEST_CASE("config check: the defaults break no rule") { CHECK(check(machine_config{}).empty()); }

TEST_CASE("config check: each rule is broken alone and names its key") {
  const row rows[]{
      {"sip.columns", "at most 256", [](auto& c) { c.sip.columns = 32, c.sip.rows = 9; }},
      {nullptr, "", [](auto& c) { c.sip.columns = 32, c.sip.rows = 8; }},
      {"pod.columns", "divisor of pod.sips = 6", [](auto& c) { c.pod.sips = 6, c.pod.columns = 4; }},
      {nullptr, "", [](auto& c) { c.pod.sips = 6, c.pod.columns = 3; }},
      {"pod.links", "pod.topology list",
       [](auto& c) {
         c.pod.links = {{0, 1}};
       }},
      {"pod.links", "all 2 SIPs", [](auto& c) { c.pod.topology = pod_topology::list; }},
      {nullptr, "", [](auto& c) { c.pod.topology = pod_topology::list, c.pod.sips = 1; }},
      {"pod.links", "from 0 to 1",
       [](auto& c) {
         c.pod.topology = pod_topology::list, c.pod.links = {{0, 1}, {1, 2}};
       }},
      {"pod.links", "two different",
       [](auto& c) {
         c.pod.topology = pod_topology::list, c.pod.links = {{1, 1}};
       }},
      {"pod.links", "each pair once",
       [](auto& c) {
         c.pod.topology = pod_topology::list, c.pod.links = {{0, 1}, {1, 0}};
       }},
      {"placement.pes", "8 (cube.pes)", [](auto& c) { c.placement.pes = "0_0,3_3"; }},
      {nullptr, "", [](auto& c) { c.cube.pes = 2, c.placement.pes = "0_0,3_3"; }},
      {"placement.pes", "0_0 to 3_3", [](auto& c) { c.cube.pes = 2, c.placement.pes = "0_0,0_4"; }},
      {"placement.pes", "one router",
       [](auto& c) { c.cube.pes = 2, c.placement.pes = "0_0,0_1", c.noc.topology = noc_topology::crossbar; }},
      {"placement.hbm_ports", "16 (hbm.ports)", [](auto& c) { c.placement.hbm_ports = "0_0"; }},
      {"placement.sram", "noc.columns x noc.rows", [](auto& c) { c.placement.sram = "4_0"; }},
      {"placement.control_cpu", "0_0 to 3_3", [](auto& c) { c.placement.control_cpu = "0_4"; }},
      {"placement.io_cpu", "0_0 to 3_3", [](auto& c) { c.placement.io_cpu = "4_4"; }},
      {"placement.io_cube", "sip.columns x sip.rows", [](auto& c) { c.placement.io_cube = "0_4"; }},
      {"placement.ucie_columns", "0 to 3 (noc.columns - 1)",
       [](auto& c) { c.placement.ucie_columns = "1,4"; }},
      {"placement.ucie_rows", "each once", [](auto& c) { c.placement.ucie_rows = "1,2,1"; }},
      {nullptr, "", [](auto& c) { c.placement.ucie_rows = "3,0"; }},
      {"placement.sip_ports", "last column", [](auto& c) { c.placement.sip_ports = "e=2_0"; }},
      {"placement.sip_ports", "column 0", [](auto& c) { c.placement.sip_ports = "w=1_0"; }},
      {"placement.sip_ports", "last row", [](auto& c) { c.placement.sip_ports = "n=1_2"; }},
      {"placement.sip_ports", "row 0", [](auto& c) { c.placement.sip_ports = "s=1_2"; }},
      {"placement.sip_ports", "first or last", [](auto& c) { c.placement.sip_ports = "p0=1_2"; }},
      {"placement.sip_ports", "each once", [](auto& c) { c.placement.sip_ports = "e=3_0,e=3_1"; }},
      {"placement.sip_ports", "0_0 to 3_3", [](auto& c) { c.placement.sip_ports = "e=4_0"; }},
      {nullptr, "", [](auto& c) { c.placement.sip_ports = "e=3_0,p12=0_2"; }},
      {"pe.tcm_kib", "= 2304 B", [](auto& c) { c.pe.tcm_banks = 48, c.pe.tcm_bank_bytes = 48; }},
      {"trace.vcd_from_ns", "trace.vcd_to_ns = 5 ns",
       [](auto& c) { c.trace.vcd_from_ns = 6, c.trace.vcd_to_ns = 5; }},
      {nullptr, "", [](auto& c) { c.trace.vcd_from_ns = c.trace.vcd_to_ns = 5; }},
      {"ipcq.slot_bytes", "multiple of 64", [](auto& c) { c.ipcq.slot_bytes = 4100; }},
      {"ipcq.slot_bytes", "1499136 B (pe.tcm_kib)", [](auto& c) { c.ipcq.slot_bytes = 1 << 20; }},
      {"ipcq.slot_bytes", "(sram.kib)",
       [](auto& c) { c.ipcq.slot_bytes = 16 << 20, c.ipcq.rings = buffer_kind::sram; }},
      {nullptr, "", [](auto& c) { c.ipcq.slot_bytes = 4 << 20, c.ipcq.rings = buffer_kind::sram; }},
      {"ipcq.slot_bytes", "(hbm.port_mib)",
       [](auto& c) { c.ipcq.slot_bytes = 512 << 20, c.ipcq.rings = buffer_kind::hbm; }},
      {"noc.link_cycles", "less than noc.hop_cycles = 9", [](auto& c) { c.noc.link_cycles = 9; }},
      {"noc.hop_cycles", "less than noc.hop_cycles = 9", [](auto& c) { c.noc.routing_cycles = 8; }},
      {"noc.hop_cycles", "9, or noc.traversal_cycles auto", [](auto& c) { c.noc.traversal_cycles = 4; }},
      {nullptr, "",
       [](auto& c) {
         c.noc.routing_cycles = c.noc.vc_alloc_cycles = c.noc.switch_alloc_cycles = 1;
         c.noc.traversal_cycles = 1, c.noc.hop_cycles = 5;
       }},
      {"noc.vcs", "an even number, or auto",
       [](auto& c) {
         c.noc.topology = noc_topology::torus, c.noc.vcs = 3, c.noc.vcs_taken = vc_policy::dynamic;
       }},
      {nullptr, "", [](auto& c) { c.noc.topology = noc_topology::torus, c.noc.vcs = 3; }},
      {"noc.max_packet_bytes", "multiple of noc.flit_bytes = 64",
       [](auto& c) { c.noc.max_packet_bytes = 1000; }},
      {"noc.vc_buffer_flits", "at least 17 flits", [](auto& c) { c.noc.vc_buffer_flits = 16; }},
      {nullptr, "", [](auto& c) { c.noc.vc_buffer_flits = 17; }},
      {nullptr, "", [](auto& c) { c.noc.vc_buffer_flits = 8, c.noc.flow = noc_flow::wormhole; }},
      {"noc.interleave", "noc.flow wormhole", [](auto& c) { c.noc.interleave = noc_interleave::vcs; }},
      {nullptr, "", [](auto& c) { c.noc.interleave = noc_interleave::vcs, c.noc.flow = noc_flow::wormhole; }},
      {"noc.interleave", "noc.arbitration round_robin",
       [](auto& c) {
         c.noc.interleave = noc_interleave::vcs, c.noc.flow = noc_flow::wormhole;
         c.noc.arbiter = arbitration::weighted;
       }},
      {"ucie.buffer_flits", "at least 17 flits", [](auto& c) { c.ucie.buffer_flits = 16; }},
      {"sip_link.buffer_flits", "at least 17 flits", [](auto& c) { c.sip_link.buffer_flits = 1; }},
      {"ucie.latency_ns", "at least 1 ns", [](auto& c) { c.ucie.latency_ns = 0.5; }},
      {nullptr, "", [](auto& c) { c.ucie.latency_ns = 0.5, c.noc.clock_ghz = 2; }},
      {"sip_link.latency_ns", "at least 1 ns", [](auto& c) { c.sip_link.latency_ns = 0.9; }},
      {"hbm.page_bytes", "at least 128", [](auto& c) { c.hbm.page_bytes = 64, c.hbm.burst_bytes = 128; }},
      {"hbm.burst_bytes", "1, 2, 4", [](auto& c) { c.hbm.burst_bytes = 48; }},
      {"hbm.pseudo_channels", "1, 2, 4", [](auto& c) { c.hbm.pseudo_channels = 3; }},
      {"hbm.sids", "1, 2, 4", [](auto& c) { c.hbm.sids = 3; }},
      {"hbm.bank_groups", "1, 2, 4", [](auto& c) { c.hbm.bank_groups = 3; }},
      {"hbm.banks_per_group", "1, 2, 4", [](auto& c) { c.hbm.banks_per_group = 3; }},
      {"hbm.page_bytes", "1, 2, 4", [](auto& c) { c.hbm.page_bytes = 1000; }},
      {"hbm.port_mib", "1, 2, 4", [](auto& c) { c.hbm.port_mib = 1000; }},
      {nullptr, "",
       [](auto& c) { c.hbm.model = hbm_model::simple, c.hbm.port_mib = 1000, c.hbm.banks_per_group = 3; }},
      {"hbm.bank_groups", "1 to 64", [](auto& c) { c.hbm.bank_groups = 64; }},
      {"hbm.port_mib", "2097152 to 2^31",
       [](auto& c) {
         c.hbm.port_mib = 1, c.hbm.page_bytes = 16'384;
         c.hbm.sids = 4, c.hbm.pseudo_channels = 2;
       }},
      {"hbm.port_mib", "multiple of 2097152 B",
       [](auto& c) {
         c.hbm.model = hbm_model::simple, c.hbm.port_mib = 3;
         c.hbm.pseudo_channels = 64, c.hbm.burst_bytes = 32'768;
       }},
      {"hbm.cl_ns", "> 0 ns", [](auto& c) { c.hbm.cl_ns = 0; }},
      {"hbm.tccd_l_ns", "at least hbm.burst_ns", [](auto& c) { c.hbm.tccd_l_ns = 1; }},
      {"hbm.tras_ns", "at least hbm.trcd_rd_ns", [](auto& c) { c.hbm.tras_ns = 10; }},
      {"hbm.trc_ns", "at least hbm.tras_ns", [](auto& c) { c.hbm.trc_ns = 28; }},
      {nullptr, "", [](auto& c) { c.hbm.trc_ns = 28, c.hbm.model = hbm_model::simple; }},
      {"hbm.address_map", "each once", [](auto& c) { c.hbm.address_map = "pc,pc,column,bank,sid,row"; }},
      {nullptr, "", [](auto& c) { c.hbm.address_map = "row,bank,bank_group,sid,column,pc"; }},
      {"hbm.drain_low", "at most hbm.drain_high = 0.8", [](auto& c) { c.hbm.drain_low = 0.9; }},
      {"hbm.trfc_ns", "less than hbm.trefi_ns - hbm.trc_ns = 3855", [](auto& c) { c.hbm.trfc_ns = 3855; }},
      {nullptr, "", [](auto& c) { c.hbm.trfc_ns = 3854; }},
      {nullptr, "", [](auto& c) { c.hbm.trfc_ns = 3900, c.hbm.refresh = hbm_refresh::none; }},
      {"hbm.trfcpb_ns", "less than hbm.trefi_ns - hbm.trc_ns = 3855",
       [](auto& c) { c.hbm.trfcpb_ns = 3855, c.hbm.refresh = hbm_refresh::per_bank; }},
      {"hbm.trefi_ns", "more than 32 banks x (2 hbm.trrefd_ns + hbm.pseudo_channels x hbm.burst_ns) = 400 ns",
       [](auto& c) { c.hbm.trefi_ns = 400, c.hbm.refresh = hbm_refresh::per_bank; }},
      {nullptr, "", [](auto& c) { c.hbm.trefi_ns = 401, c.hbm.refresh = hbm_refresh::per_bank; }},
  };
  for (const row& r : rows) {
    machine_config c;
    r.change(c);
    const std::vector<problem> problems = check(c);
    INFO("row " << &r - rows << (problems.empty() ? "" : " " + to_string(problems.front())));
    if (r.key == nullptr) {
      CHECK(problems.empty());
      continue;
    }
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().where == r.key);
    CHECK_THAT(problems.front().expected, Catch::Contains(r.expected));
  }
}

TEST_CASE("config check: all broken rules are reported, except those that use a refused value") {
  machine_config c;
  c.noc.link_cycles = 20;
  c.ipcq.slot_bytes = 100;
  CHECK(check(c).size() == 2);
  const auto rest = check(c, {"noc.hop_cycles"});
  REQUIRE(rest.size() == 1);
  CHECK(rest.front().where == "ipcq.slot_bytes");
}
