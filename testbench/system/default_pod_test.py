#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All 256 PEs of the default pod in one ring: the longest run of the suite."""
import harness


class DefaultPod(harness.Case):
    def test_ring_over_all_pes(self):
        row = self.one("--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "2KiB")
        self.assertEqual(row["ranks"], 256)


if __name__ == "__main__":
    harness.main()
