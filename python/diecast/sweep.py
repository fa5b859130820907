# SPDX-License-Identifier: Apache-2.0
"""A grid of runs from a JSON spec: made once, restarted where it stopped, collected into one table."""
import contextlib
import fcntl
import functools
import hashlib
import itertools
import json
import math
import os
import pathlib
import re
import subprocess

from diecast import axes, inputs
from diecast.inputs import BadInput, check, data_of, json_of, near, need_schema, parsed
from diecast.machine import find_binary, text_of, words_of
from diecast.points import FILES, Points, digest, dump, file_name
from diecast.processes import finished
from diecast.results import COLUMNS, RESULTS_OF, BadResults, Results, plain
from diecast.tables import csv_text
from diecast.whole_file import NotWritten, claim, make_folder, reads, write_whole, writes

SCHEMA = "diecast.sweep/1"
KEYS = {"schema", "title", "platform", "config", "flags", "grid", "plots"}
RUN_IS = ("collective", "algorithm", "bytes", "dtype", "op", "rank_set", "ranks", "team")  # columns that distinguish rows of a point
PLOT_KEYS = {"x", "y", "series", "xscale", "yscale", "title"}
SCALES = ("linear", "log")
# Flags that select the job; no config key has such a name.
OWN_FLAGS = ("out", "quiet", "progress", "set")
JOB_FLAGS = ("config", "seed", "collective", "algorithm", "bytes", "dtype", "op", "ranks", "iters", "warmup", "jitter", "data",
             "no-data", "team", "diagnose", "hide-faults", "inspect", "double-run", "record", "verify", "workload", "isolate",
             "explain", "estimate", "processes", "partition", "launcher")
PRECEDENCE = (70, 71, 2, 5, 4, 3, 1, 6)  # exit codes of points, the worst first
MOST_POINTS = 1 << 20
WALL_TIME = "stats.elaborate_s"  # differs between runs of a point, so tables omit it
# Files of a run in its --out, by name; what they hold the binary itself looks at before it replaces one.
OF_RUN = re.compile(r"(result|config|(deadlock|flight|critical_path|diagnosis|diagnosis_job)(_\d+)?)\.json(\.partial)?|"
                    r"(links|ipcq|waits|health|hbm)\.csv(\.partial)?|diagnosis\.txt|report\.html|diagnosis")


class BadSpec(BadInput):
    """A spec that cannot be swept; the message names the place and the expected value."""


need = functools.partial(inputs.need, refused=BadSpec)


def no_column(name, known):
    """The message for a column that is none of these."""
    return f"no column {name!r}{near(name, known)}"


