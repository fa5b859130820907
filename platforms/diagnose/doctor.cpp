// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/doctor.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sstream>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/laboratory.hpp"
#include "platforms/diagnose/report.hpp"

namespace diecast::diagnose {
namespace {

using changes = std::vector<std::string>;

bool wrong_data(const observation& o) { return o.exit_code == 1; }
bool right(const observation& o) { return o.exit_code == 0; }

class examination {
 public:
  examination(laboratory& lab, const patient& who) : lab_(lab), who_(who) {}

  case_file run() {
    const observation& given = look("as given", {});
    if (given.exit_code == 2) return close();
    look("once more", {});
    compare_repeats();
    if (names(file_.findings, "dispatch_corruption")) {
      if (right_or_other("without the cache monitor", changes{"--set", "comm.mr_cache_monitor=disabled"},
                         4)) {
        standing_.insert(standing_.end(), {"--set", "comm.mr_cache_monitor=disabled"});
        file_.answers.emplace_back("disabling the cache monitor removes it", "yes");
      }
    }
    const observation& checked = look("with checksums", {"--set", "comm.checksum=crc32c"});
    file_.answers.emplace_back("checksums see it",
                               checked.exit_code == 4 && names(signs_of(checked), "bit_flip")
                                   ? "yes: " + checked.complaint()
                                   : "no");
    one_packet_messages();
    wrong_results();
    other_ways();
    smallest();
    return close();
  }

 private:
  /// Runs with `more` beside what stands, and collects the signs.
  const observation& look(const std::string& name, const changes& more) {
    changes all = standing_;
    all.insert(all.end(), more.begin(), more.end());
    observation o = lab_.run(name, all);
    merge(file_.findings, signs_of(o));
    slowest_s_ = std::max(slowest_s_, o.wall_s);
    file_.observations.push_back(std::move(o));
    return file_.observations.back();
  }
  /// Whether there is time for so many more runs, as long as the longest so far.
  [[nodiscard]] bool time_for(double runs) const { return lab_.seconds_left() > runs * slowest_s_ + 2.0; }

  /// True when the run no longer ends with `code`.
  bool right_or_other(const std::string& name, const changes& more, int code) {
    return look(name, more).exit_code != code;
  }

  void compare_repeats() {
    const observation& a = file_.observations[0];
    const observation& b = file_.observations[1];
    const bool same = a.exit_code == b.exit_code && a.fingerprint() == b.fingerprint();
    file_.answers.emplace_back("the same every time", same ? "yes" : "no");
    if (same) return;
    finding f;
    f.kind = "nondeterminism";
    f.evidence.push_back(fmt::format("fingerprints {} and {}", a.fingerprint(), b.fingerprint()));
    merge(file_.findings, {f});
  }

  /// Small messages of one packet each tell a lost packet from a late one and from one that came twice.
  void one_packet_messages() {
    if (!time_for(1)) return skip("messages of one packet");
    constexpr std::uint64_t most = 16384;
    changes more{"--set", "ipcq.slot_bytes=256"};
    if (who_.bytes > most) more.insert(more.end(), {"--bytes", std::to_string(most)});
    look("messages of one packet", more);
  }

  /// Results are wrong although no packet was: firmware or the order of token and data.
  void wrong_results() {
    const auto bad = std::find_if(file_.observations.begin(), file_.observations.end(), wrong_data);
    if (bad == file_.observations.end() || who_.collective == "barrier") return;
    if (!time_for(1)) return skip("send-receive split");
    const std::string record = lab_.scratch_file("split.record");
    const observation split =
        look("send-receive split", {"--set", "comm.sendrecv=split", "--record", record});
    file_.answers.emplace_back("splitting send-receive removes it", right(split) ? "yes" : "no");
    if (right(split)) {
      finding f;
      f.kind = "sendrecv_alias";
      f.workaround = "comm.sendrecv=split";
      f.evidence.push_back(
          "wrong results in one call, right ones as isend, irecv and waitall; no checksum sees it");
      place(f, record);
      merge(file_.findings, {f});
      standing_.insert(standing_.end(), {"--set", "comm.sendrecv=split"});
      return;
    }
    if (!time_for(1)) return skip("reading later");
    const std::string late = lab_.scratch_file("late.record");
    const observation later = look("reading later", {"--set", "ipcq.match_cycles=10000", "--set",
                                                     "pe.interrupt_cycles=10000", "--record", late});
    file_.answers.emplace_back("waiting between token and data removes it", right(later) ? "yes" : "no");
    const bool corrupted = names(file_.findings, "bit_flip");
    if (!right(later) && corrupted) return;
    if (!right(later) && sent_too_early()) return;
    finding f;
    f.kind = "token_before_data";
    f.workaround = "wait for the data: a later token (ipcq.match_cycles), or a flush before it";
    f.evidence.push_back(
        right(later) ? "wrong results, right ones when receivers read 20 us later; no checksum sees it"
                     : "wrong results that no checksum sees and splitting send-receive does not remove");
    if (right(later)) place(f, late);
    merge(file_.findings, {f});
  }

  /// Whether results are right when DMA engines begin to read long after they were told to.
  bool sent_too_early() {
    if (!time_for(1)) {
      skip("sending later");
      return false;
    }
    const std::string record = lab_.scratch_file("early.record");
    const observation o = look("sending later", {"--set", "pe.dma_startup_cycles=10000", "--record", record});
    file_.answers.emplace_back("waiting between a write and its send removes it", right(o) ? "yes" : "no");
    if (!right(o)) return false;
    finding f;
    f.kind = "premature_barrier";
    f.workaround = "flush what the core has written before the send (pe.dma_startup_cycles hides it)";
    f.evidence.push_back(
        "wrong results, right ones when sources are read 10 us later; no checksum sees it, for the stale "
        "bytes "
        "are what is sent");
    place(f, record);
    merge(file_.findings, {f});
    return true;
  }

