# SPDX-License-Identifier: Apache-2.0
"""Schedules of other tools: GOAL and Chakra traces become workloads that run and verify, or are refused by line or node."""
import gzip
import json
import sys

import harness
from workbench_test import ScriptCase

sys.path.insert(0, str(harness.ROOT / "python"))
from diecast import chakra_file  # noqa: E402

EXAMPLES = harness.ROOT / "docs" / "examples"
TRACES = harness.HERE / "data" / "chakra"  # written by protobuf's own library


class Import(ScriptCase):
    SCRIPT = ""

    def script(self, *arguments, expect=0):
        return super().script(self.SCRIPT, *arguments, expect=expect)

    def workload(self, *arguments):
        """The workload as data."""
        text = self.script(*arguments).stdout
        return json.loads("".join(line for line in text.splitlines() if not line.startswith("//")))

    def ops(self, *arguments):
        stream, = self.workload(*arguments)["streams"]
        return {op["id"]: op for op in stream["ops"]}

    def run_workload(self, *arguments):
        """Verified ops of the run on the small pod, by id."""
        self.script(*arguments, "--out", "w.json")
        row = self.one(*harness.SMALL, "--workload", "w.json")
        self.assertTrue(all(op["finished"] for op in row["ops"]))
        return {op["id"]: op for op in row["ops"]}


