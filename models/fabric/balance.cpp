// SPDX-License-Identifier: Apache-2.0
// The balance table: what every part of the machine can carry, each buffer against the loop it must
// cover, and a warning where one part starves or cannot be fed by another.
#include <algorithm>
#include <fmt/format.h>

#include "models/config/placement.hpp"
#include "models/config/population.hpp"
#include "models/fabric/topology.hpp"
#include "models/timing/dram.hpp"
#include "models/timing/link.hpp"

namespace diecast::fabric {
namespace {

/// Rates that are equal by design may differ in the last digit.
constexpr double slack = 1e-9;
bool less(double a, double b) { return a < b * (1.0 - slack); }

/// An address-independent neighbor pair for loop latencies: PE 0 of cube 0 and of the cube next to it,
/// or, in a SIP of one cube, the last PE of the same cube.
abi::node_address next_pe(const topology& t, const config::machine_config& c) {
  for (unsigned s = 0; s < sides; ++s) {
    const auto cube = t.neighbor(cube_id{0}, static_cast<side>(s));
    if (cube) return {0, static_cast<std::uint16_t>(cube->value), 0};
  }
  return {0, 0, static_cast<terminal_index>(c.cube.pes - 1)};
}

/// Links that an override has changed alike.
template <class Block>
struct changed_links {
  Block settings;
  std::string first;  ///< name of the first link
  std::size_t count{1};

  [[nodiscard]] std::string name() const {
    return count == 1 ? first : fmt::format("{} and {} like it", first, count - 1);
  }
};

template <class Block>
void add_changed(std::vector<changed_links<Block>>& all, const Block& usual, const Block& settings,
                 const std::string& name) {
  if (settings == usual) return;
  const auto alike = [&settings](const auto& c) { return c.settings == settings; };
  const auto at = std::ranges::find_if(all, alike);
  if (at == all.end()) {
    all.push_back({settings, name});
  } else {
    ++at->count;
  }
}

class balance_table {
 public:
  balance_table(const topology& t, const config::machine_config& config) : t_(t), c_(config) {}

  std::vector<balance_row> rows() {
    pe_rows();
    noc_rows();
    die_rows();
    sip_rows();
    buffer_rows();
    window_rows();
    changed_rows();
    return std::move(rows_);
  }

 private:
  static double d(std::uint64_t n) { return static_cast<double>(n); }
  [[nodiscard]] double ghz() const { return c_.noc.clock_ghz; }
  [[nodiscard]] double link_rate() const { return d(c_.noc.flit_bytes) * ghz(); }
  /// Payload rate of a flit rate, without header flits.
  [[nodiscard]] double payload_share() const {
    const std::uint64_t flits = packet_flits();
    return d(flits - 1) / d(flits);
  }
  [[nodiscard]] std::uint32_t packet_flits() const {
    return abi::flits_of(static_cast<std::uint32_t>(c_.noc.max_packet_bytes),
                         static_cast<std::uint32_t>(c_.noc.flit_bytes));
  }
  void add(std::string what, double rate, std::string detail, bool bad = false, std::string warning = {}) {
    rows_.push_back({std::move(what), rate, std::move(detail), bad ? std::move(warning) : std::string{}});
  }

  void pe_rows() {
    const double ni = link_rate();
    const double vector = d(c_.pe.vector_bytes(true)) * ghz();
    const double tcm = d(c_.pe.tcm_banks * c_.pe.tcm_bank_bytes) * ghz();
    add("PE network interface", ni, fmt::format("{} B per cycle each way", c_.noc.flit_bytes));
    add("PE vector unit", vector, fmt::format("{} lanes of 2 B, per operand", c_.pe.vector_bytes(true) / 2),
        less(vector, ni),
        fmt::format("reduces slower than the network interface delivers ({:.1f} GB/s)", ni));
    // A reduce-scatter at wire rate writes what arrives, reads it and the local operand, writes the
    // result and reads it for sending: five streams.
    add("PE TCM", tcm, fmt::format("{} banks x {} B per cycle", c_.pe.tcm_banks, c_.pe.tcm_bank_bytes),
        less(tcm, 5 * ni), fmt::format("a reduce-scatter at wire rate moves {:.1f} GB/s", 5 * ni));
  }

