# SPDX-License-Identifier: Apache-2.0
"""What a difference of two times is worth, where small delays of the PEs' starts (--jitter) move each of them."""
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
    """Times of a row by draw; of a run without --jitter its one time."""
    return row.get("jitter_times_ns") or [row["time_ns"]]


def timing(results):
    """Of all runs together."""
    return Timing(map(sum, zip(*map(times_of, results.runs))))


def effect(old, new):
    """(ratio of the medians, the least and the largest ratio of the extremes, whether that is within noise) of two Timings: it is
    where the extremes overlap, or the medians differ by no more than the larger spread."""
    overlap = old.low <= new.high and new.low <= old.high
    noise = overlap or abs(new.median - old.median) <= max(old.spread, new.spread)
    return new.median / old.median, new.low / old.high, new.high / old.low, noise
