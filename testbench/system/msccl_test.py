#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs: small ones of our own, one that deadlocks, and those in DIECAST_MSCCL_DIR."""
import json
import os
import pathlib
import re
import unittest

import harness

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
            rows = self.runs("--config", harness.CONFIGS / "msccl.json", "--workload", path, "--bytes",
                             "6KiB:96KiB:x16")
            self.assertEqual([(r["bytes"], r["ranks"]) for r in rows], [(6144, ranks), (98304, ranks)], path)


if __name__ == "__main__":
    harness.main()
