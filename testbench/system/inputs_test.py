# SPDX-License-Identifier: Apache-2.0
"""What scripts read and write: damaged, endless and oddly named inputs, and outputs that are inputs."""
import gzip
import json
import os
import pathlib
import pickle
import resource
import shutil
import subprocess
import sys
import types
import unittest.mock
import xml.etree.ElementTree as xml

import harness
import mutations
from workbench_test import ScriptCase

sys.path.insert(0, str(harness.ROOT / "python"))
from diecast import alphabeta, chakra, compare, energy, goal, inputs, launchers, measurements, npe, report, suite, svg, sweep, timeline_picture, trace, whole_file  # noqa: E402
from diecast.results import load  # noqa: E402

SCRIPTS = harness.ROOT / "scripts"
EXAMPLES = harness.ROOT / "docs" / "examples"
ROUNDS = int(os.environ.get("DIECAST_FUZZ_ROUNDS", 60))  # mutants of each input

NCCL = """# Using devices
#  Rank  0 Group  0 Pid   7777 on  node0 device  0 [0000:0f:00] A
# Collective test starting: all_reduce_perf
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
        1024           512      half     sum      -1     5.00    1.00    1.00      0     6.00    1.00    1.00      0
        4096          2048      half     sum      -1     7.00    1.00    1.00      0     9.00    1.00    1.00      0
"""
OSU = "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n1024            8000.00\n16384          32000.00\n"
TABLE = "algorithm,bytes,time_ns,hold_out\nring_1d,1KiB,5000,0\nintercube,4KiB,7000,1\n"
WRITTEN = ("collective,algorithm,dtype,op,bytes,rank_set,ranks,time_ns,status\nall_reduce,ring_1d,f16,sum,1024,pe,16,5000,ok\n"
           "all_reduce,ring_1d,f16,sum,4194304,pe,16,,deadlock\n")


def forget():
    """No input or output of another command."""
    whole_file._inputs.clear(), whole_file._folders.clear(), whole_file._outputs.clear()