def column_value(value):
    """The value of a point in tables and plots: numbers as numbers, sizes in bytes, as in results."""
    if inputs.is_number(value):
        return value
    size = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB)?", text_of(value))
    return int(size[1]) << {None: 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[size[2]] if size else text_of(value)


def columns_of(plot):
    """{"x", "y" and perhaps "series": the column} of a plot."""
    return {key: plot[key].lstrip("-") for key in ("x", "y", *(["series"] if plot.get("series") else []))}


class Spec:
    """title, platform, config (a path or None), flags, grid ({key: [values]}), plots."""

    def __init__(self, path):
        self.path, self.folder = pathlib.Path(path), inputs.folder_of(path)
        data = json_of(path, BadSpec, comments=True)
        need_schema(data, SCHEMA, path, BadSpec)
        try:
            self._read(data)
        except BadSpec as error:
            raise BadSpec(f"{path}: {error}") from None

    def _read(self, data):
        check(data, {"title?": "text", "flags?": {"*": "any"}, "grid?": {"*": ["any"]}, "plots?": [{"*": "text"}]}, "spec", BadSpec)
        for key in data:
            need(key in KEYS, key, f"unknown key{near(key, KEYS)}; known are {', '.join(sorted(KEYS))}")
        self.title = data.get("title", self.path.stem)
        self.platform = data.get("platform", "diecast-pod")
        need(self.platform in RESULTS_OF, "platform", f"{self.platform!r}; expected {' or '.join(RESULTS_OF)}")
        self.config = None
        if "config" in data:
            self.config = self.beside("config", data["config"])
        self.flags = data.get("flags", {})
        for flag in self.flags:
            need(not flag.startswith("-"), f"flags.{flag}", f"expected {flag.lstrip('-')!r}: flags are named without --")
        for key in (*(f"flags.{flag}" for flag in self.flags), *(f"grid.{key}" for key in data.get("grid", {}))):
            need(key.split(".", 1)[1].lstrip("-") not in OWN_FLAGS, key, "the sweep itself sets this flag of each point; expected others")
        self.flags = {flag: self.resolved(flag, value, "flags.") for flag, value in self.flags.items()}
        self.grid = data.get("grid", {})
        need(math.prod(map(len, self.grid.values())) <= MOST_POINTS, "grid", f"more than {MOST_POINTS} points; expected fewer values")
        for key, values in self.grid.items():
            need(values, f"grid.{key}", f"{values!r}; expected an array of values")
            need(None not in values, f"grid.{key}", "null; expected a number, a text, true, false, a list or an object")
            need(len(set(map(str, values))) == len(values), f"grid.{key}", "a value is given twice")
            need(key.lstrip("-") not in self.flags, f"grid.{key}", "is among the flags, too")
            flag = key.replace("_", "-")
            need(flag not in JOB_FLAGS, f"grid.{key}", f"expected '--{flag}': in a grid, flags are named with --")
            for value in values:
                self.resolved(key, value, "grid.")
        self.plots = data.get("plots", [])
        for n, plot in enumerate(self.plots):
            need(plot.keys() <= PLOT_KEYS and {"x", "y"} <= plot.keys(), f"plots[{n}]",
                 f"{plot!r}; expected an object with x, y and perhaps {', '.join(sorted(PLOT_KEYS - {'x', 'y'}))}")
            for key in {"xscale", "yscale"} & plot.keys():
                need(plot[key] in SCALES, f"plots[{n}].{key}", f"{plot[key]!r}; expected {' or '.join(SCALES)}")
            self._check_columns(f"plots[{n}]", plot)

    def _check_columns(self, where, plot):
        """Refuses columns that no table of this sweep can have. Which statistics exist is known only from runs."""
        known = dict.fromkeys(("point", *(key.lstrip("-") for key in self.grid), "exit_code", *COLUMNS))
        for key, name in columns_of(plot).items():
            need(name in known or name.startswith("stats."), f"{where}.{key}",
                 f"{no_column(name, known)}; expected one of {', '.join(known)}, or stats.NAME")

    def check_rows(self, rows):
        """Raises BadSpec when a plot names a column that a run without error does not have."""
        for n, plot in enumerate(self.plots):
            for key, name in columns_of(plot).items():
                for row in rows:
                    need(row.get("status") != "ok" or name in row, f"{self.path}: plots[{n}].{key}",
                         f"{no_column(name, row)}; there are {', '.join(row)}")

    def beside(self, where, name):
        """A file named relative to the spec."""
        need(isinstance(name, str), where, f"{name!r}; expected a file name")
        need(os.path.isfile(self.folder / name), where, f"{name!r}: no such file beside the spec")
        path = (self.folder / name).resolve()
        (inputs.reads_config if where.endswith("config") else reads)(path)
        return path

    def resolved(self, key, value, group=""):
        """The value as the platform gets it: a file that is read is relative to the spec, as `config` is."""
        return str(self.beside(group + key, value)) if key.lstrip("-") in (*FILES, "config") else value

    def points(self):
        """All points, in the order of the grid: the last key varies fastest."""
        keys = list(self.grid)
        return [Point(self, n, dict(zip(keys, values))) for n, values in enumerate(itertools.product(*self.grid.values()))]


class Point:
    """One run of the grid: its number, its values and its command."""

    def __init__(self, spec, number, values):
        self.spec, self.number, self.values = spec, number, values
        self.words = [f"{key.lstrip('-')}={text_of(value)}" for key, value in values.items()]
        self._digest = self._dumped = None
        self.name = file_name(number, ",".join(self.words))

    def arguments(self):
        """All arguments of the binary but --out."""
        words = ["--config", str(self.spec.config)] if self.spec.config else []
        for flag, value in self.spec.flags.items():
            words += words_of(flag, value)
        for key, value in self.values.items():
            value = self.spec.resolved(key, value)
            words += [key, text_of(value)] if key.startswith("--") else ["--set", f"{key}={text_of(value)}"]
        return words + ["--quiet", "--progress", "off"]

    def dumped(self, binary):
        """The result of --dump-config of the point: the effective config, or the reason why there is none."""
        if self._dumped is None:
            self._dumped = dump(binary, self.arguments())
        return self._dumped

    def digest(self, binary):
        if self._digest is None:
            values = [*self.spec.flags.items(), *((k, self.spec.resolved(k, v)) for k, v in self.values.items())]
            files = [value for key, value in values if key.lstrip("-") in FILES]
            self._digest = digest(binary, self.arguments(), files, self.dumped(binary))
        return self._digest

    def made(self, results, binary):
        """Whether results are those of this point: of its effective config and its command, with any --out."""
        dumped = self.dumped(binary)
        return (dumped.code == 0 and results.result.get("config_sha256") == hashlib.sha256(dumped.stdout.encode()).hexdigest() and
                results.result.get("argv", [])[1:-1] == [*self.arguments(), "--out"])


class Sweep(Points):
    """The points of a spec in a directory: points/NAME is the --out of a run, records/NAME.json
    says how it ended; aside/NAME holds a user's files of points/NAME while the point runs."""

    def __init__(self, spec, out):
        self.spec, self.out = spec, pathlib.Path(out)
        super().__init__(self.out, spec.points())
        self.folder, self.aside = self.out / "points", self.out / "aside"
        self.binary = find_binary(spec.platform)

    def claim_tables(self):
        """Refuses tables and pictures that would take the place of an input, or of a file that no sweep has written."""
        heads = {"sweep.csv": b"point,", "sweep.json": b'{\n "schema": "diecast.sweep_result/',
                 **{f"sweep_{n}.svg": b"<?xml" for n in range(len(self.spec.plots))}}
        for name, head in heads.items():
            claim(writes(self.out / name, "--out"), head, b"\n")  # an empty line: no row

    def check_keys(self):
        """Refuses config keys that the platform does not have, once and before all runs."""
        keys = [key for key in self.spec.grid if not key.startswith("--")]
        if not keys:
            return
        blocks = parsed(finished([self.binary, "--schema"]).stdout, "--schema").get("properties", {})
        known = [f"{block}.{key}" for block, of in blocks.items() for key in of.get("properties", {})] + list(blocks)
        for key in keys:
            table = any(key.startswith(f"{name}.") for name in ("ccl.algorithms", "ccl.patterns"))
            need(key in known or table, f"{self.spec.path}: grid.{key}", f"unknown key{near(key, known)}")

    def results(self, point):
        """Results of the point's run; None when they are not of this point."""
        try:
            results = Results(self.folder / point.name, noted=False)
        except BadResults:
            return None
        return results if point.made(results, self.binary) else None

    def digest(self, point):
        return point.digest(self.binary)

    def holds(self, point, known):
        return not known["wrote_result"] or self.results(point) is not None

    def make(self, point):
        out = self.folder / point.name
        command = [self.binary, *point.arguments(), "--out", str(out)]
        try:
            with self._cleared(point):
                done = finished(command, stdout=subprocess.DEVNULL)
        except Busy as busy:
            return {"exit_code": Busy.exit_code, "stderr": str(busy), "kept": False}
        return {"number": point.number, "values": point.values, "command": command, "exit_code": done.code,
                "stderr": done.stderr[-4000:], "wrote_result": self.results(point) is not None,
                **({"kept": False} if done.interrupted else {})}

    def _forget(self, point):
        """Removes the point's result, and the config of its run, which alone would pass for a user's file. A file of a user that
        is called so stays, and the run refuses it."""
        config, result = (self.folder / point.name / name for name in ("config.json", "result.json"))
        written = None
        with contextlib.suppress(BadResults):
            written = Results(result.parent, noted=False).result.get("config_sha256", "")
        with contextlib.suppress(BadInput):
            text = data_of(config, noted=False)
            if text == point.dumped(self.binary).stdout.encode() or hashlib.sha256(text).hexdigest() == written:
                config.unlink()
        if written is not None:
            result.unlink()

    @contextlib.contextmanager
    def _cleared(self, point):
        """The point's folder without an earlier result, which must not pass for this one's, and without a user's files, which
        come back afterwards. Raises Busy where another run is writing there."""
        out, aside = self.folder / point.name, self.aside / point.name
        if out.is_dir():
            with locked(out):
                self._forget(point)
                move(out, aside, [name for name in os.listdir(out) if not OF_RUN.fullmatch(name)])
        try:
            yield
        finally:
            if aside.is_dir():
                out.mkdir(exist_ok=True)
                move(aside, out, [name for name in os.listdir(aside) if not (out / name).exists()])
                with contextlib.suppress(OSError):  # a file of whose name there is another now stays
                    aside.rmdir()
                    self.aside.rmdir()

    def rows(self):
        """One row per run of every point that has ended, in the order of the points."""
        rows = []
        for point in self.points:
            record = self.record(point)
            if record is None:
                continue
            named = {key.lstrip("-"): column_value(value) for key, value in point.values.items()}
            base = {"point": point.number, **named, "exit_code": record["exit_code"]}
            results = self.results(point) if record["wrote_result"] else None
            rows += [{**base, **plain(run)} for run in (results.runs if results else [{"status": "error"}])]
        for row in rows:
            row.pop(WALL_TIME, None)
        return rows

    def collect(self):
        """Writes sweep.csv and sweep.json and returns the rows."""
        rows = self.rows()
        columns = list(dict.fromkeys(key for row in rows for key in row))
        write_whole(self.out / "sweep.csv", csv_text([columns, *([row.get(column, "") for column in columns] for row in rows)]))
        document = {"schema": "diecast.sweep_result/1", "title": self.spec.title, "platform": self.spec.platform,
                    "points": len(self.points), "rows": rows}
        write_whole(self.out / "sweep.json", json.dumps(document, indent=1) + "\n")
        return rows


class Busy(NotWritten):
    """A folder in which another run is writing."""


@contextlib.contextmanager
def locked(folder):
    """Holds the lock that a run takes of its --out. Raises Busy when a run has it."""
    with contextlib.ExitStack() as stack:
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, held)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(folder, "another run is writing there", "no run of this folder under way") from None
        except OSError as error:
            raise NotWritten(folder, error.strerror) from None
        yield


