#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user can get wrong: exit 2 (5 for outputs); stderr says where, what and what was expected."""
import fcntl
import os

import harness
from harness import SMALL

# --set NAME=VALUE and what stderr must contain: the path, the value, the expectation.
SETTINGS = [
    ("pe.vector_lane=3", ["pe.vector_lane", "unknown key", "pe.vector_lanes?"]),
    ("nothing.sips=1", ["nothing.sips", "unknown key"]),
    ("pod.sips=0", ["pod.sips", "'0'", "from 1 to 256"]),
    ("pod.sips=-1", ["pod.sips", "'-1'", "whole number"]),
    ("pod.sips=1.5", ["pod.sips", "'1.5'", "whole number"]),
    ("pod.sips=two", ["pod.sips", "'two'", "whole number"]),
    ("pod.sips=", ["pod.sips", "''", "whole number"]),
    ("pod.sips", ["--set", "PATH=VALUE"]),
    ("ipcq.match=nobody", ["ipcq.match", "nobody", "address", "sender"]),
    ("sim.build_order=shuffle", ["sim.build_order", "'shuffle'", "forward|reverse|shuffle:"]),
    ("ipcq.slot_bytes=2097152", ["ipcq.slot_bytes", "2097152", "pe.tcm_kib"]),
    ("ipcq.queue_pairs=1", ["queue_pairs", "1"]),
    ("noc.link_cycles=9", ["noc.link_cycles", "9", "noc.hop_cycles"]),
    ("ucie.latency_ns=0.5", ["ucie.latency_ns", "0.5", "one cycle"]),
]

