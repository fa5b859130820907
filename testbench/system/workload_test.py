#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads: streams side by side, verified op by op; slowdown; stragglers; what is wrong is said before the run."""
import json

import harness

EXAMPLES = harness.ROOT / "platforms" / "workloads"
PARALLEL = EXAMPLES / "tensor_and_data_parallel.json"


class Streams(harness.Case):
    def workload(self, streams, groups=None, name="w.json"):
        """A workload file of this test."""
        body = {"streams": streams}
        if groups is not None:
            body["groups"] = groups
        return self.file(name, json.dumps(body))

    def run_workload(self, path, *more):
        """The only row of a verified workload."""
        rows = self.result(*harness.SMALL, "--workload", path, *more)["runs"]
        self.assertEqual(len(rows), 1)
        self.assert_verified(rows[0])
        return rows[0]


class Workload(Streams):
    def test_shipped_example_verifies_and_slows_down(self):
        row = self.run_workload(PARALLEL, "--isolate")
        self.assertEqual(row["collective"], "workload")
        self.assertEqual([s["name"] for s in row["streams"]], ["tp0", "tp1", "tp2", "tp3", "dp", "weights"])
        for stream in row["streams"]:
            self.assertIs(stream["finished"], True)
            self.assertIs(stream["verified"], True)
            self.assertGreater(stream["slowdown"], 1.0, stream["name"])
            self.assertAlmostEqual(stream["slowdown"], stream["time_ns"] / stream["isolated_ns"], places=9)
        collectives = [op for op in row["ops"] if op["op"] == "all_reduce"]
        self.assertEqual(len(collectives), 9)
        for op in row["ops"]:
            self.assertLessEqual(op["start_ns"], op["end_ns"])
            self.assertIs(op["verified"], None if op["op"] == "compute" else True)
        self.assertGreaterEqual(row["time_ns"], max(op["end_ns"] for op in row["ops"]))

    def test_streams_that_need_each_other_are_not_run_alone(self):
        """The run of all stays what it is; a stream whose messages cross to another has no time of its own."""
        message = {"shift": 1, "tag": 1, "bytes": 64}
        row = self.run_workload(self.workload([
            {"name": "send", "on": "g", "ops": [{"id": "s", "op": "isend", **message}, {"op": "waitall"}]},
            {"name": "receive", "on": "g", "ops": [{"id": "r", "op": "irecv", **message}, {"op": "waitall"}]},
            # As many messages as receives, but for another stream: that shows when it runs.
            {"name": "ask", "on": "g", "ops": [{"op": "isend", "shift": 1, "tag": 7, "bytes": 64},
                                               {"op": "irecv", "shift": 1, "tag": 8, "bytes": 64}, {"op": "waitall"}]},
            {"name": "answer", "on": "g", "ops": [{"op": "irecv", "shift": 1, "tag": 7, "bytes": 64},
                                                  {"op": "isend", "shift": 1, "tag": 8, "bytes": 64},
                                                  {"op": "waitall"}]},
            {"name": "apart", "on": "g", "ops": [{"op": "sendrecv", "shift": 1, "tag": 3, "bytes": 64}]}],
            {"g": {"ranks": "pe", "list": [0, 1, 2, 3]}}), "--isolate")
        streams = {s["name"]: s for s in row["streams"]}
        for name, why in (("send", "streams[0].ops[0]: without the other streams, rank 0 of g gets 1 messages and has 0"),
                          ("receive", "streams[1].ops[0]: without the other streams, rank 0 of g gets 0 messages"),
                          ("ask", "PEs have not finished"), ("answer", "PEs have not finished")):
            self.assertIsNone(streams[name]["isolated_ns"])
            self.assertIsNone(streams[name]["slowdown"])
            self.assertIn(why, streams[name]["not_isolated"])
            self.assertIs(streams[name]["finished"], True)
        self.assertGreater(streams["apart"]["slowdown"], 1.0)
        self.assertEqual(streams["apart"]["not_isolated"], "")

    def test_one_collective_takes_what_it_takes_alone(self):
        """A workload of one all-reduce costs what --collective does, within the op's own bookkeeping."""
        alone = self.one(*harness.SMALL, "--algorithm", "ring_1d", "--bytes", "16KiB")
        path = self.workload([{"on": "all", "ops": [{"op": "all_reduce", "bytes": "16KiB", "algorithm": "ring_1d"}]}],
                             {"all": {"ranks": "pe"}})
        row = self.run_workload(path)
        self.assertEqual(row["time_ns"], alone["time_ns"])

    def test_same_picoseconds_whatever_the_build_order(self):
        rows = [self.run_workload(PARALLEL, *harness.sets(f"sim.build_order={order}"))
                for order in ("forward", "reverse", "shuffle:7")]
        for other in rows[1:]:
            self.assertEqual(other["ops"], rows[0]["ops"])
            self.assertEqual(other["fingerprint"], rows[0]["fingerprint"])
            self.assertEqual(other["time_ns"], rows[0]["time_ns"])

    def test_other_seeds_are_other_data(self):
        prints = {self.run_workload(PARALLEL, "--seed", seed)["fingerprint"] for seed in (1, 2)}
        self.assertEqual(len(prints), 2)

    def test_after_lets_ops_run_side_by_side(self):
        ops = [{"id": "copy", "op": "memory", "bytes": "64KiB"},
               {"id": "reduce", "op": "all_reduce", "bytes": "8KiB", "after": []},
               {"id": "end", "op": "all_reduce", "bytes": "1KiB", "after": ["copy", "reduce"]}]
        row = self.run_workload(self.workload([{"name": "s", "on": [0, 1, 2], "repeat": 2, "ops": ops}]))
        by_id = {(op["id"], op["iteration"]): op for op in row["ops"]}
        for i in (0, 1):
            self.assertLess(by_id["reduce", i]["start_ns"], by_id["copy", i]["end_ns"])
            self.assertGreater(by_id["end", i]["end_ns"],
                               max(by_id["reduce", i]["end_ns"], by_id["copy", i]["end_ns"]))

    def test_delay_and_compute_take_their_time(self):
        ops = [{"id": "d", "op": "delay", "ns": 1234}, {"id": "c", "op": "compute", "cycles": 777}]
        row = self.result(*harness.SMALL, "--workload", self.workload([{"on": [5], "ops": ops}]))["runs"][0]
        self.assertEqual(row["status"], "ok")
        self.assertIs(row["verified"], None)
        times = {op["id"]: op["end_ns"] - op["start_ns"] for op in row["ops"]}
        look = 7  # pe.register_cycles: the core looks at its event register when the timer has woken it
        self.assertEqual(times, {"d": 1234 + look, "c": 777})

    def test_memory_traffic_reaches_hbm(self):
        def packets(**op):
            path = self.workload([{"on": [0], "ops": [dict({"op": "memory", "bytes": "96KiB"}, **op)]}])
            return self.run_workload(path)["stats"]["packets"]
        within_tcm = packets(where="tcm")
        for fraction in (0, 0.5, 1):
            self.assertGreater(packets(where="hbm", read_fraction=fraction), within_tcm + 90)

    def test_streams_alone_are_no_part_of_what_is_compared(self):
        self.assertIn("dp", self.run_pod(*harness.SMALL, "--workload", PARALLEL, "--isolate", "--double-run").stdout)

    def ring(self):
        return self.workload([{"on": "all", "ops": [
            {"op": "all_reduce", "bytes": "16KiB", "algorithm": "ring_1d"}]}], {"all": {"ranks": "pe"}})

    def test_faults_of_firmware_and_host_reach_workloads(self):
        def ends(kind, code, says, **more):
            fault = json.dumps([{"kind": kind, "where": "pod.sip0.cube_1_0.pe2", **more}])
            done = self.run_pod(*harness.SMALL, "--workload", self.ring(), *harness.sets(f"faults={fault}"), expect=code)
            self.assertIn(says, done.stdout + done.stderr)
        ends("wrong_install", 2, "pod.sip0.cube_1_0.pe2 ")
        ends("sendrecv_alias", 1, "wrong", after=2)
        ends("dispatch_corruption", 4, "call through a bad entry")

    def test_deterministic_reduction_takes_the_place_of_the_named_algorithm(self):
        row = self.run_workload(self.ring(), *harness.sets("comm.deterministic_reduction=true"))
        self.assertEqual([op["algorithm"] for op in row["ops"]], ["p2p_tree"])
        done = self.run_pod(*harness.SMALL, *harness.sets("comm.deterministic_reduction=true"), "--workload",
                            self.workload([{"on": [0, 1], "ops": [
                                {"op": "all_reduce", "bytes": 64, "algorithm": "nonsense"}]}]), expect=2)
        self.assertIn("no such all_reduce algorithm", done.stderr)

    def test_auto_asks_rules_then_the_cost_model(self):
        path = self.workload([{"on": "all", "ops": [
            {"id": name, "op": "all_reduce", "bytes": size, "algorithm": "auto"}
            for name, size in (("small", 64), ("large", "64KiB"))]}], {"all": {"ranks": "cube"}})
        row = self.run_workload(path)
        for op, size in zip(row["ops"], ("64", "64KiB")):
            alone = self.one(*harness.SMALL, "--ranks", "cube", "--algorithm", "auto", "--bytes", size)
            self.assertEqual(op["algorithm"], alone["algorithm"])
            self.assertIn(f"{op['id']}: {alone['algorithm_reason'].split(';')[0].split(',')[0]}", "\n".join(row["notes"]))
        self.assertNotEqual(row["ops"][0]["algorithm"], row["ops"][1]["algorithm"])
        rules = "ccl.algorithm_rules=all_reduce:0-1KiB=tree_binary"
        ruled = self.run_workload(path, *harness.sets(rules))
        self.assertEqual([op["algorithm"] for op in ruled["ops"]], ["tree_binary", row["ops"][1]["algorithm"]])
        self.assertIn("small: rule all_reduce:0-1KiB=tree_binary", "\n".join(ruled["notes"]))
        # A rule that names no algorithm is refused, even one for sizes that no op has.
        wrong = self.run_pod(*harness.SMALL, "--workload", path,
                             *harness.sets("ccl.algorithm_rules=all_reduce:1MiB-2MiB=nonsense"), expect=2)
        self.assertIn("no such all_reduce algorithm", wrong.stderr)

    def test_no_data_keeps_the_time(self):
        timed = self.result(*harness.SMALL, "--workload", PARALLEL, "--no-data")["runs"][0]
        self.assertIs(timed["verified"], None)
        self.assertEqual(timed["time_ns"], self.run_workload(PARALLEL)["time_ns"])

    def test_a_queue_pair_is_named_after_its_stream(self):
        self.run_pod(*harness.SMALL, "--workload", PARALLEL, "--out", "out", "--quiet")
        text = (self.folder / "out" / "ipcq.csv").read_text()
        for stream in ("tp0.E", "tp3.W", "dp.E"):
            self.assertIn(f",{stream},", text)

    def test_table(self):
        text = self.run_pod(*harness.SMALL, "--workload", PARALLEL, "--isolate").stdout
        self.assertRegex(text, r"dp +4 +1 .* yes")
        self.assertRegex(text, r"gradients +0 +all_reduce +ring_1d +65536 .* yes")


