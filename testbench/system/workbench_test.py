#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sweep and scripts/regress, and the python module."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

import harness

sys.path.insert(0, str(harness.ROOT / "python"))
import diecast  # noqa: E402

try:
    import matplotlib  # noqa: F401
    PLOTS = True
except ImportError:
    PLOTS = False

BIN = pathlib.Path(harness.POD).parent
os.environ["DIECAST_BIN"] = str(BIN)


class ScriptCase(harness.Case):

    def script(self, name, *arguments, expect=0):
        words = [str(harness.ROOT / "scripts" / name), *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder)
        self.last = harness.Result(" ".join(words), done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect, "exit code")
        return done


class Sweep(ScriptCase):

    def spec(self, **changes):
        data = {"schema": "diecast.sweep/1", "config": str(harness.CONFIGS / "small_pod.json"),
                "flags": {"collective": "all_reduce"},
                "grid": {"--algorithm": ["ring_1d", "intercube"], "ipcq.n_slots": [1, 4]},
                "plots": [{"x": "ipcq.n_slots", "y": "time_ns", "series": "--algorithm"}]}
        data.update(changes)
        return self.file("spec.json", json.dumps({k: v for k, v in data.items() if v is not None}))

    def rows(self):
        return list(csv.DictReader((self.folder / "s" / "sweep.csv").read_text().splitlines()))

    def test_rows_are_those_of_single_runs(self):
        self.script("sweep", self.spec(), "--out", "s")
        rows = self.rows()
        self.assertEqual([(r["algorithm"], r["ipcq.n_slots"]) for r in rows],
                         [("ring_1d", "1"), ("ring_1d", "4"), ("intercube", "1"), ("intercube", "4")])
        for row in rows:
            alone = self.one(*harness.SMALL, "--algorithm", row["algorithm"],
                             *harness.sets(f"ipcq.n_slots={row['ipcq.n_slots']}"))
            self.assertEqual((float(row["time_ns"]), row["fingerprint"]), (alone["time_ns"], alone["fingerprint"]))
        document = json.loads((self.folder / "s" / "sweep.json").read_text())
        self.assertEqual((document["schema"], document["points"], len(document["rows"])),
                         ("diecast.sweep_result/1", 4, 4))
        self.assertEqual((self.folder / "s" / "sweep_0.svg").exists(), PLOTS)

    def test_it_goes_on_where_it_stopped(self):
        spec = self.spec()
        self.script("sweep", spec, "--out", "s")
        before = (self.folder / "s" / "sweep.csv").read_text()
        records = sorted((self.folder / "s" / "records").glob("*.json"))
        records[1].unlink()
        kept = {r: r.stat().st_mtime_ns for r in records if r.exists()}
        done = self.script("sweep", spec, "--out", "s")
        self.assertEqual(done.stdout.count("(kept)"), 3)
        self.assertEqual({r: r.stat().st_mtime_ns for r in kept}, kept, "a kept point ran again")

        def without_speed(text):
            return [{k: v for k, v in row.items() if k != "stats.elaborate_s"}
                    for row in csv.DictReader(text.splitlines())]

        self.assertEqual(without_speed((self.folder / "s" / "sweep.csv").read_text()), without_speed(before))
        # Another config is another sweep: everything runs again.
        self.assertNotIn("(kept)", self.script("sweep", self.spec(flags={"bytes": "2KiB"}), "--out", "s").stdout)

    def test_tasks_of_an_array_make_the_same_table(self):
        spec = self.spec(plots=None)
        for n in range(3):
            self.script("sweep", spec, "--out", "s", "--task", f"{n}/3", "--jobs", "1")
        self.assertFalse((self.folder / "s" / "sweep.csv").exists())
        self.script("sweep", spec, "--out", "s", "--collect")
        self.assertEqual(len(self.rows()), 4)

    def test_a_bad_point_costs_its_row(self):
        done = self.script("sweep", self.spec(grid={"ipcq.n_slots": [0, 4]}, plots=None), "--out", "s", expect=2)
        self.assertIn("ipcq.n_slots", done.stderr)
        self.assertEqual([(r["exit_code"], r["status"]) for r in self.rows()], [("2", "error"), ("0", "ok")])

    def test_bad_specs(self):
        for changes, word in (({"schema": "x"}, "schema"), ({"grid": {"a": []}}, "grid.a"), ({"gird": {}}, "gird"),
                              ({"config": "absent.json"}, "absent.json"), ({"platform": "ls"}, "platform"),
                              ({"grid": {"a": [1, "1"]}}, "twice"), ({"grid": {"--collective": ["x"]}}, "flags"),
                              ({"plots": [{"x": "a"}]}, "plots[0]")):
            self.assertIn(word, self.script("sweep", self.spec(**changes), expect=2).stderr)
        self.script("sweep", self.file("no.json", "{"), expect=2)
        self.script("sweep", self.spec(), "--task", "3/3", expect=2)

    def test_the_shipped_spec_lists(self):
        done = self.script("sweep", harness.ROOT / "docs/examples/root_place.json", "--list")
        self.assertEqual(len(done.stdout.splitlines()), 6)


