#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diecast-hbm from outside: flags, result fields, replay files, sweeps, determinism, bad input."""
import csv
import io
import json
import re
import signal

import harness

HBM = harness.binary("hbm")
REFERENCE = ("--config", harness.CONFIGS / "hbm_reference.json")
SEED = ("--config", harness.CONFIGS / "seed_machine.json")
PRESETS = ("HBM2_2000", "HBM3_6400", "HBM3E_9600", "HBM4_8000")
PATTERNS = ("seq", "rand", "bank_conflict", "same_bank_hit", "page_stride", "stride:4096")
LIMITS = ("refresh", "faw_rrd", "row_bus", "turnaround", "bank_conflict", "initiator")
NUMBER = (int, float)
FIELDS = {
    "pattern": str, "bandwidth_gbytes_s": NUMBER, "peak_gbytes_s": NUMBER, "avg_latency_ns": NUMBER,
    "avg_latency_from_acceptance_ns": NUMBER, "p50_latency_ns": NUMBER, "p99_latency_ns": NUMBER,
    "row_hit_rate": NUMBER, "requests": int, "reads": int, "writes": int, "bytes": int, "time_ns": NUMBER,
}

# Arguments and what stderr must contain.
FLAGS = [
    *harness.mistakes_of_studies("--pattern"),
    (["--pattern", "zigzag"], ["--pattern", "zigzag", "same_bank_hit", "replay"]),
    (["--pattern", "stride:0"], ["--pattern", "'0'", "at least 1"]),
    (["--pattern", "stride:-8"], ["--pattern", "'-8'"]),
    (["--pattern", "seq:4"], ["--pattern", "seq:4"]),
    (["--pattern", "stride"], ["--pattern: names no distance (value stride; expected stride:BYTES"]),
    (["--read-fraction", "1.5"], ["--read-fraction", "'1.5'"]),
    (["--read-fraction", "-0.1"], ["--read-fraction", "'-0.1'"]),
    (["--read-fraction", "half"], ["--read-fraction", "'half'"]),
    (["--read-fraction", "nan"], ["--read-fraction", "'nan'"]),
    (["--requests", "0"], ["--requests", "'0'", "from 1"]),
    (["--requests", "-1"], ["--requests", "'-1'"]),
    (["--requests", "1e6"], ["--requests", "'1e6'"]),
    (["--request-bytes", "0"], ["--request-bytes", "'0'"]),
    (["--request-bytes", "1MiB"], ["--request-bytes", "1MiB"]),
    (["--rate", "50"], ["--rate", "50", "PERCENT%"]),
    (["--rate", "0%"], ["--rate", "'0'"]),
    (["--rate", "-5%"], ["--rate", "'-5'"]),
    (["--rate", "90%:10%:+10%"], ["--rate", "ends before it begins"]),
    (["--rate", "10%:90%"], ["--rate", "FROM%:TO%:+STEP%"]),
    (["--rate", "10%,"], ["--rate"]),
    (["--outstanding", "0"], ["--outstanding", "'0'"]),
    (["--outstanding", "4,x"], ["--outstanding", "'x'"]),
    (["--outstanding", "4", "--rate", "50%"], ["--outstanding", "--rate"]),
    (["--patern", "seq"], ["--patern", "--pattern?"]),
    (["--pat", "seq"], ["unknown flag", "--pat"]),
    (["--set", "hbm.refresh=sometimes"], ["hbm.refresh", "sometimes", "all_bank"]),
    (["--set", "hbm.preset=HBM9"], ["hbm", "HBM9", "HBM3_6400"]),
    (["--set", "hbm.model=simple", "--pattern", "bank_conflict"], ["--pattern", "bank_conflict", "simple"]),
    (["--set", "hbm.model=simple", "--without-limits"], ["--without-limits", "hbm.model simple", "hbm.model bank"]),
    (["--without-limits", "--vcd", "w.vcd"], ["--without-limits", "--vcd", "w.vcd"]),
    (["--without-limits", "--timeline", "t.json"], ["--without-limits", "--timeline", "t.json"]),
]

