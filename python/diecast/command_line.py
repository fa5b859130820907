# SPDX-License-Identifier: Apache-2.0
"""Common parts of the scripts of studies: flags of the platform after --, settings, tables."""
import os
import sys

from diecast import launchers
from diecast.arguments import count, like, parser_of
from diecast.inputs import reads_config
from diecast.noise import DRAWS
from diecast.points import FILES
from diecast.processes import kept
from diecast.whole_file import output


draws = like(r"0*[1-9]\d{0,5}(:\d{1,9})?", "N or N:NS with N of at least 1", str)  # as the platforms accept it; 1: a single run


# Flags that name a file of a run: every run of a study would write the same one.
ONE_FILE = {"vcd", "timeline", "record"}
# Flags of the platforms that print something, or make experiments of their own, in place of a run.
NO_RUN = {"help", "version", "check_config", "dump_config", "dump_install", "print_map", "list", "doc", "schema", "diagnose"}


def study_parser(text, epilog, operands="[WORKLOAD]", table=True):
    """The command line of a study; operands: those after CONFIG; table: it has --csv and the flags of launchers."""
    parser = parser_of(text, epilog=epilog, usage=f"%(prog)s [options] CONFIG {operands} [-- FLAGS of the platform]")
    parser.add_argument("config", metavar="CONFIG", help="config file; - for the platform's own")
    if operands == "[WORKLOAD]":
        parser.add_argument("workload", nargs="?", metavar="WORKLOAD", help="as --workload after --")
    parser.add_argument("--platform", default="diecast-pod", choices=("diecast-pod", "diecast-sip", "diecast-cube"))
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", dest="sets")
    parser.add_argument("--jitter", type=draws, default=DRAWS, metavar="N[:NS]",
                        help=f"medians of N runs whose PEs start up to NS later at random; 1: single runs ({DRAWS})")
    if table:
        launchers.add_flags(parser)
        parser.add_argument("--csv", type=output("--csv"), metavar="FILE", help="also write the table there")
    else:
        parser.add_argument("--jobs", type=count, default=os.cpu_count(), metavar="N", help="runs at a time (the cores)")
    return parser


def parse(parser):
    """The options, with the flags after -- as `flags`: {"bytes": "64KiB", "no_data": True}."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options, unknown = parser.parse_known_args(launchers.joined(words[:split]))
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}; flags of the platform stand behind --")
    if "launcher" in options:
        launchers.check(parser, options)
    options.flags = flags_of(parser, words[split + 1:])
    for flag in sorted({"config", "set", "out"} & options.flags.keys()):
        parser.error(f"--{flag} after --: the study sets it itself; config and --set belong before the --")
    if getattr(options, "workload", None) is not None:
        if "workload" in options.flags:
            parser.error(f"--workload after --: the workload is {options.workload} already")
        options.flags["workload"] = options.workload
    for flag in sorted(NO_RUN & options.flags.keys()):
        parser.error(f"--{flag.replace('_', '-')} after --: runs nothing that could be timed; expected flags of a run")
    for flag in sorted(ONE_FILE & options.flags.keys()):
        parser.error(f"--{flag} after --: every run of the study would write that file; expected flags of a run without it")
    if int(options.jitter.partition(":")[0]) > 1:
        options.flags.setdefault("jitter", options.jitter)
    options.sets = sets_of(parser, options.sets)
    options.machine = None if options.config == "-" else kept(options.config)
    if options.machine is not None:
        reads_config(options.machine)
    for given in (options.flags, options.sets):
        given.update({name: kept(given[name]) for name in given.keys() & FILES if isinstance(given[name], str)})
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
            parser.error(f"{word}: expected flags of the platform after --")
        else:
            flags[name], name = word, None
    return flags


def whole(cell):
    """A time to its nanosecond, with all its digits."""
    return f"{cell:,.0f}" if isinstance(cell, float) else cell
