#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce algorithms on the SystemC machine (a subset of the mock machine's matrix), and the ccl block."""
import collections
import csv
import itertools
import json
import re

import harness

TREES = ("tree_binary", "double_binary_tree", "p2p_tree")
PARTNERS = ("recursive_doubling", "rabenseifner", "swing")
DIRECT = ("direct_one_shot", "direct_two_shot")
GRIDS = ("mesh_2d", "torus_2d")
LEVELS = ("hierarchical_3level", "hierarchical_pipelined", "hierarchical")
RINGS = ("two_level",)
ALL = (*TREES, *PARTNERS, *DIRECT, *GRIDS, *LEVELS, *RINGS, "intercube_pipelined")
WIDE = harness.sets("ipcq.queue_pairs=32")


def shape(sips, columns, rows, pes):
    return harness.sets(f"pod.sips={sips}", f"sip.columns={columns}", f"sip.rows={rows}", f"cube.pes={pes}")


class Matrix(harness.Case):
    def algorithms(self, *arguments):
        return {row["algorithm"]: row for row in self.runs(*harness.SMALL, *WIDE, "--algorithm", "all", *arguments)}

    def test_any_number_of_ranks(self):
        for pes in (1, 2, 3, 5, 7, 16):
            rows = self.algorithms(*shape(1, 1, 1, pes), "--ranks", "pe", "--bytes", "2052", "--dtype", "f32")
            for name in (*TREES, *PARTNERS, *DIRECT, *GRIDS, *LEVELS, *RINGS):
                self.assertEqual(rows[name]["ranks"], pes, name)

    def test_grids_of_cubes(self):
        for columns, rows in ((1, 1), (1, 2), (2, 2), (3, 2), (4, 4), (5, 5)):
            found = self.algorithms(*shape(1, columns, rows, 1), "--ranks", "cube", "--bytes", "1538")
            for name in (*GRIDS, "intercube", "intercube_pipelined", "packed_trees"):
                self.assertEqual(found[name]["ranks"], columns * rows, name)

    @harness.cases(((1, 9002), (3, 1000), (2, 2), (2, 0)), (*itertools.product((1, 2, 3, 4), (0, 2, 1000, 9002, 100000)),))
    def test_slots_and_sizes(self, tried):
        for n_slots, size in tried:
            self.algorithms("--bytes", size, *harness.sets(f"ipcq.n_slots={n_slots}", "ipcq.slot_bytes=512"))

    @harness.cases((("f16", "max"), ("bf16", "avg"), ("f32", "prod"), ("i32", "min"), ("i32", "avg")),
                   (*itertools.product(("f16", "bf16", "f32", "i32"), ("sum", "max", "min", "prod", "avg")),))
    def test_types_and_operations(self, tried):
        for dtype, op in tried:
            for row in self.algorithms("--bytes", "3000", "--dtype", dtype, "--op", op).values():
                self.assertIs(row["ranks_bitwise_equal"], True, row["algorithm"])

    def sends(self, *arguments):
        """The row of a run, and the messages that each PE sent."""
        row = self.one(*harness.SMALL, *arguments, "--out", "out")
        with open(self.folder / "out" / "ipcq.csv", encoding="utf-8", newline="") as file:
            sent = collections.Counter()
            for queue_pair in csv.DictReader(file):
                sent[queue_pair["pe"]] += int(queue_pair["sends"])
        return row, sent

    def test_any_levels(self):
        """A level's messages carry its chunks, up to the parent and down to each child, whatever the other levels have."""
        def of_levels(text, *more, **options):
            return self.sends(*shape(2, 2, 2, 4), "--algorithm", "hierarchical", "--bytes", "8KiB", "--set", f"ccl.levels={text}", *more)
        _, sent = of_levels("cube:direct:2,sip:ring:3,pod:direct:4")
        self.assertEqual([sent["pod.sip0.cube_0_0.pe0"], sent["pod.sip1.cube_0_0.pe0"], sent["pod.sip0.cube_1_0.pe0"],
                          sent["pod.sip0.cube_0_0.pe3"]], [3 * 2 + 2 * 3 + 4, 3 * 2 + 2 * 3 + 4, 3 * 2 + 3 + 3, 2])
        _, sent = of_levels("2:tree,cube:ring:5,row:tree:2,sip:direct,pod:ring:3", *harness.sets("ccl.chunks=1"))
        self.assertEqual([sent["pod.sip0.cube_0_0.pe0"], sent["pod.sip0.cube_0_0.pe2"], sent["pod.sip0.cube_0_1.pe0"]],
                         [1 + 5 + 2 + 1 + 3, 1 + 5, 1 + 5 + 2 + 1])
        for text in ("32:direct", "pod:tree:7", "3:ring,5:direct:2,pod:tree"):  # of every type, and averages
            of_levels(text, "--dtype", "f32", "--op", "avg", *harness.sets("ipcq.queue_pairs=32", "ipcq.slot_bytes=1024"))
        refused = self.run_pod(*harness.SMALL, "--algorithm", "hierarchical", *harness.sets("ccl.levels=cube:ring,3:tree"), expect=2)
        self.assertIn("ccl.levels: the last level leaves 2 leaders", refused.stderr)
        refused = self.run_pod(*harness.SMALL, *harness.sets("ccl.levels=cube:star"), expect=2)
        self.assertIn("ccl.levels: not an accepted value (value 'cube:star'; expected", refused.stderr)

    def test_a_rank_may_be_a_sip_whose_pes_have_shards(self):
        for name in LEVELS[:2]:
            row, sent = self.sends(*shape(4, 2, 1, 4), "--ranks", "sip", "--algorithm", name, "--bytes", "16KiB")
            self.assertEqual((row["ranks"], row["rank_set"], row["bytes"], len(sent)), (4, "sip", 16384, 32))
            self.assertTrue(all(sent.values()), sent)
            self.assertAlmostEqual(row["busbw_gbytes_s"], 1.5 * row["algbw_gbytes_s"])

    def test_steps_of_the_deterministic_tree_name_round_and_partner(self):
        """A PE that stops leaves every other one in a step of its own, which says whom it waits for."""
        fault = json.dumps([{"kind": "dead_pe", "where": "pod.sip0.cube_1_0.pe2", "after": 5}])
        self.run_pod(*harness.SMALL, "--algorithm", "p2p_tree", "--bytes", "4KiB", "--set", f"faults={fault}",
                     "--out", "out", expect=3)
        ranks = json.loads((self.folder / "out" / "flight.json").read_text())["ranks"]
        for row in ranks:
            for rank in row["ranks"] if "ranks" in row else [row["rank"]]:
                told = re.match(r"(reduce|broadcast) (from|to) rank (\d+), round (\d+)$", row["step"])
                self.assertTrue(told, row)
                self.assertEqual(int(told[3]), rank ^ 1 << int(told[4]), row)
        steps = {row["step"] for row in ranks}
        self.assertGreaterEqual(len(steps), 8, steps)

    def test_sums_in_f32(self):
        plain = self.algorithms("--bytes", "3000", "--dtype", "bf16", "--op", "avg")
        for mode in ("f32_acc", "f32_wire"):
            for kind in ("tcm", "sram"):
                rows = self.algorithms("--bytes", "3000", "--dtype", "bf16", "--op", "avg",
                                       *harness.sets(f"ccl.accumulation={mode}", f"ipcq.buffer_kind={kind}"))
                self.assertEqual(set(rows), set(plain))
                # More bytes or more cycles; the schedule of a single algorithm may be luckier all the same.
                slower = [name for name, row in rows.items() if row["time_ns"] > plain[name]["time_ns"]]
                self.assertGreaterEqual(len(slower), len(rows) - 1, set(rows) - set(slower))
        done = self.run_pod(*harness.SMALL, "--collective", "reduce", "--bytes", "1KiB",
                            *harness.sets("ccl.accumulation=f32_acc"), expect=2)
        self.assertIn("ccl.accumulation", done.stderr)

    def test_chunks(self):
        for chunks in (1, 2, 7):
            job = ("--algorithm", ",".join((*TREES, *LEVELS, "intercube_pipelined")), "--bytes", "20000")
            self.runs(*harness.SMALL, *job, *harness.sets(f"ccl.chunks={chunks}"))

    def test_every_way_between_sips(self):
        for way in ("ring_1d", "torus_2d", "mesh_2d", "mesh_2d_no_wrap"):
            rows = self.runs(*harness.SMALL, *shape(6, 2, 1, 1), "--algorithm", "intercube,intercube_pipelined",
                             "--bytes", "6000", *harness.sets(f"ccl.inter_sip={way}"))
            self.assertEqual([row["ranks"] for row in rows], [12, 12])


