// SPDX-License-Identifier: Apache-2.0
// Point-to-point ops of workloads on the mock machine.
#include "support/test.hpp"
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

config::machine_config machine(std::uint64_t entries, std::uint64_t ring_messages) {
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
      CHECK(run_workload(w, machine(entries, 1), options, {}).wrong == "");
    }
  }
}

std::string error_of(std::vector<comm::workload_op> ops) {
  return run_workload(workload_of({stream_on("s", eight, std::move(ops), 1)}), machine(4, 2), {}, {}).wrong;
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

TEST_CASE("workload messages: what can only show at run time is a named deadlock or error") {
  const comm::workload_op send =
      message("a", "isend", {{"shift", number(1)}, {"tag", number(1)}, {"bytes", number(128)}});
  CHECK_THAT(
      error_of({send,
                message("b", "irecv", {{"peer", word("ANY")}, {"tag", number(2)}, {"bytes", number(128)}}),
                message("w", "waitall", {})}),
      Catch::Contains("receive from any rank of communicator 0, tag 2"));
  CHECK_THAT(
      error_of({send,
                message("b", "irecv", {{"peer", word("ANY")}, {"tag", number(1)}, {"bytes", number(64)}}),
                message("w", "waitall", {})}),
      Catch::Contains("message of 128 bytes"));
}
