// SPDX-License-Identifier: Apache-2.0
// What a memory is asked for: streams of requests, from a pattern or from a list.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/types/time.hpp"

namespace diecast::traffic {

struct memory_request {
  std::uint64_t address{};  ///< offset within the memory, bytes
  std::uint32_t bytes{};
  bool write{};
  sim_time arrival;  ///< arrival of a recorded request; others arrive as their initiator paces them
};

/// Requests in the order in which they arrive.
class request_source {
 public:
  request_source() = default;
  request_source(const request_source&) = delete;
  request_source& operator=(const request_source&) = delete;
  virtual ~request_source() = default;
  /// False when there are no more.
  [[nodiscard]] virtual bool next(memory_request& r) = 0;
};

/// Requests somebody wrote down. The list outlives the source.
class recorded_requests final : public request_source {
 public:
  explicit recorded_requests(const std::vector<memory_request>& list) : list_(list) {}
  [[nodiscard]] bool next(memory_request& r) override {
    if (at_ == list_.size()) return false;
    r = list_[at_++];
    return true;
  }

 private:
  const std::vector<memory_request>& list_;
  std::size_t at_{};
};

}  // namespace diecast::traffic
