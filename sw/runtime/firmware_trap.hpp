// SPDX-License-Identifier: Apache-2.0
// Firmware that cannot go on: the engine refused a request, or a kernel broke a rule of the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "models/abi/registers.hpp"
#include "models/comm/queue_pair_text.hpp"
#include "models/types/ids.hpp"

namespace diecast::sw {

/// Ends the run; its text names the PE, the queue pair if one is concerned, and the cause.
class firmware_trap : public std::runtime_error {
 public:
  /// The IPCQ engine refused a request on queue pair `dir`.
  firmware_trap(pe_coord pe, comm::direction dir, abi::engine_error error);
  /// A rule of the runtime was broken; `text` says which, with the value and what was expected, and has marks
  /// of queue pairs (models/comm/queue_pair_text.hpp) in place of their names.
  firmware_trap(pe_coord pe, std::string_view text);

  /// what() with queue pairs as the run calls them.
  [[nodiscard]] std::string text(const comm::direction_namer& names) const {
    return comm::with_names(marked_, names);
  }

  [[nodiscard]] pe_coord pe() const { return pe_; }
  [[nodiscard]] std::optional<comm::direction> direction() const { return direction_; }
  [[nodiscard]] abi::engine_error error() const { return error_; }

 private:
  firmware_trap(const std::string& marked, pe_coord pe, std::optional<comm::direction> dir,
                abi::engine_error error);

  std::string marked_;
  pe_coord pe_;
  std::optional<comm::direction> direction_;
  abi::engine_error error_{abi::engine_error::none};
};

}  // namespace diecast::sw
