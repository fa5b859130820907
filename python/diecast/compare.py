# SPDX-License-Identifier: Apache-2.0
"""Compares two result directories: config, time, energy, counters, links and critical path."""
import collections

from diecast.machine import text_of as value_text
from diecast.noise import Timing, effect, times_of
from diecast.results import need_collectives
from diecast.tables import aligned

MISSING = "(absent)"


def flatten(value, path=""):
    """{dotted path: plain value} of nested objects; arrays stay whole."""
    if not isinstance(value, dict):
        return {path: value}
    return {name: plain for key, inner in value.items() for name, plain in flatten(inner, f"{path}.{key}" if path else key).items()}


def config_changes(a, b):
    """[(key, value in a, value in b)] of keys that differ."""
    left, right = flatten(a), flatten(b)
    return [(key, left.get(key, MISSING), right.get(key, MISSING)) for key in sorted(left.keys() | right.keys())
            if left.get(key, MISSING) != right.get(key, MISSING)]


ASKED = ("collective", "algorithm", "dtype", "op", "bytes")  # keys of a run, in the order of the text
MIXED = "mixed"  # dtype and op of a workload
JOB = ("collective", "bytes", "dtype", "op", "team", "rank_set")  # keys by which algorithms are chosen


def job_of(row):
    return tuple(row.get(k) for k in JOB)


def key_of(row):
    return (*job_of(row), row.get("algorithm"))


def word(run, key):
    """One property of a run's job; nothing for the types of a workload and the bytes of a barrier."""
    if run.get(key) == MIXED or run["collective"] == "barrier" and key not in ASKED[:2]:
        return ""
    return f"{run['bytes']:,} bytes" if key == "bytes" else str(run.get(key))


def job_text(run):
    """The job of both runs, with both values where they differ."""
    both = [dict.fromkeys((word(run["what"], k), word(run["against"], k))) for k in ASKED]
    *words, size = [" and ".join(filter(None, words)) for words in both]
    return ", ".join(filter(None, (" ".join(filter(None, words)), size)))


def pairs_of(a, b):
    """Indices of runs of the same job and algorithm, the first of several with the first; then of runs that are the only
    others of a job on each side, as --algorithm auto may have chosen differently. Without any pair and with equally many
    rows, row by row; never of different rank sets."""
    there = collections.defaultdict(collections.deque)
    for n, row in enumerate(b.runs):
        there[key_of(row)].append(n)
    same = [(n, there[key_of(row)].popleft()) for n, row in enumerate(a.runs) if there[key_of(row)]]
    left = [collections.defaultdict(list), collections.defaultdict(list)]
    for side, runs in enumerate((a.runs, b.runs)):
        paired = {pair[side] for pair in same}
        for n, row in enumerate(runs):
            if n not in paired:
                left[side][job_of(row)].append(n)
    same += [(old[0], left[1][job][0]) for job, old in left[0].items() if len(old) == len(left[1][job]) == 1]
    if not same and len(a.runs) == len(b.runs):
        same = [(n, n) for n, (old, new) in enumerate(zip(a.runs, b.runs)) if old.get("rank_set") == new.get("rank_set")]
    return sorted(same)


def alone(runs, paired):
    """The jobs of runs that the other side does not have. paired: indices of those that it has."""
    return [{k: row[k] for k in (*ASKED, "rank_set", "ranks", "team") if k in row}
            for n, row in enumerate(runs) if n not in paired]


def alone_text(run):
    *words, size = [word(run, k) for k in ASKED]
    team = f"team {run['team']}" if "team" in run else ""
    return f"{' '.join(filter(None, (*words, team, size)))}, {run.get('ranks')} {run.get('rank_set')}"


def other_work(old, new):
    """Work of one of two runs that the other does not do, ops of a workload or the collective: [(A or B, stream, id, op, bytes,
    ranks)]. Theirs are the times of different jobs."""
    if "ops" not in old or "ops" not in new:
        other = any(old[k] != new[k] for k in ("collective", "bytes"))
        return [(name, "-", "-", *(row.get(k) for k in ("collective", "bytes", "ranks"))) for name, row in zip("AB", (old, new)) if other]
    sides = [collections.Counter(tuple(op.get(k) for k in ("stream", "id", "op", "bytes", "ranks")) for op in row["ops"])
             for row in (old, new)]
    return [(name, *op) for name, mine, other in zip("AB", sides, reversed(sides)) for op in (mine - other)]


def percent(old, new):
    return None if not old or new is None else (new - old) / old * 100


