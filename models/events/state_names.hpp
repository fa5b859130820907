// SPDX-License-Identifier: Apache-2.0
// States of cores in words.
#pragma once

#include "models/events/events.hpp"

namespace diecast::events {

[[nodiscard]] const char* to_string(core_state s);

}  // namespace diecast::events
