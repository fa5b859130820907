# SPDX-License-Identifier: Apache-2.0
"""Common parts of scripts that measure: flags, runs, tables, and the generated parts of pages, each between two marks."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys

from diecast import axes
from diecast.arguments import parser_of
from diecast.inputs import BadInput, check, need, text_of
from diecast.machine import ROOT, answer
from diecast.processes import finished, scratch
from diecast.tables import aligned, markdown_table
from diecast.whole_file import write_whole

CONFIGS = ROOT / "platforms" / "configs"
BINARIES = ROOT / "build" / "bin"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)  # code blocks of a page


def page_parser(text, whole=False):
    """The command line of a script that measures for a page."""
    parser = parser_of(text, whole)
    parser.add_argument("--pod", default=str(BINARIES / "diecast-pod"), help="diecast-pod to run")
    parser.add_argument("--write", action="store_true", help="update the page and its plots")
    return parser


def page_options(parser):
    """The options; with --write a missing matplotlib is an error before minutes of measuring."""
    options = parser.parse_args()
    if options.write:
        axes.pyplot()
    return options


def publish(text, page, part, measure, table_of, plot, whole=False):
    """The main of a script that measures one part of a page: prints the table; --write puts it into the page and draws the plot."""
    options = page_options(page_parser(text, whole))
    results = measure(options.pod)
    table = table_of(results)
    print(table)
    if options.write:
        put_part(page, part, table)
        plot(results)


def set_words(sets):
    """Assignments as flags."""
    return [word for one in sets for word in ("--set", one)]


def rows_of(binary, *words, config=None, sets=(), verified=False, refused=None):
    """Rows of one invocation; `refused` if it ends with 2. config: one of CONFIGS, or a path. verified: its
    results must be right."""
    machine = ["--config", str(CONFIGS / config)] if config else []
    command = [binary, *machine, *set_words(sets), *map(str, words), "--format", "json"]
    answered = answer(command, None if refused is None else {"runs": refused})
    check(answered, {"runs": [{}]}, command[0])
    rows = answered["runs"]
    need(not verified or all(row["verified"] is True for row in rows), " ".join(command), "not verified")
    return rows


def percent(x):
    return "" if x is None else f"{100 * x:+.1f}%"


def limit(x):
    return "reported" if x is None else f"{100 * x:g}%"


def errors_text(errors):
    """Mean and largest of the errors' absolute values."""
    sizes = [abs(error) for error in errors]
    return f"mean error {100 * sum(sizes) / max(len(sizes), 1):.1f}%, largest {100 * max(sizes, default=0):.1f}%"


def validation_parser(text, name, page):
    """The command line of a script that validates diecast-NAME."""
    parser = parser_of(text)
    parser.add_argument(f"--{name}", default=str(BINARIES / f"diecast-{name}"), help=f"diecast-{name} to ask")
    parser.add_argument("--markdown", action="store_true", help=f"write the tables into {page.relative_to(ROOT)}")
    return parser


def show(tables, summary, part, page=None):
    """Prints tables, each (head, lines), and their summary; with a page they also go into this part of it."""
    for head, lines in tables:
        print(aligned([head, *lines], left=0))
    print(summary, flush=True)
    if page is not None:
        put_part(page, part, "\n\n".join([f"{summary}.", *(markdown_table(*table) for table in tables)]))


def judged(problems):
    """The exit code, with a line for every figure beyond its tolerance."""
    for problem in problems:
        print(f"beyond tolerance: {problem}", file=sys.stderr)
    return 1 if problems else 0


@contextlib.contextmanager
def checkout(binaries):
    """A temporary folder in which the commands of a page work as in a built checkout."""
    with scratch() as folder:
        for name in ("docs", "platforms", "python", "scripts", "testbench"):
            (folder / name).symlink_to(ROOT / name)
        (folder / "build").mkdir()
        (folder / "build" / "bin").symlink_to(binaries.resolve())
        yield folder


def run_commands(commands, folder):
    """The exit code of a page's commands, and the lines that they print."""
    environment = {**os.environ, "DIECAST_BIN": str(folder / "build" / "bin"), "COLUMNS": "120"}
    done = finished(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment, stderr=subprocess.STDOUT)
    return done.code, [line.rstrip() for line in done.stdout.splitlines()]


def between(page, begin, end):
    """The text between the marks of a page, and the text before and after."""
    text = text_of(page)
    if text.count(begin) != 1 or end not in text[text.index(begin):]:
        raise BadInput(f"{page}: lacks the marks '{begin.strip()}' and '{end.strip()}'")
    at = text.index(begin) + len(begin)
    return text[:at], text[at:text.index(end, at)], text[text.index(end, at):]


def put(page, begin, end, part):
    """Writes a part between its marks."""
    before, _, behind = between(page, begin, end)
    write_whole(pathlib.Path(page), before + part + behind, over_input=True)


def put_part(page, name, text):
    """Writes a part between the marks of this name."""
    put(page, f"<!-- {name} begin -->\n", f"\n<!-- {name} end -->", text)
