// SPDX-License-Identifier: Apache-2.0
// The kinds of point-to-point ops and their fields.
#include "sw/workload/message_op.hpp"

namespace diecast::sw {
namespace {

using comm::op_field;
using comm::op_field_type;

constexpr double most_tag = 4294967295.0;

op_field only() {
  return {.name = "only",
          .type = op_field_type::counts,
          .description = "ranks of the group that run the op; default: all"};
}

/// Fields of the peer; `any`: it may be any rank.
std::vector<op_field> peer_fields(bool any) {
  op_field peer{.name = "peer",
                .type = any ? op_field_type::count_or_word : op_field_type::count,
                .description = any ? "rank in the group, or ANY" : "rank in the group",
                .most = comm::max_message_ranks - 1};
  if (any) peer.choices = {"ANY"};
  return {peer,
          comm::number_field("shift", op_field_type::count,
                             "instead of peer: distance in ranks to the receiver, modulo the group",
                             comm::max_message_ranks - 1),
          comm::word_field("toward",
                           "instead of peer: send to this neighbor in the grid, which wraps; a receive takes "
                           "the messages of the opposite neighbor",
                           {"east", "west", "north", "south"}),
          comm::number_field("grid", op_field_type::counts, "[columns, rows] of the group, ranks row by row",
                             comm::max_message_ranks, 1)};
}

op_field tag(bool any) {
  op_field f{.name = "tag",
             .type = any ? op_field_type::count_or_word : op_field_type::count,
             .description = any ? "tag, or ANY" : "tag",
             .most = most_tag,
             .otherwise = comm::op_value{std::uint64_t{0}}};
  if (any) f.choices = {"ANY"};
  return f;
}

op_field from() {
  return {.name = "from",
          .type = op_field_type::count_or_word,
          .description = "rank in the group to receive from, or ANY; default: from peer, shift or toward",
          .most = comm::max_message_ranks - 1,
          .choices = {"ANY"}};
}

op_field receive_tag() {
  return {.name = "receive_tag",
          .type = op_field_type::count_or_word,
          .description = "tag of received messages, or ANY; default: `tag`",
          .most = most_tag,
          .choices = {"ANY"}};
}

op_field bytes(const char* what) {
  return comm::required(comm::number_field("bytes", op_field_type::size, what, 1 << 20, 8));
}

op_field times() {
  return comm::number_field("times", op_field_type::count, "number of messages", comm::max_op_messages, 1,
                            std::uint64_t{1});
}

op_field mode() {
  return comm::word_field(
      "mode", "standard: complete when the source may be reused; synchronous: when a receive has matched",
      {"standard", "synchronous"}, std::string("standard"));
}

op_field requests(bool required, const char* what) {
  return {.name = "for", .type = op_field_type::words, .description = what, .required = required};
}

op_kind make(message_op::kind what, const char* name, const char* description, std::vector<op_field> fields) {
  fields.push_back(only());
  op_kind k;
  k.schema = {name, description, std::move(fields)};
  k.plan = [what](const op_request& r) { return std::make_unique<message_op>(what, r); };
  return k;
}

std::vector<op_field> join(std::vector<op_field> a, const std::vector<op_field>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::vector<op_kind> message_ops() {
  std::vector<op_kind> kinds{
      make(message_op::kind::isend, "isend", "Begins to send tag-matched messages.",
           join(peer_fields(false), {tag(false), bytes("size of a message"), times(), mode()})),
      make(message_op::kind::irecv, "irecv", "Posts receives of tag-matched messages.",
           join(peer_fields(true), {tag(true), bytes("size of the longest message"), times()})),
      make(message_op::kind::wait, "wait", "Completes the messages of ops and verifies what was received.",
           {requests(true, "ids of isend and irecv ops")}),
      make(message_op::kind::waitall, "waitall",
           "Completes all messages that the stream has begun and verifies what was received.",
           {requests(false, "ids of isend and irecv ops; default: all of the stream")}),
      make(message_op::kind::test, "test",
           "Completes the messages that can be completed now; a wait must follow for the others.",
           {requests(true, "ids of isend and irecv ops")}),
      make(message_op::kind::probe, "probe", "Waits until a message has arrived that no receive has matched.",
           join(peer_fields(true), {tag(true)})),
      make(message_op::kind::mprobe, "mprobe",
           "Waits for messages that no receive has matched, takes them off the list and receives them.",
           join(peer_fields(true), {tag(true), bytes("size of the longest message"), times()})),
      make(message_op::kind::cancel, "cancel",
           "Cancels receives that nothing has matched; a wait must follow.",
           {requests(true, "ids of irecv ops")}),
      make(message_op::kind::sendrecv, "sendrecv",
           "Sends to the peer and receives from it (shift, toward: from the opposite side; or from `from`), "
           "both at once.",
           join(peer_fields(false),
                {tag(false), from(), receive_tag(),
                 bytes("size of the sent message; largest size of the received one"), times(), mode()})),
  };
  // Rules of all messages together: once for them all.
  kinds.front().check_all = message_op::check_all;
  kinds.front().needs_others = message_op::needs_others;
  return kinds;
}

}  // namespace diecast::sw