def link_changes(a, b, run_a, run_b, most=10):
    """Links that carry, wait or are busy otherwise, those whose share of busy or waiting time changed most first:
    [(link, share in a, share in b, bytes in a, bytes in b, stall ns in a, stall ns in b)], None of a machine without it."""
    left = {row["link"]: row for row in a.rows("links.csv", run_a)}
    right = {row["link"]: row for row in b.rows("links.csv", run_b)}
    rows = []
    for link in left.keys() | right.keys():
        if link.endswith((".inject", ".eject")):
            continue
        old, new = left.get(link, {}), right.get(link, {})
        busy, moved, stalls = [(old.get(key, 0), new.get(key, 0)) for key in ("busy_fraction", "bytes", "stall_ns")]
        if any(row and "stall_ns" not in row for row in (old, new)):  # sim.fidelity=message
            stalls = (None, None)
        # Less than a point of busy time alone is another length of the run, not another load.
        if moved[0] != moved[1] or stalls[0] != stalls[1] or abs(busy[1] - busy[0]) >= 0.01:
            rows.append((link, *busy, *moved, *stalls))
    old_ns, new_ns = a.runs[run_a].get("time_ns"), b.runs[run_b].get("time_ns")
    waits = lambda r: abs((r[6] or 0) / new_ns - (r[5] or 0) / old_ns) if old_ns and new_ns else 0.0
    rows.sort(key=lambda r: (-max(abs(r[2] - r[1]), waits(r)), -abs((r[6] or 0) - (r[5] or 0)), r[0]))
    return [(link, *(value if link in (left, right)[n % 2] else None for n, value in enumerate(values))) for link, *values in rows[:most]]


def path_links(path):
    """How often the critical path crosses each link, but those into and out of a NoC."""
    return collections.Counter(link for e in path["edges"] for link in e.get("links", ())
                               if not link.endswith((".inject", ".eject")))


def kind_of(link):
    """ucie, router or sip: the kind of a link, from its name."""
    for kind in ("ucie", "router"):
        if f".{kind}_" in link:
            return kind
    return "sip"


def crossings(left, right):
    """[(kind, crossings in a, crossings in b)] summed over the links of each kind."""
    sums = {kind: [0, 0] for kind in ("sip", "ucie", "router")}
    for side, counter in enumerate((left, right)):
        for link, count in counter.items():
            sums[kind_of(link)][side] += count
    return [(kind, a, b) for kind, (a, b) in sums.items() if (a, b) != (0, 0)]


def path_changes(a, b, run_a, run_b):
    """Causes [(cause, ns in a, ns in b)], links [(link, crossings in a, crossings in b)] and the same by kind of
    link, of the critical paths; None when one side has none."""
    left, right = a.critical_path(run_a), b.critical_path(run_b)
    if left is None or right is None:
        return None
    old = {c["cause"]: c["time_ns"] for c in left["causes"]}
    new = {c["cause"]: c["time_ns"] for c in right["causes"]}
    causes = [(c, old.get(c, 0.0), new.get(c, 0.0)) for c in old.keys() | new.keys()]
    causes.sort(key=lambda c: (-abs(c[2] - c[1]), c[0]))
    on_left, on_right = path_links(left), path_links(right)
    links = [(l, on_left[l], on_right[l]) for l in on_left.keys() | on_right.keys() if on_left[l] != on_right[l]]
    links.sort(key=lambda l: (kind_of(l[0]) == "router", -abs(l[2] - l[1]), l[0]))  # links between routers last
    return causes, links, crossings(on_left, on_right)


def changes(old, new):
    """[(name, value in a, value in b)] of different values; None where one side has no such name."""
    return [(k, old.get(k), new.get(k)) for k in dict.fromkeys([*old, *new]) if old.get(k) != new.get(k)]


def compare(a, b):
    """Everything as plain data, for --format json and the text. Raises BadResults for results of another kind."""
    for side in (a, b):
        need_collectives(side, "a comparison is")
    runs = []
    pairs = pairs_of(a, b)
    for left, right in pairs:
        old, new = a.runs[left], b.runs[right]
        stats = [change for change in changes(old.get("stats", {}), new.get("stats", {})) if change[0] != "elaborate_s"]
        drawn = [Timing(times_of(row)) if row.get("time_ns") else None for row in (old, new)]
        times = [side and side.median for side in drawn]
        other = other_work(old, new)
        *interval, noise = effect(*drawn)[1:] if all(drawn) else (None, None, None)
        runs.append({"what": {k: old.get(k) for k in ASKED}, "against": {k: new.get(k) for k in ASKED}, "time_ns": times,
                     "other_work": other, "time_change_percent": None if other else percent(*times), "draws": [len(side.times) if side else 0 for side in drawn],
                     "time_change_interval_percent": all(drawn) and [100 * (end - 1) for end in interval],
                     "within_noise": min(len(side.times) if side else 0 for side in drawn) > 1 and noise,
                     "energy": changes(old.get("energy") or {}, new.get("energy") or {}),
                     "verified": [old.get("verified"), new.get("verified")], "status": [old["status"], new["status"]],
                     "stats": stats, "links": link_changes(a, b, left, right), "critical_path": path_changes(a, b, left, right)})
    return {"schema": "diecast.compare/1", "a": str(a.folder), "b": str(b.folder), "config": config_changes(a.config, b.config),
            "only_in_a": alone(a.runs, {left for left, _ in pairs}),
            "only_in_b": alone(b.runs, {right for _, right in pairs}), "runs": runs}


