// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/doctor.hpp"

#include <algorithm>
#include <fmt/format.h>
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
    if (given.timed_out) too_slow(given);
    if (given.timed_out || given.exit_code == 2) return close();
    if (const observation* again = attempt("once more", {})) compare(given, *again);
    cache_monitor();
    matching_unit();
    checksums();
    one_packet_messages();
    wrong_results();
    other_ways();
    smallest();
    return close();
  }

 private:
  /// Runs with `more` beside what stands, keeps what it showed and collects the signs.
  const observation& look(const std::string& name, const changes& more) {
    const observation& o = keep(lab_.run(name, joined(more)));
    // What another machine would refuse says nothing about this one.
    if (o.exit_code != 2 || file_.observations.size() == 1) merge(file_.findings, signs_of(o));
    return o;
  }
  const observation& keep(observation o) {
    slowest_s_ = std::max(slowest_s_, o.wall_s);
    file_.observations.push_back(std::move(o));
    return file_.observations.back();
  }
  /// Null when nothing was learned: no time for it, or it was stopped, or this machine refuses it.
  const observation* attempt(const std::string& name, const changes& more, bool collect_signs = true) {
    if (!time_for_one()) return skip(name), nullptr;
    const observation& o = collect_signs ? look(name, more) : keep(lab_.run(name, joined(more)));
    if (o.timed_out) return skip(name), nullptr;
    if (o.exit_code != 2) return &o;
    file_.answers.emplace_back(name, "is refused: " + o.complaint());
    return nullptr;
  }
  /// As long as the longest so far.
  [[nodiscard]] bool time_for_one() const {
    constexpr double spare_s = 2.0;
    return lab_.seconds_left() > slowest_s_ + spare_s;
  }
  void skip(const std::string& name) { file_.skipped.push_back(name); }
  [[nodiscard]] changes joined(const changes& more) const {
    changes all = standing_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void too_slow(const observation& given) {
    finding f;
    f.kind = "timed_out";
    f.workaround = "fewer --bytes, --iters or ranks: then there is time to look into it";
    f.evidence.push_back(
        fmt::format("stopped after {:.0f} s of {:.0f}: {}", given.wall_s, lab_.budget(), given.complaint()));
    merge(file_.findings, {f});
  }

  void compare(const observation& a, const observation& b) {
    const bool same = a.exit_code == b.exit_code && a.fingerprint() == b.fingerprint();
    file_.answers.emplace_back("the same every time", same ? "yes" : "no");
    if (same) return;
    finding f;
    f.kind = "nondeterminism";
    f.evidence.push_back(fmt::format("exit codes {} and {}, fingerprints {} and {}", a.exit_code, b.exit_code,
                                     a.fingerprint(), b.fingerprint()));
    merge(file_.findings, {f});
  }

  void cache_monitor() {
    if (!names(file_.findings, "dispatch_corruption")) return;
    const changes disabled{"--set", "comm.mr_cache_monitor=disabled"};
    const observation* o = attempt("without the cache monitor", disabled);
    if (o == nullptr) return;
    const bool gone = o->exit_code != file_.observations.front().exit_code;
    file_.answers.emplace_back("disabling the cache monitor removes it", gone ? "yes" : "no");
    if (gone) standing_.insert(standing_.end(), disabled.begin(), disabled.end());
  }

  /// Firmware and a tag-matching unit contradict each other: is the unit's list to blame?
  void matching_unit() {
    if (!names(file_.findings, "tag_list_race")) return;
    const changes in_software{"--set", software_matching};
    const observation* o = attempt("matching in software", in_software);
    if (o == nullptr) return;
    file_.answers.emplace_back("matching in software removes it", right(*o) ? "yes" : "no");
    if (right(*o)) standing_.insert(standing_.end(), in_software.begin(), in_software.end());
  }

  void checksums() {
    const observation* o = attempt("with checksums", {"--set", "comm.checksum=crc32c"});
    if (o == nullptr) return;
    const bool seen = o->exit_code == 4 && names(signs_of(*o), "bit_flip");
    file_.answers.emplace_back("checksums see it", seen ? "yes: " + o->complaint() : "no");
  }

  /// Small messages of one packet each tell a lost packet from a late one and from one that came twice.
  void one_packet_messages() {
    constexpr std::uint64_t most = 16384;
    changes more{"--set", "ipcq.slot_bytes=256"};
    if (sized() && who_.bytes > most) more.insert(more.end(), {"--bytes", std::to_string(most)});
    (void)attempt("messages of one packet", more);
  }

  /// Results are wrong although no packet was: firmware or the order of token and data. The place stays open:
  /// a run that is right has other times, and the first difference from it says nothing.
  void wrong_results() {
    const auto bad = std::find_if(file_.observations.begin(), file_.observations.end(), wrong_data);
    if (bad == file_.observations.end() || who_.collective == "barrier") return;
    const changes as_two{"--set", "comm.sendrecv=split"};
    const observation* split = attempt("send-receive split", as_two);
    if (split == nullptr) return;
    file_.answers.emplace_back("splitting send-receive removes it", right(*split) ? "yes" : "no");
    if (!right(*split)) return read_later();
    finding f;
    f.kind = "sendrecv_alias";
    f.workaround = "comm.sendrecv=split";
    f.evidence.push_back(
        "wrong results in one call, right ones as isend, irecv and waitall; no checksum sees it");
    merge(file_.findings, {f});
    standing_.insert(standing_.end(), as_two.begin(), as_two.end());
  }
  void read_later() {
    const changes late{"--set", "ipcq.match_cycles=10000", "--set", "pe.interrupt_cycles=10000"};
    const observation* later = attempt("reading later", late);
    if (later == nullptr) return;
    file_.answers.emplace_back("waiting between token and data removes it", right(*later) ? "yes" : "no");
    if (!right(*later) && (names(file_.findings, "bit_flip") || sent_too_early())) return;
    finding f;
    f.kind = "token_before_data";
    f.workaround = "wait for the data: a later token (ipcq.match_cycles), or a flush before it";
    f.evidence.push_back(
        right(*later) ? "wrong results, right ones when receivers read 20 us later; no checksum sees it"
                      : "wrong results that no checksum sees and splitting send-receive does not remove");
    merge(file_.findings, {f});
  }

  /// Whether results are right when DMA engines begin to read long after they were told to.
  bool sent_too_early() {
    const observation* o = attempt("sending later", {"--set", "pe.dma_startup_cycles=10000"});
    if (o == nullptr) return false;
    file_.answers.emplace_back("waiting between a write and its send removes it", right(*o) ? "yes" : "no");
    if (!right(*o)) return false;
    finding f;
    f.kind = "premature_barrier";
    f.workaround = "flush what the core has written before the send (pe.dma_startup_cycles hides it)";
    f.evidence.push_back(
        "wrong results, right ones when sources are read 10 us later; no checksum sees it, for the stale "
        "bytes are what is sent");
    merge(file_.findings, {f});
    return true;
  }

  void other_ways() {
    const std::vector<std::string> others = other_algorithms();
    if (healthy_so_far()) {
      // A fault may sit where this run does not go.
      for (const std::string& name : others) (void)attempt("algorithm " + name, {"--algorithm", name});
      return;
    }
    if (!others.empty()) {
      const std::string& name = others.front();
      const observation* o = attempt("algorithm " + name, {"--algorithm", name});
      if (o != nullptr) {
        file_.answers.emplace_back("another algorithm removes it",
                                   fmt::format("{} ({})", right(*o) ? "yes" : "no", name));
      }
    }
    const observation* staged = attempt("staged through host memory", {"--set", "comm.path=staged"}, false);
    if (staged != nullptr) file_.answers.emplace_back("staging removes it", right(*staged) ? "yes" : "no");
  }

  /// What else shows it: fewer bytes, an eighth at a time, and fewer ranks.
  void smallest() {
    if (healthy_so_far() || !lab_.given("--workload").empty()) return;
    if (file_.observations.front().exit_code == 0) return;
    if (sized()) fewer_bytes();
    for (const char* ranks : {"cube", "sip"}) {
      const observation* o = attempt(fmt::format("ranks {}", ranks), {"--ranks", ranks}, false);
      if (o == nullptr) continue;
      file_.answers.emplace_back(fmt::format("with one rank per {}", ranks), shows(*o)   ? "the same"
                                                                             : right(*o) ? "right"
                                                                                         : "another way");
    }
  }
  void fewer_bytes() {
    constexpr std::uint64_t step = 8;
    constexpr std::uint64_t least = 64;
    std::uint64_t fewest = who_.bytes;
    std::optional<std::uint64_t> without;
    while (!without && fewest / step >= least) {
      const std::uint64_t bytes = fewest / step;
      const observation* o =
          attempt(fmt::format("{} bytes", bytes), {"--bytes", std::to_string(bytes)}, false);
      if (o == nullptr) break;
      if (shows(*o)) {
        fewest = bytes;
      } else {
        without = bytes;
      }
    }
    if (fewest == who_.bytes && !without) return;  // nothing was learned
    file_.answers.emplace_back("fewest bytes that show it", std::to_string(fewest));
    file_.answers.emplace_back(
        "depends on the size",
        without ? fmt::format("yes: {} bytes do not show it", *without) : "not as far as was tried");
  }
  /// Goes wrong as the run that was given.
  [[nodiscard]] bool shows(const observation& o) const {
    return o.exit_code == file_.observations.front().exit_code;
  }
  /// Whether --bytes has a meaning.
  [[nodiscard]] bool sized() const {
    return lab_.given("--workload").empty() && who_.collective != "barrier";
  }

  /// The first two of the collective that the run does not use.
  [[nodiscard]] std::vector<std::string> other_algorithms() {
    if (!lab_.given("--workload").empty()) return {};
    constexpr std::size_t most = 2;
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
    if (others.size() > most) others.resize(most);
    return others;
  }

  [[nodiscard]] bool healthy_so_far() const { return file_.findings.empty(); }

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
    constexpr int stopped = 143, failed = 70;
    file_.exit_code = given.timed_out ? stopped : given.exit_code < 0 ? failed : given.exit_code;
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
                         {"--out", "--format", "--progress", "--vcd", "--vcd-scope", "--vcd-window",
                          "--timeline", "--timeline-scope", "--record", "--verify"},
                         {"--diagnose", "--quiet", "--double-run", "--ccl-trace"}),
                 budget_s);
  const case_file file = examination(lab, who).run();
  return {to_json(file, lab), to_text(file, lab), file.exit_code};
}

}  // namespace diecast::diagnose