def move(source, target, names):
    """Moves files between folders of one file system. Raises NotWritten."""
    if names:
        make_folder(target)
    for name in names:
        try:
            os.rename(source / name, target / name)
        except OSError as error:
            raise NotWritten(target / name, error.strerror) from None


def exit_code(records):
    codes = {record["exit_code"] for record in records}
    for code in PRECEDENCE:
        if code in codes:
            return code
    return 0 if codes <= {0} else 70


def drawable(plot, row):
    """Whether a plot's axes can show a run: with both values, and above 0 on a logarithmic axis."""
    shown = {axis: row[plot[axis].lstrip("-")] for axis in ("x", "y")}
    return None not in shown.values() and all(inputs.is_number(value) and value > 0 for axis, value in shown.items()
                                              if plot.get(f"{axis}scale") == "log")


def lines_of(spec, plot, rows):
    """{name of a line: [(x, y)]} of a plot; of medians of draws (x, y, y less the least, the largest less y). A line has one
    point at each x: where rows of a line share an x, every column that tells them apart (keys of the grid, then what a run is)
    parts the line and joins its name."""
    columns = columns_of(plot)
    x, y, by = columns["x"], columns["y"], columns.get("series")
    kept = [row for row in rows if row.get("status") == "ok" and drawable(plot, row)]
    parting = [by] if by else []

    def key(row, names):
        return tuple(str(row.get(name)) for name in names)

    for name in dict.fromkeys((*(key.lstrip("-") for key in spec.grid), *RUN_IS)):
        first = {}
        twins = [(row, first.setdefault(key(row, (*parting, x)), row)) for row in kept]
        if name not in (x, y, *parting) and any(key(a, [name]) != key(b, [name]) for a, b in twins):
            parting.append(name)
    lines = {}
    for row in kept:
        names = [row[name] if name == by else f"{name}={row.get(name)}" for name in parting]
        bars = [abs(row[f"jitter_{end}_ns"] - row[y]) for end in ("min", "max")] if y == "jitter_median_ns" else []
        lines.setdefault(names[0] if len(names) == 1 else ", ".join(map(str, names)), []).append((row[x], row[y], *bars))
    return lines


