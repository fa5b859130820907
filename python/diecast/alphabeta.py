# SPDX-License-Identifier: Apache-2.0
"""Fits time = alpha + beta * bytes to runs over a range of sizes (Hockney's model)."""
import collections

from diecast.inputs import BadInput, one_line


class Fit:
    """alpha_ns, beta_ns_per_byte of one collective and algorithm, and the largest relative error of a point."""

    def __init__(self, row, points):
        self.collective, self.algorithm, self.ranks = row["collective"], row["algorithm"], row["ranks"]
        self.rank_set, self.points = row["rank_set"], points
        self.alpha_ns, self.beta_ns_per_byte = line(points)
        self.worst = max(abs(self.alpha_ns + self.beta_ns_per_byte * n - t) / t for n, t in points)

    def row(self):
        return [self.collective, self.algorithm, self.rank_set, self.ranks, f"{self.alpha_ns:.3f}",
                f"{self.beta_ns_per_byte:.9f}", f"{self.worst:.4f}"]


HEAD = ["collective", "algorithm", "rank_set", "ranks", "alpha_ns", "beta_ns_per_byte", "worst_relative_error"]


def line(points):
    """alpha, beta with the least sum of squared relative errors; the sizes must not all be equal."""
    weighted = [(1 / (t * t), n, t) for n, t in points]
    whole = sum(w for w, _, _ in weighted)
    # Sums are about the means: small differences would cancel otherwise.
    size, time = sum(w * n for w, n, _ in weighted) / whole, sum(w * t for w, _, t in weighted) / whole
    beta = sum(w * (n - size) * (t - time) for w, n, t in weighted) / sum(w * (n - size) ** 2 for w, n, _ in weighted)
    return time - beta * size, beta


def fits(runs):
    """A Fit per collective, algorithm, rank set and number of ranks with at least two sizes, from rows of result.json."""
    groups = collections.defaultdict(list)
    for row in runs:
        if row["status"] == "ok" and row["time_ns"] > 0 and row["bytes"] >= 0:
            groups[row["collective"], row["algorithm"], row["rank_set"], row["ranks"]].append(row)
    found = []
    for rows in groups.values():
        points = [(row["bytes"], row["time_ns"]) for row in rows]
        if len({n for n, _ in points}) >= 2:
            found.append(Fit(rows[0], points))
    return found


def astra_network(fit):
    """Input of ASTRA-sim's analytical network: a ring on which a ring all-reduce takes the fitted time.

    2 (n - 1) steps of S / n bytes take alpha + beta S, so a step's latency is alpha / (2 (n - 1)) and the rate is
    2 (n - 1) / (n beta). Raises BadInput for a fit that is no such ring."""
    if not (fit.alpha_ns >= 0 and fit.beta_ns_per_byte > 0 and fit.ranks > 1):
        raise BadInput(f"--astra: alpha is {fit.alpha_ns:.3f} ns and beta {fit.beta_ns_per_byte:.9f} ns per byte of {fit.ranks} ranks; "
                         "expected alpha of at least 0, beta above 0 and two ranks: fit a range of sizes where time grows "
                         "as the bytes do")
    steps = 2 * (fit.ranks - 1)
    latency, rate = fit.alpha_ns / steps, steps / fit.ranks / fit.beta_ns_per_byte
    what = one_line(f"{fit.collective} {fit.algorithm}, {fit.ranks} {fit.rank_set} ranks")
    return (f"# {what}\n"
            f"topology: [ Ring ]\nnpus_count: [ {fit.ranks} ]\nbandwidth: [ {rate:.6g} ]  # GB/s\n"
            f"latency: [ {latency:.6g} ]  # ns\n")
