// SPDX-License-Identifier: Apache-2.0
// Pipelines of a call of stream, for the loop in stream.cpp.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sw/runtime/pe_context_impl.hpp"
#include "sw/runtime/stream.hpp"

namespace diecast::sw {

void pe_context::pipeline::pass(const stage& s) {
  sent.push_back({s.offset, s.bytes, {{{static_cast<std::int32_t>(received.size())}}}});
  received.push_back(s);
}

bool pe_context::impl::may_hold(const pe_context::pipeline& l) {
  if (!l.overlaps || l.recv.size() != 1 || wire() != args.type || options.end_to_end) return false;
  const auto copies = [](const stage& s) { return s.how == arrival::copy && s.after.stage < 0; };
  return std::ranges::all_of(l.received, copies) && is_local(driver.rx(queue_pair(l.recv[0])).rx_base);
}

std::optional<std::uint32_t> pe_context::impl::begin_copy(held_slots& held, queue_state& q,
                                                          std::uint64_t offset, std::uint32_t bytes) {
  const abi::address slot = held.next_slot(q);
  const abi::address to = options.address_of(offset);
  // The vector unit cannot access memories other than TCM.
  if (is_local(to) && !held.may_copy()) {
    vector_copy(offset, slot - options.tcm_base, bytes);
    return std::nullopt;
  }
  driver.wait_sources_in(offset, bytes);
  return held.start_copy(slot, to, bytes);
}

void pe_context::impl::copy_beside(held_slots& held, std::uint64_t destination, std::uint64_t source,
                                   std::uint64_t bytes) {
  charge();
  driver.wait_sources_in(destination, bytes);
  held.copy(options.address_of(source), options.address_of(destination), bytes);
}

void pe_context::impl::begin_tail(const std::vector<stream_pipeline>& pipelines) {
  for (const stream_pipeline& l : pipelines) {
    for (const stream_out& out : l.outs) tail->need(out.queue->dir, kernel_tail::side::send);
    for (const stream_in& in : l.ins) tail->need(in.queue->dir, kernel_tail::side::receive);
  }
  tail->begin();
}

void pe_context::impl::run_stream(pe_context& pe, const std::vector<pipeline>& pipelines,
                                  const std::function<void(std::uint32_t)>& begins, held_slots& held,
                                  bool is_last) {
  const auto is_empty = [](const auto& range) { return range.bytes == 0; };
  std::vector<stream_pipeline> running;
  for (const pipeline& l : pipelines) {
    stream_pipeline& to = running.emplace_back();
    to.own = static_cast<std::int32_t>(running.size() - 1);
    // A queue pair over which nothing goes is not touched.
    const bool sends = !std::ranges::all_of(l.sent, is_empty);
    const bool receives = !std::ranges::all_of(l.received, is_empty);
    for (std::size_t i = 0; sends && i < l.send.size(); ++i) {
      queue_state& q = driver.tx(queue_pair(l.send[i]));
      to.outs.push_back({&q, send_cursor(l.sent, cut(q, 0).payload)});
    }
    const bool holds = receives && may_hold(l);
    for (std::size_t i = 0; receives && i < l.recv.size(); ++i) {
      check_not_promised(l.recv[i]);
      queue_state& q = driver.rx(queue_pair(l.recv[i]));
      to.ins.push_back({&q, stage_cursor(l.received, cut(q, 0).payload)});
    }
    if (holds) to.begun = begun_slots{to.ins.front().at};
  }
  // Slots outside TCM pass through the scratch, which the next kernel has, too.
  const auto comes_to_tcm = [&](const stream_pipeline& l) {
    return std::ranges::all_of(l.ins, [&](const stream_in& e) { return is_local(e.queue->rx_base); });
  };
  const bool leaves = is_last && tail != nullptr && std::ranges::all_of(running, comes_to_tcm);
  if (leaves) begin_tail(running);
  run_pipelines({driver, tasks,
                 [this](queue_state& q, const send_cursor& at) { put_exchanged(q, at.at(), at.piece()); },
                 [this, &pe](queue_state& q, const stage_cursor& at) {
                   charge();
                   const bool completes = at.range().how == arrival::complete;
                   take_out(q, at.at(), at.piece(), completes ? arrival::reduce : at.range().how);
                   if (completes) pe.finish_average({at.at(), at.piece()});
                 },
                 [this] { charge(); }, held,
                 [this](queue_state& q, abi::address slot, std::uint32_t bytes) {
                   put_exchanged(q, slot - options.tcm_base, bytes);
                 },
                 [this](const queue_state& q, const stage_cursor& at) { check_length(q, at.piece()); },
                 [this, &held](queue_state& q, const stage_cursor& at) {
                   return begin_copy(held, q, at.at(), at.piece());
                 },
                 [&](std::size_t index) { begins(static_cast<std::uint32_t>(index)); }, before,
                 leaves ? tail : nullptr},
                running);
}

std::function<void(std::uint32_t)> pe_context::impl::steps_named(pe_context& pe, std::string_view name) {
  return [&pe, name](std::uint32_t index) { pe.step(name, index); };
}

void pe_context::stream(const std::vector<pipeline>& pipelines,
                        const std::function<void(std::uint32_t)>& begins) {
  held_slots held(impl_->driver, impl_->tasks);  // other tasks of this PE may stream, too
  impl_->run_stream(*this, pipelines, begins, held, false);
  held.finish();
}

void pe_context::stream(const std::vector<pipeline>& pipelines, std::string_view step_name) {
  stream(pipelines, impl::steps_named(*this, step_name));
}

void pe_context::last_stream(const std::vector<pipeline>& pipelines, std::string_view step_name) {
  held_slots held(impl_->driver, impl_->tasks);
  impl_->run_stream(*this, pipelines, impl::steps_named(*this, step_name), held, true);
  held.finish();
  if (impl_->tail != nullptr && impl_->tail->begun()) impl_->tail->leave_all();
}

void pe_context::stream(const std::vector<pipeline>& pipelines, std::string_view step_name,
                        left_copies& left) {
  if (!std::exchange(left.open_, true)) ++impl_->open_left_copies;
  impl_->driver.look_at_copies();
  impl_->run_stream(*this, pipelines, impl::steps_named(*this, step_name), *left.held_, false);
}

pe_context::left_copies::left_copies(pe_context& pe)
    : pe_(pe), held_(std::make_unique<held_slots>(pe.impl_->driver, pe.impl_->tasks)) {}
pe_context::left_copies::~left_copies() = default;

void pe_context::left_copies::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  if (!std::exchange(open_, true)) ++pe_.impl_->open_left_copies;
  pe_.impl_->copy_beside(*held_, destination, source, bytes);
}

void pe_context::left_copies::finish() {
  held_->finish();
  if (std::exchange(open_, false)) --pe_.impl_->open_left_copies;
}

void pe_context::look_at_sources(comm::direction dir) {
  impl_->driver.look_at_sources(impl_->driver.tx(impl_->queue_pair(dir)));
}

}  // namespace diecast::sw
