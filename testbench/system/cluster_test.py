#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studies on a cluster: real daemons of Slurm on loopback, and GNU parallel on two hosts that are network namespaces."""
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import time

import harness
from workbench_test import ScriptCase

CONFIG = harness.CONFIGS / "small_pod.json"
JOB = ("--", "--algorithm", "ring_1d", "--bytes", "1KiB")
# The argument by which the wrapped binary knows the point that it makes last.
HELD = "ipcq.n_slots=7"


def what_lacks(*programs):
    """What a test of these programs needs and does not have; empty where it has all."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    absent = [package for program, package in programs if not shutil.which(program, path=path)]
    if absent:
        return f"needs {', '.join(dict.fromkeys(absent))}: apt-get install {' '.join(dict.fromkeys(absent))}"
    return "" if os.getuid() == 0 else "needs root"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster(ScriptCase):
    """What both clusters must do. A file `hold` makes the next run of one point endless; the run writes `pid` then."""

    def setUp(self):
        super().setUp()
        os.environ["PATH"] += f"{os.pathsep}/usr/sbin{os.pathsep}/sbin"
        self.environment = {"DIECAST_BIN": str(self.folder / "bin")}
        (self.folder / "bin").mkdir()
        self.file("bin/diecast-pod", f"""#!/bin/sh
case "$*" in
  *--dump-config*) ;;
  *{HELD}*--out*)
    if mv '{self.folder}/hold' '{self.folder}/held' 2> /dev/null; then
      echo $PPID > '{self.folder}/pid'
      exec '{harness.POD}' "$@" --iters 1000000
    fi ;;
