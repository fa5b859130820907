#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/calibrate: tables, logs of nccl-tests and ping-pongs of the OSU benchmarks, and the fit."""
import csv
import json
import random
import re
import sys
import unittest
import unittest.mock

import harness
from workbench_test import ScriptCase

sys.path.insert(0, str(harness.ROOT / "python"))

from diecast.calibrate import Calibration  # noqa: E402
from diecast.measurements import Row  # noqa: E402
from diecast.noise import Timing  # noqa: E402


class Formula:
    """In place of a machine: latencies, and a rate that long messages see; draws differ by up to `noise`, of 1."""
    platform = config = None
    sets = {}
    machine = {"sip_link": {"latency_ns": 100.0, "gbytes_s": 64.0}, "hbm": {"trcd_rd_ns": 14.0}, "ucie": {"latency_ns": 20.0}}

    def __init__(self, noise):
        self.noise = noise

    def exact(self, row, sets):
        values = {f"{block}.{key}": value for block, keys in self.machine.items() for key, value in keys.items()} | sets
        return (500 + 6 * values["sip_link.latency_ns"] + 6 * values["ucie.latency_ns"] +
                int(row.flags["bytes"]) / values["sip_link.gbytes_s"])

    def timing(self, row, sets):
        source, time = random.Random(str((row.flags, sorted(sets.items())))), self.exact(row, sets)
        return Timing(time * (1 + self.noise * source.uniform(-0.5, 0.5)) for _ in range(5))

    def time_ns(self, row, sets):
        return self.timing(row, sets).median


class Fit(unittest.TestCase):
    """What is fitted to times that a formula gives, with noise."""

    def fitted(self, truth, keys, noise=0.01, held_out=None):
        """The Calibration, its residuals before and after, and what is not identifiable. held_out: the truth of those rows, if it
        is another."""
        jobs, rows = Formula(noise), []
        for n in range(8):
            row = Row(f"line {n}", 1, {"bytes": str(64 << 2 * n)}, held_out=n % 4 == 2)
            row.time_ns = jobs.exact(row, truth if held_out is None or not row.held_out else held_out)
            rows.append(row)
        with unittest.mock.patch("diecast.calibrate.effective_config", return_value=Formula.machine):
            calibration = Calibration(jobs, keys, rows)
        return calibration, *calibration.fit()

    def test_keys_that_move_the_times_are_recovered_within_5_percent(self):
        truth = {"sip_link.latency_ns": 173.0, "sip_link.gbytes_s": 31.0}
        for noise in (0, 0.01, 0.02):
            found, _, _, unknown = self.fitted(truth, list(truth), noise)
            self.assertEqual(unknown, {})
            for key, value in truth.items():
                self.assertAlmostEqual(found.values[key], value, delta=0.05 * value, msg=f"{key}, noise {noise}")

    def test_a_key_that_moves_nothing_is_not_identifiable(self):
        found, _, _, unknown = self.fitted({"sip_link.latency_ns": 173.0}, ["sip_link.latency_ns", "hbm.trcd_rd_ns"])
        self.assertEqual(set(found.values), {"sip_link.latency_ns"})
        self.assertRegex(unknown["hbm.trcd_rd_ns"], "moves no row by 5 times its spread")
        self.assertAlmostEqual(found.values["sip_link.latency_ns"], 173, delta=0.05 * 173)

    def test_what_the_noise_hides_is_not_identifiable(self):
        """Twice the latency moves the times by a fifth at most."""
        self.assertEqual(set(self.fitted({"ucie.latency_ns": 22.0}, ["ucie.latency_ns"], noise=0.2)[0].values), set())

    def test_keys_that_only_their_sum_is_known_of_are_not_both_fitted(self):
        found, _, _, unknown = self.fitted({"sip_link.latency_ns": 173.0, "ucie.latency_ns": 90.0},
                                           ["sip_link.latency_ns", "ucie.latency_ns"])
        self.assertTrue(unknown)
        self.assertFalse(set(unknown) & set(found.values))

    def test_the_script_fails_where_held_out_rows_get_worse(self):
        script = harness.script("calibrate")
        truth = {"sip_link.latency_ns": 173.0}
        self.assertEqual(script.failure(*self.fitted(truth, list(truth))[:3]), "")
        failed = script.failure(*self.fitted(truth, list(truth), held_out={})[:3])
        self.assertRegex(failed, r"the held-out rows fit worse than before: rms 0\.\d+% before, \d+\.\d+% after")
        self.assertIn("no key is identifiable", script.failure(*self.fitted(truth, ["hbm.trcd_rd_ns"])[:3]))


