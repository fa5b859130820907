#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM end a long run at once, with valid files and the exit code of the signal."""
import json
import shlex
import signal
import subprocess
import time

import harness

# Far longer than the test waits: many launches of a ring over 256 PEs.
LONG = ("--algorithm", "ring_1d,intercube", "--bytes", "64KiB", "--iters", "1000", "--out", "out")


class Interrupt(harness.Case):
    def wait_for(self, path, process):
        """--out is claimed right before the first simulation starts."""
        for _ in range(600):
            if path.exists() or process.poll() is not None:
                return
            time.sleep(0.1)

    def interrupt(self, number, group):
        words = self.command(*LONG)
        process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_for(self.folder / "out" / "config.json", process)
        time.sleep(1.5)
        self.assertIsNone(process.poll(), "ended before it was interrupted")
        if group:  # a terminal's Ctrl-C reaches the whole group
            subprocess.run(["kill", f"-{number}", "--", f"-{process.pid}"], check=True)
        else:
            process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
        self.last = harness.Result(shlex.join(words), process.returncode, stdout, stderr)
        self.assertEqual(process.returncode, 128 + number)
        self.assertIn("interrupted at", stderr)
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual(document["status"], "interrupted")
        self.assertEqual([r["status"] for r in document["runs"]], ["interrupted"])
        self.assertIsNone(document["runs"][0]["verified"])
        json.loads((self.folder / "out" / "config.json").read_text())
        self.assertFalse(list((self.folder / "out").glob("*.partial")))

    def test_terminate(self):
        self.interrupt(signal.SIGTERM, group=False)

    def test_control_c(self):
        self.interrupt(signal.SIGINT, group=True)


if __name__ == "__main__":
    harness.main()