  /// Router-to-router links of a cube over its middle, in each direction; 0 when it has one router.
  [[nodiscard]] std::uint64_t links_across() const {
    const auto& layout = t_.layout({}, {});
    const bool in_one_row = c_.noc.topology == config::noc_topology::ring;
    const bool along_x = in_one_row || layout.columns >= layout.rows;
    const auto half_of = [&](router_index r) {
      if (in_one_row) return 2 * r >= layout.routers();
      return along_x ? 2 * (r % layout.columns) >= layout.columns : 2 * (r / layout.columns) >= layout.rows;
    };
    std::uint64_t across = 0;
    for (router_index r = 0; r < layout.routers(); ++r) {
      const unsigned first = static_cast<unsigned>(along_x ? side::east : side::north);
      for (const unsigned s : {first, static_cast<unsigned>(opposite(static_cast<side>(first)))}) {
        if (!t_.has_side(r, static_cast<side>(s)) || half_of(r)) continue;
        across += half_of(t_.next_router(r, static_cast<side>(s))) ? 1 : 0;
      }
    }
    return across;
  }

  void noc_rows() {
    const std::uint64_t cut = links_across();
    add("NoC link", link_rate(),
        fmt::format("{} B flits at {} GHz, {:.1f} GB/s after headers", c_.noc.flit_bytes, ghz(),
                    link_rate() * payload_share()));
    if (cut != 0) add("cube bisection", d(cut) * link_rate(), fmt::format("{} links each way", cut));
    if (const std::uint64_t ports = fewest_ports(); ports > 0) {
      const std::string count =
          ports == c_.hbm.ports ? std::to_string(ports) : fmt::format("{} (of {})", ports, c_.hbm.ports);
      const double port = timing::port_gbytes_s(c_.hbm);
      add("cube HBM", d(ports) * port, fmt::format("{} ports of {:.1f} GB/s", count, port),
          less(link_rate(), port), fmt::format("a port's NoC link carries only {:.1f} GB/s", link_rate()));
    }
    add("cube SRAM", c_.sram.gbytes_s, fmt::format("behind a {:.1f} GB/s NoC link", link_rate()));
  }

  /// HBM ports of the cube that has the fewest.
  [[nodiscard]] std::uint64_t fewest_ports() const {
    std::uint64_t fewest = c_.hbm.ports;
    for (std::uint32_t i = 0; i < t_.shape().cubes(); ++i) {
      const sip_id sip{i / t_.shape().cubes_per_sip()};
      fewest = std::min<std::uint64_t>(fewest,
                                       t_.channels().count_of(sip, cube_id{i % t_.shape().cubes_per_sip()}));
    }
    return fewest;
  }

  void die_rows() {
    const machine_shape& s = t_.shape();
    if (s.cubes_per_sip() == 1) return;
    const double payload = timing::ucie_payload_gbytes_s(c_.ucie);
    const double raw = timing::ucie_raw_gbytes_s(c_.ucie);
    for (const bool along_x : {true, false}) {
      if ((along_x ? s.cube_columns : s.cube_rows) == 1) continue;
      const std::uint64_t ports = config::ports_of_edge(c_, along_x).size();
      add(along_x ? "die edge, east and west" : "die edge, north and south", d(ports) * link_rate(),
          fmt::format("{} edge routers", ports), less(d(ports) * link_rate(), payload),
          fmt::format("cannot feed the UCIe side ({:.1f} GB/s)", payload));
    }
    add("UCIe side", payload,
        fmt::format("{} modules x {} lanes x {} GT/s = {:.1f} GB/s raw", c_.ucie.modules, c_.ucie.lanes,
                    c_.ucie.gt_s, raw));
    const std::uint64_t cut = s.cube_columns >= s.cube_rows ? s.cube_rows : s.cube_columns;
    add("SIP bisection", d(cut) * payload, fmt::format("{} UCIe sides each way", cut));
  }

  void sip_rows() {
    if (t_.sip_links().empty()) return;
    const double rate = c_.sip_link.gbytes_s;
    add("SIP link", rate,
        fmt::format("{} ns, {} links each way", c_.sip_link.latency_ns, t_.sip_links().size() / 2),
        less(link_rate(), rate), fmt::format("its NoC port carries only {:.1f} GB/s", link_rate()));
    std::uint64_t cut = 0;
    double cut_rate = 0;
    for (std::uint32_t i = 0; i < t_.sip_links().size(); ++i) {
      const sip_link& l = t_.sip_links()[i];
      if (l.from.sip >= t_.shape().sips / 2 || l.to.sip < t_.shape().sips / 2) continue;
      ++cut;
      cut_rate += t_.sip_link_settings(i).gbytes_s;
    }
    add("pod, first half of the SIPs to the second", cut_rate, fmt::format("{} SIP links", cut));
  }

