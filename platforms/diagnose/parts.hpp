// SPDX-License-Identifier: Apache-2.0
// Parts of the machine that are looked into instead of all of it: because they cost less, or because what has
// been found is not in them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "platforms/diagnose/rank_sets.hpp"
#include "platforms/diagnose/trials.hpp"

namespace diecast::diagnose {

/// Where a run goes wrong and takes long, looks into a few neighboring ranks that go wrong in the same way,
/// if some do: many more experiments fit into the same time then. Does nothing otherwise.
void look_into_a_cheap_part(trials& t);

/// A fault that ends a run hides all others. Looks into what is left of the machine without the place that
/// was found first; `examine` finds what is wrong there. Only classes that are new are added, and only of
/// parts where the first one is gone: else its place was not the whole of it.
/// Says so where the monitors do not tell on which PE each rank is.
void look_into_the_rest(trials& t, const std::function<void(trials&)>& examine);

/// Another algorithm that has wrong results where the one of the job is right and nothing else was found:
/// that one is looked into, by `examine`. Does nothing otherwise.
void look_into_another_algorithm(trials& t, const std::function<void(trials&)>& examine);

/// Tries the collective with 64 KiB if the given one is smaller and right: only messages of several packets
/// meet some faults. A failing run is examined by `examine`.
void look_into_more_bytes(trials& t, const std::function<void(trials&)>& examine);

/// What is left without `place`: all ranks but one, those outside its cube, those outside its SIP. Of a link
/// of a cube: the ranks outside the cube, those outside each cube next to it, and those in the cube; of a
/// link between SIPs: the ranks of each SIP. `pes` names the PE of each rank. Empty where the place says
/// nothing.
[[nodiscard]] std::vector<rank_list> without_place(const std::vector<std::string>& pes,
                                                   const std::string& place);

}  // namespace diecast::diagnose
