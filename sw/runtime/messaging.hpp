// SPDX-License-Identifier: Apache-2.0
// Tag-matched messages between PEs, in the manner of MPI: sends and receives that name a communicator, a
// rank and a tag, wildcards at the receiver, probes and cancellation. Receives are given to the
// tag-matching unit as far as the policy and its entries allow; the rest is matched here, at a cost per
// list element.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/protocol/tag_shadow.hpp"
#include "models/types/immovable.hpp"
#include "sw/runtime/pe_runtime.hpp"
#include "sw/runtime/tag_driver.hpp"

namespace diecast::sw {

/// A group of PEs that exchange messages among themselves alone. `id` is the same on every member and
/// distinct from that of any other communicator one of them is in.
struct communicator {
  std::uint16_t id{};
  std::vector<pe_coord> members;  ///< by rank, at most 65,536
};

inline constexpr std::uint32_t any_source = UINT32_MAX;
inline constexpr std::uint64_t any_tag = UINT64_MAX;

/// Bytes of a message in local TCM: whole, or `block` bytes at every `stride`.
struct message_buffer {
  std::uint64_t offset{};
  std::uint64_t bytes{};
  std::uint64_t block{0};  ///< 0: whole
  std::uint64_t stride{0};
  [[nodiscard]] bool contiguous() const { return block == 0 || block >= bytes || block == stride; }
  /// Place of a byte of the message, and the number of contiguous bytes from there on.
  struct place {
    std::uint64_t offset{};
    std::uint64_t run{};
  };
  [[nodiscard]] place at(std::uint64_t position) const {
    if (contiguous()) return {offset + position, bytes - position};
    const std::uint64_t within = position % block;
    const std::uint64_t run = block - within;
    return {offset + position / block * stride + within, run < bytes - position ? run : bytes - position};
  }
};

/// Result of a request.
struct message_status {
  std::uint32_t source{};  ///< rank of the sender; of a send, of the receiver
  std::uint32_t tag{};
  std::uint64_t bytes{};  ///< bytes of the message
  bool cancelled{};
  bool truncated{};  ///< the message was longer than the buffer, which is full
  /// Number of this PE's message in the order of arrival; 0 for sends.
  std::uint64_t arrival{};
};

enum class send_mode : std::uint8_t {
  standard,    ///< complete when the source may be reused
  synchronous  ///< complete when a receive has matched
};

/// Names an operation until it has been waited for.
struct message_request {
  std::uint32_t id{};
};

/// A message taken by mprobe, for imrecv alone.
struct matched_message {
  std::uint32_t id{};
  message_status status;
};

struct message_counts {
  protocol::tag_shadow::counts matching;
  std::uint64_t unexpected_eager{}, unexpected_rndv{}, unexpected_sw_rndv{};
  std::uint64_t sent_eager{}, sent_rndv{}, sent_sw_rndv{};
  std::uint64_t copied_out{};  ///< messages moved from the ring to the heap
  std::uint64_t compared{};    ///< list elements, by firmware
  /// Name and value of each, as the results show them.
  [[nodiscard]] std::vector<std::pair<const char*, std::uint64_t>> rows() const;
};

/// One per PE and launch (pe_runtime::service). Every call charges runtime_options::call_cycles.
/// Throws firmware_trap for what no program may do: a rank or tag out of range, a request waited for
/// twice, a wait for a receive whose message is longer than its buffer.
class messaging : immovable {
 public:
  explicit messaging(pe_runtime& runtime);

  [[nodiscard]] message_request isend(const communicator& c, std::uint32_t to, std::uint32_t tag,
                                      const message_buffer& from, send_mode mode = send_mode::standard);
  [[nodiscard]] message_request irecv(const communicator& c, std::uint32_t from, std::uint64_t tag,
                                      const message_buffer& to);
  /// What to do on a truncated message: trap, or report it in the status.
  enum class on_truncation : std::uint8_t { trap, report };
  message_status wait(message_request r, on_truncation how = on_truncation::trap);
  void wait_all(std::span<const message_request> requests);
  /// Index of the first complete one of `requests`, which stays to be waited for. Precondition: not empty.
  [[nodiscard]] std::size_t wait_any(std::span<const message_request> requests);
  /// The status, once the operation is complete.
  [[nodiscard]] std::optional<message_status> test(message_request r,
                                                   on_truncation how = on_truncation::trap);
  /// Sends and receives at once; returns the receive's status. Uses pages of the heap where the firmware has
  /// them for its one-call send-receive (comm.sendrecv_staging) and the heap has room.
  message_status sendrecv(const communicator& c, std::uint32_t to, std::uint32_t send_tag,
                          const message_buffer& source, std::uint32_t from, std::uint64_t tag,
                          const message_buffer& destination, send_mode mode = send_mode::standard);
  /// Whether sendrecv has pages of its own.
  [[nodiscard]] bool has_pages() const;
  /// Cancels a receive. Its wait returns whether it was cancelled or had been matched.
  void cancel(message_request r);

