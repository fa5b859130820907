# SPDX-License-Identifier: Apache-2.0
"""Runs of binaries, and folders for their outputs; both are removed when the script ends, for any reason.

A signal that ends the script ends its runs first (stop()); a script that is killed cannot do that, so each run is killed by the
kernel when its parent dies, and each folder is removed by a process that waits for the script's end."""
import atexit
import contextlib
import ctypes
import errno
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import threading
import time

from diecast import whole_file
from diecast.inputs import BadInput, data_of

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PATIENCE_S = 5  # time for a run to write its progress
BY_SIGNAL = {128 + n for n in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)}
# Ends at once when it reads that the folder has gone; else removes it several times, as a dying run may still write there.
KEEPER = 'trap "" HUP INT TERM; read -r gone && exit; n=0; while [ $n -lt 20 ]; do rm -rf -- "$1"; n=$((n + 1)); sleep 0.05; done'

_prctl = ctypes.CDLL(None).prctl
_running = set()
_stopped = []  # the signal that ends the script
_waiting = []  # whether the main thread waits for a run


class Stopped(BaseException):
    """A signal ends the script. code: as of a shell, 128 + its number."""

    def __init__(self, number):
        super().__init__(number)
        self.code = 128 + number


class NotStarted(Exception):
    """The system has no process or memory for a run."""
    exit_code = 71


class Done:
    """How a run ended: code (128 + the signal's number when one killed it) and what it printed."""

    def __init__(self, code, stdout, stderr):
        self.code = code if code >= 0 else 128 - code
        self.stdout, self.stderr = ((text or b"").decode("utf-8", "replace") for text in (stdout, stderr))

    @property
    def interrupted(self):
        """Whether a signal ended the run, which shows nothing about the machine."""
        return self.code in BY_SIGNAL


def waits():
    """Whether the main thread is within finished(), which ends by itself after stop(). An exception there could occur
    between the start of a run and its registration."""
    return bool(_waiting)


def stop(number):
    """Ends the active runs; no further one starts. Once more: kills them. A signal handler calls it, so it takes no lock: a
    thread that starts a run could hold it and wait in fork() for one that the interrupted code holds."""
    again = bool(_stopped)
    _stopped.append(number)
    for process in list(_running):
        process.kill() if again else process.terminate()


def _popen(command, **options):
    try:
        return subprocess.Popen(command, **options)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
            raise NotStarted(f"{command[0]}: no process can be started ({error.strerror}); expected --jobs that the system has room "
                             "for") from None
        raise BadInput(f"{command[0]}: cannot be started ({error.strerror}); expected a binary of Diecast") from None
    except ValueError as error:  # a NUL in a word
        raise BadInput(f"{command[0]}: cannot be started ({error})") from None


def _start(command, death, options):
    parent = os.getpid()

    def end_with_parent():
        _prctl(PR_SET_PDEATHSIG, death)
        if os.getppid() != parent:  # the parent died earlier
            os._exit(1)

    if _stopped:
        raise Stopped(_stopped[0])
    process = _popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent, **options)
    _running.add(process)
    if _stopped:  # while it started
        process.terminate()
    return process


def _ended(process):
    """The output of a process. It is killed if it does not end while the script is stopping."""
    since = None
    while True:
        try:
            return process.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            since = since or (time.monotonic() if _stopped else None)
            if since and time.monotonic() - since > PATIENCE_S:
                process.kill()


def finished(command, *, stdout=subprocess.PIPE, stderr=subprocess.PIPE, death=signal.SIGKILL, **options):
    """Runs a command to its end. death: the signal that it gets when the script is killed. Raises Stopped when a signal ends the
    script, BadInput when there is no such binary."""
    if threading.current_thread() is threading.main_thread():
        _waiting.append(True)
    try:
        process = _start(list(map(str, command)), death, {"stdout": stdout, "stderr": stderr, **options})
        try:
            stdout, stderr = _ended(process)
        finally:
            _running.discard(process)
        done = Done(process.returncode, stdout, stderr)
    finally:
        if threading.current_thread() is threading.main_thread():
            _waiting.clear()
    if done.interrupted and not _stopped:
        time.sleep(0.2)  # a terminal's Ctrl-C reaches the run and the script; the script may be later
    if _stopped:
        raise Stopped(_stopped[0])
    return done


def no_room(folder, error):
    return whole_file.NotWritten(folder, error, "TMPDIR to name a folder that can be written and has room")


@contextlib.contextmanager
def scratch():
    """A temporary folder. Raises NotWritten when there can be none, or when it has no room for what is written."""
    folder = pathlib.Path(os.environ.get("TMPDIR") or "/tmp") / f"diecast-{os.getpid()}-{secrets.token_hex(4)}"
    keeper = _popen(["/bin/sh", "-c", KEEPER, "sh", folder], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    except OSError as error:
        if not str(error.filename).startswith(str(folder)):
            raise
        raise no_room(error.filename, error.strerror) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process has ended it
            if not os.path.lexists(folder):
                keeper.stdin.write(b"\n")
            keeper.stdin.close()
        keeper.wait()


_until_end = contextlib.ExitStack()
atexit.register(_until_end.close)


def kept(path):
    """A name by which an input can be read as often as runs need it: a pipe or a device is read once, into a copy."""
    if not os.path.exists(path) or os.path.isfile(path) and str(pathlib.Path(path).parent) not in whole_file.OPEN_FILES:
        whole_file.reads(path)
        return path
    data = data_of(path)
    copy = _until_end.enter_context(scratch()) / pathlib.Path(path).name
    whole_file.write_whole(copy, data)
    return str(copy)


def clean():
    """Removes the folders that are kept until the end."""
    _until_end.close()
