// SPDX-License-Identifier: Apache-2.0
// Where a PE takes messages and credits.
#pragma once

#include "models/abi/address.hpp"
#include "models/types/ids.hpp"

namespace diecast::abi {

/// The mailbox of the PE's engines: data, tokens and credits of queue pairs, and tag-matched messages.
[[nodiscard]] inline address mailbox_of(pe_coord pe) {
  return encode({pe.sip, pe.cube, region::ipcq_mailbox, pe.pe.value, 0});
}

}  // namespace diecast::abi
