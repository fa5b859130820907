#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diecast-noc and diecast-bench from outside: flags, result fields, replay files, sweeps, determinism, bad input."""
import csv
import io
import json
import pathlib
import re
import signal
import time

import harness
import vcd

NOC = harness.binary("noc")
BENCH = harness.binary("bench")
REFERENCE = ("--config", harness.CONFIGS / "noc_reference.json")
MESH = (*REFERENCE, "--set", "noc.columns=4", "--set", "noc.rows=4")
SHORT = ("--cycles", "2000", "--warmup-cycles", "500")
SMALL = (*MESH, *SHORT)
PATTERNS = ("uniform", "transpose", "neighbor", "hotspot", "bit_complement", "tornado")
NUMBER = (int, float)
FIELDS = {
    "traffic": str, "offered_flits_per_node_cycle": NUMBER, "accepted_flits_per_node_cycle": NUMBER,
    "avg_packet_latency_cycles": NUMBER, "p50_packet_latency_cycles": NUMBER, "p99_packet_latency_cycles": NUMBER,
    "avg_hops": NUMBER, "packet_hops": int, "flit_hops": int, "saturated": bool, "fingerprint": str,
}

# Arguments and what stderr must contain.
FLAGS = [
    *harness.mistakes_of_studies("--traffic"),
    (["--traffic", "zigzag"], ["--traffic", "zigzag", "bit_complement", "replay"]),
    (["--rate", "0"], ["--rate", "'0'"]),
    (["--rate", "-0.1"], ["--rate", "'-0.1'"]),
    (["--rate", "1.1"], ["--rate", "'1.1'"]),
    (["--rate", "fast"], ["--rate", "'fast'"]),
    (["--rate", "nan"], ["--rate", "'nan'"]),
    (["--rate", "0.1:0.5"], ["--rate", "FROM:TO:+STEP"]),
    (["--rate", "0.1:0.5:0.1"], ["--rate", "FROM:TO:+STEP"]),
    (["--rate", "0.5:0.1:+0.1"], ["--rate", "ends before it begins"]),
    (["--rate", "0.1:0.5:+0.0001"], ["--rate", "1000 points"]),
    (["--rate", "0.1,"], ["--rate"]),
    (["--packet-flits", "0"], ["--packet-flits", "'0'", "from 1"]),
    (["--packet-flits", "2.5"], ["--packet-flits", "'2.5'"]),
    (["--packet-flits", "-1"], ["--packet-flits", "'-1'"]),
    (["--cycles", "0"], ["--cycles", "'0'"]),
    (["--cycles", "1e4"], ["--cycles", "'1e4'"]),
    (["--warmup-cycles", "-1"], ["--warmup-cycles", "'-1'"]),
    (["--latency-bound", "0"], ["--latency-bound", "'0'"]),
    (["--hotspot-node", "3"], ["--hotspot-node", "requires --traffic hotspot"]),
    (["--traffic", "hotspot", "--hotspot-node", "64"], ["--hotspot-node", "64", "0 to 63"]),
    (["--traffic", "hotspot", "--hotspot-fraction", "2"], ["--hotspot-fraction", "'2'"]),
    (["--traffic", "transpose", "--set", "noc.columns=4"], ["transpose", "4 x 8"]),
    (["--traffic", "bit_complement", "--set", "noc.columns=6"], ["bit_complement", "48 nodes", "power of two"]),
    (["--vcd-scope", "*"], ["--vcd-scope", "requires --vcd"]),
    (["--vcd", "w.vcd", "--rate", "0.1,0.2"], ["--vcd", "2 runs"]),
    (["--trafic", "uniform"], ["--trafic", "--traffic?"]),
    (["--traf", "uniform"], ["unknown flag", "--traf"]),
    (["--set", "noc.topology=cube"], ["noc.topology", "cube", "torus"]),
    (["--set", "noc.vcs=65"], ["noc.vcs", "'65'"]),
    (["--set", "noc.topology=torus", "--set", "noc.vcs=3"], ["noc.vcs", "3", "even"]),
    (["--set", "noc.routing_cycles=3"], ["noc.hop_cycles", "less than noc.hop_cycles = 5"]),
    (["--set", "noc.traversal_cycles=2"], ["noc.hop_cycles", "add up"]),
    (["--set", "noc.flow=virtual_cut_through", "--packet-flits", "20"], ["noc.vc_buffer_flits", "at least 20"]),
    (["--set", "noc.topology=ring", "--set", "noc.dateline_vcs=false"], ["cycle", "noc.dateline_vcs"]),
]

