# SPDX-License-Identifier: Apache-2.0
"""The energy account of runs as a table, for scripts/energy and reports."""
from diecast.results import ENERGY_PARTS


def accounted(runs):
    """The runs that have the energy of a launch."""
    return [run for run in runs if "per_launch_pj" in (run.get("energy") or {})]


def label(run):
    size = "" if run["collective"] == "barrier" else f" {run['bytes']} B"
    return f"{run['collective']} {run['algorithm']}{size}, {run['ranks']} {run['rank_set']}"


def parts_of(run):
    """{part: microjoules of one launch}."""
    energy = run["energy"]
    share = energy["per_launch_pj"] / energy["total_pj"] if energy["total_pj"] else 0
    return {name: energy[f"{name}_pj"] * share / 1e6 for name in ENERGY_PARTS}


def per_bit_text(run):
    """Picojoules per bit that had to be combined; "-" of runs that reduce nothing."""
    value = (run.get("energy") or {}).get("pj_per_bit_reduced")
    return "-" if value is None else f"{value:.2f}"


class Account:
    """runs: rows of result.json with an energy account. names: the parts that any of them has; parts: by run."""

    def __init__(self, runs):
        self.runs, self.parts = runs, [parts_of(run) for run in runs]
        self.names = [name for name in ENERGY_PARTS if any(parts[name] > 0 for parts in self.parts)]

    def table(self, name=label):
        """Head and rows, microjoules of one launch; name: a function that names a run."""
        rows = [[name(run), *(f"{parts[n]:.3f}" for n in self.names), f"{sum(parts.values()):.3f}", per_bit_text(run)]
                for run, parts in zip(self.runs, self.parts)]
        return ["run", *self.names, "sum uJ", "pJ/bit reduced"], rows

    def bars(self, name=label):
        """Rows of svg.stacked_bars, whose parts are the names."""
        return [(name(run), [parts[n] for n in self.names]) for run, parts in zip(self.runs, self.parts)]