esac
exec '{harness.POD}' "$@"
""").chmod(0o755)
        slots = [1, 2, 3, 4, 5, 7]
        self.spec = self.file("spec.json", json.dumps({
            "schema": "diecast.sweep/1", "config": str(CONFIG), "flags": {"collective": "all_reduce", "bytes": "1KiB"},
            "grid": {"--algorithm": ["ring_1d", "intercube"], "ipcq.n_slots": slots}}))
        case = {"config": str(CONFIG), "args": JOB[1:]}
        self.suite = self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [
            {**case, "name": "good", "expect": {"runs": [{"verified": True}]}},
            {**case, "name": "other", "expect": {"runs": [{"time_ns": 1}]}},
            {"name": "refused", "args": ["--set", "ipcq.n_slots=-1"], "expect": {"exit_code": 2, "stderr_contains": "ipcq.n_slots"}}]}))

    def script(self, name, *arguments, expect=0, environment=(), **options):
        return super().script(name, *arguments, expect=expect, environment={**self.environment, **dict(environment)}, **options)

    def begun(self, *arguments):
        """A sweep on the cluster whose held point is under way."""
        self.file("hold", "")
        sweep = self.start(harness.ROOT / "scripts/sweep", self.spec, "--out", "s", *self.launcher, *arguments,
                           env={**os.environ, **self.environment})
        self.await_(lambda: (self.folder / "pid").exists() and (self.folder / "pid").read_text(), sweep, "the held run")
        return sweep

    def await_(self, condition, process, what):
        deadline = time.monotonic() + harness.TIMEOUT_S
        while not condition():
            if process is not None and process.poll() is not None:
                self.fail(f"ended before {what}: {self.ended(process).stderr}")
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def assert_as_local(self):
        """The tables of the sweep s, byte by byte."""
        self.script("sweep", self.spec, "--out", "local", "--jobs", "1")
        for name in ("sweep.csv", "sweep.json"):
            self.assertEqual((self.folder / "s" / name).read_bytes(), (self.folder / "local" / name).read_bytes(), name)
        self.assertEqual(len((self.folder / "s/sweep.csv").read_text().splitlines()), 13)

    def studies_as_local(self):
        """Tables and output of the other scripts."""
        for words, expect in ((("sensitivity", CONFIG, "--key", "noc.hop_cycles", "--key", "ipcq.n_slots", "--csv", "t.csv"), 0),
                              (("degrade", CONFIG, "--of", "ucie", "--csv", "t.csv"), 0),
                              (("degrade", CONFIG, "--of", "pe", "--counts", "0,1,2", "--draws", "2", "--csv", "t.csv"), 0),
                              (("regress", self.suite), 1)):
            job = JOB if words[0] != "regress" else ()
            local = self.script(*words, *job, expect=expect).stdout
            table = (self.folder / "t.csv").read_bytes() if "--csv" in words else b""
            shutil.rmtree(self.folder / "o", ignore_errors=True)
            for _ in range(2):  # the second time nothing is left to run
                done = self.script(*words, "--out", "o", *self.launcher, *job, expect=expect)
                self.assertEqual(done.stdout, local, words)
                self.assertEqual((self.folder / "t.csv").read_bytes() if table else b"", table, words)
            self.assertEqual(done.stderr, "")


class Tasks(ScriptCase):
    """What needs no cluster: shares of the points, what is kept, and what is refused."""

    def degrade(self, *arguments, expect=0):
        return self.script("degrade", CONFIG, "--of", "sip", "--csv", "t.csv", "--jobs", "1", *arguments, *JOB, expect=expect)

    def test_tasks_make_the_table_of_a_local_run(self):
        local, table = self.degrade().stdout, (self.folder / "t.csv").read_bytes()
        for n in range(2):
            self.assertEqual(self.degrade("--out", "o", "--task", f"{n}/2").stdout, "")
        records = {path: path.stat().st_mtime_ns for path in (self.folder / "o/records").iterdir()}
        self.assertGreater(len(records), 1)
        self.assertEqual((self.degrade("--out", "o").stdout, (self.folder / "t.csv").read_bytes()), (local, table))
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "o/records").iterdir()}, records, "a point ran again")

    def test_cases_of_a_suite_are_kept_until_they_change(self):
        def suite(size):
            case = {"name": "a", "config": str(CONFIG), "args": ["--bytes", size], "expect": {"runs": [{"verified": True}]}}
            return self.file("suite.json", json.dumps({"schema": "diecast.suite/1", "cases": [case]}))

        record = self.folder / "o/records/0000-suite,a.json"
        times = []
        for size in ("1KiB", "1KiB", "2KiB"):
            self.script("regress", suite(size), "--out", "o")
            times.append(record.stat().st_mtime_ns)
        self.assertEqual(times[0], times[1])
        self.assertNotEqual(times[1], times[2])
        good = record.read_text()
        for damaged in (good.replace('"exit_code": 0', '"exit_code": 1'), good.replace('"runs"', '"run"'), "", good[:-3]):
            record.write_text(damaged)
            self.script("regress", suite("2KiB"), "--out", "o")
            self.assertEqual(json.loads(record.read_text())["exit_code"], 0, "a damaged record was kept")
        for mine in ('{"digest": "my own"}', "notes"):
            record.write_text(mine)
            self.assertIn("holds something else", self.script("regress", suite("2KiB"), "--out", "o", expect=2).stderr)
            self.assertEqual(record.read_text(), mine)

    def test_equal_sweeps_have_equal_tables(self):
        spec = self.file("spec.json", json.dumps({"schema": "diecast.sweep/1", "config": str(CONFIG), "grid": {"--bytes": ["1KiB"]}}))
        for out in ("a", "b"):
            self.script("sweep", spec, "--out", out)
        for name in ("sweep.csv", "sweep.json"):
            self.assertEqual((self.folder / "a" / name).read_bytes(), (self.folder / "b" / name).read_bytes())

    def test_what_cannot_be_launched_is_said(self):
        (self.folder / "none").mkdir()
        for program in ("env", "python3", "bash", "head"):  # a PATH without launchers
            (self.folder / "none" / program).symlink_to(shutil.which(program))
        hosts = self.file("hosts", ":\n")
        for words, said in ((("--launcher", "slurm", "--out", "o"), "--launcher slurm: no program sbatch; expected the package slurm-client"),
                            (("--launcher", "parallel", "--sshlogin", hosts, "--out", "o"), "no program parallel; expected the package parallel"),
                            (("--launcher", "slurm"), "--launcher slurm: expected --out DIR"),
                            (("--launcher", "parallel", "--out", "o"), "--launcher parallel: expected --sshlogin FILE"),
                            (("--sbatch", "--time=1"), "--sbatch: expected with --launcher slurm"),
                            (("--sshlogin", "hosts"), "--sshlogin: expected with --launcher parallel"),
                            (("--task", "0/2"), "--task: expected --out DIR"),
                            (("--task", "2/2", "--out", "o"), "'2/2'; expected I/N with I from 0 to N - 1"),
                            (("--launcher", "absent"), "invalid choice: 'absent'")):
            for script in (("degrade", CONFIG), ("sensitivity", CONFIG)):
                done = self.script(*script, *words, *JOB, expect=2, environment={"PATH": self.folder / "none"})
                self.assertIn(said, done.stderr, words)


class Slurm(Cluster):
    launcher = ("--launcher", "slurm", "--sbatch", "--time=60")

    def setUp(self):
        if lack := what_lacks(("munged", "munge"), ("slurmctld", "slurm-wlm"), ("slurmd", "slurm-wlm"), ("sbatch", "slurm-wlm")):
            self.skipTest(lack)
        super().setUp()
        host = socket.gethostname().partition(".")[0]
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.environment["SLURM_CONF"] = str(self.file("slurm.conf", f"""
ClusterName=diecast
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthInfo=socket={self.folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=2
PartitionName=main Nodes={host} Default=YES State=UP
"""))
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", *(f"--{name}={self.folder}/munge.{end}" for name, end in (
            ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        self.await_(lambda: (self.folder / "munge.socket").exists(), None, "munged")
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        self.addCleanup(self.command_of_slurm, "scancel", "--user=root")
        self.await_(lambda: "idle" in self.command_of_slurm("sinfo", "--noheader", "--format=%T"), None, "the node of Slurm")

    def daemon(self, *words):
        with open(self.folder / f"{words[0]}.txt", "w") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **self.environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def command_of_slurm(self, *words):
        return subprocess.run(words, env={**os.environ, **self.environment}, capture_output=True, text=True).stdout

    def test_a_killed_task_runs_again_by_the_same_command(self):
        sweep = self.begun()
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        done = self.ended(sweep)
        self.assertEqual(done.code, 1)
        self.assertRegex(done.stderr, r"Slurm job \d+: 12 tasks\n")
        self.assertRegex(done.stderr, r"no result of 0005-algorithm=ring_1d,ipcq.n_slots=7 \(s/tasks/5.txt: .*[Kk]illed")
        self.assertIn("s/sweep.csv: 11 rows of 12 points", done.stdout)
        done = self.script("sweep", self.spec, "--out", "s", *self.launcher)
        self.assertRegex(done.stderr, r"^Slurm job \d+: 1 tasks\n$")
        self.assertEqual(done.stdout.count("(kept)"), 11)
        self.assert_as_local()

    def test_a_signal_cancels_the_array(self):
        sweep = self.begun()
        sweep.send_signal(signal.SIGTERM)
        self.assertEqual(self.ended(sweep).code, 143)
        self.await_(lambda: not self.command_of_slurm("squeue", "--noheader"), None, "the end of the array")
        self.script("sweep", self.spec, "--out", "s", *self.launcher)
        self.assert_as_local()

    def test_an_array_outlives_a_killed_script_and_is_waited_for(self):
        sweep = self.begun("--tasks", "4", "--jobs", "1")
        sweep.kill()
        sweep.wait()
        again = self.start(harness.ROOT / "scripts/sweep", self.spec, "--out", "s", *self.launcher, env={**os.environ, **self.environment})
        self.await_line(again, "waiting for the tasks of an earlier command: Slurm job")
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        done = self.ended(again)
        self.assertEqual(done.code, 0)
        self.assertRegex(done.stderr, r"Slurm job \d+: 2 tasks\n")  # points 5 and 9 of task 1
        self.assert_as_local()

    def test_studies_are_as_local(self):
        self.studies_as_local()

    def test_what_sbatch_refuses_is_said(self):
        done = self.script("sweep", self.spec, "--out", "s", "--launcher", "slurm", "--sbatch", "--partition=absent", expect=2)
        self.assertRegex(done.stderr, r"^scripts/sweep: sbatch: .*invalid partition.*\n$")


class Parallel(Cluster):
    """Two hosts, each a network namespace with an sshd of its own."""

    def setUp(self):
        lack = what_lacks(("parallel", "parallel"), ("sshd", "openssh-server"), ("ssh", "openssh-client"), ("ip", "iproute2"))
        if lack:
            self.skipTest(lack)
        super().setUp()
        self.hosts = []
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)
        options = {"IdentityFile": self.folder / "user_key", "User": "root", "StrictHostKeyChecking": "no", "UserKnownHostsFile": "/dev/null",
                   "LogLevel": "ERROR", "BatchMode": "yes", "ConnectTimeout": "5", "ServerAliveInterval": "1", "ServerAliveCountMax": "3"}
        config = self.file("ssh_config", "".join(f"{key} {value}\n" for key, value in options.items()))
        addresses = [self.host(n) for n in range(2)]
        self.hosts_file = self.file("hosts", "".join(f"1/ssh -F {config} {address}\n" for address in addresses))
        self.launcher = ("--launcher", "parallel", "--sshlogin", str(self.hosts_file))
        for address in addresses:
            self.await_(lambda: not subprocess.run(["ssh", "-F", config, address, "true"], capture_output=True).returncode, None, "sshd")

    def host(self, n):
        """A namespace that has a link to this one and runs sshd; its address."""
        name, here, there = f"diecast{os.getpid()}h{n}", f"198.18.{n}.1", f"198.18.{n}.2"
        link, sshd = f"dc{os.getpid() % 1000000}h{n}", shutil.which("sshd")
        commands = (["netns", "add", name], ["link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name],
                    ["addr", "add", f"{here}/30", "dev", link], ["link", "set", link, "up"],
                    ["-n", name, "addr", "add", f"{there}/30", "dev", "eth0"], ["-n", name, "link", "set", "eth0", "up"],
                    ["-n", name, "link", "set", "lo", "up"])
        for words in commands:
            if subprocess.run(["ip", *words], capture_output=True).returncode:
                self.skipTest(f"no network namespaces: ip {' '.join(words)}")
            if words[0] == "netns":
                self.addCleanup(subprocess.run, ["ip", "netns", "del", name])
                self.addCleanup(subprocess.run, ["ip", "link", "del", link], capture_output=True)
        config = self.file(f"sshd_config{n}", f"ListenAddress {there}\nHostKey {self.folder}/host_key\nPidFile none\nStrictModes no\n"
                           f"AuthorizedKeysFile {self.folder}/user_key.pub\nPermitRootLogin yes\nUsePAM no\n")
        process = subprocess.Popen(["ip", "netns", "exec", name, sshd, "-D", "-f", config, "-E", self.folder / f"sshd{n}.txt"],
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(self.end_host, name)
        self.hosts.append(name)
        return there

    def pids(self, name):
        done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def end_host(self, name):
        for pid in self.pids(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_another_host_takes_the_tasks_of_one_that_died(self):
        sweep = self.begun()
        held = int((self.folder / "pid").read_text())
        died = [name for name in self.hosts if held in self.pids(name)]
        self.assertEqual(len(died), 1, "the held run is on none of the hosts")
        subprocess.run(["ip", "-n", died[0], "link", "set", "eth0", "down"], check=True)
        self.end_host(died[0])
        self.assertEqual(self.ended(sweep).code, 0)
        self.assert_as_local()

    def test_a_signal_ends_the_tasks_and_the_same_command_goes_on(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)):
            shutil.rmtree(self.folder / "s", ignore_errors=True)
            (self.folder / "pid").unlink(missing_ok=True)
            sweep = self.begun()
            sweep.send_signal(number)
            self.assertEqual(self.ended(sweep).code, code)
            self.await_(lambda: all(len(self.pids(name)) == 1 for name in self.hosts), None, "the end of the tasks")
            done = self.script("sweep", self.spec, "--out", "s", *self.launcher)
            self.assertGreater(done.stdout.count("(kept)"), 0)
            self.assert_as_local()

    def test_studies_are_as_local_on_this_host_and_another(self):
        other = self.hosts_file.read_text().splitlines()[0]
        self.launcher = ("--launcher", "parallel", "--sshlogin", str(self.file("hosts", f"1/:\n{other}\n")))
        self.studies_as_local()

    def test_hosts_that_are_down_are_named(self):
        for name in self.hosts:
            self.end_host(name)
        done = self.script("sweep", self.spec, "--out", "s", *self.launcher, expect=1)
        for n in range(2):
            self.assertEqual(done.stderr.count(f"parallel: ssh: connect to host 198.18.{n}.2 port 22"), 1)
        self.assertEqual(done.stderr.count("no result of"), 12)


if __name__ == "__main__":
    harness.main()