# A trace line and what the message must hold; the line is the second of its file.
TRACES = [
    ("X 0 32", ["2", "X", "R or W"]),
    ("r 0 32", ["2", "value r", "R or W"]),
    ("R 0", ["2", "R|W ADDRESS BYTES"]),
    ("R 0 32 1 2", ["2", "R|W ADDRESS BYTES"]),
    ("R -4 32", ["2", "-4"]),
    ("R 0xzz 32", ["2", "0xzz"]),
    ("R 0x 32", ["2", "0x"]),
    ("R 4.5 32", ["2", "4.5"]),
    ("R 0 0", ["2", "1 to"]),
    ("R 0 99999999", ["2", "99999999"]),
    ("R 0x40000000 32", ["2", "0x40000000", "outside"]),
    ("R 0x3fffffff 2", ["2", "0x3fffffff", "end of its channel"]),
    ("R 0 32 7", ["2", "7", "all lines or on none"]),
]


class HbmCase(harness.Case):
    def command(self, *arguments):
        return [HBM, *[str(a) for a in arguments]]

    def rows(self, *arguments):
        """Rows of a run on the reference config."""
        rows = self.result(*REFERENCE, *arguments)["runs"]
        for row in rows:
            self.assertEqual(row["status"], "ok")
        return rows

    def one(self, *arguments):
        rows = self.rows(*arguments)
        self.assertEqual(len(rows), 1)
        return rows[0]


