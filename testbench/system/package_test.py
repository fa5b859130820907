#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: packed, unpacked into a folder of their own, and used there and on a bare Debian. The image of the
Dockerfile. Manual pages and completion."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

import harness

BUILD = pathlib.Path(os.environ.get("DIECAST_BUILD", harness.ROOT / "build"))
PACKED = BUILD / "Testing" / "packed"  # where Pack leaves the packages for the others
BARE = BUILD / "Testing" / "bookworm.tar"  # a Debian without packages of Diecast
BINARIES = [f"diecast-{name}" for name in ("pod", "sip", "cube", "noc", "hbm", "bench")]
PACKAGES = {"diecast", "libdiecast-dev"}
MOST_BYTES = 10_000_000  # of the package of the binaries

DEBIAN = shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps")
CHROOT = shutil.which("mmdebstrap") and os.geteuid() == 0


def command(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)


def packed(name):
    package, = PACKED.glob(f"{name}_*.deb")
    return package


def fields(name):
    """The control fields of a package."""
    text = re.sub(r"\n ", " ", command("dpkg-deb", "-f", packed(name), check=True).stdout)
    return dict(line.split(": ", 1) for line in text.strip().splitlines())


def files(name):
    """The files of a package, without the folders."""
    lines = command("dpkg-deb", "-c", packed(name), check=True).stdout.splitlines()
    return {line.split(None, 5)[5].split(" -> ")[0].removeprefix("./") for line in lines if not line.startswith("d")}


@unittest.skipUnless(DEBIAN, "no Debian tools")
class Pack(harness.Case):

    def test_they_are_packed(self):
        shutil.rmtree(PACKED, ignore_errors=True)
        done = command("cpack", "-G", "DEB", "-B", PACKED, cwd=BUILD)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        several = {"diecast-mpi"} if (BUILD / "bin" / "diecast-worker").exists() else set()
        self.assertEqual({p.name.split("_")[0] for p in PACKED.glob("*.deb")}, PACKAGES | several)


