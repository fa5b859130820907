# SPDX-License-Identifier: Apache-2.0
"""Reads GOAL schedules, the textual form that LogGOPSim and ATLAHS run.

The grammar is that of LogGOPSim's converter (github.com/spcl/LogGOPSim, src/LogGOPSim/txt2bin.re); the meaning is
described by Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", ICPP 2009:

    num_ranks 2
    rank 0 {
    l1: calc 100                  // nanoseconds
    l2: send 64b to 1 tag 7       // cpu N and nic N may follow
    l2 requires l1                // starts when l1 has ended; irequires: when it has started
    }
    rank 1 { ... recv 64b from 0 tag 7 ... }
"""
import collections
import functools
import re

from diecast import inputs
from diecast.trace import ANY, RANKS, BadTrace, Builder, Op, need

COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
NUM_RANKS = re.compile(r"num_ranks\s+(\d+)")
RANK = re.compile(r"rank\s+(\d+)\s*\{")
OP = re.compile(r"(?:([a-zA-Z]\w*)\s*:\s*)?(?:calc\s+(?P<ns>\d+)|(?P<kind>send|recv)\s+(?P<bytes>\d+)\s*b\s+(?P<way>to|from)\s+"
                r"(?P<peer>-1|\d+)(?:\s+tag\s+(?P<tag>-1|\d+))?)(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?")
DEPENDENCY = re.compile(r"([a-zA-Z]\w*)\s+(i?requires)\s+([a-zA-Z]\w*)")


def blank_comments(text, path):
    """The text without comments; lines keep their numbers."""
    for found in COMMENT.finditer(text):
        open_ = found[0].startswith("/*") and (len(found[0]) < 4 or not found[0].endswith("*/"))
        need(not open_, f"{path}:{text.count(chr(10), 0, found.start()) + 1}" if open_ else path, "a comment without its end */")
    return COMMENT.sub(lambda m: "\n" * m[0].count("\n") or " ", text)


whole_number = functools.partial(inputs.whole_number, refused=BadTrace)


Line = collections.namedtuple("Line", "where label match waits")  # an op as written; waits: [(label, for its end or its start)]


class Rank:
    """The block of one rank."""

    def __init__(self, number, where):
        self.number, self.where, self.lines = number, where, {}
        self.pending = []  # dependencies as read

    def read(self, where, text):
        dependency = DEPENDENCY.fullmatch(text)
        if dependency and dependency[1] not in ("calc", "send", "recv"):
            self.pending.append((where, *dependency.groups()))
            return
        match = OP.fullmatch(text)
        need(match, where, f"{text!r}; expected calc, send, recv, requires or irequires of GOAL")
        need(match["kind"] is None or (match["kind"] == "send") == (match["way"] == "to"), where,
             f"{text!r}; expected send .. to or recv .. from")
        label = match[1] or f"line.{where.rpartition(':')[2]}"  # not a possible label
        need(label not in self.lines, where, f"label {label} is given twice")
        self.lines[label] = Line(where, label, match, [])

    def resolve(self):
        for where, label, kind, on in self.pending:
            for name in (label, on):
                need(name in self.lines, where, f"no op of rank {self.number} has the label {name}")
            self.lines[label].waits.append((on, kind == "requires"))


def ordered(rank):
    """The ops of a rank, each behind the ops it waits for, otherwise in the file's order."""
    done, open_, found = set(), [], []
    for first in rank.lines.values():
        open_.append((first, iter(first.waits)))
        trail = {first.label}
        while open_:
            line, waits = open_[-1]
            on = next(waits, None)
            if on is None or line.label in done:
                open_.pop()
                trail.discard(line.label)
                if line.label not in done:
                    done.add(line.label)
                    found.append(line)
            elif on[0] not in done:
                need(on[0] not in trail, line.where, f"{line.label} waits for itself by way of {on[0]}")
                trail.add(on[0])
                open_.append((rank.lines[on[0]], iter(rank.lines[on[0]].waits)))
    return found


