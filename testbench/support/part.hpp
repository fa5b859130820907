// SPDX-License-Identifier: Apache-2.0
// What a case that is in the short suite and in the long one tries in each.
#pragma once
#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace diecast::test {

/// For a case tagged [both]: `few` in the short suite, `all` in the long one or when run by hand.
template <class T>
T in_part(T few, std::type_identity_t<T> all) {
  const char* part = std::getenv("DIECAST_PART");
  return part != nullptr && std::string_view(part) == "short" ? few : all;
}

/// In the short suite one row of a matrix of so many: prime to the periods with which values turn, so that
/// all do.
inline constexpr unsigned few_rows = 13;

}  // namespace diecast::test
