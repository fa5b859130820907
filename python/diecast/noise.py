# SPDX-License-Identifier: Apache-2.0
"""Whether two times differ by more than their noise: their spread under small delays of the PEs' starts (--jitter)."""
import statistics

DRAWS = "5"  # default --jitter of studies that compare times


class Timing:
    """Times of one job on one machine, by draw. median, low, high and spread in ns."""

    def __init__(self, times):
        self.times = list(times)
        self.median, self.low, self.high = statistics.median(self.times), min(self.times), max(self.times)
        self.spread = self.high - self.low

    def text(self):
        draws = f" (median of {len(self.times)} draws, spread {self.spread / self.median:.2%})" if len(self.times) > 1 else ""
        return f"{self.median:,.1f} ns{draws}"


def times_of(row):
    """Times of a row by draw; a run without --jitter has one."""
    return row.get("jitter_times_ns") or [row["time_ns"]]


def timing(results):
    """The Timing of the sum of all runs."""
    return Timing(map(sum, zip(*map(times_of, results.runs))))


def effect(old, new):
    """(ratio of the medians, least and largest ratio of the extremes, whether the difference is noise) of two Timings. It is noise
    where the extremes overlap, or the medians differ by no more than the larger spread."""
    overlap = old.low <= new.high and new.low <= old.high
    noise = overlap or abs(new.median - old.median) <= max(old.spread, new.spread)
    return new.median / old.median, new.low / old.high, new.high / old.low, noise