class Goal(Import):
    SCRIPT = "goal2workload"

    def goal(self, *ranks, count=None):
        text = f"num_ranks {count or len(ranks)}\n"
        return self.file("s.goal", text + "".join(f"rank {n} {{\n{ops}\n}}\n" for n, ops in enumerate(ranks)))

    def test_the_shipped_schedule_runs(self):
        ops = self.run_workload(EXAMPLES / "dissemination_16.goal")
        self.assertEqual(sum(op["op"] == "isend" for op in ops.values()), 64)
        self.assertEqual(sum(op["op"] == "wait" and op["verified"] is True for op in ops.values()), 64)
        work = [op for op in ops.values() if op["op"] == "compute"]
        self.assertLess(max(op["start_ns"] for op in work), 600, "work begins after four receives, not after those of all ranks")
        # It is a barrier: nobody is through before the last has done its work.
        last = max(op["end_ns"] for op in work)
        self.assertEqual(len([id for id in ops if id.endswith(".r3.done")]), 16)
        for id, op in ops.items():
            if id.endswith(".r3.done"):
                self.assertGreater(op["end_ns"], last, id)

    def test_what_requires_waits(self):
        ops = self.ops(self.goal("a: calc 100\nb: send 64b to 1 tag 7\nc: calc 5 cpu 0\nb requires a\nc requires b\nc irequires a\n"
                                 "d: calc 1\nd irequires b\ne: calc 2\ne irequires c", "/* any\n*/ recv 64b from -1 tag -1 // last"))
        self.assertEqual(ops["rank0.b"], {"id": "rank0.b", "op": "isend", "peer": 1, "tag": 7, "bytes": 64, "only": [0],
                                          "after": ["rank0.a"]})
        self.assertEqual(ops["rank0.b.done"]["after"], ["rank0.b"])
        self.assertEqual(ops["rank0.c"]["after"], ["rank0.b.done"])
        self.assertEqual(ops["rank0.c"]["ns"], 5)
        self.assertEqual(ops["rank0.d"]["after"], ["rank0.b"])  # the send has begun
        self.assertEqual(ops["rank0.e"]["after"], ["rank0.b.done"])  # what the computation waits for has ended
        receive, = (op for op in ops.values() if op["op"] == "irecv")
        self.assertEqual((receive["peer"], receive["tag"], receive["only"]), ("ANY", "ANY", [1]))

    def test_ops_that_ended_before_a_hang_have_ended(self):
        """Each rank sends last what the other waits for first."""
        done = self.script(self.goal("a: send 64b to 1 tag 1\nr: recv 64b from 1 tag 2\ns: send 64b to 1 tag 3\ns requires r",
                                     "x: recv 64b from 0 tag 1\nq: recv 64b from 0 tag 3\nt: send 64b to 0 tag 2\nt requires q"),
                           "--out", "w.json")
        self.assertEqual(done.stderr, "")
        run, = self.result(*harness.SMALL, "--workload", "w.json", expect=3)["runs"]
        self.assertEqual({op["id"] for op in run["ops"] if op["finished"]},
                         {"rank0.a", "rank0.a.done", "rank0.r", "rank1.x", "rank1.x.done", "rank1.q"})

    def test_a_rank_has_memory_for_its_own_messages(self):
        """A ring of 16 ranks whose messages together fill three TCMs."""
        size = 131072
        ranks = [f"send {size}b to {(rank + 1) % 16} tag 0\nrecv {size}b from {(rank + 15) % 16} tag 0"
                 for rank in range(16)]
        ops = self.run_workload(self.goal(*ranks))
        self.assertEqual(sum(op["verified"] is True for op in ops.values()), 16)

    def test_waiting_shows_in_the_times(self):
        chain = "a: calc 4000\nb: send 64b to 1\nb requires a"
        ops = self.run_workload(self.goal(chain, "r: recv 64b from 0\nw: calc 1000\nw requires r"))
        self.assertGreaterEqual(ops["rank1.w"]["start_ns"], 4000)
        self.assertGreaterEqual(ops["rank1.w"]["end_ns"], 5000)
        # Ranks that pass over an op add nothing to its times.
        self.assertGreaterEqual(ops["rank0.b"]["start_ns"], ops["rank0.a"]["end_ns"])
        self.assertLess(ops["rank1.r"]["end_ns"], 1000)
        self.assertGreaterEqual(ops["rank0.b.done"]["start_ns"], ops["rank0.b"]["end_ns"])
        self.assertEqual({op["ranks"] for op in ops.values()}, {1})

    def test_dependencies_may_come_before_their_ops(self):
        ops = self.ops(self.goal("b requires a\nb: calc 2\na: calc 1"))
        self.assertEqual((list(ops), ops["rank0.b"]["after"]), (["rank0.a", "rank0.b"], ["rank0.a"]))

    def test_ops_without_a_label_have_none_that_another_can_have(self):
        # The file's third line is the first op: the one without a label is on line 4.
        ops = self.ops(self.goal("line4: calc 1\ncalc 2\nline3: calc 3"))
        self.assertEqual(len(ops), 3)

    def test_other_ranks_cost_a_core_nothing(self):
        pair = ("calc 1000\nsend 64b to 1", "calc 1000\nrecv 64b from 0")
        alone = self.run_workload(self.goal(*pair))
        busy = "\n".join(["calc 1000"] * 40)
        among = self.run_workload(self.goal(*pair, *[busy] * 14))
        self.assertEqual({id: among[id] for id in alone}, alone)
        # All begin at once, the last rank as the first.
        self.assertEqual(min(op["start_ns"] for id, op in among.items() if id.startswith("rank15.")), alone["rank0.line.3"]["start_ns"])

    def test_short_messages_are_told(self):
        done = self.script(self.goal("send 1b to 1\nsend 8b to 1", "recv 1b from 0\nrecv 8b from 0"))
        self.assertIn("1 messages of fewer than 8 bytes are sent as 8", done.stderr)
        self.assertEqual(done.stdout.count('"bytes": 8'), 4)

    def test_long_messages_are_cut_on_both_sides(self):
        size = (2 << 20) + 3
        done = self.script(self.goal(f"send {size}b to 1 tag 4", f"recv {size}b from 0 tag 4"), "--out", "w.json")
        self.assertIn("1 messages of more than 1048576 bytes are sent in pieces of one size", done.stderr)
        stream, = json.loads("".join((self.folder / "w.json").read_text().splitlines(True)[1:]))["streams"]
        pieces = [(op["op"], op["bytes"], op["times"]) for op in stream["ops"] if op["op"] != "wait"]
        self.assertEqual(pieces, [("isend", 699052, 3), ("irecv", 699052, 3)])  # a third, rounded up
        row = self.one(*harness.SMALL, "--workload", "w.json", *harness.sets("pe.tcm_kib=8192"))
        self.assertEqual([op["verified"] for op in row["ops"] if op["id"] == "rank1.line.6.done"], [True])
        whole = self.goal(f"send {1 << 20}b to 1", f"recv {1 << 20}b from 0")
        self.assertNotIn("times", self.script(whole).stdout)

    def test_both_sides_have_as_many_pieces(self):
        least, most = 1 << 20, (2 << 20) + 1  # 1 and 3 pieces
        for sent, received, line in ((least, most, 6), (most, least, 3), (most, 2 << 20, 6)):
            done = self.script(self.goal(f"send {sent}b to 1 tag 4", f"recv {received}b from 0 tag 4"), expect=2)
            pieces = -(-(received if line == 6 else sent) // (1 << 20))
            self.assertIn(f"s.goal:{line}: {pieces} pieces of up to 1048576 bytes from rank 0 to rank 1, tag 4, and no "
                          f"{'send' if line == 6 else 'receive'} of as many; expected the same size on both sides", done.stderr)
        # The last is longer than its send, in as many pieces.
        self.script(self.goal(f"send {most}b to 1\nsend 8b to 1", f"recv 8b from 0\nrecv {3 << 20}b from 0"))

    def test_other_cpus_work_beside_the_core(self):
        alone, beside = (self.run_workload(self.goal(f"calc 4000\ncalc 3000{cpu}\nsend 8b to 1", "recv 8b from 0")) for cpu in ("", " cpu 1"))
        last = [max(op["end_ns"] for op in ops.values()) for ops in (alone, beside)]
        self.assertGreater(last[0], 7000)  # one core does both
        self.assertLess(last[1], 5000)
        done = self.script(self.goal("calc 1 cpu 2\nsend 8b to 1 cpu 1 nic 3", "recv 8b from 0 nic 1"))
        self.assertIn("1 computations on other cpus than 0 are delays", done.stderr)
        self.assertIn("2 ops on other nics than 0 share the one port", done.stderr)

    def test_ranks_may_be_cubes(self):
        self.script(self.goal("send 8b to 1", "recv 8b from 0"), "--ranks", "cube", "--out", "w.json")
        row = self.one(*harness.SMALL, "--workload", "w.json")
        self.assertEqual(row["ranks"], 2)

    def test_bad_schedules(self):
        for ops, expected in (("l1: put 8b to 1", "s.goal:3: 'l1: put 8b to 1'; expected calc, send, recv"),
                              ("send 8b from 1", "expected send .. to"), ("recv 8b to 1", "recv .. from"),
                              ("send 8b to 2", "s.goal:3: peer 2 is no rank; expected from 0 to 1"),
                              ("send 8b to -1", "a send to any"), ("send 8b to 1 tag -1", "a send to any"),
                              ("send 8b to 1 tag 4294967296", "tag 4294967296"), ("recv 2000000b from -1", "a receive of 2000000 bytes from any"),
                              ("send 99999999999b to 1", "s.goal:3: a message of 99999999999 bytes; expected at most 68719476736"),
                              (f"calc {'9' * 5000}", "calc of 5000 digits; expected at most 18"),
                              ("calc 2000000000", "from 0 to 1000000000"), ("a: calc 1\na: calc 2", "label a is given twice"),
                              ("a: calc 1\na requires b", "s.goal:4: no op of rank 0 has the label b"),
                              ("a: calc 1\nb: calc 1\na requires b\nb irequires a", "waits for itself"),
                              ("calc -5", "'calc -5'"), ("c" * 99999, "characters)")):
            self.assertIn(expected, self.script(self.goal(ops, "calc 1"), expect=2).stderr)
        for text, expected in (("", "no num_ranks"), ("rank 0 {\n}", "expected num_ranks first"),
                               ("num_ranks 1\nrank 1 {\n}", "a smaller rank"), ("num_ranks 1\nrank 0 {\ncalc 1", "has no }"),
                               ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}", "rank 0 is given twice"), ("num_ranks 0", "expected from 1 to 65536"),
                               (f"num_ranks {'9' * 5000}", "num_ranks of 5000 digits"),
                               ("num_ranks 1\nnum_ranks 1", "given twice"), ("num_ranks 1\nrank 0 {\n}", "nothing to run"),
                               ("num_ranks 1\ncalc 1", "expected num_ranks N or rank N")):
            self.assertIn(expected, self.script(self.file("s.goal", text), expect=2).stderr)
        self.script("absent.goal", expect=2)
        self.script(self.goal("calc 1"), "--out", "no/folder.json", expect=5)


