# SPDX-License-Identifier: Apache-2.0
"""Fits config keys to measured times: least squares of log(simulated / measured), by Levenberg and Marquardt."""
import concurrent.futures
import math

from diecast import ping_pong
from diecast.inputs import is_number, near
from diecast.machine import NOT_OF_MACHINE, MachineFailed, first_line, run
from diecast.measurements import BadMeasurements, need
from diecast.noise import Timing, timing
from diecast.processes import scratch
from diecast.studies import effective_config
from diecast.trace import MESSAGE_BYTES
from diecast.whole_file import write_whole

STEP = 1.03  # factor of a key for its derivative
CLEAR = 5  # spreads by which twice or half of a key must move a row
SURE = 0.1  # standard error of a key's logarithm, at most
RANGE_SIGMAS = 2.326  # expected range of five draws of a normal distribution, in standard deviations
LEAST_NOISE = 1e-4  # least spread assumed, as a share of a time


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
    """Simulates measured rows. flags: of the platform, for all rows; pair: ranks of ping-pongs; window: messages of one."""

    def __init__(self, platform, config, sets, flags=None, pair=(0, 1), window=64):
        self.platform, self.config, self.sets, self.flags = platform, config, sets, flags or {}
        self.pair, self.window = pair, window

    def time_ns(self, row, sets):
        """The simulated time of a row on the machine with these sets, of draws the median. Raises as timing()."""
        return self.timing(row, sets).median

    def timing(self, row, sets):
        """The Timing of a row. Raises MachineFailed, BadMeasurements."""
        sets = {**self.sets, **row.sets, **sets}
        found = self._message(row, sets) if row.message else self._collective(row, sets)
        need(found.median > 0, row.where, f"{row.label()} takes no time on this machine; expected a run to compare with")
        return found

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
        ranks = results.runs[0]["ranks"]
        need(row.ranks in (None, ranks), row.where, f"measured on {row.ranks} ranks, and this machine has "
             f"{ranks}; expected as many (--set, --ranks after --)")
        return timing(results)

    def _message(self, row, sets):
        flags = {flag: value for flag, value in self.flags.items() if flag != "jitter"}  # the last of many iterations counts
        text = ping_pong.workload(row.message, int(row.flags["bytes"]), self.pair, flags.pop("ranks", "pe"), self.window)
        with scratch() as folder:
            path = folder / "ping_pong.json"
            write_whole(path, text)
            return Timing([ping_pong.time_ns(row.message, self._run(row, sets, {**flags, "workload": path}).runs[0])])

    def _run(self, row, sets, flags):
        dataless = {} if flags.get("collective") == "barrier" or "data" in flags else {"no_data": True}
        return run(self.config, platform=self.platform, sets=sets, **{**dataless, **flags})


