#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diecast-noc --traffic transactions:FILE from outside: times of single operations, order, replay, bad input; traces of tt-npe
as such files."""
import json

import harness
from workbench_test import ScriptCase

WORMHOLE = ("--config", harness.CONFIGS / "wormhole_noc.json")
# A line and what stderr must contain.
REFUSED = [
    ("[]", ["t.jsonl:1", "no object"]),
    ("{\"core\": [0, 0]}", ["no such operation", "expected \"op\": read"]),
    ("{\"core\": [10, 0], \"op\": \"barrier\", \"at\": 0}", ["\"core\" is no tile", "[0, 0] to [9, 11]"]),
    ("{\"core\": [1, 0], \"op\": \"read\", \"target\": [1, 1], \"at\": 0}", ["has no \"bytes\""]),
    ("{\"core\": [1, 0], \"op\": \"read\", \"target\": [1, 1], \"bytes\": 0, \"at\": 0}", ["\"bytes\" is no number in range", "1 to"]),
    ("{\"core\": [1, 0], \"op\": \"barrier\", \"at\": 0, \"after\": 1}", ["both \"at\" and \"after\""]),
    ("{\"core\": [1, 0], \"op\": \"barrier\", \"network\": 2, \"at\": 0}", ["\"network\" is no number in range", "0 to 1"]),
    ("{\"core\": [1, 0], \"op\": \"barrier\", \"att\": 0}", ["unknown key", "att"]),
    ("{", ["t.jsonl:1"]),
    ("", ["holds no transaction"]),
]
# A change of event 3 of Traces.EVENTS, and what stderr must contain.
BAD_TRACES = [
    ({"type": "WRITE_MULTICAST"}, ["event 3", '"WRITE_MULTICAST" is not modelled', "expected READ,"]),
    ({"type": "READ_BARRIER_WITH_TRID"}, ["not modelled"]),
    ({"type": "WRITE", "mcast_start_x": 1}, ["event 3", "multicasts are not modelled"]),
    ({"type": 7}, ["event 3: 7 is not modelled"]),
    ({"noc": "NOC_2"}, ['noc is "NOC_2"', "NOC_0 or NOC_1"]),
    ({"num_bytes": None}, ["num_bytes is null", "from 1 on"]),
    ({"num_bytes": 1.5}, ["num_bytes is 1.5"]),
    ({"dx": -1}, ["dx is -1", "from 0 on"]),
    ({"sx": True}, ["sx is true"]),
    ({"timestamp": "9"}, ['timestamp is "9"']),
    ({"src_device_id": 1}, ["another src_device_id"]),
    ({"type": "READ_BARRIER_END"}, ["a READ_BARRIER_END without its READ_BARRIER_START"]),
]


class Transactions(harness.Case):
    def command(self, *arguments):
        return [harness.binary("noc"), *map(str, arguments)]

    def run_lines(self, lines, *flags, expect=0):
        file = self.file("t.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        done = self.run_pod(*WORMHOLE, "--traffic", f"transactions:{file}", *flags, "--format", "json", expect=expect)
        return json.loads(done.stdout)["runs"][0]

    def read(self, core, target, size, network=0, at=0):
        return [{"core": core, "network": network, "op": "read", "target": target, "bytes": size, "at": at},
                {"core": core, "network": network, "op": "barrier", "at": at + 1, "until": at + 2}]

    def latency(self, *arguments, **words):
        barrier, = self.run_lines(self.read(*arguments, **words))["barriers"]
        return barrier["latency_cycles"]

    def test_a_hop_of_a_read_costs_nine_cycles_there_or_back(self):
        # Request and response share the ring of a one-way torus: together they go all the way round.
        near, far = self.latency([1, 1], [2, 1], 32), self.latency([1, 1], [4, 1], 32)
        self.assertEqual(near, far)
        # In the other dimension, too: 12 rows instead of 10 columns.
        self.assertEqual(self.latency([1, 1], [1, 4], 32) - near, 2 * 9)

    def test_bytes_take_their_flits(self):
        # 2 KiB more are 64 flits of 32 B, one a cycle; buffers of 16 flits behind a loop of 18 cycles let 16 of 18 through.
        small, large = self.latency([1, 1], [3, 1], 4096), self.latency([1, 1], [3, 1], 6144)
        self.assertAlmostEqual(large - small, 64 * 18 / 16, delta=4)

    def test_packets_of_a_write_overlap(self):
        # In one VC 16 of 18 cycles pass a flit; in the two that packets take in turn the link is full: 257 flits per 8 KiB.
        def duration(size):
            write = {"core": [1, 1], "op": "write", "target": [3, 1], "bytes": size, "at": 0}
            return self.run_lines([write, {"core": [1, 1], "op": "barrier", "at": 1}])["duration_cycles"]
        self.assertAlmostEqual(duration(1 << 18) - duration(1 << 17), 16 * 257, delta=0.02 * 16 * 257)

    def test_networks_go_opposite_ways(self):
        # Posted writes one column east: one hop on network 0, nine on network 1.
        def duration(network):
            write = {"core": [1, 1], "network": network, "op": "write", "target": [2, 1], "bytes": 32, "at": 0}
            return self.run_lines([write, {"core": [1, 1], "network": network, "op": "barrier", "at": 1}])["duration_cycles"]
        self.assertEqual(duration(0), duration(1))  # the acknowledgement goes on round the ring

    def test_a_barrier_waits_for_all_before_it(self):
        lines = [*self.read([1, 1], [3, 1], 65536)]
        alone = self.run_lines(lines)["duration_cycles"]
        two = self.run_lines([lines[0], lines[0], lines[1]])
        self.assertGreater(two["duration_cycles"], 1.8 * alone)
        self.assertEqual(len(two["barriers"]), 1)

    def test_closed_loop_issues_behind_the_barrier(self):
        lines = self.read([1, 1], [3, 1], 8192) + self.read([1, 1], [3, 1], 8192, at=100)
        first, second = self.run_lines(lines, "--set", "noc.replay=closed")["barriers"]
        self.assertGreaterEqual(second["issue_cycle"], first["issue_cycle"] + first["latency_cycles"])
        first, second = self.run_lines(lines)["barriers"]
        self.assertEqual(second["issue_cycle"], 101)

    def test_any_order_of_construction_gives_the_same(self):
        lines = [line for n in range(8) for line in self.read([n, n], [9 - n, 3], 20000, network=n % 2)]
        found = [self.run_lines(lines, "--set", f"sim.build_order={order}") for order in ("forward", "reverse", "shuffle:3")]
        for other in found[1:]:
            self.assertEqual((other["duration_cycles"], other["barriers"]), (found[0]["duration_cycles"], found[0]["barriers"]))

    def test_bad_lines_are_refused(self):
        for text, words in REFUSED:
            file = self.file("t.jsonl", text + "\n")
            done = self.run_pod(*WORMHOLE, "--traffic", f"transactions:{file}", expect=2)
            for word in words:
                self.assertIn(word, done.stderr, text)


class Traces(ScriptCase):
    """scripts/npe2transactions."""
    EVENTS = [{"proc": "BRISC", "zone": "BRISC-KERNEL", "sx": 1, "sy": 1, "timestamp": 90},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "dx": 3, "dy": 4, "num_bytes": 64, "type": "WRITE_SET_STATE", "timestamp": 95},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "WRITE_WITH_STATE", "timestamp": 100},
              {"proc": "NCRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "dx": 2, "dy": 2, "num_bytes": 32, "type": "READ", "timestamp": 110},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "WRITE_BARRIER_START", "timestamp": 120},
              {"proc": "NCRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "READ_BARRIER_START", "timestamp": 121},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "WRITE_BARRIER_END", "timestamp": 300},
              {"proc": "", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "READ_BARRIER_END", "timestamp": 310},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "dx": 2, "dy": 2, "type": "SEMAPHORE_INC", "timestamp": 320},
              {"proc": "BRISC", "sx": 1, "sy": 1, "type": "SEMAPHORE_WAIT", "timestamp": 321},
              {"proc": "BRISC", "noc": "NOC_1", "sx": 1, "sy": 1, "type": "ATOMIC_BARRIER", "timestamp": 330}]
    MADE = [("write", [3, 4], 64, 0, None), ("read", [2, 2], 32, 10, None), ("barrier", None, None, 20, 200),
            ("barrier", None, None, 21, 210), ("atomic", [2, 2], None, 220, None), ("barrier", None, None, 230, None)]

    def command(self, *arguments):
        return [harness.binary("noc"), *map(str, arguments)]

    def convert(self, trace, expect=0):
        file = self.file("trace.json", trace if isinstance(trace, str) else json.dumps(trace))
        return self.script("npe2transactions", file, "--out", "t.jsonl", expect=expect)

    def test_operations_of_a_trace_and_their_replay(self):
        self.convert(self.EVENTS)
        lines = [json.loads(line) for line in (self.folder / "t.jsonl").read_text().splitlines()]
        self.assertEqual([tuple(line.get(k) for k in ("op", "target", "bytes", "at", "until")) for line in lines], self.MADE)
        self.assertEqual({(*line["core"], line["network"]) for line in lines}, {(1, 1, 1)})
        for chip in ("wormhole", "blackhole"):
            config = self.file("noc.json", json.dumps({"noc": {"preset": chip}}))
            done = self.run_pod("--config", config, "--traffic", f"transactions:{self.folder / 't.jsonl'}", "--format", "json")
            self.assertEqual(len(json.loads(done.stdout)["runs"][0]["barriers"]), 3)

    def test_what_is_not_modelled_or_no_trace_is_refused_in_a_sentence(self):
        traces = [([*self.EVENTS[:3], {**self.EVENTS[3], **change}, *self.EVENTS[4:]], words) for change, words in BAD_TRACES]
        for trace, words in [*traces, ("{}", ["no array"]), ("[1]", ["event 0: is no object"]), ("[", ["trace.json"]),
                             ([], ["transfers nothing"])]:
            done = self.convert(trace, expect=2)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    harness.main()
