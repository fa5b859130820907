#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More of a resource makes no collective slower by more than the spread of runs whose PEs start a little later."""
import random
import sys

import harness

sys.path.insert(0, str(harness.ROOT / "python"))

from diecast.noise import Timing, effect  # noqa: E402

# Key: values to begin with; twice of it is compared.
RESOURCES = {"sip_link.gbytes_s": (5, 16, 64), "ucie.gt_s": (4, 8, 16), "ucie.modules": (1, 2), "pe.vector_lanes": (4, 16, 64),
             "pe.tcm_banks": (4, 8, 16, 32), "ipcq.n_slots": (1, 2, 4, 8), "noc.flit_bytes": (16, 32, 64), "pe.dma_channels": (1, 2),
             "pe.dma_outstanding": (2, 4, 16)}
ALGORITHMS = ("ring_1d", "two_level", "recursive_doubling", "rabenseifner", "packed_trees", "double_binary_tree", "intercube")
# Cases that docs/studies.md explains: the largest ratio of each.
EXPLAINED = {("packed_trees", "ucie.gt_s"): 1.6, ("ring_1d", "noc.flit_bytes"): 1.02, ("intercube", "ipcq.n_slots"): 1.005,
             ("intercube", "pe.dma_channels"): 1.005, ("rabenseifner", "pe.dma_channels"): 1.005}


class Resources(harness.Case):
    maxDiff = None

    @harness.cases(3, 200)
    def test_twice_of_a_resource_is_no_slower(self, count):
        slower = []
        for seed in range(count):
            source = random.Random(seed)
            key = source.choice([*RESOURCES])
            begin = {k: source.choice(values) for k, values in RESOURCES.items()}
            shape = {"pod.sips": source.randint(1, 4), "sip.columns": source.randint(1, 4), "sip.rows": source.choice((2, 3)),
                     "sip_link.latency_ns": source.choice((20, 100, 500))}
            job = ("--algorithm", source.choice(ALGORITHMS), "--ranks", "cube", "--bytes", source.choice(("4KiB", "64KiB", "256KiB")),
                   "--no-data", "--jitter", 9)
            before, after = (Timing(self.result(*job, *harness.sets(*(f"{k}={v}" for k, v in machine.items())))["runs"][0]["jitter_times_ns"])
                             for machine in ({**shape, **begin}, {**shape, **begin, key: 2 * begin[key]}))
            ratio, _, _, noise = effect(before, after)
            if ratio > EXPLAINED.get((job[1], key), 1) and not noise:
                slower.append(f"{seed}: {key} {begin[key]} doubled: {ratio:.3f} of the time of {job} on {shape} {begin}")
        self.assertEqual([], slower)


if __name__ == "__main__":
    sys.exit(harness.main())
