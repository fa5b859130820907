# SPDX-License-Identifier: Apache-2.0
"""Studies of changed machines: sensitivities of keys, and costs of missing or slow parts."""
import contextlib
import json
import math
import random
import re
import statistics

from diecast.inputs import is_number, near, need
from diecast.machine import NOT_OF_MACHINE, MachineFailed, answer, command_of, find_binary, first_line
from diecast.noise import Timing, effect, timing
from diecast.processes import finished, scratch
from diecast.whole_file import write_whole

# Blocks whose numbers are costs, rates and sizes of the hardware; the others say how large the machine is, or what is
# recorded of it.
BLOCKS = ("pe", "ipcq", "tag_match", "noc", "ucie", "sip_link", "hbm", "sram", "host", "ccl", "comm", "energy")
STRUCTURE = {"noc.columns", "noc.rows", "noc.vcs", "noc.dateline_vcs", "hbm.ports", "ipcq.queue_pairs", "ccl.root_rank"}


def effective_config(platform, config, sets):
    """The effective config as data. Raises MachineFailed."""
    return answer([*command_of(platform, config, sets, {}), "--dump-config"])


def numeric_keys(config):
    """{dotted key: value} of the numbers that cost something."""
    keys = {f"{block}.{key}": value for block in BLOCKS for key, value in config.get(block, {}).items()}
    return {key: value for key, value in keys.items() if is_number(value) and value > 0 and key not in STRUCTURE}


