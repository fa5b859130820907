// SPDX-License-Identifier: Apache-2.0
// Rows of the blocks that say what is built and how a run behaves: sim, pod, sip, cube, placement, pe, ipcq,
// host, ccl, trace.
#include "models/abi/address.hpp"
#include "models/config/rows.hpp"

namespace diecast::config {
namespace {

constexpr const char* wormhole_niu = "Tenstorrent Wormhole, NIU registers";
constexpr const char* tcm_source =
    "512 GB/s, as the seed machine; Tenstorrent Wormhole L1 has 16 banks, and a reduce-scatter at wire rate "
    "moves 320 B per cycle";
constexpr const char* ring_source =
    "a slot outlasts the firmware's ~80 cycles per message, the ring the round trip (~300 ns x 64 GB/s)";
constexpr const char* address_map = "address map: 8 bits of SIP, 8 of cube, 8 of unit";

}  // namespace

block_table sim_table() {
  using b = sim_block;
  return rows<&machine_config::sim>("The run itself.")
      .choice<&b::fidelity>(
          "packet: every packet through every block. message: a message is one transfer over servers with a "
          "rate; faster and approximate.")
      .count<&b::seed>("", 0, UINT64_MAX,
                       "Key of every random draw; equal configs and seeds give equal results.")
      .count<&b::fault_draw>("", 0, UINT64_MAX,
                             "Selects the random draws of all faults' `probability`: another number hits "
                             "other packets. Which bit is hit depends on the fault's seed.")
      .text<&b::build_order>(
          "forward|reverse|shuffle:[0-9]{1,18}",
          "Order in which modules and bindings are built: forward, reverse or shuffle:N. Changes no result.")
      .count<&b::slice_us>("us", 1, 1'000'000, "Simulated time between two checks of progress and signals.")
      .count<&b::limit_ms>("ms", 1, 1'000'000, "Simulated time at which a run is stopped.")
      .count<&b::watchdog_us>(
          "us", 1, 1'000'000'000,
          "Time without progress after which a run with pending events is reported as a deadlock, but at "
          "least twice the machine's longest single step (a packet over its slowest link and through host "
          "memory, an access to each kind of memory, checksums). A long computation counts as progress.")
      .count<&b::firmware_stack_kib>("KiB", 32, 65'536, "Stack of a PE's firmware thread.")
      .count<&b::task_stack_kib>(
          "KiB", 16, 65'536,
          "Stack of each cooperative task on a PE; kernels on chunks of tensors in HBM are tasks, too.")
      .boolean<&b::strict_memory>("Reading memory that was never written ends the run.")
      .boolean<&b::links_as_bytes>("Encodes messages between SIPs to bytes and back. Changes no result.")
      .boolean<&b::check_credits>(
          "Watches the pointers of every queue pair: a credit made or lost, or a message left in a ring by "
          "kernels that have all ended, ends the run. Changes no result.")
      .boolean<&b::dump_on_sighup>(
          "SIGHUP writes the flight recorder, as SIGUSR1 always does; else it ends the program.")
      .table();
}

block_table pod_table() {
  using b = pod_block;
  return rows<&machine_config::pod>("Packages and how they are joined.")
      .count<&b::sips>("", 1, abi::max_sips, "SIPs (packages) of the pod.", address_map)
      .choice<&b::topology>("How SIP links join the SIPs; list takes them from pod.links.")
      .count<&b::columns>(
          "", 0, abi::max_sips,
          "Columns of the 2-D arrangement of SIPs (mesh_2d, torus_2d); 0 is the most nearly square one.")
      .links<&b::links>("Pairs of SIPs joined in both directions, for pod.topology list.")
      .table();
}

block_table sip_table() {
  using b = sip_block;
  return rows<&machine_config::sip>("Dies of a package: a mesh of cubes joined by UCIe.")
      .count<&b::columns>("", 1, abi::max_cubes_per_sip, "Cubes from west to east.")
      .count<&b::rows>("", 1, abi::max_cubes_per_sip, "Cubes from south to north.")
      .table();
}

block_table cube_table() {
  using b = cube_block;
  return rows<&machine_config::cube>("One die.")
      .count<&b::pes>("", 1, abi::control_cpu_unit, "Processing elements of a cube.")
      .table();
}

block_table placement_table() {
  using b = placement_block;
  const std::string place = "[0-9]{1,3}_[0-9]{1,3}";
  const std::string one_place = "auto|" + place;
  const std::string places = one_place + "(," + place + ")*";
  const std::string ports = "auto|[0-9]{1,3}(,[0-9]{1,3})*";
  const std::string port = "([nesw]|p[0-9]{1,3})=" + place;
  return rows<&machine_config::placement>(
             "Where blocks sit, the same in every cube and SIP. A place is COLUMN_ROW, 0_0 in the south-west "
             "corner: 3_0 is the router router_3_0 of a cube, or the cube cube_3_0 of a SIP. Blocks may "
             "share a router.")
      .text<&b::pes>(places, "Router of each PE, in their order; auto: evenly spread.")
      .text<&b::hbm_ports>(places,
                           "Router of each memory channel (hbm.ports), in their order; auto: evenly spread.")
      .text<&b::sram>(one_place, "Router of the SRAM; auto: in the middle.")
      .text<&b::control_cpu>(one_place,
                             "Router of the cube's control CPU; auto: in the middle, beside the SRAM.")
      .text<&b::ucie_columns>(ports,
                              "Columns whose routers at the north and south edge have a port of the UCIe "
                              "link (0,3); packets take the nearest. auto: all.")
      .text<&b::ucie_rows>(ports,
                           "Rows whose routers at the east and west edge have a port of the UCIe link; "
                           "packets take the nearest. auto: all.")
      .text<&b::io_cube>(one_place, "Cube of a SIP that has the host's IO CPU and memory; auto: 0_0.")
      .text<&b::io_cpu>(one_place, "Router of the IO CPU in that cube; auto: 0_0.")
      .text<&b::sip_ports>("auto|" + port + "(," + port + ")*",
                           "Cubes of a SIP's ports to other SIPs (e=3_1,w=0_1): n, e, s, w on rings, meshes "
                           "and tori, else p0, p1 ... in link order; each at the edge it leaves over. auto, "
                           "and ports not listed: the middle of that edge, p0, p1 ... spread around the SIP.")
      .table();
}

block_table pe_table() {
  using b = pe_block;
  return rows<&machine_config::pe>(
             "Processing element: core, vector unit, TCM, DMA. Cycles are of noc.clock_ghz.")
      .count<&b::tcm_kib>("KiB", 16, 1 << 20, "Size of the tightly coupled memory.",
                          "Tenstorrent Wormhole L1 (1464 KiB)")
      .count<&b::tcm_banks>("", 1, 1024, "TCM banks, interleaved by pe.tcm_bank_bytes.", tcm_source)
      .count<&b::tcm_bank_bytes>("B", 1, 1024, "Bytes one bank moves per cycle.", tcm_source)
      .count<&b::tcm_read_cycles>("cycles", 1, 1000, "Latency of a TCM read.", "Tenstorrent Wormhole L1")
      .count<&b::vector_lanes>("", 1, 65'536, "Lanes of 16 bits of the vector unit.",
                               "128 B per cycle and operand: reduction keeps up with one 64 B per cycle port")
      .count<&b::sum_lanes>("", 1, 65'536,
                            "Lanes of 16 bits of the vector unit that reductions use, no more than "
                            "pe.vector_lanes; auto: all. Copies use all.")
      .count<&b::vector_startup_cycles>("cycles", 0, 10'000, "From the vector command to its first element.")
      .count<&b::register_cycles>("cycles", 1, 10'000, "Access to a register by firmware.", wormhole_niu)
      .count<&b::interrupt_cycles>("cycles", 1, 1'000'000'000,
                                   "From an event to the first instruction of the woken firmware.")
      .count<&b::task_switch_cycles>("cycles", 0, 10'000, "Switch between cooperative tasks of one PE.")
      .count<&b::task_quantum_cycles>(
          "cycles", 1, 1'000'000'000,
          "Longest piece of a computation before the other tasks of its PE get their turn.")
      .count<&b::dma_launch_cycles>("cycles", 1, 10'000,
                                    "From the doorbell to the descriptor in the DMA queue.", "iDMA")
      .count<&b::dma_startup_cycles>("cycles", 0, 1'000'000'000,
                                     "From a descriptor to its first memory request.", "iDMA")
      .count<&b::dma_issue_cycles>("cycles", 1, 10'000, "Between two descriptors taken from one port.",
                                   "Tenstorrent tt-npe")
      .count<&b::dma_outstanding>(
          "", 1, 4096,
          "Packets of copies that a DMA engine has in flight, and as many reads of message sources in other "
          "memories; the buffer of fetched packets holds twice as many.")
      .count<&b::dma_channels>("", 1, most_dma_channels,
                               "IPCQ messages of different queue pairs that are sent at one time, a packet "
                               "of each in turn. 1: one message after the other.")
      .count<&b::dma_compute_weight>("", 1, 1000,
                                     "Share of the compute port in the DMA's weighted round-robin.")
      .count<&b::dma_ipcq_weight>("", 1, 1000, "Share of the IPCQ port in the DMA's weighted round-robin.")
      .count<&b::cache_sets>("", 1, 65'536,
                             "Sets of the core's data cache (64-byte lines, write-back, not coherent).")
      .count<&b::cache_ways>("", 1, 64, "Lines of a set.")
      .count<&b::cache_hit_cycles>("cycles", 1, 1000, "Access to a line that is in the data cache.")
      .count<&b::cache_dcci_cycles>(
          "cycles", 1, 1000,
          "Clean and invalidate of one line, without its write to memory; for the whole cache: per set.")
      .count<&b::cache_write_buffer>("", 1, 1024, "Write-backs in flight; a further one waits.")
      .table();
}

block_table ipcq_table() {
  using b = ipcq_block;
  return rows<&machine_config::ipcq>("Inter-PE communication queues. Cycles are of noc.clock_ghz.")
      .count<&b::queue_pairs>("", 1, 512, "Queue pairs (directions) of each PE.")
      .count<&b::n_slots>("", 1, 65'536, "Slots of a receive ring.", ring_source)
      .count<&b::slot_bytes>("B", 64, 1 << 30, "Bytes of a slot: the longest message.", ring_source)
      .choice<&b::rings>("Memory that holds the receive rings.")
      .named("buffer_kind")
      .choice<&b::match>(
          "How a token finds its queue pair: by the address it was written to, or by its sender, which mixes "
          "up two queue pairs to one peer (as on a ring of two) and is kept to show the deadlock.")
      .choice<&b::wait>("Firmware that waits sleeps until an interrupt, or polls.")
      .named("backpressure")
      .count<&b::poll_cycles>("cycles", 1, 1'000'000, "Period of backpressure poll.")
      .count<&b::check_cycles>("cycles", 1, 10'000,
                               "Engine: check for a free slot and address of the next one.")
      .count<&b::match_cycles>("cycles", 1, 1'000'000'000, "Engine: address match of a token or credit.")
      .table();
}

block_table host_table() {
  using b = host_block;
  return rows<&machine_config::host>("Host and launch path of each SIP. Cycles are of noc.clock_ghz.")
      .choice<&b::launch>("Launches travel host, IO CPU, control CPU, PE over the fabric, or arrive at once.")
      .count<&b::io_cpu_cycles>("cycles", 1, 1'000'000, "Cycles of the IO CPU per forwarded packet.")
      .count<&b::control_cpu_cycles>("cycles", 1, 1'000'000,
                                     "Cycles of a cube's control CPU per forwarded packet.")
      .real<&b::staging_gbytes_s>("GB/s", 0.001, 1e6,
                                  "comm.path staged: rate of each SIP to host memory, and from it.",
                                  "PCIe 5.0 x16: 63 GB/s before its own packets")
      .real<&b::staging_latency_ns>("ns", 1, 1e9,
                                    "comm.path staged: from the last byte in host memory to its first read.")
      .count<&b::host_cycles>("cycles", 1, 1'000'000, "Cycles of the host to prepare a launch.")
      .table();
}

block_table ccl_table() {
  using b = ccl_block;
  return rows<&machine_config::ccl>("Collectives: what their kernels and patterns need.")
      .choice<&b::root>("Cube that holds the root of intercube.")
      .spelling("centre", "center")
      .choice<&b::between_sips>("Pattern between the root cubes of the SIPs in intercube.")
      .named("inter_sip")
      .spelling("mesh_2d", "torus_2d")
      .count<&b::kernel_call_cycles>("cycles", 0, 1'000'000, "Firmware overhead of each runtime call.")
      .choice<&b::install>(
          "How the hosts write the queue-pair registers: by debug transport at no cost, or in packets over "
          "the fabric before the first launch.")
      .count<&b::chunks>("", 1, 65536,
                         "Chunks that pipelined and tree algorithms cut the vector into, so that levels "
                         "overlap; auto: from vector, depth and the cost of one message.")
      .list<&b::levels>(
          "(cube|row|sip|pod|[2-9]|[1-9][0-9]{1,3}):(ring|tree|direct)(:[1-9][0-9]{0,4})?",
          "Levels of the all-reduce hierarchical, innermost first: GROUP:TREE[:CHUNKS], separated by commas. "
          "GROUP joins the ranks of a cube, of a row of cubes, of a SIP, of the pod, or so many in the order "
          "of the ring; TREE leads to their first rank, which is the group's in the next level: ring (from "
          "both sides), tree (binary) or direct. CHUNKS: otherwise those of ccl.chunks.")
      .choice<&b::accumulate>(
          "Where f16 and bf16 are rounded: at every reduction; when a sum is sent or stored; at the end, "
          "with f32 on the wire.")
      .named("accumulation")
      .list<&b::start_delays>(R"([^=,]+=[0-9]{1,12}(\.[0-9]+)?)",
                              "PEs that begin every launch late: GLOB=NS, separated by commas, GLOB over PE "
                              "paths (pod.sip0.cube_0_0.pe1=500); the last that matches counts.")
      .count<&b::connect_ns>("ns", 0, 1'000'000'000,
                             "Launch of a collective: time to open a rank's connections to its neighbors.")
      .count<&b::entry_signal_ns>("ns", 0, 1'000'000'000,
                                  "Launch of a collective: its entry barrier takes this time for each rank "
                                  "but one, as its signals pass from rank to rank.")
      .count<&b::exit_ns>("ns", 0, 1'000'000'000, "End of a collective: time to close a rank's connections.")
      .count<&b::jitter_ns>("ns", 1, 1'000'000'000,
                            "Largest delay of a PE's start in a draw of --jitter N; --jitter N:NS replaces "
                            "it. Delays are uniform and drawn by sim.seed.")
      .count<&b::barrier_radix>(
          "", 1, 64, "Radix of group_dissemination: in each round a rank signals radix - 1 others.")
      .count<&b::barrier_pollers>(
          "", 1, 64, "Parallelism of centralized_pull: at most this many cores of a rank share the polling.",
          "assumption: as the default of shmem libraries for NPUs")
      .count<&b::barrier_start>("", 0, UINT32_MAX,
                                "Initial value of the counter and flags of a team; counters run modulo 2^32.")
      .count<&b::barrier_skew_ns>(
          "ns", 0, 1'000'000'000,
          "Largest random delay of a PE before it enters a barrier, drawn by sim.seed.")
      .count<&b::barrier_repeats>(
          "", 1, 1'000'000,
          "Barriers in one launch, one right after the other; time_ns is that of all of them.")
      .count<&b::signal_poll_cycles>("cycles", 1, 1'000'000,
                                     "Pause between two reads of a flag in global memory.")
      .list<&b::errata>(
          "[a-z_]+",
          "Firmware defects of barriers switched on (--collective barrier, or a workload with one; refused "
          "elsewhere): none, or names from the table of docs/barriers.md, separated by commas.")
      .count<&b::root_rank>("ranks", 0, 1'000'000,
                            "Rank that broadcasts and scatters, and to which reduce and gather go.")
      .list<&b::algorithm_rules>(
          "[!-~]+",
          "Algorithms that --algorithm auto takes instead of estimating: COLLECTIVE[:FROM-TO]=ALGORITHM,... "
          "with sizes as for --bytes; the first match counts.",
          "NCCL_ALGO")
      .text<&b::tuner>("[ -~]*",
                       "CSV file of algorithm rules (collective, min_bytes, max_bytes, algorithm; optional "
                       "rank_set, ranks), used after algorithm_rules.",
                       "NCCL tuner plugin")
      .choice<&b::tensors>(
          "Memory that holds input and output of a collective: each PE's TCM, or the HBM ports nearest to "
          "it, from which chunks are copied to TCM while others are processed, or slots are sent directly.")
      .named("tensor_kind")
      .count<&b::tensor_chunk_bytes>(
          "B", 1, 1U << 30,
          "Bytes of a rank's vector that are processed at a time with tensors in HBM, rounded down to whole "
          "elements (of every block); auto: from size, ranks and the cost of a message, at most a third of "
          "the TCM; no chunks for an all_to_all by mesh_steps whose slots do not cross stripes.")
      .count<&b::tensor_stripe_bytes>("B", 64, 1U << 30,
                                      "Bytes of a tensor in HBM on one port before it goes on at the next; "
                                      "one copy of the DMA moves no more.")
      .table();
}

block_table trace_table() {
  using b = trace_block;
  return rows<&machine_config::trace>("What observers record.")
      .text<&b::vcd_scope>("[!-~]+", "Glob over instance paths: what goes into the waveform.")
      .count<&b::flight_operations>("", 0, 65'536,
                                    "Operations of each PE that the flight recorder keeps; 0: no recorder.")
      .real<&b::vcd_from_ns>("ns", 0, 1e12, "Changes before this time are not in the waveform.")
      .real<&b::vcd_to_ns>("ns", 0, 1e12, "Changes after this time are not in the waveform.")
      .boolean<&b::vcd_credits>(
          "Waveforms show, for each VC of a link, the sender's credits in flits. They are the largest group "
          "of signals.")
      .text<&b::timeline_scope>("[!-~]+", "Glob over instance paths: whose tracks go into the timeline.")
      .count<&b::timeline_packets>("", 0, 1'000'000'000,
                                   "Packets on links that the timeline draws; a mark in the timeline shows "
                                   "where later ones are left out.")
      .count<&b::path_events>("events", 0, 1'000'000'000,
                              "Events of a launch kept for its critical path; a launch with more events has "
                              "a note and no critical path. 0: never kept.")
      .table();
}

}  // namespace diecast::config
