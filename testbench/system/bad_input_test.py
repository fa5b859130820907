#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user can get wrong: exit 2 (5 for outputs); stderr says where, what and what was expected."""
import fcntl
import gzip
import os
import resource
import shutil
import signal

import harness
from harness import SMALL

# --set NAME=VALUE and what stderr must contain: the path, the value, the expectation.
SETTINGS = [
    ("pe.vector_lane=3", ["pe.vector_lane", "unknown key", "pe.vector_lanes?"]),
    ("nothing.sips=1", ["nothing.sips", "unknown key"]),
    ("pod.sips=0", ["pod.sips", "'0'", "from 1 to 256"]),
    ("pod.sips=-1", ["pod.sips", "'-1'", "whole number"]),
    ("pod.sips=1.5", ["pod.sips", "'1.5'", "whole number"]),
    ("pod.sips=two\n2", ["pod.sips", "'two<U+000A>2'", "whole number"]),
    ("pod.sips=", ["pod.sips", "''", "whole number"]),
    ("pod.sips", ["--set", "PATH=VALUE"]),
    ("ipcq.match=nobody", ["ipcq.match", "nobody", "address", "sender"]),
    ("sim.build_order=shuffle", ["sim.build_order", "'shuffle'", "forward|reverse|shuffle:"]),
    ("ipcq.slot_bytes=2097152", ["ipcq.slot_bytes", "2097152", "pe.tcm_kib"]),
    ("ipcq.queue_pairs=1", ["mesh_2d cannot run: ", "more reasons; --algorithm NAME states those of one algorithm"]),
    ("ucie.preset=cheese", ["cheese", "rebel100"]),
    ("noc.link_cycles=9", ["noc.link_cycles", "9", "noc.hop_cycles"]),
    ("\x1b[1m=3", ["--set \\x1b[1m: unknown"]),
    ("ucie.latency_ns=0.5", ["ucie.latency_ns", "0.5", "one cycle"]),
]

# Arguments after a good --config, and what stderr must contain.
FLAGS = [
    (["--confg", "x"], ["--confg", "--config?"]),
    (["--conf", "x"], ["unknown flag", "--conf"]),
    (["--queue-pairs", "4"], ["a config key, not a flag (value --queue-pairs; expected --set ipcq.queue_pairs=VALUE)"]),
    (["--root", "3"], ["a config key, not a flag", "--set ccl.root=VALUE or --set ccl.root_rank=VALUE"]),
    (["stray"], ["stray argument", "stray"]),
    (["--", "--quiet"], ["stray argument"]),
    (["--quiet", "yes"], ["--quiet: takes no value (value yes"]),
    (["--seed", "abc"], ["--seed: not an accepted value (value 'abc'"]),
    (["--bytes", "1KiB:1MiB:x1"], ["--bytes: the factor is no whole number from 2 (value 1KiB:1MiB:x1"]),
    (["--vcd", "w", "--vcd-window", "5us:9us"], ["--vcd-window: an end is no time (value 5us:9us; expected FROM:TO in ns"]),
    (["--set", "cube.rows=4"], ["cube.rows: unknown key; did you mean sip.rows or noc.rows?"]),
    (["--bytes", "3"], ["--bytes", "3", "multiple of 2"]),
    (["--bytes", "6", "--dtype", "f32"], ["--bytes", "6", "multiple of 4"]),
    (["--bytes", "-4"], ["--bytes", "'-4'", "whole number"]),
    (["--bytes", "1.5KiB"], ["--bytes", "'1.5KiB'", "whole number"]),
    (["--bytes", "4XiB"], ["--bytes", "'4XiB'", "KiB"]),
    (["--bytes", "99999999999GiB"], ["--bytes: not an accepted value (value '99999999999GiB'; expected bytes"]),
    (["--set", "pe.tcm_kib=99999999999GB"], ["pe.tcm_kib: not an accepted value (value '99999999999GB'; expected "]),
    (["--bytes", "8KiB:4KiB"], ["--bytes", "8KiB:4KiB"]),
    (["--bytes", "1GiB"], ["--bytes: 1 GiB does not fit the TCM with any algorithm: needs ", "ccl.tensor_kind=hbm holds it"]),
    (["--bytes", "64KB"], ["--bytes: not an accepted value; did you mean 64KiB?"]),
    (["--bytes", "2m"], ["did you mean 2MiB?"]),
    *((["--bytes", t], [f"--bytes: several sizes are given as a range (value {t};", "FROM:TO:xF"]) for t in ("4KiB,256KiB", "4KiB-1MiB")),
    (["--set", "ipcq.slot_bytes=8KB"], ["ipcq.slot_bytes: not an accepted value; did you mean 8KiB?"]),
    (["--set", "pe.tcm_kib=2MiB"], ["pe.tcm_kib: not an accepted value; did you mean 2048?"]),
    (["--set", "ipcq.match=adress"], ["ipcq.match: not an accepted value; did you mean address?"]),
    (["--dtype", "fp16"], ["--dtype: no such value; did you mean f16?", "bf16"]),
    (["--op", "add"], ["--op: no such value; did you mean sum?", "prod"]),
    (["--op", "SUM"], ["--op: no such value; did you mean sum?"]),
    (["--no-data", "--data", "exact"], ["--no-data: stores nothing that --data could fill"]),
    (["--rate", "0.5"], ["command line: a flag of diecast-noc and diecast-hbm (value --rate"]),
    (["--bytes"], ["--bytes", "missing"]),
    (["--bytes", "--quiet"], ["--bytes", "has no value", "--quiet"]),
    (["--iters", "0"], ["--iters", "'0'", "from 1"]),
    (["--iters", "2.5"], ["--iters", "'2.5'"]),
    (["--seed", "-1"], ["seed", "'-1'"]),
    (["--seed", "5", "--set", "sim.seed=6"], ["--seed: sets the same key as --set (value 5 and sim.seed=6; expected one of the two)"]),
    (["--format", "xml"], ["--format", "xml", "csv"]),
    (["--list", "cheese"], ["--list", "cheese", "patterns"]),
    (["--algorithm", "telepathy"], ["--algorithm", "telepathy", "ring_1d", "intercube"]),
    (["--set", "ccl.patterns.\udcff=[]"], ["--set: is not text"]),
    (["--algorithm", "ring_1d,"], ["--algorithm", "ring_1d,"]),
    (["--algorithm", "ring"], ["--algorithm", "did you mean ring_1d?"]),
    (["--algorithm", "all,ring_1d"], ["--algorithm: combines all with other names (value all,ring_1d"]),
    (["--algorithm", "intercube", "--ranks", "pe"], ["--ranks", "intercube", "pe", "cube"]),
    (["--workload", "nowhere.xml"], ["--workload: cannot be read: No such file or directory (value nowhere.xml"]),
    (["--workload", "."], ["--workload: cannot be read: a folder (value ."]),
    (["--workload", "/proc/self/mem"], ["--workload: cannot be read: read error"]),
    (["--verify", "nowhere.rec"], ["--verify: cannot be read: No such file or directory (value nowhere.rec"]),
    (["--verify", "."], ["--verify: cannot be read: a folder"]),
    (["--algorithm", "auto", "--set", "ccl.tuner=."], ["ccl.tuner: cannot be read: a folder"]),
    (["--workload", "x.xml", "--algorithm", "ring_1d"], ["--algorithm", "--workload"]),
    (["--vcd", "w.vcd", "--bytes", "4KiB:8KiB"], ["--vcd", "2 runs"]),
    (["--vcd", ""], ["--vcd", "empty"]),
    (["--vcd", "w", "--timeline", "./w"], ["--timeline: is also the file of --vcd (value ./w"]),
    (["--vcd", "w.fst", "--timeline", "w.json.gz"], ["--vcd: is written as plain text, not as the name says (value w.fst", "--timeline: "]),
    (["--collective", "allreduce"], ["--collective: no such collective; did you mean all_reduce?", "all_to_all"]),
    (["--collective", "barrier", "--algorithm", "disemination"], ["did you mean dissemination?"]),
    (["--ranks", "die"], ["--ranks: no such value; did you mean cube?"]),
    (["--ranks", "package"], ["--ranks: no such value; did you mean sip?"]),
    (["--workload", harness.PROGRAMS / "pair_exchange.xml", "--collective", "broadcast"], ["--collective: cannot be combined with an MSCCL program"]),
    (["--dump-config", "--dump-install"], ["--dump-install: cannot be combined with --dump-config"]),
    (["--ranks", "sip", "--workload", harness.PROGRAMS / "chain_4.xml"], ["4 ranks", "2 sips"]),
    (["--check-config", "--vcd", "F"], ["--vcd: cannot be combined with --check-config", "--out: cannot be combined"]),
    (["--dump-config", "--timeline", "F", "--record", "G"], [f"--{word}: cannot be combined with --dump-config" for word in ("timeline", "record")]),
    (["--print-map", "--ccl-trace", "--estimate"], ["--ccl-trace: cannot be combined with --print-map", "--estimate: cannot be"]),
    (["--list", "presets", "--diagnose"], ["--diagnose: cannot be combined with --list"]),
]

