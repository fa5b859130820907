#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/sweep and scripts/regress, and the python module."""
import contextlib
import csv
import json
import math
import os
import pathlib
import pickle
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml

import harness

sys.path.insert(0, str(harness.ROOT / "python"))
import diecast  # noqa: E402
from diecast.inputs import BadInput  # noqa: E402
from diecast.sweep import JOB_FLAGS, Spec  # noqa: E402
from diecast.whole_file import write_whole  # noqa: E402

try:
    import pandas  # noqa: F401
    PANDAS = True
except ImportError:
    PANDAS = False

BIN = harness.BIN
NO_MATPLOTLIB = r"plots need matplotlib, which \S+( and \S+)? cannot import: apt-get install python3-matplotlib\n"
os.environ["DIECAST_BIN"] = str(BIN)


def plotting_path():
    """A PATH by which scripts find a Python that has matplotlib; None where there is none. Debian's has it, another one
    that comes first may not."""
    for path in (os.environ["PATH"], f"/usr/bin:{os.environ['PATH']}"):
        if subprocess.run(["python3", "-c", "import matplotlib"], env={**os.environ, "PATH": path}, capture_output=True).returncode == 0:
            return path
    return None


def limit_of(file_bytes):
    """What a child calls so that no file of its can get longer, which is like a full disk; None without a limit."""
    return file_bytes and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)))


