#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rings: the sum of all ranks, the ring of two, one-way rings, rings of few slots."""
import itertools
import json
import unittest

import harness

# Both directions of each PE lead to the same peer.
TWO_RANKS = (*harness.SMALL, "--ranks", "sip", "--bytes", "4KiB")


class Sum(harness.Case):
    def test_other_reductions_of_the_same_data(self):
        for op, value in (("max", 16), ("min", 1), ("avg", 8.5)):
            row = self.one(*harness.SMALL, "--algorithm", "ring_1d", "--data", "rank_plus_one", "--op", op)
            self.assertEqual((row["output_min"], row["output_max"]), (value, value), op)


class RingOfTwo(harness.Case):
    def test_address_matching_passes(self):
        for algorithm in ("ring_1d", "ring_1d_unidir", "ring_full_tile"):
            row = self.one(*TWO_RANKS, "--algorithm", algorithm, *harness.sets("ipcq.match=address"))
            self.assertEqual(row["ranks"], 2)

    def test_sender_matching_is_a_named_deadlock(self):
        for algorithm in ("ring_1d", "ring_full_tile"):
            done = self.run_pod(*TWO_RANKS, "--algorithm", algorithm, *harness.sets("ipcq.match=sender"),
                                "--out", "out", expect=3)
            self.assertTrue(done.stderr.startswith("deadlock: "), "first line")
            report = json.loads((self.folder / "out" / "deadlock.json").read_text())
            waiting = {(w["waiter"], w["direction"]) for w in report["waits"]}
            pes = ("pod.sip0.cube_0_0.pe0", "pod.sip1.cube_0_0.pe0")
            self.assertEqual({pe for pe, _ in waiting}, set(pes), algorithm)
            for pe, direction in waiting:
                self.assertIn(f"{pe} {direction} waits for a message", done.stderr)
            pairs = {(q["pe"], q["direction"]): q for q in report["queue_pairs"]}
            for key in waiting:
                self.assertIn("receive", pairs[key]["waiting"])
                self.assertEqual(pairs[key]["my_tail"], pairs[key]["peer_head_cache"], "its ring is empty")
            result = json.loads((self.folder / "out" / "result.json").read_text())
            self.assertEqual((result["status"], result["runs"][0]["verified"]), ("deadlock", None))

    def test_sender_matching_of_distinct_peers_passes(self):
        # With 16 ranks E and W lead to different peers: the old rule works, as it did for its authors.
        self.one(*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "4KiB",
                 *harness.sets("ipcq.match=sender"))

    def test_the_report_is_complete(self):
        self.run_pod(*TWO_RANKS, "--algorithm", "ring_1d", *harness.sets("ipcq.match=sender"), "--out", "out",
                     expect=3)
        report = json.loads((self.folder / "out" / "deadlock.json").read_text())
        self.assertEqual((report["schema"], report["still"]), ("diecast.deadlock/1", True))
        self.assertEqual({p["step"] for p in report["pes"]}, {"all_gather 0"})
        for pair in report["queue_pairs"]:
            self.assertEqual((pair["n_slots"], pair["slot_bytes"], pair["sources_unread"]), (4, 8192, 0))
            self.assertTrue(pair["rx_base_pa"].startswith("0x"))
        for root in report["roots"]:
            self.assertEqual((root["kind"], root["waits"][0]["missing"]), ("fault", 1))

    def test_each_run_of_a_sweep_has_its_report(self):
        job = (*harness.SMALL, "--ranks", "sip", "--algorithm", "ring_1d", "--bytes", "1KiB:4KiB", "--out", "out")
        self.run_pod(*job, *harness.sets("ipcq.match=sender"), expect=3)
        names = sorted(p.name for p in (self.folder / "out").glob("deadlock*"))
        self.assertEqual(names, ["deadlock_0.json", "deadlock_1.json", "deadlock_2.json"])
        self.run_pod(*job)
        self.assertEqual(list((self.folder / "out").glob("deadlock*")), [])

    def test_slow_links_and_engines_are_no_hang(self):
        """What takes longer than sim.watchdog_us but ends is movement, asleep or polling."""
        slow = (("sip_link.gbytes_s=0.001", "sim.watchdog_us=20"),
                ("sip_link.latency_ns=100000", "ipcq.backpressure=poll", "sim.watchdog_us=20"),
                ("pe.dma_startup_cycles=10000", "ipcq.poll_cycles=20", "ipcq.backpressure=poll",
                 "sim.watchdog_us=1"))
        for sets in slow:
            with self.subTest(sets=sets):
                self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", *harness.sets(*sets))

    def test_polling_is_found_by_the_watchdog(self):
        done = self.run_pod(*TWO_RANKS, "--algorithm", "ring_1d", expect=3, *harness.sets(
            "ipcq.match=sender", "ipcq.backpressure=poll", "sim.watchdog_us=50"))
        self.assertIn("nothing has moved for sim.watchdog_us = 50", done.stderr)
        self.run_pod(*TWO_RANKS, "--algorithm", "ring_1d", expect=2, *harness.sets(
            "ipcq.poll_cycles=1000", "ipcq.backpressure=poll", "sim.watchdog_us=2"))


class OneWay(harness.Case):
    def test_one_way_ring_uses_half_of_each_queue_pair(self):
        self.one(*harness.SMALL, "--algorithm", "ring_1d_unidir", "--ranks", "pe", "--bytes", "20KiB")
        plan = self.run_pod(*harness.SMALL, "--algorithm", "ring_1d_unidir", "--ranks", "pe",
                            "--dump-install").stdout.splitlines()[2:]
        halves = sorted((line.split()[1], line.split()[2]) for line in plan)
        self.assertEqual(halves, [("E", "tx")] * 16 + [("W", "rx")] * 16)


class Slots(harness.Case):
    @harness.cases((("sram", "poll", 1), ("hbm", "sleep", 2)),
                   (*itertools.product(("tcm", "sram", "hbm"), ("sleep", "poll"), (1, 2, 4)),))
    def test_rings_in_every_memory(self, tried):
        for kind, wait, slots in tried:
            rows = self.runs(*harness.SMALL, "--algorithm", "all", "--bytes", "12KiB", *harness.sets(
                f"ipcq.buffer_kind={kind}", f"ipcq.backpressure={wait}", f"ipcq.n_slots={slots}", "ipcq.slot_bytes=1KiB"))
            self.assertGreaterEqual(len(rows), 4)


@unittest.skipIf(harness.is_sanitized(), "sanitizers take memory of their own")
class Memory(harness.Case):
    def test_lists_of_long_rings_are_there_once(self):
        """Every rank has lists of what it sends and receives, as long as the ring: 264 B for each other rank. They were
        there three times."""
        ring = harness.sets("pod.sips=32", "sip.columns=2", "sip.rows=2")

        def peak_mib(collective, algorithm):
            words = ("--ranks", "pe", "--collective", collective, "--algorithm", algorithm, "--bytes", 2, "--no-data")
            return self.result(*ring, *words)["sim"]["peak_rss_mib"]

        without = peak_mib("all_reduce", "hierarchical_3level")
        for collective in ("reduce_scatter", "all_gather"):
            lists = (peak_mib(collective, "ring_1d") - without) * 2**20 / 1024**2
            self.assertLess(lists, 300, f"bytes for each pair of ranks, {collective}")


if __name__ == "__main__":
    harness.main()
