# SPDX-License-Identifier: Apache-2.0
"""Barriers of the whole machine: verdicts, counts against formulas, defects and what is said of them."""
import json
import math
import re

import harness
from harness import sets

# 12 ranks of 4 PEs; the queue pairs play no part.
MACHINE = ("--config", harness.CONFIGS / "barrier_small.json")
WORKLOADS = harness.ROOT / "platforms" / "workloads"
ALGORITHMS = ("centralized_pull", "dissemination", "group_dissemination")


class Barriers(harness.Case):
    def barrier(self, *arguments):
        return self.result(*MACHINE, "--collective", "barrier", *arguments)["runs"]

    def assert_good(self, row):
        where = f"{row['algorithm']} of team {row['team']}"
        self.assertEqual(row["status"], "ok", where)
        self.assertIs(row["verified"], True, where)
        stats = row["stats"]
        self.assertEqual(stats["barrier_escapes"], 0, where)
        for count in ("signals_set", "flags_checked"):
            self.assertEqual(stats[f"{count}_per_barrier"], stats[f"{count}_formula"], where)
        self.assertGreaterEqual(stats["polls_per_barrier"], stats["flags_checked_per_barrier"] + stats["core_flags_checked_per_barrier"])

    def test_counts_are_the_formulas(self):
        teams = {"0:1:2": 2, "1:2:5": 5, "11+0+7": 3, "0:1:12": 12}
        rows = self.barrier("--algorithm", "all", "--team", ",".join(teams), *sets("ccl.barrier_radix=4"))
        self.assertEqual(len(rows), 3 * len(teams))
        for row in rows:
            self.assert_good(row)
            n = teams[row["team"]]
            self.assertEqual(row["ranks"], n)
            rounds = math.ceil(math.log2(n))
            expected = {"centralized_pull": (n, n * (n - 1)), "dissemination": (n * rounds, n * rounds),
                        "group_dissemination": (3 * n * math.ceil(math.log(n, 4) - 1e-9),) * 2}
            stats = row["stats"]
            self.assertEqual((stats["signals_set_per_barrier"], stats["flags_checked_per_barrier"]), expected[row["algorithm"]])
            # Two core barriers of 4 cores have 2 rounds each; group dissemination has one more between rounds.
            between = math.ceil(math.log(n, 4) - 1e-9) - 1 if row["algorithm"] == "group_dissemination" else 0
            self.assertEqual(stats["core_signals_set_per_barrier"], n * 4 * 2 * (2 + between))
            self.assert_remote_is_the_algorithms(row, n, radix=4)

    def test_fewer_cores_of_a_pull_look_at_more_flags_each(self):
        pull = ("--algorithm", "centralized_pull", "--team", "0:1:12")
        times = [self.barrier(*pull, *sets(f"ccl.barrier_pollers={k}"))[0]["time_ns"] for k in (1, 2, 4, 8)]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertGreater(times[0], times[2])
        self.assertEqual(times[2], times[3])  # a rank has four cores
        self.assertEqual(self.barrier(*pull)[0]["time_ns"], times[3])

    def assert_remote_is_the_algorithms(self, row, n, radix):
        """Of ranks that are cubes: what each algorithm does in memories of other cubes."""
        stats, where = row["stats"], f"{row['algorithm']} of {n} ranks"
        reads, writes = stats["remote_reads_per_barrier"], stats["remote_writes_per_barrier"]
        if row["algorithm"] == "centralized_pull":
            # Flags are raised in own memory; every rank reads those of all others, some more than once.
            self.assertEqual(writes, 0, where)
            self.assertGreaterEqual(reads, n * (n - 1), where)
            self.assertLessEqual(reads, stats["polls_per_barrier"] - stats["core_flags_checked_per_barrier"], where)
        else:
            # A signal fetches the flag's line and writes it back; all waiting is in own memory.
            shifts = [2 ** r for r in range(math.ceil(math.log2(n)))]
            if row["algorithm"] == "group_dissemination":
                rounds = math.ceil(math.log(n, radix) - 1e-9)
                shifts = [j * radix ** r for r in range(rounds) for j in range(1, radix)]
            elsewhere = n * sum(1 for shift in shifts if shift % n != 0)
            self.assertEqual((reads, writes), (elsewhere, elsewhere), where)
        self.assertEqual(stats["remote_bytes_per_barrier"], 64 * (reads + writes), where)

    def test_strict_memory_serves_barriers(self):
        for name in ALGORITHMS:
            row = self.barrier("--algorithm", name, *sets("sim.strict_memory=true"))[0]
            self.assert_good(row)
            self.assertNotIn("bytes were read", self.run_pod(*MACHINE, "--collective", "barrier", "--algorithm", name).stdout)
        self.run_pod(*harness.SMALL, "--workload", WORKLOADS / "barriers_and_all_reduces.json", *sets("sim.strict_memory=true"))

    def test_a_cube_without_channels_is_an_error_of_the_config(self):
        missing = sets('overrides=[{"match":"pod.sip0.cube_0_0.hbm*","set":{"enabled":false}}]')
        for name in ("auto", *ALGORITHMS):
            job = ("--collective", "barrier", "--algorithm", name)
            self.assertIn("no memory channel", self.run_pod(*harness.SMALL, *job, *missing, expect=2).stderr)
            workload = self.file("job.json", json.dumps({"groups": {"all": {"ranks": "pe"}}, "streams": [{"name": "s", "on": "all", "ops": [
                {"op": "barrier", "algorithm": name}]}]}))
            self.assertIn("no memory channel", self.run_pod(*harness.SMALL, "--workload", workload, *missing, expect=2).stderr)

    @harness.cases(1, 2)
    def test_auto_takes_what_is_fastest_at_both_ends(self, count):
        """Where a rank has eight cores, and where it is one PE; the second of two launches, as in docs/barriers.md. One end
        is known to be missed: two cubes take 3,033 ns with what auto takes, 3,007 ns with dissemination."""
        missed = {("cube", "0:1:2"): 1.01}
        for ranks, settings in (("pe", []), ("cube", sets("pod.sips=4")))[:count]:
            measure = ("--config", harness.CONFIGS / "pod_default.json", *settings, "--collective", "barrier", "--ranks",
                       ranks, "--team", "0:1:2,0:1:64", "--warmup", "1")
            times = {}
            for row in self.result(*measure, "--algorithm", "all")["runs"]:
                self.assert_good(row)
                times.setdefault(row["team"], {})[row["algorithm"]] = row["time_ns"]
            chosen = {row["team"]: row["algorithm"] for row in self.result(*measure)["runs"]}
            self.assertEqual(set(chosen), {"0:1:2", "0:1:64"})
            for team, algorithm in chosen.items():
                self.assertEqual(set(times[team]), set(ALGORITHMS))
                allowed = min(times[team].values()) * missed.get((ranks, team), 1)
                self.assertLessEqual(times[team][algorithm], allowed, f"{ranks}s {team}: {times[team]}")

    def test_rank_sets_and_auto(self):
        for ranks, count in (("pe", 48), ("cube", 12), ("sip", 2)):
            row = self.barrier("--ranks", ranks)[0]
            self.assert_good(row)
            self.assertEqual((row["rank_set"], row["ranks"]), (ranks, count))
            self.assertIn(row["algorithm"], ALGORITHMS)
            self.assertIn("auto: " + row["algorithm"] + " is estimated at", row["algorithm_reason"])

    def test_a_radix_that_never_ends_concerns_group_dissemination_alone(self):
        radix = sets("ccl.barrier_radix=1")
        row = self.barrier(*radix)[0]
        self.assert_good(row)
        self.assertIn("group_dissemination cannot run with this ccl.barrier_radix", row["algorithm_reason"])
        rows = self.barrier("--algorithm", "all", *radix)
        self.assertEqual({row["algorithm"] for row in rows}, set(ALGORITHMS) - {"group_dissemination"})
        for row in rows:
            self.assert_good(row)

    def test_many_in_a_row_over_the_wrap_with_skews(self):
        rows = self.barrier("--algorithm", "all", "--iters", "2", *sets(
            "ccl.barrier_start=4294967290", "ccl.barrier_repeats=8", "ccl.barrier_skew_ns=3000"))
        for row in rows:
            self.assert_good(row)
            self.assertEqual(row["stats"]["barriers"], 16)

    def test_rules_and_tables_are_asked(self):
        table = self.file("tuner.csv", "collective,min_bytes,max_bytes,algorithm\nbarrier,0,4KiB,group_dissemination\n")
        for key, algorithm, why in (("ccl.algorithm_rules=barrier=dissemination", "dissemination", "rule barrier=dissemination"),
                                    (f"ccl.tuner={table}", "group_dissemination", f"rule {table} line 2")):
            row, = self.barrier("--algorithm", "auto", *sets(key))
            self.assertEqual((row["algorithm"], row["algorithm_reason"]), (algorithm, why))
            self.assert_good(row)

    def test_build_order_does_not_show(self):
        times = {order: [row["time_ns"] for row in self.barrier(
                     "--algorithm", "all", *sets(f"sim.build_order={order}", "ccl.barrier_skew_ns=500"))]
                 for order in ("forward", "reverse", "shuffle:3")}
        self.assertEqual(times["forward"], times["reverse"])
        self.assertEqual(times["forward"], times["shuffle:3"])

    def test_bad_input(self):
        for arguments, words in ((("--team", "0:1:13"), "the pod has no rank 12"),
                (("--team", "3+3"), "rank 3 is in the team twice"),
                (("--team", "1:2,5..2"), "is no team (value 1:2;"),
                *((("--team", text), f"--team: is no team (value {text}; expected START:STRIDE:SIZE,") for text in ("5..2", "0-7", "0..7")),
                (("--algorithm", "tree"), "no such barrier algorithm"),
                (("--algorithm", "group_dissemination", *sets("ccl.barrier_radix=1")), "2 or more"),
                (("--algorithm", "group_dissemination", *sets("ccl.barrier_radix=64")), "of which a team has 40"),
                (sets("ccl.errata=late_counter,early_counter"), "no such firmware defect"),
                (("--bytes", "4KiB", "--dtype", "f32"), "--bytes: does not apply to barriers"),
                (("--bytes", "4KiB", "--dtype", "f32"), "--dtype: does not apply to barriers"),
                (("--no-data",), "--no-data: does not apply to barriers"),
                (("--op", "max"), "--op: does not apply to barriers"),
                (("--diagnose", "--team", "2..4"), "--diagnose: examines one run (value 3 teams"),
                (sets("noc.flit_bytes=32", "noc.max_packet_bytes=32"), "line of the data cache")):
            self.assertIn(words, self.run_pod(*MACHINE, "--collective", "barrier", *arguments, expect=2).stderr)
        done = self.run_pod(*MACHINE, "--ranks", "pe", *sets("ccl.errata=no_entry_barrier"), expect=2)
        self.assertIn("ccl.errata: applies to barriers only", done.stderr)
        self.assertIn("--team: applies to barriers only", self.run_pod("--team", "0:1:2", expect=2).stderr)


