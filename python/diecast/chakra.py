# SPDX-License-Identifier: Apache-2.0
"""Chakra execution traces as a workload: computations, messages and collectives of every rank, and their dependencies.

Attributes of nodes have the meaning of Chakra's feeder (github.com/mlcommons/chakra, src/feeder/et_feeder_node.cpp),
comm_size that of ASTRA-sim (astra-sim/system/collective/Ring.cc): the contribution of one rank."""
import collections

from diecast import chakra_file
from diecast.inputs import json_of, near
from diecast.trace import BadTrace, Builder, Op, need

# CollectiveCommType of et_def.proto, by number.
COLLECTIVES = ("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
               "REDUCE_SCATTER_BLOCK", "BARRIER")
OPS = {name: name.lower() for name in COLLECTIVES} | {"REDUCE_SCATTER_BLOCK": "reduce_scatter"}
ROOTED = ("REDUCE", "GATHER", "SCATTER", "BROADCAST")
GATHERS = ("ALL_GATHER", "GATHER")  # a workload's bytes are those of the whole vector
WORLD = "world"  # the group of all ranks
OF_ALL = ("", "0", "default_pg", WORLD)  # pg_name of all ranks, unless --groups says otherwise; "0" is PyTorch's
KNOWN = ("METADATA_NODE", "COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE")


# groups: {process group: ranks}; root: rank in the group of collectives that have one, None: refused; dtype; gflops: of
# computations that have operations and no duration, None: refused; ctrl_deps: followed, too.
Options = collections.namedtuple("Options", "groups root dtype gflops ctrl_deps", defaults=({}, None, "f16", None, False))


def read_groups(path):
    """ASTRA-sim's communicator group file: {"name": [ranks], ..}."""
    groups = json_of(path, BadTrace, comments=True)
    need(isinstance(groups, dict), path, "expected {group: [ranks]}")
    for name, ranks in groups.items():
        good = isinstance(ranks, list) and ranks and all(type(r) is int and r >= 0 for r in ranks)
        need(good and len(set(ranks)) == len(ranks), f"{path}: {name}", f"{ranks!r}; expected ranks, each once")
    return groups


class Place:
    """A node of a rank, for messages."""

    def __init__(self, path, rank, node):
        self.path, self.rank, self.node = path, rank, node

    def __str__(self):
        return f"{self.path}: node {self.node.id} ({self.node.name})"

    def number(self, name, missing=None):
        value = self.node.attributes.get(name, missing)
        flag = name == "is_cpu_op" and isinstance(value, bool)
        need(flag or isinstance(value, int) and not isinstance(value, bool) and value >= 0, self,
             f"{name} is {value!r}; expected a whole number")
        return value


Meeting = collections.namedtuple("Meeting", "id group ranks first places")  # a collective of a group; places: nodes of its ranks


