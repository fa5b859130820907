// SPDX-License-Identifier: Apache-2.0
// Credits between two routers where packets of other classes put off the one that gives them back.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hw/noc/switch_core.hpp"
#include "support/test.hpp"

namespace diecast::test {
namespace {

using hw::switch_core;

/// Two routers, the second with inputs from outside for packets that join the first one's. A VC per class;
/// all that enters leaves by one output. A head is granted a cycle after it has come.
class two_routers final : public switch_core::environment {
 public:
  static constexpr std::uint32_t classes = 4;
  static constexpr std::uint32_t entry = 0, way = 1, from_first = 2, first_beside = 3, exit = 6;

  /// `buffer` of each VC between the routers.
  explicit two_routers(std::uint32_t buffer) : buffer_(buffer), core_(build(), *this) {
    told_.fill({{0, buffer}});
    core_.observe(true);
    core_.observe_credits(true);
  }

  void send(std::uint32_t input, std::uint8_t of_class, std::uint32_t flits, std::uint64_t head,
            std::uint64_t tail) {
    core_.arrive({input, of_class, flits, 0, head, tail}, pool_.make());
  }
  void run_to(std::uint64_t cycle) {
    for (; now_ <= cycle; ++now_) {
      core_.advance(now_);
      core_.run();
    }
  }
  /// When packets of a class were granted an output.
  [[nodiscard]] std::vector<std::uint64_t> grants(std::uint32_t output, std::uint8_t of_class) const {
    const auto found = grants_.find({output, of_class});
    return found == grants_.end() ? std::vector<std::uint64_t>{} : found->second;
  }
  /// When the last flits of a class's packets have left.
  [[nodiscard]] const std::vector<std::uint64_t>& left(std::uint8_t of_class) const {
    return left_[of_class];
  }
  /// Credits of a class that the first router has in a cycle, by what was told.
  [[nodiscard]] std::int64_t told(std::uint8_t of_class, std::uint64_t cycle) const {
    std::int64_t sum = 0;
    for (const auto& [at, flits] : told_[of_class]) sum += at <= cycle ? flits : 0;
    return sum;
  }

  [[nodiscard]] const auto& vc_waits() const { return core_.vc_waits(); }
  [[nodiscard]] switch_core::hop route(std::uint16_t router, std::uint16_t, std::uint8_t vc) const override {
    return {router == 0 ? way : exit, vc, 1};
  }
  void eject(const switch_core::departure& d, hw::packet_ptr&&) override { left_[d.vc].push_back(d.last); }
  void delay(std::uint32_t, std::uint8_t vc, std::uint64_t last) override { left_[vc].back() = last; }
  void return_credit(std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t) override {}
  void occupied(std::uint32_t output, std::uint8_t vc, std::uint32_t, std::uint64_t begin,
                std::uint64_t) override {
    grants_[{output, vc}].push_back(begin);
  }
  void credits_changed(std::uint32_t output, std::uint8_t vc, std::int32_t flits, std::uint64_t first,
                       std::uint64_t last) override {
    if (output != way) return;
    if (flits < 0) return static_cast<void>(told_[vc].emplace(first, flits));
    for (std::int32_t n = 0; n < flits; ++n) {  // evenly, on cycles
      const std::uint64_t gaps = static_cast<std::uint64_t>(std::max(flits - 1, 1));
      told_[vc].emplace(first + (static_cast<std::uint64_t>(n) * (last - first) + gaps - 1) / gaps, 1);
    }
  }

 private:
  [[nodiscard]] switch_core::parameters build() const {
    switch_core::parameters p;
    p.vcs = p.classes = classes;
    p.longest_packet = 32;
    for (std::uint8_t c = 0; c < classes; ++c) p.class_of_vc[c] = c;
    for (std::uint32_t n = 0; n <= exit; ++n) {
      switch_core::port port;
      port.router = n < from_first ? 0 : 1;
      port.latency = port.head_delay = port.body_delay = port.credit_cycles = 1;
      port.buffer.fill(n == from_first ? buffer_ : 1000);
      port.credits.fill(n == way ? buffer_ : 1000);
      if (n == way) port.downstream = from_first;
      p.ports.push_back(port);
    }
    return p;
  }