class Sum(harness.Case):
    def test_rank_plus_one_gives_136_on_every_pe(self):
        rows = self.runs(*harness.SMALL, *WIDE, "--algorithm", "all", "--ranks", "pe", "--data", "rank_plus_one",
                         "--bytes", "2KiB")
        self.assertLessEqual(set(LEVELS), {row["algorithm"] for row in rows})
        for row in rows:  # the output of all ranks, read back from their memories: one value, 1 + 2 + ... + 16
            self.assertEqual([row[key] for key in ("ranks", "output_min", "output_max", "ranks_bitwise_equal")],
                             [16, 136, 136, True], row["algorithm"])


class LeftOut(harness.Case):
    def test_all_leaves_out_what_cannot_run_and_says_so(self):
        done = self.run_pod(*harness.SMALL, "--algorithm", "all", "--ranks", "pe", "--bytes", "1KiB",
                            *harness.sets("ipcq.queue_pairs=12"))
        self.assertIn("left out: direct_one_shot of 1 KiB: ipcq.queue_pairs", done.stderr)
        self.assertNotIn("direct_one_shot", done.stdout)
        self.assertIn("recursive_doubling", done.stdout)

    def test_named_it_is_an_error(self):
        done = self.run_pod(*harness.SMALL, "--algorithm", "direct_one_shot", "--bytes", "1KiB",
                            *harness.sets("ipcq.queue_pairs=12"), expect=2)
        self.assertIn("at least 15, one for every other rank", done.stderr)