class Fuzz(ScriptCase):
    """Damaged inputs are read, or refused in one sentence: no other exception, whatever is wrong."""

    def mutate(self, path, use):
        """Mutants of a file, each used; the file is there again afterwards."""
        good = path.read_bytes()
        refused = 0
        for n, mutant in enumerate(mutations.mutants(good, ROUNDS, f"{path.name}")):
            path.write_bytes(mutant)
            forget()
            try:
                use(path)
            except Exception as error:  # noqa: BLE001: the point of the test
                refused += 1
                if getattr(error, "exit_code", None) != 2 or not str(error).strip():
                    kept = self.folder / "found"
                    kept.write_bytes(mutant)
                    self.fail(f"mutant {n} of {path.name}: {type(error).__name__}: {error}\n{mutant[:2000]!r}")
        path.write_bytes(good)
        use(path)
        self.assertGreater(refused, ROUNDS // 10, f"{path.name}: hardly any mutant is refused")

    def test_schedules(self):
        self.mutate(self.file("s.goal", (EXAMPLES / "dissemination_16.goal").read_text()[:1500].rpartition("rank ")[0].replace(
            "num_ranks 16", "/* a */ num_ranks 16")), lambda path: trace.text_of(goal.load(path).build().workload(), path.name))

    def test_chakra_traces(self):
        def use(path):
            how = chakra.Options(groups={"0": [0]}, root=0, gflops=2)
            return chakra.Converter([path], how).build()

        nodes = [{"version": "0.0.4"}, {"id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "5"},
                 {"id": "2", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": ["1"], "attr": [
                     {"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1024"}, {"name": "pg_name", "stringVal": "0"},
                     {"name": "involved_dim", "boolList": {"values": [True]}}, {"name": "x", "bytesVal": "AAAA"}]}]
        self.mutate(self.file("t.0.json", "\n".join(map(json.dumps, nodes))), use)
        binary = (harness.HERE / "data" / "chakra" / "step.0.et").read_bytes()
        for name, data in (("t.0.et", binary), ("z.0.et", gzip.compress(binary))):
            (self.folder / name).write_bytes(data)
            self.mutate(self.folder / name, chakra.chakra_file.load)
        self.mutate(self.file("groups.json", '{"a": [0, 1], "b": [2]}'), chakra.read_groups)

    def test_measurements(self):
        reference = (harness.ROOT / "testbench/data/noc/booksim_calibration.csv").read_text()
        for name, text, read in (("nccl.log", NCCL, measurements.read), ("osu.txt", OSU, measurements.read),
                                 ("own.csv", TABLE, measurements.read), ("written.csv", WRITTEN, measurements.read),
                                 ("reference.csv", "# a remark\n" + "".join(reference.splitlines(True)[:3]),
                                  harness.script("validate_noc").read_reference)):
            self.mutate(self.file(name, text), read)

    def test_noc_traces(self):
        place = {"noc": "NOC_0", "sx": 1, "sy": 1, "src_device_id": 0, "proc": "BRISC"}
        events = [{"zone": "a"}, *({**place, "type": kind, "timestamp": 10 * n, "dx": 2, "dy": 3, "num_bytes": 64} for n, kind in enumerate(
            ("READ", "READ_BARRIER_START", "READ_BARRIER_END", "WRITE_SET_STATE", "WRITE_WITH_STATE", "SEMAPHORE_INC")))]
        self.mutate(self.file("npe.json", json.dumps(events)), lambda path: npe.lines(npe.streams(path)))

    def test_suites_and_specs(self):
        config = str(harness.CONFIGS / "small_pod.json")
        case = {"name": "a", "config": config, "args": ["--bytes", "1KiB"], "expect": {
            "exit_code": 0, "status": "ok", "stderr_contains": "", "runs": [{"time_ns": {"value": 5, "within_percent": 1}}]}}
        record = {"exit_code": 0, "stderr": "", "seconds": 0.1, "document": {"status": "ok", "runs": [{"time_ns": 7, "stats": {"a": 1}}]}}

        def judge(path):
            for one in suite.Suite(path).cases:
                outcome = suite.Outcome(one, record)
                xml.fromstring(suite.junit([(suite.Suite(path), [outcome])]))
                outcome.blessed()

        self.mutate(self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "title": "t", "cases": [case]})), judge)
        spec = {"schema": "diecast.sweep/1", "config": config, "flags": {"collective": "all_reduce", "no-data": True}, "title": "t",
                "grid": {"--bytes": ["1KiB", "2KiB"], "ipcq.n_slots": [1, 4]}, "platform": "diecast-pod",
                "plots": [{"x": "bytes", "y": "time_ns", "series": "ipcq.n_slots", "xscale": "log"}]}
        self.mutate(self.file("spec.json", json.dumps(spec)), lambda path: [point.arguments() for point in sweep.Spec(path).points()])

    def test_results(self):
        """Every file of an --out, as every script uses it."""
        out, timeline = self.folder / "out", self.folder / "t.json"
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "1KiB:4KiB:x4", *harness.sets(
            "ipcq.buffer_kind=hbm", "pod.sips=1", "cube.pes=2"), "--out", out)
        shutil.copytree(out, self.folder / "other")
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--timeline", timeline, "--timeline-scope", "pod.sip0.cube_0_0*", "--out", "o")

        def use(_):
            results = load(out)
            report.page(results)
            compare.text_of(json.loads(json.dumps(compare.compare(results, load(self.folder / "other")))))
            found = alphabeta.fits(results.runs)
            for fit in found[:1]:
                fit.row()
                try:
                    alphabeta.astra_network(fit)
                except inputs.BadInput:
                    pass
            account = energy.Account(energy.accounted(results.runs))
            account.table()
            xml.fromstring(svg.stacked_bars("t", "uJ", account.names, account.bars()))

        for name in ("result.json", "config.json", "links.csv", "waits.csv", "hbm.csv", "critical_path_0.json"):
            self.mutate(out / name, use)
        self.mutate(timeline, timeline_picture.draw)

    def test_logs_of_a_campaign(self):
        case = {"right": True, "kinds": ["drop"], "verdict": "drop", "determinism": "unknown", "faults": [], "job": ["--seed", 1],
                "rate": {"low": 0, "high": 1}}
        cases = [{"name": "plain", "rate": 0.1}, *({"name": name, **case} for name in ("random 1", "rate 2"))]
        self.mutate(self.file("log", "\n".join(map(json.dumps, cases))), harness.script("diagnose_faults").logged)

    def test_flight_records(self):
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--set", "ipcq.match=sender", "--out",
                     "out", expect=3)
        torch = harness.script("flight2torch")
        self.mutate(self.folder / "out" / "flight.json", lambda path: torch.dumps(torch.read(path)))


