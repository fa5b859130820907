#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The collectives other than all-reduce on the SystemC machine: a subset of the mock machine's matrix."""
import itertools
import json

import harness

BLOCKWISE = ("reduce_scatter", "all_gather", "all_to_all", "gather", "scatter")
COLLECTIVES = (*BLOCKWISE, "broadcast", "reduce", "send_recv")
REDUCING = ("reduce_scatter", "reduce")
EQUAL = ("all_gather", "broadcast")


class ShardWise(harness.Case):
    """--ranks sip with a sharded layout: a collective of every shard with those of the other SIPs."""
    def config(self, algorithm, **layout):
        return ("--config", self.file("sharded.json", json.dumps({
            "extends": str(harness.ROOT / "platforms/configs/small_pod.json"),
            "ccl": {"algorithms": {algorithm: layout}}})))

    def test_every_shard_is_combined_with_its_own(self):
        for collective, algorithm, ranks in (("all_reduce", "ring_1d", 3), ("reduce_scatter", "pairwise", 2),
                                             ("broadcast", "binomial", 3)):
            job = (*self.config(algorithm, cube_layout="column_wise", pe_layout="row_wise"), "--ranks", "sip",
                   "--collective", collective, "--algorithm", algorithm, "--bytes", 10010, *harness.sets(f"pod.sips={ranks}"))
            row = self.one(*job)
            self.assertEqual((row["rank_set"], row["ranks"], row["collective"], row["bytes"]), ("sip", ranks, collective, 10010))
            self.assertEqual(len(row["ops"]), 8)
            self.assertEqual(sum(op["bytes"] for op in row["ops"]), 10010)
            for op in row["ops"]:
                self.assertEqual((op["ranks"], op["verified"]), (ranks, True))
            self.assertLessEqual(row["bound_ns"], row["time_ns"])
            self.assertEqual(row["fingerprint"], self.one(*job, *harness.sets("sim.build_order=shuffle:5"))["fingerprint"])

    def test_replicated_levels_leave_the_shards_to_their_first(self):
        row = self.one(*self.config("ring_1d", cube_layout="column_wise"), "--ranks", "sip", "--algorithm", "ring_1d",
                       "--bytes", "64KiB")
        self.assertEqual([(op["id"], op["bytes"]) for op in row["ops"]], [("cube0.pe0", 32768), ("cube1.pe0", 32768)])

    def test_what_cannot_be(self):
        def refused(says, *more, **layout):
            done = self.run_pod(*self.config("ring_1d", **layout), "--ranks", "sip", "--algorithm", "ring_1d", "--bytes",
                                "64", *more, expect=2)
            self.assertIn(says, done.stderr)
        refused("--iters: does not apply to a shard-wise run", "--iters", "2", cube_layout="row_wise")
        refused("--data: does not apply", "--data", "rank_plus_one", cube_layout="row_wise")
        refused("single_shard", cube_layout="row_wise", validator="single_shard")
        refused("ccl.tensor_kind: collectives shard by shard", *harness.sets("ccl.tensor_kind=hbm"), cube_layout="row_wise")
        missing = json.dumps([{"match": "pod.sip1.cube_1_0.pe2", "set": {"enabled": False}}])
        refused("pod.sip1.cube_1_0.pe2", *harness.sets(f"overrides={missing}"), cube_layout="row_wise", pe_layout="row_wise")


