#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All 256 PEs of the default pod in one ring, or 64 of a smaller one."""
import harness


class DefaultPod(harness.Case):
    @harness.cases((64, "sip.columns=2", "sip.rows=2"), (256,))
    def test_ring_over_all_pes(self, tried):
        row = self.one("--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "2KiB", *harness.sets(*tried[1:]))
        self.assertEqual(row["ranks"], tried[0])


if __name__ == "__main__":
    harness.main()
