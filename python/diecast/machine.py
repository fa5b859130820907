# SPDX-License-Identifier: Apache-2.0
"""Runs a platform binary and returns what it measured."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

from diecast.results import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]


class MachineFailed(Exception):
    """A run that ended with another exit code than was allowed. code, command and stderr say how."""

    def __init__(self, command, code, stderr):
        super().__init__(f"{shlex.join(command)}: exit {code}\n{stderr.strip()}")
        self.command, self.code, self.stderr = command, code, stderr


def first_line(failed):
    """What the binary said first, in one line."""
    return (failed.stderr.strip().splitlines() or [f"exit {failed.code} without a word"])[0]


def find_binary(platform="diecast-pod"):
    """Path of a platform's binary: DIECAST_BIN, then build/bin of this checkout, then PATH."""
    folders = [os.environ[name] for name in ("DIECAST_BIN",) if name in os.environ] + [ROOT / "build" / "bin"]
    for folder in folders:
        path = pathlib.Path(folder) / platform
        if path.exists():
            return str(path)
    found = shutil.which(platform)
    if found is None:
        raise FileNotFoundError(f"{platform}: neither in {' nor '.join(map(str, folders))} nor in PATH; "
                                "scripts/build first, or set DIECAST_BIN")
    return found


def text_of(value):
    """A value as a command line takes it: true and false, lists and objects (overrides, faults) as JSON."""
    return json.dumps(value) if isinstance(value, (bool, list, tuple, dict)) else str(value)


def words_of(flag, value):
    """--flag value; True is the flag alone, False and None are nothing."""
    name = "--" + flag.replace("_", "-")
    if value is True:
        return [name]
    return [] if value is False or value is None else [name, text_of(value)]


def run(config=None, *, platform="diecast-pod", sets=None, out=None, allow=(0,), **flags):
    """Runs a platform and returns its Results.

    config: a config file, or None for the platform's own; sets: {dotted key: value}, as --set; out: directory to
    keep (default: a temporary one, read and removed); allow: exit codes that are no failure; flags: any other
    flag, with _ for - and True for a flag without value, e.g. bytes="64KiB", no_data=True.
    Raises MachineFailed.
    """
    command = [find_binary(platform)]
    if config is not None:
        command += ["--config", str(config)]
    for key, value in (sets or {}).items():
        command += ["--set", f"{key}={text_of(value)}"]
    for flag, value in flags.items():
        command += words_of(flag, value)
    with tempfile.TemporaryDirectory(prefix="diecast-") as scratch:
        folder = pathlib.Path(out) if out is not None else pathlib.Path(scratch) / "out"
        command += ["--out", str(folder), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode not in allow:
            raise MachineFailed(command, done.returncode, done.stderr)
        results = Results(folder)
        results.code, results.stderr = done.returncode, done.stderr
        if out is None:  # the folder goes away: read what may be asked for
            kept = {file.name: results.rows(file.name) for file in folder.glob("*.csv")}
            paths = [results.critical_path(i) for i in range(len(results.runs))]
            results.rows = lambda name, run=None: [r for r in kept.get(name, []) if run in (None, r["run"])]
            results.critical_path = lambda run=0: paths[run]
        return results
