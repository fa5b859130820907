// SPDX-License-Identifier: Apache-2.0
// An observer of the pointers of every queue pair: credits are neither created nor lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "models/comm/install_plan.hpp"
#include "models/events/events.hpp"
#include "models/protocol/queue_pair.hpp"

namespace diecast::analysis {

/// After every change of either end of a ring, with all pointers counted from the sender's view of the
/// tail: tail view <= tail <= visible head <= head <= tail view + n_slots. Throws protocol_error that names
/// both ends and their pointers. Needs events::queue_pairs, from the start of the run.
class credit_checker : public events::observer {
 public:
  /// `names`: names of queue pairs in texts.
  explicit credit_checker(const comm::install_plan& plan,
                          comm::direction_namer names = comm::generic_names());
  void on(const events::queue_pair_changed& e) override;

  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  /// The first ring that is not empty or misses a credit, with its pointers; empty when none.
  [[nodiscard]] std::string unrest() const;
  /// Sets all pointers to `sequence`, when a run does not begin at 0.
  void start_at(std::uint32_t sequence);

 private:
  struct ring {
    const comm::queue_pair_install* writer{};
    const comm::queue_pair_install* reader{};
    std::uint32_t head{}, tail_view{}, visible{}, tail{};
  };
  using place = std::pair<pe_coord, std::uint16_t>;
  void check(const ring& r) const;
  [[nodiscard]] std::string describe(const ring& r) const;

  comm::install_plan plan_;
  comm::direction_namer names_;
  /// Every pair of a writer and a reader: of a tree in the network, the root with each member.
  std::vector<ring> rings_;
  std::map<place, std::vector<std::size_t>> written_by_, read_by_;
  std::uint64_t changes_{};
};

}  // namespace diecast::analysis
