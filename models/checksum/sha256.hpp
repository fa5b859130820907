// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): names a config in results. Not used where an attacker matters.
#pragma once

#include <string>
#include <string_view>

namespace diecast::checksum {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace diecast::checksum
