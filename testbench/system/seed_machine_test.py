#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The seeds' machine: fields of the result, equal results whatever must not matter, center and corner."""
import json
import re

import harness

JOB = (*harness.SEED, "--collective", "all_reduce", "--algorithm", "intercube", "--dtype", "f16", "--bytes",
       "96KiB")

NUMBER = (int, float)
RUN_FIELDS = {
    "collective": str, "algorithm": str, "algorithm_reason": str, "dtype": str, "op": str, "bytes": int,
    "rank_set": str, "ranks": int, "time_ns": NUMBER, "time_min_ns": NUMBER, "time_max_ns": NUMBER,
    "launch_ns": NUMBER, "algbw_gbytes_s": NUMBER, "busbw_gbytes_s": NUMBER, "verified": bool,
    "wrong_elements": int, "ranks_bitwise_equal": bool, "fingerprint": str, "stats": dict,
}
STATISTICS = ("packets", "packet_hops", "bytes_on_links", "credit_stall_ns", "link_utilization_max")
SIM_FIELDS = ("wall_s", "wakeups", "packet_hops", "peak_rss_mib")


class SeedMachine(harness.Case):
    def test_result_file(self):
        self.run_pod(*JOB, "--out", "out")
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(document["schema"], "diecast.result/1")
        self.assertEqual(document["status"], "ok")
        self.assertEqual(document["platform"], "diecast-pod")
        self.assertRegex(document["version"], r"^\d+\.\d+\.\d+")
        self.assertRegex(document["config_sha256"], "^[0-9a-f]{64}$")
        self.assertIs(type(document["seed"]), int)
        self.assertEqual(document["argv"], [*self.command(*JOB), "--out", "out"])
        self.assertEqual(document["machine"], {"sips": 2, "cubes": 32, "pes": 256})
        self.assertEqual(len(document["runs"]), 1)
        self.check_run(document["runs"][0])
        for name in SIM_FIELDS:
            self.assertIsInstance(document["sim"][name], NUMBER, name)
            self.assertGreater(document["sim"][name], 0, name)

    def check_run(self, run):
        for name, kind in RUN_FIELDS.items():
            self.assertIn(name, run)
            self.assertIsInstance(run[name], kind, name)
            self.assertFalse(kind is not bool and isinstance(run[name], bool), name)
        for name in STATISTICS:
            self.assertIsInstance(run["stats"][name], NUMBER, name)
        self.assert_verified(run)
        self.assertEqual((run["bytes"], run["rank_set"], run["ranks"]), (96 * 1024, "cube", 32))
        self.assertTrue(run["ranks_bitwise_equal"])
        self.assertLessEqual(run["stats"]["link_utilization_max"], 1)
        self.assertGreater(run["stats"]["packet_hops"], run["stats"]["packets"])
        # nccl-tests: algbw is size / time, busbw of an all-reduce 2(n-1)/n of it.
        self.assertAlmostEqual(run["algbw_gbytes_s"], run["bytes"] / run["time_ns"], places=9)
        self.assertAlmostEqual(run["busbw_gbytes_s"], run["algbw_gbytes_s"] * 2 * 31 / 32, places=9)

    def test_every_file_of_out(self):
        self.run_pod(*JOB, "--out", "out")
        names = sorted(p.name for p in (self.folder / "out").iterdir())
        self.assertEqual(names, ["config.json", "critical_path.json", "hbm.csv", "health.csv", "ipcq.csv",
                                 "links.csv", "result.json", "waits.csv"])
        links = (self.folder / "out" / "links.csv").read_text().splitlines()
        self.assertEqual(links[0], "run,link,bytes,packets,busy_fraction,stall_ns,payload_bytes,d2d_flits,replays,"
                                   "naks,crc_errors,retry_stall_ns,energy_pj")
        self.assertGreater(sum(int(line.split(",")[2]) for line in links[1:]), 0)
        queues = (self.folder / "out" / "ipcq.csv").read_text().splitlines()
        self.assertEqual(queues[0], "run,pe,direction,sends,bytes,received,bytes_received,credit_stall_ns,"
                         "empty_wait_ns,occupancy_ns")
        for line in queues[1:]:
            self.assertTrue(re.match(r"0,pod\.sip\d+\.cube_\d+_\d+\.pe0,", line), line)

    def same(self, *extra, job=JOB):
        """What the machine did, and the simulation work."""
        row = self.one(*job, *extra)
        counters = {n: v for n, v in row["stats"].items() if n != "elaborate_s"}
        return row["time_ns"], row["fingerprint"], counters

    def test_equal_whatever_must_not_matter(self):
        first = self.same()
        self.assertEqual(self.same(), first, "the same command twice")
        for order in ("reverse", "shuffle:1", "shuffle:2"):
            self.assertEqual(self.same(*harness.sets(f"sim.build_order={order}")), first, order)
        for setting in ("sim.links_as_bytes=true", "sim.slice_us=777", "sim.strict_memory=true"):
            self.assertEqual(self.same(*harness.sets(setting)), first, setting)
        self.assertEqual(self.same("--vcd", "w.vcd", "--vcd-scope", "pod.sip0.cube_0_0.*"), first, "--vcd")

    def test_links_short_of_credits_are_evaluated_alike_in_any_build_order(self):
        # Here a link and its neighbor act at one instant while packets of several VCs wait for credits.
        for job in (["--collective", "all_to_all", "--algorithm", "direct", "--bytes", "40000",
                     *harness.sets("sip.columns=2", "ucie.buffer_flits=32", "sip_link.buffer_flits=18",
                                   "ipcq.buffer_kind=hbm", "ucie.flit_format=flit_68", "noc.clock_ghz=1.7")],
                    ["--algorithm", "recursive_doubling", "--bytes", "4096",
                     *harness.sets("pod.sips=3", "sip.columns=3", "ucie.buffer_flits=20", "sip_link.buffer_flits=17",
                                   "ucie.ber=1e-4", "ucie.flit_format=flit_68")]):
            job = (*harness.SMALL, *job)
            first = self.same(job=job)
            for order in ("reverse", "shuffle:1", "shuffle:2"):
                self.assertEqual(self.same(*harness.sets(f"sim.build_order={order}"), job=job), first, order)

    def test_other_data_has_another_fingerprint(self):
        # Shows that the equality above can fail: the same events with other bits, and other events.
        first = self.same()
        seed = self.same("--seed", "2")
        self.assertNotEqual(seed[1], first[1])
        self.assertEqual(seed[0], first[0], "data must not change the time")
        self.assertNotEqual(self.same(*harness.sets("ccl.root=corner"))[1], first[1])

    def test_sweep_point_equals_the_point_alone(self):
        sweep = self.runs(*harness.SMALL, "--algorithm", "all", "--bytes", "1KiB:9KiB:+8KiB")
        self.assertGreaterEqual(len(sweep), 16)
        for row in sweep:
            alone = self.one(*harness.SMALL, "--algorithm", row["algorithm"], "--bytes", row["bytes"])
            for name in ("time_ns", "fingerprint", "launch_ns"):
                self.assertEqual(alone[name], row[name], f"{name} of {row['algorithm']} {row['bytes']}")

    @harness.cases(("reverse",), ("reverse", "shuffle:1", "shuffle:2", "shuffle:3"))
    def test_build_order_of_rings(self, orders):
        # Rings over all PEs use every terminal and every kind of link.
        ring = (*harness.SMALL, "--algorithm", "all", "--bytes", "20KiB", *harness.sets("ipcq.queue_pairs=32"))
        forward = [(r["time_ns"], r["fingerprint"]) for r in self.runs(*ring)]
        for order in orders:
            rows = self.runs(*ring, *harness.sets(f"sim.build_order={order}"))
            self.assertEqual([(r["time_ns"], r["fingerprint"]) for r in rows], forward, order)

    def test_iterations_are_equal_and_timed_alone(self):
        once = self.one(*JOB)
        many = self.one(*JOB, "--iters", "3", "--warmup", "1")
        self.assertEqual(many["time_min_ns"], many["time_max_ns"], "a quiet machine repeats itself")
        self.assertEqual(many["time_ns"], once["time_ns"])

    def test_timing_without_data(self):
        quiet = self.result(*JOB, "--no-data")["runs"][0]
        self.assertIsNone(quiet["verified"])
        self.assertIsNone(quiet["wrong_elements"])
        self.assertEqual(quiet["time_ns"], self.one(*JOB)["time_ns"])