class Regress(ScriptCase):

    def suite(self, **expect):
        case = {"name": "a", "config": str(harness.CONFIGS / "small_pod.json"), "args": ["--bytes", "1KiB"],
                "expect": expect}
        return self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))

    def test_it_finds_what_differs(self):
        right = self.one(*harness.SMALL, "--bytes", "1KiB")["time_ns"]
        self.script("regress", self.suite(runs=[{"verified": True, "time_ns": right}]))
        near = {"value": right * 1.009, "within_percent": 1}
        self.script("regress", self.suite(runs=[{"time_ns": near}]))
        for wrong in ({"runs": [{"time_ns": right + 1}]}, {"exit_code": 3}, {"status": "deadlock"}, {"runs": []},
                      {"runs": [{"verified": False}]}, {"runs": [{"time_ns": {**near, "value": right * 1.02}}]},
                      {"stderr_contains": "x"}, {"runs": [{"stats.absent": 1}]}):
            done = self.script("regress", self.suite(**wrong), expect=1)
            self.assertIn("FAILED", done.stdout, wrong)
            self.assertIn("reproduce: ", done.stdout)

    def test_bless_shows_the_change_and_then_it_passes(self):
        suite = self.suite(runs=[{"time_ns": {"value": 1, "within_percent": 2}, "verified": False}])
        done = self.script("regress", suite, "--bless")
        self.assertIn("- runs[0].time_ns: 1 within 2%", done.stdout)
        self.assertIn("+ runs[0].verified: true", done.stdout)
        blessed = json.loads(suite.read_text())["cases"][0]["expect"]["runs"][0]
        self.assertEqual(blessed["time_ns"]["within_percent"], 2)
        self.script("regress", suite, "--junit", "j.xml")
        tests = xml.parse(self.folder / "j.xml").getroot()
        self.assertEqual((tests[0].get("tests"), tests[0].get("failures")), ("1", "0"))

    def test_junit_names_the_failure(self):
        self.script("regress", self.suite(exit_code=4), "--junit", "j.xml", expect=1)
        failure = xml.parse(self.folder / "j.xml").getroot().find("testsuite/testcase/failure")
        self.assertIn("exit_code: expected 4, got 0", failure.get("message"))

    def test_bad_suites(self):
        for text in ("{}", '{"schema": "diecast.suite/1", "cases": []}', "[", '{"schema": "diecast.suite/1", "cases": '
                     '[{"name": "a", "expct": {}}]}', '{"schema": "diecast.suite/1", "cases": [{"name": "a"}, '
                     '{"name": "a"}]}', '{"schema": "diecast.suite/1", "cases": [{"name": "a", "config": "no"}]}'):
            self.assertIn("suite.json", self.script("regress", self.file("suite.json", text), expect=2).stderr)


class Module(ScriptCase):

    def test_run_and_load(self):
        done = diecast.run(harness.CONFIGS / "small_pod.json", bytes="4KiB", sets={"ipcq.n_slots": 2},
                           out=self.folder / "out")
        again = self.one(*harness.SMALL, "--bytes", "4KiB", *harness.sets("ipcq.n_slots=2"))
        self.assertEqual(done.runs[0]["time_ns"], again["time_ns"])
        loaded = diecast.load(self.folder / "out")
        self.assertEqual(len(loaded.rows("links.csv")), len(done.rows("links.csv")))
        self.assertEqual(loaded.critical_path()["time_ns"], again["time_ns"])
        self.assertEqual(len(diecast.run(harness.CONFIGS / "small_pod.json", no_data=True).rows("ipcq.csv")), 32)
        with self.assertRaises(diecast.MachineFailed) as failed:
            diecast.run(sets={"ipcq.n_slots": 0})
        self.assertEqual(failed.exception.code, 2)
        with self.assertRaises(diecast.BadResults):
            diecast.load(self.folder / "absent")


if __name__ == "__main__":
    sys.exit(harness.main())
