# SPDX-License-Identifier: Apache-2.0
"""NoC traces of Tenstorrent chips (tt-npe, doc/noc_trace_format.md) as transactions of diecast-noc."""
import json

from diecast.inputs import BadInput, json_of

NETWORKS = {"NOC_0": 0, "NOC_1": 1}
READ, START, END = "READ", "READ_BARRIER_START", "READ_BARRIER_END"


def streams(path):
    """(column, row, network) -> [(operation, target, bytes, cycle, recorded end)], cycles from the first read on."""
    events = json_of(path)
    if not isinstance(events, list):
        raise BadInput(f"{path}: is no array of events")
    found = {}
    for number, event in enumerate(events):
        if event.get("type") is None:  # zones of the profiler
            continue
        if event["type"] not in (READ, START, END) or event.get("noc") not in NETWORKS:
            raise BadInput(f"{path}: event {number}: {event.get('type')} on {event.get('noc')} "
                           f"(expected {READ}, {START} or {END} on NOC_0 or NOC_1)")
        found.setdefault((event["sx"], event["sy"], NETWORKS[event["noc"]]), []).append(event)
    reads = [e["timestamp"] for list_ in found.values() for e in list_ if e["type"] == READ]
    if not reads:
        raise BadInput(f"{path}: holds no {READ}")
    return {key: operations(path, sorted(list_, key=lambda e: e["timestamp"]), min(reads)) for key, list_ in found.items()}


def operations(path, events, first):
    """Of one core and network. What precedes the first read of the trace counts as issued with it."""
    made = []
    for event in events:
        cycle = max(0, event["timestamp"] - first)
        if event["type"] == READ:
            made.append(("read", (event["dx"], event["dy"]), event["num_bytes"], cycle, None))
        elif event["type"] == START:
            made.append(("barrier", None, None, cycle, None))
        else:
            if not made or made[-1][0] != "barrier":
                raise BadInput(f"{path}: a {END} at {event['timestamp']} without its {START}")
            made[-1] = (*made[-1][:4], cycle)
    return made


def lines(found):
    """The text of a transaction file."""
    text = []
    for (column, row, network), made in found.items():
        for operation, target, size, cycle, end in made:
            line = {"core": [column, row], "network": network, "op": operation}
            if operation == "read":
                line.update(target=list(target), bytes=size)
            line["at"] = cycle
            if end is not None:
                line["until"] = end
            text.append(json.dumps(line))
    return "\n".join(text) + "\n"
