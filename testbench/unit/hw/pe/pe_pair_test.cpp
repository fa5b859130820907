// SPDX-License-Identifier: Apache-2.0
// Two whole PEs on a NoC: a message and its credit take the sum of their parts. And the host's
// backdoor to one.
#include "pe_bench.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

constexpr std::uint16_t pair_qp = 1;

/// Wires queue pair 1 of PE `p` to that of PE `peer`: rings of `n_slots` x 2 KiB at 64 KiB.
void install(pe_bench& b, std::uint32_t p, std::uint32_t peer, std::uint64_t n_slots) {
  const auto set = [&](abi::register_offset field, std::uint64_t value) {
    b.poke(p, abi::qp_register(pair_qp, field), value);
  };
  set(abi::qp_control, abi::qp_control_tx_enable | abi::qp_control_rx_enable);
  set(abi::qp_rx_base, pe_address(abi::region::tcm, p, 0x10000));
  set(abi::qp_n_slots, n_slots);
  set(abi::qp_slot_bytes, 2048);
  set(abi::qp_peer_rx_base, pe_address(abi::region::tcm, peer, 0x10000));
  set(abi::qp_peer_ipcq, pe_address(abi::region::ipcq_mailbox, peer, 0));
}

void send(abi::hal& hal, std::uint64_t offset, std::uint64_t bytes) {
  const pe_coord me = hal.self();
  hal.write_register(abi::qp_register(pair_qp, abi::qp_tx_source),
                     pe_address(abi::region::tcm, me.pe.value, offset));
  hal.write_register(abi::qp_register(pair_qp, abi::qp_tx_doorbell), bytes);
}

/// Waits until the event just armed is here; returns when it was seen, before it is popped.
double wait_for(abi::hal& hal, std::uint64_t arm, abi::event_kind kind) {
  hal.write_register(abi::qp_register(pair_qp, abi::qp_arm), arm);
  hal.wait_for_event();
  const double seen = hw::now().ns();
  CHECK(abi::ipcq_event_word::unpack(hal.read_register(abi::ipcq_event)).kind == kind);
  return seen;
}

TEST_CASE("pair: send, receive and credit take the sum of their parts") {
  double rung = 0, received = 0, released = 0, credited = 0;
  const hw::firmware sender = [&](abi::hal& hal, const abi::launch_block&) {
    send(hal, 0x100, 1024);
    rung = hw::now().ns();
    credited = wait_for(hal, abi::arm_send_space, abi::event_kind::send_space);
  };
  const hw::firmware receiver = [&](abi::hal& hal, const abi::launch_block&) {
    received = wait_for(hal, abi::arm_receive, abi::event_kind::receive);
    hal.write_register(abi::qp_register(pair_qp, abi::qp_my_tail), 1);
    released = hw::now().ns();
  };
  pe_bench b({sender, receiver});
  std::vector<std::byte> data(1024);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 11 + (i >> 8));
  b.steps.at(0, [&] {
    install(b, 0, 1, 1);
    install(b, 1, 0, 1);
    b.fill_tcm(0, 0x100, data);
  });
  b.run();
  CHECK(text_of(b.faults).empty());

  const double to_edge = 0.5, check = 2, descriptor = 1 + 40, read = 1 + 2 + 8, terminal = 1;
  const double inbound = 1, write = 1 + 2, match = 2, interrupt = 10 + 0.5;
  CHECK(received - rung == to_edge + check + descriptor + read + terminal +
                               b.flight(b.where(0), b.where(1), 17) + inbound + write + match + interrupt);
  CHECK(credited - released ==
        to_edge + check + terminal + b.flight(b.where(1), b.where(0), 1) + inbound + match + interrupt);
  CHECK(b.read_tcm(1, 0x10000, 1024) == data);
  CHECK(b.pes[0]->dma.idle());
  CHECK(b.pes[1]->dma.idle());
}

