# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: dumps of hung runs and of runs that go on, and their way to PyTorch's analyser."""
import json
import pickle
import signal
import subprocess
import sys

import jsonschema  # Debian's python3-jsonschema, of scripts/setup: without it nothing is held against the schema

import harness
from harness import BEGUN, CONFIGS, LAUNCHED, PROGRAMS, ROOT, sets


SCHEMA = ROOT / "testbench" / "system" / "flight.schema.json"
SMALL = ["--config", CONFIGS / "small_pod.json"]
ROOT_PE = "pod.sip0.cube_1_0.pe2"  # rank 6


class Flight(harness.Case):
    def load(self, file):
        flight = json.loads(file.read_text())
        jsonschema.validate(flight, json.loads(SCHEMA.read_text()))
        return flight

    def test_the_schema_refuses_what_is_no_dump(self):
        flight = self.hung()
        flight["entries"][0]["state"] = "lost"
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate(flight, json.loads(SCHEMA.read_text()))

    def hung(self, name="dead_pe"):
        self.run_pod("--config", CONFIGS / "faults" / f"{name}.json", "--out", "out", expect=3)
        return self.load(self.folder / "out" / "flight.json")

    def test_a_deadlock_names_outliers_first_and_the_root(self):
        flight = self.hung()
        groups = flight["summary"]["groups"]
        self.assertEqual(sum(g["count"] for g in groups), 16)
        self.assertEqual([g["count"] for g in groups], sorted(g["count"] for g in groups))
        self.assertEqual({r["rank"] for r in flight["ranks"]}, set(range(16)))
        self.assertEqual(flight["summary"]["roots"][0], {"kind": "peer", "ranks": [6]})
        # Its neighbors wait for it, and their entries say so.
        waiting = [e for e in flight["entries"] if e["state"] == "scheduled" and e["is_p2p"]]
        self.assertIn("nccl:recv 7<-6", {e["profiling_name"] for e in waiting})

    def test_the_root_of_a_lost_credit_is_the_pair_that_lost_it(self):
        flight = self.hung("lost_credit")
        self.assertEqual(flight["summary"]["roots"][0]["kind"], "fault")
        self.assertIn(6, flight["summary"]["roots"][0]["ranks"])

    def test_all_packets_under_way_are_there(self):
        """Those of tag-matched messages and reads, too, as deadlock.json has them."""
        self.run_pod("--config", CONFIGS / "faults" / "link_down.json", "--workload",
                     ROOT / "platforms" / "workloads" / "halo_exchange.json", "--out", "out", expect=3)
        flight = self.load(self.folder / "out" / "flight.json")["in_flight"]
        self.assertEqual(flight, json.loads((self.folder / "out" / "deadlock.json").read_text())["in_flight"])
        self.assertTrue({f["kind"] for f in flight} - {"message", "credit"})

    def test_operations_follow_each_other(self):
        flight = self.hung()
        for rank in range(16):
            own = [e for e in flight["entries"] if e["rank"] == rank and e["state"] == "completed"]
            self.assertEqual([e["record_id"] for e in own], sorted(e["record_id"] for e in own))
            for e in own:
                if e["is_p2p"]:
                    self.assertGreaterEqual(e["time_discovered_completed_ns"], e["time_discovered_started_ns"])

    def test_fewer_operations_and_none(self):
        def kept(n):
            self.run_pod("--config", CONFIGS / "faults" / "dead_pe.json", "--out", "out", "--set",
                         f"trace.flight_operations={n}", expect=3)
            file = self.folder / "out" / "flight.json"
            return self.load(file) if file.exists() else None
        flight = kept(2)
        timed = [e for e in flight["entries"] if e["rank"] == 0 and e["is_p2p"] and e["state"] != "scheduled"]
        self.assertEqual(len(timed), 2)
        self.assertIsNone(kept(0))

    def test_a_checksum_fault_leaves_crcs(self):
        self.run_pod("--config", CONFIGS / "faults" / "bit_flip.json", *sets("comm.checksum=crc32c"), "--out", "out", expect=4)
        flight = self.load(self.folder / "out" / "flight.json")
        self.assertIn("checksum mismatch", flight["why"])
        crcs = [e for e in flight["entries"] if "crc" in e]
        self.assertTrue(crcs, "no entry has a crc")
        self.assertTrue(all(e["is_p2p"] for e in crcs))
        # Other bytes, other digests; and what was corrupted was not taken for received.
        self.assertEqual(len({e["crc"] for e in crcs}), len(crcs))
        self.assertNotIn("nccl:recv 6<-7", {e["profiling_name"] for e in crcs})

    def long_run(self, *more):
        """One that is inside of its first launches; they take minutes."""
        # Under nohup the signal would be ignored from the start.
        process = self.start(*self.command(*SMALL, "--out", "out", "--iters", "40000", "--quiet", "--bytes", "64KiB",
                                           "--progress", "on", *more),
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        self.await_line(process, LAUNCHED)
        return process

    def dump_of(self, process, number):
        """What a signal makes it write; the run continues."""
        process.send_signal(number)
        self.await_line(process, "flight.json: flight recorder written")
        self.assertIsNone(process.poll(), "the run ended")
        return self.load(self.folder / "out" / "flight.json")

    def test_sigusr1_writes_and_the_run_goes_on(self):
        process = self.long_run()
        flight = self.dump_of(process, signal.SIGUSR1)
        self.assertEqual(len(flight["ranks"]), 16)
        # Where each is: the entry of its launch says the same.
        steps = {row["rank"]: row["step"] for row in flight["ranks"]}
        self.assertTrue(any(steps.values()), "no rank is in a step")
        for e in flight["entries"]:
            if not e["is_p2p"]:
                self.assertEqual(e["step"], steps[e["rank"]])
        self.assertIn("signal", flight["why"])
        ids = [(e["rank"], e["record_id"]) for e in flight["entries"]]
        self.assertEqual(len(ids), len(set(ids)), "two entries of a rank have one number")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process).code, 130)

    def test_a_signal_to_a_run_without_a_recorder_is_answered(self):
        process = self.start(*self.command(*SMALL, "--out", "out", "--iters", "100", "--bytes", "64KiB", "--quiet", "--algorithm",
                                           "ring_1d", "--progress", "on", *sets("trace.flight_operations=0")))
        self.await_line(process, BEGUN)
        process.send_signal(signal.SIGUSR1)
        self.await_line(process, "a signal asks for the flight recorder, but trace.flight_operations is 0")
        self.assertEqual(self.ended(process).code, 0)

    def test_one_signal_is_for_one_run(self):
        process = self.start(*self.command(*SMALL, "--out", "out", "--iters", "100", "--bytes", "64KiB", "--quiet", "--algorithm",
                                           "ring_1d,ring_1d_unidir", "--progress", "on"))
        self.await_line(process, r"run 1 of 2 .*" + BEGUN)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.ended(process).code, 0)
        self.assertEqual([p.name for p in (self.folder / "out").glob("flight*")], ["flight_0.json"])

    def test_a_machine_whose_patience_is_short_has_some(self):
        self.run_pod("--config", CONFIGS / "faults" / "dead_pe.json", "--out", "out", *sets("sim.watchdog_us=300"), expect=3)
        flight = self.load(self.folder / "out" / "flight.json")
        self.assertEqual({e["timeout_ms"] for e in flight["entries"]}, {1})
        ids = [(e["rank"], e["record_id"]) for e in flight["entries"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_sighup_ends_the_program_unless_asked_for(self):
        process = self.long_run()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.ended(process).code, 129)
        process = self.long_run("--set", "sim.dump_on_sighup=true")
        self.assertIn("signal", self.dump_of(process, signal.SIGHUP)["why"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(process).code, 130)

    def dumped(self, *job):
        """What flight2torch makes of a job that hangs at the PE of rank 6, by rank, and what it says."""
        # A barrier rings no bell that a dead core could have counted: there, a line goes stale.
        fault = json.dumps([{"kind": "stale_cache_line", "where": ROOT_PE} if "barrier" in job else
                            {"kind": "dead_pe", "where": ROOT_PE, "after": 5}])
        self.run_pod(*SMALL, *job, "--set", f"faults={fault}", "--out", "out", expect=3)
        self.load(self.folder / "out" / "flight.json")
        done = subprocess.run([sys.executable, ROOT / "scripts" / "flight2torch", "out/flight.json", "torch"],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [pickle.loads(f.read_bytes()) for f in sorted((self.folder / "torch").iterdir())], done.stdout

    # The names that PyTorch's analyser takes (their source is in the file); any other is an error there.
    OPS = json.loads((PROGRAMS / "pytorch_flight_ops.json").read_text())
    COLLECTIVES, P2P = set(OPS["collectives"]), set(OPS["p2p"])

    def test_a_hung_message_job_names_its_messages(self):
        self.run_pod(*SMALL, "--workload", PROGRAMS / "receive_before_send.json", "--out", "out", expect=3)
        flight = self.load(self.folder / "out" / "flight.json")
        of_rank = {(e["rank"], e["tag"]): e for e in flight["entries"] if "tag" in e}
        # What has ended, from both ends: the message's size, not that of the receive's buffer.
        for rank, name in ((0, "nccl:send 0->1"), (1, "nccl:recv 1<-0")):
            first = of_rank[rank, 7]
            self.assertEqual((first["profiling_name"], first["state"], first["bytes"], first["is_p2p"]),
                             (name, "completed", 512, True))
            self.assertLess(first["time_created_ns"], first["time_discovered_completed_ns"])
        # What has not: who, from whom, with which tag; the second operation of each.
        for rank, tag, name in ((0, 8, "nccl:recv 0<-1"), (1, 9, "nccl:recv 1<-0")):
            left = of_rank[rank, tag]
            self.assertEqual((left["profiling_name"], left["state"], left["p2p_seq_id"], left["bytes"]),
                             (name, "scheduled", 2, 256))
        waits = {row["pe"]: row["awaits"] for row in flight["ranks"]}
        other = {"pod.sip0.cube_0_0.pe3": ("pod.sip0.cube_1_0.pe2", 8), "pod.sip0.cube_1_0.pe2": ("pod.sip0.cube_0_0.pe3", 9)}
        for pe, (peer, tag) in other.items():
            (wait,) = waits[pe]
            self.assertEqual((wait["kind"], wait["peer"], wait["tag"]), ("receive", peer, tag))
            self.assertRegex(flight["summary"]["text"], f"{pe} waits for a message of {peer}, tag {tag} of communicator 0")
        self.assertEqual(flight["summary"]["roots"], [{"kind": "cycle", "ranks": [0, 1]}])

    def test_a_lost_message_is_waited_for_from_both_ends(self):
        drop = json.dumps([{"kind": "drop", "where": ROOT_PE, "after": 1, "count": 3}])
        self.run_pod(*SMALL, "--workload", ROOT / "platforms" / "workloads" / "halo_exchange.json", "--set",
                     f"faults={drop}", "--out", "out", expect=3)
        flight = self.load(self.folder / "out" / "flight.json")
        (root,) = flight["summary"]["roots"]
        self.assertEqual((root["kind"], root["ranks"]), ("cycle", [6, 7]))
        kinds = {row["rank"]: [w["kind"] for w in row["awaits"]] for row in flight["ranks"] if row["awaits"]}
        self.assertEqual(kinds, {6: ["receive"], 7: ["receipt"]})
        # Outliers first: the ranks that have ended are one group, the last.
        groups = flight["summary"]["groups"]
        self.assertEqual([g["ranks"] for g in groups[:2]], [[6], [7]])
        self.assertEqual((groups[-1]["count"], groups[-1]["state"]), (14, "done"))

    def test_a_dead_pe_is_the_root_of_all_waits_for_its_messages(self):
        dead = json.dumps([{"kind": "dead_pe", "where": ROOT_PE, "after": 40}])
        self.run_pod(*SMALL, "--workload", ROOT / "platforms" / "workloads" / "halo_exchange.json", "--set",
                     f"faults={dead}", "--out", "out", expect=3)
        flight = self.load(self.folder / "out" / "flight.json")
        self.assertEqual(flight["summary"]["roots"], [{"kind": "peer", "ranks": [6]}])

    def test_a_hung_barrier_names_algorithm_count_and_flag(self):
        stale = json.dumps([{"kind": "stale_cache_line", "where": ROOT_PE}])
        for algorithm, stage in (("centralized_pull", "flag of rank"), ("dissemination", "round"),
                                 ("group_dissemination", "round")):
            self.run_pod(*SMALL, "--collective", "barrier", "--ranks", "pe", "--algorithm", algorithm, *sets(
                "ccl.barrier_repeats=3", "sim.watchdog_us=40"), "--set", f"faults={stale}", "--out", "out", expect=3)
            flight = self.load(self.folder / "out" / "flight.json")
            rows = {row["rank"]: row for row in flight["ranks"]}
            (wait,) = rows[6]["awaits"]
            self.assertEqual((wait["kind"], wait["algorithm"], wait["team"]), ("barrier", algorithm, 0))
            self.assertIn(f"{algorithm} of team 0, count {wait['count']}, {stage} ", rows[6]["step"])
            self.assertIn(rows[6]["step"], flight["summary"]["text"])
            own = [e for e in flight["entries"] if e["rank"] == 6 and "algorithm" in e]
            last = own[-1]
            self.assertEqual((last["profiling_name"], last["state"], last["is_p2p"], last["algorithm"], last["count"]),
                             ("nccl:barrier", "started", False, algorithm, wait["count"]))
            self.assertTrue(rows[6]["step"].endswith(", " + last["awaits"]["stage"]), rows[6]["step"])
            self.assertEqual(flight["ranks"][last["awaits"]["rank"]]["pe"], wait["peer"])
            self.assertEqual({e["state"] for e in own[:-1]}, {"completed"} if own[:-1] else set())
            # A team is a process group, whose members are known although some have not come.
            group = last["process_group"][0]
            self.assertEqual(json.loads(flight["pg_config"][group]["ranks"]), list(range(16)))
            status = rows[6]["pg_status"][group]
            self.assertEqual((status["last_enqueued_collective"], status["last_completed_collective"]),
                             (last["collective_seq_id"], last["collective_seq_id"] - 1))

    def test_ranks_of_a_team_are_told_once_where_pes_are_missing(self):
        missing = json.dumps([{"match": "pod.sip0.cube_1_0.pe0", "set": {"enabled": False}}])
        stale = json.dumps([{"kind": "stale_cache_line", "where": "pod.sip1.cube_0_0.pe0"}])
        for ranks in ("cube", "sip", "pe"):
            self.run_pod(*SMALL, "--collective", "barrier", "--algorithm", "centralized_pull", "--ranks", ranks, "--set",
                         f"overrides={missing}", "--set", f"faults={stale}", *sets("sim.watchdog_us=40", "ccl.barrier_repeats=3"),
                         "--out", "out", expect=3)
            flight = self.load(self.folder / "out" / "flight.json")
            (team,) = [g for g in flight["pg_config"].values() if g["desc"].startswith("team ")]
            members = json.loads(team["ranks"])
            self.assertEqual(sorted(set(members)), sorted(members))
            waiting = {e["rank"] for e in flight["entries"] if "algorithm" in e}
            self.assertTrue(waiting)
            self.assertLessEqual(waiting, set(members))

    def test_pytorchs_analyser_takes_every_entry(self):
        workload = ROOT / "platforms" / "workloads" / "halo_exchange.json"
        for job, name, ratio in ((["--collective", "all_gather"], "all_gather", 16),
                                 (["--collective", "reduce_scatter"], "reduce_scatter", 1 / 16),
                                 (["--collective", "all_reduce"], "all_reduce", 1),
                                 (["--collective", "barrier"], "all_reduce_barrier", None),
                                 (["--workload", workload], None, None)):
            dumps, said = self.dumped(*job)
            self.assertEqual(len(dumps), 16)
            self.assertEqual("left out: 16 entries" in said, name is None, said)
            found = set()
            for dump in dumps:
                for e in dump["entries"]:
                    nccl, rest = e["profiling_name"].split(":")
                    kind = rest.split(" ")[0]
                    self.assertEqual(nccl, "nccl")
                    self.assertIn(kind, self.P2P if e["is_p2p"] else self.COLLECTIVES)
                    if not e["is_p2p"]:
                        found.add(kind)
                        self.assertIn(e["process_group"][0], dump["pg_config"])
                        (given,), (made,) = e["input_sizes"][0], e["output_sizes"][0]
                        # As Op.match() compares the sizes of a group of 16.
                        if ratio is not None:
                            self.assertEqual(made, given * ratio)
            self.assertEqual(found, {name} - {None})

    def test_what_is_no_dump_is_refused(self):
        for dump, why in (("[]", "no flight recorder dump"), ("{}", "no flight recorder dump"),
                          ('{"schema": "diecast.flight/1", "version": 1, "pg_config": 1, "ranks": null, "entries": []}',
                           "flight.ranks: null; expected a list")):
            (self.folder / "f.json").write_text(dump)
            done = subprocess.run([sys.executable, ROOT / "scripts" / "flight2torch", "f.json", "torch"], cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, dump)
            self.assertIn(f"flight2torch: f.json: {why}", done.stderr)

    def test_pytorch_loads_the_pickles(self):
        flight = self.hung()
        script = ROOT / "scripts" / "flight2torch"
        done = subprocess.run([sys.executable, script, "out/flight.json", "torch"], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        prefix = "nccl_trace_rank_"
        files = sorted((self.folder / "torch").iterdir())
        self.assertEqual({int(f.name[len(prefix):]) for f in files}, set(range(16)))
        entries = 0
        for file in files:
            with file.open("rb") as dump_file:
                dump = pickle.load(dump_file)
            members = json.loads(dump["pg_config"]["0"]["ranks"])
            self.assertEqual(members, list(range(16)))
            self.assertEqual(str(dump["version"]), "2.4")
            self.assertIn("last_completed_collective", dump["pg_status"]["0"])
            for e in dump["entries"]:
                entries += 1
                nccl, name = e["profiling_name"].split(":")
                self.assertEqual(nccl, "nccl")
                if e["is_p2p"]:
                    kind, ranks = name.split(" ")
                    a, b = ranks.split("->" if kind == "send" else "<-")
                    self.assertTrue(int(a) in members and int(b) in members)
                self.assertEqual(e["process_group"], ("0", "default_pg"))
                self.assertIn(e["state"], ("scheduled", "started", "completed"))
                self.assertTrue(all({"name", "filename", "line"} <= frame.keys() for frame in e["frames"]))
        self.assertEqual(entries, len(flight["entries"]))
        bad = subprocess.run([sys.executable, script, SCHEMA, "torch"], cwd=self.folder, capture_output=True)
        self.assertEqual(bad.returncode, 2)


if __name__ == "__main__":
    harness.main()
