#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""IPCQ slots in TCM, SRAM and HBM (ipcq.buffer_kind), end to end on the seed machine."""
import harness

KINDS = ("tcm", "sram", "hbm")
JOB = (*harness.SEED, "--algorithm", "intercube", "--bytes", "4KiB")
ADDED_NS = 100
LATENCY = {"sram": f"sram.latency_ns={2 + ADDED_NS}", "hbm": f"hbm.simple_latency_ns={6 + ADDED_NS}"}
# A message is written to its slot and read back before the next hop can start.
ACCESSES_PER_HOP = 2


class SlotMemory(harness.Case):
    def run_kind(self, kind, *assignments):
        return self.one(*JOB, *harness.sets(f"ipcq.buffer_kind={kind}", *assignments))

    def test_a_slow_memory_costs_its_own_slots_alone(self):
        times = {}
        for kind in KINDS:
            base = self.run_kind(kind)
            times[kind] = base["time_ns"]
            for memory, slower in LATENCY.items():
                added = self.run_kind(kind, slower)["time_ns"] - base["time_ns"]
                if memory == kind:
                    least = base["stats"]["critical_cube_hops"] * ACCESSES_PER_HOP * ADDED_NS
                    self.assertGreaterEqual(added, least, f"slots in {kind}, {memory} slower")
                else:
                    self.assertEqual(added, 0, f"slots in {kind}, {memory} slower")
        # Tiers keep the order of their costs. A slot of 4 KiB: TCM 8 ns; HBM 16 + 6 ns; SRAM 32 ns over its router link + 2. The
        # links before HBM and SRAM are equal here, so HBM is ahead by less than the 12 ns.
        self.assertLess(times["tcm"], times["hbm"])
        self.assertLess(times["tcm"], times["sram"])


if __name__ == "__main__":
    harness.main()
