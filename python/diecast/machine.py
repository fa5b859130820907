# SPDX-License-Identifier: Apache-2.0
"""Runs a platform binary and returns its results."""
import json
import os
import pathlib
import shlex
import shutil

from diecast import whole_file
from diecast.inputs import BadInput, one_line, parsed
from diecast.processes import BY_SIGNAL, finished, no_room, scratch
from diecast.results import Results

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OF_MACHINE = (5, 70, 71, *BY_SIGNAL)  # exit codes that say nothing about what the machine can do


class MachineFailed(Exception):
    """A run that ended with an exit code that was not allowed. exit_code: for the script; the own code if the machine is not the cause."""
    lines = True

    def __init__(self, command, code, stderr):
        super().__init__(f"{one_line(shlex.join(command))}: exit {code}\n{stderr.strip()}")
        self.command, self.code, self.stderr = command, code, stderr
        self.exit_code = code if code in NOT_OF_MACHINE else 2


class NoBinary(BadInput, FileNotFoundError):
    """A platform that is not built or installed."""


def first_line(failed):
    """The first line that the binary printed to stderr."""
    return (failed.stderr.strip().splitlines() or [f"exit {failed.code} without a message"])[0]


def find_binary(platform="diecast-pod"):
    """Path of a platform's binary: DIECAST_BIN, then build/bin of this checkout or bin of this installation, then PATH. It and
    what is shipped beside it are inputs of the script."""
    folders = [os.environ[name] for name in ("DIECAST_BIN",) if name in os.environ] + [ROOT / "build" / "bin"]
    folders += [ROOT.parent.parent / "bin"] if ROOT.parent.name == "share" else []  # PREFIX/share/diecast
    found = next((str(path) for folder in folders if os.path.isfile(path := pathlib.Path(folder) / platform)), None)
    found = found or shutil.which(platform)
    if found is None:
        raise NoBinary(f"{platform}: neither in {' nor in '.join(map(str, folders))} nor in PATH; "
                       "scripts/build first, or set DIECAST_BIN")
    data = pathlib.Path(found).resolve().parent.parent / "share" / "diecast"
    own = f"{platform.removeprefix('diecast-')}_default.json"
    for file in (found, *(data / "configs").glob(own), *(data / "presets").glob("*/*")):
        whole_file.reads(file)
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


def command_of(platform, config, sets, flags):
    """The command of a run. config: a file, or None for the platform's own; sets: {dotted key: value}; flags: {name: value}."""
    command = [find_binary(platform), *(["--config", str(config)] if config is not None else [])]
    for key, value in (sets or {}).items():
        command += ["--set", f"{key}={text_of(value)}"]
    for flag, value in flags.items():
        command += words_of(flag, value)
    return command


def printed(command, refused=None):
    """The output of a command, or `refused` if that is given and the command ends with 2. Raises MachineFailed."""
    done = finished(command)
    if done.code == 2 and refused is not None:
        return refused
    if done.code != 0:
        raise MachineFailed(list(map(str, command)), done.code, done.stderr)
    return done.stdout


def answer(command, refused=None):
    """The output of a command as JSON."""
    text = printed(command, refused)
    return parsed(text, command[0]) if isinstance(text, str) else text


def run(config=None, *, platform="diecast-pod", sets=None, out=None, allow=(0,), **flags):
    """Runs a platform and returns its Results.

    config: a config file, or None for the platform's own; sets: {dotted key: value}, as --set; out: directory to
    keep (default: a temporary one, read and removed); allow: exit codes that are no failure; flags: any other
    flag, with _ for - and True for a flag without value, e.g. bytes="64KiB", no_data=True.
    Raises MachineFailed.
    """
    command = command_of(platform, config, sets, flags)
    if out is not None:
        return run_into(command, out, allow)
    with scratch() as folder:
        try:
            results = run_into(command, folder / "out", allow)
        except MachineFailed as failed:
            if failed.code == 5 and str(folder) in failed.stderr:
                raise no_room(folder, first_line(failed)) from None
            raise
        results.read_all()  # the temporary folder is removed
        return results


def run_into(command, out, allow=(0,)):
    """The Results of a run into a folder."""
    command = [*command, "--out", str(out), "--quiet"]
    done = finished(command)
    if done.code not in allow:
        raise MachineFailed(command, done.code, done.stderr)
    results = Results(out, noted=False)
    results.code, results.stderr = done.code, done.stderr
    return results
