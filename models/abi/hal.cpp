// SPDX-License-Identifier: Apache-2.0
#include "models/abi/hal.hpp"

namespace diecast::abi {

const char* to_string(compare how) {
  switch (how) {
    case compare::eq: return "==";
    case compare::ne: return "!=";
    case compare::lt: return "<";
    case compare::le: return "<=";
    case compare::gt: return ">";
    case compare::ge: return ">=";
  }
  return "unknown";
}

}  // namespace diecast::abi
