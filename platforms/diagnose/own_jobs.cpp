// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/own_jobs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/diagnose/jobs.hpp"

namespace diecast::diagnose {
namespace {

struct own_job {
  own_kind kind;
  const char* name;
  std::string (*workload)(std::uint32_t pes);
};
/// A link that is down makes barriers look as if firmware did not see signals: messages tell, and come first.
constexpr std::array jobs{own_job{own_kind::messages, "messages to each PE in turn", messages_to_each},
                          own_job{own_kind::barriers, "a few barriers", barriers_among}};

/// Barriers of 256 PEs take 3 s, messages 1 s: less than the runs of many a job as given.
constexpr cost of_one{1, 5.0};

/// What makes one job go wrong makes the next one go wrong, too: what costs time only does not.
bool harmless(const std::vector<finding>& known) {
  return std::all_of(known.begin(), known.end(), [](const finding& f) { return f.hidden; });
}

void look_into_one(trials& t, const own_job& job, std::uint32_t pes,
                   const std::function<void(trials&)>& examine) {
  const bool was_healthy = t.healthy_so_far();
  const changes flags{"--workload", t.leave(job.workload(pes))};
  const observation* o = t.attempt(job.name, flags, signs::ignored, of_one);
  if (o == nullptr) return;
  t.answer(std::string("in ") + job.name, right(*o) ? "right" : "goes wrong, the job as given does not");
  if (was_healthy || !right(*o)) t.take_signs_of(*o);
  if (right(*o)) return t.conclude();
  const changes standing = t.standing();
  t.look_into(job.kind, flags, *o);
  t.call(std::string("in ") + job.name + ": ");
  examine(t);
  t.conclude();
  t.call("");
  t.look_into_all_again();
  t.stand(standing);
}

}  // namespace

void look_into_own_jobs(trials& t, const std::function<void(trials&)>& examine) {
  if (!right(t.base()) || !harmless(t.findings())) return;
  const std::uint32_t pes = t.count_of_pes();
  if (pes < 2) return;
  for (const own_job& job : jobs) {
    if (harmless(t.findings())) look_into_one(t, job, pes, examine);
  }
}

}  // namespace diecast::diagnose
