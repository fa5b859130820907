// SPDX-License-Identifier: Apache-2.0
// A job that is too large for a memory: a smaller one would run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/types/error.hpp"

namespace diecast {

struct shortage {
  std::string memory;            ///< "TCM"
  std::uint64_t needed{}, of{};  ///< bytes
  std::string key;               ///< "ccl.tensor_kind=hbm", which has room for it; empty if there is none
  std::string smaller{};         ///< what else to change; empty if nothing
};

class shortage_error : public user_error {
 public:
  shortage_error(std::vector<problem> problems, shortage what)
      : user_error(std::move(problems)), what_(std::move(what)) {}
  [[nodiscard]] const shortage& lacks() const { return what_; }

 private:
  shortage what_;
};

}  // namespace diecast
