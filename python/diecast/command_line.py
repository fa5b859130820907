# SPDX-License-Identifier: Apache-2.0
"""What the scripts of studies share: flags of the platform behind --, settings, tables."""
import argparse
import os
import sys


def jobs(text):
    """The type of --jobs."""
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a count of at least 1")
    return int(text)


def study_parser(text, epilog):
    parser = argparse.ArgumentParser(description=text, epilog=epilog, allow_abbrev=False,
                                     usage="%(prog)s [options] CONFIG [-- FLAGS of the platform]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", metavar="CONFIG", help="config file; - for the platform's own")
    parser.add_argument("--platform", default="diecast-pod", choices=("diecast-pod", "diecast-sip", "diecast-cube"))
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="sets")
    parser.add_argument("--jobs", type=jobs, default=os.cpu_count(), metavar="N", help="runs at a time (the cores)")
    parser.add_argument("--csv", metavar="FILE", help="write the table there, too")
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
