# SPDX-License-Identifier: Apache-2.0
"""The cores' tracks of a timeline file (--timeline) as a picture: what a report shows without a viewer."""
from diecast.inputs import is_number, json_of, need
from diecast.results import BadResults
from diecast.svg import PALETTE, Picture

KINDS = (("firmware", "#dfe6ee"), ("vector", PALETTE[2]), ("tcm", PALETTE[3]), ("pause", PALETTE[6]),
         ("wait: data", PALETTE[1]), ("wait: credit", PALETTE[0]), ("wait: dma", PALETTE[4]),
         ("wait: memory", PALETTE[5]), ("wait: message", PALETTE[11]), ("wait: never ended", "#222222"))
COLORS = dict(KINDS)
MOST_TRACKS, MOST_ARROWS = 48, 400
# Fields that must be numbers, by the ph of an event.
NUMBERS = {"X": ("pid", "tid", "ts", "dur"), "s": ("pid", "tid", "ts"), "f": ("pid", "tid", "ts")}
NAMES = ("process_name", "thread_name")


def kind_of(name):
    """The kind that a slice of a core is drawn as; None for those that only hold others."""
    for kind in COLORS:
        if name == kind or name.startswith(kind + " "):
            return kind
    return None


def is_event(event):
    """Whether an event has the fields that are read of its kind."""
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str) or not isinstance(event.get("name", ""), str):
        return False
    ends = event["ph"] in ("s", "f")
    named = event["ph"] == "M" and event.get("name") in NAMES
    return (all(is_number(event.get(key)) for key in NUMBERS.get(event["ph"], ("pid", "tid") if named else ())) and
            (not ends or isinstance(event.get("id"), (int, float, str))) and
            (not named or isinstance(event.get("args"), dict) and isinstance(event["args"].get("name"), str)))


def read(path):
    """(groups, tracks, events) of a Trace Event file. Raises BadResults."""
    data = json_of(path, BadResults)
    events = data.get("traceEvents") if isinstance(data, dict) else None
    for n, event in enumerate(events if isinstance(events, list) else [None]):
        need(is_event(event), path, f"no timeline (event {n}); expected what --timeline writes", BadResults)
    groups = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e.get("name") == NAMES[0]}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e.get("name") == NAMES[1]}
    return groups, tracks, events


def legend(picture):
    x = 190
    for kind, color in KINDS[:-1]:
        picture.rectangle(x, 6, 10, 10, fill=color)
        picture.label(x + 13, 15, kind, size=10)
        x += 24 + 5.5 * len(kind)


def draw(path, width=900):
    """SVG of the last launch's kernels, a track per PE, with arrows for messages."""
    groups, tracks, events = read(path)
    kernels = [e for e in events if e["ph"] == "X" and e.get("name") == "kernel"]
    if not kernels:
        raise BadResults(f"{path}: no kernel in it; expected the timeline of a collective")
    start = max(e["ts"] for e in kernels)
    kernels = [e for e in kernels if e["ts"] == start]
    end = max(e["ts"] + e["dur"] for e in kernels)
    rows = {(e["pid"], e["tid"]): n for n, e in enumerate(sorted(kernels, key=lambda e: (e["pid"], e["tid"]))) if n < MOST_TRACKS}
    height, left = 16, 190
    picture = Picture(width, 44 + height * len(rows), "What each core did")
    legend(picture)
    scale = (width - left - 10) / ((end - start) or 1)

    def x_of(ts):
        return left + (ts - start) * scale

    for e in kernels:
        track = (e["pid"], e["tid"])
        if track not in rows:
            continue
        y = 24 + rows[track] * height
        name = f"{groups.get(e['pid'], e['pid'])}.{tracks.get(track, e['tid'])}".removeprefix("pod.")
        picture.label(left - 6, y + 11, name, size=9, anchor="end")
        picture.rectangle(x_of(start), y, e["dur"] * scale, height - 3, fill=COLORS["firmware"])
    for e in events:
        kind = kind_of(e.get("name", "")) if e["ph"] == "X" else None
        track = (e["pid"], e["tid"]) if kind else None
        if kind and track in rows and e["ts"] >= start:
            picture.rectangle(x_of(e["ts"]), 24 + rows[track] * height, e["dur"] * scale, height - 3, fill=COLORS[kind],
                              tip=f"{e['name']}: {e['dur'] * 1000:,.1f} ns at {(e['ts'] - start) * 1000:,.1f} ns")
    draw_arrows(picture, events, rows, start, x_of, height)
    picture.label(left, picture.height - 4, "0", size=10)
    picture.label(width - 10, picture.height - 4, f"{(end - start) * 1000:,.1f} ns", size=10, anchor="end")
    return picture.text()


def draw_arrows(picture, events, rows, start, x_of, height):
    """All messages of the launch, or none where they would cover the tracks."""
    begun = {e["id"]: e for e in events if e["ph"] == "s" and e["ts"] >= start}
    if len(begun) > MOST_ARROWS:
        return
    for e in events:
        if e["ph"] != "f" or e["id"] not in begun:
            continue
        s = begun[e["id"]]
        source, target = (s["pid"], s["tid"]), (e["pid"], e["tid"])
        if source in rows and target in rows:
            picture.line(x_of(s["ts"]), 24 + rows[source] * height + height / 2, x_of(e["ts"]),
                         24 + rows[target] * height + height / 2, stroke="#00000077", width=0.8)
