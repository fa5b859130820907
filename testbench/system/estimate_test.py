#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--estimate: what it expects of runs against what they take, what it prints, what it refuses."""
import csv
import io
import itertools
import json

import harness


class Estimate(harness.Case):
    def estimates(self, *flags):
        return json.loads(self.run_pod("--estimate", "--format", "json", *flags).stdout)["estimates"]

    @harness.cases((("all_reduce", "1KiB"), ("all_to_all", "64KiB")),
                   (*itertools.product(("all_reduce", "all_to_all", "broadcast"), ("1KiB", "64KiB")),))
    def test_runs_take_what_is_expected_of_them(self, tried):
        """Within 10%, whatever carries the time: latency, firmware, slots or links that messages share."""
        for collective, size in tried:
            job = ("--config", harness.CONFIGS / "sip_default.json", "--ranks", "cube", "--collective", collective, "--bytes", size)
            expected = {e["algorithm"]: e for e in self.estimates(*job) if e["expected_ns"] is not None}
            self.assertGreater(len(expected), 3)
            errors = []
            for run in self.result(*job, "--algorithm", ",".join(expected), "--no-data")["runs"]:
                e = expected[run["algorithm"]]
                self.assertGreaterEqual(e["expected_ns"], e["bound_ns"], e)
                errors.append((abs(e["expected_ns"] / run["time_ns"] - 1), e["algorithm"]))
                self.assertEqual(e["messages"], run["stats"]["messages"], e)
            self.assertEqual(len(errors), len(expected))
            self.assertLess(sorted(errors)[int(0.9 * len(errors)) - 1][0], 0.10, (collective, size, errors))
            self.assertLess(max(errors)[0], 0.25, (collective, size, errors))

    def test_the_cost_of_a_run_is_near(self):
        job = ("--ranks", "cube", "--bytes", "64KiB", "--algorithm", "two_level")
        expected = self.estimates(*job)[0]
        hops = self.result(*job, "--no-data")["runs"][0]["stats"]["packet_hops"]
        self.assertLess(abs(expected["packet_hops"] / hops - 1), 0.25)
        self.assertGreater(expected["wall_s"], 0)

    def test_a_table_has_the_fastest_first_and_says_what_cannot_run(self):
        job = (*harness.SMALL, "--ranks", "pe", "--bytes", "4KiB:16MiB:x4096")
        lines = self.run_pod("--estimate", *job).stdout.splitlines()
        self.assertIn("estimated, not simulated", lines[0])
        self.assertNotIn("%", self.run_pod("--estimate", *harness.SMALL, "--bytes", "0").stdout, "an efficiency without a bound")
        self.assertTrue(all(len(line) <= 100 for line in lines), lines)
        rows = [e for e in self.estimates(*job) if e["expected_ns"] is not None]
        fastest = min((e for e in rows if e["bytes"] == 4096), key=lambda e: e["expected_ns"])
        self.assertEqual(lines[2].split()[0], fastest["algorithm"])
        unfit = [e for e in self.estimates(*job) if not e["fits"]]
        self.assertTrue(any(e["bytes"] == 16 << 20 and "TCM" in e["why_not"] for e in unfit), unfit)
        text = self.run_pod("--estimate", *job, "--format", "csv").stdout
        self.assertEqual(len(list(csv.DictReader(io.StringIO(text)))), len(rows) + len(unfit))

    def test_other_places_of_tensors_and_slots_and_other_paths(self):
        for key in ("comm.path=staged", "ipcq.buffer_kind=sram", "ipcq.buffer_kind=hbm", "ccl.tensor_kind=hbm"):
            job = (*harness.SMALL, "--ranks", "pe", "--algorithm", "ring_1d", "--bytes", "64KiB", *harness.sets(key))
            run = self.result(*job, "--no-data")["runs"][0]
            expected = self.estimates(*job)[0]["expected_ns"]
            self.assertLess(abs(expected / run["time_ns"] - 1), 0.10, (key, expected, run["time_ns"]))

    def test_it_says_what_it_does_not_model(self):
        rows = self.estimates(*harness.SMALL, "--algorithm", "in_network", *harness.sets("noc.multicast=true", "noc.reduce=true"))
        self.assertIsNone(rows[0]["expected_ns"])
        self.assertIn("trees in the network", rows[0]["why_not"])
        self.assertTrue(rows[0]["fits"])
        rows = self.estimates(*harness.SMALL, "--algorithm", "ring_1d", *harness.sets("comm.checksum=crc32c"))
        self.assertEqual(rows[0]["why_not"], "not estimated: checksums of packets (comm.checksum)")
        rows = self.estimates("--config", harness.CONFIGS / "faults/slow_pe.json", "--algorithm", "ring_1d")
        self.assertEqual(rows[0]["why_not"], "not estimated: injected faults")

    def test_it_refuses_what_needs_a_run(self):
        for flags in (("--jitter", "3"), ("--out", "x"), ("--vcd", "x.vcd"), ("--double-run",)):
            refused = self.run_pod("--estimate", *flags, expect=2)
            self.assertIn(f"--estimate: simulates nothing that {flags[0]} could apply to", refused.stderr)
        self.assertIn("barriers are not estimated", self.run_pod("--estimate", "--collective", "barrier", expect=2).stderr)


if __name__ == "__main__":
    harness.main()
