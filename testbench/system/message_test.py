#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Point-to-point ops of workloads: shipped examples, errors before the run, counters, determinism."""
import json

import harness

EXAMPLES = harness.ROOT / "platforms" / "workloads"


class Messages(harness.Case):
    def run_example(self, name, *more, expect=0):
        rows = self.result(*harness.SMALL, "--workload", EXAMPLES / name, *more, expect=expect)["runs"]
        self.assertEqual(len(rows), 1)
        if expect == 0:
            self.assert_verified(rows[0])
        return rows[0]

    def workload(self, *ops, ranks=4):
        body = {"groups": {"g": {"ranks": "pe", "list": list(range(ranks))}},
                "streams": [{"name": "s", "on": "g", "ops": list(ops)}]}
        return self.file("w.json", json.dumps(body))

    def refused(self, expected, *ops):
        self.assertIn(expected, self.run_pod(*harness.SMALL, "--workload", self.workload(*ops), expect=2).stderr)

    def test_halo_exchange_is_matched_by_the_units(self):
        row = self.run_example("halo_exchange.json")
        stats = row["stats"]
        self.assertEqual(stats["tag_posted"], 16 * 4 * 4)
        self.assertEqual(stats["tag_matched_in_hardware"] + stats["tag_matched_in_software"], 16 * 4 * 4)
        self.assertGreater(stats["tag_matched_in_hardware"], 16 * 4 * 3)

    def test_unexpected_flood_goes_through_the_heap(self):
        row = self.run_example("unexpected_flood.json")
        self.assertGreater(row["stats"]["tag_copied_out"], 0)
        self.assertEqual(row["stats"]["tag_unexpected_eager"], 7 * 8)
        self.assertEqual(row["stats"]["tag_matched_in_hardware"], 7)  # the long ones, which come last

    def test_mutual_flood_with_a_ring_of_one_finishes(self):
        """Every short message is unexpected, and more come of a peer than its ring holds."""
        for entries in (0, 2, 16):
            row = self.run_example("mutual_flood.json",
                                   *harness.sets("tag_match.ring_messages=1", f"tag_match.entries={entries}"))
            self.assertTrue(all(stream["finished"] for stream in row["streams"]))
            self.assertLessEqual(row["stats"]["tag_ring_most_slots"], 8)
            self.assertGreater(row["stats"]["tag_copied_out"], 0)
            self.assertGreater(row["stats"]["tag_unexpected_eager"], 200)
            self.assertEqual(row["stats"]["tag_sent_rndv"], 16)

    def test_same_picoseconds_whatever_the_build_order(self):
        rows = [self.run_example("mutual_flood.json",
                                 *harness.sets(f"sim.build_order={order}", "sim.links_as_bytes=true"))
                for order in ("forward", "reverse", "shuffle:3")]
        for other in rows[1:]:
            self.assertEqual(other["time_ns"], rows[0]["time_ns"])
            self.assertEqual(other["fingerprint"], rows[0]["fingerprint"])
            self.assertEqual(other["ops"], rows[0]["ops"])

    def test_between_sips(self):
        """PEs 0 and 15 are in different SIPs of the small pod."""
        body = {"groups": {"far": {"ranks": "pe", "list": [0, 15]}},
                "streams": [{"name": "s", "on": "far", "repeat": 3, "ops": [
                    {"op": "sendrecv", "shift": 1, "tag": 5, "bytes": 512},
                    {"op": "sendrecv", "shift": 1, "tag": 6, "bytes": "40KiB"}]}]}
        rows = self.result(*harness.SMALL, "--workload", self.file("w.json", json.dumps(body)))["runs"]
        self.assert_verified(rows[0])
        self.assertEqual(rows[0]["stats"]["tag_sent_eager"], 6)
        self.assertEqual(rows[0]["stats"]["tag_sent_rndv"], 6)

    def test_probe_mprobe_test_and_cancel(self):
        ops = [{"id": "a", "op": "isend", "shift": 1, "tag": 1, "bytes": 64},
               {"id": "never", "op": "irecv", "peer": "ANY", "tag": 77, "bytes": 64},
               {"op": "probe", "peer": "ANY", "tag": 1},
               {"op": "mprobe", "peer": "ANY", "tag": "ANY", "bytes": 64},
               {"op": "test", "for": ["a"]},
               {"op": "cancel", "for": ["never"]},
               {"op": "waitall"}]
        row = self.result(*harness.SMALL, "--workload", self.workload(*ops))["runs"][0]
        self.assert_verified(row)
        self.assertEqual(row["stats"]["tag_cancelled"], 4)

    def test_sendrecv_with_any_source_and_tag(self):
        swap = {"op": "sendrecv", "bytes": 64, "from": "ANY", "receive_tag": "ANY"}
        row = self.result(*harness.SMALL, "--workload", self.workload({**swap, "shift": 1, "tag": 1},
                                                                      {**swap, "shift": 2, "tag": 2}))["runs"][0]
        self.assert_verified(row)
        self.assertEqual(row["stats"]["tag_posted"], 8)
        self.refused("ops[0].from: is no rank of the op's group (value 4; expected less than 4, or ANY",
                     {**swap, "shift": 1, "from": 4})

    def test_messages_that_no_receive_takes_are_found_before_the_run(self):
        send = {"id": "a", "op": "isend", "only": [0], "peer": 1, "tag": 1, "bytes": 128}
        take = {"id": "b", "op": "irecv", "only": [1], "peer": 0, "tag": 1, "bytes": 128}
        self.refused("ops[0].bytes: is longer than every receive of rank 1 of g that accepts it (value 128; expected at most 64, as",
                     send, {**take, "bytes": 64}, {"op": "waitall"})
        for wrong in ({"tag": 2}, {"peer": 2}):
            self.refused("ops[0]: rank 1 of g does not receive what rank 0 sends to it with tag 1 (value 1 messages, 0 receives",
                         send, {**take, **wrong}, {"op": "waitall"})
        self.refused("ops[0]: is never waited for by rank 0 (value a;", send, take)
        # A cancel elsewhere does not switch the checks off.
        self.refused("ops[0]: rank 1 of g does not receive what rank 0 sends to it with tag 1", send,
                     {**take, "tag": 9, "peer": "ANY"}, {"op": "cancel", "for": ["b"]}, {"op": "waitall"})

    def test_errors_are_found_before_the_run(self):
        send = {"id": "a", "op": "isend", "peer": 1, "tag": 1, "bytes": 64}
        self.refused("ops[0].peer: is no rank of the op's group (value 4; expected less than 4)",
                     {**send, "peer": 4})
        self.refused("does not receive what is sent to it (value 4 messages, 0 receives", send, {"op": "waitall"})
        self.refused("needs exactly one form of peer", {**send, "shift": 1})
        self.refused("names no op that leaves a request open (value b;", send, {"op": "wait", "for": ["b"]})
        self.refused("does not hold the ranks of the op's group (value [3, 1]; expected",
                     {"op": "sendrecv", "toward": "east", "grid": [3, 1], "tag": 1, "bytes": 64})
        self.refused("ops[0].tag: value out of range (value 4294967296; expected a whole number from 0 to 4294967295)",
                     {**send, "tag": 1 << 32})

    def test_a_receive_without_its_tag_is_a_named_deadlock(self):
        done = self.run_pod(*harness.SMALL, "--workload", self.deadlock(), expect=3)
        self.assertRegex(done.stderr, r"\(step receive from any rank of communicator 0, tag 1\).*\n  hint: it takes messages of any rank")

    def deadlock(self):
        """The receive of any tag takes the first message, and the other of tag 1 waits for it."""
        send = {"op": "isend", "shift": 1, "bytes": 64}
        take = {"op": "irecv", "peer": "ANY", "bytes": 64}
        return self.workload({"id": "a", "tag": 1, **send}, {"id": "b", "tag": 2, **send},
                             {"id": "c", "tag": "ANY", **take}, {"id": "d", "tag": 1, **take}, {"op": "waitall"})

    def test_a_message_that_nobody_receives_is_named(self):
        send = {"op": "isend", "only": [0], "peer": 1, "bytes": 128}
        take = {"op": "irecv", "only": [1], "peer": 0, "bytes": 128}
        done = self.run_pod(*harness.SMALL, "--workload",
                            self.workload({"id": "a", "tag": 1, **send}, {"id": "b", "tag": 2, **send},
                                          {"id": "c", "tag": "ANY", **take}, {"id": "d", "tag": 1, **take},
                                          {"op": "waitall"}), expect=3)
        self.assertIn("(step end of messaging: 1 of 2 messages to pod.sip0.cube_0_0.pe1 not received yet)", done.stderr)
        # Sent when the receive has been taken back.
        done = self.run_pod(*harness.SMALL, "--workload",
                            self.workload({"id": "b", "tag": 1, **take}, {"op": "cancel", "for": ["b"]},
                                          {"op": "delay", "ns": 20000}, {"id": "a", "tag": 1, **send},
                                          {"op": "waitall"}), expect=3)
        self.assertIn("(step end of messaging: 1 of 1 messages to pod.sip0.cube_0_0.pe1 not received yet, tag 1 of communicator 0)",
                      done.stderr)

    def test_a_deadlock_for_want_of_heap_names_its_key(self):
        send = {"op": "isend", "only": [0], "peer": 1}
        take = {"op": "irecv", "only": [1], "peer": 0}
        many = {"tag": 1, "bytes": 1024, "times": 40}
        path = self.workload({"id": "a", **send, **many}, {"id": "b", **send, "tag": 2, "bytes": 64},
                             {"id": "c", **take, "tag": 2, "bytes": 64}, {"op": "wait", "for": ["c"]},
                             {"id": "d", **take, **many}, {"op": "waitall"})
        done = self.run_pod(*harness.SMALL, "--workload", path, *harness.sets("tag_match.heap_kib=8"), expect=3)
        self.assertIn("tag 2; heap of tag_match.heap_kib full)", done.stderr)
        self.assert_verified(self.result(*harness.SMALL, "--workload", path)["runs"][0])

    def assert_unfinished(self, row):
        """What has not ended has no end, and no verdict."""
        self.assertTrue([op for op in row["ops"] if not op["finished"]])
        for entry in row["ops"] + row["streams"]:
            self.assertEqual(entry["finished"], entry["end_ns"] is not None, entry)
            self.assertTrue(entry["end_ns"] is None or entry["end_ns"] >= entry["start_ns"], entry)
            self.assertTrue(entry["finished"] or entry["verified"] is None, entry)
        for stream in row["streams"]:
            self.assertEqual(stream["finished"], stream["time_ns"] is not None, stream)

    def test_what_has_not_ended_has_no_end(self):
        path = self.deadlock()
        self.assert_unfinished(self.result(*harness.SMALL, "--workload", path, expect=3)["runs"][0])
        self.assertRegex(self.run_pod(*harness.SMALL, "--workload", path, expect=3).stdout, r" s +4 +5 +[\d.]+ +- +- ")
        fault = '[{"kind":"dispatch_corruption","where":"pod.sip0.cube_0_0.pe2"}]'
        ring = self.workload({"op": "all_reduce", "bytes": "4KiB", "algorithm": "ring_1d"})
        row = self.result(*harness.SMALL, "--workload", ring, *harness.sets(f"faults={fault}"), expect=4)["runs"][0]
        self.assert_unfinished(row)

    def test_a_message_longer_than_its_receive_is_an_error(self):
        send = {"op": "isend", "shift": 1, "tag": 1}
        take = {"op": "irecv", "peer": "ANY", "tag": 1}
        ops = [{"id": "a", **send, "bytes": 128}, {"id": "b", **send, "bytes": 64},
               {"id": "c", **take, "bytes": 64}, {"id": "d", **take, "bytes": 128}, {"op": "waitall"}]
        done = self.run_pod(*harness.SMALL, "--workload", self.workload(*ops), expect=None)
        self.assertNotEqual(done.code, 0)
        self.assertIn("message of 128 bytes", done.stderr)


if __name__ == "__main__":
    harness.main()