class ScriptCase(harness.Case):

    def script(self, name, *arguments, expect=0, environment=(), file_bytes=None):
        """file_bytes: no file can get longer."""
        words = [str(harness.ROOT / "scripts" / name), *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, preexec_fn=limit_of(file_bytes),
                              env={**os.environ, **dict(environment)})
        self.last = harness.Result(" ".join(words), done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect, "exit code")
        self.assertNotIn("Traceback", done.stderr)
        return done

    def python(self, code, file_bytes=None, **environment):
        """The end of a Python that has the package."""
        environment = {**os.environ, "PYTHONPATH": str(harness.ROOT / "python"), **environment}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=self.folder, env=environment,
                              preexec_fn=limit_of(file_bytes), timeout=harness.limit_s(60))


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

    def test_what_cannot_be_written_ends_with_5(self):
        blocked = self.file("blocked", "a file")
        done = self.script("sweep", self.spec(), "--out", blocked / "s", expect=5)
        self.assertRegex(done.stderr, r"^scripts/sweep: .*blocked.*; expected a folder that can be made\n$")

    def test_rows_are_those_of_single_runs(self):
        self.assertNotIn("changed no result", self.script("sweep", self.spec(), "--out", "s").stdout)
        rows = self.rows()
        self.assertEqual([(r["algorithm"], r["ipcq.n_slots"]) for r in rows],
                         [("ring_1d", "1"), ("ring_1d", "4"), ("intercube", "1"), ("intercube", "4")])
        for row in rows:
            alone = self.one(*harness.SMALL, "--algorithm", row["algorithm"],
                             *harness.sets(f"ipcq.n_slots={row['ipcq.n_slots']}"))
            self.assertEqual((float(row["time_ns"]), row["fingerprint"]), (alone["time_ns"], alone["fingerprint"]))
        document = json.loads((self.folder / "s" / "sweep.json").read_text())
        self.assertEqual((document["schema"], document["points"], [row["ipcq.n_slots"] for row in document["rows"]]),
                         ("diecast.sweep_result/1", 4, [1, 4, 1, 4]))
        other = self.script("sweep", self.spec(grid={"ipcq.n_slots": [1], "hbm.sids": [1, 2]}, plots=[]), "--out", "s")
        self.assertIn("2 rows of 2 points\nhbm.sids: changed no result\n", other.stdout)
        self.assertEqual(other.stderr, "s/points: 4 more folders, of points of another sweep, which this one leaves\n")

    def test_plots_are_drawn(self):
        path = plotting_path()
        if path is None:
            self.skipTest("python3-matplotlib is not installed")
        pictures = []
        for _ in range(2):
            self.assertIn("s/sweep_0.svg", self.script("sweep", self.spec(), "--out", "s", environment={"PATH": path}).stdout)
            pictures.append((self.folder / "s" / "sweep_0.svg").read_text())
        self.assertEqual(pictures[0], pictures[1], "the same figures, another file")
        lines = [g for g in xml.fromstring(pictures[0]).iter("{http://www.w3.org/2000/svg}g") if g.get("id", "").startswith("line2d_")]
        self.assertGreaterEqual(len(lines), 2, "a line for each algorithm")

    def test_without_matplotlib_there_are_tables(self):
        (self.folder / "none").mkdir()
        self.file("none/matplotlib.py", "raise ImportError('not here')\n")
        done = self.script("sweep", self.spec(), "--out", "s", environment={"PYTHONPATH": self.folder / "none"})
        self.assertRegex(done.stdout, NO_MATPLOTLIB)
        self.assertEqual(len(self.rows()), 4)
        self.assertFalse((self.folder / "s" / "sweep_0.svg").exists())

    def test_who_writes_plots_asks_for_matplotlib_before_it_measures(self):
        (self.folder / "none").mkdir()
        self.file("none/matplotlib.py", "raise ImportError('not here')\n")
        for name in ("measure_tag_matching", "sweep_slot_memory", "sweep_barriers", "measure_in_network", "measure_collectives"):
            done = self.script(name, "--write", "--pod", self.folder / "nothing", expect=2,
                               environment={"PYTHONPATH": self.folder / "none"})
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, f"^scripts/{name}: {NO_MATPLOTLIB}$")

    def test_another_python_may_come_first(self):
        """One without matplotlib: the script begins anew in the system's."""
        system = pathlib.Path("/usr/bin/python3")
        if not system.exists() or subprocess.run([system, "-c", "import matplotlib"], capture_output=True).returncode:
            self.skipTest("python3-matplotlib is not installed")
        (self.folder / "bin").mkdir()
        first = self.file("bin/python3", f"#!/bin/sh\nexec {system} -S \"$@\"\n")  # no packages of the system
        first.chmod(0o755)
        done = self.script("sweep", self.spec(), "--out", "s", environment={"PATH": f"{first.parent}:{os.environ['PATH']}"})
        self.assertIn("s/sweep_0.svg", done.stdout)

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

    def test_a_changed_file_is_another_point(self):
        op = {"op": "all_reduce", "bytes": "1KiB"}
        stream = {"name": "s", "on": [0, 1], "ops": [op]}
        self.file("w.json", json.dumps({"streams": [stream]}))
        spec = self.spec(flags={"workload": "w.json"}, grid={"ipcq.n_slots": [4]}, plots=None)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()

        def sweep():
            return subprocess.run([str(harness.ROOT / "scripts/sweep"), str(spec), "--out", str(self.folder / "s")],
                                  capture_output=True, text=True, cwd=elsewhere)

        done = sweep()  # the workload is beside the spec, not where the command runs
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(kept)", sweep().stdout)
        self.file("w.json", json.dumps({"streams": [{**stream, "repeat": 2}]}))
        self.assertNotIn("(kept)", sweep().stdout)

    def test_a_tuner_table_that_is_not_there_is_named(self):
        bad = self.spec(grid={"ccl.tuner": ["absent.json"]}, plots=None)
        self.assertIn("grid.ccl.tuner: 'absent.json': no such file beside the spec",
                      self.script("sweep", bad, expect=2).stderr)

    def test_tasks_of_an_array_make_the_same_table(self):
        spec = self.spec(plots=None)
        for n in range(3):
            self.script("sweep", spec, "--out", "s", "--task", f"{n}/3", "--jobs", "1")
        self.assertFalse((self.folder / "s" / "sweep.csv").exists())
        self.script("sweep", spec, "--out", "s", "--collect")
        self.assertEqual(len(self.rows()), 4)

    def test_tasks_at_once_do_not_disturb_each_other(self):
        spec = self.spec(plots=None)
        words = [str(harness.ROOT / "scripts/sweep"), str(spec), "--out", "s", "--jobs", "1"]
        tasks = [subprocess.Popen([*words, "--task", f"{n}/3"], cwd=self.folder, stdout=subprocess.DEVNULL)
                 for n in range(3)]
        self.assertEqual([task.wait(timeout=harness.TIMEOUT_S) for task in tasks], [0, 0, 0])
        self.script("sweep", spec, "--out", "s", "--collect")
        self.assertEqual([r["status"] for r in self.rows()], ["ok"] * 4)

    def test_collecting_with_a_hole_names_it(self):
        spec = self.spec(plots=None)
        self.script("sweep", spec, "--out", "s", "--task", "0/2")
        done = self.script("sweep", spec, "--out", "s", "--collect", expect=1)
        for point in ("0001-algorithm=ring_1d,ipcq.n_slots=4", "0003-algorithm=intercube,ipcq.n_slots=4"):
            self.assertIn(f"no result of {point}", done.stderr)
        self.assertEqual(len(self.rows()), 2)
        self.script("sweep", spec, "--out", "s", "--task", "1/2")
        self.script("sweep", spec, "--out", "s", "--collect")

    def test_a_record_without_its_result_runs_again(self):
        spec = self.spec(grid={"ipcq.n_slots": [0, 4]}, plots=None)  # the first is refused and writes none
        self.script("sweep", spec, "--out", "s", expect=2)
        (self.folder / "s/points/0001-ipcq.n_slots=4/result.json").unlink()
        self.assertEqual(self.script("sweep", spec, "--out", "s", "--collect", expect=2).stderr.count("no result of"), 1)
        done = self.script("sweep", spec, "--out", "s", expect=2)
        self.assertEqual([line.endswith("(kept)") for line in done.stdout.splitlines()[:2]], [True, False])
        self.assertEqual([r["status"] for r in self.rows()], ["error", "ok"])

    def test_what_another_config_left_is_no_result(self):
        base = self.file("base.json", json.dumps({"extends": str(harness.CONFIGS / "small_pod.json")}))
        spec = self.spec(config=str(base), grid={"ipcq.slot_bytes": [4096]}, plots=None)
        self.script("sweep", spec, "--out", "s")
        base.write_text(json.dumps({"extends": str(harness.CONFIGS / "small_pod.json"), "ipcq": {"n_slots": 0}}))
        self.script("sweep", spec, "--out", "s", expect=2)
        self.assertEqual([(r["exit_code"], r["status"]) for r in self.rows()], [("2", "error")])

    def test_the_worst_exit_code_wins(self):
        from diecast.sweep import exit_code
        for n, code in enumerate((70, 5, 4, 3, 1, 6)):
            after = (70, 5, 4, 3, 1, 6)[n:]
            self.assertEqual(exit_code([{"exit_code": c} for c in (0, *reversed(after))]), code)
        # A deadlock among good points: all run, the table has all, the exit code says it.
        spec = self.spec(flags={"ranks": "sip", "algorithm": "ring_1d", "bytes": "4KiB"}, plots=None,
                         grid={"ipcq.match": ["sender", "address"]})
        self.script("sweep", spec, "--out", "s", expect=3)
        self.assertEqual([r["status"] for r in self.rows()], ["deadlock", "ok"])

    def interrupted(self, number, expect):
        """A sweep whose first two points are quick and whose others would take minutes."""
        spec = self.spec(flags={"algorithm": "ring_1d"}, plots=None, grid={"--iters": [1, 2, 999997, 999998, 999999]})
        words = [str(harness.ROOT / "scripts/sweep"), str(spec), "--out", "s", "--jobs", "2"]
        # In a shell's background job SIGINT is ignored, and what is ignored stays so in children.
        sweep = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(sweep.kill)
        under_way = [self.folder / "s/points" / f"000{n}-iters=99999{n + 5}" for n in (2, 3)]
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not all(path.exists() for path in under_way):
            self.assertIsNone(sweep.poll(), "ended before it was interrupted")
            self.assertLess(time.monotonic(), deadline, "its runs have not begun")
            time.sleep(0.1)
        children = self.children(sweep.pid)
        self.assertEqual(len(children), 2)
        children += [pid for child in children for pid in self.children(child)]  # each run has a process of its own
        for pid in children:
            self.addCleanup(self.end, pid)
        sweep.send_signal(number)  # to the script alone: a terminal's Ctrl-C also reaches the runs
        _, stderr = sweep.communicate(timeout=harness.limit_s(60))
        self.assertEqual(sweep.returncode, expect, stderr)
        self.assertIn("interrupted; the same command continues", stderr)
        self.assertEqual([pid for pid in children if pathlib.Path(f"/proc/{pid}").exists()], [], "orphans")
        self.assertEqual(sorted(r.name[:4] for r in (self.folder / "s/records").glob("*.json")), ["0000", "0001"])
        done = self.script("sweep", spec, "--out", "s", "--collect", expect=1)
        self.assertEqual(done.stderr.count("no result of"), 3)

    def end(self, pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def children(self, parent):
        """Processes that a process has started and that run."""
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[1]) == parent and fields[0] != "Z":
                found.append(int(stat.parent.name))
        return found

    def test_signals_end_the_runs_and_keep_what_is_done(self):
        self.interrupted(signal.SIGINT, 130)
        shutil.rmtree(self.folder / "s")
        self.interrupted(signal.SIGTERM, 143)

    def test_a_bad_point_costs_its_row(self):
        done = self.script("sweep", self.spec(grid={"ipcq.n_slots": [0, 4]}, plots=None), "--out", "s", expect=2)
        self.assertIn("ipcq.n_slots", done.stderr)
        self.assertEqual([(r["exit_code"], r["status"]) for r in self.rows()], [("2", "error"), ("0", "ok")])

    def test_what_all_points_get_wrong_is_said_once(self):
        done = self.script("sweep", self.spec(grid={"ipcq.n_slot": [1, 2, 4], "--bytes": ["1KiB", "2KiB"]}, plots=None), "--out", "s", expect=2)
        self.assertRegex(done.stderr, r"^scripts/sweep: \S+: grid.ipcq.n_slot: unknown key; did you mean ipcq.n_slots\?\n$")
        self.assertFalse((self.folder / "s").exists())
        done = self.script("sweep", self.spec(flags={"byts": "1KiB"}, plots=None), "--out", "s", expect=2)
        self.assertEqual((done.stderr.count("byts"), done.stdout.count(": exit 2")), (1, 4))
        for key in ("overrides", "hbm.preset", "ccl.algorithms.ring_1d.mapper", "sim.seed"):  # keys that no default config shows, too
            self.assertNotIn("unknown key", self.script("sweep", self.spec(grid={key: ["x"]}, plots=None), "--out", "s", expect=2).stderr)

    def test_sizes_are_bytes_in_every_row(self):
        spec = self.spec(grid={"--bytes": ["1KiB", "2KiB"], "ipcq.n_slots": [0, 4]}, plots=None)
        self.script("sweep", spec, "--out", "s", expect=2)
        self.assertEqual([(r["bytes"], r["status"]) for r in self.rows()],
                         [("1024", "error"), ("1024", "ok"), ("2048", "error"), ("2048", "ok")])

    def test_arguments_without_their_outputs(self):
        from diecast.points import without_outputs
        words = ["--quiet", "--out", "o", "--ccl-trace", "--vcd", "w.vcd", "--bytes", "1KiB", "--record", "r.json",
                 "--timeline-scope", "*", "--no-data"]
        self.assertEqual(without_outputs(words), ["--quiet", "--bytes", "1KiB", "--no-data"])

    def test_values_may_be_json(self):
        half = [{"match": "pod.sip0.cube_0_0.ucie_east", "set": {"modules": 1}}]
        spec = self.spec(grid={"overrides": [[], half], "sim.strict_memory": [True]}, plots=[],
                         flags={"algorithm": "intercube", "bytes": "16KiB", "no-data": False, "isolate": None})
        self.assertIn("sim.strict_memory=true: ok", self.script("sweep", spec, "--out", "s").stdout)
        rows = self.rows()
        self.assertEqual([json.loads(row["overrides"]) for row in rows], [[], half])
        for row in rows:
            alone = self.one(*harness.SMALL, "--algorithm", "intercube", "--bytes", "16KiB",
                             *harness.sets(f"overrides={row['overrides']}"))
            self.assertEqual(float(row["time_ns"]), alone["time_ns"])
            self.assertEqual(row["verified"], "True")
        for line in self.script("sweep", spec, "--list").stdout.splitlines():
            subprocess.run(f"{line} --check-config", shell=True, check=True, capture_output=True)

    def test_specs_may_have_comments(self):
        title = 'no // comment /* here */ " nor // here'
        text = self.spec(plots=[], title=title).read_text()
        spec = self.file("spec.json", "// why\n" + text.replace('"grid": {', '/* the\n grid */ "grid": { // of two keys\n'))
        self.assertEqual(len(self.script("sweep", spec, "--list").stdout.splitlines()), 4)
        self.assertEqual(Spec(spec).title, title)
        broken = self.file("broken.json", "// one\n/* two\n */ {,}")
        self.assertIn("line 3 column 6", self.script("sweep", broken, expect=2).stderr)

    def test_bad_specs(self):
        for changes, word in (({"schema": "x"}, "schema"), ({"grid": {"a": []}}, "grid.a"), ({"gird": {}}, "gird"),
                              ({"config": "absent.json"}, "absent.json"), ({"platform": "ls"}, "platform"),
                              ({"grid": {"a": [1, "1"]}}, "twice"), ({"grid": {"--collective": ["x"]}}, "flags"),
                              ({"plots": [{"x": "a"}]}, "plots[0]"), ({"grid": {"a": [1, None]}}, "grid.a: null"),
                              ({"plots": [{"x": "a", "y": "b", "xscale": "logg"}]}, "plots[0].xscale: 'logg'"),
                              ({"plots": [{"x": "a", "y": 3}]}, "plots[0].y: a number, 3; expected a text"),
                              ({"flags": {"--bytes": "1KiB"}}, "flags.--bytes: expected 'bytes'"),
                              ({"flags": {"out": "x"}}, "flags.out: the sweep itself sets this flag")):
            self.assertIn(word, self.script("sweep", self.spec(**changes), expect=2).stderr)
        self.script("sweep", self.file("no.json", "{"), expect=2)
        self.assertIn("schema: missing; expected 'diecast.sweep/1' (this is a config; --config reads it)",
                      self.script("sweep", harness.CONFIGS / "small_pod.json", expect=2).stderr)
        twice = self.file("twice.json", '{"schema": "diecast.sweep/1", "grid": {}, "grid": {}}')
        self.assertIn("grid: the key is given twice", self.script("sweep", twice, expect=2).stderr)
        self.assertIn("--jobs", self.script("sweep", self.spec(), "--jobs", "0", expect=2).stderr)
        self.script("sweep", self.spec(), "--task", "3/3", expect=2)
        self.assertIn("no sweep has run there", self.script("sweep", self.spec(), "--collect", "--out", "x", expect=2).stderr)

    def test_plots_of_what_no_table_has_are_refused_before_the_runs(self):
        expected = "; expected one of point, algorithm, ipcq.n_slots, exit_code, collective, "
        for changes, where in (({"x": "ipcq.nslots"},
                                f"x: no column 'ipcq.nslots'; did you mean ipcq.n_slots?{expected}"),
                               ({"x": ""}, f"x: no column ''{expected}"), ({"y": "time"}, "y: no column 'time'"),
                               ({"y": "time_n"}, "y: no column 'time_n'; did you mean time_ns?"),
                               ({"y": "stats"}, "y: no column 'stats'"), ({"y": "energy"}, "y: no column 'energy'"),
                               ({"series": "--algorith"}, "series: no column 'algorith'; did you mean algorithm?"),
                               ({"series": "ccl.root"}, "series: no column 'ccl.root'; expected")):
            plot = {"x": "ipcq.n_slots", "y": "time_ns", "series": "--algorithm", **changes}
            spec = self.spec(plots=[{"x": "point", "y": "stats.packets"}, plot])
            done = self.script("sweep", spec, "--out", "s", expect=2)
            self.assertIn(f"spec.json: plots[1].{where}", done.stderr)
            self.assertEqual((done.stdout, (self.folder / "s").exists()), ("", False))

    def test_plots_of_what_the_table_has_not_are_refused_without_matplotlib(self):
        (self.folder / "none").mkdir()
        self.file("none/matplotlib.py", "raise ImportError('not here')\n")
        for column, near in (("stats.packet", "stats.packets"), ("message", "stats.messages")):
            spec = self.spec(grid={"ipcq.n_slots": [0, 4]}, plots=[{"x": "ipcq.n_slots", "y": column}])
            done = self.script("sweep", spec, "--out", "s", expect=2, environment={"PYTHONPATH": self.folder / "none"})
            self.assertIn(f"spec.json: plots[0].y: no column {column!r}; did you mean {near}?; there are point, ",
                          done.stderr)
            self.assertEqual(len(self.rows()), 2)

    def test_flags_among_config_keys_are_told_apart(self):
        for key in JOB_FLAGS:
            for name in {key, key.replace("-", "_")}:
                done = self.script("sweep", self.spec(grid={name: [1]}, flags={}, plots=None), "--list", expect=2)
                self.assertIn(f"grid.{name}: expected '--{key}': in a grid, flags are named with --\n", done.stderr)
        job = self.run_pod("--help").stdout.partition("\nCollective:\n")[2].partition("\nOutput:\n")[0]
        found = {"config", "seed", *re.findall(r"^  --([a-z-]+)", job, re.M)} - {"ccl-trace"}  # which says what is printed
        self.assertEqual(set(JOB_FLAGS), found)

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
                      {"stderr_contains": "x"}, {"runs": [{"stats.absent": 1}]}, {"runs": [{"absent": None}]},
                      {"runs": [{"time_ns.x": None}]}, {"runs": [{"absent": "no such field"}]}):
            done = self.script("regress", self.suite(**wrong), expect=1)
            self.assertIn("FAILED", done.stdout, wrong)
            self.assertIn("reproduce: ", done.stdout)

    def test_it_says_how_much_and_what_was_meant(self):
        right = self.one(*harness.SMALL, "--bytes", "1KiB")["time_ns"]
        done = self.script("regress", self.suite(runs=[{"time_ns": {"value": right / 2, "within_percent": 1}}]), expect=1)
        self.assertIn(f"expected {right / 2} within 1%, got {right} (+100.00%)\n", done.stdout)
        self.assertIn("got 0\n", self.script("regress", self.suite(exit_code=3), expect=1).stdout)
        done = self.script("regress", self.suite(runs=[{"tim_ns": 1, "stats.packet": 1}]), expect=1)
        for near in ("time_ns", "stats.packets"):
            self.assertIn(f'got "no such field; did you mean {near}?"', done.stdout)
        done = self.script("regress", self.suite(run=[]), expect=2)
        self.assertIn("cases[0].expect.run: unknown key; did you mean runs?; known are", done.stderr)

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

    def test_bless_refuses_fields_that_no_run_has(self):
        suite = self.suite(runs=[{"wrong_element": 0}])
        before = suite.read_text()
        done = self.script("regress", suite, "--bless", expect=2)
        self.assertIn("a: expect.runs[0].wrong_element: a run has no such field", done.stderr)
        self.assertEqual(suite.read_text(), before)

    def test_bless_drops_no_comments(self):
        suite = self.suite(exit_code=0)
        suite.write_text("// /* why */\n" + suite.read_text())
        before = suite.read_text()
        self.script("regress", suite)
        self.assertIn("--bless would write it without its comments", self.script("regress", suite, "--bless", expect=2).stderr)
        self.assertEqual(suite.read_text(), before)

    def test_junit_names_the_failure(self):
        self.script("regress", self.suite(exit_code=4), "--junit", "j.xml", expect=1)
        failure = xml.parse(self.folder / "j.xml").getroot().find("testsuite/testcase/failure")
        self.assertIn("exit_code: expected 4, got 0", failure.get("message"))

    def test_files_are_beside_the_suite_wherever_it_runs(self):
        stream = {"name": "s", "on": [0, 1], "ops": [{"op": "all_reduce", "bytes": "1KiB"}]}
        self.file("w.json", json.dumps({"streams": [stream]}))
        self.file("m.json", json.dumps({"extends": str(harness.CONFIGS / "small_pod.json")}))
        case = {"name": "a", "config": "m.json", "workload": "w.json", "expect": {"runs": [{"verified": True}]}}
        suite = self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for name in (str(suite), "../suite.json"):
            done = subprocess.run([str(harness.ROOT / "scripts/regress"), name], cwd=elsewhere, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "suite/a: ok"), done.stderr + done.stdout)
        case["workload"] = "absent.json"
        suite = self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        self.assertIn("cases[0].workload: 'absent.json': no such file beside the suite",
                      self.script("regress", suite, expect=2).stderr)

    def test_bad_suites(self):
        for text in ("{}", '{"schema": "diecast.suite/1", "cases": []}', "[", '{"schema": "diecast.suite/1", "cases": '
                     '[{"name": "a", "expct": {}}]}', '{"schema": "diecast.suite/1", "cases": [{"name": "a"}, '
                     '{"name": "a"}]}', '{"schema": "diecast.suite/1", "cases": [{"name": "a", "config": "no"}]}',
                     '{"schema": "diecast.suite/1", "schema": "diecast.suite/1", "cases": [{"name": "a"}]}',
                     '{"schema": "diecast.suite/1", "cases": [{"name": "a", "expect": {"runs": [{"time_ns": {"value": '
                     '"1", "within_percent": 1}}]}}]}', *('{"schema": "diecast.suite/1", "cases": [{"name": "a", %s}]}' % wrong
                      for wrong in ('"config": 5', '"workload": []', '"expect": {"stderr_contains": 5}', '"expect": {"status": 1}'))):
            errors = self.script("regress", self.file("suite.json", text), expect=2).stderr
            self.assertIn("suite.json", errors)
            self.assertNotIn("Traceback", errors)

    def test_bless_takes_what_stderr_says(self):
        case = {"name": "a", "args": ["--bytes", "-1"], "expect": {"exit_code": 2, "stderr_contains": "else"}}
        suite = self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        self.assertIn("stderr_contains", self.script("regress", suite, "--bless").stdout)
        self.assertIn("--bytes", json.loads(suite.read_text())["cases"][0]["expect"]["stderr_contains"])
        self.script("regress", suite)


