#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pod over several processes: the results of one process, byte by byte, and what happens when a process dies."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time
import unittest

import harness
import vcd

POD4 = (*harness.SMALL, *harness.sets("pod.sips=4", "pod.topology=torus_2d"))
RING5 = (*harness.SMALL, *harness.sets("pod.sips=5", "sip_link.latency_ns=30"))
TREES = harness.sets("noc.multicast=true", "noc.reduce=true")
# Messages pass through processes between those of their ends.
FAR_JOBS = {"all to all": (*POD4, "--collective", "all_to_all", "--ranks", "pe", "--bytes", "4KiB", "--iters", "2"),
    "all to all in a ring": (*RING5, "--collective", "all_to_all", "--ranks", "pe", "--bytes", "10KiB"),
    "trees": (*POD4, *TREES, "--algorithm", "in_network", "--ranks", "pe", "--bytes", "4KiB", "--iters", "2"),
}
SIP_LINK_FAULTS = {"link_degraded": {"factor": 3}, "late_credit": {"after": 1, "delay_ns": 700}, "duplicate": {"after": 5},
                   "reorder": {"after": 9, "delay_ns": 250}, "lost_credit": {"after": 20}}
JOBS = {"ring over PEs": (*POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "4KiB"),
    "hierarchy": (*POD4, "--algorithm", "intercube", "--bytes", "8KiB", "--iters", "3", "--warmup", "1"),
    "all to all": (*POD4, "--collective", "all_to_all", "--ranks", "pe", "--bytes", "4KiB", "--set", "ccl.install=timed"),
    "faults on links between processes": (
        *POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "16KiB", "--iters", "2", "--set", "ipcq.match=sender", "--set",
        f"faults={json.dumps([{'kind': kind, 'where': 'pod.sip*.sip_port_*', **more} for kind, more in SIP_LINK_FAULTS.items()])}"),
    "program, which keeps its name": (*POD4, "--workload", harness.PROGRAMS / "chain_4.xml", "--ranks", "sip", "--bytes", "4KiB"),
    "barriers": (*POD4, "--collective", "barrier", "--ranks", "pe", "--team", "2:3:9", "--iters", "2"),
    "delayed starts": (*POD4, "--bytes", "1KiB", "--jitter", "2", "--inspect", "dispatch"),
    "host memory": (*POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "16KiB", "--set", "comm.path=staged"),
}
# Nothing moves any more, or the time is over: who waits for whom, over all processes.
STOPS = {"dead PE": (*POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "4KiB", "--set",
                'faults=[{"kind":"dead_pe","where":"pod.sip1.cube_0_0.pe0"}]'),
    "signal without flush": (*POD4, "--collective", "barrier", "--ranks", "pe", "--set", "ccl.errata=set_without_dcci"),
    "limit": (*POD4, "--algorithm", "ring_1d", "--ranks", "sip", "--bytes", "64KiB", "--iters", "1000", "--set", "sim.limit_ms=1"),
}
MORE_JOBS = {**{f"{collective} {size}": (*machine, "--collective", collective, "--ranks", "pe", "--bytes", size)
       for collective in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather", "scatter")
       for machine, size in ((POD4, "16KiB"), (RING5, "10KiB"))},
    "all algorithms": (*POD4, "--algorithm", "all", "--bytes", "4KiB"),
    "times alone": (*POD4, "--bytes", "64KiB", "--no-data"),
    "tensors in HBM": (*POD4, "--algorithm", "ring_1d", "--bytes", "64KiB", "--set", "ccl.tensor_kind=hbm"),
    "bytes on links": (*RING5, "--bytes", "4KiB", "--set", "sim.links_as_bytes=true"),
    "other build order": (*POD4, "--bytes", "4KiB", "--set", "sim.build_order=shuffle:3"),
    "messages": (*POD4, "--workload", harness.ROOT / "platforms/workloads/mutual_flood.json"),
    "all barriers": (*POD4, "--collective", "barrier", "--algorithm", "all", "--set", "ccl.barrier_skew_ns=500"),
    "barriers of streams": (*POD4, "--workload", harness.ROOT / "platforms/workloads/barriers_and_all_reduces.json"),
    "streams": (*POD4, "--workload", harness.ROOT / "platforms/workloads/tensor_and_data_parallel.json", "--isolate"),
    "explained": (*POD4, "--bytes", "1KiB", "--explain"),
}
PARTITIONS = ((2, "auto"), (2, "[[0,2],[1,3]]"), (2, "[[3],[0,1,2]]"), (3, "auto"), (4, "auto"))
HAVE_WORKER = (harness.BIN / "diecast-worker").exists()


def compared(folder):
    """All files of --out, without what tells the number of processes and the time they took."""
    files = {path.name: path.read_text() for path in sorted(folder.iterdir())}
    result = json.loads(files["result.json"])
    costs = result.pop("sim")
    result["argv"] = [costs["packet_hops"], costs["wakeups"]]
    for run in result["runs"]:
        del run["stats"]["elaborate_s"]
    files["result.json"] = json.dumps(result, indent=1)
    return files


