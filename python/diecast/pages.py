# SPDX-License-Identifier: Apache-2.0
"""What scripts that measure share: their flags, their tables, and the generated parts of pages, each between two marks."""
import argparse
import sys

from diecast.inputs import BadInput
from diecast.machine import ROOT
from diecast.whole_file import write_whole


def page_parser(text):
    """The command line of a script that measures for a page."""
    parser = argparse.ArgumentParser(description=text, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pod", default=str(ROOT / "build/bin/diecast-pod"), help="diecast-pod to run")
    parser.add_argument("--write", action="store_true", help="update the page and its plots")
    return parser


def percent(x):
    return "" if x is None else f"{100 * x:+.1f}%"


def limit(x):
    return "reported" if x is None else f"{100 * x:g}%"


def text_table(head, lines):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in [head, *lines])


def markdown_table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def judged(problems):
    """The exit code, with a line for every figure beyond its tolerance."""
    for problem in problems:
        print(f"beyond tolerance: {problem}", file=sys.stderr)
    return 1 if problems else 0

def between(page, begin, end):
    """What stands between the marks of a page, and what before and behind."""
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or end not in text[text.index(begin):]:
        raise BadInput(f"{page}: lacks the marks '{begin.strip()}' and '{end.strip()}'")
    at = text.index(begin) + len(begin)
    return text[:at], text[at:text.index(end, at)], text[text.index(end, at):]


def put(page, begin, end, part):
    """Writes a part between its marks."""
    before, _, behind = between(page, begin, end)
    write_whole(page, before + part + behind)
