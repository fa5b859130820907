# SPDX-License-Identifier: Apache-2.0
"""Results of a run in its --out directory."""
import os
import pathlib

from diecast import whole_file
from diecast.inputs import BadInput, check, json_of, kind_of, need, need_schema, number_of, parsed, table_of, text_of

SCHEMA = "diecast.result/1"
RESULTS_OF = ("diecast-pod", "diecast-sip", "diecast-cube")  # platforms whose rows are collectives
ENERGY_PARTS = ("router", "link", "die_to_die", "sip_link", "dma", "tcm", "sram", "hbm", "vector", "idle")
COLUMNS = ("collective", "algorithm", "algorithm_reason", "algorithm_chosen_by", "fidelity", "dtype", "op",
           "bytes", "rank_set", "ranks", "team", "time_ns", "time_min_ns", "time_max_ns", "launch_ns",
           "algbw_gbytes_s", "busbw_gbytes_s", "bound_ns", "bound_kind", "bound_detail", "efficiency",
           "verified", "verified_how", "wrong_elements", "ranks_bitwise_equal", "output_min", "output_max",
           "fingerprint", "data_fingerprint", "status", "message", "jitter_median_ns", "jitter_min_ns",
           "jitter_max_ns", "jitter_spread_percent", "jitter_spread_without_delay_percent", "jitter_limit_ns")  # plain fields that a row may have
ENDED = ("ok", "wrong", "not_reproducible")  # statuses of runs that came to their end: these have a time

# What the scripts read of each file; other fields may be anything.
RESULT = {"schema": "text", "platform": "text", "runs": ["any"], "machine?": {"sips?": "any", "pes?": "any"}, "argv?": ["text"],
          "config_sha256?": "text", "version?": "any", "status?": "text"}
ROW = {"collective": "text", "algorithm": "text", "status": "text", "rank_set": "text", "bytes": "number", "ranks": "number",
       "time_ns?": "number|null", "jitter_times_ns?": ["number"], "verified?": "bool|null",
       "algbw_gbytes_s?": "number|null", "busbw_gbytes_s?": "number|null",
       "bound_ns?": "number|null", "efficiency?": "number|null", "bound_kind?": "text", "dtype?": "text", "op?": "text",
       "message?": "text", "team?": "text", "stats?": {"*": "number|null|bool"},
       "energy?": "any", "ops?": [{"id": "text", "stream?": "text", "op?": "text", "bytes?": "number", "ranks?": "number"}]}
PARTS = {f"{part}_pj": "number" for part in (*ENERGY_PARTS, "total")}
PATH = {"time_ns": "positive", "ends_at": "text", "causes": [{"cause": "text", "time_ns": "number", "share": "number"}],
        "edges": [{"pe": "text", "cause": "text", "from_ns": "number", "to_ns": "number", "time_fs": "number", "to_pe?": "text",
                   "step?": "text", "links?": ["text"]}]}
SIZES = {"pod": {"sips": "count"}, "sip": {"columns": "count", "rows": "count"}, "cube": {"pes": "count"},
         "noc": {"topology": "text", "columns": "count", "rows": "count"}, "hbm": {"ports": "count"}}
# Columns of the tables that are read by name: (texts, numbers); with ? those that runs of sim.fidelity=message lack.
TABLES = {"links.csv": (("link",), ("run", "bytes", "busy_fraction", "stall_ns?")),
          "waits.csv": (("pe",), ("run", "data_ns", "credit_ns", "dma_ns", "memory_ns", "message_ns", "error_ns", "poll_ns",
                                  "never_ended_ns")),
          "hbm.csv": (("channel",), ("run", "busy_share"))}


class BadResults(BadInput):
    """A directory that holds no results of Diecast, or a file in it that cannot be read."""


