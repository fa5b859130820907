// SPDX-License-Identifier: Apache-2.0
// Point-to-point ops of workloads on the mock machine.
#include "note_ledger.hpp"
#include "support/test.hpp"
#include "sw/collectives/base/kernel_table.hpp"
#include "sw/workload/message_op.hpp"
#include "workload_bench.hpp"

using namespace diecast;
using namespace diecast::test;

namespace {

using fields = std::map<std::string, comm::op_value>;

/// The fields that the reader of files fills in.
comm::workload_op message(const std::string& id, const std::string& kind, fields given) {
  if (kind != "wait" && kind != "waitall" && kind != "test" && kind != "cancel") {
    given.emplace("tag", std::uint64_t{0});
    if (kind != "probe") given.emplace("times", std::uint64_t{1});
    if (kind == "isend" || kind == "sendrecv") given.emplace("mode", std::string("standard"));
  }
  return local(id, kind, std::move(given));
}
comm::op_value number(std::uint64_t n) { return n; }
comm::op_value word(const char* w) { return std::string(w); }
comm::op_value ids(std::vector<std::string> names) { return names; }
comm::op_value list(std::vector<std::uint64_t> numbers) { return numbers; }

config::machine_config message_machine(std::uint64_t entries, std::uint64_t ring_messages) {
  config::machine_config c;
  c.pod.sips = 1;
  c.sip.columns = c.sip.rows = 1;
  c.cube.pes = 8;
  c.tag_match.entries = entries;
  c.tag_match.ring_messages = ring_messages;
  return c;
}

const std::vector<std::uint64_t> eight{0, 1, 2, 3, 4, 5, 6, 7};

void runs_everywhere(const comm::workload& w) {
  for (const std::uint64_t entries : {0, 2, 16}) {
    for (const auto order : {sw::schedule::round_robin, sw::schedule::random, sw::schedule::adversarial}) {
      CAPTURE(entries, sw::to_string(order));
      sw::mock_options options;
      options.order = order;
      options.seed = 3;
      note_ledger notes;
      options.on_note = [&notes](pe_coord pe, const diecast::abi::operation_note& n) { notes.hear(pe, n); };
      CHECK(run_workload(w, message_machine(entries, 1), options, {}).wrong == "");
      CHECK(notes.complaint() == "");
      CHECK(notes.posted(diecast::abi::operation_kind::receive) > 0);
      CHECK(notes.posted(diecast::abi::operation_kind::send) + notes.cancelled() ==
            notes.posted(diecast::abi::operation_kind::receive));
    }
  }
}

std::string error_of(std::vector<comm::workload_op> ops) {
  return run_workload(workload_of({stream_on("s", eight, std::move(ops), 1)}), message_machine(4, 2), {}, {})
      .wrong;
}

}  // namespace

TEST_CASE("workload messages: a halo exchange on a grid") {
  std::vector<comm::workload_op> ops;
  for (const char* toward : {"east", "west", "north", "south"}) {
    const fields both{{"toward", word(toward)},
                      {"grid", list({4, 2})},
                      {"tag", number(ops.size())},
                      {"bytes", number(ops.size() < 4 ? 96 : 5000)}};
    ops.push_back(message(std::string("r_") + toward, "irecv", both));
    ops.push_back(message(std::string("s_") + toward, "isend", both));
  }
  ops.push_back(message("end", "waitall", {}));
  runs_everywhere(workload_of({stream_on("halo", eight, ops, 3)}));
}

TEST_CASE(
    "workload messages: a mutual flood with a ring of one beside all-reduces and rendezvous transfers") {
  std::vector<comm::workload_op> flood;
  for (const std::uint64_t shift : {1, 3, 7}) {
    flood.push_back(message(
        "s" + std::to_string(shift), "isend",
        {{"shift", number(shift)}, {"tag", number(shift)}, {"bytes", number(512)}, {"times", number(12)}}));
  }
  flood.push_back(local("late", "compute", {{"ns", 10000.0}}));
  for (const std::uint64_t tag : {7, 3, 1}) {
    flood.push_back(message(
        "r" + std::to_string(tag), "irecv",
        {{"peer", word("ANY")}, {"tag", number(tag)}, {"bytes", number(512)}, {"times", number(12)}}));
  }
  flood.push_back(message("end", "waitall", {}));
  runs_everywhere(workload_of(
      {stream_on("flood", eight, flood, 1),
       stream_on(
           "transfers", eight,
           {message("swap", "sendrecv", {{"shift", number(5)}, {"tag", number(9)}, {"bytes", number(9000)}})},
           2),
       stream_on("reduce", eight, {collective("sum", 4096, "ring_1d")}, 2)}));
}

