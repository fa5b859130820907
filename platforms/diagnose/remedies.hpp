// SPDX-License-Identifier: Apache-2.0
// Wrong results that no packet explains: which change of the firmware's ways makes them right.
#pragma once

#include "platforms/diagnose/trials.hpp"

namespace diecast::diagnose {

/// Name of the experiment that verifies every packet.
inline constexpr const char* checksums_experiment = "with checksums";

/// Tries all remedies at once, with longer and longer delays, then which of them are enough, and adds what it
/// means that these help; wrong_data where none does and nothing else explains the results. Does nothing
/// unless a run of what is looked into had wrong results. The place stays open: a run that is right has other
/// times, and the first difference from it says nothing.
void try_remedies(trials& t);

}  // namespace diecast::diagnose
