// SPDX-License-Identifier: Apache-2.0
// An HBM stack with a traffic generator at each channel: wiring and nothing else.
#pragma once

#include <memory>
#include <optional>
#include <systemc>
#include <vector>

#include "hw/hbm/hbm_controller.hpp"
#include "hw/traffic/memory_traffic.hpp"
#include "models/timing/lost_time.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::hbm {

class stack : public sc_core::sc_module, public hw::agenda_owner {
 public:
  stack(sc_core::sc_module_name name, const study_point& point, const config::machine_config& config,
        const netlist::memory_factory& make_memory, hw::fault_sink& faults);

  struct channel {
    std::unique_ptr<traffic::request_source> source;
    std::vector<traffic::memory_request> recorded;
    netlist::memory_block memory;
    std::unique_ptr<hw::memory_traffic> initiator;
    /// Lost time of Diecast's own controller, at the time of the stack's last answer.
    std::optional<timing::lost_time_report> lost;
  };
  [[nodiscard]] const std::vector<std::unique_ptr<channel>>& channels() const { return channels_; }
  [[nodiscard]] bool finished() const;
  /// Requests answered, of all channels.
  [[nodiscard]] std::uint64_t answered() const;
  /// Controllers of channels with banks.
  [[nodiscard]] std::vector<hw::hbm_controller*> controllers() const;
  [[nodiscard]] hw::agenda& timed_work() override { return agenda_; }
  /// Updates the accounts of lost time.
  void read_lost_time();

 private:
  std::vector<std::unique_ptr<channel>> channels_;
  std::size_t channels_done_{};
  hw::agenda agenda_{"agenda"};
};

}  // namespace diecast::hbm
