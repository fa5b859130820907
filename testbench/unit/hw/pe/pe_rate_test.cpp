// SPDX-License-Identifier: Apache-2.0
// One queue pair between two PEs on a quiet NoC: its sustained bandwidth is that of the tightest of link,
// ring and firmware, and its pointers wrap. Both PEs run many launches, each with a ring of its own.
#include <algorithm>
#include <optional>
#include <vector>

#include "models/protocol/queue_pair.hpp"
#include "pe_bench.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

constexpr std::uint16_t rate_qp = 1;
constexpr std::uint64_t ring_at = 0x10000;
constexpr double launch_gap_ns = 100'000;

/// One launch: a ring and what goes through it.
struct ring_run {
  std::uint32_t n_slots{};
  std::uint32_t slot_bytes{};
  std::uint32_t messages{};
  std::uint64_t work{};            ///< cycles of the sender's firmware per message, beside its registers
  std::uint32_t first{};           ///< sequence number of the first message
  std::vector<double> released{};  ///< when the receiver released each message, ns
  std::vector<std::uint32_t> got{};
};

/// PE 0 sends to PE 1; both take the ring of their launch by its number.
class one_way {
 public:
  explicit one_way(std::vector<ring_run> all)
      : runs(std::move(all)),
        bench({[this](abi::hal& hal, const abi::launch_block& b) { send(hal, runs[b.launch_id]); },
               [this](abi::hal& hal, const abi::launch_block& b) { receive(hal, runs[b.launch_id]); }}) {
    for (std::uint32_t i = 0; i < runs.size(); ++i) {
      const double at = launch_gap_ns * i;
      bench.steps.at(at, [this, i] { install(runs[i]); });
      for (std::uint32_t p = 0; p < 2; ++p) bench.launch(at + 1, p, at + 100, i);
    }
    run_to_starvation();
    CHECK(text_of(bench.faults).empty());
  }

  std::vector<ring_run> runs;
  pe_bench bench;

 private:
  void install(const ring_run& r) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      const std::uint32_t word = k + 1;
      const auto bytes = std::as_bytes(std::span{&word, 1});
      bench.fill_tcm(0, 0x100 + k * 64, {bytes.begin(), bytes.end()});
    }
    for (std::uint32_t p = 0; p < 2; ++p) {
      const auto set = [&](abi::register_offset field, std::uint64_t value) {
        bench.poke(p, abi::qp_register(rate_qp, field), value);
      };
      set(abi::qp_control, p == 0 ? abi::qp_control_tx_enable : abi::qp_control_rx_enable);
      set(abi::qp_n_slots, r.n_slots);
      set(abi::qp_slot_bytes, r.slot_bytes);
      set(abi::qp_rx_base, pe_address(abi::region::tcm, p, ring_at));
      set(abi::qp_peer_rx_base, pe_address(abi::region::tcm, 1 - p, ring_at));
      set(abi::qp_peer_ipcq, pe_address(abi::region::ipcq_mailbox, 1 - p, 0));
      for (const auto field :
           {abi::qp_my_head, abi::qp_my_tail, abi::qp_peer_head_cache, abi::qp_peer_tail_cache})
        set(field, r.first);
    }
  }

  /// Arms, sleeps and pops; returns the event's value.
  static std::uint32_t await(abi::hal& hal, std::uint64_t arm) {
    hal.write_register(abi::qp_register(rate_qp, abi::qp_arm), arm);
    hal.wait_for_event();
    return abi::ipcq_event_word::unpack(hal.read_register(abi::ipcq_event)).value;
  }

  static std::uint32_t status(abi::hal& hal, abi::register_offset field) {
    return abi::status_halves::unpack(hal.read_register(abi::qp_register(rate_qp, field))).low;
  }

  static void send(abi::hal& hal, const ring_run& r) {
    for (std::uint32_t m = 0; m < r.messages; ++m) {
      hal.compute(r.work);
      if (status(hal, abi::qp_tx_status) == 0) (void)await(hal, abi::arm_send_space);
      hal.write_register(abi::qp_register(rate_qp, abi::qp_tx_source),
                         pe_address(abi::region::tcm, 0, 0x100 + m % 64 * 64));
      hal.write_register(abi::qp_register(rate_qp, abi::qp_tx_doorbell), r.slot_bytes);
    }
  }

  void receive(abi::hal& hal, ring_run& r) {
    const protocol::sequence_space space(r.n_slots);
    std::uint32_t available = 0, tail = r.first;
    for (std::uint32_t m = 0; m < r.messages; ++m, --available) {
      if (available == 0) available = status(hal, abi::qp_rx_status);
      if (available == 0) available = await(hal, abi::arm_receive);
      std::vector<std::byte> word(4);
      // By the backdoor: looking at the data costs the firmware nothing here.
      word = bench.read_tcm(1, ring_at + std::uint64_t{space.slot(tail)} * r.slot_bytes, 4);
      std::uint32_t value = 0;
      std::copy(word.begin(), word.end(), std::as_writable_bytes(std::span{&value, 1}).begin());
      r.got.push_back(value);
      tail = space.next(tail);
      hal.write_register(abi::qp_register(rate_qp, abi::qp_my_tail), tail);
      r.released.push_back(hw::now().ns());
    }
  }
};

