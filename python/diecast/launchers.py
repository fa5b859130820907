# SPDX-License-Identifier: Apache-2.0
"""Where the points of a study run: on this machine, as a job array of Slurm, or on hosts by GNU parallel over ssh.

A cluster runs the command of the script itself, with --task I/N added: every Nth point, whose record goes into the folder of
--out, which all hosts share. The script that launched the tasks then finds the records as if it had made them."""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from diecast.arguments import count, like
from diecast.inputs import BadInput, is_open_file, need
from diecast.processes import Stopped, finished
from diecast.whole_file import make_folder, reads, write_whole

MOST_TASKS = 1000  # Slurm's default MaxArraySize is 1001
LEAST_PAUSE_S, MOST_PAUSE_S = 0.5, 15  # between two queries of an array's state
PACKAGES = {"sbatch": "slurm-client", "parallel": "parallel"}  # Debian packages
# ssh to a host that no longer answers ends within half a minute, and ssh never prompts for a password.
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10 -o ServerAliveCountMax=2"
OWN = ".diecast"  # marks a folder as one of logs that this module wrote
RETRIES = 3  # hosts on which GNU parallel tries a task that failed


task = like(r"\d{1,9}/\d{1,9}", "I/N with I from 0 to N - 1", lambda text: tuple(map(int, text.split("/"))), lambda i_n: i_n[0] < i_n[1])


def words(text):
    """The type of --sbatch."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}; expected flags as a shell reads them") from None


def add_flags(parser):
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="folder of the results of all runs; what it has is not run again")
    parser.add_argument("--jobs", type=count, metavar="N",
                        help="runs at a time: here (its cores), in the array (no limit), on each host (its cores)")
    parser.add_argument("--launcher", choices=("local", "slurm", "parallel"), default="local",
                        help="run here, as a job array of Slurm, or by GNU parallel on the hosts of --sshlogin (local)")
    parser.add_argument("--sbatch", type=words, default=[], metavar="FLAGS", help="flags of the array, as sbatch takes them")
    parser.add_argument("--sshlogin", metavar="FILE", help="hosts, one a line, as parallel --sshloginfile takes them")
    parser.add_argument("--tasks", type=count, metavar="N", help=f"tasks of a cluster (one a point, at most {MOST_TASKS})")
    parser.add_argument("--task", type=task, metavar="I/N", help="run only every Nth point, from point I on")


def joined(arguments):
    """Arguments with `--sbatch FLAGS` as one word, since argparse takes no value that begins with a dash."""
    made = []
    for word in arguments:
        made[-1:] = [f"--sbatch={word}"] if made[-1:] == ["--sbatch"] else [*made[-1:], word]
    return made


def check(parser, options):
    """Ends the script where flags of launchers do not fit each other. options.cluster: this script launches tasks."""
    options.cluster = options.launcher != "local" and options.task is None
    for flag, launcher in (("sbatch", "slurm"), ("sshlogin", "parallel")):
        if getattr(options, flag) and options.launcher != launcher:
            parser.error(f"--{flag}: expected with --launcher {launcher}")
    if options.launcher == "parallel" and not options.sshlogin:
        parser.error("--launcher parallel: expected --sshlogin FILE, a file that names the hosts")
    if options.tasks and options.launcher == "local":
        parser.error("--tasks: expected with --launcher slurm or parallel")
    if (options.cluster or options.task) and options.out is None:
        flag = f"--launcher {options.launcher}" if options.cluster else "--task"
        parser.error(f"{flag}: expected --out DIR, a folder that all hosts share")
    if options.cluster:
        program = {"slurm": "sbatch", "parallel": "parallel"}[options.launcher]
        need(shutil.which(program), f"--launcher {options.launcher}", f"no program {program}; expected the package {PACKAGES[program]}, "
             f"as by apt-get install {PACKAGES[program]}")
        if options.sshlogin:
            need(os.path.isfile(options.sshlogin), f"--sshlogin {options.sshlogin}", "no such file; expected one that names the hosts")
            reads(options.sshlogin)
        for word in sys.argv[1:]:
            need(not is_open_file(word), word, "a task on another host cannot read this; expected the name of a file")


def command(index, count):
    """The command of a task, for a shell. index: a number, or text that the shell replaces by one."""
    given = sys.argv[1:]
    end = given.index("--") if "--" in given else len(given)
    binaries = f"env DIECAST_BIN={shlex.quote(os.path.abspath(os.environ['DIECAST_BIN']))} " if "DIECAST_BIN" in os.environ else ""
    return (f"{binaries}{shlex.join([os.path.abspath(sys.argv[0]), *given[:end]])} --jobs 1 --task {index}/{count} "
            f"{shlex.join(given[end:])}")


def count_of(options, points):
    """Number of tasks for a number of points."""
    return min(options.tasks or MOST_TASKS, points)


def log_of(options, number, points):
    """The file of the output of a point's task."""
    return options.out / "tasks" / f"{number % count_of(options, points)}.txt"


