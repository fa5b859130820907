#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The energy account of a run: parts sum to the total, coefficients act on their part alone."""
import json

import harness

JOB = ("--config", harness.CONFIGS / "small_pod.json", "--collective", "all_reduce", "--algorithm", "ring_1d",
       "--ranks", "pe", "--bytes", "16KiB")
PARTS = ("router_pj", "link_pj", "die_to_die_pj", "sip_link_pj", "dma_pj", "tcm_pj", "sram_pj", "hbm_pj", "vector_pj", "idle_pj")


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


class ByHand(harness.Case):
    """What more bytes on a known way cost, every part computed here. Coefficients are those of the test, not of the presets;
    what launch, firmware and matching cost is in both runs and cancels."""
    COEFFICIENTS = {"energy.router_pj_per_byte": 0.3, "energy.link_pj_per_byte": 0.7, "energy.dma_pj_per_byte": 0.9,
                    "energy.tcm_pj_per_byte": 1.1, "energy.hbm_activate_pj": 700, "energy.hbm_pj_per_byte": 13,
                    "energy.pe_idle_mw": 30, "energy.cube_idle_mw": 400, "ucie.pj_per_bit": 0.5, "sip_link.pj_per_bit": 3}
    PES, CUBES = 16, 4
    PACKET, HEADER, UCIE_FLIT = 1024, 64, 256  # noc.max_packet_bytes; a flit of the NoC; ucie.flit_format

    def more(self, members, ops, sizes):
        """Energy and nanoseconds that ops(size) take more of the larger size than of the smaller one."""
        rows = []
        for size in sizes:
            workload = {"streams": [{"name": "s", "on": members, "ops": ops(size)}]}
            rows.append(self.result(*harness.SMALL, "--workload", self.file("w.json", json.dumps(workload)),
                                    *harness.sets(*(f"{k}={v}" for k, v in self.COEFFICIENTS.items())))["runs"][0])
        less, more = rows
        return ({name: more["energy"][name] - less["energy"][name] for name in PARTS}, more["time_ns"] - less["time_ns"])

    def check(self, found, nanoseconds, **expected):
        k = self.COEFFICIENTS
        expected["idle_pj"] = nanoseconds * (self.PES * k["energy.pe_idle_mw"] + self.CUBES * k["energy.cube_idle_mw"])
        self.assertGreater(nanoseconds, 0)
        for part in PARTS:
            self.assertAlmostEqual(found[part], expected.get(part, 0), places=3, msg=part)

    def test_a_message_on_a_known_way(self):
        def message(size):
            return [{"id": "r", "op": "irecv", "peer": 0, "bytes": size, "only": [1], "after": []},
                    {"id": "s", "op": "isend", "peer": 1, "bytes": size, "only": [0], "after": []},
                    {"op": "waitall", "after": ["r", "s"]}]

        k, size = self.COEFFICIENTS, 32768
        packets = size // self.PACKET
        there, back = size + packets * self.HEADER, packets * self.HEADER  # packets with a header, their acknowledgments
        # A flit of UCIe is not shared by packets.
        flits = packets * (-(-(self.PACKET + self.HEADER) // self.UCIE_FLIT) + 1)
        # To the next PE of the cube; to pe0 of the next cube; to pe0 of the other SIP, by cube_1_0 and its port in the corner:
        # (rank, outputs of routers each way, those of them that lead to a router, crossings of UCIe and of the SIP link)
        for rank, outputs, links, dies, sips in ((1, 2, 1, 0, 0), (4, 3, 1, 1, 0), (8, 7, 4, 1, 1)):
            found, nanoseconds = self.more([0, rank], message, (size, 2 * size))
            self.check(found, nanoseconds,
                       router_pj=outputs * (there + back) * k["energy.router_pj_per_byte"],
                       link_pj=links * (there + back) * k["energy.link_pj_per_byte"],
                       die_to_die_pj=dies * flits * self.UCIE_FLIT * 8 * k["ucie.pj_per_bit"],
                       sip_link_pj=sips * (there + back) * 8 * k["sip_link.pj_per_bit"],
                       dma_pj=2 * (there + back) * k["energy.dma_pj_per_byte"],  # of the sender and of the receiver
                       tcm_pj=2 * size * k["energy.tcm_pj_per_byte"])  # read there, written here

    def test_a_stream_of_one_channel(self):
        k, size, page = self.COEFFICIENTS, 65536, 1024
        packets = size // self.PACKET
        moved = size + 2 * packets * self.HEADER  # the PE and its channel are at one router: one output each way
        for reads in (1.0, 0.0):
            found, nanoseconds = self.more([0], lambda n, f=reads: [{"op": "memory", "bytes": n, "read_fraction": f}],
                                           (size, 2 * size))
            self.check(found, nanoseconds, router_pj=moved * k["energy.router_pj_per_byte"],
                       dma_pj=moved * k["energy.dma_pj_per_byte"], tcm_pj=size * k["energy.tcm_pj_per_byte"],
                       hbm_pj=size * k["energy.hbm_pj_per_byte"] + size // page * k["energy.hbm_activate_pj"])


if __name__ == "__main__":
    harness.main()
