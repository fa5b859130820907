#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Die-to-die and SIP links of whole machines: sums over links, replay, missing and slow links."""
import csv
import json
import re

import harness

JOB = (*harness.SMALL, "--collective", "all_reduce", "--bytes", "32KiB")
FLIT = 64


class Links(harness.Case):
    def machine(self, *extra):
        """The run and its links by name."""
        self.run_pod(*JOB, *extra, "--out", "out")
        document = json.loads((self.folder / "out" / "result.json").read_text())
        run = document["runs"][0]
        self.assert_verified(run)
        with open(self.folder / "out" / "links.csv", newline="") as file:
            links = {row["link"]: row for row in csv.DictReader(file)}
        return run, links

    def total(self, links, pattern, column):
        rows = [row for name, row in links.items() if re.search(pattern, name)]
        self.assertTrue(rows, pattern)
        return sum(float(row[column]) for row in rows)

    def check_sums(self, run, links):
        stats = run["stats"]
        between = r"router_\d+_\d+\.(north|east|south|west)$|ucie_(north|east|south|west)$|-sip\d+\."
        # Two accounts of one thing: the links' counters, and the packets received x the links of their routes.
        self.assertEqual(stats["bytes_on_links"], stats["routed_bytes"])
        self.assertEqual(stats["packet_hops"], stats["routed_hops"])
        self.assertEqual(self.total(links, between, "bytes"), stats["bytes_on_links"])
        self.assertEqual(self.total(links, between, "packets"), stats["packet_hops"])
        self.assertEqual(self.total(links, ".", "energy_pj"), stats["d2d_energy_pj"])
        self.assertEqual(self.total(links, ".", "replays"), stats["d2d_replays"])
        # What goes into an adapter's ports is what its link carries and what comes out at the other side.
        for side, opposite, other in (("east", "west", 1), ("west", "east", -1)):
            for sip in (0, 1):
                for x in (0, 1):
                    link = links.get(f"pod.sip{sip}.cube_{x}_0.ucie_{side}")
                    if link is None:
                        continue
                    for column in ("bytes", "packets"):
                        ports = rf"^pod\.sip{sip}\.cube_{x}_0\.ucie_{side[0]}\.port\d+\.eject$"
                        beyond = rf"^pod\.sip{sip}\.cube_{x + other}_0\.ucie_{opposite[0]}\.port\d+\.inject$"
                        self.assertEqual(self.total(links, ports, column), float(link[column]))
                        self.assertEqual(self.total(links, beyond, column), float(link[column]))
        for name, row in links.items():
            if re.search(r"ucie_\w+$|-sip", name):
                # Each packet has one header flit, and its last flit may be filled in part.
                unused = int(row["bytes"]) - int(row["payload_bytes"]) - FLIT * int(row["packets"])
                self.assertGreaterEqual(unused, 0, name)
                self.assertLessEqual(unused, (FLIT - 1) * int(row["packets"]), name)
            if re.search(r"ucie_(north|east|south|west)$", name):
                carried = int(row["d2d_flits"]) - int(row["replays"])
                self.assertGreaterEqual(carried * 236, int(row["bytes"]), name)
                self.assertAlmostEqual(float(row["energy_pj"]), int(row["d2d_flits"]) * 2048 * 0.25)

    def test_statistics_add_up(self):
        run, links = self.machine()
        self.check_sums(run, links)
        self.assertGreater(run["stats"]["bytes_on_links"], 0)
        self.assertEqual(run["stats"]["d2d_replays"], 0)

    def test_load_imbalance_is_of_the_busiest_links_kind(self):
        run, links = self.machine()
        kinds = (r"router_\d+_\d+\.(north|east|south|west)$", r"ucie_(north|east|south|west)$", r"-sip\d+\.")
        busy = [[float(row["busy_fraction"]) for name, row in links.items() if re.search(kind, name)] for kind in kinds]
        busiest = max(busy, key=max)
        self.assertAlmostEqual(run["stats"]["link_utilization_max"], max(busiest))
        self.assertAlmostEqual(run["stats"]["load_imbalance"], max(busiest) * len(busiest) / sum(busiest))

    def test_statistics_add_up_with_bit_errors(self):
        run, links = self.machine("--set", "ucie.ber=1e-5")
        self.check_sums(run, links)
        self.assertGreater(run["stats"]["d2d_crc_errors"], 0)
        self.assertGreaterEqual(run["stats"]["d2d_replays"], run["stats"]["d2d_crc_errors"])
        self.assertEqual(self.total(links, ".", "naks"), run["stats"]["d2d_crc_errors"])

    def test_bit_errors_cost_time_and_no_data(self):
        rates = ("0", "1e-15", "1e-6", "1e-4")
        runs = [self.one(*JOB, "--set", f"ucie.ber={r}") for r in rates]
        times = [r["time_ns"] for r in runs]
        self.assertEqual(times[0], times[1])
        self.assertLessEqual(times[1], times[2])
        self.assertLess(times[2], times[3])

    def test_bit_errors_repeat(self):
        errors = harness.sets("ucie.ber=1e-5")
        first = self.one(*JOB, *errors)
        for extra in ("sim.build_order=reverse", "sim.build_order=shuffle:3", "sim.links_as_bytes=true",
                      "sim.slice_us=777"):
            again = self.one(*JOB, *errors, "--set", extra)
            self.assertEqual((again["time_ns"], again["fingerprint"]), (first["time_ns"], first["fingerprint"]))
            self.assertEqual(again["stats"]["d2d_replays"], first["stats"]["d2d_replays"])
        other = self.one(*JOB, *errors, "--seed", "2")
        self.assertNotEqual(other["fingerprint"], first["fingerprint"])

    def overrides(self, *entries):
        return ("--set", "overrides=" + json.dumps([{"match": m, "set": s} for m, s in entries]))

    def test_missing_links_are_gone_around(self):
        square = harness.sets("sip.rows=2", "pod.sips=3")
        whole = self.one(*JOB, *square)
        self.run_pod(*JOB, *square, *self.overrides(("pod.sip0.cube_0_0.ucie_east", {"enabled": False}),
                                                    ("pod.sip1.sip_port_e", {"enabled": False})),
                     "--out", "out")
        run = json.loads((self.folder / "out" / "result.json").read_text())["runs"][0]
        self.assert_verified(run)
        self.assertGreater(run["stats"]["packet_hops"], whole["stats"]["packet_hops"])
        self.assertEqual(run["stats"]["bytes_on_links"], run["stats"]["routed_bytes"])
        links = (self.folder / "out" / "links.csv").read_text()
        for name in ("pod.sip0.cube_0_0.ucie_east", "pod.sip0.cube_1_0.ucie_west", "pod.sip1.e-sip2.w",
                     "pod.sip2.w-sip1.e"):
            self.assertRegex(links, rf"(?m)^0,{re.escape(name)},0,0,")

    def test_a_slow_link_slows_the_machine(self):
        slow = self.one(*JOB, *self.overrides(("pod.sip0.cube_*.ucie_*", {"gt_s": 4, "latency_ns": 200})))
        self.assertGreater(slow["time_ns"], self.one(*JOB)["time_ns"] + 100)

    def test_what_is_cut_off_is_refused(self):
        done = self.run_pod(*JOB, *self.overrides(("pod.sip1.cube_0_0.ucie_e", {"enabled": False})), expect=2)
        self.assertIn("pod.sip1.cube_0_0 and pod.sip1.cube_1_0", done.stderr)
        done = self.run_pod(*JOB, *self.overrides(("pod.sip0.sip_port_*", {"enabled": False})), expect=2)
        self.assertIn("pod.sip0 and pod.sip1", done.stderr)

    def test_the_effective_config_runs_the_same(self):
        run, _ = self.machine(*self.overrides(("pod.sip0.cube_0_0.ucie_e", {"gt_s": 8})),
                              "--set", "ucie.ber=1e-6")
        again = self.one("--config", self.folder / "out" / "config.json", *JOB[2:])
        self.assertEqual((again["time_ns"], again["fingerprint"]), (run["time_ns"], run["fingerprint"]))


