#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines whose networks are built or allocated otherwise move the same data: VC policies, kinds of networks, placement."""
import itertools
import re

import harness

WORKLOADS = ("barriers_and_all_reduces", "ordered_stream", "unexpected_flood")


class Policies(harness.Case):
    @harness.cases(3, 1)
    def test_dynamic_vcs_carry_collectives_and_messages(self, step):
        networks = itertools.product(("mesh", "torus", "ring", "crossbar"), ("virtual_cut_through", "wormhole"))
        for noc, flow in itertools.islice(networks, 0, None, step):
            machine = harness.sets("noc.vc_policy=dynamic", f"noc.topology={noc}", f"noc.flow={flow}",
                                   "noc.vcs=4", "noc.columns=4", "noc.rows=3", "pod.sips=1")
            for collective in ("all_reduce", "all_to_all"):
                self.runs(*harness.SMALL, *machine, "--collective", collective, "--algorithm", "all", "--bytes", "32KiB")
            for name in WORKLOADS:
                self.runs(*harness.SMALL, *machine, "--workload", harness.ROOT / "platforms/workloads" / f"{name}.json")

    def test_wormhole_routers_need_no_room_for_a_packet(self):
        for flits in (1, 2, 4):
            for launch in ("ideal", "modelled"):
                self.one(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB",
                         *harness.sets("noc.flow=wormhole", f"noc.vc_buffer_flits={flits}", f"host.launch={launch}"))

    def test_dynamic_vcs_of_one_cube(self):
        # Many packets between few routers, which overtake each other wherever they may.
        for vcs in (2, 3, 4):
            machine = harness.sets("noc.vc_policy=dynamic", f"noc.vcs={vcs}", "pod.sips=1", "sip.columns=1", "cube.pes=8")
            self.runs(*harness.SMALL, *machine, "--algorithm", "all", "--bytes", "64KiB")

    def test_a_listed_automatic_placement_is_the_automatic_one(self):
        told = self.run_pod(*harness.SMALL, "--print-map").stdout
        place = dict(self.named(told))
        listed = harness.sets("placement.pes=" + ",".join(place[f"pe{i}"] for i in range(4)),
                              "placement.hbm_ports=" + ",".join(place[f"hbm{i}"] for i in range(4)),
                              f"placement.sram={place['sram']}", f"placement.control_cpu={place['control_cpu']}",
                              f"placement.io_cpu={place['io_cpu']}", "placement.io_cube=0_0",
                              "placement.ucie_rows=0,1", "placement.ucie_columns=0,1", "placement.sip_ports=e=1_0,w=0_0")
        job = (*harness.SMALL, "--ranks", "pe", "--algorithm", "ring_1d", "--bytes", "16KiB")
        first, second = self.one(*job), self.one(*job, *listed)
        self.assertEqual((first["time_ns"], first["fingerprint"]), (second["time_ns"], second["fingerprint"]))

    def test_blocks_and_ports_elsewhere(self):
        elsewhere = harness.sets("placement.pes=1_1,0_0,1_1,0_0", "placement.hbm_ports=0_0,0_0,1_0,1_0",
                                 "placement.sram=1_0", "placement.control_cpu=0_0", "placement.io_cpu=1_1",
                                 "placement.io_cube=1_0", "placement.ucie_rows=1", "placement.sip_ports=e=1_0")
        for collective in ("all_reduce", "all_to_all", "barrier"):
            size = () if collective == "barrier" else ("--bytes", "16KiB")
            self.runs(*harness.SMALL, *elsewhere, "--collective", collective, "--algorithm", "all", *size)
        # Both ports of an edge feed 128 GB/s, one half of that: what crosses between the cubes takes longer.
        job = (*harness.SMALL, "--set", "pod.sips=1", "--ranks", "cube", "--algorithm", "ring_1d", "--bytes", "64KiB")
        self.assertGreater(self.one(*job, *harness.sets("placement.ucie_rows=1"))["time_ns"], self.one(*job)["time_ns"])
        balance = self.run_pod(*harness.SMALL, *harness.sets("placement.ucie_rows=1"), "--check-config").stdout
        self.assertIn("cannot feed the UCIe side", balance)

    def test_what_a_network_cannot_have_is_told_with_the_key_to_change(self):
        ring = self.run_pod("--set", "noc.topology=ring", "--check-config", expect=2).stderr
        self.assertIn("the routes can deadlock", ring)
        self.assertIn("noc.topology mesh, torus or crossbar (all routes through a cube share", ring)
        legs = self.run_pod("--set", "noc.leg_vcs=false", "--check-config", expect=2).stderr
        self.assertIn("noc.leg_vcs=true", legs)
        torus = self.run_pod("--set", "noc.topology=torus", "--set", "pod.sips=4", "--check-config", expect=2).stderr
        self.assertIn("noc.topology: makes more virtual channels", torus)
        port = self.run_pod("--set", "placement.sip_ports=n=0_3", "--check-config", expect=2).stderr
        self.assertIn("placement.sip_ports: lists a port that no SIP of this pod has (value n", port)

    def named(self, told):
        """(terminal, router) of cube 0_0 of SIP 0."""
        return re.findall(r"pod\.sip0\.cube_0_0\.(\w+) on router_(\d+_\d+)", told)


if __name__ == "__main__":
    harness.main()
