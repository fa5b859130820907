# SPDX-License-Identifier: Apache-2.0
"""What the scripts of studies share: flags of the platform behind --, settings, tables."""
import argparse
import csv
import io
import os
import pathlib
import sys


def jobs(text):
    """The type of --jobs."""
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a count of at least 1")
    return int(text)


def output_file(text):
    """The type of a flag that names a file to write: what cannot be written is refused before the runs, not after them."""
    path = pathlib.Path(text)
    if path.is_dir():
        why = "is a folder"
    elif not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        why = "not permitted"
    else:
        return path
    raise argparse.ArgumentTypeError(f"{text}: {why}; expected a file that can be written")


def write(parser, flag, path, text):
    """Writes what a flag asks for; exits with 2 and one line when that fails after all."""
    try:
        path.write_text(text)
    except OSError as error:
        parser.exit(2, f"{parser.prog}: {flag} {path}: {error.strerror}; expected a file that can be written\n")


def csv_text(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def study_parser(text, epilog):
    parser = argparse.ArgumentParser(description=text, epilog=epilog, allow_abbrev=False,
                                     usage="%(prog)s [options] CONFIG [-- FLAGS of the platform]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", metavar="CONFIG", help="config file; - for the platform's own")
    parser.add_argument("--platform", default="diecast-pod", choices=("diecast-pod", "diecast-sip", "diecast-cube"))
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="sets")
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count(), metavar="N", help="runs at a time (the cores)")
    parser.add_argument("--csv", type=output_file, metavar="FILE", help="write the table there, too")
    return parser


def parse(parser):
    """The options, with what stands behind -- as `flags`: {"bytes": "64KiB", "no_data": True}."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.flags = flags_of(parser, words[split + 1:])
    for flag in {"config", "set", "out"} & options.flags.keys():
        parser.error(f"--{flag} behind --: the study sets it itself; config and --set belong before the --")
    options.sets = sets_of(parser, options.sets)
    return options


def sets_of(parser, items):
    for item in items:
        if "=" not in item:
            parser.error(f"--set {item}: expected PATH=VALUE")
    return dict(item.split("=", 1) for item in items)


def flags_of(parser, words):
    """["--bytes", "64KiB", "--no-data"] as {"bytes": "64KiB", "no_data": True}."""
    flags, name = {}, None
    for word in words:
        if word.startswith("--"):
            name = word[2:]
            flags[name] = True
        elif name is None:
            parser.error(f"{word}: expected flags of the platform behind --")
        else:
            flags[name], name = word, None
    return flags


def text_table(head, rows):
    cells = [head, *[[("" if c is None else f"{c:.4g}" if isinstance(c, float) else str(c)) for c in r] for r in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(head))]
    return "".join("  ".join(c.ljust(w) if n == 0 else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths))).rstrip() +
                   "\n" for row in cells)
