// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/levels/level_schedule.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace diecast::sw {

void level_schedule::put_reduction(std::vector<pe_context::pipeline>& pipelines) {
  std::swap(sent_, received_);
  for (hop& h : sent_) h.due = -h.due;
  for (hop& h : received_) h.due = -h.due;
  put(pipelines, pe_context::arrival::reduce);
}

void level_schedule::put(std::vector<pe_context::pipeline>& pipelines, pe_context::arrival how) {
  const auto by_time = [](const hop& a, const hop& b) {
    return std::tuple{a.due, a.pipeline, a.first} < std::tuple{b.due, b.pipeline, b.first};
  };
  std::ranges::sort(received_, by_time);
  std::ranges::sort(sent_, by_time);
  for (const hop& h : received_) add_stage(pipelines[h.pipeline], h, how);
  for (const hop& h : sent_) {
    pe_context::outgoing& out = pipelines[h.pipeline].sent.emplace_back();
    const tcm_range range = range_of(h);
    out.offset = range.at;
    out.bytes = range.bytes;
    const std::vector<pe_context::awaited> after = what_completes(h);
    if (after.size() > out.after.size())
      throw std::logic_error("a block group is completed by too many pipelines");
    std::ranges::copy(after, out.after.begin());
  }
}

void level_schedule::add_stage(pe_context::pipeline& pipeline, const hop& h, pe_context::arrival how) {
  const tcm_range range = range_of(h);
  const arrived& before = last_of_[h.first];
  pe_context::stage& stage = pipeline.received.emplace_back();
  stage = {range.at, range.bytes, how, {}};
  if (before.stage.stage >= 0) {
    stage.after = before.stage;
    stage.after.at = range.at - before.range.at;
  }
  const pe_context::awaited self{static_cast<std::int32_t>(pipeline.received.size()) - 1,
                                 static_cast<std::int32_t>(h.pipeline), 0};
  for (std::uint32_t i = 0; i < h.blocks; ++i) last_of_[h.first + i] = {self, range};
}

/// Stages of a pipeline end in their order: of several on one pipeline the last is enough.
std::vector<pe_context::awaited> level_schedule::what_completes(const hop& h) const {
  const tcm_range range = range_of(h);
  std::vector<pe_context::awaited> after;
  for (std::uint32_t i = 0; i < h.blocks; ++i) {
    const arrived& a = last_of_[h.first + i];
    if (a.stage.stage < 0) continue;
    pe_context::awaited waits = a.stage;
    // The range is a part of the stage; or the stage is a part of the range, which waits for the whole stage.
    const bool whole = a.range.at <= range.at && range.at + range.bytes <= a.range.at + a.range.bytes;
    waits.at = whole ? range.at - a.range.at : a.range.bytes + 1;
    const auto same = std::ranges::find(after, waits.pipeline, &pe_context::awaited::pipeline);
    if (same == after.end()) {
      after.push_back(waits);
    } else if (same->stage < waits.stage) {
      *same = waits;
    }
  }
  return after;
}

std::uint64_t level_schedule::bytes_before(std::size_t pipeline, std::int64_t due) const {
  std::uint64_t bytes = 0;
  for (const hop& h : received_)
    if (h.pipeline == pipeline && h.due <= due) bytes += range_of(h).bytes;
  return bytes;
}

void level_schedule::pace(std::vector<pe_context::pipeline>& pipelines, std::size_t paced, std::size_t by,
                          std::int64_t ahead) const {
  std::vector<pe_context::outgoing>& sent = pipelines[paced].sent;
  std::size_t i = 0;
  for (const hop& h : sent_) {
    if (h.pipeline == paced)
      sent[i++].not_before = {static_cast<std::int32_t>(by), bytes_before(by, h.due - ahead), 0};
  }
}

}  // namespace diecast::sw
