# SPDX-License-Identifier: Apache-2.0
"""Diecast from Python: runs a platform and reads its results. Standard library only; pandas where it is installed.

    import diecast
    done = diecast.run("platforms/configs/small_pod.json", bytes="16KiB", sets={"ccl.root": "corner"})
    print(done.runs[0]["time_ns"])
    diecast.load("out").links          # rows of links.csv: a pandas.DataFrame, or dicts without pandas
"""
import importlib

_OF = {"MachineFailed": "machine", "find_binary": "machine", "run": "machine", "BadResults": "results", "Results": "results",
       "load": "results"}
__all__ = sorted(_OF)


def __getattr__(name):
    """Imports a module at its first use, so that a script reacts to signals before it has imported everything."""
    if name in _OF:
        return getattr(importlib.import_module(f"diecast.{_OF[name]}"), name)
    raise AttributeError(f"module 'diecast' has no attribute {name!r}")
