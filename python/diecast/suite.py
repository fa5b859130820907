# SPDX-License-Identifier: Apache-2.0
"""Regression suites: JSON files of runs and their expected results."""
import functools
import json
import os
import pathlib
import shlex
import time
import xml.etree.ElementTree as xml

from diecast import inputs
from diecast.inputs import BadInput, check, is_number, json_of, near, need_schema, parsed, text_of, without_comments
from diecast.machine import NOT_OF_MACHINE, find_binary
from diecast.points import digest, dump
from diecast.processes import finished, no_room, scratch
from diecast.results import plain
from diecast.svg import xml_text
from diecast.whole_file import reads, write_whole

SCHEMA = "diecast.suite/1"
SUITE_KEYS = {"schema", "title", "cases"}
CASE_KEYS = {"name", "platform", "config", "workload", "args", "expect"}
EXPECT_KEYS = {"exit_code", "status", "stderr_contains", "runs"}
PLATFORMS = ("diecast-pod", "diecast-sip", "diecast-cube", "diecast-noc", "diecast-hbm")
WITHIN = "within_percent"


class BadSuite(BadInput):
    """A suite that cannot be run; the message names the place and the expected value."""


need = functools.partial(inputs.need, refused=BadSuite)


def known_keys(data, known, where):
    check(data, {}, where, BadSuite)
    for key in data:
        need(key in known, f"{where}.{key}", f"unknown key{near(key, known)}; known are {', '.join(sorted(known))}")


class Case:
    """One run: its command, and its expected results."""

    def __init__(self, suite, data, where):
        known_keys(data, CASE_KEYS, where)
        need(isinstance(data.get("name"), str) and data["name"], f"{where}.name", "expected a name")
        self.data, self.name, self.expect = data, data["name"], data.get("expect", {})
        self.platform = data.get("platform", "diecast-pod")
        need(self.platform in PLATFORMS, f"{where}.platform", f"{self.platform!r}; expected {', '.join(PLATFORMS)}")
        # Files are relative to the suite, and a case runs wherever regress was started.
        for key in ("config", "workload"):
            need(isinstance(data.get(key, ""), str), f"{where}.{key}", f"{data.get(key)!r}; expected the path of a file")
        self.files = {key: suite / data[key] for key in ("config", "workload") if key in data}
        for key, file in self.files.items():
            need(os.path.isfile(file), f"{where}.{key}", f"{data[key]!r}: no such file beside the suite")
            self.files[key] = file.resolve()
            (inputs.reads_config if key == "config" else reads)(self.files[key])
        args = data.get("args", [])
        check(args, ["text"], f"{where}.args", BadSuite)
        inputs.reads_words(args)
        known_keys(self.expect, EXPECT_KEYS, f"{where}.expect")
        check(self.expect, {"status?": "text", "stderr_contains?": "text", "exit_code?": "count", "runs?": [{}]}, f"{where}.expect",
              BadSuite)
        runs = self.expect.get("runs", [])
        for n, run in enumerate(runs):
            for key, value in run.items():
                if isinstance(value, dict):
                    need(value.keys() == {"value", WITHIN} and all(map(is_number, value.values())) and value[WITHIN] >= 0,
                         f"{where}.expect.runs[{n}].{key}", f"{value!r}; expected {{value, {WITHIN}}}, two numbers")

    def command(self):
        files = [word for key, file in self.files.items() for word in (f"--{key}", str(file))]
        return [find_binary(self.platform), *files, *self.data.get("args", [])]

    def digest(self):
        binary, *words = self.command()
        return digest(binary, words, self.files.values(), dump(binary, words))

    def make(self):
        """Runs the case and returns a record of its end, from which an Outcome is made."""
        with scratch() as folder:
            command = self.command()
            begin = time.monotonic()
            done = finished([*command, "--out", folder / "out", "--quiet"])
            if done.code == 5 and str(folder) in done.stderr:
                raise no_room(folder, done.stderr.splitlines()[0])
            result = folder / "out" / "result.json"
            document = json_of(result, noted=False) if result.exists() else {}
            return {"exit_code": done.code, "stderr": done.stderr, "document": document, "seconds": time.monotonic() - begin}


NO_FIELD = "no such field"  # differs from every value, which is a number, true, false, null or a text of a run


def lookup(row, key):
    """A field of a run; "stats.NAME" one of its statistics. NO_FIELD where it has none of that name."""
    group, dot, name = key.partition(".")
    if not dot:
        return row.get(key, NO_FIELD)
    return row[group].get(name, NO_FIELD) if isinstance(row.get(group), dict) else NO_FIELD