def gibibytes(count):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, 2 * (int(count * 2**30),))


class Odd(ScriptCase):
    """Inputs that are no plain files, do not end, or have odd names."""

    GOAL = "num_ranks 2\nrank 0 {\na: send 64b to 1\n}\nrank 1 {\nb: recv 64b from 0\n}\n"

    def refused(self, expected, name, *words, code=2):
        done = self.script(name, *words, expect=code)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        self.assertIn(expected, done.stderr)

    def shell(self, words):
        return subprocess.run(["bash", "-c", words], capture_output=True, cwd=self.folder)

    def commands(self, file):
        """Every script with this file as its input."""
        return (("goal2workload", file), ("chakra2workload", self.folder / "t.0.et", "--groups", file), ("regress", file),
                ("sweep", file, "--out", "s"), ("calibrate", "-", file, "--key", "noc.hop_cycles"), ("flight2torch", file, "o"),
                ("chakra2workload", self.folder / "t.0.et", "--groups", file, "--root", "0"))

    def test_files_without_end_are_refused(self):
        limit = "more than 512 MiB"
        done = subprocess.run([SCRIPTS / "goal2workload", "/dev/zero"], capture_output=True, text=True, preexec_fn=gibibytes(3))
        self.assertEqual((done.returncode, done.stderr), (2, f"scripts/goal2workload: /dev/zero: {limit}; expected a smaller file\n"))
        for name, text in (("s.goal", self.GOAL.encode()), ("s.goal.gz", gzip.compress(self.GOAL.encode()))):  # takes what it needs
            (self.folder / name).write_bytes(text)
            subprocess.run([SCRIPTS / "goal2workload", self.folder / name], capture_output=True, preexec_fn=gibibytes(0.25), check=True)
        with unittest.mock.patch.object(inputs, "MOST_BYTES", 1 << 20):
            bomb = self.folder / "bomb.gz"
            bomb.write_bytes(gzip.compress(bytes(2 << 20)))
            for read in (goal.load, chakra.chakra_file.load, chakra.read_groups, measurements.read, suite.Suite, sweep.Spec,
                         timeline_picture.draw):
                for path, words in (("/dev/zero", "more than 1 MiB; expected"), (bomb, "more than 1 MiB when unpacked; expected")):
                    with self.assertRaisesRegex(inputs.BadInput, words):
                        read(path)

    def test_json_is_nested_within_limits(self):
        for text in ("[" * 101 + "]" * 101, "[" * 100000, '{"a":' * 990 + "1" + "}" * 990):
            deep = self.file("deep.json", text)
            for words in self.commands(deep)[1:4]:
                self.file("t.0.et", '{"version": "1"}')
                self.refused("lists and objects within each other", *words)
        self.assertEqual(len(inputs.parsed("[" * 100 + "]" * 100, "x")), 1)

    def test_open_comments_take_no_time(self):
        for text in ("/*" * 200000, '"\\"' * 200000, "//" * 200000 + "\n"):
            with self.assertRaises(inputs.BadInput):
                sweep.Spec(self.file("spec.json", text))
        self.refused("s.goal:2: a comment without its end */", "goal2workload", self.file("s.goal", "num_ranks 2\n/* rank 0 {\n}\n"))

    def test_byte_order_marks_are_read(self):
        mark = b"\xef\xbb\xbf"

        def marked(name, text):
            path = self.folder / name
            path.write_bytes(mark + text.encode())
            return path

        self.script("goal2workload", marked("s.goal", self.GOAL))
        self.script("chakra2workload", marked("t.0.json", '{"version": "1"} {"id": 1, "type": "COMP_NODE", "durationMicros": 1}'),
                    "--groups", marked("g.json", '{"a": [0]}'))
        self.assertEqual(len(measurements.read(marked("m.csv", TABLE))), 2)
        self.assertEqual(len(measurements.read(marked("n.log", NCCL))), 2)
        case = {"name": "a", "args": ["--bytes", "-1"], "expect": {"exit_code": 2}}
        self.script("regress", marked("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]})))
        self.script("sweep", marked("spec.json", '{"schema": "diecast.sweep/1"}'), "--list")
        wide = self.folder / "wide.json"
        wide.write_bytes('{"schema": "diecast.sweep/1"}'.encode("utf-16"))
        self.refused("wide.json: is UTF-16; expected UTF-8", "sweep", wide)

    def test_pipes_are_read_once(self):
        self.file("s.goal", self.GOAL)
        plain = self.script("goal2workload", "s.goal").stdout.partition("\n")[2]
        for words in ("<(cat s.goal)", "/dev/stdin < s.goal", "/dev/stdin < <(cat s.goal)"):
            done = self.shell(f"{SCRIPTS}/goal2workload {words}")
            self.assertEqual(done.stdout.decode().partition("\n")[2], plain, done.stderr)
        trace_ = '{"version": "1"} {"id": 1, "type": "COMP_NODE", "durationMicros": 1}'
        self.file("t.0.json", trace_)
        self.assertEqual(self.shell(f"{SCRIPTS}/chakra2workload <(cat t.0.json) <(cat t.0.json)").stdout.count(b'"compute"'), 2)
        self.file("pod.json", json.dumps({"extends": str(harness.CONFIGS / "small_pod.json"), "ipcq": {"n_slots": 2}}))
        job = "--key noc.hop_cycles --all -- --bytes 1KiB --algorithm ring_1d"
        expected = self.shell(f"{SCRIPTS}/sensitivity pod.json {job}").stdout
        self.assertIn(b"noc.hop_cycles", expected)
        for words in ("<(cat pod.json)", "/dev/stdin < pod.json", "/dev/stdin < <(cat pod.json)"):
            done = self.shell(f"{SCRIPTS}/sensitivity {words.partition(' ')[0]} {job} {words.partition(' ')[2]}"
                              if words.startswith("/dev") else f"{SCRIPTS}/sensitivity {words} {job}")
            self.assertEqual(done.stdout, expected, done.stderr)
        self.file("m.csv", "bytes,algorithm,time_ns\n1KiB,ring_1d,9000\n")
        done = self.shell(f"{SCRIPTS}/calibrate <(cat pod.json) <(cat m.csv) --key sip_link.latency_ns --write fit.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        fitted = json.loads(self.run_pod("--config", "fit.json", "--dump-config").stdout)
        self.assertEqual(fitted["ipcq"]["n_slots"], 2)
        case = {"name": "a", "args": ["--bytes", "-1"], "expect": {"exit_code": 2}}
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        self.assertEqual(self.shell(f"{SCRIPTS}/regress <(cat suite.json)").returncode, 0)
        self.assertEqual(self.shell(f"{SCRIPTS}/regress --bless <(cat suite.json)").returncode, 2)

    def test_places_that_cannot_be_read(self):
        self.file("t.0.et", '{"version": "1"}')
        (self.folder / "loop").symlink_to("loop")
        for name, why in (("loop", "Too many levels of symbolic links"), (".", "Is a directory"), ("x" * 300, "File name too long"),
                          ("absent", "No such file or directory"), ("t.0.et/x", "Not a directory")):
            for words in self.commands(name):
                self.refused(why, *words)
            for words in (("report", name), ("compare", name, name), ("energy", name), ("alphabeta", name)):
                self.refused("", *words)
        for name in ("loop", "a\0b", "x" * 300, "absent"):
            case = {"name": "a", "config": name}
            self.refused("no such file beside the suite", "regress",
                         self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]})))
            self.refused("no such file beside the spec", "sweep",
                         self.file("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": name})))

    def test_names_need_not_be_utf_8(self):
        odd = os.fsencode(self.folder) + b"/o\xff\n\x1b"
        os.mkdir(odd)
        config = {"extends": str(harness.CONFIGS / "small_pod.json")}
        for name, text in (("s.goal", self.GOAL), ("pod.json", json.dumps(config)), ("m.csv", "bytes,time_ns\n1KiB,9000\n"),
                           ("t.0.json", '{"version": "1"} {"id": 1, "type": "COMP_NODE", "durationMicros": 1}'),
                           ("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": "pod.json", "grid": {"--bytes": ["1KiB"]}})),
                           ("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [{"name": "a", "config": "pod.json"}]}))):
            pathlib.Path(os.fsdecode(odd), name).write_text(text)
        self.run_pod(*harness.SMALL, "--bytes", "1KiB:4KiB:x4", "--algorithm", "ring_1d", "--out", "out")
        shutil.copytree(self.folder / "out", os.fsdecode(odd) + "/out")
        for words in (("goal2workload", "s.goal"), ("goal2workload", "s.goal", "--out", "w.json"), ("chakra2workload", "t.0.json"),
                      ("report", "out"), ("compare", "out", "out"), ("energy", "out", "--plot", "e.svg"), ("alphabeta", "out"),
                      ("sweep", "spec.json", "--list"), ("sweep", "spec.json", "--out", "s"), ("regress", "suite.json", "--junit", "j.xml"),
                      ("sensitivity", "pod.json", "--key", "noc.hop_cycles", "--", "--bytes", "1KiB")):
            path = os.fsdecode(odd)
            done = subprocess.run([SCRIPTS / words[0], *(f"{path}/{word}" if "." in word and "/" not in word and not word.startswith("noc")
                                                         or word in ("out", "s") else word for word in words[1:])], capture_output=True)
            self.assertEqual((done.returncode, b"Traceback" in done.stderr), (0, False), (words, done.stderr))
        for name in ("e.svg", "j.xml"):
            xml.parse(pathlib.Path(os.fsdecode(odd), name))
        json.loads(pathlib.Path(os.fsdecode(odd), "w.json").read_text().partition("\n")[2])
        self.refused("no config can have", "calibrate", os.fsdecode(odd) + "/pod.json", os.fsdecode(odd) + "/m.csv", "--key",
                     "sip_link.latency_ns", "--write", "f.json")


class Clashes(ScriptCase):
    """No script writes what it reads."""

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def test_no_output_is_an_input(self):
        base = self.file("base.json", json.dumps({"extends": str(harness.CONFIGS / "small_pod.json")}))
        self.file("pod.json", json.dumps({"extends": "base.json", "ccl": {"tuner": "tuner.csv"}}))
        self.file("tuner.csv", "collective,algorithm,min_bytes,max_bytes\nall_reduce,ring_1d,0,65536\n")
        self.file("other.csv", (self.folder / "tuner.csv").read_text())
        (self.folder / "link.json").symlink_to("base.json")
        os.link(base, self.folder / "hard.json")
        self.file("w.json", json.dumps({"streams": [{"name": "s", "on": [0, 1], "ops": [{"op": "compute", "cycles": 4}]}]}))
        self.file("m.csv", "bytes,time_ns\n1KiB,9000\n")
        self.file("s.goal", Odd.GOAL)
        for n in range(2):
            self.file(f"t.{n}.json", '{"version": "1"} {"id": 1, "type": "COMP_NODE", "durationMicros": 1}')
        self.file("g.json", '{"a": [0]}')
        self.file("npe.json", "[]")
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [{"name": "a", "config": "pod.json", "workload": "w.json"}, {
            "name": "b", "args": ["--set", "ccl.tuner=other.csv"]}]}))
        spec = {"schema": "diecast.sweep/1", "config": "pod.json", "grid": {"--bytes": ["1KiB"]}}
        (self.folder / "d").mkdir()
        for name in ("d/sweep.json", "d/sweep.csv"):
            self.file(name, json.dumps({**spec, "config": "../pod.json"}))
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "1KiB:4KiB:x4", "--out", "out")
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--timeline", "t.json")
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "4KiB", "--set", "ipcq.match=sender", "--out",
                     "hang", expect=3)
        shutil.copy(self.folder / "hang" / "flight.json", self.folder / "nccl_trace_rank_0")
        there, study = self.files(), ("--", "--bytes", "1KiB")
        for words in (*(("calibrate", "pod.json", "m.csv", "--key", "sip_link.latency_ns", flag, file) for flag in ("--write", "--plot")
                        for file in ("pod.json", "base.json", "link.json", "hard.json", "m.csv", "tuner.csv")),
                      *((name, "pod.json", "w.json", flag, file) for name in ("degrade", "sensitivity") for flag in ("--csv", "--plot")
                        for file in ("pod.json", "base.json", "w.json") if (name, flag) != ("degrade", "--plot")),
                      ("degrade", "pod.json", "--counts", "1", "--plot", "base.json", *study),
                      ("sensitivity", "pod.json", "--csv", "same", "--plot", "./same", *study),
                      ("npe2transactions", "npe.json", "--out", "./npe.json"),
                      ("goal2workload", "s.goal", "--out", "./s.goal"), ("goal2workload", "s.goal", "--out", self.folder / "s.goal"),
                      *(("chakra2workload", "t.0.json", "t.1.json", "--groups", "g.json", "--out", file) for file in ("t.1.json", "g.json")),
                      *(("regress", "suite.json", "--junit", file) for file in ("suite.json", "pod.json", "base.json", "w.json", "tuner.csv",
                                                                              "other.csv")),
                      ("sweep", "d/sweep.json", "--out", "d"), ("sweep", "d/sweep.csv", "--out", "d"),
                      *(("alphabeta", "out", flag, f"out/{file}") for flag in ("--csv", "--astra") for file in
                        ("result.json", "config.json", "links.csv")),
                      *(("energy", "out", "--plot", f"out/{file}") for file in ("result.json", "config.json", "ipcq.csv")),
                      *(("report", "out", "--timeline", "t.json", "--output", file) for file in ("t.json", "out/result.json", "out/links.csv")),
                      ("flight2torch", "nccl_trace_rank_0", ".")):
            done = self.script(*words, expect=2)
            self.assertRegex(done.stderr, r"expected another|expected one", words)
            self.assertEqual(self.files(), there, words)

    def test_own_pages_are_known_by_what_they_hold(self):
        self.run_pod(*harness.SMALL, "--bytes", "1KiB:4KiB:x4", "--algorithm", "ring_1d", "--out", "out")
        mine = self.folder / "out" / "report.html"
        for name, words in (("report.html", ("report", "out")), ("e.svg", ("energy", "out", "--plot", "out/e.svg")),
                            ("f.csv", ("alphabeta", "out", "--csv", "out/f.csv"))):
            mine = self.folder / "out" / name
            mine.write_text("<!doctype html><html><title>my own notes</title></html>")
            self.assertIn("no earlier one of this kind", self.script(*words, expect=2).stderr)
            self.assertIn("my own notes", mine.read_text())
            mine.unlink()
            self.script(*words)
            self.script(*words)  # its own it may replace

    def test_a_sweep_replaces_no_other_table(self):
        spec = self.file("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": str(harness.CONFIGS / "small_pod.json"),
                                                  "grid": {"--bytes": ["1KiB"]}}))
        (self.folder / "s").mkdir()
        for name in ("sweep.csv", "sweep.json"):
            mine = self.file(f"s/{name}", '{"my": "own"}')
            self.assertIn("holds something else", self.script("sweep", spec, "--out", "s", expect=2).stderr)
            self.assertEqual(mine.read_text(), '{"my": "own"}')
            mine.unlink()
        self.script("sweep", spec, "--out", "s")
        self.script("sweep", spec, "--out", "s")

    def test_files_that_scripts_go_on_with_can_be_written(self):
        for words in (("validate_fidelity", "--results", "absent/r.csv"), ("diagnose_faults", "--campaign", "absent/log")):
            self.assertIn("there is no folder absent; expected a file that can be written", self.script(*words, expect=5).stderr)

    def test_launchers_replace_no_file_of_a_user(self):
        def launch(out):
            launchers.launch(types.SimpleNamespace(out=self.folder / out, launcher="slurm", tasks=None), lambda: [0], 1)

        for out, name, said in (("a", "tasks/0.txt", "files that no task of this version has written"), ("b", "slurm_job", "something else than the number")):
            (self.folder / out / name).parent.mkdir(parents=True)
            mine = self.file(f"{out}/{name}", "my own")
            with self.assertRaisesRegex(inputs.BadInput, said):
                launch(out)
            self.assertEqual(mine.read_text(), "my own")

    def test_ranks_of_a_flight_record_name_no_other_folder(self):
        for rank in ("/../../x", "../x", -1, 1.5, None, True):
            self.file("f.json", json.dumps({"schema": "diecast.flight/1", "version": "2.4", "pg_config": {}, "entries": [],
                                            "ranks": [{"rank": rank, "pg_status": {}}]}))
            self.assertIn("flight.ranks[0].rank", self.script("flight2torch", "f.json", "o/p", expect=2).stderr)
        self.file("f.json", json.dumps({"schema": "diecast.flight/1", "version": "2.4", "pg_config": {}, "entries": [],
                                        "ranks": [{"rank": 0, "pg_status": {}}]}))
        self.script("flight2torch", "f.json", "o/p", "--prefix", "../x", expect=2)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["f.json"])
        for _ in range(2):  # its own dumps it may replace
            self.script("flight2torch", "f.json", "o/p")
        ours = pickle.loads((self.folder / "o/p/nccl_trace_rank_0").read_bytes())
        self.assertEqual(ours.pop("written_by"), "scripts/flight2torch")
        for dump in (b"my own notes", *(pickle.dumps(ours, protocol) for protocol in range(2, 6))):  # those of PyTorch itself
            (self.folder / "o/p/nccl_trace_rank_0").write_bytes(dump)
            self.assertIn("holds something else", self.script("flight2torch", "f.json", "o/p", expect=2).stderr)
            self.assertEqual((self.folder / "o/p/nccl_trace_rank_0").read_bytes(), dump)