BAD_EVERYWHERE = """{
  "pod": { "sipz": 2, "sips": 0 },
  "pe": { "vector_lanes": -1, "tcm_banks": 2.5, "tcm_kib": "big", "register_cycles": true },
  "pe": { "tcm_banks": 4 },
  "ipcq": { "slot_bytes": 1099511627776, "n_slots": 1, "n_slots": 2, "match": "nobody" },
  "cheese": {}
}
"""
EXPECTED_EVERYWHERE = {
    "pod.sipz": "did you mean pod.sips?", "pod.sips": "value 0", "pe.vector_lanes": "value -1",
    "pe.tcm_banks": "value 2.5", "pe.tcm_kib": 'value "big"', "pe.register_cycles": "value true",
    "pe": "duplicate key", "ipcq.slot_bytes": "value 1099511627776", "ipcq.n_slots": "duplicate key",
    "ipcq.match": 'value "nobody"', "cheese": "unknown block",
}

PAIR = (harness.PROGRAMS / "pair_exchange.xml").read_text()
STREAM = {"name": "s", "on": [0, 1], "ops": [{"op": "compute", "ns": 1}]}
WORKLOAD = harness.json.dumps({"streams": [STREAM]})
TUNER = "collective,min_bytes,max_bytes,algorithm\nall_reduce,0,1,ring_1d\n"
PACKETS, REQUESTS = "0 0 1 4\n", "R 0 64\n"
NETWORK = '{"noc": {"columns": 4, "rows": 4}}'


def dumped(case):
    return case.run_pod(*SMALL, "--dump-config").stdout


BAD_PROGRAMS = {
    "broken": (PAIR.replace("</gpu>", "", 1), ["program.xml:", "broken XML"]),
    "impossible peer": (PAIR.replace('send="1"', 'send="7"'), ["program.xml:5", "7", "peer"]),
    "itself as peer": (PAIR.replace('send="1"', 'send="0"'), ["program.xml:5"]),
    "unknown step": (PAIR.replace('type="rrc"', 'type="zap"', 1), ["program.xml:7", "zap", "rrcs"]),
    "chunk beyond the buffer": (PAIR.replace('srcoff="0"', 'srcoff="5"', 1), ["program.xml:6", "5"]),
    "count that is no number": (PAIR.replace('cnt="1"', 'cnt="1.5"', 1), ["program.xml:6", "1.5"]),
    "unknown collective": (PAIR.replace("allreduce", "cheese"), ["coll", "cheese"]),
    "other document": ("<html/>", ["program.xml", "html", "algo"]),
    "too many ranks": (PAIR.replace('ngpus="2"', 'ngpus="3"'), ["program.xml", "3"]),
    "empty": ("", ["program.xml"]),
}