class Endings(ScriptCase):
    """Scripts end as the platforms do, whatever becomes of them or of what they print."""

    def shell(self, words):
        return subprocess.run(["bash", "-c", words], capture_output=True, text=True, cwd=self.folder)

    def test_what_is_printed_may_go_nowhere(self):
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", self.folder / "a")
        for words in ("compare a a", "energy a", f"sweep {harness.ROOT}/docs/examples/root_place.json --list"):
            words = f"{harness.ROOT}/scripts/{words}"
            gone = self.shell(f"{words} | true; echo ${{PIPESTATUS[0]}}")
            self.assertEqual(gone.stderr, "", words)
            self.assertIn(gone.stdout.strip(), ("0", "141"), words)  # it may have ended before its reader
            full = self.shell(f"{words} > /dev/full")
            self.assertEqual((full.returncode, full.stderr.count("\n")), (5, 1), full.stderr)
            self.assertIn("standard output: No space left on device", full.stderr)
            closed = self.shell(f"{words} >&-")
            self.assertEqual((closed.returncode, closed.stderr.count("\n")), (5, 1), closed.stderr)
            self.assertIn("standard output: is closed", closed.stderr)
        few = self.shell(f"ulimit -n 6; {harness.ROOT}/scripts/degrade - --counts 0")
        self.assertEqual((few.returncode, few.stderr.count("Too many open files")), (71, 1), few.stderr)

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def test_a_full_disk_leaves_no_part_of_a_file(self):
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64KiB:256KiB:x4", "--no-data", "--out", "out")
        self.file("flight.json", json.dumps({"schema": "diecast.flight/1", "version": "2.4", "pg_config": {}, "entries": [],
                                             "ranks": [{"rank": 0, "pg_status": {"0": "x" * 200}}]}))
        case = {"name": "a", "args": ["--bytes", "-1"], "expect": {"exit_code": 2}}  # a run that writes nothing
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        goal = harness.ROOT / "docs/examples/dissemination_16.goal"
        (self.folder / "torch").mkdir()
        for words, target in ((("report", "out", "--output", "r.html"), "r.html"),
                              (("energy", "out", "--plot", "e.svg"), "e.svg"),
                              (("goal2workload", goal, "--out", "w.json"), "w.json"),
                              (("alphabeta", "out", "--csv", "f.csv"), "f.csv"),
                              (("alphabeta", "out", "--astra", "n.yml"), "n.yml"),
                              (("flight2torch", "flight.json", "torch"), "torch/nccl_trace_rank_0"),
                              (("regress", "suite.json", "--junit", "j.xml"), "j.xml"),
                              (("regress", "suite.json", "--bless"), "suite.json")):
            for before in (None, "what was there"):
                if before and target != "suite.json":
                    self.file(target, before)
                    if words[0] == "flight2torch":  # replaces its own dumps alone
                        (self.folder / target).write_bytes(pickle.dumps({"written_by": "scripts/flight2torch", "": before}, 2))
                there = self.files()
                done = self.script(*words, expect=5, file_bytes=60)
                self.assertIn("File too large", done.stderr, words)
                self.assertNotIn("Traceback", done.stderr, words)
                self.assertEqual(self.files(), there, words)
            self.script(*words)
            self.assertNotEqual((self.folder / target).read_text(errors="replace"), "what was there")

    def test_a_full_disk_leaves_no_part_of_a_sweep(self):
        spec = self.file("s.json", json.dumps({
            "schema": "diecast.sweep/1", "config": str(harness.CONFIGS / "small_pod.json"),
            "plots": [{"x": "bytes", "y": "time_ns"}], "grid": {"--bytes": ["1KiB", "2KiB"]}}))
        path = {"PATH": plotting_path() or os.environ["PATH"]}
        self.script("sweep", spec, "--out", "s", environment=path)
        there = self.files()
        for limit in (60, 8000):  # the tables, or the picture
            done = self.script("sweep", spec, "--out", "s", "--collect", expect=5 if limit < 8000 or plotting_path() else 0,
                               environment=path, file_bytes=limit)
            self.assertEqual(self.files(), there)
            if done.returncode:
                self.assertRegex(done.stderr, r"^scripts/sweep: --out s/sweep[_.]\S+: File too large; expected a file")

    def test_files_are_written_as_before(self):
        """A link stays one, permissions stay, and what is no file is written in place."""
        old = self.file("old", "old")
        old.chmod(0o640)
        (self.folder / "link").symlink_to("old")
        write_whole(self.folder / "link", "new")
        self.assertEqual((old.read_text(), stat.S_IMODE(old.stat().st_mode)), ("new", 0o640))
        self.assertTrue((self.folder / "link").is_symlink())
        mask = os.umask(0o027)
        try:
            write_whole(str(self.folder / "fresh"), b"\x00")
        finally:
            os.umask(mask)
        self.assertEqual(stat.S_IMODE((self.folder / "fresh").stat().st_mode), 0o640)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["fresh", "link", "old"])
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", self.folder / "a")
        report = harness.ROOT / "scripts/report"
        self.assertIn("</html>\n/dev/stdout\n", self.shell(f"{report} a --output /dev/stdout | cat").stdout)
        self.assertIn("</html>\n/dev/stdout\n", self.shell(f"{report} a --output /dev/stdout >> f; cat f").stdout)
        for place, why in ((".", "is a folder"), ("/dev/full", "No space left on device"), ("no/r", "there is no folder no")):
            done = self.script("report", "a", "--output", place, expect=5)
            self.assertEqual(done.stderr, f"scripts/report: --output {place}: {why}; expected a file that can be written\n")

    def test_help_is_printed_or_not(self):
        full = self.shell(f"{harness.ROOT}/scripts/compare --help > /dev/full")
        self.assertEqual((full.returncode, full.stderr), (5, "scripts/compare: standard output: No space left on device\n"))

    def test_a_reader_that_goes_ends_a_study(self):
        spec = self.file("s.json", json.dumps({"schema": "diecast.sweep/1", "config": str(harness.CONFIGS / "small_pod.json"),
                                               "grid": {"--bytes": ["1KiB", "2KiB", "4KiB", "8KiB"]}}))
        gone = self.shell(f"{harness.ROOT}/scripts/sweep {spec} --jobs 1 | head -1; echo ${{PIPESTATUS[0]}}")
        self.assertEqual(gone.stdout.splitlines()[-1], "141", gone.stdout)
        self.assertEqual(gone.stderr, "")

    def test_control_c_is_no_traceback(self):
        """While a run is under way: a binary that says so and then does as the real one."""
        (self.folder / "bin").mkdir()
        binary = self.file("bin/diecast-pod", f"#!/bin/sh\ntouch '{self.folder}/begun'\nexec '{harness.POD}' \"$@\"\n")
        binary.chmod(0o755)
        for words in (("sensitivity",), ("degrade", "--counts", "0,1")):
            begun = self.folder / "begun"
            begun.unlink(missing_ok=True)
            done = self.start(harness.ROOT / "scripts" / words[0], harness.CONFIGS / "small_pod.json", *words[1:], "--jobs", "1", "--",
                              "--bytes", "1MiB", "--iters", "100", start_new_session=True,
                              env={**os.environ, "DIECAST_BIN": str(binary.parent)},
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
            deadline = time.monotonic() + harness.TIMEOUT_S
            while not begun.exists():
                self.assertIsNone(done.poll(), "ended before its first run")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            os.killpg(done.pid, signal.SIGINT)
            ended = self.ended(done, within_s=60)
            self.assertEqual((ended.code, ended.stderr), (130, f"scripts/{words[0]}: interrupted\n"))


class Energy(ScriptCase):
    def test_parts_of_a_launch_as_table_and_picture(self):
        rows = self.result(*harness.SMALL, "--algorithm", "ring_1d,intercube", "--ranks", "cube", "--bytes", "4KiB",
                           "--iters", 2, "--out", self.folder / "out")["runs"]
        lines = self.script("energy", self.folder / "out", "--plot", "e.svg").stdout.splitlines()
        head = lines[0].split()
        for row, line in zip(rows, lines[-2:]):
            self.assertIn(row["algorithm"], line)
            cells = dict(zip(reversed(head[:-4]), reversed(line.split()[:-2])))  # the last are the sum and the bits'
            self.assertAlmostEqual(float(cells["tcm"]), row["energy"]["tcm_pj"] / 2e6, 3)
            self.assertAlmostEqual(float(line.split()[-2]), row["energy"]["per_launch_pj"] / 1e6, 3)
            self.assertAlmostEqual(float(line.split()[-1]), row["energy"]["pj_per_bit_reduced"], 2)
        picture = (self.folder / "e.svg").read_text()
        for text in ("intercube", "die_to_die", "idle"):
            self.assertIn(text, picture)

    def test_what_is_no_result(self):
        self.assertIn("scripts/energy: ", self.script("energy", self.folder / "absent", expect=2).stderr)
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", *harness.sets("sim.limit_ms=1", "ccl.start_delays=*.pe1=5000000"),
                     "--out", "cut", expect=3)
        self.assertIn("no run with an energy account whose launch ended", self.script("energy", "cut", expect=2).stderr)

    def test_what_is_wrong_in_a_result_is_named(self):
        out = self.folder / "out"
        good = self.result(*harness.SMALL, "--bytes", "1KiB", "--out", out)

        def changed(**row):
            return {**good, "runs": [{k: v for k, v in {**good["runs"][0], **row}.items() if v is not None}]}

        for content, expected in (([], "a list; expected an object"), ({**good, "schema": "x"}, "schema: 'x'; expected"),
                                  ({k: v for k, v in good.items() if k != "runs"}, "runs: missing; expected a list"),
                                  ({**good, "runs": {}}, "runs: an object; expected a list"),
                                  ({**good, "platform": 5}, "platform: a number, 5; expected a text"),
                                  ({**good, "runs": [5]}, "runs[0]: a number, 5; expected an object"),
                                  (changed(status=None), "runs[0].status: missing; expected a text"),
                                  (changed(time_ns="5"), "runs[0].time_ns: a text, '5'; expected a number"),
                                  (changed(energy=[1]), "runs[0].energy: a list; expected an object"),
                                  (changed(energy={"total_pj": 1}), "runs[0].energy.router_pj: missing; expected a number")):
            (out / "result.json").write_text(json.dumps(content))
            for name in ("energy", "alphabeta", "report"):
                done = self.script(name, out, expect=2)
                self.assertIn(f"{out / 'result.json'}: ", done.stderr)
                self.assertIn(expected, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        for place, words in ((out / "result.json", "no folder with a result.json; expected that of a run, which --out names"),
                             (self.folder, "no folder with a result.json")):
            self.assertIn(f"{place}: {words}", self.script("report", place, expect=2).stderr)
        (out / "result.json").write_bytes(b"\xff{}")
        self.assertIn("result.json: byte 0 is no UTF-8", self.script("energy", out, expect=2).stderr)


class Studies(ScriptCase):

    def test_elasticities_agree_with_runs_and_with_the_path(self):
        config, job = harness.CONFIGS / "small_pod.json", ("--algorithm", "intercube", "--bytes", "64KiB")
        keys = ("pe.vector_lanes", "sip_link.latency_ns", "hbm.trcd_rd_ns")
        self.script("sensitivity", config, *(w for k in keys for w in ("--key", k)), "--csv", "s.csv", "--plot", "s.svg",
                    "--jitter", "1", "--", *job)
        picture = (self.folder / "s.svg").read_text()
        self.assertIn("<title>pe.vector_lanes time: -", picture)
        self.assertIn("<title>sip_link.latency_ns time: +", picture)
        self.assertIn("<title>sip_link.latency_ns energy: +", picture)
        self.assertNotIn("hbm.trcd_rd_ns", picture)  # has no effect
        rows = {r["key"]: r for r in csv.DictReader((self.folder / "s.csv").read_text().splitlines())}
        self.assertEqual(set(rows), set(keys))
        out = self.folder / "out"
        plain = self.one("--config", config, *job, "--out", out)["time_ns"]
        share = {c["cause"]: c["share"] for c in json.loads((out / "critical_path.json").read_text())["causes"]}
        for key, row in rows.items():
            again = self.one("--config", config, *job, *harness.sets(f"{key}={row['to']}"))["time_ns"]
            self.assertEqual(float(row["time ns"]), again, key)
            ratio = float(row["to"]) / float(row["from"])
            self.assertAlmostEqual(float(row["elasticity"]), math.log(again / plain) / math.log(ratio), 9, key)
        self.assertEqual(float(rows["hbm.trcd_rd_ns"]["elasticity"]), 0)
        self.assertLess(float(rows["pe.vector_lanes"]["elasticity"]), -0.01)
        # More lanes: between no gain and all of the vector unit's share; a longer link: at most the fabric's share.
        self.assertGreater(float(rows["pe.vector_lanes"]["elasticity"]), -share["vector"] * 1.2)
        self.assertGreater(float(rows["sip_link.latency_ns"]["elasticity"]), 0)
        fabric = sum(value for cause, value in share.items() if cause.endswith(", between SIPs"))
        self.assertLess(float(rows["sip_link.latency_ns"]["elasticity"]), fabric * 1.2)

    def test_a_lost_link_costs_time_and_the_table_says_which(self):
        done = self.script("degrade", harness.CONFIGS / "small_pod.json", "--of", "sip", "--override",
                           '{"gbytes_s": 8}', "--csv", "d.csv", "--", "--bytes", "64KiB", "--algorithm", "ring_1d")
        rows = list(csv.DictReader((self.folder / "d.csv").read_text().splitlines()))
        self.assertEqual([r["part"] for r in rows], ["pod.sip0.e-sip1.w"])
        self.assertGreater(float(rows[0]["slowdown"]), 1.05)
        self.assertIn("unchanged: ", done.stdout)

    def test_missing_parts_cost_what_a_run_without_them_takes(self):
        job = ("--bytes", "16KiB", "--algorithm", "hierarchical_3level")
        self.script("degrade", harness.CONFIGS / "small_pod.json", "--of", "pe", "--parts", "2", "--jitter", "1", "--csv",
                    "p.csv", "--", *job)
        rows = list(csv.DictReader((self.folder / "p.csv").read_text().splitlines()))
        self.assertEqual({r["part"] for r in rows}, {"pod.sip0.cube_0_0.pe0", "pod.sip1.cube_0_0.pe0"})
        for row in rows:
            again = self.one(*harness.SMALL, *job, "--set", "overrides=" + json.dumps(
                [{"match": row["part"], "set": {"enabled": False}}]))
            self.assertEqual((float(row["time ns"]), int(row["ranks"])), (again["time_ns"], 15))
        self.script("degrade", harness.CONFIGS / "small_pod.json", "--of", "die", "--counts", "0,4", "--jitter", "1", "--csv", "d.csv",
                    "--", *job)
        whole, slow = csv.DictReader((self.folder / "d.csv").read_text().splitlines())
        self.assertEqual(float(whole["slowdown"]), 1)
        self.assertEqual(float(slow["least ns"]), float(slow["most ns"]))  # all four dies: one choice
        self.assertEqual(float(slow["median ns"]),
                         self.one(*harness.SMALL, *job, *harness.sets("noc.hop_cycles=18",
                                  *self.own_buffers()))["time_ns"])

    def own_buffers(self):
        """The automatic buffers of the machine as it was: a slow die keeps them."""
        return ("noc.vc_buffer_flits=32", "noc.sideband_buffer_flits=16")

    def test_what_cannot_be_missing_is_counted_as_refused(self):
        done = self.script("degrade", harness.CONFIGS / "small_pod.json", "--of", "pe", "--counts", "1", "--draws", "2",
                           "--csv", "m.csv", "--", "--bytes", "4KiB", "--algorithm", "mesh_2d", "--ranks", "pe")
        row, = csv.DictReader((self.folder / "m.csv").read_text().splitlines())
        self.assertEqual((row["refused"], row["median ns"]), ("2", ""))
        self.assertIn("do not fill a rectangle", done.stdout)
        self.assertIn("expected counts like", self.script("degrade", "-", "--counts", "x", expect=2).stderr)
        self.assertIn("has 16 PEs", self.script("degrade", harness.CONFIGS / "small_pod.json", "--of", "pe", "--counts", "17",
                                                "--", "--bytes", "1KiB", expect=2).stderr)
        self.assertIn("--plot", self.script("degrade", "-", "--plot", "x.svg", expect=2).stderr)

    def test_what_cannot_be_written_is_said_before_the_runs(self):
        config = harness.CONFIGS / "small_pod.json"
        for name, more in (("degrade", ("--counts", "0")), ("sensitivity", ("--key", "noc.hop_cycles"))):
            for flag in ("--plot", "--csv"):
                for place, why in (("nowhere/x.svg", "there is no folder nowhere"), (".", "is a folder")):
                    done = self.script(name, config, *more, flag, place, expect=5)
                    self.assertIn(f"scripts/{name}: {flag} {place}: {why}; expected a file that can be written", done.stderr)
                    self.assertEqual(done.stdout, "")
                # A disk may be full in the end.
                done = self.script(name, config, *more, flag, "/dev/full", "--", "--bytes", "1KiB", expect=5)
                self.assertEqual(done.stderr, f"scripts/{name}: {flag} /dev/full: No space left on device; expected a file that can be "
                                 "written\n")

    def test_a_full_disk_leaves_no_part_of_a_table(self):
        old = self.file("t.csv", "what was there")
        code = ("from diecast import endings, whole_file; "
                "endings.end_with(lambda: whole_file.write_whole(whole_file.writes('t.csv', '--csv'), 'x' * 100))")
        done = self.python(code, 60)
        self.assertEqual((done.returncode, done.stderr),
                         (5, "scripts/-c: --csv t.csv: File too large; expected a file that can be written\n"))
        self.assertEqual(([path.name for path in self.folder.iterdir()], old.read_text()), (["t.csv"], "what was there"))

    def test_energy_is_that_of_the_whole_machine(self):
        job = ("--algorithm", "ring_1d", "--bytes", "4KiB")
        self.script("sensitivity", harness.CONFIGS / "small_pod.json", "--key", "sip_link.pj_per_bit", "--csv", "s.csv",
                    "--", *job)
        row, = csv.DictReader((self.folder / "s.csv").read_text().splitlines())
        energy = [self.one(*harness.SMALL, *job, *harness.sets(f"sip_link.pj_per_bit={row[k]}"))["energy"]["total_pj"]
                  for k in ("from", "to")]
        expected = math.log(energy[1] / energy[0]) / math.log(float(row["to"]) / float(row["from"]))
        self.assertGreater(expected, 0)
        self.assertAlmostEqual(float(row["energy elast."]), expected, 9)

    def test_keys_of_energy_are_ranked_by_energy(self):
        job = ("--algorithm", "intercube", "--bytes", "64KiB")
        keys = ("noc.hop_cycles", "energy.cube_idle_mw", "host.host_cycles", "energy.hbm_pj_per_byte")
        done = self.script("sensitivity", harness.CONFIGS / "small_pod.json", *(w for k in keys for w in ("--key", k)), "--by",
                           "energy", "--jitter", "1", "--csv", "s.csv", "--plot", "s.svg", "--", *job)
        rows = list(csv.DictReader((self.folder / "s.csv").read_text().splitlines()))
        found = [abs(float(row["energy elast."])) for row in rows]
        self.assertEqual(found, sorted(found, reverse=True))
        by_key = {row["key"]: row for row in rows}
        self.assertEqual(set(by_key), set(keys))
        self.assertEqual(rows[0]["key"], "energy.cube_idle_mw")
        # What a coefficient costs is its part of the account, exactly: doubled, it comes once more.
        energy = self.one(*harness.SMALL, *job)["energy"]
        launch = 4 * 500 / (4 * 500 + 16 * 20)  # the cubes' share of the idle power
        more = 1 + energy["idle_pj"] * launch / energy["total_pj"]
        self.assertAlmostEqual(float(by_key["energy.cube_idle_mw"]["energy elast."]), math.log2(more), 6)
        self.assertEqual(float(by_key["energy.cube_idle_mw"]["elasticity"]), 0)
        self.assertGreater(float(by_key["host.host_cycles"]["energy elast."]), 0)
        self.assertIn("<title>energy.cube_idle_mw energy: +", (self.folder / "s.svg").read_text())
        self.assertRegex(done.stdout, rf"energy.cube_idle_mw +500 +1000 +{self.one(*harness.SMALL, *job)['time_ns']:,.0f} ")

    def test_a_workload_may_follow_the_config(self):
        stream = {"name": "s", "on": [0, 1], "ops": [{"op": "compute", "cycles": 4000}]}
        self.file("w.json", json.dumps({"streams": [stream]}))
        config, key = harness.CONFIGS / "small_pod.json", ("--key", "pe.task_quantum_cycles")
        shown = self.script("sensitivity", config, "w.json", *key, "--all").stdout
        self.assertEqual(self.script("sensitivity", config, *key, "--all", "--", "--workload", "w.json").stdout, shown)
        self.assertIn("the workload is w.json already",
                      self.script("sensitivity", config, "w.json", "--", "--workload", "w.json", expect=2).stderr)
        self.assertIn("pod.sip0.e-sip1.w", self.script("degrade", config, "w.json", "--of", "sip", "--override",
                                                       '{"gbytes_s": 8}').stdout)

    def test_flags_that_run_nothing_are_refused(self):
        for name in ("degrade", "sensitivity"):
            for flag in ("--help", "--dump-config", "--diagnose", "--check-config", "--version", "--list=presets"):
                done = self.script(name, "-", "--", flag, expect=2)
                self.assertIn(f"{flag.split('=')[0]} after --: runs nothing that could be timed", done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_files_that_all_runs_would_write_are_refused(self):
        for name in ("degrade", "sensitivity"):
            for flag in ("vcd", "timeline", "record"):
                done = self.script(name, "-", "--", f"--{flag}", "x", expect=2)
                self.assertIn(f"--{flag} after --: every run of the study would write that file", done.stderr)

    def test_a_factor_beyond_reason_is_refused(self):
        for factor in ("inf", "nan", "1e300", "1", "-2", "x"):
            self.assertIn(f"--factor: {factor!r}; expected more than 1 and at most 100",
                          self.script("sensitivity", "-", f"--factor={factor}", expect=2).stderr)
        done = self.script("sensitivity", harness.CONFIGS / "small_pod.json", "--key", "noc.flit_bytes", "--factor", "1.5",
                           "--", "--bytes", "1KiB")
        self.assertIn("not changed by 1.5, but as the table says: noc.flit_bytes", done.stdout)  # a power of two

    def test_settings_that_no_part_takes_are_usage(self):
        config = harness.CONFIGS / "small_pod.json"
        for setting, expected in (('{"enabledd": false}', "enabledd: unknown key; did you mean enabled?"),
                                  ('{"enabled": 5}', "enabled: wrong type"), ('{"gbytes_s": 5}', "gbytes_s")):
            done = self.script("degrade", config, "--of", "pe", "--override", setting, "--", "--bytes", "1KiB", expect=2)
            self.assertIn(f"--override {setting}: {expected}" if "gbytes" not in setting else expected, done.stderr)
        for of, sets, what in (("sip", "pod.sips=1", "links between SIPs"), ("ucie", "sip.columns=1", "links between cubes")):
            more = ("--set", "sip.rows=1") if of == "ucie" else ()
            done = self.script("degrade", config, "--of", of, "--set", sets, *more, "--", "--bytes", "1KiB", expect=2)
            self.assertIn(f"--of {of}: the machine has no {what}", done.stderr)

    def test_compare_shows_energy_and_what_one_side_lacks(self):
        for folder, slots in (("a", 1), ("b", 4)):
            self.run_pod(*harness.SMALL, "--bytes", "64KiB", *harness.sets(f"ipcq.n_slots={slots}"), "--out", folder)
        for folder, extra in (("a", "only_a"), ("b", "only_b")):
            file = self.folder / folder / "result.json"
            document = json.loads(file.read_text())
            document["runs"][0]["stats"][extra] = 7
            file.write_text(json.dumps(document))
        run, = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"]
        stats = {name: (old, new) for name, old, new in run["stats"]}
        self.assertEqual((stats["only_a"], stats["only_b"]), ((7, None), (None, 7)))
        energy = {name: (old, new) for name, old, new in run["energy"]}
        for n, folder in enumerate(("a", "b")):
            row = json.loads((self.folder / folder / "result.json").read_text())["runs"][0]
            self.assertEqual(energy["total_pj"][n], row["energy"]["total_pj"])
        self.assertIn("total_pj", self.script("compare", "a", "b").stdout)

    def test_bad_studies(self):
        self.script("sensitivity", "absent.json", expect=2)
        self.script("sensitivity", "-", "--key", "no.key", "--set", "pod.sips=1", "--", "--bytes", "1KiB", expect=2)
        self.script("sensitivity", "-", "--", "--config", "x.json", expect=2)
        self.script("degrade", "-", "--override", "{", expect=2)
        for name, jobs in (("degrade", "0"), ("sensitivity", "--")):
            self.assertIn(f"'{jobs}'; expected a ", self.script(name, "-", f"--jobs={jobs}", expect=2).stderr)


class Compare(ScriptCase):
    def test_a_quickstart_with_flags_builds_nothing(self):
        done = self.script("quickstart", "--bytes", "1KiB", expect=2)
        self.assertRegex(done.stdout + done.stderr, "^scripts/quickstart: '--bytes 1KiB'; expected nothing or a folder")

    def test_rank_sets_are_not_compared(self):
        for out, ranks in (("a", "cube"), ("b", "pe")):
            self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", "--ranks", ranks, "--out", out)
        done = self.script("compare", "a", "b")
        self.assertNotIn("faster", done.stdout)
        self.assertIn("all_reduce ring_1d f16 sum 4,096 bytes, 4 cube", done.stdout)
        self.assertIn("all_reduce ring_1d f16 sum 4,096 bytes, 16 pe", done.stdout)

    def test_what_auto_chose_is_compared_with_what_it_chose_there(self):
        for out, more in (("a", ()), ("b", harness.sets("ccl.algorithm_rules=all_reduce:0-1GiB=three_level"))):
            self.run_pod(*harness.SMALL, "--algorithm", "auto", "--bytes", "1KiB:4KiB", "--out", out, *more)
        runs = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"]
        self.assertEqual([run["what"]["bytes"] for run in runs], [1024, 2048, 4096])
        self.assertEqual({run["against"]["algorithm"] for run in runs}, {"three_level"})
        self.assertNotIn("three_level", {run["what"]["algorithm"] for run in runs})

    def test_a_link_that_holds_up_is_among_those_that_changed(self):
        slow = harness.sets('faults=[{"kind":"link_degraded","where":"pod.sip1.cube_0_0.ucie_east","factor":64}]')
        for out, more in (("a", ()), ("b", slow)):
            self.run_pod(*harness.SMALL, "--algorithm", "two_level", "--bytes", "64KiB", "--out", out, *more)
        run, = json.loads(self.script("compare", "a", "b", "--format", "json").stdout)["runs"]
        self.assertIn("pod.sip1.cube_0_0.ucie_east", [link[0] for link in run["links"]])

    def test_a_link_of_one_machine_alone_has_no_load_on_the_other(self):
        for out in ("1", "2"):
            self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64KiB", *harness.sets(f"sip.rows={out}"), "--out", out)
        self.assertRegex(self.script("compare", "1", "2").stdout, r"\.cube_\d_1\.\S+ +- +\d+\.\d% +- +[1-9]\S+ +- +\d")


class AlphaBeta(ScriptCase):

    def test_a_line_is_found_and_explains_the_runs(self):
        sys.path.insert(0, str(harness.ROOT / "python"))
        from diecast.alphabeta import line
        alpha, beta = line([(n, 700 + 0.25 * n) for n in (1, 50, 4096, 1 << 20)])
        self.assertAlmostEqual(alpha, 700, 6)
        self.assertAlmostEqual(beta, 0.25, 9)
        self.assertGreater(line([(1024, 1.0), (4096, 1e15)])[1], 0)  # times of which one counts for nothing
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "16KiB:1MiB:x4", "--out", "out")
        self.script("alphabeta", "out", "--csv", "f.csv", "--astra", "n.yml")
        fit, = csv.DictReader((self.folder / "f.csv").read_text().splitlines())
        self.assertLess(float(fit["worst_relative_error"]), 0.2)
        lines = dict(l.split(" #")[0].split(": ") for l in (self.folder / "n.yml").read_text().splitlines()
                     if not l.startswith("#"))
        self.assertEqual((lines["topology"], lines["npus_count"]), ("[ Ring ]", "[ 16 ]"))
        latency, rate = (float(lines[k].strip("[] ")) for k in ("latency", "bandwidth"))
        size = 1 << 20
        self.assertAlmostEqual(30 * (latency + size / 16 / rate),
                               float(fit["alpha_ns"]) + float(fit["beta_ns_per_byte"]) * size, delta=1)

    def test_what_is_no_ring_is_refused(self):
        from diecast.alphabeta import Fit, astra_network

        def network(alpha, beta, ranks):
            row = {"collective": "all_reduce", "algorithm": "ring_1d", "rank_set": "pe", "ranks": ranks}
            return astra_network(Fit(row, [(n, alpha + beta * n) for n in (1000, 2000)]))

        self.assertIn("npus_count: [ 16 ]", network(700, 0.25, 16))
        for alpha, beta, ranks in ((-1, 0.25, 16), (700, 0, 16), (700, -0.1, 16), (700, 0.25, 1)):
            with self.assertRaisesRegex(BadInput, "expected alpha of at least 0"):
                network(alpha, beta, ranks)

    def test_rank_counts_are_fitted_apart(self):
        from diecast.alphabeta import fits
        rows = [{"status": "ok", "collective": "c", "algorithm": "a", "rank_set": "pe", "ranks": n, "bytes": b,
                 "time_ns": n * 100 + b} for n in (2, 4) for b in (8, 16, 32)]
        self.assertEqual([(f.ranks, round(f.alpha_ns)) for f in fits(rows)], [(2, 200), (4, 400)])

    def test_too_little_to_fit(self):
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--out", "out")
        self.assertIn("two sizes", self.script("alphabeta", "out", expect=2).stderr)
        self.script("alphabeta", "absent", expect=2)


class Module(ScriptCase):

    def test_run_and_load(self):
        done = diecast.run(harness.CONFIGS / "small_pod.json", bytes="4KiB", sets={"ipcq.n_slots": 2},
                           out=self.folder / "out")
        again = self.one(*harness.SMALL, "--bytes", "4KiB", *harness.sets("ipcq.n_slots=2"))
        self.assertEqual(done.runs[0]["time_ns"], again["time_ns"])
        loaded = diecast.load(self.folder / "out")
        self.assertEqual(len(loaded.rows("links.csv")), len(done.rows("links.csv")))
        self.assertEqual(loaded.critical_path()["time_ns"], again["time_ns"])
        gone = diecast.run(harness.CONFIGS / "small_pod.json", bytes="4KiB", sets={"ipcq.n_slots": 2})  # its folder is gone
        tables = [file.name for file in (self.folder / "out").glob("*.csv")]
        self.assertIn("health.csv", tables)
        for table in tables:
            self.assertEqual(gone.rows(table), loaded.rows(table), table)
        self.assertEqual(len(diecast.run(harness.CONFIGS / "small_pod.json", algorithm="ring_1d", no_data=True).rows("ipcq.csv")), 32)
        lost = [{"match": "pod.sip0.cube_0_0.ucie_east", "set": {"modules": 1}}]
        slow = diecast.run(harness.CONFIGS / "small_pod.json", bytes="4KiB", no_data=True, sets={"overrides": lost})
        self.assertEqual(slow.config["overrides"], lost)
        with self.assertRaises(diecast.MachineFailed) as failed:
            diecast.run(sets={"ipcq.n_slots": 0})
        self.assertEqual(failed.exception.code, 2)
        with self.assertRaises(diecast.BadResults):
            diecast.load(self.folder / "absent")

    def test_an_installation_has_its_binaries_beside(self):
        share = self.folder / "usr" / "share" / "diecast"
        for name in ("scripts", "python"):
            shutil.copytree(harness.ROOT / name, share / name)
        (self.folder / "usr" / "bin").symlink_to(BIN)
        plain = {key: value for key, value in os.environ.items() if key != "DIECAST_BIN"}
        done = subprocess.run([share / "scripts" / "sweep", harness.ROOT / "docs/examples/slots.json", "--list"], env=plain,
                              capture_output=True, text=True)
        self.assertIn(str(self.folder / "usr/bin/diecast-pod"), done.stdout, done.stderr)

    @unittest.skipUnless(PANDAS, "python3-pandas is not installed")
    def test_tables_of_pandas(self):
        import pandas
        rows = self.runs(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB:16KiB:x4", "--out", self.folder / "out")
        loaded = diecast.load(self.folder / "out")
        for frame in (loaded.table, loaded.links, loaded.queue_pairs):
            self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(loaded.table["bytes"]), [4096, 16384])
        self.assertEqual(list(loaded.table["time_ns"]), [row["time_ns"] for row in rows])
        self.assertEqual(list(loaded.table["stats.packets"]), [row["stats"]["packets"] for row in rows])
        plain = loaded.rows("links.csv")
        self.assertEqual(loaded.links.groupby("run")["bytes"].sum().to_dict(),
                         {run: sum(row["bytes"] for row in plain if row["run"] == run) for run in (0, 1)})
        self.assertEqual(loaded.links["busy_fraction"].dtype, float)
        self.assertEqual(len(loaded.queue_pairs), len(loaded.rows("ipcq.csv")))

    def test_tables_without_pandas(self):
        code = ("import sys; sys.modules['pandas'] = None; import diecast; d = diecast.load('out'); "
                "print(type(d.links).__name__, type(d.table[0]).__name__, d.table[0]['time_ns'])")
        row = self.one(*harness.SMALL, "--bytes", "4KiB", "--out", self.folder / "out")
        done = self.python(code)
        self.assertEqual(done.stdout.split(), ["list", "dict", str(row["time_ns"])], done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main())
