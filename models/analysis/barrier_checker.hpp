// SPDX-License-Identifier: Apache-2.0
// Checkers of barriers: the guarantee of a barrier, and the reason why a wait does not end.
//
// The guarantee, checked from the times of PEs: no PE leaves before the last one has entered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/events/events.hpp"
#include "models/protocol/data_cache.hpp"
#include "models/types/archive.hpp"
#include "models/types/ids.hpp"

namespace diecast::analysis {
/// Receives the steps that firmware marks around its barriers: "enter barrier" and "left barrier". Where a
/// launch has several barriers, a blank and the barrier's name follow. Needs events::steps.
class barrier_checker : public events::observer {
 public:
  static constexpr std::string_view enter = "enter barrier";
  static constexpr std::string_view left = "left barrier";

  /// Verdict on consecutive calls of one barrier, over its members.
  struct verdict {
    std::uint64_t entered{};
    std::uint64_t left{};
    std::uint64_t escapes{};        ///< PEs that left before every member had entered
    std::uint64_t escaped_ranks{};  ///< ranks of those PEs, once for each call
  };

  explicit barrier_checker(const machine_shape& shape) : shape_(shape) {}

  /// Before the run: a barrier, its members, and the rank of each. Marks of a barrier that was not
  /// announced, and of a PE that is no member, throw std::logic_error.
  void expect(const std::string& name, const std::vector<pe_coord>& members,
              const std::vector<std::uint32_t>& ranks);

  using events::observer::on;
  void on(const events::step_entered& e) override;
  /// A new launch begins: calls are numbered from 0 again.
  void next_launch();
  /// Adds the marks of other PEs of the same run.
  void add(const barrier_checker& other);

  /// PEs that left a barrier before every member had entered it.
  [[nodiscard]] std::uint64_t escapes() const { return all().seen.escapes; }
  /// Ranks of these PEs, once for each call of the barrier.
  [[nodiscard]] std::uint64_t escaped_ranks() const { return all().seen.escaped_ranks; }
  /// The first escape: the PE that left, when, and the members that had not entered.
  [[nodiscard]] std::string first_escape() const { return all().first_text; }
  /// The PE that left. Precondition: escapes() > 0.
  [[nodiscard]] pe_coord first_escaped() const { return all().first.second; }
  /// Calls `first` to `first + count - 1` of the launch. Precondition: expect(name, ...).
  [[nodiscard]] verdict of(const std::string& name, std::uint32_t first, std::uint32_t count) const;
  /// The error of a barrier that all members should have called `calls` times; empty if there is none.
  [[nodiscard]] static std::string complaint(const std::string& name, const verdict& seen,
                                             std::uint64_t calls);
  DIECAST_MEMBERS(calls_, launch_, earlier_)

 private:
  using mark = std::pair<sim_time, pe_coord>;
  struct call_key {
    std::string name;
    std::uint64_t launch{};
    std::uint32_t number{};
    auto operator<=>(const call_key&) const = default;
    DIECAST_MEMBERS(name, launch, number)
  };
  /// Result of all calls. Escapes are known only when all marks are: marks have the time of the firmware's
  /// own clock, and arrive in any order.
  struct judgment {
    verdict seen;
    mark first{sim_time::never(), {}};  ///< the earliest escape
    std::string first_text{};
    void add(const judgment& other);
    DIECAST_MEMBERS(seen, first, first_text)
  };
  struct call {
    std::vector<mark> entered{}, left{};
    judgment known{};  ///< since all members have left; then the marks are forgotten
    DIECAST_MEMBERS(entered, left, known)
  };

  [[nodiscard]] judgment judge(const call_key& key, const call& c) const;
  [[nodiscard]] judgment all() const;

  machine_shape shape_;
  std::map<std::string, std::map<pe_coord, std::uint32_t>, std::less<>> barriers_;  ///< ranks of the members
  std::map<call_key, call> calls_;
  std::uint64_t launch_{};
  judgment earlier_;  ///< judgment of earlier launches
};

// Why a wait for a word in global memory does not end, from the contents of caches and memory: a pure
// function of bytes. Nothing in the machine records that a line is stale.

/// A copy of the word in a PE's data cache.
struct cached_word {
  std::uint64_t value{};
  bool dirty{};
};
[[nodiscard]] std::optional<cached_word> word_in(const protocol::data_cache& cache, abi::address at);

/// The last known store to a word, and the last time another PE wrote its line back.
struct word_history {
  pe_coord stored_by;
  std::uint64_t value{};
  sim_time stored_at;
  bool written_back{};  ///< the PE that stored the word has written the line back
  std::optional<pe_coord> overwritten_by;
  sim_time overwritten_at;
};

/// A PE that waits, and the three places where the word lies.
struct watched_word {
  pe_coord pe;
  abi::signal_watch wanted;
  std::optional<cached_word> own;  ///< copy in the data cache of the waiting PE
  std::uint64_t memory{};
  std::optional<cached_word> writer;  ///< copy in the data cache of the expected writer
  std::optional<word_history> history;
  std::optional<abi::signal_watch> writer_waits{};  ///< wait of the expected writer
};

enum class word_finding : std::uint8_t {
  stale_line,         ///< memory satisfies the wait, but the PE reads its old copy
  unanswered_load,    ///< memory satisfies the wait, and the PE has no copy: it has not seen that
  unflushed_signal,   ///< the value is in the writer's data cache only
  lost_signal,        ///< the signal was in memory, and another PE wrote an old line over it
  overlooked_signal,  ///< memory holds the count after the wanted one: the peer has continued, and the
                      ///< wait missed it
  counts_apart,       ///< waiter and writer count differently: the wanted count has been skipped
  not_signaled        ///< no PE has stored it
};
[[nodiscard]] std::string to_string(word_finding f);  ///< "stale line"
[[nodiscard]] word_finding finding_of(const watched_word& w);

inline constexpr unsigned word_findings = static_cast<unsigned>(word_finding::not_signaled) + 1;

struct word_report {
  pe_coord pe;
  word_finding finding{};
  abi::address line{};
  std::string text;  ///< one line of text: PE, line, cached value, value in memory, what is missing
};
[[nodiscard]] word_report explain_word(const machine_shape& shape, const watched_word& w);
/// All findings, those that name a defect first, at most four lines of each; where there is none, at most
/// `unsignaled` of signals that have not come.
[[nodiscard]] std::string explain_words(const machine_shape& shape, const std::vector<watched_word>& words,
                                        std::size_t unsignaled = 4);

/// Keeps the last store to every word and the writers of lines. Needs events::memory.
class line_history : public events::observer {
 public:
  using events::observer::on;
  void on(const events::memory_event& e) override;
  [[nodiscard]] std::optional<word_history> of(abi::address word) const;
  /// Adds the stores and write-backs of other PEs of the same run.
  void add(const line_history& other);
  DIECAST_MEMBERS(words_)

 private:
  struct word_log {
    std::optional<word_history> last;  ///< store, without what other PEs wrote back over it
    std::map<std::pair<pe_coord, std::uint64_t>, sim_time> written_back;  ///< since: values and when last
    DIECAST_MEMBERS(last, written_back)
  };
  std::map<abi::address, word_log> words_;
};

}  // namespace diecast::analysis
