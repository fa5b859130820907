#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--algorithm auto: the choice by estimates, rules, tuner tables."""
import csv
import io
import itertools
import json
import re

import harness

# The default pod without one of its 256 PEs.
HARVESTED = {"extends": str(harness.CONFIGS / "pod_default.json"),
             "overrides": [{"match": "pod.sip0.cube_0_0.pe0", "set": {"enabled": False}}]}


class Auto(harness.Case):
    AUTO = (*harness.SMALL, "--algorithm", "auto", "--ranks", "pe")

    def test_it_says_why_and_picks_by_size(self):
        small = self.one(*self.AUTO, "--bytes", "64")
        large = self.one(*self.AUTO, "--bytes", "256KiB")
        for row in (small, large):
            self.assertTrue(row["algorithm_reason"].startswith(f"auto: {row['algorithm']} expected to take"),
                            row["algorithm_reason"])
        self.assertNotEqual(small["algorithm"], large["algorithm"])
        table = self.run_pod(*self.AUTO, "--bytes", "64").stdout
        self.assertIn(f"why: {small['algorithm_reason']}", " ".join(table.split()))
        text = self.run_pod(*self.AUTO, "--bytes", "64", "--format", "csv").stdout
        self.assertEqual([row["algorithm_reason"] for row in csv.DictReader(io.StringIO(text))], [small["algorithm_reason"]])

    def test_a_given_algorithm_needs_no_reason_and_auto_is_the_default(self):
        self.assertNotIn("why:", self.run_pod(*harness.SMALL, "--algorithm", "ring_1d").stdout)
        default, chosen = self.one(*harness.SMALL), self.one(*harness.SMALL, "--algorithm", "auto")
        keys = ("algorithm", "algorithm_reason", "time_ns", "fingerprint")
        self.assertEqual([default[k] for k in keys], [chosen[k] for k in keys])

    @harness.cases(2, 4)
    def test_the_choice_is_near_the_best(self, count):
        for size in ("64", "16KiB", "256KiB", "1MiB")[:count]:
            rows = self.runs(*harness.SMALL, "--algorithm", "all", "--ranks", "pe", "--bytes", size)
            best = min(row["time_ns"] for row in rows)
            self.assertLess(self.one(*self.AUTO, "--bytes", size)["time_ns"], 1.1 * best, size)

    def test_the_choice_is_the_best_where_nothing_is_a_power_of_two(self):
        job = (*harness.sets("pod.sips=4", "pod.topology=torus_2d", "sip.columns=2", "sip.rows=3", "cube.pes=16", "ucie.gt_s=32"),
               "--ranks", "cube", "--bytes", "16KiB", "--no-data")
        rows = self.result(*job, "--algorithm", "all")["runs"]
        chosen = self.result(*job, "--algorithm", "auto")["runs"][0]
        self.assertIn("by an estimate", chosen["algorithm_reason"])
        self.assertLess(chosen["time_ns"], 1.03 * min(row["time_ns"] for row in rows), chosen["algorithm_reason"])

    def test_jobs_too_long_to_estimate_to_their_end_are_not_chosen_by_bounds(self):
        """All bounds of a large all-reduce are equal; double_binary_tree, the first of them, takes 1.28 times the best."""
        row, = self.result("--ranks", "pe", "--bytes", "256KiB", "--no-data")["runs"]
        self.assertRegex(row["algorithm_reason"], "^auto: [a-z0-9_]+ expected to take [0-9]+ ns by (the progress of )?an estimate")
        small, = self.result("--ranks", "pe", "--bytes", "1KiB", "--no-data")["runs"]
        expected = re.match(r"auto: recursive_doubling expected to take (\d+) ns by an estimate", small["algorithm_reason"])[1]
        self.assertAlmostEqual(int(expected), small["time_ns"], delta=0.05 * small["time_ns"], msg="leaves of trees send early")
        self.assertLess(row["time_ns"], 1.15 * self.result("--ranks", "pe", "--bytes", "256KiB", "--no-data", "--algorithm",
                                                          "rabenseifner")["runs"][0]["time_ns"])

    @harness.cases(1, 2)
    def test_bytes_that_arrive_first_on_short_routes_do_not_decide(self, count):
        """By their share swing would end first, and bruck in a third of its bound."""
        for collective, size, best in (("all_reduce", "16KiB", "rabenseifner"), ("all_to_all", "256KiB", "lines"))[:count]:
            row, = self.result("--ranks", "pe", "--collective", collective, "--bytes", size, "--no-data")["runs"]
            self.assertEqual(row["algorithm"], best, row["algorithm_reason"])

    def test_rings_on_levels_are_chosen_where_they_are_best(self):
        for best, others, *job in (("two_level", {"ring_1d": 1}, "--ranks", "cube", "--bytes", "1MiB"),
                                   ("three_level", {"bruck": 1.5, "two_level": 1.5}, "--ranks", "pe", "--collective", "all_gather")):
            row = self.one("--config", harness.CONFIGS / "sip_default.json", *job, "--algorithm", "auto")
            self.assertEqual(row["algorithm"], best)
            for other, factor in others.items():
                one = self.one("--config", harness.CONFIGS / "sip_default.json", *job, "--algorithm", other)
                self.assertLess(factor * row["time_ns"], one["time_ns"], other)

    @harness.cases(1, 2)
    def test_send_recv_goes_directly(self, count):
        for machine in ("sip_default.json", "pod_default.json")[:count]:
            for size in ("2", "16KiB", "256KiB"):
                job = ("--config", harness.CONFIGS / machine, "--ranks", "cube", "--collective", "send_recv", "--bytes", size)
                row = self.one(*job, "--algorithm", "auto")
                self.assertEqual(row["algorithm"], "direct", row["algorithm_reason"])
                self.assertLess(row["time_ns"], self.one(*job, "--algorithm", "ring_1d")["time_ns"])

    @harness.cases(1, 3)
    def test_trees_over_chunks_of_tensors_in_hbm_are_chosen_where_they_are_best(self, count):
        """An estimate that charges each of many small chunks the depth of a tree would leave them."""
        trees = {"broadcast": "packed_trees,double_binary_tree,binomial", "reduce": "packed_trees,binomial"}
        for machine, ranks, collective, size in (("sip_default.json", "pe", "broadcast", "64KiB"),
                                                 ("sip_default.json", "pe", "reduce", "256KiB"),
                                                 ("pod_default.json", "cube", "reduce", "256KiB"))[:count]:
            job = ("--config", harness.CONFIGS / machine, *harness.sets("ccl.tensor_kind=hbm"), "--ranks", ranks,
                   "--collective", collective, "--bytes", size, "--no-data")
            picked = self.result(*job, "--algorithm", "auto")["runs"][0]
            best = min(row["time_ns"] for row in self.result(*job, "--algorithm", trees[collective])["runs"])
            self.assertLess(picked["time_ns"], 1.05 * best, picked["algorithm_reason"])

    def test_a_missing_pe_does_not_mislead_it(self):
        """Chunks take every hop's latency; a ring over all ranks waits for credits from the other SIP; trees of
        ranks cross to the other SIP as often as they do."""
        pod = ("--config", self.file("harvested.json", json.dumps(HARVESTED)), "--ranks", "pe", "--bytes", "16KiB", "--no-data")
        picked = self.result(*pod, "--algorithm", "auto")["runs"][0]
        rows = self.result(*pod, "--algorithm", "rabenseifner,double_binary_tree,hierarchical_pipelined")["runs"]
        best = min(row["time_ns"] for row in rows)
        self.assertLess(picked["time_ns"], 1.05 * best, picked["algorithm_reason"])

    def test_lines_of_ranks_that_are_no_box_are_refused_and_passed_over(self):
        pod = ("--config", self.file("harvested.json", json.dumps(HARVESTED)), "--ranks", "pe", "--collective", "all_to_all",
               "--bytes", "1KiB")
        done = self.run_pod(*pod, "--algorithm", "lines", expect=2)
        self.assertIn("ipcq.queue_pairs: too few for an exchange along lines of 1 SIPs, 1 rows, 1 columns and 255 ranks",
                      done.stderr)
        self.assertIn("expected at least 254", done.stderr)
        row = self.result(*pod, "--no-data", "--algorithm", "auto")["runs"][0]
        self.assertEqual(row["algorithm"], "bruck")
        ops = [{"id": "a", "op": "all_to_all", "bytes": "1KiB", "algorithm": "auto"}]
        job = self.file("job.json", json.dumps({"groups": {"all": {"ranks": "pe"}}, "streams": [{"on": "all", "ops": ops}]}))
        small = {**HARVESTED, "extends": str(harness.CONFIGS / "small_pod.json")}
        row = self.one("--config", self.file("small.json", json.dumps(small)), *harness.sets("ipcq.queue_pairs=8"),
                       "--workload", job)
        self.assertEqual(row["ops"][0]["algorithm"], "bruck")

    def test_where_links_bind_it_takes_ways_that_use_all_of_them(self):
        """Estimates know what each link between cubes carries: a ring over 3 x 3 cubes crosses some twice."""
        slow = harness.sets("pod.sips=1", "sip.columns=3", "sip.rows=3", "pe.tcm_kib=65536", "ipcq.n_slots=16",
                            "ipcq.slot_bytes=16384", "pe.dma_channels=8", "noc.max_packet_bytes=4096",
                            "ucie.lanes=16", "ucie.gt_s=4", "ucie.modules=1")
        for collective in ("all_reduce", "reduce_scatter", "all_gather", "reduce", "gather", "scatter"):
            row = self.result(*slow, "--ranks", "cube", "--collective", collective, "--algorithm", "auto", "--bytes",
                              "4MiB", "--no-data")["runs"][0]
            self.assertGreater(row["efficiency"], 0.9, (collective, row["algorithm_reason"]))

    @harness.cases(1, 3)
    def test_an_all_to_all_of_tensors_in_hbm_is_near_the_best(self, count):
        """Where steps fill links, flows that all go at once meet, by more than estimates say; rounds take up to 85% longer."""
        for rows, size in ((3, "256KiB"), (4, "1MiB"), (3, "4MiB"))[:count]:
            job = ("--config", harness.CONFIGS / "sip_default.json", *harness.sets("ccl.tensor_kind=hbm", f"sip.rows={rows}"),
                   "--ranks", "cube", "--collective", "all_to_all", "--bytes", size, "--no-data")
            tried = self.result(*job, "--algorithm", "mesh_steps,two_level,direct,pairwise")["runs"]
            row = self.result(*job, "--algorithm", "auto")["runs"][0]
            self.assertLess(row["time_ns"], 1.25 * min(r["time_ns"] for r in tried), row["algorithm_reason"])

    def test_what_waits_for_staging_is_known(self):
        """Between SIPs messages go through host memory: trees whose edges cross there often are slow."""
        pod = ("--config", harness.CONFIGS / "pod_default.json", *harness.sets("comm.path=staged"), "--ranks", "cube",
               "--bytes", "256")
        best = min(row["time_ns"] for row in self.runs(*pod, "--algorithm", "packed_trees,recursive_doubling"))
        self.assertEqual(self.one(*pod, "--algorithm", "auto")["time_ns"], best)

    @harness.cases(1, 2)
    def test_gather_and_scatter_are_chosen_by_size(self, count):
        for collective in ("gather", "scatter"):
            for size in ("1KiB", "1MiB")[:count]:
                rows = self.runs("--ranks", "cube", "--collective", collective, "--algorithm", "all", "--bytes", size)
                best = min(row["time_ns"] for row in rows)
                row = self.one("--ranks", "cube", "--collective", collective, "--algorithm", "auto", "--bytes", size)
                self.assertEqual(row["time_ns"], best, (collective, size, row["algorithm_reason"]))

    @harness.cases((("sip",), ("all_to_all", "all_gather", "broadcast")), (("sip", "pod"), (
        "all_reduce", "all_to_all", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter")))
    def test_the_choice_of_every_collective_is_near_the_best(self, tried):
        for machine, collective in itertools.product(*tried):
            job = ("--config", harness.CONFIGS / f"{machine}_default.json", "--ranks", "cube", "--collective", collective, "--no-data",
                   "--bytes", "64:64KiB:x32", "--algorithm")
            rows = self.result(*job, "all")["runs"]
            for row in self.result(*job, "auto")["runs"]:
                best = min((r for r in rows if r["bytes"] == row["bytes"]), key=lambda r: r["time_ns"])
                self.assertLess(row["time_ns"], 1.2 * best["time_ns"],
                                (collective, row["bytes"], best["algorithm"], row["algorithm_reason"]))

    def test_rules_come_first_then_the_table_then_the_model(self):
        table = self.file("tuner.csv", "collective,min_bytes,max_bytes,algorithm\nall_reduce,0,4KiB,ring_1d_unidir\n")
        keys = harness.sets("ccl.algorithm_rules=all_reduce:0-64=ring_full_tile", f"ccl.tuner={table}")
        row = self.one(*self.AUTO, *keys, "--bytes", "64")
        self.assertEqual((row["algorithm"], row["algorithm_reason"]), ("ring_full_tile", "rule all_reduce:0-64=ring_full_tile"))
        row = self.one(*self.AUTO, *keys, "--bytes", "4KiB")
        self.assertEqual((row["algorithm"], row["algorithm_reason"]), ("ring_1d_unidir", f"rule {table} line 2"))
        row = self.one(*self.AUTO, *keys, "--bytes", "8KiB")
        self.assertTrue(row["algorithm_reason"].startswith("auto: "))

    def test_a_named_algorithm_needs_no_rule(self):
        row = self.one(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "64",
                       *harness.sets("ccl.algorithm_rules=all_reduce=ring_full_tile"))
        self.assertEqual((row["algorithm"], row["algorithm_reason"]), ("ring_1d", "given"))

    def test_deterministic_reduction_replaces_known_names_only(self):
        key = harness.sets("comm.deterministic_reduction=true")
        row = self.one(*harness.SMALL, *key, "--algorithm", "ring_1d", "--bytes", "64")
        self.assertEqual((row["algorithm"], row["algorithm_reason"]), ("p2p_tree", "comm.deterministic_reduction instead of ring_1d"))
        row = self.one(*harness.SMALL, *key, "--algorithm", "intercube", "--bytes", "64")
        self.assertEqual((row["ranks"], row["rank_set"]), (4, "cube"))  # those of what it replaces
        row = self.one(*harness.SMALL, *key, "--bytes", "64")
        self.assertEqual((row["rank_set"], row["algorithm_reason"]), ("pe", "comm.deterministic_reduction"))
        done = self.run_pod(*harness.SMALL, *key, "--algorithm", "nonsense", expect=2)
        self.assertIn("--algorithm: no such all_reduce algorithm (value nonsense", done.stderr)

    def test_the_mapper_of_an_algorithm_is_kept(self):
        members = [f"sip0.cube0.pe{n}" for n in (3, 1, 2, 0)]
        mapper = {"ring_1d": {"mapper": "custom", "members": members}}
        keys = harness.sets("ccl.algorithms=" + json.dumps(mapper), "ccl.algorithm_rules=all_reduce:0-64=ring_1d")
        row = self.one(*harness.SMALL, "--algorithm", "auto", *keys, "--bytes", "64")
        self.assertEqual((row["algorithm"], row["ranks"]), ("ring_1d", 4))
        # Without the rule it is no candidate: four ranks are another job.
        row = self.one(*harness.SMALL, "--algorithm", "auto", *keys, "--bytes", "4KiB")
        self.assertNotEqual(row["algorithm"], "ring_1d")
        self.assertEqual(row["ranks"], 16)
        # --ranks goes before mappers, as for a named algorithm.
        row = self.one(*self.AUTO, *keys, "--bytes", "64")
        self.assertEqual((row["algorithm"], row["ranks"]), ("ring_1d", 16))

    def test_a_rule_is_blamed_for_its_own_ranks(self):
        rule = "all_reduce=intercube"  # runs on cubes only
        done = self.run_pod(*harness.SMALL, "--algorithm", "auto", *harness.sets(f"ccl.algorithm_rules={rule}"), expect=2)
        self.assertIn(f"ccl: {rule}: intercube does not run on this rank set", done.stderr)
        self.assertNotIn("--ranks", done.stderr)

    def test_bad_rules_and_tables_are_usage_errors(self):
        table = self.file("bad.csv", "collective,min_bytes,max_bytes,algorithm\nall_reduce,9,4,ring_1d\n")
        empty = self.file("empty.csv", "")
        for key, says in (("ccl.algorithm_rules=all_reduce:0-64KiB", "a rule names no algorithm"),
                          ("ccl.algorithm_rules=all_reduce=rign_1d", "no such all_reduce algorithm"),
                          ("ccl.tuner=nowhere.csv", "ccl.tuner: cannot be read: No such file"),
                          (f"ccl.tuner={empty}", "the table has no header"),
                          (f"ccl.tuner={table}", "bad.csv line 2: no range of sizes")):
            for run in (self.AUTO, (*harness.SMALL, "--algorithm", "ring_1d"), (*harness.SMALL, "--check-config")):
                self.assertIn(says, self.run_pod(*run, *harness.sets(key), expect=2).stderr)

    def test_a_table_of_a_spreadsheet_may_begin_with_a_byte_order_mark(self):
        table = self.file("tuner.csv", "\ufeffcollective,min_bytes,max_bytes,algorithm\nall_reduce,0,4KiB,ring_1d_unidir\n")
        self.assertEqual(self.one(*self.AUTO, *harness.sets(f"ccl.tuner={table}"), "--bytes", "64")["algorithm"], "ring_1d_unidir")

    def test_a_root_that_is_no_rank_is_a_usage_error(self):
        for collective in ("gather", "scatter", "broadcast", "reduce"):
            done = self.run_pod(*self.AUTO, "--collective", collective, *harness.sets("ccl.root_rank=16"), expect=2)
            self.assertIn("ccl.root_rank: the root is no member of the group (value 16; expected 0 to 15)", done.stderr)

    def test_what_cannot_run_here_is_passed_over(self):
        # Four queue pairs are enough for a ring and for nothing with more partners.
        row = self.one(*self.AUTO, *harness.sets("ipcq.queue_pairs=4"), "--bytes", "64")
        self.assertIn("cannot run here", row["algorithm_reason"])


if __name__ == "__main__":
    harness.main()
