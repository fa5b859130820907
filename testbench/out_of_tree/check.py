#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build to a temporary prefix, builds the project beside this file against that package alone
and runs it: its algorithm, its pattern and its memory must give a verified all-reduce.

check.py --build BUILD_DIR --source SOURCE_DIR --cmake CMAKE [-- cmake arguments of the project]
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LATENCY_ADDED_NS = 100
# 8 PEs double three times, and each message is written to a memory and read back from it.
ACCESSES_IN_A_ROW = 3 * 2


def run(*command, expect=0):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != expect:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done


def require(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")
    print(f"ok: {what}")


def result_of(binary, *flags):
    return json.loads(run(binary, "--quiet", "--format", "json", *flags).stdout)["runs"][0]


def build_project(args, prefix, folder):
    """Builds a copy of the project, so that no path leads from it into the source tree."""
    project = folder / "project"
    ours = ("CMakeLists.txt", "*.cpp", "*.hpp", "*.json")
    for pattern in ours:
        for file in pathlib.Path(__file__).parent.glob(pattern):
            project.mkdir(exist_ok=True)
            shutil.copy(file, project)
    configure = [args.cmake, "-G", "Ninja", "-S", project, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                 f"-DCMAKE_PREFIX_PATH={prefix}", *args.project_arguments]
    run(*configure, "-B", folder / "build")
    run(args.cmake, "--build", folder / "build")
    commands = (folder / "build" / "compile_commands.json").read_text()
    require(str(prefix / "include") in commands, "headers come from the package")
    require(f"{args.source}/" not in commands, "nothing is taken from the source tree")

    lacking = subprocess.run([str(word) for word in configure] + ["-B", str(folder / "lacking"),
                             "-DCMAKE_DISABLE_FIND_PACKAGE_pugixml=ON"], capture_output=True, text=True)
    require(lacking.returncode != 0 and "apt-get install libpugixml-dev" in lacking.stderr,
            "a missing dependency is named with its package")
    return folder / "build"


def check_platform(lab, folder):
    own = ("--algorithm", "hypercube_doubling")
    require("hypercube_doubling" in run(lab, "--list", "algorithms").stdout, "its algorithm is listed")
    require("hypercube" in run(lab, "--list", "patterns").stdout, "its pattern is listed")
    require("HBM4_8000" in run(lab, "--list", "presets").stdout, "the package's presets are found")

    run(lab, *own, "--bytes", "48KiB", "--out", folder / "out")
    result = json.loads((folder / "out" / "result.json").read_text())
    first = result["runs"][0]
    require(result["platform"] == "lab-pod" and first["algorithm"] == "hypercube_doubling", "it ran")
    require(first["verified"] is True and first["wrong_elements"] == 0 and first["ranks"] == 8,
            "its all-reduce is verified on 8 PEs")
    for op in ("max", "avg"):
        require(result_of(lab, *own, "--dtype", "f32", "--op", op)["verified"] is True, f"{op} of f32 is verified")
    require(result_of(lab, "--algorithm", "ring_1d")["verified"] is True, "a built-in algorithm runs beside it")

    step = result_of(lab, "--collective", "sharded_step", "--bytes", "48KiB")
    require([op["op"] for op in step["ops"]] == ["all_gather", "reduce_scatter"] and step["verified"] is True, "its job is verified")
    refused = run(lab, "--collective", "sharded_step", "--team", "0:1:2", expect=2)
    require("applies to barriers only" in refused.stderr, "its job refuses a flag that means nothing to it")

    refused = run(lab, *own, "--set", "cube.pes=3", expect=2)
    require("power of two" in refused.stderr, "its pattern refuses 6 ranks with its own words")


def check_memory(lab):
    own = ("--algorithm", "hypercube_doubling", "--bytes", "8B")
    base = result_of(lab, *own)["time_ns"]
    slow = result_of(lab, *own, "--set", f"hbm.simple_latency_ns={40 + LATENCY_ADDED_NS}")["time_ns"]
    least = ACCESSES_IN_A_ROW * LATENCY_ADDED_NS
    require(slow - base >= least, f"{slow - base} ns more with {LATENCY_ADDED_NS} ns a memory access (>= {least})")
    other = result_of(lab, *own, "--set", "hbm.controller_ns=99")["time_ns"]
    require(other == base, "the timing of the memory it replaced has no effect")


def check_memory_study(study):
    """The generators of diecast-hbm on the project's memory: 64 B per 40 ns, one at a time."""
    # More requests than the 16,384 of the memory, so that seq reads what it wrote.
    job = ("--requests", "20000", "--request-bytes", "64", "--read-fraction", "0.5", "--check-data",
           "--set", "hbm.port_mib=1")
    for pattern in ("seq", "rand", "stride:4096"):
        row = result_of(study, "--pattern", pattern, "--outstanding", "4", *job)
        require(row["status"] == "ok" and row["requests"] == 20000, f"{pattern} runs on the project's memory")
        require(row["verified"] is True and row["checked_reads"] > 0, "its data is right")
        require(abs(row["bandwidth_gbytes_s"] - 64 / 40) < 0.01, f"{row['bandwidth_gbytes_s']:.3f} GB/s, one at a time")
        require(row["row_hit_rate"] is None and row["lost_time"] is None, "what it does not tell is left out")
    row = result_of(study, *job, "--without-limits", "--set", "hbm.model=bank")
    require(row["time_saved_percent"] is None and "reports no limits" in row["notes"][0], "nor is it run without them")
    slow = result_of(study, "--outstanding", "1", *job, "--set", "hbm.simple_latency_ns=100")
    require(abs(slow["avg_latency_ns"] - 100) < 0.01, "its own latency is measured")


def check_installation(prefix):
    pod = prefix / "bin" / "diecast-pod"
    small = prefix / "share" / "diecast" / "configs" / "small_pod.json"
    require("HBM4_8000" in run(pod, "--list", "presets").stdout, "an installed binary finds its presets")
    require(result_of(pod, "--config", small, "--bytes", "4KiB")["verified"] is True, "an installed binary runs")


def main():
    parser = argparse.ArgumentParser()
    for flag in ("build", "source", "cmake"):
        parser.add_argument(f"--{flag}", required=True)
    parser.add_argument("project_arguments", nargs="*")
    args = parser.parse_args()
    os.environ["SYSTEMC_DISABLE_COPYRIGHT_MESSAGE"] = "1"
    with tempfile.TemporaryDirectory(prefix="diecast_package_") as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run(args.cmake, "--install", args.build, "--prefix", prefix)
        check_installation(prefix)
        built = build_project(args, prefix, folder)
        check_platform(built / "lab-pod", folder)
        check_memory(built / "lab-pod")
        check_memory_study(built / "lab-hbm")


if __name__ == "__main__":
    main()
