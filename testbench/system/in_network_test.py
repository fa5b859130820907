#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trees in the network: verified on machines of every kind, never below the bound, the same however the machine is
built, not there when off, and refused where the machine has none."""
import collections
import csv
import json
import random
import re

import bounds_test
import harness
from vcd import Vcd

ON = harness.sets("noc.multicast=true", "noc.reduce=true")
JOBS = (("broadcast", "multicast"), ("reduce", "in_network"), ("all_reduce", "in_network"))


class InNetwork(harness.Case):
    def job(self, collective, algorithm, *words):
        return self.one("--collective", collective, "--algorithm", algorithm, *words)

    @staticmethod
    def more_kinds(rng, machine):
        """What bounds_test.random_machine leaves out: VCs, tensors in HBM, stages of routers, parts that are missing or
        slow."""
        words = [f"ccl.tensor_kind={rng.choice(['tcm', 'tcm', 'hbm'])}"]
        if rng.random() < 0.3:
            words.append("noc.vc_policy=dynamic")
        if rng.random() < 0.3:
            words += ["noc.hop_cycles=9", "noc.routing_cycles=1", "noc.vc_alloc_cycles=1", "noc.switch_alloc_cycles=1"]
        parts = []
        if rng.random() < 0.3:
            parts.append({"match": "pod.*.cube_0_0", "set": {"hop_cycles": 18}})
        if rng.random() < 0.3 and "cube.pes=1" not in machine:
            parts.append({"match": f"pod.sip0.*.pe{rng.randint(0, 1)}", "set": {"enabled": False}})
        if parts:
            words.append("overrides=" + json.dumps(parts))
        return harness.sets(*words)

    @harness.cases(24, 60)
    def test_random_machines_verify_and_never_beat_the_bound(self, count):
        rng = random.Random(11)
        for number in range(count):
            machine = bounds_test.random_machine(rng)
            more = harness.sets(f"noc.multicast_cycles={rng.choice([1, 5])}", f"noc.reduce_cycles={rng.choice([1, 9])}",
                                f"noc.reduce_bytes_per_cycle={rng.choice([8, 64, 4096])}",
                                "noc.reduce_buffer_kib=64", "sim.check_credits=true")
            more += self.more_kinds(rng, machine)
            collective, algorithm = JOBS[number % 3]
            bytes_ = rng.choice([0, 4, 1000, 16384, 60000])
            dtype = rng.choice(["f16", "bf16", "f32", "i32"])
            # Rows end here unless every rank's result is verified.
            row = self.job(collective, algorithm, *machine, *ON, *more, "--ranks", rng.choice(["pe", "cube", "sip"]),
                           "--bytes", bytes_, "--dtype", dtype, "--op", rng.choice(["sum", "max", "avg"]))
            self.assertIs(row["verified"], True, row)
            self.assertGreaterEqual(row["time_ns"], row["bound_ns"], row)

    @harness.cases(4, 12)
    def test_software_does_not_beat_the_bound_of_such_a_machine_either(self, count):
        rng = random.Random(12)
        for _ in range(count):
            machine = bounds_test.random_machine(rng)
            collective = rng.choice(["all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "scatter",
                                     "gather", "all_to_all"])
            for row in self.runs(*machine, "--set", "noc.multicast=true", "--set",
                                 f"noc.reduce={rng.choice(['true', 'false'])}", "--set", "noc.reduce_buffer_kib=64",
                                 "--collective", collective, "--ranks", "pe", "--algorithm", "all", "--bytes", 8192):
                self.assertGreaterEqual(row["time_ns"], row["bound_ns"], row)

    def test_every_byte_leaves_the_root_once(self):
        """A broadcast of 8 packets on 16 ranks: counters, and the bytes of the interfaces and the link between SIPs."""
        row = self.job("broadcast", "multicast", *harness.SMALL, *ON, "--bytes", "8KiB", "--out", self.folder / "out")
        self.assertEqual(row["stats"]["messages"], 1)
        self.assertEqual(row["stats"]["message_bytes"], 8192)
        # 15 members: each packet is copied 14 times on the way, and one of 15 credits of the message gets there.
        self.assertEqual(row["stats"]["tree_copies"], 8 * 14)
        self.assertEqual(row["stats"]["tree_credits_combined"], 14)
        self.assertEqual(row["stats"]["tree_combinations"], 0)
        with open(self.folder / "out" / "links.csv", newline="") as file:
            packets = {line["link"]: int(line["packets"]) for line in csv.DictReader(file)}
        # Beside them a PE sends its completion, and members a credit; the launch comes to each.
        self.assertEqual(packets["pod.sip0.cube_0_0.pe0.inject"], 8 + 1)
        self.assertEqual(packets["pod.sip0.e-sip1.w"], 8)
        for pe in (1, 2, 3):
            self.assertEqual(packets[f"pod.sip1.cube_1_0.pe{pe}.inject"], 2)
            self.assertEqual(packets[f"pod.sip1.cube_1_0.pe{pe}.eject"], 8 + 1)

    def test_every_contribution_is_added_once(self):
        row = self.job("reduce", "in_network", *harness.SMALL, *ON, "--bytes", "8KiB")
        # The root adds its own vector to the sum of 15 others, which routers have made of 14 additions.
        self.assertEqual(row["stats"]["tree_combinations"], 8 * 14)
        self.assertEqual(row["stats"]["messages"], 15)
        self.assertEqual(row["stats"]["tree_copies"], 14)  # of the credit
        software = self.job("reduce", "binomial", *harness.SMALL, "--bytes", "8KiB")
        self.assertAlmostEqual(row["energy"]["vector_pj"], software["energy"]["vector_pj"])

    def test_neither_build_order_nor_links_as_bytes_change_a_bit(self):
        for collective, algorithm in JOBS:
            seen = {(row["time_ns"], row["fingerprint"]) for row in (
                self.job(collective, algorithm, *harness.SMALL, *ON, "--bytes", "100KiB", *harness.sets(word))
                for word in ("sim.build_order=forward", "sim.build_order=reverse", "sim.build_order=shuffle:7",
                             "sim.links_as_bytes=true"))}
            self.assertEqual(len(seen), 1)

    def test_routers_that_can_do_it_change_nothing_for_others(self):
        for collective, algorithm in (("all_reduce", "ring_1d"), ("broadcast", "packed_trees")):
            job = (*harness.SMALL, "--collective", collective, "--algorithm", algorithm, "--bytes", "64KiB")
            with_trees, without = self.one(*job, *ON), self.one(*job)
            self.assertEqual((with_trees["time_ns"], with_trees["fingerprint"]),
                             (without["time_ns"], without["fingerprint"]))
            self.assertNotIn("tree_packets", without["stats"])

    def test_sums_in_f32(self):
        for mode in ("f32_acc", "f32_wire"):
            row = self.job("all_reduce", "in_network", *harness.SMALL, *ON, "--bytes", "20000", "--op", "avg",
                           *harness.sets(f"ccl.accumulation={mode}"))
            self.assertIs(row["ranks_bitwise_equal"], True)

    def test_auto_chooses_it_where_it_is_faster(self):
        for collective, algorithm in JOBS:
            rows = self.runs(*harness.SMALL, *ON, "--collective", collective, "--ranks", "pe", "--algorithm", "all",
                             "--bytes", "16KiB")
            fastest = min(rows, key=lambda row: row["time_ns"])
            chosen = self.job(collective, "auto", *harness.SMALL, *ON, "--ranks", "pe", "--bytes", "16KiB")
            self.assertEqual((fastest["algorithm"], chosen["algorithm"]), (algorithm, algorithm))
        off = self.job("broadcast", "auto", *harness.SMALL, "--ranks", "pe", "--bytes", "16KiB")
        self.assertNotEqual(off["algorithm"], "multicast")

    def test_stages_of_a_router_are_passed_once(self):
        """How a hop is split changes nothing for a packet alone."""
        for collective, algorithm in JOBS:
            job = (collective, algorithm, *harness.SMALL, *ON, "--ranks", "pe", "--bytes", 64)
            hop = "noc.hop_cycles=9"
            whole = self.job(*job, *harness.sets(hop))
            parts = self.job(*job, *harness.sets(hop, "noc.routing_cycles=1", "noc.vc_alloc_cycles=1",
                                                 "noc.switch_alloc_cycles=1"))
            self.assertEqual(whole["time_ns"], parts["time_ns"], algorithm)

    def test_auto_of_a_workload_chooses_messages(self):
        ops = [{"id": collective, "op": collective, "bytes": "16KiB", "algorithm": "auto"} for collective, _ in JOBS]
        path = self.file("auto.json", json.dumps({"groups": {"all": {"ranks": "pe"}},
                                                  "streams": [{"on": "all", "ops": ops}]}))
        row = self.one(*harness.SMALL, *ON, *harness.sets("ipcq.queue_pairs=32"), "--workload", path)
        self.assertEqual([op["algorithm"] for op in row["ops"] if op["algorithm"] in ("multicast", "in_network")], [])
        self.assertEqual(len(row["ops"]), len(JOBS))
        self.assertEqual(row["stats"]["tree_packets"], 0)

    def test_files_that_follow_messages_name_trees(self):
        """One multicast of the root and a reduction of 15 members, wherever messages are told of."""
        said = self.run_pod(*harness.SMALL, *ON, "--algorithm", "in_network", "--bytes", "8KiB", "--vcd",
                            self.folder / "w.vcd", "--timeline", self.folder / "t.json", "--out", self.folder / "out",
                            "--ccl-trace").stderr
        with open(self.folder / "out" / "ipcq.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        for direction, sends, received in (("multicast", 1, 15), ("reduction", 15, 1)):
            of_tree = [row for row in rows if row["direction"] == direction]
            self.assertEqual(sum(int(row["sends"]) for row in of_tree), sends)
            self.assertEqual(sum(int(row["bytes"]) for row in of_tree), sends * 8192)
            self.assertEqual(sum(int(row["received"]) for row in of_tree), received)
            for word, times in (("send", sends), ("recv", received)):
                self.assertEqual(len(re.findall(rf"^ccl rank \d+ at [\d.]+ ns: {word} {direction} 8192 bytes", said, re.M)),
                                 times)
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        names = collections.Counter(e["name"] for e in events)
        self.assertEqual([names[f"{what} {direction}"] for direction in ("multicast", "reduction")
                          for what in ("send", "receive")], [1, 15, 15, 1])
        changes = Vcd((self.folder / "w.vcd").read_text()).changes
        for direction, senders in (("multicast", 1), ("reduction", 15)):
            for field, count in (("my_head", senders), ("my_tail", 16 - senders)):
                ended = [int(of[-1][1], 2) for path, of in changes.items() if path.endswith(f".ipcq.{direction}.{field}")]
                self.assertEqual((len(ended), sum(ended)), (16, count), f"{direction}.{field}")

    def test_hangs_name_who_is_waited_for(self):
        """Of many members of a tree, the one that has done least; and a link that lost a packet or a credit."""
        def hang(fault):
            routers = {"multicast": True, "reduce": True}
            config = {"extends": str(harness.SMALL[1]), "noc": routers, "faults": [fault]}
            done = self.run_pod("--config", self.file("fault.json", json.dumps(config)), "--algorithm", "in_network",
                                "--bytes", "64KiB", expect=3)
            return done.stderr
        victim = "pod.sip1.cube_1_0.pe2"
        self.assertIn(f"root: {victim} ", hang({"kind": "dead_pe", "where": victim, "after": 20}))
        port = {"where": "pod.sip0.sip_port_e", "after": 3}
        self.assertIn("pod.sip0.cube_0_0.pe0 multicast has sent 4", hang({"kind": "drop", **port}))
        self.assertIn("pod.sip0.cube_0_0.pe0 reduction has released",
                      hang({"kind": "lost_credit", **port, "after": 0, "count": 9}))

    def test_refusals(self):
        def refused(*words):
            return self.run_pod(*harness.SMALL, "--algorithm", "in_network", *words, expect=2).stderr
        self.assertIn("noc.multicast: the routers of this machine copy no packets (value false", refused())
        self.assertIn("noc.reduce: the routers of this machine combine no packets",
                      refused(*harness.sets("noc.multicast=true")))
        self.assertIn("noc.reduce: requires noc.multicast=true",
                      refused(*harness.sets("noc.reduce=true")))
        self.assertIn("noc.flow virtual_cut_through", refused(*ON, *harness.sets("noc.flow=wormhole")))
        self.assertIn("comm.path", refused(*ON, *harness.sets("comm.path=staged")))
        self.assertIn("comm.checksum", refused(*ON, *harness.sets("comm.checksum=crc32c")))
        self.assertIn("noc.reduce_buffer_kib", refused(*ON, *harness.sets("noc.reduce_buffer_kib=1")))
        self.assertIn("ipcq.match", refused(*ON, *harness.sets("ipcq.match=sender")))
        self.assertIn("ccl.install", refused(*ON, *harness.sets("ccl.install=timed")))

    def test_ops_and_shards_are_refused_in_one_line_each(self):
        """Nothing is said of queue pairs that a tree has none of."""
        reason = "the routers' tree serves one collective per run, not ops of a workload or shards of SIPs"
        path = self.file("tree.json", json.dumps({"groups": {"all": {"ranks": "pe"}}, "streams": [
            {"on": "all", "ops": [{"op": "all_reduce", "bytes": 64, "algorithm": "in_network"}]}]}))
        sharded = self.file("sharded.json", json.dumps({"extends": str(harness.SMALL[1]), "ccl": {"algorithms": {
            "in_network": {"cube_layout": "row_wise"}}}}))
        for words in ((*harness.SMALL, "--workload", path),
                      ("--config", sharded, "--ranks", "sip", "--algorithm", "in_network", "--bytes", "8KiB")):
            lines = self.run_pod(*ON, *words, expect=2).stderr.splitlines()
            self.assertTrue(lines)
            for line in lines:
                self.assertIn(reason, line)


if __name__ == "__main__":
    harness.main()
