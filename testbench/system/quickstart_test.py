#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job of scripts/quickstart: all-reduces in f16, verified, on a small and on the default pod."""
import harness


class Quickstart(harness.Case):
    def test_small_pod_at_three_sizes(self):
        rows = self.runs(*harness.SMALL, "--collective", "all_reduce", "--algorithm", "intercube,ring_1d",
                         "--dtype", "f16", "--bytes", "4KiB:64KiB:x4")
        self.assertEqual([(r["algorithm"], r["bytes"]) for r in rows],
                         [(a, b) for a in ("intercube", "ring_1d") for b in (4096, 16384, 65536)])
        for row in rows:
            self.assertEqual((row["collective"], row["dtype"], row["op"]), ("all_reduce", "f16", "sum"))

    def test_table_names_every_run(self):
        done = self.run_pod(*harness.SMALL, "--algorithm", "intercube,ring_1d", "--bytes", "4KiB:64KiB:x4")
        lines = [line for line in done.stdout.splitlines() if line]
        self.assertEqual([line.split()[-2:] for line in lines if line.startswith("  size")], [["#wrong", "verified"]] * 2)
        self.assertEqual([line.split()[-2:] for line in lines if "KiB" in line], [["0", "yes"]] * 6)

    def test_default_pod(self):
        document = self.result("--algorithm", "intercube,ring_1d", "--bytes", "16KiB", "--ranks", "cube")
        self.assertEqual(document["machine"], {"sips": 2, "cubes": 32, "pes": 256})
        self.assertEqual([r["ranks"] for r in document["runs"]], [32, 32])
        for row in document["runs"]:
            self.assert_verified(row)


class AllPes(harness.Case):
    """All 256 PEs of the default pod in one ring, or 64 of a smaller one."""

    @harness.cases((64, "sip.columns=2", "sip.rows=2"), (256,))
    def test_ring_over_all_pes(self, tried):
        row = self.one("--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "2KiB", *harness.sets(*tried[1:]))
        self.assertEqual(row["ranks"], tried[0])


if __name__ == "__main__":
    harness.main()