class Stragglers(Streams):
    def test_a_late_pe_delays_everybody(self):
        one = ("--algorithm", "ring_1d", "--bytes", "4KiB")
        prompt = self.one(*harness.SMALL, *one)["time_ns"]
        late = self.one(*harness.SMALL, *one,
                        *harness.sets("ccl.start_delays=pod.sip0.cube_1_0.pe2=5000"))["time_ns"]
        self.assertGreater(late, prompt + 4000)
        self.assertLess(late, 2 * prompt + 5000)

    def test_the_last_match_counts(self):
        path = self.workload([{"on": [0, 1], "ops": [{"id": "c", "op": "compute", "cycles": 10}]}])
        delays = "ccl.start_delays=pod.*=900,pod.sip0.cube_0_0.pe1=100.5"
        row = self.result(*harness.SMALL, "--workload", path, *harness.sets(delays))["runs"][0]
        look = 7  # pe.register_cycles: the core looks at its event register when the timer has woken it
        self.assertEqual(row["ops"][0]["start_ns"], 101 + look)
        self.assertEqual(row["ops"][0]["end_ns"], 910 + look)

    def test_a_delay_of_nobody_is_an_error(self):
        done = self.run_pod(*harness.SMALL, *harness.sets("ccl.start_delays=pod.sip7.*=5"), expect=2)
        self.assertIn("ccl.start_delays", done.stderr)
        self.assertIn("names no PE of this machine", done.stderr)

    def test_nonsense_is_an_error(self):
        for value in ("x", "a=", "a=-1", "a=1,", "a=1e5"):
            self.run_pod(*harness.SMALL, *harness.sets(f"ccl.start_delays={value}"), expect=2)


