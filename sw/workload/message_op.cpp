// SPDX-License-Identifier: Apache-2.0
#include "sw/workload/message_op.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace diecast::sw {

std::uint32_t peer_rule::of(std::uint32_t self, std::size_t ranks, bool back) const {
  switch (what) {
    case kind::none: break;
    case kind::rank: return static_cast<std::uint32_t>(rank);
    case kind::any: return any_source;
    case kind::shift: {
      const std::uint64_t by = back ? ranks - rank % ranks : rank;
      return static_cast<std::uint32_t>((self + by) % ranks);
    }
    case kind::grid: {
      const std::uint64_t step_x =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(columns) + (back ? -dx : dx));
      const std::uint64_t step_y =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(rows) + (back ? -dy : dy));
      const std::uint64_t x = (self % columns + step_x) % columns;
      const std::uint64_t y = (self / columns + step_y) % rows;
      return static_cast<std::uint32_t>(y * columns + x);
    }
  }
  throw std::logic_error("the peer of an op without one");
}

message_op::message_op(kind what, const op_request& r)
    : what_(what), index_(r.index), members_(r.members), where_(r.op.where) {
  const auto fail = [&r](const std::string& field, const std::string& why, const std::string& value,
                         const std::string& expected) {
    throw user_error(problem{r.op.where + field, why, value, expected});
  };
  if (members_.members.size() > comm::max_message_ranks) {
    fail("", "the op's group has too many ranks for the ids of messages",
         std::to_string(members_.members.size()), fmt::format("at most {}", comm::max_message_ranks));
  }
  world_.members = members_.members;
  if (r.op.has("only")) only_ = r.op.get<std::vector<std::uint64_t>>("only");
  for (const std::uint64_t rank : only_) {
    if (rank >= members_.members.size()) {
      fail(".only", "names a rank that is not in the op's group", std::to_string(rank),
           fmt::format("less than {}", members_.members.size()));
    }
  }
  if (r.op.has("for")) names_ = r.op.get<std::vector<std::string>>("for");
  if (r.op.has("tag")) {
    const comm::op_value& tag = r.op.fields.at("tag");
    tag_ = std::holds_alternative<std::string>(tag) ? any_tag : std::get<std::uint64_t>(tag);
  }
  if (r.op.has("bytes")) bytes_ = r.op.get<std::uint64_t>("bytes");
  if (r.op.has("times")) times_ = r.op.get<std::uint64_t>("times");
  if (r.op.has("mode") && r.op.get<std::string>("mode") == "synchronous") mode_ = send_mode::synchronous;
  if (sends() || receives() || what_ == kind::probe) read_peer(r);
  if (what_ == kind::sendrecv) read_source(r);
}

void message_op::read_peer(const op_request& r) {
  const unsigned given =
      (r.op.has("peer") ? 1U : 0U) + (r.op.has("shift") ? 1U : 0U) + (r.op.has("toward") ? 1U : 0U);
  const std::size_t ranks = members_.members.size();
  if (given != 1) {
    throw user_error(problem{where_, "needs exactly one form of peer", fmt::format("{} forms", given),
                             "one of peer, shift, and toward with grid"});
  }
  if (r.op.has("peer")) {
    const comm::op_value& peer = r.op.fields.at("peer");
    if (std::holds_alternative<std::string>(peer)) {
      peer_.what = peer_rule::kind::any;
      return;
    }
    peer_.what = peer_rule::kind::rank;
    peer_.rank = std::get<std::uint64_t>(peer);
    if (peer_.rank >= ranks) {
      throw user_error(problem{where_ + ".peer", "is no rank of the op's group", std::to_string(peer_.rank),
                               fmt::format("less than {}", ranks)});
    }
    return;
  }
  if (r.op.has("shift")) {
    peer_.what = peer_rule::kind::shift;
    peer_.rank = r.op.get<std::uint64_t>("shift");
    return;
  }
  const auto grid =
      r.op.has("grid") ? r.op.get<std::vector<std::uint64_t>>("grid") : std::vector<std::uint64_t>{};
  if (grid.size() != 2 || grid[0] * grid[1] != ranks) {
    throw user_error(problem{
        where_ + ".grid", "does not hold the ranks of the op's group",
        grid.size() == 2 ? fmt::format("[{}, {}]", grid[0], grid[1]) : fmt::format("{} numbers", grid.size()),
        fmt::format("[columns, rows] with columns x rows = {}", ranks)});
  }
  const std::string toward = r.op.get<std::string>("toward");
  peer_.what = peer_rule::kind::grid;
  peer_.columns = grid[0];
  peer_.rows = grid[1];
  peer_.dx = toward == "east" ? 1 : toward == "west" ? -1 : 0;
  peer_.dy = toward == "south" ? 1 : toward == "north" ? -1 : 0;
}

void message_op::read_source(const op_request& r) {
  const auto word_or = [&r](const char* field, std::uint64_t any) {
    const comm::op_value& v = r.op.fields.at(field);
    return std::holds_alternative<std::string>(v) ? any : std::get<std::uint64_t>(v);
  };
  if (r.op.has("receive_tag")) receive_tag_ = word_or("receive_tag", any_tag);
  if (!r.op.has("from")) return;
  from_ = static_cast<std::uint32_t>(word_or("from", any_source));
  const std::size_t ranks = members_.members.size();
  if (*from_ == any_source || *from_ < ranks) return;
  throw user_error(problem{where_ + ".from", "is no rank of the op's group", std::to_string(*from_),
                           fmt::format("less than {}, or ANY", ranks)});
}

std::uint32_t message_op::source_of(std::uint32_t rank) const {
  return from_ ? *from_ : peer_.of(rank, members_.members.size(), true);
}

bool message_op::takes_part(std::uint32_t rank) const {
  return only_.empty() || std::ranges::find(only_, rank) != only_.end();
}

std::uint64_t message_op::tcm_bytes() const {
  return times_ * slot() * ((sends() ? 1U : 0U) + (receives() ? 1U : 0U));
}

}  // namespace diecast::sw
