// SPDX-License-Identifier: Apache-2.0
// The configuration of a machine and a run: one struct per block, with its defaults; unit,
// range, description and source of every key are in the block's field table (tables*.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/config/ccl_tables.hpp"
#include "models/config/comm_block.hpp"
#include "models/config/energy_block.hpp"
#include "models/types/ids.hpp"

namespace diecast::config {

/// A size that follows from other keys unless given: "auto" in JSON.
using auto_count = std::optional<std::uint64_t>;
/// A real number, or auto.
using auto_real = std::optional<double>;

/// Unit that a run simulates: packets through every block, or transfers over servers with a rate.
enum class run_fidelity : std::uint8_t { packet, message };

struct sim_block {
  std::uint64_t seed{1};
  std::uint64_t fault_draw{0};
  std::string build_order{"forward"};  ///< forward | reverse | shuffle:N
  std::uint64_t slice_us{1};
  std::uint64_t limit_ms{10'000};
  std::uint64_t watchdog_us{1000};  ///< time without progress; polling firmware never runs out of events
  std::uint64_t firmware_stack_kib{128};
  std::uint64_t task_stack_kib{64};
  bool strict_memory{false};
  bool links_as_bytes{false};
  bool check_credits{false};
  bool dump_on_sighup{false};
  run_fidelity fidelity{run_fidelity::packet};
};

enum class pod_topology : std::uint8_t { ring, mesh_2d, torus_2d, fully_connected, list };

struct pod_link {
  std::uint32_t from{}, to{};
};

struct pod_block {
  std::uint64_t sips{2};
  pod_topology topology{pod_topology::ring};
  std::uint64_t columns{0};     ///< columns of a 2-D pod; 0: the most nearly square shape
  std::vector<pod_link> links;  ///< pod.topology = list; each pair is a link in both directions
};

struct sip_block {
  std::uint64_t columns{4}, rows{4};
};

struct cube_block {
  std::uint64_t pes{8};
};

/// Places of blocks: "auto" or a list; placement.hpp reads the lists.
struct placement_block {
  std::string pes{"auto"};           ///< routers of a cube
  std::string hbm_ports{"auto"};     ///< routers of the HBM ports
  std::string sram{"auto"};          ///< router of the SRAM
  std::string control_cpu{"auto"};   ///< router of the control CPU
  std::string ucie_columns{"auto"};  ///< columns with a port on the north and south edge
  std::string ucie_rows{"auto"};     ///< rows with a port on the east and west edge
  std::string io_cube{"auto"};       ///< cube of a SIP that has the IO CPU
  std::string io_cpu{"auto"};        ///< router of the IO CPU in that cube
  std::string sip_ports{"auto"};     ///< cubes by the labels of their ports
};

inline constexpr std::size_t most_dma_channels = 64;  ///< upper end of pe.dma_channels

struct pe_block {
  std::uint64_t tcm_kib{1464};
  std::uint64_t tcm_banks{32};
  std::uint64_t tcm_bank_bytes{16};
  std::uint64_t tcm_read_cycles{8};
  std::uint64_t vector_lanes{64};  ///< lanes of 16 bits
  auto_count sum_lanes{};          ///< lanes that add in reductions, no more than vector_lanes; auto: all
  std::uint64_t vector_startup_cycles{10};
  std::uint64_t register_cycles{7};
  std::uint64_t interrupt_cycles{10};
  std::uint64_t task_switch_cycles{12};
  std::uint64_t task_quantum_cycles{200};
  std::uint64_t dma_launch_cycles{1};
  std::uint64_t dma_startup_cycles{40};
  std::uint64_t dma_issue_cycles{22};  ///< between two descriptors taken from one port
  std::uint64_t dma_outstanding{16};   ///< packets in flight to or from memory
  std::uint64_t dma_channels{1};       ///< messages of different queue pairs sent packet by packet in turn
  std::uint64_t dma_compute_weight{1};
  std::uint64_t dma_ipcq_weight{1};
  std::uint64_t cache_sets{64};
  std::uint64_t cache_ways{4};
  std::uint64_t cache_hit_cycles{2};
  std::uint64_t cache_dcci_cycles{4};   ///< per line; dcci_all reads every set
  std::uint64_t cache_write_buffer{8};  ///< lines written back and not acknowledged

