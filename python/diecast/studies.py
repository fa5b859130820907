# SPDX-License-Identifier: Apache-2.0
"""Studies that change one thing at a time: sensitivities of keys, and what missing links cost."""
import concurrent.futures
import json
import math
import pathlib
import subprocess
import tempfile

from diecast.machine import MachineFailed, find_binary, run

# Blocks whose numbers are costs, rates and sizes of the hardware; the others say how large the machine is, or what is
# recorded of it.
BLOCKS = ("pe", "ipcq", "tag_match", "noc", "ucie", "sip_link", "hbm", "sram", "ccl", "comm")
STRUCTURE = {"noc.columns", "noc.rows", "noc.vcs", "noc.dateline_vcs", "hbm.ports", "ipcq.queue_pairs", "ccl.root_rank"}


def effective_config(platform, config, sets):
    """The effective config as data. Raises MachineFailed."""
    command = [find_binary(platform)]
    if config is not None:
        command += ["--config", str(config)]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run([*command, "--dump-config"], capture_output=True, text=True)
    if done.returncode != 0:
        raise MachineFailed(command, done.returncode, done.stderr)
    return json.loads(done.stdout)


def numeric_keys(config):
    """{dotted key: value} of the numbers that cost something."""
    keys = {}
    for block in BLOCKS:
        for key, value in config.get(block, {}).items():
            path = f"{block}.{key}"
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 and path not in STRUCTURE:
                keys[path] = value
    return keys


def changed_values(value, factor):
    """Values to try in turn: by the factor, then doubled and halved, as some keys take only powers of two."""
    if isinstance(value, float):
        return [value * factor, value * 2, value / 2]
    grown = max(value + 1, round(value * factor))
    return list(dict.fromkeys([grown, value * 2] + ([value // 2] if value > 1 else [])))


def time_of(results):
    """Time of all runs together."""
    return sum(row["time_ns"] for row in results.runs)


def energy_of(results):
    """Energy of all runs together, all parts of the machine; None when the results state none."""
    return sum(row.get("energy", {}).get("total_pj", 0) for row in results.runs) or None


def elasticity(old, new, ratio):
    """Percent of change per percent of the key's change."""
    return None if not old or not new else math.log(new / old) / math.log(ratio)


def sensitivities(platform, config, flags, sets, factor=2.0, jobs=1, keys=None, told=lambda row: None):
    """Rows {key, from, to, time_ns, elasticity, energy_elasticity} or {key, from, refused}, the strongest first.

    Raises MachineFailed when the unchanged machine does not run."""
    base = run(config, platform=platform, sets=sets, **flags)
    values = numeric_keys(base.config)
    wanted = values if keys is None else {key: values[key] for key in keys}
    time, energy = time_of(base), energy_of(base)

    def one(key):
        refused = ""
        for value in changed_values(wanted[key], factor):
            try:
                other = run(config, platform=platform, sets={**sets, key: value}, **flags)
            except MachineFailed as failed:
                if failed.code != 2:
                    raise
                refused = (failed.stderr.strip().splitlines() or ["refused"])[0]
                continue
            ratio = value / wanted[key]
            row = {"key": key, "from": wanted[key], "to": value, "time_ns": time_of(other),
                   "elasticity": elasticity(time, time_of(other), ratio),
                   "energy_elasticity": elasticity(energy, energy_of(other), ratio)}
            told(row)
            return row
        return {"key": key, "from": wanted[key], "refused": refused}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(one, wanted))
    rows.sort(key=lambda r: (-abs(r.get("elasticity") or 0), r["key"]))
    return base, rows


def ucie_links(config):
    """Names of the links between cubes, each by one of its ends."""
    columns, rows = config["sip"]["columns"], config["sip"]["rows"]
    names = []
    for sip in range(config["pod"]["sips"]):
        for x in range(columns):
            for y in range(rows):
                here = f"pod.sip{sip}.cube_{x}_{y}"
                names += [f"{here}.ucie_east"] if x + 1 < columns else []
                names += [f"{here}.ucie_north"] if y + 1 < rows else []
    return names


def sip_links(results):
    """Names of the links between SIPs, each in one direction, as links.csv has them."""
    names = [row["link"] for row in results.rows("links.csv", 0) if ".cube_" not in row["link"]]
    ends = {name: name.removeprefix("pod.").split("-") for name in names}
    return [name for name in names if ends[name] <= ends[name][::-1]]


def degradations(platform, config, flags, sets, kind, setting, jobs=1):
    """The unchanged Results and rows {link, time_ns, slowdown} or {link, failed} with one link changed each, the largest
    slowdown first. kind: ucie (between cubes) or sip (between SIPs); setting: what the override sets.

    Raises MachineFailed when the unchanged machine does not run."""
    base = run(config, platform=platform, sets=sets, **flags)
    names = ucie_links(base.config) if kind == "ucie" else sip_links(base)

    def one(name):
        changed = dict(base.config)
        changed["overrides"] = [*changed.get("overrides", []), {"match": name, "set": setting}]
        with tempfile.TemporaryDirectory(prefix="diecast-") as folder:
            path = pathlib.Path(folder) / "machine.json"
            path.write_text(json.dumps(changed))
            try:
                other = run(path, platform=platform, **flags)
            except MachineFailed as failed:
                return {"link": name, "failed": (failed.stderr.strip().splitlines() or [f"exit {failed.code}"])[0]}
        return {"link": name, "time_ns": time_of(other), "slowdown": time_of(other) / time_of(base)}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(one, names))
    rows.sort(key=lambda r: (-r.get("slowdown", math.inf), r["link"]))
    return base, rows
