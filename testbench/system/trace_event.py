# SPDX-License-Identifier: Apache-2.0
"""Reads a timeline in the Trace Event format strictly: what a viewer would drop or draw wrongly is an
error here. Times are exact: decimal numbers of microseconds."""
import collections
import decimal
import json

METADATA = {"process_name": "name", "process_sort_index": "sort_index", "thread_name": "name",
            "thread_sort_index": "sort_index"}


class BadTrace(Exception):
    pass


def need(condition, what, event=None):
    if not condition:
        raise BadTrace(what if event is None else f"{what}: {event}")


class Trace:
    """slices, instants, counters, flows: events by kind; groups and tracks: names by pid, (pid, tid)."""

    def __init__(self, text):
        document = json.loads(text, parse_float=decimal.Decimal)
        need(isinstance(document, dict), "not an object")
        need(document.get("displayTimeUnit") in ("ns", "ms"), "displayTimeUnit is neither ns nor ms")
        self.groups, self.tracks = {}, {}
        self.slices, self.instants, self.counters = [], [], []
        self.flows = collections.defaultdict(dict)
        for event in document["traceEvents"]:
            self._read(event)
        self._check_names()
        self._check_nesting()
        self._check_flows()

    def _read(self, e):
        for key in ("pid", "tid"):
            need(isinstance(e.get(key), int) and e[key] >= 0, f"no {key}", e)
        need(isinstance(e.get("name"), str) and e["name"], "no name", e)
        need(isinstance(e.get("ts"), (int, decimal.Decimal)) and e["ts"] >= 0, "no time", e)
        kind = {"M": self._metadata, "X": self._slice, "i": self._instant, "C": self._counter,
                "s": self._flow, "f": self._flow}.get(e.get("ph"))
        need(kind, "unknown phase", e)
        kind(e)

    def _metadata(self, e):
        need(e["name"] in METADATA, "unknown metadata", e)
        need(METADATA[e["name"]] in e["args"], "metadata without its value", e)
        if e["name"] == "process_name":
            need(e["pid"] not in self.groups, "a group is named twice", e)
            self.groups[e["pid"]] = e["args"]["name"]
        if e["name"] == "thread_name":
            need((e["pid"], e["tid"]) not in self.tracks, "a track is named twice", e)
            self.tracks[e["pid"], e["tid"]] = e["args"]["name"]

    def _slice(self, e):
        need(isinstance(e.get("dur"), (int, decimal.Decimal)) and e["dur"] >= 0, "no duration", e)
        self.slices.append(e)

    def _instant(self, e):
        need(e.get("s") in ("g", "p", "t"), "an instant without scope", e)
        self.instants.append(e)

    def _counter(self, e):
        values = e.get("args", {}).values()
        need(values and all(isinstance(v, (int, decimal.Decimal)) for v in values), "no numbers", e)
        self.counters.append(e)

    def _flow(self, e):
        need("id" in e and "cat" in e, "a flow without id or category", e)
        both = self.flows[e["cat"], e["id"]]
        need(e["ph"] not in both, "a flow begins or ends twice", e)
        both[e["ph"]] = e

    def _check_names(self):
        for e in self.slices + self.instants:
            need((e["pid"], e["tid"]) in self.tracks, "a track without a name", e)
        for e in self.slices + self.instants + self.counters:
            need(e["pid"] in self.groups, "a group without a name", e)

    def of_track(self):
        """Slices by track, in the order of their begins, the longer first."""
        tracks = collections.defaultdict(list)
        for e in self.slices:
            tracks[e["pid"], e["tid"]].append(e)
        for events in tracks.values():
            events.sort(key=lambda e: (e["ts"], -e["dur"]))
        return tracks

    def _check_nesting(self):
        for track, events in self.of_track().items():
            open_ends = []
            for e in events:
                end = e["ts"] + e["dur"]
                while open_ends and open_ends[-1] <= e["ts"]:
                    open_ends.pop()
                need(not open_ends or end <= open_ends[-1],
                     f"slices of {self.groups[track[0]]} {self.tracks[track]} overlap", e)
                open_ends.append(end)

    def _check_flows(self):
        tracks = self.of_track()
        for both in self.flows.values():
            need("s" in both and "f" in both, "half a flow", both)
            need(both["s"]["ts"] <= both["f"]["ts"], "a flow goes back in time", both)
            need(both["f"].get("bp") == "e", "a flow that ends at the next slice", both)
            for e in both.values():
                around = [s for s in tracks[e["pid"], e["tid"]]
                          if s["ts"] <= e["ts"] <= s["ts"] + s["dur"]]
                need(around, "a flow outside all slices", e)
