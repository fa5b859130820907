#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What checks the tree itself refuses what it does not understand: scripts/format, lint and setup, and .ci."""
import os
import shutil
import subprocess
import unittest

import harness


class Checks(harness.Case):
    """In a tree of its own with stand-ins for tools."""

    def setUp(self):
        super().setUp()
        for name in ("scripts", ".ci", "tools"):
            (self.folder / name).mkdir()
        for name in ("scripts/format", "scripts/lint", "scripts/setup", ".ci/run", ".ci/suite", ".ci/check_skips", ".ci/count_lines"):
            shutil.copy(harness.ROOT / name, self.folder / name)

    def program(self, name, text):
        path = self.file(name, f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def call(self, *words, expect):
        environment = {**os.environ, "PATH": f"{self.folder / 'tools'}:{os.environ['PATH']}"}
        done = subprocess.run([self.folder / words[0], *words[1:]], cwd=self.folder, capture_output=True, text=True,
                              env=environment, stdin=subprocess.DEVNULL)
        self.last = harness.Result(" ".join(words), done.returncode, done.stdout, done.stderr)
        self.assertEqual(done.returncode, expect, done.stdout)
        return done.stdout + done.stderr

    def test_format_takes_check_alone(self):
        self.program("tools/clang-format", "touch formatted")
        self.program("tools/git", "echo a.cpp")
        for words in (("--dry-run",), ("a.cpp",), ("--check", "a.cpp")):
            self.assertIn("expected nothing or --check", self.call("scripts/format", *words, expect=2))
        self.assertFalse((self.folder / "formatted").exists())
        self.call("scripts/format", "--check", expect=0)
        self.assertTrue((self.folder / "formatted").exists())

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_lint_names_a_revision_that_is_not_there(self):
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        for revision in ("HEAD~1", "nosuch", "--output=x"):
            self.assertIn(f"--since {revision}: no such revision", self.call("scripts/lint", "--since", revision, expect=2))

    def test_setup_takes_ci_alone(self):
        self.assertIn("expected nothing or --ci", self.call("scripts/setup", "--all", expect=2))

    def steps(self, *lines):
        self.file(".ci/steps", "# NAME LIMIT_S COMMAND\n" + "\n".join(lines) + "\n")

    def continuous_integration(self, tests, expect,
                               listed="# reasons\na_test.Class  # no tool\nb_test.Other.test_one\nsystem/quiet\n"):
        """.ci/run where so the tests end; their skips, as harness.main prints them."""
        (self.folder / "build/Testing/Temporary").mkdir(parents=True, exist_ok=True)
        self.program("tools/git", "true")
        self.program("scripts/test", tests)
        self.file(".ci/skips", listed)
        self.steps("suite 60 .ci/suite")
        return self.call(".ci/run", expect=expect)

    def log(self, *lines):
        return "\n".join(["cat > build/Testing/Temporary/LastTest.log << END", *lines, "END", "echo closing"])

    def test_ci_ends_as_the_tests_do(self):
        self.assertTrue(self.continuous_integration(self.log(), expect=0).endswith("closing\n"))
        self.assertIn("with exit code 8", self.continuous_integration(self.log() + "; exit 8", expect=8))

    def test_ci_fails_with_a_step_that_fails_hangs_or_is_missing(self):
        (self.folder / "build").mkdir()
        self.file("build/ci-suite.txt", "closing\n")
        self.program("tools/git", "true")
        self.program("good", "echo did $0 $*")
        for name, command, code, said in (("tidy", "./bad", 3, "with exit code 3"),
                                          ("tidy", "sleep 60", 124, "tidy did not end within 2 s"),
                                          ("format", "./nothing", 127, "with exit code 127")):
            with self.subTest(command):
                self.program("bad", "exit 3")
                self.steps("first 9 ./good a b", f"{name} 2 {command}", "last 9 ./good c")
                text = self.call(".ci/run", expect=code)
                self.assertRegex(text, r"did ./good a b\n== first: passed in \d s\n")
                self.assertIn(said, text)
                self.assertNotIn("did ./good c", text)
        self.steps("first 9 ./good a", "last 9 ./good b")
        self.assertRegex(self.call(".ci/run", expect=0), r"All 2 steps passed in \d+ s: first \d+ s, last \d+ s\n")
        self.steps()
        self.assertIn("names no step", self.call(".ci/run", expect=1))

    def test_shipped_steps_are_there_and_leave_ci_its_time(self):
        lines = [line.split() for line in (harness.ROOT / ".ci/steps").read_text().splitlines() if line[:1] not in ("", "#")]
        self.assertEqual([name for name, *_ in lines], ["tools", "format", "separate", "tidy", "sanitize", "suite"])
        self.assertLess(sum(int(limit) for _, limit, *_ in lines), 85 * 60)
        for _, _, *words in lines:
            for word in (w for w in words if "/" in w):
                self.assertTrue(os.access(harness.ROOT / word, os.X_OK), word)

    def test_ci_fails_for_a_skip_that_is_not_listed(self):
        good = ("1/2 Testing: system/a", "SKIPPED a_test.Class.test_x: no tool", "SKIPPED b_test.Other.test_one: no tool")
        self.continuous_integration(self.log(*good), expect=0)
        for bad in ("a_test.Classes.test_x", "b_test.Other.test_two", "c_test.Class"):
            text = self.continuous_integration(self.log(*good, "2/2 Testing: system/b", f"SKIPPED {bad}: some reason"), expect=1)
            self.assertIn(f"skipped, but not in .ci/skips:\n  {bad}: some reason", text)
        warned = ("2/3 Testing: c/d of e", "warning:", "  skipped: NAME names nothing", "3/3 Testing: system/f", "no row is skipped: fine")
        self.assertIn("\n  c/d of e: NAME names nothing\n", self.continuous_integration(self.log(*good, *warned), expect=1))
        self.continuous_integration(self.log(*good[:2], *warned), expect=0, listed="a_test.Class\nc/d of e  # NAME\n")
        closing = "; printf '\\t  2 - system/%s (Skipped)\\n'"
        self.continuous_integration(self.log(*good, "2/2 Testing: system/quiet") + f"{closing} quiet", expect=0)
        self.assertIn("system/other: it does not say why", self.continuous_integration(
            self.log(*good, "2/2 Testing: system/other") + f"{closing} other", expect=1))

    def test_skips_are_printed(self):
        script = self.file("some_test.py", "import sys, unittest\n"
                           f"sys.path.insert(0, {str(harness.HERE)!r})\nimport harness\n"
                           "class A(harness.Case):\n"
                           "  def test_one(self): pass\n"
                           "  def test_two(self): self.skipTest('no tool')\n"
                           "@unittest.skip('never')\nclass B(harness.Case):\n"
                           "  def test_three(self): pass\n"
                           "harness.main()\n")
        for words, code, text in (((), 0, "SKIPPED some_test.A.test_two: no tool\nSKIPPED some_test.B.test_three: never\n"),
                                  (("B",), harness.SKIPPED, "SKIPPED some_test.B.test_three: never\n"), (("A.test_one",), 0, "")):
            done = subprocess.run(["python3", "-B", script, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (code, text), done.stderr)


@unittest.skipUnless(shutil.which("git") and (harness.ROOT / ".git").exists(), "no git checkout")
class License(harness.Case):

    def test_every_source_file_names_it(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=harness.ROOT, capture_output=True, text=True, check=True).stdout
        sources, without = 0, []
        for name in listed.split("\0")[:-1]:
            head = (harness.ROOT / name).read_bytes()[:200]
            if head.startswith(b"#!") or name.endswith((".cpp", ".hpp", ".py", ".cmake", ".in", ".map", "CMakeLists.txt", "Dockerfile")):
                sources += 1
                if b"SPDX-License-Identifier: Apache-2.0\n" not in head:
                    without.append(name)
        self.assertEqual(without, [])
        self.assertGreater(sources, 500)
        self.assertIn("Apache License\n                           Version 2.0", (harness.ROOT / "LICENSE").read_text())


if __name__ == "__main__":
    harness.main()