class Results(HbmCase):
    def test_a_scope_that_matches_nothing_costs_no_earlier_file(self):
        for flag, name in (("--vcd", "w.vcd"), ("--timeline", "t.json")):
            self.run_pod("--requests", "100", flag, name)
            kept = (self.folder / name).read_bytes()
            done = self.run_pod("--requests", "100", flag, name, f"{flag}-scope", "nothing", "--out", "new", expect=2)
            self.assertIn("matches nothing of this run (value nothing; expected a name such as hbm.channel0", done.stderr)
            self.assertEqual(((self.folder / name).read_bytes(), (self.folder / "new").exists()), (kept, False))

    def test_fields(self):
        self.run_pod(*REFERENCE, "--pattern", "rand", "--read-fraction", "0.5", "--requests", "5000", "--out", "out")
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(document["schema"], "diecast.result/1")
        self.assertEqual((document["platform"], document["status"]), ("diecast-hbm", "ok"))
        self.assertEqual(document["machine"], {"channels": 1, "pseudo_channels": 2, "capacity_mib": 1024})
        self.assertRegex(document["config_sha256"], "^[0-9a-f]{64}$")
        self.assertGreater(document["sim"]["requests_per_s"], 0)
        row, = document["runs"]
        for name, kind in FIELDS.items():
            self.assertIsInstance(row[name], kind, name)
        self.assertEqual((row["requests"], row["reads"] + row["writes"]), (5000, 5000))
        self.assertEqual(row["bytes"], 5000 * 32)
        self.assertAlmostEqual(row["bandwidth_gbytes_s"], row["bytes"] / row["time_ns"], places=9)
        self.assertLessEqual(row["avg_latency_from_acceptance_ns"], row["avg_latency_ns"])
        self.assertLessEqual(row["p50_latency_ns"], row["p99_latency_ns"])
        self.assertIsNone(row["verified"])
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()), ["config.json", "result.json"])

    def test_dumped_config_runs_identically(self):
        job = ("--pattern", "rand", "--requests", "3000", "--set", "hbm.preset=HBM4_8000", "--set", "hbm.refresh=none")
        self.run_pod(*REFERENCE, *job, "--quiet", "--out", "out")
        again = self.result("--config", "out/config.json", "--pattern", "rand", "--requests", "3000")
        first = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(again["runs"], first["runs"])
        self.assertEqual(again["config_sha256"], first["config_sha256"])

    def test_presets(self):
        peaks = []
        for preset in PRESETS:
            row = self.one("--set", f"hbm.preset={preset}", "--set", "hbm.refresh=none", "--requests", "20000")
            self.assertGreater(row["bandwidth_gbytes_s"], 0.95 * row["peak_gbytes_s"], preset)
            peaks.append(round(row["peak_gbytes_s"], 1))
        self.assertEqual(peaks, [32.0, 51.2, 76.8, 64.0])

    def test_presets_are_whole_stacks(self):
        """Channels and capacity are the generation's; a file that names them keeps its own."""
        for preset, channels, mib, peak in (("HBM2_2000", 8, 4096, 256.0), ("HBM3_6400", 16, 16384, 819.2),
                                            ("HBM3E_9600", 16, 16384, 1228.8), ("HBM4_8000", 32, 32768, 2048.0)):
            stack = self.file("stack.json", json.dumps({"hbm": {"preset": preset}}))
            text = self.run_pod("--config", stack, "--check-config").stdout
            self.assertIn(f"{channels} channel(s) x 2 pseudo-channels", text)
            self.assertIn(f"capacity {mib} MiB, peak {peak:.1f} GB/s", text)
            self.assertIn("1 channel(s)", self.run_pod(*REFERENCE, "--set", f"hbm.preset={preset}", "--check-config").stdout)

    def test_a_whole_stack_is_not_above_its_bound(self):
        stack = self.file("stack.json", '{"hbm": {"preset": "HBM2_2000"}}')
        def stack_row(*job):
            return json.loads(self.run_pod("--config", stack, *job, "--format", "json").stdout)["runs"][0]

        row = stack_row()
        self.assertEqual(row["requests"], 8 * 100_000)
        self.assertGreater(row["time_ns"], 10 * 3900, "refreshes fall into the run")
        for job in ((), ("--requests", "1000"), ("--requests", "20000"), ("--requests", "200000", "--pattern", "same_bank_hit")):
            row = stack_row(*job)
            self.assertLessEqual(row["bandwidth_gbytes_s"], row["bound_gbytes_s"], job)
            self.assertLessEqual(row["bound_gbytes_s"], row["peak_gbytes_s"], job)
            if "1000" not in job:  # which is mostly the latency of the first and the last
                self.assertGreater(row["bandwidth_gbytes_s"], 0.9 * row["bound_gbytes_s"], job)
        text = self.run_pod("--config", stack, "--requests", "20000").stdout
        self.assertRegex(text, r"peak% +bound%")

    def test_patterns_and_limits(self):
        for refresh in ("all_bank", "per_bank", "none"):
            for pattern in PATTERNS:
                with self.subTest(f"{pattern} {refresh}"):
                    row = self.one("--pattern", pattern, "--requests", "20000", "--set", f"hbm.refresh={refresh}")
                    self.assertLessEqual(row["bandwidth_gbytes_s"], row["peak_gbytes_s"])
                    if row["bound_gbytes_s"] is not None:
                        # A run of a few refresh intervals may end just before a refresh.
                        self.assertLessEqual(row["bandwidth_gbytes_s"], 1.02 * row["bound_gbytes_s"])
                    self.assertEqual(tuple(row["lost_time"]), LIMITS)
                    lost = sum(row["lost_time"].values())
                    self.assertAlmostEqual(row["bus_busy_percent"] + lost, 100, places=6)
                    used = 100 * row["bandwidth_gbytes_s"] / row["peak_gbytes_s"]
                    self.assertAlmostEqual(used + lost, 100, delta=0.1)
                    if refresh == "none":
                        self.assertEqual(row["lost_time"]["refresh"], 0)

    def test_open_loop_offers_its_rate(self):
        for row, rate in zip(self.rows("--rate", "10%,40%", "--requests", "20000"), (10, 40), strict=True):
            self.assertEqual(row["rate_percent"], rate)
            self.assertAlmostEqual(row["bandwidth_gbytes_s"] / row["peak_gbytes_s"], rate / 100, delta=0.005)

    def test_closed_loop_obeys_littles_law(self):
        for row, outstanding in zip(self.rows("--outstanding", "1,8", "--pattern", "rand", "--requests", "20000"),
                                    (1, 8), strict=True):
            self.assertEqual(row["outstanding"], outstanding)
            in_flight = row["requests"] * row["avg_latency_ns"] / row["time_ns"]
            self.assertAlmostEqual(in_flight, outstanding, delta=0.01 * outstanding)

    def test_sweep_point_equals_the_point_alone(self):
        sweep = self.rows("--pattern", "rand", "--read-fraction", "0.5", "--requests", "4000", "--rate", "5%:25%:+10%")
        self.assertEqual([r["rate_percent"] for r in sweep], [5, 15, 25])
        for row in sweep:
            alone = self.one("--pattern", "rand", "--read-fraction", "0.5", "--requests", "4000", "--rate",
                             f"{row['rate_percent']:g}%")
            self.assertEqual(alone, row)

    def test_equal_runs_and_other_seeds(self):
        job = ("--pattern", "rand", "--read-fraction", "0.5", "--requests", "4000")
        first = self.one(*job)
        self.assertEqual(self.one(*job), first)
        self.assertEqual(self.one(*job, "--set", "sim.slice_us=100"), first)
        self.assertNotEqual(self.one(*job, "--seed", "2")["time_ns"], first["time_ns"])

    def test_refreshes_as_close_as_may_be_leave_time_for_requests(self):
        """Just above what is refused, where requests find a row open, shut or in use."""
        cases = [(("hbm.preset=HBM3_6400", "hbm.refresh=all_bank"), "hbm.trfc_ns", 3855, 3854)]
        for preset, sids, least in (("HBM3_6400", 2, 400), ("HBM3_6400", 4, 800), ("HBM2_2000", 4, 1280), ("HBM4_8000", 4, 1152)):
            machine = (f"hbm.preset={preset}", f"hbm.sids={sids}", "hbm.refresh=per_bank")
            cases.append((machine, "hbm.trefi_ns", least, least + 1))
        for machine, key, refused, taken in cases:
            job = ("--requests", "2000", "--read-fraction", "0.5", *harness.sets(*machine))
            done = self.run_pod(*REFERENCE, *job, *harness.sets(f"{key}={refused}"), expect=2)
            self.assertIn(f"{key}: leaves no time for a row between", done.stderr)
            for pattern in ("rand", "bank_conflict", "seq"):
                row = self.one("--pattern", pattern, *job, *harness.sets(f"{key}={taken}"))
                self.assertGreater(row["bandwidth_gbytes_s"], 0, (machine, pattern))

    def test_draining_that_ends_with_the_last_write(self):
        """Nothing is below a mark of 0, and reads wait."""
        job = ("--pattern", "rand", "--read-fraction", "0.5", "--requests", "2000", *harness.sets("hbm.drain_low=0"))
        row = self.one(*job)
        self.assertEqual(row["reads"] + row["writes"], 2000)

    def test_what_each_limit_costs(self):
        """Without a limit the run is that of a config that has it at zero."""
        job = ("--pattern", "rand", "--read-fraction", "0.5", "--requests", "20000")
        row = self.one(*job, "--without-limits")
        saved = row.pop("time_saved_percent")
        self.assertEqual(tuple(saved), ("refresh", "faw_rrd", "turnaround", "bank_conflict", "all"))
        plain = self.one(*job)
        self.assertIsNone(plain.pop("time_saved_percent"))
        self.assertEqual(plain, row)
        cwl, twr = 6.25, 20.6
        limits = {"refresh": ["hbm.refresh=none"],
                  "faw_rrd": ["hbm.tfaw_ns=0", "hbm.trrd_s_ns=0", "hbm.trrd_l_ns=0"],
                  "turnaround": ["hbm.trtw_ns=0", "hbm.twtr_s_ns=0", "hbm.twtr_l_ns=0", "hbm.tccd_r_ns=0", "hbm.cwl_ns=0",
                                 "hbm.cl_ns=0.01", f"hbm.twr_ns={twr + cwl}"],
                  "bank_conflict": [f"hbm.{t}_ns=0" for t in ("trp", "trcd_rd", "trcd_wr", "tras", "trc", "trtp", "twr")]
                  + ["hbm.tccd_l_ns=1.25"]}
        for limit, keys in limits.items():
            without = self.one(*job, *harness.sets(*keys))
            self.assertAlmostEqual(saved[limit], 100 * (1 - without["time_ns"] / row["time_ns"]), places=9, msg=limit)
        self.assertGreater(saved["all"], max(saved[limit] for limit in limits))

    def test_what_each_limit_costs_in_table_and_csv(self):
        job = ("--pattern", "bank_conflict", "--requests", "2000", "--rate", "1%,max", "--without-limits")
        rows = self.rows(*job)
        self.assertGreater(rows[1]["time_saved_percent"]["bank_conflict"], 80)
        self.assertLess(rows[0]["time_saved_percent"]["bank_conflict"], 1)  # the arrivals set the pace
        table = self.run_pod(*REFERENCE, *job).stdout
        saved = rows[1]["time_saved_percent"]
        self.assertIn("% of the run saved without: " + " ".join(f"{k}={v:.1f}" for k, v in saved.items()), " ".join(table.split()))
        lines = list(csv.DictReader(io.StringIO(self.run_pod(*REFERENCE, *job, "--format", "csv").stdout)))
        self.assertEqual(float(lines[1]["saved_all_percent"]), saved["all"])
        plain = csv.DictReader(io.StringIO(self.run_pod(*REFERENCE, "--requests", "2000", "--format", "csv").stdout))
        self.assertEqual(next(plain)["saved_all_percent"], "")

    def test_what_limits_cost_a_closed_loop_comes_with_a_note(self):
        row = self.one("--outstanding", "4", "--requests", "2000", "--without-limits")
        self.assertIn("reads have no latency (tCL) either", row["notes"][0])
        self.assertIn("all", row["time_saved_percent"])

    def test_runs_without_limits_are_not_in_the_speed(self):
        sim = self.result(*REFERENCE, "--requests", "20000", "--without-limits")["sim"]
        self.assertAlmostEqual(sim["requests_per_s"] * sim["wall_s"], 20000, delta=1)

    def test_data_is_checked(self):
        for pattern in PATTERNS:
            for extra in ((), ("--set", "hbm.page_policy=closed"), ("--set", "hbm.bank_hash=row_xor")):
                # Two rounds of the 32,768 bursts of the channel, so that every pattern reads what it wrote.
                row = self.one("--pattern", pattern, "--read-fraction", "0.5", "--requests",
                               "70000", "--check-data", "--set", "hbm.port_mib=1", *extra)
                self.assertEqual(row["wrong_reads"], 0)
                self.assertIs(row["verified"], True)
                self.assertGreater(row["checked_reads"], 1000)

    def test_nothing_checked_is_not_verified(self):
        row = self.one("--requests", "1000", "--check-data")
        self.assertIsNone(row["verified"])
        self.assertIn("nothing was checked", row["notes"][0])

    def test_forwarded_reads_are_told(self):
        row = self.one("--pattern", "same_bank_hit", "--read-fraction", "0.5", "--requests", "20000")
        self.assertGreater(row["forwarded_bursts"], 0)
        bus = row["bus_busy_percent"] + sum(row["lost_time"].values())
        self.assertAlmostEqual(bus, 100, places=6)

    def test_bursts_in_part_are_told(self):
        done = self.run_pod("--request-bytes", "100", "--requests", "2000")
        row = self.one("--request-bytes", "100", "--requests", "2000")
        self.assertAlmostEqual(row["bus_busy_percent"] + sum(row["lost_time"].values()), 100, places=6)
        self.assertLess(100 * row["bandwidth_gbytes_s"] / row["peak_gbytes_s"], row["bus_busy_percent"] - 10)
        self.assertIn(f"requests are not whole bursts, and the rest of each burst is lost: busy {row['bus_busy_percent']:.1f}%",
                      done.stdout)

    def test_large_requests(self):
        row = self.one("--request-bytes", "4KiB", "--requests", "500", "--read-fraction", "0.5", "--check-data")
        self.assertEqual(row["bytes"], 500 * 4096)
        self.assertGreater(row["bandwidth_gbytes_s"], 0.3 * row["peak_gbytes_s"])

    def test_a_stack_is_its_channels(self):
        row = self.one("--set", "hbm.ports=4", "--requests", "40001", "--set", "hbm.refresh=none")
        self.assertEqual(row["requests"], 40001)
        self.assertAlmostEqual(row["peak_gbytes_s"], 4 * 51.2, places=6)
        self.assertGreater(row["bandwidth_gbytes_s"], 0.95 * row["peak_gbytes_s"])

    def test_simple_model_of_the_seed_machine(self):
        row, = self.result(*SEED, "--pattern", "seq", "--request-bytes", "256B", "--requests", "80000")["runs"]
        self.assertAlmostEqual(row["peak_gbytes_s"], 8 * 256, places=6)
        self.assertGreater(row["bandwidth_gbytes_s"], 0.97 * row["peak_gbytes_s"])
        self.assertIsNone(row["row_hit_rate"])
        self.assertIsNone(row["lost_time"])


