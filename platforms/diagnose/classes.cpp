// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/classes.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace diecast::diagnose {
namespace {

struct finding_class {
  std::string_view kind;
  const char* meaning;
};

/// What is said first comes first.
constexpr std::array classes{
    finding_class{"config_error", "the run is refused: read what it says"},
    finding_class{"wrong_install", "queue pairs are installed wrongly"},
    finding_class{"dispatch_corruption", "an entry of the firmware's dispatch table is bad"},
    finding_class{"tag_list_race",
                  "a tag-matching unit gives a message to a receive that an older one belongs to"},
    finding_class{"bit_flip", "packets change on their way"},
    finding_class{"duplicate", "packets of data come twice"},
    finding_class{"reorder", "packets of one flow overtake each other"},
    finding_class{"link_down", "a link stands still with packets on it"},
    finding_class{"drop", "packets of data are lost"},
    finding_class{"lost_credit", "credits are lost on their way back"},
    finding_class{"dead_pe", "a core has stopped"},
    finding_class{"stale_cache_line",
                  "firmware looks at an old copy in its data cache: it does not invalidate the line"},
    finding_class{"signal_without_flush",
                  "a signal stays in its writer's data cache: the line is not written back"},
    finding_class{"lost_signal", "a signal was in memory, and a line written back put the old value over it"},
    finding_class{"counts_apart", "members of a team count its barriers differently"},
    finding_class{"infinite_poll",
                  "firmware polls a word that nobody writes, or for a value that has passed"},
    finding_class{"sendrecv_alias", "the one-call send-receive reads the buffer of an earlier send"},
    finding_class{"token_before_data", "messages are announced before their bytes are written"},
    finding_class{"premature_barrier",
                  "what a PE has written is not waited for before others read it or go on"},
    finding_class{"wrong_data", "results are wrong, and no experiment says why"},
    finding_class{"nondeterminism", "two runs of the same differ"},
    finding_class{"slow_pe", "a core runs slower than its clock"},
    finding_class{"link_degraded", "a link carries less than its rate"},
    finding_class{"late_credit", "credits come late"},
    finding_class{"deadlock_cycle", "ranks wait for each other in a circle"},
    finding_class{"half_message", "a part of a message never comes"},
    finding_class{"stuck_packets", "packets stand still in the fabric"},
    finding_class{"missing_packets", "packets left that never came"},
    finding_class{"hang", "ranks wait for what never comes"},
    finding_class{"unexplained_fault", "the machine reports a fault that fits no class"},
    finding_class{"no_fault_in_a_smaller_run",
                  "the run as given takes longer than the time to examine it; a smaller one shows no fault"},
    finding_class{"timed_out", "the run takes longer than the time to examine it"},
    finding_class{"internal_error", "the simulator itself failed: please report it"}};

auto find(const std::string& kind) {
  return std::find_if(classes.begin(), classes.end(),
                      [&kind](const finding_class& c) { return c.kind == kind; });
}

}  // namespace

const char* meaning_of(const std::string& kind) {
  if (kind == "healthy") return "nothing is wrong in any experiment";
  const auto at = find(kind);
  return at == classes.end() ? "the experiments do not say more" : at->meaning;
}

std::size_t rank_of(const std::string& kind) {
  return static_cast<std::size_t>(std::distance(classes.begin(), find(kind)));
}

std::size_t class_count() { return classes.size() + 1; }

}  // namespace diecast::diagnose
