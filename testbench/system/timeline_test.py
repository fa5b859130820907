#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--timeline, --vcd-window and --progress."""
import collections
import csv
import decimal
import json
import math
import os
import pty
import re
import subprocess
import time

import harness
from trace_event import BadTrace, Trace
from vcd import Vcd

NOC = harness.binary("noc")
HBM = harness.binary("hbm")
FLIT_BYTES = 64


class Timeline(harness.Case):

    def timeline(self, *arguments, expect=0):
        path = self.folder / "timeline.json"
        self.run_pod(*harness.SMALL, *arguments, "--timeline", path, "--progress", "off", expect=expect)
        return Trace(path.read_text())

    def rows(self, path):
        return list(csv.DictReader(path.read_text().splitlines()))

    def test_it_agrees_with_the_results(self):
        out = self.folder / "out"
        row = self.one(*harness.SMALL, "--bytes", "16KiB")
        trace = self.timeline("--bytes", "16KiB", "--out", out)
        kernels = [s for s in trace.slices if s["name"] == "kernel"]
        self.assertEqual(len(kernels), 16)
        self.assertEqual(len({s["ts"] for s in kernels}), 1, "not a common start")
        self.assertEqual(float(max(s["dur"] for s in kernels) * 1000), row["time_ns"])
        sends = sum(int(q["sends"]) for q in self.rows(out / "ipcq.csv"))
        self.assertEqual(len(trace.flows), sends)
        self.assertEqual(len([i for i in trace.instants if i["name"].startswith("send ")]), sends)
        flits = collections.Counter()
        for s in trace.slices:
            if s["name"] == "packet":
                group = trace.groups[s["pid"]]
                track = trace.tracks[s["pid"], s["tid"]].rpartition(" vc")[0]
                flits[track if group == "SIP links" else f"{group.removesuffix(' links')}.{track}"] += \
                    int(s["args"]["flits"])
        for link in self.rows(out / "links.csv"):
            self.assertEqual(flits[link["link"]] * FLIT_BYTES, int(link["bytes"]), link["link"])

    def test_ops_of_a_workload_last_as_long_as_the_results_say(self):
        """Of streams that share PEs, and of messages that others pass over."""
        send = {"op": "isend", "id": "s", "only": [0], "peer": 1, "bytes": 64}
        take = {"op": "irecv", "id": "r", "only": [1], "peer": 0, "bytes": 64}
        sums = {"name": "sums", "on": [0, 1, 5], "repeat": 2, "ops": [{"op": "all_reduce", "bytes": 4096}, {"op": "compute", "ns": 100}]}
        late = {"name": "late", "on": [0, 1], "ops": [{"op": "delay", "ns": 900, "id": "d"}, send, take, {"op": "waitall", "id": "w"}]}
        job = ("--workload", self.file("w.json", json.dumps({"streams": [sums, late]})))
        result = self.one(*harness.SMALL, *job)
        trace = self.timeline(*job)
        start, = {s["ts"] for s in trace.slices if s["name"] == "kernel"}
        ops = collections.defaultdict(list)
        for s in trace.slices:
            if s["cat"] == "op":
                ops[s["name"]].append((s["ts"] - start, s["ts"] + s["dur"] - start))
                stream = "late" if s["name"].split()[0] in "dsrw" else "sums"
                self.assertRegex(trace.tracks[s["pid"], s["tid"]], rf"^pe[01] {stream}$")
        told = {f"{o['id']} {o['iteration']}": (o["start_ns"], o["end_ns"]) for o in result["ops"]}
        self.assertEqual({name: (float(min(a for a, _ in all_) * 1000), float(max(b for _, b in all_) * 1000))
                          for name, all_ in ops.items()}, told)

    def test_packets_beyond_a_number_are_left_out_with_a_note(self):
        """All else stays."""
        whole = self.timeline("--bytes", "16KiB")
        limit = harness.sets("trace.timeline_packets=100")
        row = self.one(*harness.SMALL, "--bytes", "16KiB", "--timeline", "t.json", *limit)
        brief = Trace((self.folder / "t.json").read_text())
        packets = [s for s in brief.slices if s["name"] == "packet"]
        self.assertEqual(len(packets), 100)
        rest = [s for s in whole.slices if s["name"] != "packet"]
        self.assertEqual([s for s in brief.slices if s["name"] != "packet"], rest)
        self.assertEqual([i["name"] for i in brief.instants if "left out" in i["name"]],
                         ["later packets are left out (trace.timeline_packets)"])
        self.assertIn("the timeline draws the first 100 packets", "\n".join(row["notes"]))

    def test_it_changes_nothing(self):
        plain = self.one(*harness.SMALL, "--bytes", "4KiB")
        watched = self.one(*harness.SMALL, "--bytes", "4KiB", "--timeline", self.folder / "t.json")
        for key in ("time_ns", "fingerprint"):
            self.assertEqual(plain[key], watched[key], key)

    def test_waits_have_their_causes(self):
        causes = collections.Counter()
        for algorithm, sets in (("intercube", "noc.max_packet_bytes=64"), ("ring_1d", "ipcq.n_slots=1"),
                                ("ring_1d", "ipcq.buffer_kind=hbm")):
            trace = self.timeline("--bytes", "16KiB", "--algorithm", algorithm, *harness.sets(sets))
            causes.update(s["args"]["cause"] for s in trace.slices if s["name"].startswith("wait:"))
        for cause in ("data", "credit", "dma", "memory"):
            self.assertGreater(causes[cause], 0, cause)
        commands = {s["name"] for s in trace.slices if trace.groups[s["pid"]].endswith("HBM")}
        self.assertTrue(commands & {"RD", "RDA"} and commands & {"WR", "WRA"}, commands)

    def test_waits_for_the_tag_unit_name_no_queue_pair(self):
        flood = harness.ROOT / "platforms" / "workloads" / "unexpected_flood.json"
        trace = self.timeline("--workload", flood)
        waits = [s for s in trace.slices if s.get("args", {}).get("cause") == "message"]
        self.assertTrue(waits)
        self.assertEqual({s["name"] for s in waits}, {"wait: message"})

    def test_counters_stay_in_their_range(self):
        trace = self.timeline("--bytes", "16KiB", *harness.sets("ipcq.n_slots=2"))
        credits = [c for c in trace.counters if c["name"].endswith(" credits")]
        seen = {v for c in credits for v in c["args"].values()}
        self.assertEqual(seen, {0, 1, 2})
        shares = [v for c in trace.counters if c["name"].endswith(" utilization") for v in c["args"].values()]
        self.assertTrue(all(0 <= v <= 1 for v in shares))
        self.assertGreater(max(shares), decimal.Decimal("0.01"))

    def test_a_deadlock_ends_in_open_slices(self):
        trace = self.timeline("--ranks", "sip", "--bytes", "4KiB", "--algorithm", "ring_1d",
                              *harness.sets("ipcq.match=sender"), expect=3)
        self.assertTrue([s for s in trace.slices if s.get("args", {}).get("unfinished")])

    def test_ops_that_never_end_are_drawn_to_the_end(self):
        ops = [{"op": "delay", "ns": 100, "id": "d"}, {"op": "all_reduce", "id": "sum", "algorithm": "ring_1d", "bytes": 4096}]
        job = ("--workload", self.file("w.json", json.dumps({"streams": [{"name": "s", "on": [0, 8], "ops": ops}]})))
        slices = self.timeline(*job, *harness.sets("ipcq.match=sender"), expect=3).slices
        kernel, *_ = (s for s in slices if s["name"] == "kernel")
        self.assertEqual(sorted((s["name"], "args" in s, s["ts"] + s["dur"] == kernel["ts"] + kernel["dur"]) for s in slices if s["cat"] == "op"),
                         [("d 0", False, False)] * 2 + [("sum 0", True, True)] * 2)

    def test_cores_without_queue_pairs_have_tracks(self):
        path = self.folder / "timeline.json"
        self.run_pod("--config", harness.CONFIGS / "barrier_small.json", "--collective", "barrier", "--timeline", path)
        trace = Trace(path.read_text())
        kernels = {(s["pid"], s["tid"]) for s in trace.slices if s["name"] == "kernel"}
        self.assertGreaterEqual(len(kernels), 12)

    def test_scope(self):
        trace = self.timeline("--algorithm", "ring_1d", "--bytes", "4KiB", "--timeline-scope", "pod.sip1.cube_0_0*")
        self.assertEqual(set(trace.groups.values()), {"pod.sip1.cube_0_0" + kind for kind in ("", " links", " HBM")})

    def test_a_scope_that_matches_nothing_is_refused(self):
        for flag in ("vcd", "timeline"):
            noc = [NOC, "--cycles", "100"]  # of whose cube no PE is built
            for words, scope in ((self.command(*harness.SMALL), "pod.sip9*"), (noc, "pod.sip9*"),
                                 (noc, "pod.sip0.cube_0_0.pe0"), ([HBM, "--requests", "10"], "pod.sip9*")):
                words = [*map(str, words), f"--{flag}", self.folder / "f", f"--{flag}-scope", scope]
                done = subprocess.run(words, capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, words)
                self.assertIn(f"--{flag}-scope: matches nothing of this run (value {scope}", done.stderr)

    def test_one_run_only(self):
        self.assertIn("--timeline", self.run_pod(*harness.SMALL, "--bytes", "4KiB:8KiB", "--timeline", "t.json", expect=2).stderr)
        self.run_pod(*harness.SMALL, "--timeline", self.folder / "absent" / "t.json", expect=5)

    def test_network_study(self):
        path = self.folder / "noc.json"
        subprocess.run([NOC, "--cycles", "500", "--warmup-cycles", "0", "--timeline", path], check=True,
                       capture_output=True)
        trace = Trace(path.read_text())
        self.assertGreater(len(trace.slices), 1000)

    def test_memory_study(self):
        plain = self.hbm("--format", "json")
        done = self.hbm("--format", "json", "--timeline", self.folder / "t.json", "--vcd", self.folder / "w.vcd")
        old, new = (json.loads(text)["runs"][0] for text in (plain, done))
        for key in ("bandwidth_gbytes_s", "avg_latency_ns", "row_hit_rate", "lost_time"):
            self.assertEqual(new[key], old[key], key)
        trace = Trace((self.folder / "t.json").read_text())
        data = [s for s in trace.slices if s["name"] in ("RD", "RDA", "WR", "WRA")]
        self.assertEqual(len(data), 2000)
        wave = Vcd((self.folder / "w.vcd").read_text())
        pulses = [v for path, changes in wave.changes.items() if path.endswith(".column_command")
                  for t, v in changes if t is not None and int(v, 2) != 0]
        self.assertEqual(len(pulses), 2000)
        self.hbm("--outstanding", "1,2", "--timeline", self.folder / "t.json", expect=2)

    def hbm(self, *arguments, expect=0):
        words = [HBM, "--config", harness.CONFIGS / "hbm_reference.json", "--pattern", "rand", "--requests", "2000",
                 *arguments]
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout

    def test_the_checker_finds_faults(self):
        head = '{"displayTimeUnit":"ns","traceEvents":[' \
               '{"ph":"M","pid":1,"tid":0,"ts":0,"name":"process_name","args":{"name":"g"}},' \
               '{"ph":"M","pid":1,"tid":1,"ts":0,"name":"thread_name","args":{"name":"t"}},'
        slice_at = '{{"ph":"X","pid":1,"tid":1,"ts":{},"dur":{},"name":"a"}}'.format
        flow = '{{"ph":"{}","pid":1,"tid":1,"ts":{},"name":"m","cat":"m","id":1,"bp":"e"}}'.format
        Trace(head + slice_at(0, 2) + "," + slice_at(1, 1) + "]}")
        for bad in (slice_at(0, 2) + "," + slice_at(1, 2), flow("s", 0), slice_at(0, -1),
                    slice_at(0, 9) + "," + flow("s", 5) + "," + flow("f", 4), '{"ph":"X"}',
                    slice_at(0, 1) + "," + flow("s", 1) + "," + flow("f", 4)):
            with self.assertRaises(BadTrace, msg=bad):
                Trace(head + bad + "]}")