def draw(spec, rows, out):
    """sweep_N.svg for every plot of the spec, of rows that check_rows() takes: [(file, runs that its axes cannot show)]. Raises
    BadInput without matplotlib, NotWritten."""
    files = []
    for n, plot in enumerate(spec.plots):
        columns = columns_of(plot)
        x, y, by = columns["x"], columns["y"], columns.get("series")
        series = lines_of(spec, plot, rows)
        figure, ((panel,),) = axes.panels(1, 1, figsize=(6, 4))
        for name, points in series.items():
            ordered = all(inputs.is_number(p[0]) for p in points)
            points = sorted(points) if ordered else [(axes.label(p[0]), *p[1:]) for p in points]
            panel.errorbar([p[0] for p in points], [p[1] for p in points], marker="o", label=axes.label(name), capsize=3,
                           yerr=[[p[n] for p in points] for n in (2, 3)] if len(points[0]) > 2 else None)
        panel.set(xlabel=axes.label(x), ylabel=axes.label(y), title=axes.label(plot.get("title", spec.title)))
        for axis in ("x", "y"):
            if f"{axis}scale" in plot:
                panel.set(**{f"{axis}scale": plot[f"{axis}scale"]})
        panel.grid(True, which="both", alpha=0.3)
        if by or len(series) > 1:
            panel.legend(title=axes.label(by) if by else None)
        axes.save(figure, out / f"sweep_{n}.svg")
        missing = sum(row.get("status") == "ok" and not drawable(plot, row) for row in rows)
        files.append((out / f"sweep_{n}.svg", missing))
    return files