class Formats(HbmCase):
    def test_table_and_csv(self):
        job = ("--requests", "2000", "--rate", "20%,max")
        table = self.run_pod(*REFERENCE, *job).stdout.splitlines()
        self.assertEqual((table[0], table[1].split()[:2]), ("seq", ["pace", "requests"]))
        self.assertEqual([line.split()[0] for line in table[2:] if re.match(r" +\S+ +2000 ", line)], ["20%", "max"])
        self.assertEqual(sum(line.startswith("  % of peak lost: ") for line in table), 2)
        self.assertLessEqual(max(map(len, table)), 100)
        rows = list(csv.DictReader(io.StringIO(self.run_pod(*REFERENCE, *job, "--format", "csv").stdout)))
        self.assertEqual([r["pace"] for r in rows], ["20%", "max"])
        for row, wanted in zip(rows, self.rows(*job), strict=True):
            self.assertEqual(float(row["bandwidth_gbytes_s"]), wanted["bandwidth_gbytes_s"])
            self.assertEqual(float(row["lost_refresh_percent"]), wanted["lost_time"]["refresh"])
        self.assertEqual(self.run_pod(*REFERENCE, *job, "--quiet").stdout, "")

    def test_information(self):
        self.assertIn("--outstanding", self.run_pod("--help").stdout)
        self.assertRegex(self.run_pod("--version").stdout, r"^diecast-hbm \d+\.\d+\.\d+\n$")
        for pattern in PATTERNS:
            self.assertIn(pattern.split(":")[0], self.run_pod("--list", "patterns").stdout)
        for preset in PRESETS:
            self.assertIn(preset, self.run_pod("--list", "presets").stdout)
        self.assertIn("properties", json.loads(self.run_pod("--schema").stdout))
        self.assertIn("51.2 GB/s", self.run_pod("--check-config").stdout)
        self.assertEqual(json.loads(self.run_pod("--dump-config").stdout)["hbm"]["ports"], 1)


