// SPDX-License-Identifier: Apache-2.0
#include "platforms/job/session.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <tuple>

#include "models/checksum/packet_checksum.hpp"
#include "models/comm/install_plan.hpp"
#include "models/numeric/convert.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/process_group.hpp"
#include "sw/host/collective.hpp"

namespace diecast::platforms {

session::session(const kernel_run& run, std::uint64_t sips, start_agreement& agreement,
                 std::function<void()> on_round)
    : host_side(sips, agreement), run_(run), on_round_(std::move(on_round)) {
  const auto ranks = static_cast<std::uint32_t>(run.members.members.size());
  for (std::uint32_t r = 0; r < ranks; ++r)
    arguments_.push_back(sw::make_arguments(run.launch()->kernel, run.launch()->arguments, r));
  if (!run.point.data || !run.form.moves_data) return;
  const auto pattern = run.point.pattern_data == "rank_plus_one" ? random::data_pattern::rank_plus_one
                                                                 : random::data_pattern::random;
  const sw::kernel_entry& kernel = run.launch()->kernel;
  check_.emplace(sw::shape_of(kernel, run.launch()->arguments), run.point.type, run.point.op,
                 run.machine.config.sim.seed, pattern, kernel.sums);
}

std::vector<std::uint32_t> session::members_of(sip_id s) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < run_.members.members.size(); ++r)
    if (run_.members.members[r].sip == s) ranks.push_back(r);
  return ranks;
}

void session::host_program(abi::host_hal& host) {
  sw::install(host, run_.plan, run_.machine.config.ccl.install);
  install_ns_ = std::max(install_ns_, host.now().ns());
  sw::load_images(host, run_.launch()->kernel, run_.launch()->arguments, arguments_);
  run_.set_up(host, arguments_);
  sw::register_memory(host, run_.machine.config, run_.members.members);
  sw::set_errata(host, run_.machine.config, run_.members.members,
                 *abi::parse_errata(run_.machine.config.ccl.errata));
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
    // Contents of the previous round must not pass for results of this one.
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
  const auto& [arguments, kernel] = *run_.launch();
  const auto launches = sw::make_launches(kernel, 0, arguments, host.self(), launch_id, start);
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
  if (++ended_in_round_ < sips_) return;
  ended_in_round_ = 0;
  ++rounds_done_;
  launch_before_ = round_end_ < start ? sim_time{} : round_end_ - start;  // earlier: no rank is here
  times_.push_back(*launch_before_);
}

void session::widen_range(std::span<const std::byte> got) {
  values_.resize(got.size() / numeric::size_of(run_.point.type));
  numeric::to_double(run_.point.type, got, values_);
  if (values_.empty()) return;
  const auto [low, high] = std::ranges::minmax_element(values_);
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
    const std::uint64_t wrong = check_->count_wrong(r, got);
    wrong_ += wrong;
    if (const std::pair at{host.now(), r}; wrong != 0 && (first_wrong_.empty() || at < first_wrong_at_)) {
      first_wrong_at_ = at;
      first_wrong_ = describe_wrong(r, got);
    }
    widen_range(got);
    if (!first_output_) first_output_ = got;
    equal_ = equal_ && got == *first_output_;
    data_fingerprint_.add_bytes(pe_path(run_.machine.config.shape(), pe), got);
  }
}

namespace {

/// Results of the ranks of one process.
struct session_part {
  std::vector<sim_time> times;
  std::uint64_t wrong{}, elements{}, fingerprint{};
  bool equal{}, done{};
  double install_ns{};
  std::pair<sim_time, std::uint32_t> first_wrong_at;
  std::string first_wrong;
  std::optional<std::uint64_t> output;  ///< digest of the first
  std::optional<double> output_min, output_max;
  DIECAST_MEMBERS(times, wrong, elements, fingerprint, equal, done, install_ns, first_wrong_at, first_wrong,
                  output, output_min, output_max)
};

}  // namespace

/// Afterwards every process has the state of a process that simulates all SIPs.
void session::join(process_group& group) {
  session_part own{times_,       wrong_,     elements_,   data_fingerprint_.sum(),
                   equal_,       finished(), install_ns_, first_wrong_at_,
                   first_wrong_, {},         output_min_, output_max_};
  if (first_output_) own.output = checksum::digest_of_part(0, *first_output_);
  std::set<std::uint64_t> outputs;
  const auto all = gathered(group, own);
  for (std::uint32_t p = 0; p < group.count(); ++p) {
    const session_part& part = all[p];
    if (part.output) outputs.insert(*part.output);
    if (p == group.self()) continue;
    times_.resize(std::min(times_.size(), part.times.size()));
    for (std::size_t i = 0; i < times_.size(); ++i) times_[i] = std::max(times_[i], part.times[i]);
    wrong_ += part.wrong;
    elements_ += part.elements;
    equal_ = equal_ && part.equal;
    if (!part.done) hosts_done_ = 0;
    data_fingerprint_.add_sum(part.fingerprint);
    install_ns_ = std::max(install_ns_, part.install_ns);
    if (!part.first_wrong.empty() && (first_wrong_.empty() || part.first_wrong_at < first_wrong_at_))
      std::tie(first_wrong_at_, first_wrong_) = std::tie(part.first_wrong_at, part.first_wrong);
    if (part.output_min) output_min_ = std::min(output_min_.value_or(*part.output_min), *part.output_min);
    if (part.output_max) output_max_ = std::max(output_max_.value_or(*part.output_max), *part.output_max);
  }
  equal_ = equal_ && outputs.size() <= 1;
  rounds_done_ = times_.size();
}

void session::report(run_outcome& o) const {
  const auto mean = [](const std::vector<double>& v) {
    return v.empty() ? 0.0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  std::vector<double> times_ns;
  for (std::size_t i = run_.point.warmup; i < times_.size(); ++i) times_ns.push_back(times_[i].ns());
  o.time_ns = mean(times_ns);
  if (!times_ns.empty()) {
    o.time_min_ns = *std::ranges::min_element(times_ns);
    o.time_max_ns = *std::ranges::max_element(times_ns);
  }
  o.launch_ns = mean(launch_ns_);
  if (!finished()) return;
  report_bandwidth(o);
  if (!check_) return;
  o.verified = wrong_ == 0;
  o.wrong_elements = wrong_;
  if (comm::outputs_equal(sw::shape_of(run_.launch()->kernel, run_.launch()->arguments).what))
    o.ranks_bitwise_equal = equal_;
  o.output_min = output_min_;
  o.output_max = output_max_;
  o.verified_how = check_->method();
  if (wrong_ == 0) return;
  o.status = run_status::wrong;
  o.message = fmt::format("{} of {} elements; the first: {}", wrong_, elements_, first_wrong_);
}

}  // namespace diecast::platforms