class Converter:
    """files: the traces of rank 0, 1, ..."""

    def __init__(self, files, options, rank_set="pe"):
        self.options, self.paths = options, files
        self.builder = Builder(len(files), rank_set, "chakra")
        self.traces = [chakra_file.load(path) for path in files]
        self.meetings = {}   # (group, n-th of it) -> Meeting
        self.counts = collections.Counter()  # (rank, group) -> collectives so far
        self.host_ops = self.empty = 0
        self.ends = [{} for _ in files]  # by rank: node id -> id of the op that ends it

    def build(self):
        """The Builder of the workload."""
        ranks = [self._index(rank) for rank in range(len(self.paths))]
        for places in ranks:
            for place in places.values():
                self._declare(place)
        for meeting in self.meetings.values():
            for rank in meeting.ranks:
                need(rank in meeting.places, meeting.first, f"rank {rank} of its group has no such collective")
        for places in ranks:
            for place in places.values():
                self._add(place, places)
        for meeting in self.meetings.values():
            self._add_meeting(meeting, ranks)
        self.builder.match_pieces()
        if self.host_ops:
            self.builder.notes.append(f"{self.host_ops} ops of hosts (is_cpu_op) are delays, which leave the PEs free")
        if self.empty:
            self.builder.notes.append(f"{self.empty} collectives of comm_size 0 move nothing")
        for path, places in zip(self.paths, ranks):
            if not places:
                self.builder.notes.append(f"{path}: no nodes; the rank is idle")
        return self.builder

    def _index(self, rank):
        places = {}
        for node in self.traces[rank]:
            place = Place(self.paths[rank], rank, node)
            need(node.id not in places, place, "another node has its id")
            places[node.id] = place
        for place in places.values():
            for on in self._waits(place.node):
                need(on in places, place, f"depends on node {on}, which is not in the trace")
        return places

    def _waits(self, node):
        return list(dict.fromkeys(node.data_deps + (node.ctrl_deps if self.options.ctrl_deps else [])))

    def _group_of(self, place):
        """Name and ranks of the process group; no name: that of all ranks."""
        name = place.node.attributes.get("pg_name", "")
        world = list(range(len(self.paths)))
        need(isinstance(name, str), place, f"pg_name is {name!r}; expected a text")
        if name in OF_ALL and name not in self.options.groups:
            return None, world
        need(name in self.options.groups, place, f"pg_name {name!r} is no group of --groups{near(name, self.options.groups)}")
        ranks = self.options.groups[name]
        need(max(ranks) < len(world), place, f"group {name} has rank {max(ranks)}; there are {len(world)} traces")
        need(place.rank in ranks, place, f"rank {place.rank} is not in its group {name}")
        return name, ranks

    def _meet(self, place):
        name, ranks = self._group_of(place)
        number = self.counts[place.rank, name]
        self.counts[place.rank, name] += 1
        if (name, number) not in self.meetings:
            id = f"{WORLD}.{number}" if name is None else f"group.{name}.{number}"
            self.meetings[name, number] = Meeting(id, self.builder.group(name, ranks), ranks, place, {})
        meeting = self.meetings[name, number]
        for field in ("comm_type", "comm_size"):
            mine, first = (p.number(field, self._missing(p, field)) for p in (place, meeting.first))
            need(mine == first, place, f"{field} {mine}, but {first} at {meeting.first}, where the collective is {meeting.id}, too")
        meeting.places[place.rank] = place
        return meeting.id

    @staticmethod
    def _missing(place, field):
        """A barrier has no size."""
        return 0 if field == "comm_size" and place.node.attributes.get("comm_type") == COLLECTIVES.index("BARRIER") else None

    def _declare(self, place):
        """Records the op that ends a node."""
        kind, id = place.node.type, f"rank{place.rank}.{place.node.id}"
        need(kind in KNOWN, place, f"type {kind}; expected {', '.join(KNOWN)}")
        if self._on_host(place):
            if place.node.duration_micros:
                self.ends[place.rank][place.node.id] = id
        elif kind == "COMP_NODE":
            self.ends[place.rank][place.node.id] = id
        elif kind == "COMM_COLL_NODE":
            self.ends[place.rank][place.node.id] = self._meet(place)
        elif kind != "METADATA_NODE":
            self.ends[place.rank][place.node.id] = f"{id}.done"

    @staticmethod
    def _on_host(place):
        """Work of the host's CPU, also the call of a communication; the device is free (ASTRA-sim, workload/Workload.cc)."""
        return place.node.type != "METADATA_NODE" and bool(place.number("is_cpu_op", 0))

    def _after(self, place, places):
        """Ids of the ops a node waits for; a node without an op is replaced by its own dependencies."""
        found, seen, open_ = {}, {place.node.id}, self._waits(place.node)[::-1]
        while open_:
            on = open_.pop()
            if on in seen:
                need(on != place.node.id, place, "waits for itself")
                continue
            seen.add(on)
            if on in self.ends[place.rank]:
                found[self.ends[place.rank][on]] = True
            else:
                open_ += self._waits(places[on].node)[::-1]
        return list(found)

    def _add(self, place, places):
        id, after = f"rank{place.rank}.{place.node.id}", self._after(place, places)
        if self._on_host(place):
            if place.node.id in self.ends[place.rank]:
                self.builder.compute(place, place.rank, id, self._duration(place), after, "delay")
                self.host_ops += 1
        elif place.node.type == "COMP_NODE":
            self.builder.compute(place, place.rank, id, self._duration(place), after)
        elif place.node.type in ("COMM_SEND_NODE", "COMM_RECV_NODE"):
            self._message(place, id, after)

    def _duration(self, place) -> float:
        """Nanoseconds of a computation."""
        need(isinstance(place.node.duration_micros, (int, float)), place,
             f"duration_micros is {place.node.duration_micros!r}; expected a number")
        if place.node.duration_micros > 0 or not place.node.attributes.get("num_ops"):
            return 1000 * place.node.duration_micros
        need(self.options.gflops, place, "num_ops without duration_micros; expected --gflops, operations per nanosecond")
        return round(place.number("num_ops") / self.options.gflops, 3)

    def _message(self, place, id, after) -> Op:
        sends = place.node.type == "COMM_SEND_NODE"
        mine, other = ("comm_src", "comm_dst") if sends else ("comm_dst", "comm_src")
        need(place.number(mine, place.rank) == place.rank, place,
             f"{mine} is {place.number(mine, place.rank)} in the trace of rank {place.rank}; expected {place.rank}")
        return self.builder.message(place, place.rank, id, "isend" if sends else "irecv", place.number(other),
                                    place.number("comm_tag", 0), place.number("comm_size"), after)

    def _add_meeting(self, meeting, ranks):
        first = meeting.first
        number = first.number("comm_type")
        need(number < len(COLLECTIVES), first, f"comm_type {number}; expected from 0 to {len(COLLECTIVES) - 1}")
        kind = COLLECTIVES[number]
        dims = first.node.attributes.get("involved_dim") or []
        need(isinstance(dims, list), first, f"involved_dim is {dims!r}; expected a list of bools")
        need(False not in dims, first, "involved_dim leaves dimensions out; expected a pg_name and --groups")
        fields = {}
        if kind != "BARRIER":
            size = first.number("comm_size") * (len(meeting.ranks) if kind in GATHERS else 1)
            fields = {"bytes": size, "dtype": self.options.dtype}
            self.empty += size == 0
        if kind in ROOTED:
            need(self.options.root is not None, first, f"{kind} has a root, which traces do not name; expected --root")
            need(self.options.root < len(meeting.ranks), first,
                 f"--root {self.options.root} is no rank of its group; expected from 0 to {len(meeting.ranks) - 1}")
            fields["root"] = self.options.root
        after = {}
        for rank in meeting.ranks:
            after.update(dict.fromkeys(self._after(meeting.places[rank], ranks[rank])))
        self.builder.collective(first, meeting.id, OPS[kind], meeting.group, fields, list(after))