class VirtualChannels(harness.Case):
    def test_links_serve_all_vcs_of_a_class(self):
        # Die-to-die and SIP links once looked at the first VCs of each class alone: with several per leg, or
        # with the two sets of a torus, the packets in the others waited for ever.
        shape = ("pod.sips=2", "sip.columns=2", "sip.rows=1", "cube.pes=1")
        for key in ("noc.vcs=2", "noc.topology=torus"):
            self.one(*harness.sets(*shape, key), "--algorithm", "intercube", "--bytes", "4KiB")


class Notes(harness.Case):
    def test_machines_that_are_not_what_their_keys_suggest(self):
        """A torus that is a mesh, and the one channel of memory studies in a pod."""
        for sets, expected in ((("pod.sips=4", "pod.topology=torus_2d"), "torus_2d of 2 x 2 SIPs is a mesh"),
                               (("hbm.ports=1", "hbm.controller_ns=0"), "share one memory channel")):
            notes = self.one(*harness.SMALL, *harness.sets(*sets), "--bytes", "1KiB")["notes"]
            self.assertTrue(any(expected in note for note in notes), notes)
        for sets in (("pod.sips=6", "pod.topology=torus_2d"), ("hbm.ports=1",)):
            notes = self.one(*harness.SMALL, *harness.sets(*sets), "--bytes", "1KiB")["notes"]
            self.assertFalse(any("is a mesh" in note or "share one" in note for note in notes), notes)


if __name__ == "__main__":
    harness.main()