class Defects(harness.Case):
    def run_with(self, erratum, algorithm, *more, expect):
        return self.run_pod(*MACHINE, "--collective", "barrier", "--algorithm", algorithm, *sets(
            f"ccl.errata={erratum}", "ccl.barrier_repeats=20", "sim.watchdog_us=40"), *more,
            "--out", self.folder / erratum, expect=expect)

    def test_a_signal_without_dcci_stays_in_the_cache(self):
        said = self.run_with("set_without_dcci", "dissemination", expect=3).stderr
        # The first signals of the first core barrier: every core's to the next one of its rank.
        for waiter, writer in ((0, 3), (1, 0), (2, 1), (3, 2)):
            line = f"0x000050{waiter}000000000"
            self.assertIn(f"unflushed signal: pod.sip0.cube_0_0.pe{waiter} waits until the word at {line} (pod.sip0.cube_0_0 "
                          f"hbm[{waiter}]+0x0) is == 1 or 2: line {line}, its data cache does not hold the line, "
                          f"memory holds 0; the data cache of pod.sip0.cube_0_0.pe{writer} holds 1 (dirty); missing "
                          f"operation: dcci_line({line}) there after the store\n", said)
        report = json.loads((self.folder / "set_without_dcci" / "deadlock.json").read_text())
        self.assertTrue(report)

    def test_a_wait_without_dcci_reads_a_stale_line(self):
        said = self.run_with("wait_without_dcci", "dissemination", expect=3).stderr
        stale = re.findall(r"(?m)^(?:deadlock: )?stale line: (pod\.\S+) waits until the word at (0x\w+) \(pod\.(sip\d)\.cube_(\d)_(\d) "
                           r"hbm\[(\d)\]\+(0x\w+)\) is == 1 or 2: line (0x\w+), its data cache holds 0, memory holds "
                           r"([12]); missing operation: dcci_line\((0x\w+)\) on (\S+) before its load$", said)
        self.assertEqual(len(stale), said.count("stale line: pod."), said[:2000])
        self.assertTrue(stale)
        for waiter, word, sip, x, y, port, offset, line, _, operand, place in stale:
            cube = int(x) + 3 * int(y)
            self.assertEqual(waiter, f"pod.{sip}.cube_{x}_{y}.pe{port}")  # a wait is in own memory
            self.assertEqual(int(word, 16), int(sip[3:]) << 56 | cube << 48 | 5 << 44 | int(port) << 36 | int(offset, 16))
            self.assertEqual((line, operand, place), (word, word, waiter))  # a flag begins its line

    def test_a_defect_that_does_no_harm_is_said_not_to_act(self):
        def note(erratum, algorithm, *more):
            row = self.one(*MACHINE, "--collective", "barrier", "--algorithm", algorithm, *sets(f"ccl.errata={erratum}"), *more)
            (said,) = [n for n in row["notes"] if n.startswith("ccl.errata=")]
            return said
        for erratum, algorithm in (("slot_by_rank", "centralized_pull"), ("no_round_barrier", "dissemination"),
                                   ("reused_team_state", "dissemination"), ("unchecked_radix", "group_dissemination")):
            self.assertEqual(note(erratum, algorithm), f"ccl.errata={erratum} did not act: no barrier of this run reaches "
                             "the line of the defect")
        for erratum in ("no_entry_barrier", "late_counter"):
            self.assertRegex(note(erratum, "dissemination", "--ranks", "pe"), f"^ccl.errata={erratum} did not act: firmware "
                             "reached its line [1-9][0-9]* times, and all barriers were right$")
        clean = self.one(*MACHINE, "--collective", "barrier", "--algorithm", "dissemination")
        self.assertFalse([n for n in clean["notes"] if "errata" in n])
        harmful = self.run_with("packed_flags", "dissemination", "--ranks", "pe", *sets("ccl.barrier_skew_ns=200"), expect=3)
        self.assertNotIn("did not act", harmful.stderr)

    def test_two_flags_in_a_line_lose_a_signal(self):
        said = self.run_with("packed_flags", "dissemination", "--ranks", "pe", *sets("ccl.barrier_skew_ns=200"), expect=3).stderr
        self.assertRegex(said, r"lost signal: .*words with several writers share the line")

    def test_no_core_barrier_between_rounds_lets_ranks_escape(self):
        said = self.run_with("no_round_barrier", "group_dissemination", "--team", "0:1:6",
                             *sets("ccl.barrier_skew_ns=20000", "ccl.barrier_radix=3"), expect=1).stderr
        self.assertRegex(said, r"\d+ times a PE left the barrier too early: pod\.\S+ left barrier \d+ .* had not "
                               r"entered it, pod\.\S+ among them")

    @harness.cases(1, 3)
    def test_as_many_ranks_escape_as_are_known_to(self, count):
        # One rank comes late; the others that leave meanwhile do so with all their eight cores.
        late = "ccl.start_delays=pod.sip0.cube_0_0.*=100000"
        for ranks, radix, escaping in ((6, 3, 1), (16, 8, 3), (27, 8, 12))[:count]:
            run = ("--config", harness.CONFIGS / "pod_default.json", "--collective", "barrier", "--algorithm",
                   "group_dissemination", "--team", f"0:1:{ranks}", *sets(f"ccl.barrier_radix={radix}", "sim.watchdog_us=400", late))
            row = self.result(*run, *sets("ccl.errata=no_round_barrier"), expect=1)["runs"][0]
            self.assertIs(row["verified"], False)
            self.assertEqual(row["stats"]["barrier_escapes_ranks"], escaping, f"{ranks} ranks, radix {radix}")
            self.assertEqual(row["stats"]["barrier_escapes"], 8 * escaping, f"{ranks} ranks, radix {radix}")
            self.assertEqual(row["wrong_elements"], 8 * escaping)
            self.assertRegex(self.last.stderr, rf"{8 * escaping} times a PE left the barrier too early: pod\.\S+ left .*; "
                                               rf"counted by rank: {escaping}\b")
            row = self.result(*run)["runs"][0]
            self.assertIs(row["verified"], True)
            self.assertEqual(row["stats"]["barrier_escapes_ranks"], 0)

    def test_no_entry_barrier_mixes_up_the_cores_of_a_rank(self):
        # Cores that come late load a counter that the early ones have already raised.
        said = self.run_with("no_entry_barrier", "dissemination",
                             *sets("ccl.barrier_skew_ns=20000", "ccl.barrier_repeats=1"), expect=3).stderr
        self.assertIn("counters disagree: in team slot 0", said)

    def test_a_late_counter_hangs(self):
        said = self.run_with("late_counter", "group_dissemination", "--ranks", "sip", expect=3).stderr
        self.assertRegex(said, r"counts apart: (pod\.sip[01]\.cube_\d_\d\.pe\d) waits until the word at (0x\w+) .* is == "
                               r"\d+ or \d+: line \2, .*memory holds \d+; (?:the flag of pod\.\S+ is \d+ barriers ahead"
                               r"|pod\.\S+ already waits for \d+ and never stored \d+|pod\.\S+ still waits for \d+); "
                               r"members with equal counters are never this far apart: a counter was loaded too late")
        # Where no flag is far off, a writer that is ahead tells.
        for algorithm, more in (("dissemination", ()), ("centralized_pull", ("--ranks", "sip"))):
            said = self.run_with("late_counter", algorithm, *more, expect=3).stderr
            self.assertIn("counts apart: pod.", said)
            self.assertLessEqual(said.count("\n"), 10)
            self.assertIn("\nroot: ", said)

    def test_a_slot_by_rank_is_out_of_bounds(self):
        said = self.run_with("slot_by_rank", "dissemination", "--ranks", "pe", expect=4).stderr
        self.assertRegex(said, r"flag line (40 of rank \d+ in team slot 0: it is the counter of team slot 0"
                               r"|4[1-9] of rank \d+ in team slot 0: it lies in the array of team slot 1) ")

    def test_radix_one_unchecked_never_ends(self):
        self.run_with("unchecked_radix", "group_dissemination", *sets("ccl.barrier_radix=1", "sim.limit_ms=1"), expect=3)
        report = json.loads((self.folder / "unchecked_radix" / "deadlock.json").read_text())
        for pe in report["pes"]:
            self.assertRegex(pe["step"], r"barrier round \d{3}")

    def test_a_slot_that_is_not_cleared_for_its_next_team(self):
        team_after_team = ("--workload", WORKLOADS / "team_after_team.json")
        row = self.result(*MACHINE, *team_after_team)["runs"][0]
        self.assert_verified(row)
        said = self.run_pod("--config", harness.CONFIGS / "barrier_reused_slot.json", *team_after_team, expect=3).stderr
        # The host has placed the parent's team in slot 0 and its cores' flags in slot 1.
        self.assertRegex(said, r"counters disagree: in team slot 2 pod\.sip0\.cube_0_0\.pe[12] waits for [17] and "
                               r"pod\.sip0\.cube_0_0\.pe[12] for [17]: flags and counter of the slot were not cleared")


