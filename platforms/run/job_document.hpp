// SPDX-License-Identifier: Apache-2.0
// A prepared run as one text, from which another process prepares the same run without opening any file.
#pragma once

#include <memory>
#include <string>

#include "models/fabric/sip_partition.hpp"
#include "platforms/run/prepare.hpp"

namespace diecast::platforms {

/// `machine`: what the run was prepared on. Every input that was read goes along.
[[nodiscard]] std::string job_document(const machine_model& machine, const prepared_run& run,
                                       const fabric::sip_partition& partition);

/// The job of a document. Inputs of this process are those of the document from then on.
struct received_job {
  received_job(const std::string& document, const app::registries& tables);

  std::unique_ptr<machine_model> machine;
  std::unique_ptr<prepared_run> run;
  fabric::sip_partition partition;
};

}  // namespace diecast::platforms