TEST_CASE("workload messages: probe, mprobe, test, cancel") {
  runs_everywhere(workload_of({stream_on(
      "s", eight,
      {message("a", "isend", {{"shift", number(1)}, {"tag", number(1)}, {"bytes", number(64)}}),
       message("never", "irecv", {{"peer", word("ANY")}, {"tag", number(77)}, {"bytes", number(64)}}),
       message("look", "probe", {{"peer", word("ANY")}, {"tag", number(1)}}),
       message("take", "mprobe", {{"peer", word("ANY")}, {"tag", word("ANY")}, {"bytes", number(64)}}),
       message("try", "test", {{"for", ids({"a"})}}), message("back", "cancel", {{"for", ids({"never"})}}),
       message("end", "waitall", {})},
      2)}));
}

TEST_CASE("workload messages: errors before the run") {
  const comm::workload_op send = message("a", "isend", {{"peer", number(1)}, {"bytes", number(64)}});
  CHECK_THAT(error_of({message("a", "isend", {{"peer", number(8)}, {"bytes", number(64)}})}),
             Catch::Contains("a.peer: is no rank of the op's group"));
  CHECK_THAT(error_of({send, message("w", "waitall", {})}),
             Catch::Contains("does not receive what is sent to it (value 8 messages, 0 receives"));
  CHECK_THAT(error_of({send, message("w", "wait", {{"for", ids({"b"})}})}),
             Catch::Contains("names no op that leaves a request open"));
  CHECK_THAT(error_of({message("x", "sendrecv",
                               {{"toward", word("east")}, {"grid", list({3, 1})}, {"bytes", number(64)}})}),
             Catch::Contains("does not hold the ranks of the op's group"));
}