def table(rows):
    """Rows as a pandas.DataFrame where pandas is installed, else as they are."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def check_row(row, where):
    """The fields of a row of collectives that all scripts read."""
    check(row, ROW, where, BadResults)
    if row["status"] in ENDED:
        check(row, {"time_ns": "number"}, where, BadResults)
    if row.get("energy") is not None:
        check(row["energy"], {**(PARTS if row["energy"] else {}), "per_launch_pj?": "number", "*": "number|null"}, f"{where}.energy",
              BadResults)


class Results:
    """result: all of result.json; runs: its rows; config: the effective config."""

    def __init__(self, folder, noted=True):
        """noted: the folder is an input of the script."""
        self.folder, self._tables, self._paths, self._noted, self._texts = pathlib.Path(folder), {}, {}, noted, None
        if noted:
            whole_file.reads_folder(self.folder)
        where = self.folder / "result.json"
        try:
            os.stat(where)
        except (FileNotFoundError, NotADirectoryError):
            raise BadResults(f"{folder}: no folder with a result.json; expected that of a run, which --out names" +
                             ("; those of a sweep are in points/" if os.path.exists(self.folder / "points") else
                              f"; did you mean {self.folder.parent}?" if self.folder.name == "result.json" else "")) from None
        except OSError:
            pass  # reading it raises the reason
        self.result = self._json("result.json")
        need_schema(self.result, SCHEMA, where, BadResults)
        check(self.result, RESULT, f"{where}: result", BadResults)
        self.config = self._json("config.json")
        need(isinstance(self.config, dict), self.folder / "config.json", f"{kind_of(self.config)}; expected an object", BadResults)
        self.runs, self.platform = self.result["runs"], self.result["platform"]
        if self.platform in RESULTS_OF:
            for n, row in enumerate(self.runs):
                check_row(row, f"{where}: runs[{n}]")

    def _json(self, name):
        return json_of(self.folder / name, BadResults, noted=self._noted)

    def rows(self, name, run=None):
        """Rows of a CSV file as dicts, of one run or of all; none when there is no such file."""
        if name not in self._tables:
            text = self._text(name)
            self._tables[name] = [] if text is None else self._read(name, text)
        rows = self._tables[name]
        return rows if run is None else [row for row in rows if row["run"] == run]

    def _text(self, name):
        """The text of an optional file, else None."""
        if self._texts is not None:
            return self._texts.get(name)
        path = self.folder / name
        return text_of(path, BadResults, noted=self._noted) if path.exists() else None

    def _read(self, name, text):
        path = self.folder / name
        columns, lines = table_of(text, path, BadResults)
        texts, numbers = TABLES.get(name, ((), ("run",)))
        numbers = [*(name.rstrip("?") for name in numbers if not name.endswith("?") or name[:-1] in columns),
                   *(column for column in columns if column.startswith("lost_"))]
        for column in (*texts, *numbers):
            need(column in columns, f"{path}: line 1", f"no column {column}", BadResults)
        rows = [{key: value if key in texts else number_of(value) for key, value in cells.items()} for _, cells in lines]
        for (place, _), row in zip(lines, rows):
            for key in numbers:
                need(not isinstance(row[key], str), place, f"{key} is {row[key]!r}; expected a number", BadResults)
        return rows

    def read_all(self):
        """Reads all files that may be used after the folder has been removed."""
        self._texts = {file.name: text_of(file, BadResults, noted=self._noted) for pattern in ("*.csv", "critical_path*.json")
                       for file in self.folder.glob(pattern)}

    @property
    def links(self):
        return table(self.rows("links.csv"))

    @property
    def queue_pairs(self):
        return table(self.rows("ipcq.csv"))

    @property
    def table(self):
        """The rows of result.json without their nested parts; statistics as columns stats.NAME."""
        return table([plain(row) for row in self.runs])

    def critical_path(self, run=0):
        """critical_path.json of a run; None when it has none."""
        if run not in self._paths:
            name = "critical_path.json" if len(self.runs) == 1 else f"critical_path_{run}.json"
            text = self._text(name)
            self._paths[run] = None if text is None else parsed(text, self.folder / name, BadResults)
            if text is not None:
                check_path(self._paths[run], self.folder / name)
        return self._paths[run]


def check_path(path, where):
    check(path, PATH, f"{where}: path", BadResults)
    causes = {cause["cause"] for cause in path["causes"]}
    for n, edge in enumerate(path["edges"]):
        need(edge["cause"] in causes, f"{where}: path.edges[{n}].cause", f"{edge['cause']!r}; expected one of causes", BadResults)


def plain(row):
    """A row of result.json without its nested parts; statistics as stats.NAME."""
    return {**{k: v for k, v in row.items() if not isinstance(v, (dict, list))},
            **{f"stats.{k}": v for k, v in row.get("stats", {}).items()}}


def need_collectives(results, what):
    """Raises BadResults where the rows are no collectives. what: "a report is", the subject of the message."""
    need(results.platform in RESULTS_OF, results.folder,
         f"results of {results.platform}; {what} about collectives ({', '.join(RESULTS_OF)})", BadResults)


load = Results  # of a directory that --out wrote. Raises BadResults.