class Hang(Streams):
    def test_a_hung_stream_is_in_its_own_step(self):
        # Both receive first; the other stream has ended long before.
        hung = [{"id": "hung.recv", "op": "irecv", "shift": 1, "tag": 1, "bytes": 64},
                {"id": "hung.wait", "op": "wait", "for": ["hung.recv"]},
                {"id": "hung.send", "op": "isend", "shift": 1, "tag": 1, "bytes": 64},
                {"id": "hung.end", "op": "wait", "for": ["hung.send"]}]
        fine = [{"id": "fine.work", "op": "compute", "ns": 500}, {"id": "fine.sum", "op": "all_reduce", "bytes": 1024}]
        streams = [{"name": "hung", "on": [0, 1], "ops": hung}, {"name": "fine", "on": [0, 1], "ops": fine}]
        file = self.file("hang.json", json.dumps({"streams": streams}))
        out = self.folder / "hang"
        done = self.run_pod(*harness.SMALL, "--workload", file, "--out", out, expect=3)
        waits = {f"receive from rank {rank} of communicator 0, tag 1" for rank in (0, 1)}
        for step in waits:
            self.assertEqual(done.stderr.count(f"(step {step})"), 1)
        self.assertNotIn("all_gather", done.stderr)
        report = json.loads((out / "deadlock.json").read_text())
        self.assertEqual({w["step"] for r in report["roots"] for w in r["waits"]}, waits)
        self.assertEqual({pe["step"] for pe in report["pes"]}, waits)
        flight = json.loads((out / "flight.json").read_text())
        self.assertEqual({rank["step"] for rank in flight["ranks"]}, waits)
        steps = {(e.get("tag"), e["step"]) for e in flight["entries"] if e["is_p2p"]}
        self.assertEqual(steps, {(1, "hung.recv 0"), (None, "reduce_scatter 0"), (None, "all_gather 0")})


