// SPDX-License-Identifier: Apache-2.0
// Processes of one MPI job. The only folder that calls MPI.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platforms/run/process_group.hpp"

namespace diecast::mpi {

class mpi_group final : public platforms::process_group {
 public:
  /// Initializes MPI; once per process.
  mpi_group();
  /// Called in process 0 between windows.
  void set_between(std::function<void()> between) { between_ = std::move(between); }
  /// The text of process 0, in every process.
  [[nodiscard]] std::string broadcast(std::string text) const;
  /// Name of the host of this process.
  [[nodiscard]] static std::string host();
  /// Finalizes MPI: the last call in every process.
  void finish();
  /// Ends all processes of the job.
  [[noreturn]] static void abort(int code);

  [[nodiscard]] std::uint32_t self() const override { return self_; }
  [[nodiscard]] std::uint32_t count() const override { return count_; }
  void set_neighbors(const std::vector<std::uint32_t>& processes) override { neighbors_ = processes; }
  [[nodiscard]] std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& to) override;
  [[nodiscard]] std::vector<platforms::process_state> states(const platforms::process_state& own) override;
  [[nodiscard]] std::vector<std::string> gather(const std::string& own) override;

 private:
  std::uint32_t self_{}, count_{1};
  std::vector<std::uint32_t> neighbors_;
  std::function<void()> between_;
};

}  // namespace diecast::mpi
