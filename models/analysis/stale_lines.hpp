// SPDX-License-Identifier: Apache-2.0
// Why a wait for a word in global memory does not end, from what the caches and the memory hold: a pure
// function of bytes. Nothing in the machine knows that a line is stale.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/abi/hal.hpp"
#include "models/events/events.hpp"
#include "models/protocol/data_cache.hpp"
#include "models/types/ids.hpp"

namespace diecast::analysis {

/// A copy of the word in somebody's data cache.
struct cached_word {
  std::uint64_t value{};
  bool dirty{};
};

/// The last store to a word that is known, and the last time somebody else wrote its line back.
struct word_history {
  pe_coord stored_by;
  std::uint64_t value{};
  sim_time stored_at;
  bool written_back{};  ///< by the PE that stored it
  std::optional<pe_coord> overwritten_by;
  sim_time overwritten_at;
};

/// A PE that waits, and the three places where the word lies.
struct watched_word {
  pe_coord pe;
  abi::signal_watch wanted;
  std::optional<cached_word> own;  ///< in the data cache of the PE
  std::uint64_t memory{};
  std::optional<cached_word> writer;  ///< in the data cache of the expected writer
  std::optional<word_history> history;
  std::optional<abi::signal_watch> writer_waits{};  ///< what the expected writer itself waits for
};

enum class word_finding : std::uint8_t {
  stale_line,         ///< memory satisfies the wait, the PE looks at its old copy
  unflushed_signal,   ///< the value is in the writer's data cache only
  lost_signal,        ///< it was in memory and somebody wrote the line back over it
  overlooked_signal,  ///< memory holds the count after the wanted one: the peer has gone on, the wait missed
                      ///< it
  counts_apart,       ///< waiter and writer count differently: the wanted count has been skipped
  not_signaled        ///< nobody has stored it
};
[[nodiscard]] const char* to_string(word_finding f);

inline constexpr unsigned word_findings = static_cast<unsigned>(word_finding::not_signaled) + 1;

struct word_report {
  pe_coord pe;
  word_finding finding{};
  abi::address line{};
  std::string text;  ///< one line for people: PE, line, cached value, value in memory, what is missing
};
[[nodiscard]] word_report explain_word(const machine_shape& shape, const watched_word& w);
/// All of them, findings that name a defect first; at most `most` lines of each kind.
[[nodiscard]] std::string explain_words(const machine_shape& shape, const std::vector<watched_word>& words,
                                        std::size_t most = 4);

/// Keeps the last store to every word and who wrote lines back. Wants events::memory.
class line_history : public events::observer {
 public:
  using events::observer::on;
  void on(const events::memory_event& e) override;
  [[nodiscard]] std::optional<word_history> of(abi::address word) const;

 private:
  std::map<abi::address, word_history> words_;
};

}  // namespace diecast::analysis