def varint(value):
    """As Protocol Buffers encode a number."""
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7f | 0x80]), value >> 7
    return out + bytes([value])


class Chakra(Import):
    SCRIPT = "chakra2workload"
    STEP = [EXAMPLES / "chakra" / f"step.{rank}.json" for rank in range(4)]
    GROUPS = ("--groups", EXAMPLES / "chakra" / "groups.json")

    def traces(self, *ranks, metadata={"version": "0.0.4"}):
        """A file per rank, of nodes as the jsonizer writes them; the command's arguments."""
        return [self.file(f"t.{rank}.json", json.dumps(metadata) + "".join(map(json.dumps, nodes)))
                for rank, nodes in enumerate(ranks)]

    @staticmethod
    def node(id, kind, deps=(), duration=0, ctrl=(), **attributes):
        def entry(name, value):
            kind = {bool: "boolVal", str: "stringVal", int: "int64Val", list: "boolList"}[type(value)]
            return {"name": name, kind: {"values": value} if isinstance(value, list) else value}
        return {"id": str(id), "name": f"n{id}", "type": kind, "dataDeps": list(deps), "ctrlDeps": list(ctrl),
                "durationMicros": duration, "attr": [entry(*a) for a in attributes.items()]}

    def coll(self, id, kind, size=1024, deps=(), **attributes):
        return self.node(id, "COMM_COLL_NODE", deps, comm_type=kind, comm_size=size, **attributes)

    def test_the_shipped_trace_runs(self):
        ops = self.run_workload(*self.STEP, *self.GROUPS)
        for id in ("group.tp0.0", "group.tp1.0", "world.0", "world.1"):
            self.assertIs(ops[id]["verified"], True, id)
        self.assertEqual((ops["world.0"]["op"], ops["world.1"]["op"]), ("reduce_scatter", "all_gather"))
        self.assertEqual((ops["world.0"]["bytes"], ops["world.1"]["bytes"]), (32768, 4 * 8192))
        # The second stage begins when the activation of the first is there.
        self.assertGreater(ops["rank2.2"]["start_ns"], ops["group.tp0.0"]["end_ns"])
        self.assertGreaterEqual(ops["world.0"]["start_ns"], ops["rank0.5"]["end_ns"])

    def test_both_forms_give_the_same(self):
        binary = [TRACES / f"step.{rank}.et" for rank in range(4)]
        workload = self.workload(*self.STEP, *self.GROUPS)
        self.assertEqual(self.workload(*binary[::-1], *self.GROUPS), workload)
        packed = []
        for rank, path in enumerate(binary):
            packed.append(self.folder / f"z.{rank}.et")
            packed[-1].write_bytes(gzip.compress(path.read_bytes()))
        self.assertEqual(self.workload(*packed, *self.GROUPS), workload)

    def test_every_kind_of_attribute_is_read(self):
        node, = chakra_file.load(TRACES / "attributes.et")
        same, = chakra_file.load(TRACES / "attributes.json")
        self.assertEqual(vars(node), vars(same))
        self.assertEqual(node.attributes, {
            "double_val": 1.25, "float_val": 2.5, "int32_val": -3, "int64_val": -(1 << 40), "uint32_val": 7,
            "uint64_val": 1 << 63, "sint32_val": -9, "sint64_val": -(1 << 50), "fixed32_val": 11, "fixed64_val": 1 << 60,
            "sfixed32_val": -13, "sfixed64_val": -(1 << 45), "bool_val": True, "string_val": "text", "bytes_val": b"bytes",
            "bool_list": [True, False, True], "int64_list": None})
        self.assertEqual((node.id, node.type, node.data_deps, node.ctrl_deps, node.duration_micros),
                         (3, "COMP_NODE", [1, 300, 1 << 40], [9], 5))

    def test_unpacked_numbers_and_unknown_fields_are_read(self):
        body = b"\x08\x07" + b"\x28\x01" + b"\x28\x02" + b"\x18\x04" + b"\x5a\x02\x08\x01" + b"\xa5\x06abcd"
        path = self.folder / "t.0.et"
        path.write_bytes(b"\x07\x0a\x050.0.4" + varint(len(body)) + body)
        node, = chakra_file.load(path)
        self.assertEqual((node.id, node.data_deps, node.type), (7, [1, 2], "COMP_NODE"))

    def test_every_collective(self):
        kinds = {0: "all_reduce", 1: "reduce", 2: "all_gather", 3: "gather", 4: "scatter", 5: "broadcast", 6: "all_to_all",
                 7: "reduce_scatter", 8: "reduce_scatter"}
        nodes = [self.coll(kind, kind, deps=[kind - 1] if kind else []) for kind in kinds]
        ops = self.run_workload(*self.traces(nodes, nodes), "--root", 1, "--dtype", "f32")
        self.assertEqual([ops[f"world.{n}"]["op"] for n in kinds], list(kinds.values()))
        self.assertTrue(all(ops[f"world.{n}"]["verified"] is True for n in kinds))
        sizes = {op["op"]: op["bytes"] for op in ops.values()}
        self.assertEqual({kind for kind, size in sizes.items() if size == 2048}, {"all_gather", "gather"})

    def test_a_barrier_has_no_size(self):
        nodes = [self.node(1, "COMP_NODE", duration=1), self.node(2, "COMM_COLL_NODE", [1], comm_type=9)]
        ops = self.ops(*self.traces(nodes, nodes))
        self.assertEqual(ops["world.0"], {"id": "world.0", "op": "barrier", "after": ["rank0.1", "rank1.1"]})

    def test_dependencies(self):
        nodes = [self.node(1, "COMP_NODE", duration=2), self.node(2, "METADATA_NODE", [1]),
                 self.node(3, "COMP_NODE", [2], duration=1), self.node(4, "COMP_NODE", ctrl=[3])]
        ops = self.ops(*self.traces(nodes))
        self.assertEqual((ops["rank0.3"]["after"], ops["rank0.4"]["after"]), (["rank0.1"], []))
        ops = self.ops(*self.traces(nodes), "--ctrl-deps")
        self.assertEqual(ops["rank0.4"]["after"], ["rank0.3"])

    def test_ops_of_the_host_leave_the_pe_free(self):
        nodes = [self.node(1, "COMP_NODE", duration=3, is_cpu_op=True), self.node(2, "COMP_NODE", duration=2, is_cpu_op=False),
                 self.node(3, "COMM_COLL_NODE", [1], is_cpu_op=True), self.coll(4, 0, deps=[2, 3], is_cpu_op=False)]
        ops = self.run_workload(*self.traces(nodes, nodes))
        self.assertIn("2 ops of hosts (is_cpu_op) are delays", self.script(*self.traces(nodes, nodes)).stderr)
        self.assertEqual([ops[id]["op"] for id in ("rank0.1", "rank0.2", "world.0")], ["delay", "compute", "all_reduce"])
        self.assertNotIn("rank0.3", ops)  # the call of a collective, without a duration
        self.assertEqual(self.ops(*self.traces(nodes, nodes))["world.0"]["after"], ["rank0.2", "rank0.1", "rank1.2", "rank1.1"])
        # Both at once: the host's 3 us hide the PE's 2 us.
        self.assertLess(ops["world.0"]["start_ns"], 4000)

    def test_the_form_of_chakras_feeder(self):
        graph = [{"Id": 1, "Name": "fwd", "NodeType": 4, "data_deps": [], "runtime": 5},
                 {"Id": 2, "Name": "ar", "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 4096, "is_cpu_op": False}]
        traces = [self.file(f"t.{rank}.json", json.dumps({"workload_graph": graph})) for rank in range(2)]
        ops = self.run_workload(*traces)
        self.assertEqual((ops["world.0"]["bytes"], ops["world.0"]["verified"]), (4096, True))
        self.assertGreaterEqual(ops["world.0"]["start_ns"], 5000)
        for entry, expected in ((5, "workload_graph[0]: '5'; expected an object"), ({"id": 1}, "node 1 of the file: node: no Id"),
                                ({"Id": 1, "runtime": 2.5}, "node 1 of the file: runtime: 2.5; expected a whole number")):
            bad = self.file("b.0.json", json.dumps({"workload_graph": [entry]}))
            self.assertIn(expected, self.script(bad, expect=2).stderr)

    def test_collectives_of_nothing_are_counted(self):
        """As of traces whose sizes a converter has lost."""
        rank = [self.coll(1, 0, 0), self.coll(2, 0, 64, [1]), self.coll(3, 2, 0, [2])]
        self.assertIn("2 collectives of comm_size 0 move nothing", self.script(*self.traces(rank, rank)).stderr)

    def test_ranks_without_nodes_are_named(self):
        done = self.script(*self.traces([self.node(1, "COMP_NODE", duration=1)], []))
        self.assertIn("t.1.json: no nodes; the rank is idle", done.stderr)
        self.assertIn("t.0.et: no Chakra trace (file: is empty", self.script(self.file("t.0.et", ""), expect=2).stderr)

    def test_process_groups_of_all_ranks(self):
        both = [self.coll(1, 0, pg_name="world"), self.coll(2, 0, 2048, [1])]
        pair = self.file("g.json", '{"world": [0, 1]}')
        ops = self.ops(*self.traces(both, both, [self.coll(2, 0, 2048)]), "--groups", pair)
        self.assertEqual((ops["group.world.0"]["group"], ops["group.world.0"]["bytes"]), ("group.world", 1024))
        self.assertEqual((ops["world.0"].get("group"), ops["world.0"]["bytes"]), (None, 2048))
        for name in ("", "0", "default_pg", "world"):
            ops = self.ops(*self.traces(*[[self.coll(1, 0, pg_name=name)]] * 2))
            self.assertEqual(list(ops), ["world.0"])
        self.assertEqual(list(self.ops(*self.traces(*[[self.coll(1, 0, pg_name="0")]] * 2),
                                       "--groups", self.file("g.json", '{"0": [0, 1]}'))), ["group.0.0"])

    def test_operations_need_a_rate(self):
        traces = self.traces([self.node(1, "COMP_NODE", num_ops=5000)])
        self.assertIn("node 1 (n1): num_ops without duration_micros", self.script(*traces, expect=2).stderr)
        self.assertEqual(self.ops(*traces, "--gflops", 2)["rank0.1"]["ns"], 2500)

    def test_bad_traces(self):
        comp = self.node(1, "COMP_NODE", duration=1)
        send = self.node(1, "COMM_SEND_NODE", comm_src=0, comm_dst=1, comm_size=64)
        for ranks, expected in (
                ([[self.node(4, "MEM_LOAD_NODE")]], "node 4 (n4): type MEM_LOAD_NODE; expected METADATA_NODE"),
                ([[self.node(4, 77)]], "type 77"), ([[self.node(4, -7)]], "type -7"), ([[self.node(4, "INVALID_NODE")]], "type INVALID_NODE"),
                ([[comp, comp]], "another node has its id"), ([[self.node(1, "COMP_NODE", [9])]], "depends on node 9"),
                 ([[self.coll(1, 10)]], "comm_type 10; expected from 0 to 9"),
                ([[self.coll(1, 5)]], "BROADCAST has a root"), ([[self.coll(1, 0)], []], "rank 1 of its group has no such"),
                ([[self.coll(1, 0)], [self.coll(1, 0, 2048)]], "comm_size 2048, but 1024 at"),
                ([[self.coll(1, 0)], [self.coll(1, 2)]], "comm_type 2, but 0 at"),
                ([[self.coll(1, 0, pg_name="x")]], "pg_name 'x' is no group of --groups"),
                ([[self.coll(1, 0, involved_dim=[True, False])]], "involved_dim leaves dimensions out"),
                ([[self.node(1, "COMM_COLL_NODE", comm_type=0)]], "comm_size is None"),
                ([[send]], "peer 1 is no rank"), ([[comp], [send]], "comm_src is 0 in the trace of rank 1"),
                ([[self.coll(1, 5, pg_name="one")]], "--root 9 is no rank of its group; expected from 0 to 0"),
                ([[self.coll(1, 0, 10**13)]], "all_reduce of 10000000000000 bytes; expected at most 1000000000000"),
                ([[self.node(1, "COMP_NODE", [1])]], "waits for itself")):
            more = ("--root", "9", "--groups", self.file("g.json", '{"one": [0]}')) if "--root" in expected else ()
            errors = self.script(*self.traces(*ranks), *more, expect=2).stderr
            self.assertIn(expected, errors)
            self.assertIn(".json: node ", errors)

    def test_bad_files(self):
        good = self.traces([self.node(1, "COMP_NODE", duration=1)])
        whole = (TRACES / "step.0.et").read_bytes()
        for content in (whole[:-1], b"\xff" * 12, b"\x05\x0a\x03abc\x03\x0a\x09x", b'{"version": "1"} {"id": [1]}', b'{"a": 1} 5',
                        b'{"id": "1", "name": "n", "type": "COMP_NODE"}', b'{"version": '):
            path = self.folder / "b.0.et"
            path.write_bytes(content)
            self.assertIn("b.0.et: no Chakra trace (", self.script(path, expect=2).stderr, content)
        for content, expected in (
                (b'{"version": "1"} {"id": "x"}', "node 1 of the file: id: 'x'; expected a whole number"),
                (b'{"version": "1"} {"id": 1, "attr": ["a"]}', "node 1 of the file: attr[0]: 'a'; expected an object"),
                (b'{"version": "1"} {"id": 1} {"id": 2, "dataDeps": 1}', "node 2 of the file: data_deps: '1'; expected a list"),
                (b'{"version": "1"} {"id": 1, "attr": [{"name": "n", "boolList": [true]}]}', "attr[0] (n): '[True]'; expected an object"),
                (b'{"version": "1"} {"id": 1, "attr": [{"name": "n", "int64Val": 1.5}]}', "attr[0] (n): 1.5; expected a whole number"),
                (b'{"version": "1"} {"durationMicros": 2.5}', "duration_micros: 2.5; expected a whole number"),
                (b"\x02\x0a\x00" + b"\x02\x10\x01", "node 1 of the file: field 2: a varint; expected bytes of a length"),
                (b'[{"version": "1"}]', "JSON: an array; expected objects, one behind the other"),
                (b'{"traceEvents": []}', "JSON: traceEvents in the first object; expected the GlobalMetadata")):
            path.write_bytes(content)
            self.assertIn(expected, self.script(path, expect=2).stderr, content)
        self.assertIn("none is of rank 0", self.script(self.file("t.1.json", "{}"), expect=2).stderr)
        self.assertIn("the number is the rank", self.script(self.file("t.json", "{}"), expect=2).stderr)
        self.assertIn("nothing to run", self.script(self.file("e.0.json", "{}"), expect=2).stderr)
        self.script("absent.0.et", expect=2)
        for groups, expected in (('{"a": [0, 0]}', "each once"), ("[", "Expecting"), ('{"a": [], "a": [0]}', "twice")):
            self.assertIn(expected, self.script(*good, "--groups", self.file("g.json", groups), expect=2).stderr)
        for flag, value in (("--gflops", "0"), ("--root", "-1"), ("--dtype", "f64")):
            self.script(*good, flag, value, expect=2)


if __name__ == "__main__":
    harness.main()
