// SPDX-License-Identifier: Apache-2.0
// Firmware that cannot go on: the engine refused a request, or a kernel broke a rule of the runtime.
#pragma once

#include <optional>
#include <string_view>

#include "models/abi/registers.hpp"
#include "models/comm/fault_record.hpp"
#include "models/types/ids.hpp"

namespace diecast::sw {

/// Ends the run; its text names the PE, the queue pair if one is concerned, and the cause.
class firmware_trap : public fault_error {
 public:
  /// The IPCQ engine refused a request on queue pair `dir`.
  firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error);
  /// A rule of the runtime was broken; `text` says which, with the value and what was expected, and has marks
  /// of queue pairs (models/comm/queue_pair_text.hpp) in place of their names.
  firmware_trap(pe_coord pe, std::string_view text);
  /// A fault with a kind of its own; its place is `pe`.
  firmware_trap(pe_coord pe, fault_record r);

  [[nodiscard]] pe_coord pe() const { return *record().pe; }
  [[nodiscard]] std::optional<comm::direction> direction() const { return record().queue_pair; }
  [[nodiscard]] abi::engine_error error() const { return error_; }

 private:
  abi::engine_error error_{abi::engine_error::none};
};

}  // namespace diecast::sw