class Block(harness.Case):
    """ccl.algorithms and ccl.patterns."""

    def config(self, ccl):
        return ("--config", self.file("ccl.json", json.dumps({"extends": str(harness.SMALL[1]), "ccl": ccl})))

    def fails(self, ccl, *words, algorithm="ring_1d"):
        done = self.run_pod(*self.config(ccl), "--algorithm", algorithm, "--bytes", "1KiB", expect=2)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_mapper_and_ring_memory(self):
        ccl = {"algorithms": {"ring_1d": {"mapper": "cube_leaders", "buffer_kind": "sram"}}}
        row = self.one(*self.config(ccl), "--algorithm", "ring_1d", "--bytes", "4KiB")
        self.assertEqual((row["rank_set"], row["ranks"]), ("cube", 4))
        plain = self.one(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "4KiB", "--ranks", "cube")
        self.assertNotEqual(row["time_ns"], plain["time_ns"], "rings in SRAM cost time")
        flag = self.one(*self.config(ccl), "--algorithm", "ring_1d", "--bytes", "4KiB", "--ranks", "sip")
        self.assertEqual(flag["ranks"], 2, "a flag goes before the config")

    def test_listed_members(self):
        members = ["sip1.cube0.pe3", "sip0.cube1.pe0", "sip0.cube0.pe2"]
        ccl = {"algorithms": {"recursive_doubling": {"mapper": "custom", "members": members}}}
        row = self.one(*self.config(ccl), "--algorithm", "recursive_doubling", "--data", "rank_plus_one", "--bytes", "1KiB")
        self.assertEqual((row["ranks"], row["output_min"], row["output_max"]), (3, 6, 6))

    def test_a_pattern_of_edges(self):
        # A ring of three PEs in another order than ring_1d would take.
        ring = ["sip0.cube0.pe0", "sip1.cube1.pe1", "sip0.cube1.pe2"]
        edges = []
        for i, pe in enumerate(ring):
            edges.append({"from": pe, "direction": "E", "to": ring[(i + 1) % 3]})
            edges.append({"from": pe, "direction": "W", "to": ring[(i + 2) % 3]})
        settings = {"pattern": "mine", "mapper": "custom", "members": ring}
        ccl = {"patterns": {"mine": edges}, "algorithms": {"ring_full_tile": settings}}
        self.one(*self.config(ccl), "--algorithm", "ring_full_tile", "--bytes", "3KiB")
        plan = self.run_pod(*self.config(ccl), "--algorithm", "ring_full_tile", "--dump-install").stdout
        first = [line.split() for line in plan.splitlines() if line.startswith("pod.sip0.cube_0_0.pe0")]
        self.assertEqual({(w[1], w[3]) for w in first}, {("E", "pod.sip1.cube_1_0.pe1"), ("W", "pod.sip0.cube_1_0.pe2")})

    def test_dump_reads_back(self):
        ccl = {"algorithms": {"ring_1d": {"mapper": "leader_only", "pe_layout": "replicate"}},
               "patterns": {"mine": [{"from": "sip0.cube0.pe0", "direction": "out", "to": "sip0.cube0.pe1",
                                      "bidirectional": False}]}}
        dump = self.run_pod(*self.config(ccl), "--dump-config").stdout
        again = self.run_pod("--config", self.file("dump.json", dump), "--dump-config").stdout
        self.assertEqual(dump, again)
        self.assertEqual(json.loads(dump)["ccl"]["algorithms"], ccl["algorithms"])

    def test_wrong_layout_is_refused(self):
        wrong = {"algorithms": {"hierarchical_3level": {"pe_layout": "replicate"}}}
        self.fails(wrong, "ccl.algorithms.hierarchical_3level: the tensor layout does not fit (multi_pe_sip_local)",
                   "2 shards per SIP", "expected 8", algorithm="hierarchical_3level")
        # Other algorithms do not mind.
        self.one(*self.config(wrong), "--algorithm", "ring_1d", "--bytes", "1KiB")

    def test_right_layouts(self):
        for algorithm, settings in (
                ("hierarchical_3level", {"validator": "multi_pe_sip_local", "cube_layout": "row_wise"}),
                ("intercube", {"validator": "cube_shards", "cube_layout": "row_wise"}),
                ("ring_1d", {"mapper": "leader_only", "validator": "single_shard"}),
                ("tree_binary", {"validator": "replicated", "cube_layout": "replicate", "pe_layout": "replicate"})):
            self.one(*self.config({"algorithms": {algorithm: settings}}), "--algorithm", algorithm, "--bytes", "1KiB")

    def test_bad_names_are_said_all_at_once(self):
        self.fails({"algorithms": {"ring_2d": {}, "ring_1d": {"pattern": "rnig_1d", "mapper": "all_pe",
                                                              "validator": "any", "members": ["sip0.cube0.pe0"]}}},
                   "ccl.algorithms.ring_2d: no such algorithm; did you mean ring_1d?",
                   "ccl.algorithms.ring_1d.pattern: no such pattern; did you mean ring_1d?",
                   "ccl.algorithms.ring_1d.mapper: no such mapper; did you mean all_pes?",
                   "ccl.algorithms.ring_1d.validator: no such validator",
                   "ccl.algorithms.ring_1d.members: is read only by mapper custom")

    def test_bad_values(self):
        for settings, words in (
                ({"maper": "all_pes"}, ("ccl.algorithms.ring_1d.maper: unknown key; did you mean mapper?",)),
                ({"buffer_kind": "rom"}, ("ccl.algorithms.ring_1d.buffer_kind", "one of tcm, sram, hbm")),
                ({"mapper": 3}, ("ccl.algorithms.ring_1d.mapper: wrong type",)),
                ({"mapper": "custom", "members": ["pe3"]}, ("ccl.algorithms.ring_1d.members[0]: wrong type",)),
                ({"mapper": "custom", "members": ["sip9.cube0.pe0"]}, ("no such PE in this machine",)),
                ({"mapper": "custom", "members": ["sip0.cube0.pe0"] * 2}, ("a PE is listed twice",)),
                ({"mapper": "custom"}, ("mapper custom needs a list of PEs",)),
                (7, ("ccl.algorithms.ring_1d: wrong type",))):
            self.fails({"algorithms": {"ring_1d": settings}}, *words)
        self.fails({"patterns": {"mine": [{"from": "sip0.cube0.pe0", "to": "sip0.cube0.pe1"}]}},
                   "ccl.patterns.mine[0]: an edge is not complete")
        self.fails({"patterns": {"ring_1d": []}}, "ccl.patterns.ring_1d: a pattern of that name is built in")


if __name__ == "__main__":
    harness.main()