class BadInput(harness.Case):
    def refused(self, *arguments, holds, expect=2):
        """Exits with `expect`, says each of `holds`, prints nothing else and writes nothing."""
        before = sorted(self.folder.rglob("*"))
        done = self.run_pod("--out", "made", *arguments, expect=expect)
        self.assertEqual(done.stdout, "", "stdout")
        self.assertTrue(done.stderr, "silent")
        for part in holds:
            self.assertIn(part, done.stderr)
        self.assertNotIn("internal", done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before, "something was written")
        return done

    def test_settings(self):
        for setting, holds in SETTINGS:
            with self.subTest(setting):
                self.refused(*SMALL, "--set", setting, holds=holds)
                self.assertLessEqual(self.last.stderr.count("\n"), 10)

    def test_flags(self):
        for arguments, holds in FLAGS:
            with self.subTest(" ".join(map(str, arguments))):
                self.refused(*SMALL, *arguments, holds=holds)
        for words, said in (("--workload .", "cannot be read: a folder"), ("--verify .", "cannot be read: a folder"),
                            ("--algorithm ring", "did you mean ring_1d?"), ("--isolate", "requires"), ("--bytes 3", "not a whole number")):
            self.assertIn(f"{words.split()[0]}: ", (err := self.run_pod(*SMALL, "--check-config", *words.split(), expect=2).stderr))
            self.assertIn(said, err)

    def test_what_is_read_is_not_overwritten(self):
        """By no output of any binary, whatever name it has there."""
        self.run_pod(*SMALL, "--bytes", "1KiB", "--record", "record")
        record = (self.folder / "record").read_text()
        reads = [("pod", "--config", "full.json", dumped(self), "config.json"),
                 ("pod", "--workload", "w.json", WORKLOAD, "flight.json"), ("pod", "--workload", "p.xml", PAIR, "links.csv"),
                 ("pod", "--set", "ccl.tuner=t.csv", TUNER, "links.csv"), ("pod", "--verify", "r", record, None),
                 ("noc", "--traffic", "replay:t", PACKETS, "links.csv"), ("hbm", "--pattern", "replay:t", REQUESTS, "hbm.csv"),
                 ("noc", "--config", "c.json", "{}", "result.json"), ("hbm", "--config", "c.json", "{}", "result.json")]
        for name, flag, value, text, in_out in reads:
            file = value.split("=")[-1].split(":")[-1]
            input = self.file(file, text)
            job = [harness.binary(name), *(SMALL if name == "pod" and flag != "--config" else ()), flag, value]
            (self.folder / "hard").unlink(missing_ok=True)
            (self.folder / "hard").hardlink_to(input)
            outputs = [(o, other) for o in ("--vcd", "--timeline", *(["--record"] if name == "pod" else []))
                       for other in (f"./{file}", "hard", "soft")]
            (self.folder / "soft").unlink(missing_ok=True)
            (self.folder / "soft").symlink_to(file)
            for output, other in outputs:
                with self.subTest(f"{name} {flag} {value} {output} {other}"):
                    self.refused_by([*job, output, other], f"{output}: would overwrite what ", input, text)
            if in_out is None:
                continue
            with self.subTest(f"{name} {flag} {value} --out"):
                (self.folder / "out").mkdir()
                input.rename(self.folder / "out" / in_out)
                moved = value[:-len(file)] + f"out/{in_out}"
                edited = ["--set", "sim.seed=7"] if in_out == "config.json" else []  # the same config may be written again
                self.refused_by([*job[:-1], moved, "--out", "out", *edited], "--out: would overwrite what ",
                                self.folder / "out" / in_out, text)
                if name == "pod":
                    kept = self.folder / "diagnosis" / "diagnosis.json"
                    kept.parent.mkdir()
                    (self.folder / "out" / in_out).rename(kept)
                    self.refused_by([*job[:-1], value[:-len(file)] + "diagnosis/diagnosis.json", "--diagnose"],
                                    "--out: would overwrite what ", kept, text)
                    shutil.rmtree(kept.parent)
                shutil.rmtree(self.folder / "out")

    def refused_by(self, words, says, input, text):
        done = self.ended(self.start(*words))
        self.assertEqual(done.code, 2)
        self.assertIn(says, done.stderr)
        self.assertEqual(input.read_text(), text)

    def readable(self):
        """Every kind of input: a binary, its flags around the name of the file, and the file."""
        self.run_pod(*SMALL, "--bytes", "1KiB", "--record", "record")
        record = (self.folder / "record").read_text()
        pod, small = harness.binary("pod"), [str(w) for w in SMALL]
        return [([pod, "--bytes", "1KiB", "--config"], "", dumped(self)), ([pod, *small, "--workload"], "", WORKLOAD),
                ([pod, *small, "--bytes", "1KiB", "--workload"], "", PAIR), ([pod, *small, "--bytes", "1KiB", "--verify"], "", record),
                ([pod, *small, "--bytes", "1KiB", "--algorithm", "auto", "--set"], "ccl.tuner=", TUNER),
                ([pod, *small, "--algorithm", "all", "--bytes", "1KiB", "--set"], "ccl.tuner=", TUNER),
                ([harness.binary("noc"), "--traffic"], "replay:", PACKETS), ([harness.binary("noc"), "--config"], "", NETWORK),
                ([harness.binary("hbm"), "--pattern"], "replay:", REQUESTS), ([harness.binary("hbm"), "--requests", "10", "--config"], "", "{}"),
                ([harness.binary("bench"), "fabric", "--runs", "1", "--cycles", "500", "--warmup-cycles", "0", "--config"], "", NETWORK)]

    def bash(self, line, expect):
        done = harness.subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, text=True,
                                      timeout=harness.TIMEOUT_S, stdin=harness.subprocess.DEVNULL)
        self.last = harness.Result(line, done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect, "exit code")
        return self.last

    def test_inputs_may_be_pipes_and_begin_with_a_byte_order_mark(self):
        for words, before, text in self.readable():
            self.file("input", "\ufeff" + text)
            for name in ("input", "<(cat input)", "/dev/stdin"):
                with self.subTest(f"{words} {name}"):
                    self.bash(f"{harness.shlex.join(words)} {before}{name} < input", expect=0)
            for data, what in ((text.encode("utf-16"), "UTF-16"), (gzip.compress(text.encode()), "compressed by gzip"),
                               (text.encode() + b"\0", "is NUL, which no text has")):
                (self.folder / "input").write_bytes(data)
                self.assertIn(what, self.bash(f"{harness.shlex.join(words)} {before}input", expect=2).stderr)
        self.file("input", WORKLOAD)
        self.bash(f"{harness.shlex.join(self.command(*SMALL, '--diagnose', '--out', 'd', '--workload'))} <(cat input)", expect=0)
        self.assertIn("four rounds", (self.folder / "d" / "diagnosis.txt").read_text())

    def test_files_of_another_kind_are_named(self):
        config, goal = '{"pod": {"sips": 2}}', "// one\nnum_ranks 2\n"
        chakra = '{"version": "0.0.4"}\n{"id": "1", "type": "COMP_NODE"}\n'
        for text, words in ((WORKLOAD, "is a workload (expected a config; --workload runs it)"),
                            ('{"schema": "diecast.sweep/1", "grid": {}}', "is a sweep (expected a config; scripts/sweep runs it)"),
                            ('{"schema": "diecast.result/1"}', "is a result (expected a config; config.json beside it"),
                            ("<algo/>", "is an MSCCL program (expected JSON; --workload runs it)")):
            self.refused("--config", self.file("input", text), holds=[f"input: {words}"])
        for text, words in ((config, "is a config (expected a workload; --config reads it)"),
                            (goal, "is a GOAL schedule (expected JSON; scripts/goal2workload"),
                            (chakra, "is a Chakra trace (expected JSON; scripts/chakra2workload"),
                            ('{"schema": "diecast.suite/1", "cases": []}', "is a suite (expected a workload; scripts/regress")):
            self.refused(*SMALL, "--workload", self.file("input", text), holds=[f"input: {words}"])

    def test_words_in_files_are_suggested_as_in_flags(self):
        def op(**fields):
            return harness.json.dumps({"groups": {"tp": {"ranks": "pe"}}, "streams": [{"on": fields.pop("on", [0, 1]), "ops": [
                {"op": "all_reduce", "bytes": 64, **fields}]}]})
        for text, words in ((op(bytes="64KB"), "bytes: wrong type; did you mean 64KiB?"),
                            (op(dtype="fp16"), "dtype: no such value; did you mean f16?"),
                            (op(redop="mean"), "redop: no such value; did you mean avg?"),
                            (op(on="tpp"), "on: no such group; did you mean tp?"),
                            (op(group="tpp"), "group: no such group; did you mean tp?"),
                            (op().replace('"pe"', '"die"'), "groups.tp.ranks: no such rank set; did you mean cube?")):
            self.refused(*SMALL, "--workload", self.file("w.json", text), holds=[words])
        for text, words in (('{"pod": {"topology": "torus"}}', "pod.topology: value out of range; did you mean torus_2d?"),
                            ('{"ipcq": {"slot_bytes": "8KB"}}', "ipcq.slot_bytes: wrong type; did you mean 8KiB?")):
            self.refused("--config", self.file("c.json", text), holds=[words])

    def test_inputs_that_cannot_be_read_say_why(self):
        (self.folder / "loop").symlink_to("loop")
        for words, before, _ in self.readable():
            for name, why in (("loop", "Too many levels"), ("n" * 300, "File name too long"), ("/dev/zero", "longer than 256 MiB"),
                              (".", "a folder"), ("nowhere", "No such file")):
                with self.subTest(f"{words} {name}"):
                    self.assertIn(why, self.bash(f"{harness.shlex.join(words)} {before}{name}", expect=2).stderr)

    def test_limits_of_inputs_are_told(self):
        for n in range(200):
            self.file(f"c{n}.json", f'{{"extends": "c{n + 1}.json"}}')
        self.refused("--config", "c0.json", holds=["too many configs extend one another (value c65.json; expected at most 64"])
        self.file("long", "0 " * 5000)
        for name, flag in (("noc", "--traffic"), ("hbm", "--pattern")):
            done = self.ended(self.start(harness.binary(name), flag, "replay:long"))
            self.assertEqual(done.code, 2)
            self.assertIn("long:1: the line is too long (value 10000 characters; expected at most 4096", done.stderr)

    def kept(self, *arguments, holds, expect):
        """Refused; every file of the folder stays as it is."""
        def files():
            return {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        before = files()
        self.run_pod("--bytes", "1KiB", *arguments, expect=expect)
        for part in holds:
            self.assertIn(part, self.last.stderr)
        self.assertEqual(files(), before)

    def test_out_replaces_nothing_that_is_read(self):
        (self.folder / "my").mkdir()
        own = self.file("my/config.json", f'{{ "extends": "{harness.CONFIGS / "small_pod.json"}" }} // mine\n')
        above = self.file("above.json", '{ "extends": "my/config.json" }')
        (self.folder / "link.json").symlink_to(own)
        for config in ("my/config.json", above, "link.json"):
            self.kept("--config", config, "--out", "my", expect=2,
                      holds=["--out: would overwrite what --config reads (value ", "expected another directory"])
        own.rename(self.folder / "my/links.csv")
        table = ("--algorithm", "auto", "--set", "ccl.tuner=my/links.csv")
        self.kept(*SMALL, "--out", "my", *table, expect=2, holds=["ccl.tuner: my/links.csv line 1: no such column"])
        stream = {"name": "s", "on": [0, 1], "ops": [{"op": "compute", "ns": 1}]}
        self.file("my/links.csv", "collective,min_bytes,max_bytes,algorithm\nall_reduce,0,1,ring_1d\n")
        self.file("my/flight_1.json", harness.json.dumps({"streams": [stream]}))
        self.kept(*SMALL[:2], "--out", "my", "--set", "ccl.tuner=my/links.csv", expect=2,
                  holds=["--out: would overwrite what ccl.tuner reads (value my/links.csv"])
        done = self.run_pod(*SMALL, "--workload", "my/flight_1.json", "--out", "my", expect=2)
        self.assertIn("--out: would overwrite what --workload reads (value my/flight_1.json", done.stderr)
        for name in ("noc", "hbm"):
            self.file("my/config.json", "{} // mine\n")
            done = harness.subprocess.run([harness.binary(name), "--config", "my/config.json", "--out", "my"],
                                          cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--out: would overwrite what --config reads", done.stderr)

    def test_an_effective_config_is_run_again_in_its_folder(self):
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "out")
        before = (self.folder / "out" / "config.json").read_text()
        self.run_pod("--config", "out/config.json", "--bytes", "1KiB", "--out", "out")
        self.assertEqual((self.folder / "out" / "config.json").read_text(), before)
        self.kept("--config", "out/config.json", "--set", "ipcq.n_slots=3", "--out", "out", expect=2,
                  holds=["--out: would overwrite what --config reads"])

    def test_a_file_that_cannot_be_opened_costs_no_earlier_result(self):
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "ok", "--vcd", "ok/w.vcd")
        for flags in (["--vcd", "/nope/x"], ["--timeline", "/nope/x"], ["--record", "/nope/x"],
                      ["--vcd", "ok/w.vcd", "--timeline", "/nope/x"], ["--vcd", "ok/new.vcd", "--timeline", "/nope/x"]):
            self.kept(*SMALL, "--out", "ok", *flags, expect=5, holds=["/nope/x: cannot be written"])

    def test_a_record_that_is_cut_off_says_so(self):
        self.run_pod(*SMALL, "--bytes", "1KiB", "--record", "record")
        record = self.folder / "record"
        record.write_text(record.read_text()[:-10])
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "kept")
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "kept", "--verify", record, expect=2)
        self.assertTrue((self.folder / "kept" / "result.json").exists(), "an earlier result is lost")
        self.refused(*SMALL, "--bytes", "1KiB", "--verify", record, holds=["--verify: is no record: its last line is cut off"])
        whole_lines = self.file("whole_lines", "".join(record.read_text().splitlines(keepends=True)[:-1]))
        self.refused(*SMALL, "--bytes", "1KiB", "--verify", whole_lines, holds=["--verify: is no record: it is truncated"])

    def test_a_scope_that_matches_nothing_costs_no_earlier_file(self):
        self.run_pod(*SMALL, "--bytes", "1KiB", "--timeline", "t.json", "--vcd", "w.vcd")
        kept = {name: (self.folder / name).read_bytes() for name in ("t.json", "w.vcd")}
        for flags in (["--timeline", "t.json", "--timeline-scope", "nothing"], ["--vcd", "w.vcd", "--vcd-scope", "nothing"]):
            done = self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "new", *flags, expect=2)
            self.assertIn("matches nothing of this run (value nothing; expected a name such as pod.sip0.cube_0_0.pe0", done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertFalse((self.folder / "new").exists())
        self.assertEqual({name: (self.folder / name).read_bytes() for name in kept}, kept)

    def test_a_file_that_cannot_be_opened_costs_no_earlier_one(self):
        self.file("a.vcd", "a waveform")
        for binary in (None, "noc", "hbm"):
            words = [harness.binary(binary)] if binary else self.command(*SMALL, "--bytes", "1KiB")
            process = self.start(*words, "--vcd", "a.vcd", "--timeline", "nowhere/t.json")
            done = self.ended(process)
            self.assertEqual(done.code, 5)
            self.assertIn("--timeline nowhere/t.json: cannot be written (No such file or directory)", done.stderr)
            self.assertEqual((self.folder / "a.vcd").read_text(), "a waveform")

    def test_names_of_streams_stay_on_their_line(self):
        path = self.file("w.json", '{"streams": [{"name": "a\\nb", "on": [0, 1], "ops": [{"op": "compute", "ns": 1}]}]}')
        self.refused(*SMALL, "--workload", path, holds=["streams[0].name: holds a line break"])
        path = self.file("p.xml", harness.re.sub(' name="[^"]*"', ' name="&#27;[1m"', PAIR, count=1))
        self.assertIn(" by \\x1b[1m, ", self.run_pod(*SMALL, "--workload", path).stdout)

    def test_all_problems_of_a_file_at_once(self):
        path = self.file("bad.json", BAD_EVERYWHERE)
        done = self.refused("--config", path, holds=[])
        lines = done.stderr.splitlines()
        for key, text in EXPECTED_EVERYWHERE.items():
            found = [line for line in lines if line.startswith(f"{path}: {key}: ")]
            self.assertEqual(len(found), 1, f"{key} in {lines}")
            self.assertIn(text, found[0])
            self.assertIn("expected" if "did you mean" not in found[0] else "?", found[0])
        self.assertEqual(len(lines), len(EXPECTED_EVERYWHERE))

    def test_all_problems_of_a_command_line_at_once(self):
        self.refused(*SMALL, "--dtype", "f99", "--iters", "-1", "--op", "xor", holds=["f99", "-1", "xor"])

    def test_broken_json(self):
        for text in ('{"pod": {"sips": 2,', '{"pod": }', "", "[1, 2]", '{"pod": {"sips": 2}} trailing'):
            with self.subTest(text):
                path = self.file("broken.json", text)
                self.refused("--config", path, holds=[str(path)])

    def test_missing_files(self):
        self.refused("--config", "nowhere.json", holds=["nowhere.json", "No such file"])
        self.refused("--config", ".", holds=["cannot be read"])
        path = self.file("child.json", '{"extends": "parent.json"}')
        self.refused("--config", path, holds=["parent.json"])

    def test_extends_itself(self):
        path = self.file("loop.json", '{"extends": "loop.json"}')
        self.refused("--config", path, holds=["loop.json"])

    def test_routes_that_can_deadlock(self):
        # Without a VC per leg the routes over 4 x 4 cubes close a cycle, which is printed.
        done = self.refused("--set", "noc.leg_vcs=false", holds=["noc: ", "leg_vcs=true"])
        lines = done.stderr.splitlines()
        links = [line.split()[2] for line in lines if line.startswith("  waits for ")]
        self.assertGreater(len(links), 4)
        self.assertEqual(len(set(links)), len(links), "a link stands in the cycle once")
        self.assertTrue(all(link.startswith("pod.sip") for link in links))

    def test_programs(self):
        for name, (text, holds) in BAD_PROGRAMS.items():
            with self.subTest(name):
                path = self.file("program.xml", text)
                self.refused(*SMALL, "--workload", path, holds=holds)

    def test_other_collectives_of_programs(self):
        path = self.file("program.xml", PAIR.replace("allreduce", "alltoall"))
        self.refused(*SMALL, "--workload", path, holds=["program.xml"])


class Outputs(harness.Case):
    def unwritable(self, *arguments, holds):
        done = self.run_pod(*SMALL, "--bytes", "4KiB", *arguments, expect=5)
        for part in holds:
            self.assertIn(part, done.stderr)

    def test_unwritable_out(self):
        taken = self.file("taken", "a file")
        self.unwritable("--out", taken, holds=["--out", "taken"])
        self.unwritable("--out", taken / "below", holds=["--out", "below"])
        self.unwritable("--out", "/proc/nowhere", holds=["--out", "/proc/nowhere"])
        self.assertEqual(taken.read_text(), "a file")

    def test_unwritable_waveform(self):
        self.unwritable("--vcd", "nowhere/w.vcd", holds=["--vcd", "nowhere/w.vcd"])
        self.unwritable("--vcd", self.folder, holds=["--vcd"])
        self.unwritable("--vcd", "/dev/full", holds=["--vcd", "/dev/full"])

    def test_full_standard_output(self):
        for extra in (["--format", "json"], ["--check-config"], ["--bytes", "4KiB"]):
            words = " ".join(self.command(*SMALL, *extra)) + " > /dev/full"
            done = harness.subprocess.run(words, shell=True, capture_output=True, text=True, cwd=self.folder)
            self.last = harness.Result(words, done.returncode, "", done.stderr)
            self.assertEqual(done.returncode, 5)

    def shell(self, words, redirections, expect):
        """A run with its streams as a shell makes them."""
        line = f"set -o pipefail; {harness.shlex.join(str(w) for w in words)} {redirections}"
        done = harness.subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=self.folder,
                                      stdin=harness.subprocess.DEVNULL, timeout=harness.TIMEOUT_S)
        self.last = harness.Result(line, done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect, "exit code")
        return self.last

    def test_standard_error_that_takes_nothing_changes_no_exit_code(self):
        for lost in ("2>&-", "2>/dev/full"):
            self.shell(self.command(*SMALL, "--foo"), lost, expect=2)
            hang = self.command(*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", "--progress", "on", "--ccl-trace",
                                *harness.sets("ipcq.match=sender"), "--out", "hang")
            self.shell(hang, f"{lost} > /dev/null", expect=3)
            self.assertLessEqual({"result.json", "deadlock.json"}, {p.name for p in (self.folder / "hang").iterdir()})

    def test_closed_standard_output_is_told(self):
        for name in ("pod", "cube", "noc", "hbm", "bench"):
            self.shell([harness.binary(name), "--help"], ">&- 2>&-", expect=5)
            self.shell([harness.binary(name), "--help"], ">&- <&-", expect=5)
            self.assertEqual(self.last.stderr, "standard output: cannot be written\n")

    def test_closed_streams_write_into_no_file_of_the_run(self):
        for closed in ("2>&-", ">&- 2>&- <&-"):
            job = self.command(*SMALL, "--bytes", "1KiB", "--quiet", "--ccl-trace", "--vcd", "v.vcd", "--timeline", "t.json")
            self.shell(job, closed, expect=0)
            for name in ("v.vcd", "t.json"):
                self.assertFalse("ccl rank" in (self.folder / name).read_text(), f"the trace is in {name}")

    def test_a_pipe_whose_reader_ends_changes_nothing(self):
        job = self.command(*SMALL, "--algorithm", "all", "--bytes", "1KiB:4KiB:x2", "--out", "d")
        for reader in ("true", "head -1"):
            self.shell(job, f"2>/dev/null | {reader}", expect=0)
            self.assertLessEqual({"result.json", "links.csv"}, {p.name for p in (self.folder / "d").iterdir()})
        noc = [harness.binary("noc"), "--cycles", "500", "--rate", "0.1,0.2", "--out", "n"]
        self.shell(noc, "2>/dev/null | true", expect=0)
        self.assertTrue((self.folder / "n" / "result.json").exists())
        hang = self.command(*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", *harness.sets("ipcq.match=sender"))
        self.shell(hang, "2>/dev/null | true", expect=3)

    def test_flags_of_other_binaries_are_named(self):
        """Every flag that another binary has and this one lacks."""
        flags = {name: set(harness.re.findall(r"(?m)^  (--[a-z-]+)", harness.subprocess.run(
            [harness.binary(name), "--help"], capture_output=True, text=True, check=True).stdout))
            for name in ("pod", "noc", "hbm", "bench")}
        for name in ("pod", "noc", "hbm"):
            for flag in set().union(*flags.values()) - flags[name]:
                owners = [f"diecast-{other}" for other in ("noc", "hbm", "pod", "bench") if flag in flags[other]]
                stderr = harness.subprocess.run([harness.binary(name), flag, "1"], capture_output=True, text=True).stderr
                self.assertRegex(stderr, rf"a flag of .*({'|'.join(owners)}).* \(value {flag}", f"{name} {flag}")

    def test_foreign_folder_is_refused_and_untouched(self):
        (self.folder / "foreign").mkdir()
        precious = self.file("foreign/precious.txt", "mine")
        self.unwritable("--out", "foreign", holds=["--out foreign", "precious.txt", "empty directory"])
        self.assertEqual([p.name for p in (self.folder / "foreign").iterdir()], ["precious.txt"])
        self.assertEqual(precious.read_text(), "mine")

    def test_files_of_a_user_stay_under_any_name(self):
        """Own files are known by what is in them."""
        names = ["config", "result", "deadlock", "flight_1", "critical_path", "diagnosis", "diagnosis_job_0"]
        names = [n + ".json" for n in names] + [n + ".csv" for n in ("links", "ipcq", "waits", "health", "hbm")]
        for name in (*names, "diagnosis.txt", "report.html", "result.json.partial", "config.json.partial"):
            with self.subTest(name):
                (self.folder / f"of_{name}").mkdir()
                own = self.file(f"of_{name}/{name}", "{} // mine")
                self.unwritable("--out", f"of_{name}", holds=[f"holds {name}, which Diecast did not write"])
                self.assertEqual(own.read_text(), "{} // mine")
                if name.startswith("diagnosis"):
                    kept = self.folder / "diagnosis" / name
                    kept.parent.mkdir()
                    own.rename(kept)
                    self.unwritable("--diagnose", holds=[f"{name}, which Diecast did not write"])
                    self.assertEqual(kept.read_text(), "{} // mine")
                    shutil.rmtree(kept.parent)

    def test_what_was_edited_since_is_the_users(self):
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d")
        config = self.folder / "d" / "config.json"
        self.file("d/config.json", config.read_text().replace('"seed": 1', '"seed": 2'))
        before = {p.name: p.read_bytes() for p in (self.folder / "d").iterdir()}
        self.unwritable("--out", "d", holds=["holds config.json", "was changed since"])
        self.assertEqual({p.name: p.read_bytes() for p in (self.folder / "d").iterdir()}, before)

    def test_every_file_of_a_run_is_known(self):
        """The folder of any run serves the next one."""
        hang = (*SMALL, "--algorithm", "ring_1d", "--ranks", "sip", *harness.sets("ipcq.match=sender"))
        jobs = [([harness.POD, *SMALL, "--bytes", "1KiB:2KiB"], 0), ([harness.POD, *hang, "--bytes", "1KiB:2KiB"], 3),
                ([harness.POD, *hang], 3), ([harness.POD, *SMALL, "--bytes", "1KiB", "--diagnose"], 0),
                ([harness.binary("noc"), "--rate", "0.1", "--cycles", "500"], 0), ([harness.binary("hbm"), "--requests", "9"], 0)]
        for words, code in [*jobs, *reversed(jobs)]:
            with self.subTest(" ".join(map(str, words))):
                self.assertEqual(self.ended(self.start(*words, "--out", "d", "--quiet")).code, code)
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d")
        harness.subprocess.run([harness.ROOT / "scripts" / "report", "d"], cwd=self.folder, check=True, capture_output=True)
        self.assertTrue((self.folder / "d" / "report.html").exists())
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d")
        self.assertFalse((self.folder / "d" / "report.html").exists())
        # What is left of a run that is killed between its config and its status, while it removes earlier files, and while it
        # proves that a file can be written.
        for name in ("result.json", "config.json"):
            (self.folder / "d" / name).rename(self.folder / "d" / f"{name}.partial")
            self.file("d/result.json.partial.partial", "")
            self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d")

    @harness.cases(5, 1)
    def test_a_run_that_is_killed_at_any_file_leaves_a_folder_for_the_next(self, step):
        """And none that looks complete: its status is the last to come and the first to go."""
        if shutil.which("strace") is None:
            self.skipTest("no strace")
        words = self.command(*SMALL, "--bytes", "1KiB", "--quiet", "--out", "d")
        for number, calls in (("KILL", "/^rename"), ("KILL", "/^unlink"), ("TERM", "/^open")):
            for n in range(1, 60, step):
                self.assertEqual(harness.subprocess.run(words, cwd=self.folder).returncode, 0, f"after {calls} {n - 1}")
                complete = {p.name for p in (self.folder / "d").iterdir()}
                done = harness.subprocess.run(["strace", "-o", "/dev/null", "-e", f"inject={calls}:signal={number}:when={n}", *words],
                                              cwd=self.folder, capture_output=True)
                left = {p.name for p in (self.folder / "d").iterdir()}
                self.assertTrue(complete >= left >= {"result.json"} if number == "TERM" else "result.json" not in left or left >= complete, (n, left))
                if done.returncode == 0:
                    break
            self.assertGreater(n, 8)
        named = ("--vcd", "d/w.vcd", "--timeline", "d/t.json")
        harness.subprocess.run(["strace", "-o", "/dev/null", "-e", "inject=/clone|fork:signal=KILL:when=1", *words, *named], cwd=self.folder)
        self.assertLessEqual({"w.vcd", "t.json"}, {p.name for p in (self.folder / "d").iterdir()})
        self.assertEqual(harness.subprocess.run(words, cwd=self.folder).returncode, 0)

    def limited(self, most_bytes, *words):
        """A run whose files hold no more than so many bytes each, as on a full disk."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        done = harness.subprocess.run([str(w) for w in words], cwd=self.folder, capture_output=True, text=True, preexec_fn=limit)
        self.last = harness.Result(f"ulimit -f {most_bytes} bytes; {harness.shlex.join(map(str, words))}", done.returncode,
                                   done.stdout, done.stderr)
        return done.returncode

    def test_a_folder_on_a_full_disk_does_not_look_complete(self):
        jobs = [[harness.POD, *SMALL, "--bytes", "1KiB", "--record", "record", "--timeline", "t.json"],
                [harness.binary("noc"), "--rate", "0.1", "--cycles", "500", "--vcd", "w.vcd"],
                [harness.binary("hbm"), "--requests", "9", "--vcd", "w.vcd"]]
        for job in jobs:
            words = [*job, "--out", "d", "--quiet"]
            self.assertEqual(self.ended(self.start(*words)).code, 0)
            sizes = {p.stat().st_size for p in self.folder.rglob("*") if p.is_file() and p.name not in ("stdout.txt", "stderr.txt")}
            for most in sorted({0, *(n for size in sizes for n in (size // 2, size - 1))}):
                with self.subTest(f"{words} {most} bytes"):
                    self.assertEqual(self.limited(most, *words), 5)
                    self.assertIn("File too large", self.last.stderr)
                    result = self.folder / "d" / "result.json"
                    if result.exists():
                        self.assertEqual(harness.json.loads(result.read_text())["status"], "error")
                    self.assertFalse(list(self.folder.rglob("*.partial")))
            self.assertEqual(self.ended(self.start(*words)).code, 0)  # nothing is left that the next run refuses
            shutil.rmtree(self.folder / "d")
            for file in self.folder.iterdir():
                file.unlink()

    def test_experiments_without_room_say_how_to_give_them_some(self):
        words = self.command(*SMALL, "--bytes", "1KiB", "--diagnose", "--out", "d")
        (self.folder / "tmp").mkdir()
        for folder, most in (("nowhere", None), (self.folder / "tmp", 0), (self.folder / "tmp", 3000)):
            with self.subTest(f"{folder} {most}"):
                os.environ["TMPDIR"] = str(folder)
                self.addCleanup(os.environ.pop, "TMPDIR", None)
                code = self.limited(most if most is not None else resource.RLIM_INFINITY, *words)
                self.assertEqual(code, 5, self.last.stderr)
                self.assertRegex(self.last.stderr, r"--diagnose: its experiments need a folder with room.*; set TMPDIR to one")
                self.assertFalse(list((self.folder / "tmp").iterdir()))
        os.environ["TMPDIR"] = ""  # as where it is not set
        self.run_pod(*words[1:])

    def test_problems_that_cannot_be_recorded_are_no_verdict(self):
        """Of a refused run, for the diagnosis that asks for them: exit code 1 would be a wrong result."""
        os.environ["DIECAST_PROBLEMS"] = "absent/file"
        self.addCleanup(os.environ.pop, "DIECAST_PROBLEMS")
        self.assertEqual(self.run_pod("--bytes", "x", expect=5).stderr, "absent/file: cannot be written (No such file or directory)\n")

    def test_a_run_without_a_process_says_so(self):
        """Where fork is refused: exit code 71 of every binary, and of --diagnose."""
        self.folder.chmod(0o777)

        def limit():
            if os.geteuid() == 0:  # to whom no limit applies
                os.setresuid(65534, 65534, 65534)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        for words in (self.command(*SMALL), self.command(*SMALL, "--diagnose"), [harness.binary("noc")], [harness.binary("hbm")],
                      [harness.binary("bench"), "mmio", "--runs", "1"]):
            done = harness.subprocess.run(words, cwd=self.folder, capture_output=True, text=True, preexec_fn=limit)
            self.last = harness.Result(harness.shlex.join(words), done.returncode, done.stdout, done.stderr)
            self.assertEqual(done.returncode, 71)
            self.assertRegex(done.stderr, r"^the system refuses: no process .*\(Resource temporarily unavailable\)\n$")

    def test_limits_of_the_system_are_told(self):
        for kind, most, words, why in (
                (resource.RLIMIT_STACK, 64 << 10, (), "a stack of 64 KiB; expected at least 256"),
                (resource.RLIMIT_NOFILE, 6, ("--diagnose",), "no file for its output"),
                (resource.RLIMIT_CPU, 1, ("--bytes", "1MiB", "--iters", "9999", "--no-data"), "perhaps for want of memory or CPU time")):
            done = self.ended(self.start(*self.command(*SMALL, *words), preexec_fn=lambda: resource.setrlimit(kind, (most, most))))
            self.assertEqual((done.code, why in done.stderr), (71, True))

    def test_two_runs_do_not_share_a_folder(self):
        (self.folder / "out").mkdir()
        other = os.open(self.folder / "out", os.O_RDONLY)
        try:
            fcntl.flock(other, fcntl.LOCK_EX)  # as a run holds it
            self.unwritable("--out", "out", holds=["--out out: another run is writing there"])
        finally:
            os.close(other)
        self.run_pod(*SMALL, "--bytes", "4KiB", "--out", "out")

    def test_named_files_of_an_earlier_run_go_with_it(self):
        named = ("--timeline", "d/t.json", "--vcd", "d/w.vcd", "--record", "d/r.rec")
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d", *named)
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d", "--verify", "d/r.rec", "--vcd", "d/w.vcd")
        names = {p.name for p in (self.folder / "d").iterdir()}
        self.assertLessEqual({"r.rec", "w.vcd", "result.json"}, names)
        self.assertNotIn("t.json", names)
        self.assertGreater((self.folder / "d" / "w.vcd").stat().st_size, 1000)
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d", "--vcd", "d/v.vcd", "--vcd-scope", "nothing", expect=2)
        self.run_pod(*SMALL, "--bytes", "1KiB", "--out", "d")
        self.assertFalse({p.name for p in (self.folder / "d").iterdir()} & {"r.rec", "w.vcd", "v.vcd"})
        foreign = self.file("d/t.json", '{"displayTimeUnit":"ns","traceEvents":[]}')
        self.unwritable("--out", "d", holds=["t.json, which Diecast did not write"])
        self.assertTrue(foreign.exists())

    def test_own_folder_is_reused(self):
        for _ in range(2):
            self.run_pod(*SMALL, "--bytes", "4KiB", "--out", "deep/out", "--vcd", "deep/out/w.vcd")
        names = {p.name for p in (self.folder / "deep/out").iterdir()}
        self.assertLessEqual({"result.json", "w.vcd"}, names)


if __name__ == "__main__":
    harness.main()