# Lines of a replay file on 4 x 4 nodes and what stderr must contain.
REPLAYS = [
    ("0 1 2\n", ["trace.txt:1", "four words"]),
    ("0 1 2 3 4\n", ["trace.txt:1", "four words"]),
    ("0 0 1 5\nx 0 1 5\n", ["trace.txt:2", "cycle", "value x;"]),
    ("-1 0 1 5\n", ["trace.txt:1", "value -1;"]),
    ("1.5 0 1 5\n", ["trace.txt:1", "value 1.5;"]),
    ("0 16 1 5\n", ["trace.txt:1", "source", "value 16;", "0 to 15"]),
    ("0 0 16 5\n", ["trace.txt:1", "destination", "0 to 15"]),
    ("0 0 1 0\n", ["trace.txt:1", "length", "value 0;"]),
    ("0 0 1 5000\n", ["trace.txt:1", "length", "1 to 1024"]),
    ("# nothing\n\n", ["trace.txt", "holds no packet"]),
    ("0 0 99 5\n0 99 0 5\n", ["trace.txt:1", "trace.txt:2"]),
]


class Case(harness.Case):
    binary = NOC

    def command(self, *arguments):
        return [self.binary, *[str(a) for a in arguments]]

    def runs(self, *arguments, expect=0):
        return self.result(*arguments, expect=expect)["runs"]