class Torus(harness.Case):
    def test_center_root_beats_corner_root(self):
        job = (*harness.TORUS, "--algorithm", "intercube", "--dtype", "f16", "--bytes", "96KiB")
        center = self.one(*job, *harness.sets("ccl.root=center"))
        corner = self.one(*job, *harness.sets("ccl.root=corner"))
        self.assertEqual(center["ranks"], 96)
        self.assertLessEqual(center["time_ns"], 0.9 * corner["time_ns"], "center must win by 10%")
        self.assertEqual(center["stats"]["critical_cube_hops"], 8)
        self.assertEqual(corner["stats"]["critical_cube_hops"], 12)

    def test_hops_of_other_meshes(self):
        # Reduce and broadcast: 5 x 5 cubes have 8 hops with a root in the center and 16 with one in a
        # corner, 3 x 2 have 4 and 6.
        for columns, rows, center, corner in ((5, 5, 8, 16), (3, 2, 4, 6)):
            for root, hops in (("center", center), ("corner", corner)):
                row = self.one(*harness.SMALL, "--algorithm", "intercube", "--bytes", "1KiB", *harness.sets(
                    f"sip.columns={columns}", f"sip.rows={rows}", f"ccl.root={root}"))
                self.assertEqual(row["stats"]["critical_cube_hops"], hops, f"{columns}x{rows} {root}")


if __name__ == "__main__":
    harness.main()