TEST_CASE("workload messages: a group has at most as many ranks as names of messages have room for") {
  comm::group members;
  const config::machine_config config;
  const sw::kernel_table kernels;
  const comm::workload_op send = message("a", "isend", {{"shift", number(1)}, {"bytes", number(64)}});
  const auto plan = [&](std::size_t ranks) {
    members.members.resize(ranks);
    return sw::message_op(sw::message_op::kind::isend,
                          {send, members, 0, config, config.shape(), kernels, {}, {}, {}});
  };
  CHECK_NOTHROW(plan(65'536));
  CHECK_THROWS_WITH(plan(65'537), Catch::Contains("(value 65537; expected at most 65536)"));
}

TEST_CASE("workload messages: what can only show at run time is a named deadlock or error") {
  const auto send = [](const char* id, std::uint64_t tag, std::uint64_t bytes) {
    return message(id, "isend", {{"shift", number(1)}, {"tag", number(tag)}, {"bytes", number(bytes)}});
  };
  const auto receive = [](const char* id, const comm::op_value& tag, std::uint64_t bytes) {
    return message(id, "irecv", {{"peer", word("ANY")}, {"tag", tag}, {"bytes", number(bytes)}});
  };
  CHECK_THAT(error_of({send("a", 1, 128), send("b", 2, 128), receive("c", word("ANY"), 128),
                       receive("d", number(1), 128), message("w", "waitall", {})}),
             Catch::Contains("receive from any rank of communicator 0, tag 1"));
  CHECK_THAT(error_of({send("a", 1, 128), send("b", 1, 64), receive("c", number(1), 64),
                       receive("d", number(1), 128), message("w", "waitall", {})}),
             Catch::Contains("message of 128 bytes"));
}

TEST_CASE("workload messages: what cannot be matched is found before the run") {
  const auto send = [](std::uint64_t tag, std::uint64_t bytes) {
    return message("a", "isend", {{"shift", number(1)}, {"tag", number(tag)}, {"bytes", number(bytes)}});
  };
  const auto receive = [](const char* id, const comm::op_value& peer, const comm::op_value& tag,
                          std::uint64_t bytes) {
    return message(id, "irecv", {{"peer", peer}, {"tag", tag}, {"bytes", number(bytes)}});
  };
  const comm::workload_op end = message("w", "waitall", {});
  const comm::op_value any = word("ANY");
  CHECK_THAT(
      error_of({send(1, 64), receive("b", any, number(2), 64), end}),
      Catch::Contains("a: rank 0 of [0,1,2,3,4,5,6,7] does not receive what rank 7 sends to it with tag 1 "
                      "(value 1 messages, 0 receives that accept them; expected as many of both"));
  CHECK_THAT(
      error_of({send(1, 64), receive("b", number(3), number(1), 64), end}),
      Catch::Contains("a: rank 0 of [0,1,2,3,4,5,6,7] does not receive what rank 7 sends to it with tag 1"));
  CHECK_THAT(
      error_of({send(1, 128), receive("b", any, number(1), 64), end}),
      Catch::Contains("a.bytes: is longer than every receive of rank 0 of [0,1,2,3,4,5,6,7] that accepts it "
                      "(value 128; expected at most 64, as b says"));
  // As many receives as messages, and each message finds one that accepts it; but one accepts none.
  comm::workload_op other = send(2, 64);
  other.id = other.where = "c";
  CHECK_THAT(
      error_of({send(1, 64), other, receive("b", any, any, 64), receive("d", any, number(3), 64), end}),
      Catch::Contains("d: rank 0 of [0,1,2,3,4,5,6,7] receives more from any rank with tag 3 than is sent to "
                      "it (value 1 receives, 0 messages; expected as many of both"));
  CHECK_THAT(error_of({send(1, 64), receive("b", any, number(1), 64)}),
             Catch::Contains("a: is never waited for by rank 0 (value a; expected a later wait or waitall"));
  // A wait of some ranks is none of the others.
  comm::workload_op some = message("v", "wait", {{"for", ids({"b"})}});
  some.fields["only"] = list({0, 1, 2});
  CHECK_THAT(error_of({send(1, 64), receive("b", any, number(1), 64), some,
                       message("w", "wait", {{"for", ids({"a"})}})}),
             Catch::Contains("b: is never waited for by rank 3"));
  // A cancel makes its own receive uncertain, and no other.
  const comm::workload_op back = message("back", "cancel", {{"for", ids({"n"})}});
  CHECK_THAT(error_of({send(1, 64), receive("n", any, number(9), 64), back, end}),
             Catch::Contains("with tag 1 (value 1 messages, 0 receives that accept them"));
  CHECK_THAT(error_of({send(1, 64), receive("n", any, number(1), 64), receive("b", any, any, 64),
                       receive("c", any, any, 64), back, end}),
             Catch::Contains(
                 "c: rank 0 of [0,1,2,3,4,5,6,7] does not receive what is sent to it (value 1 messages, 3 "
                 "receives; expected from 2 to 3 messages, for 1 receives may be cancelled"));
}

TEST_CASE("workload messages: sendrecv receives from any rank and with any tag, or as it says") {
  const auto swap = [](std::uint64_t shift, fields more) {
    more.insert({{"shift", number(shift)}, {"tag", number(shift)}, {"bytes", number(200)}});
    return message("x" + std::to_string(shift), "sendrecv", std::move(more));
  };
  runs_everywhere(workload_of(
      {stream_on("s", eight, {swap(1, {{"from", word("ANY")}, {"receive_tag", word("ANY")}})}, 3)}));
  runs_everywhere(workload_of({stream_on(
      "s", eight, {swap(2, {{"from", word("ANY")}}), swap(3, {{"receive_tag", word("ANY")}})}, 2)}));
  // Rank 0 sends to 5, and receives from 7 with the tag that 7 sends.
  comm::workload_op to_0 =
      message("a", "isend", {{"peer", number(0)}, {"tag", number(4)}, {"bytes", number(64)}});
  to_0.fields["only"] = list({7});
  comm::workload_op of_7 = message("b", "sendrecv",
                                   {{"peer", number(5)},
                                    {"tag", number(6)},
                                    {"from", number(7)},
                                    {"receive_tag", number(4)},
                                    {"bytes", number(64)}});
  of_7.fields["only"] = list({0});
  comm::workload_op at_5 =
      message("c", "irecv", {{"peer", number(0)}, {"tag", number(6)}, {"bytes", number(64)}});
  at_5.fields["only"] = list({5});
  runs_everywhere(workload_of({stream_on("s", eight, {to_0, at_5, of_7, message("w", "waitall", {})}, 2)}));
  CHECK_THAT(error_of({swap(1, {{"from", number(8)}})}),
             Catch::Contains("x1.from: is no rank of the op's group (value 8; expected less than 8, or ANY"));
}

namespace {

comm::workload_op after(comm::workload_op op, std::vector<std::string> ids_before) {
  op.after = std::move(ids_before);
  return op;
}

}  // namespace

TEST_CASE("workload messages: only what completes messages verifies them") {
  const auto outcome = run_workload(
      workload_of({stream_on(
          "s", eight,
          {message("r", "irecv", {{"shift", number(1)}, {"tag", number(1)}, {"bytes", number(64)}}),
           message("s", "isend", {{"shift", number(1)}, {"tag", number(1)}, {"bytes", number(64)}}),
           message("w", "wait", {{"for", ids({"s", "r"})}}), message("again", "waitall", {})},
          2)}),
      message_machine(4, 2), {}, {});
  CHECK(outcome.wrong == "");
  REQUIRE(outcome.records.size() == 4);
  for (std::size_t iteration = 0; iteration < 2; ++iteration) {
    CHECK_FALSE(outcome.records[0][iteration].wrong.has_value());  // verified where it is waited for
    CHECK_FALSE(outcome.records[1][iteration].wrong.has_value());
    CHECK(outcome.records[2][iteration].wrong == std::uint64_t{0});
    CHECK_FALSE(outcome.records[3][iteration].wrong.has_value());  // nothing was left for it
  }
}

TEST_CASE("workload messages: a cancel finds a receive that a wait beside it waits for") {
  runs_everywhere(workload_of({stream_on(
      "s", eight,
      {message("never", "irecv", {{"peer", word("ANY")}, {"tag", number(77)}, {"bytes", number(64)}}),
       after(message("wait", "wait", {{"for", ids({"never"})}}), {"never"}),
       after(local("pause", "delay", {{"ns", 5.0}}), {"never"}),
       after(message("back", "cancel", {{"for", ids({"never"})}}), {"pause"})},
      2)}));
}

TEST_CASE("workload messages: waits beside each other for ops of their own") {
  std::vector<comm::workload_op> ops;
  for (const std::uint64_t tag : {1, 2}) {
    const std::string n = std::to_string(tag);
    const fields both{{"shift", number(tag)}, {"tag", number(tag)}, {"bytes", number(tag * 200)}};
    ops.push_back(after(message("r" + n, "irecv", both), {}));
    ops.push_back(after(message("s" + n, "isend", both), {"r" + n}));
    ops.push_back(after(message("w" + n, "wait", {{"for", ids({"r" + n, "s" + n})}}), {"s" + n}));
  }
  ops.push_back(after(message("end", "waitall", {}), {"w1", "w2"}));
  runs_everywhere(workload_of({stream_on("s", eight, ops, 3)}));
}

TEST_CASE("workload messages: a wait that need not find its messages is refused") {
  const comm::workload_op send = message("s", "isend", {{"shift", number(1)}, {"bytes", number(64)}});
  const comm::workload_op receive = message("r", "irecv", {{"shift", number(1)}, {"bytes", number(64)}});
  const auto wait = [](const std::string& id) { return message(id, "wait", {{"for", ids({"s", "r"})}}); };
  for (const char* kind : {"wait", "waitall", "test"}) {
    CHECK_THAT(error_of({send, receive, after(message("w", kind, {{"for", ids({"r"})}}), {"s"}),
                         after(message("end", "waitall", {}), {"r", "w"})}),
               Catch::Contains("w.for: names an op that may not have run before (value r;"));
  }
  CHECK_THAT(error_of({send, receive, after(message("c", "cancel", {{"for", ids({"r"})}}), {"s"}),
                       after(wait("w"), {"r", "c"})}),
             Catch::Contains("c.for: names an op that may not have run before (value r;"));
  CHECK_THAT(error_of({send, receive, wait("w"), after(wait("v"), {"r"})}),
             Catch::Contains("v: may complete s at the same time as w does"));
  CHECK_THAT(
      error_of({send, after(receive, {}), after(message("w", "waitall", {}), {"s"})}),
      Catch::Contains(
          "w: waits for all open requests of the stream, and another op may run at the same time (value r;"));
  // Of other ranks each, they do not meet.
  comm::workload_op low = wait("w"), high = after(wait("v"), {"r"});
  low.fields["only"] = list({0, 1, 2, 3});
  high.fields["only"] = list({4, 5, 6, 7});
  CHECK(error_of({send, receive, low, high}) == "");
}

TEST_CASE("workload messages: a test alone does not wait, for it may come too early") {
  const fields both{{"shift", number(1)}, {"bytes", number(5000)}};
  const std::vector<comm::workload_op> begun{message("r", "irecv", both), message("s", "isend", both)};
  const auto ended_by = [&](std::vector<comm::workload_op> last) {
    std::vector<comm::workload_op> ops = begun;
    ops.insert(ops.end(), last.begin(), last.end());
    return ops;
  };
  const comm::workload_op both_tested = message("t", "test", {{"for", ids({"r", "s"})}});
  CHECK_THAT(error_of(ended_by({both_tested})),
             Catch::Contains("r: is never waited for by rank 0 (value r; expected a later wait or waitall"));
  CHECK_THAT(error_of(ended_by({both_tested, message("w", "wait", {{"for", ids({"r"})}})})),
             Catch::Contains("s: is never waited for by rank 0 (value s;"));
  runs_everywhere(
      workload_of({stream_on("s", eight, ended_by({both_tested, message("end", "waitall", {})}), 2)}));
}

TEST_CASE("workload messages: an op of another stream can be waited for once") {
  const fields both{{"shift", number(1)}, {"bytes", number(64)}};
  const auto streams = [&](std::uint64_t repeat) {
    return workload_of(
        {stream_on("begin", eight, {message("r", "irecv", both), message("s", "isend", both)}, repeat),
         stream_on("end", eight, {after(message("w", "wait", {{"for", ids({"r", "s"})}}), {"s"})}, repeat)});
  };
  runs_everywhere(streams(1));
  CHECK_THAT(run_workload(streams(2), message_machine(4, 2), {}, {}).wrong,
             Catch::Contains("w.for: names an op of another stream that repeats (value r;"));
}

TEST_CASE("workload messages: streams that cannot run alone are known") {
  const auto needs = [](const std::vector<comm::workload_stream>& streams, std::uint32_t stream) {
    const sw::mock_options options;
    const sw::op_table ops = sw::builtin_ops(options.kernels);
    const auto patterns = sw::builtin_patterns();
    const comm::workload w = workload_of(streams);
    return sw::workload_program(w, {ops, options.kernels, patterns}, message_machine(4, 2))
        .needs_others(stream);
  };
  const fields both{{"shift", number(1)}, {"bytes", number(64)}};
  const std::vector<comm::workload_stream> split{
      stream_on("send", eight, {message("s", "isend", both), message("we", "waitall", {})}),
      stream_on("receive", eight, {message("r", "irecv", both), message("wr", "waitall", {})}),
      stream_on("apart", eight, {message("x", "sendrecv", both)})};
  CHECK(needs(split, 0) ==
        "s: without the other streams, rank 0 of [0,1,2,3,4,5,6,7] gets 1 messages and has "
        "0 receives");
  CHECK(needs(split, 1) ==
        "r: without the other streams, rank 0 of [0,1,2,3,4,5,6,7] gets 0 messages and has "
        "1 receives");
  CHECK(needs(split, 2) == "");
  const std::vector<comm::workload_stream> waited{
      stream_on("begin", eight, {message("r", "irecv", both), message("s", "isend", both)}),
      stream_on("end", eight, {after(message("w", "wait", {{"for", ids({"r", "s"})}}), {"s"})})};
  CHECK(needs(waited, 0) == "w: completes r, of stream begin");
  CHECK(needs(waited, 1) == "w: completes r, of stream begin");
}
