// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages as ops of a workload.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/abi/address.hpp"
#include "sw/runtime/messaging.hpp"
#include "sw/workload/op_kind.hpp"

namespace diecast::sw {

/// Peer of an op's messages for each rank of its group.
struct peer_rule {
  enum class kind : std::uint8_t { none, rank, any, shift, grid };
  kind what{kind::none};
  std::uint64_t rank{};  ///< rank: the peer's number; shift: distance in ranks, modulo the group
  std::uint64_t columns{}, rows{};
  int dx{}, dy{};  ///< grid: the neighbor in this direction, around the grid
  /// The peer of rank `self`; `back`: in the opposite direction. Throws std::logic_error when there is none.
  [[nodiscard]] std::uint32_t of(std::uint32_t self, std::size_t ranks, bool back) const;
};

class message_op final : public planned_op {
 public:
  enum class kind : std::uint8_t { isend, irecv, wait, waitall, test, probe, mprobe, cancel, sendrecv };

  message_op(kind what, const op_request& r);

  [[nodiscard]] bool sends() const { return what_ == kind::isend || what_ == kind::sendrecv; }
  [[nodiscard]] bool receives() const {
    return what_ == kind::irecv || what_ == kind::mprobe || what_ == kind::sendrecv;
  }
  void link(const op_neighbors& all, std::vector<problem>& problems) override;
  /// Checks that every rank receives all messages sent to it, in large enough buffers, that no two ops
  /// complete the same messages at one time, and that some op completes each.
  static void check_all(const op_neighbors& all, std::vector<problem>& problems);
  /// op_kind::needs_others of all messages.
  static std::string needs_others(const op_neighbors& all, std::uint32_t stream);
  std::uint64_t tcm_bytes() const override;
  bool keeps_memory() const override { return what_ == kind::isend || what_ == kind::irecv; }
  bool uses_messages() const override { return true; }
  bool takes_part(std::uint32_t rank) const override;
  void run(const op_context& pe) const override;
  void prepare(const op_host& h) override;
  std::optional<std::uint64_t> verify(const op_host& h) override;
  std::uint64_t bytes() const override { return (sends() || receives()) ? bytes_ * times_ : 0; }

 private:
  /// A received message that has been waited for and not been verified.
  struct received {
    std::uint64_t iteration{};
    std::uint64_t place{};  ///< among the op's messages
    message_status status;
  };
  /// Messages from a rank with a tag; of receives, any_source and any_tag, too.
  using envelope = std::pair<std::uint32_t, std::uint64_t>;
  struct tally {
    std::uint64_t count{};
    std::uint64_t cancellable{};  ///< receives that a cancel names
    const message_op* longest{};  ///< op with the most bytes
    void add(const message_op& op, std::uint64_t times, bool may_be_cancelled);
    void add(const tally& other);
  };
  /// Messages to a rank of a group, and its receives.
  struct traffic {
    std::uint64_t sent{}, received{}, cancellable{};
    std::string where;                   ///< place in the file of its last receive, or of the first send
    std::map<envelope, tally> sends;     ///< by sender and tag
    std::map<envelope, tally> receives;  ///< by requested sender and tag
    [[nodiscard]] bool balanced() const { return sent <= received && sent + cancellable >= received; }
  };
  using traffic_of_ranks = std::map<std::pair<std::string, std::uint32_t>, traffic>;
  /// Open requests of a PE's ops. State of the PE's runtime.
  struct open_requests;

  [[nodiscard]] static open_requests& requests_of(pe_runtime& runtime);
  [[nodiscard]] bool leaves_open() const { return what_ == kind::isend || what_ == kind::irecv; }
  [[nodiscard]] bool waits() const { return what_ == kind::wait || what_ == kind::waitall; }
  [[nodiscard]] bool completes() const { return waits() || what_ == kind::test; }
  [[nodiscard]] bool concerns(const message_op* op) const;
  void link_named(const op_neighbors& all, std::vector<problem>& problems);
  void link_stream(const op_neighbors& all, std::vector<problem>& problems);
  /// Traffic of the ops of a stream, or of all streams.
  [[nodiscard]] static traffic_of_ranks count(const op_neighbors& all, std::optional<std::uint32_t> stream);
  static void check_counts(const op_neighbors& all, std::vector<problem>& problems);
  [[nodiscard]] static bool check_sends(const std::string& rank, const traffic& t,
                                        std::vector<problem>& problems);
  [[nodiscard]] static bool check_receives(const std::string& rank, const traffic& t,
                                           std::vector<problem>& problems);
  static void check_completed(const op_neighbors& all, std::vector<problem>& problems);
  [[nodiscard]] bool runs_on(pe_coord pe) const;
  [[nodiscard]] static const message_op* contested(const message_op& a, const message_op& b);
  static void check_completions(const op_neighbors& all, std::vector<problem>& problems);
  /// The rank that a rank receives from.
  [[nodiscard]] std::uint32_t source_of(std::uint32_t rank) const;
  [[nodiscard]] std::uint64_t receive_tag() const { return receive_tag_.value_or(tag_); }
  [[nodiscard]] std::uint64_t slot() const { return abi::aligned(bytes_); }
  [[nodiscard]] std::uint64_t send_area() const { return tcm(); }
  [[nodiscard]] std::uint64_t receive_area() const { return tcm() + (sends() ? times_ * slot() : 0); }
  [[nodiscard]] std::uint64_t identity(std::uint32_t rank, std::uint64_t iteration,
                                       std::uint64_t place) const;
  void post_sends(const op_context& pe) const;
  void post_receives(const op_context& pe) const;
  void finish_requests(const op_context& pe, bool block) const;
  void send_and_receive(const op_context& pe) const;
  void cancel_requests(const op_context& pe) const;
  void record(pe_coord pe, std::uint64_t iteration, std::uint64_t place, const message_status& s) const;
  [[nodiscard]] std::optional<std::uint64_t> check_received(const op_host& h, pe_coord pe);
  [[nodiscard]] std::uint64_t check_message(const op_host& h, pe_coord pe, const received& r);
  [[nodiscard]] bool is_right_sender(std::uint64_t name, pe_coord pe, const received& r);
  void read_peer(const op_request& r);
  void read_source(const op_request& r);

  kind what_;
  std::uint32_t index_;
  const comm::group& members_;
  std::string where_;
  communicator world_;
  std::vector<std::uint64_t> only_;
  peer_rule peer_;
  std::uint64_t tag_{};
  std::optional<std::uint32_t>
      from_;  ///< sendrecv: the rank to receive from, when the peer rule does not give it
  std::optional<std::uint64_t> receive_tag_;  ///< sendrecv: when not the tag it sends
  std::uint64_t bytes_{};
  std::uint64_t times_{1};
  send_mode mode_{send_mode::standard};
  std::vector<std::string> names_;                ///< "for"
  std::vector<message_op*> named_;                ///< wait, test, cancel: the ops concerned
  std::map<std::uint32_t, message_op*> senders_;  ///< by op: message ops in this op's group
  bool data_{};                                   ///< messages are verified
  mutable std::map<pe_coord, std::vector<received>> unchecked_;
  /// By receiver and sending rank, in the order of arrival: place in the order of sending.
  std::map<std::pair<pe_coord, std::uint32_t>, std::map<std::uint64_t, std::uint64_t>> order_;
  std::set<std::uint64_t> seen_;  ///< identities of this op's messages that were received
};

}  // namespace diecast::sw
