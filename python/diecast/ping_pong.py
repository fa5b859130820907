# SPDX-License-Identifier: Apache-2.0
"""The workloads of ping-pong benchmarks (osu_latency, osu_bw) between two ranks of a machine."""
import json

from diecast.trace import MESSAGE_BYTES

REPEAT = 3  # the first iterations begin with the launch; the last one is timed
ACKNOWLEDGE_BYTES = MESSAGE_BYTES[0]


def _send(id, sender, size, times=1):
    """The ops of both ranks for messages from one to the other, each completed. Longer ones are cut into equal pieces."""
    pieces = -(-size // MESSAGE_BYTES[1])
    size, times = -(-size // pieces), times * pieces
    receiver = 1 - sender
    return [{"id": f"{id}.r", "op": "irecv", "peer": sender, "bytes": size, "times": times, "only": [receiver]},
            {"id": f"{id}.s", "op": "isend", "peer": receiver, "bytes": size, "times": times, "only": [sender]},
            {"id": f"{id}.sent", "op": "wait", "for": [f"{id}.s"], "only": [sender]},
            {"id": f"{id}.got", "op": "wait", "for": [f"{id}.r"], "only": [receiver]}]


def workload(kind, size, pair, rank_set="pe", window=64):
    """kind: latency (a message there, one back) or bandwidth (a window of messages there, an acknowledgment back)."""
    size = max(size, MESSAGE_BYTES[0])
    times, back = (1, size) if kind == "latency" else (window, ACKNOWLEDGE_BYTES)
    ops = _send("ping", 0, size, times) + _send("pong", 1, back)
    return json.dumps({"groups": {"pair": {"ranks": rank_set, "list": list(pair)}},
                       "streams": [{"name": "ping_pong", "on": "pair", "repeat": REPEAT, "ops": ops}]})


def time_ns(kind, run):
    """The time that the benchmark prints: half of a round trip, or the time of a window; of the last iteration."""
    ends = {op["iteration"]: op["end_ns"] for op in run["ops"] if op["id"] == "pong.got"}
    whole = ends[REPEAT - 1] - ends[REPEAT - 2]
    return whole / 2 if kind == "latency" else whole
