// SPDX-License-Identifier: Apache-2.0
// A link in waveforms: when it is busy, and its credits where the end of a batch on its way back is put off.
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "platforms/observe/vcd_writer.hpp"
#include "support/test.hpp"
#include "unit/platforms/config_io/config_files.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

using vcd_changes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // ns, value

/// Changes of the first variable of that name.
vcd_changes changes_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  vcd_changes found;
  std::string code;
  std::uint64_t now = 0;
  for (std::string line; std::getline(file, line);) {
    if (code.empty() && line.find(" " + name + " $end") != std::string::npos) {
      code = line.substr(0, line.find(" " + name));
      code = code.substr(code.rfind(' ') + 1);
    } else if (line.starts_with('#')) {
      now = std::strtoull(line.c_str() + 1, nullptr, 10) / 1'000'000;
    } else if (!code.empty() && (line == "0" + code || line == "1" + code)) {
      found.emplace_back(now, line[0] == '1' ? 1 : 0);
    } else if (line.starts_with('b') && !code.empty() && line.ends_with(" " + code)) {
      found.emplace_back(now, std::strtoull(line.c_str() + 1, nullptr, 2));
    }
  }
  return found;
}

sim_time ns(std::uint64_t t) { return nanoseconds(static_cast<double>(t)); }

config::machine_config one_cube() {
  config::machine_config c;
  c.trace.vcd_credits = true;
  c.pod.sips = c.sip.columns = c.sip.rows = 1;
  return c;
}

/// Waveforms of a link with 32 credits of VC 0.
struct wave_bench {
  const config::machine_config config = one_cube();
  const fabric::topology topology{config};
  const std::uint32_t link = topology.mesh_link({}, {}, 0, fabric::side::east);
  const temporary_folder folder;
  const std::string path = folder.write("wave.vcd", "").string();
  observe::vcd_writer vcd{path, config, &topology, {}, {}};

  wave_bench() { vcd.begin({{link, 0, 32}}); }
  /// Times in ns, as of events::link_credits.
  void told(std::uint64_t at, std::int32_t flits, std::uint64_t first, std::uint64_t last) {
    vcd.on(events::link_credits{ns(at), link, 0, flits, ns(first), ns(last), ns(1)});
  }
  /// Times in ns, as of events::link_occupied.
  void busy(std::uint64_t head, std::uint64_t tail) {
    vcd.on(events::link_occupied{ns(head), ns(tail), link, 0, 1});
  }
  [[nodiscard]] vcd_changes busy_changes() const { return changes_of(path, "east_busy"); }
  [[nodiscard]] vcd_changes credits() const { return changes_of(path, "east_credits_vc0"); }
};

}  // namespace

TEST_CASE("waveforms: credits put off show when they come, those that are back stay") {
  wave_bench b;
  b.told(10, -4, 10, 10);
  b.told(90, 4, 100, 103);  // at 100, 101, 102, 103
  for (const auto& [before, now] : {std::pair{102u, 109u}, std::pair{103u, 113u}}) {
    b.told(101, -1, before, before);
    b.told(101, 1, now, now);
  }
  b.told(104, -1, 113, 113);
  b.told(104, 1, 130, 130);
  b.vcd.close(ns(200));
  const vcd_changes expected{{0, 32}, {10, 28}, {100, 29}, {101, 30}, {109, 31}, {130, 32}};
  CHECK(b.credits() == expected);
}

TEST_CASE("waveforms: credits are as wide as their number") {
  const auto declared = [](std::uint32_t flits) {
    wave_bench b;
    const std::string path = b.folder.write("wide.vcd", "").string();
    observe::vcd_writer vcd{path, b.config, &b.topology, {}, {}};
    vcd.begin({{b.link, 0, flits}});
    vcd.close(ns(1));
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line) && !line.ends_with(" east_credits_vc0 $end")) continue;
    return line.substr(0, line.rfind(' ', line.find(" east_credits_vc0") - 1));
  };
  CHECK(declared(65'535) == "$var wire 16");
  CHECK(declared(65'536) == "$var wire 17");
  CHECK(declared(1'048'576) == "$var wire 21");
}

TEST_CASE("waveforms: a link is busy while it carries something, whenever it was told") {
  wave_bench b;
  b.busy(10, 15);
  b.busy(30, 35);
  b.busy(35, 40);  // without a gap
  b.busy(60, 70);
  b.busy(62, 75);  // two classes at a time
  b.vcd.close(ns(200));
  const vcd_changes expected{{0, 0}, {10, 1}, {15, 0}, {30, 1}, {40, 0}, {60, 1}, {75, 0}};
  CHECK(b.busy_changes() == expected);
}

TEST_CASE("waveforms: what was announced for after the stop of a run is not shown") {
  wave_bench b;
  b.told(10, -4, 10, 10);
  b.told(90, 4, 100, 103);
  b.vcd.stop_at(ns(101));
  b.vcd.close(ns(101));
  const vcd_changes expected{{0, 32}, {10, 28}, {100, 29}, {101, 30}};
  CHECK(b.credits() == expected);
}