class Results(Case):
    def test_every_pattern_has_every_field(self):
        for pattern in PATTERNS:
            with self.subTest(pattern=pattern):
                result = self.result(*SMALL, "--traffic", pattern, "--rate", "0.1")
                self.assertEqual(result["schema"], "diecast.result/1")
                self.assertEqual(result["status"], "ok")
                run = result["runs"][0]
                for name, kind in FIELDS.items():
                    self.assertIsInstance(run[name], kind, name)
                self.assertEqual(run["traffic"], pattern)
                self.assertFalse(run["saturated"])
                self.assertAlmostEqual(run["accepted_flits_per_node_cycle"], 0.1, delta=0.02)
                self.assertEqual(run["flit_hops"], 5 * run["packet_hops"])
                self.assertEqual(result["sim"]["packet_hops"], run["packet_hops"])

    def test_hops_of_fixed_patterns(self):
        expected = {"transpose": 2.5, "bit_complement": 4.0}  # of a 4 x 4 mesh, every source as often
        for pattern, hops in expected.items():
            run = self.runs(*MESH, "--traffic", pattern, "--rate", "0.1", "--cycles", "20000")[0]
            self.assertAlmostEqual(run["avg_hops"], hops, delta=0.1)

    def test_latency_is_at_least_that_of_the_way(self):
        run = self.runs(*SMALL, "--rate", "0.02", "--packet-flits", "3")[0]
        self.assertGreaterEqual(run["avg_packet_latency_cycles"], 7 + 5 * run["avg_hops"] + 2)
        self.assertLessEqual(run["p50_packet_latency_cycles"], run["p99_packet_latency_cycles"])
        self.assertLessEqual(run["p99_packet_latency_cycles"], run["max_packet_latency_cycles"])

    def test_a_sweep_stops_at_saturation(self):
        runs = self.runs(*MESH, "--cycles", "8000", "--rate", "0.2:1.0:+0.2")
        self.assertGreater(len(runs), 2)
        self.assertLess(len(runs), 6)
        self.assertEqual([r["saturated"] for r in runs], [False] * (len(runs) - 1) + [True])
        self.assertEqual([r["offered_flits_per_node_cycle"] for r in runs][:3], [0.2, 0.4, 0.6])
        latencies = [r["avg_packet_latency_cycles"] for r in runs]
        self.assertEqual(latencies, sorted(latencies))

    def test_a_node_in_overload_may_take_none_of_the_measured(self):
        run = self.runs(*MESH, "--cycles", "2000", "--traffic", "hotspot", "--hotspot-fraction", "1", "--rate", "1")[0]
        self.assertTrue(run["saturated"])
        self.assertEqual(run["measured_packets"], 0)
        for name in ("avg", "p50", "p99", "max"):
            self.assertIsNone(run[f"{name}_packet_latency_cycles"], name)

    def test_overload_still_measures_throughput(self):
        run = self.runs(*MESH, "--cycles", "10000", "--rate", "1.0")[0]
        self.assertTrue(run["saturated"])
        self.assertAlmostEqual(run["accepted_flits_per_node_cycle"], 0.737, delta=0.05)
        self.assertLess(run["accepted_flits_per_node_cycle"], run["injected_flits_per_node_cycle"])

    def test_a_long_way_is_no_deadlock(self):
        run = self.runs(*MESH, "--set", "noc.hop_cycles=990", "--set", "noc.columns=30", "--set", "noc.rows=1", "--traffic",
                        "tornado", "--latency-bound", "1000000", "--rate", "0.00001", "--packet-flits", "1", "--cycles",
                        "20000")[0]
        self.assertEqual(run["status"], "ok")

    def test_a_limit_is_no_silent_end(self):
        late = self.file("late.txt", "0 0 1 1\n9000000 0 1 1\n")
        slow = self.file("slow.jsonl", '{"core": [1, 0], "op": "barrier", "at": 9000000}')
        for words in (["--cycles", "3000000", "--rate", "0.000001"], ["--traffic", f"replay:{late}"],
                      ["--config", harness.CONFIGS / "wormhole_noc.json", "--traffic", f"transactions:{slow}"]):
            done = self.run_pod(*words, *harness.sets("sim.limit_ms=1"), expect=3)
            self.assertRegex(done.stderr, r"^limit: the run has reached sim\.limit_ms = 1; \d .*; a higher limit ")

    def test_a_hotspot_saturates_its_own_link(self):
        run = self.runs(*MESH, "--traffic", "hotspot", "--hotspot-node", "0", "--hotspot-fraction", "1", "--rate",
                        "0.5", "--cycles", "8000")[0]
        self.assertTrue(run["saturated"])
        self.assertAlmostEqual(run["accepted_flits_per_node_cycle"], 1 / 16, delta=0.003)

    def test_every_topology_delivers_what_it_is_offered(self):
        for topology in ("mesh", "torus", "ring", "crossbar"):
            with self.subTest(topology=topology):
                result = self.result(*SMALL, "--set", f"noc.topology={topology}", "--rate", "0.1")
                self.assertAlmostEqual(result["runs"][0]["accepted_flits_per_node_cycle"], 0.1, delta=0.02)
                self.assertEqual(result["machine"]["topology"], topology)
                self.assertEqual(result["machine"]["nodes"], 16)


class Interrupt(Case):
    def test_rates_are_of_the_cycles_there_were(self):
        asked = 10**8
        process = self.start(*self.command("--rate", "0.2", "--cycles", asked, "--out", "out", "--quiet", "--progress", "on"))
        self.await_line(process, r"  [1-9]\d[\d.]* us simulated")  # beyond the warm-up
        process.send_signal(signal.SIGINT)
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 130, done.stderr)
        row, = json.loads((self.folder / "out" / "result.json").read_text())["runs"]
        self.assertEqual(row["status"], "interrupted")
        self.assertLess(row["cycles"], asked)
        self.assertAlmostEqual(row["injected_flits_per_node_cycle"], 0.2, delta=0.02)
        self.assertAlmostEqual(row["accepted_flits_per_node_cycle"], 0.2, delta=0.02)


