# SPDX-License-Identifier: Apache-2.0
"""Whatever ends a script, its runs end with it, its temporary folders go, and it says by its exit code what it was."""
import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

import harness
from workbench_test import ScriptCase

CONFIG = harness.CONFIGS / "small_pod.json"
LONG = ("--bytes", "1MiB", "--algorithm", "ring_1d", "--iters", "2000", "--no-data")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


class Signals(ScriptCase):

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.mark = f"DIECAST_TEST_MARK={self.folder}"
        # A binary that says that it has begun and then is the real one.
        (self.folder / "bin").mkdir()
        for name in ("pod", "noc"):
            binary = self.file(f"bin/diecast-{name}", f"#!/bin/sh\ncase \"$*\" in *--iters*|*--cycles*|*--warmup*) touch '{self.folder}/begun';; "
                               f"esac\nexec '{harness.binary(name)}' \"$@\"\n")
            binary.chmod(0o755)
        self.file("m.csv", "bytes,time_ns\n1MiB,9000\n")
        case = {"name": "a", "config": str(CONFIG), "args": LONG}
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case, {**case, "name": "b"}, {**case, "name": "c"}]}))
        flags = {word.removeprefix("--"): value for word, value in zip(LONG[::2], LONG[1::2])}
        self.file("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": str(CONFIG), "flags": {**flags, "no-data": True},
                                           "grid": {"ipcq.n_slots": [2, 4, 8]}}))

    COMMANDS = (("regress", "suite.json"), ("degrade", CONFIG, "--", *LONG), ("sensitivity", CONFIG, "--", *LONG),
                ("calibrate", CONFIG, "m.csv", "--key", "noc.hop_cycles", "--", *LONG[2:]), ("sweep", "spec.json", "--out", "s"),
                ("sweep_barriers", "--pod", "bin/diecast-pod"), ("validate_noc", "--noc", "bin/diecast-noc"))

    def left(self):
        """Commands of processes that carry the mark of this test."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.mark.encode() in (process / "environ").read_bytes() and (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append((process / "cmdline").read_text().replace("\0", " ")[:200])
        return found

    def begin(self, words):
        (self.folder / "begun").unlink(missing_ok=True)
        # In a shell's background job SIGINT is ignored, and so is SIGHUP behind nohup; both stay so in children.
        environment = {**os.environ, "TMPDIR": str(self.temporary), "DIECAST_BIN": str(self.folder / "bin"),
                       **dict([self.mark.split("=", 1)])}
        return self.start(harness.ROOT / "scripts" / words[0], *words[1:], env=environment, start_new_session=True,
                          preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SIGNALS[:3]])

    def await_begun(self, script):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not (self.folder / "begun").exists():
            self.assertIsNone(script.poll(), "ended before its first run")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def assert_nothing_left(self, words):
        deadline = time.monotonic() + harness.limit_s(60)
        while (left := self.left()) or list(self.temporary.iterdir()):
            self.assertLess(time.monotonic(), deadline, f"{words}: {left} {list(self.temporary.iterdir())}")
            time.sleep(0.02)

    def ended_by(self, words, number, delay):
        script = self.begin(words)
        self.await_begun(script)
        time.sleep(delay)
        script.send_signal(number)  # to the script alone
        done = self.ended(script, within_s=60)
        self.assert_nothing_left((words, number, delay))
        if number == signal.SIGKILL:
            self.assertEqual(done.code, -number, words)
        else:
            self.assertEqual(done.code, 128 + number, words)
            said = [line for line in done.stderr.splitlines() if line.startswith("scripts/")]
            self.assertEqual([line.startswith(f"scripts/{words[0]}: interrupted") for line in said], [True], done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        shutil.rmtree(self.folder / "s", ignore_errors=True)

    def test_every_script_ends_its_runs(self):
        for words in self.COMMANDS:
            for n, number in enumerate(SIGNALS):
                self.ended_by(words, number, n % 2 * 0.05)

    def test_a_signal_while_python_imports(self):
        """In Python's own start, and at the first module that a script imports besides start."""
        self.file("sitecustomize.py", """
import os, signal, sys
class Finder:
    def find_spec(name, path=None, target=None):
        if name not in os.environ["PASSED"]:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
""")
        scripts = [path for path in (harness.ROOT / "scripts").iterdir() if path.is_file() and b"end_with(main" in path.read_bytes()]
        self.assertGreater(len(scripts), 25)
        for path, passed in ((path, passed) for path in scripts for passed in ("", "start usercustomize")):
            done = subprocess.run([path, "--help"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(self.folder), "PASSED": passed})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (130, "", f"scripts/{path.name}: interrupted\n"))

    def test_a_signal_while_another_python_starts(self):
        """The one that has matplotlib takes over the script."""
        system = self.file("system", f"#!{sys.executable}\nimport signal\nprint(*map(int, signal.pthread_sigmask(signal.SIG_BLOCK, [])))\n")
        system.chmod(0o755)
        done = self.python("import importlib.util; importlib.util.find_spec = lambda name: None; from diecast import axes; "
                           f"axes.SYSTEM = {str(system)!r}; axes.has_plots()")
        self.assertEqual(sorted(map(int, done.stdout.split())), sorted(SIGNALS[:3]), done.stderr)

    def test_a_signal_at_the_end(self):
        code = """
import os, signal
from diecast import endings, processes
processes.clean = lambda: os.kill(os.getpid(), signal.SIGTERM)
def main():
    print("all")
endings.end_with(main)
"""
        done = self.python(code)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (143, "all\n", "scripts/-c: interrupted\n"))

    def test_a_signal_while_a_run_starts(self):
        """The run is not yet noted then; it must not write into a folder that has been removed."""
        code = """
import os, signal
from diecast import endings, processes
started = processes._popen
def popen(command, **options):
    process = started(command, **options)
    if command[0] == "sh":
        os.kill(os.getpid(), signal.SIGTERM)
    return process
processes._popen = popen
def main():
    with processes.scratch() as folder:
        processes.finished(["sh", "-c", f"while :; do mkdir -p {folder}/out; done"])
endings.end_with(main)
"""
        for _ in range(3):
            done = self.python(code, TMPDIR=str(self.temporary))
            self.assertEqual((done.returncode, done.stderr), (143, "scripts/-c: interrupted\n"))
            self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_signal_does_not_wait_for_a_run_that_starts(self):
        """The thread that starts it may wait for what the interrupted code holds, as fork() does for the lock of a pool."""
        code = """
import threading
from diecast import processes
starting, stopped = threading.Event(), threading.Event()
started = processes._popen
def popen(command, **options):
    starting.set()
    stopped.wait()
    return started(command, **options)
processes._popen = popen
def run():
    try:
        processes.finished(["sleep", "1000"])
    except processes.Stopped:
        print("stopped")
thread = threading.Thread(target=run)
thread.start()
starting.wait()
processes.stop(15)
stopped.set()
thread.join()
"""
        done = self.python(code)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "stopped\n", ""))

    def test_what_is_ignored_stays_so(self):
        script = self.start("bash", "-c", f"trap '' HUP; exec {harness.ROOT}/scripts/sweep {harness.ROOT}/docs/examples/root_place.json "
                            "--out s --jobs 1", env={**os.environ, "DIECAST_BIN": str(self.folder / "bin")})
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not (self.folder / "s" / "points").is_dir():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        script.send_signal(signal.SIGHUP)
        self.assertEqual(self.ended(script).code, 0)