TEST_CASE("pair: both ways at once, every message once and in order") {
  constexpr std::uint32_t messages = 12;
  std::vector<std::vector<std::uint32_t>> got(2);
  const auto program = [&](std::uint32_t me) -> hw::firmware {
    return [&got, me](abi::hal& hal, const abi::launch_block&) {
      for (std::uint32_t i = 0; i < messages; ++i) {
        const std::uint32_t value = 100 * me + i;
        hal.store(0x100 + i * 64, std::as_bytes(std::span{&value, 1}));
        wait_for(hal, abi::arm_send_space, abi::event_kind::send_space);
        send(hal, 0x100 + i * 64, i % 3 == 0 ? 2048 : 4);
        wait_for(hal, abi::arm_receive, abi::event_kind::receive);
        std::uint32_t slot = 0;
        hal.load(0x10000 + (i % 3) * 2048, std::as_writable_bytes(std::span{&slot, 1}));
        got[me].push_back(slot);
        hal.write_register(abi::qp_register(pair_qp, abi::qp_my_tail), i + 1);
      }
    };
  };
  pe_bench b({program(0), program(1)});
  b.steps.at(0, [&] {
    install(b, 0, 1, 3);
    install(b, 1, 0, 3);
  });
  b.run();
  CHECK(text_of(b.faults).empty());
  for (std::uint32_t me = 0; me < 2; ++me) {
    REQUIRE(got[me].size() == messages);
    for (std::uint32_t i = 0; i < messages; ++i) CHECK(got[me][i] == 100 * (1 - me) + i);
  }
  CHECK(b.fabric.unrest() == std::vector<std::string>{});
}

TEST_CASE("pe: the backdoor reaches TCM, registers and the launch mailbox, and nothing else") {
  pe_bench b({[](abi::hal&, const abi::launch_block&) {}});
  b.steps.at(0, [&] {
    const std::vector<std::byte> data{std::byte{1}, std::byte{2}, std::byte{3}};
    b.fill_tcm(0, 0x1001, data);
    CHECK(b.response == tlm::TLM_OK_RESPONSE);
    CHECK(b.read_tcm(0, 0x1001, 3) == data);

    const abi::register_offset slots = abi::qp_register(pair_qp, abi::qp_n_slots);
    b.poke(0, slots, 4);
    CHECK(b.peek(0, slots) == 4);
    CHECK(b.peek(0, abi::ipcq_event) == 0);
    b.poke(0, abi::core_errata, 3);
    CHECK(b.peek(0, abi::core_errata) == 3);

    std::uint32_t half = 0;
    CHECK(b.debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::pe_registers, 0, slots), &half, 4) == 0);
    CHECK(b.response == tlm::TLM_BURST_ERROR_RESPONSE);
    CHECK(b.debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::hbm, 0, 0), &half, 4) == 0);
    CHECK(b.response == tlm::TLM_ADDRESS_ERROR_RESPONSE);
    CHECK(b.debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::pe_registers, 0, 0x101), &half, 8) == 0);
    CHECK(b.response == tlm::TLM_BURST_ERROR_RESPONSE);
    // The payload is the caller's: its address stays, also when a block refuses the access by throwing.
    CHECK(b.access.get_address() == pe_address(abi::region::pe_registers, 0, 0x101));
    CHECK_THROWS_AS(b.peek(0, 0x300), protocol_error);
    CHECK(b.access.get_address() == pe_address(abi::region::pe_registers, 0, 0x300));
    std::vector<std::byte> block = abi::encode_launch({});
    CHECK(b.debug(tlm::TLM_READ_COMMAND, pe_address(abi::region::launch_mailbox, 0, 0), block.data(),
                  block.size()) == 0);
    CHECK(b.response == tlm::TLM_COMMAND_ERROR_RESPONSE);
  });
  run_to_starvation();
  CHECK(b.pes[0]->core.state() == events::core_state::idle);
}

}  // namespace
}  // namespace diecast::test