  const std::uint32_t buffer_;
  hw::packet_pool pool_;
  switch_core core_;
  std::uint64_t now_{};
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<std::uint64_t>> grants_;
  std::array<std::vector<std::uint64_t>, classes> left_;
  std::array<std::multimap<std::uint64_t, std::int64_t>, classes> told_;
};

/// A packet of class 0 that waits at the second router for another of its class, passes from cycle 26 on,
/// and is joined by two long ones when six of its twelve flits have left.
struct joined_late {
  static constexpr std::uint32_t flits = 12;
  static constexpr std::uint64_t begins = 26, joined = 32;
  two_routers routers{flits};

  joined_late() {
    routers.send(two_routers::first_beside, 0, 25, 0, 24);
    routers.send(two_routers::entry, 0, flits, 0, 11);
    routers.send(two_routers::first_beside + 1, 1, 40, joined - 1, joined + 38);
    routers.send(two_routers::first_beside + 2, 2, 40, joined, joined + 39);
  }
};

TEST_CASE("credits: those that are back stay so when the packet behind them is delayed, evaluated or not") {
  joined_late late;
  two_routers& r = late.routers;
  constexpr std::uint64_t asks = joined_late::joined + 2;
  r.send(two_routers::entry, 0, 6, asks - 1, asks + 4);  // nobody has asked for credits before
  r.run_to(200);
  REQUIRE(r.grants(two_routers::exit, 0)[1] == joined_late::begins);
  CHECK(r.told(0, asks - 1) >= 6);
  CHECK(r.grants(two_routers::way, 0) == std::vector<std::uint64_t>{1, asks});
  CHECK(r.told(0, 200) == joined_late::flits);
}

TEST_CASE("credits: a head that waits is granted when the credits are back that it needs, as they are told") {
  for (std::uint32_t needed = 1; needed <= joined_late::flits; ++needed) {
    joined_late late;
    two_routers& r = late.routers;
    r.send(two_routers::entry, 0, needed, 12, 12 + needed - 1);
    r.run_to(200);
    const auto grants = r.grants(two_routers::way, 0);
    REQUIRE(grants.size() == 2);
    CHECK(r.vc_waits() == std::array<std::uint64_t, 8>{1});  // the second packet, of class 0
    INFO(needed << " flits, granted in " << grants[1]);
    CHECK(r.told(0, grants[1]) >= 0);
    CHECK(r.told(0, grants[1] - 1) < needed);
    // Six flits have left at full rate when the others join. The newcomers' first flits take cycles 32 and
    // 33, the seventh flit leaves in 34, and its credit is of use in 35; from then on each leaves every third
    // cycle.
    if (needed <= 6) CHECK(grants[1] == joined_late::begins + needed);
    if (needed > 6) CHECK(grants[1] == joined_late::joined + 3 + std::uint64_t{needed - 7} * 3);
    if (needed == joined_late::flits) CHECK(grants[1] == r.left(0)[1] + 1);
  }
}

TEST_CASE("credits: that of a single flit comes when it has left, however late that is") {
  two_routers r(1);
  r.send(two_routers::first_beside, 1, 24, 0, 23);
  r.send(two_routers::first_beside + 1, 2, 24, 1, 24);
  r.send(two_routers::entry, 0, 1, 8, 9);  // a flit that takes two cycles to come
  r.send(two_routers::entry, 0, 1, 8, 9);
  r.send(two_routers::first_beside + 2, 3, 24, 11, 34);  // joins while it leaves
  r.run_to(200);
  REQUIRE(r.grants(two_routers::exit, 0)[0] == 11);
  const std::uint64_t left = r.left(0)[0];
  REQUIRE(left > 12);  // which it would have been alone
  CHECK(r.grants(two_routers::way, 0) == std::vector<std::uint64_t>{9, left + 1});
  CHECK(r.told(0, left) == 0);
  CHECK(r.told(0, 200) == 1);
}

}  // namespace
}  // namespace diecast::test