class Temporary(ScriptCase):
    """A temporary folder that cannot be had, or has no room."""

    def setUp(self):
        super().setUp()
        self.file("m.csv", "bytes,time_ns\n4KiB,9000\n")
        case = {"name": "a", "config": str(CONFIG), "args": ["--bytes", "4KiB"]}
        self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))
        job = ("--", "--bytes", "4KiB")
        self.commands = (("regress", "suite.json"), ("degrade", CONFIG, *job), ("sensitivity", CONFIG, "--key", "noc.hop_cycles", *job),
                         ("calibrate", CONFIG, "m.csv", "--key", "noc.hop_cycles"))

    def test_a_run_that_the_system_refuses_says_nothing_about_the_machine(self):
        (self.folder / "bin").mkdir()
        self.file("bin/diecast-pod", f"#!/bin/sh\ncase \"$*\" in *--out*) echo no memory >&2; exit 71;; esac\nexec '{harness.POD}' \"$@\"\n").chmod(0o755)
        for words, code in ((("regress", "--bless", "suite.json"), 2), *((words, 71) for words in self.commands[1:])):
            self.assertIn("no memory", self.script(*words, expect=code, environment={"DIECAST_BIN": self.folder / "bin"}).stderr)

    def test_unusable(self):
        self.file("plain", "a file")
        for place in ("absent", "plain"):
            for words in self.commands:
                done = self.script(*words, expect=5, environment={"TMPDIR": self.folder / place})
                self.assertRegex(done.stderr, rf"^scripts/{words[0]}: \S*{place}/diecast-\S+: .*; expected TMPDIR to name a folder that can be "
                                 r"written and has room\n$")

    def test_full(self):
        """A file system of a few pages, in a name space of its own."""
        for words in self.commands:
            command = shlex.join([str(harness.ROOT / "scripts" / words[0]), *map(str, words[1:])])
            done = self.on_a_full_disk(f"export TMPDIR=$PWD/full && {command}")
            self.assertIn("expected TMPDIR to name a folder that can be written and has room", done.stderr, words)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (5, 1), done.stderr)