def noise_text(row, key, expected):
    """For a time of a run with --jitter: the position of the expected value among its draws."""
    value = expected["value"] if isinstance(expected, dict) else expected
    draws = row.get("jitter_times_ns") if key in ("time_ns", "jitter_median_ns") and is_number(value) else None
    return "; within noise" if draws and min(draws) <= value <= max(draws) else ""


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
    """Results of a case, and their differences from the expected ones: [(field, expected, got)]."""

    def __init__(self, case, record):
        self.case, self.command, self.seconds, self.document = case, shlex.join(case.command()), record["seconds"], record["document"]
        self.code, self.stderr = record["exit_code"], record["stderr"]
        self.runs = self.document.get("runs", [])
        self.noise = {}  # {field: text} for times
        self.differences = self._compare()

    def difference_text(self, difference):
        """A difference in words; of numbers with the percentage, of times of --jitter with noise_text()."""
        field, want, got = difference
        value = want["value"] if isinstance(want, dict) else want
        of_run = field.startswith("runs[") and is_number(value) and is_number(got) and value
        share = f" ({100 * (got - value) / abs(value):+.2f}%)" if of_run else ""
        return f"{field}: expected {text(want)}, got {text(got)}{share}{self.noise.get(field, '')}"

    def _first_line(self):
        """The first line of stderr; None when it is empty."""
        return next(iter(self.stderr.strip().splitlines()), None)

    def _compare(self):
        expect, status = self.case.expect, self.document.get("status")
        runs, said = expect.get("runs", self.runs), expect.get("stderr_contains", "")
        found = [(field, want, got) for field, want, got in (
            ("exit_code", expect.get("exit_code", 0), self.code), ("status", expect.get("status", status), status),
            ("stderr_contains", said, said if said in self.stderr else self._first_line()),
            ("runs", f"{len(runs)} runs", f"{len(self.runs)} runs")) if want != got]
        for n, (wanted, row) in enumerate(zip(expect.get("runs", []), self.runs)):
            self.noise.update((f"runs[{n}].{key}", noise_text(row, key, value)) for key, value in wanted.items())
            found += [(f"runs[{n}].{key}", value, lookup(row, key) if lookup(row, key) is not NO_FIELD else
                       NO_FIELD + near(key, plain(row))) for key, value in wanted.items() if not fits(value, lookup(row, key))]
        return found

    def blessed(self):
        """The case's expectations with the values of this run, fields and tolerances kept. Raises BadSuite for fields
        that the run does not have."""
        expect = dict(self.case.expect)
        need(self.code not in NOT_OF_MACHINE or self.code == expect.get("exit_code"), self.case.name,
             f"exit {self.code}: {self._first_line()}; expected a run that ends by itself")
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
                    need(lookup(row, key) is not NO_FIELD, f"{self.case.name}: expect.runs[{n}].{key}",
                         f"a run has no such field{near(key, plain(row))}")
                expect["runs"].append({key: {"value": lookup(row, key), WITHIN: value[WITHIN]}
                                       if isinstance(value, dict) and lookup(row, key) is not None else lookup(row, key)
                                       for key, value in wanted.items()})
        return expect


class Suite:
    """A suite file."""

    def __init__(self, path):
        self.path, folder = pathlib.Path(path), inputs.folder_of(path)
        whole = text_of(path, BadSuite)
        plain = without_comments(whole)
        self.data, self.has_comments = parsed(plain, path, BadSuite), plain != whole
        need_schema(self.data, SCHEMA, path, BadSuite)
        try:
            known_keys(self.data, SUITE_KEYS, "suite")
            cases = self.data.get("cases")
            need(isinstance(cases, list) and cases, "cases", "expected an array of cases")
            self.cases = [Case(folder, c, f"cases[{n}]") for n, c in enumerate(cases)]
            names = [c.name for c in self.cases]
            twice = {name for n, name in enumerate(names) if name in names[:n]}
            need(not twice, "cases", f"two are named {', '.join(map(repr, sorted(twice)))}")
            self.title = self.data.get("title", self.path.stem)
            check(self.title, "text", "title", BadSuite)
        except BadSuite as error:
            raise BadSuite(f"{path}: {error}") from None

    def bless(self, outcomes):
        """Makes the outcomes' values the expected ones. Raises BadSuite where a value is missing."""
        for outcome in outcomes:
            outcome.case.data["expect"] = outcome.blessed()

    def write(self):
        """Raises NotWritten."""
        write_whole(self.path, json.dumps(self.data, indent=2) + "\n", over_input=True)


def junit(results):
    """JUnit XML of [(suite, [outcomes])]."""
    root = xml.Element("testsuites")
    for suite, outcomes in results:
        node = xml.SubElement(root, "testsuite", name=xml_text(suite.title), tests=str(len(outcomes)), errors="0",
                              failures=str(sum(bool(o.differences) for o in outcomes)),
                              time=f"{sum(o.seconds for o in outcomes):.3f}")
        for o in outcomes:
            case = xml.SubElement(node, "testcase", classname=xml_text(suite.path.stem), name=xml_text(o.case.name),
                                  time=f"{o.seconds:.3f}")
            if o.differences:
                failure = xml.SubElement(case, "failure", message=xml_text("; ".join(map(o.difference_text, o.differences))))
                failure.text = xml_text(f"{o.command}\nexit code {o.code}\n{o.stderr}")
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
