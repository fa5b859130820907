// SPDX-License-Identifier: Apache-2.0
// Why a wait does not end: every finding from the bytes that make it, every place of the sentence.
#include "models/analysis/barrier_checker.hpp"
#include "models/comm/sync_layout.hpp"
#include "support/test.hpp"

namespace diecast::analysis {
namespace {

constexpr machine_shape small_shape{2, 1, 1, 2};
constexpr pe_coord waiter{sip_id{0}, cube_id{0}, pe_id{1}}, writer{sip_id{1}, cube_id{0}, pe_id{0}};

abi::address flag(std::uint32_t slot, std::uint32_t line) {
  return comm::team_flag(abi::encode({sip_id{0}, cube_id{0}, abi::region::hbm, 0, 0}), slot, line);
}

/// A barrier's wait for `count` while memory holds `memory`.
watched_word waiting(std::uint64_t count, std::uint64_t memory, bool or_next = true) {
  return {waiter, {flag(3, 2), abi::compare::eq, count, or_next, writer}, {}, memory, {}, {}, {}};
}

std::string text_of(const watched_word& w) { return explain_word(small_shape, w).text; }

TEST_CASE("stale lines: the old copy is named with PE, line, both values and what is missing") {
  watched_word w = waiting(6, 6);
  w.own = cached_word{5, false};
  const word_report r = explain_word(small_shape, w);
  CHECK(r.finding == word_finding::stale_line);
  CHECK(r.pe == waiter);
  CHECK(r.line == flag(3, 2));
  CHECK(
      r.text ==
      "stale line: pod.sip0.cube_0_0.pe1 waits until the word at 0x0000500000002f40 (sip0 cube0 "
      "hbm[0]+0x2f40) is == 6 or 7: line 0x0000500000002f40, its data cache holds 5, memory holds 6; missing "
      "operation: dcci_line(0x0000500000002f40) on pod.sip0.cube_0_0.pe1 before its load");
}

TEST_CASE(
    "stale lines: a signal in the writer's cache is named with PE, line, both values and what is missing") {
  watched_word w = waiting(6, 5);
  w.writer = cached_word{6, true};
  const word_report r = explain_word(small_shape, w);
  CHECK(r.finding == word_finding::unflushed_signal);
  CHECK(r.text ==
        "unflushed signal: pod.sip0.cube_0_0.pe1 waits until the word at 0x0000500000002f40 (sip0 cube0 "
        "hbm[0]+0x2f40) is == 6 or 7: line 0x0000500000002f40, its data cache does not hold the line, memory "
        "holds 5; the data cache of pod.sip1.cube_0_0.pe0 holds 6 (dirty); missing operation: "
        "dcci_line(0x0000500000002f40) there after the store");
  w.writer->dirty = false;  // it was written back, so it is not there that it is stuck
  CHECK(explain_word(small_shape, w).finding == word_finding::not_signaled);
}

TEST_CASE("stale lines: counts that came apart are the counter's fault, not the writer's") {
  // A peer that has not come may last have used this flag long ago; none is two ahead.
  CHECK(explain_word(small_shape, waiting(6, 5)).finding == word_finding::not_signaled);
  CHECK(explain_word(small_shape, waiting(6, 2)).finding == word_finding::not_signaled);
  CHECK(explain_word(small_shape, waiting(6, 8)).finding == word_finding::counts_apart);
  // Over the end of the counts, too.
  CHECK(explain_word(small_shape, waiting(1, UINT32_MAX)).finding == word_finding::not_signaled);
  CHECK(explain_word(small_shape, waiting(UINT32_MAX, 1)).finding == word_finding::counts_apart);
  CHECK(explain_word(small_shape, waiting(UINT32_MAX, 0)).finding == word_finding::unanswered_load);
  CHECK(text_of(waiting(6, 8))
            .find("memory holds 8; the flag of pod.sip1.cube_0_0.pe0 is 2 barriers ahead; members "
                  "with equal counters are never this far apart: a counter was loaded too late") !=
        std::string::npos);
  // A wait that is no barrier's may be for any word.
  CHECK(explain_word(small_shape, waiting(6, 0, false)).finding == word_finding::not_signaled);
  CHECK(explain_word(small_shape, waiting(6, 7, false)).finding == word_finding::overlooked_signal);
}

TEST_CASE("stale lines: a writer that waits for a later count of the team has skipped the wanted one") {
  const auto with_writer_at = [](std::uint32_t slot, std::uint64_t count, bool or_next = true) {
    watched_word w = waiting(6, 5);
    w.writer_waits = abi::signal_watch{flag(slot, 0), abi::compare::eq, count, or_next, waiter};
    return explain_word(small_shape, w).finding;
  };
  CHECK(with_writer_at(3, 7) == word_finding::counts_apart);
  CHECK(with_writer_at(3, 6) ==
        word_finding::not_signaled);  // the writer waits before it signals, in one barrier
  CHECK(with_writer_at(3, 5) == word_finding::not_signaled);  // it has not come
  CHECK(with_writer_at(3, 4) == word_finding::counts_apart);  // the waiter has left a barrier without it
  CHECK(with_writer_at(4, 7) == word_finding::not_signaled);  // another team counts for itself
  CHECK(with_writer_at(3, 7, false) == word_finding::not_signaled);
  watched_word w = waiting(UINT32_MAX, UINT32_MAX - 1);
  w.writer_waits = abi::signal_watch{flag(3, 0), abi::compare::eq, 0, true, waiter};
  CHECK(text_of(w).find("pod.sip1.cube_0_0.pe0 already waits for 0 and never stored 4294967295") !=
        std::string::npos);
}

TEST_CASE("stale lines: waits of one slot disagree when they are of ranks, not of groups of cores") {
  std::vector<watched_word> words{waiting(6, 5), waiting(8, 7)};
  CHECK(explain_words(small_shape, words, 4).find("counters disagree") == std::string::npos);
  for (watched_word& w : words) w.wanted.among_ranks = true;
  CHECK(explain_words(small_shape, words, 4).find("counters disagree: in team slot 3") != std::string::npos);
  words[1].wanted.value = 7;
  CHECK(explain_words(small_shape, words, 4).find("counters disagree") == std::string::npos);
}

TEST_CASE("stale lines: a signal that somebody wrote the line back over is lost") {
  watched_word w = waiting(6, 5);
  const pe_coord other{sip_id{1}, cube_id{0}, pe_id{1}};
  w.history = word_history{writer, 6, nanoseconds(10), true, other, nanoseconds(20)};
  CHECK(explain_word(small_shape, w).finding == word_finding::lost_signal);
  CHECK(text_of(w).find(
            "pod.sip1.cube_0_0.pe0 stored 6 at 10.000 ns and wrote it back; pod.sip1.cube_0_0.pe1 wrote "
            "the whole line back over it at 20.000 ns") != std::string::npos);
}

}  // namespace
}  // namespace diecast::analysis