class Window(harness.Case):

    def test_a_window_shows_a_part_of_the_whole(self):
        whole, part = self.folder / "whole.vcd", self.folder / "part.vcd"
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--vcd", whole)
        self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--vcd", part, "--vcd-window", "1500:3000")
        whole, part = Vcd(whole.read_text()), Vcd(part.read_text())
        self.assertEqual(part.widths, whole.widths)
        first, last = 1_500_000_000, 3_000_000_000
        self.assertEqual(part.end, last)

        def at(changes, time):
            before = [v for t, v in changes if t is None or t <= time]
            return int(before[-1], 2)

        for path, changes in whole.changes.items():
            mine = part.changes[path]
            self.assertEqual(at(mine, first), at(changes, first), path)
            inside = [(t, int(v, 2)) for t, v in changes if t is not None and first < t <= last]
            self.assertEqual([(t, int(v, 2)) for t, v in mine if t is not None and t > first], inside, path)

    def test_the_shipped_save_file_opens_on_signals_that_exist(self):
        self.run_pod(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "1KiB", "--vcd", self.folder / "w.vcd",
                     *harness.sets("trace.vcd_credits=true"))
        widths = Vcd((self.folder / "w.vcd").read_text()).widths
        saved = (harness.ROOT / "platforms/waveforms/small_pod.gtkw").read_text().splitlines()
        shown = [line.partition("} ")[2] if line.startswith("+{") else line for line in saved]  # +{name shown} signal
        names = [line.partition("[") for line in shown if line.startswith("pod.")]
        self.assertEqual(len(names), 34)
        for path, _, bits in names:
            self.assertIn(path, widths)
            self.assertEqual(bits or "0]", f"{widths[path] - 1}:0]" if bits else "0]", path)

    def test_commands_of_hbm(self):
        job = (*harness.SMALL, "--bytes", "4KiB", *harness.sets("ipcq.buffer_kind=hbm"))
        plain = self.one(*job)
        out = self.folder / "out"
        self.run_pod(*job, "--vcd", self.folder / "w.vcd", "--vcd-scope", "*.hbm*", "--out", out)
        watched = json.loads((out / "result.json").read_text())["runs"][0]
        self.assertEqual((watched["time_ns"], watched["fingerprint"]), (plain["time_ns"], plain["fingerprint"]))
        wave = Vcd((self.folder / "w.vcd").read_text())
        given = collections.Counter()
        for path, changes in wave.changes.items():
            if path.endswith("_command"):
                given.update((path.rpartition(".pc")[0], int(v, 2)) for t, v in changes if t is not None)
        channels = list(csv.DictReader((out / "hbm.csv").read_text().splitlines()))
        self.assertTrue(channels)
        for c in channels:
            for name, codes in (("reads", (4, 6)), ("writes", (5, 7)), ("activates", (1,))):
                self.assertEqual(sum(given[c["channel"], code] for code in codes), int(c[name]), (c["channel"], name))

    def test_flags_without_their_file_are_refused(self):
        for flag, value, file in (("--vcd-scope", "*", "--vcd"), ("--vcd-window", "1:2", "--vcd"),
                                  ("--timeline-scope", "*", "--timeline")):
            for binary in (harness.POD, HBM):
                done = subprocess.run([binary, flag, value], capture_output=True, text=True, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"{flag}: requires {file}", done.stderr)

    def test_bad_windows(self):
        for text in ("5", "9:5", "a:b", ":", "-1:5", "1:2:3"):
            done = self.run_pod(*harness.SMALL, "--vcd", "w.vcd", "--vcd-window", text, expect=2)
            self.assertIn("--vcd-window", done.stderr, text)


