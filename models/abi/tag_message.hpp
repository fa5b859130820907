// SPDX-License-Identifier: Apache-2.0
// What the operations between tag-matching units have in common.
#pragma once

#include "models/abi/wire.hpp"

namespace diecast::abi {

/// A fin or credit: an answer of one packet without payload, which no receive waits for.
[[nodiscard]] constexpr bool carries_no_bytes(tag_message_op op) {
  return op == tag_message_op::fin || op == tag_message_op::credit;
}

}  // namespace diecast::abi
