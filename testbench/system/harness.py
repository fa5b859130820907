# SPDX-License-Identifier: Apache-2.0
"""What the system tests share: run a binary, read what it wrote, say how to repeat it.

The binary under test comes from the environment variable DIECAST_POD, else from build/bin; the others lie beside it. Every
failed assertion ends with the last command that was run and what it printed to stderr.
"""
import functools
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CONFIGS = ROOT / "platforms" / "configs"
PROGRAMS = HERE / "data"
POD = os.environ.get("DIECAST_POD", str(ROOT / "build" / "bin" / "diecast-pod"))
BIN = pathlib.Path(POD).resolve().parent

SMALL = ("--config", CONFIGS / "small_pod.json")
SEED = ("--config", CONFIGS / "seed_machine.json")
TORUS = ("--config", CONFIGS / "seed_machine_6sip.json")

# Flags that a config of platforms/configs/faults needs to be met, by its name.
FAULT_JOBS = {name: [word.replace("{root}", str(ROOT)) for word in words] for name, words in
              json.loads((ROOT / "scripts" / "fault_jobs.json").read_text())["jobs"].items()}

SKIPPED = 77  # what ctest takes for "skipped"
TIMEOUT_S = 500  # of one command; only sanitizer builds come near it


@functools.cache
def is_sanitized():
    """The binary under test is a sanitizer build: slower, and with more memory."""
    return b"__asan_init" in pathlib.Path(POD).read_bytes()


def limit_s(seconds):
    """A limit on the time of something prompt; in sanitizer builds that of any command."""
    return TIMEOUT_S if is_sanitized() else seconds


def script(name):
    """A script as a module."""
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(ROOT / folder) for folder in ("scripts", "python") if str(ROOT / folder) not in sys.path]
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


# A line of --progress on: of a run that has begun, and of one that is inside of a launch.
BEGUN = r"\] +\d+%  [\d.]+ us simulated"
LAUNCHED = BEGUN + r".*  [\d.]+ us of "


class Result:
    """A finished command."""

    def __init__(self, command, code, stdout, stderr):
        self.command, self.code, self.stdout, self.stderr = command, code, stdout, stderr