def rows_text(head, rows):
    return aligned([head, *rows], indent="    ")


def verdict(change, a, b):
    if change is None:
        return "no time to compare"
    if change == 0:
        return "both take the same time"
    return f"{b if change < 0 else a} is {abs(change) if change < 0 else 100 * (1 - 1 / (1 + change / 100)):.1f}% faster"


def noise_text(run):
    """Whether the difference is within the noise of the draws of --jitter."""
    if not run["time_change_percent"]:
        return ""
    if min(run["draws"]) < 2:
        return "  not compared with noise: not both were run with --jitter\n"
    low, high = run["time_change_interval_percent"]
    return (f"  {'within' if run['within_noise'] else 'beyond'} noise: medians of {min(run['draws'])} draws; by their extremes "
            f"the time changes by {low:+.1f}% to {high:+.1f}%\n")


def time_text(value):
    return "no end" if value is None else f"{value:,.1f} ns"


def plain(value):
    return "" if value is None else f"{value:,.6g}"


def run_text(run, a, b):
    old, new = run["time_ns"]
    text = job_text(run) + "\n"
    said = "other work, so neither is called faster" if run["other_work"] else verdict(run["time_change_percent"], a, b)
    text += f"  {said}: {time_text(old)} and {time_text(new)}\n"
    if run["other_work"]:
        text += rows_text(["only in", "stream", "id", "op", "bytes", "ranks"], run["other_work"][:8])
        text += f"    and {len(run['other_work']) - 8} more\n" if len(run["other_work"]) > 8 else ""
    text += noise_text(run)
    for key in ("status", "verified"):
        if run[key][0] != run[key][1]:
            text += f"  {key}: {run[key][0]} and {run[key][1]}\n"
    if run["critical_path"]:
        causes, links, kinds = run["critical_path"]
        changed = [[c, f"{x:,.1f}", f"{y:,.1f}", f"{y - x:+,.1f}"] for c, x, y in causes if x != y]
        if changed:
            text += "  because on the critical path\n" + rows_text(["cause", "A ns", "B ns", "change"], changed[:8])
        if links:
            text += "  because of these links on it\n" + rows_text(["link", "A crossings", "B crossings"],
                [[f"all {kind} links", x, y] for kind, x, y in kinds] + [[l, x, y] for l, x, y in links[:10]])
            if len(links) > 10:
                text += f"    and {len(links) - 10} more\n"
    if run["links"]:
        text += "  links whose load changed most\n" + rows_text(
            ["link", "A busy", "B busy", "A bytes", "B bytes", "A stalls ns", "B stalls ns"],
            [[l, *("-" if value is None else format(value, form) for value, form in zip(values, (".1%", ".1%", ",", ",", ",.1f", ",.1f")))]
             for l, *values in run["links"]])
    for title, rows in (("energy", run["energy"]), ("counters", run["stats"])):
        if rows:
            text += f"  {title}\n" + rows_text(["name", "A", "B"], [[k, plain(x), plain(y)] for k, x, y in rows])
    return text


def text_of(result):
    a, b = result["a"], result["b"]
    text = f"A: {a}\nB: {b}\n\n"
    if result["config"]:
        rows = [[key, *map(value_text, values)] for key, *values in result["config"]]
        text += "Config\n" + rows_text(["key", "A", "B"], rows) + "\n"
    else:
        text += "Config: the same\n\n"
    if not result["runs"]:
        text += "No run of one is in the other: collective, bytes, dtype, op or ranks differ.\n"
    single = [f"only in {side}: {alone_text(run)}\n" for side in "AB" for run in result[f"only_in_{side.lower()}"]]
    blocks = ["".join(single)] if single else []
    return text + "\n".join(blocks + [run_text(run, a, b) for run in result["runs"]])
