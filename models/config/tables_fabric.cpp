// SPDX-License-Identifier: Apache-2.0
// Rows of the fabric and the memories: noc, ucie, sip_link, hbm, sram.
#include "models/config/rows.hpp"

namespace diecast::config {
namespace {

constexpr const char* niu = "Tenstorrent Wormhole NIU";
constexpr const char* rebel = "Rebellions Rebel100, measured on silicon";
constexpr const char* hbm3 = "Ramulator 2.1, HBM3_6400Mbps / HBM3_16Gb_8hi";
constexpr double most_ns = 1e6;

}  // namespace

block_table noc_table() {
  using b = noc_block;
  return rows<b>(&machine_config::noc, "noc", "Mesh of routers of a cube.")
      .count(&b::columns, "columns", "", 1, 128, "Routers from west to east.", assumption)
      .count(&b::rows, "rows", "", 1, 128, "Routers from south to north.", assumption)
      .real(&b::clock_ghz, "clock_ghz", "GHz", 0.001, 100, "Clock of routers, PEs and IPCQ.",
            "Tenstorrent Wormhole, Furiosa RNGD")
      .count(&b::flit_bytes, "flit_bytes", "B", 16, 4096, "Bytes a link moves per cycle.",
             "Tenstorrent Blackhole (60.9 B per clock), FlooNoC (512 bit)")
      .count(&b::hop_cycles, "hop_cycles", "cycles", 2, 1000, "Router to router, head flit; preset lean: 2.",
             "Tenstorrent Wormhole (9); FlooNoC (2)")
      .count(&b::link_cycles, "link_cycles", "cycles", 1, 999, "The wire's part of noc.hop_cycles.",
             assumption)
      .count(&b::credit_cycles, "credit_cycles", "cycles", 1, 1000,
             "From a freed flit buffer to the credit's use upstream.", assumption)
      .count(&b::ni_in_cycles, "ni_in_cycles", "cycles", 1, 1000, "Network interface, terminal to router.",
             niu)
      .count(&b::ni_out_cycles, "ni_out_cycles", "cycles", 1, 1000, "Network interface, router to terminal.",
             niu)
      .count(&b::max_packet_bytes, "max_packet_bytes", "B", 16, 65'536,
             "Longest payload; a header flit is added.", "1 KiB with a 64 B header flit: 94% of the wire")
      .auto_size(&b::vc_buffer_flits, "vc_buffer_flits", "flits", 1, 65'536,
                 "Input buffer of a bulk VC; auto: a packet and the credit loop.",
                 "Tenstorrent Wormhole has 2 KiB per port; a buffer must not throttle its link")
      .auto_size(&b::sideband_buffer_flits, "sideband_buffer_flits", "flits", 1, 65'536,
                 "Input buffer of a sideband VC; auto: the credit loop.", "must not throttle credits")
      .choice(&b::flow, "flow", {"virtual_cut_through", "wormhole"},
              "A packet waits for room for all of it, or for a flit of it.", "Dally and Towles, 2004")
      .choice(&b::sideband, "sideband", {"wires", "vc"},
              "Credits of IPCQ on wires of their own or in a VC class of their own.", "seed IPCQ")
      .boolean(
          &b::leg_vcs, "leg_vcs",
          "One VC per leg of a route (source cube, transit, destination); false shows the cycle it prevents.",
          "dependency check of all routes")
      .table();
}

block_table ucie_table() {
  using b = ucie_block;
  return rows<b>(&machine_config::ucie, "ucie", "Die-to-die link on each side of a cube.")
      .choice(&b::package, "package", {"auto", "standard", "advanced"},
              "Kind of package; auto: standard up to 16 lanes per module, advanced above.", "UCIe")
      .count(&b::lanes, "lanes", "", 1, 256, "Lanes of a module: x16 standard, x64 advanced.", "UCIe")
      .real(&b::gt_s, "gt_s", "GT/s", 4, 64, "Transfers per second and lane.", "Rebel100; UCIe has 4 to 64")
      .count(&b::modules, "modules", "", 1, 8, "Modules of a side.",
             "256 GB/s: what 4 edge routers can feed; Rebel100 has ~8")
      .real(&b::latency_ns, "latency_ns", "ns", 0.001, most_ns,
            "One crossing, FDI to FDI, wire included; presets rebel100, spec.", rebel)
      .choice(&b::format, "flit_format", {"raw", "flit_68", "flit_256"},
              "Share of payload: raw 100%, flit_68 64/68, flit_256 236/256.", "UCIe")
      .auto_size(&b::buffer_flits, "buffer_flits", "flits", 1, 1 << 20,
                 "Receive buffer per VC in NoC flits; auto: bandwidth x round trip.",
                 "bandwidth x round trip")
      .auto_size(&b::retry_flits, "retry_flits", "UCIe flits", 1, 1 << 20,
                 "Retry buffer of the link; auto: raw rate x twice the latency.",
                 "22 ns x 128 GB/s = 11 flits of 256 B per module")
      .real_or_auto(&b::ber, "ber", "", 0, 0.01,
                    "Bit error rate; auto: 1e-15 up to 32 GT/s, 1e-12 above, 0 for raw, which has no CRC.",
                    "UCIe")
      .real_or_auto(
          &b::pj_per_bit, "pj_per_bit", "pJ/bit", 0, 100,
          "Energy of a bit on the wire; auto: 0.25 advanced, 0.5 standard; above 16 GT/s 0.3 and 0.6.",
          "UCIe targets 0.25-0.3 and 0.5-0.6; which rate has which end is an assumption")
      .table();
}

block_table sip_link_table() {
  using b = sip_link_block;
  return rows<b>(&machine_config::sip_link, "sip_link", "Link between two SIPs.")
      .real(&b::gbytes_s, "gbytes_s", "GB/s", 0.001, 1e6, "Payload rate in each direction.",
            "what one NoC port (64 B per cycle) can feed; assumption")
      .real(&b::latency_ns, "latency_ns", "ns", 0.001, most_ns,
            "One crossing, port to port; presets seed_ucie, ucie_retimer, serdes_112g.", assumption)
      .auto_size(&b::buffer_flits, "buffer_flits", "flits", 1, 1 << 20,
                 "Receive buffer per VC in NoC flits; auto: bandwidth x round trip.",
                 "bandwidth x round trip")
      .table();
}

block_table hbm_table() {
  using b = hbm_block;
  return rows<b>(&machine_config::hbm, "hbm", "HBM of a cube.")
      .choice(&b::model, "model", {"bank", "simple"},
              "Timing of banks and rows, or a rate and a latency per pseudo-channel.", assumption)
      .count(&b::ports, "ports", "", 1, 256, "Channels, each at a NoC terminal.", "JEDEC HBM3: 16 channels")
      .count(&b::port_mib, "port_mib", "MiB", 1, 65'536, "Capacity of a channel.", "JEDEC HBM3, 16 GiB stack")
      .count(&b::pseudo_channels, "pseudo_channels", "", 1, 64, "Pseudo-channels of a channel.", "JEDEC HBM3")
      .count(&b::bank_groups, "bank_groups", "", 1, 64, "Bank groups of a pseudo-channel.", hbm3)
      .count(&b::banks_per_group, "banks_per_group", "", 1, 64, "Banks of a bank group.", hbm3)
      .count(&b::page_bytes, "page_bytes", "B", 64, 65'536, "Row of a bank of one pseudo-channel.", hbm3)
      .count(&b::burst_bytes, "burst_bytes", "B", 16, 4096,
             "Bytes of one burst; neighboring bursts go to neighboring pseudo-channels.", "32 bit x BL8")
      .real(&b::burst_ns, "burst_ns", "ns", 0.001, 1000, "Time of one burst on the data bus (tCCD_S).",
            "32 B at 6.4 GT/s x 32 bit")
      .real(&b::trcd_ns, "trcd_ns", "ns", 0, 1000, "Row activation to column command.", hbm3)
      .real(&b::trp_ns, "trp_ns", "ns", 0, 1000, "Precharge to activation.", hbm3)
      .real(&b::tras_ns, "tras_ns", "ns", 0, 1000, "Activation to precharge.", hbm3)
      .real(&b::cl_ns, "cl_ns", "ns", 0, 1000, "Read command to data.", hbm3)
      .real(&b::cwl_ns, "cwl_ns", "ns", 0, 1000, "Write command to data.", hbm3)
      .real(&b::tccd_l_ns, "tccd_l_ns", "ns", 0, 1000, "Between column commands of one bank group.", hbm3)
      .real(&b::twr_ns, "twr_ns", "ns", 0, 1000, "End of write data to precharge.", hbm3)
      .real(&b::controller_ns, "controller_ns", "ns", 0, 10'000, "Controller and PHY, added to each access.",
            "gem5 MemCtrl, static front-end and back-end latency (10 + 10 ns)")
      .real(&b::simple_gbytes_s, "simple_gbytes_s", "GB/s", 0.001, 1e6,
            "Model simple: rate of a pseudo-channel.", "seed machine")
      .real(&b::simple_latency_ns, "simple_latency_ns", "ns", 0, most_ns,
            "Model simple: added to each access.", "seed machine")
      .count(&b::queue, "queue", "", 1, 65'536,
             "Transactions a channel accepts before it holds back the next.", assumption)
      .table();
}

block_table sram_table() {
  using b = sram_block;
  return rows<b>(&machine_config::sram, "sram", "Shared SRAM of a cube.")
      .count(&b::kib, "kib", "KiB", 1, 1 << 26, "Size.", assumption)
      .real(&b::gbytes_s, "gbytes_s", "GB/s", 0.001, 1e6, "Rate of reads and writes together.",
            "seed machine")
      .real(&b::latency_ns, "latency_ns", "ns", 0, most_ns, "Added to each access.", "seed machine")
      .table();
}

}  // namespace diecast::config
