#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz_test.py build | NAME [SECONDS]: builds the fuzz targets (preset fuzz), or runs one of them, by default for a minute.
Inputs that crash it stay in build-fuzz/crashes, their paths are printed. Exit code 77, "skipped", without clang++ or
libFuzzer."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-fuzz"
CORPUS = pathlib.Path(__file__).parent / "corpus"
CONFIGS = ("platforms/configs/*.json", "platforms/configs/faults/*.json")
SHIPPED = {"config": CONFIGS, "workload": ("platforms/workloads/*.json", "testbench/system/data/*.json"),
           "msccl": ("testbench/system/data/*.xml", "docs/examples/*.xml", "docs/examples/mscclpp_*.json")}
LEAST_RUNS_S = 20  # inputs per second; a target that hangs or returns at once is no test
PLANTED = """extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long n) {
  if (n > 1 && data[0] == 7) __builtin_trap();
  return 0;
}
"""


def run_target(binary, seconds, corpus, crashes, *flags):
    """The process of a run: stops at the first crash, whose input is left in `crashes`."""
    crashes.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="diecast-fuzz-") as found:
        return subprocess.run([binary, f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/", "-timeout=20",
                               "-rss_limit_mb=3072", "-print_final_stats=1", *flags, found, *corpus],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")


def crash_of(done):
    """The path of the input that ended the run, or None."""
    found = re.search(r"Test unit written to (\S+)", done.stderr)
    return found and found[1]


def build():
    if shutil.which("clang++") is None:
        return skip("no clang++: apt-get install clang")
    with tempfile.TemporaryDirectory(prefix="diecast-fuzz-") as name:
        folder = pathlib.Path(name)
        (folder / "planted.cpp").write_text(PLANTED)
        made = subprocess.run(["clang++", "-fsanitize=fuzzer", folder / "planted.cpp", "-o", folder / "planted"],
                              capture_output=True, text=True)
        if made.returncode != 0:
            return skip("no libFuzzer: apt-get install libclang-rt-14-dev")
        planted = crash_of(run_target(folder / "planted", 60, [], folder / "crashes"))
        if planted is None or pathlib.Path(planted).read_bytes()[:1] != b"\7":
            sys.exit("a planted crash is not found")
    for command in (["cmake", "--preset", "fuzz"], ["cmake", "--build", "--preset", "fuzz"]):
        subprocess.run(command, cwd=ROOT, check=True)
    return 0


def words_of(files):
    """A dictionary for libFuzzer: what is quoted in the files, and words of --set."""
    words = set()
    for file in files:
        words.update(re.findall(r'"([\w.\-]{2,40})"', file.read_text(errors="replace")))
    return "".join(f'"{word}"\n' for word in sorted(words))


def fuzz(name, seconds):
    binary = BUILD / "bin" / f"fuzz_{name}"
    if not binary.exists():
        return skip(f"{binary.relative_to(ROOT)} is not built")
    files = [file for pattern in SHIPPED.get(name, ()) for file in sorted(ROOT.glob(pattern))]
    with tempfile.TemporaryDirectory(prefix="diecast-fuzz-") as folder:
        shipped = pathlib.Path(folder, "shipped")
        shipped.mkdir()
        for file in files:
            shutil.copy(file, shipped)
        dictionary = pathlib.Path(folder, "words")
        dictionary.write_text(words_of(sorted(ROOT.glob(CONFIGS[0])) if name == "set" else files))
        known = [f"-dict={dictionary}"] if dictionary.stat().st_size else []  # libFuzzer refuses an empty dictionary
        done = run_target(binary, seconds, [CORPUS / name, shipped], BUILD / "crashes", *known)
    print("\n".join(done.stderr.splitlines()[-40:]))
    runs, added = (re.search(rf"{count}: +(\d+)", done.stderr) for count in ("number_of_executed_units", "new_units_added"))
    if done.returncode != 0:
        print(f"fuzz/{name} failed; input: {crash_of(done)}\nrepeat: {binary} {crash_of(done)}")
        return 1
    if runs is None or int(runs[1]) < LEAST_RUNS_S * seconds:
        print(f"fuzz/{name}: {runs and runs[1]} inputs in {seconds} s; expected {LEAST_RUNS_S} a second")
        return 1
    if added is None or added[1] == "0":
        print(f"fuzz/{name}: no input reached code that the corpus does not; is each input read?")
        return 1
    return 0


def skip(why):
    print(f"SKIPPED fuzz_test: {why}")
    return 77


if __name__ == "__main__":
    target = sys.argv[1]
    sys.exit(build() if target == "build" else fuzz(target, int(sys.argv[2]) if len(sys.argv) > 2 else 60))