class Errors(Streams):
    def test_an_empty_file_is_called_empty(self):
        self.fails(self.file("empty.json", ""), "--workload: is empty")
        self.fails(self.folder / "missing.json", "--workload: cannot be read")
        self.fails(self.folder, "--workload: cannot be read")

    def fails(self, path, *words, more=()):
        done = self.run_pod(*harness.SMALL, "--workload", path, *more, expect=2)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_everything_wrong_is_said_at_once(self):
        ops = [{"op": "all_reduc", "bytes": 4}, {"op": "all_reduce"}, {"op": "all_reduce", "bytes": -4},
               {"op": "memory", "bytes": 4, "read_fraction": 1.5}, {"op": "delay", "ns": 1, "nanos": 2}, 7]
        path = self.workload([{"on": [0], "ops": ops}, {"ops": []}], {"g": {"ranks": "node"}})
        self.fails(path, "streams[0].ops[0].op: no such op; did you mean all_reduce? (value all_reduc",
                   "streams[0].ops[1].bytes: is missing", "streams[0].ops[2].bytes: wrong type (value -4",
                   "streams[0].ops[3].read_fraction: value out of range (value 1.5; expected a number from 0 to 1)",
                   "streams[0].ops[4].nanos: unknown key", "streams[0].ops[5]: wrong type (value 7",
                   "streams[1].on: is missing", "streams[1].ops: is empty", "groups.g.ranks: no such rank set")

    def test_syntax_and_files(self):
        self.fails(self.file("bad.json", "{ \"streams\": [ }"), "bad.json")
        self.fails(self.file("twice.json", '{"streams": [], "streams": []}'), "streams", "duplicate")
        self.fails(self.file("empty.json", '{"streams": []}'), "nothing to run")
        self.fails(self.workload([{"name": "s", "on": [0], "ops": [{"op": "compute", "ns": 1}]}] * 3000), "\nand at least 2994 more: two streams")

    def test_ranks_cycles_and_dependencies(self):
        reduce = {"op": "all_reduce", "bytes": 64}
        self.fails(self.workload([{"on": [0, 16], "ops": [reduce]}]), "streams[0].on[1]: no such rank (value 16")
        self.fails(self.workload([{"on": "tp", "ops": [reduce]}]), "streams[0].on: no such group (value tp")
        cycle = [dict(reduce, id="a", after=["b"]), dict(reduce, id="b")]
        self.fails(self.workload([{"on": [0], "ops": cycle}]), "ops wait for each other", "a after b after a")
        missing = [{"on": [0, 1], "ops": [dict(reduce, group="g")]}]
        self.fails(self.workload(missing, {"g": {"list": [1, 2]}}), "streams[0].ops[0].group: a member of the "
                   "group is missing: pod.sip0.cube_0_0.pe2 does not run stream stream0")

    def test_what_an_op_cannot_do(self):
        self.fails(self.workload([{"on": [0, 1], "ops": [{"op": "all_reduce", "bytes": 3}]}]),
                   "streams[0].ops[0].bytes: not a whole number of f16 elements (value 3")
        self.fails(self.workload([{"on": [0, 1], "ops": [{"op": "all_reduce", "bytes": 4, "algorithm": "rings"}]}]),
                   "streams[0].ops[0].algorithm: no such all_reduce algorithm (value rings")
        self.fails(self.workload([{"on": [0], "ops": [{"op": "compute"}]}]), "either cycles or ns")
        self.fails(self.workload([{"on": [0], "ops": [{"op": "all_reduce", "bytes": "1GiB"}]}]), "pe.tcm_kib")
        many = [{"on": [0, 1], "ops": [{"op": "all_reduce", "bytes": 4}]}] * 9
        self.fails(self.workload([dict(s, name=f"s{i}") for i, s in enumerate(many)]),
                   "ipcq.queue_pairs is too small", "at least 18")

    def test_flags_that_have_no_meaning(self):
        self.fails(PARALLEL, "--bytes: cannot be combined", "--iters: cannot be combined",
                   more=("--bytes", "4KiB", "--iters", "2"))
        self.run_pod(*harness.SMALL, "--isolate", expect=2)


if __name__ == "__main__":
    harness.main()