  /// The oldest unmatched message that such a receive would get.
  [[nodiscard]] std::optional<message_status> iprobe(const communicator& c, std::uint32_t from,
                                                     std::uint64_t tag);
  message_status probe(const communicator& c, std::uint32_t from, std::uint64_t tag);
  /// iprobe() that reserves the message: only imrecv gets it.
  [[nodiscard]] std::optional<matched_message> improbe(const communicator& c, std::uint32_t from,
                                                       std::uint64_t tag);
  [[nodiscard]] matched_message mprobe(const communicator& c, std::uint32_t from, std::uint64_t tag);
  [[nodiscard]] message_request imrecv(const matched_message& m, const message_buffer& to);

  /// End of the program: waits until every send has left and every credit has returned. Traps when a receive
  /// is open, a request not waited for, or a message not received.
  void finish();

  [[nodiscard]] message_counts counts() const;

 private:
  enum class kind : std::uint8_t { send, receive };
  /// Place of a message's bytes at its sender.
  struct remote_bytes {
    abi::address va{};
    std::uint64_t bytes{}, block{}, stride{};
  };
  struct operation {
    kind what{};
    bool done{};
    message_status status;
    message_buffer buffer;
    std::uint32_t check{};                    ///< checksum of the sender's buffer; 0: none
    std::string name;                         ///< name of the operation in reports
    pe_coord peer;                            ///< sender of a receive, once a message has matched
    bool peer_known{};                        ///< false: a receive from any sender that nothing has matched
    std::uint16_t group{};                    ///< communicator
    bool matched{};                           ///< a receive has its message: `status` describes it
    std::optional<std::uint32_t> wanted_tag;  ///< tag of a receive; none: any
    // sends
    std::uint64_t tag{};
    send_mode mode{};
    bool source_read{}, awaits_fin{}, fin{};
    std::optional<std::uint64_t> staging;
    std::uint64_t staging_bytes{};
    bool staging_until_fin{};  ///< the staging is kept until FIN, because the receiver reads from it
    // receives
    remote_bytes remote;
    std::uint64_t requested{}, end{};  ///< bytes of the message requested so far, and bytes to request
    std::uint64_t pieces{};            ///< reads in flight
    std::uint16_t rkey{};
  };
  /// An unexpected message: header, and where its payload lies.
  struct stored {
    protocol::tag_message header;
    std::optional<std::uint16_t> slot;
    std::optional<std::uint64_t> heap;
    std::uint64_t arrival{};
  };

  // messaging.cpp
  [[nodiscard]] message_request post_send(const communicator& c, std::uint32_t to, std::uint32_t tag,
                                          const message_buffer& from, send_mode mode, std::uint32_t check);
  void charge_search(std::uint32_t elements);
  [[nodiscard]] operation& find(message_request r);
  [[nodiscard]] protocol::tag_pattern pattern(const communicator& c, std::uint32_t from,
                                              std::uint64_t tag) const;
  [[nodiscard]] message_status status_of(const protocol::tag_message& m, std::uint64_t arrival) const;
  message_status conclude(message_request r, on_truncation how);
  void compare_check(const operation& o);
  [[nodiscard]] std::uint32_t check_of(const message_buffer& b);
  [[nodiscard]] std::uint32_t add(operation o);
  void reuse_room();
  using awaited_notes = std::function<std::vector<abi::operation_note>()>;
  class open_wait;

  // messaging_data.cpp: pages
  /// Pages of one sendrecv: for the sent and for the received message.
  struct page_pair {
    std::uint64_t out{}, in{};
    bool alias{};  ///< one page for both, and nothing orders the accesses to it
  };
  [[nodiscard]] std::optional<page_pair> take_pages(std::uint64_t bytes);
  [[nodiscard]] std::optional<std::uint64_t> kept_page(std::uint64_t bytes);

