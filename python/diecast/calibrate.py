# SPDX-License-Identifier: Apache-2.0
"""Fits config keys to measured times: least squares of log(simulated / measured), by Levenberg and Marquardt."""
import concurrent.futures
import csv
import math

from diecast.machine import MachineFailed, run
from diecast.studies import effective_config

FLAGS = ("collective", "algorithm", "bytes", "ranks", "dtype", "op")
STEP = 1.03  # of a key, for its derivative


class BadMeasurements(Exception):
    """A table that cannot be calibrated to; the message says where and what was expected."""


def read(path):
    """Rows [(flags, time_ns, held_out)] of a CSV file with the column time_ns or time_us, flags of the platform, and perhaps
    hold_out (1: not fitted, only checked; 0 or empty: fitted)."""
    try:
        with open(path, newline="") as file:
            table = list(csv.DictReader(file))
    except OSError as error:
        raise BadMeasurements(f"{path}: {error.strerror}") from None
    rows = []
    for number, row in enumerate(table, 2):
        where = f"{path}: line {number}"
        unit = next((u for u in ("time_ns", "time_us") if u in row), None)
        if unit is None:
            raise BadMeasurements(f"{where}: no column time_ns or time_us")
        for column in row:
            if column not in (*FLAGS, "time_ns", "time_us", "hold_out"):
                raise BadMeasurements(f"{where}: unknown column {column!r}; known are {', '.join(FLAGS)}, time_ns, time_us, "
                                      "hold_out")
        try:
            time = float(row[unit]) * (1000 if unit == "time_us" else 1)
        except (TypeError, ValueError):
            time = math.nan
        if not time > 0 or math.isinf(time):
            raise BadMeasurements(f"{where}: {unit} is {row[unit]!r}; expected a time above 0")
        if row.get("hold_out") not in (None, "", "0", "1"):
            raise BadMeasurements(f"{where}: hold_out is {row['hold_out']!r}; expected 1, 0 or nothing")
        rows.append(({k: v for k, v in row.items() if k in FLAGS and v}, time, row.get("hold_out") == "1"))
    if not any(not held for _, _, held in rows):
        raise BadMeasurements(f"{path}: no row to fit")
    return rows


def solve(matrix, right):
    """x of matrix x = right, by elimination with pivots; the matrix is damped and never singular."""
    n = len(right)
    rows = [row[:] + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


class Calibration:
    """Keys of a machine fitted to measurements. values: {key: value}, first the machine's own."""

    def __init__(self, platform, config, sets, keys, rows, jobs=1):
        self.platform, self.config, self.sets, self.rows, self.jobs = platform, config, sets, rows, jobs
        effective = self.effective = effective_config(platform, config, sets)
        self.values = {}
        for key in keys:
            block, _, name = key.partition(".")
            value = effective.get(block, {}).get(name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise BadMeasurements(f"--key {key}: is {value!r} in this machine; expected a number above 0")
            self.values[key] = value
        self.whole = {key for key, value in self.values.items() if isinstance(value, int)}

    def _rounded(self, values):
        """The values as a machine takes them."""
        return {k: max(1, round(v)) if k in self.whole else v for k, v in values.items()}

    def _sets(self, values):
        return {**self.sets, **self._rounded(values)}

    def residuals(self, values):
        """log(simulated / measured) of every row; None when the machine does not take the values."""
        def one(row):
            results = run(self.config, platform=self.platform, sets=self._sets(values), no_data=True, **row[0])
            return math.log(results.runs[0]["time_ns"] / row[1])
        try:
            with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                return list(pool.map(one, self.rows))
        except MachineFailed as failed:
            if failed.code != 2:
                raise
            return None

    def _fitted(self, residuals):
        return [r for r, row in zip(residuals, self.rows) if not row[2]]

    def _derivatives(self, residuals):
        """Per key: change of every fitted residual per change of the key's logarithm."""
        columns = []
        for key, value in self.values.items():
            up = {**self.values, key: max(value * STEP, value + 1) if key in self.whole else value * STEP}
            moved = self.residuals(up)
            if moved is None:
                columns.append([0.0] * len(self._fitted(residuals)))
                continue
            width = math.log(up[key] / value)
            columns.append([(b - a) / width for a, b in zip(self._fitted(residuals), self._fitted(moved))])
        return columns

    def _cost(self, residuals):
        return sum(r * r for r in self._fitted(residuals))

    def _try_factors(self, residuals, factors):
        """Multiplies each key by each factor and keeps what is best."""
        for key in self.values:
            value = self.values[key]
            for factor in factors:
                tried = {**self.values, key: max(1, value * factor) if key in self.whole else value * factor}
                after = self.residuals(tried)
                if after is not None and self._cost(after) < self._cost(residuals):
                    residuals, self.values = after, tried
        return residuals

    def _scan(self, residuals, told):
        """Moves each key by factors of two to the best place: where a key has no effect there is no slope to follow."""
        residuals = self._try_factors(residuals, (0.25, 0.5, 0.7, 1.4, 2.0, 4.0))
        told(f"scan: rms {rms(self._fitted(residuals)):.3%}")
        return residuals

    def _refine(self, residuals, told):
        """Ever smaller factors: times react in steps, and between two of them a slope leads nowhere."""
        for width in (0.2, 0.1, 0.05, 0.025, 0.0125):
            residuals = self._try_factors(residuals, (1 / (1 + width), 1 + width))
        told(f"refined: rms {rms(self._fitted(residuals)):.3%}")
        return residuals

    def fit(self, rounds=12, told=lambda text: None):
        """Fits; returns the residuals before and after."""
        first = residuals = self.residuals(self.values)
        if first is None:
            raise BadMeasurements("the unchanged machine refuses these runs")
        residuals = self._scan(residuals, told)
        damping = 0.01
        for number in range(rounds):
            columns = self._derivatives(residuals)
            plain = self._fitted(residuals)
            normal = [[sum(a * b for a, b in zip(x, y)) for y in columns] for x in columns]
            right = [-sum(a * r for a, r in zip(x, plain)) for x in columns]
            for _ in range(6):
                damped = [[v + (damping * (normal[i][i] + 1e-12) if i == j else 0) for j, v in enumerate(row)]
                          for i, row in enumerate(normal)]
                move = [max(-1.0, min(1.0, m)) for m in solve(damped, right)]  # at most by e at a time
                tried = {k: v * math.exp(m) for (k, v), m in zip(self.values.items(), move)}
                after = self.residuals(tried)
                if after is not None and self._cost(after) < self._cost(residuals):
                    break
                damping *= 10
            else:
                break
            self.values, residuals, damping = tried, after, damping / 10
            told(f"round {number + 1}: rms {rms(self._fitted(residuals)):.3%}")
            if max(map(abs, move)) < 1e-4:
                break
        self._refine(residuals, told)
        self.values = self._rounded(self.values)
        return first, self.residuals(self.values)


def rms(residuals):
    return math.sqrt(sum(r * r for r in residuals) / len(residuals)) if residuals else 0.0
