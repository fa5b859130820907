#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bounds: no run is faster than its lower bound, whatever the machine and the algorithm."""
import json
import random

import harness

SIZES = (2, 64, 1000, 16384)
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter",
               "send_recv")


def random_machine(rng):
    """A small machine of any shape, whose parts are fast or slow in all combinations."""
    topology = rng.choice(["ring", "mesh_2d", "torus_2d", "fully_connected"])
    sips = rng.choice([1, 1, 2, 3, 4])
    # Wrapped NoCs have twice the VCs: with the legs of longer routes they would be more than 64.
    noc = rng.choice(["mesh", "crossbar", "torus"] if sips <= 2 else ["mesh", "crossbar"])
    words = [
        f"pod.sips={sips}", f"pod.topology={topology}",
        f"sip.columns={rng.randint(1, 3)}", f"sip.rows={rng.randint(1, 2)}",
        f"cube.pes={rng.choice([1, 2, 3, 4])}",
        f"noc.columns={rng.randint(1, 4)}", f"noc.rows={rng.randint(1, 4)}",
        f"noc.topology={noc}",
        f"noc.max_packet_bytes={rng.choice([128, 256, 1024])}",
        f"ucie.gt_s={rng.choice([4, 16, 32])}", f"ucie.modules={rng.choice([1, 2])}",
        f"ucie.flit_format={rng.choice(['raw', 'flit_68', 'flit_256'])}",
        f"sip_link.gbytes_s={rng.choice([8, 64])}", f"sip_link.latency_ns={rng.choice([5, 100])}",
        f"pe.vector_lanes={rng.choice([1, 64, 256])}", f"pe.vector_startup_cycles={rng.choice([0, 10])}",
        f"pe.register_cycles={rng.choice([1, 7])}", f"pe.interrupt_cycles={rng.choice([1, 10])}",
        f"ccl.kernel_call_cycles={rng.choice([0, 20])}", f"pe.dma_startup_cycles={rng.choice([0, 40])}",
        f"pe.tcm_banks={rng.choice([1, 32])}", f"ipcq.n_slots={rng.choice([1, 2, 4])}",
        f"ipcq.slot_bytes={rng.choice([256, 1024, 8192])}",
        f"ipcq.buffer_kind={rng.choice(['tcm', 'tcm', 'sram', 'hbm'])}",
        f"ipcq.backpressure={rng.choice(['sleep', 'poll'])}", "ipcq.queue_pairs=64", "ipcq.poll_cycles=10",
    ]
    return harness.sets(*words)


def random_placement(rng, machine):
    """Lists where the PEs, the ports of UCIe links and the IO cube of a machine are."""
    size = dict(word.split("=") for word in machine if "=" in word)
    columns, rows = int(size["noc.columns"]), int(size["noc.rows"])
    if size["noc.topology"] == "crossbar":
        columns = rows = 1

    def place(of_columns, of_rows):
        return f"{rng.randrange(of_columns)}_{rng.randrange(of_rows)}"

    def ports(n):
        return ",".join(str(i) for i in sorted(rng.sample(range(n), rng.randint(1, n))))

    return harness.sets("placement.pes=" + ",".join(place(columns, rows) for _ in range(int(size["cube.pes"]))),
                        "placement.io_cube=" + place(int(size["sip.columns"]), int(size["sip.rows"])),
                        f"placement.ucie_rows={ports(int(size['noc.rows']))}",
                        f"placement.ucie_columns={ports(int(size['noc.columns']))}")


def size_of(machine):
    size = dict(word.split("=", 1) for word in machine if "=" in word)
    return [int(size[key]) for key in ("pod.sips", "sip.columns", "sip.rows", "cube.pes")]


def places_of_ranks(machine, ranks):
    sips, columns, rows, pes = size_of(machine)
    return {"sip": sips, "cube": sips * columns * rows, "pe": sips * columns * rows * pes}[ranks]


