// SPDX-License-Identifier: Apache-2.0
// Messaging in reports: waits, operations, counters.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "models/abi/firmware_tasks.hpp"
#include "models/types/ids.hpp"
#include "models/types/immovable.hpp"
#include "sw/runtime/messaging.hpp"
#include "sw/runtime/tag_driver.hpp"

namespace diecast::sw {

/// A wait from its begin to its end: the step that shows it, and its operations.
class messaging::open_wait : immovable {
 public:
  open_wait(messaging& owner, std::string what, const awaited_notes& awaited,
            const std::function<std::string()>& detail)
      : owner_(owner), what_(std::move(what)), awaited_(awaited), detail_(detail) {
    show(current());
    owner_.waits_.push_back(this);
  }
  ~open_wait() { std::erase(owner_.waits_, this); }

  void publish_changes() {
    if (state now = current(); now != shown_) show(std::move(now));
  }
  void end() { note_all(abi::operation_phase::resumed); }

 private:
  struct state {
    bool heap_full{};
    std::string detail;
    bool operator==(const state&) const = default;
  };

  [[nodiscard]] state current() const { return {owner_.heap_full_, detail_ ? detail_() : std::string{}}; }
  void show(state now) {
    shown_ = std::move(now);
    note_all(abi::operation_phase::resumed);
    noted_ = awaited_();
    note_all(abi::operation_phase::awaited);
    const std::string step =
        what_ + shown_.detail + (shown_.heap_full ? "; heap of tag_match.heap_kib full" : "");
    owner_.runtime_.hal().mark_step({step, abi::no_step_index});
  }
  void note_all(abi::operation_phase phase) {
    for (abi::operation_note& n : noted_) {
      n.phase = phase;
      owner_.runtime_.hal().note(n);
    }
  }

  messaging& owner_;
  std::string what_;
  const awaited_notes& awaited_;
  const std::function<std::string()>& detail_;
  state shown_;
  std::vector<abi::operation_note> noted_;
};

void messaging::block_until(const std::string& what, const std::function<bool()>& ready,
                            const awaited_notes& awaited, const std::function<std::string()>& detail) {
  if (ready()) return;
  progress();
  if (ready()) return;
  open_wait wait{*this, what, awaited, detail};
  runtime_.tasks().block(ready);
  wait.end();
}

/// Called before the core idles: publishes the state of its waits, for reports about this PE.
void messaging::publish_waits() {
  for (open_wait* const w : waits_) w->publish_changes();
}

abi::operation_note messaging::note_of(std::uint32_t request, abi::operation_phase phase) const {
  const operation& o = operations_.at(request);
  abi::operation_note n;
  n.kind = o.what == kind::send ? abi::operation_kind::send : abi::operation_kind::receive;
  n.phase = phase;
  n.id = request;
  if (o.peer_known) n.peer = o.peer;
  n.group = o.group;
  const bool known = o.what == kind::send || o.matched;
  n.tag = known ? o.status.tag : o.wanted_tag;
  n.bytes = known ? o.status.bytes : o.buffer.bytes;
  return n;
}

void messaging::note(std::uint32_t request, abi::operation_phase phase) {
  runtime_.hal().note(note_of(request, phase));
}

void messaging::end(std::uint32_t request, abi::operation_phase phase) {
  operations_.at(request).done = true;
  note(request, phase);
}

/// Peers that have not taken everything they were sent.
std::vector<abi::operation_note> messaging::open_receipts() const {
  std::vector<abi::operation_note> open;
  for (const auto& [key, credits] : credits_) {
    if (credits >= installed_.peer_credits) continue;
    abi::operation_note n;
    n.kind = abi::operation_kind::receipt;
    n.id = key;
    n.peer = abi::unpack_short_peer(key);
    n.count = static_cast<std::uint32_t>(installed_.peer_credits - credits);
    open.push_back(n);
  }
  return open;
}

/// Messages whose credits have not returned: nothing has matched them, and they lie in their receivers'
/// rings. Their tag is known only when all messages to the peer had one tag.
std::string messaging::not_received() const {
  constexpr std::size_t most_peers = 4;
  std::vector<std::string> of_peer;
  for (const auto& [key, credits] : credits_) {
    if (credits >= installed_.peer_credits) continue;
    const pe_coord peer = abi::unpack_short_peer(key);
    const std::uint64_t n = installed_.peer_credits - credits;
    const sent_messages& sent = sent_.at(key);
    std::string text =
        fmt::format("{} of {} messages to {} not received yet", n, sent.count, owner_name(peer));
    if (sent.one_tag) {
      const auto tag = static_cast<std::uint32_t>(sent.first_tag & tag_bits);
      text += ", " + abi::tag_text(tag, sent.first_tag >> context_shift);
    }
    of_peer.push_back(std::move(text));
  }
  const std::size_t more = of_peer.size() - std::min(of_peer.size(), most_peers);
  of_peer.resize(of_peer.size() - more);
  if (more > 0) of_peer.push_back(fmt::format("similar messages to {} other PEs", more));
  return of_peer.empty() ? std::string{} : fmt::format(": {}", fmt::join(of_peer, "; "));
}

std::vector<std::pair<const char*, std::uint64_t>> message_counts::rows() const {
  return {{"tag_posted", matching.posted},
          {"tag_matched_in_hardware", matching.matched_in_hardware},
          {"tag_matched_in_software", matching.matched_in_software},
          {"tag_cancelled", matching.cancelled},
          {"tag_blocked_full", matching.blocked_full},
          {"tag_blocked_wildcard", matching.blocked_wildcard},
          {"tag_blocked_software_pending", matching.blocked_software_pending},
          {"tag_blocked_non_contiguous", matching.blocked_non_contiguous},
          {"tag_blocked_short", matching.blocked_short},
          {"tag_unexpected_eager", unexpected_eager},
          {"tag_unexpected_rndv", unexpected_rndv},
          {"tag_unexpected_sw_rndv", unexpected_sw_rndv},
          {"tag_sent_eager", sent_eager},
          {"tag_sent_rndv", sent_rndv},
          {"tag_sent_sw_rndv", sent_sw_rndv},
          {"tag_compared_by_firmware", compared},
          {"tag_copied_out", copied_out}};
}

}  // namespace diecast::sw
