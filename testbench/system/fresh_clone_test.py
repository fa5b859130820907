#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README from a clone to an answer: the commands of "See it", quickstart a second time, and the commands of "Where
should the root be, and why?" as the page has them. Takes minutes: part of `scripts/test --long`."""
import os
import re
import shutil
import subprocess
import time
import unittest

import harness

README = (harness.ROOT / "README.md").read_text()
BUILD_S = 3000  # the first quickstart compiles


def block(kind, word):
    """The README's block of that language that holds the word."""
    bodies = [body for body in re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL) if word in body]
    if len(bodies) != 1:
        raise AssertionError(f"README.md: {len(bodies)} {kind} blocks with {word!r}; expected one")
    return bodies[0]


@unittest.skipUnless(shutil.which("git") and (harness.ROOT / ".git").exists(), "this is no git checkout")
class FreshClone(harness.Case):

    def bash(self, commands, folder, timeout):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("DIECAST_")}
        begin = time.monotonic()
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout)
        self.last = harness.Result(commands, done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        return done.stdout, time.monotonic() - begin

    def test_from_clone_to_because_of_these_links(self):
        quickstart, report = block("text", "scripts/quickstart\n").splitlines()
        self.assertEqual(quickstart, "scripts/quickstart")
        self.bash(f"git clone {harness.ROOT} diecast", self.folder, 120)
        folder = self.folder / "diecast"

        text, first = self.bash(quickstart, folder, BUILD_S)
        shown = re.search(r"<!-- quickstart begin.*?^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
        rows = [line for line in shown.splitlines() if " yes" in line]
        self.assertGreater(len(rows), 2, "the README's table has too few verified rows")
        self.assertIn(shown, text)
        steps = re.findall(r"^[A-Za-z].*\. \(\d+ s\)$", text, re.MULTILINE)
        self.assertEqual([words.split()[1] for words in steps], ["are", "build", "is", "runs"], "a sentence per step, with its time")
        self.assertRegex(text, r"(?m)^  \[\d+/\d+, [\d.]+s\] ", "no progress of the build")
        # Tests are configured in the same folder and share what is compiled.
        self.assertIn("DIECAST_TESTS:BOOL=OFF", (folder / "build/CMakeCache.txt").read_text())
        rest, _ = self.bash("cmake --preset release -DDIECAST_TESTS=ON > /dev/null && ninja -C build -n diecast-pod", folder, 300)
        self.assertNotIn("Building", rest)
        self.bash(report, folder, 120)
        self.assertIn("<svg", (folder / "out/quickstart/report.html").read_text())
        again, second = self.bash(quickstart, folder, 300)
        self.assertNotIn("Building", again)
        self.assertLess(second, max(60, first / 2), "the second quickstart is not quick")

        answer, _ = self.bash(block("sh", "scripts/compare"), folder, 600)
        self.assertRegex(answer, r"\d+\.\d% faster")
        self.assertIn("because of these links", answer)
        print(f"first quickstart {first:.0f} s, second {second:.0f} s")


if __name__ == "__main__":
    harness.main()
