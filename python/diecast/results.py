# SPDX-License-Identifier: Apache-2.0
"""What a run left in its --out directory."""
import csv
import json
import pathlib

SCHEMA = "diecast.result/1"
RESULTS_OF = ("diecast-pod", "diecast-sip", "diecast-cube")  # whose rows are collectives
ENERGY_PARTS = ("router", "link", "die_to_die", "sip_link", "dma", "tcm", "sram", "hbm", "vector", "idle")
ROW = {"collective": str, "algorithm": str, "status": str, "rank_set": str, "bytes": float, "ranks": float}
COLUMNS = ("collective", "algorithm", "algorithm_reason", "dtype", "op", "bytes", "rank_set", "ranks", "team", "time_ns",
           "time_min_ns", "time_max_ns", "launch_ns", "algbw_gbytes_s", "busbw_gbytes_s", "bound_ns", "bound_kind",
           "bound_detail", "efficiency", "verified", "verified_how", "wrong_elements", "ranks_bitwise_equal", "output_min",
           "output_max", "fingerprint", "status", "message")  # plain fields that a row may have
ENDED = ("ok", "wrong", "not_reproducible")  # statuses of runs that came to their end: these have a time


class BadResults(Exception):
    """A directory that holds no results of Diecast, or a file in it that cannot be read."""


def number(text):
    """A CSV field as int or float where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def table(rows):
    """Rows as a pandas.DataFrame where pandas is installed, else as they are."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def need(condition, where, message):
    if not condition:
        raise BadResults(f"{where}: {message}")


def kind_of(value):
    names = {dict: "an object", list: "a list", str: "a text", bool: "a bool", type(None): "null"}
    return names.get(type(value), "a number")


def need_number(holder, key, where):
    value = holder.get(key)
    need(isinstance(value, (int, float)) and not isinstance(value, bool), f"{where}.{key}",
         f"{'missing' if key not in holder else kind_of(value)}; expected a number")


def check_row(row, where):
    """Of a row of collectives what the scripts read of every one."""
    need(isinstance(row, dict), where, f"{kind_of(row)}; expected an object")
    for key, kind in ROW.items():
        if kind is str:
            need(isinstance(row.get(key), str), f"{where}.{key}",
                 f"{'missing' if key not in row else kind_of(row[key])}; expected a text")
        else:
            need_number(row, key, where)
    if row["status"] in ENDED or row.get("time_ns") is not None:
        need_number(row, "time_ns", where)
    energy = row.get("energy")
    need(energy is None or isinstance(energy, dict), f"{where}.energy", f"{kind_of(energy)}; expected an object")
    for key in (*(f"{part}_pj" for part in ENERGY_PARTS), "total_pj") if energy else ():
        need_number(energy, key, f"{where}.energy")
    if energy and "per_launch_pj" in energy:  # not of a run that ended within its first launch
        need_number(energy, "per_launch_pj", f"{where}.energy")


class Results:
    """result: all of result.json; runs: its rows; config: the effective config."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.result = self._json("result.json")
        where = self.folder / "result.json"
        need(isinstance(self.result, dict), where, f"{kind_of(self.result)}; expected an object")
        need(self.result.get("schema") == SCHEMA, where, f"schema is {self.result.get('schema')!r}; expected {SCHEMA!r}")
        self.config = self._json("config.json")
        need(isinstance(self.config, dict), self.folder / "config.json", f"{kind_of(self.config)}; expected an object")
        self.runs, self.platform = self.result.get("runs"), self.result.get("platform")
        need(isinstance(self.platform, str), f"{where}: platform", "expected a text")
        need(isinstance(self.runs, list), f"{where}: runs", "expected a list")
        if self.platform in RESULTS_OF:
            for n, row in enumerate(self.runs):
                check_row(row, f"{where}: runs[{n}]")

    def _json(self, name):
        path = self.folder / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BadResults(f"{path}: {error.strerror}; expected what --out writes") from None
        except ValueError as error:  # no JSON, or no UTF-8
            raise BadResults(f"{path}: not JSON ({error})") from None

    def rows(self, name, run=None):
        """Rows of a CSV file as dicts, of one run or of all; none when there is no such file."""
        path = self.folder / name
        if not path.exists():
            return []
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]
        return rows if run is None else [row for row in rows if row["run"] == run]

    @property
    def links(self):
        return table(self.rows("links.csv"))

    @property
    def queue_pairs(self):
        return table(self.rows("ipcq.csv"))

    @property
    def table(self):
        """The rows of result.json without their nested parts; statistics as columns stats.NAME."""
        flat = []
        for row in self.runs:
            plain = {k: v for k, v in row.items() if not isinstance(v, (dict, list))}
            plain.update({f"stats.{k}": v for k, v in row.get("stats", {}).items()})
            flat.append(plain)
        return table(flat)

    def critical_path(self, run=0):
        """critical_path.json of a run; None when it has none."""
        name = "critical_path.json" if len(self.runs) == 1 else f"critical_path_{run}.json"
        return self._json(name) if (self.folder / name).exists() else None


def need_collectives(results, what):
    """Raises BadResults where the rows are no collectives. what: "a report is", the subject of the complaint."""
    need(results.platform in RESULTS_OF, results.folder,
         f"results of {results.platform}; {what} about collectives ({', '.join(RESULTS_OF)})")


def load(folder):
    """The results in a directory that --out wrote. Raises BadResults."""
    return Results(folder)
