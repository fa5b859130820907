#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs: small ones of our own, one that deadlocks, plans of MSCCL++, and those in DIECAST_MSCCL_DIR."""
import copy
import json
import os
import pathlib
import re
import unittest

import harness
import mscclpp_plans

OUTSIDE = os.environ.get("DIECAST_MSCCL_DIR", "")


def recursive_doubling_gather(ranks):
    """An all_gather as msccl-tools writes it: in round k each rank sends the 2^k chunks that it has to the rank 2^k away."""
    text = f'<algo name="doubling" proto="Simple" ngpus="{ranks}" nchannels="1" nchunksperloop="{ranks}" inplace="1" coll="allgather">'
    rounds = ranks.bit_length() - 1
    for rank in range(ranks):
        text += f'<gpu id="{rank}" i_chunks="1" o_chunks="{ranks}" s_chunks="0">'
        for k in range(rounds):
            peer, count = rank ^ (1 << k), 1 << k
            after = f'depid="{k - 1}" deps="1"' if k > 0 else 'depid="-1" deps="-1"'
            text += f'<tb id="{k}" send="{peer}" recv="{peer}" chan="0">'
            for s, (kind, at, wait) in enumerate((("s", rank >> k << k, after), ("r", peer >> k << k, 'depid="-1" deps="-1"'))):
                last = int(s == 1 and k + 1 < rounds)
                text += (f'<step s="{s}" type="{kind}" srcbuf="o" srcoff="{at}" dstbuf="o" dstoff="{at}" cnt="{count}" {wait} '
                         f'hasdep="{last}"/>')
            text += "</tb>"
        text += "</gpu>"
    return text + "</algo>"


def step(number, kind, at, to=None, after=(-1, -1)):
    (a, i), (b, j) = at, to or at
    return (f'<step s="{number}" type="{kind}" srcbuf="{a}" srcoff="{i}" dstbuf="{b}" dstoff="{j}" cnt="1" depid="{after[0]}" '
            f'deps="{after[1]}" hasdep="0"/>')


def xml(collective, ranks, chunks, sizes, blocks, in_place):
    """`blocks`: from a rank to (send, recv, chan, steps) of each of its thread blocks."""
    text = f'<algo name="{collective}" proto="Simple" ngpus="{ranks}" nchunksperloop="{chunks}" inplace="{in_place}" coll="{collective}">'
    for rank in range(ranks):
        text += '<gpu id="{}" i_chunks="{}" o_chunks="{}" s_chunks="{}">'.format(rank, *sizes)
        for number, (send, recv, chan, steps) in enumerate(blocks(rank)):
            text += f'<tb id="{number}" send="{send}" recv="{recv}" chan="{chan}">' + "".join(steps) + "</tb>"
        text += "</gpu>"
    return text + "</algo>"


def ring_of_channels(ranks, channels):
    """An all_reduce in place: a ring per channel, so that every rank has a queue pair to and one from a peer per channel."""
    def blocks(rank):
        def at(k, c):
            return "i", (rank - k) % ranks * channels + c
        kinds = ["s"] + ["rrs"] * (ranks - 2) + ["rrcs"] + ["rcs"] * (ranks - 2) + ["r"]
        return [((rank + 1) % ranks, (rank - 1) % ranks, c, [step(k, kind, at(k, c)) for k, kind in enumerate(kinds)])
                for c in range(channels)]
    return xml("allreduce", ranks, ranks * channels, (ranks * channels, 0, 0), blocks, 1)


