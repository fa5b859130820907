# SPDX-License-Identifier: Apache-2.0
"""Converts NoC traces of Tenstorrent chips (tt-npe, tt_npe/doc/noc_trace_format.md) to transactions of diecast-noc."""
import json

from diecast.inputs import check, is_number, json_of, need

NETWORKS = {"NOC_0": 0, "NOC_1": 1}
READS = ("READ", "READ_WITH_STATE", "READ_WITH_STATE_AND_TRID", "READ_DRAM_SHARDED_WITH_STATE")
WRITES = ("WRITE", "WRITE_WITH_TRID", "WRITE_INLINE", "WRITE_WITH_STATE", "WRITE_WITH_TRID_WITH_STATE")
MOVES = {**dict.fromkeys(READS, "read"), **dict.fromkeys(WRITES, "write"), "SEMAPHORE_INC": "atomic"}
STATES = ("READ_SET_STATE", "READ_DRAM_SHARDED_SET_STATE", "WRITE_SET_STATE", "WRITE_WITH_TRID_SET_STATE")
STARTS = ("READ_BARRIER_START", "WRITE_BARRIER_START")
ENDS = ("READ_BARRIER_END", "WRITE_BARRIER_END")
BARRIERS = ("FULL_BARRIER", "ATOMIC_BARRIER")  # barriers without a recorded end
LOCAL = ("READ_SET_TRID", "WRITE_FLUSH", "SEMAPHORE_WAIT", "SEMAPHORE_SET")  # events that send no packet
KNOWN = (*MOVES, *STATES, *STARTS, *ENDS, *BARRIERS, *LOCAL)


def whole(where, event, name, least=0):
    """A whole number of an event, checked."""
    value = event.get(name)
    need(is_number(value) and isinstance(value, int) and value >= least, where,
         f"{name} is {json.dumps(value)[:60]} (expected a whole number from {least} on)")
    return value


def streams(path):
    """(column, row, network) -> [(operation, target, bytes, cycle, recorded end)], cycles count from the first transfer."""
    events, found, device = json_of(path), {}, None
    need(isinstance(events, list), path, "is no array of events")
    for number, event in enumerate(events):
        where = f"{path}: event {number}"
        need(isinstance(event, dict), where, "is no object")
        check(event, {"proc?": "text|number|null"}, where)
        if event.get("type") is None:  # events of the profiler's zones have no type
            continue
        need(event["type"] in KNOWN, where, f"{json.dumps(event['type'])} is not modelled (expected {', '.join(KNOWN)})")
        need(event.get("noc") in tuple(NETWORKS) or event["type"] in LOCAL, where,
             f"noc is {json.dumps(event.get('noc'))} (expected NOC_0 or NOC_1)")
        device = device or (event.get("src_device_id"),)
        need(device == (event.get("src_device_id"),), where,
             "has another src_device_id than the events before it (expected the events of one device)")
        whole(where, event, "timestamp")
        if event["type"] not in LOCAL:
            found.setdefault((whole(where, event, "sx"), whole(where, event, "sy"), NETWORKS[event["noc"]]), []).append((where, event))
    moved = [e["timestamp"] for of in found.values() for _, e in of if e["type"] in MOVES]
    need(moved, path, f"transfers nothing (expected an event of {', '.join(MOVES)})")
    return {key: operations(sorted(of, key=lambda e: e[1]["timestamp"]), min(moved)) for key, of in found.items()}


def operations(events, first):
    """Operations of one core and network. Events before the first transfer of the trace count as issued with it. A transfer
    with state takes a missing target or size from the last event that set it."""
    made, state, begun = [], {}, {}
    for where, event in events:
        cycle, kind, proc = max(0, event["timestamp"] - first), event["type"], event.get("proc")
        if kind in STATES or kind in MOVES:
            need("mcast_start_x" not in event, where, f"{kind} goes to several tiles, and multicasts are not modelled (expected dx and dy)")
            state = {**state, **event} if "WITH_STATE" in kind or kind in STATES else event
        if kind in MOVES:
            size = None if MOVES[kind] == "atomic" else whole(where, state, "num_bytes", 1)
            made.append((MOVES[kind], (whole(where, state, "dx"), whole(where, state, "dy")), size, cycle, None))
        elif kind in ENDS:
            # Events of some traces do not name their processor.
            open_ = begun.pop(proc if proc in begun else next(iter(begun), None), None)
            need(open_ is not None, where, f"a {kind} without its {kind[:-3]}START")
            made[open_] = (*made[open_][:4], cycle)
        elif kind not in STATES:
            if kind in STARTS:
                begun[proc] = len(made)
            made.append(("barrier", None, None, cycle, None))
    return made


def lines(found):
    """The text of a transaction file."""
    text = []
    for (column, row, network), made in found.items():
        for operation, target, size, cycle, end in made:
            line = {"core": [column, row], "network": network, "op": operation, "target": target, "bytes": size, "at": cycle, "until": end}
            text.append(json.dumps({key: value for key, value in line.items() if value is not None}))
    return "\n".join(text) + "\n"
