// SPDX-License-Identifier: Apache-2.0
#include "platforms/diagnose/doctor.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <regex>
#include <sstream>

#include "platforms/diagnose/findings.hpp"
#include "platforms/diagnose/jobs.hpp"
#include "platforms/diagnose/laboratory.hpp"
#include "platforms/diagnose/report.hpp"

namespace diecast::diagnose {
namespace {

using changes = std::vector<std::string>;
using nlohmann::json;

bool wrong_data(const observation& o) { return o.exit_code == 1; }
bool right(const observation& o) { return o.exit_code == 0; }

class examination {
 public:
  examination(laboratory& lab, const patient& who) : lab_(lab), who_(who), bytes_(who.bytes) {}

  case_file run() {
    const observation& given = first_look();
    if (given.timed_out || given.exit_code == 2) return close();
    if (const observation* again = attempt("once more", {})) compare(given, *again);
    cache_monitor();
    matching_unit();
    checksums();
    one_packet_messages();
    one_at_a_time();
    history();
    wrong_results();
    // Asked of what is wrong; while something is left, with what is known already out of the way.
    if (cured_) standing_.clear();
    other_ways();
    other_transport();
    smallest();
    fewest_ranks();
    route();
    return close();
  }

 private:
  /// Runs with `more` beside what stands, keeps what it showed and collects the signs.
  const observation& look(const std::string& name, const changes& more,
                          double limit_s = std::numeric_limits<double>::infinity()) {
    const observation& o = keep(lab_.run(name, joined(more), limit_s));
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
    changes replaced;
    for (const std::string& word : more) {
      if (word.starts_with("--") && word != "--set") replaced.push_back(word);
    }
    const bool other_job = std::find(replaced.begin(), replaced.end(), "--workload") != replaced.end();
    changes all = other_job ? changes{} : without(smaller_, replaced, {});
    all.insert(all.end(), standing_.begin(), standing_.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// The run as given or, where it takes too long to be repeated, the largest of smaller ones that does not.
  const observation& first_look() {
    const observation& given = look("as given", {}, lab_.budget() / 2);
    if (!given.timed_out) return given;
    finding f;
    f.kind = "timed_out";
    f.workaround = "fewer --bytes, --iters or ranks: then there is time to look into it";
    f.evidence.push_back(
        fmt::format("stopped after {:.0f} s of {:.0f}: {}", given.wall_s, lab_.budget(), given.complaint()));
    slowest_s_ = 0;
    const observation& looked_into = smaller(given);
    if (!looked_into.timed_out) {
      f.evidence.push_back(fmt::format("what else is said is of a smaller run: {}", looked_into.name));
    }
    too_slow_ = std::move(f);
    return looked_into;
  }
  const observation& smaller(const observation& given) {
    constexpr std::uint64_t step = 16, least = 1024;
    struct choice {
      std::string name;
      changes flags;
      std::uint64_t bytes;
    };
    std::vector<choice> choices;
    if (sized() && who_.bytes / step >= least) {
      const std::uint64_t bytes = who_.bytes / step;
      choices.push_back({fmt::format("{} bytes", bytes), {"--bytes", std::to_string(bytes)}, bytes});
    }
    if (sized()) {
      choices.push_back({fmt::format("{} bytes, a rank per SIP", least),
                         {"--bytes", std::to_string(least), "--ranks", "sip"},
                         least});
    }
    for (const auto& [name, flags, bytes] : choices) {
      constexpr double least_s = 2.0;
      if (lab_.seconds_left() < least_s) break;
      const observation& o = look("smaller: " + name, flags, lab_.seconds_left() / 2);
      slowest_s_ = o.timed_out ? 0 : o.wall_s;
      if (o.timed_out || o.exit_code == 2) continue;
      file_.answers.emplace_back("looked into instead, for want of time", name);
      smaller_ = flags;
      bytes_ = bytes;
      base_ = file_.observations.size() - 1;
      return o;
    }
    return given;
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
    const bool gone = o->exit_code != base().exit_code;
    file_.answers.emplace_back("disabling the cache monitor removes it", gone ? "yes" : "no");
    if (gone) standing_.insert(standing_.end(), disabled.begin(), disabled.end());
    cured_ = right(*o);
  }

  /// Firmware and a tag-matching unit contradict each other: is the unit's list to blame?
  void matching_unit() {
    const bool contradicted = names(file_.findings, "tag_list_race");
    // Messages have two ways to be matched; a collective has no other transport.
    const bool messages = !lab_.given("--workload").empty() && !right(base());
    if (!contradicted && !messages) return;
    const changes in_software{"--set", software_matching};
    const observation* o = attempt("matching in software", in_software);
    if (o == nullptr) return;
    file_.answers.emplace_back("matching in software removes it", right(*o) ? "yes" : "no");
    if (!contradicted) return;
    if (right(*o)) standing_.insert(standing_.end(), in_software.begin(), in_software.end());
    cured_ = right(*o);
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
    if (sized() && bytes_ > most) more.insert(more.end(), {"--bytes", std::to_string(most)});
    (void)attempt("messages of one packet", more);
  }

  /// Whether a loss shows only when messages follow each other before they are flushed: then each alone, with
  /// the next one held back by its credit, is right.
  void one_at_a_time() {
    const auto any = [this](std::initializer_list<const char*> kinds) {
      return std::any_of(kinds.begin(), kinds.end(),
                         [this](const char* kind) { return names(file_.findings, kind); });
    };
    if (right(base()) || !any({"drop", "gap", "half_message", "missing_packets"})) return;
    if (any({"bit_flip", "duplicate", "link_down", "lost_credit", "overtaken_credit"})) return;
    const observation* o = attempt("one message at a time", {"--set", "ipcq.n_slots=1"}, false);
    if (o == nullptr) return;
    file_.answers.emplace_back(
        "depends on the count of messages under way",
        right(*o) ? "yes: right with one at a time" : fmt::format("no: {} with one at a time", outcome(*o)));
    if (!right(*o)) return;
    finding f;
    f.kind = overrun;
    f.workaround = "flush a contribution before the next one is sent (ipcq.n_slots=1 does)";
    f.evidence.emplace_back(
        "bytes are lost when messages follow each other, none with one message at a time");
    merge(file_.findings, {f});
  }

  /// The same again in one run: what depends on the count of launches, and on what was before.
  void history() {
    constexpr std::uint64_t times = 4;
    const std::string workload = lab_.given("--workload");
    if (workload.empty()) {
      if (lab_.given("--iters").empty()) ask_again("four launches", {"--iters", std::to_string(times)});
      return;
    }
    std::ifstream in(workload, std::ios::binary);
    const std::string once{std::istreambuf_iterator<char>(in), {}};
    if (const auto more = repeated(once, times)) {
      ask_again("four rounds of the workload", {"--workload", lab_.keep(*more)});
    } else {
      file_.answers.emplace_back("in four rounds of the workload",
                                 "not asked: it is no JSON file with streams");
    }
  }
  void ask_again(const std::string& name, const changes& more) {
    const observation* o = attempt(name, more);
    if (o != nullptr) file_.answers.emplace_back("in " + name, outcome(*o));
  }
  [[nodiscard]] std::string outcome(const observation& o) const {
    return shows(o) ? "the same" : right(o) ? "right" : fmt::format("another way: exit code {}", o.exit_code);
  }

  /// What is changed to see whether results are right then, and what it means when they are.
  struct remedy {
    const char* name;
    const char* question;
    changes flags;
    const char* kind;
    const char* workaround;
    const char* evidence;
  };
  static std::vector<remedy> remedies() {
    return {
        {"send-receive split",
         "splitting send-receive removes it",
         {"--set", "comm.sendrecv=split"},
         "sendrecv_alias",
         "comm.sendrecv=split",
         "wrong results in one call, right ones as isend, irecv and waitall; no checksum sees it"},
        {"reading later",
         "waiting between token and data removes it",
         {"--set", "ipcq.match_cycles=10000", "--set", "pe.interrupt_cycles=10000"},
         "token_before_data",
         "wait for the data: a later token (ipcq.match_cycles), or a flush before it",
         "wrong results, right ones when receivers read 20 us later; no checksum sees it"},
        {"sending later",
         "waiting between a write and its send removes it",
         {"--set", "pe.dma_startup_cycles=10000"},
         "premature_barrier",
         "flush what the core has written before the send (pe.dma_startup_cycles hides it)",
         "wrong results, right ones when sources are read 10 us later; no checksum sees it, for the stale "
         "bytes are what is sent"}};
  }

  /// Results are wrong although no packet was: firmware or the order of token and data. The place stays open:
  /// a run that is right has other times, and the first difference from it says nothing.
  void wrong_results() {
    const auto bad = std::find_if(file_.observations.begin(), file_.observations.end(), wrong_data);
    if (bad == file_.observations.end() || who_.collective == "barrier") return;
    // Other times hide packets that overtake each other as well: what helps then says nothing.
    for (const char* disorder : {"gap", "reorder", "duplicate", "drop"}) {
      if (names(file_.findings, disorder)) return;
    }
    const observation* before = &*bad;
    const std::vector<remedy> all = remedies();
    bool any = false;
    for (const remedy& r : all) {
      const observation* o = attempt(r.name, r.flags);
      if (o == nullptr) continue;
      file_.answers.emplace_back(r.question, helped(*o, *before));
      if (!helps(*o, *before)) continue;
      any = true;
      blame(r);
      cured_ = right(*o);
      if (cured_) return;
      before = o;  // another fault is left
    }
    if (any || two_at_once(all, *before)) return;
    const bool explained =
        std::any_of(file_.findings.begin(), file_.findings.end(), [](const finding& f) { return !f.hidden; });
    if (explained) return;
    finding f;
    f.kind = "wrong_data";
    f.evidence.push_back(
        "no checksum sees it, and neither splitting send-receive nor reading or sending later "
        "removes it");
    merge(file_.findings, {f});
  }
  /// Each of two may hide what the other one's remedy does.
  bool two_at_once(const std::vector<remedy>& all, const observation& before) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = i + 1; k < all.size(); ++k) {
        changes both = all[i].flags;
        both.insert(both.end(), all[k].flags.begin(), all[k].flags.end());
        const observation* o = attempt(fmt::format("{}, {}", all[i].name, all[k].name), both);
        if (o == nullptr || !helps(*o, before)) continue;
        file_.answers.emplace_back(fmt::format("{} and {} together remove it", all[i].name, all[k].name),
                                   helped(*o, before));
        blame(all[i]);
        blame(all[k]);
        cured_ = right(*o);
        return true;
      }
    }
    return false;
  }
  void blame(const remedy& r) {
    finding f;
    f.kind = r.kind;
    f.workaround = r.workaround;
    f.evidence.emplace_back(r.evidence);
    merge(file_.findings, {f});
    standing_.insert(standing_.end(), r.flags.begin(), r.flags.end());
  }
  static double wrong_elements(const observation& o) {
    return o.run().is_object() ? o.run().value("wrong_elements", 0.0) : 0.0;
  }
  /// Right results, or next to none that are wrong. Other times make another packet the one that a single
  /// fault meets, which changes the count by less.
  static bool helps(const observation& o, const observation& before) {
    constexpr double far_fewer = 100;
    return right(o) || (wrong_data(o) && wrong_elements(o) * far_fewer < wrong_elements(before));
  }
  static std::string helped(const observation& o, const observation& before) {
    if (right(o)) return "yes";
    if (!helps(o, before)) return "no";
    return fmt::format("most of it: {:.0f} elements are wrong, {:.0f} were", wrong_elements(o),
                       wrong_elements(before));
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
        routes_.push_back({"with " + name, right(*o), false});
      }
    }
    const observation* staged = attempt("staged through host memory", {"--set", "comm.path=staged"}, false);
    if (staged == nullptr) return;
    file_.answers.emplace_back("staging removes it", right(*staged) ? "yes" : "no");
    routes_.push_back({"staged through host memory", right(*staged), false});
  }

  /// Matched by tags where the run uses queue pairs, and the other way round. Barriers use neither.
  void other_transport() {
    if (healthy_so_far() || right(base()) || !base().result.is_object()) return;
    const bool tags = uses_tags();
    if (!tags && who_.collective == "barrier" && lab_.given("--workload").empty()) return;
    const json& run = base().run();
    const std::uint32_t ranks = run.is_object() ? run.value("ranks", std::uint32_t{}) : 0;
    if (ranks < 2) return;
    constexpr std::uint64_t of_workload = 16384, least = 256, most = 65536, grain = 64;
    const std::uint64_t piece = std::clamp(bytes_ / ranks / grain * grain, least, most);
    std::string file;
    if (tags) {
      file = lab_.keep(workload_of({"all_reduce", {}, {}, {}, "pe", {}, of_workload}));
    } else {
      file = lab_.keep(ring_of_messages(piece));
    }
    const observation* o = attempt("another transport", {"--workload", file}, false);
    if (o == nullptr) return;
    const char* const name = tags ? "queue pairs" : "tag-matched messages";
    file_.answers.emplace_back(
        "another transport removes it",
        right(*o) ? fmt::format("yes ({})", name) : fmt::format("no: {} ({})", outcome(*o), name));
  }
  /// By its statistics, which only a run that ends has, or by its recorder.
  [[nodiscard]] bool uses_tags() const {
    const json& run = base().run();
    if (run.is_object() && run.value("stats", json::object()).value("tag_posted", 0.0) > 0) return true;
    if (!base().flight.is_object()) return false;
    const json entries = base().flight.value("entries", json::array());
    return std::any_of(entries.begin(), entries.end(),
                       [](const json& e) { return e.contains("communicator"); });
  }
  static std::vector<std::uint32_t> first_ranks(std::uint32_t n) {
    std::vector<std::uint32_t> all(n);
    for (std::uint32_t i = 0; i < n; ++i) all[i] = i;
    return all;
  }

  /// What else shows it: fewer bytes, an eighth at a time, and fewer ranks.
  void smallest() {
    if (healthy_so_far() || !lab_.given("--workload").empty()) return;
    if (base().exit_code == 0) return;
    if (sized()) fewer_bytes();
    for (const char* ranks : {"cube", "sip"}) {
      const observation* o = attempt(fmt::format("ranks {}", ranks), {"--ranks", ranks}, false);
      if (o == nullptr) continue;
      file_.answers.emplace_back(fmt::format("with one rank per {}", ranks), shows(*o)   ? "the same"
                                                                             : right(*o) ? "right"
                                                                                         : "another way");
      routes_.push_back({fmt::format("with one rank per {}", ranks), right(*o), true});
    }
  }

  /// Takes fewer ranks as long as some of them show it, then an eighth of the bytes at a time.
  void fewest_ranks() {
    if (healthy_so_far() || right(base()) || !lab_.given("--workload").empty()) return;
    if (!lab_.given("--team").empty() || !base().run().is_object()) return;
    const nlohmann::json& run = base().run();
    collective_job job{who_.collective,
                       run.value("algorithm", std::string{}),
                       lab_.given("--dtype"),
                       run.value("op", "none") != "none" ? lab_.given("--op") : "",
                       run.value("rank_set", std::string{}),
                       first_ranks(run.value("ranks", std::uint32_t{})),
                       sized() ? bytes_ : 0};
    // A barrier over cubes or SIPs is one of all their PEs, which a group has not.
    if (job.ranks.size() < 2 || (who_.collective == "barrier" && job.rank_set != "pe")) return;
    const std::size_t tried = routes_.size();  // shown_by() adds one when the job has run
    if (!shown_by(job)) {
      if (routes_.size() > tried)
        file_.answers.emplace_back("fewest ranks that show it",
                                   "not found: as an op of a workload it does not show");
      return;
    }
    for (bool whole = true; take_fewer(job, whole);) whole = false;
    if (job.bytes > 0) shrink(job);
    file_.answers.emplace_back(
        "fewest ranks that show it",
        fmt::format("{} ({} {})", job.ranks.size(), job.rank_set, fmt::join(job.ranks, ", ")));
    if (job.bytes > 0)
      file_.answers.emplace_back("with so few ranks, fewest bytes", std::to_string(job.bytes));
  }
  /// Halves; of the whole, before them, the pairs that no half has, for links between SIPs: across the middle
  /// and the ends, where rings close.
  static std::vector<std::vector<std::uint32_t>> fewer_of(const std::vector<std::uint32_t>& ranks,
                                                          bool whole) {
    const std::size_t half = ranks.size() / 2;
    if (half < 2) return {};
    const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(half);
    std::vector<std::vector<std::uint32_t>> parts;
    if (whole) parts = {{ranks[half - 1], ranks[half]}, {ranks.front(), ranks.back()}};
    parts.emplace_back(ranks.begin(), middle);
    parts.emplace_back(middle, ranks.end());
    return parts;
  }
  bool take_fewer(collective_job& job, bool whole) {
    for (const auto& part : fewer_of(job.ranks, whole)) {
      collective_job fewer = job;
      fewer.ranks = part;
      if (!shown_by(fewer)) continue;
      job = fewer;
      return true;
    }
    return false;
  }
  static std::string list_text(const std::vector<std::uint32_t>& ranks) {
    const bool in_a_row = ranks.back() - ranks.front() + 1 == ranks.size();
    return in_a_row ? fmt::format("{} to {}", ranks.front(), ranks.back())
                    : fmt::format("{}", fmt::join(ranks, ", "));
  }
  void shrink(collective_job& job) {
    constexpr std::uint64_t step = 8, least = 64;
    for (; job.bytes / step >= least; job.bytes /= step) {
      collective_job fewer = job;
      fewer.bytes /= step;
      if (!shown_by(fewer)) return;
    }
  }
  bool shown_by(const collective_job& job) {
    const std::string name = fmt::format("{} ranks: {}{}", job.ranks.size(), list_text(job.ranks),
                                         job.bytes > 0 ? fmt::format(", {}B", job.bytes) : "");
    const observation* o = attempt(name, {"--workload", lab_.keep(workload_of(job))}, false);
    if (o == nullptr) return false;
    if (job.bytes == 0 || job.bytes == bytes_)
      routes_.push_back({"among ranks " + list_text(job.ranks), right(*o), true});
    return shows(*o);
  }

  /// What sends other bytes over other links. Fewer ranks that leave out a bad PE say nothing of routes.
  void route() {
    const bool of_link = at_a_link();
    std::vector<std::string> good, bad;
    for (const tried_route& r : routes_) {
      if (!r.fewer_ranks || of_link) (r.is_right ? good : bad).push_back(r.way);
    }
    if (good.empty() && bad.empty()) return;
    file_.answers.emplace_back(
        "depends on the route",
        good.empty() ? "not as far as was tried"
                     : fmt::format("yes: right {}{}", fmt::join(good, ", "),
                                   bad.empty() ? "" : fmt::format("; not {}", fmt::join(bad, ", "))));
  }
  /// Whether what is found first lies between PEs, not at one.
  [[nodiscard]] bool at_a_link() const {
    static const std::regex a_pe("(^|\\.)pe[0-9]+($|\\.)");
    std::vector<finding> found = file_.findings;
    settle(found);
    return !found.empty() && !found.front().where.empty() && !std::regex_search(found.front().where, a_pe);
  }
  void fewer_bytes() {
    constexpr std::uint64_t step = 8;
    constexpr std::uint64_t least = 64;
    std::uint64_t fewest = bytes_;
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
    if (fewest == bytes_ && !without) return;  // nothing was learned
    file_.answers.emplace_back("fewest bytes that show it", std::to_string(fewest));
    file_.answers.emplace_back(
        "depends on the size",
        without ? fmt::format("yes: {} bytes do not show it", *without) : "not as far as was tried");
  }
  /// Goes wrong as the run that was given.
  [[nodiscard]] bool shows(const observation& o) const { return o.exit_code == base().exit_code; }
  /// What was looked into: the run as given, or a smaller one.
  [[nodiscard]] const observation& base() const { return file_.observations.at(base_); }
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
    if (too_slow_) merge(file_.findings, {*too_slow_});
    settle(file_.findings);
    const observation& given = base();
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
    const observation& first = file_.observations.front();
    file_.exit_code = first.timed_out ? stopped : first.exit_code < 0 ? failed : first.exit_code;
    return std::move(file_);
  }

  laboratory& lab_;
  const patient& who_;
  std::uint64_t bytes_;  ///< of what is looked into
  changes smaller_;      ///< what makes the run small enough to be looked into
  changes standing_;     ///< workarounds found: they let the next thing be seen
  bool cured_{};         ///< with them results are right
  double slowest_s_{};
  std::size_t base_{};               ///< number of the observation that others are compared with
  std::optional<finding> too_slow_;  ///< the run as given was stopped
  struct tried_route {
    std::string way;
    bool is_right{};
    bool fewer_ranks{};  ///< that is all that is changed
  };
  std::vector<tried_route> routes_;
  case_file file_;
};

}  // namespace

diagnosis examine(const patient& who, double budget_s) {
  laboratory lab(who.binary,
                 without(who.arguments,
                         {"--out", "--format", "--progress", "--vcd", "--vcd-scope", "--vcd-window",
                          "--timeline", "--timeline-scope", "--record", "--verify"},
                         {"--diagnose", "--quiet", "--double-run", "--ccl-trace", "--hide-faults"}),
                 who.for_children_only, budget_s);
  const case_file file = examination(lab, who).run();
  return {to_json(file, lab), to_text(file, lab, who.withheld), lab.kept(), file.exit_code};
}

}  // namespace diecast::diagnose
