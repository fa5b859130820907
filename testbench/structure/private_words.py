#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Words that only this project understood do not come back: in names, comments, messages and pages, in any spelling
(settle, settled, wall_buffers, RingLaps). The glossary has the terms to use."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("hw", "models", "sw", "platforms", "python", "scripts", "testbench", "docs", "cmake")
KINDS = {"", ".cpp", ".hpp", ".py", ".md", ".txt", ".cmake", ".json"}

# What to say in place of a word, which is a pattern.
INSTEAD = {
    "laps?": "ring pass",
    "strands?": "chain",
    "timetables?": "schedule",
    "doctors?": "diagnosis",
    "patients?": "target",
    "laborator(y|ies)": "runner",
    "trials?": "experiment",
    "treatments?": "change, order",
    "remed(y|ies)": "mitigation",
    "settle[sd]?": "merge, known, input arbitration",
    "courses?": "rate schedule",
    "compan(y|ies)": "router occupancy",
    "motions?": "transfer in flight",
    "surroundings": "environment",
    "in.vain": "without success",
    "reckon(s|ed)?": "compute, use",
    "dearer": "more costly",
    "hand_round": "ring pass",
    "annealing_dice": "annealing_random",
    "access_book": "transaction_table",
    "absent_block": "missing_block",
    "tell_(credits|put_off|faults|waits)": "report_credits, report_delayed, report_faults, publish_waits",
    "(look_into|let_stand|stirred|payers?)": "examine, add_workaround, is_due, accounts",
    "good_enough": "stop_threshold",
    "wall_(buffers|capacity)": "interface",
}
IN_PAGES = {"wakes? up": "is due", "look(s|ed) at": "evaluate, compare, check"}
PRIVATE = re.compile("(?<![A-Za-z])(" + "|".join(INSTEAD) + ")(?![a-z])", re.IGNORECASE)
IN_ANY_PAGE = re.compile("(?<![A-Za-z])(" + "|".join([*INSTEAD, *IN_PAGES]) + ")(?![a-z])", re.IGNORECASE)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def found(path, text):
    """(line, word) of the private words in a file; its own name counts as a line 0."""
    private = IN_ANY_PAGE if path.endswith(".md") else PRIVATE
    if not private.search(CAMEL.sub("_", f"{pathlib.PurePath(path).name}\n{text}")):
        return
    for number, line in enumerate([pathlib.PurePath(path).name, *text.splitlines()]):
        for match in private.finditer(CAMEL.sub("_", line)):
            yield number, match[0]


def sources():
    here = pathlib.Path(__file__).resolve()
    places = [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*"))] + sorted(ROOT.glob("*.*"))
    return [p for p in places if p.is_file() and p.suffix in KINDS and p != here and "__pycache__" not in p.parts]


class PrivateWords(unittest.TestCase):
    def test_none_is_in_the_tree(self):
        files = sources()
        self.assertGreater(len(files), 1000)
        wrong = []
        for file in files:
            path = file.relative_to(ROOT).as_posix()
            for line, word in found(path, file.read_text(errors="replace")):
                instead = next(v for k, v in {**INSTEAD, **IN_PAGES}.items() if re.fullmatch(k, word, re.IGNORECASE))
                wrong.append(f"{path}:{line}: {word!r}; say {instead}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_mutants_are_found(self):
        """Each is a file that somebody could write tomorrow."""
        mutants = {
            "a name in code": ("models/timing/link.hpp", "struct ring_lap { int at; };", "lap"),
            "a name of two words": ("sw/workload/program.cpp", "void StackStrands();", "Strands"),
            "a trailing comment": ("hw/d2d/flit.hpp", "int n{};  ///< what the wall_buffers hold", "wall_buffers"),
            "a message": ("models/config/check.cpp", 'fail("the retries were in vain");', "in vain"),
            "a sentence of a page": ("docs/debugging-a-hang.md", "The doctor asks the patient.\n", "doctor"),
            "a word of pages": ("docs/noc.md", "A router wakes up and looks at its inputs.\n", "wakes up"),
            "the name of a file": ("hw/base/tell_credits.hpp", "#pragma once", "tell_credits"),
            "a script": ("scripts/sweep", "# Treatment of the points", "Treatment"),
        }
        for name, (path, text, word) in mutants.items():
            with self.subTest(name):
                self.assertIn(word, [w for _, w in found(path, text)])
        for text in ("overlapping lapse", "constraints and restrands", "impatient", "industrial", "wall_s", "emotion"):
            self.assertEqual([*found("python/diecast/x.py", text)], [], text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
