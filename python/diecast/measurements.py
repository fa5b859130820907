# SPDX-License-Identifier: Apache-2.0
"""Reads measured times: tables of this project (CSV), logs of nccl-tests, and ping-pong tables of the OSU benchmarks.

The columns of nccl-tests are described in github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md; what osu_latency and osu_bw
time, in the comments of their sources (mvapich.cse.ohio-state.edu/benchmarks)."""
import functools
import re

from diecast import inputs
from diecast.inputs import BadInput, near, one_line
from diecast.results import ENDED
from diecast.trace import MESSAGE_BYTES, TIMES

FLAGS = ("collective", "algorithm", "bytes", "ranks", "dtype", "op")
UNITS = {"time_ns": 1, "time_us": 1000}

# What nccl-tests call a test (NAME_perf), a type and an operation, as the platforms do.
TESTS = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "broadcast": "broadcast",
         "reduce": "reduce", "alltoall": "all_to_all", "gather": "gather", "scatter": "scatter"}
TYPES = {"half": "f16", "bfloat16": "bf16", "float": "f32", "int32": "i32", "int": "i32"}
OPS = ("sum", "prod", "max", "min", "avg")


class BadMeasurements(BadInput):
    """A table that cannot be calibrated to; the message names the place and the expected value."""


need = functools.partial(inputs.need, refused=BadMeasurements)


class Row:
    """A measured time: its place, the run (flags and sets of the platform, or `message`: latency or bandwidth of messages of
    so many bytes), time_ns, held_out (None: not in the table) and the number of ranks (None: unknown)."""

    def __init__(self, where, time_ns, flags, *, sets=None, message=None, held_out=None, ranks=None):
        self.where, self.time_ns, self.flags, self.sets = where, time_ns, flags, sets or {}
        self.message, self.held_out, self.ranks = message, held_out, ranks

    def label(self):
        return " ".join(([self.message] if self.message else []) + [str(value) for value in self.flags.values()])


def time_of(where, name, text, unit):
    """Nanoseconds."""
    time = inputs.finite(text)
    need(time is not None and time > 0, where, f"{name} is {one_line(text)!r}; expected a time above 0")
    return time * unit


def size_of(where, text):
    return inputs.whole_number(text, where, "size", BadMeasurements)


# --- tables of this project ---------------------------------------------------------------------------------------------


def csv_columns(where, columns):
    """The column of times."""
    units = [unit for unit in UNITS if unit in columns]
    need(units, where, f"no column time_ns or time_us; there are {one_line(', '.join(columns))}")
    need(len(units) == 1, where, "columns time_ns and time_us; expected one of them")
    known = (*FLAGS, *UNITS, "hold_out")
    for column in columns if "rank_set" not in columns else ():
        need(column in known, where, f"unknown column {one_line(column)!r}{near(column, known)}; known are {', '.join(known)}")
    return units[0]


def flags_of(row):
    """The flags of a row's run. With a column rank_set (tables of the platforms) ranks is a number of ranks, or missing."""
    flags = {name: row[name] for name in FLAGS if row.get(name)}
    if "rank_set" not in row:
        return flags
    flags.pop("ranks", None)
    flags |= {flag: row[name] for flag, name in (("ranks", "rank_set"), ("team", "team")) if row.get(name)}
    idle = ("bytes", "dtype", "op") if row.get("collective") == "barrier" else ()
    return {name: value for name, value in flags.items() if (name, value) != ("op", "none") and name not in idle}


def read_csv(path, text):
    """The rows, and how many are left out as their runs came to no end."""
    columns, table = inputs.table_of(text, path, BadMeasurements)
    unit, rows, unended = csv_columns(f"{path}: line 1", columns), [], 0
    for where, row in table:
        if row.get("status", ENDED[0]) not in ENDED:
            unended += 1
            continue
        need(row.get("collective") != "workload", where, "is a row of a workload; expected those of collectives")
        held = row.get("hold_out")
        need(held in (None, "", "0", "1"), where, f"hold_out is {one_line(held)!r}; expected 1, 0 or nothing")
        counted = "rank_set" in row and row.get("ranks")
        ranks = inputs.whole_number(counted, where, "ranks", BadMeasurements) if counted else None
        rows.append(Row(where, time_of(where, unit, row[unit], UNITS[unit]), flags_of(row),
                        held_out=None if held is None else held == "1", ranks=ranks))
    return rows, unended