class Determinism(Case):
    def test_a_seed_is_a_result_whatever_the_build_order(self):
        def without_timing(*arguments):
            return self.result(*SMALL, "--rate", "0.3", *arguments)["runs"]
        first = without_timing()
        self.assertEqual(first, without_timing())
        for order in ("reverse", "shuffle:3"):
            self.assertEqual(first, without_timing("--set", f"sim.build_order={order}"), order)
        other = without_timing("--seed", "2")
        self.assertNotEqual(first[0]["fingerprint"], other[0]["fingerprint"])

    def test_a_point_of_a_sweep_is_the_point_alone(self):
        sweep = self.runs(*SMALL, "--rate", "0.1:0.3:+0.1")
        for run in sweep:
            alone = self.runs(*SMALL, "--rate", run["offered_flits_per_node_cycle"])
            self.assertEqual(alone, [run])

    def test_a_dumped_config_runs_the_same(self):
        dumped = self.file("dumped.json", self.run_pod(*SMALL, "--dump-config").stdout)
        again = self.runs("--config", dumped, *SHORT, "--rate", "0.2")
        self.assertEqual(again, self.runs(*SMALL, "--rate", "0.2"))


class Replay(Case):
    def test_latencies_are_those_of_the_ways(self):
        trace = self.file("trace.txt", "# alone\n0 0 15 1\n100 3 3 5  # to itself\n200 0 15 5\n")
        run = self.runs(*MESH, "--traffic", f"replay:{trace}")[0]
        self.assertEqual(run["measured_packets"], 3)
        self.assertAlmostEqual(run["avg_packet_latency_cycles"], (37 + 11 + 41) / 3)
        self.assertEqual(run["p50_packet_latency_cycles"], 37)
        self.assertEqual(run["max_packet_latency_cycles"], 41)
        self.assertEqual(run["packet_hops"], 12)
        self.assertEqual(run["flit_hops"], 36)

    def test_the_file_says_how_long_packets_are(self):
        run = self.runs(*MESH, "--traffic", f"replay:{self.file('trace.txt', '0 0 15 1')}")[0]
        self.assertIsNone(run["packet_flits"])

    def test_the_order_of_lines_does_not_matter(self):
        lines = ["0 0 15 5", "0 5 10 3", "3 0 1 1", "7 15 0 9", "7 2 0 9"]
        runs = [self.runs(*MESH, "--traffic", f"replay:{self.file('trace.txt', chr(10).join(order))}")
                for order in (lines, lines[::-1])]
        self.assertEqual(*runs)

    def test_bad_lines(self):
        for text, expected in REPLAYS:
            with self.subTest(text=text):
                trace = self.file("trace.txt", text)
                stderr = self.run_pod(*MESH, "--traffic", f"replay:{trace}", expect=2).stderr
                for part in expected:
                    self.assertIn(part, stderr)

    def test_flags_that_the_file_answers(self):
        trace = self.file("trace.txt", "0 0 1 1\n")
        for flag in ("--rate", "--packet-flits", "--cycles", "--warmup-cycles"):
            stderr = self.run_pod(*MESH, "--traffic", f"replay:{trace}", flag, "1", expect=2).stderr
            self.assertIn(f"{flag}: cannot be combined with --traffic replay", stderr)


class BadInput(Case):
    def test_flags(self):
        for arguments, expected in FLAGS:
            with self.subTest(arguments=arguments):
                stderr = self.run_pod(*REFERENCE, *arguments, expect=2).stderr
                for part in expected:
                    self.assertIn(part, stderr)

    def test_outputs_that_cannot_be_written(self):
        self.file("taken", "")
        self.run_pod(*SMALL, "--out", "taken", expect=5)
        self.run_pod(*SMALL, "--vcd", "no/such/folder.vcd", expect=5)