def direct(collective, ranks, channels):
    """Out of place, every rank with every other on several channels: an all_gather, all_to_all or reduce_scatter."""
    def blocks(rank):
        peers = [q for q in range(ranks) if q != rank]
        pairs = [(q, c) for q in peers for c in range(channels)]
        gathers = collective == "allgather"
        into, out = ("s", "o") if collective == "reduce_scatter" else ("o", "o")
        all_blocks = [(q, q, c, [step(0, "s", ("i", c if gathers else q * channels + c)), step(1, "r", (into, q * channels + c))])
                      for q, c in pairs]
        for c in range(channels):
            first = step(0, "cpy", ("i", c if gathers else rank * channels + c),
                         (out, c if collective == "reduce_scatter" else rank * channels + c))
            sums = [step(k + 1, "re", ("s", q * channels + c), ("o", c), (pairs.index((q, c)), 1)) for k, q in enumerate(peers)]
            all_blocks.append((-1, -1, 0, [first] + sums * (collective == "reduce_scatter")))
        return all_blocks
    own, everything = channels, ranks * channels
    sizes = {"allgather": (own, everything, 0), "alltoall": (everything, everything, 0),
             "reduce_scatter": (everything, own, everything)}[collective]
    return xml(collective, ranks, everything, sizes, blocks, 0)


class PublishedShapes(harness.Case):
    """Programs as AMD and Microsoft publish them need more queue pairs and TCM than the defaults have."""

    def test_queue_pairs_and_memory_are_what_the_program_needs(self):
        programs = {"ring.xml": ring_of_channels(8, 32), "gather.xml": direct("allgather", 8, 3),
                    "exchange.xml": direct("alltoall", 8, 2), "scatter.xml": direct("reduce_scatter", 4, 6)}
        for name, text in programs.items():
            program = self.file(name, text)
            small, large = self.runs("--workload", program, "--bytes", "96KiB:1536KiB:x16")
            in_hbm = "the TCM of 1464 KiB is too small for the tensors: they are in HBM (ccl.tensor_kind=hbm)"
            self.assertNotIn(in_hbm, small["notes"], name)
            self.assertIn(in_hbm, large["notes"], name)
            self.assertGreater(large["efficiency"], 0)
            wired = [n for n in small["notes"] if "queue pairs per PE: ipcq.queue_pairs is" in n]
            self.assertEqual(len(wired), name != "exchange.xml", small["notes"])

    def test_receive_rings_leave_room(self):
        row = self.one("--workload", self.file("gather.xml", direct("allgather", 8, 16)), "--bytes", "64KiB")
        self.assertIn("112 receive rings per PE take half of the TCM: ipcq.slot_bytes is 1664 in place of 8192", row["notes"])

    def test_a_last_chunk_that_is_padded(self):
        """Chunks fill the TCM, and the last one has to be padded to whole chunks of the program."""
        self.one(*harness.SMALL, "--workload", self.file("ring.xml", ring_of_channels(4, 6)), "--bytes", "1000002",
                 *harness.sets("pe.tcm_kib=320"))

    @harness.exhaustive
    def test_sixteen_mebibytes(self):
        for text in (ring_of_channels(8, 4), direct("alltoall", 8, 2)):
            row, = self.result("--workload", self.file("large.xml", text), "--bytes", "16MiB", "--no-data")["runs"]
            self.assertEqual((row["status"], row["verified"]), ("ok", None))
            self.assertGreater(row["efficiency"], 0)

    def test_more_queue_pairs_than_there_can_be(self):
        done = self.run_pod("--workload", self.file("many.xml", direct("allgather", 16, 35)), "--bytes", "560KiB", expect=2)
        self.assertIn("--workload: the program needs more queue pairs than a PE has at most (value 525; expected at most 512)", done.stderr)


class Order(harness.Case):
    def test_a_program_that_lacks_a_dependency_is_refused(self):
        """Without the wait for the block that receives, a sum may be made of what has not come."""
        text = direct("reduce_scatter", 4, 1).replace('depid="1" deps="1"', 'depid="-1" deps="-1"')
        for size in ("64", "256KiB"):
            done = self.run_pod(*harness.SMALL, "--workload", self.file("race.xml", text), "--bytes", size, expect=2)
            self.assertRegex(done.stderr, r"race.xml:1: gpu \d tb 3 step 2 \(re\) reads s\[\d\], which tb 1 step 1 \(r\) writes "
                                          r"\(.*race.xml:1\), and nothing orders them")

    def test_recursive_doubling_from_256_kib_on(self):
        program = self.file("doubling.xml", recursive_doubling_gather(16))
        self.runs(*harness.SMALL, "--workload", program, "--bytes", "256KiB:1MiB:x2")