class Replay(HbmCase):
    def test_recorded_arrivals(self):
        trace = self.file("t.txt", "# two reads of one row, then a write\nR 0 32 0\nR 0x100 32 100.5\n\nW 64 32 400\n")
        row = self.one("--pattern", f"replay:{trace}", "--set", "hbm.refresh=none", "--check-data")
        self.assertEqual((row["requests"], row["reads"], row["writes"]), (3, 2, 1))
        self.assertEqual(row["pace"], "recorded")
        self.assertEqual((row["read_fraction"], row["request_bytes"]), (None, None))  # the trace says
        self.assertGreater(row["time_ns"], 400)
        # The first opens the row: activation and read; the second finds it open.
        self.assertGreater(row["max_latency_ns"], 19.4 + 12.5)

    def test_a_large_request_completes_with_its_last_part(self):
        small = self.one("--pattern", f"replay:{self.file('s.txt', 'R 0 32 0')}", "--set", "hbm.refresh=none")
        large = self.one("--pattern", f"replay:{self.file('l.txt', 'R 0 4096 0')}", "--set", "hbm.refresh=none")
        self.assertEqual((large["requests"], large["bytes"]), (1, 4096))
        # 64 bursts on each of two pseudo-channels, 1.25 ns apart.
        self.assertGreaterEqual(large["time_ns"], small["time_ns"] + 63 * 1.25)
        self.assertLess(large["time_ns"], small["time_ns"] + 63 * 1.25 + 40)

    def test_a_trace_of_a_pattern_runs_like_the_pattern(self):
        lines = "".join(f"R {32 * k:#x} 32\n" for k in range(3000))
        trace = self.file("seq.txt", lines)
        for pace in (("--rate", "40%"), ("--rate", "max"), ("--outstanding", "16")):
            replayed = self.one("--pattern", f"replay:{trace}", *pace)
            pattern = self.one("--pattern", "seq", "--requests", "3000", *pace)
            for name in ("time_ns", "avg_latency_ns", "row_hit_rate", "bandwidth_gbytes_s", "lost_time"):
                self.assertEqual(replayed[name], pattern[name], f"{name} at {pace}")

    def test_channels_follow_each_other(self):
        trace = self.file("c.txt", "R 0 32\nR 0x40000000 32\nR 0x7fffffe0 32\n")
        row = self.one("--pattern", f"replay:{trace}", "--set", "hbm.ports=2")
        self.assertEqual(row["requests"], 3)

    def test_bad_lines(self):
        for line, holds in TRACES:
            with self.subTest(line):
                path = self.file("bad.txt", f"R 0 32\n{line}\n")
                done = self.run_pod(*REFERENCE, "--pattern", f"replay:{path}", expect=2)
                self.assertEqual(done.stdout, "")
                self.assertIn(f"{path}:2: ", done.stderr)
                for part in holds:
                    self.assertIn(part, done.stderr)
        self.run_pod(*REFERENCE, "--check-config", "--pattern", f"replay:{self.file('e.txt', '# nothing')}", expect=2)
        self.assertIn("holds no request", self.last.stderr)

    def test_all_bad_lines_at_once(self):
        path = self.file("bad.txt", "R 0 32 5\nX 0 32 5\nR 0 32 4\nR 0 32\n")
        errors = self.run_pod(*REFERENCE, "--pattern", f"replay:{path}", expect=2).stderr
        self.assertEqual(re.findall(r"bad\.txt:(\d): ", errors), ["2", "3", "4"])
        # A trace of another tool has the same problem in every line.
        other = self.file("ramulator.txt", "LD 0x40\n" * 500)
        errors = self.run_pod(*REFERENCE, "--pattern", f"replay:{other}", expect=2).stderr.splitlines()
        self.assertEqual((len(errors), errors[-1]), (6, "and 495 more: does not have three or four words"))

    def test_flags_without_meaning(self):
        trace = self.file("t.txt", "R 0 32 0\n")
        for extra in (("--requests", "5"), ("--read-fraction", "1"), ("--request-bytes", "32"), ("--rate", "10%"),
                      ("--outstanding", "3")):
            self.run_pod(*REFERENCE, "--pattern", f"replay:{trace}", *extra, expect=2)
            self.assertIn(extra[0], self.last.stderr)


