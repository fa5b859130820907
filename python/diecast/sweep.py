# SPDX-License-Identifier: Apache-2.0
"""A grid of runs from a JSON spec: made once, restarted where it stopped, collected into one table."""
import concurrent.futures
import contextlib
import csv
import difflib
import hashlib
import io
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import threading

from diecast import axes
from diecast.machine import find_binary, text_of, words_of
from diecast.results import COLUMNS, RESULTS_OF, BadResults, load
from diecast.whole_file import write_whole

SCHEMA = "diecast.sweep/1"
KEYS = {"schema", "title", "platform", "config", "flags", "grid", "plots"}
PLOT_KEYS = {"x", "y", "series", "xscale", "yscale", "title"}
SCALES = ("linear", "log")
# Flags that say what runs, which no config key is named like.
JOB_FLAGS = ("config", "seed", "collective", "algorithm", "bytes", "dtype", "op", "ranks", "iters", "warmup", "data",
             "no-data", "team", "diagnose", "hide-faults", "double-run", "record", "verify", "workload", "isolate")
FILES = ("config", "workload", "verify", "ccl.tuner")  # flags and keys that name a file to read
OUTPUTS = ("out", "vcd", "vcd-scope", "vcd-window", "timeline", "timeline-scope", "record")  # flags with a value
PRECEDENCE = (70, 2, 5, 4, 3, 1, 6)  # of the exit codes of points, the worst first
STOPPED = (130, 143, -1, -2, -9, -15)  # ended from outside: that says nothing about the point, so it runs again


class BadSpec(Exception):
    """A spec that cannot be swept; the message says where and what was expected."""


def need(condition, where, message):
    if not condition:
        raise BadSpec(f"{where}: {message}")


def no_column(name, known):
    """What to say of a column that is none of these."""
    near = difflib.get_close_matches(name, known, 1)
    return f"no column {name!r}" + (f" (did you mean {near[0]!r}?)" if near else "")


def no_duplicates(pairs):
    """For json.loads: an object as a dict. Raises ValueError when a key is there twice."""
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) != 1:
            raise ValueError(f"{key}: the key is there twice")
    return dict(pairs)


def without_outputs(words):
    """Arguments without what they write, which --dump-config has no meaning for."""
    kept, value = [], False
    for word in words:
        value = value and not word.startswith("--")
        name = word.removeprefix("--") if word.startswith("--") else ""
        if not value and name not in (*OUTPUTS, "ccl-trace"):
            kept.append(word)
        value = name in OUTPUTS
    return kept


def column_value(key, value):
    """What a table shows of a point's value: a size of `bytes` as a number, as runs say it themselves."""
    size = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB)?", text_of(value))
    if key != "bytes" or not size:
        return text_of(value)
    return int(size[1]) << {None: 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[size[2]]


def without_comments(text):
    """JSON with blanks for its comments, which specs may have as configs do; lines and columns stay."""
    return re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/',
                  lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)


def columns_of(plot):
    """{"x", "y" and perhaps "series": the column} of a plot."""
    return {key: plot[key].lstrip("-") for key in ("x", "y", *(["series"] if plot.get("series") else []))}