# --- logs of nccl-tests -------------------------------------------------------------------------------------------------

NCCL_HEAD = re.compile(r"#\s+size\s+count\s+type\b")
NCCL_DEVICES = re.compile(r"#\s+Using devices\b")
NCCL_RANK = re.compile(r"#\s+Rank\s+(\d+)\s")
NCCL_TEST = re.compile(r"#.*?\b([a-z_]+)_perf\b")
NCCL_COMMAND = re.compile(r"(?:.*[\s/])?([a-z_]+)_perf(?:\s+-|\s*$)")
NCCL_SAYS = re.compile(r"\bNCCL [A-Z]+\b")
MPI_TAG = re.compile(r"^\[\d+,\d+\]<std(?:out|err)>: ?", re.MULTILINE)  # mpirun --tag-output
NCCL_ROW = re.compile(r"\s*\d+\s+\d+\s+[a-z]\w*\s")


class NcclLog:
    """in_place: take those times. size 0 is left out, as nothing is moved; `empty` counts them."""

    def __init__(self, path, in_place):
        self.path, self.in_place, self.empty, self.rows = path, in_place, 0, []
        self.columns, self.ranks, self.test = None, 0, None

    def read(self, text):
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{self.path}: line {number}"
            if NCCL_HEAD.match(line):
                self.columns = line[1:].split()
            elif self._is_row(line):
                self._row(where, line.split())
            else:
                self._remark(where, line)
        return self.rows

    def _is_row(self, line):
        """Also with a damaged cell: left out silently it would be missing in the fit."""
        cells = line.split() if self.columns and line.lstrip()[:1].isdigit() else []
        return NCCL_ROW.match(line) or cells and len(self.columns) - len(cells) in (0, 1)

    def _remark(self, where, line):
        """Device lists and commands; NCCL's own messages are skipped."""
        if NCCL_DEVICES.match(line):
            self.ranks = 0  # the next table is of another run
        elif match := NCCL_RANK.match(line):
            self.ranks = max(self.ranks, size_of(where, match[1]) + 1)
        elif (match := NCCL_COMMAND.match(line)) and not NCCL_SAYS.search(line) and match[1] in TESTS:
            self.test = match[1]
        elif match := NCCL_TEST.match(line):
            need(match[1] in TESTS, where, f"{match[1]}_perf; expected one of {', '.join(f'{name}_perf' for name in TESTS)}")
            self.test = match[1]

    def _row(self, where, cells):
        need(self.columns, where, "a row before the line with the names of the columns")
        at = self.columns.index("redop") if "redop" in self.columns else 0
        if 0 < at < len(cells) == len(self.columns) - 1 and not cells[at].isalpha():
            cells.insert(at, "none")  # older versions leave it blank where a collective has none
        need(len(cells) == len(self.columns), where, f"{len(cells)} cells; expected {len(self.columns)}, as the head has")
        first = dict(zip(self.columns[::-1], cells[::-1]))  # where a name is given twice, the out-of-place column
        last = dict(zip(self.columns, cells))
        row = last if self.in_place else first
        for column in ("size", "type", "time"):
            need(column in row, where, f"no column {column}")
        wrong = row.get("#wrong", row.get("error", "0"))
        need(wrong == "N/A" or inputs.finite(wrong) is not None, where, f"#wrong is {wrong!r}; expected a number or N/A")
        # "error" of old versions is the largest difference to the reference, in which rounding counts.
        need("#wrong" not in row or wrong in ("0", "N/A"), where, f"{wrong} wrong elements; expected a run with right results")
        if size_of(where, row["size"]) == 0:
            self.empty += 1
            return
        self.rows.append(Row(where, time_of(where, "time", row["time"], 1000), self._flags(where, row),
                             sets=self._sets(where, row), ranks=self.ranks or None))

    def _flags(self, where, row):
        need(row["type"] in TYPES, where, f"type {row['type']}; expected one of {', '.join(TYPES)}")
        flags = {"collective": TESTS[self.test]} if self.test else {}
        flags |= {"bytes": row["size"], "dtype": TYPES[row["type"]]}
        op = row.get("redop", "none")
        need(op in (*OPS, "none"), where, f"redop {op}; expected one of {', '.join(OPS)}")
        return flags if op == "none" else {**flags, "op": op}

    @staticmethod
    def _sets(where, row):
        root = row.get("root", "-1")
        need(re.fullmatch(r"-1|\d{1,9}", root, re.ASCII), where, f"root is {one_line(root)!r}; expected a rank or -1")
        return {} if root == "-1" else {"ccl.root_rank": int(root)}


