# SPDX-License-Identifier: Apache-2.0
"""Regression suites: JSON files of runs and what is expected of them."""
import json
import pathlib
import shlex
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

from diecast.machine import find_binary
from diecast.sweep import no_duplicates
from diecast.whole_file import write_whole

SCHEMA = "diecast.suite/1"
SUITE_KEYS = {"schema", "title", "cases"}
CASE_KEYS = {"name", "platform", "config", "workload", "args", "expect"}
EXPECT_KEYS = {"exit_code", "status", "stderr_contains", "runs"}
PLATFORMS = ("diecast-pod", "diecast-sip", "diecast-cube", "diecast-noc", "diecast-hbm")
WITHIN = "within_percent"


class BadSuite(Exception):
    """A suite that cannot be run; the message says where and what was expected."""


def need(condition, where, message):
    if not condition:
        raise BadSuite(f"{where}: {message}")


def known_keys(data, known, where):
    need(isinstance(data, dict), where, f"{data!r}; expected an object")
    for key in data:
        need(key in known, f"{where}.{key}", f"unknown key; known are {', '.join(sorted(known))}")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Case:
    """One run: its command, and what it must give."""

    def __init__(self, suite, data, where):
        known_keys(data, CASE_KEYS, where)
        need(isinstance(data.get("name"), str) and data["name"], f"{where}.name", "expected a name")
        self.data, self.name, self.expect = data, data["name"], data.get("expect", {})
        self.platform = data.get("platform", "diecast-pod")
        need(self.platform in PLATFORMS, f"{where}.platform", f"{self.platform!r}; expected {', '.join(PLATFORMS)}")
        # Files are relative to the suite, and a case runs wherever regress was started.
        for key in ("config", "workload"):
            need(isinstance(data.get(key, ""), str), f"{where}.{key}", f"{data.get(key)!r}; expected the path of a file")
        self.files = {key: (suite.parent / data[key]).resolve() for key in ("config", "workload") if key in data}
        for key, file in self.files.items():
            need(file.is_file(), f"{where}.{key}", f"{data[key]!r}: no such file beside the suite")
        args = data.get("args", [])
        need(isinstance(args, list) and all(isinstance(a, str) for a in args), f"{where}.args",
             f"{args!r}; expected an array of texts")
        known_keys(self.expect, EXPECT_KEYS, f"{where}.expect")
        for key in ("status", "stderr_contains"):
            need(isinstance(self.expect.get(key, ""), str), f"{where}.expect.{key}", f"{self.expect.get(key)!r}; expected a text")
        runs = self.expect.get("runs", [])
        need(isinstance(runs, list) and all(isinstance(r, dict) for r in runs), f"{where}.expect.runs",
             "expected an array of objects")
        for n, run in enumerate(runs):
            for key, value in run.items():
                if isinstance(value, dict):
                    need(value.keys() == {"value", WITHIN} and all(map(is_number, value.values())) and value[WITHIN] >= 0,
                         f"{where}.expect.runs[{n}].{key}", f"{value!r}; expected {{value, {WITHIN}}}, two numbers")

    def command(self):
        files = [word for key, file in self.files.items() for word in (f"--{key}", str(file))]
        return [find_binary(self.platform), *files, *self.data.get("args", [])]

    def run(self):
        """Runs it and returns an Outcome."""
        with tempfile.TemporaryDirectory(prefix="diecast-") as scratch:
            command = self.command()
            begin = time.monotonic()
            done = subprocess.run([*command, "--out", f"{scratch}/out", "--quiet"], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            result = pathlib.Path(scratch) / "out" / "result.json"
            document = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
            return Outcome(self, shlex.join(command), done, document, time.monotonic() - begin)


NO_FIELD = "no such field"  # no value of one: those are numbers, true, false, null and texts of runs


def lookup(row, key):
    """A field of a run; "stats.NAME" one of its statistics. NO_FIELD where it has none of that name."""
    group, dot, name = key.partition(".")
    if not dot:
        return row.get(key, NO_FIELD)
    return row[group].get(name, NO_FIELD) if isinstance(row.get(group), dict) else NO_FIELD


def fits(expected, got):
    if got is NO_FIELD:
        return False
    if not isinstance(expected, dict):
        return expected == got
    return is_number(got) and abs(got - expected["value"]) <= abs(expected["value"]) * expected[WITHIN] / 100


def text(expected):
    if isinstance(expected, dict):
        return f"{expected['value']} within {expected[WITHIN]}%"
    return json.dumps(expected)


class Outcome:
    """What a case gave, and where that differs from what was expected: [(field, expected, got)]."""

    def __init__(self, case, command, done, document, seconds):
        self.case, self.command, self.seconds, self.document = case, command, seconds, document
        self.code, self.stderr = done.returncode, done.stderr
        self.runs = document.get("runs", [])
        self.differences = self._compare()

    def _first_line(self):
        """Of stderr; None when it is empty."""
        return next(iter(self.stderr.strip().splitlines()), None)

    def _compare(self):
        expect, found = self.case.expect, []
        if self.code != expect.get("exit_code", 0):
            found.append(("exit_code", expect.get("exit_code", 0), self.code))
        if "status" in expect and expect["status"] != self.document.get("status"):
            found.append(("status", expect["status"], self.document.get("status")))
        if expect.get("stderr_contains", "") not in self.stderr:
            found.append(("stderr_contains", expect["stderr_contains"], self._first_line()))
        if "runs" in expect and len(expect["runs"]) != len(self.runs):
            found.append(("runs", f"{len(expect['runs'])} runs", f"{len(self.runs)} runs"))
        for n, (wanted, row) in enumerate(zip(expect.get("runs", []), self.runs)):
            found += [(f"runs[{n}].{key}", value, lookup(row, key)) for key, value in wanted.items()
                      if not fits(value, lookup(row, key))]
        return found

    def blessed(self):
        """The case's expectations with the values of this run, fields and tolerances kept. Raises BadSuite for fields
        that the run does not have."""
        expect = dict(self.case.expect)
        if "exit_code" in expect or self.code != 0:
            expect["exit_code"] = self.code
        if "status" in expect:
            expect["status"] = self.document.get("status")
        if expect.get("stderr_contains", "") not in self.stderr:
            expect["stderr_contains"] = self._first_line()
            if expect["stderr_contains"] is None:
                del expect["stderr_contains"]
        old = expect.get("runs", [])
        usual = {key: None for key in ("verified", "time_ns", "fingerprint")}
        if self.runs and ("runs" in expect or not expect):
            expect["runs"] = []
            for n, row in enumerate(self.runs):
                wanted = old[n] if n < len(old) else old[0] if old else {k: v for k, v in usual.items() if k in row}
                for key in wanted:
                    need(lookup(row, key) is not NO_FIELD, f"{self.case.name}: expect.runs[{n}].{key}", "a run has no such field")
                expect["runs"].append({key: {"value": lookup(row, key), WITHIN: value[WITHIN]}
                                       if isinstance(value, dict) and lookup(row, key) is not None
                                       else lookup(row, key)
                                       for key, value in wanted.items()})
        return expect


class Suite:
    """A suite file."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        try:
            self.data = json.loads(self.path.read_text(encoding="utf-8"), object_pairs_hook=no_duplicates)
        except OSError as error:
            raise BadSuite(f"{path}: {error.strerror}") from None
        except json.JSONDecodeError as error:
            raise BadSuite(f"{path}: not JSON ({error})") from None
        except ValueError as error:
            raise BadSuite(f"{path}: {error}") from None
        try:
            known_keys(self.data, SUITE_KEYS, "suite")
            need(self.data.get("schema") == SCHEMA, "schema", f"{self.data.get('schema')!r}; expected {SCHEMA!r}")
            cases = self.data.get("cases")
            need(isinstance(cases, list) and cases, "cases", "expected an array of cases")
            self.cases = [Case(self.path, c, f"cases[{n}]") for n, c in enumerate(cases)]
            names = [c.name for c in self.cases]
            for name in names:
                need(names.count(name) == 1, "cases", f"two are named {name!r}")
        except BadSuite as error:
            raise BadSuite(f"{path}: {error}") from None
        self.title = self.data.get("title", self.path.stem)

    def bless(self, outcomes):
        """Expects what the outcomes gave. Raises BadSuite where they lack what was expected of them."""
        for outcome in outcomes:
            outcome.case.data["expect"] = outcome.blessed()

    def write(self):
        """Raises OSError."""
        write_whole(self.path, json.dumps(self.data, indent=2) + "\n")


def junit(results):
    """JUnit XML of [(suite, [outcomes])]."""
    root = xml.Element("testsuites")
    for suite, outcomes in results:
        node = xml.SubElement(root, "testsuite", name=suite.title, tests=str(len(outcomes)), errors="0",
                              failures=str(sum(bool(o.differences) for o in outcomes)),
                              time=f"{sum(o.seconds for o in outcomes):.3f}")
        for o in outcomes:
            case = xml.SubElement(node, "testcase", classname=suite.path.stem, name=o.case.name,
                                  time=f"{o.seconds:.3f}")
            if o.differences:
                failure = xml.SubElement(case, "failure", message="; ".join(
                    f"{field}: expected {text(want)}, got {text(got)}" for field, want, got in o.differences))
                failure.text = f"{o.command}\nexit code {o.code}\n{o.stderr}"
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
