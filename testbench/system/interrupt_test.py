#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM end a long run at once, with valid files and the exit code of the signal."""
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import harness
from trace_event import Trace
from vcd import Vcd

NOC = harness.binary("noc")

# Many launches of a ring over 16 PEs: minutes.
LONG = (*harness.SMALL, "--progress", "on", "--algorithm", "ring_1d,intercube", "--bytes", "64KiB", "--iters", "100000", "--out", "out")

# One launch that takes minutes.
SINGLE = ("--progress", "on", "--config", harness.CONFIGS / "pod_default.json", "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "1MiB",
          "--out", "out", "--vcd", "out/wave.vcd", "--vcd-scope", "pod.sip0.cube_0_0.pe0", "--timeline", "out/t.json",
          "--timeline-scope", "pod.sip0.cube_0_0*")


class Interrupt(harness.Case):
    def interrupt(self, number, group, job=LONG, after=harness.LAUNCHED):
        process = self.start(*self.command(*job), start_new_session=True)
        self.await_line(process, after)
        if group:  # a terminal's Ctrl-C reaches the whole group
            subprocess.run(["kill", f"-{number}", "--", f"-{process.pid}"], check=True)
        else:
            process.send_signal(number)
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 128 + number)
        self.assertIn("interrupted at", done.stderr)
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual([r["status"] for r in document["runs"]], ["interrupted"])
        self.assertIsNone(document["runs"][0]["verified"])
        json.loads((self.folder / "out" / "config.json").read_text())
        self.assertFalse(list((self.folder / "out").glob("*.partial")))

    def test_inside_one_launch_what_was_seen_is_kept(self):
        """The machine had begun: links, queue pairs, waveform and timeline say how far it was."""
        some_us = harness.BEGUN + r".*  (?:[5-9]|\d\d+)\.\d+ us of "
        self.interrupt(signal.SIGINT, group=True, job=SINGLE, after=some_us)
        out = self.folder / "out"
        stopped_ns = 1e3 * float(re.search(r"interrupted at ([\d.]+) us after 0 launches", self.last.stderr)[1])
        row = json.loads((out / "result.json").read_text())["runs"][0]
        self.assertEqual((row["status"], row["time_ns"], row["wrong_elements"]), ("interrupted", None, None))
        self.assertGreater(row["stats"]["packets"], 0)
        for name in ("links", "ipcq", "waits", "health"):
            with open(out / f"{name}.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            self.assertTrue(rows, name)
            self.assertTrue(all(None not in r and None not in r.values() for r in rows), f"{name}: ragged")
            if name == "links":
                self.assertGreater(sum(int(r["bytes"]) for r in rows), 0)
        self.assertGreater(len(Trace((out / "t.json").read_text()).slices), 0)
        wave = Vcd((out / "wave.vcd").read_text())
        self.assertTrue([path for path, changes in wave.changes.items() if len(changes) > 1], "nothing changes")
        self.assertEqual(wave.timescale, "1 fs")
        self.assertLessEqual(wave.end / 1e6, stopped_ns + 1)

    def test_a_network_study(self):
        """diecast-noc, too, says what it was doing and leaves files that can be read."""
        process = self.start(NOC, "--rate", "0.05,0.1", "--cycles", "900000000", "--out", "out", "--quiet", "--progress", "on")
        self.await_line(process, harness.BEGUN)
        process.send_signal(signal.SIGINT)
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 130)
        self.assertIn("interrupted at", done.stderr)
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual((document["status"], document["runs"][-1]["status"]), ("interrupted", "interrupted"))
        with open(self.folder / "out" / "links.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertTrue(all(None not in r and None not in r.values() for r in rows), "ragged")
        self.assertFalse(list((self.folder / "out").glob("*.partial")))

    def test_each_signal(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.interrupt(number, group=number != signal.SIGTERM)

    def test_hang_up_under_nohup_ends_nothing(self):
        process = self.start("nohup", *self.command(*LONG[:-2], "--out", "out"))
        self.await_line(process, harness.LAUNCHED)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())

    def test_a_run_that_the_system_kills(self):
        """As it does for want of memory: no internal error."""
        for words in (self.command(*LONG), [NOC, "--rate", "0.05", "--cycles", "900000000", "--out", "out", "--progress", "on"]):
            process = self.start(*words)
            self.await_line(process, harness.BEGUN)
            child, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(child), signal.SIGKILL)
            time.sleep(0.2)
            if process.poll() is None and words[0] != NOC:  # the second algorithm
                process.send_signal(signal.SIGTERM)
            done = self.ended(process, within_s=60)
            self.assertEqual(done.code, 71)
            self.assertIn("system: the simulation process was killed (SIGKILL), perhaps for want of memory", done.stderr)
            self.assertEqual(json.loads((self.folder / "out" / "result.json").read_text())["status"], "system")

    def test_nothing_outlives_a_killed_diagnosis(self):
        tmp = self.folder / "tmp"
        tmp.mkdir()
        for number in (signal.SIGKILL, signal.SIGHUP):
            process = self.start(*self.command(*SINGLE[:-10], "--out", "out", "--diagnose"), start_new_session=True,
                                 env={**os.environ, "TMPDIR": str(tmp)})
            while not list(tmp.glob("*/run0")):  # the first experiment, minutes long
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(number)
            self.assertEqual(self.ended(process, within_s=60).code, -9 if number == signal.SIGKILL else 129)
            deadline = time.monotonic() + harness.limit_s(10)
            while list(tmp.iterdir()) or self.alive(tmp):
                self.assertLess(time.monotonic(), deadline, f"{list(tmp.iterdir())} {self.alive(tmp)}")
                time.sleep(0.05)

    @staticmethod
    def alive(folder):
        """Processes with this folder in their command lines."""
        lines = []
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(file.read_bytes())
            except OSError:
                pass
        return [line for line in lines if str(folder).encode() in line]


if __name__ == "__main__":
    harness.main()
