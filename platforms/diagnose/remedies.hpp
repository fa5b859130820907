// SPDX-License-Identifier: Apache-2.0
// Wrong results that no packet explains: which change of the firmware's ways makes them right.
#pragma once

#include "platforms/diagnose/trials.hpp"

namespace diecast::diagnose {

/// Tries each remedy, then two together, and adds what it means that one helps; wrong_data where none does
/// and nothing else explains them. Does nothing unless a run so far had wrong results. The place stays open:
/// a run that is right has other times, and the first difference from it says nothing.
void try_remedies(trials& t);

}  // namespace diecast::diagnose
