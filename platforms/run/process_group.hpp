// SPDX-License-Identifier: Apache-2.0
// Communication of the processes that simulate one pod. Every process calls the same functions in the same
// order. platforms/mpi implements it; other code does not depend on the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "models/types/archive.hpp"
#include "models/types/immovable.hpp"
#include "models/types/time.hpp"

namespace diecast::platforms {

/// The progress of a process between two windows, which all others get.
struct process_state {
  sim_time next{sim_time::never()};         ///< earliest event of the process; never(): none
  sim_time now;                             ///< clock of the process
  sim_time hosts_ready{sim_time::never()};  ///< since when all its hosts wait for a common start
  sim_time started{
      sim_time::never()};  ///< time at which hosts continue, if the process has decided it in this window
  sim_time fault{sim_time::never()};  ///< time of its first fault
  std::uint64_t finished{};           ///< 1: all its hosts have ended
  std::uint64_t interrupted{};        ///< 1: it has been interrupted
};

class process_group : public abstract_interface {
 public:
  [[nodiscard]] virtual std::uint32_t self() const = 0;
  [[nodiscard]] virtual std::uint32_t count() const = 0;
  /// Before the first exchange: the processes that this one exchanges messages with.
  virtual void set_neighbors(const std::vector<std::uint32_t>& processes) = 0;
  /// Sends to[p] to each neighbor p; returns what each has sent, by process.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& to) = 0;
  /// The state of every process.
  [[nodiscard]] virtual std::vector<process_state> states(const process_state& own) = 0;
  /// The texts of all processes, by process.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& own) = 0;
};

/// The values of all processes, in their order (models/types/archive.hpp).
template <class T>
[[nodiscard]] std::vector<T> gathered(process_group& group, const T& own) {
  std::vector<T> all;
  for (const std::string& part : group.gather(archived(own))) all.push_back(restored<T>(part));
  return all;
}

/// The rows of all processes, in the order of processes; `group` null: this one is alone.
template <class Row>
[[nodiscard]] std::vector<Row> joined(process_group* group, std::vector<Row> own) {
  if (group == nullptr) return own;
  std::vector<Row> all;
  for (std::vector<Row>& part : gathered(*group, own))
    all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  return all;
}

/// Calls own.add(other) with the value of every other process; `make` makes an empty `other`.
template <class T, class Make>
void add_others(process_group& group, T& own, Make make) {
  const std::vector<std::string> all = group.gather(archived(own));
  for (std::uint32_t p = 0; p < group.count(); ++p) {
    if (p == group.self()) continue;
    T other = make();
    archive_reader{all[p]}(other);
    own.add(other);
  }
}

}  // namespace diecast::platforms
