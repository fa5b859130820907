# SPDX-License-Identifier: Apache-2.0
"""Ends of scripts: exit codes as those of the platforms, and one line with the reason."""
import contextlib
import io
import os
import pathlib
import signal
import sys
import traceback

from diecast import processes
from diecast.inputs import sentence

NOT_WRITTEN, INTERNAL, REFUSED = 5, 70, 71  # exit codes, as those of the platforms
VISIBLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(128, 160)) if code not in b"\t\n"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handle(handler):
    """Sets the handler of all signals that end a script, except SIGHUP if nohup ignores it."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


class NotPrinted(Exception):
    """Standard output cannot be written. Other OSErrors of writing are of files."""

    def __init__(self, error):
        super().__init__(error)
        self.strerror = error.strerror


@contextlib.contextmanager
def printing():
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotPrinted(error) from None


class Printed(io.TextIOWrapper):
    """Standard output whose errors differ from those of files (NotPrinted), and that shows control characters."""

    def write(self, text):
        text = text.translate(VISIBLE)
        with printing():
            try:
                return super().write(text)
            except UnicodeEncodeError:  # half a surrogate pair of a JSON file, or a terminal without UTF-8
                return super().write(text.encode(self.encoding, "backslashreplace").decode(self.encoding))

    def flush(self):
        with printing():
            super().flush()


def on_signal(number, frame):
    """The first signal ends the script by an exception; later ones only end its runs sooner."""
    again = bool(processes._stopped)
    processes.stop(number)
    if not again and not processes.waits():
        raise processes.Stopped(number)


def end_with(main, after_signal="interrupted"):
    """Ends the running script (not one that a test imports) with main's exit code, or by cause: 2 for wrong input, 5 when a
    file or standard output cannot be written, 128 + the number after a signal (after_signal: the message), 141 without a
    message when standard output is no longer read, 70 for an error of the script itself, 71 when the system lacks memory or
    processes."""
    if main.__module__ != "__main__":
        return
    name = f"scripts/{pathlib.Path(sys.argv[0]).name}"
    if sys.stdout is None:
        print(f"{name}: standard output: is closed", file=sys.stderr)
        sys.exit(NOT_WRITTEN)
    try:
        handle(on_signal)
        sys.stdout = Printed(sys.stdout.buffer, encoding=sys.stdout.encoding, errors="surrogateescape",
                             line_buffering=sys.stdout.line_buffering)
        code = code_of(main, name)
        handle(lambda number, frame: processes.stop(number))  # nothing is left that an exception could end
    except processes.Stopped as stopped:
        print(f"{name}: {after_signal}", file=sys.stderr)
        code = stopped.code
    sys.exit(code)


def code_of(main, name):
    """The exit code of main; prints the reason when it is not 0. Raises Stopped, also at its end."""
    try:
        code = outcome(main)
        sys.stdout.flush()
        return code
    except NotPrinted as error:
        print(f"{name}: standard output: {error.strerror}", file=sys.stderr)
        drop(sys.stdout)
        return NOT_WRITTEN
    except BrokenPipeError:
        drop(sys.stdout, sys.stderr)
        return 128 + signal.SIGPIPE
    except MemoryError:
        print(f"{name}: out of memory; expected smaller inputs", file=sys.stderr)
        return REFUSED
    except Exception as error:
        return failed(name, error)
    finally:
        processes.clean()


def failed(name, error):
    """An error with an exit code is a sentence for users; any other one is a defect, whose place is named."""
    if hasattr(error, "exit_code"):
        print(f"{name}: {error if hasattr(error, 'lines') else sentence(error)}", file=sys.stderr)
        return error.exit_code
    place = traceback.extract_tb(error.__traceback__)[-1]
    print(f"{name}: internal error: {type(error).__name__}: {sentence(error)} ({pathlib.Path(place.filename).name}:{place.lineno})",
          file=sys.stderr)
    return INTERNAL


def drop(*streams):
    """Discards the contents of the streams' buffers."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def outcome(main):
    """The value that main returns or exits with, after its output (also that of --help) is flushed."""
    try:
        return main()
    except SystemExit as stop:
        return stop.code