def changed_values(value, factor):
    """Values to try in turn: by the factor, then doubled and halved, as some keys take only powers of two."""
    if isinstance(value, float):
        return [value * factor, value * 2, value / 2]
    grown = max(value + 1, round(value * factor))
    return list(dict.fromkeys([grown, value * 2] + ([value // 2] if value > 1 else [])))


def energy_of(results):
    """Energy of all runs together, all parts of the machine; None when the results state none."""
    return sum((row.get("energy") or {}).get("total_pj", 0) for row in results.runs) or None


def elasticity(old, new, ratio):
    """Percent of change per percent of the key's change."""
    return None if not old or not new else math.log(new / old) / math.log(ratio)


RANKED = {"time": "elasticity", "energy": "energy_elasticity"}


def unchanged(study):
    """The unchanged machine for studies: its config, its runs, and the names of links of the first one.
    Raises MachineFailed."""
    return study.unchanged(lambda results: {"config": results.config, "runs": results.runs,
                                            "links": [row["link"] for row in results.rows("links.csv", 0)]})


def sensitivities(study, factor=2.0, keys=None, by="time"):
    """The unchanged run, and rows {key, from, to, instead, time_ns, elasticity, low, high, noise, energy_elasticity} or
    {key, from, refused}, the strongest first in what `by` says, behind all others those whose time moves within noise. time_ns: a
    median; low, high: least and largest elasticity that the draws allow. instead: the machine does not take the key times the
    factor, so `to` is the double or the half.

    Raises MachineFailed when the unchanged machine does not run."""
    base = unchanged(study)
    values = numeric_keys(base.config)
    for key in keys or ():
        need(key in values, f"--key {key}", f"no number above 0 of the hardware{near(key, values)}")
    wanted = values if keys is None else {key: values[key] for key in keys}
    time, energy = timing(base), energy_of(base)

    def one(item):
        key, old, factor = item
        refused = ""
        for n, value in enumerate(changed_values(old, factor)):
            try:
                other = study.run(sets={key: value})
            except MachineFailed as failed:
                if failed.code != 2:
                    raise
                refused = first_line(failed)
                continue
            ratio, new = value / old, timing(other)
            change, *ends, noise = effect(time, new)
            low, high = sorted(elasticity(1, end, ratio) for end in ends)
            return {"key": key, "from": old, "to": value, "instead": n > 0, "time_ns": new.median,
                    "elasticity": elasticity(1, change, ratio), "low": low, "high": high, "noise": noise,
                    "energy_elasticity": elasticity(energy, energy_of(other), ratio)}
        return {"key": key, "from": old, "refused": refused}

    rows = study.each(one, [(key, value, factor) for key, value in wanted.items()], name=lambda item: item[0])
    rows.sort(key=lambda r: (by == "time" and r.get("noise", True), -abs(r.get(RANKED[by]) or 0), r["key"]))
    return base, rows


def cubes(config):
    """(path, column, row) of every cube, SIP by SIP."""
    return [(f"pod.sip{sip}.cube_{x}_{y}", x, y) for sip in range(config["pod"]["sips"])
            for x in range(config["sip"]["columns"]) for y in range(config["sip"]["rows"])]


def ucie_links(config):
    """Names of the links between cubes, each by one of its ends."""
    columns, rows = config["sip"]["columns"], config["sip"]["rows"]
    return [f"{here}.ucie_{side}" for here, x, y in cubes(config) for side, there in (("east", x + 1 < columns), ("north", y + 1 < rows))
            if there]


def sip_links(links):
    """The links between SIPs among these names, each in one direction."""
    names = [name for name in links if ".cube_" not in name]
    ends = {name: name.removeprefix("pod.").split("-") for name in names}
    return [name for name in names if ends[name] <= ends[name][::-1]]


def parts(kind, base):
    """Names of all parts of a kind that overrides can name: ucie, sip (links), pe, channel, die."""
    config = base.config
    if kind == "sip":
        return sip_links(base.links)
    if kind == "ucie":
        return ucie_links(config)
    if kind == "die":
        return [here for here, _, _ in cubes(config)]
    unit, count = ("pe", config["cube"]["pes"]) if kind == "pe" else ("hbm", config["hbm"]["ports"])
    return [f"{here}.{unit}{n}" for here, _, _ in cubes(config) for n in range(count)]


def usual_setting(kind, config):
    """The default setting of a changed part: it is missing; a die is half as fast."""
    return {"hop_cycles": 2 * config["noc"]["hop_cycles"]} if kind == "die" else {"enabled": False}


@contextlib.contextmanager
def changed(base, names, setting):
    """A config file: the machine of `base` with the setting at all these parts."""
    overrides = [*base.config.get("overrides", []), *({"match": name, "set": setting} for name in names)]
    with scratch() as folder:
        write_whole(folder / "machine.json", json.dumps({**base.config, "overrides": overrides}))
        yield folder / "machine.json"


def each_changed(study, base, choices, setting, name):
    """{ranks, times_ns} of the machine of `base` with the setting at all parts of each choice, or {failed}: why it does not run.
    times_ns: one of each draw."""
    def one(item):
        with changed(base, *item) as path:
            try:
                other = study.run(config=path)
            except MachineFailed as failed:
                if failed.code in NOT_OF_MACHINE:
                    raise
                return {"failed": first_line(failed)}
        return {"ranks": ranks_of(other), "times_ns": timing(other).times}

    return study.each(one, [(names, setting) for names in choices], name)


def refusal(base, name, setting, platform):
    """Why the machine's config refuses this setting at this part, or an empty text."""
    with changed(base, [name], setting) as path:
        done = finished([find_binary(platform), "--config", path, "--check-config"])
    found = re.search(r"overrides\[\d+\]\.set[.:]?\s*(.*)", done.stderr) if done.code == 2 else None
    return found[1] if found else ""


def ranks_of(results):
    """Ranks of the runs; the most of them."""
    return max(row["ranks"] for row in results.runs)


def degradations(study, base, kind, setting, most=None):
    """Rows {part, ranks, time_ns, slowdown, low, high, noise} or {part, failed} with one part of a kind changed each, the
    largest slowdown first. time_ns: a median; low, high: least and largest slowdown that the draws allow. base: of unchanged();
    setting: what the override sets; most: look at so many parts only, at even distances."""
    names = parts(kind, base)
    if most is not None and most < len(names):
        names = [names[n * len(names) // most] for n in range(most)]

    def row(name, found):
        if "failed" in found:
            return {"part": name, **found}
        new = Timing(found["times_ns"])
        slowdown, low, high, noise = effect(timing(base), new)
        return {"part": name, "ranks": found["ranks"], "time_ns": new.median, "slowdown": slowdown, "low": low, "high": high,
                "noise": noise}

    rows = list(map(row, names, each_changed(study, base, [[name] for name in names], setting, lambda item: item[0][0])))
    rows.sort(key=lambda r: (-r.get("slowdown", math.inf), r["part"]))
    return rows


def wear(study, base, kind, setting, counts, draws=3, seed=1):
    """Rows {count, ranks, median_ns, least_ns, most_ns, slowdown, noise, refused} with `count` parts of a kind changed at a time,
    over `draws` random choices of them; of one draw those of a smaller count are among those of a larger. refused: choices
    the machine cannot do with, with the reason of the first. ranks and times are None when all are refused."""
    names = parts(kind, base)
    orders = [random.Random(f"{seed}.{draw}").sample(names, len(names)) for draw in range(draws)]
    choices = [order[:count] for count in counts for order in (orders if count else orders[:1])]
    done = each_changed(study, base, choices, setting, lambda item: f"{len(item[0])}_parts")
    rows = []
    for count in counts:
        results = [result for names, result in zip(choices, done) if len(names) == count]
        good = [Timing(result["times_ns"]) for result in results if "failed" not in result]
        bad = [result["failed"] for result in results if "failed" in result]
        times = [each.median for each in good]
        median = statistics.median(times) if times else None
        noise = bool(times) and effect(timing(base), Timing(time for each in good for time in each.times))[-1]
        rows.append({"count": count, "ranks": max((r["ranks"] for r in results if "ranks" in r), default=None), "median_ns": median,
                     "least_ns": min(times, default=None), "most_ns": max(times, default=None),
                     "slowdown": median and median / timing(base).median, "noise": noise, "refused": len(bad),
                     "why": bad[0] if bad else ""})
    return rows