def random_overrides(rng, machine):
    """Up to four parts of a machine that differ from the others: links and ports that are slow, fast, narrow or missing,
    slow or missing PEs, slow dies."""
    sips, columns, rows, pes = size_of(machine)

    def cube():
        return f"pod.sip{rng.randrange(sips)}.cube_{rng.randrange(columns)}_{rng.randrange(rows)}"

    def link():
        values = {"latency_ns": rng.choice([1, 300, 3000])}, {"gt_s": rng.choice([4, 8, 64])}, {"enabled": False}
        x, y = rng.randrange(columns), rng.randrange(rows)
        there = {"north": y + 1 < rows, "south": y > 0, "west": x > 0, "east": x + 1 < columns}
        side = rng.choice([name for name, exists in there.items() if exists])
        return f"pod.sip{rng.randrange(sips)}.cube_{x}_{y}.ucie_{side}", rng.choice(values)

    def port():
        return f"pod.sip{rng.randrange(sips)}.sip_port_*", rng.choice([{"latency_ns": 2000}, {"gbytes_s": 1}, {"gbytes_s": 500}])

    def pe():
        slow = {"vector_lanes": 1}, {"dma_outstanding": 1}, {"register_cycles": 50}, {"dma_startup_cycles": 500}
        return f"{cube()}.pe{rng.randrange(pes)}", rng.choice([*slow, {"enabled": False}])

    def die():
        return cube(), {"hop_cycles": rng.choice([100, 500])}

    kinds = [pe, die] + [link, link] * (columns * rows > 1) + [port] * (sips > 1)
    parts = [rng.choice(kinds)() for _ in range(rng.randint(1, 4))]
    return harness.sets("overrides=" + json.dumps([{"match": match, "set": values} for match, values in parts]))