  /// Bytes of an operand that the vector unit takes per cycle.
  [[nodiscard]] std::uint64_t vector_bytes(bool reduces) const {
    return 2 * (reduces && sum_lanes ? std::min(*sum_lanes, vector_lanes) : vector_lanes);
  }
};

enum class match_policy : std::uint8_t { address, sender };
enum class backpressure : std::uint8_t { sleep, poll };

struct ipcq_block {
  std::uint64_t queue_pairs{16};
  std::uint64_t n_slots{4};
  std::uint64_t slot_bytes{8192};
  buffer_kind rings{buffer_kind::tcm};  ///< key buffer_kind
  match_policy match{match_policy::address};
  backpressure wait{backpressure::sleep};  ///< key backpressure
  std::uint64_t poll_cycles{100};
  std::uint64_t check_cycles{2};  ///< free-slot check and address of the next slot
  std::uint64_t match_cycles{2};  ///< address match of a token or credit
};

/// Messages between PEs and the unit that matches them; docs/tag-matching.md.
struct tag_match_block {
  std::uint64_t entries{16};
  std::uint64_t ring_messages{2};  ///< per peer
  std::uint64_t heap_kib{64};
  std::uint64_t eager_bytes{2048};
  std::uint64_t rndv_inline_bytes{0};
  std::uint64_t rndv_max_bytes{1 << 20};
  std::uint64_t match_cycles{4};
  std::uint64_t entry_cycles{1};
  std::uint64_t command_cycles{4};
  std::uint64_t software_entry_cycles{12};
  std::uint64_t offload_min_bytes{0};
  bool offload_wildcards{true};
  std::uint64_t offload_force_bytes{1 << 20};
  /// Bytes of a ring slot: the longest message that may wait there.
  [[nodiscard]] std::uint64_t slot_bytes() const { return std::max(eager_bytes, rndv_inline_bytes); }
};

enum class noc_flow : std::uint8_t { virtual_cut_through, wormhole };
enum class noc_interleave : std::uint8_t { automatic, classes, vcs };
enum class sideband_kind : std::uint8_t { wires, vc };
enum class noc_topology : std::uint8_t { mesh, torus, ring, crossbar, torus_oneway };
enum class noc_replay : std::uint8_t { open, closed };
enum class vc_policy : std::uint8_t { per_flow, dynamic };
enum class arbitration : std::uint8_t { round_robin, weighted };

struct noc_block {
  noc_topology topology{noc_topology::mesh};
  std::uint64_t columns{4};
  std::uint64_t rows{4};
  double clock_ghz{1.0};
  std::uint64_t flit_bytes{64};
  std::uint64_t hop_cycles{9};
  std::uint64_t link_cycles{1};     ///< wire cycles within hop_cycles
  std::uint64_t routing_cycles{0};  ///< route computation within hop_cycles; not overlapped with the packet
  /// VC allocation of a head behind another packet; other stages are pipelined.
  std::uint64_t vc_alloc_cycles{0};
  std::uint64_t switch_alloc_cycles{0};  ///< switch allocation within hop_cycles
  auto_count traversal_cycles;           ///< crossbar cycles within hop_cycles; auto: what the others leave
  std::uint64_t credit_cycles{2};
  std::uint64_t ni_in_cycles{5};   ///< terminal to first router
  std::uint64_t ni_out_cycles{5};  ///< last router to terminal
  std::uint64_t max_packet_bytes{1024};
  auto_count vc_buffer_flits;        ///< auto: packet + hop credit loop
  auto_count sideband_buffer_flits;  ///< auto: covers the loop with one-flit packets
  noc_flow flow{noc_flow::virtual_cut_through};
  noc_interleave interleave{noc_interleave::automatic};
  sideband_kind sideband{sideband_kind::vc};
  auto_count vcs;  ///< per class and leg; auto: the fewest that vc_policy and topology need
  vc_policy vcs_taken{vc_policy::per_flow};       ///< key vc_policy
  arbitration arbiter{arbitration::round_robin};  ///< key arbitration
  std::uint64_t request_weight{1}, response_weight{1}, comm_weight{1}, message_weight{1}, sideband_weight{1};
  bool vc_round_robin{};    ///< a head tries the VCs of an output in turn
  bool leg_vcs{true};       ///< one VC per leg; false shows the deadlock that legs prevent
  bool dateline_vcs{true};  ///< two VC sets around wrap links; false shows the deadlock they prevent
  bool multicast{false};    ///< routers copy packets down a tree
  std::uint64_t multicast_cycles{2};
  bool reduce{false};  ///< routers combine packets up a tree
  std::uint64_t reduce_cycles{4};
  std::uint64_t reduce_bytes_per_cycle{256};
  std::uint64_t reduce_buffer_kib{32};   ///< per input of a router
  std::string directions{"east_north"};  ///< directions of torus_oneway, by network
  std::uint64_t networks{1};             ///< side by side, of transactions
  // Transactions (diecast-noc --traffic transactions:FILE); cycles of clock_ghz.
  noc_replay replay{noc_replay::open};
  std::uint64_t window{64};          ///< transactions of a core and network in flight
  std::uint64_t request_queue{4};    ///< requests that a core may have queued
  std::uint64_t access_cycles{60};   ///< request at a core to its response
  double tile_bytes_per_cycle{1e6};  ///< read from the memory of a core, for all networks
  std::uint64_t completion_cycles{16};
  std::uint64_t barrier_cycles{0};  ///< the least of one
  std::string dram_tiles{"none"};   ///< terminals of each controller
  std::uint64_t dram_request_queue{6};
  std::uint64_t dram_access_cycles{160};
  double dram_bytes_per_cycle{24};  ///< per memory controller
};

enum class flit_format : std::uint8_t { raw, flit_68, flit_256 };
enum class ucie_package : std::uint8_t { automatic, standard, advanced };

struct ucie_block {
  ucie_package package{ucie_package::automatic};
  std::uint64_t lanes{64};
  double gt_s{16.0};
  std::uint64_t modules{2};
  double latency_ns{11.0};                    ///< FDI to FDI, one crossing
  flit_format format{flit_format::flit_256};  ///< key flit_format
  auto_count buffer_flits;                    ///< per VC, in NoC flits; auto: bandwidth x round trip
  auto_count retry_flits;  ///< retry buffer of the link in UCIe flits; auto: bandwidth x round trip
  auto_real ber;           ///< bit error rate; auto: by rate, see models/timing/link.hpp
  auto_real pj_per_bit;    ///< on the wire; auto: by package and rate
  bool operator==(const ucie_block&) const = default;
};

struct sip_link_block {
  double gbytes_s{64.0};  ///< payload rate per direction; what one NoC port can feed
  double latency_ns{100.0};
  auto_count buffer_flits;
  double pj_per_bit{5.0};
  bool operator==(const sip_link_block&) const = default;
};

enum class hbm_model : std::uint8_t { bank, simple };
enum class hbm_bank_hash : std::uint8_t { none, row_xor };
enum class hbm_scheduler : std::uint8_t { fr_fcfs, fcfs };
enum class hbm_page_policy : std::uint8_t { open, closed };
enum class hbm_refresh : std::uint8_t { all_bank, per_bank, none };
enum class hbm_row_bus : std::uint8_t { half_clock, full_clock };

struct hbm_block {
  hbm_model model{hbm_model::bank};
  std::uint64_t ports{16};  ///< channels of a cube, each at a NoC terminal
  std::uint64_t port_mib{1024};
  std::uint64_t pseudo_channels{2};  ///< per port
  std::uint64_t sids{2};             ///< stack IDs: groups of dies that share a pseudo-channel
  std::uint64_t bank_groups{4};
  std::uint64_t banks_per_group{4};
  std::uint64_t page_bytes{1024};
  std::uint64_t burst_bytes{32};
  std::string address_map{"pc,bank_group,column,bank,sid,row"};  ///< fields from the burst upwards
  hbm_bank_hash bank_hash{hbm_bank_hash::none};