  // messaging_reports.cpp
  /// Shows the wait as the PE's step and notes its operations; repeats both when the core idles and `detail`
  /// or the heap's state has changed. `ready` has no side effect.
  void block_until(const std::string& what, const std::function<bool()>& ready, const awaited_notes& awaited,
                   const std::function<std::string()>& detail = {});
  void publish_waits();
  [[nodiscard]] abi::operation_note note_of(std::uint32_t request, abi::operation_phase phase) const;
  void note(std::uint32_t request, abi::operation_phase phase);
  void end(std::uint32_t request, abi::operation_phase phase);
  [[nodiscard]] std::vector<abi::operation_note> open_receipts() const;
  [[nodiscard]] std::string not_received() const;

  // messaging_progress.cpp: reports of the unit, and commands to it
  void progress();
  void on_done(const abi::tm_done_word& word);
  void on_arrival(const abi::tm_arrival_word& word);
  void on_decision(const protocol::tag_shadow::decision& d);
  void flush_commands();
  void start_sends(pe_coord peer);
  [[nodiscard]] bool start_send(operation& o, std::uint32_t id);
  [[nodiscard]] bool stage(operation& o, bool request);
  [[nodiscard]] std::uint16_t send_id_for(std::uint32_t request);
  void end_send(std::uint16_t id);
  void use_heap();
  void relieve_ring();

  // messaging_data.cpp: bytes
  void deliver(std::uint32_t message, std::uint32_t receive);
  void land_in_place(const protocol::tag_message& m, std::uint32_t receive);
  void read_remote(const remote_bytes& from, std::uint64_t begin, std::uint32_t receive);
  void read_on();
  void request_piece(operation& o, std::uint32_t receive);
  void piece_read(std::uint16_t id);
  void end_reads(std::uint32_t receive);
  void matched(std::uint32_t receive, pe_coord source);
  void complete_receive(std::uint32_t receive);
  [[nodiscard]] remote_bytes described_at(std::uint64_t offset);
  void describe_to(std::uint64_t offset, const message_buffer& b);
  void scatter(std::uint64_t source, const message_buffer& to, std::uint64_t bytes);
  void gather(const message_buffer& from, std::uint64_t destination);
  void copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t payload_offset(const stored& m) const;
  void free_payload(stored& m);

  pe_runtime& runtime_;
  tag_driver driver_;
  tag_driver::installation installed_;
  config::tag_match_block block_;
  protocol::tag_shadow shadow_;
  tcm_heap heap_;
  std::uint32_t next_id_{};
  std::map<std::uint32_t, operation> operations_;
  /// Pages that the defect sendrecv_alias keeps, and their bytes.
  std::array<std::pair<std::uint64_t, std::uint64_t>, 2> kept_pages_{};
  std::uint32_t next_message_{};
  std::map<std::uint32_t, stored> messages_;
  std::uint64_t arrivals_{};
  std::map<std::uint16_t, std::uint64_t> consumed_arrival_;  ///< by entry: arrival number of its message
  std::map<std::uint32_t, std::uint32_t> credits_;  ///< by short peer: messages that it still accepts
  /// Messages that have gone to a peer.
  struct sent_messages {
    std::uint64_t count{}, first_tag{};
    bool one_tag{true};
  };
  std::map<std::uint32_t, sent_messages> sent_;  ///< by short peer
  std::map<std::uint32_t, std::uint32_t> held_;  ///< by short peer: its messages in this PE's ring
  std::map<std::uint32_t, std::deque<std::uint32_t>> queued_;  ///< sends by short peer, in order
  std::uint16_t next_send_{}, next_read_{};
  std::map<std::uint16_t, std::uint32_t> sends_;  ///< by id on the wire
  std::map<std::uint16_t, std::uint32_t> reads_;
  std::deque<std::uint32_t> reading_;  ///< receives with bytes that are not requested yet, in order
  std::uint32_t probes_{};
  bool heap_full_{};  ///< a message or request waits for room in the heap
  std::vector<open_wait*> waits_;
  message_counts counts_;
};

/// The PE's messaging.
[[nodiscard]] messaging& messaging_of(pe_runtime& runtime);

}  // namespace diecast::sw