class Formats(Case):
    def test_files(self):
        self.run_pod(*SMALL, "--rate", "0.1,0.2", "--out", "out", "--quiet")
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()),
                         ["config.json", "links.csv", "result.json"])
        result = json.loads((self.folder / "out/result.json").read_text())
        links = list(csv.DictReader(io.StringIO((self.folder / "out/links.csv").read_text())))
        self.assertEqual(len(links), 2 * (48 + 16 + 16))
        for number, run in enumerate(result["runs"]):
            between = [r for r in links if r["run"] == str(number) and ".router_" in r["link"]]
            self.assertEqual(sum(int(r["bytes"]) for r in between), run["flit_hops"] * 64)
            self.assertEqual(sum(int(r["packets"]) for r in between), run["packet_hops"])

    def test_csv_and_table(self):
        rows = list(csv.DictReader(io.StringIO(self.run_pod(*SMALL, "--format", "csv").stdout)))
        self.assertEqual(rows[0]["traffic"], "uniform")
        self.assertEqual(rows[0]["saturated"], "false")
        done = self.run_pod(*MESH, "--rate", "0.9,1.0", "--cycles", "8000")
        self.assertRegex(done.stdout, r"\Auniform; .*\n +offered +accepted .*\n +0\.9 .* saturated\n\Z")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        self.assertIn("1 higher rates are skipped", done.stderr)

    def test_only_higher_rates_are_left_out_behind_one_that_saturates(self):
        done = self.run_pod(*MESH, "--rate", "0.9,0.1,1.0,0.2", "--cycles", "8000", "--format", "json")
        self.assertEqual([r["offered_flits_per_node_cycle"] for r in json.loads(done.stdout)["runs"]], [0.9, 0.1, 0.2])
        self.assertIn("1 higher rates are skipped", done.stderr)

    def test_waveform(self):
        self.run_pod(*SMALL, "--rate", "0.1", "--vcd", "wave.vcd", "--vcd-scope", "*.router_0_*")
        text = (self.folder / "wave.vcd").read_text()
        self.assertIn("north_busy", text)
        self.assertIn("router_0_3", text)
        self.assertNotIn("router_1_0", text)

    def test_a_scope_that_matches_nothing_costs_no_earlier_file(self):
        for flag, name in (("--vcd", "w.vcd"), ("--timeline", "t.json")):
            self.run_pod(*SMALL, "--rate", "0.1", flag, name)
            kept = (self.folder / name).read_bytes()
            done = self.run_pod(*SMALL, "--rate", "0.1", flag, name, f"{flag}-scope", "nothing", "--out", "new", expect=2)
            self.assertIn("matches nothing of this run (value nothing; expected a name such as pod.sip0.cube_0_0.router_0_0.", done.stderr)
            self.assertEqual(((self.folder / name).read_bytes(), (self.folder / "new").exists()), (kept, False))

    def test_links_are_idle_between_transfers(self):
        run = self.runs(*SMALL, "--rate", "0.1", "--vcd", "wave.vcd")[0]
        self.assertEqual(run["status"], "ok")
        wave = vcd.Vcd((self.folder / "wave.vcd").read_text())
        busy = [c for path, c in wave.changes.items() if path.endswith("_busy")]
        self.assertGreater(len(busy), 20)
        end = max(changes[-1][0] for changes in busy)
        for changes in busy:
            high = sum(t1 - t0 for (t0, v), (t1, _) in zip(changes, [*changes[1:], (end, 0)]) if int(v))
            self.assertGreater(high, 0)
            self.assertLess(high, 0.5 * end)  # a tenth to a fifth of the time: gaps are seen

    def test_information(self):
        self.assertIn("diecast-noc", self.run_pod("--version").stdout)
        listed = self.run_pod("--list", "patterns").stdout
        for pattern in PATTERNS:
            self.assertIn(pattern, listed)
        self.assertIn("lean", self.run_pod("--list", "presets").stdout)
        checked = self.run_pod(*REFERENCE, "--check-config").stdout
        self.assertIn("64 nodes on 64 routers, 224 links", checked)
        self.assertIn("11 + 5 d cycles", checked)
        self.assertIn("--packet-flits", self.run_pod("--help").stdout)