class Schedule:
    """A GOAL file. Raises BadTrace with the line of an unknown statement."""

    def __init__(self, path, text):
        self.path, self.ranks, self.count = path, {}, None
        self.beside, self.nics = 0, 0  # computations on cpus, messages on nics, beyond 0
        self._read(blank_comments(text, path))

    def _read(self, text):
        current = None
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{self.path}:{number}"
            for part in re.split(r"(?<=\{)|(?=\})|(?<=\})", line):  # braces may share a line with ops
                part = part.strip()
                if part:
                    current = self._statement(where, part, current)
        need(current is None, self.path, f"the block of rank {current.number if current else ''} has no }}")
        need(self.count is not None, self.path, "no num_ranks")

    def _statement(self, where, text, current):
        if current is None:
            if match := NUM_RANKS.fullmatch(text):
                need(self.count is None, where, "num_ranks is given twice")
                self.count = whole_number(match[1], where, "num_ranks")
                need(0 < self.count <= RANKS, where, f"num_ranks {self.count}; expected from 1 to {RANKS}")
                return None
            match = RANK.fullmatch(text)
            need(match, where, f"{text!r}; expected num_ranks N or rank N {{")
            number = whole_number(match[1], where, "a rank")
            need(self.count is not None and number < self.count, where,
                 f"rank {number} of num_ranks {self.count}; expected num_ranks first, and a smaller rank")
            need(number not in self.ranks, where, f"rank {number} is given twice")
            self.ranks[number] = Rank(number, where)
            return self.ranks[number]
        if text == "}":
            current.resolve()
            return None
        current.read(where, text)
        return current

    def build(self, rank_set="pe"):
        """The Builder of the workload."""
        builder = Builder(self.count, rank_set, "goal")
        for number in sorted(self.ranks):
            made = {}
            for line in ordered(self.ranks[number]):
                made[line.label] = self._add(builder, number, line, made)
        builder.match_pieces()
        if self.beside:
            builder.notes.append(f"{self.beside} computations on other cpus than 0 are delays beside the core; those of one cpu "
                                 "that do not wait for each other overlap")
        if self.nics:
            builder.notes.append(f"{self.nics} ops on other nics than 0 share the one port of the PE")
        return builder

    def _add(self, builder, rank, line, made):
        match = line.match
        cpu, nic = (whole_number(match[unit] or "0", line.where, unit) for unit in ("cpu", "nic"))
        self.nics += nic > 0
        after = []
        for label, ended in line.waits:
            on = made[label]
            # A computation has started when what it waits for has ended; a message, when it is posted.
            after += [on.end] if ended else on.after if on.start == on.end else [on.start]
        after = list(dict.fromkeys(after))
        id = f"rank{rank}.{line.label}"
        if match["ns"] is not None:
            self.beside += cpu > 0
            ns = whole_number(match["ns"], line.where, "calc")
            return builder.compute(line.where, rank, id, ns, after, "delay" if cpu > 0 else "compute")
        return Schedule._message(builder, rank, line, id, after)

    @staticmethod
    def _message(builder, rank, line, id, after) -> Op:
        match = line.match
        sends = match["kind"] == "send"
        need(not sends or "-1" not in (match["peer"], match["tag"]), line.where, "a send to any; expected a rank and a tag")
        peer, tag = (ANY if v == "-1" else whole_number(v, line.where, what)
                     for what, v in (("a rank", match["peer"]), ("tag", match["tag"] or "0")))
        size = whole_number(match["bytes"], line.where, "a size")
        return builder.message(line.where, rank, id, "isend" if sends else "irecv", peer, tag, size, after)


def load(path):
    """A GOAL file. Raises BadTrace."""
    return Schedule(path, inputs.text_of(path, BadTrace, errors="replace"))  # comments may be in any encoding