class Spec:
    """title, platform, config (a path or None), flags, grid ({key: [values]}), plots."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        try:
            text = without_comments(self.path.read_text(encoding="utf-8"))
            data = json.loads(text, object_pairs_hook=no_duplicates)
        except OSError as error:
            raise BadSpec(f"{path}: {error.strerror}") from None
        except json.JSONDecodeError as error:
            raise BadSpec(f"{path}: not JSON ({error})") from None
        except ValueError as error:
            raise BadSpec(f"{path}: {error}") from None
        try:
            self._read(data)
        except BadSpec as error:
            raise BadSpec(f"{path}: {error}") from None

    def _read(self, data):
        need(isinstance(data, dict), "spec", f"{data!r}; expected an object")
        for key in data:
            need(key in KEYS, key, f"unknown key; known are {', '.join(sorted(KEYS))}")
        need(data.get("schema") == SCHEMA, "schema", f"{data.get('schema')!r}; expected {SCHEMA!r}")
        self.title = data.get("title", self.path.stem)
        self.platform = data.get("platform", "diecast-pod")
        need(self.platform in RESULTS_OF, "platform", f"{self.platform!r}; expected {' or '.join(RESULTS_OF)}")
        self.config = None
        if "config" in data:
            self.config = self.beside("config", data["config"])
        self.flags = data.get("flags", {})
        need(isinstance(self.flags, dict), "flags", f"{self.flags!r}; expected {{flag: value}}")
        for flag in self.flags:
            need(not flag.startswith("-"), f"flags.{flag}", f"expected {flag.lstrip('-')!r}: flags are named without --")
        self.flags = {flag: self.resolved(flag, value, "flags.") for flag, value in self.flags.items()}
        self.grid = data.get("grid", {})
        need(isinstance(self.grid, dict), "grid", f"{self.grid!r}; expected {{key: [values]}}")
        for key, values in self.grid.items():
            need(isinstance(values, list) and values, f"grid.{key}", f"{values!r}; expected an array of values")
            need(None not in values, f"grid.{key}", "null; expected a number, a text, true, false, a list or an object")
            need(len(set(map(str, values))) == len(values), f"grid.{key}", "a value is there twice")
            need(key.lstrip("-") not in self.flags, f"grid.{key}", "is among the flags, too")
            flag = key.replace("_", "-")
            need(flag not in JOB_FLAGS, f"grid.{key}", f"expected '--{flag}': in a grid, flags are named with --")
            for value in values:
                self.resolved(key, value, "grid.")
        self.plots = data.get("plots", [])
        need(isinstance(self.plots, list), "plots", f"{self.plots!r}; expected an array")
        for n, plot in enumerate(self.plots):
            need(isinstance(plot, dict) and plot.keys() <= PLOT_KEYS and {"x", "y"} <= plot.keys(), f"plots[{n}]",
                 f"{plot!r}; expected an object with x, y and perhaps {', '.join(sorted(PLOT_KEYS - {'x', 'y'}))}")
            for key, value in plot.items():
                need(isinstance(value, str), f"plots[{n}].{key}", f"{value!r}; expected a text")
            for key in {"xscale", "yscale"} & plot.keys():
                need(plot[key] in SCALES, f"plots[{n}].{key}", f"{plot[key]!r}; expected {' or '.join(SCALES)}")
            self._check_columns(f"plots[{n}]", plot)

    def _check_columns(self, where, plot):
        """Refuses columns that no table of this sweep can have. Which statistics there are only its runs say."""
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
        path = (self.path.parent / name).resolve()
        need(path.is_file(), where, f"{name!r}: no such file beside the spec")
        return path

    def resolved(self, key, value, group=""):
        """The value as the platform gets it: a file that is read is relative to the spec, as `config` is."""
        return str(self.beside(group + key, value)) if key.lstrip("-") in FILES else value

    def points(self):
        """All points, in the order of the grid: the last key varies fastest."""
        keys = list(self.grid)
        return [Point(self, n, dict(zip(keys, values)))
                for n, values in enumerate(itertools.product(*self.grid.values()))]


class Point:
    """One run of the grid: its number, its values and its command."""

    def __init__(self, spec, number, values):
        self.spec, self.number, self.values = spec, number, values
        self.words = [f"{key.lstrip('-')}={text_of(value)}" for key, value in values.items()]
        plain = ",".join(self.words)
        safe = "".join(c if c.isalnum() or c in "._=,+-" else "_" for c in plain)
        self._digest = None
        self.name = f"{number:04}-{safe}"[:150].rstrip("-")

    def arguments(self):
        """Everything behind the binary but --out."""
        words = ["--config", str(self.spec.config)] if self.spec.config else []
        for flag, value in self.spec.flags.items():
            words += words_of(flag, value)
        for key, value in self.values.items():
            value = self.spec.resolved(key, value)
            words += [key, text_of(value)] if key.startswith("--") else ["--set", f"{key}={text_of(value)}"]
        return words + ["--quiet", "--progress", "off"]

    def digest(self, binary):
        """What the point's result depends on: its command, its effective config, the files these name and the binary."""
        if self._digest is None:
            done = subprocess.run([binary, *without_outputs(self.arguments()), "--dump-config"], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
            # A config that is refused has no effective one: why it is refused stands for it.
            config = done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{done.stderr}"
            parts = [*self.arguments(), config, str(pathlib.Path(binary).stat().st_mtime_ns)]
            self._digest = hashlib.sha256("\0".join(parts + self._contents(done)).encode()).hexdigest()
        return self._digest

    def _contents(self, dumped):
        """A hash per file that the run reads beside its config: of --workload, --verify and ccl.tuner."""
        values = [*self.spec.flags.items(), *((k, self.spec.resolved(k, v)) for k, v in self.values.items())]
        names = [value for key, value in values if key.lstrip("-") in FILES]
        tuner = json.loads(dumped.stdout).get("ccl", {}).get("tuner", "") if dumped.returncode == 0 else ""
        files = [pathlib.Path(name) for name in [*names, *([tuner] if tuner else [])]]
        return [hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "absent" for file in files]


class NotWritten(Exception):
    """A file or folder of the sweep cannot be written."""


@contextlib.contextmanager
def written(path):
    """Errors of writing `path` become NotWritten."""
    try:
        yield
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}") from None