class Plans(harness.Case):
    """Execution plans of MSCCL++."""

    def test_every_kind_of_operation_at_two_sizes(self):
        for make in mscclpp_plans.ALL:
            for ranks in (4, 8):
                plan = self.file("plan.json", json.dumps(make(ranks)))
                small, large = self.runs(*harness.SMALL, "--workload", plan, "--bytes", "1KiB:128KiB:x128")
                self.assertEqual((small["ranks"], small["algorithm"]), (ranks, make(ranks)["name"]), make.__name__)
                self.assertGreater(large["time_ns"], small["time_ns"])

    def test_the_shipped_plan(self):
        row = self.one(*harness.SMALL, "--workload", harness.ROOT / "docs/examples/mscclpp_allreduce_4.json")
        self.assertEqual((row["collective"], row["ranks"]), ("all_reduce", 4))

    def refusal(self, plan):
        file = self.file("plan.json", json.dumps(plan))
        return self.run_pod(*harness.SMALL, "--workload", file, "--bytes", "4KiB", expect=2).stderr

    def test_what_cannot_be_mapped_is_refused_with_its_place(self):
        def at(plan, *path):
            for key in path[:-1]:
                plan = plan[key]
            return plan, path[-1]
        ops = ("gpus", 1, "threadblocks", 0, "ops")
        wrongs = (
            (("collective",), "broadcast", "plan.json: collective: is not supported (value broadcast"),
            (("inplace",), 1, "plan.json: inplace: is no flag (value 1; expected true or false)"),
            (("gpus", 0, "inputChunks"), 1, "plan.json: gpus[0].inputChunks: is of MSCCL++'s older form of plans, which is not read"),
            (("gpus", 1, "id"), 3, "gpus[1].id: is no whole number in range (value 3; expected 1 to 1)"),
            (("gpus", 0, "channels", 0, "channel_type"), "switch", "gpus[0].channels[0].channel_type: switch channels (NVLS)"),
            (("gpus", 0, "channels", 0, "connected_to", 0), 9, "gpus[0].channels[0].connected_to[0]: is no whole number in range"),
            ((*ops, 0, "name"), "glres", "gpus[1].threadblocks[0].ops[0].name: is no supported operation (value glres"),
            ((*ops, 0, "channel_ids", 0), 7, "ops[0].channel_ids[0]: is no whole number in range (value 7; expected 0 to 2)"),
            ((*ops, 2, "dst_buff", 0, "index"), 40, "plan.json: gpus[1].threadblocks[0].ops[2].dst_buff[0]: is beyond its buffer of "
             "gpu 0 (value index 40, size 1; expected within its 4 chunks)"),
            (("gpus", 0, "channels", 0, "connected_to", 0), 0, "gpus[0].channels[0].connected_to: names the gpu itself (value 0"),
            (("gpus", 0, "output_chunks"), 5, "gpus: the larger of input_chunks and output_chunks is no multiple of gpus 4 (value 5"),
            ((*ops, 2, "dst_buff", 0, "size"), 2, "ops[2]: has buffers of different size"),
            ((*ops, 2, "dst_buff"), [], "ops[2]: put has other buffers, local or remote (l, r), than it must have (value l>; expected l+>r+)"),
            ((*ops, 6), {"name": "nop"}, "and the plan never ends (value wait"),
            ((*ops, 7, "channel_ids"), [0, 0, 1, 2], "waits for what no other operation gives it, and the plan never ends"),
            ((*ops, 1), {"name": "nop"}, "(put): writes to the output of gpu 1, where nothing waits for it"),
            ((*ops, 7), {"name": "nop"}, "(put): writes to the output of gpu 1, where nothing waits for it"))
        for path, value, expected in wrongs:
            plan = copy.deepcopy(mscclpp_plans.gather_by_puts(4))
            parent, key = at(plan, *path)
            parent[key] = value
            self.assertIn(expected, self.refusal(plan))

    def test_two_thread_blocks_on_one_channel_are_refused(self):
        plan = mscclpp_plans.reduce_by_reads(4)
        plan["gpus"][0]["threadblocks"][1]["channels"] = plan["gpus"][0]["threadblocks"][0]["channels"]
        self.assertIn("gpus[0].threadblocks[1].ops[0] (rlxsignal): another thread block does this on the same channel",
                      self.refusal(plan))

    def test_a_plan_that_lacks_a_wait_is_refused(self):
        plan = mscclpp_plans.reduce_through_scratch(4)
        plan["gpus"][2]["threadblocks"][0]["ops"] = [op for op in plan["gpus"][2]["threadblocks"][0]["ops"]
                                                     if (op["name"], op.get("channel_type")) != ("wait", "port")]
        self.assertRegex(self.refusal(plan),
                         r"plan.json: gpus\[2\].threadblocks\[0\].ops\[\d+\] \(re\): reads chunks of s that "
                         r"\S*plan.json: gpus\[\d\]\S* \(put\) writes, and nothing orders them \(expected a signal and the wait")