# Arguments after a good --config, and what stderr must contain.
FLAGS = [
    (["--confg", "x"], ["--confg", "--config?"]),
    (["--conf", "x"], ["unknown flag", "--conf"]),
    (["--nonsense"], ["unknown flag", "--nonsense"]),
    (["-c", "x"], ["unknown flag", "-c"]),
    (["stray"], ["stray argument", "stray"]),
    (["--bytes", "3"], ["--bytes", "3", "multiple of 2"]),
    (["--bytes", "6", "--dtype", "f32"], ["--bytes", "6", "multiple of 4"]),
    (["--bytes", "-4"], ["--bytes", "'-4'", "whole number"]),
    (["--bytes", "1.5KiB"], ["--bytes", "'1.5KiB'", "whole number"]),
    (["--bytes", "4XiB"], ["--bytes", "'4XiB'", "KiB"]),
    (["--bytes", "8KiB:4KiB"], ["--bytes", "8KiB:4KiB"]),
    (["--bytes", "1GiB"], ["pe.tcm_kib"]),
    (["--bytes"], ["--bytes", "missing"]),
    (["--bytes", "--quiet"], ["--bytes", "has no value", "--quiet"]),
    (["--iters", "0"], ["--iters", "'0'", "from 1"]),
    (["--iters", "2.5"], ["--iters", "'2.5'"]),
    (["--seed", "-1"], ["seed", "'-1'"]),
    (["--seed", "5", "--set", "sim.seed=6"], ["--seed: sets what a --set does, too (value 5 and sim.seed=6; expected one of the two)"]),
    (["--dtype", "f99"], ["--dtype", "f99", "bf16"]),
    (["--op", "xor"], ["--op", "xor", "prod"]),
    (["--format", "xml"], ["--format", "xml", "csv"]),
    (["--list", "cheese"], ["--list", "cheese", "patterns"]),
    (["--collective", "all_nothing"], ["--collective", "all_nothing", "all_reduce"]),
    (["--algorithm", "telepathy"], ["--algorithm", "telepathy", "ring_1d", "intercube"]),
    (["--set", "ccl.patterns.\udcff=[]"], ["--set: is not text"]),
    (["--algorithm", "ring_1d,"], ["--algorithm", "ring_1d,"]),
    (["--algorithm", "ring"], ["--algorithm", "did you mean ring_1d?"]),
    (["--algorithm", "all,ring_1d"], ["--algorithm: has all beside other names (value all,ring_1d"]),
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
    (["--vcd", "w", "--timeline", "./w"], ["--timeline: is the file of --vcd, too (value ./w"]),
    (["--verify", "r", "--vcd", "./r"], ["--vcd: would overwrite what --verify reads (value ./r"]),
    (["--collective", "allreduce"], ["--collective: no such collective; did you mean all_reduce?"]),
    (["--algorithm", "ring1d"], ["--algorithm: no such all_reduce algorithm; did you mean ring_1d?"]),
    (["--collective", "barrier", "--algorithm", "disemination"], ["did you mean dissemination?"]),
    (["--ranks", "cubes"], ["--ranks: no such value; did you mean cube?"]),
    (["--workload", harness.PROGRAMS / "pair_exchange.xml", "--collective", "broadcast"], ["--collective: has no meaning"]),
    (["--dump-config", "--dump-install"], ["--dump-install: has no meaning beside --dump-config"]),
    (["--version", "--schema"], ["--schema: has no meaning beside --version"]),
    (["--check-config", "--vcd", "F"], ["--vcd: has no meaning beside --check-config", "--out: has no meaning"]),
    (["--dump-config", "--timeline", "F"], ["--timeline: has no meaning beside --dump-config"]),
    (["--dump-install", "--record", "F"], ["--record: has no meaning beside --dump-install"]),
    (["--print-map", "--ccl-trace"], ["--ccl-trace: has no meaning beside --print-map"]),
    (["--list", "presets", "--diagnose"], ["--diagnose: has no meaning beside --list"]),
    (["--check-config", "--dump-config"], ["--check-config: has no meaning beside --dump-config"]),
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

    def test_flags(self):
        for arguments, holds in FLAGS:
            with self.subTest(" ".join(map(str, arguments))):
                self.refused(*SMALL, *arguments, holds=holds)

    def test_what_is_read_is_not_overwritten(self):
        own = self.file("own.json", "{}")
        for flag in ("--vcd", "--timeline", "--record"):
            self.refused("--config", own, flag, "./own.json", holds=[f"{flag}: would overwrite what --config reads"])
        self.assertEqual(own.read_text(), "{}")

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
        self.refused(*SMALL, "--bytes", "1KiB", "--verify", whole_lines, holds=["--verify: is no record: it is not whole"])

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

    def test_unknown_preset(self):
        self.refused(*SMALL, "--set", "ucie.preset=cheese", holds=["cheese", "rebel100"])

    def test_programs(self):
        for name, (text, holds) in BAD_PROGRAMS.items():
            with self.subTest(name):
                path = self.file("program.xml", text)
                self.refused(*SMALL, "--workload", path, holds=holds)

    def test_program_with_more_ranks_than_the_machine(self):
        self.refused(*SMALL, "--ranks", "sip", "--workload", harness.PROGRAMS / "chain_4.xml",
                     holds=["4 ranks", "2 sips"])

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

    def test_a_pipe_that_nobody_reads_ends_no_run(self):
        job = self.command(*SMALL, "--algorithm", "all", "--bytes", "1KiB:4KiB:x2", "--out", "d")
        self.shell(job, "2>/dev/null | true", expect=5)
        self.assertLessEqual({"result.json", "links.csv"}, {p.name for p in (self.folder / "d").iterdir()})
        noc = [harness.binary("noc"), "--cycles", "500", "--rate", "0.1,0.2", "--out", "n"]
        self.shell(noc, "2>/dev/null | true", expect=5)
        self.assertTrue((self.folder / "n" / "result.json").exists())

    def test_foreign_folder_is_refused_and_untouched(self):
        (self.folder / "foreign").mkdir()
        precious = self.file("foreign/precious.txt", "mine")
        self.unwritable("--out", "foreign", holds=["--out foreign", "precious.txt", "empty directory"])
        self.assertEqual([p.name for p in (self.folder / "foreign").iterdir()], ["precious.txt"])
        self.assertEqual(precious.read_text(), "mine")

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