class Calibrate(ScriptCase):

    def measure(self, **keys):
        """A table of what a machine with other keys takes; every third row is held out."""
        with open(self.folder / "m.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["algorithm", "bytes", "time_ns", "hold_out"])
            for n, (algorithm, size) in enumerate((a, b) for a in ("ring_1d", "intercube") for b in ("1KiB", "32KiB", "128KiB")):
                row = self.one(*harness.SMALL, "--algorithm", algorithm, "--bytes", size, *harness.sets(*keys["sets"]))
                table.writerow([algorithm, size, row["time_ns"], int(n % 3 == 1)])

    def test_it_finds_the_keys_of_another_machine(self):
        self.measure(sets=["sip_link.latency_ns=173", "sip_link.gbytes_s=31"])
        done = self.script("calibrate", harness.CONFIGS / "small_pod.json", "m.csv", "--key", "sip_link.latency_ns",
                           "--key", "sip_link.gbytes_s", "--jitter", "1", "--write", "fit.json")
        fitted = json.loads((self.folder / "fit.json").read_text())["sip_link"]
        self.assertAlmostEqual(fitted["latency_ns"], 173, delta=173 * 0.15)
        self.assertAlmostEqual(fitted["gbytes_s"], 31, delta=31 * 0.1)
        before, after = (float(v) for v in re.search(r"held out rows: rms ([\d.]+)% before, ([\d.]+)%", done.stdout).groups())
        self.assertLess(after, before / 2)
        self.run_pod("--config", "fit.json", "--check-config")

    def test_what_is_written_is_the_machine_that_was_fitted(self):
        slots, key = "ipcq.n_slots=2", "sip_link.latency_ns"
        row = self.one(*harness.SMALL, "--bytes", "4KiB", *harness.sets(slots, f"{key}=120"))
        self.file("m.csv", f"bytes,time_ns\n4KiB,{row['time_ns']}\n")
        self.script("calibrate", harness.CONFIGS / "small_pod.json", "m.csv", "--key", key, "--set", slots, "--jitter", "1", "--write",
                    "fit.json")
        found = json.loads(self.run_pod("--config", "fit.json", "--dump-config").stdout)
        self.assertEqual(found["ipcq"]["n_slots"], 2)
        again = self.one("--config", "fit.json", "--bytes", "4KiB")
        self.assertAlmostEqual(again["time_ns"], row["time_ns"], delta=row["time_ns"] * 0.02)

    def test_tables_that_a_platform_writes(self):
        job = ("--algorithm", "ring_1d,rabenseifner", "--ranks", "cube", "--bytes", "1KiB:2MiB:x2048", "--no-data")
        hbm = "ccl.tensor_kind=hbm"
        done = self.run_pod(*harness.SMALL, *job, *harness.sets("sip_link.latency_ns=400", hbm), "--format", "csv")
        self.assertIn(",rank_set,", done.stdout)
        found = self.calibrate(self.file("w.csv", done.stdout), "--key", "sip_link.latency_ns", "--set", hbm, "--jitter", "1", "--write",
                               "fit.json")
        self.assertAlmostEqual(json.loads((self.folder / "fit.json").read_text())["sip_link"]["latency_ns"], 400, delta=40)
        self.assertRegex(found.stdout, r"ring_1d 2097152 ")
        barrier = self.run_pod(*harness.SMALL, "--collective", "barrier", "--set", "sip_link.latency_ns=400", "--format", "csv").stdout
        found = self.calibrate(self.file("b.csv", barrier), "--key", "sip_link.latency_ns", "--jitter", "1")
        self.assertRegex(found.stdout, r"barrier centralized_pull cube .* [+-]0\.\d\d%")
        # A table of one's own: rank_set without ranks, and megabytes.
        rows = [row for row in csv.DictReader(done.stdout.splitlines()) if (row["algorithm"], row["bytes"]) == ("ring_1d", "2097152")]
        self.assertEqual(len(rows), 1)
        own = "".join(f"all_reduce,{r['algorithm']},2097152,cube,{float(r['time_ns']) / 1000}\n" for r in rows)
        table = self.file("own.csv", "collective,algorithm,bytes,rank_set,time_us\n" + own)
        fit = self.calibrate(table, "--key", "sip_link.gbytes_s", "--set", hbm, "--set", "sip_link.latency_ns=400", "--jitter", "1",
                             "--hold-out", "0")
        self.assertRegex(fit.stdout, r"all_reduce ring_1d 2097152 cube .* [+-]0\.0\d%")
        hang = done.stdout + done.stdout.splitlines()[1].replace(",ok,", ",deadlock,") + "\n"
        self.assertIn("1 rows of runs without an end are left out",
                      self.calibrate(self.file("h.csv", hang), "--key", "noc.no_such_key", expect=2).stderr)

    NCCL = ("# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 16 minBytes 1024 maxBytes 131072\n#\n# Using devices\n"
            "{ranks}#\n#{blank}out-of-place                       in-place\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
            "{rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n")

    def nccl(self, rows, ranks=16):
        devices = "".join(f"#  Rank {n:2} Group  0 Pid   7777 on  node0 device  {n} [0000:0f:00] A\n" for n in range(ranks))
        return self.file("nccl.log", self.NCCL.format(ranks=devices, blank=" " * 55, rows="".join(
            f"{size:12}{size // 2:14}      half     sum      -1 {first:8.5g}    1.00    1.00      {wrong} {second:8.5g}    1.00    "
            f"1.00      {wrong}\n" for size, first, second, wrong in rows)))

    def calibrate(self, table, *arguments, expect=0):
        done = self.script("calibrate", harness.CONFIGS / "small_pod.json", table, *arguments, expect=expect)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def test_logs_of_nccl_tests(self):
        job = ("--algorithm", "ring_1d", "--ranks", "pe")
        times = [[self.one(*harness.SMALL, *job, "--bytes", size, *harness.sets(f"sip_link.latency_ns={latency}"))["time_ns"] / 1000
                  for latency in (400, 900)] for size in (1024, 4096, 16384, 65536)]
        table = self.nccl([(0, 1, 1, 0), *((size, *both, 0) for size, both in zip((1024, 4096, 16384, 65536), times))])
        words = (table, "--key", "sip_link.latency_ns", "--jitter", "1")
        done = self.calibrate(*words, "--write", "fit.json", "--plot", "r.svg", "--", *job)
        self.assertIn("1 rows of 0 bytes are left out", done.stderr)
        fitted = json.loads((self.folder / "fit.json").read_text())["sip_link"]["latency_ns"]
        self.assertAlmostEqual(fitted, 400, delta=40)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines() if line.endswith("held out")], ["16384"])
        self.assertRegex(done.stdout, r"held out rows: rms \d+\.\d+% before, [0-2]\.\d+% after")
        self.assertIn("all_reduce 16384 f16 sum (held out) fitted: ", (self.folder / "r.svg").read_text())
        slower = self.calibrate(*words, "--in-place", "--hold-out", "0", "--", *job)
        self.assertIn("held out rows: none", slower.stdout)
        self.assertGreater(float(re.search(r"sip_link.latency_ns +100 +([\d.e+]+)", slower.stdout)[1]), 600)

    def test_what_a_log_says_of_its_test_and_ranks(self):
        from diecast import measurements
        text = self.nccl([(1024, 5.0, 5.0, 0)], ranks=4).read_text()
        said = "node0:77:78 [0] NCCL INFO NET/Plugin: Could not find: libx_perf\nno module libx_perf.so\n" \
            "could not load libfoo_perf\n"
        command = "mpirun -np 4 ./build/broadcast_perf -b 8\n"
        devices = [line for line in text.splitlines(True) if line.startswith("#  Rank")]
        backwards = text.replace("".join(devices), "".join(devices[::-1]))
        fewer = text.replace("".join(devices), devices[0])
        for log, collective, ranks in ((said + text, "all_reduce", 4),
                                       (command + said + text.replace("all_reduce_perf", "a test"), "broadcast", 4),
                                       (re.sub("(?m)^", "[1,0]<stdout>:", text), "all_reduce", 4),  # mpirun --tag-output
                                       (backwards, "all_reduce", 4), (text + fewer, "all_reduce", 1)):
            row = measurements.read(self.file("n.log", log))[-1]
            self.assertEqual((row.flags["collective"], row.ranks), (collective, ranks))
        old = re.sub(r" +root|(?<=sum) +-1", "", text).replace("#wrong", "error").replace("all_reduce", "alltoall").replace("sum", "   ")
        row, = measurements.read(self.file("n.log", old))  # as versions print it that have no column root
        self.assertEqual((row.time_ns, row.flags), (5000, {"collective": "all_to_all", "bytes": "1024", "dtype": "f16"}))

    def test_tables_of_osu_latency(self):
        far = [0, 8]
        def trip(size):
            """Half of a round trip between two SIPs, by the times of a workload written here."""
            times = max(1, size >> 20)  # no message is longer than 1 MiB
            ops = [op for n in range(4) for op in (
                {"id": f"s{n}", "op": "isend", "peer": 1 - n % 2, "bytes": max(size // times, 8), "times": times, "only": [n % 2]},
                {"id": f"r{n}", "op": "irecv", "peer": n % 2, "bytes": max(size // times, 8), "times": times, "only": [1 - n % 2]},
                {"id": f"w{n}", "op": "wait", "for": [f"s{n}"], "only": [n % 2]},
                {"id": f"v{n}", "op": "wait", "for": [f"r{n}"], "only": [1 - n % 2]})]
            workload = {"streams": [{"name": "s", "on": far, "ops": ops}]}
            row = self.one(*harness.SMALL, "--workload", self.file("w.json", json.dumps(workload)),
                           *harness.sets("sip_link.latency_ns=300", "pe.tcm_kib=65536"))
            ends = {op["id"]: op["end_ns"] for op in row["ops"]}
            return (ends["v3"] - ends["v1"]) / 2 / 1000
        table = self.file("osu.txt", "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n" + "".join(
            f"{size:<20} {trip(size):10.3f}\n" for size in (0, 1024, 4096, 16384, 4 << 20)))
        words = (table, "--key", "sip_link.latency_ns", "--pair", "0,8")
        done = self.calibrate(*words, "--set", "pe.tcm_kib=65536", "--write", "fit.json")
        self.assertRegex(done.stdout, r"latency 4194304 ")  # in pieces
        self.assertIn("osu.txt: line 7: left out: ", self.calibrate(*words).stderr)
        self.assertAlmostEqual(json.loads((self.folder / "fit.json").read_text())["sip_link"]["latency_ns"], 300, delta=15)
        self.assertRegex(done.stdout, r"latency 4096 .* held out")

    def test_tables_of_osu_bandwidth(self):
        from diecast import measurements
        from diecast.calibrate import Jobs
        table = self.file("bw.txt", "# OSU MPI Bandwidth Test v7.2\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
                          "1024            8000.00\n16384          32000.00\n")
        rows = measurements.read(table, window=16)
        self.assertEqual([row.time_ns for row in rows], [16 * 1024 / 8, 16 * 16384 / 32])  # a byte each ns is 1000 MB/s
        work = Jobs("diecast-pod", harness.CONFIGS / "small_pod.json", {}, pair=(0, 8), window=16)
        for row in rows:
            slow, fast = (work.time_ns(row, {"sip_link.gbytes_s": rate}) for rate in (4, 64))
            size = 16 * int(row.flags["bytes"])
            self.assertGreater(slow, size / 4)
            self.assertGreater(slow, fast)
        self.assertLess(slow, 2 * size / 4)  # of long messages on a slow link most of the time is the link's

    def test_bad_tables(self):
        def refused(text, expected, *arguments):
            table = self.folder / "m.csv"
            table.write_bytes(text if isinstance(text, bytes) else text.encode())
            self.assertIn(expected, self.calibrate(table, "--key", "sip_link.latency_ns", *arguments, expect=2).stderr)

        refused("bytes\n1KiB\n", "line 1: no column time_ns or time_us")
        refused("bytes,time_ns\n1KiB,0\n", "line 2: time_ns is '0'; expected a time above 0")
        refused("size,time_ns\n1,1\n", "unknown column 'size'")
        refused("bytes,time_ns,hold_out\n1KiB,5,1\n", "no row to fit")
        refused("bytes,time_ns,hold_out\n1KiB,5,yes\n", "hold_out is 'yes'")
        refused("bytes,time_ns,time_us\n1KiB,5,5\n", "columns time_ns and time_us; expected one of them")
        refused("bytes,time_ns\n1KiB,5,7\n", "line 2: 3 cells; expected 2")
        refused("bytes,bytes,time_ns\n1,1,5\n", "column bytes is given twice")
        refused(b"bytes,time_ns\n\xff,5\n", "byte 14 is no UTF-8")
        refused("bytes,time_ns\n", "no row")
        refused("bytes,time_ns\n1KiB:4KiB,5\n", "line 2: 3 runs of 1KiB:4KiB; expected one", "--hold-out", "0")
        refused("algorithm,bytes,time_ns\nall,1KiB,5\n", "line 2: ")
        refused("algorithm,bytes,time_ns\nring_1d,1KiB,5\nring_2d,1KiB,5\n", "line 3: --algorithm: ")
        refused("bytes,time_ns\n1KiB,5\n", "line 2: --bytes 4KiB after --, and the table says 1KiB", "--", "--bytes", "4KiB")
        refused("bytes,time_ns\n1KiB,5\n", "1 rows to fit 2 keys to", "--key", "sip_link.gbytes_s")
        refused("bytes,time_ns\n1KiB,5\n", "--key sip_link.latency: unknown key; did you mean sip_link.latency_ns?", "--key",
                "sip_link.latency")
        refused("# Size Latency\n", "neither a log of nccl-tests nor a table of osu_latency")
        refused("# OSU MPI Bi-Directional Bandwidth Test v5\n# Size      Bandwidth (MB/s)\n1 5\n", "'MPI Bi-Directional Bandwidth Test'")
        refused("# Size      Latency (us)\n1 1_0\n", "line 2: latency is '1_0'")

    def test_bad_logs(self):
        def refused(log, expected, *arguments):
            self.assertIn(expected, self.calibrate(log, "--key", "sip_link.latency_ns", *arguments, expect=2).stderr)

        row = (1024, 5.0, 5.0, 0)
        refused(self.nccl([row], ranks=8), "line 17: measured on 8 ranks, and this machine has 16", "--", "--algorithm", "ring_1d")
        refused(self.nccl([(1024, 5.0, 5.0, 7)]), "7 wrong elements")
        text = self.nccl([row]).read_text()
        for old, new, expected in (("all_reduce_perf", "a test", "the log does not name its test"),
                                   ("all_reduce_perf", "hypercube_perf", "hypercube_perf; expected one of all_reduce_perf"),
                                   ("      half ", "    double ", "type double; expected one of half"),
                                   ("      half ", "      HALF ", "type HALF; expected one of half"),
                                   ("   sum  ", "   mulsum  ", "redop mulsum"), ("      0\n", "\n", "12 cells; expected 13, as the head has"),
                                   ("      -1 ", "      -2 ", "root is '-2'")):
            self.assertIn(old, text)
            refused(self.file("bad.log", text.replace(old, new)), expected)

    def test_the_own_machine_may_be_calibrated(self):
        sets = "pod.sips=1", "sip.columns=2", "sip.rows=1", "ucie.latency_ns=40"
        row = self.one("--bytes", "4KiB", *harness.sets(*sets))
        self.file("m.csv", f"bytes,time_ns\n4KiB,{row['time_ns']}\n")
        words = ("-", "m.csv", "--key", "ucie.latency_ns", *(w for item in sets[:3] for w in ("--set", item)), "--write", "fit.json")
        drawn = self.script("calibrate", *words, expect=1)  # delays of 50 ns hide a latency of 40 ns
        self.assertRegex(drawn.stdout, r"(?m)^ucie.latency_ns +\S+ +not identifiable$")
        self.assertIn("no key is identifiable from these rows; nothing is written", drawn.stderr)
        self.assertFalse((self.folder / "fit.json").exists())
        self.script("calibrate", *words, "--jitter", "1")
        self.assertNotIn("extends", (self.folder / "fit.json").read_text())
        self.assertAlmostEqual(self.one("--config", "fit.json", "--bytes", "4KiB")["time_ns"], row["time_ns"],
                               delta=row["time_ns"] * 0.02)


if __name__ == "__main__":
    sys.exit(harness.main())