class Package(harness.Case):

    def unpack(self, *names):
        root = self.folder / "root"
        for name in names:
            command("dpkg-deb", "-x", packed(name), root, check=True)
        return root

    @unittest.skipUnless(DEBIAN, "no Debian tools")
    def test_fields_and_files(self):
        binaries, devel = files("diecast"), files("libdiecast-dev")
        self.assertEqual(binaries & devel, set())
        self.assertEqual([f for f in binaries if f.endswith((".a", ".hpp", ".cmake"))], [])
        for path in ("usr/share/diecast/configs/pod_default.json", "usr/share/diecast/presets/hbm/HBM3_6400.json",
                     "usr/share/diecast/waveforms/small_pod.gtkw", "usr/share/doc/diecast/docs/tutorial.md",
                     "usr/share/doc/diecast/copyright", "usr/share/doc/diecast/changelog.gz",
                     *(f"usr/bin/{b}" for b in BINARIES), *(f"usr/share/man/man1/{b}.1.gz" for b in BINARIES),
                     *(f"usr/share/bash-completion/completions/{b}" for b in BINARIES)):
            self.assertIn(path, binaries)
        self.assertIn("usr/include/diecast/platforms/app/app.hpp", devel)
        self.assertEqual(len([f for f in devel if f.endswith(".a")]), 4)
        self.assertEqual([f for f in devel if f.startswith(("usr/bin", "usr/share")) and "/doc/" not in f], [])
        of_binaries, of_devel = fields("diecast"), fields("libdiecast-dev")
        for library in ("libsystemc", "libboost-program-options", "libc6"):
            self.assertIn(library, of_binaries["Depends"])
        self.assertIn(f"diecast (= {of_binaries['Version']})", of_devel["Depends"])
        for field in of_binaries, of_devel:
            self.assertRegex(field["Maintainer"], r"^[A-Z][\w ]+ <[\w.+-]+@[\w-]+(\.[\w-]+)+>$")
        self.assertNotEqual(of_binaries["Description"], of_devel["Description"])
        self.assertLess(packed("diecast").stat().st_size, MOST_BYTES)

    @unittest.skipUnless(DEBIAN, "no Debian tools")
    def test_the_binaries_run_where_they_are_unpacked(self):
        self.check_apt(packed("diecast"))
        root = self.unpack("diecast")
        for page in ("README.md", "docs/README.md"):  # two of one name
            self.assertEqual((root / "usr/share/doc/diecast" / page).read_text(), (harness.ROOT / page).read_text(), page)
        environment = {"PATH": f"{root / 'usr/bin'}:/usr/bin:/bin", "HOME": str(self.folder)}
        for binary in BINARIES:
            self.assertEqual(command(root / "usr/bin" / binary, "--version", env=environment).returncode, 0, binary)
            self.assertNotIn(".symtab", command("readelf", "-SW", root / "usr/bin" / binary).stdout, "not stripped")
        out = self.folder / "out"
        done = command("diecast-pod", "--config", root / "usr/share/diecast/configs/small_pod.json", "--bytes", "4KiB",
                       "--out", out, env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        scripts = root / "usr/share/diecast/scripts"
        self.assertEqual(command(scripts / "report", out, env=environment).returncode, 0)
        listed = command(scripts / "sweep", harness.ROOT / "docs/examples/slots.json", "--list", env=environment)
        self.assertIn(f"{root / 'usr/bin/diecast-pod'} ", listed.stdout, listed.stderr)

    @unittest.skipUnless(DEBIAN, "no Debian tools")
    def test_a_platform_is_built_on_both(self):
        root = self.unpack(*PACKAGES)
        shutil.copy(harness.ROOT / "platforms/main_pod.cpp", self.folder)
        self.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
                  "find_package(diecast 0.2 REQUIRED)\nadd_executable(p main_pod.cpp)\n"
                  "target_link_libraries(p PRIVATE diecast::platforms)\n")
        for words in (("-S", self.folder, "-B", self.folder / "b", f"-DCMAKE_PREFIX_PATH={root / 'usr'}"),
                      ("--build", self.folder / "b")):
            done = command("cmake", *words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = command(self.folder / "b/p", "--version")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(shown.stdout, command(harness.POD, "--version").stdout)

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


class Chroot(harness.Case):
    """Commands on a bare Debian 12."""

    def debian(self, name):
        """A folder of it. Skips the test where no mirror is reached: that is no fault of the package."""
        if not BARE.exists():
            made = command("mmdebstrap", "--variant=minbase", "bookworm", BARE.with_suffix(".partial.tar"))
            if made.returncode != 0:
                self.skipTest(f"no mirror of Debian: {made.stderr.strip().splitlines()[-1]}")
            BARE.with_suffix(".partial.tar").rename(BARE)
        root = self.folder / name
        root.mkdir()
        command("tar", "-xf", BARE, "-C", root, check=True)
        shutil.copy("/etc/resolv.conf", root / "etc")
        if command("chroot", root, "apt-get", "update", "--error-on=any").returncode != 0:
            self.skipTest("no mirror of Debian")
        return root

    def inside(self, root, *words, folder="/", expect=0):
        """Runs it in the folder; the time taken in seconds, and what it has printed: with another exit code than 0, its errors."""
        begin = time.monotonic()
        script = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c \'cd "$0" && exec "$@"\' "$@"'
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
        done = command("unshare", "--mount", "sh", "-c", script, root, folder, *words, env=environment)
        self.assertEqual(done.returncode, expect, f"{words}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return time.monotonic() - begin, done.stderr if expect else done.stdout


@unittest.skipUnless(DEBIAN and CHROOT, "no Debian tools, no mmdebstrap, or not root")
class CleanMachine(Chroot):
    """The package of the binaries alone, on a Debian that has nothing of Diecast."""

    def test_it_installs_and_runs(self):
        root = self.debian("root")
        shutil.copy(packed("diecast"), root / "tmp")
        install = f"apt-get install -y --no-install-recommends /tmp/{packed('diecast').name}"
        installed_s, _ = self.inside(root, *install.split())
        config = "/usr/share/diecast/configs/small_pod.json"
        ran_s, text = self.inside(root, "diecast-pod", "--config", config, "--bytes", "4KiB")
        self.assertRegex(text, r" yes\b")
        print(f"apt-get install {installed_s:.1f} s, first result {ran_s:.1f} s later")
        self.inside(root, "apt-get", "remove", "-y", "diecast")
        self.assertEqual([p for p in (root / "usr").rglob("*diecast*")], [])

    def test_a_pod_runs_over_processes_where_the_package_of_mpi_is_installed(self):
        root = self.debian("root")
        job = ("diecast-pod", "--config", "/usr/share/diecast/configs/small_pod.json", "--bytes", "4KiB", "--processes")
        names = {name: packed(name) for name in ("diecast", "diecast-mpi")}
        for package in names.values():
            shutil.copy(package, root / "tmp")
        install = ("apt-get", "install", "-y", "--no-install-recommends")
        self.inside(root, *install, f"/tmp/{names['diecast'].name}")
        self.assertIn("diecast-mpi", self.inside(root, *job, "2", expect=2)[1])
        self.inside(root, *install, f"/tmp/{names['diecast-mpi'].name}")
        one, two = (self.inside(root, *job, n)[1] for n in "12")
        self.assertRegex(two, r" yes\b")
        self.assertEqual(*(re.sub(r" +[\d.]+ *$", "", text, flags=re.M) for text in (one, two)))


@unittest.skipUnless(CHROOT and (harness.ROOT / ".git").exists(), "no mmdebstrap, not root, or no git checkout")
class Image(Chroot):
    """What the Dockerfile says, with a folder in place of an image: each FROM is a bare Debian."""

    def lines(self):
        text = (harness.ROOT / "Dockerfile").read_text().replace("\\\n", " ")
        return [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]

    def test_it_builds_and_runs_the_main_job(self):
        stages, words = {}, {}
        for verb, rest in self.lines():
            if verb == "FROM":
                image, _, name = rest.partition(" AS ")
                self.assertEqual(image, "debian:12")
                root, folder = self.debian(f"stage{len(stages)}"), "/"
                stages[name] = root
            elif verb == "WORKDIR":
                folder = rest
                (root / rest[1:]).mkdir(parents=True, exist_ok=True)
            elif verb == "COPY" and rest.startswith("--from="):
                stage, source, target = re.match(r"--from=(\S+) /(\S+) /(\S+)$", rest).groups()
                for file in stages[stage].glob(source):
                    shutil.copy(file, root / target)
            elif verb == "COPY":
                self.assertEqual(rest, ". .")
                tracked = command("git", "ls-files", "-z", cwd=harness.ROOT, check=True).stdout.split("\0")[:-1]
                for file in tracked:
                    target = root / folder[1:] / file
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(harness.ROOT / file, target, follow_symlinks=False)
            elif verb == "RUN":
                took_s, _ = self.inside(root, "sh", "-c", rest, folder=folder)
                print(f"{took_s:.0f} s: {rest}")
            else:
                words[verb] = json.loads(rest)
        took_s, text = self.inside(root, *words["ENTRYPOINT"], *words["CMD"], folder=folder)
        print(f"{took_s:.1f} s: {words}\n{text}")
        self.assertRegex(text, r" yes\b")


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