class Interrupt(HbmCase):
    def test_a_signal_keeps_what_there_is(self):
        process = self.start(*self.command(*REFERENCE, "--pattern", "bank_conflict", "--requests", "50000000", "--out", "out",
                                           "--quiet", "--progress", "on"))
        self.await_line(process, r"\] +\d+%  [1-9][\d.]* us simulated")
        process.send_signal(signal.SIGINT)
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 130)
        self.assertIn("interrupted at", done.stderr)
        row, = json.loads((self.folder / "out" / "result.json").read_text())["runs"]
        self.assertEqual(row["status"], "interrupted")
        self.assertGreater(row["requests"], 0)
        self.assertLess(row["requests"], 50000000)
        self.assertAlmostEqual(sum(row["lost_time"].values()) + row["bus_busy_percent"], 100, places=6)

    def test_a_limit_is_no_silent_end(self):
        # Nothing need be stuck: so slow a pace goes beyond any limit, as do arrivals of a trace that are 1,000 s apart.
        far = self.file("far.txt", "R 0 64 0\nR 64 64 1000000000000\n")
        for words in (["--pattern", "bank_conflict"], ["--rate", "0.000001%", "--requests", "300"], ["--pattern", f"replay:{far}"]):
            cut = self.run_pod(*REFERENCE, *words, "--set", "sim.limit_ms=1", "--out", self.folder / "cut", expect=3)
            self.assertRegex(cut.stderr, r"^limit: .* sim\.limit_ms = 1; \d+ requests have no answer; a higher limit continues the run")
            result = json.loads((self.folder / "cut" / "result.json").read_text())
            self.assertEqual((result["status"], result["runs"][0]["status"]), ("limit", "limit"))


class BadInput(HbmCase):
    def test_flags(self):
        for arguments, holds in FLAGS:
            with self.subTest(" ".join(arguments)):
                before = sorted(self.folder.rglob("*"))
                done = self.run_pod("--out", "made", *REFERENCE, *arguments, expect=2)
                self.assertEqual(done.stdout, "")
                for part in holds:
                    self.assertIn(part, done.stderr)
                self.assertEqual(sorted(self.folder.rglob("*")), before, "something was written")

    def test_outputs(self):
        self.file("foreign.txt", "x")
        self.run_pod(*REFERENCE, "--requests", "10", "--out", ".", expect=5)
        self.assertIn("foreign.txt", self.last.stderr)


if __name__ == "__main__":
    harness.main()
