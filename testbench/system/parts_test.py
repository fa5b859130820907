#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A collective of two phases takes no longer than its phases: all-reduce against reduce-scatter and all-gather, by medians of
runs whose PEs start a little later."""
import itertools
import random
import statistics
import sys

import harness

RATES, LATENCIES, SLOTS, RANKS = (5, 12, 25, 64), (10, 100, 700), (2, 4, 8), (4, 5, 8, 12)
MOST = 1.05
LATEST_NS = 50
ALGORITHMS = ("ring_1d", "two_level")  # that all three collectives have


def delays(ranks, draw):
    """Settings of a draw: the first is without delays."""
    source = random.Random(draw)
    late = (f"pod.sip{n}.*={source.uniform(0, LATEST_NS):.3f}" for n in range(ranks))
    return ["ccl.start_delays=" + ",".join(late)] if draw else []


class Parts(harness.Case):
    def median(self, collective, algorithm, point, draws, size):
        rate, latency, slots, ranks = point
        machine = (f"pod.sips={ranks}", "sip.columns=1", "sip.rows=1", f"sip_link.gbytes_s={rate}", f"sip_link.latency_ns={latency}",
                   f"ipcq.n_slots={slots}")
        job = ("--collective", collective, "--algorithm", algorithm, "--ranks", "sip", "--bytes", size, "--no-data")
        return statistics.median(self.result(*job, *harness.sets(*machine, *delays(ranks, draw)))["runs"][0]["time_ns"]
                                 for draw in range(draws))

    def assert_no_more_than_its_parts(self, algorithm, point, draws, size):
        parts = sum(self.median(part, algorithm, point, draws, size) for part in ("reduce_scatter", "all_gather"))
        whole = self.median("all_reduce", algorithm, point, draws, size)
        self.assertLessEqual(whole / parts, MOST, f"{algorithm}, {size}, {point}")
        return whole

    def test_slow_links_of_one_cube_each(self):
        """The links of a measured ring of eight chips. As tasks that send in bursts, the two directions took 135.7 us."""
        whole = self.assert_no_more_than_its_parts("ring_1d", (11.92, 100, 4, 8), 3, "1MiB")
        self.assertLess(whole, 88_000)

    def test_a_few_of_the_grid(self):
        for algorithm, point in itertools.product(ALGORITHMS, ((5, 700, 2, 4), (12, 100, 2, 8), (64, 10, 8, 5), (64, 100, 4, 8))):
            self.assert_no_more_than_its_parts(algorithm, point, 3, "256KiB")

    @harness.exhaustive
    def test_the_grid(self):
        for algorithm, point in itertools.product(ALGORITHMS, itertools.product(RATES, LATENCIES, SLOTS, RANKS)):
            self.assert_no_more_than_its_parts(algorithm, point, 9, "256KiB")


if __name__ == "__main__":
    sys.exit(harness.main())
