#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The energy account of a run: parts sum to the total, coefficients act on their part alone."""
import harness

JOB = ("--config", harness.CONFIGS / "small_pod.json", "--collective", "all_reduce", "--algorithm", "ring_1d",
       "--ranks", "pe", "--bytes", "16KiB")
PARTS = ("router_pj", "link_pj", "die_to_die_pj", "sip_link_pj", "dma_pj", "tcm_pj", "sram_pj", "hbm_pj",
         "vector_pj", "idle_pj")


class Energy(harness.Case):
    def energy(self, *arguments):
        return self.one(*JOB, *arguments)["energy"]

    def test_parts_sum_to_the_total(self):
        energy = self.energy("--iters", "2", "--warmup", "1")
        self.assertAlmostEqual(sum(energy[p] for p in PARTS), energy["total_pj"], places=3)
        self.assertAlmostEqual(energy["per_launch_pj"], energy["total_pj"] / 3, places=3)
        for part in ("router_pj", "link_pj", "die_to_die_pj", "sip_link_pj", "dma_pj", "tcm_pj", "vector_pj"):
            self.assertGreater(energy[part], 0, part)

    def test_a_coefficient_changes_its_part_alone(self):
        plain = self.energy()
        for key, part in (("energy.router_pj_per_byte=0.2", "router_pj"), ("energy.tcm_pj_per_byte=2.5", "tcm_pj"),
                          ("energy.vector_f16_pj=0.8", "vector_pj"), ("sip_link.pj_per_bit=10", "sip_link_pj")):
            changed = self.energy("--set", key)
            for name in PARTS:
                self.assertAlmostEqual(changed[name], plain[name] * (2 if name == part else 1), places=3, msg=name)

    def test_bits_reduced(self):
        row = self.one(*JOB)
        bits = 8 * row["bytes"] * (row["ranks"] - 1)
        self.assertAlmostEqual(row["energy"]["pj_per_bit_reduced"], row["energy"]["per_launch_pj"] / bits, places=6)

    def test_a_refresh_of_one_bank_is_its_share(self):
        # Rows refreshed in a time do not depend on how many a command refreshes.
        energy, hundredth = {}, 0.01
        for refresh in ("all_bank", "per_bank"):
            row = self.one(*JOB, "--set", f"hbm.refresh={refresh}", "--iters", "40")
            energy[refresh] = row["energy"]["hbm_pj"]
        self.assertGreater(energy["all_bank"], 0)
        self.assertAlmostEqual(energy["per_bank"] / energy["all_bank"], 1, delta=hundredth)

    def test_vector_work_is_that_of_the_algorithm(self):
        row = self.one(*JOB, "--set", "energy.vector_f16_pj=1")
        # Reduce-scatter: every rank adds (n - 1) / n of its vector; the all-gather only copies.
        n, elements = row["ranks"], row["bytes"] // 2
        self.assertAlmostEqual(row["energy"]["vector_pj"], (n - 1) * elements, places=3)


if __name__ == "__main__":
    harness.main()
