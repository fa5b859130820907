#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors in HBM (ccl.tensor_kind), end to end: data, timing, what is refused."""
import harness

IN_HBM = harness.sets("ccl.tensor_kind=hbm")
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "gather", "scatter",
               "send_recv")


class HbmTensors(harness.Case):
    @harness.cases(1, 3)
    def test_every_algorithm_of_every_collective_is_right(self, count):
        for collective in COLLECTIVES:
            for size, chunk in (("30006", "4KiB"), ("2", "auto"), ("96KiB", "auto"))[:count]:
                rows = self.runs(*harness.SMALL, *IN_HBM, *harness.sets(f"ccl.tensor_chunk_bytes={chunk}"),
                                 "--collective", collective, "--algorithm", "all", "--bytes", size)
                self.assertGreaterEqual(len(rows), 2, collective)

    def test_nothing_is_nothing(self):
        for collective in COLLECTIVES:
            row = self.result(*harness.SMALL, *IN_HBM, "--collective", collective, "--bytes", "0")["runs"][0]
            self.assertEqual((row["status"], row["wrong_elements"]), ("ok", 0), collective)

    def test_a_vector_larger_than_the_tcm_runs(self):
        job = (*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "cube", "--bytes", "3MiB")
        refused = self.run_pod(*job, expect=2)
        self.assertIn("ccl.tensor_kind=hbm", refused.stderr)
        beside_rings = self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "1450KiB", expect=2)
        self.assertIn("does not fit the TCM with ring_1d: needs 1,514 KiB", beside_rings.stderr)
        self.assertIn("ccl.tensor_kind=hbm holds it", beside_rings.stderr)
        row = self.one(*job, *IN_HBM)
        self.assertTrue(row["ranks_bitwise_equal"])
        self.assertGreater(row["efficiency"], 0.5)

    def test_chunks_overlap(self):
        job = (*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "cube", "--bytes", "1MiB")
        times = {kib: self.one(*job, *IN_HBM, *harness.sets(f"ccl.tensor_chunk_bytes={kib}KiB"))["time_ns"]
                 for kib in (128, 1024)}
        # One chunk comes in, is worked on, goes out; of eight, all but the ends overlap.
        self.assertLess(times[128], 0.85 * times[1024])

    def test_time_does_not_depend_on_data_or_the_order_of_building(self):
        job = (*harness.SMALL, *IN_HBM, "--algorithm", "two_level", "--bytes", "200KiB")
        row = self.one(*job)
        for order in ("reverse", "shuffle:3"):
            other = self.one(*job, *harness.sets(f"sim.build_order={order}"))
            self.assertEqual((other["time_ns"], other["fingerprint"]), (row["time_ns"], row["fingerprint"]), order)
        quiet = self.result(*job, "--no-data")["runs"][0]
        self.assertEqual(quiet["time_ns"], row["time_ns"])

    @harness.cases((2, "1MiB", 0.70), (4, "4MiB", 0.80))
    def test_an_all_to_all_in_steps_needs_no_chunks(self, tried):
        sip = ("--config", harness.CONFIGS / "sip_default.json", "--ranks", "cube", *IN_HBM, "--collective", "all_to_all")
        job, (rows, size, least) = (*sip, "--algorithm", "mesh_steps", "--bytes"), tried
        row, in_chunks = (self.result(*job, size, "--no-data", *harness.sets(f"sip.rows={rows}", f"ccl.tensor_chunk_bytes={chunk}"))
                          ["runs"][0] for chunk in ("auto", "128KiB"))
        self.assertGreater(row["efficiency"], least)
        self.assertLess(row["time_ns"], 0.9 * in_chunks["time_ns"])
        orders = ("forward", "reverse", "shuffle:3")
        self.assertEqual(len({self.one(*job, "128KiB", *harness.sets(f"sim.build_order={o}"))["fingerprint"] for o in orders}), 1)

    @harness.cases(2, 5)
    def test_auto_knows_what_an_all_to_all_takes_in_few_steps(self, count):
        job = ("--config", harness.CONFIGS / "sip_default.json", "--ranks", "cube", *IN_HBM, "--collective", "all_to_all", "--no-data")
        for columns, rows, kib in ((3, 1, 256), (2, 2, 64), (2, 1, 1024), (5, 1, 256), (2, 4, 256))[:count]:
            shape = (*harness.sets(f"sip.columns={columns}", f"sip.rows={rows}"), "--bytes", f"{columns * rows * kib}KiB")
            tried = self.result(*job, *shape, "--algorithm", "all")["runs"]
            chosen = self.result(*job, *shape, "--algorithm", "auto")["runs"][0]
            with self.subTest(columns=columns, rows=rows, kib=kib, chosen=chosen["algorithm"]):
                self.assertLess(chosen["time_ns"], 1.25 * min(r["time_ns"] for r in tried))

    def test_an_all_to_all_out_of_hbm_is_right_with_any_rings_slots_and_channels(self):
        job = ("--config", harness.CONFIGS / "sip_default.json", *IN_HBM, *harness.sets("sip.rows=2"), "--ranks", "cube",
               "--collective", "all_to_all", "--algorithm", "mesh_steps", "--bytes", "192KiB")
        self.one(*job[:-1], "64KiB", *harness.sets("ipcq.n_slots=1", "sip.columns=2"))  # blocks of two slots
        for settings in (("ipcq.buffer_kind=sram",), ("ipcq.buffer_kind=hbm",), ("pe.dma_channels=4",), ("comm.checksum=crc32c",),
                         ("pe.dma_outstanding=1", "hbm.model=simple"), ("ipcq.slot_bytes=4096", "ccl.tensor_stripe_bytes=4096")):
            self.one(*job, *harness.sets(*settings))

    def test_launches_follow_each_other(self):
        self.one(*harness.SMALL, *IN_HBM, "--algorithm", "ring_1d", "--bytes", "64KiB", "--iters", "3")

    def test_all_accumulations_and_rings_anywhere(self):
        for mode in ("f32_acc", "f32_wire"):
            for rings in ("tcm", "sram", "hbm"):
                self.one(*harness.SMALL, *IN_HBM, "--algorithm", "rabenseifner", "--bytes", "20006", *harness.sets(
                    f"ccl.accumulation={mode}", f"ipcq.buffer_kind={rings}", "ccl.tensor_chunk_bytes=6000"))

    def test_auto_knows_what_staging_costs(self):
        job = (*harness.SMALL, *IN_HBM, "--bytes", "64KiB", "--no-data", "--algorithm")
        row, = self.result(*job, "auto")["runs"]
        best = min(r["time_ns"] for r in self.result(*job, "all", "--ranks", "pe")["runs"])
        self.assertLess(row["time_ns"], 1.1 * best, row["algorithm_reason"])

    def test_workloads_are_refused(self):
        workload = self.file("job.json", '{"groups": {"all": {"ranks": "pe"}}, "streams": [{"name": "s", "on": "all", "ops": '
                             '[{"op": "all_reduce", "bytes": "4KiB"}]}]}')
        done = self.run_pod(*harness.SMALL, *IN_HBM, "--workload", workload, expect=2)
        self.assertIn("have their tensors in TCM (ccl.tensor_kind)", done.stderr)

    def test_programs(self):
        """In chunks of whole grains of the program, the last of which is another; sizes that chunks do not divide are padded."""
        for name in ("chain_4", "all_pairs_3", "all_gather_4", "reduce_scatter_4", "all_to_all_3"):
            for chunk in ((), ("ccl.tensor_chunk_bytes=9000",)):
                sums = name in ("chain_4", "all_pairs_3")
                self.runs(*harness.SMALL, *IN_HBM, "--workload", harness.PROGRAMS / f"{name}.xml", "--bytes",
                          "2:200010:x100005" if sums else "48:196608:x4096", *harness.sets(*chunk))

    def test_barriers_have_no_tensors(self):
        self.assertEqual(self.one(*harness.SMALL, "--collective", "barrier")["time_ns"],
                         self.one(*harness.SMALL, *IN_HBM, "--collective", "barrier")["time_ns"])


if __name__ == "__main__":
    harness.main()