# --- ping-pong tables ---------------------------------------------------------------------------------------------------

OSU_TITLE = re.compile(r"#\s*OSU\s+(.*?\bTest)\b")
OSU_HEAD = re.compile(r"#\s*Size\s+(?:Avg\s+)?(Latency\s*\(us\)|Bandwidth\s*\(MB/s\))", re.IGNORECASE)
OSU_TESTS = ("MPI Latency Test", "MPI Bandwidth Test")


class OsuTable:
    """osu_latency (half of a round trip) and osu_bw (windows of messages, 1e6 bytes a second)."""

    def __init__(self, path, window):
        self.path, self.window, self.kind, self.rows = path, window, None, []

    def read(self, text):
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{self.path}: line {number}"
            if title := OSU_TITLE.match(line):
                need(title[1] in OSU_TESTS, where, f"{title[1]!r}; expected {' or '.join(OSU_TESTS)}")
            elif head := OSU_HEAD.match(line):
                self.kind = head[1].split("(")[0].strip().lower()
            elif line.strip() and not line.startswith("#"):
                self._row(where, line.split())
        return self.rows

    def _row(self, where, cells):
        need(self.kind, where, "a row before the line with the names of the columns")
        need(len(cells) >= 2, where, f"{' '.join(cells)!r}; expected a size and a {self.kind}")
        size = size_of(where, cells[0])
        value = time_of(where, self.kind, cells[1], 1000) if self.kind == "latency" else self._window(where, size, cells[1])
        need(size <= TIMES * MESSAGE_BYTES[1], where, f"messages of {size} bytes; expected at most {TIMES * MESSAGE_BYTES[1]}")
        self.rows.append(Row(where, value, {"bytes": str(size)}, message=self.kind))

    def _window(self, where, size, text):
        """Nanoseconds of a window at a bandwidth in MB/s."""
        rate = inputs.finite(text)
        need(rate is not None and rate > 0, where, f"bandwidth is {text!r}; expected MB/s above 0")
        need(size > 0, where, "a bandwidth of messages of 0 bytes")
        return self.window * size / rate * 1000


def read(path, in_place=False, window=64, report=lambda text: None):
    """The rows of a table in any of these forms. Raises BadMeasurements."""
    text = MPI_TAG.sub("", inputs.text_of(path, BadMeasurements))
    if re.search(NCCL_HEAD.pattern, text):
        log = NcclLog(path, in_place)
        rows = log.read(text)
        if log.empty:
            report(f"{path}: {log.empty} rows of 0 bytes are left out")
    elif re.search(OSU_HEAD.pattern, text, re.IGNORECASE):
        rows = OsuTable(path, window).read(text)
    else:
        need(not text.startswith("#"), path, "neither a log of nccl-tests nor a table of osu_latency or osu_bw; expected a line "
             "with the names of their columns, or a CSV file without comments")
        rows, unended = read_csv(path, text)
        if unended:
            report(f"{path}: {unended} rows of runs without an end are left out")
    need(rows, path, "no row")
    return rows


def hold_out(rows, every):
    """Marks the rows that are only checked: as in the table, else the middle one of every `every`; none for 0."""
    for n, row in enumerate(rows):
        if row.held_out is None:
            row.held_out = bool(every) and n % every == every // 2
    return rows