class Progress(harness.Case):

    def test_on_draws_lines(self):
        done = self.run_pod(*harness.SMALL, "--bytes", "16KiB:32KiB", "--iters", "3", "--progress", "on")
        self.assertRegex(done.stderr, r"run 1 of 2 \[[#.]{24}\] +\d+%  [\d.]+ us simulated  [\d.]+ us/s")
        self.assertIn("run 2 of 2", done.stderr)

    # Small slots make one launch last; a large TCM holds vectors that last on any computer.
    SLOW = harness.sets("ipcq.slot_bytes=128", "pe.tcm_kib=131072")
    LONG = (*harness.SMALL, "--algorithm", "ring_1d", "--ranks", "pe", *SLOW, "--progress", "on")
    LINE = re.compile(r"\] +(\d+)%  ([\d.]+) us simulated  [\d.]+ us/s(?:  about \d+ (?:s|min) left)?(?:  ([\d.]+) us (?:already, )?of ([\d.]+) us (.+))?")
    Line = collections.namedtuple("Line", "share simulated elapsed of ground")  # times in us

    def lines(self, draw, least=6):
        """What is drawn by draw(factor), a run that lasts that many times as long; a line comes every quarter of a second, and
        the run grows to what this computer needs the time of some of them for, going by the time of the one before."""
        factor = 1
        while True:
            begun = time.monotonic()
            found = [self.Line(int(f[0]), float(f[1]), float(f[2] or 0), float(f[3] or 0), f[4]) for f in
                     self.LINE.findall(draw(factor))]
            if len(found) >= least:
                self.assertEqual([l.share for l in found], sorted(l.share for l in found))
                return found
            if factor == 64:
                break
            longer = 1.2 * (least + 1) * 0.25 / (time.monotonic() - begun)
            factor = min(max(factor + 1, math.ceil(factor * longer)), 4 * factor, 64)
        self.fail(f"{len(found)} lines in a run up to 64 times as long; expected {least}")

    def launch_lines(self, *arguments):
        return self.lines(lambda factor: self.run_pod(*self.LONG, "--bytes", f"{512 * factor}KiB", *arguments).stderr)

    def check_steady(self, lines, first, share_of_launch):
        """Within a launch the share goes with the simulated time, from `first` percent on, as each note says; behind three
        quarters of what was expected ever slower, as what has not ended is not done."""
        for line in lines:
            self.assertEqual(line.of, lines[0].of)
            self.assertAlmostEqual(line.simulated - line.elapsed, lines[0].simulated - lines[0].elapsed, delta=0.003)
            part = line.elapsed / line.of
            steady = first + share_of_launch * (part if part < 0.75 else 1 - 0.25 * math.exp(3 - 4 * part))
            self.assertGreaterEqual(line.share, steady - 1, line)
            if part < 0.99:  # then PEs begin to end, and their share counts
                self.assertLessEqual(line.share, steady + 1, line)

    def test_a_single_launch_progresses(self):
        lines = self.launch_lines()
        of_launch = [line for line in lines if line.ground]
        self.assertEqual({line.ground for line in of_launch}, {"expected"})
        self.check_steady(of_launch, 0, 100)
        self.assertGreater(len({line.share for line in of_launch if 0 < line.share < 99}), 2, lines)
        self.assertLess(of_launch[-1].share, 100, "done before its end")

    def test_later_launches_are_measured_by_the_one_before(self):
        lines = self.launch_lines("--iters", "2")
        later = [line for line in lines if line.ground == "like the previous launch"]
        self.assertTrue(later, lines)
        self.check_steady(later, 50, 50)

    def test_a_workload_counts_its_ops(self):
        """Alike and one after the other: the share goes with the time, in steps of an op."""
        repeat = 40

        def draw(factor):
            op = {"op": "all_reduce", "algorithm": "ring_1d", "bytes": 16384 * factor}
            body = {"groups": {"all": {"ranks": "pe"}}, "streams": [{"on": "all", "repeat": repeat, "ops": [op]}]}
            done = self.run_pod(*harness.SMALL, *self.SLOW, "--workload",
                                self.file("w.json", json.dumps(body)), "--progress", "on", "--out", "out")
            self.row = json.loads((self.folder / "out" / "result.json").read_text())["runs"][0]
            return done.stderr
        lines = self.lines(draw)
        begun = self.row["launch_ns"] / 1000  # installed a little before: less than an op
        for line in lines:
            share = 100 * (line.simulated - begun) / (self.row["time_ns"] / 1000)
            self.assertLessEqual(abs(line.share - min(100, max(0, share))), 2 * 100 / repeat, line)
        self.assertGreater(len({line.share for line in lines if 0 < line.share < 100}), 2, lines)

    def test_a_replayed_trace_counts_its_packets(self):
        """One packet per cycle: as many per cent of them are there as of the cycles."""
        packets = 0

        def draw(factor):
            nonlocal packets
            packets = 400000 * factor
            trace = self.folder / "t.txt"
            with open(trace, "w") as file:
                file.writelines(f"{cycle} {cycle % 16} {(cycle + 5) % 16} 5\n" for cycle in range(packets))
            done = subprocess.run([NOC, "--traffic", f"replay:{trace}", "--progress", "on", "--set", "noc.columns=4", "--set",
                                   "noc.rows=4"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr
        for line in self.lines(draw, 4):
            self.assertLessEqual(abs(line.share - min(100, 100 * line.simulated * 1000 / packets)), 1, line)

    def test_quiet_where_nobody_looks(self):
        for mode in ("auto", "off"):
            done = self.run_pod(*harness.SMALL, "--bytes", "4KiB", "--progress", mode)
            self.assertEqual(done.stderr, "")
        self.run_pod(*harness.SMALL, "--progress", "maybe", expect=2)

    def test_a_terminal_sees_a_bar_after_two_seconds(self):
        ours, theirs = pty.openpty()
        with open(self.folder / "stdout", "w") as out:
            process = subprocess.Popen([HBM, "--requests", "500000000"], stdout=out, stderr=theirs)
        os.close(theirs)
        seen = b""
        try:
            while b"simulated" not in seen and process.poll() is None:
                seen += os.read(ours, 4096)
        finally:
            process.terminate()
            process.wait()
            os.close(ours)
        self.assertRegex(seen.decode(), r"\r\[[#.]{24}\] +\d+%  [\d.]+ us simulated")


if __name__ == "__main__":
    harness.main()