class Escapes(ScriptCase):
    """What comes from a file is text in what is written, whatever it holds."""

    HOSTILE = "<script>alert(1)</script>&\"'\x00\x1b\ud800$é"

    def test_reports(self):
        out = self.folder / "out"
        good = self.result(*harness.SMALL, "--bytes", "1KiB:4KiB:x4", "--algorithm", "ring_1d", "--out", out)
        text = self.HOSTILE
        row = {**good["runs"][0], **{key: text for key in ("collective", "algorithm", "dtype", "op", "rank_set", "status", "message",
                                                           "bound_kind", "team")}, "wrong_elements": text, "verified": False}
        document = {**good, "runs": [row, {**row, "bytes": 4096}], "machine": {key: text for key in ("sips", "pes", "cubes")},
                    **{key: text for key in ("seed", "version", "config_sha256", "status")}, "argv": [text]}
        (out / "result.json").write_text(json.dumps(document))
        for name in ("links.csv", "waits.csv"):
            table = (out / name).read_text()
            (out / name).write_text(table.replace("pod.sip0.cube_0_0", "<script>alert(1)</script>"))
        path = json.loads((out / "critical_path_0.json").read_text())
        path["ends_at"], path["edges"][0]["step"] = text, text
        for n in range(2):
            (out / f"critical_path_{n}.json").write_text(json.dumps(path))
        self.script("report", out)
        page = (out / "report.html").read_text()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;", page)
        for control in "\x00\x1b":
            self.assertNotIn(control, page)
        self.script("energy", out, "--plot", "e.svg")
        xml.parse(self.folder / "e.svg")

    def test_junit(self):
        case = {"name": self.HOSTILE, "args": ["--bytes", "\x1b[1m-1"], "expect": {"stderr_contains": self.HOSTILE}}
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "title": self.HOSTILE, "cases": [case]}))
        self.assertNotRegex(self.script("regress", "suite.json", "--junit", "j.xml", expect=1,
                                       environment={"PYTHONIOENCODING": "ascii"}).stdout, "[\x00\x1b]")
        self.assertIn("<script>alert(1)</script>", xml.parse(self.folder / "j.xml").getroot()[0].get("name"))

    def test_importers_and_networks(self):
        odd = self.folder / "a\n} injected\x1b.goal"
        odd.write_text(Odd.GOAL)
        lines = self.script("goal2workload", odd).stdout.splitlines()
        self.assertTrue(lines[0].startswith("// From ") and lines[1] == "{")


if __name__ == "__main__":
    harness.main()