  /// The first step in which the run as it stands differs from one that is right.
  void place(finding& f, const std::string& record) {
    if (!time_for(1)) return;
    const observation o = lab_.run("first difference", joined({"--verify", record}));
    const auto line = o.errors.find("first at ");
    if (line == std::string::npos) return;
    const std::string text = o.errors.substr(line, o.errors.find('\n', line) - line);
    f.evidence.push_back("differs from the right run " + text);
  }
  [[nodiscard]] changes joined(const changes& more) const {
    changes all = standing_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void other_ways() {
    if (healthy_so_far()) {
      // A fault may sit where this run does not go.
      for (const std::string& name : other_algorithms(2)) {
        if (time_for(1)) look("algorithm " + name, {"--algorithm", name});
      }
      return;
    }
    const auto others = other_algorithms(1);
    if (others.empty() || !time_for(1)) return skip("another algorithm");
    const observation& o = look("algorithm " + others.front(), {"--algorithm", others.front()});
    file_.answers.emplace_back("another algorithm removes it",
                               fmt::format("{} ({})", right(o) ? "yes" : "no", others.front()));
    if (!time_for(1)) return skip("staging through host memory");
    const observation staged = lab_.run("staged through host memory", joined({"--set", "comm.path=staged"}));
    if (staged.exit_code == 2) return;  // this machine cannot
    file_.answers.emplace_back("staging removes it", right(staged) ? "yes" : "no");
    file_.observations.push_back(staged);
  }

  /// Halves the bytes, then the ranks, for as long as the run still goes wrong in the same way.
  void smallest() {
    if (healthy_so_far()) return;
    const int code = file_.observations.front().exit_code;
    if (code == 0) return;
    if (who_.collective != "barrier") fewest_bytes(code);  // a barrier moves none
    other_ranks(code);
  }

  void fewest_bytes(int code) {
    std::uint64_t bytes = who_.bytes;
    std::uint64_t fewest = bytes;
    constexpr std::uint64_t step = 8;
    constexpr std::uint64_t least = 64;
    while (bytes / step >= least && time_for(2)) {
      bytes /= step;
      const observation o =
          lab_.run(fmt::format("{} bytes", bytes), joined({"--bytes", std::to_string(bytes)}));
      if (o.exit_code == code) {
        fewest = bytes;
      } else {
        break;
      }
    }
    file_.answers.emplace_back("fewest bytes that show it", std::to_string(fewest));
    file_.answers.emplace_back("depends on the size",
                               fewest == who_.bytes && bytes < who_.bytes ? "yes" : "no");
  }

  void other_ranks(int code) {
    for (const char* ranks : {"cube", "sip"}) {
      if (!time_for(1)) return skip("other ranks");
      const observation o = lab_.run(fmt::format("ranks {}", ranks), joined({"--ranks", ranks}));
      if (o.exit_code == 2) continue;
      file_.answers.emplace_back(fmt::format("with one rank per {}", ranks), o.exit_code == code ? "the same"
                                                                             : right(o)          ? "right"
                                                                                        : "another way");
    }
  }

  [[nodiscard]] std::vector<std::string> other_algorithms(std::size_t most) {
    std::vector<std::string> others;
    std::string first;
    std::istringstream lines(lab_.ask({"--list", "algorithms"}));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string collective, name;
      words >> collective >> name;
      if (collective != who_.collective) continue;
      if (first.empty()) first = name;
      if (name != who_.algorithm && !(who_.algorithm.empty() && name == first)) others.push_back(name);
    }
    if (!lab_.given("--workload").empty()) return {};
    if (others.size() > most) others.resize(most);
    return others;
  }

  [[nodiscard]] bool healthy_so_far() const { return file_.findings.empty(); }
  void skip(const std::string& what) { file_.answers.emplace_back(what, "not tried for want of time"); }

  case_file close() {
    settle(file_.findings);
    const observation& given = file_.observations.front();
    if (given.exit_code == 3 && given.deadlock.is_object()) {
      for (const auto& root : given.deadlock.value("roots", nlohmann::json::array())) {
        std::string at;
        for (const auto& m : root.value("members", nlohmann::json::array())) at += " " + m.get<std::string>();
        for (const auto& w : root.value("waits", nlohmann::json::array())) {
          at += " " + w.value("waiter", std::string{});
        }
        file_.answers.emplace_back("root of the wait-for graph", root.value("kind", std::string{}) + at);
        break;
      }
    }
    file_.exit_code = given.exit_code < 0 ? 70 : given.exit_code;
    return std::move(file_);
  }

  laboratory& lab_;
  const patient& who_;
  changes standing_;  ///< workarounds found: they let the next thing be seen
  double slowest_s_{};
  case_file file_;
};

}  // namespace

diagnosis examine(const patient& who, double budget_s) {
  laboratory lab(who.binary,
                 without(who.arguments,
                         {"--out", "--format", "--progress", "--vcd", "--vcd-scope", "--timeline", "--record",
                          "--verify"},
                         {"--diagnose", "--quiet", "--double-run", "--ccl-trace"}),
                 budget_s);
  const case_file file = examination(lab, who).run();
  return {to_json(file, lab), to_text(file, lab), file.exit_code};
}

}  // namespace diecast::diagnose