class Calibration:
    """Keys of a machine fitted to measurements. values: {key: value}, first the machine's own. jobs: runs rows."""

    def __init__(self, jobs, keys, rows, at_a_time=1):
        self.jobs, self.rows, self.at_a_time = jobs, rows, at_a_time
        self.fitted_rows = [row for row in rows if not row.held_out]
        effective = self.effective = effective_config(jobs.platform, jobs.config, jobs.sets)
        known = {f"{block}.{name}": value for block, of in effective.items() if isinstance(of, dict) for name, value in of.items()}
        for key in keys:
            need(known.get(key) is not None, f"--key {key}", f"unknown key{near(key, known)}")
            need(is_number(known[key]) and known[key] > 0, f"--key {key}", f"is {known[key]!r} in this machine; expected a number above 0")
        self.values = {key: known[key] for key in keys}
        self.whole = {key for key, value in self.values.items() if isinstance(value, int)}
        count = len(self.fitted_rows)
        if count < len(self.values):
            raise BadMeasurements(f"{count} rows to fit {len(self.values)} keys to; expected at least as many rows as keys")

    def _rounded(self, values):
        """The values as the machine accepts them."""
        return {k: max(1, round(v)) if k in self.whole else v for k, v in values.items()}

    def _scaled(self, key, factor):
        """The values with one of them multiplied by a factor."""
        value = self.values[key] * factor
        return {**self.values, key: max(1, value) if key in self.whole else value}

    def _each(self, one, rows):
        with concurrent.futures.ThreadPoolExecutor(self.at_a_time) as pool:
            return list(pool.map(one, rows))

    def _timings(self, values, rows):
        """Timings of rows; None when the machine refuses the values."""
        try:
            return self._each(lambda row: self.jobs.timing(row, self._rounded(values)), rows)
        except MachineFailed as failed:
            if failed.code != 2:
                raise
            return None

    def _residuals(self, timings):
        """log(simulated / measured) of every row."""
        return timings and [math.log(timing.median / row.time_ns) for timing, row in zip(timings, self.rows)]

    def residuals(self, values):
        """Residuals of every row; None when the machine refuses the values."""
        return self._residuals(self._timings(values, self.rows))

    def _first(self):
        """Residuals of the unchanged machine; a row that it refuses is named with the error."""
        def one(row):
            try:
                return self.jobs.timing(row, self._rounded(self.values))
            except MachineFailed as failed:
                if failed.code in NOT_OF_MACHINE:
                    raise
                raise BadMeasurements(f"{row.where}: {first_line(failed)}") from None
        return self._residuals(self._each(one, self.rows))

    def _fitted(self, residuals):
        return [r for r, row in zip(residuals, self.rows) if not row.held_out]

    def _cost(self, residuals):
        return sum(r * r for r in self._fitted(residuals))

    def _better(self, tried, residuals):
        """Residuals of these values where they are better than the given ones, else None."""
        after = self.residuals(tried)
        return after if after is not None and self._cost(after) < self._cost(residuals) else None

    def _derivatives(self, residuals):
        """Per key: change of every fitted residual per change of the key's logarithm."""
        columns, before = [], self._fitted(residuals)
        for key, value in self.values.items():
            up = max(value * STEP, value + 1) if key in self.whole else value * STEP
            moved = self.residuals({**self.values, key: up})
            width = math.log(up / value)
            columns.append([0.0] * len(before) if moved is None else [(b - a) / width for a, b in zip(before, self._fitted(moved))])
        return columns

    def _try_factors(self, residuals, factors):
        """Multiplies each key by each factor of its first value and keeps the best."""
        for key in self.values:
            for tried in [self._scaled(key, factor) for factor in factors]:
                tried = {**self.values, key: tried[key]}
                if (after := self._better(tried, residuals)) is not None:
                    residuals, self.values = after, tried
        return residuals

    def _scan(self, residuals, report):
        """Moves each key by factors of two to the best place: where a key has no effect there is no slope to follow."""
        residuals = self._try_factors(residuals, (0.25, 0.5, 0.7, 1.4, 2.0, 4.0))
        report(f"scan: rms {rms(self._fitted(residuals)):.3%}")
        return residuals

    def _refine(self, residuals, report):
        """Tries smaller and smaller factors: times change in steps, and between two steps a slope is 0."""
        for width in (0.2, 0.1, 0.05, 0.025, 0.0125):
            residuals = self._try_factors(residuals, (1 / (1 + width), 1 + width))
        report(f"refined: rms {rms(self._fitted(residuals)):.3%}")

    def _responses(self, timings):
        """{key: (derivative of every fitted row's logarithm over a factor of two, most spreads by which that moves a row)}."""
        found = {}
        for key, value in self.values.items():
            slopes, most = [0.0] * len(timings), 0.0
            for factor in (2, 0.5):
                changed = self._rounded(self._scaled(key, factor))
                others = self._timings(changed, self.fitted_rows) if changed[key] != value else None
                for n, (old, new) in enumerate(zip(timings, others or ())):
                    most = max(most, abs(new.median - old.median) / max(old.spread, new.spread, LEAST_NOISE * old.median))
                    slope = math.log(new.median / old.median) / math.log(changed[key] / value)
                    slopes[n] = max(slopes[n], slope, key=abs)
            found[key] = slopes, most
        return found

    def undetermined(self, residuals):
        """{key: why} of the fitted keys that the rows do not determine."""
        timings = self._timings(self.values, self.fitted_rows)
        responses = self._responses(timings)
        # Standard deviation of every row's logarithm: from its draws, or from the residuals of the fit.
        left = rms(self._fitted(residuals))
        noise = [max(t.spread / t.median / RANGE_SIGMAS, left, LEAST_NOISE) for t in timings]
        found = {key: f"twice or half of it moves no row by {CLEAR} times its spread (at most {most:.1f})"
                 for key, (_, most) in responses.items() if most < CLEAR}
        keys = [key for key in responses if key not in found]
        normal = products([[s / sigma for s, sigma in zip(responses[key][0], noise)] for key in keys])
        damped = [[v + (i == j) * 1e-9 for j, v in enumerate(row)] for i, row in enumerate(normal)]
        for i, key in enumerate(keys):
            error = math.sqrt(abs(solve(damped, [float(n == i) for n in range(len(keys))])[i]))
            if error > SURE:
                found[key] = f"noise or another fitted key explains what it changes (standard error {min(error, 9.99):.0%})"
        return found

    def fit(self, rounds=12, report=lambda text: None):
        """Fits; returns the residuals before and after, and {key: why} of keys that the rows do not determine: these keep their
        values, and the others are fitted again without them."""
        unknown = {}
        first = residuals = self._first()
        while self.values:
            residuals = self._fit(residuals, rounds, report)
            vague = self.undetermined(residuals)
            unknown.update(vague)
            if not vague:
                break
            self.values = {key: value for key, value in self.values.items() if key not in vague}
            residuals = self.residuals(self.values)
        return first, residuals, unknown

    def _fit(self, residuals, rounds, report):
        residuals = self._scan(residuals, report)
        damping = 0.01
        for number in range(rounds):
            columns = self._derivatives(residuals)
            normal = products(columns)
            right = [-sum(a * r for a, r in zip(x, self._fitted(residuals))) for x in columns]
            for _ in range(6):
                damped = [[v + (damping * (normal[i][i] + 1e-12) if i == j else 0) for j, v in enumerate(row)]
                          for i, row in enumerate(normal)]
                move = [max(-1.0, min(1.0, m)) for m in solve(damped, right)]  # at most a factor of e per round
                tried = {k: v * math.exp(m) for (k, v), m in zip(self.values.items(), move)}
                if (after := self._better(tried, residuals)) is not None:
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
        return self.residuals(self.values)


def products(columns):
    """Products of every pair of columns."""
    return [[sum(a * b for a, b in zip(x, y)) for y in columns] for x in columns]


def rms(residuals):
    return math.sqrt(sum(r * r for r in residuals) / len(residuals)) if residuals else 0.0