class Bounds(harness.Case):
    def assert_not_beaten(self, row):
        where = f"{row['algorithm']}, {row['bytes']} bytes, {row['ranks']} ranks, {row['bound_kind']}"
        self.assertGreaterEqual(row["time_ns"], row["bound_ns"], where)
        # One element may be the root's own part, or a block that its rank keeps: then nothing has to move.
        may_stay = row["collective"] in ("gather", "scatter", "all_to_all") and row["bytes"] < 8
        if row["ranks"] > 1 and row["bytes"] > 0 and not may_stay:
            self.assertGreater(row["bound_ns"], 0, where)
            self.assertAlmostEqual(row["efficiency"], row["bound_ns"] / row["time_ns"], msg=where)
        else:
            self.assertIsNone(row["efficiency"], where)

    @harness.cases(10, 50)
    def test_random_machines_never_beat_it(self, count):
        rng, rng_of_places = random.Random(6), random.Random(7)
        seen = set()
        for i in range(count):
            machine = random_machine(rng)
            if i % 2 == 1:
                machine += random_placement(rng_of_places, machine)
            ranks = rng.choice(["pe", "cube", "sip"])
            size = rng.choice(SIZES)
            for row in self.runs(*machine, "--ranks", ranks, "--algorithm", "all", "--bytes", size):
                self.assert_not_beaten(row)
                seen.add(row["bound_kind"])
        self.assertGreaterEqual(len(seen - {"none"}), min(4, count // 6), f"of the kinds of bounds only {seen} ever bind")

    @harness.cases(8, 60)
    def test_unequal_machines_never_beat_it(self, count):
        rng = random.Random(12)
        seen, refused = set(), 0
        for _ in range(count):
            machine = random_machine(rng)
            ranks = rng.choice(["pe", "cube", "sip"])
            root = rng.randrange(min(3, places_of_ranks(machine, ranks)))
            machine += random_overrides(rng, machine) + harness.sets(f"ccl.root_rank={root}")
            words = (*machine, "--ranks", ranks, "--collective", rng.choice(COLLECTIVES), "--algorithm", "all", "--bytes",
                     rng.choice((2, 1000, 16384, 65536)))
            checked = self.run_pod(*words, "--check-config", expect=None)
            if checked.code == 2:  # without a link there may be no way left
                self.assertRegex(checked.stderr, "no path of UCIe links joins")
                refused += 1
                continue
            for row in self.runs(*words):
                self.assert_not_beaten(row)
                seen.add(row["bound_kind"])
        self.assertLess(refused, count / 4)
        self.assertGreaterEqual(len(seen - {"none"}), min(4, count // 4), f"of the kinds of bounds only {seen} ever bind")

    def test_messages_out_of_hbm_never_beat_it(self):
        """Nothing comes to TCM first: what that costs is no part of the bound."""
        slow = ((), ("pe.dma_startup_cycles=9000",), ("pe.tcm_read_cycles=1000",), ("pe.register_cycles=1000", "ccl.kernel_call_cycles=0"),
                ("pe.tcm_bank_bytes=8", "pe.tcm_banks=1"), ("ipcq.buffer_kind=hbm",), ("pe.vector_startup_cycles=1000",))
        for settings in slow:
            for grid in ((2, 1), (4, 2)):
                machine = harness.sets("pod.sips=1", f"sip.columns={grid[0]}", f"sip.rows={grid[1]}", "ccl.tensor_kind=hbm", *settings)
                for size in ("64", "64KiB"):
                    for row in self.runs(*machine, "--ranks", "cube", "--collective", "all_to_all", "--algorithm", "mesh_steps",
                                         "--bytes", size):
                        self.assert_not_beaten(row)

    @harness.cases(20, 30)
    def test_send_recv_never_beats_it(self, count):
        # How many vectors cross a cut depends on the order of the ranks: grids of cubes, mostly, over slow links.
        rng = random.Random(11)
        seen = set()
        for _ in range(count):
            machine = random_machine(rng) + harness.sets(f"sip.rows={rng.choice([2, 3])}", f"ucie.lanes={rng.choice([4, 16])}")
            staged = harness.sets("comm.path=staged") if rng.random() < 0.2 else []
            ranks = rng.choice(["pe", "cube", "cube", "sip"])
            for row in self.runs(*machine, *staged, "--ranks", ranks, "--collective", "send_recv", "--algorithm", "all",
                                 "--bytes", rng.choice((64, 1000, 16384))):
                self.assert_not_beaten(row)
                seen.add(row["bound_kind"])
        self.assertIn("bisection", seen)

    @harness.cases(6, 30)
    def test_tensors_in_hbm_never_beat_it(self, count):
        rng = random.Random(9)
        seen, shared = set(), 0
        for _ in range(count):
            ports = rng.choice([1, 2, 4, 8])
            machine = random_machine(rng) + harness.sets(
                "ccl.tensor_kind=hbm", f"hbm.ports={ports}", f"hbm.model={rng.choice(['bank', 'simple'])}",
                f"ccl.tensor_stripe_bytes={rng.choice([64, 1000, 16384])}",
                f"ccl.tensor_chunk_bytes={rng.choice(['auto', 1000, 8192])}")
            ranks = rng.choice(["pe", "cube", "sip"])
            size = rng.choice((2, 1000, 16384, 50000))
            for collective in rng.sample(COLLECTIVES, 3):
                for row in self.runs(*machine, "--ranks", ranks, "--collective", collective, "--algorithm", "all",
                                     "--bytes", size):
                    self.assert_not_beaten(row)
                    seen.add(row["bound_kind"])
                    shared += "tensors" in (row["bound_detail"] or "")
        self.assertGreater(shared, 0, f"tensors in HBM never bind, only {seen}")

    @harness.cases(1, 3)
    def test_who_goes_round_a_slow_way_does_not_beat_it(self, count):
        """Ranks may pass on what routes would bring later: over other links than a slow one, or other ports."""
        slow = json.dumps([{"match": "pod.sip0.cube_1_0.ucie_north", "set": {"latency_ns": 3000}}])
        square = harness.sets("pod.sips=1", "sip.columns=2", "sip.rows=2", "cube.pes=1", "ipcq.n_slots=16", f"overrides={slow}")
        ports = harness.sets("pod.sips=1", "sip.columns=2", "sip.rows=1", "cube.pes=2", "noc.columns=1", "noc.rows=16",
                             "placement.pes=0_7,0_15", "placement.ucie_rows=0,15", "ipcq.n_slots=16", "noc.hop_cycles=400")
        for machine in ((*square, "--ranks", "cube"), (*square, "--ranks", "cube", *harness.sets("ccl.root_rank=1")),
                        (*ports, "--ranks", "pe")):
            for collective in ("broadcast", "reduce", "all_reduce", "all_gather", "gather", "scatter"):
                for size in ("16KiB", "64B", "256KiB")[:count]:
                    with self.subTest(f"{machine} {collective} {size}"):
                        for row in self.result(*machine, "--collective", collective, "--algorithm", "all", "--bytes", size,
                                               "--no-data")["runs"]:
                            self.assert_not_beaten(row)

    @harness.cases(2, 3)
    def test_staged_messages_never_beat_it(self, count):
        # Slow links, which messages through a fast host memory do not use; and the other way round.
        slow_links = harness.sets("comm.path=staged", "host.staging_gbytes_s=100000", "host.staging_latency_ns=1",
                                  "sip_link.gbytes_s=4", "sip_link.latency_ns=20000")
        slow_host = harness.sets("comm.path=staged", "host.staging_gbytes_s=1", "host.staging_latency_ns=5000")
        kinds = set()
        for machine in (slow_links, slow_host):
            for ranks in ("pe", "sip"):
                for size in (64, 16384, 262144)[:count]:
                    for row in self.runs(*harness.SMALL, *machine, "--ranks", ranks, "--algorithm", "all",
                                         "--bytes", size):
                        self.assert_not_beaten(row)
                        kinds.add(row["bound_kind"])
        self.assertGreaterEqual(len(kinds), 2)

    def test_it_depends_on_the_machine_and_the_collective_alone(self):
        rows = self.runs(*harness.SMALL, "--ranks", "pe", "--algorithm", "all", "--bytes", "4KiB")
        self.assertGreater(len({row["algorithm"] for row in rows}), 2)
        self.assertEqual(len({(row["bound_ns"], row["bound_kind"]) for row in rows}), 1)

    def test_nothing_to_do_has_no_bound(self):
        row = self.one(*harness.SMALL, "--ranks", "pe", "--algorithm", "ring_1d", "--bytes", "0")
        self.assertEqual([row[key] for key in ("bound_ns", "bound_kind", "efficiency", "algbw_gbytes_s", "busbw_gbytes_s")],
                         [0, "none", None, None, None])
        alone = (*harness.SMALL, *harness.sets("pod.sips=1"), "--ranks", "sip", "--algorithm", "ring_1d")
        self.assertEqual(self.run_pod(*alone).stdout.splitlines()[2].split()[4:6], ["-", "0.0"])

    def test_an_element_that_is_the_roots_own(self):
        for collective in ("gather", "scatter"):
            for row in self.result(*harness.SMALL, "--collective", collective, "--ranks", "cube", "--algorithm", "all",
                                   "--bytes", "2", *harness.sets("ccl.root_rank=3"))["runs"]:
                self.assert_not_beaten(row)


class Attained(harness.Case):
    """Some schedule comes within 10% of the bound, so it is not too low. Rings deep enough for any round trip in these
    grids, and vectors so long that filling them does not count. UCIe as wide as the ports, so that a rank's network
    interface binds; or 8 GB/s a side, so that links do, with a DMA channel for each queue pair of a rank, so that a slot
    for a busy link holds up none for another."""
    MACHINE = harness.sets("pod.sips=1", "pe.tcm_kib=65536", "ipcq.n_slots=16", "ipcq.slot_bytes=16384", "pe.dma_channels=4")
    WIDE_LINKS = harness.sets("ucie.modules=4")
    SLOW_LINKS = harness.sets("ucie.lanes=16", "ucie.gt_s=4", "ucie.modules=1", "pe.dma_channels=8")
    SCHEDULES = {"all_reduce": "ring_1d_unidir", "all_gather": "ring_1d", "broadcast": "packed_trees",
                 "reduce": "packed_trees", "gather": "binomial", "scatter": "linear", "send_recv": "direct"}
    OVER_LINKS = {"all_reduce": "packed_trees", "reduce_scatter": "packed_routes", "all_gather": "packed_routes",
                  "broadcast": "packed_trees", "reduce": "packed_trees", "all_to_all": "direct",
                  "gather": "packed_routes", "scatter": "packed_routes", "send_recv": "direct"}

    def on_grid(self, side, links, schedules, kinds=None):
        grid = harness.sets(f"sip.columns={side}", f"sip.rows={side}")
        for collective, algorithm in schedules.items():
            row = self.result(*self.MACHINE, *links, *grid, "--ranks", "cube", "--collective", collective, "--algorithm",
                              algorithm, "--bytes", "4MiB", "--no-data")["runs"][0]
            with self.subTest(collective=collective, side=side):
                self.assertEqual(row["ranks"], side * side)
                self.assertGreaterEqual(row["time_ns"], row["bound_ns"])
                self.assertGreaterEqual(row["efficiency"], 0.9)
                if kinds:
                    self.assertIn(row["bound_kind"], kinds)

    def test_on_2_x_2(self):
        others = {"reduce_scatter": "ring_1d", "all_to_all": "direct"}
        self.on_grid(2, self.WIDE_LINKS, {**self.SCHEDULES, **others})

    @harness.exhaustive
    def test_on_3_x_3(self):
        others = {"reduce_scatter": "pairwise", "all_to_all": "pairwise"}
        self.on_grid(3, self.WIDE_LINKS, {**self.SCHEDULES, **others})

    @harness.cases((2,), (2, 3))
    def test_where_links_bind(self, sides):
        for side in sides:
            self.on_grid(side, self.SLOW_LINKS, self.OVER_LINKS, kinds=("links", "cube", "bisection"))


class Table(harness.Case):
    COLUMNS = ["size", "time_ns", "algbw", "busbw", "bound_ns", "bound", "eff", "#wrong", "verified"]

    def test_columns_of_nccl_tests_and_the_bound(self):
        """What all rows share is in the caption."""
        done = self.run_pod(*harness.SMALL, "--ranks", "pe", "--algorithm", "ring_1d", "--bytes", "4KiB:16KiB:x2")
        caption, header, *rows = done.stdout.splitlines()
        self.assertEqual(caption, "all_reduce by ring_1d, f16 sum, 16 ranks (pe); algbw and busbw in GB/s")
        self.assertEqual(header.split(), self.COLUMNS)
        self.assertEqual([row.split()[0] for row in rows], ["4", "8", "16"])
        for row in map(str.split, rows):
            self.assertTrue(row[-3].endswith("%"), row)
            self.assertEqual(row[-2:], ["0", "yes"])

    def test_rows_of_other_ranks_are_apart(self):
        lines = self.run_pod(*harness.SMALL, "--algorithm", "all", "--bytes", "64").stdout.splitlines()
        blocks = [block.splitlines() for block in "\n".join(lines).split("\n\n")]
        self.assertEqual([block[0].split(";")[0] for block in blocks],
                         ["all_reduce, f16 sum, 16 ranks (pe)", "all_reduce, f16 sum, 4 ranks (cube)"])
        for block in blocks:
            self.assertEqual(block[1].split(), ["size", "algorithm", *self.COLUMNS[1:]])

    def test_no_line_has_more_than_100_columns(self):
        jobs = [("--algorithm", "all", "--bytes", "4KiB:64KiB:x16"), ("--algorithm", "two_level,hierarchical_pipelined", "--bytes", "1MiB", "--no-data"),
                ("--bytes", "1KiB:64KiB:x8"), ("--collective", "barrier", "--algorithm", "all", "--team", "0:1:4,0:1:8"),
                ("--algorithm", "ring_1d", "--ranks", "sip", "--set", "ipcq.match=sender"),
                *(("--workload", file) for file in sorted((harness.ROOT / "platforms/workloads").glob("*.json")))]
        for job in jobs:
            for line in self.run_pod(*harness.SMALL, *job, expect=None).stdout.splitlines():
                self.assertLessEqual(len(line), 100, line)

    def test_runs_without_data_have_no_column_of_wrong_elements(self):
        caption, header, row = self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--no-data").stdout.splitlines()
        self.assertTrue(caption.endswith("; --no-data: not checked"))
        self.assertEqual((header.split(), row.split()[-2:]), ([n for n in self.COLUMNS if n != "#wrong"], ["not", "checked"]))

    def test_csv_has_the_bound(self):
        text = self.run_pod(*harness.SMALL, "--ranks", "pe", "--algorithm", "ring_1d", "--format", "csv").stdout
        names, values = (line.split(",") for line in text.splitlines())
        row = dict(zip(names, values))
        self.assertAlmostEqual(float(row["efficiency"]), float(row["bound_ns"]) / float(row["time_ns"]))
        self.assertEqual(int(row["count"]) * 2, int(row["bytes"]))


if __name__ == "__main__":
    harness.main()
