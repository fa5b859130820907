# SPDX-License-Identifier: Apache-2.0
"""What a run left in its --out directory."""
import csv
import json
import pathlib

SCHEMA = "diecast.result/1"
RESULTS_OF = ("diecast-pod", "diecast-sip", "diecast-cube")  # whose rows are collectives


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


class Results:
    """result: all of result.json; runs: its rows; config: the effective config."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.result = self._json("result.json")
        if self.result.get("schema") != SCHEMA:
            raise BadResults(f"{self.folder / 'result.json'}: schema is {self.result.get('schema')!r}; "
                             f"expected {SCHEMA!r}")
        self.config = self._json("config.json")
        self.runs = self.result["runs"]
        self.platform = self.result["platform"]

    def _json(self, name):
        path = self.folder / name
        try:
            return json.loads(path.read_text())
        except OSError as error:
            raise BadResults(f"{path}: {error.strerror}; expected what --out writes") from None
        except json.JSONDecodeError as error:
            raise BadResults(f"{path}: not JSON ({error})") from None

    def rows(self, name, run=None):
        """Rows of a CSV file as dicts, of one run or of all; none when there is no such file."""
        path = self.folder / name
        if not path.exists():
            return []
        with path.open(newline="") as file:
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


def load(folder):
    """The results in a directory that --out wrote. Raises BadResults."""
    return Results(folder)