  hbm_scheduler scheduler{hbm_scheduler::fr_fcfs};
  hbm_page_policy page_policy{hbm_page_policy::open};
  hbm_refresh refresh{hbm_refresh::all_bank};
  std::uint64_t read_queue{128};  ///< bursts, per port
  std::uint64_t write_queue{64};  ///< bursts, per port
  double drain_high{0.8};         ///< share of write_queue at which writes start to drain
  double drain_low{0.2};          ///< share of write_queue at which draining ends

  double burst_ns{1.25};  ///< data-bus time of one burst: two command clocks
  hbm_row_bus row_bus{hbm_row_bus::half_clock};
  double cl_ns{12.5};
  double cwl_ns{6.25};
  double trcd_rd_ns{19.4};
  double trcd_wr_ns{9.4};
  double trp_ns{16.25};
  double tras_ns{28.1};
  double trc_ns{45.0};
  double trtp_ns{5.6};
  double twr_ns{20.6};
  double tccd_l_ns{2.5};
  double tccd_r_ns{1.875};
  double trrd_s_ns{2.5};
  double trrd_l_ns{3.1};
  double tfaw_ns{15.0};
  double twtr_s_ns{4.4};
  double twtr_l_ns{6.25};
  double trtw_ns{12.5};
  double tppd_ns{1.25};
  double trefi_ns{3900.0};
  double trfc_ns{350.0};
  double trfcpb_ns{200.0};
  double trrefd_ns{5.0};

