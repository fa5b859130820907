// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/session.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "hw/base/time.hpp"
#include "models/comm/launch_plan.hpp"
#include "models/numeric/convert.hpp"
#include "platforms/run/bandwidth.hpp"
#include "sw/host/barrier.hpp"
#include "sw/host/errata.hpp"

namespace diecast::platforms {

session::session(const prepared_run& run, std::function<void()> on_round)
    : run_(run), on_round_(std::move(on_round)), agreement_(run.machine.config.pod.sips) {
  const auto ranks = static_cast<std::uint32_t>(run.members.members.size());
  for (std::uint32_t r = 0; r < ranks; ++r)
    arguments_.push_back(sw::make_arguments(run.kernel, *run.launch, r));
  if (!run.point.data || run.barrier) return;
  const auto pattern = run.point.pattern_data == "rank_plus_one" ? random::data_pattern::rank_plus_one
                                                                 : random::data_pattern::random;
  check_.emplace(sw::shape_of(run.kernel, *run.launch), run.point.type, run.point.op,
                 run.machine.config.sim.seed, pattern, run.kernel.sums);
}

std::vector<std::uint32_t> session::members_of(sip_id s) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < run_.members.members.size(); ++r) {
    if (run_.members.members[r].sip == s) ranks.push_back(r);
  }
  return ranks;
}

void session::host_program(abi::host_hal& host) {
  sw::install(host, run_.plan, run_.machine.config.ccl.install);
  install_ns_ = std::max(install_ns_, host.now().ns());
  sw::load_images(host, run_.kernel, *run_.launch, arguments_);
  if (run_.barrier) sw::prepare_barrier(host, *run_.launch, arguments_);
  sw::set_errata(host, run_.machine.config, run_.members.members,
                 run_.barrier ? run_.barrier->errata : abi::errata_word{});
  const std::uint64_t rounds = run_.point.warmup + run_.point.iters;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (check_) write_inputs(host);
    const sim_time start = agree_on_start(host);
    launch(host, static_cast<std::uint32_t>(round), start);
    collect_times(host, start);
    if (check_) verify(host);
  }
  ++hosts_done_;
}

void session::write_inputs(abi::host_hal& host) {
  for (const std::uint32_t r : members_of(host.self())) {
    // What the round before left must not pass for a result of this one.
    sw::write_tensor(host, launch_of(r), sw::tensor::output,
                     std::vector<std::byte>(check_->output_bytes(r), std::byte{0xa5}));
    sw::write_tensor(host, launch_of(r), sw::tensor::input, check_->input(r));
  }
}

sim_time session::agree_on_start(abi::host_hal& host) {
  return agreement_.agree([this, &host] {
    on_round_();
    round_end_ = {};
    const sim_time dispatch =
        comm::worst_dispatch(run_.machine.topology, run_.machine.config, run_.members.members);
    launch_ns_.push_back(dispatch.ns());
    return host.now() + dispatch;
  });
}

void session::launch(abi::host_hal& host, std::uint32_t launch_id, sim_time start) {
  const auto launches = sw::make_launches(run_.kernel, 0, *run_.launch, host.self(), launch_id, start);
  host.launch(launches);
  host.wait_for_completions(launch_id, static_cast<std::uint32_t>(launches.size()));
}

void session::collect_times(abi::host_hal& host, sim_time start) {
  for (const std::uint32_t r : members_of(host.self())) {
    const pe_coord pe = run_.members.members[r];
    std::uint64_t end = 0;
    host.debug_read(
        abi::encode({pe.sip, pe.cube, abi::region::pe_registers, pe.pe.value, abi::core_end_time}),
        std::as_writable_bytes(std::span{&end, 1}));
    round_end_ = std::max(round_end_, sim_time{end});
  }
  if (++ended_in_round_ < run_.machine.config.pod.sips) return;
  ended_in_round_ = 0;
  launch_before_ = round_end_ - start;
  if (rounds_done_++ >= run_.point.warmup) times_ns_.push_back((round_end_ - start).ns());
}

void session::widen_range(std::span<const std::byte> got) {
  values_.resize(got.size() / numeric::size_of(run_.point.type));
  numeric::to_double(run_.point.type, got, values_);
  if (values_.empty()) return;
  const auto [low, high] = std::minmax_element(values_.begin(), values_.end());
  output_min_ = std::min(output_min_.value_or(*low), *low);
  output_max_ = std::max(output_max_.value_or(*high), *high);
}

std::string session::describe_wrong(std::uint32_t rank, std::span<const std::byte> got) const {
  const std::string pe = pe_path(run_.machine.config.shape(), run_.members.members[rank]);
  return fmt::format("rank {} ({}), {}", rank, pe, golden::to_string(check_->first_wrong(rank, got).value()));
}

void session::verify(abi::host_hal& host) {
  for (const std::uint32_t r : members_of(host.self())) {
    const pe_coord pe = run_.members.members[r];
    std::vector<std::byte> got(check_->output_bytes(r));
    sw::read_tensor(host, launch_of(r), sw::tensor::output, got);
    if (on_result_) on_result_(r, got);
    elements_ += got.size() / numeric::size_of(run_.point.type);
    wrong_ += check_->count_wrong(r, got);
    if (wrong_ != 0 && first_wrong_.empty()) first_wrong_ = describe_wrong(r, got);
    widen_range(got);
    if (!first_output_) first_output_ = got;
    equal_ = equal_ && got == *first_output_;
    data_fingerprint_.add_bytes(pe_path(run_.machine.config.shape(), pe), got);
  }
}

void session::report(run_outcome& o) const {
  const auto mean = [](const std::vector<double>& v) {
    return v.empty() ? 0.0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  o.time_ns = mean(times_ns_);
  if (!times_ns_.empty()) {
    o.time_min_ns = *std::min_element(times_ns_.begin(), times_ns_.end());
    o.time_max_ns = *std::max_element(times_ns_.begin(), times_ns_.end());
  }
  o.launch_ns = mean(launch_ns_);
  if (!finished()) return;
  report_bandwidth(o);
  if (!check_) return;
  o.verified = wrong_ == 0;
  o.wrong_elements = wrong_;
  if (comm::outputs_equal(sw::shape_of(run_.kernel, *run_.launch).what)) o.ranks_bitwise_equal = equal_;
  o.output_min = output_min_;
  o.output_max = output_max_;
  o.verified_how = check_->method();
  if (wrong_ == 0) return;
  o.status = run_status::wrong;
  o.message = fmt::format("{} of {} elements; the first: {}", wrong_, elements_, first_wrong_);
}

}  // namespace diecast::platforms