class InWorkloads(harness.Case):
    def workload(self, streams, **groups):
        return self.file("w.json", json.dumps({"groups": groups, "streams": streams}))

    def run_workload(self, path, *more, machine=harness.SMALL, expect=0):
        return self.result(*machine, "--workload", path, *more, expect=expect)["runs"][0]

    def assert_good(self, row, barriers):
        """`barriers`: calls of all PEs."""
        self.assert_verified(row)
        for op in row["ops"]:
            if op["op"] == "barrier":
                self.assertIs(op["verified"], True, op["id"])
                self.assertEqual(op["wrong_elements"], 0, op["id"])
        self.assertEqual(row["stats"]["pe_barriers"], barriers)
        self.assertEqual(row["stats"]["barrier_escapes"], 0)
        self.assertGreaterEqual(row["stats"]["polls"], row["stats"]["flags_checked"] + row["stats"]["core_flags_checked"])

    def test_a_hundred_barriers_and_all_reduces(self):
        row = self.run_workload(WORKLOADS / "barriers_and_all_reduces.json")
        self.assert_good(row, 16 * 100)
        self.assertEqual([op["op"] for op in row["ops"]], ["barrier"] * 100 + ["all_reduce"] * 100)
        self.assertTrue(all(op["verified"] for op in row["ops"]))
        # In turn: nobody begins to sum before the last has come, nobody comes again before it has the sum.
        meet, add = row["ops"][:100], row["ops"][100:]
        for i in range(99):
            self.assertLessEqual(meet[i]["start_ns"], add[i]["start_ns"])
            self.assertLess(add[i]["start_ns"], meet[i + 1]["end_ns"])
        self.assertRegex(" ".join(row["notes"]), r"meet: auto: \w+ is estimated at \d+ ns")

    def test_overlapping_teams_and_slots_used_again(self):
        example = WORKLOADS / "overlapping_teams.json"
        rows = [self.run_workload(example, *sets(f"sim.build_order={order}", "ccl.barrier_start=4294967294"))
                for order in ("forward", "reverse", "shuffle:5")]
        # Of barriers() of the file; making a team takes three more of its parent's, giving it back one of its own.
        calls = 10 * 3 + 10 * 3 * 2 + 4 * 4 + 16 * 4 + 8 * 3 + 12 * 5 + 16 * 2
        self.assert_good(rows[0], calls + 2 * 3 * 16 + 8 + 12)
        for other in rows[1:]:
            self.assertEqual(other["ops"], rows[0]["ops"])
            self.assertEqual(other["fingerprint"], rows[0]["fingerprint"])
        alone = self.run_workload(example, "--isolate")
        for stream in alone["streams"]:
            self.assertIs(stream["verified"], True)
            self.assertGreater(stream["slowdown"], 0.99, stream["name"])

    def test_timing_only_keeps_time_and_verdict_of_barriers(self):
        example = WORKLOADS / "overlapping_teams.json"
        timed = self.result(*harness.SMALL, "--workload", example, "--no-data")["runs"][0]
        self.assertEqual(timed["time_ns"], self.run_workload(example)["time_ns"])
        verdicts = {op["op"]: op["verified"] for op in timed["ops"]}
        self.assertIs(verdicts["barrier"], True)
        self.assertIs(verdicts["all_reduce"], None)
        self.assertIs(timed["verified"], None)

    def test_a_late_pe_holds_up_all_members_and_nobody_else(self):
        path = self.workload([{"name": "s", "on": [0, 1, 2, 3], "ops": [{"id": "b", "op": "barrier"}]},
                              {"name": "t", "on": [4, 5], "ops": [{"id": "c", "op": "barrier"}]}])
        row = self.run_workload(path, *sets("ccl.start_delays=pod.sip0.cube_0_0.pe2=50000"))
        self.assert_good(row, 6)
        ends = {op["id"]: op["end_ns"] for op in row["ops"]}
        self.assertGreater(ends["b"], 50_000)
        self.assertLess(ends["c"], 5_000)

    def test_waiting_longer_than_the_watchdog_is_no_deadlock(self):
        """PE 0 waits in a barrier and, in another stream, for an instant; PE 1 comes when that has passed."""
        path = self.workload([{"name": "s", "on": [0, 1], "ops": [{"id": "b", "op": "barrier"}]},
                              {"name": "d", "on": [0], "ops": [{"op": "delay", "ns": 400_000}]}])
        row = self.run_workload(path, *sets("sim.watchdog_us=50", "ccl.start_delays=pod.sip0.cube_0_0.pe1=300000"))
        self.assert_good(row, 2)

    def test_an_early_leaver_is_named_with_its_op(self):
        path = self.workload([{"name": "s", "on": "all", "ops": [
            {"id": "sync", "op": "barrier", "ranks": "cube", "algorithm": "dissemination"}]}], all={"ranks": "pe"})
        done = self.run_pod(*harness.SMALL, "--workload", path, *sets(
            "ccl.errata=no_entry_barrier", "ccl.start_delays=pod.sip0.cube_1_0.pe2=20000"), expect=1)
        self.assertRegex(done.stderr, r"\d+ times a PE left the barrier too early: pod\.\S+ left barrier sync 0 of "
                                      r"its launch at .* 1 of 16 PEs had not entered it, pod\.sip0\.cube_1_0\.pe2 "
                                      r"among them")

    def test_fault_kinds_of_barriers_act_in_workloads(self):
        where = "pod.sip1.cube_1_0.pe2"
        turns = WORKLOADS / "barriers_and_all_reduces.json"
        said_of = {"stale_cache_line": rf"stale line: {where} waits .* missing operation: dcci_line\(0x\w+\) on {where} ",
                   "signal_without_flush": rf"unflushed signal: .* the data cache of {where} holds \d+ \(dirty\)",
                   "infinite_poll": rf"overlooked signal: {where} waits .* is one count ahead; {where} must also accept"}
        for kind, words in said_of.items():
            fault = json.dumps([{"kind": kind, "where": where}])
            workload = turns
            if kind == "infinite_poll":
                # Between all-reduces no peer gets a barrier ahead of a wait; in barriers alone it does.
                self.assert_good(self.run_workload(turns, *sets(f"faults={fault}")), 16 * 100)
                workload = self.workload([{"name": "s", "on": "all", "ops": [
                    {"op": "barrier", "algorithm": "centralized_pull", "times": 100}]}], all={"ranks": "pe"})
            done = self.run_pod(*harness.SMALL, "--workload", workload, *sets(f"faults={fault}", "sim.watchdog_us=40"), expect=3)
            self.assertRegex(done.stderr, words, kind)
            self.assertNotIn("a cycle of", done.stderr)
            # A job without a barrier never meets it.
            done = self.run_pod(*harness.SMALL, "--workload", WORKLOADS / "halo_exchange.json", *sets(f"faults={fault}"), expect=2)
            self.assertIn("faults[0].kind: acts in barriers only, and this job has none", done.stderr)

    def test_two_streams_that_both_hang_are_found(self):
        ops = [{"op": "barrier", "algorithm": "dissemination"}]
        path = self.workload([{"name": "a", "on": [0, 1, 2], "ops": ops}, {"name": "b", "on": [2, 1, 0], "ops": ops}])
        done = self.run_pod(*harness.SMALL, "--workload", path, *sets("ccl.errata=set_without_dcci", "sim.watchdog_us=40"), expect=3)
        self.assertIn("nothing has moved for sim.watchdog_us = 40", done.stderr)
        self.assertIn("unflushed signal", done.stderr)

    def test_defects_of_barriers_without_a_barrier_are_refused(self):
        done = self.run_pod(*harness.SMALL, "--workload", WORKLOADS / "halo_exchange.json", *sets("ccl.errata=late_counter"), expect=2)
        self.assertIn("ccl.errata: applies to barriers only", done.stderr)

    def test_bad_ops_are_refused_with_their_place(self):
        for op, group, words in (({"team": [0, 9]}, [0, 1], "streams[0].ops[0].team[1]: no such rank in the group"),
                ({"ranks": "cube"}, [0, 1, 2, 3, 4], "the group lacks PEs of cube 1"),
                ({"ranks": "die"}, [0, 1], "streams[0].ops[0].ranks"),
                ({"algorithm": "tree"}, [0, 1], "streams[0].ops[0].algorithm"),
                ({"times": 0}, [0, 1], "streams[0].ops[0].times")):
            path = self.workload([{"name": "s", "on": group, "ops": [dict({"op": "barrier"}, **op)]}])
            self.assertIn(words, self.run_pod(*harness.SMALL, "--workload", path, expect=2).stderr)


if __name__ == "__main__":
    harness.main()