  double controller_ns{20.0};
  double simple_gbytes_s{32.0};  ///< model simple: per pseudo-channel
  double simple_latency_ns{0.0};
  std::uint64_t queue{64};  ///< model simple: transactions accepted before END_REQ is held back

  bool operator==(const hbm_block&) const = default;
};

struct sram_block {
  std::uint64_t kib{16'384};
  double gbytes_s{512.0};
  double latency_ns{2.0};
};

enum class launch_kind : std::uint8_t { modelled, ideal };

struct host_block {
  launch_kind launch{launch_kind::modelled};
  std::uint64_t io_cpu_cycles{100};  ///< per packet forwarded
  std::uint64_t control_cpu_cycles{50};
  std::uint64_t host_cycles{200};  ///< host cycles to prepare one launch
  double staging_gbytes_s{50.0};   ///< comm.path staged: of each SIP to and from host memory
  double staging_latency_ns{1000.0};
};

enum class root_place : std::uint8_t { center, corner };
enum class inter_sip : std::uint8_t { ring_1d, torus_2d, mesh_2d_no_wrap };
enum class accumulation : std::uint8_t { elem, f32_acc, f32_wire };
enum class install_kind : std::uint8_t { backdoor, timed };
/// Memory that holds the tensors of a collective.
enum class tensor_kind : std::uint8_t { tcm, hbm };

struct ccl_block {
  root_place root{root_place::center};
  inter_sip between_sips{inter_sip::ring_1d};  ///< key inter_sip
  std::uint64_t kernel_call_cycles{20};        ///< firmware overhead per runtime call
  install_kind install{install_kind::backdoor};
  auto_count chunks{};                          ///< chunks of pipelined algorithms
  accumulation accumulate{accumulation::elem};  ///< key accumulation
  std::uint64_t barrier_radix{8};               ///< radix of group_dissemination
  std::uint64_t barrier_pollers{8};             ///< cores of a rank that poll flags in centralized_pull
  std::uint64_t barrier_start{0};               ///< counter of a new team
  std::uint64_t barrier_skew_ns{0};             ///< PEs enter up to so much later, at random
  std::uint64_t barrier_repeats{1};             ///< barriers in one launch
  std::uint64_t signal_poll_cycles{20};         ///< between two reads of a flag
  std::string errata{"none"};                   ///< firmware defects, by name
  std::uint64_t root_rank{0};                   ///< root of broadcast, reduce, gather and scatter
  std::string algorithm_rules{};                ///< rules for --algorithm auto, see models/cost/rules.hpp
  std::string tuner{};                          ///< CSV file, the same
  std::string start_delays{};                   ///< "GLOB=NS,GLOB=NS", models/config/placement.hpp
  std::uint64_t connect_ns{0};                ///< connection set-up of a collective, before its entry barrier
  std::uint64_t entry_signal_ns{0};           ///< time of the entry barrier for each other rank
  std::uint64_t exit_ns{0};                   ///< time after the end of a launch
  std::uint64_t jitter_ns{50};                ///< PEs start up to so much later in the draws of --jitter
  tensor_kind tensors{tensor_kind::tcm};      ///< key tensor_kind
  auto_count tensor_chunk_bytes{};            ///< tensors in HBM: of a rank's vector, at a time in TCM
  std::uint64_t tensor_stripe_bytes{16'384};  ///< tensors in HBM: before the next of the rank's ports
  /// Levels of the algorithm hierarchical (sw/collectives/trees/nested_trees.hpp).
  std::string levels{"cube:ring,sip:ring,pod:ring"};
};

struct trace_block {
  std::string vcd_scope{"*"};
  std::uint64_t flight_operations{64};  ///< operations of each PE kept by the flight recorder; 0: none
  double vcd_from_ns{};
  double vcd_to_ns{1e12};
  bool vcd_credits{};  ///< waveform signals of the credits of links, per VC
  std::string timeline_scope{"*"};
  std::uint64_t timeline_packets{500'000};  ///< drawn; later ones are counted only
  std::uint64_t path_events{20'000'000};
};

/// Changes single instances: what is set replaces the block's value at every link, PE, memory channel or die
/// whose name matches. A link is named by either of its ends and changes in both directions.
struct instance_override {
  std::string match{};  ///< glob over instance names, "pod.sip0.cube_1_2.pe3"
  std::optional<bool> enabled{};
  std::optional<std::uint64_t> modules{};  ///< UCIe only, as gt_s and ber
  std::optional<double> gt_s{};
  std::optional<double> latency_ns{};
  std::optional<double> ber{};
  std::optional<double> gbytes_s{};             ///< SIP links only
  std::optional<std::uint64_t> vector_lanes{};  ///< PEs only, as those below
  std::optional<std::uint64_t> tcm_read_cycles{};
  std::optional<std::uint64_t> register_cycles{};
  std::optional<std::uint64_t> dma_startup_cycles{};
  std::optional<std::uint64_t> dma_issue_cycles{};
  std::optional<std::uint64_t> dma_outstanding{};
  std::optional<std::uint64_t> hop_cycles{};  ///< dies only
  bool operator==(const instance_override&) const = default;
};

struct machine_config {
  sim_block sim;
  pod_block pod;
  sip_block sip;
  cube_block cube;
  placement_block placement;
  pe_block pe;
  ipcq_block ipcq;
  tag_match_block tag_match;
  noc_block noc;
  ucie_block ucie;
  sip_link_block sip_link;
  hbm_block hbm;
  sram_block sram;
  host_block host;
  ccl_block ccl;
  energy_block energy;
  comm_block comm;
  trace_block trace;
  std::vector<fault_setting> faults;
  std::vector<instance_override> overrides;  ///< overrides in order: a later one wins
  ccl_tables ccl_named;                      ///< keys ccl.algorithms and ccl.patterns

  [[nodiscard]] machine_shape shape() const {
    return {static_cast<std::uint32_t>(pod.sips), static_cast<std::uint32_t>(sip.columns),
            static_cast<std::uint32_t>(sip.rows), static_cast<std::uint32_t>(cube.pes)};
  }
};

}  // namespace diecast::config