class OwnPrograms(harness.Case):
    def test_the_largest_step_fits_its_slot_ring(self):
        """Steps of 8 chunks, rings of 4 slots: in a vector of several slices each chunk takes a slot of its own."""
        program = self.file("doubling.xml", recursive_doubling_gather(16))
        small, large = self.runs(*harness.SMALL, "--workload", program, "--bytes", "16KiB:512KiB:x32")
        self.assertEqual([n for n in small["notes"] if "slot rings" in n], [])
        self.assertIn("the program's largest step needs 8 slots: slot rings have 8 of 4096 B", large["notes"])
        done = self.run_pod(*harness.SMALL, "--workload", program, "--bytes", "512KiB",
                            *harness.sets("ipcq.n_slots=1", "ipcq.slot_bytes=256"), expect=2)
        self.assertIn("a step of 8 chunks does not fit a slot ring (value ipcq.n_slots 1 x ipcq.slot_bytes 256; "
                      "expected at least 512 bytes)", done.stderr)

    def test_each_at_several_sizes(self):
        for name, ranks in (("pair_exchange", 2), ("chain_4", 4), ("all_pairs_3", 3)):
            rows = self.runs(*harness.SMALL, "--workload", harness.PROGRAMS / f"{name}.xml", "--bytes",
                             "4:64KiB:x128")
            self.assertEqual([r["bytes"] for r in rows], [4, 512, 65536])
            for row in rows:
                self.assertEqual((row["algorithm"], row["ranks"]), (name, ranks))
                self.assertGreater(row["stats"]["messages"], 0)

    def test_other_collectives(self):
        """A size that one slice holds, and one that takes several."""
        for name, collective, ranks in (("all_to_all_3", "all_to_all", 3), ("all_gather_4", "all_gather", 4),
                                        ("reduce_scatter_4", "reduce_scatter", 4)):
            rows = self.runs(*harness.SMALL, "--workload", harness.PROGRAMS / f"{name}.xml", "--bytes",
                             "48:196608:x4096")
            self.assertEqual([(r["collective"], r["ranks"], r["bytes"]) for r in rows],
                             [(collective, ranks, 48), (collective, ranks, 196608)])
            self.assertFalse(any("runs" in n for n in rows[0]["notes"]))
            self.assertTrue(any(re.match(r"the program runs \d+ times", n) for n in rows[1]["notes"]), rows[1])

    def test_a_size_that_cannot_be_cut(self):
        done = self.run_pod(*harness.SMALL, "--workload", harness.PROGRAMS / "all_gather_4.xml", "--bytes", "6",
                            expect=2)
        self.assertIn("all_gather cannot cut the vector into 4 equal chunks (value 3 elements; expected a "
                      "multiple of 4)", done.stderr)
        done = self.run_pod(*harness.SMALL, "--workload", harness.PROGRAMS / "all_gather_4.xml", "--bytes", "7", expect=2)
        self.assertEqual(done.stderr, "--bytes: not a whole number of f16 elements (value 7; expected a multiple of 2)\n")

    def test_a_memory_that_is_too_small_is_named_with_its_key(self):
        job = (*harness.SMALL, "--workload", harness.PROGRAMS / "all_gather_4.xml", "--bytes", "16MiB", "--no-data")
        done = self.run_pod(*job, *harness.sets("hbm.port_mib=1"), expect=2)
        least = re.search(r"does not fit the HBM port with the program of --workload: .*expected hbm.port_mib at least (\d+)\)", done.stderr)[1]
        self.run_pod(*job, *harness.sets(f"hbm.port_mib={int(least) // 2}"), expect=2)
        self.run_pod(*job, *harness.sets(f"hbm.port_mib={least}"))

    def test_sum_of_a_program(self):
        row = self.one(*harness.SMALL, "--workload", harness.PROGRAMS / "chain_4.xml", "--data",
                       "rank_plus_one", "--bytes", "1KiB")
        self.assertEqual((row["output_min"], row["output_max"]), (10, 10))

    def test_ll_runs_as_simple_and_says_so(self):
        row = self.one(*harness.SMALL, "--workload", harness.PROGRAMS / "all_pairs_3.xml")
        self.assertIn("protocol LL runs as Simple", row["notes"])

    def test_build_order(self):
        job = (*harness.SMALL, "--workload", harness.PROGRAMS / "all_pairs_3.xml", "--bytes", "9000")
        first = self.one(*job)
        other = self.one(*job, *harness.sets("sim.build_order=shuffle:5"))
        self.assertEqual((other["time_ns"], other["fingerprint"]), (first["time_ns"], first["fingerprint"]))

    def test_receive_first_is_a_deadlock(self):
        done = self.run_pod(*harness.SMALL, "--workload", harness.PROGRAMS / "receive_first.xml", "--bytes",
                            "1KiB", "--out", "out", expect=3)
        report = json.loads((self.folder / "out" / "deadlock.json").read_text())
        pes = {"pod.sip0.cube_0_0.pe0", "pod.sip0.cube_0_0.pe1"}
        self.assertEqual({w["waiter"] for w in report["waits"]}, pes)
        self.assertEqual([r["kind"] for r in report["roots"]], ["cycle"])
        for pe in pes:
            self.assertIn(pe, done.stderr)
        # Directions are called as the program calls its connections.
        self.assertEqual({w["direction"] for w in report["waits"]}, {"with1.c0", "with0.c0"})
        self.assertIn("pod.sip0.cube_0_0.pe0 with1.c0 waits for a message", done.stderr)
        self.assertNotIn("custom", done.stderr)


@unittest.skipUnless(OUTSIDE, "DIECAST_MSCCL_DIR names no folder of programs")
class OutsidePrograms(harness.Case):
    def test_every_program_at_two_sizes(self):
        programs = sorted(pathlib.Path(OUTSIDE).glob("*.xml"))
        self.assertTrue(programs, f"no program in {OUTSIDE}")
        for path in programs:
            ranks = int(re.search(r'ngpus="(\d+)"', path.read_text()).group(1))
            rows = self.runs("--workload", path, "--bytes", "6KiB:1536KiB:x256")
            self.assertEqual([(r["bytes"], r["ranks"]) for r in rows], [(6144, ranks), (1572864, ranks)], path)


if __name__ == "__main__":
    harness.main()