/// The documented parts of docs/ipcq.md, in cycles of 1 ns.
class parts {
 public:
  parts(const pe_bench& b, const ring_run& r)
      : c_(b.fabric.config),
        packets_((r.slot_bytes + c_.noc.max_packet_bytes - 1) / c_.noc.max_packet_bytes),
        last_bytes_(r.slot_bytes - (packets_ - 1) * c_.noc.max_packet_bytes),
        last_flits_(abi::flits_of(static_cast<std::uint32_t>(last_bytes_), flit())),
        out_(b.flight(b.where(0), b.where(1), last_flits_)),
        back_(b.flight(b.where(1), b.where(0), 1)) {}

  /// Flits of the whole message: what the slowest link on the way is busy with.
  [[nodiscard]] double link() const {
    const double full = abi::flits_of(static_cast<std::uint32_t>(c_.noc.max_packet_bytes), flit());
    return static_cast<double>(packets_ - 1) * full + last_flits_;
  }
  /// From one doorbell to the next that may use the same slot.
  [[nodiscard]] double round_trip() const {
    const auto& pe = c_.pe;
    const double registers = static_cast<double>(pe.register_cycles);
    const double interrupt = static_cast<double>(pe.interrupt_cycles);
    const double first = first_bytes();
    const double descriptor = static_cast<double>(pe.dma_launch_cycles + pe.dma_startup_cycles);
    const double read = 1 + tcm_cycles(first) + static_cast<double>(pe.tcm_read_cycles);
    const double before_last = link() - last_flits_;
    const double visible = 0.5 + check() + descriptor + read + 1 + before_last + out_ + 1 + 1 +
                           tcm_cycles(static_cast<double>(last_bytes_)) + match();
    const double seen = interrupt + 0.5 + registers;  // and popped
    const double credit = registers + 0.5 + check() + 1 + back_ + 1 + match();
    const double doorbell = 2 * registers;
    return visible + seen + credit + seen + doorbell;
  }
  /// Of the sender: its registers and work, or the DMA's own pace.
  [[nodiscard]] double interval(std::uint64_t work) const {
    const double firmware = static_cast<double>(3 * c_.pe.register_cycles + work);
    return std::max(firmware, static_cast<double>(c_.pe.dma_issue_cycles));
  }

 private:
  [[nodiscard]] std::uint32_t flit() const { return static_cast<std::uint32_t>(c_.noc.flit_bytes); }
  [[nodiscard]] double check() const { return static_cast<double>(c_.ipcq.check_cycles); }
  [[nodiscard]] double match() const { return static_cast<double>(c_.ipcq.match_cycles); }
  [[nodiscard]] double first_bytes() const {
    return static_cast<double>(packets_ > 1 ? c_.noc.max_packet_bytes : last_bytes_);
  }
  [[nodiscard]] double tcm_cycles(double bytes) const {
    return std::max(1.0, bytes / static_cast<double>(c_.pe.tcm_banks * c_.pe.tcm_bank_bytes));
  }

  const config::machine_config& c_;
  std::uint64_t packets_, last_bytes_;
  std::uint32_t last_flits_;
  double out_, back_;
};

}  // namespace

TEST_CASE("rate: one queue pair sustains the least of link, ring and firmware") {
  constexpr std::uint32_t warmup = 32, messages = 96;
  std::vector<ring_run> plan;
  for (const std::uint32_t n_slots : {1u, 2u, 3u, 4u, 6u, 8u, 16u}) {
    for (const std::uint32_t slot_bytes : {64u, 256u, 1024u, 2048u, 8192u})
      for (const std::uint64_t work : {0u, 150u, 600u}) plan.push_back({n_slots, slot_bytes, messages, work});
  }
  const one_way b(plan);
  unsigned by_link = 0, by_ring = 0, by_firmware = 0;
  for (const ring_run& r : b.runs) {
    REQUIRE(r.released.size() == messages);
    const double per_message = (r.released.back() - r.released[warmup]) / (messages - 1 - warmup);
    const parts p(b.bench, r);
    const double ring = p.round_trip() / r.n_slots, firmware = p.interval(r.work), link = p.link();
    const double expected = std::max({ring, firmware, link});
    ++(expected == link ? by_link : expected == ring ? by_ring : by_firmware);
    const double error = per_message / expected - 1;
    CAPTURE(r.n_slots, r.slot_bytes, r.work, per_message, ring, firmware, link, error);
    CHECK(std::abs(error) <= 0.03);
  }
  CHECK(by_link >= 5);
  CHECK(by_ring >= 5);
  CHECK(by_firmware >= 5);
}

TEST_CASE("rate: every n_slots from 1 to 16 started just below its wrap runs through") {
  std::vector<ring_run> plan;
  for (std::uint32_t n = 1; n <= 16; ++n) {
    const std::uint64_t w = protocol::sequence_modulus(n);
    for (const std::uint32_t back : {1u, n, 2 * n + 1})
      plan.push_back({n, 64, 3 * n + 8, 0, static_cast<std::uint32_t>(w - back)});
  }
  one_way b(plan);
  for (const ring_run& r : b.runs) {
    CAPTURE(r.n_slots, r.first);
    REQUIRE(r.got.size() == r.messages);
    for (std::uint32_t m = 0; m < r.messages; ++m) CHECK(r.got[m] == m % 64 + 1);
  }
}

}  // namespace diecast::test