class Case(unittest.TestCase):
    """A test with a folder of its own and the runs it made."""

    longMessage = True

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="diecast-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.last = None

    def _formatMessage(self, msg, standard):
        text = super()._formatMessage(msg, standard)
        if getattr(self, "last", None) is None:
            return text
        tail = self.last.stderr.strip()[-2000:]
        return f"{text}\nreproduce: {self.last.command}\nexit code: {self.last.code}\nstderr: {tail}"

    def file(self, name, text):
        """A file of this test."""
        path = self.folder / name
        path.write_text(text)
        return path

    def command(self, *arguments):
        return [POD, *[str(a) for a in arguments]]

    def run_pod(self, *arguments, expect=0):
        """Runs the binary; `expect` is the exit code it must have (None: any)."""
        words = self.command(*arguments)
        done = subprocess.run(words, cwd=self.folder, capture_output=True, timeout=TIMEOUT_S, text=True,
                              stdin=subprocess.DEVNULL)
        self.last = Result(shlex.join(words), done.returncode, done.stdout, done.stderr)
        if expect is not None:
            self.assertEqual(done.returncode, expect, "exit code")
        return self.last

    def on_a_full_disk(self, command):
        """Of a shell command in the test's folder, where `full` is a file system of a few pages."""
        (self.folder / "full").mkdir(exist_ok=True)
        inside = ["unshare", "-rm", "sh", "-c"]
        mount = "mount -t tmpfs -o size=16k tmpfs full && "
        if subprocess.run([*inside, mount + "true"], capture_output=True, cwd=self.folder).returncode:
            self.skipTest("no file systems may be mounted here")
        return subprocess.run([*inside, mount + command], capture_output=True, text=True, cwd=self.folder)

    def start(self, *words, **options):
        """A process with files for what it prints, in the test's folder; it does not outlive the test."""
        with open(self.folder / "stdout.txt", "w") as out, open(self.folder / "stderr.txt", "w") as errors:
            process = subprocess.Popen([str(w) for w in words], cwd=self.folder, stdout=out, stderr=errors,
                                       stdin=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def await_line(self, process, pattern):
        """Until it has printed that to stderr. What is under way is seen so on a slow computer and on a fast one."""
        deadline = time.monotonic() + TIMEOUT_S
        while not re.search(pattern, (self.folder / "stderr.txt").read_text()):
            if process.poll() is not None:
                self.fail(f"ended before {pattern!r}: {self.ended(process).stderr}")
            self.assertLess(time.monotonic(), deadline, f"no {pattern!r}")
            time.sleep(0.01)

    def ended(self, process, within_s=TIMEOUT_S):
        """Waits for its end, within limit_s() of so long: its exit code and what it has printed."""
        code = process.wait(timeout=limit_s(within_s))
        self.last = Result(shlex.join(process.args), code, *((self.folder / name).read_text()
                                                             for name in ("stdout.txt", "stderr.txt")))
        return self.last

    def result(self, *arguments, expect=0):
        """The whole result of a run, from stdout."""
        done = self.run_pod(*arguments, "--format", "json", expect=expect)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError as error:
            self.fail(f"stdout is no JSON: {error}")

    def runs(self, *arguments):
        """The rows of a run, each verified with 0 wrong elements."""
        rows = self.result(*arguments)["runs"]
        self.assertTrue(rows, "no rows")
        for row in rows:
            self.assert_verified(row)
        return rows

    def one(self, *arguments):
        """The only row of a verified run."""
        rows = self.runs(*arguments)
        self.assertEqual(len(rows), 1)
        return rows[0]

    def assert_verified(self, row):
        where = f"{row['algorithm']} at {row['bytes']} bytes"
        self.assertEqual(row["status"], "ok", where)
        self.assertIs(row["verified"], True, where)
        self.assertEqual(row["wrong_elements"], 0, where)
        self.assertGreater(row["time_ns"], 0, where)


def binary(name):
    """diecast-`name` beside the binary under test."""
    return str(BIN / f"diecast-{name}")


def sets(*assignments):
    """--set for each assignment."""
    return [word for a in assignments for word in ("--set", a)]


def mistakes_of_studies(traffic):
    """Arguments of diecast-noc and diecast-hbm and what stderr must contain. traffic: the flag that says what arrives."""
    return [([traffic, "replay:"], [traffic, "names no file"]), ([traffic, ""], [traffic, "empty"]),
            ([traffic, "replay:nowhere.txt"], [f"{traffic} replay: cannot be read: No such file", "nowhere.txt"]),
            ([traffic, "replay:."], ["cannot be read: a folder"]), (["stray"], ["stray argument"]),
            ([traffic, "replay:/proc/self/mem"], ["cannot be read: read error"]), (["--seed", "x"], ["--seed", "'x'"]),
            (["--collective", "all_reduce"], ["a flag of diecast-pod", "--collective"]), (["--format", "xml"], ["xml", "csv"]),
            (["--list", "algorithms"], ["--list", "algorithms", "patterns"])]


def exhaustive(test):
    """Marks a test, or all of a class, for the long suite alone."""
    test.exhaustive = True
    return test


def cases(short, long):
    """A test of both suites, which is given what to try, or how many cases: `short` in the short suite, else `long`."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            test(self, short if os.environ.get("DIECAST_PART") == "short" else long)
        run.in_both = True
        return run
    return decorate


class Part(unittest.TestLoader):
    """All tests, or with DIECAST_PART=short those that are not exhaustive, with DIECAST_PART=long the exhaustive ones; those
    with cases for each in both."""

    def getTestCaseNames(self, case):
        names, part = super().getTestCaseNames(case), os.environ.get("DIECAST_PART")
        if part is None:
            return names
        return [n for n in names if getattr(getattr(case, n), "in_both", False)
                or getattr(getattr(case, n), "exhaustive", getattr(case, "exhaustive", False)) == (part == "long")]


def main():
    """Runs the tests of the calling script; skipped when all of them were. Prints a line for each skipped one, by which
    .ci/check_skips knows it."""
    program = unittest.main(exit=False, verbosity=2, testLoader=Part())
    result = program.result
    sys.stderr.flush()
    for test, why in result.skipped:
        print(f"SKIPPED {test.id().replace('__main__', pathlib.Path(sys.argv[0]).stem, 1)}: {why}")
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)
