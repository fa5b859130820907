# SPDX-License-Identifier: Apache-2.0
"""Fits config keys to measured times: least squares of log(simulated / measured), by Levenberg and Marquardt."""
import concurrent.futures
import math

from diecast import ping_pong
from diecast.inputs import near
from diecast.machine import MachineFailed, first_line, run
from diecast.measurements import BadMeasurements, need
from diecast.processes import scratch
from diecast.studies import effective_config
from diecast.trace import MESSAGE_BYTES
from diecast.whole_file import write_whole

STEP = 1.03  # of a key, for its derivative


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


class Jobs:
    """Runs what rows measured. flags: of the platform, for all rows; pair: ranks of ping-pongs; window: messages of one."""

    def __init__(self, platform, config, sets, flags=None, pair=(0, 1), window=64):
        self.platform, self.config, self.sets, self.flags = platform, config, sets, flags or {}
        self.pair, self.window = pair, window

    def time_ns(self, row, sets):
        """The simulated time of a row on the machine with these sets. Raises MachineFailed, BadMeasurements."""
        sets = {**self.sets, **row.sets, **sets}
        time = self._message(row, sets) if row.message else self._collective(row, sets)
        need(time is not None and time > 0, row.where, f"{row.label()} takes no time on this machine; expected a run to compare with")
        return time

    def fitting(self, rows, report):
        """The rows without messages in pieces that together do not fit the memory of this machine."""
        kept = []
        for row in rows:
            try:
                if row.message and int(row.flags["bytes"]) > MESSAGE_BYTES[1]:
                    self.time_ns(row, {})
                kept.append(row)
            except MachineFailed as failed:
                if failed.code != 2:
                    raise
                report(f"{row.where}: left out: {first_line(failed)}")
        return kept

    def _collective(self, row, sets):
        results = self._run(row, sets, {**self.flags, **row.flags})
        need(len(results.runs) == 1, row.where, f"{len(results.runs)} runs of {row.label()}; expected one: a size, an algorithm")
        found = results.runs[0]
        need(row.ranks in (None, found["ranks"]), row.where, f"measured on {row.ranks} ranks, and this machine has "
             f"{found['ranks']}; expected as many (--set, --ranks behind --)")
        return found["time_ns"]

    def _message(self, row, sets):
        flags = dict(self.flags)
        text = ping_pong.workload(row.message, int(row.flags["bytes"]), self.pair, flags.pop("ranks", "pe"), self.window)
        with scratch() as folder:
            path = folder / "ping_pong.json"
            write_whole(path, text)
            return ping_pong.time_ns(row.message, self._run(row, sets, {**flags, "workload": path}).runs[0])

    def _run(self, row, sets, flags):
        return run(self.config, platform=self.platform, sets=sets, **{"no_data": True, **flags})


class Calibration:
    """Keys of a machine fitted to measurements. values: {key: value}, first the machine's own. jobs: runs rows."""

    def __init__(self, jobs, keys, rows, at_a_time=1):
        self.jobs, self.rows, self.at_a_time = jobs, rows, at_a_time
        effective = self.effective = effective_config(jobs.platform, jobs.config, jobs.sets)
        self.values = {}
        for key in keys:
            block, _, name = key.partition(".")
            value = effective.get(block, {}).get(name) if isinstance(effective.get(block), dict) else None
            if value is None:
                known = [f"{b}.{k}" for b, keys in effective.items() if isinstance(keys, dict) for k in keys]
                raise BadMeasurements(f"--key {key}: unknown key{near(key, known)}")
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise BadMeasurements(f"--key {key}: is {value!r} in this machine; expected a number above 0")
            self.values[key] = value
        self.whole = {key for key, value in self.values.items() if isinstance(value, int)}
        count = sum(not row.held_out for row in rows)
        if count < len(self.values):
            raise BadMeasurements(f"{count} rows to fit {len(self.values)} keys to; expected at least as many rows as keys")

    def _rounded(self, values):
        """The values as a machine takes them."""
        return {k: max(1, round(v)) if k in self.whole else v for k, v in values.items()}

    def _residual(self, row, values):
        return math.log(self.jobs.time_ns(row, self._rounded(values)) / row.time_ns)

    def residuals(self, values):
        """log(simulated / measured) of every row; None when the machine does not take the values."""
        try:
            with concurrent.futures.ThreadPoolExecutor(self.at_a_time) as pool:
                return list(pool.map(lambda row: self._residual(row, values), self.rows))
        except MachineFailed as failed:
            if failed.code != 2:
                raise
            return None

    def _first(self):
        """Residuals of the unchanged machine; a row that it refuses is named with what it says."""
        def one(row):
            try:
                return self._residual(row, self.values)
            except MachineFailed as failed:
                raise BadMeasurements(f"{row.where}: {first_line(failed)}") from None
        with concurrent.futures.ThreadPoolExecutor(self.at_a_time) as pool:
            return list(pool.map(one, self.rows))

    def _fitted(self, residuals):
        return [r for r, row in zip(residuals, self.rows) if not row.held_out]

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

    def _scan(self, residuals, report):
        """Moves each key by factors of two to the best place: where a key has no effect there is no slope to follow."""
        residuals = self._try_factors(residuals, (0.25, 0.5, 0.7, 1.4, 2.0, 4.0))
        report(f"scan: rms {rms(self._fitted(residuals)):.3%}")
        return residuals

    def _refine(self, residuals, report):
        """Ever smaller factors: times react in steps, and between two of them a slope leads nowhere."""
        for width in (0.2, 0.1, 0.05, 0.025, 0.0125):
            residuals = self._try_factors(residuals, (1 / (1 + width), 1 + width))
        report(f"refined: rms {rms(self._fitted(residuals)):.3%}")
        return residuals

    def fit(self, rounds=12, report=lambda text: None):
        """Fits; returns the residuals before and after."""
        first = residuals = self._first()
        residuals = self._scan(residuals, report)
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
            report(f"round {number + 1}: rms {rms(self._fitted(residuals)):.3%}")
            if max(map(abs, move)) < 1e-4:
                break
        self._refine(residuals, report)
        self.values = self._rounded(self.values)
        return first, self.residuals(self.values)


def rms(residuals):
    return math.sqrt(sum(r * r for r in residuals) / len(residuals)) if residuals else 0.0