  /// Rate that `flits` of buffer sustain over a loop, against the rate wanted.
  void buffer(const std::string& what, std::uint64_t flits, double wanted, double loop_ns,
              std::uint64_t whole_packet, const char* key) {
    const double held = d(flits * c_.noc.flit_bytes);
    const double rate = std::min(wanted, held / loop_ns);
    std::string warning;
    if (flits < whole_packet) {
      warning = fmt::format("{} holds less than a packet of {} flits", key, whole_packet);
    } else if (less(rate, wanted)) {
      warning =
          fmt::format("{} sustains only {:.1f} GB/s over its {:.1f} ns credit loop", key, rate, loop_ns);
    }
    add(what, rate, fmt::format("{} flits against {:.1f} GB/s x {:.1f} ns", flits, wanted, loop_ns),
        !warning.empty(), warning);
  }

  void buffer_rows() {
    // Cut-through grants a packet when all of it fits, so its own length is part of the loop.
    const std::uint64_t packet = packet_flits();
    const std::uint64_t hop = c_.noc.hop_cycles + c_.noc.credit_cycles;
    buffer("NoC VC buffer", vc_buffer_flits(c_), link_rate(), d(packet + hop) / ghz(), packet,
           "noc.vc_buffer_flits");
    buffer("NoC sideband buffer", sideband_buffer_flits(c_), link_rate(), d(1 + hop) / ghz(), 1,
           "noc.sideband_buffer_flits");
    if (t_.shape().cubes_per_sip() > 1) {
      link_buffer("UCIe VC buffer", ucie_buffer_flits(c_, c_.ucie), timing::ucie_timing_of(c_, c_.ucie),
                  "ucie.buffer_flits");
      retry_row("UCIe retry buffer", c_.ucie);
    }
    if (!t_.sip_links().empty()) {
      link_buffer("SIP link VC buffer", sip_link_buffer_flits(c_, c_.sip_link),
                  timing::sip_link_timing_of(c_, c_.sip_link), "sip_link.buffer_flits");
    }
  }

  /// Links take credits for whole packets, from when one begins until its credit is back.
  void link_buffer(const std::string& what, std::uint64_t flits, const timing::link_timing& link,
                   const char* key) {
    const std::uint64_t packet = packet_flits();
    const double loop_ns =
        (link.serialization(packet) + link.latency * 2 + link.receiver.cycles(packet + 1)).ns();
    buffer(what, flits < packet ? flits : flits / packet * packet, link.gbytes_s, loop_ns, packet, key);
  }

  void retry_row(const std::string& what, const config::ucie_block& u) {
    const timing::link_timing link = timing::ucie_timing_of(c_, u);
    if (!link.framed()) return;
    const std::uint32_t frames = timing::ucie_retry_frames(c_, u);
    const double share = timing::retry_share(link, frames);
    const double rate = share * link.gbytes_s;
    add(what, rate,
        fmt::format("{} flits of {} B against {:.1f} GB/s raw x {:.1f} ns", frames, link.frame_wire_bytes,
                    timing::ucie_raw_gbytes_s(u), 2 * u.latency_ns),
        less(rate, link.gbytes_s),
        fmt::format("ucie.retry_flits sustains only {:.1f} GB/s of payload over its round trip", rate));
  }

  /// Bytes in flight that a PE's window allows, against what its link moves in a round trip.
  void window(const std::string& what, std::uint64_t bytes, double loop_ns, const std::string& key) {
    const double wanted = link_rate() * payload_share();
    const double rate = std::min(wanted, d(bytes) / loop_ns);
    add(what, rate, fmt::format("{} B in flight against {:.1f} GB/s x {:.1f} ns", bytes, wanted, loop_ns),
        less(rate, wanted), fmt::format("{} sustains only {:.1f} GB/s", key, rate));
  }

