// SPDX-License-Identifier: Apache-2.0
// What firmware must not do, and what every implementation of the HAL says to it: protocol_error. A run ends
// with it as a fault, in the same way on the machine and on the mock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "models/abi/address.hpp"
#include "models/abi/hal.hpp"
#include "models/abi/registers.hpp"
#include "models/types/error.hpp"

namespace diecast::test {

struct misuse {
  const char* what;
  std::function<void(abi::hal&)> act;
};

/// `beyond`: an offset at which the TCM has no byte.
inline std::vector<misuse> firmware_misuses(std::uint64_t beyond) {
  const auto memory = [](const abi::hal& hal, std::uint64_t offset) {
    return abi::encode({hal.self().sip, hal.self().cube, abi::region::sram, 0, offset});
  };
  const auto tcm = [](const abi::hal& hal) {
    return abi::encode({hal.self().sip, hal.self().cube, abi::region::tcm, hal.self().pe.value, 0});
  };
  using word = std::array<std::byte, 8>;
  return {
      {"load past the end of the TCM",
       [=](abi::hal& h) {
         word w;
         h.load(beyond, w);
       }},
      {"store past the end of the TCM", [=](abi::hal& h) { h.store(beyond, word{}); }},
      {"cached load across a line",
       [=](abi::hal& h) {
         word w;
         h.load_global(memory(h, 60), w);
       }},
      {"cached store across a line", [=](abi::hal& h) { h.store_global(memory(h, 60), word{}); }},
      {"cached load of TCM",
       [=](abi::hal& h) {
         word w;
         h.load_global(tcm(h), w);
       }},
      {"uncached load across a line",
       [=](abi::hal& h) {
         word w;
         h.load_uncached(memory(h, 60), w);
       }},
      {"dcci of TCM", [=](abi::hal& h) { h.dcci_line(tcm(h)); }},
      {"atomic add to half a word", [=](abi::hal& h) { (void)h.add_at_memory(memory(h, 4), 1); }},
      {"atomic add to TCM", [=](abi::hal& h) { (void)h.add_at_memory(tcm(h), 1); }},
      {"write to DMA_STATUS", [](abi::hal& h) { h.write_register(abi::dma_status, 1); }},
      {"write to CORE_STATUS", [](abi::hal& h) { h.write_register(abi::core_status, 1); }},
      {"read of a core register that does not exist", [](abi::hal& h) { (void)h.read_register(0x220); }},
      {"read of a register of no block", [](abi::hal& h) { (void)h.read_register(0x300); }},
      {"write to a register of no block", [](abi::hal& h) { h.write_register(0x300, 1); }},
      {"a value that the register cannot hold",
       [](abi::hal& h) { h.write_register(abi::qp_register(0, abi::qp_arm), 0x100); }},
      {"release of a slot that the tag unit does not have",
       [](abi::hal& h) { h.write_register(abi::tm_release, 1 << 20); }},
  };
}

/// What was not refused with a protocol_error; empty when everything was. Runs on the firmware's stack.
inline std::string let_pass(abi::hal& hal, std::uint64_t beyond) {
  std::string passed;
  for (const misuse& m : firmware_misuses(beyond)) {
    try {
      m.act(hal);
      passed += std::string(m.what) + ": passed\n";
    } catch (const protocol_error&) {
      continue;
    } catch (const std::exception& e) {
      passed += std::string(m.what) + ": " + e.what() + "\n";
    }
  }
  return passed;
}

}  // namespace diecast::test
