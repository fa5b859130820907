#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine with one slower part is slower, and by no more than that part allows.

The bound is the same argument each time. Write the time of a run as the longest chain of waits and
services. A rate halved (or a latency doubled) at most doubles the services of that one kind and
leaves the others; with all of them doubled the whole chain would double. So T <= T' <= 2 T. The
sizes are large, so that each part lies on the chain and T' > T must hold.

One message between two neighbors has one chain without contention, and there the change is known to
the cycle.
"""
import harness

ALGORITHMS = ("ring_1d", "ring_1d_unidir", "ring_full_tile", "intercube")
BYTES = 64 * 1024

# Every duration of the machine doubled: clock, and what is given in ns or per second.
HALF_SPEED = ("noc.clock_ghz=0.5", "ucie.latency_ns=22", "ucie.gt_s=8", "sip_link.gbytes_s=32",
              "sip_link.latency_ns=200")


class Metamorphic(harness.Case):
    def times(self, *assignments):
        rows = self.runs(*harness.SMALL, "--algorithm", ",".join(ALGORITHMS), "--bytes", BYTES,
                         *harness.sets(*assignments))
        return {r["algorithm"]: r["time_ns"] for r in rows}

    def compare(self, setting):
        before, after = self.times(), self.times(setting)
        for name in ALGORITHMS:
            self.assertGreater(after[name], before[name], f"{setting} must slow {name}")
            self.assertLessEqual(after[name], 2 * before[name], f"{setting} slows {name} too much")
        return before, after

    def test_half_the_link_rate(self):
        # Flits of half the size at the same clock: serialization takes twice the cycles, hops the same.
        before, after = self.compare("noc.flit_bytes=32")
        # No faster than the busiest wire: a rank of the full-tile ring receives 15 vectors.
        self.assertGreaterEqual(before["ring_full_tile"], 15 * BYTES / 64)
        self.assertGreaterEqual(after["ring_full_tile"], 15 * BYTES / 32)

    def test_half_the_rates_within_a_pe(self):
        # Half the banks: an access takes twice the bank cycles, its latency stays.
        self.compare("pe.tcm_banks=16")
        # A reduction takes twice the vector cycles, its start-up stays.
        self.compare("pe.vector_lanes=32")

    def test_half_the_slots(self):
        # Half the messages in flight: throughput of a ring bound by credits halves, each message's own
        # trip stays.
        self.compare("ipcq.n_slots=2")

    def test_more_slots_never_hurt(self):
        times = [self.times(f"ipcq.n_slots={n}") for n in (1, 2, 4)]
        for name in ALGORITHMS:
            self.assertGreater(times[0][name], times[1][name], name)
            self.assertGreater(times[1][name], times[2][name], name)

    def test_twice_the_register_latency(self):
        # Each register access takes 7 cycles more, nothing else does.
        _, after = self.compare("pe.register_cycles=14")
        before, twice = self.times(), self.times("pe.register_cycles=28")
        for name in ALGORITHMS:
            self.assertLessEqual(twice[name], 2 * after[name], name)
            self.assertGreater(twice[name], after[name], name)
            self.assertGreater(twice[name], before[name], name)

    def test_a_machine_at_half_speed_takes_exactly_twice_as_long(self):
        # Nothing of the model may depend on the unit of time.
        before, after = self.times(), self.times(*HALF_SPEED)
        for name in ALGORITHMS:
            self.assertEqual(after[name], 2 * before[name], name)

    def test_more_bytes_take_longer(self):
        rows = self.runs(*harness.SMALL, "--algorithm", ",".join(ALGORITHMS), "--bytes", "16KiB:256KiB")
        for name in ALGORITHMS:
            times = [r["time_ns"] for r in rows if r["algorithm"] == name]
            self.assertEqual(len(times), 5)
            self.assertEqual(times, sorted(set(times)), name)

    def test_a_quiet_gap_longer_than_a_slice(self):
        # The host prepares for a simulated millisecond, in which nothing happens.
        before = self.times()
        self.assertEqual(self.times("host.host_cycles=1000000"), before)


class OneMessage(harness.Case):
    """Two neighbors exchange one message of 4 packets of 1 KiB and add it; a cycle is 1 ns."""

    BYTES = 4096

    def time(self, *assignments):
        return self.one(*harness.SMALL, "--workload", harness.PROGRAMS / "pair_exchange.xml", "--bytes",
                        self.BYTES, *harness.sets(*assignments))["time_ns"]

    def test_flits(self):
        # A packet is its payload and a header flit: 9, 17 or 33 cycles on the wire for 128, 64 or 32 B.
        times = [self.time(f"noc.flit_bytes={n}") for n in (128, 64, 32)]
        self.assertEqual([times[1] - times[0], times[2] - times[1]], [4 * (17 - 9), 4 * (33 - 17)])

    def test_vector_lanes(self):
        # 2048 elements: 32, 64, 128 cycles. The first of them may hide behind the memory.
        times = [self.time(f"pe.vector_lanes={n}") for n in (64, 32, 16)]
        self.assertGreater(times[1], times[0])
        self.assertLessEqual(times[1] - times[0], 32)
        self.assertEqual(times[2] - times[1], 64)

    def test_launch(self):
        # A collective begins so much later and ends so much later; neighbor_steps sums in one program and gathers in another.
        def steps(*assignments):
            return {name: self.one(*harness.SMALL, "--collective", name, "--algorithm", "neighbor_steps", "--ranks", "cube", "--bytes",
                                   "12KiB", *harness.sets(*assignments)) for name in ("all_reduce", "all_gather", "reduce_scatter")}
        before, after = steps(), steps("ccl.connect_ns=4000", "ccl.entry_signal_ns=300", "ccl.exit_ns=50")
        for name, row in before.items():
            launches = 2 if name == "all_reduce" else 1
            # A rank sleeps meanwhile, and an interrupt wakes it.
            self.assertAlmostEqual(after[name]["time_ns"] - row["time_ns"], launches * (4000 + 50 + 300 * (row["ranks"] - 1)),
                                   delta=20 * launches, msg=name)

    def test_registers(self):
        # The same whole number of accesses at any latency.
        times = [self.time(f"pe.register_cycles={n}") for n in (7, 14, 21, 28)]
        steps = {b - a for a, b in zip(times, times[1:])}
        self.assertEqual(len(steps), 1, times)
        step = steps.pop()
        self.assertGreater(step, 0)
        self.assertEqual(step % 7, 0)

    def test_tcm(self):
        # 512, 256, 128 B per cycle. The vector passes the memory at most 5 times: read by the sender,
        # written by the receiver, read twice and written once by the reduction.
        times = [self.time(f"pe.tcm_banks={n}") for n in (32, 16, 8)]
        for before, after, rate in ((times[0], times[1], 512), (times[1], times[2], 256)):
            self.assertGreater(after, before)
            self.assertLessEqual(after - before, 5 * self.BYTES / rate)

    def test_slots(self):
        # One message needs one slot.
        self.assertEqual({self.time(f"ipcq.n_slots={n}") for n in (1, 2, 4, 8)}, {self.time()})


if __name__ == "__main__":
    harness.main()