class Bench(Case):
    binary = BENCH

    def test_a_run_without_a_hop_is_refused(self):
        for words in (("--rate", "1e-6", "--cycles", "1"),
                      ("--set", "noc.columns=1", "--set", "noc.rows=1", "--cycles", "100")):
            done = self.run_pod("fabric", "--runs", "1", "--warmup-cycles", "0", *words, expect=2)
            self.assertIn("no packet crossed a link", done.stderr)

    def test_speed_is_held_against_its_limits(self):
        good = {"kernel_floor_ns": 150, "packet_hop_ns": 150, "mmio_ns": 100, "packet_hop_over_kernel_floor": 1.0,
                "flit_hops_per_s": 36.4e6, "hbm_sequential_requests_per_s": 3e6, "hbm_random_requests_per_s": 1e6}
        def validate(measured, code=0):
            bench = self.file("bench", f"#!/bin/sh\necho '{json.dumps(measured)}'\nexit {code}\n")
            bench.chmod(0o755)
            process = self.start(harness.ROOT / "scripts" / "validate_speed", "--bench", bench)
            self.ended(process)
            return self.last
        done = validate(good)
        self.assertEqual((done.code, done.stdout.count(" met"), done.stdout.count("MISSED")), (0, 4, 0), done.stdout)
        for key, worse in (("packet_hop_over_kernel_floor", 1.01), ("flit_hops_per_s", 36.3e6),
                           ("hbm_sequential_requests_per_s", 2.9e6), ("hbm_random_requests_per_s", 0.9e6)):
            done = validate({**good, key: worse})
            self.assertEqual((done.code, done.stdout.count(" met"), done.stdout.count("MISSED")), (1, 3, 1), key)
        self.assertEqual(validate(good, code=70).code, 70)
        self.assertIn("exit 70", self.last.stderr)

    def await_handler(self, process, number):
        """Until the process catches that signal."""
        deadline = time.monotonic() + harness.TIMEOUT_S
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) >> (number - 1) & 1:
            self.assertLess(time.monotonic(), deadline, "it never catches the signal")
            time.sleep(0.01)

    def test_an_interrupted_measurement_is_no_error(self):
        for subject in ("hbm", "fabric", "mmio"):
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                process = self.start(BENCH, subject, "--runs", "1000")
                self.await_handler(process, number)
                time.sleep(0.3)  # into a measurement
                process.send_signal(number)
                done = self.ended(process)
                self.assertEqual(done.code, code, subject)
                said = re.fullmatch(r"interrupted: (\d+) of 1000 runs were made\n", done.stderr)
                self.assertTrue(said, done.stderr)
                measured = json.loads(done.stdout)
                made = min((len(values) for values in measured["values"].values()), default=0)
                self.assertEqual((measured["runs"], int(said[1])), (made, made), subject)

    def test_fabric_and_mmio(self):
        for subject, names in (("fabric", ("packet_hop_ns", "flit_hops_per_s", "packet_hop_over_kernel_floor")),
                               ("mmio", ("mmio_ns",))):
            words = ("--cycles", "1000") if subject == "fabric" else ()
            result = json.loads(self.run_pod(subject, "--runs", "1", *words).stdout)
            for name in ("kernel_floor_ns", *names):
                self.assertGreater(result[name], 0, name)

    def test_bad_flags(self):
        for words, part in ((["fabrics"], "fabrics"), (["mmio", "--rate", "0.1"], "--rate"), (["--runs", "0"], "--runs"),
                            (["fabric", "stray"], "stray")):
            self.assertIn(part, self.run_pod(*words, expect=2).stderr)


if __name__ == "__main__":
    harness.main()
