#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diecast-noc --traffic transactions:FILE from outside: times of single operations, order, replay, bad input; traces of tt-npe
as such files."""
import csv
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
        """One column east: one link in network 0 and nine in network 1; acknowledgements go on round the ring."""
        for network, links in ((0, 1), (1, 9)):
            write = {"core": [1, 1], "network": network, "op": "posted_write", "target": [2, 1], "bytes": 64, "at": 0}
            run = self.run_lines([write], "--out", "posted")
            self.assertEqual((run["packet_hops"], run["flit_hops"]), (links, 3 * links))
            rows = list(csv.DictReader((self.folder / "posted/links.csv").read_text().splitlines()))
            self.assertEqual(len(rows), 2 * 120 * 4)  # per network and tile: in, out, and in each of two directions
            used = [row for row in rows if row["packets"] != "0" and ".router_" in row["link"]]
            self.assertEqual([(row["link"].split(".")[0], row["link"].split(".")[-1], row["bytes"], row["packets"]) for row in used],
                             [(f"network{network}", ("east", "west")[network], "96", "1")] * links)
            self.assertEqual(self.run_lines([{**write, "op": "write"}])["packet_hops"], 10)

    def test_tiles_of_a_controller_share_its_rate(self):
        reads = [line for column, tile in ((2, [0, 5]), (3, [0, 6]), (4, [0, 7])) for line in self.read([column, 2], tile, 1 << 16)]
        of_two, of_one = self.run_lines(reads)["barriers"][:2], self.run_lines(reads[:2])["barriers"]
        rate = 22.3  # bytes per cycle of a channel, which 0_5 and 0_6 share
        self.assertAlmostEqual(max(b["latency_cycles"] for b in of_two) - of_one[0]["latency_cycles"], (1 << 16) / rate, delta=99)
        alone = self.run_lines([*reads[:2], *reads[4:]])["barriers"]
        self.assertEqual(alone[0]["latency_cycles"], of_one[0]["latency_cycles"])

    def test_requests_beyond_a_queue_block_those_behind_them(self):
        """A read of a farther tile passes a busy one whose queue is deep, and waits in the network behind a short one."""
        lines = [line for k in range(12) for line in self.read([1, 1], [3, 1], 8192, at=k)]
        lines += self.read([2, 1], [5, 1], 32, at=600)
        def behind(queue):
            run = self.run_lines(lines, "--set", f"noc.request_queue={queue}")
            return next(b["latency_cycles"] for b in run["barriers"] if b["core"] == [2, 1])
        self.assertLess(behind(64), 300)
        self.assertGreater(behind(1), 1000)

    def test_a_window_holds_back_what_exceeds_it(self):
        read, barrier = self.read([1, 1], [3, 1], 2048)
        lines = [read] * 3 + [barrier]
        one = self.run_lines(lines[2:])["duration_cycles"]
        narrow = self.run_lines(lines, "--set", "noc.window=1")["duration_cycles"]
        wide = self.run_lines(lines)["duration_cycles"]
        completion = 28  # cycles from the last answer to the end of a barrier
        self.assertEqual(narrow - one, 2 * (one - completion))
        self.assertLess(wide, one + 2 * 2048 / 32 * 18 / 16 + 20)

    def test_networks_without_datelines_are_refused(self):
        file = self.file("t.jsonl", "".join(json.dumps(line) + "\n" for line in self.read([1, 1], [3, 1], 64, network=1)))
        done = self.run_pod(*WORMHOLE, "--traffic", f"transactions:{file}", "--set", "noc.dateline_vcs=false", expect=2)
        for word in ("cycle", "noc.dateline_vcs"):
            self.assertIn(word, done.stderr)

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


class Silicon(ScriptCase):
    """scripts/validate_silicon."""
    # Of the traces kept here: duration and its error, errors of barriers by core and by rank. Each core has one barrier, so the
    # open and the closed loop are the same. They are of the model as it is: who changes it on purpose changes them.
    KEPT = {"2x2_BLOCK_TO_2x4_BLOCK": "3839 +2.9% 14.2% 9.8%",
            "2x4_BLOCK_TO_4x4_BLOCK": "1993 -4.6% 14.2% 13.6%",
            "DRAM_TO_1x8_HEIGHT": "2565 +0.5% 2.6% 2.3%"}

    def command(self, *arguments):
        return [harness.binary("noc"), *map(str, arguments)]

    def compared(self, *flags, expect=0):
        return self.script("validate_silicon", "--noc", harness.binary("noc"), "--pod", harness.POD, *flags, expect=expect)

    def test_the_traces_kept_here_come_out_as_they_did(self):
        rows = (line.split(maxsplit=3) for line in self.compared("--set", "noc_traces").stdout.splitlines()[1:4])
        self.assertEqual({name: of.split() for name, _, _, of in rows}, {name: 2 * of.split() for name, of in self.KEPT.items()})

    def test_traces_of_a_chip_without_another_estimate_nor_recorded_ends(self):
        (self.folder / "noc_traces").mkdir()
        other = [{**Traces.EVENTS[3], "sx": 9, "dx": 8}, {**Traces.EVENTS[3], "sx": 5}, {**Traces.EVENTS[3], "sx": 5, "type": "FULL_BARRIER", "timestamp": 121}]
        trace = self.file("noc_traces/mine.json", json.dumps([Traces.EVENTS[3], Traces.EVENTS[5], Traces.EVENTS[7], *other]))
        self.script("npe2transactions", trace, "--out", "t.jsonl")
        run = json.loads(self.run_pod(*WORMHOLE, "--traffic", f"transactions:{self.folder / 't.jsonl'}", "--format", "json").stdout)
        self.assertRegex(self.run_pod(*WORMHOLE, "--traffic", "transactions:t.jsonl").stdout, r"^transactions:t.jsonl\n\d+ cycles from")
        self.file("noc_traces.csv", f"trace,measured_cycles\nmine,{run['runs'][0]['duration_cycles']}\n")
        done = self.compared("--set", "noc_traces", "--data", self.folder, "--plot", "p.svg")
        self.assertIn("duration mean 0.00%, worst 0.00%; barriers (1) ", done.stdout)
        self.file("noc_traces.csv", "trace,measured_cycles,tt_npe_error_percent\nmine,100,none\n")
        self.assertIn("expected a number or nothing", self.compared("--set", "noc_traces", "--data", self.folder, expect=2).stderr)

    def test_cells_of_the_arch_that_is_asked_for(self):
        self.file("noc_one_to_one.csv", "arch,pattern,axis,transactions,interval,b64\nmine,0,same,4,20,274\nmine DRAM,0,any,1,,409\n")
        flags = "--set", "noc_one_to_one", "--data", self.folder
        done = self.compared(*flags, expect=2)
        self.assertRegex(done.stderr, "no row of arch wormhole; expected --arch with one of mine, mine DRAM")
        done = self.compared(*flags, "--arch", "mine")
        self.assertEqual([line.split()[-2:] for line in done.stdout.splitlines()[1:3]], [["274", "+0.0%"], ["409", "+0.0%"]])
        self.assertIn("cells not judged: 0 ", done.stdout)
        done = self.compared(*flags, "--arch", "mine", "--config", self.file("b.json", '{"noc": {"preset": "blackhole"}}'), expect=2)
        self.assertIn("noc.dram_tiles is none", done.stderr)

    def test_a_ring_of_another_chip_and_rows_that_are_left_out(self):
        self.file("wormhole_ring.csv", "topology,n,collective,bytes,time_us\nring,8,all_gather,16384,17.61\nring,8,all_gather,67108864,1\n")
        slow = self.file("slow.json", json.dumps({"extends": str(harness.CONFIGS / "wormhole_loudbox.json"), "ccl": {"connect_ns": 9150}}))
        flags = "--set", "wormhole_ring", "--data", self.folder
        usual, slower = self.compared(*flags), self.compared(*flags, "--ring-config", slow)
        times = [float(done.stdout.splitlines()[1].split()[5]) for done in (usual, slower)]
        self.assertAlmostEqual(times[1] - times[0], 1, delta=0.02)
        self.assertIn("rows not run: 1 (more than 16 MiB; --long runs those of 64 MiB)", usual.stdout)


if __name__ == "__main__":
    harness.main()
