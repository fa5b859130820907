// SPDX-License-Identifier: Apache-2.0
// Kernels that follow each other over the same queue pairs of a PE: the next one begins while the one before
// ends.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "models/comm/install_plan.hpp"

namespace diecast::sw {

/// What the end of a kernel still needs. From its last stream on that is what goes over the queue pairs of
/// this stream; a side of a queue pair through which all has gone is the next kernel's. So messages of both
/// are in a queue pair one after the other, and its two ends tell them apart by their order alone.
class kernel_tail {
 public:
  enum class side : std::uint8_t { send, receive };

  /// The kernel is in its last stream, or has ended.
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// The next kernel may use this side of a queue pair.
  [[nodiscard]] bool has_left(comm::direction dir, side s) const {
    return ended_ || (begun_ && !needed_.contains({dir, s}));
  }
  /// Grows whenever something is left: who has found a side needed looks again when it has grown.
  [[nodiscard]] std::uint64_t departures() const { return departures_; }

  /// A lane goes over this side; as often as there are lanes that do.
  void need(comm::direction dir, side s) { ++needed_[{dir, s}]; }
  /// All that is needed has been named.
  void begin() {
    begun_ = true;
    ++departures_;
  }
  /// A lane that needed this side is through with it.
  void leave(comm::direction dir, side s) {
    const auto at = needed_.find({dir, s});
    if (--at->second > 0) return;
    needed_.erase(at);
    ++departures_;
  }
  /// The last stream has ended.
  void leave_all() {
    needed_.clear();
    begin();
  }
  void end() {
    ended_ = true;
    leave_all();
  }

 private:
  bool begun_{}, ended_{};
  std::uint64_t departures_{};
  std::map<std::pair<comm::direction, side>, std::uint32_t> needed_;  ///< lanes
};

}  // namespace diecast::sw
