# SPDX-License-Identifier: Apache-2.0
"""Schedules of other tools as a workload: ops with dependencies on numbered ranks."""
import collections
import functools
import json
import sys

from diecast import inputs
from diecast.arguments import parser_of
from diecast.whole_file import output, write_whole

MESSAGE_BYTES = (8, 1 << 20)  # least and most bytes of a tag-matched message (docs/workload-ops.md)
TAGS = 1 << 32
RANKS = 1 << 16  # limit of a peer's number
COLLECTIVE_BYTES = 10**12
TIMES = 1 << 16
ANY = "ANY"


class BadTrace(inputs.BadInput):
    """A schedule that is malformed, or that no workload can express."""


need = functools.partial(inputs.need, refused=BadTrace)


Op = collections.namedtuple("Op", "start end after")  # ids of the ops at the start and the end of a step; what it waits for itself


class Builder:
    """A workload of one stream on all ranks, in which every op names its dependencies.

    ranks: their number. rank_set: the units of the machine, pe, cube or sip: rank i is the i-th of them.
    """

    def __init__(self, ranks, rank_set="pe", name="trace"):
        need(ranks <= RANKS, name, f"{ranks} ranks; expected at most {RANKS}")
        self.ranks, self.rank_set, self.name = ranks, rank_set, name
        self.groups = {"world": self._members(range(ranks))}
        self.ops = []
        self.raised = 0  # messages below the least size
        self.cut = 0  # messages above the greatest size
        self.notes = []  # further notes for the user
        self.pieces = {}  # (from, to, tag): {"isend": [(pieces, where)], "irecv": ..} of messages in several pieces

    def _members(self, ranks):
        return {"ranks": self.rank_set, "list": list(ranks)}

    def _on(self, rank):
        """The group of one rank."""
        self.groups.setdefault(f"rank{rank}", self._members([rank]))
        return f"rank{rank}"

    def compute(self, where, rank, id, ns, after, kind="compute"):
        """kind: compute, or delay for work that leaves the core free."""
        need(0 <= ns <= 10**9, where, f"a computation of {ns} ns; expected from 0 to 1000000000")
        self.ops.append({"id": id, "op": kind, "ns": ns, "group": self._on(rank), "after": after})
        return Op(id, id, after)

    def message(self, where, rank, id, kind, peer, tag, size, after):
        """kind: isend or irecv. Ends when the source may be reused, or when the message is there. A message above the
        limit is sent in pieces of one size, the last one padded; match_pieces() compares the pieces of both sides."""
        least, most = MESSAGE_BYTES
        pieces = -(-size // most)
        need(0 <= size and pieces <= TIMES, where, f"a message of {size} bytes; expected at most {TIMES * most}")
        need(pieces <= 1 or ANY not in (peer, tag), where,
             f"a receive of {size} bytes from any; expected a rank and a tag, as more than {most} bytes come in pieces")
        need(peer == ANY or 0 <= peer < self.ranks, where, f"peer {peer} is no rank; expected from 0 to {self.ranks - 1}")
        need(tag == ANY or 0 <= tag < TAGS, where, f"tag {tag}; expected from 0 to {TAGS - 1}")
        self.raised += kind == "isend" and size < least
        self.cut += kind == "isend" and pieces > 1
        times = {"times": pieces} if pieces > 1 else {}
        if pieces > 1:
            ends = (rank, peer, tag) if kind == "isend" else (peer, rank, tag)
            self.pieces.setdefault(ends, {"isend": [], "irecv": []})[kind].append((pieces, where))
        self.ops.append({"id": id, "op": kind, "peer": peer, "tag": tag, "bytes": max(-(-size // max(pieces, 1)), least), **times,
                         "only": [rank], "after": after})
        self.ops.append({"id": f"{id}.done", "op": "wait", "for": [id], "only": [rank], "after": [id]})
        return Op(id, f"{id}.done", after)

    def match_pieces(self):
        """Refuses messages that are not cut into as many pieces on both sides: theirs would match others, or none."""
        for (sender, receiver, tag), sides in self.pieces.items():
            sent, received = (collections.Counter(pieces for pieces, _ in sides[kind]) for kind in ("isend", "irecv"))
            for kind, odd, other in (("irecv", received - sent, "send"), ("isend", sent - received, "receive")):
                for pieces, where in sides[kind]:
                    need(pieces not in odd, where, f"{pieces} pieces of up to {MESSAGE_BYTES[1]} bytes from rank {sender} to "
                         f"rank {receiver}, tag {tag}, and no {other} of as many; expected the same size on both sides")

    def group(self, name, ranks):
        """Declares a group; its name for collective()."""
        if list(ranks) == list(range(self.ranks)):
            return "world"
        self.groups[f"group.{name}"] = self._members(ranks)
        return f"group.{name}"

    def collective(self, where, id, kind, group, fields, after):
        size = fields.get("bytes", 0)
        need(size <= COLLECTIVE_BYTES, where, f"{kind} of {size} bytes; expected at most {COLLECTIVE_BYTES}")
        on = {} if group == "world" else {"group": group}
        self.ops.append({"id": id, "op": kind, **fields, **on, "after": after})

    def workload(self):
        return {"groups": self.groups, "streams": [{"name": self.name, "on": "world", "ops": self.ops}]}


def text_of(workload, source):
    """The file: an op per line."""
    stream, = workload["streams"]
    groups = ",\n".join(f"    {json.dumps(name)}: {json.dumps(group)}" for name, group in workload["groups"].items())
    ops = ",\n".join(f"      {json.dumps(op)}" for op in stream["ops"])
    return (f"// {inputs.one_line(source)}\n{{\n  \"groups\": {{\n{groups} }},\n  \"streams\": [\n    {{ \"name\": "
            f"{json.dumps(stream['name'])}, \"on\": {json.dumps(stream['on'])}, \"ops\": [\n{ops} ] }}\n  ]\n}}\n")


def parser(text):
    """The command line that the importers share."""
    made = parser_of(text, epilog="Exit codes: 0 written, 2 a schedule that is refused or usage, 5 not writable.")
    made.add_argument("--ranks", choices=("pe", "cube", "sip"), default="pe", help="rank i is the i-th PE, cube or SIP (pe)")
    made.add_argument("--out", type=output("--out"), metavar="FILE", help="the workload; default: standard output")
    return made


def finish(program, options, builder, source):
    """Writes the workload; the exit code."""
    need(builder.ops, source, "nothing to run")
    if builder.raised:
        print(f"{program}: {builder.raised} messages of fewer than {MESSAGE_BYTES[0]} bytes are sent as {MESSAGE_BYTES[0]}",
              file=sys.stderr)
    if builder.cut:
        print(f"{program}: {builder.cut} messages of more than {MESSAGE_BYTES[1]} bytes are sent in pieces of one size",
              file=sys.stderr)
    for note in builder.notes:
        print(f"{program}: {note}", file=sys.stderr)
    text = text_of(builder.workload(), f"From {source} by {program}.")
    if options.out is None:
        sys.stdout.write(text)
        return 0
    write_whole(options.out, text)
    messages = sum(op["op"] == "isend" for op in builder.ops)
    waits = sum(op["op"] == "wait" for op in builder.ops)
    print(f"{options.out}: {builder.ranks} ranks, {len(builder.ops) - waits} ops, {messages} messages")
    return 0
