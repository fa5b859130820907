// SPDX-License-Identifier: Apache-2.0
// How the tag of a message reads in reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace diecast::abi {

/// "tag 5 of communicator 0"; without a tag, "any tag of communicator 0".
inline std::string tag_text(std::optional<std::uint64_t> tag, std::uint64_t communicator) {
  return (tag ? "tag " + std::to_string(*tag) : "any tag") + " of communicator " +
         std::to_string(communicator);
}

}  // namespace diecast::abi
