#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that lack PEs and memory channels, or have slow ones: what is left is verified, or refused with why."""
import itertools
import json
import random
import re

import harness

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter",
               "send_recv")
PES = [f"pod.sip{s}.cube_{x}_0.pe{p}" for s, x, p in itertools.product(range(2), range(2), range(4))]
CHANNELS = [f"pod.sip{s}.cube_{x}_0.hbm{h}" for s, x, h in itertools.product(range(2), range(2), range(4))]
OFF = {"enabled": False}
SHAPED = ("mesh_2d", "torus_2d", "mesh_steps", "intercube", "intercube_pipelined")


def overrides(*entries):
    return ("--set", "overrides=" + json.dumps([{"match": m, "set": s} for m, s in entries]))


def missing(*names):
    return overrides(*((name, OFF) for name in names))


class Harvested(harness.Case):
    @harness.cases(4, 10)
    def test_random_sets_of_missing_pes_and_channels(self, count):
        """Every algorithm runs on what is left, verified; those that want a shape may say that it is none."""
        draw, refused = random.Random(20261120), 0
        for _ in range(count):
            names = draw.sample(PES, draw.randint(1, 11)) + draw.sample(CHANNELS, draw.randint(0, 4))
            ranks = draw.choice(("pe", "cube", "sip"))
            wanted = self.members(names, ranks)
            for collective in COLLECTIVES:
                rings, tensors = draw.choice(("tcm", "sram", "hbm")), draw.choice(("tcm", "hbm"))
                if any(sum(name.startswith(cube) for name in names if ".hbm" in name) == 4 for cube in self.cubes()):
                    rings = tensors = "tcm"
                done = self.run_pod(*harness.SMALL, "--collective", collective, "--algorithm", "all", "--ranks", ranks,
                                    "--bytes", 2 * draw.randint(1, 3000), *missing(*names),
                                    *harness.sets(f"ipcq.buffer_kind={rings}", f"ccl.tensor_kind={tensors}",
                                                  "ipcq.queue_pairs=64"), "--format", "json")
                rows = json.loads(done.stdout)["runs"]
                self.assertTrue(rows)
                for row in rows:
                    self.assert_verified(row)
                    self.assertEqual(row["ranks"], wanted, names)
                for algorithm, why in re.findall(r"^left out: (\w+) of [^:]*: (.*)$", done.stderr, re.MULTILINE):
                    if "noc.multicast: the routers of this machine copy no packets" in why:
                        continue  # with all its PEs it has no such routers either
                    if ranks == "sip" and algorithm in ("hierarchical_3level", "hierarchical_pipelined"):
                        self.assertRegex(why, "shard by shard have their tensors in TCM|has no holder")
                        continue
                    self.assertIn(algorithm, SHAPED, why)
                    self.assertRegex(why, "fill a rectangle|one PE of every cube")
                    refused += 1
        self.assertGreater(refused, 0)

    def test_a_slow_die_does_not_raise_the_bound_of_tensors_in_hbm_elsewhere(self):
        """The nearest HBM is that of the fastest die."""
        for collective in ("send_recv", "all_reduce"):
            for row in self.runs(*harness.SMALL, *overrides(("pod.sip0.cube_0_0", {"hop_cycles": 1000})), "--bytes", 2,
                                 "--collective", collective, "--algorithm", "all", *harness.sets("ccl.tensor_kind=hbm")):
                self.assertGreaterEqual(row["time_ns"], row["bound_ns"], row["algorithm"])

    def test_the_balance_is_that_of_the_poorest_cube(self):
        whole = self.run_pod(*harness.SMALL, "--check-config").stdout
        poor = self.run_pod(*harness.SMALL, *missing("pod.sip0.cube_1_0.hbm2"), "--check-config").stdout
        rate = {text: float(re.search(r"cube HBM +([0-9.]+)", text)[1]) for text in (whole, poor)}
        self.assertAlmostEqual(rate[poor], rate[whole] * 3 / 4, 1)
        self.assertIn("3 (of 4) ports", poor)

    def test_tensors_need_a_channel(self):
        done = self.run_pod(*harness.SMALL, *missing("pod.sip0.cube_0_0.hbm*"), "--algorithm", "ring_1d", "--bytes", 64,
                            *harness.sets("ccl.tensor_kind=hbm"), expect=2)
        self.assertIn("cube_0_0", done.stderr)

    @staticmethod
    def cubes():
        return [f"pod.sip{s}.cube_{x}_0." for s in range(2) for x in range(2)]

    def members(self, names, ranks):
        left = [name for name in PES if name not in names]
        depth = {"pe": 4, "cube": 3, "sip": 2}[ranks]
        return len({".".join(name.split(".")[:depth]) for name in left})

    def test_the_first_pe_left_leads_and_the_run_says_so(self):
        result = self.result(*harness.SMALL, "--algorithm", "intercube", "--bytes", "4KiB",
                             *missing("pod.sip0.cube_0_0.pe0", "pod.sip0.cube_0_0.pe1"))
        row, = result["runs"]
        self.assert_verified(row)
        self.assertEqual(row["ranks"], 4)
        self.assertIn("overrides leave out 2 of 16 PEs", row["notes"])
        self.assertFalse([note for note in row["notes"] if "memory channels" in note])
        self.assertIn("pod.sip0.cube_0_0.pe0 is missing: pod.sip0.cube_0_0.pe2 leads the cube", row["notes"])

    def test_missing_channels_are_noted(self):
        row, = self.result(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", *missing("pod.sip1.*.hbm3"))["runs"]
        self.assertEqual([note for note in row["notes"] if note.startswith("overrides")],
                         ["overrides leave out 2 of 16 memory channels"])

    def test_a_missing_pe_costs_algorithms_of_partners_a_fold_between_neighbors(self):
        """The two SIPs have one link; folds over it, one after the other, would cost many times as much."""
        job = (*harness.SMALL, "--ranks", "pe", "--bytes", "64KiB", "--algorithm")
        for algorithm, most in (("recursive_doubling", 1.3), ("rabenseifner", 2.0)):
            whole = self.one(*job, algorithm)["time_ns"]
            for name in ("pod.sip0.cube_0_0.pe0", "pod.sip1.cube_0_0.pe2"):
                self.assertLess(self.one(*job, algorithm, *missing(name))["time_ns"], most * whole, (algorithm, name))

    def test_refusals_say_why(self):
        one = missing("pod.sip0.cube_0_0.pe1")
        for algorithm in ("mesh_2d", "torus_2d"):
            done = self.run_pod(*harness.SMALL, "--algorithm", algorithm, "--ranks", "pe", *one, expect=2)
            self.assertIn("do not fill a rectangle of cubes and PEs", done.stderr)
            self.assertIn("overrides leave out PEs", done.stderr)
        done = self.run_pod(*harness.SMALL, "--algorithm", "intercube", *missing("pod.sip0.cube_0_0.pe*"), expect=2)
        self.assertIn("not one PE of every cube of their SIPs", done.stderr)
        done = self.run_pod(*harness.SMALL, "--collective", "barrier", *missing("pod.sip1.cube_0_0.hbm*"), expect=2)
        self.assertIn("no memory channel", done.stderr)
        self.assertIn("pod.sip1.cube_0_0", done.stderr)
        done = self.run_pod(*harness.SMALL, *harness.sets("ipcq.buffer_kind=hbm"), *missing("pod.sip1.cube_0_0.hbm*"),
                            expect=2)
        self.assertIn("no memory channel", done.stderr)
        self.assertIn("leave no PE", self.run_pod(*harness.SMALL, *missing("*.pe*"), expect=2).stderr)
        done = self.run_pod(*harness.SMALL, *missing("pod.sip0.cube_0_0.router_0_0*"), expect=2)
        self.assertIn("routers or links within a die", done.stderr)
        faulty = harness.sets('faults=[{"kind": "dead_pe", "where": "pod.sip0.cube_0_0.pe1"}]')
        self.assertIn("faults[0].where", self.run_pod(*harness.SMALL, *one, *faulty, expect=2).stderr)

    def test_build_order_does_not_show(self):
        job = (*harness.SMALL, "--algorithm", "hierarchical_pipelined", "--bytes", "20000",
               *overrides(("pod.sip0.cube_0_0.pe0", OFF), ("*.cube_1_0.pe3", OFF), ("pod.sip1.*.hbm1", OFF),
                          ("pod.sip1.cube_0_0", {"hop_cycles": 30}), ("*.pe2", {"vector_lanes": 8})),
               *harness.sets("ipcq.buffer_kind=hbm"))
        first = self.one(*job)
        for order in ("reverse", "shuffle:5"):
            again = self.one(*job, *harness.sets(f"sim.build_order={order}"))
            self.assertEqual((again["time_ns"], again["fingerprint"]), (first["time_ns"], first["fingerprint"]))

    def test_barriers_of_unequal_ranks(self):
        for ranks, algorithm in itertools.product(("pe", "cube", "sip"),
                                                  ("centralized_pull", "dissemination", "group_dissemination", "auto")):
            row = self.one(*harness.SMALL, "--collective", "barrier", "--ranks", ranks, "--algorithm", algorithm,
                           *missing("pod.sip0.cube_0_0.pe0", "pod.sip1.cube_1_0.pe*", "pod.sip0.cube_1_0.hbm2"),
                           *harness.sets("ccl.barrier_repeats=3", "ccl.barrier_skew_ns=200"))
            self.assertEqual(row["ranks"], {"pe": 11, "cube": 3, "sip": 2}[ranks])

    def test_a_sip_without_pes_takes_no_part(self):
        none_there = missing("pod.sip1.*.pe*")
        for row in self.runs(*harness.SMALL, "--algorithm", "all", "--ranks", "pe", "--bytes", "4KiB", *none_there):
            self.assertEqual(row["ranks"], 8)
        self.assertEqual(self.one(*harness.SMALL, "--collective", "barrier", "--ranks", "sip", *none_there)["ranks"], 1)

    def test_workloads_run_on_the_ranks_that_are_left(self):
        names = ("pod.sip0.cube_0_0.pe0", "pod.sip1.cube_0_0.pe2", "pod.sip1.cube_1_0.hbm3")
        workload = harness.ROOT / "platforms" / "workloads" / "barriers_and_all_reduces.json"
        row, = self.result("--config", harness.CONFIGS / "small_pod.json", "--workload", workload, *missing(*names))["runs"]
        self.assertIs(row["verified"], True)
        self.assertEqual(row["ranks"], 14)

    def test_a_slow_part_slows_the_machine_by_its_own_keys(self):
        ring = (*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64KiB")
        in_hbm = (*ring, *harness.sets("ipcq.buffer_kind=hbm"))  # the DMA then reads and writes packet by packet
        keys = ((ring, "pod.sip0.cube_0_0.pe1", {"vector_lanes": 4}), (in_hbm, "*.pe1", {"dma_outstanding": 1}),
                (ring, "*.pe1", {"tcm_read_cycles": 400}), (ring, "*.pe1", {"register_cycles": 200}),
                (ring, "*.pe1", {"dma_startup_cycles": 400}), (ring, "*.pe1", {"dma_issue_cycles": 900}),
                (ring, "pod.sip0.cube_0_0", {"hop_cycles": 60}))
        whole = {job: self.one(*job) for job in (ring, in_hbm)}
        same = self.one(*ring, *overrides(("pod.sip0.cube_0_0.pe1", {"vector_lanes": 64, "dma_issue_cycles": 22}),
                                          ("pod.sip0.cube_0_0", {"hop_cycles": 9})))
        self.assertEqual((same["time_ns"], same["fingerprint"]), (whole[ring]["time_ns"], whole[ring]["fingerprint"]))
        for job, where, what in keys:
            slow = self.one(*job, *overrides((where, what)))
            self.assertGreater(slow["time_ns"], whole[job]["time_ns"], what)
            self.assertEqual(slow["bound_ns"], whole[job]["bound_ns"], what)

    def test_what_is_left_out_has_no_instance(self):
        names = ("pod.sip0.cube_0_0.pe1", "pod.sip0.cube_0_0.hbm2")
        job = (*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", *missing(*names))
        self.run_pod(*job, "--out", "out", "--vcd", "wave.vcd")
        wave = (self.folder / "wave.vcd").read_text()
        inside = {name: wave.split(f"$scope module {name} $end", 1)[1].split("$upscope")[0]
                  for name in ("hbm1", "hbm2", "pe0", "pe1")}  # of the first cube
        for name, child in (("hbm", "pc0"), ("pe", "core")):
            there, gone = (inside[n] for n in (("hbm1", "hbm2") if name == "hbm" else ("pe0", "pe1")))
            self.assertTrue(f"$scope module {child} $end" in there, name)
            self.assertFalse(f"$scope module {child} $end" in gone, name)
        for link in ("pod.sip0.cube_0_0.pe1.inject", "pod.sip0.cube_0_0.pe1.eject"):
            self.assertRegex((self.folder / "out" / "links.csv").read_text(), rf"(?m)^0,{re.escape(link)},0,0,")
        table = self.run_pod(*job[:2], *missing(*names), "--print-map").stdout
        for name in names:
            self.assertNotRegex(table, rf"{re.escape(name)}\b")
        balance = self.run_pod(*job[:2], *missing(*names), "--check-config").stdout
        for name in names:
            self.assertIn(f"left out: {name}", balance)

    def test_the_effective_config_runs_the_same(self):
        job = ("--algorithm", "ring_1d", "--bytes", "4KiB")
        self.run_pod(*harness.SMALL, *job, *missing("*.pe3", "*.hbm0"), "--out", "out")
        first = json.loads((self.folder / "out" / "result.json").read_text())["runs"][0]
        again = self.one("--config", self.folder / "out" / "config.json", *job)
        self.assertEqual((again["time_ns"], again["fingerprint"]), (first["time_ns"], first["fingerprint"]))

    def test_a_hang_is_told_as_ever(self):
        """With ranks of unequal PEs a report names PEs that the machine has."""
        for ranks in ("cube", "sip"):
            done = self.run_pod(*harness.SMALL, "--collective", "barrier", "--ranks", ranks, "--algorithm",
                                "group_dissemination", *missing("pod.sip0.cube_0_0.pe1", "pod.sip1.cube_1_0.pe3"),
                                *harness.sets("ccl.errata=packed_flags", "ccl.barrier_repeats=9",
                                              "ccl.barrier_skew_ns=300"), expect=3)
            told = re.findall(r"pod\.sip\d\.cube_\d_\d\.pe\d", done.stdout + done.stderr)
            self.assertGreater(len(told), 10)
            self.assertFalse({"pod.sip0.cube_0_0.pe1", "pod.sip1.cube_1_0.pe3"} & set(told))


if __name__ == "__main__":
    harness.main()