class Sweep:
    """The points of a spec in a directory: points/NAME is the --out of a run, records/NAME.json
    says how it ended."""

    def __init__(self, spec, out):
        self.spec, self.out = spec, pathlib.Path(out)
        self.points = spec.points()
        self.folder, self.records = self.out / "points", self.out / "records"
        self.binary = find_binary(spec.platform)
        self._running, self._stopping, self._lock = set(), False, threading.Lock()

    def record(self, point):
        """How the point ended; None when it has to run (again)."""
        path = self.records / f"{point.name}.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            return None
        if known.get("wrote_result", True) and not (self.folder / point.name / "result.json").exists():
            return None
        return known if known.get("digest") == point.digest(self.binary) else None

    def _run_command(self, command):
        """Its exit code and stderr; None when the sweep is stopping and it did not start."""
        with self._lock:
            if self._stopping:
                return None
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            self._running.add(process)
        stderr = process.communicate()[1]
        with self._lock:
            self._running.discard(process)
        return process.returncode, stderr

    def _stop(self):
        """Starts no further run and ends those under way."""
        with self._lock:
            self._stopping = True
            for process in self._running:
                process.terminate()

    def run_point(self, point):
        """Runs one point and writes its record last, so that an interrupted one runs again; None when the sweep is
        stopping."""
        out = self.folder / point.name
        shutil.rmtree(out, ignore_errors=True)  # what another config left there must not pass for this one's result
        command = [self.binary, *point.arguments(), "--out", str(out)]
        ended = self._run_command(command)
        if ended is None:
            return None
        code, stderr = ended
        record = {"digest": point.digest(self.binary), "number": point.number, "values": point.values,
                  "command": command, "exit_code": code, "stderr": stderr[-4000:],
                  "wrote_result": (out / "result.json").exists()}
        if code not in STOPPED:
            write(self.records / f"{point.name}.json", json.dumps(record, indent=1) + "\n")
        return record

    def share(self, task=None):
        """All points, or those of task (index, count)."""
        return [p for p in self.points if task is None or p.number % task[1] == task[0]]

    def run(self, jobs, task=None, told=lambda point, record, new: None):
        """Runs what has no result yet. task: only that share of the points, for job arrays. An exception (of a signal's
        handler, say) ends the runs under way before it goes on."""
        for folder in (self.folder, self.records):
            with written(folder):
                folder.mkdir(parents=True, exist_ok=True)
        waiting = []
        for point in self.share(task):
            known = self.record(point)
            if known is None:
                waiting.append(point)
            else:
                told(point, known, False)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                running = {pool.submit(self.run_point, point): point for point in waiting}
                for future in concurrent.futures.as_completed(running):
                    told(running[future], future.result(), True)
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise

    def rows(self):
        """One row per run of every point that has ended, in the order of the points."""
        rows = []
        for point in self.points:
            record = self.record(point)
            if record is None:
                continue
            named = {key.lstrip("-"): value for key, value in point.values.items()}
            base = {"point": point.number, **{key: column_value(key, value) for key, value in named.items()},
                    "exit_code": record["exit_code"]}
            try:
                runs = load(self.folder / point.name).runs
            except BadResults:
                runs = [{"status": "error"}]
            for run in runs:
                plain = {k: v for k, v in run.items() if not isinstance(v, (dict, list))}
                rows.append({**base, **plain, **{f"stats.{k}": v for k, v in run.get("stats", {}).items()}})
        return rows

    def collect(self):
        """Writes sweep.csv and sweep.json and returns the rows."""
        rows = self.rows()
        columns = list(dict.fromkeys(key for row in rows for key in row))
        table = io.StringIO()
        writer = csv.DictWriter(table, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write(self.out / "sweep.csv", table.getvalue())
        document = {"schema": "diecast.sweep_result/1", "title": self.spec.title, "platform": self.spec.platform,
                    "points": len(self.points), "rows": rows}
        write(self.out / "sweep.json", json.dumps(document, indent=1) + "\n")
        return rows

    def missing(self, task=None):
        return [p for p in self.share(task) if self.record(p) is None]


def write(path, text):
    """No reader sees half a file. Raises NotWritten."""
    with written(path):
        write_whole(path, text)


def exit_code(records):
    codes = {record["exit_code"] for record in records}
    for code in PRECEDENCE:
        if code in codes:
            return code
    return 0 if codes <= {0} else 70


def draw(spec, rows, out):
    """sweep_N.svg for every plot of the spec, of rows that check_rows() takes. Raises ImportError without matplotlib,
    NotWritten."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "diecast"  # the same file for the same figures
    from matplotlib import pyplot
    files = []
    for n, plot in enumerate(spec.plots):
        columns = columns_of(plot)
        x, y, by = columns["x"], columns["y"], columns.get("series")
        series = {}
        for row in rows:
            if row.get("status") != "ok":
                continue
            series.setdefault(row[by] if by else "", []).append((row[x], row[y]))
        figure, panel = pyplot.subplots(figsize=(6, 4))
        for name, points in series.items():
            points = sorted(points) if all(isinstance(p[0], (int, float)) for p in points) else points
            panel.plot([p[0] for p in points], [p[1] for p in points], marker="o", label=str(name))
        panel.set(xlabel=x, ylabel=y, title=plot.get("title", spec.title))
        for axis in ("x", "y"):
            if f"{axis}scale" in plot:
                panel.set(**{f"{axis}scale": plot[f"{axis}scale"]})
        panel.grid(True, which="both", alpha=0.3)
        if by:
            panel.legend(title=by)
        figure.tight_layout()
        target = pathlib.Path(out) / f"sweep_{n}.svg"
        with written(target):
            axes.save(figure, target)
        pyplot.close(figure)
        files.append(target)
    return files