class Collectives(harness.Case):
    def test_every_algorithm_at_several_sizes(self):
        """Nothing, one element, an odd number of them, and more than all slots of a ring hold."""
        for number, collective in enumerate(COLLECTIVES):
            for bytes_, (ranks, members) in itertools.product((0, 2, 1234, 12302), (("pe", 16), ("cube", 4))):
                factor = (members - 1) / members if collective in BLOCKWISE else 1
                root = 3 * number % members
                rows = self.runs(*harness.SMALL, "--collective", collective, "--algorithm", "all", "--bytes", bytes_,
                                 "--ranks", ranks,
                                 *harness.sets(f"ccl.root_rank={root}", f"ipcq.n_slots={1 + number % 3}", "ipcq.slot_bytes=1024"))
                self.assertGreaterEqual(len(rows), 2)
                for row in rows:
                    self.assertEqual((row["collective"], row["ranks"], row["bytes"]), (collective, members, bytes_))
                    self.assertEqual(row["op"], "sum" if collective in REDUCING else "none")
                    self.assertIs(row["ranks_bitwise_equal"], True if collective in EQUAL else None)
                    if bytes_ > 0:
                        self.assertAlmostEqual(row["busbw_gbytes_s"], row["algbw_gbytes_s"] * factor, 6)

    def test_types_operations_and_rank_sets(self):
        for number, collective in enumerate(COLLECTIVES):
            dtype, op = (("f32", "avg"), ("i32", "prod"), ("bf16", "min"))[number % 3]
            for ranks, members in (("cube", 4), ("sip", 2)):
                rows = self.runs(*harness.SMALL, "--collective", collective, "--algorithm", "all", "--bytes", 4004,
                                 "--dtype", dtype, "--op", op, "--ranks", ranks, "--iters", 2, "--warmup", 1)
                for row in rows:
                    self.assertEqual(row["ranks"], members)
        self.assertIn("note: --op max has no effect", self.run_pod(*harness.SMALL, "--collective", "all_gather", "--op", "max").stdout)

    def test_nothing_is_read_that_was_never_written(self):
        """With blocks of unequal length, those of one element less among them."""
        for collective, memory in itertools.product((*COLLECTIVES, "all_reduce"), ("tcm", "hbm")):
            self.runs(*harness.SMALL, "--collective", collective, "--algorithm", "all", "--bytes", 100, "--ranks", "pe",
                      *harness.sets("sim.strict_memory=true", f"ccl.tensor_kind={memory}"))

    def test_rings_outside_tcm_and_build_order(self):
        for collective, ranks in (("all_to_all", "pe"), ("reduce_scatter", "pe"), ("reduce_scatter", "cube"),
                                  ("gather", "cube")):
            job = (*harness.SMALL, "--collective", collective, "--algorithm", "all", "--bytes", "9000", "--ranks", ranks)
            first = self.runs(*job, *harness.sets("ipcq.buffer_kind=sram"))
            other = self.runs(*job, *harness.sets("ipcq.buffer_kind=sram", "sim.build_order=shuffle:3"))
            self.assertEqual([(r["time_ns"], r["fingerprint"]) for r in first], [(r["time_ns"], r["fingerprint"]) for r in other])

    def test_root(self):
        """Rank 5's vector everywhere; the sum of all at rank 5 alone."""
        at_five = ("--ranks", "pe", "--data", "rank_plus_one", *harness.sets("ccl.root_rank=5"), "--bytes", "1KiB")
        for row in self.runs(*harness.SMALL, "--collective", "broadcast", "--algorithm", "all", *at_five):
            self.assertEqual((row["output_min"], row["output_max"]), (6, 6))
        for row in self.runs(*harness.SMALL, "--collective", "reduce", "--algorithm", "all", *at_five):
            self.assertEqual((row["output_min"], row["output_max"]), (136, 136))

    def test_large_sizes_come_near_their_bounds(self):
        """On the default pod, by medians. Sends of the two levels that crowd each other stay at 70%."""
        for collective, least in (("all_reduce", 0.9), ("reduce_scatter", 0.85), ("all_gather", 0.85)):
            row = self.result("--ranks", "cube", "--collective", collective, "--algorithm", "two_level", "--bytes", "1MiB",
                              "--no-data", "--jitter", "9")["runs"][0]
            self.assertGreater(row["bound_ns"] / row["jitter_median_ns"], least, collective)

    def test_large_broadcasts_come_near_their_bounds(self):
        """On one SIP slots that are copied before they go on, or edges of one queue pair, stay below 80%."""
        job = ("--ranks", "cube", "--collective", "broadcast", "--algorithm", "packed_trees", "--bytes", "1MiB")
        self.assertGreater(self.one(*job, *harness.sets("pod.sips=1"))["efficiency"], 0.85)
        self.assertGreater(self.one(*job)["efficiency"], 0.64)

    def test_steps_of_an_all_to_all_keep_flows_apart(self):
        job = ("--config", harness.CONFIGS / "sip_default.json", "--ranks", "cube", "--collective", "all_to_all")
        for size in ("128KiB", "256KiB", "448KiB"):
            steps, direct = (self.one(*job, "--algorithm", name, "--bytes", size) for name in ("mesh_steps", "direct"))
            self.assertLess(steps["time_ns"], 0.98 * direct["time_ns"], size)
            self.assertEqual(self.one(*job, "--algorithm", "auto", "--bytes", size)["algorithm"], "mesh_steps")

    def test_steps_by_the_clock_come_near_the_bound(self):
        """Steps that are not timed stay at 70%. With blocks longer than their slots, one at a time, they are right, too."""
        job = ("--config", harness.CONFIGS / "sip_default.json", "--ranks", "cube", "--collective", "all_to_all",
               "--algorithm", "mesh_steps")
        self.assertGreater(self.one(*job, "--bytes", "480KiB")["efficiency"], 0.80)
        for settings in (("ipcq.n_slots=1",), ("ipcq.n_slots=2", "sip.columns=3", "sip.rows=2"),
                         ("ipcq.n_slots=1", "sip.columns=2", "sip.rows=2", "ipcq.slot_bytes=1024")):
            self.one(*job, "--bytes", "262000", *harness.sets(*settings))

    def test_too_few_queue_pairs(self):
        done = self.run_pod(*harness.SMALL, "--collective", "all_to_all", "--algorithm", "pairwise",
                            *harness.sets("ipcq.queue_pairs=8"), expect=2)
        self.assertIn("ipcq.queue_pairs", done.stderr)


if __name__ == "__main__":
    harness.main()