def why(options, number, points):
    """How the task of a point ended: its log and the last line there. Empty where no task has run."""
    try:
        lines = log_of(options, number, points).read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f" ({log_of(options, number, points)}: {lines[-1] if lines else 'empty'})"


def launch(options, waiting, points):
    """Runs tasks until all of them have ended, however they did. waiting(): numbers of the points to run, out of `points`."""
    tasks = options.out / "tasks"
    make_folder(tasks)
    if not (tasks / OWN).exists():
        need(not os.listdir(tasks), tasks, "holds files that no task of this version has written; expected another --out, or the folder moved away")
        write_whole(tasks / OWN, "")
    if options.launcher == "slurm":
        await_earlier(options.out / "slurm_job")
    count = count_of(options, points)
    indices = sorted({number % count for number in waiting()})
    for index in indices:  # the log of an earlier task would pass for this one's
        (tasks / f"{index}.txt").unlink(missing_ok=True)
    if indices:
        (slurm if options.launcher == "slurm" else parallel)(options, indices, count)


# --- Slurm --------------------------------------------------------------------------------------------------------------


def ranges(indices):
    """Sorted numbers as sbatch --array has them: "0-3,7"."""
    found = []
    for index in indices:
        found[-1:] = [(found[-1][0], index)] if found and found[-1][1] == index - 1 else [*found[-1:], (index, index)]
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def under_way(job):
    """Whether a task of the array is pending or running; a controller that does not answer may do so later."""
    done = finished(["squeue", "--noheader", "--jobs", job, "--format=%i"])
    return bool(done.stdout.strip()) if done.code == 0 else "Invalid job id" not in done.stderr


def await_end(job, note):
    """Until the array has ended. A signal that ends the script cancels it. note: the file that names it meanwhile."""
    try:
        pause = LEAST_PAUSE_S
        while under_way(job):
            time.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE_S)
    except Stopped:
        subprocess.run(["scancel", job], stdin=subprocess.DEVNULL, capture_output=True)
        raise
    finally:
        note.unlink(missing_ok=True)


def await_earlier(note):
    """Until the array of a script that was killed has ended."""
    if note.is_file():
        job = note.read_text(errors="replace").strip()
        need(re.fullmatch("[0-9]+", job), note, "holds something else than the number of a Slurm job; expected another --out")
        print(f"waiting for the tasks of an earlier command: Slurm job {job}", file=sys.stderr)
        await_end(job, note)


def slurm(options, indices, count):
    throttle = f"%{options.jobs}" if options.jobs else ""
    log = str(options.out.resolve() / "tasks").replace("%", "%%") + "/%a.txt"
    done = finished(["sbatch", f"--job-name={pathlib.Path(sys.argv[0]).name}", *options.sbatch, "--parsable",
                     f"--array={ranges(indices)}{throttle}", f"--output={log}", f"--error={log}",
                     "--wrap=" + command('"$SLURM_ARRAY_TASK_ID"', count)])
    job = done.stdout.strip().partition(";")[0]
    need(done.code == 0 and job.isdecimal(), "sbatch", (done.stderr.strip() or done.stdout.strip() or f"exit {done.code}"))
    note = options.out / "slurm_job"
    write_whole(note, job + "\n")
    print(f"Slurm job {job}: {len(indices)} tasks", file=sys.stderr)
    await_end(job, note)


# --- GNU parallel -------------------------------------------------------------------------------------------------------


def parallel(options, indices, count):
    log = shlex.quote(str(options.out.resolve() / "tasks"))
    commands = options.out / "tasks" / "commands"  # not arguments, in which parallel would replace {}
    write_whole(commands, "\0".join(f"{command(index, count)} > {log}/{index}.txt 2>&1" for index in indices))
    done = finished(["parallel", "--null", "--arg-file", commands, "--sshloginfile", options.sshlogin,
                     "--workdir", os.getcwd(), "--retries", RETRIES, *(["--jobs", options.jobs] if options.jobs else [])],
                    death=signal.SIGTERM, env={"PARALLEL_SSH": SSH, **os.environ})
    errors = done.stderr.strip().splitlines()
    if done.code == 255:  # codes of a launcher that ran nothing; others count failed tasks
        raise BadInput(f"parallel: {errors[-1] if errors else 'exit 255'}")
    for line in dict.fromkeys(errors):
        print(f"parallel: {line}", file=sys.stderr)
