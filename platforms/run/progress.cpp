// SPDX-License-Identifier: Apache-2.0
#include "platforms/run/progress.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "platforms/files/output_dir.hpp"
#include "platforms/run/bound.hpp"
#include "platforms/run/host_side.hpp"

namespace diecast::platforms {

constexpr std::chrono::milliseconds quiet_for{2000};
constexpr std::chrono::milliseconds between_draws{250};
constexpr int bar_width = 24;

double share_of_time(double elapsed_ns, double expected_ns) {
  constexpr double certain = 0.75;
  const double share = elapsed_ns / expected_ns;
  return share < certain ? share : 1 - (1 - certain) * std::exp((certain - share) / (1 - certain));
}

progress_bar::progress_bar(progress_mode mode, std::string label, std::FILE* to)
    : terminal_(isatty(fileno(to)) == 1),
      enabled_(mode == progress_mode::on || (mode == progress_mode::automatic && terminal_)),
      label_(std::move(label)),
      to_(to),
      next_(start_ + (mode == progress_mode::on ? std::chrono::milliseconds{0} : quiet_for)) {}

progress_bar::~progress_bar() {
  if (!drawn_ || !terminal_) return;
  print_to(to_, "\r\033[K");  // the table's next line goes where the bar was
  std::fflush(to_);
}

std::string progress_bar::text(const std::string& label, const run_progress& progress, sim_time simulated,
                               double wall_s) {
  const double done = std::clamp(progress.share, 0.0, 1.0);
  const int filled = static_cast<int>(done * bar_width);
  const double us = simulated.ns() / 1e3;
  constexpr double least_share = 0.02, least_s = 1;  // below these the remaining time cannot be estimated
  const std::string left = done >= least_share && wall_s >= least_s && done < 1
                               ? fmt::format("  about {:.0f} s left", std::ceil(wall_s * (1 - done) / done))
                               : "";
  return fmt::format("{}{}[{}{}] {:3.0f}%  {:.3f} us simulated  {:.3f} us/s{}{}{}", label,
                     label.empty() ? "" : " ", std::string(static_cast<std::size_t>(filled), '#'),
                     std::string(static_cast<std::size_t>(bar_width - filled), '.'), done * 100, us,
                     wall_s > 0 ? us / wall_s : 0.0, left, progress.note.empty() ? "" : "  ", progress.note);
}

void progress_bar::update(sim_time simulated, const std::function<run_progress()>& how_far) {
  if (!enabled_) return;
  const clock::time_point now = clock::now();
  if (now < next_) return;
  next_ = now + between_draws;
  const double wall_s = std::chrono::duration<double>(now - start_).count();
  const std::string line = text(label_, how_far(), simulated, wall_s);
  if (terminal_) {
    print_to(to_, fmt::format("\r{}\033[K", line));
  } else {
    print_to(to_, line + '\n');
  }
  std::fflush(to_);
  drawn_ = true;
}

double distance::ended_pes() const {
  const auto& members = run_.members.members;
  const auto ended = std::ranges::count_if(members, ended_);
  return static_cast<double>(ended) / static_cast<double>(std::max<std::size_t>(members.size(), 1));
}

run_progress distance::by_time(sim_time elapsed) {
  if (!expectation_known_) expected_ns_ = expected_ns(run_);
  expectation_known_ = true;
  const auto before = hosts_.launch_before();
  const double ns = before ? before->ns() : expected_ns_.value_or(bound_ns_);
  if (ns <= 0) return {0, {}};
  const char* const what = before         ? "like the previous launch"
                           : expected_ns_ ? "expected"
                                          : "at least (lower bound)";
  const bool late = elapsed.ns() > ns;
  return {share_of_time(elapsed.ns(), ns), fmt::format("{:.3f} us {} {:.3f} us {}", elapsed.ns() / 1e3,
                                                       late ? "already, of" : "of", ns / 1e3, what)};
}

run_progress distance::at(sim_time now) {
  const std::uint64_t rounds = run_.point.iters + run_.point.warmup;
  const std::uint64_t done = std::min(hosts_.rounds_done(), rounds);
  run_progress launch;
  const auto start = hosts_.launched();
  // Until it starts, PEs are as the launch before has left them.
  if (start && now > *start && done < rounds) {
    if (const auto ops = hosts_.ops_done()) {
      launch.share = *ops;
    } else {
      launch = by_time(now - *start);
      launch.share = std::max(launch.share, ended_pes());
    }
  }
  return {(static_cast<double>(done) + launch.share) / static_cast<double>(rounds), launch.note};
}

}  // namespace diecast::platforms