  void window_rows() {
    const abi::node_address pe{0, 0, 0};
    if (c_.hbm.ports > 0) {
      const abi::node_address hbm{0, 0, static_cast<terminal_index>(c_.cube.pes)};
      const double memory_ns = c_.hbm.model == config::hbm_model::simple
                                   ? c_.hbm.simple_latency_ns
                                   : c_.hbm.controller_ns + c_.hbm.trcd_rd_ns + c_.hbm.cl_ns;
      const double loop = latency_ns(pe, hbm, abi::traffic_class::request, 1) + memory_ns +
                          latency_ns(hbm, pe, abi::traffic_class::response, packet_flits());
      window("DMA window to the cube's HBM", c_.pe.dma_outstanding * c_.noc.max_packet_bytes, loop,
             "pe.dma_outstanding x noc.max_packet_bytes");
      const bool simple = c_.hbm.model == config::hbm_model::simple;
      window("interface of the cube's HBM", config::hbm_window(c_.hbm) * c_.noc.max_packet_bytes, memory_ns,
             simple ? "hbm.queue x noc.max_packet_bytes" : "the HBM's interface");
    }
    const abi::node_address peer = next_pe(t_, c_);
    if (peer == pe) return;
    const auto dma_ns = d(c_.pe.dma_startup_cycles) / ghz();
    const double loop = dma_ns + latency_ns(pe, peer, abi::traffic_class::comm, packet_flits()) +
                        latency_ns(peer, pe, abi::traffic_class::sideband, 1);
    window("IPCQ ring to the next cube", c_.ipcq.n_slots * c_.ipcq.slot_bytes, loop,
           "ipcq.n_slots x ipcq.slot_bytes");
  }

  [[nodiscard]] std::vector<changed_links<config::ucie_block>> changed_ucie() const {
    std::vector<changed_links<config::ucie_block>> all;
    const machine_shape& s = t_.shape();
    for (std::uint32_t i = 0; i < s.cubes(); ++i) {
      const sip_id sip{i / s.cubes_per_sip()};
      const cube_id cube{i % s.cubes_per_sip()};
      for (unsigned e = 0; e < sides; ++e) {
        const auto edge = static_cast<side>(e);
        if (!t_.neighbor(cube, edge)) continue;
        add_changed(all, c_.ucie, t_.ucie(sip, cube, edge),
                    fmt::format("{}.ucie_{}", cube_path(s, sip, cube), to_string(edge)));
      }
    }
    return all;
  }
  [[nodiscard]] std::vector<changed_links<config::sip_link_block>> changed_sip_links() const {
    std::vector<changed_links<config::sip_link_block>> all;
    for (std::uint32_t i = 0; i < t_.sip_links().size(); ++i)
      add_changed(all, c_.sip_link, t_.sip_link_settings(i), t_.sip_links()[i].name);
    return all;
  }

  /// Rows of the links that overrides change, for which the rows of all links do not hold.
  void changed_rows() {
    for (const auto& links : changed_ucie()) {
      const config::ucie_block& u = links.settings;
      const timing::link_timing timing = timing::ucie_timing_of(c_, u);
      add(links.name(), timing::ucie_payload_gbytes_s(u),
          fmt::format("{} modules x {} lanes x {} GT/s, {} ns", u.modules, u.lanes, u.gt_s, u.latency_ns));
      link_buffer("VC buffer of " + links.name(), ucie_buffer_flits(c_, u), timing, "ucie.buffer_flits");
      retry_row("retry buffer of " + links.name(), u);
    }
    for (const auto& links : changed_sip_links()) {
      const config::sip_link_block& l = links.settings;
      add(links.name(), l.gbytes_s, fmt::format("{} ns", l.latency_ns));
      link_buffer("VC buffer of " + links.name(), sip_link_buffer_flits(c_, l),
                  timing::sip_link_timing_of(c_, l), "sip_link.buffer_flits");
    }
  }

  [[nodiscard]] double latency_ns(abi::node_address from, abi::node_address to, abi::traffic_class cl,
                                  std::uint32_t flits) const {
    return idle_latency(t_, c_, from, to, cl, flits).ns();
  }

  const topology& t_;
  const config::machine_config& c_;
  std::vector<balance_row> rows_;
};

}  // namespace

std::vector<balance_row> balance(const topology& t, const config::machine_config& c) {
  return balance_table(t, c).rows();
}

}  // namespace diecast::fabric
