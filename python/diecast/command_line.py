# SPDX-License-Identifier: Apache-2.0
"""What the scripts of studies share: flags of the platform behind --, settings, tables."""
import argparse
import csv
import io
import os
import pathlib
import signal
import sys

from diecast.whole_file import write_whole


class NotPrinted(Exception):
    """Standard output cannot be written. Other errors of writing are of files, and do not say of which."""

    def __init__(self, error):
        super().__init__(error)
        self.strerror = error.strerror


class Printed(io.TextIOWrapper):
    """Standard output whose errors are told from those of files; that its reader has gone is no error of it."""

    def write(self, text):
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NotPrinted(error) from None

    def flush(self):
        try:
            super().flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NotPrinted(error) from None


def end_with(main):
    """Ends the script with main's exit code, and else as the platforms end: 130 after Ctrl-C, 5 when standard output
    cannot be written, quietly with 141 when its reader, or that of the messages, has gone."""
    name = f"scripts/{pathlib.Path(sys.argv[0]).name}"
    if sys.stdout is None:
        print(f"{name}: standard output: is closed", file=sys.stderr)
        sys.exit(NOT_WRITTEN)
    sys.stdout = Printed(sys.stdout.buffer, encoding=sys.stdout.encoding, errors=sys.stdout.errors,
                         line_buffering=sys.stdout.line_buffering)
    try:
        code = outcome(main)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        code = 130
    except NotPrinted as error:
        print(f"{name}: standard output: {error.strerror}", file=sys.stderr)
        code = NOT_WRITTEN
        drop(sys.stdout)
    except BrokenPipeError:
        code = 128 + signal.SIGPIPE
        drop(sys.stdout, sys.stderr)
    sys.exit(code)


def drop(*streams):
    """What is left of them goes nowhere."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def outcome(main):
    """What main returns, or exits with: --help, too, is printed only when it has been flushed."""
    try:
        return main()
    except SystemExit as stop:
        return stop.code


def jobs(text):
    """The type of --jobs."""
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a count of at least 1")
    return int(text)


WRITTEN = ("csv", "plot", "write")  # flags of studies that name a file to write
NOT_WRITTEN = 5  # the exit code, as that of the platforms


def why_not_writable(path):
    """Why a file cannot be written, or an empty text."""
    if path.is_dir():
        return "is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return "" if os.access(path if path.exists() else path.parent, os.W_OK) else "not permitted"


def unwritable(parser, flag, path, why):
    parser.exit(NOT_WRITTEN, f"{parser.prog}: --{flag} {path}: {why}; expected a file that can be written\n")


def check_outputs(parser, options):
    """What cannot be written is refused before the runs, not after them."""
    for flag in WRITTEN:
        path = getattr(options, flag, None)
        if path and (why := why_not_writable(path)):
            unwritable(parser, flag, path, why)


def write(parser, flag, path, text):
    """Writes what a flag asks for; exits with 5 and one line when that fails after all, and leaves what was there."""
    try:
        write_whole(path, text)
    except OSError as error:
        unwritable(parser, flag, path, error.strerror)


def csv_text(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


# Flags that name a file of a run: every run of a study would write the same one.
ONE_FILE = {"vcd", "timeline", "record"}
# Flags of the platforms that print something, or make experiments of their own, in place of a run.
NO_RUN = {"help", "version", "check_config", "dump_config", "dump_install", "print_map", "list", "doc", "schema", "diagnose"}


def study_parser(text, epilog, operands="[WORKLOAD]", table=True):
    """The command line of a study; operands: what follows CONFIG; table: it has --csv."""
    parser = argparse.ArgumentParser(description=text, epilog=epilog, allow_abbrev=False,
                                     usage=f"%(prog)s [options] CONFIG {operands} [-- FLAGS of the platform]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", metavar="CONFIG", help="config file; - for the platform's own")
    if operands == "[WORKLOAD]":
        parser.add_argument("workload", nargs="?", metavar="WORKLOAD", help="as --workload behind --")
    parser.add_argument("--platform", default="diecast-pod", choices=("diecast-pod", "diecast-sip", "diecast-cube"))
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="sets")
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count(), metavar="N", help="runs at a time (the cores)")
    if table:
        parser.add_argument("--csv", type=pathlib.Path, metavar="FILE", help="write the table there, too")
    return parser


def parse(parser):
    """The options, with what stands behind -- as `flags`: {"bytes": "64KiB", "no_data": True}."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.flags = flags_of(parser, words[split + 1:])
    for flag in sorted({"config", "set", "out"} & options.flags.keys()):
        parser.error(f"--{flag} behind --: the study sets it itself; config and --set belong before the --")
    if getattr(options, "workload", None) is not None:
        if "workload" in options.flags:
            parser.error(f"--workload behind --: the workload is {options.workload} already")
        options.flags["workload"] = options.workload
    for flag in sorted(NO_RUN & options.flags.keys()):
        parser.error(f"--{flag.replace('_', '-')} behind --: runs nothing that could be timed; expected flags of a run")
    for flag in sorted(ONE_FILE & options.flags.keys()):
        parser.error(f"--{flag} behind --: every run of the study would write that file; expected flags of a run without it")
    options.sets = sets_of(parser, options.sets)
    check_outputs(parser, options)
    return options


def sets_of(parser, items):
    for item in items:
        if "=" not in item:
            parser.error(f"--set {item}: expected PATH=VALUE")
    return dict(item.split("=", 1) for item in items)


def flags_of(parser, words):
    """["--bytes", "64KiB", "--no-data"] as {"bytes": "64KiB", "no_data": True}; also "--bytes=64KiB"."""
    flags, name = {}, None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            flags[name] = value if equals else True
            name = None if equals else name
        elif name is None:
            parser.error(f"{word}: expected flags of the platform behind --")
        else:
            flags[name], name = word, None
    return flags


def whole(cell):
    """A time to its nanosecond, with all its digits."""
    return f"{cell:,.0f}" if isinstance(cell, float) else cell


def text_table(head, rows):
    cells = [head, *[[("" if c is None else f"{c:.4g}" if isinstance(c, float) else str(c)) for c in r] for r in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    return "".join("  ".join(c.ljust(w) if n == 0 else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths))).rstrip() +
                   "\n" for row in cells)