@unittest.skipUnless(HAVE_WORKER, "built without MPI")
class Processes(harness.Case):
    def files_of(self, *job):
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        table = self.run_pod(*job, "--out", out, expect=None).stdout
        return {**compared(out), "exit code": str(self.last.code), "table": re.sub(r" +[\d.]+ *$", "", table, flags=re.M)}

    def compare(self, job, partitions):
        one = self.files_of(*job)
        self.assertIn("links.csv", one)
        for processes, partition in partitions:
            several = self.files_of(*job, "--processes", processes, "--partition", partition)
            self.assertEqual(one.keys(), several.keys())
            for name, text in one.items():
                self.assertMultiLineEqual(text, several[name], f"{name} of {processes} processes, {partition}")
        return one

    def test_results_are_those_of_one_process(self):
        for name, job in {**JOBS, **FAR_JOBS, **STOPS}.items():
            with self.subTest(name):
                one = self.compare(job, ((4, "auto"),) if name in FAR_JOBS else ((2, "auto"), (3, "[[0],[2,3],[1]]")))
                self.assertEqual(name in STOPS, {"deadlock.json", "flight.json"} <= one.keys())

    def test_a_cycle_of_waits_across_the_cut_is_named(self):
        job = (*harness.SMALL, "--workload", harness.PROGRAMS / "receive_first.xml", "--ranks", "sip", "--bytes", "1KiB")
        roots = json.loads(self.compare(job, ((2, "auto"),))["deadlock.json"])["roots"]
        self.assertEqual([(r["kind"], len(r["waits"])) for r in roots], [("cycle", 2)])

    def test_timelines_are_merged_and_waveforms_divided(self):
        job = (*POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "1KiB", "--timeline", "t.json", "--vcd")
        self.run_pod(*job, "one.vcd")
        one = self.events()
        self.run_pod(*job, "two.vcd", "--processes", "2")
        self.assertEqual(one, self.events())
        self.assertFalse((self.folder / "t.process1.json").exists())
        whole, *parts = (vcd.Vcd((self.folder / f"{name}.vcd").read_text()).changes for name in ("one", "two", "two.process1"))
        self.assertEqual(whole, {**parts[0], **parts[1]})
        self.assertEqual(len(whole), sum(map(len, parts)))

    def events(self):
        """Of t.json, in any order; not the names of tracks, and the load of all SIP links, of which each process writes its part."""
        all_events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        return sorted(json.dumps({**e, "id": 0}) for e in all_events if e["ph"] != "M" and not e["name"].startswith("sip "))

    def test_parts_that_nobody_has_named_replace_no_file(self):
        mine = self.file("t.process1.json", json.dumps({"streams": [{"name": "s", "on": [0, 1], "ops": [{"op": "compute", "cycles": 4}]}]}))
        self.run_pod(*POD4, "--workload", mine, "--processes", "2", "--timeline", "t.json", expect=5)
        self.assertIn("streams", mine.read_text())

    def test_records_are_those_of_one_process(self):
        job = (*POD4, "--algorithm", "intercube", "--bytes", "8KiB", "--iters", "2")
        self.run_pod(*job, "--record", "one")
        self.run_pod(*job, "--processes", "2", "--verify", "one", "--double-run", "--record", "two")
        self.assertMultiLineEqual(*((self.folder / name).read_text() for name in ("one", "two")))

    @harness.exhaustive
    def test_results_of_many_jobs_and_partitions(self):
        for name, job in {**JOBS, **MORE_JOBS, **STOPS}.items():
            sips = 5 if "pod.sips=5" in job else 4
            for processes, partition in PARTITIONS:
                if partition != "auto" and sips == 5:
                    continue
                with self.subTest(f"{name}, {processes} processes, {partition}"):
                    self.compare(job, ((processes, partition),))

    def test_what_goes_wrong_on_a_remote_process_is_found(self):
        """A bit that turns at a PE of process 1: wrong elements, or with a checksum a detected fault."""
        flip = 'faults=[{"kind":"bit_flip","where":"pod.sip3.cube_0_0.pe1","after":3}]'
        job = (*POD4, "--algorithm", "ring_1d", "--ranks", "pe", "--bytes", "4KiB", "--format", "json")
        for setting, code, status in (("comm.checksum=none", 1, "wrong"), ("comm.checksum=xor64", 4, "fault")):
            one, two = (json.loads(self.run_pod(*job, *harness.sets(flip, setting), *more, expect=code).stdout)["runs"][0]
                        for more in ((), ("--processes", "2")))
            self.assertEqual((one["status"], two["status"]), (status, status))
            for field in ("wrong_elements", "faults_met", "fault"):
                self.assertEqual(one.get(field), two.get(field), field)

    def test_a_full_disk_ends_the_run_with_its_exit_code(self):
        """Results of all processes are written by the one that was started."""
        words = shlex.join(map(str, self.command(*POD4, "--bytes", "4KiB", "--processes", "2", "--out", "full/out", "--vcd", "full/w.vcd")))
        done = self.on_a_full_disk(f"{words}; code=$?; ls full/out; exit $code")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stderr.count("--vcd"), len([line for line in done.stderr.splitlines() if line.startswith("--vcd")]), done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertNotIn("result.json", done.stdout)
        done = self.on_a_full_disk(f"TMPDIR=full {shlex.join(map(str, self.command(*POD4, '--bytes', '4KiB', '--processes', '2')))}")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1), done.stderr)
        self.assertIn("no 16 MiB for the launcher in full (No space left on device); set TMPDIR to a folder", done.stderr)
        self.nothing_is_left()

    def refused(self, *flags, name):
        self.assertIn(name, self.run_pod(*POD4, "--bytes", "1KiB", *flags, "--processes", "2", expect=2).stderr)

    def test_what_is_not_known_is_refused_by_name(self):
        self.refused("--ccl-trace", name="--ccl-trace")
        self.refused("--set", "sim.check_credits=true", name="sim.check_credits")
        self.refused("--partition", "[[0,1],[1,2,3]]", name="names a SIP twice")
        for flags in (("--estimate",), ("--check-config",), ("--print-map",), ("--dump-config",), ("--dump-install",),
                      ("--progress", "on")):
            self.refused(*flags, name=flags[0])
        self.refused("--vcd", "w.vcd", "--record", "w.process1.vcd", name="--vcd: is also the file of --record (value w.process1.vcd")
        self.refused("--launcher", "no_such_launcher -n {n}", name="--launcher: names a program that does not exist")
        for launcher in ("false", "echo [] x", "echo"):  # no fault of the model
            done = self.run_pod(*POD4, "--bytes", "1KiB", "--processes", "2", "--launcher", launcher, expect=71)
            self.assertRegex(done.stderr, r"^system: the launcher has started no process that runs .*TMPDIR with room")
        self.run_pod(*POD4, "--processes", "5", expect=2)
        worker = subprocess.run([harness.BIN / "diecast-worker", "--help"], capture_output=True, text=True)
        self.assertRegex(f"{worker.returncode} {worker.stderr}", r"^2 diecast-worker: no flags \(value --help; diecast-pod starts it\)\n$")

    def workers(self):
        """Processes of this test by their environment: number of the process in its job, by PID."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "exe").endswith("diecast-worker"):
                    environment = (entry / "environ").read_bytes().split(b"\0")
                    if f"DIECAST_TEST={os.getpid()}".encode() in environment:
                        rank = [v for v in environment if v.startswith(b"OMPI_COMM_WORLD_RANK=")]
                        found[int(entry.name)] = int(rank[0].split(b"=")[1])
            except OSError:
                continue
        return found

    @staticmethod
    def cpu_s(pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    LONG = (*POD4, "--algorithm", "intercube,ring_1d", "--bytes", "64KiB", "--iters", "20000", "--processes", "2", "--out", "out")

    def await_workers(self):
        deadline = time.monotonic() + 60
        while (len(self.workers()) < 2 or min(map(self.cpu_s, self.workers())) < 1) and time.monotonic() < deadline:
            time.sleep(0.05)  # all simulate, however slowly they began

    def begun(self, *job):
        process = self.start(*self.command(*job), env={**os.environ, "DIECAST_TEST": str(os.getpid())})
        self.await_workers()
        self.assertEqual(len(self.workers()), 2, "workers")
        return process

    def nothing_is_left(self):
        deadline = time.monotonic() + 10
        while self.workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.workers(), {})

    def test_a_killed_process_is_named_and_other_runs_go_on(self):
        process = self.begun(*self.LONG)
        victim = next(pid for pid, rank in self.workers().items() if rank == 1)
        os.kill(victim, signal.SIGKILL)
        while victim in self.workers():
            time.sleep(0.05)
        self.await_workers()  # of the second run
        os.kill(next(pid for pid, rank in self.workers().items() if rank == 0), signal.SIGKILL)
        done = self.ended(process, within_s=60)
        self.assertEqual(done.code, 70)
        self.assertRegex(done.stderr, r"process 1 \(PID \d+ on host \S+, SIPs 2-3\) has died by signal 9")
        self.assertRegex(done.stderr, r"process 0 \(.*SIPs 0-1\) has died by signal 9")
        document = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual([r["status"] for r in document["runs"]], ["internal", "internal"])
        self.nothing_is_left()

    def test_signals_end_all_processes_with_what_they_have(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.begun(*self.LONG)
            process.send_signal(number)
            done = self.ended(process, within_s=60)
            self.assertEqual(done.code, 128 + number)
            self.assertIn("interrupted at", done.stderr)
            document = json.loads((self.folder / "out" / "result.json").read_text())
            self.assertEqual([r["status"] for r in document["runs"]], ["interrupted"])
            self.nothing_is_left()

    def test_processes_end_with_the_program_that_started_them(self):
        """And the folder that it leaves serves a run whose files have other names."""
        process = self.begun(*(str(word).replace("intercube,", "") for word in self.LONG), "--timeline", "out/t.json", "--vcd", "out/w.vcd")
        process.kill()
        process.wait()
        self.nothing_is_left()
        self.run_pod(*harness.SMALL, "--bytes", "1KiB", "--out", "out")


if __name__ == "__main__":
    harness.main()
