#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: packed, unpacked into a folder of its own, and used there. Manual pages and completion."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import harness

BUILD = pathlib.Path(os.environ.get("DIECAST_BUILD", harness.ROOT / "build"))
PACKED = BUILD / "Testing" / "packed"  # where Pack leaves the package for the others
BINARIES = [f"diecast-{name}" for name in ("pod", "sip", "cube", "noc", "hbm", "bench")]

DEBIAN = shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps")


def command(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)


@unittest.skipUnless(DEBIAN, "no Debian tools")
class Pack(harness.Case):

    def test_it_is_packed(self):
        shutil.rmtree(PACKED, ignore_errors=True)
        packed = command("cpack", "-G", "DEB", "-B", PACKED, cwd=BUILD)
        self.assertEqual(packed.returncode, 0, packed.stdout + packed.stderr)
        self.assertEqual(len(list(PACKED.glob("*.deb"))), 1, packed.stdout)


class Package(harness.Case):

    @unittest.skipUnless(DEBIAN, "no Debian tools")
    def test_it_runs_where_it_is_unpacked(self):
        package, = PACKED.glob("*.deb")
        fields = command("dpkg-deb", "-f", package, "Package", "Depends").stdout
        self.assertIn("Package: diecast", fields)
        for library in ("libsystemc", "libboost-program-options", "libc6"):
            self.assertIn(library, fields)
        self.check_apt(package)
        root = self.folder / "root"
        command("dpkg-deb", "-x", package, root, check=True)
        for path in ("usr/share/diecast/configs/pod_default.json", "usr/share/diecast/presets/hbm/HBM3_6400.json",
                     "usr/share/diecast/waveforms/small_pod.gtkw", "usr/share/doc/diecast/docs/tutorial.md",
                     *(f"usr/share/man/man1/{b}.1" for b in BINARIES),
                     *(f"usr/share/bash-completion/completions/{b}" for b in BINARIES)):
            self.assertTrue((root / path).exists(), path)
        for page in ("README.md", "docs/README.md"):  # two of one name
            self.assertEqual((root / "usr/share/doc/diecast" / page).read_text(), (harness.ROOT / page).read_text(), page)
        environment = {"PATH": f"{root / 'usr/bin'}:/usr/bin:/bin", "HOME": str(self.folder)}
        for binary in BINARIES:
            self.assertEqual(command(root / "usr/bin" / binary, "--version", env=environment).returncode, 0, binary)
        out = self.folder / "out"
        done = command("diecast-pod", "--config", root / "usr/share/diecast/configs/small_pod.json", "--bytes", "4KiB",
                       "--out", out, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        scripts = root / "usr/share/diecast/scripts"
        self.assertEqual(command(scripts / "report", out, env=environment).returncode, 0)
        listed = command(scripts / "sweep", harness.ROOT / "docs/examples/slots.json", "--list", env=environment)
        self.assertIn(f"{root / 'usr/bin/diecast-pod'} ", listed.stdout, listed.stderr)

    def check_apt(self, package):
        """apt knows all that the package depends on, and would install it."""
        if shutil.which("apt-get") is None:
            return
        done = command("apt-get", "-s", "-o", "Debug::NoLocking=1", "install", f"./{package.name}", cwd=package.parent)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^Inst diecast ")
        self.assertRegex(done.stdout, r"(?m)^Conf diecast ")

    def test_manual_pages_say_what_help_says(self):
        help_text = command(harness.POD, "--help").stdout
        flags = {word for line in help_text.splitlines() if line.startswith("  --") for word in [line.split()[0]]}
        page = self.folder / "diecast-pod.1"
        made = command(harness.ROOT / "scripts/make_man", harness.POD, page)
        self.assertEqual(made.returncode, 0, made.stderr)
        text = page.read_text().replace("\\-", "-")
        self.assertGreater(len(flags), 20)
        for flag in flags:
            self.assertIn(f"\\fB{flag}\\fR", text)
        if shutil.which("man"):
            shown = command("man", "--warnings", "-l", page, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))


@unittest.skipUnless(DEBIAN and shutil.which("mmdebstrap") and os.geteuid() == 0,
                     "no Debian tools, no mmdebstrap, or not root")
class CleanMachine(harness.Case):
    """The package on a Debian that has nothing of Diecast."""

    def test_it_installs_and_runs(self):
        package, = PACKED.glob("*.deb")
        root = self.folder / "root"
        made = command("mmdebstrap", "--variant=apt", f"--include={package}",
                       "--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount", "bookworm", root)
        if made.returncode != 0:
            self.skip_without_mirror()
        self.assertEqual(made.returncode, 0, made.stderr)
        done = command("chroot", root, "diecast-pod", "--config", "/usr/share/diecast/configs/small_pod.json", "--bytes", "4KiB")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def skip_without_mirror(self):
        """A Debian that cannot be had even without the package says nothing about the package."""
        bare = command("mmdebstrap", "--variant=apt", "bookworm", self.folder / "bare")
        if bare.returncode != 0:
            self.skipTest(f"mmdebstrap: {bare.stderr.strip().splitlines()[-1]}")


class Completion(harness.Case):

    def complete(self, *words):
        """What bash offers for the last word."""
        quoted = " ".join(f"'{w}'" for w in words)
        script = (f"source {harness.ROOT / 'platforms/completion/diecast'}; COMP_WORDS=('{harness.POD}' {quoted}); "
                  f"COMP_CWORD={len(words)}; _diecast '{harness.POD}' 2> /dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = command("bash", "-c", script, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return set(done.stdout.split())

    def test_flags_and_their_words(self):
        self.assertLessEqual({"--timeline", "--timeline-scope"}, self.complete("--timel"))
        self.assertEqual(self.complete("--format", ""), {"table", "json", "csv"})
        self.assertEqual(self.complete("--progress", "o"), {"on", "off"})
        self.assertEqual(self.complete("--dtype", "f"), {"f16", "f32"})
        self.assertIn("intercube", self.complete("--algorithm", "inter"))
        self.assertIn("all_reduce", self.complete("--collective", ""))
        self.assertIn("presets", self.complete("--list", ""))

    def test_lists_of_algorithms(self):
        self.assertEqual(self.complete("--algorithm", "ring_1d,interc"), {"ring_1d,intercube", "ring_1d,intercube_pipelined"})
        self.assertNotIn("ring_1d,ring_1d", self.complete("--algorithm", "ring_1d,ring"))

    def test_presets(self):
        self.assertIn("hbm.preset=", self.complete("--set", "hbm.pre"))
        self.assertEqual(self.complete("--set", "hbm.preset=HBM3E"), {"hbm.preset=HBM3E_9600"})
        # In a shell = ends a word of its own.
        self.assertEqual(self.complete("--set", "hbm.preset", "=", "HBM3E"), {"HBM3E_9600"})
        self.assertEqual(self.complete("--set", "hbm.preset", "="), self.complete("--set", "hbm.preset", "=", ""))

    def test_keys_and_files(self):
        self.assertEqual(self.complete("--set", "ipcq.n_sl"), {"ipcq.n_slots="})
        self.file("machine.json", "{}")
        self.assertEqual(self.complete("--config", "mach"), {"machine.json"})


if __name__ == "__main__":
    sys.exit(harness.main())
