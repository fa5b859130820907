#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--jitter: times of runs whose PEs start a little later, and what studies make of them."""
import csv
import json
import statistics
import subprocess
import sys

import harness
from workbench_test import ScriptCase

sys.path.insert(0, str(harness.ROOT / "python"))

from diecast.noise import Timing, effect  # noqa: E402

JOB = (*harness.SMALL, "--algorithm", "two_level", "--bytes", "16KiB")


class Draws(harness.Case):
    def test_the_row_states_what_the_draws_took(self):
        plain = self.one(*JOB)
        row = self.one(*JOB, "--jitter", "7:40")
        times, delays = row["jitter_times_ns"], row["jitter_delays_ns"]
        self.assertEqual((len(times), len(delays), row["jitter_limit_ns"]), (7, 7, 40))
        self.assertEqual((times[0], delays[0]), (plain["time_ns"], 0))
        # Beside its draws the row is that of the run without delays.
        left = {key: value for key, value in row.items() if not key.startswith("jitter_")}
        for side in (plain, left):
            side["stats"].pop("elaborate_s")
        self.assertEqual(left, plain)
        self.assertEqual(row["jitter_median_ns"], statistics.median(times))
        self.assertEqual((row["jitter_min_ns"], row["jitter_max_ns"]), (min(times), max(times)))
        self.assertAlmostEqual(row["jitter_spread_percent"], 100 * (max(times) - min(times)) / statistics.median(times), 9)
        less = [time - delay for time, delay in zip(times, delays)]
        self.assertAlmostEqual(row["jitter_spread_without_delay_percent"],
                               100 * (max(less) - min(less)) / statistics.median(less), 9)
        self.assertTrue(all(0 < delay <= 40 for delay in delays[1:]), delays)
        self.assertGreater(len(set(times)), 3, "delays move times")

    def test_draws_follow_from_the_seed_and_the_key(self):
        times = lambda *more: self.one(*JOB, *more)["jitter_times_ns"]
        first = times("--jitter", "4:40")
        self.assertEqual(times("--jitter", "4:40"), first)
        self.assertEqual(times("--jitter", "4", *harness.sets("ccl.jitter_ns=40")), first)
        self.assertEqual(times("--jitter", "6:40")[:4], first)
        self.assertNotEqual(times("--jitter", "4:40", "--seed", "77")[1:], first[1:])
        self.assertEqual(self.one(*JOB, "--jitter", "2")["jitter_limit_ns"], 50)

    def test_every_collective_has_draws_with_the_same_results(self):
        for collective in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter",
                           "send_recv"):
            row = self.one(*harness.SMALL, "--collective", collective, "--ranks", "cube", "--bytes", "4KiB", "--jitter", "3")
            self.assertEqual(len(row["jitter_times_ns"]), 3, collective)
            self.assertNotIn("differ", " ".join(row["notes"]), collective)
        row, = self.result(*harness.SMALL, "--collective", "barrier", "--jitter", "3")["runs"]
        self.assertEqual((row["status"], len(row["jitter_times_ns"])), ("ok", 3))
        stream = {"name": "s", "on": [0, 1], "ops": [{"op": "all_reduce", "bytes": 1024}]}
        row = self.one(*harness.SMALL, "--workload", self.file("w.json", json.dumps({"streams": [stream]})), "--jitter", "3")
        self.assertEqual(len(row["jitter_times_ns"]), 3)

    def test_a_late_pe_costs_at_least_its_delay(self):
        """Of a barrier, which none leaves before the last has come: the time runs from the start without delays."""
        row, = self.result(*harness.SMALL, "--collective", "barrier", "--ranks", "pe", "--jitter", "5:5000")["runs"]
        for time, delay in zip(row["jitter_times_ns"], row["jitter_delays_ns"]):
            self.assertGreater(time, delay)

    def test_table_and_csv(self):
        done = self.run_pod(*JOB, "--jitter", "3", "--out", "out")
        row, = json.loads((self.folder / "out" / "result.json").read_text())["runs"]
        head, line = (words.split() for words in done.stdout.splitlines()[-2:])
        cells = dict(zip(head[1:], line[2:]))  # the size is two words
        self.assertEqual(cells["median_ns"], f"{row['jitter_median_ns']:.1f}")
        self.assertEqual(cells["spread"], f"{row['jitter_spread_percent']:.1f}%")
        self.assertEqual(cells["less_delay"], f"{row['jitter_spread_without_delay_percent']:.1f}%")
        table, = csv.DictReader(self.run_pod(*JOB, "--jitter", "3", "--format", "csv").stdout.splitlines())
        for key in ("median_ns", "min_ns", "max_ns", "spread_percent", "spread_without_delay_percent"):
            self.assertEqual(float(table[f"jitter_{key}"]), row[f"jitter_{key}"], key)
        plain, = csv.DictReader(self.run_pod(*JOB, "--format", "csv").stdout.splitlines())
        self.assertEqual(plain["jitter_median_ns"], "")
        self.assertNotIn("median_ns", self.run_pod(*JOB).stdout)

    def test_where_it_has_no_meaning_it_is_refused(self):
        for words, expected in ((("--jitter", "1"), "--jitter: "), (("--jitter", "3:0"), "--jitter N:NS: "), (("--jitter", "x"), "--jitter: "),
                                (("--jitter", "3:"), "--jitter N:NS: "), (("--jitter", "5:10us"), "--jitter N:NS: "), (("--jitter", "3", "--diagnose"), "--diagnose reports no times"),
                                (("--jitter", "3", "--dump-install"), "--dump-install reports no times")):
            self.assertIn(expected, self.run_pod(*JOB, *words, expect=2).stderr.splitlines()[0], words)
        for name in ("noc", "hbm"):
            done = subprocess.run([harness.binary(name), "--jitter", "3"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--jitter", done.stderr)

    def test_a_draw_that_fails_gives_the_run_its_status(self):
        done = self.run_pod(*JOB, "--jitter", "2:900000000", *harness.sets("sim.limit_ms=1"), expect=3)
        self.assertIn("draw 1 of --jitter", done.stderr)


class Noise(ScriptCase):
    def test_effects_within_the_draws_are_noise(self):
        old = Timing([100, 104, 98])
        self.assertEqual((old.median, old.low, old.high, old.spread), (100, 98, 104, 6))
        self.assertEqual(effect(old, Timing([90, 91, 92])), (0.91, 90 / 104, 92 / 98, False))
        self.assertTrue(effect(old, Timing([103, 105, 107]))[-1], "they overlap")
        self.assertTrue(effect(old, Timing([105, 105.5, 106]))[-1], "the medians differ by less than the spread")
        self.assertTrue(effect(old, old)[-1])
        self.assertFalse(effect(Timing([5]), Timing([6]))[-1], "single runs have no noise")

    def test_sensitivity_lists_what_is_noise_behind_what_is_not(self):
        keys = ("sip_link.gbytes_s", "ipcq.match_cycles", "pe.task_switch_cycles")
        words = [w for key in keys for w in ("--key", key)]
        self.script("sensitivity", harness.CONFIGS / "small_pod.json", *words, "--jitter", "9", "--csv", "s.csv", "--", *JOB[2:])
        rows = list(csv.DictReader((self.folder / "s.csv").read_text().splitlines()))
        old = Timing(self.one(*JOB, "--jitter", "9")["jitter_times_ns"])
        marks = [row[""] for row in rows]
        self.assertEqual(marks, sorted(marks), "noise last")
        for row in rows:
            self.assertTrue(float(row["low"]) <= float(row["elasticity"]) <= float(row["high"]), row)
            again = self.one(*JOB, "--jitter", "9", *harness.sets(f"{row['key']}={row['to']}"))
            self.assertEqual(float(row["time ns"]), again["jitter_median_ns"])
            self.assertEqual(row[""] == "within noise", effect(old, Timing(again["jitter_times_ns"]))[-1])

    def test_one_draw_is_a_single_run(self):
        words = (harness.CONFIGS / "small_pod.json", "--key", "pe.task_switch_cycles")
        single = self.script("sensitivity", *words, "--jitter", "1", "--", *JOB[2:]).stdout
        self.assertNotIn("draws", single)
        self.assertEqual(self.script("sensitivity", *words, "--jitter", "1:20", "--", *JOB[2:]).stdout, single)

    @harness.cases(1, 3)
    def test_records_of_tasks_have_what_the_noise_needs(self, count):
        """Each task in its turn runs its points; the script then makes the table of them all from the records alone."""
        for name, *words in (("sensitivity", "--key", "sip_link.gbytes_s", "--key", "ipcq.match_cycles"), ("degrade", "--of", "sip"),
                             ("degrade", "--of", "pe", "--counts", "0,1", "--draws", "2"))[:count]:
            def study(*more):
                return self.script(name, harness.CONFIGS / "small_pod.json", *words, *more, "--", *JOB[2:]).stdout

            local = study()
            self.assertIn("(median of 5 draws, spread ", local)
            out = f"{name}{len(words)}"
            for task in ("0/2", "1/2"):
                self.assertEqual(study("--out", out, "--task", task), "")
            records = {path: path.stat().st_mtime_ns for path in (self.folder / out / "records").iterdir()}
            self.assertEqual(study("--out", out), local)
            self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / out / "records").iterdir()}, records)
            again = study("--out", out, "--jitter", "1")
            self.assertNotIn("draws", again.splitlines()[0], "single runs are other points")

    def test_compare_says_whether_a_difference_is_noise(self):
        for folder, *sets in (("a", "ipcq.match_cycles=2"), ("b", "ipcq.match_cycles=3"), ("c", "sip_link.gbytes_s=4")):
            self.run_pod(*JOB, "--jitter", "9", *harness.sets(*sets), "--out", folder)
        self.run_pod(*JOB, *harness.sets("sip_link.gbytes_s=4"), "--out", "d")
        self.assertRegex(self.script("compare", "a", "c").stdout, r"beyond noise: medians of 9 draws; by their extremes .* \+[\d.]+% to")
        run, = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"]
        old, new = (json.loads((self.folder / name / "result.json").read_text())["runs"][0]["jitter_times_ns"] for name in "ab")
        self.assertIs(run["within_noise"], effect(Timing(old), Timing(new))[-1])
        self.assertIn("not both were run with --jitter", self.script("compare", "a", "d").stdout)

    def test_regress_says_when_a_time_is_within_noise(self):
        row = self.one(*JOB, "--jitter", "9")
        middle, far = (row["jitter_min_ns"] + row["jitter_max_ns"]) / 2 + 0.25, 10 * row["jitter_max_ns"]
        case = {"config": str(harness.CONFIGS / "small_pod.json"), "args": [*map(str, JOB[2:]), "--jitter", "9"]}
        cases = [{"name": name, **case, "expect": {"runs": [{"jitter_median_ns": value}]}} for name, value in
                 (("near", middle), ("far", far))]
        self.file("s.json", json.dumps({"schema": "diecast.suite/1", "cases": cases}))
        lines = self.script("regress", "s.json", expect=1).stdout.splitlines()
        self.assertEqual([line.endswith("; within noise") for line in lines if "expected" in line], [True, False])


if __name__ == "__main__":
    sys.exit(harness.main())