class Orphans(ScriptCase):
    """A sweep that was killed, and the next one."""

    def setUp(self):
        super().setUp()
        self.spec = self.file("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": "pod.json", "flags": {"algorithm": "ring_1d"},
                                                       "grid": {"--bytes": ["4KiB"]}}))
        self.config(4)
        self.point = self.folder / "s" / "points" / "0000-bytes=4KiB"

    def config(self, slots):
        self.file("pod.json", json.dumps({"extends": str(CONFIG), "ipcq": {"n_slots": slots}}))

    def test_a_folder_that_is_locked_is_left_alone(self):
        self.script("sweep", self.spec, "--out", "s")
        before = (self.point / "result.json").read_bytes()
        (self.folder / "s/records").rename(self.folder / "s/gone")
        held = os.open(self.point, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.assertIn("another run is writing there", self.script("sweep", self.spec, "--out", "s", expect=5).stderr)
        self.assertEqual((self.point / "result.json").read_bytes(), before)

    def test_a_result_of_another_machine_is_not_kept(self):
        """As an orphan of an older sweep would leave it: of another config, or of other flags, beside a record of this one."""
        self.script("sweep", self.spec, "--out", "s")
        self.assertIn("(kept)", self.script("sweep", self.spec, "--out", "s").stdout)
        good = (self.point / "result.json").read_bytes()
        argv = json.loads(good)["argv"]
        self.config(1)
        self.run_pod(*argv[1:])
        other = (self.point / "result.json").read_bytes()
        self.config(4)
        changed = json.loads(good)
        changed["argv"][changed["argv"].index("ring_1d")] = "intercube"
        for content in (other, json.dumps(changed).encode()):
            (self.point / "result.json").write_bytes(content)
            self.assertIn("no result of 0000", self.script("sweep", self.spec, "--out", "s", "--collect", expect=1).stderr)
            self.assertNotIn("(kept)", self.script("sweep", self.spec, "--out", "s").stdout)
            found = json.loads((self.point / "result.json").read_text())
            self.assertEqual((found["config_sha256"], found["argv"]), (json.loads(good)["config_sha256"], argv))

    def test_files_of_a_user_survive(self):
        self.script("sweep", self.spec, "--out", "s")
        notes = self.point / "notes.txt"
        notes.write_text("mine")
        (self.point / "pictures").mkdir()
        (self.point / "pictures" / "a.svg").write_text("mine, too")
        self.config(2)
        self.assertNotIn("(kept)", self.script("sweep", self.spec, "--out", "s").stdout)
        self.assertEqual(json.loads((self.point / "config.json").read_text())["ipcq"]["n_slots"], 2)
        self.assertEqual((notes.read_text(), (self.point / "pictures" / "a.svg").read_text()), ("mine", "mine, too"))
        self.assertFalse((self.folder / "s" / "aside").exists())
        self.config(1)
        for mine in ("my own notes", "[1]"):
            (self.point / "result.json").write_text(mine)
            self.assertIn("which Diecast did not write", self.script("sweep", self.spec, "--out", "s", expect=5).stderr)
            self.assertEqual((self.point / "result.json").read_text(), mine)


if __name__ == "__main__":
    harness.main()
