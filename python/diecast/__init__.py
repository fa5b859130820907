# SPDX-License-Identifier: Apache-2.0
"""Diecast from Python: run a platform, read what it wrote. Standard library only; pandas where it is installed.

    import diecast
    done = diecast.run("platforms/configs/small_pod.json", bytes="16KiB", sets={"ccl.root": "corner"})
    print(done.runs[0]["time_ns"])
    diecast.load("out").links          # rows of links.csv: a pandas.DataFrame, or dicts without pandas
"""
from diecast.machine import MachineFailed, find_binary, run
from diecast.results import BadResults, Results, load

__all__ = ["BadResults", "MachineFailed", "Results", "find_binary", "load", "run"]
