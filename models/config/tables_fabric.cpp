// SPDX-License-Identifier: Apache-2.0
// Rows of the fabric and the memories: noc, ucie, sip_link, hbm, sram.
#include "models/config/rows.hpp"

namespace diecast::config {
constexpr const char* niu = "Tenstorrent Wormhole NIU";
constexpr const char* rebel = "Rebellions Rebel100, measured on silicon";
constexpr const char* hbm3 = "Ramulator 2.1, HBM3_6400Mbps / HBM3_16Gb_8hi";
constexpr double most_ns = 1e6;

block_table noc_table() {
  using b = noc_block;
  return rows<&machine_config::noc>("Network of routers of a cube.")
      .choice<&b::topology>(
          "How routers are joined: a ring takes columns x rows routers in order of their numbers; a crossbar "
          "is one router with every terminal; the links of a torus_oneway lead in one direction per "
          "dimension, see noc.directions.")
      .count<&b::columns>("", 1, 128, "Routers from west to east.")
      .count<&b::rows>("", 1, 128, "Routers from south to north.")
      .real<&b::clock_ghz>("GHz", 0.001, 100, "Clock of routers, PEs and IPCQ.",
                           "Tenstorrent Wormhole, Furiosa RNGD")
      .count<&b::flit_bytes>("B", 16, 4096, "Bytes a link moves per cycle.",
                             "Tenstorrent Blackhole (60.9 B per clock), FlooNoC (512 bit)")
      .count<&b::hop_cycles>("cycles", 2, 1000, "Router to router, head flit; preset lean: 2.",
                             "Tenstorrent Wormhole (9); FlooNoC (2)")
      .count<&b::link_cycles>("cycles", 1, 999, "The wire's part of noc.hop_cycles.")
      .count<&b::routing_cycles>(
          "cycles", 0, 999,
          "Route computation within noc.hop_cycles; starts when the previous packet of the same VC has left.",
          "0: looked ahead; 1 as in BookSim2's routing_delay")
      .count<&b::vc_alloc_cycles>("cycles", 0, 999,
                                  "VC allocation within noc.hop_cycles; follows routing and, like it, does "
                                  "not overlap with the previous packet of the same VC.",
                                  "0: overlapped; 1 as in BookSim2's vc_alloc_delay")
      .count<&b::switch_alloc_cycles>("cycles", 0, 999, "Switch allocation within noc.hop_cycles; pipelined.",
                                      "0: part of traversal_cycles; 1 as in BookSim2's sw_alloc_delay")
      .count<&b::traversal_cycles>("cycles", 1, 999,
                                   "Switch traversal within noc.hop_cycles; pipelined. auto: what routing, "
                                   "VC and switch allocation and the link leave of noc.hop_cycles.",
                                   "the stages of a hop add up to it")
      .count<&b::credit_cycles>("cycles", 1, 1000, "From a freed flit buffer to the credit's use upstream.")
      .count<&b::ni_in_cycles>("cycles", 1, 1000, "Network interface, terminal to router.", niu)
      .count<&b::ni_out_cycles>("cycles", 1, 1000, "Network interface, router to terminal.", niu)
      .count<&b::max_packet_bytes>("B", 16, 65'536, "Longest payload; a header flit is added.",
                                   "1 KiB with a 64 B header flit: 94% of the wire")
      .count<&b::vc_buffer_flits>(
          "flits", 1, 65'536, "Input buffer of a bulk VC; auto: a packet and the credit loop.",
          "Tenstorrent Wormhole has 2 KiB per port; a buffer must not throttle its link")
      .count<&b::sideband_buffer_flits>("flits", 1, 65'536,
                                        "Input buffer of a sideband VC; auto: the credit loop.",
                                        "must not throttle credits")
      .choice<&b::flow>(
          "virtual_cut_through: a packet waits for room for all of it; wormhole: for room for one flit.",
          "Dally and Towles, 2004")
      .choice<&b::interleave>(
          "What alternates on a link. classes: packets of one class follow each other, flits of different "
          "classes alternate. vcs: every flit is arbitrated, as in wormhole routers; exact and slower to "
          "simulate. auto: vcs where noc.flow is wormhole and noc.arbitration round_robin.",
          "BookSim2's hold_switch_for_packet: 1 as classes, 0 as vcs")
      .choice<&b::sideband>("Credits of IPCQ on wires of their own or in a VC class of their own.")
      .count<&b::vcs>("", 1, 64,
                      "VCs per class and leg: flows are spread over them (per_flow), or a packet chooses one "
                      "at each hop (dynamic). auto: 1, but 2 with dynamic on a torus or ring.",
                      "one VC per class and leg keeps buffers small")
      .choice<&b::vcs_taken>(
          "per_flow: a flow keeps its VC, in order per source, destination and class. dynamic: any free VC "
          "of the class and leg at each hop, but for classes comm and sideband, which keep theirs (not in "
          "diecast-noc).",
          "dynamic: BookSim2 (Jiang et al., ISPASS 2013)")
      .named("vc_policy")
      .choice<&b::arbiter>(
          "How an output chooses among inputs; weighted: classes by their noc.*_weight, then round robin.")
      .named("arbitration")
      .count<&b::request_weight>("", 1, 256, "Weight of class request.")
      .count<&b::response_weight>("", 1, 256, "Weight of class response.")
      .count<&b::comm_weight>("", 1, 256, "Weight of class comm.")
      .count<&b::message_weight>("", 1, 256, "Weight of class message.")
      .count<&b::sideband_weight>("", 1, 256, "Weight of class sideband.")
      .boolean<&b::vc_round_robin>(
          "Where VC and switch are allocated together (noc.vc_alloc_cycles 0), a head flit tries an output's "
          "VCs round robin; false: lowest first.")
      .boolean<&b::leg_vcs>(
          "One VC per leg of a route (source cube, transit, destination); false: the route check shows the "
          "cycle that this prevents.",
          "dependency check of all routes")
      .boolean<&b::dateline_vcs>(
          "Two VC sets on a torus or ring, before and after a wrap link; false: the route check shows the "
          "cycle that they prevent.",
          "Dally and Seitz, 1987")
      .boolean<&b::multicast>(
          "Routers copy packets of a group down a tree over cubes and SIPs, and combine the credits that "
          "come back; for the algorithms multicast and in_network. Needs noc.flow virtual_cut_through.",
          "Krishna et al., MICRO 2011 (routers that fork and join); NVLink SHARP (multimem)")
      .count<&b::multicast_cycles>(
          "cycles", 1, 1000,
          "Cycles that a router of a tree adds to a hop: table look-up and a second switch allocation.")
      .boolean<&b::reduce>(
          "Routers combine contributions that come up a tree; for the algorithm in_network. Needs "
          "noc.multicast.",
          "Krishna et al., MICRO 2011; Graham et al., COMHPC 2016 (SHARP)")
      .count<&b::reduce_cycles>("cycles", 1, 1000, "Latency of combining two contributions in a router.",
                                "an adder of the vector unit's kind")
      .count<&b::reduce_bytes_per_cycle>(
          "B", 1, 65'536, "Operand bytes that the arithmetic of one router adds to a sum per cycle.",
          "five flits into one per cycle: SHARP works at the rate of its links")
      .count<&b::reduce_buffer_kib>("KiB", 1, 65'536,
                                    "Router buffer per input for contributions that wait for others; at "
                                    "least a ring of ipcq.n_slots x ipcq.slot_bytes.")
      .text<&b::directions>("(east|west|north|south)_[a-z]+(,[a-z]+_[a-z]+)*",
                            "noc.topology torus_oneway: the two directions of its links, in routing order; a "
                            "list has a pair for each of noc.networks.")
      .count<&b::networks>(
          "", 1, 8, "Parallel networks that join the same terminals, for diecast-noc --traffic transactions.")
      .choice<&b::replay>(
          "When the operations of a transaction file are issued. open: at their recorded times. closed: the "
          "recorded gap after the previous operation's issue, or after the previous barrier's simulated end.")
      .count<&b::window>("", 1, 65'536,
                         "Most transactions of a core in flight in one network; the next one waits.")
      .count<&b::request_queue>(
          "", 1, 65'536, "Requests that wait or are served at a terminal; further ones wait in the network.")
      .count<&b::access_cycles>("cycles", 1, 65'536,
                                "At a terminal, arrival of a request to the start of its response.")
      .real<&b::tile_bytes_per_cycle>(
          "B", 0.001, 1e6,
          "Data rate of reads from the memory of a core, shared by its terminals in all networks.")
      .count<&b::completion_cycles>(
          "cycles", 0, 65'536,
          "Arrival of the last response of a barrier to its end: counters and the core's poll.")
      .count<&b::barrier_cycles>("cycles", 0, 65'536,
                                 "Least cycles of a barrier: the time of one with nothing in flight.")
      .text<&b::dram_tiles>("none|[0-9]+_[0-9]+([,/][0-9]+_[0-9]+)*",
                            "Terminals of memory controllers as COLUMN_ROW: a comma joins those of one "
                            "controller, a slash separates controllers.")
      .count<&b::dram_request_queue>("", 1, 65'536,
                                     "Requests that wait or are served at a terminal of a memory controller.")
      .count<&b::dram_access_cycles>(
          "cycles", 1, 65'536,
          "At a terminal of a memory controller, arrival of a request to the start of its response.")
      .real<&b::dram_bytes_per_cycle>("B", 0.001, 65'536,
                                      "Data rate of a memory controller, shared by its terminals.")
      .table();
}

block_table ucie_table() {
  using b = ucie_block;
  return rows<&machine_config::ucie>("Die-to-die link on each side of a cube.")
      .choice<&b::package>("Kind of package; auto: standard up to 16 lanes per module, advanced above.",
                           "UCIe")
      .count<&b::lanes>("", 1, 256, "Lanes of a module: x16 standard, x64 advanced.", "UCIe")
      .real<&b::gt_s>("GT/s", 4, 64, "Transfers per second and lane.", "Rebel100; UCIe has 4 to 64")
      .count<&b::modules>("", 1, 8, "Modules of a side.",
                          "256 GB/s: what 4 edge routers can feed; Rebel100 has ~8")
      .real<&b::latency_ns>("ns", 0.001, most_ns,
                            "One crossing, FDI to FDI, wire included; presets rebel100, spec.", rebel)
      .choice<&b::format>("Share of payload: raw 100%, flit_68 64/68, flit_256 236/256.", "UCIe")
      .named("flit_format")
      .count<&b::buffer_flits>(
          "flits", 1, 1 << 20,
          "Receive buffer per VC in NoC flits; auto: bandwidth x round trip, in whole packets.",
          "bandwidth x round trip")
      .count<&b::retry_flits>("UCIe flits", 1, 1 << 20,
                              "Retry buffer of the link; auto: raw rate x twice the latency.",
                              "22 ns x 128 GB/s = 11 flits of 256 B per module")
      .real<&b::ber>("", 0, 0.002,
                     "Bit error rate; auto: 1e-15 up to 32 GT/s, 1e-12 above, 0 for raw, which has no CRC. "
                     "At 0.002, 1 of 60 frames of 256 B is error-free.",
                     "UCIe")
      .real<&b::pj_per_bit>(
          "pJ/bit", 0, 100,
          "Energy of a bit on the wire; auto: 0.25 advanced, 0.5 standard; above 16 GT/s 0.3 and 0.6.",
          "UCIe targets 0.25-0.3 and 0.5-0.6; which of them applies at which rate: assumption")
      .table();
}

block_table sip_link_table() {
  using b = sip_link_block;
  return rows<&machine_config::sip_link>("Link between two SIPs.")
      .real<&b::gbytes_s>("GB/s", 0.001, 1e6, "Payload rate in each direction.",
                          "what one NoC port (64 B per cycle) can feed; assumption")
      .real<&b::latency_ns>("ns", 0.001, most_ns,
                            "One crossing, port to port; presets seed_ucie, ucie_retimer, serdes_112g.")
      .count<&b::buffer_flits>(
          "flits", 1, 1 << 20,
          "Receive buffer per VC in NoC flits; auto: bandwidth x round trip, in whole packets.",
          "bandwidth x round trip")
      .real<&b::pj_per_bit>("pJ/bit", 0, 1000, "Energy of a bit from port to port.",
                            "assumption: both ends of a 112G long-reach SerDes; the presets have theirs")
      .table();
}

block_table hbm_table() {
  using b = hbm_block;
  constexpr const char* ramulator = "Ramulator 2.1, HBM3_6400Mbps";
  constexpr double most_timing = 100'000;
  return rows<&machine_config::hbm>("HBM of a cube.")
      .choice<&b::model>("Timing of banks and rows, or a rate and a latency per pseudo-channel.")
      .count<&b::ports>("", 1, 256, "Channels, each at a NoC terminal.", "JEDEC HBM3: 16 channels")
      .count<&b::port_mib>("MiB", 1, 65'536, "Capacity of a channel; the number of rows follows from it.",
                           "JEDEC HBM3, 16 GiB stack")
      .count<&b::pseudo_channels>("", 1, 64, "Pseudo-channels of a channel.", "JEDEC HBM3")
      .count<&b::sids>("", 1, 16, "Stack IDs: groups of dies sharing a pseudo-channel.", "HBM3 16 Gb, 8 high")
      .count<&b::bank_groups>("", 1, 64, "Bank groups of a pseudo-channel and SID.", hbm3)
      .count<&b::banks_per_group>("", 1, 64, "Banks of a bank group.", hbm3)
      .count<&b::page_bytes>("B", 64, 65'536, "Row of a bank of one pseudo-channel.", hbm3)
      .count<&b::burst_bytes>("B", 16, 4096, "Bytes of one burst.", "32 bit x BL8")
      .text<&b::address_map>("(pc|sid|bank_group|bank|row|column)(,[a-z_]+){5}",
                             "Order of the address fields from the burst upwards: pc, sid, bank_group, bank, "
                             "row and column, each once.",
                             "testbench/data/hbm/README.md: order of the reference patterns")
      .choice<&b::bank_hash>("row_xor: the low bits of the row are XORed into bank group and bank.",
                             "off as in Ramulator 2.1")
      .choice<&b::scheduler>("First ready (row hits first, then oldest), or strictly the oldest.",
                             "Ramulator 2.1")
      .choice<&b::page_policy>(
          "closed: the last waiting access closes the row (auto-precharge), except a read shortly after a "
          "write.",
          "Ramulator 2.1")
      .choice<&b::refresh>(
          "Refresh of all banks of a pseudo-channel at once, of one bank at a time, or none.",
          "Ramulator 2.1, AllBank")
      .count<&b::read_queue>("bursts", 1, 65'536, "Read queue of a channel.")
      .count<&b::write_queue>("bursts", 1, 65'536, "Write queue of a channel.")
      .real<&b::drain_high>("", 0, 1,
                            "Share of the write queue above which writes are drained; they are also drained "
                            "when no read waits.",
                            "Ramulator 2.1, wr_high_watermark")
      .real<&b::drain_low>("", 0, 1,
                           "Share of the write queue below which draining ends when a read waits; it also "
                           "ends with the last write.",
                           "Ramulator 2.1, wr_low_watermark")
      .real<&b::burst_ns>("ns", 0.001, 1000,
                          "Time of one burst on the data bus (tCCD_S): two command clocks.",
                          "32 B at 6.4 GT/s x 32 bit")
      .choice<&b::row_bus>(
          "Row commands on both edges of the clock (HBM3, HBM4: activation 1.5 clocks, others 0.5) or on one "
          "(HBM2: activation 2 clocks, others 1).",
          "JESD238, JESD235")
      .real<&b::cl_ns>("ns", 0, 1000, "Read command to data (CL).", hbm3)
      .real<&b::cwl_ns>("ns", 0, 1000, "Write command to data (CWL).", hbm3)
      .real<&b::trcd_rd_ns>("ns", 0, 1000, "Activation to read.", hbm3)
      .real<&b::trcd_wr_ns>("ns", 0, 1000, "Activation to write.", hbm3)
      .real<&b::trp_ns>("ns", 0, 1000, "Precharge to activation.", hbm3)
      .real<&b::tras_ns>("ns", 0, 1000, "Activation to precharge.", hbm3)
      .real<&b::trc_ns>("ns", 0, 1000, "Activation to activation of one bank.", hbm3)
      .real<&b::trtp_ns>("ns", 0, 1000, "Read to precharge.", hbm3)
      .real<&b::twr_ns>("ns", 0, 1000, "End of write data to precharge.", hbm3)
      .real<&b::tccd_l_ns>("ns", 0, 1000, "Least time between column commands of one bank group.", hbm3)
      .real<&b::tccd_r_ns>("ns", 0, 1000, "Least time between column commands of different SIDs.", ramulator)
      .real<&b::trrd_s_ns>("ns", 0, 1000, "Least time between activations of different bank groups.", hbm3)
      .real<&b::trrd_l_ns>("ns", 0, 1000, "Least time between activations of one bank group.", hbm3)
      .real<&b::tfaw_ns>("ns", 0, 1000, "Window of at most four activations.", hbm3)
      .real<&b::twtr_s_ns>("ns", 0, 1000, "End of write data to a read of another bank group.", hbm3)
      .real<&b::twtr_l_ns>("ns", 0, 1000, "End of write data to a read of its bank group.", hbm3)
      .real<&b::trtw_ns>("ns", 0, 1000, "Read command to write command.", ramulator)
      .real<&b::tppd_ns>("ns", 0, 1000, "Least time between precharges of a pseudo-channel.", ramulator)
      .real<&b::trefi_ns>("ns", 1, most_timing, "Time between all-bank refreshes.", hbm3)
      .real<&b::trfc_ns>("ns", 0, most_timing, "All-bank refresh to activation.", hbm3)
      .real<&b::trfcpb_ns>("ns", 0, most_timing, "Refresh of a bank to its activation.", hbm3)
      .real<&b::trrefd_ns>("ns", 0, 1000, "Refresh of a bank to an activation or refresh of another.",
                           ramulator)
      .real<&b::controller_ns>("ns", 0, 10'000, "Controller and PHY, added to each access.",
                               "gem5 MemCtrl, static front-end and back-end latency (10 + 10 ns)")
      .real<&b::simple_gbytes_s>("GB/s", 0.001, 1e6, "Model simple: rate of a pseudo-channel.")
      .real<&b::simple_latency_ns>("ns", 0, most_ns, "Model simple: added to each access.")
      .count<&b::queue>("", 1, 65'536,
                        "Model simple: transactions a channel accepts before it holds back the next.")
      .table();
}

block_table sram_table() {
  using b = sram_block;
  return rows<&machine_config::sram>("Shared SRAM of a cube.")
      .count<&b::kib>("KiB", 1, 1 << 26, "Size.")
      .real<&b::gbytes_s>("GB/s", 0.001, 1e6, "Rate of reads and writes together.")
      .real<&b::latency_ns>("ns", 0, most_ns, "Added to each access.")
      .table();
}

}  // namespace diecast::config
