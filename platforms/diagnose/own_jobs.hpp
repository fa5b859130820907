// SPDX-License-Identifier: Apache-2.0
// What the job as given does not use: where it is right, barriers and tag-matched messages are tried beside
// it.
#pragma once

#include <functional>

#include "platforms/diagnose/trials.hpp"

namespace diecast::diagnose {

/// Runs messages to each PE in turn, then a few barriers, among all PEs of the machine. One that goes wrong
/// is looked into as the job as given would be: `examine` finds what is wrong there. Of one that is right
/// the monitors count where nothing else was found. Does nothing where the job as given or another
/// one is known to go wrong, or the address map names fewer than two PEs.
void look_into_own_jobs(trials& t, const std::function<void(trials&)>& examine);

}  // namespace diecast::diagnose
